"""Items of ``examples/invoices`` as cases in memory; and what a benchmark takes from there, once the path is set."""

from __future__ import annotations

import base64
import sys
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from dissensus.decide.dispute.case import Asking, Case, PackSize, Pinned, Report
from dissensus.decide.dispute.checkers import Table
from dissensus.decide.dispute.parsing import Line, claim_from, evidence_from
from dissensus.decide.dispute.precedence import precedence_from
from dissensus.decide.dispute.values import decimal_of
from dissensus.interop.pdf_pages import pages_of

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "examples" / "invoices"))
from batches import batch_of, tasks_of, write_files
from cited import Claim
from draws import Draws
from folders import PARTIES
from injections import INJECTIONS, PLACES, inject, write_into
from items import NAMES, SIDES, Item, Style
from kinds import item_of
from misreporting import WAYS, misreport
from papers import Paper

__all__ = [
    "INJECTIONS", "NAMES", "PARTIES", "PLACES", "SIDES", "WAYS", "Claim", "Draws", "Item", "Style", "batch_of",
    "case_of", "inject", "item_of", "misreport", "pinned_of", "tasks_of", "write_files", "write_into",
]  # fmt: skip


def case_of(item: Item, **more: Any) -> Case:
    """The case of an item, as :func:`dissensus.interop.case_file.read_case` makes it of the item's case file."""
    pinned = {paper.label: pinned_of(paper) for paper in item.papers}
    digests = {paper.label: paper.digest for paper in item.papers}
    files = {paper.label: paper for paper in item.papers}

    def cited(evidence: Mapping[str, Any]) -> dict[str, Any]:
        data = {key: value for key, value in evidence.items() if key != "source"}
        paper = files[evidence["source"]]
        return {"digest": digests[paper.label], "media": paper.media, "live_ref": paper.file, **data}

    claims, reports = [], []
    for claim in item.claims:
        asides = {key: str(claim[key]) for key in ("confidence", "scratchpad") if key in claim}
        typed = {key: value for key, value in claim.items() if key not in asides}
        claims.append(claim_from({**typed, "evidence": [cited(one) for one in claim["evidence"]]}))
        reports.append(Report(claim=claim["id"], **asides))
    sizes = tuple(
        PackSize(
            unit=one["unit"], factor=decimal_of(str(one["factor"])), of=one["of"],
            evidence=tuple(evidence_from(cited(each)) for each in one["evidence"]),
        )
        for one in item.units
    )  # fmt: skip
    live = {paper.file: sha256(paper.later).hexdigest() if paper.later else paper.digest for paper in item.papers}
    evidence = [one for claim in claims for one in claim.evidence] + [one for size in sizes for one in size.evidence]
    refs = {one.live_ref for one in evidence}
    return Case(
        id=item.name, claims=tuple(claims), sources={digests[label]: one for label, one in pinned.items()},
        live={name: digest for name, digest in live.items() if name in refs}, pack_sizes=sizes,
        precedence=None if item.precedence is None else precedence_from(item.precedence, Line()),
        reports=tuple(reports), **{"asking": Asking(ask=False), **more},
    )  # fmt: skip


def pinned_of(paper: Paper) -> Pinned:
    """The bytes of a paper, as they are pinned."""
    table = None if paper.table is None else Table(**paper.table)
    more: dict[str, Any] = {"media": paper.media, "name": paper.label, "kind": paper.kind, "table": table}
    if not paper.pages:
        return Pinned(text=paper.text, **more)
    return Pinned(base64=base64.b64encode(paper.data).decode(), pages=tuple(pages_of(paper.data)), **more)
