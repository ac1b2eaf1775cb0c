"""A contract as a person reads it: who holds the task, who bid what, who held it before, and the report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from dissensus.cli.readout import clean, cost_line, cut, headline, record_lines, section, wrapped
from dissensus.script.decisions import Status

if TYPE_CHECKING:
    from dissensus.decide.contract import Contract
    from dissensus.run.holding import Holding

_STATUS: Final = {
    Status.ABSTAINED: "nobody wanted it: all who were asked refused",
    Status.OPEN_BUDGET: "open: the budget ended before anybody had delivered",
    Status.FAILED: "failed: nobody delivered",
}
_ENDED: Final = {"fulfilled": "delivered", "violated": "gave no report in time", "expired": "gave no report in time"}


def contract_lines(found: Contract, *, width: int = 80) -> Iterator[str]:
    """The readout, line by line."""
    yield from wrapped(clean(found.question), width, most=6)
    yield ""
    won = "" if found.holder is None else f"delivered in round {found.rounds}"
    yield headline(found.status, found.holder, won or _STATUS.get(found.status, found.status.value))
    yield ""
    yield from section("report", [clean(line) for line in (found.report or "").splitlines() if line.strip()], width)
    yield from section("bids", _bids(found), width)
    refused = [f"{clean(one.agent)}, round {one.round}: {_short(one.why)}" for one in found.refusals]
    yield from section("refused", refused, width)
    yield from section(
        "no bid", [f"{clean(one.agent)}, round {one.round}: {_short(one.why)}" for one in found.missing], width
    )
    yield from section("held by", _held(found), width)
    yield from section("worth", [str(found.worth.get("text", ""))], width)
    yield from section("note", [clean(warning) for warning in found.warnings], width)
    yield from section("rule", [found.rule] if found.rule else [], width)
    yield from section("cost", [cost_line(found)], width)
    yield from section("record", record_lines(found.record), width, wrap=False)


def holding_lines(held: Sequence[Holding]) -> Iterator[str]:
    """Who holds it, in the first line; then who held it when."""
    now = [one for one in held if one.closed_by is None]
    if now:
        due = f", due {_when(now[-1].deadline)}" if now[-1].deadline is not None else ", without a deadline"
        yield f"{clean(now[-1].agent)} holds {clean(now[-1].thread)} since {_when(now[-1].since)}{due}"
    elif held:
        last = held[-1]
        yield f"nobody holds it now; {clean(last.agent)} {_how(last)} at {_when(last.until)}"
    else:
        yield "nobody has held it: it was not awarded"
    for one in held[: len(held) if len(held) > 1 else 0]:
        until = _when(one.until) if one.closed_by is not None else "now"
        yield f"  {clean(one.thread)}  {clean(one.agent)}  {_when(one.since)} to {until}  {_how(one)}"


def _how(one: Holding) -> str:
    if one.closed_by is None:
        return "holds it"
    return _ENDED.get(one.status, one.status.removeprefix("declared:"))


def _bids(found: Contract) -> list[str]:
    lines = []
    for bid in found.bids:
        taken = "  taken" if bid.accepted else ""
        said = f": {_short(bid.note)}" if bid.note else ""
        offer = f"price {bid.price:g}, {bid.estimate:g} min, confidence {bid.confidence:g}"
        lines.append(f"{clean(bid.agent)}, round {bid.round}: {offer}{taken}{said}")
    return lines or ["none"]


def _held(found: Contract) -> list[str]:
    lines = [
        f"{clean(one.agent)}, round {one.round}: {one.ended}{f' ({_short(one.why)})' if one.why else ''}"
        for one in found.held
    ]
    return lines or ["nobody"]


def _short(text: str) -> str:
    return cut(clean(text), 160)


def _when(at: float | None) -> str:
    if at is None:
        return "an unknown time"
    try:
        return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (OverflowError, ValueError, OSError):
        return repr(at)  # a clock may say anything
