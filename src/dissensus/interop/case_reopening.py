"""All evidence of a recorded case, reopened today: the bytes in the record, and the files that they came from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dissensus.decide.dispute.account import Account
from dissensus.decide.dispute.case_data import case_from
from dissensus.decide.dispute.docket import Docket
from dissensus.decide.dispute.reopening import reopen
from dissensus.interop.evidence_files import LiveFiles


def reopened_today(account: Account) -> list[dict[str, Any]]:
    """What reopening each item gives now and gave when the case was opened; ``changed`` if that differs.

    A live file that has other bytes than the captured ones counts as changed, also if it had when the case was opened.
    """
    case = case_from(account.case)
    docket = Docket(case)
    look = LiveFiles(Path(case.asking.base) if case.asking.base else Path())
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
