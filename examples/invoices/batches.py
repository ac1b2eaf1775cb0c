"""The items of a batch in common files, with a tasks file and a panel whose agents give exactly the planted reports.

One log is for all; notes, invoices and tickets are named by their order. So whoever reads for the documents sees no
log, and whoever reads for the warehouse sees no note. What was edited later (kind 9) is left as it was captured.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from bills import order_of
from cited import Evidence
from folders import PARTIES
from items import Item, batch_style
from kinds import item_of
from warehouse_logs import LogLayout

READERS = {"A": ("ada", "ben"), "B": ("cleo", "dora")}
ORDER_COLUMNS = ("order", "supplier", "article", "ordered", "unit", "pack_size", "price")
FOLDERS = {"note": "notes/{o}", "note2": "notes/{o}-2", "copy": "notes/{o}-copy", "invoice": "invoices/{o}",
           "ticket": "tickets/{o}", "slip": "slips/{o}"}  # fmt: skip
SOURCES: Mapping[str, tuple[dict[str, str], ...]] = {
    "A": ({"files": "notes/{item}*", "kind": "note"}, {"files": "invoices/{item}.json", "kind": "invoice"}),
    "B": (
        {"file": "warehouse.csv", "kind": "log"},
        {"files": "tickets/{item}.txt", "kind": "ticket"},
        {"files": "slips/{item}.txt", "kind": "slip"},
    ),
}


@dataclass(slots=True)
class Batch:
    """A batch as it grows.

    Args:
        layout: of the log.
        attribute: that is counted in it.
        files: by name.
        log: rows of the log, the header first.
        orders: rows of the table of orders, the header first.
        items: the items, with the row of the log below which their own rows stand.
    """

    layout: LogLayout
    attribute: str
    files: dict[str, bytes] = field(default_factory=dict)
    log: list[str] = field(default_factory=list)
    orders: list[Sequence[object]] = field(default_factory=lambda: [ORDER_COLUMNS])
    items: list[tuple[Item, int]] = field(default_factory=list)

    def add(self, item: Item) -> None:
        """Put the papers of ``item`` to the others."""
        header, *rows = item.paper("log").text.rstrip("\n").split("\n")
        self.log = self.log or [header]
        self.items.append((item, len(self.log) - 1))
        self.log += rows
        text, *_ = order_of(item.facts, item.draws)
        self.orders.append(list(csv.reader(io.StringIO(text.text), delimiter=text.delimiter))[1])
        for paper in item.papers:
            if paper.label in FOLDERS:
                name = FOLDERS[paper.label].format(o=item.facts.order)
                self.files[f"{name}.{paper.file.rpartition('.')[2]}"] = paper.data

    def finish(self) -> None:
        """The common files."""
        out = io.StringIO()
        csv.writer(out, lineterminator="\n").writerows(self.orders)
        self.files["orders.csv"] = out.getvalue().encode()
        self.files["warehouse.csv"] = ("\n".join(self.log) + "\n").encode()

    def digest(self, item: Item, label: str) -> str:
        """SHA-256 of the file that a report of ``item`` cites."""
        return sha256(self.files["warehouse.csv"]).hexdigest() if label == "log" else item.paper(label).digest

    def evidence(self, item: Item, before: int, one: Evidence) -> dict[str, Any]:
        """Evidence as it stands in the common files: rows of the log are further down there."""
        selectors = []
        for selector in one["selectors"]:
            keys = ("row", "first", "last") if one["source"] == "log" else ()
            selectors.append({**selector, **{key: selector[key] + before for key in keys if key in selector}})
        return {"digest": self.digest(item, one["source"]), "quote": one["quote"], "selectors": selectors}


def batch_of(seed: int, number: int, kinds: tuple[int, ...], *, pdf: bool = False) -> Batch:
    """``number`` items in common files."""
    style = batch_style(seed, pdf=pdf)
    batch = Batch(style.layout or LogLayout(()), style.attribute)
    for n in range(1, number + 1):
        batch.add(item_of(seed, n, kinds, style))
    batch.finish()
    return batch


def write_batch(folder: Path, seed: int, number: int, kinds: tuple[int, ...], *, pdf: bool = False) -> None:
    """Write ``number`` items as one batch into ``folder``, for agents that give the planted reports."""
    batch = batch_of(seed, number, kinds, pdf=pdf)
    wanted = [{"attribute": batch.attribute}, {"attribute": "invoice total"}]
    tasks = tasks_of(batch, seed, wanted=wanted, readers=READERS, sources=SOURCES, more=("rounds: 0", "spot_checks: 0"))
    write_files(folder, {**batch.files, "panel.yaml": panel_of(batch).encode(), "swarm.yaml": tasks.encode()})


def write_files(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write files into a folder, which is made if need be."""
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)


