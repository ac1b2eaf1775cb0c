"""Files as they really come: marked, blank at the top, in another encoding, as events, cut by rotation."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from logs import source_of

from dissensus.errors import LogError
from dissensus.say.audit import run
from dissensus.say.monitor import Monitor
from dissensus.say.readers.base import Options
from dissensus.say.readers.registry import recognise
from dissensus.say.readers.server_sent import in_events

DATA = Path(__file__).parent / "data"
LOGS = sorted(
    path
    for path in DATA.iterdir()
    if path.suffix in (".jsonl", ".json", ".log", ".acl", ".txt") and path.stem != "conversations"
)  # fmt: skip
A2A = (
    b'{"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": {"messageId": "m", "role":'
    b' "ROLE_USER", "parts": [{"text": "hi"}]}}}\n'
    b'{"jsonrpc": "2.0", "id": 1, "result": {"message": {"messageId": "a", "role": "ROLE_AGENT", "parts": []}}}\n'
)
OWN = b'{"id": "1", "act": "request", "sender": "a", "receivers": ["b"], "thread": "t", "content": "hi"}\n'


def lines_of(*values: Any) -> bytes:
    return "".join(json.dumps(value) + "\n" for value in values).encode()


def heard(raw: bytes, *, lenient: bool = False) -> tuple[str, dict[str, int], list[Any]]:
    """Format, counts and findings of a log."""
    source = source_of(raw)
    reader = recognise(source)
    found: list[Any] = []
    tally = run(source, reader, Monitor(on_finding=found.append), Options(lenient=lenient))
    return reader.name, tally.counts(), found


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.name)
@pytest.mark.parametrize("change", ["bom", "blank", "crlf"])
def test_what_editors_do_to_a_file_changes_nothing(path: Path, change: str) -> None:
    raw = path.read_bytes()
    changed = {"bom": b"\xef\xbb\xbf" + raw, "blank": b"\n\n" + raw, "crlf": raw.replace(b"\n", b"\r\n")}[change]
    assert heard(changed)[:2] == heard(raw)[:2]


@pytest.mark.parametrize("raw", [A2A, OWN], ids=["a2a", "own"])
def test_a_mark_of_the_encoding_is_no_part_of_the_first_line(raw: bytes) -> None:
    assert heard(b"\xef\xbb\xbf" + raw)[:2] == heard(raw)[:2]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_another_encoding_is_named(encoding: str) -> None:
    with pytest.raises(LogError, match="UTF-16") as caught:
        recognise(source_of(OWN.decode().encode(encoding)))
    assert caught.value.line == 1
    assert "iconv" in caught.value.next_step


@pytest.mark.parametrize("raw", [A2A, OWN], ids=["a2a", "own"])
@pytest.mark.parametrize("half", [rb"\ud83d", rb"\udc00 x", rb"ok \ud83d\ud83d\ude00"])
def test_half_a_character_costs_nothing_but_itself(raw: bytes, half: bytes) -> None:
    assert heard(raw.replace(b'"hi"', b'"' + half + b'"'))[:2] == heard(raw)[:2]


def test_a_number_that_is_none_is_no_value() -> None:
    assert heard(OWN.replace(b'"hi"', b'{"score": NaN}'))[:2] == heard(OWN)[:2]


def test_what_is_no_message_stays_one_in_every_way_of_reading() -> None:
    with pytest.raises(LogError, match="This is no message"):
        heard(OWN + rb'{"sender": 5, "content": "\ud800"}' + b"\n")


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every part of a value, of long lists the first three."""
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value[:3]) if isinstance(value, list) else ()
    for key, part in inner:
        yield from places(part, (*path, key))


def changed(value: Any, path: tuple[Any, ...], to: Any) -> Any:
    """``value`` with ``to`` at ``path``."""
    if not path:
        return to
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = changed(value[path[0]], path[1:], to)
    return copy


