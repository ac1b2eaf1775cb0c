"""Writing in turns: the published trace, ledgers, the same text at every K, ends, bounds and failures."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from turntable import CAN, NAMES, played, ran, seats

from dissensus.agents.scripted import Scripted
from dissensus.agents.scripted_tokens import BYTES, CHARACTERS, TOKENIZERS, WORDS
from dissensus.decide.ledger import EXACT, NONE, plan
from dissensus.decide.round_robin_result import RoundRobin
from dissensus.decide.round_robin_settings import RoundRobinSettings
from dissensus.decide.round_robin_writers import _marker
from dissensus.decide.tally import Vote, settled
from dissensus.errors import SpecError
from dissensus.record.event import Draft
from dissensus.record.memory import MemoryStore
from dissensus.run import runs
from dissensus.run.performers import Live
from dissensus.script.calls import Capability, Extend
from dissensus.script.decisions import Decision, Status
from dissensus.script.effects import Continue, Effect
from dissensus.script.outcomes import (
    BudgetExhausted,
    Extended,
    Outcome,
    Refusal,
    TimedOut,
    TransportFailure,
    Usage,
    from_data,
)
from dissensus.script.questions import Question


def rr(**more: Any) -> RoundRobinSettings:
    return RoundRobinSettings(**({"trajectories": 1} | more))


# --- the scripted trace of the reference


def trace_writer(_key: str, effect: Effect) -> Outcome:
    """Seats 0, 3, 4 add one token and end; seats 1, 2 fill the text up to 12 tokens and then end. Prompts have 10."""
    assert isinstance(effect, Continue)
    written = len(effect.tokens or ())
    corrupted = effect.agent in {"ada", "dan", "eve"}
    number = 1 if corrupted else min(effect.max_tokens, max(12 - written, 0))
    ended = number < effect.max_tokens
    return Extended(
        text="x" * number,
        tokens=(7,) * number,
        ends=tuple(range(1, number + 1)),
        finish="stop" if ended else "length",
        sampled=number + ended,
        usage=Usage(tokens_in=10 + written, tokens_out=number + ended),
    )


@pytest.mark.parametrize(
    ("q_eos", "turns", "kept", "decoded", "computed", "end"),
    [
        (0, "0:1e", 1, 2, 10, "eos"),
        (1, "0:1e 1:4 2:4 3:1e 4:1e 0:1e 1:0e", 12, 17, 93, "eos"),
        (2, "0:1e 1:4 2:4 3:1e 4:1e 0:1e 1:0e 2:0e", 12, 18, 97, "eos"),
        (3, None, 40, 91, 207, "length"),
        (4, None, 40, 91, 207, "length"),
    ],
)
def test_trace(*, q_eos: int, turns: str | None, kept: int, decoded: int, computed: int, end: str) -> None:
    decision = played(trace_writer, seats(5), rr(k=4, length=40, q_eos=q_eos))
    (text,) = decision.texts
    assert (text.end, text.kept) == (end, kept)
    if turns is not None:
        assert " ".join(f"{t.seat}:{t.kept}{'e' * (t.finish == 'eos')}" for t in text.turns) == turns
    exact = decision.ledger["counted"]["exact"]
    assert (exact["decoded"], exact["computed"]) == (decoded, computed)


def test_trace_computed_by_turn() -> None:
    turns = played(trace_writer, seats(5), rr(k=4, length=40, q_eos=1)).texts[0].turns
    held: dict[int, int] = {}
    computed = []
    for turn in turns:
        assert turn.prompt is not None
        assert turn.decoded is not None
        context = turn.prompt + turn.before
        computed.append(context - min(held.get(turn.seat, 0), context - 1))
        held[turn.seat] = turn.prompt + min(turn.before + turn.kept, turn.before + turn.decoded - 1)
    assert computed == [10, 11, 15, 19, 20, 10, 8]


# --- the ledger of a run is the plan


@settings(max_examples=40)
@given(
    n=st.sampled_from([1, 2, 3, 5, 7]), length=st.integers(1, 150), k=st.integers(1, 60), texts=st.integers(1, 4),
    prompt=st.integers(1, 30), start=st.sampled_from(["rotate", "fixed", "random"]),
)  # fmt: skip
def test_the_ledger_counted_from_turns_is_the_closed_form(
    *, n: int, length: int, k: int, texts: int, prompt: int, start: Any
) -> None:
    """On the scripted token model, which never ends here: prompts have as many words as they are given."""
    question = Question(text="w " * max(prompt - 1, 0) + "w", kind="number")
    table = seats(n)
    endless = Scripted("word " * 400)
    decision = played(
        dict.fromkeys(NAMES, endless), table, rr(k=k, length=length, trajectories=texts, start=start), question=question
    )
    said = decision.texts[0].turns[0].prompt
    assert said is not None
    for name, block in (("none", NONE), ("block16", 16), ("exact", EXACT)):
        planned = plan(n, k, length, said, starts=[text.start for text in decision.texts], block=block)
        counted = {**decision.ledger["counted"][name]}
        by_agent = counted.pop("by_agent")
        assert counted == planned.to_data()
        assert sum(one["computed"] for one in by_agent.values()) == planned.computed
    assert decision.ledger["measured"]["decoded"] == texts * length
    shared = plan(n, k, length, said, starts=[text.start for text in decision.texts], shared=True)
    assert decision.ledger["shared_prompts"]["exact"] == shared.to_data()


# --- the same text at every K


@settings(max_examples=60)
@given(
    text=st.text(alphabet="ab cé€.\n7😀", min_size=1, max_size=60), tokenizer=st.sampled_from(sorted(TOKENIZERS)),
    k=st.integers(1, 300), n=st.integers(1, 5),
    boundary=st.sampled_from(["none", "utf8", "word-number", "sentence", "line"]), delta=st.integers(0, 12),
    unit=st.sampled_from(["writer", "ruler"]),
)  # fmt: skip
def test_honest_writers_give_the_same_tokens_at_every_k(
    *, text: str, tokenizer: str, k: int, n: int, boundary: Any, delta: int, unit: Any
) -> None:
    def written(n: int, k: int, **more: Any) -> Any:
        models = {name: Scripted(text, tokenizer=TOKENIZERS[tokenizer]) for name in NAMES}
        how = rr(k=k, length=400, delta=delta, temperature=0.0, max_turns=5000, **more)
        return played(models, seats(n), how).texts[0]

    alone, together = written(1, 400, boundary="none"), written(n, k, boundary=boundary, unit=unit)
    assert together.ids == alone.ids == TOKENIZERS[tokenizer].ids(TOKENIZERS[tokenizer].split(text))
    assert together.text == alone.text == text
    assert together.end == "eos"


@pytest.mark.parametrize("k", [1, 2, 3, 7, 16, 50, 99, 100, 101, 300])
def test_twenty_prompts_of_a_hundred_tokens(k: int) -> None:
    for number in range(20):
        words = " ".join(f"w{number * 31 + place * 17 % 97}" for place in range(100))
        models = dict.fromkeys(NAMES, Scripted(words))
        together = played(models, seats(5), rr(k=k, length=100, temperature=0.0)).texts[0]
        assert together.ids == WORDS.ids(WORDS.split(words))


@given(text=st.text(alphabet="ab c€😀.\n", max_size=40), k=st.integers(1, 30))
def test_by_text_and_in_characters_too(text: str, k: int) -> None:
    can = frozenset({Capability.CHAT, Capability.CONTINUE})
    models = {name: Scripted(text, tokenizer=CHARACTERS, capabilities=can) for name in NAMES}
    decision = played(models, seats(3, can=can), rr(k=k, length=200, boundary="none"))
    assert decision.texts[0].text == text
    assert decision.fidelity == "text_prefill"
    assert any("handed over as text" in warning for warning in decision.warnings)


def test_half_a_character_is_handed_on_as_ids_and_becomes_whole() -> None:
    models = {name: Scripted("a€b", tokenizer=BYTES) for name in NAMES}
    none = played(models, seats(2), rr(k=2, length=9, boundary="none"))
    assert [turn.added for turn in none.texts[0].turns] == ["a\ufffd", "\ufffd\ufffd", "b"] or none.texts[
        0
    ].text == "a€b"
    assert none.texts[0].text == "a€b"
    whole = played(models, seats(2), rr(k=2, length=9, boundary="utf8"))
    # the first turn backs off to "a"; where nothing whole fits, the piece is handed on as it is
    assert whole.texts[0].turns[0].trimmed == 1
    assert whole.texts[0].text == "a€b"


# --- who writes when


def test_texts_begin_on_rotating_seats_and_run_side_by_side() -> None:
    models = dict.fromkeys(NAMES, Scripted("one two three four"))
    decision, store = ran(models, seats(3), RoundRobinSettings(k=2, length=4, temperature=0.0))
    assert [text.start for text in decision.texts] == [0, 1, 2]
    kinds = [(event.kind, event.key) for event in store.read() if event.kind == "continue"]
    assert kinds[:3] == [("continue", f"text-{m + 1}/turn-1/{NAMES[m]}") for m in range(3)]
    assert decision.by_agent["ada"] == {
        "turns": 2, "kept": 4, "decoded": 4, "begun": 1, "first_writer": 1, "last_writer": 1, "ended": 0, "failed": 0,
    }  # fmt: skip


def test_start_and_order_are_options() -> None:
    models = dict.fromkeys(NAMES, Scripted("one two three four"))
    fixed = played(models, seats(3), RoundRobinSettings(k=2, length=4, start="fixed", first=2))
    assert [text.start for text in fixed.texts] == [2, 2, 2]
    assert any("did not begin equally many" in warning for warning in fixed.warnings)
    drawn = [
        tuple(text.start for text in played(models, seats(3), RoundRobinSettings(start="random"), seed=s).texts)
        for s in range(6)
    ]
    assert len(set(drawn)) > 1
    assert drawn[0] == tuple(text.start for text in played(models, seats(3), RoundRobinSettings(start="random")).texts)
    ordered = played(models, seats(3), rr(k=1, length=3, order=("cleo", "ada", "ben")))
    assert [turn.agent for turn in ordered.texts[0].turns] == ["cleo", "ada", "ben"]
    random = played(models, seats(3), rr(k=1, length=4, turns="random"))
    assert any("no round-robin" in warning for warning in random.warnings)


def test_spares_do_not_write() -> None:
    table = (*seats(2), *(seat for seat in seats(3, spare=True)[2:]))
    decision = played(dict.fromkeys(NAMES, Scripted("a b c d")), table, rr(k=1))
    assert decision.seats == ("ada", "ben")


# --- how a text ends


def test_one_that_ends_at_once_ends_it_alone_and_q_eos_asks_others() -> None:
    models = {"ada": Scripted(""), "ben": Scripted("the answer is 7"), "cleo": Scripted("the answer is 7")}
    alone = played(models, seats(3), rr())
    assert (alone.texts[0].end, alone.texts[0].text, alone.status) == ("eos", "", Status.FAILED)
    asked = played(models, seats(3), rr(q_eos=1))
    assert (asked.texts[0].text, asked.texts[0].end, asked.answer) == ("the answer is 7", "eos", "7")


def test_one_that_never_ends_is_bounded_by_the_length() -> None:
    decision = played(dict.fromkeys(NAMES, Scripted("more " * 500)), seats(2), rr(k=7, length=30))
    assert (decision.texts[0].end, decision.texts[0].kept) == ("length", 30)
    assert any("ended at a limit" in warning for warning in decision.warnings)


def test_the_end_comes_from_the_finish_reason_alone() -> None:
    def writer(_key: str, effect: Effect) -> Outcome:
        assert isinstance(effect, Continue)
        # fewer tokens than asked for, and no end; a full turn that says it is the end
        first = not effect.tokens
        return Extended(
            text="ab" if first else "cdef",
            tokens=(1, 2) if first else (3, 4, 5, 6),
            ends=(1, 2) if first else (1, 2, 3, 4),
            finish="length" if first else "stop",
        )  # fmt: skip

    text = played(writer, seats(2), rr(k=4)).texts[0]
    assert [turn.finish for turn in text.turns] == ["length", "eos"]
    assert (text.text, text.end) == ("abcdef", "eos")


def test_one_that_returns_nothing_costs_a_turn_and_a_round_of_it_ends_the_text() -> None:
    nothing = Scripted(continues=lambda _call: Extended(text="", tokens=(), ends=(), finish="length", sampled=0))
    talker = Scripted("the answer is 7")
    decision = played({"ada": nothing, "ben": talker}, seats(2), rr(k=2))
    assert decision.answer == "7"
    assert [turn.kept for turn in decision.texts[0].turns][:4] == [0, 2, 0, 2]
    idle = played({"ada": nothing, "ben": nothing}, seats(2), rr(k=2))
    assert (idle.texts[0].end, len(idle.texts[0].turns), idle.status) == ("idle", 2, Status.FAILED)


def test_padding_is_bounded_by_turns_and_by_bytes() -> None:
    def writer(_key: str, _effect: Effect) -> Outcome:
        return Extended(text="x", tokens=(1,), ends=(1,), finish="stop", sampled=2)

    padded = played(writer, seats(3), rr(k=100, length=1000, q_eos=2))
    assert (padded.texts[0].end, len(padded.texts[0].turns)) == ("turns", 8 * 10 + 4 * 3)
    fat = played(writer, seats(3), rr(k=100, length=1000, q_eos=2, max_bytes=5))
    assert (fat.texts[0].end, len(fat.texts[0].text)) == ("bytes", 5)


# --- what is counted


def answering(*answers: str) -> Any:
    """A writer of whole texts: text m gives the m-th answer."""

    def writer(key: str, _effect: Effect) -> Outcome:
        number = int(key.partition("/")[0].removeprefix("text-")) - 1
        text = f"The answer is {answers[number]}."
        return Extended(text=text, tokens=tuple(map(ord, text)), ends=tuple(range(1, len(text) + 1)), finish="stop")

    return writer


def test_plurality_of_texts_with_dissent() -> None:
    decision = played(answering("7", "8", "7"), seats(3), RoundRobinSettings(k=100))
    assert (decision.answer, decision.status, decision.votes) == ("7", Status.DECIDED, {"7": 2.0, "8": 1.0})
    assert [one["agent"] for one in decision.dissent] == ["text-2"]
    assert decision.invalid == 0


def test_numbers_are_the_same_however_they_are_dressed() -> None:
    decision = played(answering("$1,000", "1000.0", "1000 %"), seats(3), RoundRobinSettings(k=100))
    assert decision.votes == {"1000": 3.0}


def test_ties_are_drawn_by_the_seed_among_sorted_answers_or_kept() -> None:
    drawn = {
        played(answering("7", "8"), seats(2), RoundRobinSettings(k=100, trajectories=2), seed=seed).answer
        for seed in range(12)
    }
    assert drawn == {"7", "8"}
    swapped = [
        played(answering(*order), seats(2), RoundRobinSettings(k=100, trajectories=2), seed=3).answer
        for order in (("7", "8"), ("8", "7"))
    ]
    assert swapped[0] == swapped[1]
    kept = played(answering("7", "8"), seats(2), RoundRobinSettings(k=100, trajectories=2, ties="abstain"))
    assert (kept.answer, kept.status, kept.tied) == (None, Status.SPLIT, ("7", "8"))


def test_invalid_texts_count_for_none_and_are_told() -> None:
    decision = played(answering("nothing", "7", "perhaps"), seats(3), RoundRobinSettings(k=100))
    assert (decision.answer, decision.invalid) == ("7", 2)
    assert any("1 of 3 texts count" in warning for warning in decision.warnings)


def test_strict_and_lenient_are_both_reported() -> None:
    def writer(key: str, _effect: Effect) -> Outcome:
        text = "so it must be 9" if key.startswith("text-1/") else "#### 7"
        return Extended(text=text, tokens=tuple(map(ord, text)), ends=tuple(range(1, len(text) + 1)), finish="stop")

    lenient = played(writer, seats(3), RoundRobinSettings(k=100))
    assert lenient.votes == {"7": 2.0, "9": 1.0}
    assert lenient.strict == {"answer": "7", "votes": {"7": 2.0}}
    strict = played(writer, seats(3), RoundRobinSettings(k=100, extraction="strict"))
    assert (strict.votes, strict.invalid) == ({"7": 2.0}, 1)


def test_units_abstentions_and_thinking() -> None:
    hours = Question(text="How long?", kind="number", unit="h")
    decision = played(answering("300 min", "5", "5 h"), seats(3), RoundRobinSettings(k=100), question=hours)
    assert decision.votes == {"5 h": 3.0}
    unsure = played(answering("unsure", "unsure"), seats(2), RoundRobinSettings(k=100))
    assert (unsure.status, {ballot.outcome for ballot in unsure.ballots}) == (Status.ABSTAINED, {"abstained"})

    def thinker(_key: str, _effect: Effect) -> Outcome:
        text = "The answer is 7.<think>The answer is 8.</think>"
        return Extended(text=text, tokens=tuple(map(ord, text)), ends=tuple(range(1, len(text) + 1)), finish="stop")

    assert played(thinker, seats(2), rr(k=100)).answer == "7"
    assert played(thinker, seats(2), rr(k=100, thinking="text")).answer == "8"


def test_which_answer_counts_is_an_option() -> None:
    def writer(_key: str, _effect: Effect) -> Outcome:
        text = "Answer: 1\nAnswer: 2 [END]\nAnswer: 3"
        return Extended(text=text, tokens=tuple(map(ord, text)), ends=tuple(range(1, len(text) + 1)), finish="stop")

    for which, answer in (("first", "1"), ("last-before-end", "2"), ("last", "3")):
        assert played(writer, seats(2), rr(k=100, answer=which)).answer == answer


# --- adaptive M


@pytest.mark.parametrize(("p", "expected"), [(1.0, 3.0), (0.9, 3.3186), (0.7, 3.8946), (0.5, 4.125)])
def test_adaptive_stops_when_the_lead_is_safe_from_a_tie(p: float, expected: float) -> None:
    mean = 0.0
    for answers in product("78", repeat=5):
        decision = played(
            answering(*answers), seats(5), RoundRobinSettings(k=100, adaptive=True, at_once=1, trajectories=5)
        )
        used = sum(text.end != "not-awaited" for text in decision.texts)
        full = played(answering(*answers), seats(5), RoundRobinSettings(k=100, trajectories=5))
        assert decision.answer == full.answer
        mean += used * p ** answers.count("7") * (1 - p) ** answers.count("8")
    assert mean == pytest.approx(expected, abs=5e-5)


@pytest.mark.parametrize(("p", "expected"), [(1.0, 21.0), (0.9, 23.3333), (0.7, 29.9856), (0.5, 36.8598)])
def test_the_same_rule_at_forty_one(p: float, expected: float) -> None:
    one = Fraction(1)
    chances = {(0, 0): 1.0}
    mean = 0.0
    for number in range(1, 42):
        later: dict[tuple[int, int], float] = {}
        for (a, b), chance in chances.items():
            for state, share in (((a + 1, b), p), ((a, b + 1), 1 - p)):
                votes = [Vote(answer=x, weight=one) for x in "a" * state[0] + "b" * state[1]]
                if settled(votes, [one] * (41 - number), "plurality"):
                    mean += number * chance * share
                else:
                    later[state] = later.get(state, 0.0) + chance * share
        chances = later
    assert mean == pytest.approx(expected, abs=5e-5)


def test_in_a_race_the_others_are_cancelled() -> None:
    slow = Scripted("The answer is 7.", delay_s=lambda call: 30.0 if call.key.startswith("text-3") else 0.0)
    decision, _ = ran(dict.fromkeys(NAMES, slow), seats(3), RoundRobinSettings(adaptive=True, k=9))
    assert [text.end for text in decision.texts] == ["eos", "eos", "not-awaited"]
    assert decision.ballots[2].outcome == "cancelled"
    assert any("Not awaited" in warning for warning in decision.warnings)


# --- what fails


def failing(failure: Outcome, *, who: str = "ada") -> Any:
    talker = "the answer is 7"

    def writer(_key: str, effect: Effect) -> Outcome:
        assert isinstance(effect, Continue)
        if who in {effect.agent, "*"}:
            return failure
        rest = talker[len(effect.tokens or ()) :][: effect.max_tokens]
        done = len(rest) < effect.max_tokens
        return Extended(
            text=rest,
            tokens=tuple(map(ord, rest)),
            ends=tuple(range(1, len(rest) + 1)),
            finish="stop" if done else "length",
        )

    return writer


@pytest.mark.parametrize(
    "failure",
    [
        TransportFailure(problem="the server died in the middle", cause="connect"),
        TransportFailure(problem="the context holds 4096 tokens", cause="context-length"),
        Refusal(text="no"),
        TimedOut(after_s=1.0),
    ],
)
def test_a_failed_turn_adds_nothing_and_passes_on(failure: Outcome) -> None:
    decision = played(failing(failure), seats(3), rr(k=4))
    assert decision.answer == "7"
    bad = [turn for turn in decision.texts[0].turns if turn.agent == "ada"]
    assert all((turn.finish, turn.kept, turn.added, turn.failure) == ("error", 0, "", failure.kind) for turn in bad)
    assert any("failed and added nothing (ada" in warning for warning in decision.warnings)
    ended = played(failing(failure), seats(3), rr(k=4, on_failure="end"))
    assert (ended.texts[0].end, ended.status, ended.failures) == ("failed", Status.FAILED, {failure.kind: 1})


def test_all_failed_is_a_failure_with_its_reason() -> None:
    failure = TransportFailure(problem="the context holds 4096 tokens", cause="context-length")
    decision = played(failing(failure, who="*"), seats(3), RoundRobinSettings(k=4))
    assert (decision.status, decision.answer) == (Status.FAILED, None)
    assert {text.end for text in decision.texts} == {"failed"}
    assert [turn.cause for turn in decision.texts[0].turns] == ["context-length"] * 3
    assert decision.ballots[0].reason == failure.problem


def test_an_empty_purse_ends_a_text_at_once_and_leaves_the_question_open() -> None:
    decision = played(failing(BudgetExhausted(what="tokens"), who="*"), seats(3), RoundRobinSettings(k=4))
    assert decision.status is Status.OPEN_BUDGET
    assert [len(text.turns) for text in decision.texts] == [1, 1, 1]


def test_a_back_end_that_cannot_after_all_ends_the_text() -> None:
    lacking = TransportFailure(problem="This server cannot continue a text.", cause="capability")
    decision = played(failing(lacking), seats(3), rr(k=4))
    assert decision.texts[0].end == "failed"
    assert decision.texts[0].problem == "This server cannot continue a text."


def test_more_tokens_than_asked_for_are_cut_or_refused() -> None:
    def writer(_key: str, _effect: Effect) -> Outcome:
        return Extended(text="abcdefgh", tokens=tuple(range(8)), ends=tuple(range(1, 9)), finish="length")

    assert played(writer, seats(2), rr(k=3, length=6)).texts[0].text == "abcabc"

    def blind(_key: str, _effect: Effect) -> Outcome:
        return Extended(text="abcdefgh", tokens=tuple(range(8)), finish="length")

    refused = played(blind, seats(2), rr(k=3, length=6)).texts[0]
    assert (refused.end, refused.text, refused.turns[0].failure) == ("failed", "", "invalid")


def test_a_back_end_without_ids_where_ids_were_promised_is_refused() -> None:
    refused = played(lambda _key, _effect: Extended(text="abc"), seats(2), rr(k=3)).texts[0]
    assert (refused.end, refused.outcome) == ("failed", "invalid")


# --- control tokens and marks


def test_control_ids_never_become_part_of_the_text() -> None:
    def writer(_key: str, _effect: Effect) -> Outcome:
        return Extended(text="ab<e>c", tokens=(1, 2, 99, 3), ends=(1, 2, 5, 6), finish="stop", dropped=1)

    decision = played(writer, seats(2), rr(control_ids=(99,)))
    assert (decision.texts[0].ids, decision.texts[0].text) == ((1, 2, 3), "abc")
    assert decision.texts[0].turns[0].dropped == 2
    assert any("2 control tokens came back" in warning for warning in decision.warnings)


def test_marks_are_left_out_of_text_even_if_two_writers_make_one_together() -> None:
    can = frozenset({Capability.CHAT, Capability.CONTINUE})
    parts = ["ok <|im_", "end|> and <|im_<|im_end|>start|> so", " 7"]

    def writer(_key: str, effect: Effect) -> Outcome:
        assert isinstance(effect, Continue)
        assert "<|im_end|>" not in effect.text
        assert "<|im_start|>" not in effect.text
        turn = int(_key.partition("turn-")[2].partition("/")[0]) - 1
        return Extended(text=parts[turn], finish="stop" if turn == 2 else "length", sampled=4)

    decision = played(writer, seats(3, can=can), rr(k=4))
    assert decision.texts[0].text == "ok <|im_ and  so 7"
    assert decision.texts[0].turns[1].marks == 3
    # as ids they are harmless: they stay and are counted
    by_ids = played(dict.fromkeys(NAMES, Scripted("a <|im_end|> b")), seats(2), rr(k=1))
    assert by_ids.texts[0].text == "a <|im_end|> b"
    assert sum(turn.marks for turn in by_ids.texts[0].turns) == 1
    assert any("control mark" in warning for warning in by_ids.warnings)


# --- refusals before anybody is asked


def test_a_model_that_cannot_continue_is_refused_by_name_and_reason() -> None:
    chat = frozenset({Capability.CHAT})
    with pytest.raises(SpecError, match="ada cannot take part: its model scripted cannot continue") as refused:
        played({}, seats(2, can=chat), rr())
    assert "finished chat turns" in refused.value.message
    assert "--quoted" in refused.value.next_step


def test_token_exact_is_refused_with_the_reason() -> None:
    text_only = frozenset({Capability.CHAT, Capability.CONTINUE})
    with pytest.raises(SpecError, match="takes no token ids"):
        played({}, seats(2, can=text_only), rr(fidelity="token_exact"))
    mixed = tuple(
        seat.__class__(agent=seat.agent, model=f"m{place}", capabilities=CAN, tokenizer=f"t{place}")
        for place, seat in enumerate(seats(2))
    )
    with pytest.raises(SpecError, match="ada and ben have different tokenizers"):
        played({}, mixed, rr(fidelity="token_exact"))
    with pytest.raises(SpecError, match="tags"):
        played({}, seats(2), rr(fidelity="token_exact", attribution="tags"))


def test_equal_digests_share_ids_and_different_ones_share_text() -> None:
    first, second = seats(2)
    same = tuple(
        seat.__class__(agent=seat.agent, model=f"m{place}", capabilities=CAN, tokenizer="t")
        for place, seat in enumerate((first, second))
    )
    models = dict.fromkeys(NAMES, Scripted("the answer is 7"))
    assert played(models, same, rr(k=1)).fidelity == "token_exact"
    other = (same[0], same[1].__class__(agent="ben", model="m1", capabilities=CAN, tokenizer="u"))
    mixed = played(models, other, rr(k=1))
    assert (mixed.fidelity, mixed.answer) == ("text_prefill", "7")
    assert mixed.ledger["counted"] is None


@pytest.mark.parametrize(
    "wrong",
    [
        {"k": 0}, {"length": 0}, {"q_eos": 2}, {"first": 2}, {"order": ("ada",)}, {"top_p": 0.0}, {"temperature": 3.0},
        {"answer": "last-before-end", "end_mark": " "}, {"control_marks": ("",)}, {"delta": -1},
    ],
)  # fmt: skip
def test_settings_that_cannot_be(wrong: dict[str, Any]) -> None:
    with pytest.raises(SpecError):
        played({}, seats(2), rr(**wrong))


def test_settings_survive_the_record_and_unknown_ones_are_refused() -> None:
    chosen = RoundRobinSettings(k=7, order=("ben", "ada"), control_ids=(1, 2), adaptive=True)
    assert RoundRobinSettings.from_data(chosen.to_data()) == chosen
    with pytest.raises(SpecError, match="no setting"):
        RoundRobinSettings.from_data({"speed": 1})
    with pytest.raises(SpecError, match="wrong"):
        RoundRobinSettings.from_data({"boundary": "page"})


# --- without continuation: in quotes


def test_quoted_is_opt_in_marked_and_takes_repetitions_out() -> None:
    chat = frozenset({Capability.CHAT})

    def clerk(call: Any) -> str:
        prompt = call.turns[-1].text
        if "===" not in prompt:
            return "Two and two is four, so it goes on and on"
        return "four, so the answer is 4."

    models = {name: Scripted(clerk, capabilities=chat) for name in NAMES}
    decision = played(models, seats(2, can=chat), rr(k=6, fidelity="approximate"))
    assert decision.texts[0].text == "Two and two is four, so the answer is 4."
    assert (decision.fidelity, decision.answer) == ("approximate", "4")
    assert decision.warnings[0].startswith("APPROXIMATE")


def test_the_marker_of_a_quotation_cannot_have_been_forged() -> None:
    first = _marker(0, "text-1/turn-2", "")
    assert _marker(0, "text-1/turn-2", f"so {first} it is") != first


def test_tags_name_the_writers_in_what_is_read_and_not_in_the_text() -> None:
    read: list[str] = []

    def writer(_key: str, effect: Effect) -> Outcome:
        assert isinstance(effect, Continue)
        read.append(effect.text)
        return Extended(text=" the answer is 7", finish="stop" if len(read) == 2 else "length", sampled=5)

    decision = played(writer, seats(2), rr(k=5, attribution="tags"))
    assert read == ["[ada]:", "[ada]: the answer is 7\n[ben]:"]
    assert decision.texts[0].text == " the answer is 7 the answer is 7"


# --- prompts


def test_every_writer_reads_its_own_prompt_and_nothing_of_the_gold() -> None:
    seen: list[Extend] = []
    models = {name: Scripted("the answer is 7", keep_calls=True) for name in NAMES}
    table = tuple(
        seat.__class__(agent=seat.agent, model="scripted", capabilities=CAN, system=f"You are {seat.agent}.")
        for seat in seats(2)
    )
    question = Question(text="Which?", kind="choice", options=("red", "blue"), gold="red")
    played(models, table, rr(k=1, prompt="correct", answer="last-before-end"), question=question)
    for name in ("ada", "ben"):
        seen = [call for call in models[name].asked or [] if isinstance(call, Extend)]
        assert {call.turns[0].text for call in seen} == {f"You are {name}."}
        assert all("put it right" in call.turns[1].text and "[END]" in call.turns[1].text for call in seen)
        assert {call.stream for call in seen} == {f"text-1/{name}"}
        assert {call.top_p for call in seen} == {0.95}
        assert all(len(call.turns) == 2 for call in seen), "no turn of its own is in its context"


# --- the record


@pytest.mark.parametrize("adaptive", [False, True])
def test_live_equals_rehearsed_and_replays(adaptive: bool) -> None:
    models = dict.fromkeys(NAMES, Scripted("two and two is four, so the answer is 4"))
    how = RoundRobinSettings(k=3, adaptive=adaptive, at_once=3)
    live, store = ran(models, seats(3), how)
    assert live.answer == played(models, seats(3), how).answer == "4"
    events = list(store.read())
    turns = [event for event in events if event.kind == "turn"]
    assert {event.visibility for event in turns} == {"operator"}
    first = turns[0].body
    assert first["ids"] == list(WORDS.ids(["two", " and", " two"]))
    recorded = next(event.body for event in events if event.kind == "decision")
    again = RoundRobin.from_data(recorded)
    assert isinstance(again, RoundRobin)
    assert again.texts == live.texts
    assert Decision.from_data({k: v for k, v in recorded.items() if k in Decision.__dataclass_fields__}).answer == "4"
    assert runs.head_of(events).procedure == "round-robin"
    assert sum(event.kind == "ballot" for event in events) == (2 if adaptive else 3)


def untimed(decision: RoundRobin) -> list[Any]:
    return [replace(text, turns=tuple(replace(turn, seconds=None) for turn in text.turns)) for text in decision.texts]


@settings(max_examples=15)
@given(data=st.data(), q_eos=st.integers(0, 2), adaptive=st.booleans())
def test_cut_at_any_event_it_resumes_to_the_same_text(data: st.DataObject, q_eos: int, adaptive: bool) -> None:
    models = {
        "ada": Scripted("two and two", tokenizer=BYTES),
        "ben": Scripted("two and two is four€, so the answer is 4", tokenizer=BYTES),
        "cleo": Scripted("two and two is five, so the answer is 5. No: the answer is 4", tokenizer=BYTES, dies_after=4),
    }
    how = RoundRobinSettings(k=9, q_eos=q_eos, adaptive=adaptive, boundary="word-number", max_turns=14)
    whole, store = ran(models, seats(3), how)
    events = list(store.read())
    length = data.draw(st.integers(1, len(events)))
    left = MemoryStore()
    for event in events[:length]:
        left.append(
            [
                Draft(
                    kind=event.kind, key=event.key, actor=event.actor, thread=event.thread,
                    visibility=event.visibility, body=event.body,
                )
            ]
        )  # fmt: skip
    left.commit()
    answered = {event.key for event in left.read() if event.kind == "outcome"}
    # cleo's server is as far as it was: what it still had to say and when it died stand in the outcomes
    said = {event.key: event.body["outcome"] for event in events if event.kind == "outcome"}
    asked: list[str] = []

    def again(call: Extend) -> Outcome:
        asked.append(call.key)
        return from_data(said[call.key]) if call.key in said else TransportFailure(problem="gone", cause="connect")

    teller = Scripted(continues=again)
    second = anyio.run(runs.resume, left, Live(lambda _agent: teller))
    assert not answered & set(asked)
    assert isinstance(second, RoundRobin)
    if not adaptive:
        assert untimed(second) == untimed(whole)
        assert second.answer == whole.answer
    for text in second.texts:
        assert "\ufffd" not in text.text
        assert text.text == "".join(turn.added for turn in text.turns)
