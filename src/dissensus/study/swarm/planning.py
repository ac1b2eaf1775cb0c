"""What a swarm will take, before anybody is asked: who reads what, and how many calls that can be at most."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dissensus.agents.budget import Limits
from dissensus.agents.panel import Panel
from dissensus.decide.dispute.docket import source_of
from dissensus.decide.swarm.work import Share
from dissensus.study.swarm.batch import Swarm, checked
from dissensus.study.swarm.case_runs import CASES
from dissensus.study.swarm.names import numbered
from dissensus.study.swarm.readings import look
from dissensus.study.swarm.shares import panel_for, share_of


@dataclass(frozen=True, slots=True, kw_only=True)
class SharePlan:
    """What an agent has still to read.

    Args:
        party, agent, by: who, and how: an agent, a tool, or the built-in reader of tables.
        items: how many are left.
        first, last: of these.
        begun: whether its record is begun, so that it is gone on with.
        sources: how many files it sees.
        size: bytes of these.
        calls: of a model, at most.
    """

    party: str
    agent: str
    by: str
    items: int
    first: str
    last: str
    begun: bool
    sources: int
    size: int
    calls: int

    def to_data(self) -> dict[str, Any]:
        """JSON-ready data."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


@dataclass(frozen=True, slots=True, kw_only=True)
class SwarmPlan:
    """What is left of a swarm.

    Args:
        name: of the swarm.
        items: how many there are.
        done: readings that are done.
        shares: what is left to be read.
        cases: records of cases that are there already.
        unread: by party, how many items it has no source of.
        spot_checks: share of the items in which nothing contradicts that are looked at all the same.
        verifier: who looks at them, and at what contradicts; "" is nobody.
        case_calls: of a model in cases, at most, if every item is contested.
        plant_calls: the same for planted faults.
        budget: the most that everything may take.
        timeless: what is wanted without a time: reports that state none cannot be compared.
    """

    name: str
    items: int
    done: int
    shares: tuple[SharePlan, ...]
    cases: int
    unread: dict[str, int]
    spot_checks: float
    verifier: str
    case_calls: int
    plant_calls: int
    budget: Limits
    timeless: tuple[str, ...] = ()

    @property
    def calls(self) -> int:
        """Of a model, at most; the budget may allow fewer."""
        return sum(share.calls for share in self.shares) + self.case_calls + self.plant_calls

    def to_data(self) -> dict[str, Any]:
        """JSON-ready data."""
        data = {name: getattr(self, name) for name in self.__dataclass_fields__}
        limits = {name: getattr(self.budget, name) for name in ("calls", "tokens", "seconds", "money")}
        shares = [share.to_data() for share in self.shares]
        more = {"timeless": list(self.timeless), "calls_at_most": self.calls}
        return {**data, "shares": shares, "budget": limits, **more}


def plan_of(swarm: Swarm, folder: Path, *, repin: bool = False) -> SwarmPlan:
    """What is left of ``swarm`` in its folder. Nobody is asked anything.

    Raises:
        SpecError: the swarm cannot be.
        UsageError: something has changed since it was read.
    """
    earlier = look(folder, checked(swarm), repin=repin)
    verifying = 2 * swarm.turns if swarm.verifier else 0
    authors = sum(party.by == "agent" for party in swarm.parties)
    cases = len(numbered(folder / CASES))
    case_calls = (swarm.rounds + 1) * verifying + swarm.rounds * authors
    return SwarmPlan(
        name=swarm.name,
        items=len(swarm.items),
        done=earlier.done,
        shares=(
            *(_of(one.share, swarm, set(one.reports)) for one in earlier.begun),
            *(_of(share, swarm, None) for share in earlier.left),
        ),
        cases=cases,
        unread={
            party.name: lacking
            for party in swarm.parties
            if (lacking := sum(not party.of.get(item) for item in swarm.items))
        },
        spot_checks=swarm.spot_checks,
        verifier=swarm.verifier,
        case_calls=case_calls * max(len(swarm.items) - cases, 0),
        plant_calls=verifying * swarm.plants.of(len(swarm.items)),
        budget=swarm.budget,
        timeless=tuple(one.attribute for one in swarm.wanted if not one.as_of),
    )


def _of(share: Share, swarm: Swarm, done: set[str] | None) -> SharePlan:
    items = [item for item in share.items if item not in (done or ())]
    left = share_of(swarm, swarm.party(share.party), share.agent, items)
    each = (1 + share.repairs) * _steps(panel_for(share, swarm.panel), share) if share.by == "agent" else 0
    return SharePlan(
        party=share.party,
        agent=share.agent,
        by=share.by,
        items=len(items),
        first=items[0] if items else "",
        last=items[-1] if items else "",
        begun=done is not None,
        sources=len(left.sources),
        size=sum(len(source_of(pinned).data) for pinned in left.sources.values()),
        calls=each * len(items),
    )


def _steps(panel: Panel, share: Share) -> int:
    """Turns of an agent's own loop for one reply, at most."""
    seat = panel.seat(share.agent)
    return seat.max_steps if seat.tools else 1
