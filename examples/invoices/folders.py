"""Items as folders: papers, reports and a case file that ``dissensus dispute`` reads, with the truth beside them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from items import NAMES, Item
from papers import Paper

PARTIES = {"A": "documents", "B": "warehouse"}


def write_item(folder: Path, item: Item) -> None:
    """Write one item into ``folder``: its papers as they are today, what was captured of them, reports, case, truth."""
    files = {paper.file: paper.later or paper.data for paper in item.papers}
    files |= {f"evidence/{paper.digest}": paper.data for paper in item.papers if paper.later}
    for side, party in PARTIES.items():
        claims = [claim for claim in item.claims if str(claim["id"]).startswith(side)]
        files[f"{party}.jsonl"] = json_lines(claims)
    files["case.yaml"] = case_file(item).encode()
    files["truth.json"] = (json.dumps(truth_of(item), indent=1) + "\n").encode()
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def json_lines(rows: Sequence[Mapping[str, Any]]) -> bytes:
    """One JSON object a line."""
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


def truth_of(item: Item) -> dict[str, Any]:
    """What is so, which reports are true, and the outcome that the rules require."""
    facts = item.facts
    return {
        "item": item.name, "kind": item.kind, "name": NAMES[item.kind], "subject": facts.subject,
        "received": facts.received, "unit": facts.unit, "as_of": facts.day, "true": dict(item.true),
        "required": asdict(item.required), "arrived": [claim["id"] for claim in item.claims],
    }  # fmt: skip


def case_file(item: Item) -> str:
    """The case file. Every value is JSON, which YAML holds; reports are read in the order in which they arrived."""
    lines = [f"case: {_json(f'delivery-{item.name}')}", f"title: {_json(_title(item))}", "sources:"]
    lines += [f"  {_json(paper.label)}: {_json(source_of(paper))}" for paper in item.papers]
    arrived = list(dict.fromkeys(PARTIES[str(claim["id"])[0]] for claim in item.claims))
    lines += ["claims:", *(f"  - {_json({'file': f'{party}.jsonl'})}" for party in arrived)]
    if item.units:
        lines += ["units:", *(f"  - {_json(one)}" for one in item.units)]
    if item.precedence:
        lines.append(f"precedence: {_json(item.precedence)}")
    return "\n".join(lines) + "\n"


def source_of(paper: Paper) -> dict[str, Any]:
    """What the user says of a paper. Of one that was edited since, the digest of what was captured."""
    found: dict[str, Any] = {"file": paper.file, "kind": paper.kind}
    if paper.table is not None:
        found["table"] = paper.table
    return {**found, "sha256": paper.digest} if paper.later else found


def _title(item: Item) -> str:
    attributes = dict.fromkeys(str(claim["attribute"]) for claim in item.claims)
    return f"{item.facts.subject}: {', '.join(attributes)}"


def _json(data: Any) -> str:
    return json.dumps(data, ensure_ascii=False)
