"""Small cases for tests: sources as text, claims as data, and a run of the script without an engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Any

from dissensus.decide.dispute.case import Case, Pinned
from dissensus.decide.dispute.claims import Claim
from dissensus.decide.dispute.parsing import claim_from
from dissensus.decide.dispute.script import dispute
from dissensus.decide.dispute.settlement import Settlement
from dissensus.script.effects import Effect
from dissensus.script.outcomes import Outcome
from dissensus.script.rehearsal import rehearse
from dissensus.script.seats import Seat

ORDER = "order 4711"
DAY = "2026-03-02"


def digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def pin(text: str, media: str = "text/plain", **more: Any) -> Pinned:
    return Pinned(text=text, media=media, **more)


def line(text: str, number: int, quote: str | None = None, **more: Any) -> dict[str, Any]:
    """Evidence: a line of ``text``."""
    stands = text.split("\n")[number - 1] if 1 <= number <= len(text.split("\n")) else ""
    return {
        "digest": digest(text),
        "quote": stands if quote is None else quote,
        "selectors": [{"type": "line", "first": number}],
        **more,
    }


def cell(text: str, row: int, col: str, quote: str, **more: Any) -> dict[str, Any]:
    return {
        "digest": digest(text), "quote": quote, "selectors": [{"type": "csv", "row": row, "col": col}],
        "media": "text/csv", **more,
    }  # fmt: skip


def at(text: str, pointer: str, quote: str, **more: Any) -> dict[str, Any]:
    return {"digest": digest(text), "quote": quote, "selectors": [{"type": "json", "pointer": pointer}], **more}


def claim(name: str, value: Any, *evidence: dict[str, Any], **more: Any) -> Claim:
    data = {
        "id": name, "by": f"agent-{name}", "subject": ORDER, "attribute": "pallets received", "value": value,
        "unit": "pallet", "as_of": DAY, "evidence": list(evidence),
    }  # fmt: skip
    return claim_from({**data, **more})


def case(
    *claims: Claim, sources: Mapping[str, str] | None = None, pinned: tuple[Pinned, ...] = (), **more: Any
) -> Case:
    """A case over sources given as text to media type, or as pinned bytes."""
    found = {digest(text): pin(text, media) for text, media in (sources or {}).items()}
    found |= {digest(one.text or ""): one for one in pinned}
    return Case(id="c1", claims=tuple(claims), sources=found, **more)


def settle(
    of: Case, answer: Callable[[str, Effect], Outcome] | None = None, seats: tuple[Seat, ...] = (), seed: int = 0
) -> Settlement:
    """Play the script; nobody is asked unless ``answer`` says what they say."""

    def nobody(key: str, effect: Effect) -> Outcome:
        raise AssertionError(f"{key} was asked: {effect}")

    found: Settlement = rehearse(dispute(of, seats, seed), answer or nobody)
    return found


def brief(found: Settlement) -> tuple[str, str]:
    return found.state, found.rule
