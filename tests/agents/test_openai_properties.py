"""Whatever a server sends, reading it never raises, and a reply exists only where a choice holds text."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dissensus.agents.bodies import clean, parse_json
from dissensus.agents.http import read_answer
from dissensus.agents.openai.parse import (
    Asked,
    echoed_logprobs,
    prompt_logprobs,
    read_chat,
    read_choices,
    read_continued,
    read_ids,
    read_prompt,
    read_text,
)
from dissensus.agents.openai.parse_native import read_native
from dissensus.agents.statuses import failure_of_status
from dissensus.script.outcomes import FAILURES, Extended, Outcome, Reply, Usage, from_data, to_data

ASKED = Asked(model="m", sent=100, max_tokens=10, seconds=0.5)
READERS: list[Callable[[bytes, Asked], Any]] = [
    read_chat,
    read_text,
    read_continued,
    read_native,
    read_ids,
    read_prompt,
    read_choices,
    lambda body, _asked: read_answer(body, name="n", seconds=0.5, hide=str),
]

odd = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(min_value=10**400, max_value=10**401),
    st.floats(),
    st.text(),
    st.sampled_from(["\ud800", "stop", "length", "content_filter", "error", "429", "404", "x" * 1000]),
)
names = st.sampled_from(
    [
        "choices",
        "message",
        "content",
        "text",
        "refusal",
        "tool_calls",
        "function_call",
        "finish_reason",
        "usage",
        "prompt_tokens",
        "completion_tokens",
        "prompt_tokens_details",
        "cached_tokens",
        "error",
        "code",
        "type",
        "detail",
        "model",
        "logprobs",
        "tokens",
        "token_logprobs",
        "token_ids",
        "id",
        "logprob",
        "completion_probabilities",
        "stop_type",
        "timings",
        "cache_n",
        "prompt",
        "index",
        "finish",
        "cost",
        "tokens_in",
        "tokens_out",
        "retry",
    ]
)
anything = st.recursive(
    odd, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(names | st.text(max_size=3), inner, max_size=6)
)
choice = st.fixed_dictionaries(
    {},
    optional={
        "message": st.dictionaries(st.sampled_from(["content", "refusal", "tool_calls"]), anything) | anything,
        "text": anything,
        "finish_reason": odd,
        "logprobs": anything,
        "token_ids": anything,
        "index": odd,
    },
)
near_misses = st.fixed_dictionaries(
    {"choices": st.lists(choice | anything, max_size=3) | anything}, optional={"usage": anything, "error": anything}
)
bodies = st.binary() | (anything | near_misses).map(lambda data: json.dumps(data).encode())


def holds_text(body: bytes, *path: str) -> bool:
    """An independent reading of the rule: the first choice of an object holds a text at ``path``."""
    try:
        at: Any = json.loads(body.decode("utf-8", "replace"))["choices"][0]
        for name in path:
            at = at[name]
    except (ValueError, TypeError, KeyError, IndexError, RecursionError):
        return False
    return isinstance(at, str)


@given(bodies)
@example(json.dumps({"choices": [{"message": {"content": "42"}, "finish_reason": ["stop"]}]}).encode())
@example(b'{"choices": [{"message": {"content": "\\ud800"}}]}')
@example(b'{"a": ' * 10_000)
@example(b"1" * 5000)
def test_reading_never_raises_and_what_is_read_can_be_recorded(body: bytes) -> None:
    for read in READERS:
        found = read(body, ASKED)
        if isinstance(found, Outcome):
            assert from_data(json.loads(json.dumps(to_data(found), allow_nan=False))) == found
            json.dumps(to_data(found), ensure_ascii=False).encode()
            assert isinstance(found, (Reply, Extended, *FAILURES))


@given(bodies)
@example(json.dumps({"choices": [{"message": {"content": "42"}}]}).encode())
@example(json.dumps({"choices": [{"message": {"content": "42"}}], "error": {"message": "no", "code": 1}}).encode())
def test_a_reply_exists_only_where_the_first_choice_holds_text(body: bytes) -> None:
    if isinstance(read_chat(body, ASKED), Reply):
        assert holds_text(body, "message", "content")
    if isinstance(read_text(body, ASKED), Reply):
        assert holds_text(body, "text")
    if isinstance(read_continued(body, ASKED), Extended):
        assert holds_text(body, "text") or holds_text(body, "message", "content")


@given(st.text(), st.sampled_from(["stop", "length", None]))
def test_what_a_choice_says_is_what_the_reply_says(text: str, finish: str | None) -> None:
    body = json.dumps({"choices": [{"message": {"content": text}, "finish_reason": finish}]}).encode()
    outcome = read_chat(body, ASKED)
    if text or finish != "length":
        assert isinstance(outcome, Reply)
        assert outcome.text == text
    else:
        assert not isinstance(outcome, Reply)


@given(
    st.integers(min_value=300, max_value=599),
    st.dictionaries(st.sampled_from(["retry-after", "date", "location"]), st.text()),
    bodies,
)
@example(429, {"retry-after": "1" * 400}, b"")
@example(429, {"retry-after": "Mon, 01 Jan 9999999 00:00:00 GMT"}, b"")
def test_no_error_status_is_ever_speech(status: int, headers: dict[str, str], body: bytes) -> None:
    now = datetime(2026, 12, 1, tzinfo=UTC)
    outcome = failure_of_status(status, headers, body, now=now, hide=str, usage=Usage())
    assert isinstance(outcome, FAILURES)
    json.dumps(to_data(outcome), allow_nan=False, ensure_ascii=False).encode()


@given(st.text(alphabet=st.characters(codec=None), max_size=20))
def test_cleaned_text_can_be_encoded_and_only_halves_of_pairs_change(text: str) -> None:
    cleaned = clean(text)
    cleaned.encode()
    assert len(cleaned) == len(text)
    assert all(
        new == old or ("\ud800" <= old <= "\udfff" and new == "\ufffd") for old, new in zip(text, cleaned, strict=True)
    )


@given(st.binary())
def test_what_is_no_json_is_a_value_error(body: bytes) -> None:
    try:
        parse_json(body)
    except ValueError:
        return
    assert body.strip(b"\xef\xbb\xbf \t\r\n")


@given(anything, st.lists(st.integers(0, 5), max_size=4), st.integers(0, 4))
def test_log_probabilities_of_prompts_are_read_or_missed_but_never_raise(data: Any, ids: list[int], start: int) -> None:
    listed = data if isinstance(data, dict) else {"prompt_logprobs": data, "logprobs": data}
    prompt_logprobs(listed, tuple(ids), start)
    echoed_logprobs(listed, "a", "ab")


@pytest.mark.parametrize(
    ("tokens", "numbers", "expected"),
    [
        (["The", " cap", " is", " X", "!"], [None, -1.0, -2.0, -4.0, -8.0], (-4.0, 1)),
        (["The cap", " i", "s X", "!"], [None, -1.0, -2.0, -4.0], (-2.0, 1)),
        (["The cap is", " ", "X"], [None, -0.5, -0.25], (-0.75, 2)),
        (["Something else"], [-1.0], None),
        (["The cap", " is X"], [None, None], None),
        (["The cap", " is X"], [-1.0], None),
        (["The cap", " is X"], [-1.0, float("nan")], None),
    ],
)
def test_an_echo_is_summed_from_where_the_prompt_ends(
    tokens: list[str], numbers: list[float | None], expected: tuple[float, int] | None
) -> None:
    listed = {"logprobs": {"tokens": tokens, "token_logprobs": numbers}}
    assert echoed_logprobs(listed, "The cap is", "The cap is X") == expected
