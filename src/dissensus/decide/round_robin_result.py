"""What writing in turns ends with: every turn, every text with how it ended, and what qualifies the answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from dissensus.decide.ledger import CACHES, Spoken, count, total
from dissensus.decide.round_robin_opinions import Ear
from dissensus.decide.round_robin_settings import Fidelity
from dissensus.script.decisions import Ballot, Decision
from dissensus.script.seats import Seat

End = Literal["eos", "length", "turns", "bytes", "idle", "failed", "not-awaited"]
"""How a text ended: by its writers, at L tokens, at the bound on turns or on bytes, after a round that added nothing,
because calls failed, or given up because it could change nothing any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One turn. ``None`` means that it is not known, never 0.

    Args:
        text: which text, from 0 on.
        turn: which of its turns, from 0 on.
        seat: who wrote, as a seat from 0 on; ``agent`` is the name.
        model: the model, with its digest where the back end tells it.
        tokenizer: digest of its tokenizer ("" if it is not known).
        template: digest of how the prompt was rendered ("" if it is not known).
        fidelity: how exactly the text was continued.
        before: tokens of the text before the turn.
        input_hash: SHA-256 of the text as it was handed over, first 16 hexadecimal digits.
        added: what was added, as text; an incomplete character shows as U+FFFD.
        finish: ``eos`` (the back end says that the writer ended), ``length``, ``other``, or ``error``.
        kept: tokens added that stand in the finished text; on the record, in the text after the turn.
        withdrawn: tokens that were added and that a verifier took back, then or later.
        trimmed: tokens cut off again so that the turn ends where it may.
        dropped: control tokens left out.
        marks: control marks of chat templates that the turn wrote or completed as text.
        decoded: tokens sampled, those not kept included.
        prompt: tokens of the writer's own prompt, its template included.
        computed: tokens of prompt and text that the back end read anew.
        cached: those that it did not have to.
        logprob: mean natural-log probability of the sampled tokens under their own writer.
        along: tokens that the other agents read while this turn was written, where they read along.
        seconds: how long the call took.
        failure: kind of the outcome if the call failed; ``problem`` says what happened.
        cause: the stable word for the cause, where the failure has one.
        key: key of the effect in the record; the seed of the call stands there.
    """

    text: int
    turn: int
    seat: int
    agent: str
    model: str = ""
    tokenizer: str = ""
    template: str = ""
    fidelity: Fidelity = "token_exact"
    before: int = 0
    input_hash: str = ""
    added: str = ""
    finish: Literal["eos", "length", "other", "error"] = "length"
    kept: int = 0
    withdrawn: int = 0
    trimmed: int = 0
    dropped: int = 0
    marks: int = 0
    decoded: int | None = None
    prompt: int | None = None
    computed: int | None = None
    cached: int | None = None
    logprob: float | None = None
    along: int = 0
    seconds: float | None = None
    failure: str = ""
    cause: str = ""
    problem: str = ""
    key: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class WrongStep:
    """A step of a text that a mechanical verifier found wrong.

    Args:
        turn: the turn, from 0 on, after which it was found; a step is judged when its line or sentence is closed.
        verifier: which one found it.
        start: where it began in the text as it was then, in characters.
        written: the step.
        why: what is wrong with it.
        writers: who wrote some of it.
        action: ``noted``, ``taken-back``, or ``let-stand`` after a round in which every turn was taken back.
        tokens: how many tokens of the text were taken back.
    """

    turn: int
    verifier: str
    start: int
    written: str
    why: str
    writers: tuple[str, ...]
    action: Literal["noted", "taken-back", "let-stand"]
    tokens: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """One text (a trajectory).

    Args:
        number: from 0 on.
        start: the seat that began it, from 0 on.
        end: how it ended.
        text: all of it.
        ids: its token ids, where it was handed over as ids.
        kept: its tokens.
        answer: its canonical answer; None if it has none.
        rule: by which rule the answer was found: ``hashes``, ``boxed``, ``phrase``, ``fallback``; "" for none.
        outcome: ``reply``, ``abstained``, ``invalid``, or how it failed: as in a ballot.
        problem: why there is no answer.
        fidelity: the least exact of its turns.
        turns: in order.
        wrong: the steps that verifiers found wrong, in the order in which they were found.
    """

    number: int
    start: int
    end: End
    text: str = ""
    ids: tuple[int, ...] | None = None
    kept: int = 0
    answer: str | None = None
    rule: str = ""
    outcome: str = "reply"
    problem: str = ""
    fidelity: Fidelity = "token_exact"
    turns: tuple[Turn, ...] = ()
    wrong: tuple[WrongStep, ...] = ()

    @property
    def name(self) -> str:
        """``text-1`` for the first: its scope in the record, and its name among the ballots."""
        return f"text-{self.number + 1}"

    @property
    def first_writer(self) -> str:
        """Who added the first token; "" if nobody did."""
        return next((turn.agent for turn in self.turns if turn.kept), "")

    @property
    def last_writer(self) -> str:
        """Who added the last token; "" if nobody did."""
        return next((turn.agent for turn in reversed(self.turns) if turn.kept), "")


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundRobin(Decision):
    """A decision by texts that the agents wrote in turns. Each ballot is a text's.

    Args:
        texts: every text, in order.
        seats: the writers in the order of their turns.
        fidelity: the least exact of all turns.
        ends: how many texts ended in which way.
        by_agent: for each writer: turns, tokens kept and decoded, texts begun, first and last writer of, ended.
        tied: the answers among which a draw decided, or nothing was decided; empty without a tie.
        strict: answer and votes if only announced answers counted.
        invalid: texts without an answer that can be read.
        ledger: tokens, ``measured`` by the back ends and ``counted`` from the turns for each kind of cache
            (:mod:`dissensus.decide.ledger`); ``counted`` is None where not every count is known. What listening took
            stands apart, under ``ear``.
        ear: what the agents made of what their peers wrote; None if nobody listened.
    """

    texts: tuple[Text, ...] = ()
    seats: tuple[str, ...] = ()
    fidelity: Fidelity = "token_exact"
    ends: Mapping[str, int] = field(default_factory=dict)
    by_agent: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    tied: tuple[str, ...] = ()
    strict: Mapping[str, Any] = field(default_factory=dict)
    invalid: int = 0
    ledger: Mapping[str, Any] = field(default_factory=dict)
    ear: Ear | None = None


def ballot_of(text: Text, seats: Sequence[Seat]) -> Ballot:
    """A text's ballot. ``agent`` is the name of the text: nobody in particular cast it."""
    return Ballot(
        agent=text.name,
        answer=text.answer,
        reply=text.text,
        outcome=text.outcome,
        reason=text.problem,
        key=text.turns[-1].key if text.turns else "",
        read_by=text.rule,
        model=", ".join(sorted({seat.model for seat in seats})),
    )


