"""Broken logs: an error with its place, or what could be read; and nothing vanishes, whatever stands in an entry."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from chat_logs import Read, asks, call, source
from hypothesis import given
from hypothesis import strategies as st

from dissensus.errors import LogError
from dissensus.say.audit import run
from dissensus.say.monitor import Monitor
from dissensus.say.readers.base import Options
from dissensus.say.readers.chat import READER as CHAT
from dissensus.say.readers.hyperagent import READER as HYPERAGENT
from dissensus.say.readers.langchain import READER as LANGCHAIN
from dissensus.say.readers.llmcontract import READER as LLMCONTRACT
from dissensus.say.readers.who_and_when import READER as WHO_AND_WHEN

READERS = (CHAT, LANGCHAIN, LLMCONTRACT, WHO_AND_WHEN, HYPERAGENT)


def test_a_broken_line_is_an_error_with_its_line_and_lenient_counts_it() -> None:
    raw = '{"role": "user", "content": "a"}\n{"role": "assistant", "tool_calls": [\n{"role": "user", "content": "b"}\n'
    with pytest.raises(LogError, match=r"log:2: This line is no JSON") as caught:
        Read(CHAT, source(raw))
    assert caught.value.line == 2
    read = Read(CHAT, source(raw), lenient=True)
    assert ([m.line for m in read.messages], [s.line for s in read.skipped]) == ([1, 3], [2])


@pytest.mark.parametrize("raw", ["hällo".encode("latin-1"), '{"role": "user"}'.encode("utf-16")])
def test_another_encoding_is_named(raw: bytes) -> None:
    line = raw if raw[:1] == b"\xff" else b'{"role": "user", "content": "' + raw + b'"}'
    with pytest.raises(LogError, match="UTF-8"):
        Read(LLMCONTRACT, source(line))


def test_a_line_too_long_is_passed_over_when_lenient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dissensus.say.readers.base.LONGEST_LINE", 1_000)
    monkeypatch.setattr("dissensus.say.readers.documents.LONGEST_LINE", 1_000)
    long = json.dumps({"type": "user", "content": "x" * 5_000})
    raw = f'{{"type": "user", "content": "a"}}\n{long}\n{{"type": "user", "content": "b"}}\n{long}'
    with pytest.raises(LogError, match="log:2: This line is longer"):
        Read(LLMCONTRACT, source(raw))
    read = Read(LLMCONTRACT, source(raw), lenient=True)
    assert ([m.line for m in read.messages], [s.line for s in read.skipped]) == ([1, 3], [2, 4])


@pytest.mark.parametrize("cut", range(20, 660, 37))
def test_of_a_document_that_breaks_off_whole_entries_are_kept(cut: int) -> None:
    asked = [{"role": f"Orchestrator (-> W{n})", "content": f'"{n}\\'} for n in range(9)]
    text = json.dumps({"history": [{"role": "human", "content": "a, [b] {c}"}, *asked]}, indent=1)
    broken = text[:cut]
    whole = broken.count("\n  }") if "history" in broken else 0
    with pytest.raises(LogError):
        Read(WHO_AND_WHEN, source(broken))
    try:
        read = Read(WHO_AND_WHEN, source(broken), lenient=True)
    except LogError:
        assert '"history": [' not in broken
        return
    assert len(read.messages) == whole
    assert [s.line for s in read.skipped] == [broken.count("\n") + 1]
    assert [m.line for m in read.messages] == [3 + 4 * at for at in range(whole)]


def test_runs_that_break_off_keep_the_messages_of_the_last() -> None:
    text = json.dumps(
        [{"task_id": n, "traj": [{"role": "user", "content": str(n)}, asks(call("f", "x"))]} for n in (1, 2)]
    )
    cut = text[: text.rindex('"tool_calls"')].replace("}, {", "},\n {")
    read = Read(CHAT, source(cut), lenient=True)
    assert [act for act, _, _ in read.said] == [None, "request", None]
    assert len(read.skipped) == 1


def test_what_only_python_calls_json_is_read() -> None:
    read = Read(
        CHAT, source('{"role": "user", "content": "a\\ud83d", "logprob": NaN}\n{"role": "user", "content": "b"}')
    )
    assert [m.content for m in read.messages] == ["a\ufffd", "b"]


def test_nesting_is_bounded() -> None:
    deep = '{"role": "user", "content": ' + "[" * 100_000 + "]" * 100_000 + "}"
    for reader in READERS:
        with pytest.raises(LogError):
            Read(reader, source(deep + "\n" + deep))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)
WORDS = st.sampled_from(
    [
        "role", "content", "tool_calls", "tool_call_id", "function_call", "name", "type", "id", "call_id", "data",
        "kwargs", "lc", "parts", "status", "message", "messages", "source", "timestamp", "function", "arguments",
        "args", "history", "trajectory", "invalid_tool_calls", "additional_kwargs", "error", "output", "tool_responses",
    ]
)  # fmt: skip
VALUES = st.sampled_from(
    [
        "user", "assistant", "tool", "system", "ai", "human", "constructor", "AIMessage", "function_call", "remove",
        "function_call_output", "tool_use", "tool_result", "x", "Error", "Orchestrator (-> X)", "X", "(", "->", "human",
        "Orchestrator (thought)", "agent_tool_call", "monitor", "meta", "mcp_call", "web_search_call",
        "OrchestrationEvent",
    ]
)  # fmt: skip
ENTRY = st.recursive(
    st.dictionaries(WORDS, VALUES | JSON, max_size=6),
    lambda inner: st.dictionaries(WORDS, VALUES | inner | st.lists(inner | VALUES, max_size=3), max_size=6),
    max_leaves=8,
)


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.name)
@given(
    entries=st.lists(ENTRY | JSON, max_size=5),
    lines=st.booleans(),
    key=st.sampled_from(["", "history", "messages", "trajectory"]),
)
def test_whatever_an_entry_holds_it_is_read_or_counted(reader: Any, entries: list[Any], lines: bool, key: str) -> None:
    whole = entries if lines or not key else {key: entries}
    log = source(whole, lines=lines)
    assert 0 <= reader.recognise(log) <= 1
    try:
        strict = Read(reader, log)
    except LogError:
        strict = None
    try:
        read = Read(reader, log, lenient=True)
    except LogError:
        assert strict is None
        return
    if strict is not None:
        assert (strict.said, strict.skipped) == (read.said, [])
    if lines:
        assert {line for line, _ in read.places} >= set(range(1, len(entries) + 1))
    for m in read.messages:
        assert m.thread is not None
        assert m.act is None or m.receivers
    run(log, reader, Monitor(), Options(lenient=True))


@pytest.mark.parametrize(
    ("reader", "form"),
    [(CHAT, {"role": "user"}), (WHO_AND_WHEN, {}), (LANGCHAIN, {"type": "human"})],
    ids=lambda value: value.name if hasattr(value, "name") else "",
)
@given(entries=st.lists(ENTRY | JSON, max_size=6))
def test_no_entry_of_a_document_vanishes(reader: Any, form: dict[str, str], entries: list[Any]) -> None:
    first = {"content": "begin", **(form or {"role": "human"})}
    key = "history" if reader is WHO_AND_WHEN else "messages"
    read = Read(reader, source({key: [first, *entries]}), lenient=True)
    assert {where for _, where in read.places} >= {f"{key}[{at}]" for at in range(len(entries) + 1)}


@given(raw=st.binary(max_size=60))
def test_bytes_from_anywhere(raw: bytes) -> None:
    for reader in READERS:
        assert 0 <= reader.recognise(source(raw)) <= 1
        for lenient in (False, True):
            with contextlib.suppress(LogError):
                Read(reader, source(raw), lenient=lenient)
