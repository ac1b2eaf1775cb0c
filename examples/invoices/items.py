"""An item: one delivery, its papers, two reports about it, what is true, and the outcome that the rules require."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from bills import bill_of, order_of
from cited import Claim, claim_of, rows, somewhere
from draws import Draws
from notes import note_of
from papers import Facts, Paper, facts_of
from warehouse_logs import LogLayout, bookings_of, log_layout, log_of

NAMES = {
    1: "clean", 2: "short in both", 3: "forged quote", 4: "no evidence", 5: "two units", 6: "late booking",
    7: "copied error", 8: "row twice", 9: "edited later", 10: "invoice total wrong", 11: "two honest sources",
    12: "two honest sources, precedence", 13: "irrelevant quote", 14: "beyond the file",
    15: "note contradicts its total", 16: "split delivery",
}  # fmt: skip
SIDES = ("A", "B")
"""A works from documents, B from the warehouse."""


@dataclass(frozen=True, slots=True)
class Required:
    """The outcome that the rules require.

    Args:
        state: ``settled``, ``disputed`` (a person is due), ``incomplete`` (a report is due back) or ``consistent``.
        rule: that settles, or R7.
        losers, returned: reports that fall, or go back.
        live: what is told of the file that was edited since; "" if none was.
    """

    state: str
    rule: str = ""
    losers: tuple[str, ...] = ()
    returned: tuple[str, ...] = ()
    live: str = ""


@dataclass(frozen=True, slots=True)
class Item:
    """One delivery with two reports about it.

    Args:
        name: of the item.
        kind: 1 to 16.
        facts: what is so.
        papers: its files.
        claims: the reports, in the order in which they arrive.
        true: for each report, whether what it says is so.
        required: the outcome, which follows from the evidence and not from the truth.
        layout: of the log.
        draws: from which it was made.
        units: conversions that the user declares, with their evidence.
        precedence: the user's rules; None if there are none.
    """

    name: str
    kind: int
    facts: Facts
    papers: tuple[Paper, ...]
    claims: tuple[Claim, ...]
    true: Mapping[str, bool]
    required: Required
    layout: LogLayout
    draws: Draws
    units: tuple[dict[str, Any], ...] = ()
    precedence: dict[str, Any] | None = None

    def claim(self, side: str) -> Claim:
        """The report of one side."""
        return next(claim for claim in self.claims if claim["id"] == side)

    def paper(self, label: str) -> Paper:
        """One of its files."""
        return next(paper for paper in self.papers if paper.label == label)


@dataclass(frozen=True, slots=True)
class Style:
    """What all items of a batch share that lie in common files, and whether delivery notes are PDF files."""

    attribute: str = ""
    layout: LogLayout | None = None
    pdf: bool = False

    @property
    def batch(self) -> bool:
        """Whether the log is one for all."""
        return self.layout is not None


def batch_style(seed: int, *, pdf: bool = False) -> Style:
    """What the items of a batch in common files share, drawn."""
    draws = Draws(seed, "batch")
    attribute = draws.pick("attribute", ("quantity received", "goods received", "received quantity"))
    return Style(attribute, log_layout(draws, "", batch=True), pdf)


@dataclass(frozen=True, slots=True)
class Desk:
    """Where one item is made.

    Args:
        draws: its draws.
        kind: its kind.
        facts: what is so.
        layout: of its log.
        style: what it shares with others.
        side: A or B, drawn: who errs, or who is right, where a kind leaves that open.
    """

    draws: Draws
    kind: int
    facts: Facts
    layout: LogLayout
    style: Style
    side: str

    @classmethod
    def of(cls, draws: Draws, number: int, kind: int, style: Style) -> Desk:
        """The desk of item ``number``."""
        facts = facts_of(draws, number, style.attribute, on_pallets=kind == 5)
        if kind in (1, 2):
            missing = 0 if kind == 1 else draws.between("short", 1, 3)
            facts = replace(facts, ordered=facts.received + missing)
        side = draws.pick("side", SIDES)
        counted = "boxes" if kind == 5 and side == "B" else facts.units
        layout = style.layout or log_layout(draws, counted)
        return cls(draws, kind, facts, layout, style, side)

    @property
    def other(self) -> str:
        """The other side."""
        return "B" if self.side == "A" else "A"

    @property
    def right(self) -> int:
        """What was received."""
        return self.facts.received

    @property
    def wrong(self) -> int:
        """What was not."""
        return self.facts.wrong

    def note(self, value: int, *, facts: Facts | None = None, **more: Any) -> tuple[Paper, int]:
        """A delivery note that says ``value``, and the line that does."""
        return note_of(facts or self.facts, self.draws, value, pdf=self.style.pdf, **more)

    def log(self, total: int, *, unit: str = "", **more: Any) -> tuple[Paper, list[int], list[int]]:
        """The log, the places of the rows of the order in it (from 0), and their quantities."""
        bookings, own = bookings_of(self.facts, self.draws, total, unit=unit, **more)
        told = self.layout.name("order").startswith("order")  # else only a declaration says what a row is about
        table = (unit or self.facts.unit) if self.draws.chance("declared", 50) or not told else ""
        return log_of(self.layout, bookings, self.draws, table=table), own, [bookings[n].quantity for n in own]

    def report(self, side: str, value: object, *evidence: dict[str, Any], **more: Any) -> Claim:
        """A report of one side."""
        return claim_of(side, self.facts, self.draws, value, evidence, **more)

    def by_note(self, value: int, **more: Any) -> tuple[Paper, Claim]:
        """A note that says ``value``, and A's report of it."""
        note, at = self.note(value, **more)
        return note, self.report("A", value, somewhere(note, at, self.draws, "A points"))

    def by_log(self, value: int, **more: Any) -> tuple[Paper, Claim]:
        """A log that adds up to ``value``, and B's report of it."""
        log, own, quantities = self.log(value, **more)
        return log, self.report("B", value, *rows(log, self.layout, own, quantities, self.draws))

    def item(self, papers: tuple[Paper, ...], claims: tuple[Claim, ...], required: Required, **more: Any) -> Item:
        """The item, its reports in the order in which they arrive.

        A report is true if it says what was received, unless ``true`` says otherwise.
        """
        true = more.pop("true", None) or {claim["id"]: claim["value"] == self.right for claim in claims}
        known = {paper.label for paper in papers}
        rest = (order_of(self.facts, self.draws)[0], bill_of(self.facts, self.draws).paper)
        papers = (*papers, *(paper for paper in rest if paper.label not in known))
        arrived = tuple(self.draws.shuffled("arrival", claims))
        return Item(
            self.draws.case, self.kind, self.facts, papers, arrived, true, required, self.layout, self.draws, **more
        )  # fmt: skip
