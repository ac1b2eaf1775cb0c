"""Feeding the monitor in tests."""

from __future__ import annotations

import io
from dataclasses import dataclass, field
from typing import Any

from dissensus.say.audit import run
from dissensus.say.message import Message
from dissensus.say.monitor import Monitor
from dissensus.say.readers.base import Source
from dissensus.say.readers.own import READER
from dissensus.say.verdicts import Finding, Obligation


@dataclass
class Heard:
    """What a monitor said about a log."""

    monitor: Monitor
    findings: list[Finding] = field(default_factory=list)
    obligations: list[Obligation] = field(default_factory=list)
    verdicts: dict[str, str] = field(default_factory=dict)


def source_of(raw: bytes, name: str = "log.jsonl") -> Source:
    return Source(name, lambda: io.BytesIO(raw))


def listen(*messages: Any, finish: bool = True, swift: bool = True, state: Any = None, **how: Any) -> Heard:
    """Feed messages, or dicts of their fields, one by one."""
    ending = {key: how.pop(key) for key in ("as_of", "closed") if key in how}
    findings: list[Finding] = []
    obligations: list[Obligation] = []
    monitor = Monitor(on_finding=findings.append, on_closed=obligations.append, **how)
    monitor.swift = monitor.swift and swift
    if state is not None:
        monitor.restore(state)
    heard = Heard(monitor, findings, obligations)
    for number, told in enumerate(messages, 1):
        m = told if isinstance(told, Message) else Message(**{"id": f"m{number}", **told})
        heard.verdicts[m.id] = monitor.see(m)
    if finish:
        monitor.finish(**ending)
    return heard


def audited(raw: bytes, **how: Any) -> Heard:
    """Audit a log of ours as a whole."""
    ending = {key: how.pop(key) for key in ("as_of", "closed") if key in how}
    findings: list[Finding] = []
    obligations: list[Obligation] = []
    monitor = Monitor(on_finding=findings.append, on_closed=obligations.append, **how)
    heard = Heard(monitor, findings, obligations)
    seen, see = heard.verdicts, monitor.see

    def watched(m: Message) -> str:
        seen[m.id] = verdict = see(m)
        return verdict

    monitor.see = watched  # type: ignore[method-assign]
    run(source_of(raw), READER, monitor, **ending)
    return heard
