"""Measure what a panel's agreement is worth on labelled questions: the answers as a table, and the profile from it.

Start at :func:`profile_of`. Asking is in :mod:`dissensus.study.asking`, the file in :mod:`dissensus.study.profile`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import dissensus
from dissensus.agents.panel import Panel
from dissensus.answers import matches_gold, read_answer
from dissensus.decide.measured import Level, Measured, Tried
from dissensus.decide.settings import VoteSettings, assign
from dissensus.decide.wording import kind_of
from dissensus.errors import SpecError
from dissensus.measure.audit import DEFINITIONS_VERSION, Audit, audit
from dissensus.measure.calibration import FEWEST
from dissensus.measure.intervals import clopper_pearson
from dissensus.measure.subsets import usual_sizes
from dissensus.measure.table import VoteTable, table_of
from dissensus.measure.tallies import tally
from dissensus.script.questions import Question
from dissensus.study.asking import Asked
from dissensus.study.panel_digest import digest_of, wording_digest
from dissensus.study.profile import Profile

MOST_TIMES = 100
"""How often one agent may be asked the same question."""


def labelled(questions: Sequence[Question]) -> list[Question]:
    """The questions with a right answer.

    Raises SpecError if there is none, if one stands there twice (it would count as two), or if a right answer is none
    that the question allows.
    """
    seen: dict[tuple[Any, ...], str] = {}
    for place, question in enumerate(questions, 1):
        name = question.id or f"number {place}"
        same = (" ".join(question.text.split()), question.kind, question.options, question.unit)
        if seen.setdefault(same, name) != name:
            raise SpecError(
                f"The questions {seen[same]} and {name} are the same; a question counts once.",
                next_step="Take one of them out.",
            )
        if question.gold is not None and not _can_be(question, question.gold):
            raise SpecError(
                f"The right answer {question.gold!r} of the question {name} is no answer that it allows.",
                next_step="Correct its gold, kind, unit or options.",
            )
    known = [question for question in questions if question.gold is not None]
    if not known:
        raise SpecError(
            "No question has a right answer, so there is nothing to measure by.",
            next_step='Give each line a "gold" that you know to be right.',
        )
    return known


def enlarged(panel: Panel, settings: VoteSettings, agents: int) -> Panel:
    """``panel`` with its voters asked again and again until there are ``agents`` voters; each sample has its own seed.

    The first sample of a voter keeps its name, the second one of ada is called ``ada 2``. No smaller than the panel.
    Raises SpecError if that takes more than ``MOST_TIMES`` samples of each.
    """
    voters = assign(panel.seats, settings).voters
    if agents > MOST_TIMES * len(voters):
        raise SpecError(
            f"{agents} is more than {MOST_TIMES} answers of each of {len(voters)} agents.",
            next_step="Give smaller --sizes, or a panel with more agents.",
        )
    seats, model_of = list(panel.seats), dict(panel.model_of)
    after = max(place for place, seat in enumerate(seats) if seat in voters) + 1
    more = []
    for place in range(len(voters), agents):
        seat = voters[place % len(voters)]
        name = f"{seat.agent} {place // len(voters) + 1}"
        if name in model_of:
            raise SpecError(f"An agent is called {name!r} already.", next_step="Give it another name.")
        more.append(replace(seat, agent=name))
        model_of[name] = panel.model_of[seat.agent]
    seats[after:after] = more
    return replace(panel, seats=tuple(seats), model_of=model_of)


def checked_sizes(sizes: Sequence[int], agents: int) -> tuple[int, ...]:
    """The sizes of the curve, rising, and how many voters that takes: the last, or the panel.

    Raises SpecError for one that the curve does not have.
    """
    most = max([agents, *sizes])
    if wrong := sorted(set(sizes) - set(usual_sizes(most))):
        raise SpecError(
            f"There is no curve at {wrong[0]} agents.",
            next_step="Use sizes from 1 to 12, or odd ones up to 51, or 61, 71 …, besides the largest.",
        )
    return tuple(sorted(set(sizes) or {size for size in usual_sizes(most) if size % 2 or size == most}))


def table_from(asked: Sequence[Asked], voters: Sequence[str]) -> VoteTable:
    """The answers as a table: a row for each question, a column for each of ``voters``; kinds are its strata."""
    rows: list[list[str | None]] = []
    for one in asked:
        row: list[str | None] = []
        for voter in voters:
            ballot = one.ballots.get(voter)
            answer = ballot.answer if ballot is not None else None
            row.append(None if answer is None else _as_counted(one.question, answer))
        rows.append(row)
    return table_of(
        rows,
        [one.question.gold for one in asked],
        voters=voters,
        questions=[one.question.id or one.question.text for one in asked],
        options=[len(one.question.options) or (2 if one.kind == "yes-no" else 0) for one in asked],
        strata=[one.kind for one in asked],
    )


def _as_counted(question: Question, answer: str) -> str:
    """The right answer as the file writes it, if ``answer`` is that; wrong ones are kept as they were counted."""
    if _right(question, answer):
        return str(question.gold)
    return answer if answer != question.gold else f"{answer} (not the right one)"


def _can_be(question: Question, answer: str) -> bool:
    found = read_answer(kind_of(question), answer, options=question.options, unit=question.unit)
    return found.canonical is not None


def _right(question: Question, answer: str) -> bool:
    gold = str(question.gold)
    return matches_gold(kind_of(question), answer, gold, options=question.options, unit=question.unit)


def profile_of(
    asked: Sequence[Asked],
    panel: Mapping[str, Any],
    sizes: Sequence[int],
    *,
    made: Mapping[str, Any],
    source: str = "",
    notes: Sequence[str] = (),
) -> tuple[Profile, Audit]:
    """The profile of the panel, and the audit of its answers.

    Figures by number of agreeing agents are those of the panel as it is, each agent asked once. The curve rests on
    all answers. With fewer than ``FEWEST`` labels there are no such figures but a sentence.

    Args:
        asked: labelled questions, all asked of the same voters.
        panel: the panel's description.
        sizes: numbers of agents to give the accuracy for.
        made: date, seed, file and whatever else is to be known.
        source: the profile's name, for texts.
        notes: more sentences for its warnings.
    """
    voters = [entry["agent"] for entry in panel["agents"] if not entry["spare"]]
    everyone = list(asked[0].ballots)
    own = table_from(asked, voters)
    found = audit(own)
    whole = found if len(everyone) == len(voters) else audit(table_from(asked, everyone))
    tallies = tally(own)
    right = tallies.unique
    alone = tallies.tied == 1
    few = (
        f"{len(asked)} labelled questions are too few for a figure; at least {FEWEST} are needed."
        if len(asked) < FEWEST
        else ""
    )
    levels = [
        _level(k, int((alone & (tallies.leader == k)).sum()), int((right & (tallies.leader == k)).sum()))
        for k in range(1, len(voters) + 1)
    ]
    kinds = {
        kind: Tried(
            count=sum(one.kind == kind for one in asked),
            correct=sum(bool(good) for one, good in zip(asked, right, strict=True) if one.kind == kind),
        )
        for kind in sorted({one.kind for one in asked})
    }
    measured = Measured(
        panel=digest_of(panel),
        voters=len(voters),
        labels=len(asked),
        levels=() if few else tuple(levels),
        kinds=kinds,
        n_eff=None if few or found.errors is None else found.errors.n_eff,
        date=str(made.get("date", "")),
        source=source,
        too_few=few,
    )
    curve = whole.panel.curve if whole.panel is not None else None
    profile = Profile(
        panel=panel,
        questions={
            "digest": digest_of_questions([one.question for one in asked]),
            "n": len(asked),
            "file": made.get("file", ""),
        },
        measured=measured,
        sizes=tuple(
            {"n": point.n, "plurality": point.plurality, "band": point.band, "independent": point.condorcet}
            for point in (curve.points if curve is not None else ())
            if point.n in sizes
        ),
        ties=int((~alone).sum()),
        audit=found.to_data(),
        warnings=tuple(dict.fromkeys([*([few] if few else []), *notes, *_lost(asked), *found.warnings])),
        made={
            "software": dissensus.__version__,
            "definitions_version": DEFINITIONS_VERSION,
            "wording": wording_digest(),
            "answers_of_each": len(everyone) / len(voters),
            **made,
        },
    )
    return profile, found


def digest_of_questions(questions: Sequence[Question]) -> str:
    """Digest of the questions with their right answers, in whatever order."""
    return digest_of(sorted(digest_of([one.text, one.kind, one.options, one.unit, one.gold]) for one in questions))


def _level(agreeing: int, count: int, correct: int) -> Level:
    low, high = clopper_pearson(correct, count) if count else (0.0, 1.0)
    return Level(agreeing=agreeing, count=count, correct=correct, low=low, high=high)


def _lost(asked: Sequence[Asked]) -> list[str]:
    lost = Counter(ballot.outcome for one in asked for ballot in one.ballots.values() if one.lost)
    calls = sum(one.lost for one in asked)
    if not calls:
        return []
    kinds = ", ".join(f"{number} {kind}" for kind, number in sorted(lost.items()) if kind in ("transport", "budget"))
    return [f"{calls} answers are blank because the call did not come about ({kinds}); they count as not right."]
