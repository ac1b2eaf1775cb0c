"""From finished texts to a decision: count their answers, break or keep ties, and say what qualifies them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from dissensus.decide.caveats import failures_of
from dissensus.decide.cost import Bill
from dissensus.decide.round_robin_ear import Listened
from dissensus.decide.round_robin_opinions import Ear, HeardText, Weight, weights_of
from dissensus.decide.round_robin_overheard import Overheard
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
    overheard: Overheard = field(default_factory=Overheard)


def decide(table: Table, written: Sequence[Written], heard: Listened | None = None) -> RoundRobin:
    """The decision by plurality of the texts' answers, weighed by what was heard if the settings say so."""
    texts = tuple(one.text for one in written)
    ear = None if heard is None else weighed(heard.ear, table.settings.weight)
    weights = dict(zip([text.number for text in ear.texts], ear.weights, strict=False)) if ear is not None else {}
    tally = count(_votes(texts, weights), "plurality")
    answer, status, tied = _winner(table, tally)
    bill = Bill()
    for one in written:
        bill.merge(one.bill)
    ledger = ledger_of(texts, tuple(seat.agent for seat in table.seats))
    if heard is not None:
        bill.merge(heard.bill)
        ledger["ear"] = _cost_of_listening(heard)
    names = tuple(seat.agent for seat in table.seats)
    ballots = tuple(replace(ballot_of(text, table.seats), weight=weights.get(text.number, 1.0)) for text in texts)
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
        warnings=tuple(one for one in (*_caveats(table, texts, tied, bill), *_of_the_ear(table, ear)) if one),
        worth={"status": "unmeasured", "text": _WORTH},
        cost=bill.cost(),
        rule=_rule(table),
        texts=texts,
        seats=names,
        fidelity=worst([text.fidelity for text in texts if text.turns]),
        ends=dict(sorted(Counter(text.end for text in texts).items())),
        by_agent=by_agent(texts, names),
        tied=tied,
        strict=_strict(texts, weights),
        invalid=sum(text.outcome == Invalid.kind for text in texts),
        ledger=ledger,
        ear=ear,
    )


def weighed(ear: Ear, weight: Weight) -> Ear:
    """``ear`` with what each text weighs; without, where all weigh alike or that could not be found out."""
    weights = () if weight == "none" else weights_of(ear, weight)
    return replace(ear, weight=weight, weights=weights) if weights else ear


_WORTH = (
    "Whoever writes a turn has read what stands before it, so the writers of a text are not independent, and the texts "
    "share their writers. Their agreement says how steadily this panel arrives somewhere, not that it is right: more "
    "texts make the likelier answer more certain, right or wrong."
)


def _votes(texts: Sequence[Text], weights: Mapping[int, float], *, strictly: bool = False) -> list[Vote]:
    return [
        Vote(
            answer=None if strictly and text.rule == "fallback" else text.answer,
            weight=Fraction(str(weights.get(text.number, 1))),  # the decimal number, exactly
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


def _strict(texts: Sequence[Text], weights: Mapping[int, float]) -> Mapping[str, Any]:
    tally = count(_votes(texts, weights, strictly=True), "plurality")
    return {"answer": tally.answer, "votes": _numbers(tally)}


def _rule(table: Table) -> str:
    settings, writers = table.settings, len(table.seats)
    texts = settings.texts(writers)
    unit = "tokens" if settings.unit == "writer" else "pieces"
    ends = "one writer ends a text" if not settings.q_eos else f"{settings.q_eos + 1} writers in a row end a text"
    weight = "" if settings.weight == "none" else f", each weighed by the {settings.weight} that was heard"
    ties = "a tie is drawn" if settings.ties == "seeded" else "a tie is a split"
    return (
        f"round-robin: {writers} writers in turns of {settings.k} {unit}, at most {settings.length}; {ends}; plurality "
        f"of {texts} text{'s' * (texts > 1)}{weight}; {ties}; a text without an answer counts for none"
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


def _of_the_ear(table: Table, ear: Ear | None) -> Iterator[str]:
    if ear is None:
        return
    if problems := ear.problems():
        yield f"{len(problems)} readings of texts are not complete. The first: {problems[0]}"
    deaf = [seat.agent for seat in table.seats if all(seat.agent not in _readers(text) for text in ear.texts)]
    if deaf and ear.texts:
        yield f"Not among the readers, because their models tell no log-probabilities: {', '.join(deaf)}."
    one_answer = table.settings.weight == "drift" and len(ear.candidates) < 2  # then weights could change nothing
    if table.settings.weight != "none" and not ear.weights and not one_answer:
        yield "The texts were not weighed: what was heard of them is not complete."


def _readers(text: HeardText) -> set[str]:
    return {one.reader for one in text.opinions}


def _cost_of_listening(heard: Listened) -> dict[str, Any]:
    """What the ear took beside the writing. ``in_pass``: opinions of chunks that came with the writing itself."""
    cost = heard.bill.cost()
    cached = [usage.tokens_cached for usage in heard.bill.usages]
    known = [tokens for tokens in cached if tokens is not None]
    opinions = [one for text in heard.ear.texts for one in text.opinions]
    return {
        "calls": cost.calls,
        "read": cost.tokens_in,
        "cached": sum(known) if known else None,
        "scored": sum(one.scored for one in opinions),
        "seconds": cost.seconds,
        "in_pass": sum(one.in_pass for one in opinions),
        "unknown": sum(tokens is None for tokens in cached),
    }


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
