"""A server's successful answers, read into outcomes. A reply exists only where a choice holds text; nothing raises."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from dissensus.agents.bodies import (
    Hide,
    count,
    describe,
    error_in,
    excerpt,
    keep,
    logprob,
    logprobs,
    model_name,
    parse_json,
    text_of,
    token_ids,
)
from dissensus.agents.prices import UNKNOWN_PRICES, Prices
from dissensus.script.outcomes import Extended, Invalid, Outcome, Refusal, Reply, TransportFailure, Usage

_log = logging.getLogger("dissensus.agents")

FINISH = {
    "stop": "stop",
    "eos": "stop",
    "word": "stop",
    "length": "length",
    "limit": "length",
    "max_tokens": "length",
}
_SLACK = 65_536
"""Tokens that a template or hidden reasoning may add to what can be counted from outside."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What was asked and how it went: what an answer is read against.

    Args:
        model: the name asked for.
        sent: bytes of the request: no prompt has more tokens than bytes, but for the template's.
        max_tokens: most tokens asked for.
        seconds: how long the answer took.
        prices: of the model.
        hide: takes keys out of texts.
    """

    model: str
    sent: int = 0
    max_tokens: int = 0
    seconds: float | None = None
    prices: Prices = UNKNOWN_PRICES
    hide: Hide = field(default=keep)


def read_chat(body: bytes, asked: Asked) -> Outcome:
    """The outcome in the body of ``/chat/completions``."""
    found = _choice(body, asked)
    if not isinstance(found, _Choice):
        return found
    message = found.choice.get("message")
    message = message if isinstance(message, Mapping) else {}
    return _spoken(found, message.get("content"), message, asked)


def read_text(body: bytes, asked: Asked) -> Outcome:
    """The outcome in the body of ``/completions``, as one message."""
    found = _choice(body, asked)
    if not isinstance(found, _Choice):
        return found
    return _spoken(found, found.choice.get("text"), {}, asked)


def read_continued(body: bytes, asked: Asked) -> Outcome:
    """The continuation in the body of ``/completions`` or of ``/chat/completions``."""
    found = _choice(body, asked)
    if not isinstance(found, _Choice):
        return found
    message = found.choice.get("message")
    message = message if isinstance(message, Mapping) else {}
    spoken = _spoken(found, found.choice.get("text", message.get("content")), message, asked, empty_is_fine=True)
    if not isinstance(spoken, Reply):
        return spoken
    ids, numbers = _tokens(found.choice)
    end: End = "limit"
    if spoken.finish == "stop":
        reason = found.choice.get("stop_reason", found.choice.get("matched_stop"))
        end = "text" if isinstance(reason, str) else "token"
    return extended(spoken, ids, numbers, end)


def read_ids(body: bytes, asked: Asked) -> tuple[int, ...] | Outcome:
    """The token ids in the body of ``/tokenize``."""
    data = object_in(body, asked)
    if not isinstance(data, dict):
        return data
    ids = token_ids(data.get("tokens"))
    if ids is None:
        return unusable("The answer holds no token ids.", asked)
    return ids


def read_prompt(body: bytes, asked: Asked) -> str | Outcome:
    """The rendered chat in the body of llama.cpp's ``/apply-template``."""
    data = object_in(body, asked)
    if not isinstance(data, dict):
        return data
    # not cleaned of keys: this text goes back to the same server, and into nothing else
    prompt = data.get("prompt")
    return prompt if isinstance(prompt, str) else unusable("The answer holds no prompt.", asked)


def read_choices(body: bytes, asked: Asked) -> tuple[list[Mapping[str, Any]], Usage] | Outcome:
    """All choices in a body, in the order of their ``index``, and the usage of the whole."""
    data = object_in(body, asked)
    if not isinstance(data, dict):
        return data
    listed = data.get("choices")
    choices = [choice for choice in listed if isinstance(choice, Mapping)] if isinstance(listed, list) else []
    if not isinstance(listed, list) or not choices or len(choices) != len(listed):
        return unusable("The answer holds no choices.", asked, cause="empty")
    choices.sort(key=lambda choice: count(choice.get("index"), 10**6) or 0)
    return choices, usage_of(data.get("usage"), asked)


