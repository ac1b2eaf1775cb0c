"""A2A logs written in short lines, for both wires, and what the tracker makes of them.

A line says who speaks and what: ``>`` the client, ``<`` the server (what it pushes: ``push``). Then a word, the id of
the request, and the rest:

    > send 1                        message/send or SendMessage; likewise: stream get list cancel subscribe card
    > send 2 t1 c2 now              to task t1, context c2, the client does not wait for the end
    > send 1 by=10:05               deadline in the metadata
    < task 1 t1 working c9 +art     also: status, artifact, message, bare (a Task without wrapper), tasks, error, junk
    push status t1 completed
    10:02 < task 1 t1 working       with a time, in an envelope
"""

from __future__ import annotations

import io
import json
from typing import Any

from dissensus.say.book import Book
from dissensus.say.message import Message
from dissensus.say.readers.a2a import READER
from dissensus.say.readers.base import Options, Source
from dissensus.say.readers.times import seconds
from dissensus.say.verdicts import OK, Finding, Obligation
from dissensus.say.wire.a2a import A2ATracker

METHODS = {
    "0.3": {
        "send": "message/send",
        "stream": "message/stream",
        "get": "tasks/get",
        "list": "tasks/list",
        "cancel": "tasks/cancel",
        "subscribe": "tasks/resubscribe",
        "card": "agent/getAuthenticatedExtendedCard",
    },
    "1.0": {
        "send": "SendMessage",
        "stream": "SendStreamingMessage",
        "get": "GetTask",
        "list": "ListTasks",
        "cancel": "CancelTask",
        "subscribe": "SubscribeToTask",
        "card": "GetExtendedAgentCard",
    },
}
STATES = {"submitted", "working", "input-required", "auth-required", "completed", "failed", "canceled", "rejected"}
DAY = "2026-03-02T"


def line(text: str, version: str) -> dict[str, Any]:
    """One JSON-RPC unit, or an envelope around it, or what was pushed."""
    words = text.split()
    if words[0][0].isdigit():
        way = "c2s" if words[1] == ">" else "s2c"
        return {"at": f"{DAY}{words[0]}:00Z", "dir": way, "rpc": line(text.partition(" ")[2], version)}
    if words[0] == "push":
        return _event(words[1], words[2:], version)
    way, word, ident, *rest = words
    unit: dict[str, Any] = {"jsonrpc": "2.0"}
    if ident != "-":
        unit["id"] = None if ident == "null" else int(ident) if ident.isdigit() else ident
    if way == ">":
        unit["method"] = METHODS[version].get(word, word)
        unit["params"] = _asked(word, ident, rest, version)
    elif word == "error":
        unit["error"] = {"code": int(rest[0]), "message": "no"}
    elif word == "tasks":
        unit["result"] = {"tasks": [_inner("task", pair.split("="), version) for pair in rest]}
    elif word == "junk":
        unit["result"] = {"ok": True}
    elif word == "bare":
        unit["result"] = _inner("task", rest, version)
    else:
        unit["result"] = _event(word, rest, version)
    return unit


def _asked(word: str, ident: str, rest: list[str], version: str) -> dict[str, Any]:
    if word in ("get", "cancel", "subscribe"):
        return {"id": rest[0]}
    if word not in ("send", "stream"):
        return {}
    message: dict[str, Any] = {"messageId": f"m{ident}", "role": "user" if version == "0.3" else "ROLE_USER"}
    message["parts"] = [{"text": "do it"} if version == "1.0" else {"kind": "text", "text": "do it"}]
    if version == "0.3":
        message["kind"] = "message"
    params: dict[str, Any] = {"message": message}
    for each in rest:
        if each == "now":
            params["configuration"] = {"returnImmediately": True} if version == "1.0" else {"blocking": False}
        elif each.startswith("by="):
            message["metadata"] = {"urn:dissensus:deadline": f"{DAY}{each[3:]}:00Z"}
        elif each.startswith("mid="):
            message["messageId"] = each[4:]
        else:
            message["contextId" if each[0] == "c" else "taskId"] = each
    return params


def _event(word: str, rest: list[str], version: str) -> dict[str, Any]:
    inner = _inner(word, rest, version)
    if version == "0.3":
        return inner
    return {{"status": "statusUpdate", "artifact": "artifactUpdate"}.get(word, word): inner}


