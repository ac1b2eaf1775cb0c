"""What the agents made of what their peers wrote, as a person reads it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from dissensus.cli.readout import clean, cut
from dissensus.decide.round_robin_opinions import Ear, HeardText, Side, Sides

if TYPE_CHECKING:
    from dissensus.decide.round_robin_result import RoundRobin, Text

MOST_TEXTS = 5
"""Texts whose odds the readout tells; ``dissensus round-robin ear`` has all."""


def ear_lines(found: RoundRobin) -> Iterator[str]:
    """The ear in the readout of a run: a line for each thing."""
    ear = found.ear
    if ear is None:
        return
    if writers := ear.by_writer():
        told = ", ".join(f"{clean(name)} {value:.2f}" for name, value in writers.items())
        yield f"surprise at each writer's parts, mean over its readers, in nats a token: {told}"
    for text in ear.texts[:MOST_TEXTS]:
        if (of := ear.told_of(text)) is not None:
            steps = " ".join(_number(value) for value in text.odds_of(ear.candidates, of))
            yield f"log-odds of {_short(ear.candidates[of])} in text-{text.number + 1}, part by part: {steps}"
    if len(ear.texts) > MOST_TEXTS:
        yield f"and {len(ear.texts) - MOST_TEXTS} more texts: dissensus round-robin ear"
    if ear.weights:
        told = ", ".join(
            f"text-{text.number + 1} {weight:.3g}" for text, weight in zip(ear.texts, ear.weights, strict=True)
        )
        yield f"weights by {ear.weight}: {told}"
    if cost := found.ledger.get("ear"):
        read = "tokens read unknown" if cost["read"] is None else f"{cost['read']:,} tokens read"
        cached = f", {cost['cached']:,} of them found in caches" if cost["cached"] is not None else ""
        yield (
            f"listening took {cost['calls']} calls, {read}{cached}; {cost['scored']:,} were scored, and "
            f"{cost['in_pass']} opinions came with the writing"
        )


def table(ear: Ear, heard: HeardText, text: Text) -> Iterator[str]:
    """One text, a line for each part: who wrote it, how it surprised each reader, and what it did to the odds."""
    names = [clean(one.reader) for one in heard.opinions]
    widths = [max(len(name), 6) for name in names]
    room = max([len(clean(name)) for name in heard.writers] + [6])
    of = ear.told_of(heard)
    odds = None if of is None else heard.odds_of(ear.candidates, of)
    says = "no answer" if text.answer is None else f"answers {_short(text.answer)}"
    yield f"{text.name}: {says}" + ("" if of is None else f"; log-odds of {_short(ear.candidates[of])}")
    head = f"  {'writer':<{room}}  {'  '.join(name.rjust(width) for name, width in zip(names, widths, strict=True))}"
    yield f"{head}  {'odds':>6}  part" if odds else f"{head}  part"
    if odds:
        yield f"  {'':<{room}}  {'  '.join(' ' * width for width in widths)}  {_number(odds[0]):>6}"
    for place, (turn, writer) in enumerate(zip(heard.chunks, heard.writers, strict=True)):
        values = [_value(one.surprise, place).rjust(width) for one, width in zip(heard.opinions, widths, strict=True)]
        line = f"  {clean(writer):<{room}}  {'  '.join(values)}"
        line += f"  {_number(odds[place + 1]):>6}" if odds else ""
        yield f"{line}  {cut(clean(text.turns[turn].added), 40)}"


def side_lines(found: Sides) -> Iterator[str]:
    """What honest and corrupted writers did."""
    yield _side("honest", found.honest)
    yield _side("corrupted", found.corrupted)


def _side(name: str, side: Side) -> str:
    step = "" if side.step is None else f" moves the odds of the right answer by {side.step:+.2f} on average;"
    honest = "unknown" if side.to_honest is None else f"{side.to_honest:.2f}"
    corrupted = "unknown" if side.to_corrupted is None else f"{side.to_corrupted:.2f}"
    return (
        f"{side.chunks} parts by {name} writers: a part{step} surprise {honest} to honest readers, {corrupted} to "
        "corrupted ones"
    )


def _short(answer: str) -> str:
    return cut(clean(answer), 24)


def _number(value: float | None) -> str:
    return "?" if value is None else f"{value:+.1f}"


def _value(values: Sequence[float | None], place: int) -> str:
    value = values[place] if place < len(values) else None
    return "·" if value is None else f"{value:.2f}"
