"""Which items of evidence come from one source: copies count once, however often they are cited.

Sources are of one origin if their digests are equal, if their texts are equal after N, if one is declared to derive
from the other or both carry the same declared origin, or if they are near-duplicates: sets of word 5-grams after N
whose Jaccard index is at least 0.9, with the same numbers. The numbers are asked for because two forms of one template
that differ in what they count are two witnesses. Being of one origin is transitive.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from dissensus.decide.dispute.evidence import Evidence
from dissensus.decide.dispute.sources import Source

METHOD: Final = "5-grams of words after N, Jaccard >= 0.9, equal numbers"
GRAM: Final = 5
THRESHOLD: Final = 0.9
_WORD: Final = re.compile(r"\w+")
_NUMBER: Final = re.compile(r"\d+")
_FEWEST_GRAMS: Final = 10


@dataclass(frozen=True, slots=True)
class Origin:
    """One origin.

    Args:
        id: the lowest of its digests.
        digests: all of them, in order.
        citations: how many items of evidence point into it.
        ways: why its digests are one: ``equal text``, ``near-duplicate``, ``declared``; empty for a single digest.
    """

    id: str
    digests: tuple[str, ...]
    citations: int
    ways: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.citations} citation{'' if self.citations == 1 else 's'}, 1 origin"


def origins(
    items: Iterable[Evidence], sources: Mapping[str, Source | bytes], *, near_duplicates: bool = True
) -> tuple[Origin, ...]:
    """The origins of ``items``, in the order of their ids; the order of ``items`` does not matter.

    Args:
        items: evidence of any number of claims.
        sources: captured bytes by digest; what is missing has the origins that are declared.
        near_duplicates: whether to look for these, which compares each source with each other one.
    """
    items = list(items)
    counts = Counter(item.digest for item in items)
    groups = _Groups(counts)
    declared: dict[str, list[str]] = {}
    for item in items:
        if item.origin is not None:
            names = declared.setdefault(item.origin, [item.origin] if item.origin in counts else [])
            names.append(item.digest)
    for names in declared.values():
        for other in names[1:]:
            groups.join(names[0], other, "declared")
    texts = {digest: text for digest in sorted(counts) if (text := _text(sources.get(digest)))}
    first: dict[str, str] = {}
    for digest, text in texts.items():
        groups.join(first.setdefault(text, digest), digest, "equal text")
    if near_duplicates:
        _near(groups, {digest: texts[digest] for digest in first.values()})
    return groups.found(counts)


def _near(groups: _Groups, texts: Mapping[str, str]) -> None:
    alike: dict[tuple[tuple[str, int], ...], list[str]] = {}
    for digest, text in texts.items():
        alike.setdefault(tuple(sorted(Counter(_NUMBER.findall(text)).items())), []).append(digest)
    for digests in alike.values():
        known: list[tuple[str, frozenset[tuple[str, ...]]]] = []
        for digest in digests if len(digests) > 1 else ():  # a text that none can be near is not taken apart
            grams = _grams(texts[digest])
            if len(grams) < _FEWEST_GRAMS:
                continue
            for other, theirs in known:
                smaller, larger = sorted((len(grams), len(theirs)))
                if smaller < THRESHOLD * larger:
                    continue
                shared = len(grams & theirs)
                if shared >= THRESHOLD * (len(grams) + len(theirs) - shared):
                    groups.join(other, digest, "near-duplicate")
            known.append((digest, grams))


def _grams(text: str) -> frozenset[tuple[str, ...]]:
    words = _WORD.findall(text)
    return frozenset(zip(*(words[n:] for n in range(GRAM)), strict=False))


def _text(source: Source | bytes | None) -> str:
    if source is None:
        return ""
    return (source if isinstance(source, Source) else Source(source)).plain_text


class _Groups:
    """Digests in groups, and why."""

    def __init__(self, digests: Iterable[str]) -> None:
        self.parent = {digest: digest for digest in digests}
        self.ways: dict[str, set[str]] = {}

    def root(self, of: str) -> str:
        while self.parent[of] != of:
            of = self.parent[of]
        return of

    def join(self, one: str, other: str, way: str) -> None:
        low, high = sorted((self.root(one), self.root(other)))
        if low != high:
            self.parent[high] = low
            self.ways[low] = self.ways.get(low, set()) | self.ways.pop(high, set()) | {way}

    def found(self, counts: Counter[str]) -> tuple[Origin, ...]:
        groups: dict[str, list[str]] = {}
        for digest in sorted(self.parent):
            groups.setdefault(self.root(digest), []).append(digest)
        return tuple(
            Origin(root, tuple(group), sum(counts[each] for each in group), tuple(sorted(self.ways.get(root, ()))))
            for root, group in sorted(groups.items())
        )
