"""Round-robin: the agents write one answer in turns of K tokens, each from its own prompt; M such texts are voted on.

Start at :func:`round_robin`, which writes the texts side by side and counts their answers; :func:`write` is one text, a
loop over turns. What is open in the published description (arXiv 2604.17139) is an option in
:mod:`~dissensus.decide.round_robin_settings`. Who is handed what is in :mod:`~dissensus.decide.round_robin_writers`,
where a turn may end in :mod:`~dissensus.decide.round_robin_chunks`, which answer a text gives in
:mod:`~dissensus.decide.round_robin_answer`.

Nothing here makes a text right. Whether honest writers repair what corrupted ones began depends on models, attack and
seats: that is to be measured, not assumed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Generator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import msgspec

from dissensus.decide.cost import Bill, metered
from dissensus.decide.round_robin_answer import Answer, answer_of
from dissensus.decide.round_robin_chunks import (
    Chunk,
    ask_for,
    bounded,
    chunk_of,
    marks_in,
    pieces,
    without_ids,
    without_marks,
    without_overlap,
)
from dissensus.decide.round_robin_count import Written, decide
from dissensus.decide.round_robin_result import End, RoundRobin, Text, Turn, ballot_of
from dissensus.decide.round_robin_settings import RoundRobinSettings, seat_of_turn
from dissensus.decide.round_robin_writers import Table, fidelity_of, hand_over, seated, tagged, worst
from dissensus.decide.tally import NOT_AWAITED, Vote, settled
from dissensus.script.effects import Finish, Note, Race, Script, Together
from dissensus.script.outcomes import BudgetExhausted, Extended, Invalid, Outcome, Reply, TransportFailure
from dissensus.script.questions import Question
from dissensus.script.seats import Seat

__all__ = ["RoundRobinSettings", "round_robin", "write"]

_MOST_BYTES_PER_TOKEN = 256


def round_robin(
    question: Question, seats: Sequence[Seat], settings: RoundRobinSettings, seed: int
) -> Generator[Any, Any, RoundRobin]:
    """Have the agents write M texts in turns, side by side, and decide by plurality of their answers.

    Args:
        question: what is to be answered; its ``gold`` is never shown to anybody.
        seats: the panel; spares do not write.
        settings: how they write.
        seed: what draws depend on.

    Raises SpecError, before anybody is asked, for what cannot be: above all a writer that cannot continue a text.
    """
    table = seated(question, seats, settings, seed)
    yield Note(
        "round-robin",
        {
            "seats": [seat.agent for seat in table.seats],
            "starts": list(table.starts),
            "means": list(table.means),
            "kind": table.kind,
        },
        key="round-robin",
    )
    written = yield from _write_all(table)
    return decide(table, written)


def _write_all(table: Table) -> Generator[Any, Any, list[Written]]:
    """All texts in order; what was given up is among them."""
    settings = table.settings
    numbers = list(range(len(table.starts)))
    width = settings.at_once or len(numbers)
    done: dict[int, Written] = {}
    for begin in range(0, len(numbers), width):
        wave = numbers[begin : begin + width]
        rest = len(numbers) - begin - len(wave)
        if settings.adaptive and begin and _is_settled(done, len(numbers) - len(done)):
            break
        scripts: dict[str, Script] = {f"text-{number + 1}": _metered(table, number) for number in wave}
        if settings.adaptive:
            finish: Finish = yield Race(scripts, partial(_enough, dict(done), len(wave) + rest), key=f"race-{begin}")
            came: Mapping[str, Written] = finish.used
        else:
            came = yield Together(scripts)
        done |= _by_number(came)
    return [done[number] if number in done else _given_up(table, number) for number in numbers]


def _by_number(came: Mapping[str, Written]) -> dict[int, Written]:
    return {one.text.number: one for one in came.values()}


def _enough(done: Mapping[int, Written], out: int, came: Mapping[str, Written]) -> bool:
    """Whether no text that is still out, in this wave or a later one, can change the answer or make it a tie."""
    return _is_settled({**done, **_by_number(came)}, out - len(came))


def _is_settled(done: Mapping[int, Written], out: int) -> bool:
    votes = [Vote(answer=one.text.answer, weight=Fraction(1), outcome=one.text.outcome) for one in done.values()]
    return bool(votes) and settled(votes, [Fraction(1)] * out, "plurality")


def _metered(table: Table, number: int) -> Generator[Any, Any, Written]:
    bill = Bill()
    text = yield from metered(write(table, number), bill)
    return Written(text=text, bill=bill)


def _given_up(table: Table, number: int) -> Written:
    """A text that was not awaited. What its calls took is not known."""
    text = Text(number=number, start=table.starts[number], end="not-awaited", outcome=NOT_AWAITED)
    return Written(text=text, bill=Bill(unknown=1))


def write(table: Table, number: int) -> Generator[Any, Any, Text]:
    """Write text ``number`` (from 0 on) to its end, and read its answer.

    Every turn is on the record before the next one is asked for. A failed call adds nothing: there is no half turn.
    """
    settings, writers = table.settings, len(table.seats)
    page = _Page(table)
    turns: list[Turn] = []
    end_votes = idle = failed = 0
    end: End | None = None
    while end is None:
        left = settings.length - page.length
        if left <= 0:
            end = "length"
        elif len(turns) >= settings.most_turns(writers):
            end = "turns"
        elif len(page.raw) >= settings.most_bytes():
            end = "bytes"
        if end is not None:
            break
        seat = seat_of_turn(settings, writers, table.seed, text=number, start=table.starts[number], turn=len(turns))
        asked = ask_for(settings, left)
        effect = hand_over(
            table, seat, text=number, turn=len(turns), ids=page.ids, written=page.handed(seat), asked=asked
        )
        outcome: Outcome = yield effect
        turn = page.take(outcome, seat, asked=asked, left=left)
        turn = replace(turn, text=number, turn=len(turns), key=f"text-{number + 1}/{effect.key}")
        turns.append(turn)
        yield Note("turn", page.note(turn), key=f"turn/{len(turns)}")
        if turn.failure:
            failed += 1
        else:
            failed = 0
            end_votes = 0 if turn.finish != "eos" else 1 if turn.kept else end_votes + 1
        idle = 0 if turn.kept else idle + 1
        if end_votes >= settings.q_eos + 1:
            end = "eos"
        elif turn.failure and (settings.on_failure == "end" or _is_final(outcome)):
            end = "failed"
        elif idle >= settings.most_idle(writers):
            end = "failed" if failed >= idle else "idle"
    text = page.text()
    if end == "failed":
        found = Answer(None, outcome=turns[-1].failure, problem=turns[-1].problem)
    else:
        found = answer_of(text, end, table)
    result = Text(
        number=number,
        start=table.starts[number],
        end=end,
        text=text,
        ids=page.ids if table.with_ids else None,
        kept=page.tokens,
        answer=found.answer,
        rule=found.rule,
        outcome=found.outcome,
        problem=found.problem,
        fidelity=worst([turn.fidelity for turn in turns]),
        turns=tuple(turns),
    )
    yield Note("ballot", msgspec.to_builtins(ballot_of(result, table.seats)), durable=True, key="ballot")
    return result


def _is_final(outcome: Outcome) -> bool:
    """Whether no other writer would fare better: money is gone, or a model that was said to continue cannot."""
    if isinstance(outcome, TransportFailure):
        return outcome.cause == "capability"
    return isinstance(outcome, BudgetExhausted)


class _Page:
    """The text so far. Lives inside one run of :func:`write`; it is made anew from the same outcomes in a replay."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.raw = b""
        self.ids: tuple[int, ...] = ()
        self.tokens = 0
        self.length = 0
        self.parts: list[tuple[str, str]] = []
        self._last = Chunk()

    def text(self) -> str:
        """All of it; what is no character shows as U+FFFD."""
        return self.raw.decode("utf-8", "replace")

    def handed(self, seat: int) -> str:
        """The text as ``seat`` is given it, where it is given text."""
        if self.table.with_ids:
            return ""
        if self.table.settings.attribution == "tags":
            return tagged(self.parts, self.table.seats[seat].agent)
        return self.text()

    def take(self, outcome: Outcome, seat: int, *, asked: int, left: int) -> Turn:
        """Add what a writer wrote, as far as it may count, and say what happened."""
        writer, means = self.table.seats[seat], self.table.means[seat]
        self._last = Chunk()
        usage = getattr(outcome, "usage", None)
        turn = Turn(
            text=0,
            turn=0,
            seat=seat,
            agent=writer.agent,
            model=getattr(outcome, "model", "") or writer.model,
            tokenizer=getattr(outcome, "tokenizer", "") or writer.tokenizer,
            template=getattr(outcome, "template", ""),
            fidelity=fidelity_of(means, getattr(outcome, "fidelity", "")),
            before=self.tokens,
            input_hash=self._input_hash(seat),
            decoded=_sampled(outcome),
            seconds=None if usage is None else usage.seconds,
        )
        if usage is not None and usage.tokens_in is not None:
            turn = replace(turn, prompt=usage.tokens_in - self.tokens if means == "ids" else None)
            if usage.tokens_cached is not None:
                turn = replace(turn, computed=usage.tokens_in - usage.tokens_cached, cached=usage.tokens_cached)
        wrong = _problem(outcome, asked=asked, with_ids=means == "ids")
        if wrong is not None:
            kind, cause, problem = wrong
            return replace(turn, finish="error", failure=kind, cause=cause, problem=problem)
        if not isinstance(outcome, Extended | Reply):
            raise TypeError(outcome)
        return self._add(outcome, turn, asked=asked, left=left)

    def _add(self, outcome: Extended | Reply, turn: Turn, *, asked: int, left: int) -> Turn:
        settings, means = self.table.settings, self.table.means[turn.seat]
        ended = outcome.finish == "stop"
        chunk = chunk_of(outcome, asked=asked, with_ids=means == "ids")
        if means == "quotes":
            chunk = without_overlap(chunk, self.raw)
        came = chunk.tokens
        chunk, dropped = without_ids(chunk, settings.control_ids)
        marks = marks_in(chunk, self.raw, settings.control_marks)
        if means != "ids" and marks:
            chunk, marks = without_marks(chunk, self.raw, settings.control_marks)
        whole = chunk
        chunk = bounded(whole, self.raw, settings, ended=ended, left=left)
        ended = ended and len(chunk.raw) == len(whole.raw)  # an end that was cut off is not seen
        self._last = chunk
        self.raw += chunk.raw
        self.ids += chunk.ids or ()
        self.tokens += chunk.tokens
        added = chunk.raw.decode("utf-8", "replace")
        self.length += chunk.tokens if settings.unit == "writer" else pieces(added)
        self.parts.append((turn.agent, added))
        numbers = outcome.logprobs if isinstance(outcome, Extended) else None
        decoded = turn.decoded
        if decoded is None and means == "ids":
            decoded = came + (outcome.finish == "stop")  # nobody says; what came back was sampled at least
        return replace(
            turn,
            added=added,
            finish="eos" if ended else "other" if outcome.finish not in ("length", "stop") else "length",
            kept=chunk.tokens,
            trimmed=whole.tokens - chunk.tokens,
            dropped=dropped + (outcome.dropped if isinstance(outcome, Extended) else 0),
            marks=marks,
            decoded=decoded,
            logprob=sum(numbers) / len(numbers) if numbers else None,
        )

    def note(self, turn: Turn) -> dict[str, Any]:
        """The turn as it stands on the record: with the ids that were added, and its bytes where they are no text."""
        data: dict[str, Any] = msgspec.to_builtins(turn)
        data["ids"] = None if self._last.ids is None else list(self._last.ids)
        if turn.added.encode() != self._last.raw:
            data["raw"] = self._last.raw.hex()
        return data

    def _input_hash(self, seat: int) -> str:
        given = ",".join(map(str, self.ids)) if self.table.means[seat] == "ids" else self.handed(seat)
        return hashlib.sha256(given.encode("utf-8", "replace")).hexdigest()[:16]


def _sampled(outcome: Outcome) -> int | None:
    told = getattr(outcome, "sampled", None)
    if told is not None:
        return int(told)
    usage = getattr(outcome, "usage", None)
    return None if usage is None else usage.tokens_out


def _problem(outcome: Outcome, *, asked: int, with_ids: bool) -> tuple[str, str, str] | None:
    """Kind, cause and words of what keeps an outcome out of the text; None for something that can be added."""
    if not isinstance(outcome, Extended | Reply):
        problem = getattr(outcome, "problem", "") or getattr(outcome, "what", "") or outcome.kind
        return outcome.kind, getattr(outcome, "cause", ""), problem
    if isinstance(outcome, Extended) and with_ids:
        if outcome.tokens is None:
            return Invalid.kind, "", "the back end gave no token ids for what it wrote"
        if len(outcome.tokens) > asked and outcome.ends is None:
            return Invalid.kind, "", f"the back end wrote {len(outcome.tokens)} tokens, {asked} were asked for"
    if len(outcome.text) > _MOST_BYTES_PER_TOKEN * asked:
        return Invalid.kind, "", f"{len(outcome.text):,} characters are no {asked} tokens"
    return None
