"""Texts written in turns as a person reads them: who wrote what, how each text ended, what it answers, what it took."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import click

from dissensus.cli.readout import bars, clean, cost_line, cut, failures_line, headline, record_lines, section, wrapped
from dissensus.cli.round_robin_ear_text import ear_lines
from dissensus.script.decisions import Status

if TYPE_CHECKING:
    from dissensus.decide.round_robin_result import RoundRobin, Text, Turn

LINES_OF_ONE, LINES_OF_MANY = 60, 16
"""Most lines of a text that are shown, where it is alone and where there are several; the record has all."""
_INKS: Final = ("cyan", "yellow", "magenta", "green", "blue", "bright_red", "bright_cyan")
_STATUS: Final = {
    Status.SPLIT: "split: no answer wins",
    Status.ABSTAINED: "every text abstained",
    Status.OPEN_BUDGET: "open: the budget ended before the texts had decided",
    Status.FAILED: "failed: no text came to an answer",
}
_ENDS: Final = {
    "eos": "ended by its writers",
    "length": "cut at its length",
    "turns": "cut at the bound on turns",
    "bytes": "cut at the bound on bytes",
    "idle": "ended: nobody added anything",
    "failed": "FAILED",
    "not-awaited": "not awaited",
}


def round_robin_lines(found: RoundRobin, *, width: int = 80) -> Iterator[str]:
    """The readout, line by line."""
    yield from wrapped(clean(found.question), width, most=6)
    yield ""
    yield headline(found.status, found.answer, _how(found))
    yield ""
    yield from section("votes", bars(found), width)
    inks = {name: _INKS[place % len(_INKS)] for place, name in enumerate(found.seats)}
    yield from section("writers", _writers(found, inks), width, wrap=False)
    most = LINES_OF_ONE if len(found.texts) == 1 else LINES_OF_MANY
    for text in found.texts:
        yield ""
        yield from _shown(text, found.seats, inks, width, most)
    yield ""
    dissent = [f"{one['agent']} says {cut(clean(str(one['answer'])), 60)}" for one in found.dissent]
    yield from section("dissent", dissent or ["none"], width)
    yield from section("invalid", [f"{found.invalid} of {len(found.texts)} texts have no answer"], width)
    yield from section("strict", [_strict(found)], width)
    yield from section("failures", [failures_line(found)], width)
    yield from section("fidelity", [found.fidelity], width)
    yield from section("steps", _steps(found), width)
    yield from section("ear", ear_lines(found), width)
    yield from section("tokens", _tokens(found.ledger), width)
    yield from section("worth", [f"{found.worth.get('status', '')}. {found.worth.get('text', '')}"], width)
    yield from section("note", [clean(warning) for warning in found.warnings], width)
    yield from section("rule", [found.rule] if found.rule else [], width)
    yield from section("cost", [cost_line(found)], width)
    yield from section("record", record_lines(found.record), width, wrap=False)


def _how(found: RoundRobin) -> str:
    if found.answer is None:
        return _STATUS.get(found.status, found.status.value)
    votes = found.votes.get(found.answer, 0)
    if found.ear is not None and found.ear.weights:
        return f"decided: {votes:.3g} of {sum(found.ear.weights):.3g}, each text weighed by the {found.ear.weight}"
    drawn = f", drawn among {len(found.tied)} tied answers" if found.tied else ""
    return f"decided: {votes:g} of {len(found.texts)} texts{drawn}"


def _writers(found: RoundRobin, inks: Mapping[str, str]) -> list[str]:
    lines = []
    longest = max((len(clean(name)) for name in found.seats), default=0)
    for seat, name in enumerate(found.seats):
        own = found.by_agent.get(name, {})
        told = (
            f"seat {seat}: {own.get('kept', 0):,} tokens kept in {own.get('turns', 0)} turns; "
            f"first in {own.get('first_writer', 0)}, last in {own.get('last_writer', 0)} texts"
        )
        failed = own.get("failed", 0)
        told += f"; {failed} failed" if failed else ""
        lines.append(f"{click.style(clean(name).ljust(longest), fg=inks[name])}  {told}")
    return lines


def _shown(text: Text, seats: Sequence[str], inks: Mapping[str, str], width: int, most: int) -> Iterator[str]:
    """One text: a line about it, then its parts, each behind its writer's name."""
    began = clean(seats[text.start]) if text.start < len(seats) else "?"
    answer = "no answer" if text.answer is None else f"{cut(clean(text.answer), 40)} ({text.rule})"
    about = f"begun by {began}, {len(text.turns)} turns, {text.kept:,} tokens, {_ENDS[text.end]}: {answer}"
    if text.answer is None and text.problem:
        about += f"; {clean(text.problem)}"
    yield from section(text.name, [about], width)
    left = most
    room = max((len(clean(name)) for name in seats), default=0)
    for turn in text.turns:
        if left <= 0:
            yield f"{'':<{room}}   … the record has the rest"
            return
        lines = list(_part(turn, width - room - 3))[:left]
        left -= len(lines)
        name = click.style(clean(turn.agent).rjust(room), fg=inks.get(turn.agent))
        for place, line in enumerate(lines):
            yield f"{name if not place else ' ' * room} │ {line}"


