"""What a swarm has come to, in numbers: items by outcome, reports, spot checks, planted faults, cells, cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from dissensus.decide.dispute.case import State
from dissensus.measure.paired import wilson
from dissensus.study.swarm.batch import KINDS
from dissensus.study.swarm.outcomes import OUTCOMES, ItemResult, PlantResult
from dissensus.study.swarm.readings import ItemReport, Reading
from dissensus.study.swarm.running import SwarmResult

ENDED: Final = (State.SETTLED.value, State.CONSISTENT.value)
UNFINISHED: Final = (State.WAITING.value, State.OPEN_BUDGET.value, State.ERROR.value, State.OPEN.value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Caught:
    """How many planted faults were caught.

    Args:
        planted: how many were looked at.
        caught, unchallenged, passed, believed: what became of them.
        missing: how many could not be looked at, for want of money or after an error.
        low, high: 95 % interval of the share that is caught (Wilson 1927); None if none was looked at.
    """

    planted: int
    caught: int
    unchallenged: int
    passed: int
    believed: int
    missing: int
    low: float | None
    high: float | None

    @classmethod
    def of(cls, plants: Sequence[PlantResult]) -> Caught:
        """Of these."""
        fates = Counter(one.fate for one in plants)
        looked = len(plants) - fates["not looked at"]
        low, high = wilson(fates["caught"], looked) if looked else (None, None)
        return cls(
            planted=looked, caught=fates["caught"], unchallenged=fates["unchallenged"], passed=fates["passed"],
            believed=fates["believed"], missing=fates["not looked at"], low=low, high=high,
        )  # fmt: skip

    def to_data(self) -> dict[str, Any]:
        """JSON-ready data."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """What one agent of a party has read.

    Args:
        party, agent, by: who, and how.
        read: items.
        reported: items of which something came.
        silent: reasons why nothing came, with how often each was given, the most frequent first.
        cell: level of the cell in which its programs ran; "" if no program of others was run.
        not_enforced: what that cell did not keep from them.
        beside: tools that are no programs and ran in no cell.
    """

    party: str
    agent: str
    by: str
    read: int
    reported: int
    silent: tuple[tuple[str, int], ...] = ()
    cell: str = ""
    not_enforced: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()

    def to_data(self) -> dict[str, Any]:
        """JSON-ready data."""
        data = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return {**data, "silent": dict(self.silent), "cell": self.cell or None}


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """The numbers of a swarm.

    Args:
        items: how many there are.
        outcomes: how many have ended in which way; all ways are there.
        rules: of the settled ones, by which rule.
        readers: what each agent has read.
        drawn: items that were drawn as spot checks: nothing contradicts there.
        spots: of these, those that the rules left to be looked at, by what was found.
        plants: planted faults, by kind.
        all_plants: all of them.
        unplanted: kinds that no item was fit for.
    """

    items: int
    outcomes: dict[str, int]
    rules: dict[str, int]
    readers: tuple[Reader, ...]
    drawn: int
    spots: dict[str, int]
    plants: dict[str, Caught] = field(default_factory=dict)
    all_plants: Caught = field(default_factory=lambda: Caught.of(()))
    unplanted: tuple[str, ...] = ()

    def to_data(self) -> dict[str, Any]:
        """JSON-ready data."""
        return {
            "items": self.items,
            "outcomes": self.outcomes,
            "rules": self.rules,
            "readers": [one.to_data() for one in self.readers],
            "spot_checks": {"drawn": self.drawn, "found": self.spots},
            "plants": {
                "kinds": {kind: one.to_data() for kind, one in self.plants.items()},
                "all": self.all_plants.to_data(),
                "unplanted": list(self.unplanted),
            },
        }


def summary_of(result: SwarmResult) -> Summary:
    """The numbers of ``result``."""
    counted = Counter(one.outcome for one in result.items)
    spots = Counter(one.spot for one in result.items if one.spot)
    return Summary(
        items=len(result.items),
        outcomes={outcome: counted[outcome] for outcome in OUTCOMES},
        rules=dict(sorted(Counter(one.rule for one in result.items if one.rule).items())),
        readers=tuple(_readers(result)),
        drawn=len(result.drawn),
        spots=dict(sorted(spots.items())),
        plants={kind: Caught.of(some) for kind in KINDS if (some := [p for p in result.plants if p.kind == kind])},
        all_plants=Caught.of(result.plants),
        unplanted=tuple(dict.fromkeys(result.unplanted)),
    )


def _readers(result: SwarmResult) -> Iterator[Reader]:
    for party in result.swarm.parties:
        for agent in party.agents:
            own = [one for one in result.reports.values() if (one.party, one.agent) == (party.name, agent)]
            records = [one for one in result.readings if (one.share.party, one.share.agent) == (party.name, agent)]
            yield _reader(party.name, agent, party.by, own, records)


def _reader(party: str, agent: str, by: str, own: Sequence[ItemReport], records: Sequence[Reading]) -> Reader:
    silent = Counter(one.silent or "it reported nothing" for one in own if not one.claims)
    cells = [one.share.cell for one in records if one.share.cell]
    cell = cells[-1] if cells else {}
    tools = [source for one in records[-1:] for source in one.panel.tools.values()]
    return Reader(
        party=party,
        agent=agent,
        by=by,
        read=len(own),
        reported=len(own) - silent.total(),
        silent=tuple(silent.most_common()),
        cell=str(cell.get("level", "")),
        not_enforced=tuple(cell.get("not_enforced", ())),
        beside=tuple(source.name for source in tools if source.kind in ("python", "mcp")),
    )


def exit_code(result: SwarmResult) -> int:
    """0 settled or consistent; 1 something is returned, disputed, unchallenged or not reported; 3 not at its end."""
    outcomes = {one.outcome for one in result.items}
    if outcomes & set(UNFINISHED):
        return 3
    return 1 if outcomes - set(ENDED) else 0


def pressing(result: SwarmResult) -> list[ItemResult]:
    """The items that need somebody, the most pressing ones first."""
    found = [one for one in result.items if one.outcome not in ENDED]
    return sorted(found, key=lambda one: -OUTCOMES.index(one.outcome) if one.outcome in OUTCOMES else -len(OUTCOMES))
