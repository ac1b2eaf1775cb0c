"""Round-robin: the agents write one answer in turns of K tokens, each from its own prompt; M such texts are voted on.

Start at :func:`round_robin`, which writes the texts side by side and counts their answers; :func:`write` is one text, a
loop over turns. What is open in the published description (arXiv 2604.17139) is an option in
:mod:`~dissensus.decide.round_robin_settings`. Who is handed what is in :mod:`~dissensus.decide.round_robin_writers`,
where a turn may end in :mod:`~dissensus.decide.round_robin_chunks`, what it adds to the text in
:mod:`~dissensus.decide.round_robin_page`, which answer a text gives in :mod:`~dissensus.decide.round_robin_answer`.

Nothing here makes a text right. Whether honest writers repair what corrupted ones began depends on models, attack and
seats: that is to be measured, not assumed.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import msgspec

from dissensus.decide.cost import Bill, metered
from dissensus.decide.round_robin_answer import Answer, answer_of
from dissensus.decide.round_robin_chunks import ask_for
from dissensus.decide.round_robin_count import Written, decide
from dissensus.decide.round_robin_ear import listen, readers_of
from dissensus.decide.round_robin_overheard import Overheard
from dissensus.decide.round_robin_page import Page
from dissensus.decide.round_robin_result import End, RoundRobin, Text, ballot_of
from dissensus.decide.round_robin_settings import RoundRobinSettings, seat_of_turn
from dissensus.decide.round_robin_steps import Steps
from dissensus.decide.round_robin_writers import Table, hand_over, seated, worst
from dissensus.decide.tally import NOT_AWAITED, Vote, settled
from dissensus.script.effects import Finish, Note, Race, Script, Together
from dissensus.script.outcomes import BudgetExhausted, Outcome, TransportFailure
from dissensus.script.questions import Question
from dissensus.script.seats import Seat

__all__ = ["RoundRobinSettings", "round_robin", "write"]


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
    readers = readers_of(table)
    yield Note(
        "round-robin",
        {
            "seats": [seat.agent for seat in table.seats],
            "starts": list(table.starts),
            "means": list(table.means),
            "kind": table.kind,
            **({"readers": [table.seats[seat].agent for seat in readers]} if settings.ear != "off" else {}),
        },
        key="round-robin",
    )
    written = yield from _write_all(table)
    if settings.ear == "off":
        return decide(table, written)
    heard = yield from listen(table, [one.text for one in written], {one.text.number: one.overheard for one in written})
    decision = decide(table, written, heard)
    if decision.ear is not None and decision.ear.weights:
        yield Note("weights", {"weight": settings.weight, "weights": list(decision.ear.weights)}, key="weights")
    return decision


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
    overheard = Overheard()
    text = yield from metered(write(table, number, overheard), bill)
    return Written(text=text, bill=bill, overheard=overheard)


def _given_up(table: Table, number: int) -> Written:
    """A text that was not awaited. What its calls took is not known."""
    text = Text(number=number, start=table.starts[number], end="not-awaited", outcome=NOT_AWAITED)
    return Written(text=text, bill=Bill(unknown=1))


def write(table: Table, number: int, overheard: Overheard | None = None) -> Generator[Any, Any, Text]:
    """Write text ``number`` (from 0 on) to its end, and read its answer; ``overheard`` takes what readers told of it.

    Every turn is on the record before the next one is asked for. A failed call adds nothing: there is no half turn.
    """
    settings, writers = table.settings, len(table.seats)
    page, steps = Page(table, number, overheard), Steps(table)
    end_votes = idle = failed = 0
    end: End | None = None
    while end is None:
        left = settings.length - page.length
        if left <= 0:
            end = "length"
        elif len(page.turns) >= settings.most_turns(writers):
            end = "turns"
        elif len(page.raw) >= settings.most_bytes():
            end = "bytes"
        if end is not None:
            break
        seat = seat_of_turn(
            settings, writers, table.seed, text=number, start=table.starts[number], turn=len(page.turns)
        )
        asked = ask_for(settings, left)
        effect = hand_over(
            table, seat, text=number, turn=len(page.turns), ids=page.ids, written=page.handed(seat), asked=asked
        )
        outcome: Outcome = yield effect
        page.take(outcome, seat, asked=asked, left=left, key=f"text-{number + 1}/{effect.key}")
        found = steps.judge(page)
        turn = page.turns[-1]
        yield Note("turn", page.note(), key=f"turn/{len(page.turns)}")
        for place, wrong in enumerate(found, 1):
            yield Note("wrong-step", msgspec.to_builtins(wrong), key=f"wrong-step/{len(page.turns)}/{place}")
        back = any(wrong.action == "taken-back" for wrong in found)
        if turn.failure:
            failed += 1
        else:
            failed = 0
            end_votes = 0 if back or turn.finish != "eos" else 1 if turn.kept else end_votes + 1
        idle = 0 if turn.kept or back else idle + 1
        if end_votes >= settings.q_eos + 1:
            end = "eos"
        elif turn.failure and (settings.on_failure == "end" or _is_final(outcome)):
            end = "failed"
        elif idle >= settings.most_idle(writers):
            end = "failed" if failed >= idle else "idle"
    text = page.text()
    if end == "failed":
        last = page.turns[-1]
        read = Answer(None, outcome=last.failure, problem=last.problem)
    else:
        read = answer_of(text, end, table)
    result = Text(
        number=number,
        start=table.starts[number],
        end=end,
        text=text,
        ids=page.ids if table.with_ids else None,
        kept=page.tokens,
        answer=read.answer,
        rule=read.rule,
        outcome=read.outcome,
        problem=read.problem,
        fidelity=worst([turn.fidelity for turn in page.turns]),
        turns=tuple(page.turns),
        wrong=steps.wrong,
    )
    yield Note("ballot", msgspec.to_builtins(ballot_of(result, table.seats)), durable=True, key="ballot")
    return result


def _is_final(outcome: Outcome) -> bool:
    """Whether no other writer would fare better: money is gone, or a model that was said to continue cannot."""
    if isinstance(outcome, TransportFailure):
        return outcome.cause == "capability"
    return isinstance(outcome, BudgetExhausted)
