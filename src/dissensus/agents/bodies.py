"""Bodies that servers send, read without trust: bytes to JSON data, text that a record can hold, counts that can be."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Hide = Callable[[str], str]
"""Takes keys out of a text."""

_SURROGATE = re.compile("[\ud800-\udfff]")
_UNSHOWN = re.compile(r"[\x00-\x1f\x7f]+")
_TAGS = re.compile(r"<(?:script|style)\b.*?</(?:script|style)>|<[^>]*>", re.DOTALL | re.IGNORECASE)
_EXCERPT = 300
_LONGEST_NAME = 200


def keep(text: str) -> str:
    """``text`` as it is: the ``hide`` of a server without a key."""
    return text


def clean(text: str) -> str:
    """``text`` with each half of a surrogate pair replaced by U+FFFD: no record could hold it."""
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def parse_json(body: bytes) -> Any:
    """The JSON data in ``body``; invalid UTF-8 becomes U+FFFD.

    Raises:
        ValueError: it is not JSON, is nested too deeply or holds a number of thousands of digits.
    """
    text = body.decode("utf-8", errors="replace").removeprefix("\ufeff")
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def text_of(value: object, hide: Hide) -> str | None:
    """``value`` as clean text without keys, or None if it is no text."""
    return hide(clean(value)) if isinstance(value, str) else None


def excerpt(text: str, hide: Hide, length: int = _EXCERPT) -> str:
    """The beginning of ``text`` on one line. Keys are removed first, so that none is left in half."""
    shown = " ".join(_UNSHOWN.sub(" ", hide(clean(text))).split())
    return shown if len(shown) <= length else shown[: length - 1] + "…"


def describe(body: bytes, hide: Hide) -> str:
    """What an unreadable body seems to be, for people."""
    if not body.strip():
        return "an empty body"
    text = body.decode("utf-8", errors="replace")
    if text.lstrip()[:200].lower().startswith(("<!doctype html", "<html", "<head", "<?xml")):
        words = _TAGS.sub(" ", hide(text)[:4000])
        return f"an HTML page: {excerpt(words, hide, 120)}"
    return f"no answer that can be read: {excerpt(text, hide, 120)}"


def error_in(data: object) -> tuple[str, str]:
    """The message and the code of an error object in any of the forms that servers use; ("", "") if there is none."""
    if not isinstance(data, Mapping):
        return "", ""
    error = data.get("error")
    if isinstance(error, Mapping):
        data = error
    elif isinstance(error, str):
        return error, ""
    elif error is not None or not any(name in data for name in ("message", "detail")):
        return "", ""
    message = data.get("message", data.get("detail"))
    if not isinstance(message, str):
        message = "" if message is None else _as_text(message)
    codes = [str(data[name]) for name in ("code", "type") if isinstance(data.get(name), str | int)]
    return message, " ".join(codes)


def _as_text(value: object) -> str:
    try:
        return json.dumps(value)
    except (ValueError, RecursionError):
        return ""


def count(value: object, most: int) -> int | None:
    """``value`` if it can be a count of tokens: a whole number from 0 to ``most``; else None."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= most:
        return None
    return value


def token_ids(value: object) -> tuple[int, ...] | None:
    """``value`` if it is a list of token ids; else None."""
    if not isinstance(value, list):
        return None
    return tuple(value) if all(count(item, 2**31) is not None for item in value) else None


def logprob(value: object) -> float | None:
    """``value`` if it can be a log-probability (a float from a softmax may exceed 0 by its rounding); else None."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return min(number, 0.0) if math.isfinite(number) and number <= 1e-3 else None


def logprobs(values: Sequence[object]) -> tuple[float, ...] | None:
    """All of ``values`` as log-probabilities, or None if one is none."""
    numbers = tuple(logprob(value) for value in values)
    return (
        None if any(number is None for number in numbers) else tuple(number for number in numbers if number is not None)
    )


def model_name(value: object, default: str, hide: Hide) -> str:
    """The model's name as the server tells it: a file's path is cut to its name; no text means ``default``."""
    name = text_of(value, hide)
    if not name:
        return default
    if name.startswith(("/", "~", ".")) or "\\" in name:
        name = re.split(r"[/\\]", name)[-1] or default
    return name[:_LONGEST_NAME]