def prompt_logprobs(choice: Mapping[str, Any], ids: tuple[int, ...], start: int) -> float | None:
    """Sum of the log-probabilities of ``ids[start:]`` in vLLM's ``prompt_logprobs``; None if one is missing."""
    listed = choice.get("prompt_logprobs")
    if not isinstance(listed, list) or len(listed) < len(ids):
        return None
    total = 0.0
    for index in range(start, len(ids)):
        entry = listed[index]
        found = entry.get(str(ids[index])) if isinstance(entry, Mapping) else None
        number = logprob(found.get("logprob")) if isinstance(found, Mapping) else None
        if number is None:
            return None
        total += number
    return total


def echoed_logprobs(choice: Mapping[str, Any], prompt: str, whole: str) -> tuple[float, int] | None:
    """Sum and number of the log-probabilities of the part of ``whole`` after ``prompt``, from an echoed completion.

    A token that reaches from the prompt into that part belongs to it. None if the server did not echo.
    """
    listed = choice.get("logprobs")
    if not isinstance(listed, Mapping):
        return None
    tokens, numbers = listed.get("tokens"), listed.get("token_logprobs")
    if not isinstance(tokens, list) or not isinstance(numbers, list) or len(tokens) != len(numbers):
        return None
    if not all(isinstance(token, str) for token in tokens) or not "".join(tokens).startswith(whole):
        return None
    total, length, start = 0.0, 0, 0
    for token, value in zip(tokens, numbers, strict=True):
        end = start + len(token)
        if end > len(prompt) and start < len(whole):
            number = logprob(value)
            if number is None:
                return None
            total, length = total + number, length + 1
        start = end
    return total, length


@dataclass(frozen=True, slots=True)
class _Choice:
    choice: Mapping[str, Any]
    model: str
    usage: Usage


def object_in(body: bytes, asked: Asked) -> dict[str, Any] | Outcome:
    """The JSON object in ``body``, or the failure that it stands for: some gateways send errors with status 200."""
    try:
        data = parse_json(body)
    except ValueError:
        return unusable(f"The server sent {describe(body, asked.hide)}.", asked)
    if not isinstance(data, dict):
        return unusable("The server sent JSON that is no object.", asked)
    message, code = error_in(data) if "error" in data else ("", "")
    if data.get("error") and (message or code):
        problem = f"The server sent an error as an answer: {excerpt(message or code, asked.hide)}"
        if code.startswith("429"):
            return TransportFailure(problem=problem, cause="rate-limited", status=429, usage=took(asked))
        return unusable(problem, asked)
    return data


def _choice(body: bytes, asked: Asked) -> _Choice | Outcome:
    data = object_in(body, asked)
    if not isinstance(data, dict):
        return data
    choices = data.get("choices")
    usage = usage_of(data.get("usage"), asked)
    if not isinstance(choices, list):
        return TransportFailure(problem="The answer holds no choices.", cause="body", status=200, usage=usage)
    if not choices:
        return TransportFailure(problem="The list of choices is empty.", cause="empty", status=200, usage=usage)
    if not isinstance(choices[0], Mapping):
        return TransportFailure(problem="The first choice is no object.", cause="body", status=200, usage=usage)
    return _Choice(choices[0], model_name(data.get("model"), asked.model, asked.hide), usage)


def _spoken(
    found: _Choice, content: object, message: Mapping[str, Any], asked: Asked, *, empty_is_fine: bool = False
) -> Outcome:
    """Reply, refusal or failure, from the text of a choice and all that may stand in its place."""
    usage = found.usage
    finish = found.choice.get("finish_reason")
    finish = finish if isinstance(finish, str) else ""
    text = text_of(content, asked.hide)
    refusal = text_of(message.get("refusal"), asked.hide)
    if refusal:
        return Refusal(text=refusal, usage=usage)
    if finish == "content_filter":
        return Refusal(text=text or "", usage=usage)
    if finish in {"error", "abort"}:
        problem = "The server broke off in the middle of the answer."
        return TransportFailure(problem=problem, cause="body", status=200, usage=usage)
    if not text and (message.get("tool_calls") or message.get("function_call")):
        return Invalid(problem="The model called a tool instead of answering.", usage=usage)
    if text is None and content is not None:
        problem = f"The content of the message is no text but {type(content).__name__}."
        return TransportFailure(problem=problem, cause="body", status=200, usage=usage)
    ended = FINISH.get(finish, "other")
    if text is None or (not text and ended == "length" and not empty_is_fine):
        problem = "The message holds no text."
        if ended == "length":
            problem = "All tokens went into hidden reasoning; none was left for the message. Raise max_tokens."
        return TransportFailure(problem=problem, cause="empty", status=200, usage=usage)
    return Reply(text=text, finish=ended, model=found.model, usage=usage)


