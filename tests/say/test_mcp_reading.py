"""Forms in which MCP traffic is logged, and what cannot be read."""

from __future__ import annotations

import json
from typing import Any

import pytest
from mcp_traffic import META, Audited, ask, err, greet, ok, source, task, tell, text

from dissensus.errors import LogError
from dissensus.say.message import Message
from dissensus.say.readers.base import Aside, Item, Options, Skipped
from dissensus.say.readers.mcp import READER
from dissensus.say.readers.registry import recognise

CALL = ask(1, "tools/call", {"name": "count"})
DESKTOP = """\
2025-07-12T05:51:44.590Z [files] [info] Initializing server... { metadata: undefined }
2025-07-12T05:51:44.601Z [files] [info] Message from client: {"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"demo","version":"1"}},"jsonrpc":"2.0","id":0} { metadata: undefined }
2025-07-12T05:51:44.700Z [files] [info] Message from server: {"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"s","version":"1"}}} { metadata: undefined }
Traceback (most recent call last): a server writes what it likes
2025-07-12T05:51:44.701Z [files] [info] Message from client: {"method":"notifications/initialized","jsonrpc":"2.0"} { metadata: undefined }
2025-07-12T05:51:45.000Z [info] [mail] Message from client: {"method":"tools/list","jsonrpc":"2.0","id":0} { metadata: undefined }
2025-07-12T05:51:45.100Z [files] [info] Message from client: {"method":"tools/call","params":{"name":"read"},"jsonrpc":"2.0","id":1} { metadata: undefined }
2025-07-12T05:51:46.100Z [files] [info] Message from server: {"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"a\\\\...[18778 chars truncated]...b"}]}} { metadata: undefined }
"""  # noqa: E501 - such a log has long lines


def read(content: str, **options: Any) -> tuple[list[Item], list[Aside]]:
    asides: list[Aside] = []
    return list(READER.read(source(content), Options(aside=asides.append, **options))), asides


def brief(content: str) -> list[tuple[str, str, str | None, str | None]]:
    return [(m.sender, m.act or "-", m.thread, m.name) for m in read(content)[0] if isinstance(m, Message)]


def bare(*lines: dict[str, object]) -> str:
    return text(line["rpc"] for line in lines)  # type: ignore[misc]


WHOLE = [
    *greet(),
    CALL,
    tell("progress", {"progressToken": "t", "progress": 1}),
    ask("e", "elicitation/create", {"message": "which?"}, "s"),
    ok("e", {"action": "decline"}, "c"),
    ask("t", "tools/call", {"name": "slow", "task": {}}),
    ok("t", {"task": task()}),
    ask(3, "tasks/get", {"taskId": "k1"}),
    ok(3, task("completed")),
    ok(1, {"content": [], "isError": True}),
    ask(4, "tools/list"),
    tell("cancelled", {"requestId": 4}, "c"),
    ask(5, "tools/list"),
    err(5, -32601),
]
SAID = [
    ("client", "request", "rpc:c:0", "initialize"),
    ("server", "inform", "rpc:c:0", None),
    ("client", "inform", None, "notifications/initialized"),
    ("client", "request", "rpc:c:1", "tools/call"),
    ("server", "inform", None, "notifications/progress"),
    ("server", "query-ref", "rpc:s:e", "elicitation/create"),
    ("client", "refuse", "rpc:s:e", None),
    ("client", "request", "rpc:c:t", "tools/call"),
    ("server", "agree", "k1", None),
    ("client", "request", "k1", "tasks/get"),
    ("server", "inform", "k1", None),
    ("server", "failure", "rpc:c:1", None),
    ("client", "request", "rpc:c:4", "tools/list"),
    ("client", "cancel", "rpc:c:4", "notifications/cancelled"),
    ("client", "request", "rpc:c:5", "tools/list"),
    ("server", "not-understood", "rpc:c:5", None),
]


def test_each_unit_is_a_message_with_its_act() -> None:
    assert brief(text(WHOLE)) == SAID


def test_without_envelopes_the_sides_are_told_all_the_same() -> None:
    assert brief(bare(*WHOLE)) == SAID


@pytest.mark.parametrize(
    ("key", "way", "names"),
    [
        ("message", "direction", ("client_to_server", "server_to_client")),
        ("payload", "direction", ("client->server", "server->client")),
        ("rpc", "from", ("client", "server")),
        ("frame", "direction", ("sent", "received")),
        ("frame", "direction", ("incoming", "outgoing")),
        ("data", "type", ("send", "recv")),
    ],
)
def test_other_envelopes(key: str, way: str, names: tuple[str, str]) -> None:
    lines = [{way: names[one["dir"] == "s2c"], key: one["rpc"]} for one in WHOLE]
    assert brief(text(lines)) == SAID


def test_a_unit_may_stand_as_a_text_in_its_envelope_and_have_a_time() -> None:
    lines = [{"ts": 1767603600, "dir": one["dir"], "raw": json.dumps(one["rpc"])} for one in WHOLE]
    assert brief(text(lines)) == SAID
    first = read(text(lines))[0][0]
    assert isinstance(first, Message)
    assert first.at == 1767603600.0


