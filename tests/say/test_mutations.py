"""From each shipped protocol, under each profile it knows: what keeps to it is ok, and every fault is flagged."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dissensus.errors import LogError
from dissensus.say.monitor import Monitor
from dissensus.say.protocol import Protocol
from dissensus.say.protocol_file import shipped, shipped_protocol
from dissensus.say.traces import Trace, negative_traces, positive_traces
from dissensus.say.verdicts import OK

FAULTS = {"drop", "duplicate", "late", "swap", "unknown-act", "wrong-receiver", "wrong-sender"}
"""Kinds of fault that every protocol's traces have."""


def protocols() -> Iterator[tuple[str, str]]:
    for name in shipped():
        yield from ((name, profile) for profile in shipped_protocol(name).profiles)


def verdicts(protocol: Protocol, trace: Trace) -> list[str]:
    """Of each message; an act that nobody knows is refused at the door."""
    monitor = Monitor(protocol=protocol, profile=protocol.profile)
    found = []
    for m in trace.messages:
        try:
            found.append(monitor.see(m))
        except LogError:
            found.append("refused")
    return found


@pytest.mark.parametrize(("name", "profile"), list(protocols()))
def test_what_keeps_to_the_protocol_raises_no_alarm(name: str, profile: str) -> None:
    protocol = shipped_protocol(name, profile)
    traces = list(positive_traces(protocol))
    assert traces
    wrong = {trace.name: said for trace in traces if set(said := verdicts(protocol, trace)) != {OK}}
    assert not wrong


@pytest.mark.parametrize(("name", "profile"), list(protocols()))
def test_every_fault_is_flagged_where_it_is(name: str, profile: str) -> None:
    protocol = shipped_protocol(name, profile)
    traces = list(negative_traces(protocol))
    missed = []
    for trace in traces:
        said = verdicts(protocol, trace)
        if trace.at is None or said[trace.at] == OK or set(said[: trace.at]) - {OK}:
            missed.append((trace.name, trace.fault, trace.at, said))
    assert not missed
    assert len(traces) >= len(protocol.moves)


def test_every_kind_of_fault_is_made() -> None:
    made = {trace.fault for name in shipped() for trace in negative_traces(shipped_protocol(name))}
    assert made >= FAULTS
