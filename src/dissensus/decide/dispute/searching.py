"""Finding a quote that does not stand where it should: whole, normalised, by its context, or most of it in one run."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Literal
from unicodedata import category

from dissensus.decide.dispute.normalise import Normal, normal
from dissensus.decide.dispute.sources import DIVIDER, Space
from dissensus.decide.dispute.words import (
    NEGATING_STARTS,
    NEGATIONS,
    NUMBER_WORDS,
    UNITS,
    UNITS_IN_PROSE,
)

SHORTEST: Final = 12
"""Characters after N of the shortest quote that is searched for away from its place."""
RUN: Final = Fraction(85, 100)
"""Share of a quote that one contiguous run has to cover (rule 8)."""
_MOST_HITS: Final = 10_000
_TOKEN: Final = re.compile(r"[^\W_]+(?:['.,][^\W_]+)*")


@dataclass(frozen=True, slots=True)
class Hit:
    """Code points ``[start, end)`` of a space."""

    start: int
    end: int


def occurrences(text: str, quote: str) -> list[Hit]:
    """All places of ``quote`` in ``text``, overlapping ones included; the first ten thousand."""
    found: list[Hit] = []
    at = text.find(quote) if quote and DIVIDER not in quote else -1
    while at >= 0 and len(found) < _MOST_HITS:
        found.append(Hit(at, at + len(quote)))
        at = text.find(quote, at + 1)
    return found


def normal_occurrences(found: Normal, quote: str) -> list[Hit]:
    """All places whose text is ``quote`` after N. ``quote`` is normalised; places are those in the original."""
    hits = [found.origin(hit.start, hit.end) for hit in occurrences(found.text, quote)]
    return [Hit(*hit) for hit in hits if hit is not None]


def found_in(space: Space, quote: str) -> list[Hit]:
    """All places of ``quote`` as written; of a list of tokens, those that cut none, if there are any."""
    return _whole(space, occurrences(space.text, quote))


def normal_found_in(space: Space, quote: str) -> list[Hit]:
    """All places of a normalised quote, in the same way."""
    return _whole(space, normal_occurrences(space.normal, quote))


def _whole(space: Space, hits: list[Hit]) -> list[Hit]:
    return [hit for hit in hits if hit.start in space.starts and hit.end in space.ends] or hits


def by_context(text: str, hits: list[Hit], prefix: str, suffix: str) -> list[Hit]:
    """Those of several hits that stand between ``prefix`` and ``suffix``, as written or, failing that, after N."""
    if not (prefix or suffix):
        return hits
    exact = [hit for hit in hits if text.endswith(prefix, 0, hit.start) and text.startswith(suffix, hit.end)]
    if exact:
        return exact
    before, after = normal(prefix).strip(), normal(suffix).strip()
    reach_before, reach_after = 2 * len(prefix) + 40, 2 * len(suffix) + 40
    return [
        hit
        for hit in hits
        if normal(text[max(0, hit.start - reach_before) : hit.start]).strip().endswith(before)
        and normal(text[hit.end : hit.end + reach_after]).strip().startswith(after)
    ]


def partial(space: Space, quote: str) -> Hit | None:
    """Rule 8: where at least 85 % of ``quote`` stands in one run, once; the place covers what stands for all of it.

    Neither what is left of the quote nor what stands in its place in the source may hold a digit, a sign, a negation
    or a unit; words that the run cuts through count as left. None if there is no such place.
    """
    wanted = normal(quote)
    length = math.ceil(len(wanted) * RUN)
    source = space.normal.text
    if not wanted or DIVIDER in wanted:
        return None
    # whatever window of that length is taken, it holds the middle of the quote: look for that, then grow it
    left, right = len(wanted) - length, length
    runs: set[tuple[int, int, int]] = set()
    for hit in occurrences(source, wanted[left:right]):
        first, start = left, hit.start
        while first and start and wanted[first - 1] == source[start - 1]:
            first, start = first - 1, start - 1
        last, end = right, hit.end
        while last < len(wanted) and end < len(source) and wanted[last] == source[end]:
            last, end = last + 1, end + 1
        if last - first >= length:
            runs.add((first, last, start))
    if len(runs) != 1:
        return None
    first, last, start = runs.pop()
    end = start + last - first
    begin, stop = _whole_words(source, start - first, end + len(wanted) - last)
    rests = (
        (_outside(wanted, first, left=True), _outside(source[begin:], start - begin, left=True)),
        (_outside(wanted, last, left=False), _outside(source[:stop], end, left=False)),
    )
    for (one, other), some in zip(rests, (first > 0, last < len(wanted)), strict=True):
        if some and _weighs(one, other):
            return None
    while begin < start and source[begin] in (" ", DIVIDER):
        begin += 1
    while stop > end and source[stop - 1] in (" ", DIVIDER):
        stop -= 1
    for where in ((begin, stop), (start, end)):
        if DIVIDER not in source[slice(*where)] and (origin := space.normal.origin(*where)):
            return Hit(*origin)
    return None


def _whole_words(text: str, start: int, end: int) -> tuple[int, int]:
    start, end = max(0, start), min(len(text), end)
    while 0 < start < len(text) and text[start - 1].isalnum() and text[start].isalnum():
        start -= 1
    while 0 < end < len(text) and text[end - 1].isalnum() and text[end].isalnum():
        end += 1
    return start, end


def _outside(text: str, at: int, *, left: bool) -> str:
    """The part of a text left or right of ``at``, with all of the word or number that ``at`` cuts through."""
    if left:
        while at < len(text) and at and _glued(text, at):
            at += 1
        return text[:at]
    while 0 < at < len(text) and _glued(text, at):
        at -= 1
    return text[at:]


def _glued(text: str, at: int) -> bool:
    """Whether the characters on both sides of ``at`` belong to one word or number."""
    one, other = text[at - 1], text[at]
    if one.isalnum() and other.isalnum():
        return True
    if one in ".,'" and at > 1:
        return text[at - 2].isalnum() and other.isalnum()
    if other in ".,'" and at + 1 < len(text):
        return one.isalnum() and text[at + 1].isalnum()
    return _is_sign(one) and other.isdigit()


def _weighs(one: str, other: str) -> bool:
    """Whether one of two texts that stand for each other holds what may change the meaning of a quote."""
    for text in (one, other):
        if any(char.isnumeric() for char in text) or _has_sign(text):
            return True
        for word in _TOKEN.findall(text):
            if word in NEGATIONS or word in NUMBER_WORDS or word in UNITS or word.endswith("n't"):
                return True
    words, others = set(_TOKEN.findall(one)), set(_TOKEN.findall(other))
    if words & UNITS_IN_PROSE != others & UNITS_IN_PROSE:
        return True
    if any(word.endswith("less") for word in words ^ others):
        return True
    words |= set(_TOKEN.findall(one.replace("-", "")))  # "un-loaded" is "unloaded"
    others |= set(_TOKEN.findall(other.replace("-", "")))
    return any(_negates(a, b) or _negates(b, a) for a in words for b in others)


def _negates(word: str, other: str) -> bool:
    """Whether ``word`` is ``other`` with a part that negates it, as in "unloaded"."""
    return any(word == start + other for start in NEGATING_STARTS)


def _has_sign(text: str) -> bool:
    for at, char in enumerate(text):
        if char == "-":
            around = text[at - 1 : at] if at else "", text[at + 1 : at + 2]
            if not all(side.isalpha() for side in around):
                return True
        elif _is_sign(char):
            return True
    return False


def _is_sign(char: str) -> bool:
    return char in "+-%\u2030\u00b0\u00ac" or category(char) in ("Sm", "Sc")


def cut(text: str, hit: Hit) -> Literal["", "number", "word"]:
    """Whether a hit begins or ends inside a number or a word of ``text``."""
    start, end = hit.start, hit.end
    edges = [at for at in (start, end) if 0 < at < len(text)]
    if any(_splits_number(text, at) for at in edges):
        return "number"
    if any(text[at - 1].isalnum() and text[at].isalnum() for at in edges):
        return "word"
    return ""


def _splits_number(text: str, at: int) -> bool:
    before, after = text[at - 1], text[at]
    if before.isdigit() and after.isdigit():
        return True
    if before.isdigit() and after in ".,":
        return at + 1 < len(text) and text[at + 1].isdigit()
    if after.isdigit() and before in ".,":
        return at > 1 and text[at - 2].isdigit()
    if after.isdigit() and before in "+-\u2212\u2013":
        return at < 2 or not text[at - 2].isalnum()
    return False
