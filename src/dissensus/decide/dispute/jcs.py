"""Canonical JSON by RFC 8785, for hashes that anybody can compute again. Fractions are written as texts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from typing import Any, Final

_SAFE: Final = 2**53 - 1


def canonical(data: Any) -> bytes:
    """The canonical bytes of JSON ``data``: no white space, keys in the order of their UTF-16 code units.

    Raises:
        ValueError: it holds a fraction, a whole number beyond 2**53 - 1, half a surrogate pair, or what is no JSON.
    """
    return _text(data).encode()


def digest_of(data: Any) -> str:
    """SHA-256 of the canonical bytes, 64 hexadecimal digits."""
    return sha256(canonical(data)).hexdigest()


def _text(data: Any) -> str:
    if data is None or isinstance(data, bool):
        return {None: "null", True: "true", False: "false"}[data]
    if isinstance(data, str):
        return json.dumps(str(data), ensure_ascii=False)  # escapes what RFC 8785, 3.2.2.2 does, and in the same way
    if isinstance(data, int):
        if abs(data) > _SAFE:
            raise ValueError(f"{data} is no number that every reader of JSON keeps; write it as a text")
        return str(data)
    if isinstance(data, list | tuple):
        return "[" + ",".join(map(_text, data)) + "]"
    if isinstance(data, Mapping):
        if not all(isinstance(key, str) for key in data):
            raise ValueError("the keys of an object are texts")
        pairs = sorted(data.items(), key=lambda pair: pair[0].encode("utf-16-be", "surrogatepass"))
        return "{" + ",".join(f"{_text(key)}:{_text(value)}" for key, value in pairs) + "}"
    raise ValueError(f"a {type(data).__name__} has no canonical form here")
