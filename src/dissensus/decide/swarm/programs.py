"""An item is read by a program: a tool of the panel, or the built-in reader."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any

from dissensus.decide.swarm.citing import Desk
from dissensus.decide.swarm.opened import Opened
from dissensus.decide.swarm.reader import Found
from dissensus.decide.swarm.replies import Document, document_of, in_words
from dissensus.decide.swarm.showing import labels_of
from dissensus.decide.swarm.taking import MOST_WORDS, Read, read_of
from dissensus.decide.swarm.work import READER, Share, Wanted
from dissensus.script.effects import UseTool
from dissensus.script.outcomes import BudgetExhausted, Outcome, TimedOut, ToolResult
from dissensus.script.seats import Seat

ReadItem = Callable[[str, Sequence[Wanted], Sequence[str]], Found]
"""Item, what is wanted, digests of the item's own sources; claims as data with evidence, and why there are no more."""
FAILED = "tool"
"""The kind of failure of a program that ran and said that it failed."""


def run_tool(share: Share, item: str, opened: Opened, seats: Sequence[Seat]) -> Generator[Any, Any, Read]:
    """Run the program of the share on ``item``; what came of it."""
    given = arguments(share, item, seats)
    outcome: Outcome = yield UseTool(READER, share.tool, given, key="tool")
    if isinstance(outcome, BudgetExhausted):
        why = f"budget: {outcome.what}"
        return Read(silent=why, failed=outcome.kind, out=why)
    if isinstance(outcome, TimedOut):
        return Read(silent=f"{share.tool} gave no result within {outcome.after_s:g} seconds.", failed=outcome.kind)
    if not isinstance(outcome, ToolResult):
        return Read(silent=f"{share.tool} could not be run ({outcome.kind}).", failed=outcome.kind)
    if not outcome.ok:
        return Read(silent=f"{share.tool} failed: {in_words(outcome.text, 500)}", failed=FAILED)
    return read_of(document_of(outcome.text), item, _desk(share, item, opened))


def read_tables(share: Share, item: str, opened: Opened, read_item: ReadItem) -> Read:
    """What the built-in reader finds about ``item``."""
    found = read_item(item, share.wanted, share.of.get(item, ()))
    document = Document(found.claims) if found.claims else Document(none=found.why)
    read = read_of(document, item, _desk(share, item, opened))
    if found.claims and found.why:
        read.taken.asides.append({"says": [in_words(found.why, MOST_WORDS)]})
    return read


def arguments(share: Share, item: str, seats: Sequence[Seat]) -> dict[str, Any]:
    """What the program is given: the item, and of the rest what its schema asks for, where a seat says what that is."""
    sources = [
        {"name": share.sources[digest].name, "sha256": digest, "media": share.sources[digest].media}
        for digest in share.of.get(item, ())
    ]
    wanted = [{**one.about(item), "note": one.note} for one in share.wanted]
    rest: dict[str, Any] = {"party": share.party, "wanted": wanted, "sources": sources}
    spec = next((tool for seat in seats for tool in seat.tools if tool.name == share.tool), None)
    known = (spec.parameters.get("properties") if spec is not None else None) or {}
    return {"item": item, **{name: data for name, data in rest.items() if name in known}}


def _desk(share: Share, item: str, opened: Opened) -> Desk:
    return Desk.of(share, item, labels_of(share, item), opened)
