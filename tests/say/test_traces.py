"""Traces made from protocols: the positive ones are what a plain reading allows, the negative ones are not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dissensus.say.exploring import explore
from dissensus.say.language import first_outside
from dissensus.say.message import Message
from dissensus.say.monitor import Monitor
from dissensus.say.mutations import FAULTS
from dissensus.say.protocol import TOTAL, Move, Protocol
from dissensus.say.protocol_file import load, shipped, shipped_protocol
from dissensus.say.traces import Trace, negative_traces, positive_traces

PROTOCOLS = [
    (name, profile)
    for name in shipped()
    for profile in ("fipa", "jade", "strict")
    if profile == "fipa" or replace(shipped_protocol(name, profile), profile="fipa") != shipped_protocol(name)
]
"""Every shipped protocol under each profile that makes a difference to it."""

SMALL = """\
protocol: small
roles: {a: one, b: one}
start: {state: start, role: a}
final: [end]
moves:
  - {in: start, act: request, from: a, to: b, next: asked, opens: answer, by: reply_by}
  - {in: asked, act: refuse, from: b, to: a, next: end, declares: answer}
  - {in: asked, act: agree, from: b, to: a, next: taken, closes: answer, opens: performance, by: 60}
  - {in: taken, act: inform, kind: done, from: b, to: a, next: end, closes: performance, when: price > 3}
  - {in: taken, act: inform, kind: done, from: b, to: a, next: taken, when: price <= 3, repeat: true}
