"""The built-in reader of JSON documents: values under keys that fit, in objects that are about the item."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Final

from dissensus.decide.dispute.amounts import words_of
from dissensus.decide.dispute.bearing import unit_of
from dissensus.decide.dispute.evidence import JsonSelector, Reopened
from dissensus.decide.dispute.normalise import normal
from dissensus.decide.dispute.places import Row, surroundings
from dissensus.decide.dispute.selectors import select
from dissensus.decide.dispute.sources import Source
from dissensus.decide.dispute.topics import in_period, same_property
from dissensus.decide.swarm.citing import MOST_EVIDENCE
from dissensus.decide.swarm.reader_names import MEASURES, NONE, Asked, fit, may_name
from dissensus.decide.swarm.reader_said import Said, Unread, amount_of, cite, days_of, unit_as_wanted
from dissensus.decide.swarm.reader_tables import is_remark, undone

_MOST_LEAVES: Final = 200_000
_DOCUMENTS: Final = frozenset(["note", "receipt", "invoice", "ticket", "document", "slip", "bill", "docket", "waybill"])

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Leaf:
    """A number or text in a document, and the keys that lead to it."""

    path: Path
    text: str

    @property
    def key(self) -> str:
        """The key under which it stands; "" in a list."""
        return self.path[-1] if self.path and isinstance(self.path[-1], str) else ""


class Tree:
    """A JSON document that is read many times.

    Args:
        source: the document.
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        self.leaves = list(_leaves((), source.decoded("")))
        self.objects: dict[Path, list[Leaf]] = {}
        for leaf in self.leaves:
            if leaf.key:
                self.objects.setdefault(leaf.path[:-1], []).append(leaf)

    def numbers(self, asked: Asked) -> list[str]:
        """Numbers of documents under a key that says so, ``note: DN-1``; the outermost first."""
        found: list[str] = []
        for leaf in sorted(self.leaves, key=lambda leaf: len(leaf.path)):
            words = words_of(leaf.key)
            if words & _DOCUMENTS and may_name(leaf.key, asked) and any(char.isdigit() for char in leaf.text):
                name = normal(leaf.text).strip()
                if not asked.is_item(name) and name not in found:
                    found.append(name)
        return found


def read_json(asked: Asked, tree: Tree) -> Said | Unread | None:
    """What a document says; None if nothing in it is about the item."""
    found = _read(asked, tree)
    numbers = tree.numbers(asked)
    if found is None or not numbers:
        return found
    if isinstance(found, Unread):
        return replace(found, document=numbers[0])
    return replace(found, document=numbers[0], others=frozenset(numbers[1:]))


def _read(asked: Asked, tree: Tree) -> Said | Unread | None:
    naming = {leaf.key for leaf in tree.leaves if leaf.key and asked.is_item(leaf.text) and may_name(leaf.key, asked)}
    about = [leaf for leaf in tree.leaves if leaf.key not in naming and _is_about(asked, tree, leaf, naming)]
    if not about:
        return None
    fits = {leaf.path: _fit(asked, leaf) for leaf in about}
    best = min(fits.values())
    if best == NONE:
        return Unread(f"names it, and no key of it is called like {asked.claim.attribute!r}")
    groups: dict[Path, list[Leaf]] = {}
    for leaf in about:
        if fits[leaf.path] == best:
            groups.setdefault(tuple("*" if isinstance(part, int) else part for part in leaf.path), []).append(leaf)
    read = [_sum(asked, tree, leaves, best) for leaves in groups.values()]
    unread = next((one for one in read if isinstance(one, Unread)), None)
    said = [one for one in read if isinstance(one, Said)]
    if unread is not None:
        return unread
    if len({(one.value, one.unit) for one in said}) > 1:
        return Unread(f"states it in several places that differ: {', '.join(sorted({one.name for one in said}))}", best)
    return min(said, key=lambda one: len(one.evidence))


def _fit(asked: Asked, leaf: Leaf) -> int:
    outer = next((part for part in reversed(leaf.path[:-1]) if isinstance(part, str)), "")
    return min(fit(leaf.key, asked), fit(f"{outer} {leaf.key}", asked) if leaf.key else NONE)


def _is_about(asked: Asked, tree: Tree, leaf: Leaf, naming: set[str]) -> bool:
    """Whether the innermost object that says what it is about is about the item."""
    for depth in range(len(leaf.path) - 1, -1, -1):
        told = [one for one in tree.objects.get(leaf.path[:depth], []) if one.key in naming]
        if told:
            return all(asked.is_item(one.text) for one in told)
        if depth and isinstance(leaf.path[depth - 1], str) and asked.is_item(str(leaf.path[depth - 1])):
            return True
    return False


def _sum(asked: Asked, tree: Tree, leaves: list[Leaf], how: int) -> Said | Unread:
    """What values under one key add up to."""
    if len(leaves) > MOST_EVIDENCE:
        return Unread(f"states it in {len(leaves)} places, and at most {MOST_EVIDENCE} can be cited", how)
    parts: list[Fraction] = []
    units: set[str] = set()
    rows: list[Row] = []
    evidence = []
    for leaf in leaves:
        selector = JsonSelector(_pointer(leaf.path))
        found = select(tree.source, selector)
        amount = amount_of("" if found is None else found.text, asked)
        if found is None or isinstance(amount, str):
            return Unread(f"has a key {leaf.key!r} that {amount}", how)
        item = cite(tree.source, selector, found.text)
        around = surroundings(item, Reopened("EXACT", text=found.text, selector=selector), tree.source)
        row = around.rows[0] if around.rows else Row({})
        if asked.claim.as_of is not None and in_period(asked.claim, row) == "no":
            continue
        if (word := _odd(asked, row)) is not None:
            return Unread(f"says {word!r} beside {leaf.key!r}: it need not count", how)
        rows.append(row)
        evidence.append(item)
        parts.append(amount.value)
        units.add(unit_as_wanted(amount.unit or unit_of(row, leaf.key, MEASURES), asked))
    if not evidence:
        return Unread("tells of another time", how)
    if len(units) > 1:
        return Unread(f"counts it in several units: {', '.join(sorted(units))}", how)
    return Said(
        fit=how,
        value=sum(parts, Fraction(0)),
        parts=tuple(parts),
        unit=units.pop(),
        evidence=tuple(evidence),
        name=leaves[0].key,
        days=days_of(rows),
    )


def _odd(asked: Asked, row: Row) -> str | None:
    """A word by which an object need not count, or tells of something else."""
    remarks = [text for name, text in row.fields.items() if name != row.chosen and is_remark(text)]
    other = next((text for text in remarks if same_property(asked.claim, words_of(text)) == "no"), None)
    return undone(row) or other


def _leaves(path: Path, value: Any) -> Iterator[Leaf]:
    """Numbers and texts of a document in its order; the first of very many."""
    waiting: list[tuple[Path, Any]] = [(path, value)]
    count = 0
    while waiting and count < _MOST_LEAVES:
        path, value = waiting.pop()
        if isinstance(value, Mapping):
            waiting.extend(((*path, key), inner) for key, inner in reversed(list(value.items())))
        elif isinstance(value, list):
            waiting.extend(((*path, n), value[n]) for n in range(len(value) - 1, -1, -1))
        elif isinstance(value, str | int | float) and not isinstance(value, bool):
            count += 1
            yield Leaf(path, str(value))


def _pointer(path: Path) -> str:
    return "".join(f"/{str(part).replace('~', '~0').replace('/', '~1')}" for part in path)
