"""All evidence of a recorded case, reopened today; and the case as it is to be opened anew."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from dissensus.decide.dispute.account import Account
from dissensus.decide.dispute.case import Case, Pinned
from dissensus.decide.dispute.case_data import case_from
from dissensus.decide.dispute.docket import Docket
from dissensus.decide.dispute.evidence import Evidence
from dissensus.decide.dispute.reopening import LiveCopy, reopen
from dissensus.decide.dispute.sources import Source
from dissensus.interop.case_sources import pinned_from
from dissensus.interop.evidence_files import LiveFiles, keep


def reopened_today(account: Account) -> list[dict[str, Any]]:
    """What reopening each item gives now and gave when the case was opened; ``changed`` if that differs.

    A live file that has other bytes than the captured ones counts as changed, also if it had when the case was opened.
    """
    case = case_from(account.case)
    docket = Docket(case)
    look = _look(case)
    found = []
    for one in docket.claims:
        for item in one.items:
            now = reopen(item.evidence, docket.sources, look)
            moved = now.result != item.reopened.result or now.text != item.reopened.text
            found.append(
                {
                    "claim": one.name,
                    "evidence": item.name,
                    "source_sha256": item.evidence.digest,
                    "reopened": now.result,
                    "live": now.live,
                    "was": item.reopened.result,
                    "live_was": item.reopened.live,
                    "changed": moved or now.live in ("CHANGED", "GONE"),
                }
            )
    return found


def renewed(account: Account, *, repin: bool) -> Case:
    """The case of a record, to be opened anew after it: what is live is looked at today.

    Args:
        account: what the record tells.
        repin: cite the files as they are now. Otherwise the bytes that were cited are kept, and decide.

    Raises:
        SpecError: a file can no longer be read.
        StorageError: a copy cannot be kept.
    """
    case = case_from(account.case)
    look = _look(case)
    live = {item.live_ref: look(item) for item in _cited(case) if item.live_ref}
    sources, moved = dict(case.sources), {}
    for item in _cited(case) if repin else ():
        copy = live.get(item.live_ref or "")
        if not isinstance(copy, LiveCopy) or copy.digest == item.digest or copy.read is None:
            continue
        source = copy.read()
        if isinstance(source, Source) and source.digest not in sources:
            sources[source.digest] = _pinned(source, case.sources.get(item.digest), item)
            if case.asking.sources:
                keep(source.data, Path(case.asking.sources[0]), item.live_ref or "")
        moved[item.digest, item.live_ref] = copy.digest

    def now(item: Evidence) -> Evidence:
        return replace(item, digest=moved.get((item.digest, item.live_ref), item.digest))

    claims = tuple(replace(claim, evidence=tuple(map(now, claim.evidence))) for claim in case.claims)
    sizes = tuple(replace(size, evidence=tuple(map(now, size.evidence))) for size in case.pack_sizes)
    instead = {before: digest for (before, _), digest in moved.items()}
    shown = {who: tuple(instead.get(one, one) for one in some) for who, some in case.sources_of.items()}
    return replace(
        case,
        claims=claims,
        pack_sizes=sizes,
        sources={digest: one for digest, one in sources.items() if digest not in instead},
        sources_of=shown,
        live={ref: copy.digest if isinstance(copy, LiveCopy) else copy for ref, copy in live.items()},
        after=Path(account.record).name,
        cell=None,
    )


def _look(case: Case) -> LiveFiles:
    return LiveFiles(Path(case.asking.base) if case.asking.base else Path())


def _cited(case: Case) -> list[Evidence]:
    items = [claim.evidence for claim in case.claims] + [size.evidence for size in case.pack_sizes]
    return [item for some in items for item in some]


def _pinned(source: Source, before: Pinned | None, item: Evidence) -> Pinned:
    """Other bytes of a source of which the user has said something."""
    names = ("media", "name", "kind", "table")
    told = {} if before is None else {name: getattr(before, name) for name in names}
    return pinned_from(source, told, item.media or source.media)
