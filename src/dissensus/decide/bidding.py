"""Bids of a contract net: what a bidder is asked, how its reply is read, and which bid is the best."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from dissensus.script.actions import objects_in
from dissensus.script.schemas import problem_with

Criterion = Literal["price", "estimate", "confidence"]
CRITERIA: Final[Mapping[str, str]] = {
    "price": "the lowest price wins",
    "estimate": "the shortest estimate wins",
    "confidence": "the highest confidence wins",
}
"""How bids are compared, and what the bidders are told of it. Equal bids are told apart by lot: a hash of the run's
seed, the round and the bidder's name."""

_MOST: Final = 1e12
_NUMBER: Final = {"type": "number", "minimum": 0, "maximum": _MOST}
_OFFER: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "price": _NUMBER,
        "estimate": _NUMBER,
        "confidence": {"type": "number", "minimum": 0, "maximum": 1},
        "note": {"type": "string"},
    },
    "required": ["price", "estimate", "confidence"],
}
_REFUSAL: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {"refuse": {"type": "string"}},
    "required": ["refuse"],
}
BID_SCHEMA: Final[Mapping[str, Any]] = {
    "anyOf": [{**_OFFER, "additionalProperties": False}, {**_REFUSAL, "additionalProperties": False}]
}
"""JSON schema of a reply to a call for bids."""

FORM: Final = (
    'To offer, write only JSON: {"price": what you ask for it, "estimate": minutes you need, '
    '"confidence": from 0 to 1 that you will deliver, "note": "one sentence"}\n'
    'If you cannot or will not do it, write only: {"refuse": "why"}'
)
_LONGEST: Final = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """What a bidder offers: a price in whatever the task counts in, minutes, and a probability from 0 to 1."""

    price: float
    estimate: float
    confidence: float
    note: str = ""

    def words(self) -> str:
        """The offer as others read it."""
        told = f"price {self.price:g}, {self.estimate:g} min, confidence {self.confidence:g}"
        return f"{told}. {self.note}" if self.note else f"{told}."


@dataclass(frozen=True, slots=True)
class Refused:
    """The bidder does not want it."""

    why: str


@dataclass(frozen=True, slots=True)
class Unreadable:
    """The reply is no bid. ``problem`` is a sentence for the bidder, without a full stop."""

    problem: str


def read_bid(text: str) -> Offer | Refused | Unreadable:
    """The first JSON object in ``text`` that is a bid or a refusal; else why the first one is none."""
    problem = "that holds no JSON object"
    for place, found in enumerate(objects_in(text[:_LONGEST])):
        if isinstance(found.get("refuse"), str):
            return Refused(found["refuse"])
        wrong = problem_with(_OFFER, found, "the bid")
        if not wrong:
            return Offer(
                price=float(found["price"]),
                estimate=float(found["estimate"]),
                confidence=float(found["confidence"]),
                note=found.get("note", ""),
            )
        if not place:
            problem = wrong
    return Unreadable(problem)


def best_of(offers: Mapping[str, Offer], criterion: Criterion, lot: str) -> str:
    """The bidder whose offer is the best. ``lot`` is what the lot among equals depends on, apart from the name."""

    def rank(name: str) -> tuple[float, str]:
        value: float = getattr(offers[name], criterion)
        return (-value if criterion == "confidence" else value), hashlib.sha256(f"{lot}/{name}".encode()).hexdigest()

    return min(offers, key=rank)


def call_for_bids(task: str, criterion: Criterion, bidders: Sequence[str]) -> str:
    """What all bidders read."""
    alone = "" if len(bidders) > 1 else " You are the only one who is asked."
    return f"Who does this task?\n\n{task}\n\nOffers are compared: {CRITERIA[criterion]}.{alone}"
