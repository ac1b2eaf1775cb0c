"""JSON that is nested no deeper than whoever reads it later can follow, wherever they stand on the stack."""

from __future__ import annotations

import re
from typing import Any, Final

import msgspec

DEEPEST: Final = 200
"""Levels of nesting. Decoders give up near a thousand, less what is on the stack already; no message comes near."""

_TEXTS: Final = re.compile(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)
_BRACKETS: Final = re.compile(rb"[][{}]")


def decode(raw: bytes) -> Any:
    """The JSON value in ``raw``.

    Raises:
        RecursionError: it is nested deeper than :data:`DEEPEST`.
        msgspec.DecodeError, UnicodeDecodeError: it is no JSON.
    """
    if raw.count(b"[") + raw.count(b"{") > DEEPEST:
        depth = 0
        for bracket in _BRACKETS.findall(_TEXTS.sub(b"", raw)):
            depth += 1 if bracket in b"[{" else -1
            if depth > DEEPEST:
                raise RecursionError(f"nested deeper than {DEEPEST} levels")
    return msgspec.json.decode(raw)