def by_agent(texts: Sequence[Text], seats: Sequence[str]) -> dict[str, dict[str, int]]:
    """What each writer did, in the order of seats."""
    names = ("turns", "kept", "decoded", "begun", "first_writer", "last_writer", "ended", "failed")
    sums: dict[str, Counter[str]] = {seat: Counter() for seat in seats}
    for text in texts:
        sums[seats[text.start]]["begun"] += bool(text.turns)
        for role in ("first_writer", "last_writer"):
            if who := getattr(text, role):
                sums[who][role] += 1
        for turn in text.turns:
            own = sums[turn.agent]
            own["turns"] += 1
            own["kept"] += turn.kept
            own["decoded"] += turn.decoded or 0
            own["ended"] += turn.finish == "eos"
            own["failed"] += bool(turn.failure)
    return {seat: {name: own[name] for name in names} for seat, own in sums.items()}


def ledger_of(texts: Sequence[Text], seats: Sequence[str]) -> dict[str, Any]:
    """Tokens of all turns: as the back ends tell them, and as they follow from the turns for each kind of cache.

    ``counted``, and the same with each prompt read once for all texts, only if every turn tells its prompt and what was
    sampled, in tokens of one tokenizer. ``unknown`` is the number of turns that did not tell what they took.
    """
    turns = [turn for text in texts for turn in text.turns]
    measured = {
        name: sum(value for turn in turns if (value := getattr(turn, name)) is not None)
        for name in ("decoded", "computed", "cached")
    }
    done = [turn for turn in turns if not turn.failure]
    unknown = sum(turn.decoded is None for turn in turns)
    not_split = sum(turn.computed is None for turn in turns)
    counted: dict[str, Any] | None = None
    shared: dict[str, Any] | None = None
    if all(turn.prompt and turn.decoded is not None and turn.fidelity == "token_exact" for turn in done):
        spoken = [
            Spoken(
                text=turn.text,
                seat=turn.seat,
                prompt=turn.prompt or 0,
                before=turn.before,
                sampled=turn.decoded or 0,
                kept=max(grown, 0),
                back=max(-grown, 0),
            )
            for text in texts
            for turn, grown in _growth(text)
            if not turn.failure
        ]
        counted = {}
        for name, block in CACHES.items():
            ledgers = count(spoken, block=block)
            own = {seats[seat]: one.to_data() for seat, one in sorted(ledgers.items())}
            counted[name] = {**total(ledgers.values()).to_data(), "by_agent": own}
        shared = {
            name: total(count(spoken, block=block, shared=True).values()).to_data()
            for name, block in CACHES.items()
            if block
        }
    return {
        "measured": {
            **measured,
            "along": sum(turn.along for turn in turns),
            "unknown": unknown,
            "cache_unknown": not_split,
        },
        "counted": counted,
        "shared_prompts": shared,
        "kept": sum(turn.kept for turn in turns),
        "withdrawn": sum(turn.withdrawn for turn in turns),
    }


def _growth(text: Text) -> Iterator[tuple[Turn, int]]:
    """Each turn, and by how many tokens the text was longer after it: fewer than none where a step was taken back."""
    ends = [*(turn.before for turn in text.turns[1:]), text.kept]
    for turn, end in zip(text.turns, ends, strict=False):  # a text that nobody wrote has no turn and one end
        yield turn, end - turn.before
