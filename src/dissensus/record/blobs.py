"""Long texts are stored once, by what they contain.

In the stored bytes of an event a string of at least :data:`LONG` UTF-8 bytes is replaced by
``{"$blob": "sha256:<64 hex digits>"}``. A body may have a key of its own that looks like this, so each key made of one
or more ``$`` and ``blob`` gets one more ``$`` on the way in and loses it on the way out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from hashlib import sha256
from typing import Any

LONG = 1024
"""A string of so many UTF-8 bytes is stored apart."""
MAX_BYTES = 2**28
"""Most bytes of one long text, and of one event."""
MARK = b'$blob"'
"""Stands in the bytes of every event that refers to a blob or has a key that looks like it."""

_KEY = "$blob"
_LOOKS_LIKE_KEY = re.compile(r"\$+blob", re.ASCII)
_DIGEST = re.compile(r"sha256:([0-9a-f]{64})", re.ASCII)
_SHORT = frozenset({int, float, bool, type(None)})


def name_of(digest: bytes) -> str:
    """How a digest is written: ``sha256:`` and 64 hex digits."""
    return f"sha256:{digest.hex()}"


def digest_of(name: object) -> bytes | None:
    """The digest that :func:`name_of` wrote, or None if ``name`` is no such name."""
    found = _DIGEST.fullmatch(name) if isinstance(name, str) else None
    return bytes.fromhex(found[1]) if found else None


def take_out(value: Any, blobs: dict[bytes, bytes]) -> Any:
    """``value`` with its long strings replaced; their bytes are put into ``blobs`` under their SHA-256.

    Raises :class:`ValueError` for a string that is longer than :data:`MAX_BYTES`.
    """
    if isinstance(value, str):
        if len(value) * 4 < LONG or len(data := value.encode()) < LONG:
            return value
        if len(data) > MAX_BYTES:
            raise ValueError(f"a text in it is longer than {MAX_BYTES} bytes")
        digest = sha256(data).digest()
        blobs[digest] = data
        return {_KEY: name_of(digest)}
    if isinstance(value, dict):
        return {
            f"${key}" if _LOOKS_LIKE_KEY.fullmatch(key) else key: take_out(inner, blobs) for key, inner in value.items()
        }
    if isinstance(value, list | tuple):
        # one pass in C over what may be a long list of numbers
        return value if set(map(type, value)) <= _SHORT else [take_out(inner, blobs) for inner in value]
    return value


def put_back(value: Any, fetch: Callable[[bytes], str]) -> Any:
    """The opposite of :func:`take_out`; ``fetch`` gives the text of a digest.

    Raises :class:`ValueError` for a reference that is not well formed.
    """
    if isinstance(value, dict):
        if _KEY in value:
            return fetch(_referred(value))
        return {
            key[1:] if _LOOKS_LIKE_KEY.fullmatch(key) else key: put_back(inner, fetch) for key, inner in value.items()
        }
    if isinstance(value, list):
        return value if set(map(type, value)) <= _SHORT else [put_back(inner, fetch) for inner in value]
    return value


def references(value: Any) -> Iterator[bytes]:
    """Digests that a stored body refers to, in order. Raises as :func:`put_back` does."""
    if isinstance(value, dict):
        if _KEY in value:
            yield _referred(value)
        else:
            for inner in value.values():
                yield from references(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from references(inner)


def _referred(value: dict[str, Any]) -> bytes:
    digest = digest_of(value[_KEY])
    if digest is None or len(value) > 1:
        raise ValueError(f"a reference to a blob is not well formed: {value!r:.120}")
    return digest
