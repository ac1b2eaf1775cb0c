"""The second half of a swarm: what was reported of each item is settled as a case, and faults are planted in copies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import msgspec

from dissensus.decide.dispute.case import Case
from dissensus.decide.dispute.case_data import case_from
from dissensus.decide.dispute.precedence import Precedence, standing_from, with_standing
from dissensus.run.inbox_rules import standing_rules
from dissensus.study.side_by_side import Piece, side_by_side
from dissensus.study.swarm import case_runs
from dissensus.study.swarm.batch import drawn, seed_of
from dissensus.study.swarm.bench import Bench
from dissensus.study.swarm.case_runs import CASES, PLANTS, CaseRun
from dissensus.study.swarm.meeting import cases_of, spot_checked
from dissensus.study.swarm.outcomes import ItemResult, PlantResult, fate_of, result_of
from dissensus.study.swarm.planting import Planted, plant
from dissensus.study.swarm.readings import ItemReport

Reports = Mapping[tuple[str, str], ItemReport]
"""By party and item."""


def rules_for(bench: Bench, *, standing: bool) -> Precedence | None:
    """The rules of the tasks file; with ``standing`` also the answers that persons made rules in this folder."""
    place = bench.folder / CASES
    rules = standing_rules(place) if standing and place.is_dir() else ()
    made = [rule for one in rules for rule in standing_from(one.data, one.version)]
    return with_standing(bench.swarm.precedence, made)


async def meet(
    bench: Bench, reports: Reports, precedence: Precedence | None, *, repin: bool
) -> tuple[list[ItemResult], frozenset[str]]:
    """Each item, with its cases settled as far as they can be; and the items that were drawn as spot checks."""
    swarm = bench.swarm
    own = {
        item: {party.name: report for party in swarm.parties if (report := reports.get((party.name, item)))}
        for item in swarm.items
    }
    cases = {item: cases_of(swarm, item, own[item], precedence) for item in swarm.items}
    spot = spot_checked(swarm, cases)
    found: dict[str, ItemResult] = {}
    work: list[Piece] = []
    for item in swarm.items:
        drawn_cases = [replace(case, spot_check=item in spot) for case in cases[item]]
        runs = [_look(bench, CASES, case, repin=repin) for case in drawn_cases]
        work.append(_case(bench, item, own[item], runs, found))
    await side_by_side(work, bench.jobs)
    return [found[item] for item in swarm.items], spot


def _case(
    bench: Bench, item: str, own: Mapping[str, ItemReport], runs: Sequence[CaseRun], found: dict[str, ItemResult]
) -> Piece:
    async def work() -> None:
        done = [await _settled(bench, CASES, run) for run in runs]
        found[item] = result_of(bench.swarm, item, own, done)
        bench.on_done("case", item)

    return work


def _look(bench: Bench, place: str, case: Case, *, repin: bool) -> CaseRun:
    limits = msgspec.to_builtins(bench.swarm.budget)
    declared = bench.swarm.precedence
    return case_runs.look(bench.folder / place, case, limits=limits, declared=declared, repin=repin)


async def _settled(bench: Bench, place: str, run: CaseRun) -> CaseRun:
    """The case after what was to be done of it; the verifier, and authors who may be asked, take part."""
    if not run.work:
        return run
    names = {run.case.verifier} | ({claim.by for claim in run.case.claims} if run.case.rounds else set())
    async with bench.cast(await bench.seated(names)) as cast:
        seed = seed_of(bench.swarm.seed, place, run.case.id)
        return await case_runs.carry_out(bench.folder / place, run, cast, seed=seed)


# --- planted faults


async def plant_faults(
    bench: Bench, items: Sequence[ItemResult], *, repin: bool
) -> tuple[list[PlantResult], list[str]]:
    """Plant faults in copies of what agrees, and see what becomes of them; also, the kinds that no item was fit for."""
    chosen, unfit = chosen_of(bench, items)
    found: dict[str, PlantResult] = {}
    work: list[Piece] = []
    for item, planted in chosen:
        run = _look(bench, PLANTS, planted.case, repin=repin)
        work.append(_planted(bench, item, planted, run, found))
    await side_by_side(work, bench.jobs)
    return [found[planted.case.id] for _, planted in chosen], unfit


def chosen_of(bench: Bench, items: Sequence[ItemResult]) -> tuple[list[tuple[str, Planted]], list[str]]:
    """Which fault is planted where: items in an order that the seed draws, kinds in turn."""
    swarm = bench.swarm
    fit = {
        one.item: case_from(one.runs[0].account.case)
        for one in items
        if one.agreed and len(one.runs) == 1 and one.runs[0].account is not None
    }
    free = sorted(fit, key=lambda item: (drawn(swarm.seed, item, "plant"), item))
    chosen: list[tuple[str, Planted]] = []
    unfit: list[str] = []
    for number in range(swarm.plants.of(len(fit))):
        kind = swarm.plants.kinds[number % len(swarm.plants.kinds)]
        for item in free:
            planted = plant(fit[item], kind, swarm.seed, list(fit.values()))
            if planted is not None:
                chosen.append((item, planted))
                free.remove(item)
                break
        else:
            unfit.append(kind)
    return chosen, unfit


def _planted(bench: Bench, item: str, planted: Planted, run: CaseRun, found: dict[str, PlantResult]) -> Piece:
    async def work() -> None:
        found[planted.case.id] = _fate(bench, item, planted, await _settled(bench, PLANTS, run))
        bench.on_done("plant", planted.case.id)

    return work


def _fate(bench: Bench, item: str, planted: Planted, run: CaseRun) -> PlantResult:
    account = run.account
    return PlantResult(
        item=item,
        kind=planted.kind,
        claims=planted.claims,
        fate=fate_of(bench.swarm, item, run, planted.claims),
        state=run.state,
        rule=str(account.verdict.get("rule") or "") if account is not None else "",
        record=account.record if account is not None else "",
    )
