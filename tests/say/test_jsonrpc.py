"""JSON-RPC: what a unit is, which answer belongs to which request, and what is remembered of both."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dissensus.say.book import Book
from dissensus.say.message import Message
from dissensus.say.verdicts import FAILED, NOT_UNDERSTOOD, REFUSED
from dissensus.say.wire import memory
from dissensus.say.wire.jsonrpc import (
    MALFORMED,
    NOTIFICATION,
    REQUEST,
    RESPONSE,
    Calls,
    Held,
    declared_by_error,
    error_of,
    finder,
    id_text,
    kind_of,
    reference,
    units,
)
from dissensus.say.wire.memory import Memory


def ask(calls: Calls, ident: Any, asker: str = "client", *, stream: bool = False, line: int = 1) -> str | None:
    m = Message(id=f"{line}", sender=asker, line=line)
    fault = calls.ask(m, {"id": ident, "method": "do"}, asker=asker, stream=stream)[1]
    return None if fault is None else fault.rule


def answer(calls: Calls, ident: Any, asker: str = "client", **more: Any) -> str | None:
    call, fault = calls.answer({"id": ident, "result": {}, **more}, asker=asker)
    assert call is None or fault is None
    return None if fault is None else fault.rule


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ({"id": 1, "method": "x"}, REQUEST),
        ({"id": None, "method": "x"}, REQUEST),
        ({"method": "x"}, NOTIFICATION),
        ({"id": 1, "result": None}, RESPONSE),
        ({"error": {}}, RESPONSE),
        ({"id": 1}, MALFORMED),
        ({"id": 1, "method": 7}, MALFORMED),
        ([], MALFORMED),
        ("x", MALFORMED),
        (None, MALFORMED),
    ],
)
def test_kinds(value: Any, kind: str) -> None:
    assert kind_of(value) == kind


def test_a_batch_is_its_units() -> None:
    assert units([{"id": 1}, {"id": 2}]) == [{"id": 1}, {"id": 2}]
    assert units({"id": 1}) == [{"id": 1}]


@pytest.mark.parametrize(
    ("ident", "text"), [(1, "1"), ("1", "1"), (1.0, "1"), (1.5, "1.5"), (None, "null"), (True, "True"), ([1], "[1]")]
)
def test_ids_in_threads(ident: Any, text: str) -> None:
    assert id_text(ident) == text


def test_what_errors_declare() -> None:
    by_code = {
        code: declared_by_error(code) for code in (-32603, -32700, -32600, -32601, -32602, -32005, -32001, 7, None)
    }
    assert by_code[-32603] == ("failure", FAILED)
    for code in (-32700, -32600, -32601, -32602, -32005):
        assert by_code[code] == ("not-understood", NOT_UNDERSTOOD)
    refused: tuple[int | None, ...] = (-32001, 7, None)
    for other in refused:
        assert by_code[other] == ("refuse", REFUSED)
    assert error_of({"error": {"code": -32001, "message": "no"}}) == (-32001, "no")
    assert error_of({"error": "no"}) == (None, "no")
    assert error_of({"error": {"code": "x"}}) == (None, "")


def test_an_answer_finds_its_request_once() -> None:
    calls = Calls(unique=True)
    assert ask(calls, 1) is None
    assert answer(calls, 1) is None
    assert answer(calls, 1) == "rpc.answered-twice"
    assert answer(calls, 2) == "rpc.orphan-response"


def test_the_two_directions_are_two_name_spaces() -> None:
    calls = Calls(unique=True)
    assert ask(calls, 1, "client") is None
    assert ask(calls, 1, "server") is None
    assert answer(calls, 1, "server") is None
    assert answer(calls, 1, "client") is None


def test_a_number_and_its_text_are_two_ids() -> None:
    calls = Calls(unique=True)
    assert ask(calls, 1) is None
    _, fault = calls.answer({"id": "1", "result": {}}, asker="client")
    assert fault is not None
    assert fault.rule == "rpc.orphan-response"
    assert "one is in use as a number" in fault.says
    assert ask(calls, "1") is None


def test_an_id_serves_once_in_a_session() -> None:
    calls = Calls(unique=True)
    assert ask(calls, 1) is None
    assert ask(calls, 1) == "rpc.id-reused"
    assert answer(calls, 1) is None
    assert answer(calls, 1) is None  # each request has its answer
    assert ask(calls, 1) == "rpc.id-reused"


def test_an_id_may_serve_again_where_clients_share_a_log() -> None:
    calls = Calls(unique=False)
    assert ask(calls, 1) is None
    _, fault = calls.ask(Message(id="2", sender="client"), {"id": 1, "method": "do"}, asker="client")
    assert fault is not None
    assert (fault.rule, fault.verdict, fault.level) == ("rpc.id-reused", "ok", "warning")
    assert answer(calls, 1) is None
    assert answer(calls, 1) is None
    assert ask(calls, 1) is None


def test_notifications_want_no_answer() -> None:
    calls = Calls(unique=True)
    assert answer(calls, None) == "rpc.orphan-response"
    calls.notify()
    assert answer(calls, None) == "rpc.notification-answered"
    assert calls.answer({"id": None, "error": {"code": -32700}}, asker="client") == (None, None)


def test_a_stream_takes_many_answers_until_it_is_over() -> None:
    calls = Calls(unique=True)
    call, _ = calls.ask(Message(id="1", sender="client"), {"id": 1, "method": "do"}, asker="client", stream=True)
    assert [answer(calls, 1) for _ in range(3)] == [None, None, None]
    assert call.answers == 3
    calls.done(call, 7)
    assert calls.over("client", 1) == 7
    assert answer(calls, 1) is None
    calls.done(call, 8)  # it is over already
    assert calls.over("client", 1) == 7


def test_a_dropped_request_gets_no_answer() -> None:
    calls = Calls(unique=True)
    call, _ = calls.ask(Message(id="1", sender="client"), {"id": 1, "method": "do"}, asker="client")
    assert calls.find("client", 1) is call
    assert calls.the_only("client") is call
    calls.drop(call)
    assert calls.find("client", 1) is None
    assert answer(calls, 1) == "rpc.answered-twice"


@given(
    st.lists(st.tuples(st.booleans(), st.sampled_from([1, 2, "1", "a"]), st.sampled_from(["client", "server"]))),
    st.data(),
)
def test_against_a_plain_account_and_restored_anywhere(steps: list[tuple[bool, Any, str]], data: st.DataObject) -> None:
    """Each id of each asker counts how often it was asked and answered; nothing else matters."""
    calls = Calls(unique=True)
    asked: dict[tuple[str, Any], int] = {}
    answered: dict[tuple[str, Any], int] = {}
    split = data.draw(st.integers(0, len(steps)))
    for at, (asks, ident, asker) in enumerate(steps):
        if at == split:
            calls = Calls.restore(json.loads(json.dumps(calls.state())), lambda _: None)
        key = (asker, (type(ident), ident))
        if asks:
            assert ask(calls, ident, asker) == ("rpc.id-reused" if asked.get(key) else None)
            asked[key] = asked.get(key, 0) + 1
        elif not asked.get(key):
            assert answer(calls, ident, asker) == "rpc.orphan-response"
        elif answered.get(key, 0) >= asked[key]:
            assert answer(calls, ident, asker) == "rpc.answered-twice"
        else:
            assert answer(calls, ident, asker) is None
            answered[key] = answered.get(key, 0) + 1
    assert len(calls.open_calls()) == sum(asked.values()) - sum(answered.values())


def test_held_back_up_to_a_thousand() -> None:
    held = Held()
    m = Message(id="1", sender="server", at=2.5, wire={"id": 1, "result": {"a": [1, None]}})
    assert all(held.keep(m, seq) for seq in range(1_000))
    again = Held.restore(json.loads(json.dumps(held.state())))
    assert not again.keep(m, 1_000)
    assert again.off
    assert again.release() == [(seq, m) for seq in range(1_000)]
    assert again.release() == []
    assert not again.keep(m, 1_001)


def test_references_into_the_book() -> None:
    book = Book()
    one = book.open(Message(id="1", sender="a", thread="t"), "answer", "b", "a")
    two = book.open(Message(id="1", sender="a", thread="t"), "performance", "b", "a")
    find = finder(book)
    assert find(json.loads(json.dumps(reference(one)))) is one
    assert find(reference(two)) is two
    assert find(None) is None
    assert reference(None) is None
    book.close(one, Message(id="2", sender="b"))
    assert finder(book)(reference(one)) is None


@given(st.lists(st.tuples(st.text(max_size=2), st.integers(1, 300))), st.integers(0, 20), st.data())
def test_memory_is_a_dictionary(notes: list[tuple[str, int]], exact: int, data: st.DataObject) -> None:
    """However many names are kept as such before digests are: the last number noted for a name is its number."""
    split = data.draw(st.integers(0, len(notes)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(memory, "EXACT", exact)
        kept, plain = Memory(), dict[str, int]()
        for at, (name, value) in enumerate(notes):
            if at == split:
                kept = Memory.restore(json.loads(json.dumps(kept.state())))
            kept.note(name, value)
            plain[name] = value
        assert len(kept) == len(plain)
        assert {name: kept[name] for name in plain} == plain
        assert kept["no such name"] == 0
        assert "no such name" not in kept
