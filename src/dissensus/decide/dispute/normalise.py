"""N, the form in which texts are compared, with the way back to the text that was normalised.

N is, in this order: NFKC, except for characters of category No (it would make ``102`` of ``10²``); soft hyphens
dropped; a letter, a hyphen, a line break and a letter joined; curly quotes made straight; the dashes U+2010 to U+2015
and the minus sign made ``-``; each run of white space made one space; case folded. It never drops a digit, a decimal
mark or a sign. A soft hyphen before a line break is a hyphen, too. Where one round is not stable (case folding may
leave what NFKC composes again), rounds follow until it is, so that N(N(x)) = N(x).

N is for comparing only: what is shown is always the text as it stands in the source.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final
from unicodedata import category, combining, is_normalized
from unicodedata import normalize as unicode_normalize

SOFT_HYPHEN: Final = "\u00ad"
_LINE_BREAK: Final = "(?:\r\n|[\n\r\x0b\x0c\x85\u2028\u2029])"
_SOFT_BREAK: Final = re.compile(f"{SOFT_HYPHEN}+{_LINE_BREAK}")
_HARD_BREAK: Final = re.compile(f"[-\u2010]{_LINE_BREAK}")
_BLANK: Final = re.compile(r"[^\S ]")
_BLANKS: Final = re.compile("  +")
_NOT_ASCII: Final = re.compile(r"(?s).?[^\x00-\x7f]+")
_FOLDS_LONGER: Final = re.compile(r"[^\x00-\x7f]")
_SIGNS: Final = {
    **dict.fromkeys(map(ord, "\u2018\u2019\u201a\u201b"), "'"),
    **dict.fromkeys(map(ord, "\u201c\u201d\u201e\u201f"), '"'),
    **dict.fromkeys([*range(0x2010, 0x2016), 0x2212], "-"),
}
_MOST_ROUNDS: Final = 8


@dataclass(frozen=True, slots=True)
class Normal:
    """A normalised text. Character ``i`` of it came from code points ``[starts[i], ends[i])`` of the original."""

    text: str
    starts: array[int]
    ends: array[int]

    def origin(self, start: int, end: int) -> tuple[int, int] | None:
        """Where ``[start, end)`` came from; None if it begins or ends inside a ligature."""
        if not 0 <= start < end <= len(self.text):
            return None
        if start and self.starts[start] < self.ends[start - 1]:
            return None
        if end < len(self.text) and self.starts[end] < self.ends[end - 1]:
            return None
        return self.starts[start], self.ends[end - 1]


@lru_cache(maxsize=4096)
def _short(text: str) -> str:
    return normalised(text).text


def normal(text: str) -> str:
    """N(text)."""
    return _short(text) if len(text) < 1000 else normalised(text).text


def normalised(text: str) -> Normal:
    """N(text) with the way back."""
    found = _Mapped(text)
    for _ in range(_MOST_ROUNDS):
        before = found.text
        _round(found)
        if found.text == before or found.text.isascii():
            break
    return Normal(found.text, found.starts, found.ends)


def _round(found: _Mapped) -> None:
    if not found.text.isascii():
        found.replace(_NOT_ASCII, None, pieces=_composed)
        found.replace(_SOFT_BREAK, "", where=_between_letters)
        found.replace(re.compile(SOFT_HYPHEN), "")
    found.replace(_HARD_BREAK, "", where=_between_letters)
    if not found.text.isascii():
        found.text = found.text.translate(_SIGNS)
    found.text = _BLANK.sub(" ", found.text)
    found.replace(_BLANKS, " ")
    folded = found.text.casefold()
    if len(folded) == len(found.text):  # each character became one, for none becomes less
        found.text = folded
    else:
        found.replace(_FOLDS_LONGER, None, pieces=lambda match: [(1, match[0].casefold())])
        found.text = found.text.casefold()


class _Mapped:
    """A text that is rewritten while it is kept where each character came from."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.starts = array("i", range(len(text)))
        self.ends = array("i", range(1, len(text) + 1))

    def replace(
        self,
        pattern: re.Pattern[str],
        by: str | None,
        *,
        where: Callable[[str, int, int], bool] | None = None,
        pieces: Callable[[re.Match[str]], list[tuple[int, str]]] | None = None,
    ) -> None:
        """Replace what ``pattern`` finds by ``by``, or piece by piece: so many characters by that text."""
        texts: list[str] = []
        starts, ends = array("i"), array("i")
        done = 0
        for match in pattern.finditer(self.text):
            if match[0] == by or (where is not None and not where(self.text, match.start(), match.end())):
                continue
            parts = [(len(match[0]), by)] if by is not None else pieces(match) if pieces is not None else []
            at = match.start()
            for length, new in parts:
                if new != self.text[at : at + length]:
                    texts += (self.text[done:at], new)
                    starts += self.starts[done:at]
                    ends += self.ends[done:at]
                    starts.extend([self.starts[at]] * len(new))
                    ends.extend([self.ends[at + length - 1]] * len(new))
                    done = at + length
                at += length
        if done:
            texts.append(self.text[done:])
            self.text = "".join(texts)
            self.starts = starts + self.starts[done:]
            self.ends = ends + self.ends[done:]


def _between_letters(text: str, start: int, end: int) -> bool:
    return start > 0 and end < len(text) and text[start - 1].isalpha() and text[end].isalpha()


def _composed(match: re.Match[str]) -> list[tuple[int, str]]:
    """The parts of a text that NFKC treats by themselves, and what it makes of each."""
    text = match[0]
    if is_normalized("NFKC", text):
        return []
    parts: list[tuple[int, str]] = []
    at = 0
    while at < len(text):
        end = at + 1
        if category(text[at]) == "No":
            parts.append((1, text[at]))
        else:
            while end < len(text) and _joins(text[end]):
                end += 1
            parts.append((end - at, unicode_normalize("NFKC", text[at:end])))
        at = end
    return parts


@lru_cache(maxsize=4096)
def _joins(char: str) -> bool:
    """Whether NFKC may join ``char`` to what stands before it: marks, and the later parts of Hangul syllables."""
    if char.isascii() or category(char) == "No":
        return False
    first = unicode_normalize("NFKD", char)[0]
    return combining(first) != 0 or category(first)[0] == "M" or "\u1160" <= first <= "\u11ff"
