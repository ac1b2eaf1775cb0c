"""A claim: who says what about which thing, as of when, on which evidence.

``text`` is for people. No rule reads it, nor ``by``, ``cell``, ``step`` or ``id``: a claim weighs what its typed part
and its evidence weigh.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Final, Literal, get_args

from dissensus.decide.dispute.evidence import Evidence
from dissensus.decide.dispute.values import AsOf, Value

ClaimKind = Literal["LEAF", "AND", "OR", "CALC", "SEQ"]
CLAIM_KINDS: Final[tuple[str, ...]] = get_args(ClaimKind)


@dataclass(frozen=True, slots=True)
class Claim:
    """One report about one thing.

    Args:
        id: its name in the case.
        subject: what it is about, such as ``order 4711``; None is free text, which only a model can compare.
        attribute: what of it, such as ``pallets received``.
        value: what it is said to be.
        unit: of a number, such as ``pallet``; None is a plain number.
        as_of: when that is said to hold; None is unknown, which is not "now".
        tolerance: how far off another value may be without contradicting, in ``unit``.
        kind: LEAF, or how ``children`` (ids of claims) make this one: AND is all of them, OR at least one, CALC their
            sum, SEQ all of them as steps, in their order.
        evidence: what it rests on. Without any, a claim is incomplete and is not weighed.
        text: the report in words, for people.
        by, cell, step: who reported it, from where, in which step.
    """

    id: str
    subject: str | None = None
    attribute: str | None = None
    value: Value | None = None
    unit: str | None = None
    as_of: AsOf | None = None
    tolerance: Decimal | None = None
    kind: ClaimKind = "LEAF"
    children: tuple[str, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    text: str = ""
    by: str = ""
    cell: str = ""
    step: str = ""

    @property
    def typed(self) -> bool:
        """Whether it can be compared without a model."""
        return self.subject is not None and self.attribute is not None and self.value is not None


def wrong_parts(kind: str, children: tuple[str, ...]) -> tuple[str, str] | None:
    """Why a claim of this kind cannot have these children, and what to do; None if it can."""
    if kind == "LEAF" and children:
        return "A LEAF has no children.", "Add its `kind`: AND, OR, CALC or SEQ."
    if kind != "LEAF" and not children:
        return f"{kind} needs children.", "Name the claims that it is made of in `children`."
    if twice := next((child for child in children if children.count(child) > 1), None):
        return f"It names {twice!r} twice.", "Name each of its children once."
    return None