@pytest.mark.parametrize("wrap", ["list", "messages", "one line"])
def test_documents(wrap: str) -> None:
    value = {"messages": WHOLE} if wrap == "messages" else WHOLE
    content = json.dumps(value, indent=None if wrap == "one line" else 2)
    if wrap == "one line":
        content = json.dumps([one["rpc"] for one in WHOLE])
    assert brief(content) == SAID
    assert recognise(source(content)) is READER


def test_a_batch_is_several_messages_of_one_line() -> None:
    found = Audited(text([*greet(), {"dir": "c2s", "rpc": [CALL["rpc"], ask(2, "ping")["rpc"]]}, ok(1)]))
    assert ("rpc:c:2", "answer", "server", "client", 4, "pending", None) in found.owed()
    assert found.faults() == []


def test_a_text_log_of_a_desktop_client() -> None:
    items, asides = read(DESKTOP)
    assert len(items) == 6
    assert [aside.line for aside in asides] == [1, 4]
    assert recognise(source(DESKTOP)) is READER
    found = Audited(DESKTOP)
    assert found.faults() == []
    assert found.owed() == [
        ("rpc:c:0@files", "answer", "files", "client", 2, "fulfilled", 3),
        ("rpc:c:0@mail", "answer", "mail", "client", 6, "pending", None),
        ("rpc:c:1@files", "answer", "files", "client", 7, "fulfilled", 8),
    ]
    assert found.obligations[0].opened_at == pytest.approx(1752299504.601)


def test_what_a_client_cut_out_of_a_long_message_is_not_missed() -> None:
    cut = '{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"te...[9 chars truncated]...\\u00'
    asked = '{"method":"tools/call","params":{"name":"re...[9 chars truncated]..."},"jsonrpc":"2.0","id":7}'
    lines = DESKTOP.splitlines()[:7]
    stamp = "2025-07-12T05:51:46.100Z [files] [info] Message from"
    found = Audited("\n".join([*lines, f"{stamp} server: {cut}", f"{stamp} client: {asked}"]))
    assert ("rpc:c:1@files", "answer", "files", "client", 7, "fulfilled", 8) in found.owed()
    assert ("rpc:c:7@files", "answer", "files", "client", 9, "pending", None) in found.owed()


def test_arrows() -> None:
    log = (
        '[12:00:01] client -> server: {"jsonrpc":"2.0","id":1,"method":"tools/list"}\n'
        "starting\n"
        '[12:00:02] server -> client: {"jsonrpc":"2.0","id":1,"result":{"tools":[]}}\n'
    )
    assert Audited(log).owed() == [("rpc:c:1", "answer", "server", "client", 1, "fulfilled", 3)]


def test_sessions_in_one_log_have_name_spaces_of_their_own() -> None:
    lines = [{**line, "session": session} for session in ("a", "b") for line in [*greet(), CALL]]
    found = Audited(text(lines))
    assert found.faults() == []
    assert [row[0] for row in found.owed()] == ["rpc:c:0@a", "rpc:c:0@b", "rpc:c:1@a", "rpc:c:1@b"]
    assert found.counts == (4, 2, 4)


@pytest.mark.parametrize(
    "wrong",
    ['{"jsonrpc": "2.0", "id": 1, "met', '{"dir": "c2s"}', "[1, 2]", "3", '{"jsonrpc": "2.0", "id": 1}', "\x00"],
)
def test_a_line_that_holds_no_message_is_an_error_with_its_line(wrong: str) -> None:
    content = text([CALL]) + wrong + "\n" + text([ok(1)])
    with pytest.raises(LogError) as caught:
        list(READER.read(source(content, "team.jsonl"), Options()))
    assert caught.value.line == 2
    assert "team.jsonl:2" in str(caught.value)
    items, _ = read(content, lenient=True)
    assert [type(item) for item in items] == [Message, Skipped, Message]


def test_broken_json_in_a_text_log_is_an_error_with_its_line() -> None:
    content = DESKTOP + '2025-07-12T05:51:47.100Z [files] [info] Message from server: {"jsonrpc": oops\n'
    with pytest.raises(LogError) as caught:
        list(READER.read(source(content), Options()))
    assert caught.value.line == 9
    assert isinstance(read(content, lenient=True)[0][-1], Skipped)


@pytest.mark.parametrize(
    "log",
    [
        '{"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": {"message": {"messageId": "m"}}}',
        '{"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": {"messageId": "m"}}}',
        '{"jsonrpc": "2.0", "id": 1, "method": "tasks/get", "params": {"id": "t1"}}',
        '{"jsonrpc": "2.0", "id": 1, "method": "eth_call", "params": []}\n{"jsonrpc": "2.0", "id": 1, "result": "0x"}',
        '{"id": "m1", "act": "request", "sender": "a", "receivers": ["b"], "thread": "t"}',
    ],
)
def test_other_logs_are_not_taken_for_mcp(log: str) -> None:
    more = log + "\n" + log
    assert READER.recognise(source(more)) < 0.5


@pytest.mark.parametrize(
    "log",
    [
        bare(ok(1, {"content": [{"type": "text", "text": "42"}]}), ok(2, {"tools": []})),
        bare(ask(1, "tasks/get", {"taskId": "k"}), ok(1, task())),
        bare(ask(1, "x/custom", {"_meta": META}), ok(1)),
        bare(tell("progress", {"progressToken": 1, "progress": 1}), CALL),
    ],
)
def test_mcp_is_recognised_by_what_only_it_has(log: str) -> None:
    assert recognise(source(log)) is READER
