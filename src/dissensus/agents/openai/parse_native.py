"""Answers of servers' own routes, llama.cpp's ``/completion`` and SGLang's ``/generate``, read into outcomes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import accumulate
from typing import Any

from dissensus.agents.bodies import count, logprob, logprobs, model_name, text_of, token_ids
from dissensus.agents.openai.parse import FINISH, Asked, End, extended, inner, object_in, took, unusable, usage_of
from dissensus.script.outcomes import Extended, Outcome, Reply, TransportFailure, Usage


def read_native(body: bytes, asked: Asked) -> Outcome:
    """The continuation in the body of llama.cpp's own ``/completion``."""
    data = object_in(body, asked)
    if not isinstance(data, dict):
        return data
    text = text_of(data.get("content"), asked.hide)
    usage = usage_of(
        {
            "prompt_tokens": data.get("tokens_evaluated"),
            "completion_tokens": data.get("tokens_predicted"),
            "prompt_tokens_details": {"cached_tokens": inner(data, "timings").get("cache_n")},
        },
        asked,
    )
    if text is None:
        return TransportFailure(problem="The answer holds no text.", cause="body", status=200, usage=usage)
    listed = data.get("completion_probabilities")
    numbers = None
    if isinstance(listed, list):
        numbers = logprobs([item.get("logprob") if isinstance(item, Mapping) else None for item in listed])
    finish = FINISH.get(str(data.get("stop_type")), "other")
    model = model_name(data.get("model"), asked.model, asked.hide)
    end: End = "limit"
    if finish == "stop":
        end = "text" if data.get("stop_type") == "word" else "token"
    spoken = Reply(text=text, finish=finish, model=model, usage=usage)
    outcome = extended(spoken, token_ids(data.get("tokens")), numbers, end)
    return _with_ends(outcome, listed) if isinstance(listed, list) else outcome


def _with_ends(outcome: Extended, listed: list[Any]) -> Extended:
    """The same with where each token ends, if llama.cpp tells the bytes of all and they are the text.

    Of a token that begins a character it tells none, and of one that goes on with it only the bytes that are its own.
    """
    ids = outcome.tokens or ()
    parts = [item.get("bytes") if isinstance(item, Mapping) else None for item in listed][: len(ids)]
    try:
        pieces = [bytes(part) for part in parts if isinstance(part, list)]
    except (TypeError, ValueError):
        return outcome
    if len(pieces) != len(ids) or len(listed) > len(ids) + 1 or b"".join(pieces) != outcome.text.encode():
        return outcome
    return replace(outcome, ends=tuple(accumulate(map(len, pieces))))


def read_generated(body: bytes, asked: Asked) -> Outcome:
    """The continuation in the body of SGLang's own ``/generate``."""
    data = object_in(body, asked)
    if not isinstance(data, dict):
        return data
    about = inner(data, "meta_info")
    text = text_of(data.get("text"), asked.hide)
    usage = usage_of(
        {
            "prompt_tokens": about.get("prompt_tokens"),
            "completion_tokens": about.get("completion_tokens"),
            "prompt_tokens_details": {"cached_tokens": about.get("cached_tokens")},
        },
        asked,
    )
    reason = about.get("finish_reason")
    kind = reason.get("type") if isinstance(reason, Mapping) else reason
    if kind in {"abort", "error"}:
        problem = "The server broke off in the middle of the answer."
        return TransportFailure(problem=problem, cause="body", status=200, usage=usage)
    if text is None:
        return TransportFailure(problem="The answer holds no text.", cause="body", status=200, usage=usage)
    ids = token_ids(data.get("output_ids"))
    listed = about.get("output_token_logprobs")
    numbers = _second_hand(listed, ids) if isinstance(listed, list) else None
    matched = reason.get("matched") if isinstance(reason, Mapping) else None
    finish = FINISH.get(str(kind), "other")
    end: End = "limit"
    if finish == "stop":
        end = "text" if isinstance(matched, str) else "token"
    if end == "token" and ids and isinstance(matched, int) and ids[-1] != matched:
        end = "limit"  # the ending token is not among them
    spoken = Reply(text=text, finish=finish, model=asked.model, usage=usage)
    return extended(spoken, ids, numbers, end)


def read_input_logprobs(body: bytes, asked: Asked) -> tuple[list[tuple[int, float | None]], Usage] | Outcome:
    """Ids of the prompt's tokens with their log-probabilities, in the body of SGLang's ``/generate``."""
    data = object_in(body, asked)
    if not isinstance(data, dict):
        return data
    about = inner(data, "meta_info")
    listed = about.get("input_token_logprobs")
    pairs = [item for item in listed if isinstance(item, list) and len(item) > 1] if isinstance(listed, list) else []
    found = [(number, logprob(item[0])) for item in pairs if (number := count(item[1], 2**31)) is not None]
    usage = usage_of(
        {"prompt_tokens": about.get("prompt_tokens"), "completion_tokens": about.get("completion_tokens")}, asked
    )
    return found, usage


def read_prompt_ids(body: bytes, asked: Asked) -> tuple[int, ...] | Outcome:
    """The ids of a rendered chat in the body of ``/chat/completions``, from a server that tells them."""
    data = object_in(body, asked)
    if not isinstance(data, dict):
        return data
    choices = data.get("choices")
    first = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], Mapping) else {}
    ids = token_ids(first.get("prompt_token_ids", data.get("prompt_token_ids")))
    if not ids:
        return TransportFailure(
            problem="The server does not tell the ids of a prompt (SGLang does from version 0.5.13 on).",
            cause="capability",
            status=200,
            usage=took(asked),
        )
    return ids


def read_shown(body: bytes, asked: Asked) -> str | Outcome:
    """The text in the body of ``/detokenize``, under whichever name the server has for it."""
    data = object_in(body, asked)
    if not isinstance(data, dict):
        return data
    text = next((value for name in ("content", "prompt", "text") if isinstance(value := data.get(name), str)), None)
    return text if text is not None else unusable("The answer holds no text.", asked)


def _second_hand(listed: list[Any], ids: tuple[int, ...] | None) -> tuple[float, ...] | None:
    """SGLang's ``[log-probability, id, text]`` for each token, if they are those of ``ids``."""
    pairs = [item for item in listed if isinstance(item, list) and len(item) > 1]
    if ids is None or [item[1] for item in pairs] != list(ids):
        return None
    return logprobs([item[0] for item in pairs])
