"""A self-check as lines of text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import click

from dissensus.cli.readout import clean, cost_line, cut, failures_line, section, wrapped
from dissensus.decide.self_check_answers import Answered
from dissensus.decide.self_check_equal import Equal
from dissensus.decide.self_check_result import STANDS, SelfChecked
from dissensus.decide.self_check_weighing import CLASSES, Look, SelfVerdict
from dissensus.script.decisions import Status

VERDICTS: Final[Mapping[str, str]] = {
    "cites-and-stands": "its verdict cites words that stand there and hold the answer",
    "cites-unclear": "its verdict cites words that stand there; a reader has to say whether they settle it",
    "cites-what-does-not-bear": "its verdict cites words that stand there and do not say what it chose",
    "cites-what-does-not-stand": "its verdict cites words that do not stand there",
    "no-source": "a vote dressed as a verdict: it picked one, and quotes nothing",
    "leans-on-order": "its verdict changes with the order of the two answers",
    "blend": "it gave a third answer",
    "escalates": "it settled nothing: it says that a person has to",
    "unreadable": "it cannot be told what it chose",
    "failed": "it could not be asked to settle",
}
EQUALS: Final[Mapping[str, str]] = {
    "escalates": "escalated, as it should",
    "picks": "picked {says}, although both sources are equal",
    "follows-order": "took the one in the same place both times, although both sources are equal",
    "wavers": "picked one once and escalated once, although both sources are equal",
    "blends": "gave a third answer, although no source states it",
    "unreadable": "its reply cannot be read",
    "failed": "it could not be asked",
    "not-asked": "not asked",
}
_SHOWN: Final = 240
_MOST_NAMED: Final = 5


def self_check_lines(found: SelfChecked, *, width: int = 80) -> Iterator[str]:
    """What a self-check came to, line by line."""
    yield from wrapped(clean(found.question), width, most=6)
    yield ""
    yield headline(found)
    yield ""
    yield from section("answers", _answers(found), width)
    if found.verdict is not None:
        yield from section("verdict", _verdict(found.verdict), width)
        yield from section("equal", _equal(found.equal), width)
    yield from section("shown", [_documents(found)], width)
    if found.failures:
        yield from section("failures", [failures_line(found)], width)
    yield from section("note", [clean(one) for one in (*found.warnings, found.shows_not)], width)
    yield from section("cost", [cost_line(found)], width)
    if found.record:
        yield from section("record", [found.record, f"dissensus replay {found.record}"], width, wrap=False)


def headline(found: SelfChecked) -> str:
    """What came of it, in one line."""
    if found.verdict is not None:
        said = VERDICTS[found.verdict.kind]
        colour = "green" if found.verdict.kind == STANDS else "yellow"
        return click.style(f"{found.verdict.kind}: {said}", fg=colour, bold=True)
    if found.status is Status.CONSISTENT:
        rounds = {0: "", 1: " in 1 round"}.get(found.rounds, f" in {found.rounds} rounds")
        return click.style(f"no contradiction{rounds}: no two answers differ", fg="yellow", bold=True)
    over = "the budget was over" if found.status is Status.OPEN_BUDGET else "no two answers could be had"
    return click.style(f"not told: {over} before anything was to settle", fg="red", bold=True)


def _answers(found: SelfChecked) -> Iterator[str]:
    if found.a is None or found.b is None:
        counts: dict[str, int] = {}
        for one in found.answers:
            said = clean(one.written) if one.answer is not None else f"({one.outcome})"
            counts[said] = counts.get(said, 0) + 1
        yield from (f"{cut(said, 60)}   {number} times" for said, number in counts.items())
        return
    for name, one in (("A", found.a), ("B", found.b)):
        yield f"{name}  {_said(one)}"


def _said(one: Answered) -> str:
    where = {"first": "given as the first", "second": "given as the second"}.get(one.step, f"asked as {one.step}")
    return f"{cut(clean(one.written), 60)}   ({where})"


def _verdict(verdict: SelfVerdict) -> Iterator[str]:
    yield f"{verdict.chose}: {cut(clean(verdict.says), 60)}" if verdict.chose else clean(verdict.why)
    for look in verdict.looks:
        yield _look(look)


def _look(look: Look) -> str:
    first = f"{look.order[0]} shown first"
    took = f"takes {look.chose}" if look.chose else look.kind
    if not look.chose:
        return f"{first}: {took}" + (f", {cut(clean(look.says), 60)}" if look.says else "")
    if not look.quote:
        return f"{first}: {took}, quotes nothing"
    where = ", ".join(part for part in (clean(look.source or look.named or "no document named"), look.where) if part)
    return f"{first}: {took}, by “{cut(clean(look.quote), _SHOWN)}” ({where}: {look.reopened}) {clean(look.why)}"


def _equal(equal: Equal) -> Iterator[str]:
    yield EQUALS[equal.did].format(says=clean(equal.says) or equal.picked)
    if equal.did == "not-asked":
        return
    made = f"copies of the passage in {clean(equal.made_from)}" if equal.made_from else "two plain statements"
    yield f"made of {made}, which differ in the answer alone; order and labels swapped between two looks"


def _documents(found: SelfChecked) -> str:
    whole = sum(one.shown == one.characters for one in found.documents)
    parts = [f"{whole} of {len(found.documents)} documents in full"]
    if part := len(found.documents) - whole:
        parts.append(f"{part} in part")
    text = ", ".join(parts)
    if found.left_out:
        named = [f"{clean(one.name)} ({clean(one.why)})" for one in found.left_out[:_MOST_NAMED]]
        more = len(found.left_out) - len(named)
        text += f"; left out: {', '.join(named)}" + (f" and {more:,} more" if more > 0 else "")
    return text


def short_line(found: SelfChecked) -> str:
    """One of many self-checks, on one line."""
    if found.verdict is not None:
        what: str = found.verdict.kind
    else:
        what = "no-contradiction" if found.status is Status.CONSISTENT else found.status.value
    both = f"{cut(clean(found.a.written), 24)} | {cut(clean(found.b.written), 24)}" if found.a and found.b else ""
    equal = f"equal: {found.equal.did}" if found.verdict is not None else ""
    return "  ".join(part for part in (f"{what:<26}", cut(clean(found.question), 48), both, equal) if part).rstrip()


def rates(results: Sequence[SelfChecked]) -> dict[str, Any]:
    """Shares over many questions, with Wilson's 95 % intervals, as JSON-ready data."""
    told = [one for one in results if one.status not in (Status.FAILED, Status.OPEN_BUDGET)]
    settled = [one.verdict.kind for one in told if one.verdict is not None]
    equal: list[str] = [one.equal.did for one in told if one.equal.did not in ("not-asked", "failed")]
    kinds = [kind for kind in CLASSES if kind in settled or kind == STANDS]
    ways: list[str] = ["escalates", *(did for did in EQUALS if did in equal and did != "escalates")]
    return {
        "asked": len(results),
        "told": len(told),
        "contradicted": share(len(settled), len(told)),
        "verdicts": {kind: share(settled.count(kind), len(settled)) for kind in kinds},
        "equal": {did: share(equal.count(did), len(equal)) for did in ways},
    }


def share(hits: int, of: int) -> dict[str, Any]:
    """So many of so many, with its interval; None where there is nothing to take a share of."""
    from dissensus.measure.paired import wilson

    if not of:
        return {"hits": 0, "of": 0, "rate": None, "low": None, "high": None}
    low, high = wilson(hits, of)
    return {"hits": hits, "of": of, "rate": hits / of, "low": low, "high": high}


def rate_lines(results: Sequence[SelfChecked]) -> Iterator[str]:
    """The same as lines of text."""
    found = rates(results)
    yield f"{found['asked']:,} questions, {found['told']:,} of them to the end"
    yield _rate("contradicted itself", found["contradicted"])
    yield from (_rate(f"  {kind}", one) for kind, one in found["verdicts"].items())
    yield "between two equal sources, it"
    yield from (_rate(f"  {did}", one) for did, one in found["equal"].items())


def _rate(label: str, one: Mapping[str, Any]) -> str:
    if not one["of"]:
        return f"{label:<30}none of 0"
    interval = f"[{one['low']:.0%}, {one['high']:.0%}]"
    return f"{label:<30}{one['hits']:,} of {one['of']:,}   {one['rate']:.0%} {interval}"
