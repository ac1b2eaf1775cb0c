"""What a swarm works on: items, what is to be reported about each, the sources of each party, and who gets which share.

A *party* is agents that work from the same sources (delivery notes, a warehouse log). Its items are shared out among
them in adjacent shares. What two parties report about one item meets in one case.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import msgspec

from dissensus.decide.dispute.case import Pinned
from dissensus.errors import SpecError

ITEM: Final = "{item}"
"""Stands for the item in templates."""
READER: Final = "reader"
"""The seat of a party that is read by a program: a tool of that name, or the built-in reader."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """One thing to be reported about every item. ``{item}`` stands for the item.

    Args:
        attribute: the property: ``pallets received``.
        subject: what it is a property of.
        unit: in which unit; "" is any, or none.
        units: the unit by item, where it is not the same for all; an item that is not in it has ``unit``.
        as_of: at which time; "" leaves it to the report.
        note: what else a reader has to know: ``add up all deliveries``.
        names: what else it is called in documents, for the reader that is a program: names of columns, labels.
    """

    attribute: str
    subject: str = ITEM
    unit: str = ""
    as_of: str = ""
    note: str = ""
    names: tuple[str, ...] = ()
    units: Mapping[str, str] = field(default_factory=dict)

    def of(self, item: str) -> Wanted:
        """What is wanted of one item, with nothing left to fill in."""
        about = self.about(item)
        unit, as_of = about.get("unit", ""), about.get("as_of", "")
        return replace(self, subject=about["subject"], unit=unit, as_of=as_of, units={})

    def about(self, item: str) -> dict[str, str]:
        """The keys of a claim that are known before anybody reads anything."""
        unit = self.units.get(item, self.unit)
        found = {"subject": self.subject, "attribute": self.attribute, "unit": unit, "as_of": self.as_of}
        return {key: text.replace(ITEM, item) for key, text in found.items() if text}


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """Adjacent items for one agent, with the sources that its party works from. Everything that it sees is in it.

    Args:
        party: the party.
        agent: who reads: an agent of the panel, or :data:`READER`.
        items: in their order.
        wanted: what is to be reported about each.
        sources: the bytes by SHA-256; their ``name`` is how the agent calls them.
        of: for each item, the sources that may tell of it.
        by: ``agent`` asks it; ``tool`` runs the party's program; ``tables`` is the built-in reader.
        tool: the program, a tool of the panel.
        task: more words for the agent.
        repairs: how often an agent is told what could not be read in its reply.
        cell: what the cell of the agent keeps from it, as the cell says; None if no program of others was run.
    """

    party: str
    agent: str
    items: tuple[str, ...]
    wanted: tuple[Wanted, ...]
    sources: Mapping[str, Pinned]
    of: Mapping[str, tuple[str, ...]]
    by: str = "agent"
    tool: str = ""
    task: str = ""
    repairs: int = 1
    cell: Mapping[str, Any] | None = field(default=None)

    def to_data(self) -> dict[str, Any]:
        """As a record has it."""
        data: dict[str, Any] = msgspec.to_builtins(self)
        return data

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Share:
        """The share that :meth:`to_data` wrote. Raises SpecError if it is none."""
        try:
            return msgspec.convert(dict(data), cls)
        except msgspec.ValidationError as problem:
            raise SpecError(f"The data of the share cannot be read: {problem}.") from None


def adjacent(items: Sequence[str], agents: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """``items`` in adjacent shares, one for each agent, as equal as can be; the first ones get what is left over."""
    if not agents:
        raise SpecError("There is nobody to share the items out to.", next_step="Name at least one agent.")
    size, over = divmod(len(items), len(agents))
    shares: dict[str, tuple[str, ...]] = {}
    begin = 0
    for number, agent in enumerate(agents):
        end = begin + size + (number < over)
        shares[agent] = tuple(items[begin:end])
        begin = end
    return shares
