"""Logs of A2A however they are laid out: each unit is one message with its act, and a bad line is named."""

from __future__ import annotations

import json
from typing import Any

import pytest
from a2a_lines import line, log, owed, source, told, track

from dissensus.errors import LogError
from dissensus.say.message import Message
from dissensus.say.readers.a2a import READER
from dissensus.say.readers.base import Aside, Options, Skipped

WHOLE = "> stream 1 | < task 1 t1 c1 working | < artifact 1 t1 c1 | < status 1 t1 c1 completed"


def messages(raw: bytes) -> list[Message]:
    items = list(READER.read(source(raw), Options()))
    assert all(isinstance(item, Message) for item in items)
    return [item for item in items if isinstance(item, Message)]


@pytest.mark.parametrize("version", ["0.3", "1.0"])
@pytest.mark.parametrize(
    ("short", "act", "content_type", "thread", "sender"),
    [
        ("> send 1", "request", None, "rpc:1", "client"),
        ("> stream 1", "request", None, "rpc:1", "client"),
        ("> send 1 t1", "inform", None, "t1", "client"),
        ("> get 1 t1", "query-ref", None, "t1", "client"),
        ("> list 1", "query-ref", None, "rpc:1", "client"),
        ("> cancel 1 t1", "cancel", None, "t1", "client"),
        ("> subscribe 1 t1", "subscribe", None, "t1", "client"),
        ("> card 1", "request", None, "rpc:1", "client"),
        ("> unheard/of x", "request", None, "rpc:x", "client"),
        ("< message 1 c1", "inform", "result", "rpc:1", "server"),
        ("< task 1 t1 submitted", "inform", "acknowledged", "t1", "server"),
        ("< task 1 t1 working", "agree", None, "t1", "server"),
        ("< status 1 t1 input-required", "query-ref", None, "t1", "server"),
        ("< status 1 t1 auth-required", "query-ref", None, "t1", "server"),
        ("< artifact 1 t1", "inform", "partial", "t1", "server"),
        ("< status 1 t1 completed", "inform", "done", "t1", "server"),
        ("< bare 1 t1 failed", "failure", None, "t1", "server"),
        ("< bare 1 t1 rejected", "refuse", None, "t1", "server"),
        ("< bare 1 t1 canceled", "inform", "cancelled", "t1", "server"),
        ("< tasks 1 t1=working t2=failed", "inform", "result", "rpc:1", "server"),
        ("< junk 1", "inform", "result", "rpc:1", "server"),
        ("< error 1 -32603", "failure", None, "rpc:1", "server"),
        ("< error 1 -32602", "not-understood", None, "rpc:1", "server"),
        ("< error 1 -32001", "refuse", None, "rpc:1", "server"),
        ("push status t1 working", "agree", None, "t1", "server"),
    ],
)
def test_acts(short: str, act: str, content_type: str | None, thread: str, sender: str, *, version: str) -> None:
    (m,) = messages(log(short, version))
    assert (m.act, m.content_type, m.thread, m.sender) == (act, content_type, thread, sender)
    assert m.receivers == ("server" if sender == "client" else "client",)
    assert (m.protocol, m.tag_source, m.line, m.id) == ("a2a", "structure", 1, "1")
    assert m.wire == line(short, version)


def test_time_way_and_deadline_of_an_envelope() -> None:
    first, second = messages(log("10:00 > send 1 by=10:05 | 10:01 < message 1 c1", "1.0"))
    assert (first.sender, second.sender) == ("client", "server")
    assert second.at is not None
    assert first.at == second.at - 60
    assert first.reply_by == first.at + 300
    assert (first.reply_with, second.in_reply_to) == ("1", "1")


@pytest.mark.parametrize(
    ("deadline", "after"), [("2026-03-02T10:05:00Z", 300), ("2026-03-02T11:05:00+01:00", 300), (90, 90), ("soon", None)]
)
def test_deadlines(deadline: Any, after: float | None) -> None:
    unit = line("10:00 > send 1", "1.0")
    unit["rpc"]["params"]["message"]["metadata"] = {"urn:dissensus:deadline": deadline}
    (m,) = messages(json.dumps(unit).encode())
    assert m.at is not None
    assert m.reply_by == (None if after is None else m.at + after)


@pytest.mark.parametrize(
    "around",
    [
        {"ts": 1_772_445_600, "direction": "server-to-client", "message": None},
        {"time": "2026-03-02T10:00:00", "dir": "s2c", "payload": None},
        {"timestamp": "2026-03-02T10:00:00Z", "data": None},
    ],
)
@pytest.mark.parametrize("as_text", [False, True])
def test_other_envelopes(around: dict[str, Any], as_text: bool) -> None:
    unit = line("< task 1 t1 working", "1.0")
    key = next(name for name, value in around.items() if value is None)
    (m,) = messages(json.dumps({**around, key: json.dumps(unit) if as_text else unit}).encode())
    assert (m.sender, m.act, m.at, m.wire) == ("server", "agree", 1_772_445_600.0, unit)


