"""Chats with tools: what is a call, which result answers it, what is left open."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from chat_logs import Read, answers, asks, audited, call, source

from dissensus.say.message import STRUCTURE
from dissensus.say.readers.base import Source
from dissensus.say.readers.chat import READER as CHAT


def test_parallel_calls_are_answered_in_any_order() -> None:
    log = source([
        {"role": "user", "content": "weather?"},
        asks(call("weather", "a"), call("time", "b"), text="I look."),
        answers("b"),
        answers("a", "Error: no such city"),
        {"role": "assistant", "content": "No such city."},
    ])  # fmt: skip
    read = Read(CHAT, log)
    assert read.said == [
        (None, "user", "assistant"),
        ("request", "assistant", "weather"),
        ("request", "assistant", "time"),
        ("inform", "time", "assistant"),
        ("failure", "weather", "assistant"),
        (None, "assistant", "user"),
    ]
    assert read.messages[1].content == {"arguments": "{}", "text": "I look."}
    assert [m.id for m in read.messages] == ["m0", "m1", "m1.1", "m2", "m3", "m4"]
    assert {m.tag_source for m in read.messages if m.act} == {STRUCTURE}
    counts, obligations, findings = audited(log)
    assert (counts["requests"], counts["unanswered"], findings) == (2, 0, [])
    assert sorted(o.status for o in obligations) == ["declared:failed", "fulfilled"]


def test_an_id_that_comes_again_after_its_answer_is_a_new_request() -> None:
    log = source([asks(call("f", "x")), answers("x"), asks(call("f", "x")), answers("x"), asks(call("f", "x"))])
    counts, obligations, findings = audited(log)
    assert (counts["requests"], counts["unanswered"], findings) == (3, 1, [])
    assert [o.thread for o in obligations] == ["x", "x#2", "x#3"]


def test_an_id_used_twice_at_once_is_answered_in_order() -> None:
    read = Read(CHAT, source([asks(call("f", "x"), call("g", "x")), answers("x", name="g"), answers("x", name="f")]))
    assert [(m.act, m.thread) for m in read.messages] == [
        ("request", "x"), ("request", "x#2"), ("inform", "x#2"), ("inform", "x"),
    ]  # fmt: skip


@pytest.mark.parametrize("identity", ["nobody-asked", None])
def test_a_result_without_a_call_is_illegal(identity: str | None) -> None:
    counts, _, findings = audited(source([{"role": "user", "content": "hi"}, answers(identity)]))
    assert counts["violations"] == 1
    assert [(f.verdict, f.act, f.where) for f in findings] == [("illegal", "inform", "[1]")]


def test_a_second_answer_is_illegal_and_the_same_again_is_a_duplicate() -> None:
    _, _, findings = audited(source([asks(call("f", "x")), answers("x", "1"), answers("x", "2"), answers("x", "1")]))
    assert [(f.verdict, f.where) for f in findings] == [("illegal", "[2]"), ("duplicate", "[3]")]


@pytest.mark.parametrize(
    "marked",
    [
        answers("x", "Error: boom"),
        answers("x", "boom", status="error"),
        answers("x", "boom", is_error=True),
        answers("x", [{"type": "text", "text": "Error 404"}]),
        {"role": "tool", "id": "x", "content": "boom", "error": True},
    ],
)
def test_a_result_that_says_so_is_a_failure(marked: dict[str, Any]) -> None:
    assert Read(CHAT, source([asks(call("f", "x")), marked])).said[1] == ("failure", "f", "assistant")


@pytest.mark.parametrize("content", ["no Error", "an error", "", None, ["Errand"], {"ok": 1}])
def test_any_other_result_is_none(content: Any) -> None:
    assert Read(CHAT, source([asks(call("f", "x")), answers("x", content, error=False)])).said[1][0] == "inform"


def test_calls_without_ids_are_paired_by_name_and_order() -> None:
    older = {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}}
    log = source([older, {"role": "function", "name": "f", "content": "1"}, asks(call("g", None)), answers(None, "2")])
    assert Read(CHAT, log).said == [
        ("request", "assistant", "f"), ("inform", "f", "assistant"),
        ("request", "assistant", "g"), ("inform", "g", "assistant"),
    ]  # fmt: skip
    assert audited(log)[0]["unanswered"] == 0


def test_anthropic_blocks() -> None:
    log = source({
        "messages": [
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "…"},
                {"type": "text", "text": "let me see"},
                {"type": "tool_use", "id": "t1", "name": "look", "input": {"q": 1}},
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "t1", "content": "no", "is_error": True},
                {"type": "text", "text": "and now?"},
            ]},
        ]
    })  # fmt: skip
    read = Read(CHAT, log)
    assert read.said == [
        (None, "user", "assistant"), ("request", "assistant", "look"), ("failure", "look", "assistant"),
        (None, "user", "assistant"),
    ]  # fmt: skip
    assert [a.kind for a in read.asides] == ["thinking"]
    assert [m.where for m in read.messages] == ["messages[0]", "messages[1]", "messages[2]", "messages[2]"]


def test_gemini_parts() -> None:
    log = source({"contents": [
        {"role": "user", "parts": [{"text": "hi"}]},
        {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"error": "x"}}}]},
    ]})  # fmt: skip
    assert Read(CHAT, log).said[1:] == [("request", "assistant", "f"), ("failure", "f", "assistant")]


def test_items_of_the_responses_interface() -> None:
    log = source({
        "input": [
            {"role": "user", "content": "hi"},
            {"type": "reasoning", "id": "r", "summary": []},
            {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c1", "output": "Error"},
        ],
        "output": [
            {"type": "web_search_call", "id": "w1", "status": "completed", "action": {"query": "q"}},
            {"type": "mcp_call", "id": "w2", "name": "g", "status": "failed", "error": "no"},
            {"type": "computer_call", "call_id": "c2", "action": {}},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "bye"}]},
        ],
    })  # fmt: skip
    read = Read(CHAT, log)
    assert [(act, sender) for act, sender, _ in read.said] == [
        (None, "user"), ("request", "assistant"), ("failure", "f"), ("request", "assistant"), ("inform", "web_search"),
        ("request", "assistant"), ("failure", "g"), ("request", "assistant"), (None, "assistant"),
    ]  # fmt: skip
    counts, _, findings = audited(log)
    assert (counts["unanswered"], findings) == (1, [])


def test_a_request_with_its_response_is_one_conversation() -> None:
    log = source([{"request": {"messages": [{"role": "user", "content": "hi"}]},
                   "response": {"choices": [{"index": 0, "message": asks(call("f", "x"))}]}}], lines=True)  # fmt: skip
    assert Read(CHAT, log).said == [(None, "user", "assistant"), ("request", "assistant", "f")]


def test_lines_of_messages_lines_of_conversations_and_transcripts() -> None:
    turns = [{"role": "user", "content": "hi"}, asks(call("f", "x")), answers("x")]
    one = Read(CHAT, source(turns, lines=True))
    assert [m.line for m in one.messages] == [1, 2, 3]
    many = Read(CHAT, source([{"messages": turns}, {"messages": turns}], lines=True))
    assert [m.thread for m in many.messages] == ["chat", "x", "x", "r1:chat", "r1:x", "r1:x"]
    wrapped: list[Any] = [{"type": "summary", "summary": "…"}]
    wrapped += [{"type": "event", "timestamp": "2026-01-01T00:00:00Z", "message": turn} for turn in turns]
    wrapped += [{"type": "response_item", "payload": {"type": "function_call", "call_id": "y", "name": "g"}}]
    read = Read(CHAT, source(wrapped, lines=True))
    assert [act for act, _, _ in read.said] == [None, "request", "inform", "request"]
    assert read.messages[0].at == 1767225600.0
    assert [a.kind for a in read.asides] == ["summary"]


def test_sessions_in_one_file_do_not_answer_each_other() -> None:
    lines = [{"session_id": s, "message": m} for m in (asks(call("f", "x")), answers("x")) for s in ("one", "two")]
    counts, _, findings = audited(source(lines, lines=True))
    assert (counts["requests"], counts["unanswered"], findings) == (2, 0, [])


def test_runs_of_tau2() -> None:
    log = source({"tasks": [{"description": {"purpose": "x"}}], "simulations": [{"id": "s", "messages": [
        {"role": "assistant", "content": "hi", "tool_calls": None},
        {"role": "user", "content": None, "tool_calls": [{"id": "u", "name": "press", "arguments": {},
                                                          "requestor": "user"}]},
        {"role": "tool", "id": "u", "content": "Error: no", "requestor": "user", "error": True},
    ]}]})  # fmt: skip
    assert Read(CHAT, log).said == [
        (None, "assistant", "user"), ("request", "user", "press"), ("failure", "press", "user")
    ]  # fmt: skip


def test_names_of_agents_are_kept() -> None:
    log = source([{"role": "assistant", "name": "ada", "content": "x"}, asks(call("f", "1")) | {"name": "ben"},
                  answers("1")])  # fmt: skip
    assert Read(CHAT, log).said == [(None, "ada", "user"), ("request", "ben", "f"), ("inform", "f", "ben")]


def test_lines_are_those_of_the_file() -> None:
    text = (
        '{\n "x": "messages",\n "messages": [\n  {"role": "user", "content": "a"},\n\n'
        '  {"role": "user",\n   "content": "a"},\n  {"role": "user", "content": "a"}]}'
    )
    assert [m.line for m in Read(CHAT, source(text)).messages] == [4, 6, 8]


def test_the_airline_runs_are_clean(shared: Path) -> None:
    path = shared / "data/messages-and-protocols/tau_bench/gpt-4o-airline.json"
    log = Source(str(path), lambda: path.open("rb"))
    counts, obligations, findings = audited(log)
    assert (counts["messages"], counts["requests"], counts["unanswered"], findings) == (5_244, 1_154, 0, [])
    assert Counter(o.status for o in obligations) == {"fulfilled": 1_081, "declared:failed": 73}
    lines = path.read_text().split("\n")
    assert all(lines[m.line - 1].strip() == "{" for m in Read(CHAT, log).messages)
