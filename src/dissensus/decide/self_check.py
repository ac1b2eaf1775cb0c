"""The self-check as a script: an agent is asked one question until it contradicts itself, and then has to settle.

What is looked at is its verdict: does that rest on something that can be checked, or did the agent just pick one? Start
at :func:`self_check`. Putting the question and reading answers is in :mod:`~dissensus.decide.self_check_answers`,
settling in :mod:`~dissensus.decide.self_check_settling`, what a verdict rests on in
:mod:`~dissensus.decide.self_check_weighing`, equal sources in :mod:`~dissensus.decide.self_check_equal`.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import replace
from typing import Any

import msgspec

from dissensus.decide.cost import Bill, metered
from dissensus.decide.dispute.docket import source_of
from dissensus.decide.self_check_answers import (
    ABSTAINED,
    Answered,
    Asking,
    Held,
    ask,
    asking_for,
    given,
    told,
    two_that_differ,
)
from dissensus.decide.self_check_equal import Equal, equal_sources
from dissensus.decide.self_check_result import LOST, NO_CONTRADICTION, STANDS, Seen, SelfChecked
from dissensus.decide.self_check_settings import Given, SelfCheckSettings, checked
from dissensus.decide.self_check_settling import ORDERS, look, look_given
from dissensus.decide.self_check_weighing import Look, Pair, SelfVerdict, together
from dissensus.errors import SpecError
from dissensus.script.decisions import Status
from dissensus.script.effects import Note, Together, under
from dissensus.script.outcomes import BudgetExhausted, Invalid
from dissensus.script.questions import Question
from dissensus.script.seats import Seat


def self_check(
    question: Question, seats: Sequence[Seat], settings: SelfCheckSettings, seed: int
) -> Generator[Any, Any, SelfChecked]:
    """Ask until two answers differ, have the agent settle, and say what its verdict rests on.

    Args:
        question: a question of fact; its ``gold`` is never shown to anybody.
        seats: the panel; the first that is no spare is checked, or the one that ``settings`` name.
        settings: the documents, and how it is held.
        seed: wordings, orders of documents and fences derive from it.

    Raises SpecError, before anybody is asked, for what cannot be.
    """
    asking = prepare(question, seats, settings, seed)
    seat = asking.seat
    yield Note("self-check", {"agent": seat.agent, "model": seat.model, "kind": asking.kind}, key="self-check")
    bill = Bill()
    found: SelfChecked = yield from metered(_given(asking) if settings.given else _asked(asking, bill), bill)
    return replace(found, cost=bill.cost())


def prepare(question: Question, seats: Sequence[Seat], settings: SelfCheckSettings, seed: int) -> Asking:
    """What is going to be asked, and of whom. Raises SpecError for what cannot be."""
    asking = asking_for(question, checked(question, seats, settings), settings, seed)
    if settings.given is not None:
        for one in _both_given(asking, settings.given):
            if one.read is None:
                raise SpecError(
                    f"No answer can be read in the {one.answered.step} reply: {one.answered.problem or 'it has none'}.",
                    next_step="Give the bare answer in its place, or name the kind of answer.",
                )
        if not settings.given.settle.strip():
            raise SpecError("There is no reply that settles.", next_step="Give it as `settle`.")
    return asking


def _both_given(asking: Asking, replies: Given) -> list[Held]:
    return [given(asking, text, step) for step, text in (("first", replies.first), ("second", replies.second))]


def _asked(asking: Asking, bill: Bill) -> Generator[Any, Any, SelfChecked]:
    held: list[Held] = []
    pair: tuple[Held, Held] | None = None
    rounds = 0
    while pair is None and rounds < asking.settings.rounds and not _is_dead(held[-2:]):
        rounds += 1
        steps = (f"{rounds}a", f"{rounds}b")
        scope = f"round/{rounds}"
        both = {step: ask(asking, len(held) + place, step, f"{scope}/{step}") for place, step in enumerate(steps)}
        new: dict[str, Held] = yield from under(scope, _together(both))
        held += [new[step] for step in steps]
        for each in new.values():
            bill.merge(each.bill)
        pair = two_that_differ(asking, held)
    found = _result(asking, held, rounds)
    if pair is None:
        return _unsettled(found, held)
    two = Pair(*pair)
    yield _contradiction(two)
    looks: list[Look] = []
    for order in ORDERS:
        one: Look = yield from under("settle", look(asking, two, order, asking.settings.documents, "settle"))
        looks.append(one)
    verdict = together(looks, two, asking)
    yield Note("self-settled", verdict.to_data(), durable=True, key="settled")
    equal = Equal(did="not-asked", why="It was not asked for.")
    if asking.settings.equal and verdict.kind != "failed":
        equal = yield from equal_sources(asking, two, verdict)
    return _settled(found, two, verdict, equal)


def _given(asking: Asking) -> Generator[Any, Any, SelfChecked]:
    """Look at replies that were got elsewhere. Nobody is asked."""
    replies = asking.settings.given
    if replies is None:
        raise TypeError(asking)
    held = _both_given(asking, replies)
    for one in held:
        yield from told(one.answered)
    pair = two_that_differ(asking, held)
    found = _result(asking, held, 0)
    if pair is None:
        return _unsettled(found, held)
    two = Pair(*pair)
    yield _contradiction(two)
    looks: list[Look] = []
    for order, reply in zip(ORDERS, (replies.settle, replies.swapped), strict=True):
        if reply.strip():
            looks.append((yield from under("settle", look_given(asking, two, order, reply))))
    verdict = together(looks, two, asking)
    yield Note("self-settled", verdict.to_data(), durable=True, key="settled")
    equal = Equal(did="not-asked", why="Nobody was asked.")
    settled = _settled(found, two, verdict, equal)
    if len(looks) > 1:
        return settled
    one_order = "The verdict was asked for in one order of the answers: whether the order decided is not known."
    return replace(settled, warnings=(*settled.warnings, one_order))


def _together(scripts: dict[str, Any]) -> Generator[Any, Any, dict[str, Held]]:
    results: dict[str, Held] = yield Together(scripts)
    return results


def _is_dead(last: Sequence[Held]) -> bool:
    """Whether no call of the last round came about: then more of them would not either."""
    return bool(last) and all(one.answered.outcome in LOST for one in last)


def _contradiction(pair: Pair) -> Note:
    both = {name: msgspec.to_builtins(one.answered) for name, one in (("a", pair.a), ("b", pair.b))}
    return Note("self-contradiction", both, durable=True, key="contradiction")


# --- what it comes to


def _result(asking: Asking, held: Sequence[Held], rounds: int) -> SelfChecked:
    """What is known before anything is settled."""
    answers = tuple(one.answered for one in held)
    failures: dict[str, int] = {}
    for one in answers:
        if one.answer is None:
            failures[one.outcome] = failures.get(one.outcome, 0) + 1
    seen = []
    for document in asking.settings.documents:
        size, shown = len(source_of(document.pinned).text or ""), sum(end - start for start, end in document.shown)
        seen.append(Seen(name=document.name, digest=document.digest, shown=shown, characters=size))
    return SelfChecked(
        question=asking.question.text,
        answer=None,
        status=Status.FAILED,
        failures=failures,
        agent=asking.seat.agent,
        kind=asking.kind,
        rounds=rounds,
        answers=answers,
        documents=tuple(seen),
        left_out=asking.settings.left_out,
        warnings=tuple(_warnings(seen, asking.settings, answers)),
        rule="a verdict counts as far as the words that it quotes stand in a document and hold the answer it chose",
        worth={"status": "unmeasured", "text": "What the agent's verdicts are worth was not measured."},
    )


def _warnings(seen: Sequence[Seen], settings: SelfCheckSettings, answers: Sequence[Answered]) -> list[str]:
    found = []
    cut = sum(one.shown < one.characters for one in seen)
    if cut or settings.left_out:
        parts = [f"{cut} of {len(seen)} documents in part"] if cut else []
        parts += [f"{len(settings.left_out)} not at all"] if settings.left_out else []
        found.append(f"The agent was shown {' and '.join(parts)}: what settles the question may be what was left out.")
    if blank := sum(one.outcome == ABSTAINED for one in answers):
        found.append(f"{blank} of {len(answers)} replies gave no answer: that contradicts nothing, and is not counted.")
    if unread := sum(one.outcome == Invalid.kind for one in answers):
        found.append(f"{unread} of {len(answers)} replies held no answer that could be read.")
    return found


def _unsettled(found: SelfChecked, held: Sequence[Held]) -> SelfChecked:
    """No two answers differed."""
    number = sum(one.read is not None for one in held)
    if any(one.answered.outcome == BudgetExhausted.kind for one in held):
        return replace(found, status=Status.OPEN_BUDGET)
    if number < 2:
        return found
    equal = Equal(did="not-asked", why="There were no two answers to state.")
    return replace(found, status=Status.CONSISTENT, equal=equal, shows_not=NO_CONTRADICTION)


def _settled(found: SelfChecked, pair: Pair, verdict: SelfVerdict, equal: Equal) -> SelfChecked:
    status = Status.DECIDED if verdict.kind == STANDS else Status.DISPUTED
    failed = [one for one in (*verdict.looks, *equal.looks) if one.kind == "failed"]
    if any(one.why.startswith(BudgetExhausted.kind) for one in failed):
        status = Status.OPEN_BUDGET
    elif verdict.kind == "failed":
        status = Status.FAILED
    warnings = list(found.warnings)
    if verdict.also:
        warnings.append(
            f"The answer that it did not choose stands in the documents, too ({', '.join(verdict.also)}): one citation"
            " does not say why that is wrong."
        )
    return replace(
        found,
        status=status,
        answer=verdict.says if status is Status.DECIDED else None,
        a=pair.a.answered,
        b=pair.b.answered,
        verdict=verdict,
        equal=equal,
        warnings=tuple(warnings),
    )