@pytest.mark.parametrize("version", ["0.3", "1.0"])
def test_every_layout_says_the_same(version: str) -> None:
    raw = log(WHOLE, version)
    lines = [json.loads(each) for each in raw.splitlines()]
    rest = lines[1:]
    layouts = {
        "list on one line": json.dumps(lines).encode(),
        "list over many lines": json.dumps(lines, indent=2).encode(),
        "list of one unit a line": b"[\n" + b",\n".join(raw.splitlines()) + b"\n]\n",
        "units over many lines": b"\n".join(json.dumps(each, indent=1).encode() for each in lines),
        "blank lines and carriage returns": raw.replace(b"\n", b"\r\n\r\n"),
        "byte order mark": b"\xef\xbb\xbf" + raw,
        "events": raw.splitlines()[0] + b"\n" + b"".join(b"event: x\ndata: " + _line(each) + b"\n\n" for each in rest),
        "events over many lines": raw.splitlines()[0]
        + b"\n"
        + b"".join(
            b"data: " + json.dumps(each, indent=1).replace("\n", "\ndata: ").encode() + b"\n\n" for each in rest
        ),
    }
    expected = [each.wire for each in messages(raw)]
    for name, layout in layouts.items():
        assert [each.wire for each in messages(layout)] == expected, name
        assert READER.recognise(source(layout)) > 0.9, name
        found, closed, _ = track(layout)
        assert told(found) == [], name
        assert {one.status for one in closed} == {"fulfilled"}, name
        assert len(closed) == 2, name
        ids = [each.id for each in messages(layout)]
        assert len(set(ids)) == 4, name


def _line(value: Any) -> bytes:
    return json.dumps(value).encode()


def test_a_batch_is_followed_unit_by_unit() -> None:
    lines = [line(each, "1.0") for each in ("> send 1", "> send 2")]
    answers = [line(each, "1.0") for each in ("< message 2 c1", "< message 1 c1")]
    raw = json.dumps(lines).encode() + b"\n" + json.dumps({"dir": "s2c", "rpc": answers}).encode()
    assert [(m.id, m.line, m.where) for m in messages(raw)] == [
        ("1[0]", 1, "[0]"), ("1[1]", 1, "[1]"), ("2[0]", 2, "[0]"), ("2[1]", 2, "[1]"),
    ]  # fmt: skip
    found, closed, _ = track(raw)
    assert told(found) == []
    assert owed(closed) == ["rpc:1 answer server 1-2 fulfilled", "rpc:2 answer server 1-2 fulfilled"]


def test_names_as_protocol_buffers_write_them() -> None:
    status = {"task_id": "t1", "context_id": "c1", "status": {"state": "TASK_STATE_WORKING"}}
    raw = log("> stream 1 | < task 1 t1 c1 submitted", "1.0") + b"\n"
    raw += _line({"jsonrpc": "2.0", "id": 1, "result": {"status_update": status}})
    found, closed, _ = track(raw)
    assert told(found) == []
    assert owed(closed) == ["t1 answer server 1-3 fulfilled", "t1 performance server 3- pending"]


def test_what_is_no_json_rpc_is_set_aside() -> None:
    aside: list[Aside] = []
    raw = b'{"level": "info", "text": "started"}\n: ping\n' + log("> send 1", "1.0")
    items = list(READER.read(source(raw), Options(aside=aside.append)))
    assert len(items) == 1
    assert [(each.kind, each.line) for each in aside] == [("no JSON-RPC", 1), ("field of a server-sent event", 2)]


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        (b'{"jsonrpc": "2.0", "id": 1, "res', "breaks off"),
        (b'{"jsonrpc": nonsense}', "no JSON"),
        (b'{"jsonrpc": "\xff\xfe"}', "not UTF-8"),
        (b"42", "no JSON object"),
        (b"hello", "no JSON"),
        (b'data: {"jsonrpc": "2.0",', "cut off"),
        (b"[" * 100_000 + b"]", "deeper"),
    ],
)
def test_a_bad_line_is_named_or_counted(bad: bytes, why: str) -> None:
    good = log("> send 1", "1.0")
    raw = good + b"\n" + bad + b"\n" + good
    with pytest.raises(LogError, match=r"log\.jsonl:2: .*" + why) as raised:
        list(READER.read(source(raw), Options()))
    assert raised.value.line == 2
    assert raised.value.next_step
    items = list(READER.read(source(raw), Options(lenient=True)))
    assert [type(item) for item in items] == [Message, Skipped, Message]
    assert isinstance(items[1], Skipped)
    assert items[1].line == 2
    assert why in items[1].why


def test_a_file_that_ends_in_the_middle_is_named_at_its_end() -> None:
    raw = log(WHOLE, "1.0")
    with pytest.raises(LogError, match=r"log\.jsonl:4: The line breaks off"):
        list(READER.read(source(raw[:-10]), Options()))


@pytest.mark.parametrize(
    ("raw", "sure"),
    [
        (log("> list 1", "1.0"), True),
        (log("< status 1 t1 working", "1.0"), True),
        (log("< status 1 t1 working", "0.3"), True),
        (log("push task t1 working", "0.3"), True),
        (b'{"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {}}', False),
        (b'{"jsonrpc": "2.0", "id": 0, "method": "tools/call", "params": {"name": "x"}}', False),
        (b'{"jsonrpc": "2.0", "id": 0, "method": "tasks/get", "params": {"taskId": "k1"}}', False),
        (b'{"jsonrpc": "2.0", "id": 0, "result": {"task": {"taskId": "k1", "status": "working"}}}', False),
        (b'{"jsonrpc": "2.0", "id": 0, "result": {"content": []}}', False),
        (b'{"sender": "a", "receivers": ["b"], "act": "inform"}', False),
        (b'[{"role": "user", "content": "hi"}]', False),
        (b"hello", False),
        (b"", False),
    ],
)
def test_recognised(raw: bytes, sure: bool) -> None:
    assert (READER.recognise(source(raw)) > 0.5) is sure
