"""The lines that decided: what stands where, and of copies only one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from dissensus.decide.dispute.evidence import Selector
from dissensus.decide.dispute.normalise import normal
from dissensus.decide.dispute.selector_data import selector_data


@dataclass(frozen=True, slots=True)
class Citation:
    """A line that decided.

    Args:
        claim: the claim that it speaks for or against.
        evidence: id of the item; "" if it is no item of the claim.
        digest: SHA-256 of the source.
        selector: where it stands.
        reopened: what came of reopening it.
        quote: what stands there; of what was not found, what was claimed to.
        content: the source after N, by which copies are known.
        derived: the source is declared a copy, or the item was captured later: of copies, another one is cited.
    """

    claim: str
    evidence: str
    digest: str
    selector: Selector | None
    reopened: str
    quote: str
    content: str = ""
    derived: tuple[bool, str] = (False, "")

    def to_data(self) -> dict[str, Any]:
        """As a record and ``--json`` have it."""
        return {
            "claim": self.claim,
            "evidence": self.evidence,
            "source_sha256": self.digest,
            "selector": None if self.selector is None else selector_data(self.selector),
            "reopened": self.reopened,
            "quote": self.quote,
        }


def collapsed(cites: Iterable[Citation]) -> tuple[Citation, ...]:
    """Lines without repetitions: of copies one is cited. The order depends on what they say alone."""
    kept: dict[tuple[str, str, str], dict[str, list[Citation]]] = {}
    for cite in cites:
        copies = kept.setdefault((cite.claim, cite.content, normal(cite.quote)), {})
        places = copies.setdefault(cite.digest, [])
        if all(cite.selector != other.selector for other in places):
            places.append(cite)
    found = []
    for copies in kept.values():
        best = min(copies, key=lambda digest: (copies[digest][0].derived, digest))
        found += copies[best]
    return tuple(sorted(found, key=lambda cite: (cite.claim, cite.content, normal(cite.quote), str(cite.selector))))
