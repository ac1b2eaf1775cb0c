"""What a swarm is given: items, what is wanted of each, and parties that work from sources of their own.

This is what a tasks file compiles to (:mod:`dissensus.interop.tasks_file`), and what may be put together from Python.
The bytes of all sources are in it: nothing is read from the disk later.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from dissensus.agents.budget import Limits
from dissensus.agents.panel import Panel
from dissensus.decide.dispute.case import Asking, PackSize, Pinned
from dissensus.decide.dispute.evidence import CsvDialect
from dissensus.decide.dispute.precedence import Precedence
from dissensus.decide.swarm.work import READER, Wanted
from dissensus.errors import SpecError

By = Literal["agent", "tool", "tables"]
KINDS: Final = ("forged-quote", "wrong-value", "other-item", "edited-source", "agreed-lie", "no-evidence")
"""Faults that can be planted; :mod:`dissensus.study.swarm.planting` says what each changes."""
MOST_ITEMS: Final = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Party:
    """Whoever works from the same sources.

    Args:
        name: as records and tables have it.
        sources: the bytes by SHA-256; their ``name`` is how agents call them, and their path in a cell.
        of: for each item, the sources that may tell of it; an item that is not named has none.
        agents: who reads, of the panel; :data:`~dissensus.decide.swarm.work.READER` if a program does.
        by: ``agent`` asks them; ``tool`` runs the program ``tool``; ``tables`` is the built-in reader.
        tool: the program, a tool of the panel.
        task: more words for the agents.
        paths: where each source was captured, for evidence; relative to ``Swarm.asking.base``.
        dialects: of sources that are CSV files, how they are written.
    """

    name: str
    sources: Mapping[str, Pinned]
    of: Mapping[str, tuple[str, ...]]
    agents: tuple[str, ...] = (READER,)
    by: By = "tables"
    tool: str = ""
    task: str = ""
    paths: Mapping[str, str] = field(default_factory=dict)
    dialects: Mapping[str, CsvDialect] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plants:
    """Which faults are planted, to see how many are caught.

    Args:
        share: of the items whose reports are consistent; None if ``number`` says how many.
        number: how many; None if ``share`` says it.
        kinds: which faults, taken in turn.
    """

    share: float | None = None
    number: int | None = None
    kinds: tuple[str, ...] = KINDS

    def of(self, items: int) -> int:
        """How many are planted among ``items`` consistent ones."""
        wanted = self.number if self.number is not None else round((self.share or 0.0) * items)
        if self.share and self.number is None and items:
            wanted = max(wanted, 1)
        return min(wanted, items)


@dataclass(frozen=True, slots=True, kw_only=True)
class Swarm:
    """A batch.

    Args:
        name: as its folder and tables have it.
        items: in their order; each becomes a case.
        wanted: what is to be reported about each item.
        parties: at least two.
        panel: agents, tools and the verifier; None if every party is read by the built-in reader.
        budget: the most that the whole swarm may take, however many records it has.
        pack_sizes, precedence: as in a case.
        shared: sources that ``pack_sizes`` cite; they are in every case.
        verifier: the agent that is asked which source is wrong; "" asks none.
        turns, rounds, asking: as in a case.
        repairs: how often an agent is told what could not be read in its reply.
        spot_checks: share of the consistent items that the verifier looks at.
        plants: which faults are planted.
        seed: all randomness derives from it.
        jobs: records that are worked on side by side.
        path: the file that it was read from; "" if from none.
    """

    name: str
    items: tuple[str, ...]
    wanted: tuple[Wanted, ...]
    parties: tuple[Party, ...]
    panel: Panel | None = None
    budget: Limits = field(default_factory=Limits)
    pack_sizes: tuple[PackSize, ...] = ()
    shared: Mapping[str, Pinned] = field(default_factory=dict)
    precedence: Precedence | None = None
    verifier: str = ""
    turns: int = 6
    rounds: int = 1
    asking: Asking = field(default_factory=Asking)
    repairs: int = 1
    spot_checks: float = 0.1
    plants: Plants = field(default_factory=Plants)
    seed: int = 0
    jobs: int = 2
    path: str = ""

    def party(self, name: str) -> Party:
        """The party ``name``. Raises :class:`KeyError` if there is none."""
        for one in self.parties:
            if one.name == name:
                return one
        raise KeyError(name)


def checked(swarm: Swarm) -> Swarm:
    """The swarm, if it can be one. Raises :class:`~dissensus.errors.SpecError`, before anybody is asked."""
    if not swarm.items:
        raise SpecError("There are no items.", next_step="Name at least one under `items`.")
    if len(swarm.items) > MOST_ITEMS:
        raise SpecError(f"There are more than {MOST_ITEMS:,} items.", next_step="Divide the batch.")
    _once(swarm.items, "item", "Name each item once.")
    if any(not item.strip() or not item.isprintable() for item in swarm.items):
        raise SpecError("An item has no name that can be printed.", next_step="Correct the list of items.")
    if not swarm.wanted:
        raise SpecError("Nothing is wanted of the items.", next_step="Add `wanted`: at least an attribute.")
    if len(swarm.parties) < 2:
        raise SpecError(
            "A swarm needs two parties: what only one reports is challenged by nobody.",
            next_step="Add a party that works from other sources.",
        )
    _once([party.name for party in swarm.parties], "party", "Give each party its own name.")
    readers = [agent for party in swarm.parties for agent in party.agents if party.by == "agent"]
    _once(readers, "agent", "An agent reads for one party: give each its own.")
    seats = {seat.agent for seat in swarm.panel.seats} if swarm.panel else set()
    for party in swarm.parties:
        _check(party, swarm, seats)
    if swarm.verifier and swarm.verifier not in seats:
        raise SpecError(f"The panel has no agent {swarm.verifier!r}.", next_step="Name one as `verifier`.")
    if not 0 <= swarm.spot_checks <= 1:
        raise SpecError("The share of spot checks is not from 0 to 1.", next_step="Write it like 0.1.")
    if unknown := [kind for kind in swarm.plants.kinds if kind not in KINDS]:
        raise SpecError(f"No fault {unknown[0]!r} can be planted.", next_step=f"Known are {', '.join(KINDS)}.")
    return swarm


def _check(party: Party, swarm: Swarm, seats: set[str]) -> None:
    if not party.sources:
        raise SpecError(f"The party {party.name!r} has no sources.", next_step="Check the names of its files.")
    if party.by == "agent":
        if not party.agents:
            raise SpecError(f"Nobody reads for the party {party.name!r}.", next_step="Name agents of the panel.")
        if missing := [agent for agent in party.agents if agent not in seats]:
            raise SpecError(
                f"The panel has no agent {missing[0]!r}, who is to read for {party.name!r}.",
                next_step=f"There are: {', '.join(sorted(seats)) or 'none'}.",
            )
    elif party.by == "tool" and (swarm.panel is None or party.tool not in swarm.panel.tools):
        raise SpecError(
            f"The panel has no tool {party.tool!r}, which is to read for {party.name!r}.",
            next_step="Name one of its tools.",
        )
    if unknown := {digest for some in party.of.values() for digest in some} - party.sources.keys():
        raise SpecError(f"The party {party.name!r} has no source {min(unknown)[:12]}.", next_step="Add its bytes.")


def _once(names: tuple[str, ...] | list[str], what: str, next_step: str) -> None:
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise SpecError(f"The {what} {twice[0]!r} is named twice.", next_step=next_step)


def drawn(seed: int, item: str, what: str) -> float:
    """A number in [0, 1) that depends on the seed, the item and what it is drawn for, and on nothing else."""
    state = hashlib.sha256(f"{seed}\0{what}\0{item}".encode("utf-8", "surrogatepass"))
    return int.from_bytes(state.digest()[:8], "big") / 2**64


def seed_of(seed: int, *names: str) -> int:
    """The seed of one record of a swarm."""
    return int(drawn(seed, "\0".join(names), "seed") * 2**53)
