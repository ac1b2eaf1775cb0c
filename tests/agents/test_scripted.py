"""The scripted model: the same request gets the same answer; continuations add up; faults come as asked."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from typing import Any

import anyio
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from dissensus.agents.model import Model
from dissensus.agents.prices import Prices
from dissensus.agents.scripted import Rule, Scripted
from dissensus.agents.scripted_rules import FAILURES, draw
from dissensus.agents.scripted_tokens import BYTES, CHARACTERS, TOKENIZERS, WORDS, Tokenizer, Words, bytes_of
from dissensus.errors import SpecError
from dissensus.script.calls import Call, Capability, Extend, Generate, Score, Turn
from dissensus.script.outcomes import (
    Extended,
    Outcome,
    Refusal,
    Reply,
    Scores,
    TimedOut,
    TransportFailure,
    from_data,
    to_data,
)

texts = st.text(alphabet=st.characters(codec="utf-8"))


def asking(prompt: str, **more: Any) -> Generate:
    return Generate(turns=(Turn("user", prompt),), **more)


def said(model: Scripted, prompt: str = "hi", **more: Any) -> str:
    outcome = anyio.run(model.generate, asking(prompt, **more))
    assert isinstance(outcome, Reply), outcome
    return outcome.text


def test_it_is_a_model_that_says_what_it_was_given() -> None:
    model = Scripted("42", name="clerk")
    assert isinstance(model, Model)
    assert said(model) == "42"
    assert said(Scripted(lambda call: call.turns[-1].text.upper()), "loud") == "LOUD"
    assert said(Scripted({"ask/ada": "by key", "hi": "by prompt", "*": "else"}), "hi", key="ask/ada") == "by key"
    assert said(Scripted({"ask/ada": "by key", "hi": "by prompt", "*": "else"}), "hi", key="ask/ben") == "by prompt"
    assert said(Scripted({"*": "else"})) == "else"
    assert said(Scripted(Reply(text="as an outcome"))) == "as an outcome"
    assert repr(model) == "Scripted(name='clerk')"


def test_a_list_is_said_in_order_and_then_fails() -> None:
    model = Scripted(["one", Refusal(text="no"), "three"])
    outcomes = [anyio.run(model.generate, asking("hi")) for _ in range(4)]
    assert [outcome.kind for outcome in outcomes] == ["reply", "refusal", "reply", "transport"]


def test_what_is_not_scripted_is_a_failure_and_never_speech() -> None:
    wrong: list[Any] = [{"other": "x"}, [Rule("other", "x")], lambda _call: None, lambda _call: 1 / 0, []]
    for replies in wrong:
        outcome = anyio.run(Scripted(replies).generate, asking("hi"))
        assert isinstance(outcome, TransportFailure), replies


def test_the_first_rule_that_fits_decides() -> None:
    rules = [Rule(r"(\w+) \+ (\w+)", r"\2 and \1 \9"), Rule("prime", "no"), Rule("", "else")]
    model = Scripted(rules)
    assert said(model, "What is two + three?") == "three and two "
    assert said(model, "Is 9 prime?") == "no"
    assert said(model, "Hello") == "else"
    assert said(Scripted([Rule("", "a\\nb")])) == "a\\nb"


prompts = st.lists(st.tuples(texts, st.integers(0, 99)), min_size=1, max_size=12)


@given(prompts, st.randoms())
def test_what_is_said_does_not_depend_on_the_order_of_calls(asked: list[tuple[str, int]], random: Any) -> None:
    rules = [
        Rule("[aeiou]", {"yes": 0.5, "no": 0.3, "maybe": 0.2}),
        Rule("", ["x", "y", "z"], share=0.7),
        Rule("", "w"),
    ]
    first, second = Scripted(rules, seed=3), Scripted(rules, seed=3)
    answers = {item: said(first, item[0], seed=item[1]) for item in asked}
    shuffled = list(asked)
    random.shuffle(shuffled)
    assert {item: said(second, item[0], seed=item[1]) for item in shuffled} == answers


def test_drawn_replies_have_their_weights_and_greedy_ones_the_heaviest() -> None:
    model = Scripted([Rule("", {"no": 3, "yes": 1})])
    counts = Counter(said(model, seed=seed) for seed in range(2000))
    assert 0.7 < counts["no"] / 2000 < 0.8
    assert {said(model, seed=seed, temperature=0) for seed in range(50)} == {"no"}
    assert {said(Scripted([Rule("", ["a", "b", "b"])]), seed=seed, temperature=0) for seed in range(9)} == {"b"}


def test_a_share_of_the_calls_fails() -> None:
    model = Scripted([Rule("", fail="rate-limited", share=0.2), Rule("", "fine")])
    kinds = Counter(anyio.run(model.generate, asking("hi", seed=seed)).kind for seed in range(1000))
    assert 0.15 < kinds["transport"] / 1000 < 0.25
    assert kinds["reply"] + kinds["transport"] == 1000


@given(texts, st.integers(0, 99), st.integers(0, 99))
def test_a_draw_lies_in_the_unit_interval_and_differs_by_salt(prompt: str, seed: int, other: int) -> None:
    number = draw(asking(prompt), seed, "a")
    assert 0 <= number < 1
    assert number == draw(asking(prompt), seed, "a")
    assert number != draw(asking(prompt), seed, "b")
    assume(seed != other)
    assert number != draw(asking(prompt), other, "a")
    assert number != draw(asking(prompt, seed=1), seed, "a")
    assert draw(asking(prompt, temperature=0), seed, "a") == draw(asking(prompt, seed=1, temperature=0), seed, "a")


@pytest.mark.parametrize("name", sorted(set(FAILURES) - {"stall"}))
def test_every_failure_can_be_asked_for(name: str) -> None:
    outcome = anyio.run(Scripted([Rule("", fail=name, delay_s=0.001)]).generate, asking("hi"))
    assert outcome.kind == FAILURES[name].kind
    assert getattr(outcome, "cause", None) == getattr(FAILURES[name], "cause", None)
    json.dumps(to_data(outcome), allow_nan=False)


@pytest.mark.anyio
async def test_a_stall_lasts_until_it_is_cancelled() -> None:
    with anyio.move_on_after(0.05) as scope:
        await Scripted([Rule("", fail="stall")]).generate(asking("hi"))
    assert scope.cancelled_caught


def test_it_dies_after_so_many_calls() -> None:
    model = Scripted("x", dies_after=2)
    outcomes = [anyio.run(model.generate, asking("hi")) for _ in range(3)]
    assert [outcome.kind for outcome in outcomes] == ["reply", "reply", "transport"]
    assert isinstance(outcomes[2], TransportFailure)
    assert outcomes[2].cause == "connect"
    assert model.calls == 3


@pytest.mark.parametrize("delay_s", [0.02, (0.02, 0.03), lambda call: 0.02 + call.seed / 100])
def test_a_delay_is_waited_and_stands_in_the_usage(
    delay_s: float | tuple[float, float] | Callable[[Call], float],
) -> None:
    async def run() -> tuple[Outcome, float]:
        started = anyio.current_time()
        outcome = await Scripted("x", delay_s=delay_s).generate(asking("hi", seed=1))
        return outcome, anyio.current_time() - started

    outcome, took_s = anyio.run(run)
    assert isinstance(outcome, Reply)
    assert outcome.usage.seconds is not None
    assert 0.02 <= outcome.usage.seconds <= 0.03
    assert took_s >= outcome.usage.seconds * 0.9
    again, _ = anyio.run(run)
    assert again == outcome


def test_tokens_are_counted_and_paid_for() -> None:
    model = Scripted("three little words", prices=Prices(tokens_in=1e6, tokens_out=2e6))
    outcome = anyio.run(model.generate, asking("one two"))
    assert isinstance(outcome, Reply)
    assert (outcome.usage.tokens_in, outcome.usage.tokens_out, outcome.usage.cost) == (2, 3, 8.0)
    free = anyio.run(Scripted("x").generate, asking("one two"))
    assert isinstance(free, Reply)
    assert free.usage.cost is None


def test_a_message_is_cut_at_its_limit_and_at_stop_texts() -> None:
    cut = anyio.run(Scripted("a b c d").generate, asking("hi", max_tokens=2))
    assert isinstance(cut, Reply)
    assert (cut.text, cut.finish, cut.usage.tokens_out) == ("a b", "length", 2)
    stopped = anyio.run(Scripted("a b c d").generate, asking("hi", stop=("d", " c", "")))
    assert isinstance(stopped, Reply)
    assert (stopped.text, stopped.finish) == ("a b", "stop")


def test_calls_are_kept_where_asked_for() -> None:
    model = Scripted("x", keep_calls=True)
    said(model, "hello")
    assert model.asked == [asking("hello")]
    assert Scripted("x").asked is None


NEEDS: list[tuple[Capability, Call]] = [
    (Capability.CHAT, asking("hi")),
    (Capability.SCHEMA, asking("hi", schema={"type": "string"})),
    (Capability.CONTINUE, Extend(turns=())),
    (Capability.TOKENS, Extend(turns=(), tokens=())),
    (Capability.LOGPROBS, Score(turns=(), continuations=())),
]


@pytest.mark.parametrize(("capability", "call"), NEEDS)
def test_what_it_does_not_claim_it_does_not_do(capability: Capability, call: Call) -> None:
    def outcome_of(can: frozenset[Capability]) -> Outcome:
        model = Scripted("x", capabilities=can)
        assert model.capabilities == can
        do: Any = {Generate: model.generate, Extend: model.extend, Score: model.score}[type(call)]
        outcome: Outcome = anyio.run(do, call)
        return outcome

    lacking = outcome_of(frozenset(Capability) - {capability})
    assert isinstance(lacking, TransportFailure)
    assert lacking.cause == "capability"
    assert outcome_of(frozenset(Capability)).kind in {"reply", "extended", "scores"}


def test_ids_and_log_probabilities_come_only_where_claimed() -> None:
    model = Scripted("a b", capabilities=frozenset({Capability.CONTINUE}))
    outcome = anyio.run(model.extend, Extend(turns=()))
    assert isinstance(outcome, Extended)
    assert (outcome.tokens, outcome.logprobs) == (None, None)


# --- continuations


def extended(model: Scripted, **more: Any) -> Extended:
    outcome = anyio.run(model.extend, Extend(turns=(Turn("user", "tell"),), **more))
    assert isinstance(outcome, Extended), outcome
    return outcome


@pytest.mark.parametrize("tokenizer", TOKENIZERS.values())
@given(texts, st.integers(1, 5), st.integers(1, 5))
@example("one two  three\n", 1, 1)
def test_by_ids_two_short_continuations_are_one_long(tokenizer: Tokenizer, text: str, few: int, more: int) -> None:
    model = Scripted(text, tokenizer=tokenizer)
    first = extended(model, tokens=(), max_tokens=few)
    second = extended(model, tokens=first.tokens, max_tokens=more)
    whole = extended(model, tokens=(), max_tokens=few + more)
    assert bytes_in(first) + bytes_in(second) == bytes_in(whole)
    assert (first.tokens or ()) + (second.tokens or ()) == whole.tokens
    assert text.encode().startswith(bytes_in(whole))
    # the end is one token more: a limit that is reached exactly does not see it
    assert second.finish == whole.finish == ("stop" if len(whole.tokens or ()) < few + more else "length")
    assert whole.sampled == len(whole.tokens or ()) + (whole.finish == "stop")
    assert whole.ends is not None
    assert (whole.ends or (0,))[-1] == len(bytes_in(whole))
    assert whole.logprobs is not None
    assert len(whole.logprobs) == len(whole.tokens or ())
    assert tokenizer.text(whole.tokens or ()) == bytes_in(whole).decode("utf-8", "replace")


def bytes_in(outcome: Extended) -> bytes:
    return outcome.text.encode() if outcome.raw is None else outcome.raw


def test_a_character_that_the_limit_cuts_is_in_the_bytes_and_not_in_the_text() -> None:
    model = Scripted("a€b", tokenizer=BYTES)
    first = extended(model, tokens=(), max_tokens=2)
    second = extended(model, tokens=first.tokens, max_tokens=9)
    assert (first.text, first.raw, first.finish) == ("a", b"a\xe2", "length")
    assert (second.raw, second.finish, second.sampled) == (b"\x82\xacb", "stop", 4)
    assert from_data(to_data(first)) == first


@given(st.lists(st.sampled_from(["a", "bb", "ccc"]), max_size=9).map(" ".join), st.integers(1, 4))
def test_by_text_word_for_word_gives_the_whole_message(text: str, step: int) -> None:
    model, written = Scripted(text), ""
    for _ in range(20):
        more = extended(model, text=written, max_tokens=step)
        written += more.text
        if more.finish == "stop":
            break
    assert written == text


def test_agents_that_take_turns_each_add_their_own_part() -> None:
    ada, ben = Scripted("a1 a2 a3 a4"), Scripted("b1 b2 b3 b4")
    text = ""
    for model in (ada, ben, ada, ben):
        text += extended(model, text=text, max_tokens=1).text
    assert text == "a1 b2 a3 b4"


def test_a_continuation_ends_at_a_stop_text() -> None:
    outcome = extended(Scripted("one two. three"), max_tokens=9, stop=(".",))
    assert (outcome.text, outcome.finish) == ("one two", "stop")
    assert len(outcome.tokens or ()) == 2


def test_a_function_may_continue() -> None:
    model = Scripted("never", continues=lambda call: f"{len(call.text)} and on")
    assert extended(model, text="four", max_tokens=1).text == "4"
    assert isinstance(
        anyio.run(Scripted("x", continues=lambda _call: TimedOut(after_s=1)).extend, Extend(turns=())), TimedOut
    )


@pytest.mark.parametrize("tokenizer", TOKENIZERS.values())
@given(texts)
@example(" leading")
@example("trailing \n ")
@example("a\x1cb\u2003c")
def test_pieces_give_the_text_and_are_counted_without_splitting(tokenizer: Tokenizer, text: str) -> None:
    pieces = tokenizer.split(text)
    assert bytes_of("".join(pieces)) == text.encode()
    assert tokenizer.count(text) == len(pieces)
    ids = tokenizer.ids(pieces)
    assert tokenizer.text(ids) == text
    assert all(0 <= number < 2**53 for number in ids)


def test_ids_are_the_same_in_every_process_and_unknown_ones_are_seen() -> None:
    assert Words().ids([" hello", "world"]) == (45021956451386, 208152448556636)
    assert Words().text([12345]) == "\ufffd"
    assert CHARACTERS.text([-1, 65, 0xD800, 2**40]) == "\ufffdA\ufffd\ufffd"


# --- scores


@given(st.lists(st.text(alphabet="abc ", min_size=1), min_size=1, max_size=5, unique=True), st.integers(0, 9))
def test_scores_are_log_probabilities_and_favour_the_reply(options: list[str], pick: int) -> None:
    reply = options[pick % len(options)]
    model = Scripted(reply, scores={"given": -7.5})
    call = Score(turns=(Turn("user", "which?"),), continuations=(*options, "given"))
    outcome = anyio.run(model.score, call)
    assert isinstance(outcome, Scores)
    assert anyio.run(model.score, call) == outcome
    assert all(number <= 0 for number in outcome.logprobs)
    assert outcome.logprobs[-1] == -7.5
    means = dict(zip(options, outcome.means()[:-1], strict=True))
    assert means[reply] == max(means.values())


# --- rules as data


@pytest.mark.parametrize(
    "wrong",
    [
        {"when": "("},
        {"fail": "explosion"},
        {"share": 2},
        {"share": "half"},
        {"say": {}},
        {"say": []},
        {"say": {"a": 0}},
        {"say": {"a": -1, "b": 2}},
        {"say": {"a": "much"}},
        {"say": {True: 1}},
        {"say": True},
        {"say": 42},
        {"say": ["a", 1]},
        {"wehn": "x"},
        {"delay_s": "long"},
        {},
        [],
        "say",
        None,
    ],
)
def test_a_wrong_rule_is_refused_in_a_sentence(wrong: object) -> None:
    with pytest.raises(SpecError) as caught:
        Rule.from_data(wrong)
    assert caught.value.next_step


def test_rules_and_texts_do_not_mix() -> None:
    with pytest.raises(SpecError):
        Scripted([Rule("", "a"), "b"])


@pytest.mark.anyio
async def test_two_thousand_calls_may_be_in_flight() -> None:
    model = Scripted([Rule("", ["yes", "no"])], delay_s=0.05)
    outcomes: list[Outcome] = []

    async def one(seed: int) -> None:
        outcomes.append(await model.generate(asking("hi", seed=seed)))

    with anyio.fail_after(30):
        async with anyio.create_task_group() as group:
            for seed in range(2000):
                group.start_soon(one, seed)
    assert len(outcomes) == 2000
    assert all(isinstance(outcome, Reply) for outcome in outcomes)


@pytest.mark.anyio
async def test_what_goes_on_as_the_reply_does_is_nearly_certain() -> None:
    model = Scripted("one two three")
    turns = (Turn("user", "count"),)
    begun: tuple[dict[str, Any], ...] = ({"text": "one two"}, {"tokens": WORDS.ids(["one", " two"])})
    for more in begun:
        outcome = await model.score(Score(turns=turns, continuations=(" three", " four"), **more))
        assert isinstance(outcome, Scores)
        assert outcome.logprobs[0] == -0.01 > -1 > outcome.logprobs[1]
    other = await model.score(Score(turns=turns, continuations=(" three",), text="two one"))
    assert isinstance(other, Scores)
    assert other.logprobs[0] < -1
