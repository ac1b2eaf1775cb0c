"""What several sources of one party say together: copies, parts that add up, the same again, or a doubt."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from dissensus.decide.dispute.checkers import key_column
from dissensus.decide.dispute.origins import origins
from dissensus.decide.dispute.places import Row
from dissensus.decide.dispute.sources import Source
from dissensus.decide.swarm.opened import Opened
from dissensus.decide.swarm.reader_names import Asked, form
from dissensus.decide.swarm.reader_said import Said, joined

Name = Callable[[str], str]
"""How a source is called, by its digest."""


def originals(said: Sequence[Said], opened: Opened) -> list[Said]:
    """Of copies the first one."""
    if len(said) < 2:
        return list(said)
    sources: Mapping[str, Source] = {one.digest: opened[one.digest] for one in said}
    same = {digest: one.id for one in origins([one.evidence[0] for one in said], sources) for digest in one.digests}
    kept: dict[str, Said] = {}
    for one in said:
        kept.setdefault(same[one.digest], one)
    return list(kept.values())


def together(asked: Asked, said: Sequence[Said], name: Name) -> Said | str:
    """What sources say that are no copies, or why that cannot be told: a sentence without an end."""
    sides: list[Said] = []
    tables, papers = [one for one in said if one.rows], [one for one in said if not one.rows]
    for found in (_tables(asked, tables, name), _papers(papers, name)):
        if isinstance(found, str):
            return found
        if found is not None:
            sides.append(found)
    return _same(sides) or f"{_names(sides, name)} differ, and nothing tells which of them is meant"


def _papers(said: Sequence[Said], name: Name) -> Said | str | None:
    """Documents: one of them, parts of one whole, the same once more, or a doubt."""
    alone: dict[str, Said] = {}
    for one in said:
        earlier = alone.setdefault(one.document or f"\0{one.digest}", one)
        if (earlier.value, earlier.unit) != (one.value, one.unit):
            return f"two documents with the number {one.document} differ ({_names((earlier, one), name)})"
    kept = list(alone.values())
    if len(kept) < 2:
        return kept[0] if kept else None
    if any(not one.document for one in kept):
        return f"several documents state it, and nothing tells whether they are parts of it ({_names(kept, name)})"
    for one in kept:
        if one.corrects or one.others & alone.keys():
            return f"{name(one.digest)} is about another document, too, and may stand in its place"
    if len({form(one.document) for one in kept}) > 1:
        return _same(kept) or f"documents of several kinds differ ({_names(kept, name)})"
    return _added(kept, name)


def _tables(asked: Asked, said: Sequence[Said], name: Name) -> Said | str | None:
    """Tables: one of them, rows added up with each booking once, or a doubt."""
    if len(said) < 2:
        return said[0] if said else None
    if len({one.columns for one in said}) > 1:
        return _same(said) or f"tables of several kinds differ ({_names(said, name)})"
    key = key_column(asked.claim, said[0].rows[0])
    if key is None:
        return f"several tables state it, and nothing tells their rows apart ({_names(said, name)})"
    before: dict[str, Row] = {}
    parts: list[Said] = []
    for one in said:
        mine = [row.fields.get(key, "") for row in one.rows]
        if not all(mine):
            return f"{name(one.digest)} has a row of it without {key!r}, beside other tables"
        twice = [row for row, booking in zip(one.rows, mine, strict=True) if booking in before]
        if any(dict(row.fields) != dict(before[row.fields[key]].fields) for row in twice):
            return f"one {key} stands in several tables with other words ({_names(said, name)})"
        new = [place for place, booking in enumerate(mine) if booking not in before]
        if new:
            parts.append(_only(one, new))
        before |= dict(zip(mine, one.rows, strict=True))
    return _added(parts, name)


def _only(said: Said, places: Sequence[int]) -> Said:
    """Some of the places of ``said``."""
    parts = tuple(said.parts[place] for place in places)
    return replace(
        said,
        value=sum(parts, Fraction(0)),
        parts=parts,
        evidence=tuple(said.evidence[place] for place in places),
        rows=tuple(said.rows[place] for place in places),
    )


def _added(said: Sequence[Said], name: Name) -> Said | str:
    if len({one.unit for one in said}) > 1:
        return f"its parts are counted in several units ({_names(said, name)})"
    return replace(
        said[0],
        value=sum((one.value for one in said), Fraction(0)),
        parts=tuple(part for one in said for part in one.parts),
        evidence=tuple(item for one in said for item in one.evidence),
        rows=tuple(row for one in said for row in one.rows),
        days=joined([one.days for one in said]),
    )


def _same(said: Sequence[Said]) -> Said | None:
    """The first one, if all say the same."""
    return said[0] if said and len({(one.value, one.unit) for one in said}) == 1 else None


def _names(said: Sequence[Said], name: Name) -> str:
    names = [name(one.digest) for one in said]
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