End = Literal["limit", "token", "text"]
"""Why nothing more was written: the limit, the token that ends a message, or one of the texts that end it."""


def extended(spoken: Reply, ids: tuple[int, ...] | None, numbers: tuple[float, ...] | None, end: End) -> Extended:
    """A continuation whose ids stand for its text and no more: what is appended to them must not follow an end."""
    text = spoken.text
    if end == "token":
        # without ids it cannot be told whether the numbers count the ending token
        numbers = numbers[:-1] if ids and numbers else None
        ids = ids[:-1] if ids else ids
    elif end == "text":
        # the text is cut where the ending text begins, which may be inside a token
        ids = numbers = None
    if spoken.finish == "length":
        # a character cut in half by the limit shows as U+FFFD; its bytes are in the ids
        text = text.removesuffix("\ufffd")
    if ids is not None and numbers is not None and len(numbers) != len(ids):
        numbers = None
    return Extended(
        text=text, tokens=ids, finish=spoken.finish, logprobs=numbers, model=spoken.model, usage=spoken.usage
    )


def _tokens(choice: Mapping[str, Any]) -> tuple[tuple[int, ...] | None, tuple[float, ...] | None]:
    """Ids and log-probabilities of what was written, in whichever form the server gives them."""
    ids = token_ids(choice.get("token_ids"))
    listed = inner(choice, "logprobs")
    content = listed.get("content")
    if isinstance(content, list) and all(isinstance(item, Mapping) for item in content):
        if ids is None:
            ids = token_ids([item.get("id") for item in content])
        return ids, logprobs([item.get("logprob") for item in content])
    numbers = listed.get("token_logprobs")
    return ids, logprobs(numbers) if isinstance(numbers, list) else None


def inner(data: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """The object under ``name``; an empty one if there is none."""
    value = data.get(name)
    return value if isinstance(value, Mapping) else {}


def usage_of(data: object, asked: Asked) -> Usage:
    """The counts that can be true; one that cannot is unknown, and the log says so."""
    if not isinstance(data, Mapping):
        return took(asked)
    tokens_in = _counted(data, "prompt_tokens", asked.sent + _SLACK)
    # hidden reasoning is not bounded by max_tokens on every server, but no server writes a thousand times that
    tokens_out = _counted(data, "completion_tokens", max(asked.max_tokens, 1) * 16 + _SLACK)
    cached = _counted(inner(data, "prompt_tokens_details"), "cached_tokens", tokens_in or 0)
    return Usage(
        tokens_in=tokens_in,
        tokens_cached=cached,
        tokens_out=tokens_out,
        seconds=asked.seconds,
        cost=asked.prices.cost(tokens_in, tokens_out, cached),
    )


def _counted(data: Mapping[str, Any], name: str, most: int) -> int | None:
    value = data.get(name)
    number = count(value, most)
    if number is None and value is not None:
        _log.warning("A server reported %s %s: that cannot be, so the number counts as unknown.", _short(value), name)
    return number


def _short(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return f"a {type(value).__name__} for"
    return f"{value:.6g}" if abs(value) < 1e30 else "an absurd number of"


def took(asked: Asked) -> Usage:
    """What is known of a call whose answer tells nothing: its time."""
    return Usage(seconds=asked.seconds)


def unusable(problem: str, asked: Asked, *, cause: str = "body") -> TransportFailure:
    """The failure of a call whose answer came and is none."""
    return TransportFailure(problem=problem, cause=cause, status=200, usage=took(asked))
