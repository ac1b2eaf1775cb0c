"""Small batches for tests: orders, a note for each, a log of the warehouse, scripted agents that read and verify."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dissensus.interop.tasks_file import read_tasks
from dissensus.record.event import Event
from dissensus.record.opening import open_record
from dissensus.record.verify import verify
from dissensus.study.swarm.batch import Swarm
from dissensus.study.swarm.running import SwarmResult, run_swarm

PANEL = r"""
models:
  reads:
    use: "scripted:nothing"
    delay_s: {delay}
    rules:
      - when: '(?s)Pallets received: (\d+)'
        say: '{{"claims": [{{"attribute": "pallets received", "value": \1,
               "evidence": [{{"source": "", "quote": "Pallets received: \1"}}]}}]}}'
  looks:
    use: "scripted:nothing"
    delay_s: {delay}
    rules:
      - {{when: Reports, say: '{{"answer": {{"outcome": "BOTH_CONSISTENT", "cites": [], "reason": "sound"}}}}'}}
agents:
  - {{name: ada, model: reads}}
  - {{name: ben, model: reads}}
  - {{name: vera, model: looks}}
"""
TASKS = """\
swarm: march
items: {file: orders.csv, column: order}
panel: panel.yaml
wanted:
  - {attribute: pallets received, subject: "order {item}", unit: pallet, as_of: 2026-03, names: [pallets]}
parties:
  documents:
    agents: [ada, ben]
    sources: [{files: "notes/{item}*", kind: signed-note}]
  warehouse:
    reader: tables
    sources:
      - {file: log.csv, kind: log, table: {value: pallets, subject: order, key: booking, time: booked_at, unit: pallet}}
verifier: vera
spot_checks: 0.25
plants: {share: 0.5}
"""


def written(
    folder: Path,
    *,
    notes: Mapping[str, int] | None = None,
    log: Mapping[str, int] | None = None,
    tasks: str = TASKS,
    delay: float = 0.0,
) -> Path:
    """A tasks file and what it names. ``notes`` and ``log`` say what each source tells of an order.

    By default eight orders: two whose sources differ (4702, 4706), one without a note (4704), one that the log does
    not know (4707).
    """
    counts = {str(4700 + number): 5 + number for number in range(8)}
    notes = dict(notes) if notes is not None else {**counts, "4702": 11, "4706": 19}
    if log is None:
        log = {order: count for order, count in counts.items() if order != "4707"}
        notes.pop("4704", None)
    (folder / "notes").mkdir(parents=True, exist_ok=True)
    for order, count in notes.items():
        text = f"Delivery note DN-{order}\nOrder {order}\nPallets received: {count}\nSigned: M. R.\n"
        (folder / "notes" / f"{order}-note.txt").write_text(text)
    rows = ["booking,order,pallets,booked_at"]
    for number, (order, count) in enumerate(log.items()):
        rows += [f"B{number}a,{order},{count - 2},2026-03-02T09:00", f"B{number}b,{order},2,2026-03-03T09:00"]
    (folder / "log.csv").write_text("\n".join(rows) + "\n")
    orders = sorted({*notes, *log})
    (folder / "orders.csv").write_text("order,supplier\n" + "".join(f"{order},acme\n" for order in orders))
    (folder / "panel.yaml").write_text(PANEL.format(delay=delay))
    (folder / "tasks.yaml").write_text(tasks)
    return folder / "tasks.yaml"


def swarm(folder: Path, **how: Any) -> Swarm:
    """The batch in such files."""
    return read_tasks(written(folder / "in", **how), folder / "out" / "evidence")


def ran(folder: Path, whole: Swarm | None = None, **how: Any) -> SwarmResult:
    """The batch, done."""
    return run_swarm(whole or swarm(folder), folder / "out", **how)


def ends(found: SwarmResult) -> dict[str, tuple[str, str, str]]:
    """How each item has ended: outcome, rule, what a spot check found."""
    return {one.item: (one.outcome, one.rule, one.spot) for one in found.items}


def events(path: Path) -> list[Event]:
    """The events of a record."""
    with open_record(path) as store:
        return list(store.read())


def records(folder: Path) -> list[Path]:
    """All records of a swarm, each verified."""
    found = sorted(path for name in ("reports", "cases", "plants") for path in (folder / name).glob("*.db"))
    for path in found:
        verify(path)
    return found


def done_twice(folder: Path) -> list[str]:
    """What was done more than once in a swarm: an item read, a case opened, a call answered."""
    found: list[str] = []
    read: Counter[str] = Counter()
    opened: Counter[str] = Counter()
    for path in records(folder):
        own = events(path)
        answered = Counter(event.key for event in own if event.kind == "outcome")
        found += [f"{path.name}: {key}" for key, count in answered.items() if count > 1]
        read.update(f"{event.body['party']}/{event.body['item']}" for event in own if event.kind == "reported")
        if own and "case" in own[0].body["settings"]:
            opened[f"{path.parent.name}/{own[0].body['settings']['case']['id']}"] += 1
    return found + [name for some in (read, opened) for name, count in some.items() if count > 1]
