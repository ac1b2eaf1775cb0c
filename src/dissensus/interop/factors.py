"""Properties of voters that may explain with whom they err (model, family, prompt, temperature, order) and costs."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from dissensus.errors import SpecError
from dissensus.interop.columns import COST, VOTER
from dissensus.interop.wide import as_text
from dissensus.measure.table import VoteTable

SAMPLED = "voter"
"""Factor whose levels are the voters, where each of their samples is counted as a voter of its own."""


class Traits:
    """Columns of properties, in a file with one row a vote. A property is one of the voter only if it never changes."""

    def __init__(self, columns: Mapping[str, int]) -> None:
        self._columns = columns
        self._said: dict[str, dict[str, str]] = {name: {} for name in columns}
        self._varies: set[str] = set()
        self._sampled: dict[str, str] = {}

    def take(self, voters: Sequence[str], block: Sequence[Sequence[Any]], samples: Sequence[Any] | None) -> None:
        """Read the properties of one block.

        Args:
            voters: of each row, before samples are told apart.
            block: columns.
            samples: which sample of its voter a row is, or None.
        """
        if samples is not None:
            names = [f"{name}#{as_text(sample)}" for name, sample in zip(voters, samples, strict=True)]
            self._sampled.update(zip(names, voters, strict=True))
            voters = names
        for name, place in self._columns.items():
            if name in self._varies:
                continue
            said = self._said[name]
            for voter, value in zip(voters, map(as_text, block[place]), strict=True):
                if value and said.setdefault(voter, value) != value:
                    self._varies.add(name)
                    break

    def levels(self, voters: Collection[str]) -> dict[str, dict[str, str]]:
        """Property to voter to level, for the ``voters`` that are in the table."""
        found = {name: said for name, said in self._said.items() if name not in self._varies}
        if self._sampled:
            found[SAMPLED] = self._sampled
        kept = {name: {v: said[v] for v in voters if v in said} for name, said in found.items()}
        return {name: said for name, said in kept.items() if said}

    def shared(self, voters: Collection[str]) -> dict[str, dict[str, str]]:
        """The same without properties that every voter has for itself, or all have in common."""
        levels = self.levels(voters)
        return {name: said for name, said in levels.items() if 1 < len(set(said.values())) < len(said)}

    def notes(self) -> Iterator[str]:
        """What is left out."""
        for name in sorted(self._varies):
            yield f"The column {name} changes within a voter, so it is no property of voters and is not compared."


def with_factors(table: VoteTable, path: str | Path) -> VoteTable:
    """``table`` with the properties and costs of its voters from a table: one row a voter, one column a property.

    Raises:
        SpecError: there is no column of voters, a voter stands twice or is not in the table, or a cost is no number.
    """
    from dissensus.interop.reading import rows_of

    where = Path(path)
    if not where.exists():
        raise SpecError("There is no such file.", path=str(path), next_step="Check the path given with --factors.")
    rows = rows_of(where)
    plain = [name.strip().lower().replace(" ", "_").replace("-", "_") for name in rows.header]
    voter = next((plain.index(name) for name in (*VOTER, "name", "id") if name in plain), None)
    if voter is None:
        raise SpecError(
            "The table of voters' properties has no column of voters.",
            path=str(path),
            line=1,
            next_step=f"Call it voter. The columns are {', '.join(rows.header)}.",
        )
    factors: dict[str, dict[str, str]] = {
        name.removeprefix("factor."): {} for i, name in enumerate(plain) if i != voter and name not in COST
    }
    costs = dict(table.costs)
    seen: set[str] = set()
    for line, block in rows.blocks():
        for offset, name in enumerate(map(as_text, block[voter])):
            if name not in table.voters or name in seen:
                raise SpecError(
                    f"{name!r} stands here twice." if name in seen else f"There is no voter {name!r}.",
                    path=str(path),
                    line=line + offset,
                    next_step=f"The voters are {', '.join(table.voters)}.",
                )
            seen.add(name)
            for place, column in enumerate(plain):
                text = as_text(block[place][offset])
                if place == voter or not text:
                    continue
                if column in COST:
                    costs[name] = _cost(text, str(path), line + offset)
                else:
                    factors[column.removeprefix("factor.")][name] = text
    levels = {name: said for name, said in factors.items() if said}
    return replace(table, factors={**table.factors, **levels}, costs=costs)


def _cost(text: str, path: str, line: int) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise SpecError(f"{text!r} is no cost.", path=path, line=line, next_step="Write it as a plain number.")
    return value
