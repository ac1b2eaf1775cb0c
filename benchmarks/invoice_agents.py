"""Agents of a model that read papers themselves, and what each way to make one answer makes of their reports."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from invoice_arms import BASELINES, End, Ended
from invoice_cases import NAMES, PARTIES, Draws, Item, batch_of, tasks_of, write_files
from invoice_counts import agent_counts
from invoice_tables import RULES, tally
from items import Required

from dissensus.interop.tasks_file import read_tasks
from dissensus.study.swarm.running import run_swarm_async
from dissensus.study.swarm.spending import Taken, taken

KINDS = tuple(kind for kind in NAMES if kind != 6)
"""All but late bookings: their reports are about two times, and what is wanted here is about one."""
READERS = {"A": "ada", "B": "cleo"}
VERIFIER = "vera"
ARMS = tuple(name for name in BASELINES if "confiden" not in name and "longest" not in name)
"""What is done instead, of reports that state neither confidence nor words."""
_ENDED: Mapping[str, Ended] = {
    "settled": "settled", "consistent": "consistent", "disputed": "disputed", "incomplete": "incomplete",
}  # fmt: skip


async def agents_measured(
    seed: int, count: int, *, turns: int, panel: str, folder: Path, on_done: Callable[[], None]
) -> dict[str, Any]:
    """``count`` items read by the agents of ``panel``, each side from its own papers, and settled with its verifier.

    Args:
        seed: of the items and of the run.
        count: items.
        turns: most turns of one look of the verifier.
        panel: the text of the panel's file, with the agents :data:`READERS` and :data:`VERIFIER`.
        folder: for papers and records; a run that was cut goes on there.
        on_done: called after each reading and each case.

    Returns:
        the counts, the table of ways to make one answer, and each item, as JSON-ready data.
    """
    batch = batch_of(seed, count, KINDS)
    note = "Add up all rows of the order."
    wanted = [{"attribute": batch.attribute, "unit": {"column": "unit"}, "as_of": "2026", "note": note}]
    sources = {
        "A": [{"files": "notes/{item}*", "kind": "note"}],
        "B": [{"file": "warehouse.csv", "kind": "log"}, {"files": "tickets/{item}.txt", "kind": "ticket"}],
    }
    more = (f"verifier: {VERIFIER}", f"turns: {turns}", "rounds: 0", "spot_checks: 0", "jobs: 1")
    readers = {side: [name] for side, name in READERS.items()}
    tasks = tasks_of(batch, seed, wanted=wanted, readers=readers, sources=sources, more=more)
    write_files(folder, {**batch.files, "panel.yaml": panel.encode(), "swarm.yaml": tasks.encode()})
    swarm = read_tasks(folder / "swarm.yaml", folder / "pinned")
    swarm = replace(swarm, asking=replace(swarm.asking, ask=False))
    result = await run_swarm_async(swarm, folder / "records", on_done=lambda *_: on_done())
    items = {item.facts.order: item for item, _ in batch.items}
    rows = [_row(items[one.item], one) for one in result.items]
    cost = {
        side: taken(reading.events for reading in result.readings if reading.share.party == PARTIES[side])
        for side in READERS
    }
    pairs = [(items[one.item], row) for one, row in zip(result.items, rows, strict=True)]
    arms = {name: tally(ended) for name, ended in arms_of(pairs, seed, cost).items()}
    return {"counts": agent_counts(rows), "arms": arms, "items": rows}


def _row(item: Item, result: Any) -> dict[str, Any]:
    right = {(Fraction(str(one["value"])), one.get("unit", "")) for one in item.claims if item.true[one["id"]]}
    right.add((Fraction(item.facts.received), item.facts.unit))
    claims, standing, fell, calls, tokens = [], [], [], 0, 0
    for run in result.runs:
        if run.account is None:
            continue
        spent = run.account.budget["spent"]
        calls += int(spent["calls"])
        tokens += int(spent["tokens_in"] or 0) + int(spent["tokens_out"] or 0)
        lost = {one["claim"] for one in run.account.verdict.get("losers", [])}
        left = set(run.account.verdict.get("standing", []))
        for claim in run.account.case["claims"]:
            unit = claim.get("unit") or ""
            true = any(number_of(claim["value"]) == value and unit in ("", of) for value, of in right)
            claims.append({"party": claim["cell"], "value": str(claim["value"]), "unit": unit,
                           "true": true, "cited": len(claim.get("evidence", []))})  # fmt: skip
            standing += [true] if claim["id"] in left else []
            fell += [true] if claim["id"] in lost else []
    wrong = result.outcome in ("settled", "consistent") and (not all(standing) or any(fell))
    return {
        "item": item.name, "kind": item.kind, "outcome": result.outcome, "rule": result.rule, "wrong": wrong,
        "claims": claims, "silent": dict(result.silent), "true reports that fell": sum(fell), "left": len(standing),
        "calls": calls, "tokens": tokens,
    }  # fmt: skip


def number_of(value: Any) -> Fraction | None:
    """The number that a reported value is; None if it is none."""
    try:
        return Fraction(str(value))
    except ValueError:
        return None


# --- what is made of these reports


def arms_of(
    pairs: Sequence[tuple[Item, Mapping[str, Any]]], seed: int, cost: Mapping[str, Taken]
) -> dict[str, list[tuple[Item, End]]]:
    """How each way to make one answer leaves each item: the dispute with its verifier, one agent alone, and others.

    A report whose value is no number is none for the others, which gives them no wrong answer.

    Args:
        pairs: items, and what their reports were and how their cases ended.
        seed: of the third voter.
        cost: of all readings, by side.
    """
    found: dict[str, list[tuple[Item, End]]] = {RULES: []}
    read = {side: (one.calls / len(pairs), _tokens(one) / len(pairs)) for side, one in cost.items()}
    calls, tokens = (sum(one[place] for one in read.values()) for place in (0, 1))
    for item, row in pairs:
        told = reported(item, row)
        ended = End(_ENDED.get(row["outcome"], "nothing"), row["wrong"], row["rule"])
        found[RULES].append((told, replace(ended, calls=calls + row["calls"], tokens=tokens + row["tokens"])))
        for side, party in PARTIES.items():
            own = replace(told, claims=tuple(claim for claim in told.claims if claim["id"] == side))
            alone = _ended(BASELINES["last report wins"], own, Draws(seed, ""))
            alone = replace(alone, calls=read[side][0], tokens=read[side][1])
            found.setdefault(f"the agent for {party} alone", []).append((told, alone))
        draws = Draws(seed, f"{item.name}/arms")
        for name in ARMS:
            end = _ended(BASELINES[name], told, draws)
            found.setdefault(name, []).append((told, replace(end, calls=calls, tokens=tokens)))
    return found


def _tokens(one: Taken) -> int:
    return (one.tokens_in or 0) + (one.tokens_out or 0)


def reported(item: Item, row: Mapping[str, Any]) -> Item:
    """``item`` with the reports that were made of it in place of its own, in the same order of sides."""
    due = Required("disputed" if item.kind in (7, 11) else "settled")
    claims, true = [], {}
    for side in (claim["id"][0] for claim in item.claims if claim["id"] in PARTIES):
        one = next((one for one in row["claims"] if one["party"] == PARTIES[side]), None)
        if one is not None and number_of(one["value"]) is not None:
            claims.append({**item.claim(side), "value": one["value"], "unit": one["unit"], "as_of": ""})
            true[side] = one["true"]
    return replace(item, claims=tuple(claims), true=true, required=due)


def _ended(arm: Callable[[Item, Draws], End], item: Item, draws: Draws) -> End:
    if not item.claims:
        return End("nothing")
    end = arm(item, draws)
    return replace(end, ended="settled") if len(item.claims) == 1 and end.ended == "consistent" else end
