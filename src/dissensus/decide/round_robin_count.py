"""From finished texts to a decision: count their answers, break or keep ties, and say what qualifies them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dissensus.decide.caveats import failures_of
from dissensus.decide.cost import Bill
from dissensus.decide.round_robin_result import RoundRobin, Text, ballot_of, by_agent, ledger_of
from dissensus.decide.round_robin_writers import Table, worst
from dissensus.decide.tally import NOT_AWAITED, Tally, Vote, count
from dissensus.script.decisions import Status
from dissensus.script.keys import seed_of
from dissensus.script.outcomes import Invalid


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A finished text, and what its calls took."""

    text: Text
    bill: Bill


def decide(table: Table, written: Sequence[Written]) -> RoundRobin:
    """The decision by plurality of the texts' answers."""
    texts = tuple(one.text for one in written)
    tally = count(_votes(texts), "plurality")
    answer, status, tied = _winner(table, tally)
    bill = Bill()
    for one in written:
        bill.merge(one.bill)
    names = tuple(seat.agent for seat in table.seats)
    ballots = tuple(ballot_of(text, table.seats) for text in texts)
    return RoundRobin(
        question=table.question.text,
        answer=answer,
        status=status,
        ballots=ballots,
        votes=_numbers(tally),
        dissent=tuple(
            {"agent": text.name, "answer": text.answer, "reason": ""}
            for text in texts
            if text.answer is not None and text.answer != answer
        ),
        failures=failures_of(ballots),
        warnings=tuple(one for one in _caveats(table, texts, tied, bill) if one),
        worth={"status": "unmeasured", "text": _WORTH},
        cost=bill.cost(),
        rule=_rule(table),
        texts=texts,
        seats=names,
        fidelity=worst([text.fidelity for text in texts if text.turns]),
        ends=dict(sorted(Counter(text.end for text in texts).items())),
        by_agent=by_agent(texts, names),
        tied=tied,
        strict=_strict(texts),
        invalid=sum(text.outcome == Invalid.kind for text in texts),
        ledger=ledger_of(texts, names),
    )


_WORTH = (
    "Whoever writes a turn has read what stands before it, so the writers of a text are not independent, and the texts "
    "share their writers. Their agreement says how steadily this panel arrives somewhere, not that it is right: more "
    "texts make the likelier answer more certain, right or wrong."
)


def _votes(texts: Sequence[Text], *, strictly: bool = False) -> list[Vote]:
    return [
        Vote(
            answer=None if strictly and text.rule == "fallback" else text.answer,
            weight=Fraction(1),
            outcome=text.outcome,
        )
        for text in texts
    ]


def _numbers(tally: Tally) -> dict[str, float]:
    return {answer: float(votes) for answer, votes in tally.votes.items()}


def _winner(table: Table, tally: Tally) -> tuple[str | None, Status, tuple[str, ...]]:
    """The answer, how it ended, and the answers that were tied, in the order of their text."""
    if tally.status is not Status.SPLIT or len(tally.leaders) < 2:
        return tally.answer, tally.status, ()
    tied = tuple(sorted(tally.leaders))
    if table.settings.ties == "abstain":
        return None, Status.SPLIT, tied
    return tied[seed_of(table.seed, "tie") % len(tied)], Status.DECIDED, tied


def _strict(texts: Sequence[Text]) -> Mapping[str, Any]:
    tally = count(_votes(texts, strictly=True), "plurality")
    return {"answer": tally.answer, "votes": _numbers(tally)}


def _rule(table: Table) -> str:
    settings, writers = table.settings, len(table.seats)
    texts = settings.texts(writers)
    unit = "tokens" if settings.unit == "writer" else "pieces"
    ends = "one writer ends a text" if not settings.q_eos else f"{settings.q_eos + 1} writers in a row end a text"
    ties = "a tie is drawn" if settings.ties == "seeded" else "a tie is a split"
    return (
        f"round-robin: {writers} writers in turns of {settings.k} {unit}, at most {settings.length}; {ends}; plurality "
        f"of {texts} text{'s' * (texts > 1)}; {ties}; a text without an answer counts for none"
    )


