"""Tokenizers of the scripted model: one token per word, one per character, or one per byte."""

from __future__ import annotations

import codecs
import hashlib
import re
from collections.abc import Iterable
from typing import Protocol

_WORD = re.compile(r"\s*\S+|\s+")
UNKNOWN = "\ufffd"


class Tokenizer(Protocol):
    """Splits a text into pieces that give the text when joined, and names each piece by a number."""

    def split(self, text: str) -> list[str]:
        """The pieces of ``text``, in order."""
        ...

    def count(self, text: str) -> int:
        """How many tokens ``text`` has, quickly."""
        ...

    def ids(self, pieces: Iterable[str]) -> tuple[int, ...]:
        """The number of each piece; the same in every process."""
        ...

    def text(self, ids: Iterable[int]) -> str:
        """The text that has these numbers; U+FFFD for a number that stands for no known piece."""
        ...


class Characters:
    """One token per character; its number is the character's code point."""

    def split(self, text: str) -> list[str]:
        """Each character by itself."""
        return list(text)

    def count(self, text: str) -> int:
        """The number of characters."""
        return len(text)

    def ids(self, pieces: Iterable[str]) -> tuple[int, ...]:
        """Code points."""
        return tuple(map(ord, pieces))

    def text(self, ids: Iterable[int]) -> str:
        """The characters with these code points."""
        return "".join(chr(number) if 0 <= number < 0xD800 or 0xDFFF < number < 0x110000 else UNKNOWN for number in ids)


class Words:
    """One token per word, with the white space before it; white space at the end is a token of its own.

    A piece's number is a hash of it. Numbers can be turned back into text for the pieces that this tokenizer has split
    before, which is enough for a run: what is continued was written in it.
    """

    def __init__(self) -> None:
        self._pieces: dict[int, str] = {}
        self._ids: dict[str, int] = {}

    def split(self, text: str) -> list[str]:
        """Words, each with the white space before it."""
        return _WORD.findall(text)

    def count(self, text: str) -> int:
        """The number of words, and one for white space at the end."""
        return len(text.split()) + (text[-1:].isspace())

    def ids(self, pieces: Iterable[str]) -> tuple[int, ...]:
        """The first 48 bits of each piece's hash: exact even where numbers are doubles."""
        return tuple(self._ids[piece] if piece in self._ids else self._learn(piece) for piece in pieces)

    def text(self, ids: Iterable[int]) -> str:
        """The pieces with these numbers."""
        return "".join(self._pieces.get(number, UNKNOWN) for number in ids)

    def _learn(self, piece: str) -> int:
        number = int.from_bytes(hashlib.blake2b(piece.encode("utf-8", "replace"), digest_size=6).digest(), "big")
        self._pieces[number] = piece
        self._ids[piece] = number
        return number


class Bytes:
    """One token per byte of UTF-8; its number is the byte's value.

    A piece that is no ASCII character stands as a lone surrogate (``surrogateescape``), so that pieces can be joined to
    a text with characters cut in two, and :func:`bytes_of` tells its bytes.
    """

    def split(self, text: str) -> list[str]:
        """Each byte by itself."""
        return [bytes([byte]).decode("ascii", "surrogateescape") for byte in bytes_of(text)]

    def count(self, text: str) -> int:
        """The number of bytes."""
        return len(bytes_of(text))

    def ids(self, pieces: Iterable[str]) -> tuple[int, ...]:
        """The values of the bytes."""
        return tuple(bytes_of("".join(pieces)))

    def text(self, ids: Iterable[int]) -> str:
        """The text of these bytes; U+FFFD for what is no character, and for numbers that are no bytes."""
        return b"".join(bytes([n]) if 0 <= n < 256 else UNKNOWN.encode() for n in ids).decode("utf-8", "replace")


def bytes_of(text: str) -> bytes:
    """The bytes of a text made of pieces; lone surrogates that no piece can hold become question marks."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace")


def whole_text(raw: bytes) -> str:
    """The whole characters that ``raw`` begins with: without the beginning of one at its end."""
    return codecs.getincrementaldecoder("utf-8")("replace").decode(raw)


WORDS = Words()
CHARACTERS = Characters()
BYTES = Bytes()
TOKENIZERS: dict[str, Tokenizer] = {"word": WORDS, "character": CHARACTERS, "byte": BYTES}