def panel_of(batch: Batch) -> str:
    """A panel of scripted agents: asked about an order, they say what is planted."""
    lines = ["models:"]
    for side, party in PARTIES.items():
        lines += [f"  {party}:", '    use: \'scripted:{"none": "The sources do not tell."}\'', "    rules:"]
        for item, before in batch.items:
            when = rf"Report of {re.escape(item.facts.order)}:"
            claims = [_reply(batch, item, before, claim) for claim in item.claims if str(claim["id"])[0] == side]
            if claims:
                lines.append(f"      - {_json({'when': when, 'say': _json({'claims': claims})})}")
    lines.append("agents:")
    lines += [f"  - {_json({'name': name, 'model': PARTIES[side]})}" for side in READERS for name in READERS[side]]
    return "\n".join(lines) + "\n"


def _reply(batch: Batch, item: Item, before: int, claim: Mapping[str, Any]) -> dict[str, Any]:
    kept = ("attribute", "value", "value_type", "unit", "as_of", "confidence")
    found = {key: claim[key] for key in kept if key in claim}
    known = {paper.label for paper in item.papers if paper.label in FOLDERS} | {"log"}
    party = ("note", "note2", "copy", "invoice") if str(claim["id"])[0] == "A" else ("log", "ticket", "slip")
    cited = [one for one in claim["evidence"] if one["source"] in known and one["source"] in party]
    return {**found, "note": claim["text"], "evidence": [batch.evidence(item, before, one) for one in cited]}


def tasks_of(
    batch: Batch,
    seed: int,
    *,
    wanted: Sequence[Mapping[str, Any]],
    readers: Mapping[str, Sequence[str]],
    sources: Mapping[str, Sequence[Mapping[str, str]]],
    more: Sequence[str],
) -> str:
    """The tasks file.

    Args:
        batch: the batch.
        seed: of the run.
        wanted: what is wanted of each order.
        readers: by side, the agents of the panel.
        sources: by side, the files that it works from.
        more: further lines.
    """
    roles = {"value": "quantity", "subject": "order", "key": "key", "time": "time"}
    table = {key: batch.layout.name(role) for key, role in roles.items()} | {"attribute": batch.attribute}
    lines = [f"swarm: {_json(f'deliveries-{seed}')}", "items: {file: orders.csv, column: order}", "panel: panel.yaml"]
    lines += ["wanted:", *(f"  - {_json({**one, 'subject': 'order {item}'})}" for one in wanted), "parties:"]
    for side, party in PARTIES.items():
        lines += [f"  {party}:", f"    agents: {_json(readers[side])}", "    sources:"]
        for one in sources[side]:
            folder = one.get("files", "").partition("/")[0]
            if not folder or any(name.startswith(f"{folder}/") for name in batch.files):
                lines.append(f"      - {_json({**one, 'table': table} if one['kind'] == 'log' else one)}")
    units = [_size(number, item) for number, (item, _) in enumerate(batch.items, 2) if item.units]
    if units:
        lines += ["sources: {orders: {file: orders.csv, kind: order}}", "units:", *_listed("  ", units)]
    rules = [rule for item, _ in batch.items for rule in _rules(item)]
    if rules:
        lines += ["precedence:", "  id: receiving", "  version: 1", "  rules:", *_listed("    ", rules)]
    return "\n".join([*lines, *more, f"seed: {seed}"]) + "\n"


def _listed(indent: str, rows: Sequence[Mapping[str, Any]]) -> list[str]:
    return [f"{indent}- {_json(row)}" for row in rows]


def _size(row: int, item: Item) -> dict[str, Any]:
    (size,) = item.units
    cell = {"type": "csv", "row": row, "col": "pack_size"}
    evidence = [{"source": "orders", "quote": str(size["factor"]), "selectors": [cell]}]
    return {**size, "subject": item.facts.subject, "evidence": evidence}


def _rules(item: Item) -> list[dict[str, Any]]:
    rules = item.precedence["rules"] if item.precedence else []
    return [{**rule, "id": f"{rule['id']}-{item.name}", "subject": item.facts.subject} for rule in rules]


def _json(data: Any) -> str:
    return json.dumps(data, ensure_ascii=False)
