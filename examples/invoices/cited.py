"""What the two sides report: typed claims, and evidence that points into papers. Prose and confidence say nothing.

Evidence names its paper by label, as a case file does: ``{"source": "log", "quote": "6", "selectors": [...]}``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from draws import Draws
from papers import Facts, Paper
from warehouse_logs import LogLayout

AGENTS = ("ada", "ben", "cleo", "dora", "emil", "fay", "gil", "hana")
OPENINGS = (
    "", "Clearly, ", "Perhaps ", "As far as I can see, ", "Confirmed: ", "It seems that ", "Without any doubt, ",
    "I counted twice and ", "If I am not mistaken, ",
)  # fmt: skip
MIDDLES = (
    "the papers say {v} {u} for {s}.", "{s} came to {v} {u}.", "for {s} I report {v} {u}.",
    "{v} {u} is what I found for {s}.",
)  # fmt: skip
FILLERS = (
    "The file was easy to read.", "Nothing else in it is about this order.",
    "Other orders of that day are not counted.",
    "The supplier is a regular one.", "I have not looked at anything else.", "The page was complete.",
    "Times are those of the warehouse.", "The number is taken as it stands.",
)  # fmt: skip
SCRATCH = (
    "first pass: {v}; second pass: {v}", "looked at the first lines, then at the rest", "not sure about the layout",
    "the other side may see this differently", "{v} fits what was ordered",
)  # fmt: skip
Evidence = dict[str, Any]
Claim = dict[str, Any]


def line(paper: Paper, number: int, quote: str | None = None) -> Evidence:
    """A line of a text, from 1; of a PDF, its page. ``quote`` may differ from what stands there."""
    lines = paper.lines
    said = quote if quote is not None else lines[number - 1] if 1 <= number <= len(lines) else ""
    if not paper.pages:
        return {"source": paper.label, "quote": said, "selectors": [{"type": "line", "first": number}]}
    before = 0
    for page, shown in enumerate(paper.pages, 1):
        before += len(shown)
        if number <= before:
            return {"source": paper.label, "quote": said, "selectors": [{"type": "page", "page": page}]}
    beyond = len(paper.pages) + number
    return {"source": paper.label, "quote": said, "selectors": [{"type": "page", "page": beyond}]}


def somewhere(paper: Paper, number: int, draws: Draws, field: str) -> Evidence:
    """The same line, pointed at in one of the ways that there are."""
    plain = line(paper, number)
    said = plain["quote"]
    if paper.pages:
        return plain
    way = draws.pick(field, ("line", "text", "quote"))
    if way == "text":
        start = sum(len(each) + 1 for each in paper.lines[: number - 1])
        return {**plain, "selectors": [{"type": "text", "start": start, "end": start + len(said)}]}
    if way == "quote" and paper.text.count(said) == 1:
        return {**plain, "selectors": [{"type": "quote", "exact": said}]}
    return plain


def cell(paper: Paper, row: int, column: str, quote: str) -> Evidence:
    """A cell of a table; row 1 is the header."""
    selector: dict[str, Any] = {"type": "csv", "row": row, "col": column}
    if paper.delimiter != ",":
        selector["dialect"] = {"delimiter": paper.delimiter}
    return {"source": paper.label, "quote": quote, "selectors": [selector]}


def at(paper: Paper, pointer: str, quote: str) -> Evidence:
    """A value in a JSON document."""
    return {"source": paper.label, "quote": quote, "selectors": [{"type": "json", "pointer": pointer}]}


def rows(
    paper: Paper, layout: LogLayout, places: Sequence[int], quantities: Sequence[int], draws: Draws
) -> list[Evidence]:
    """Rows of a log (places from 0, below the header), each by its cell of the quantity or whole."""
    found = []
    whole = draws.chance("whole rows", 30)
    for place, quantity in zip(places, quantities, strict=True):
        if whole:
            found.append(line(paper, place + 2))
        else:
            found.append(cell(paper, place + 2, layout.name("quantity"), str(quantity)))
    return found


def claim_of(side: str, facts: Facts, draws: Draws, value: object, evidence: Sequence[Evidence], **more: Any) -> Claim:
    """A report of one side. Tone, length, confidence and name are drawn, whatever it says."""
    found: Claim = {
        "id": side, "by": draws.shuffled("agents", AGENTS)["AB".index(side)], "subject": facts.subject,
        "attribute": facts.attribute, "value": value, "unit": facts.unit, "as_of": facts.day, **more,
    }  # fmt: skip
    found = {key: item for key, item in found.items() if item is not None}
    fields = {"v": found["value"], "u": found.get("unit", ""), "s": found["subject"]}
    fillers = draws.shuffled(f"fillers {side}", FILLERS)[: draws.draw(f"length {side}", len(FILLERS))]
    middle = draws.pick(f"middle {side}", MIDDLES).format(**fields)
    found["text"] = " ".join([draws.pick(f"tone {side}", OPENINGS) + middle, *fillers])
    found["confidence"] = f"0.{draws.between(f'confidence {side}', 50, 99)}"
    found["scratchpad"] = draws.pick(f"scratch {side}", SCRATCH).format(**fields)
    found["evidence"] = list(evidence)
    return found


def changed(claim: Mapping[str, Any], **more: Any) -> Claim:
    """A claim with other parts; those that are None are left out."""
    return {key: value for key, value in {**claim, **more}.items() if value is not None}
