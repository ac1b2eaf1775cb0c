"""The receiver's ear: numbers by brute force, whichever way they come; no writer reads of it; weights; sides."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import fmean, median
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from turntable import CAN, NAMES, QUESTION, played, ran, seats

from dissensus.agents.scripted import Scripted
from dissensus.agents.scripted_tokens import CHARACTERS
from dissensus.decide.ledger import listening
from dissensus.decide.round_robin_opinions import Ear, HeardText, Opinion, sides, weights_of
from dissensus.decide.round_robin_result import RoundRobin
from dissensus.decide.round_robin_settings import RoundRobinSettings
from dissensus.errors import SpecError, UsageError
from dissensus.measure.drift_fit import fit_steps
from dissensus.measure.study_points import read_points
from dissensus.record.sqlite import open_record
from dissensus.run import runs
from dissensus.script.calls import Capability, Extend
from dissensus.script.effects import Continue, Effect, ScoreTexts
from dissensus.script.outcomes import BudgetExhausted, Extended, Outcome, Scores, TransportFailure, Usage
from dissensus.script.questions import Question

LISTENS = CAN | {Capability.LOGPROBS}


def rr(**more: Any) -> RoundRobinSettings:
    given_: dict[str, Any] = {"trajectories": 1, "ear": "both"} | more
    return RoundRobinSettings(**given_)


def logprob(reader: str, text: str) -> float:
    """What ``reader`` makes of the last character of ``text``, by its own lights: any function of both will do."""
    digest = hashlib.sha256(f"{reader}/{text}".encode()).digest()
    return -0.01 - digest[0] / 50


def chain(reader: str, before: str, text: str) -> list[float]:
    return [logprob(reader, before + text[: place + 1]) for place in range(len(text))]


class Room:
    """Writers who say lines of ``said`` in turn, a token for each character, and score by :func:`logprob`.

    ``tells``: which numbers come with the writing: ``nothing``, ``heard`` at hand-over, or ``others`` as it is written.
    """

    def __init__(self, said: Sequence[str], *, tells: str = "nothing", last: str = "stop") -> None:
        self.said, self.tells, self.last = said, tells, last
        self.read: dict[str, int] = {}
        self.effects: list[Effect] = []

    def __call__(self, key: str, effect: Effect) -> Outcome:
        self.effects.append(effect)
        if isinstance(effect, ScoreTexts):
            before = effect.text if effect.tokens is None else "".join(map(chr, effect.tokens))
            sums = tuple(math.fsum(chain(effect.agent, before, text)) for text in effect.continuations)
            usage = Usage(tokens_in=10 + len(before), tokens_cached=10, tokens_out=0)
            return Scores(logprobs=sums, lengths=tuple(map(len, effect.continuations)), usage=usage)
        assert isinstance(effect, Continue)
        before = effect.text if effect.tokens is None else "".join(map(chr, effect.tokens))
        name = f"{key.partition('/')[0]}/{effect.agent}" if not key.startswith("ear") else effect.stream
        heard = None
        if effect.hear and self.tells == "heard":
            known = min(self.read.get(name, 0), len(before))
            heard = tuple(chain(effect.agent, before[:known], before[known:]))
            self.read[name] = len(before)
        if not effect.max_tokens:
            return Extended(text="", tokens=(), finish="length", heard=heard)
        turn = int(key.partition("turn-")[2].partition("/")[0]) - 1
        told = self.said[turn] if turn < len(self.said) else ""
        text, ended = told[: effect.max_tokens], turn >= len(self.said) - 1
        others = None
        if effect.hear and self.tells == "others":
            others = {one: tuple(chain(one, before, text)) for one in NAMES[:3] if one != effect.agent}
        return Extended(
            text=text, tokens=None if effect.tokens is None else tuple(map(ord, text)),
            ends=tuple(range(1, len(text) + 1)), finish=self.last if ended else "length", sampled=len(text),
            usage=Usage(tokens_in=10 + len(before), tokens_cached=0), heard=heard, others=others, read=3,
        )  # fmt: skip


SAID = ("So 2 + 2 ", "= 5. ", "Answer: 5.", " No, ", "Answer: 4.")


def expected(text: str, parts: Sequence[tuple[str, str]], reader: str) -> list[float | None]:
    found: list[float | None] = []
    before = ""
    for writer, part in parts:
        found.append(None if writer == reader else -fmean(chain(reader, before, part)))
        before += part
    assert before == text
    return found


@pytest.mark.parametrize("tells", ["nothing", "heard", "others"])
@pytest.mark.parametrize("ids", [True, False])
def test_surprise_and_odds_are_what_each_readers_model_says_from_its_own_prompt(tells: str, ids: bool) -> None:
    can = LISTENS if ids else LISTENS - {Capability.TOKENS}
    found = played(Room(SAID, tells=tells), seats(3, can=can), rr(k=40))
    assert found.ear is not None
    (heard,) = found.ear.texts
    assert found.texts[0].text == "".join(SAID)
    assert (heard.chunks, heard.writers) == ((0, 1, 2, 3, 4), ("ada", "ben", "cleo", "ada", "ben"))
    assert (found.ear.candidates, found.ear.source) == (("4", "5"), "answers")
    for opinion in heard.opinions:
        parts = list(zip(heard.writers, SAID, strict=True))
        assert opinion.surprise == pytest.approx(expected(found.texts[0].text, parts, opinion.reader))
        assert opinion.in_pass == (
            sum(writer != opinion.reader for writer in heard.writers) if ids and tells != "nothing" else 0
        )
        for mark in range(6):
            before = "".join(SAID[:mark])
            numbers = [math.fsum(chain(opinion.reader, before, f"\n\nAnswer: {one}\n")) for one in ("4", "5")]
            assert opinion.answers[mark] == pytest.approx(numbers)
    assert heard.surprise[0] == pytest.approx(
        median(value for one in heard.opinions if (value := one.surprise[0]) is not None)
    )
    odds = [one.answers[5] for one in heard.opinions]
    assert heard.odds[5] == pytest.approx(fmean(one[0] - one[1] for one in odds if one is not None))


@settings(max_examples=60)
@given(
    said=st.lists(st.sampled_from(["1 + 1 = 2. ", "1 + 1 = 3. ", "so\n", "€ ", "x" * 9]), min_size=1, max_size=7),
    k=st.integers(1, 12), tells=st.sampled_from(["nothing", "heard", "others"]), n=st.integers(1, 3),
    boundary=st.sampled_from(["none", "word-number", "line"]), rewrite=st.booleans(),
)  # fmt: skip
def test_however_it_is_told_and_whatever_is_taken_back_the_numbers_are_the_same(
    *, said: list[str], k: int, tells: str, n: int, boundary: Any, rewrite: bool
) -> None:
    how = rr(
        k=k, length=60, boundary=boundary, delta=3, ear="surprise", max_turns=20,
        verifiers=("arithmetic",) if rewrite else (), on_wrong="rewrite",
    )  # fmt: skip
    found = played(Room(said, tells=tells), seats(n, can=LISTENS), how)
    assert found.ear is not None
    for text, heard in zip([one for one in found.texts if one.kept], found.ear.texts, strict=True):
        parts = [(text.turns[turn].agent, text.turns[turn].added) for turn in heard.chunks]
        for opinion in heard.opinions:
            assert opinion.surprise == pytest.approx(expected(text.text, parts, opinion.reader))
            assert opinion.answers == ()


def test_it_changes_nothing_that_is_written_and_no_writer_reads_a_candidate() -> None:
    quiet, room = Room(SAID), Room(SAID)
    off = played(quiet, seats(3, can=LISTENS), rr(k=40, ear="off"))
    on = played(room, seats(3, can=LISTENS), rr(k=40, ear_candidates=("777", "4")))
    assert on.texts == off.texts
    assert off.ear is None
    written = [effect for effect in room.effects if isinstance(effect, Continue)]
    assert [replace(effect, hear=False) for effect in written] == quiet.effects
    assert not any("777" in f"{effect.prompt}{effect.text}" for effect in written)
    scored = [effect for effect in room.effects if isinstance(effect, ScoreTexts)]
    assert {effect.prompt for effect in scored} == {effect.prompt for effect in written}
    assert not any("777" in f"{effect.prompt}{effect.text}" for effect in scored)
    assert any("777" in one for effect in scored for one in effect.continuations)
    assert len({effect.thread for effect in scored}) == len(scored)


def test_what_it_costs_stands_apart() -> None:
    off = played(Room(SAID), seats(3, can=LISTENS), rr(k=40, ear="off"))
    room = Room(SAID)
    on = played(room, seats(3, can=LISTENS), rr(k=40))
    assert {**on.ledger, "ear": None} == {**off.ledger, "ear": None}
    assert on.ledger["measured"]["along"] == 15
    scores = [effect for effect in room.effects if isinstance(effect, ScoreTexts)]
    assert on.ledger["ear"]["calls"] == len(scores) == 3 * 6
    assert on.ledger["ear"]["scored"] == sum(len(one) for effect in scores for one in effect.continuations)
    assert on.ledger["ear"]["read"] == sum(10 + len(effect.tokens or ()) for effect in scores)
    assert on.ledger["ear"]["in_pass"] == 0
    assert on.cost.calls == off.cost.calls + len(scores)
    free = played(Room(SAID, tells="others"), seats(3, can=LISTENS), rr(k=40, ear="surprise"))
    assert (free.ledger["ear"]["calls"], free.ledger["ear"]["in_pass"]) == (0, 10)


@settings(max_examples=30)
@given(n=st.integers(1, 4), k=st.integers(1, 40), length=st.integers(1, 90), texts=st.integers(1, 3))
def test_what_it_takes_is_what_the_plan_says(n: int, k: int, length: int, texts: int) -> None:
    endless = dict.fromkeys(NAMES, Scripted("word " * 200))
    how = rr(k=k, length=length, trajectories=texts, ear="drift", ear_candidates=("1", "2"))
    found = played(endless, seats(n, can=LISTENS), how)
    prompt = found.texts[0].turns[0].prompt
    assert prompt is not None
    planned = listening(n, k, length, prompt, texts=texts)
    took = found.ledger["ear"]
    assert (took["calls"], took["read"]) == (planned["calls"], planned["none"])


def test_candidates_are_options_or_given_or_what_texts_answer() -> None:
    choice = Question(text="Which?", kind="choice", options=("red", "blue"))
    room = Room(["Answer: red."])
    found = played(room, seats(2, can=LISTENS), rr(k=40, ear="drift"), question=choice)
    assert found.ear is not None
    assert (found.ear.candidates, found.ear.source) == (("red", "blue"), "options")
    assert all(one.surprise == (None,) for one in found.ear.texts[0].opinions)
    given_ = played(Room(SAID), seats(2, can=LISTENS), rr(k=40, ear_candidates=("4", "9")))
    assert given_.ear is not None
    assert (given_.ear.candidates, given_.ear.source, given_.ear.texts[0].answer) == (("4", "9"), "given", "4")


# --- who listens, and what fails


def test_nobody_who_can_listen_is_refused_and_who_cannot_is_named() -> None:
    with pytest.raises(SpecError, match="Nobody can listen"):
        played(Room(SAID), seats(2), rr(k=40))
    table = (seats(1, can=LISTENS)[0], seats(2)[1])
    found = played(Room(SAID), table, rr(k=40))
    assert found.ear is not None
    assert [one.reader for one in found.ear.texts[0].opinions] == ["ada"]
    assert any("Not among the readers" in warning and "ben" in warning for warning in found.warnings)


@pytest.mark.parametrize(
    "failure", [TransportFailure(problem="it cannot score", cause="capability"), BudgetExhausted(what="tokens"),
                Scores(logprobs=(), lengths=()), Scores(logprobs=(-math.inf,) * 3, lengths=(1,) * 3)],
)  # fmt: skip
def test_what_fails_is_not_known_and_never_a_number(failure: Outcome) -> None:
    room = Room(SAID)

    def answer(key: str, effect: Effect) -> Outcome:
        if isinstance(effect, ScoreTexts) and effect.agent == "ben":
            if isinstance(failure, Scores) and failure.logprobs:
                return replace(failure, logprobs=failure.logprobs[: len(effect.continuations)],
                               lengths=failure.lengths[: len(effect.continuations)])  # fmt: skip
            return failure
        return room(key, effect)

    found = played(answer, seats(3, can=LISTENS), rr(k=40, weight="drift"))
    assert found.ear is not None
    own = found.ear.texts[0].opinions[1]
    assert own.surprise == (None,) * 5
    assert set(own.answers) == {None}
    assert found.ear.texts[0].odds == (None,) * 6
    assert found.ear.weights == ()
    assert found.ballots[0].weight == 1.0
    assert any("were not weighed" in warning for warning in found.warnings)
    assert found.answer == "4"


@pytest.mark.parametrize(
    "wrong",
    [
        {"ear": "off", "weight": "surprise"}, {"ear": "drift", "weight": "surprise"},
        {"weight": "drift", "adaptive": True}, {"weight": "drift", "ear_candidates": ("1", "2")},
        {"ear": "surprise", "ear_candidates": ("1", "2")}, {"ear_candidates": ("1",)},
    ],
)  # fmt: skip
def test_settings_that_cannot_be(wrong: dict[str, Any]) -> None:
    with pytest.raises(SpecError):
        played(Room(SAID), seats(2, can=LISTENS), rr(**wrong))


# --- weights


def text_of(number: int, answer: str | None, surprise: Sequence[float], odds: Sequence[float]) -> HeardText:
    return HeardText(number=number, answer=answer, surprise=tuple(surprise), odds=tuple(odds))


def test_weights_by_hand() -> None:
    ear = Ear(mode="both", texts=(text_of(0, "a", [1.0, 3.0], [0.0, 1.0]), text_of(1, "b", [0.5], [2.0, 2.0, 1.0])))
    assert weights_of(ear, "surprise") == (round(math.exp(-2), 6), round(math.exp(-0.5), 6))
    assert weights_of(ear, "drift") == (round(1 / (1 + math.exp(-1)), 6), round(1 / (1 + math.e), 6))
    half = Ear(mode="both", texts=(text_of(0, "a", [1.0], [0.0, 1.0]), HeardText(number=1, answer="b")))
    assert weights_of(half, "surprise") == weights_of(half, "drift") == ()
    without = Ear(mode="both", texts=(text_of(0, "a", [1.0], [0.0, 0.0]), HeardText(number=1)))
    assert weights_of(without, "drift") == (0.5, 1e-6)


def test_a_weighted_vote_is_another_vote_and_says_so() -> None:
    """Two texts say 5 and surprise everybody, one says 4 and does not."""
    said = {"text-1": "Answer: 4.", "text-2": "Answer: 5.", "text-3": "Answer: 5."}

    def answer(key: str, effect: Effect) -> Outcome:
        if isinstance(effect, ScoreTexts):
            sums = tuple(-0.1 * len(one) if "4" in one else -3.0 * len(one) for one in effect.continuations)
            return Scores(logprobs=sums, lengths=tuple(map(len, effect.continuations)))
        text = said[key.partition("/")[0]]
        return Extended(text=text, tokens=tuple(map(ord, text)), ends=tuple(range(1, len(text) + 1)), finish="stop")

    plain = played(answer, seats(3, can=LISTENS), rr(trajectories=3, ear="surprise"))
    assert (plain.answer, plain.votes) == ("5", {"5": 2.0, "4": 1.0})
    weighed = played(answer, seats(3, can=LISTENS), rr(trajectories=3, ear="surprise", weight="surprise"))
    assert weighed.answer == "4"
    assert weighed.ear is not None
    assert weighed.ear.weights == (round(math.exp(-0.1), 6), round(math.exp(-3), 6), round(math.exp(-3), 6))
    assert [ballot.weight for ballot in weighed.ballots] == list(weighed.ear.weights)
    assert weighed.votes == pytest.approx({"4": math.exp(-0.1), "5": 2 * math.exp(-3)}, abs=1e-6)
    assert "weighed by the surprise" in weighed.rule


# --- sides


def test_sides_by_hand_and_their_steps_are_what_the_drift_model_reads() -> None:
    def opinion(reader: str, x: Sequence[float], surprise: Sequence[float | None]) -> Opinion:
        return Opinion(reader=reader, answers=tuple((value, 0.0, -9.0) for value in x), surprise=tuple(surprise))

    opinions = (
        opinion("ada", [0.0, 1.0, 0.5, 2.0], [None, 2.0, 1.0]), opinion("ben", [0.0, 3.0, 2.5, 4.0], [1.0, 3.0, None]),
        opinion("eve", [-5.0, -5.0, -5.0, -5.0], [4.0, None, 6.0]),
    )  # fmt: skip
    ear = Ear(
        mode="both", candidates=("right", "wrong", "other"),
        texts=(HeardText(number=0, chunks=(0, 1, 3), writers=("ada", "eve", "ben"), opinions=opinions),),
    )  # fmt: skip
    found = sides(ear, {"eve"}, right="right", target="wrong", name="q1")
    assert [(step.text, step.turn, step.corrupted, step.before, step.after) for step in found.steps] == [
        ("q1/text-1", 0, False, 0.0, 2.0), ("q1/text-1", 1, True, 2.0, 1.5), ("q1/text-1", 3, False, 1.5, 3.0),
    ]  # fmt: skip
    assert (found.honest.chunks, found.honest.step, found.corrupted.step) == (2, 1.75, -0.5)
    assert (found.honest.to_honest, found.honest.to_corrupted) == (1.0, 5.0)
    assert (found.corrupted.to_honest, found.corrupted.to_corrupted) == (2.5, None)
    assert ear.by_writer() == {"ada": 2.5, "eve": 2.5, "ben": 3.5}
    against_all = sides(ear, {"eve"}, right="right")
    assert against_all.steps[0].before == pytest.approx(-math.log(1 + math.exp(-9)))
    _, steps = read_points(json.dumps(found.to_data()).encode())
    assert steps == found.steps
    twice = [*steps, *[replace_text(step, "q2") for step in steps]]
    assert fit_steps(twice).corrupted.step.value == pytest.approx(-0.5)
    with pytest.raises(UsageError, match="not among the answers"):
        sides(ear, {"eve"}, right="left")


def replace_text(step: Any, text: str) -> Any:
    return type(step)(text=text, turn=step.turn, corrupted=step.corrupted, before=step.before, after=step.after)


# --- the record


def test_it_is_on_the_record_for_the_operator_and_replays(tmp_path: Path) -> None:
    def said(name: str, call: Extend) -> Outcome:
        return Room(SAID)(call.key, Continue(name, "", tokens=call.tokens, max_tokens=call.max_tokens))

    models = {
        name: Scripted(continues=partial(said, name), tokenizer=CHARACTERS, capabilities=LISTENS) for name in NAMES
    }
    path = tmp_path / "run.db"
    live, _ = ran(models, seats(3, can=LISTENS), rr(k=40, weight="drift"), path=path)
    with open_record(path) as store:
        events = list(store.read())
    notes = [event for event in events if event.kind in ("ear", "weights")]
    assert len(notes) == 3 + 1
    assert {event.visibility for event in notes} == {"operator"}
    recorded = next(event.body for event in events if event.kind == "decision")
    again = RoundRobin.from_data(recorded)
    assert isinstance(again, RoundRobin)
    assert again.ear == live.ear
    replayed = runs.replay(path)
    assert isinstance(replayed.decision, RoundRobin)
    assert (replayed.identical, replayed.decision.ear) == (True, live.ear)
    assert QUESTION.text == live.question
