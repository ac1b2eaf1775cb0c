"""Small logs for the tests of readers, and what a reader or the audit makes of them."""

from __future__ import annotations

import io
import json
from typing import Any

from dissensus.say.audit import run
from dissensus.say.message import Message
from dissensus.say.monitor import Monitor
from dissensus.say.readers.base import Aside, Options, Reader, Skipped, Source
from dissensus.say.readers.registry import recognise
from dissensus.say.verdicts import Finding, Obligation


def source(content: object, *, lines: bool = False) -> Source:
    """A log that holds a text, bytes, or the JSON of something: as one document laid out, or one value a line."""
    if isinstance(content, bytes):
        raw = content
    elif isinstance(content, str):
        raw = content.encode()
    elif lines and isinstance(content, list):
        raw = "".join(json.dumps(value) + "\n" for value in content).encode()
    else:
        raw = json.dumps(content, indent=2).encode()
    return Source("log", lambda: io.BytesIO(raw))


class Read:
    """What a reader makes of a log."""

    def __init__(self, reader: Reader, log: Source, *, lenient: bool = False) -> None:
        self.asides: list[Aside] = []
        items = list(reader.read(log, Options(lenient=lenient, aside=self.asides.append)))
        self.messages = [item for item in items if isinstance(item, Message)]
        self.skipped = [item for item in items if isinstance(item, Skipped)]

    @property
    def said(self) -> list[tuple[str | None, str, str]]:
        return [(m.act, m.sender, ",".join(m.receivers)) for m in self.messages]

    @property
    def places(self) -> set[tuple[int, str]]:
        items: tuple[Message | Skipped | Aside, ...] = (*self.messages, *self.skipped, *self.asides)
        return {(item.line, item.where) for item in items}


def audited(log: Source) -> tuple[dict[str, int], list[Obligation], list[Finding]]:
    obligations: list[Obligation] = []
    findings: list[Finding] = []
    monitor = Monitor(on_closed=obligations.append, on_finding=findings.append)
    tally = run(log, recognise(log), monitor)
    return tally.counts(), obligations, findings


def call(name: str, identity: str | None, arguments: str = "{}") -> dict[str, Any]:
    return {"id": identity, "type": "function", "function": {"name": name, "arguments": arguments}}


def asks(*calls: dict[str, Any], text: str | None = None) -> dict[str, Any]:
    return {"role": "assistant", "content": text, "tool_calls": list(calls)}


def answers(identity: str | None, content: Any = "ok", **more: Any) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": identity, "content": content, **more}
