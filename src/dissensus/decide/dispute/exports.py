"""A case for others: its document as JSON, and as a statement whose subjects are the digests of what decided.

The form of the statement is in-toto's Statement v1 (https://in-toto.io/Statement/v1). It is not signed.
"""

from __future__ import annotations

from typing import Any, Final

from dissensus.decide.dispute.account import Account

STATEMENT: Final = "https://in-toto.io/Statement/v1"
PREDICATE: Final = "urn:dissensus:settlement:v1"


def statement_of(account: Account, head: str = "") -> dict[str, Any]:
    """The case as an in-toto statement.

    Args:
        account: the case.
        head: hash of the end of its record, by which the record is known; "" leaves it out.
    """
    document = account.document()
    sources = account.case.get("sources", {})
    digests = sorted({cite["source_sha256"] for cite in document["cites"]}) or sorted(sources)
    subjects = [{"name": sources.get(one, {}).get("name") or one, "digest": {"sha256": one}} for one in digests]
    verdict = account.verdict
    predicate = {**document, "why": verdict.get("why", ""), "standing": verdict.get("standing", [])}
    if head:
        predicate["record_head"] = head
    return {"_type": STATEMENT, "subject": subjects, "predicateType": PREDICATE, "predicate": predicate}