def _caveats(table: Table, texts: Sequence[Text], tied: Sequence[str], bill: Bill) -> Iterator[str]:
    """What the figures do not say by themselves, most important first."""
    yield _fidelity(table, texts)
    if tied:
        how = "one was drawn by the seed" if table.settings.ties == "seeded" else "none was taken"
        yield f"{len(tied)} answers were tied ({', '.join(tied)}); {how}."
    yield from _blanks(texts)
    yield from _failed_turns(texts)
    fallback = sum(text.answer is not None and text.rule == "fallback" for text in texts)
    if fallback:
        yield f"{fallback} of {len(texts)} answers were read where no mark announces them (the last one of its kind)."
    yield from _wrong_steps(texts)
    yield from _forged(texts)
    if broken := sum("\ufffd" in text.text for text in texts):
        yield (
            f"{broken} of {len(texts)} texts hold characters that did not become whole as text; where ids were handed "
            "over, the writers read them as they were written."
        )
    starts = Counter(table.seats[start].agent for start in table.starts)
    if len(set(starts.values())) > 1 or len(starts) < min(len(table.seats), len(texts)):
        counts = ", ".join(f"{seat.agent} {starts[seat.agent]}" for seat in table.seats)
        yield f"The seats did not begin equally many texts: {counts}."
    if table.settings.turns == "random":
        yield "The writer of each turn was drawn: this is no round-robin."
    if bill.unknown:
        yield f"The tokens of {bill.unknown} call{'s' * (bill.unknown > 1)} are not known; the cost leaves them out."


def _fidelity(table: Table, texts: Sequence[Text]) -> str:
    exact = worst([text.fidelity for text in texts if text.turns])
    if exact == "approximate":
        quoted = [seat.agent for seat, means in zip(table.seats, table.means, strict=True) if means == "quotes"]
        who = f" ({', '.join(quoted)})" if quoted else ""
        return (
            f"APPROXIMATE: models that cannot continue a text{who} were shown it in quotes and asked for what comes "
            "next. This is another procedure; do not put it beside exact results."
        )
    if exact == "text_prefill":
        return (
            "Texts were handed over as text and cut into tokens anew at each turn: near a seam a model may read tokens "
            "that nobody wrote."
        )
    return ""


def _blanks(texts: Sequence[Text]) -> Iterator[str]:
    kinds = Counter(text.outcome for text in texts if text.answer is None and text.outcome != NOT_AWAITED)
    if kinds:
        told = ", ".join(f"{number} {kind}" for kind, number in sorted(kinds.items()))
        counted = sum(text.answer is not None for text in texts)
        yield f"{counted} of {len(texts)} texts count; the others are blank ({told})."
    if given_up := [text.name for text in texts if text.end == "not-awaited"]:
        yield f"Not awaited, because no text of theirs could change the outcome: {', '.join(given_up)}."
    if cut := sum(text.end in ("length", "turns", "bytes") for text in texts):
        yield f"{cut} of {len(texts)} texts ended at a limit, not by their writers."
    if idle := sum(text.end == "idle" for text in texts):
        yield f"{idle} of {len(texts)} texts ended because in a whole round nobody added anything."


def _failed_turns(texts: Sequence[Text]) -> Iterator[str]:
    failed = [turn for text in texts for turn in text.turns if turn.failure]
    if failed:
        agents = ", ".join(f"{agent} {number}" for agent, number in sorted(Counter(t.agent for t in failed).items()))
        yield f"{len(failed)} turns failed and added nothing ({agents}). The first: {failed[0].problem}"


def _wrong_steps(texts: Sequence[Text]) -> Iterator[str]:
    found = [wrong for text in texts for wrong in text.wrong]
    if not found:
        return
    names = Counter(name for wrong in found for name in wrong.writers)
    told = ", ".join(f"{name} {number}" for name, number in sorted(names.items()))
    back = [wrong for wrong in found if wrong.action == "taken-back"]
    what = f"{sum(wrong.tokens for wrong in back):,} tokens were taken back for it" if back else "they stand"
    by = ", ".join(sorted({wrong.verifier for wrong in found}))
    yield (
        f"Wrong steps in the texts by {by}: {len(found)} (written by {told}); {what}. What a verifier cannot read it "
        "passes over."
    )


def _forged(texts: Sequence[Text]) -> Iterator[str]:
    turns = [turn for text in texts for turn in text.turns]
    if marks := sum(turn.marks for turn in turns):
        who = ", ".join(sorted({turn.agent for turn in turns if turn.marks}))
        yield (
            f"Writers put {marks} control mark{'s' * (marks > 1)} of chat templates into the texts ({who}): "
            "they were read as plain text, or left out where text was handed over."
        )
    if dropped := sum(turn.dropped for turn in turns):
        yield f"{dropped} control token{'s' * (dropped > 1)} came back and did not become part of a text."