def _part(turn: Turn, width: int) -> Iterator[str]:
    """What a turn added, line by line, with anything that could steer a terminal taken out."""
    if turn.failure:
        cause = f", {turn.cause}" if turn.cause else ""
        yield click.style(f"({turn.failure}{cause}: {cut(clean(turn.problem), max(width - 20, 10))})", fg="red")
        return
    for line in turn.added.split("\n") if turn.added else ():
        yield from wrapped(clean(line), width)
    notes = []
    if turn.finish == "eos":
        notes.append("ends here")
    if not turn.kept and turn.finish != "eos":
        notes.append("added nothing")
    if turn.marks:
        notes.append(f"control marks: {turn.marks}")
    if turn.dropped:
        notes.append(f"control tokens left out: {turn.dropped}")
    if notes:
        yield click.style(f"({', '.join(notes)})", dim=True)


def _steps(found: RoundRobin) -> Iterator[str]:
    """What verifiers found wrong."""
    for text in found.texts:
        for wrong in text.wrong:
            done = f"taken back, {wrong.tokens} tokens" if wrong.action == "taken-back" else _ACTIONS[wrong.action]
            step = cut(clean(wrong.written), 40)
            yield f"{text.name}: “{step}” by {clean(', '.join(wrong.writers))}: {clean(wrong.why)} ({done})"


_ACTIONS: Final = {"noted": "noted", "let-stand": "let stand after a round of them"}


def _strict(found: RoundRobin) -> str:
    answer = found.strict.get("answer")
    votes = found.strict.get("votes", {})
    if answer is None:
        return "no answer wins if only announced answers count"
    return f"{cut(clean(str(answer)), 40)}, {votes[answer]:g} votes, if only announced answers count"


def _tokens(ledger: Mapping[str, Any]) -> list[str]:
    """Measured counts, and what the turns come to for each kind of cache."""
    measured = ledger.get("measured", {})
    line = f"{measured.get('decoded', 0):,} written, {ledger.get('kept', 0):,} of them kept"
    if not measured.get("cache_unknown"):
        line += f"; {measured.get('computed', 0):,} read, {measured.get('cached', 0):,} found in caches (as measured)"
    lines = [line]
    if unknown := measured.get("unknown"):
        lines.append(f"{unknown} turns did not say what they took")
    if counted := ledger.get("counted"):
        read = ", ".join(f"{counted[name]['computed']:,} {words}" for name, words in _CACHES.items())
        lines.append(f"to read by the ledger: {read}")
    return lines


_CACHES: Final = {"none": "without a cache", "block16": "with blocks of 16", "exact": "with an exact one"}