SENT = lines_of({"direction": "sent", "rpc": {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}})
ODD: tuple[Any, ...] = ({}, [], 5, "", True, None)
FAULTY = {path.name: path.read_bytes() for path in LOGS if path.suffix in (".jsonl", ".json")} | {"sent": SENT}
del FAULTY["otel_console.json"]  # objects that are spread over several lines


@pytest.mark.parametrize("name", sorted(FAULTY))
def test_no_field_of_a_wrong_type_makes_reading_fail(name: str) -> None:
    """Each field of each entry once, with each of several types: an error of the log's, or a report."""
    whole = FAULTY[name]
    try:
        entries = [json.loads(whole)]
    except ValueError:
        entries = [json.loads(line) for line in whole.splitlines() if line.strip()]
    reader = recognise(source_of(whole))
    for at, entry in enumerate(entries[:6]):
        for path in places(entry):
            for odd in ODD:
                faulty = lines_of(*entries[:at], changed(entry, path, odd), *entries[at + 1 : at + 3])
                with contextlib.suppress(LogError):
                    run(source_of(faulty), reader, Monitor(), Options(lenient=True))


# --- events

HELLO = {
    "jsonrpc": "2.0", "id": 0, "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}},
}  # fmt: skip
HELLO_BACK = {
    "jsonrpc": "2.0", "id": 0,
    "result": {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {"name": "s", "version": "1"}},
}  # fmt: skip
READY = {"jsonrpc": "2.0", "method": "notifications/initialized"}


def listing(ident: int) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": ident, "method": "tools/list", "params": {}}


def listed(ident: int) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": ident, "result": {"tools": []}}


@pytest.mark.parametrize(
    "log",
    [
        "data: {0}\n\ndata: {1}\n",
        "event: message\nid: 4\ndata: {0}\n\n: ping\n\nevent: message\ndata: {1}\n\n",
        "{0}\nevent: message\r\ndata:{1}\r\n\r\n",
        "event: endpoint\ndata: /messages?sessionId=1\n\ndata: {0}\ndata: {1}\n",
    ],
)
def test_events_of_mcp(log: str) -> None:
    name, counts, found = heard(log.format(json.dumps(HELLO), json.dumps(HELLO_BACK)).encode())
    assert (name, counts["messages"], counts["requests"], counts["unanswered"], found) == ("mcp", 2, 1, 0, [])


def test_an_event_over_several_lines_has_the_number_of_its_first() -> None:
    parts = b'event: message\ndata: {"jsonrpc": "2.0",\ndata: "id": 1,\ndata: "method": "ping"}\n\n{"id": 2}\n'
    assert list(in_events(source_of(parts), Options())) == [
        (2, {"jsonrpc": "2.0", "id": 1, "method": "ping"}), (6, {"id": 2}),
    ]  # fmt: skip


def test_a_broken_event_is_an_error_with_its_line_or_is_counted() -> None:
    broken = b"data: " + lines_of(HELLO) + b'data: {"jsonrpc": "2.0",\n' + lines_of(HELLO_BACK)
    with pytest.raises(LogError) as caught:
        heard(broken)
    assert caught.value.line == 2
    assert heard(broken, lenient=True)[1]["messages"] == 2


# --- connections


def test_a_connection_from_before_the_log_began_used_ids_of_its_own() -> None:
    log = lines_of(listing(1), listed(1), HELLO, HELLO_BACK, READY, listing(1), listed(1))
    name, counts, found = heard(log)
    assert (name, counts["requests"], counts["unanswered"], found) == ("mcp", 3, 0, [])


def test_who_was_greeted_before_the_log_began_is_not_too_early() -> None:
    log = lines_of(READY, listing(1), HELLO, HELLO_BACK, READY, listing(1), listed(1))
    _, counts, found = heard(log)
    assert (counts["unanswered"], found) == (1, [])


def test_in_one_connection_an_id_is_used_once_also_before_the_greeting() -> None:
    rules = [(one.rule, one.line) for one in heard(lines_of(listing(0), HELLO, HELLO_BACK, READY))[2]]
    assert ("mcp.before-initialized", 1) in rules
    assert ("rpc.id-reused", 2) in rules
