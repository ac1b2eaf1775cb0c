"""Dumps of LangChain and LangGraph: every shape of a message, and each message once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from chat_logs import Read, audited, call, source

from dissensus.say.readers.langchain import READER as LANGCHAIN
from dissensus.say.readers.registry import recognise


def ai(text: str = "", *calls: str, identity: str | None = None, name: str | None = None) -> dict[str, Any]:
    listed = [{"name": one, "args": {}, "id": f"c-{one}", "type": "tool_call"} for one in calls]
    return {"type": "ai", "content": text, "tool_calls": listed, "invalid_tool_calls": [], "id": identity, "name": name}


def tool(name: str, content: str = "ok", **more: Any) -> dict[str, Any]:
    return {"type": "tool", "content": content, "tool_call_id": f"c-{name}", "name": name, **more}


HUMAN = {"type": "human", "content": "hi", "id": "h1"}
CLASSES = {"ai": "AIMessage", "human": "HumanMessage", "tool": "ToolMessage"}
SHAPES: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "plain": lambda m: m,
    "messages_to_dict": lambda m: {"type": m["type"], "data": m},
    "constructor": lambda m: {
        "lc": 1, "type": "constructor", "kwargs": m,
        "id": ["langchain", "schema", "messages", CLASSES[m["type"]]],
    },
}  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("where", ["list", "state", "checkpoint", "snapshot"])
def test_every_shape_of_a_langchain_message_is_read(shape: str, where: str) -> None:
    turns = [HUMAN, ai("", "f", "g"), tool("f"), tool("g", "no", status="error"), ai("done")]
    value: Any = [SHAPES[shape](turn) for turn in turns]
    value = {"list": value, "state": {"messages": value}, "checkpoint": {"channel_values": {"messages": value}},
             "snapshot": {"values": {"messages": value}, "next": []}}[where]  # fmt: skip
    log = source(value)
    assert recognise(log).name == "langchain"
    assert Read(LANGCHAIN, log).said == [
        (None, "human", "ai"), ("request", "ai", "f"), ("request", "ai", "g"), ("inform", "f", "ai"),
        ("failure", "g", "ai"), (None, "ai", "human"),
    ]  # fmt: skip
    assert audited(log)[0]["unanswered"] == 0


@pytest.mark.parametrize("with_ids", [True, False])
@pytest.mark.parametrize("newest_first", [True, False])
def test_what_stood_in_an_earlier_snapshot_is_not_said_again(*, with_ids: bool, newest_first: bool) -> None:
    turns = [HUMAN, ai("", "f", identity="a1"), tool("f", id="t1"), ai("done", identity="a2")]
    turns = [turn | {"id": turn["id"] if with_ids else None} for turn in turns]
    states = [{"values": {"messages": turns[:n]}, "config": {"configurable": {"thread_id": "1"}}} for n in (2, 3, 4)]
    read = Read(LANGCHAIN, source(states[::-1] if newest_first else states, lines=True))
    assert [act for act, _, _ in read.said] == [None, "request", "inform", None]
    assert Counter(a.kind for a in read.asides) == {"repeated": 5}


def test_a_stream_of_updates_names_the_nodes() -> None:
    updates = [{"planner": {"messages": [ai("", "f")]}}, {"tools": {"messages": [tool("f")]}},
               {"writer": {"messages": [ai("text")]}}, {"planner": None}]  # fmt: skip
    read = Read(LANGCHAIN, source(updates, lines=True))
    assert read.said == [("request", "planner", "f"), ("inform", "f", "planner"), (None, "writer", "human")]
    assert [(a.kind, a.line) for a in read.asides] == [("no messages", 4)]
    named = Read(LANGCHAIN, source([ai("", "f", name="supervisor")])).said
    assert named == [("request", "supervisor", "f")]


def test_a_call_that_did_not_parse_was_made_all_the_same() -> None:
    broken = ai() | {"invalid_tool_calls": [{"name": "f", "args": "{", "id": "c-f", "error": "…"}]}
    broken["additional_kwargs"] = {"tool_calls": [call("f", "c-f", "{")]}
    counts, _, findings = audited(source([HUMAN, broken]))
    assert (counts["requests"], counts["unanswered"], findings) == (1, 1, [])
    assert audited(source([HUMAN, broken, tool("f")]))[0]["unanswered"] == 0


def test_raw_calls_count_where_parsed_ones_are_missing() -> None:
    older = {"type": "ai", "content": "", "additional_kwargs": {"tool_calls": [call("f", "c-f")]}}
    assert Read(LANGCHAIN, source([older, tool("f")])).said == [("request", "ai", "f"), ("inform", "f", "ai")]
    blocks = {"type": "ai", "content": [{"type": "tool_use", "id": "c-f", "name": "f", "input": {}}], "tool_calls": []}
    assert Read(LANGCHAIN, source([blocks, tool("f")])).said == [("request", "ai", "f"), ("inform", "f", "ai")]


def test_pieces_of_a_stream_are_one_message() -> None:
    pieces = [
        [{"type": "AIMessageChunk", "content": text, "id": "run-1"}, {"langgraph_node": "agent"}] for text in "ab"
    ]
    read = Read(LANGCHAIN, source(pieces, lines=True))
    assert (read.said, [a.kind for a in read.asides]) == ([(None, "agent", "human")], ["repeated"])


def test_conversations_of_a_data_set_are_apart() -> None:
    log = source([{"messages": [HUMAN | {"id": None, "content": n}, ai("", "f")]} for n in ("a", "b")], lines=True)
    assert [m.thread for m in Read(LANGCHAIN, log).messages] == ["chat", "c-f", "r1:chat", "r1:c-f"]