def _inner(word: str, rest: list[str], version: str) -> dict[str, Any]:
    kind = {"status": "status-update", "artifact": "artifact-update"}.get(word, word)
    inner: dict[str, Any] = {"kind": kind} if version == "0.3" else {}
    artifact = {"artifactId": "a1", "parts": [{"kind": "text", "text": "result"}]}
    spoken: dict[str, Any] = {"messageId": "a", "role": "agent" if version == "0.3" else "ROLE_AGENT", "parts": []}
    if word == "message":
        inner.update(spoken)
    elif word == "artifact":
        inner["artifact"] = artifact
    else:
        inner["status"] = {}
    if word == "status" and version == "0.3":
        inner["final"] = False
    for each in rest:
        if each in STATES or each[0] == "!":
            state = each if version == "0.3" else "TASK_STATE_" + each.upper().replace("-", "_")
            inner["status"]["state"] = each[1:] if each[0] == "!" else state
        elif each == "+art":
            inner["artifacts"] = [artifact]
        elif each == "+says":
            inner["status"]["message"] = spoken
        elif each == "+asked":
            inner["history"] = [spoken, {**spoken, "role": "user" if version == "0.3" else "ROLE_USER"}]
        elif each == "+told":
            inner["history"] = [spoken]
        elif each == "final":
            inner["final"] = True
        elif each[0] == "c":
            inner["contextId"] = each
        else:
            inner["id" if word == "task" else "taskId"] = each
    return inner


def log(text: str, version: str) -> bytes:
    """A log of JSON lines, from short lines or parts between bars; ``0.3:`` before one changes its wire."""
    lines = []
    for part in text.replace("|", "\n").splitlines():
        short = part.strip()
        if not short:
            continue
        wire = version
        for other in ("0.3", "1.0"):
            if short.startswith(f"{other}: "):
                wire, short = other, short[len(other) + 2 :]
        lines.append(json.dumps(line(short, wire)).encode())
    return b"\n".join(lines)


def source(raw: bytes, name: str = "log.jsonl") -> Source:
    return Source(name, lambda: io.BytesIO(raw))


def track(
    raw: bytes, options: dict[str, Any] | None = None, *, as_of: str | None = None, split: int | None = None
) -> tuple[list[Finding], list[Obligation], A2ATracker]:
    """Findings and obligations of a log; ``split``: messages after which the tracker is stored and restored."""
    closed: list[Obligation] = []
    book = Book(closed.append)
    tracker = A2ATracker(book, options or {})
    found: list[Finding] = []
    last = None
    for number, m in enumerate(READER.read(source(raw), Options()), 1):
        assert isinstance(m, Message)
        book.seq = number
        if m.at is not None:
            last = m.at if last is None else max(last, m.at)
        said = tracker.see(m)
        if not isinstance(said, str):
            assert said
            found += said
        else:
            assert said is OK
        if number == split:
            state = json.loads(json.dumps(tracker.state()))
            tracker = A2ATracker(book, options or {})
            tracker.restore(state)
    found += tracker.finish()
    book.finish(seconds(as_of) if as_of is not None else last)
    return found, closed, tracker


def told(found: list[Finding]) -> list[str]:
    """``LINE verdict rule party thread level`` of each finding."""
    return [f"{one.line} {one.verdict} {one.rule} {one.party} {one.thread} {one.level}" for one in found]


def owed(closed: list[Obligation]) -> list[str]:
    """``thread kind debtor OPENED-CLOSED status`` of each obligation, and what else there is to say, sorted."""
    rows = []
    for one in closed:
        more = [
            f"late={one.late_by_s:g}" if one.late_by_s is not None else "",
            f"ack={one.acknowledged}" if one.acknowledged else "",
            "suspended" if one.suspended else "",
            one.reason,
        ]
        assert {one.debtor, one.creditor} == {"client", "server"}
        assert one.protocol == "a2a"
        span = f"{one.opened_line}-{one.closed_line or ''}"
        rows.append(" ".join([one.thread, one.kind, one.debtor, span, one.status, *filter(None, more)]))
    return sorted(rows)
