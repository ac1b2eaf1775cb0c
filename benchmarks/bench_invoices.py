"""What becomes of two reports about one delivery: by the rules of a dispute, and by what is done instead.

    .venv/bin/python benchmarks/bench_invoices.py --seeds 10               # 500 items, and ten other seeds: two minutes
    .venv/bin/python benchmarks/bench_invoices.py --model llama:qwen2.5-coder-0.5b --parts verifier,agents

The items are those of ``examples/invoices``: sixteen kinds, known truth, scripted reports that err, overclaim, forge,
cite copies, or nothing. The rules run as the real procedure, through the engine, with the record in memory. The other
arms see the same reports. Without ``--model`` no model is asked. With it a model is asked besides, and the rest of the
kept results stays: items of which programs say nothing go to it as the verifier, and items whose note says of itself
that it is wrong; the fifty instructions inside evidence are tried on it; and agents of it read papers themselves. Every
finished item is kept in a file in the folder for temporary files, so a run that is cut goes on.

``wrong`` is against the truth: an answer that is not so, or a true report that fell. ``unjustified`` is settled where
the evidence does not decide, so that a person is due, or a report is due back.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import Any, Final

import anyio
from common import RESULTS, at_least, at_most, finish
from invoice_arms import BASELINES, End, as_required, by_rules
from invoice_cases import INJECTIONS, PLACES, SIDES, WAYS, Draws, Item, inject, item_of, misreport
from invoice_models import PARTS, measured
from invoice_tables import RULES, by_kind, filled, share, tables, tally

PAGE: Final = Path(__file__).resolve().parents[1] / "docs" / "disputes-measured.md"
UNDECIDED: Final = (4, 7, 11, 12)
"""Kinds whose sources differ and are sound, so that no evidence says who is right."""
MISREPORTED: Final = 160
"""Items that are reported about falsely, in each way."""


def main() -> int:
    """Run what the command line asks for; 1 if a promise is not kept."""
    parser = argparse.ArgumentParser(description="Two reports about one delivery: rules of a dispute, and others.")
    parser.add_argument("--items", type=int, default=500)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--seeds", type=int, default=0, help="other seeds that the rules are tried on")
    parser.add_argument("--model", default="", help="a model to ask, such as llama:qwen2.5-coder-0.5b")
    parser.add_argument("--parts", default="verifier,injections", help=f"of {', '.join(PARTS)}")
    parser.add_argument("--count", type=int, default=20, help="items of each part that a model is asked about")
    flags = parser.parse_args()
    facts = _earlier()
    if flags.model:
        if "arms" not in facts:
            parser.error("run it once without --model first: a model is asked besides")
        parts = [part for part in flags.parts.split(",") if part]
        if unknown := sorted(set(parts) - set(PARTS)):
            parser.error(f"there is no part {unknown[0]!r}; there are {', '.join(PARTS)}")
        with bar("model", None) as step:
            found = anyio.run(measured, flags.model, parts, flags.seed, flags.count, step)
        facts = _earlier()  # another part may have been measured meanwhile
        facts["model"] = {**facts.get("model", {}), **found}
    else:
        facts = measured_by_rules(flags.seed, flags.items, flags.seeds) | {"model": facts.get("model", {})}
    for name, table in tables(facts).items():
        print(f"\n## {name}\n\n{table}")
    status = finish("invoices", {}, promises(facts), facts=facts)
    if PAGE.exists():
        PAGE.write_text(filled(PAGE.read_text(encoding="utf-8"), facts), encoding="utf-8")
    return status


def measured_by_rules(seed: int, count: int, seeds: int) -> dict[str, Any]:
    """All that takes no model."""
    arms = run_arms(seed, count)
    return {
        "seed": seed,
        "items": count,
        "arms": {name: tally(ended) for name, ended in arms.items()},
        "kinds": by_kind(arms),
        "misreporting": run_misreporting(seed, min(count, MISREPORTED)),
        "injections": run_injections(seed),
        "other seeds": run_seeds(seed, seeds, count),
    }


def promises(facts: dict[str, Any]) -> list[Any]:
    """What is required of the rules where programs decide."""
    row = facts["arms"][RULES]
    kinds = facts["kinds"]
    to_persons = {int(kind) for kind, one in kinds.items() if any(end.startswith("disputed") for end in one["ends"])}
    required = sum(one["as required"] for one in kinds.values()) / row["items"]
    elsewhere = facts["other seeds"]["as required"]["share"]
    ways = facts["misreporting"]
    fell = sum(group["true reports that fell"] for way in ways.values() for group in way.values())
    alone = sum(
        groups["sources decide"]["settled on an untrue one"] for way, groups in ways.items() if way != "fabricates"
    )
    return [
        at_most("wrong settlements", row["wrong"]["hits"], 0),
        at_most("unjustified settlements", row["unjustified"]["hits"], 0),
        at_least("items that ended as required", required, 1),
        at_least("items that ended as required, other seeds", 1.0 if elsewhere is None else elsewhere, 1),
        at_most("kinds besides 7 and 11 that went to a person", len(to_persons - {7, 11}), 0),
        at_most("true reports that fell to misreporting", fell, 0),
        at_most("untrue reports left standing where sources decide", alone, 0),
        at_most("outcomes that an instruction inside a source changed", facts["injections"]["changed"], 0),
        at_most("wrong answers where an instruction is quoted, too", facts["injections"]["quoted with it"]["wrong"], 0),
    ]


def run_arms(seed: int, count: int) -> dict[str, list[tuple[Item, End]]]:
    """Every item by every arm."""
    found: dict[str, list[tuple[Item, End]]] = {name: [] for name in (RULES, *BASELINES)}
    with bar("items", count) as step:
        for number in range(1, count + 1):
            item = item_of(seed, number)
            found[RULES].append((item, by_rules(item)))
            draws = Draws(seed, f"{item.name}/arms")
            for name, arm in BASELINES.items():
                found[name].append((item, arm(item, draws)))
            step()
    return found


def run_misreporting(seed: int, count: int) -> dict[str, Any]:
    """Each item with the report of one side, drawn, made in each of the ways."""
    found: dict[str, Any] = {}
    with bar("misreporting", count * len(WAYS)) as step:
        for way in WAYS:
            groups: dict[str, list[tuple[Item, End]]] = {"sources decide": [], "sources differ": []}
            for number in range(1, count + 1):
                item = item_of(seed, number)
                bad = misreport(item, way, Draws(seed, item.name).pick("misreports", SIDES), seed)
                group = "sources differ" if item.kind in UNDECIDED else "sources decide"
                groups[group].append((bad, by_rules(bad)))
                step()
            found[way] = {name: _misreported(ended) for name, ended in groups.items()}
    return found


def _misreported(ended: Sequence[tuple[Item, End]]) -> dict[str, Any]:
    count = Counter(end.ended for _, end in ended)
    fell = [(item, end) for item, end in ended if any(item.true[name] for name in end.losers)]
    alone = [end for item, end in ended if end.ended == "settled" and end.wrong and (item, end) not in fell]
    return {
        "items": len(ended), **{name: count[name] for name in ("consistent", "settled", "disputed", "incomplete")},
        "true reports that fell": len(fell), "settled on an untrue one": len(alone),
    }  # fmt: skip


def run_injections(seed: int) -> dict[str, Any]:
    """Each instruction in each place that takes it. In items of kind 7 a copy of the paper would be none any more."""
    kinds = tuple(kind for kind in range(1, 17) if kind != 7)
    changed: list[str] = []
    cases, quoted = 0, Counter[str]()
    with bar("injections", len(INJECTIONS)) as step:
        for number, name in enumerate(INJECTIONS, 1):
            for item in (item_of(seed, number, kinds), item_of(seed, number + len(INJECTIONS), kinds)):
                before = by_rules(item)
                for side, place in product(SIDES, PLACES):
                    if (injected := inject(item, side, name, place)) is None:
                        continue
                    after = by_rules(injected.item)
                    same = _without_cost(after) == _without_cost(before)
                    if place == "cited":
                        quoted.update(["cases", "same" if same else f"{before.ended} becomes {after.ended}"])
                        quoted["wrong"] += after.wrong
                        continue
                    cases += 1
                    changed += [] if same else [f"{name}, {place}, {item.name}"]
            step()
    found = {"instructions": len(INJECTIONS), "cases": cases, "changed": len(changed), "which": changed[:20]}
    return {**found, "quoted with it": dict(sorted(quoted.items()))}


def _without_cost(end: End) -> tuple[Any, ...]:
    return end.ended, end.wrong, end.rule, end.losers, end.returned, end.live


def run_seeds(seed: int, seeds: int, count: int) -> dict[str, Any]:
    """The rules on other seeds."""
    other = [seed + 100 + number for number in range(seeds)]
    required = wrong = 0
    with bar("other seeds", seeds * count) as step:
        for one in other:
            for number in range(1, count + 1):
                item = item_of(one, number)
                end = by_rules(item)
                required += as_required(item, end)
                wrong += end.wrong
                step()
    return {"seeds": other, "as required": share(required, seeds * count), "wrong": wrong}


@contextmanager
def bar(what: str, total: int | None) -> Iterator[Any]:
    """A progress bar on a terminal; a step does nothing elsewhere."""
    if not sys.stderr.isatty():
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(what, total=total)
        yield lambda: progress.advance(task)


def _earlier() -> dict[str, Any]:
    """Facts of the kept results, of which what is not measured anew stays."""
    path = RESULTS / "invoices.json"
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))["facts"] if path.exists() else {}
    return found


if __name__ == "__main__":
    sys.exit(main())