"""


def said(trace: Trace) -> list[str]:
    return [f"{m.sender} {m.act} {','.join(m.receivers)}" for m in trace.messages]


def test_a_shortest_conversation_through_every_move() -> None:
    traces = list(positive_traces(load(SMALL, "small.yaml")))
    assert [said(each) for each in traces] == [
        ["a request b", "b refuse a"],
        ["a request b", "b agree a", "b inform a"],
        ["a request b", "b agree a", "b inform a", "b inform a"],
    ]
    assert [each.shows for each in traces] == [
        "start: request a>b -> asked",
        "asked: agree b>a -> taken",
        "taken: inform[done] b>a when price <= 3 -> taken",
    ]
    assert all(each.ends and each.at is None for each in traces)


def test_messages_carry_what_they_need() -> None:
    last = list(positive_traces(load(SMALL, "small.yaml")))[-1].messages
    assert [m.in_reply_to for m in last] == [None, last[0].reply_with, last[0].reply_with, last[0].reply_with]
    assert last[0].reply_by is not None
    assert last[0].at is not None
    assert last[0].reply_by > last[0].at
    assert last[1].reply_by is None  # the protocol has its own deadline
    assert [m.content_type for m in last] == [None, None, "done", "done"]
    assert [m.content["price"] > 3 for m in last[2:]] == [False, True]
    assert len({m.id for m in last}) == len(last)
    assert {m.thread for m in last} == {"small/3"}
    assert [m.protocol for m in last] == ["small", None, None, None]


def test_each_kind_of_fault_is_made_and_points_at_what_shows_it() -> None:
    traces = list(negative_traces(load(SMALL, "small.yaml")))
    first = {trace.fault: trace for trace in reversed(traces)}
    assert set(first) == set(FAULTS) - {"wrong-kind"}  # the only kind that it knows is the right one
    assert (said(first["drop"]), first["drop"].at) == (["b refuse a"], 0)
    assert (said(first["swap"]), first["swap"].at) == (["b refuse a", "a request b"], 0)
    assert (said(first["after-close"])[-1], first["after-close"].at) == ("a request b", 2)
    late = first["late"]
    assert late.at is not None
    deadline, came = late.messages[0].reply_by, late.messages[late.at].at
    assert deadline is not None
    assert came is not None
    assert came > deadline
    twice = first["duplicate"]
    assert twice.at is not None
    assert twice.messages[twice.at].id == twice.messages[twice.at - 1].id


def made_by(move: Move, trace: Trace) -> bool:
    return any(m.act == move.act and (not move.kinds or m.content_type in move.kinds) for m in trace.messages)


@pytest.mark.parametrize(("name", "profile"), PROTOCOLS)
def test_there_is_a_positive_trace_for_every_move_that_can_be_made(name: str, profile: str) -> None:
    protocol = shipped_protocol(name, profile)
    traces = list(positive_traces(protocol))
    shown = {each.shows for each in traces}
    walked = {line for _, way, after in explore(protocol).edges for line in [way.says(after.state)]}
    assert shown & walked
    for move in protocol.moves:
        assert any(made_by(move, each) for each in traces)
    assert sum(not each.ends for each in traces) <= 2  # a broker's agree leaves the talk that it passes on open


@pytest.mark.parametrize(("name", "profile"), PROTOCOLS)
def test_the_monitor_flags_every_negative_trace_where_it_breaks_and_no_positive_one(name: str, profile: str) -> None:
    protocol = shipped_protocol(name, profile)
    watched = Watched(protocol)
    for trace in positive_traces(protocol):
        assert watched.first_flagged(trace) is None, trace
    seen = 0
    for trace in negative_traces(protocol):
        assert watched.first_flagged(trace) == trace.at, trace
        seen += 1
    assert seen >= 20


class Watched:
    """A monitor that sees all traces one after the other: each has a thread of its own.

    Where messages may be held back until the log ends, each trace gets a monitor of its own.
    """

    def __init__(self, protocol: Protocol) -> None:
        self.protocol = protocol
        self.found: list[str] = []
        self.monitor = self.fresh()

    def fresh(self) -> Monitor:
        return Monitor(
            protocol=self.protocol,
            profile=self.protocol.profile,
            on_finding=lambda finding: self.found.append(finding.id),
        )

    def first_flagged(self, trace: Trace) -> int | None:
        """Place of the first message that the monitor has something to say about."""
        if self.protocol.delivery != TOTAL:
            self.monitor = self.fresh()
        self.found.clear()
        verdicts = [self.monitor.see(m) for m in trace.messages]
        first = next((at for at, verdict in enumerate(verdicts) if verdict not in {"ok", "held"}), None)
        if first is None and self.protocol.delivery != TOTAL:
            self.monitor.finish()
            first = next((at for at, m in enumerate(trace.messages) if m.id in self.found), None)
        return first


def test_many_participants_are_interleaved() -> None:
    protocol = shipped_protocol("fipa-contract-net")
    traces = list(positive_traces(protocol))
    sizes = {
        len({name for m in each.messages for name in m.receivers if name.startswith("participant")}) for each in traces
    }
    assert sizes == {1, 2, 3}
    three = next(each for each in traces if each.shows.endswith("among three"))
    assert len(three.messages[0].receivers) == 3
    speakers = [m.sender for m in three.messages[1:4]]
    assert speakers == ["participant-1", "participant-2", "participant-3"]
    kinds = {said(each)[-1] for each in traces if each.shows.endswith("among three")}
    assert len(kinds) > 1


def test_a_cancel_that_fails_goes_on_where_it_was() -> None:
    traces = list(positive_traces(shipped_protocol("fipa-request")))
    back = next(each for each in traces if "(resumed)" in each.shows)
    acts = [m.act for m in back.messages]
    assert acts[:3] == ["request", "cancel", "failure"]
    assert len(acts) == 4
    assert back.ends


def test_a_broker_passes_on_what_it_was_told() -> None:
    traces = list(positive_traces(shipped_protocol("fipa-brokering")))
    both = next(each for each in traces if each.shows == "replied: inform broker>initiator -> replied")
    assert [f"{m.sender}>{m.receivers[0]}" for m in both.messages[3:]] == [
        "broker>target-1",
        "target-1>broker",
        "broker>target-2",
        "target-2>broker",
        "broker>initiator",
        "broker>initiator",
    ]
    assert both.ends


def test_where_messages_may_cross_nothing_is_dropped_or_swapped() -> None:
    made = list(negative_traces(load(SMALL + "delivery: fifo\n", "small.yaml")))
    assert made
    assert not {"drop", "swap"} & {each.fault for each in made}


def m(number: int, sender: str, receiver: str, act: str, **more: object) -> Message:
    return Message(id=f"m{number}", sender=sender, receivers=(receiver,), act=act, thread="t", **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("messages", "outside"),
    [
        ([m(1, "x", "y", "request"), m(2, "y", "x", "agree"), m(3, "y", "x", "inform")], None),
        ([m(1, "x", "y", "request"), m(2, "y", "x", "inform")], None),
        ([m(1, "x", "y", "inform")], 0),
        ([m(1, "x", "y", "request"), m(2, "z", "x", "agree")], 1),
        ([m(1, "x", "y", "request"), m(2, "y", "z", "agree")], 1),
        ([m(1, "x", "y", "request"), m(2, "y", "x", "refuse"), m(3, "y", "x", "inform")], 2),
        ([m(1, "x", "y", "request"), m(1, "y", "x", "agree")], 1),
        ([m(1, "x", "y", "request"), m(2, "x", "z", "request")], 1),
        ([m(1, "x", "y", "request", at=0.0, reply_by=5.0), m(2, "y", "x", "agree", at=5.0)], None),
        ([m(1, "x", "y", "request", at=0.0, reply_by=5.0), m(2, "y", "x", "agree", at=5.1)], 1),
        ([m(1, "x", "y", "request"), m(2, "ams", "x", "failure", about="y"), m(3, "y", "x", "inform")], 2),
        ([m(1, "x", "y", "request"), m(2, "x", "y", "cancel"), m(3, "y", "x", "inform", content_type="result")], 2),
        ([m(1, "x", "y", "request"), m(2, "x", "y", "cancel"), m(3, "y", "x", "inform", content_type="done")], None),
    ],
)
def test_the_plain_reading_of_a_protocol(messages: list[Message], outside: int | None) -> None:
    assert first_outside(shipped_protocol("fipa-request"), messages) == outside
