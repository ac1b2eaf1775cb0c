from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dissensus.script.calls import Capability, Turn
from dissensus.script.consult import MOST_SEEN, consult
from dissensus.script.effects import Ask, Effect, UseTool, under
from dissensus.script.outcomes import (
    FAILURES,
    BudgetExhausted,
    Cancelled,
    Invalid,
    Outcome,
    Refusal,
    Reply,
    TimedOut,
    ToolResult,
    TransportFailure,
    Usage,
)
from dissensus.script.rehearsal import rehearse
from dissensus.script.seats import Seat, ToolSpec

CALC = ToolSpec(
    name="calculator",
    description="Works out an expression.",
    parameters={"type": "object", "properties": {"expression": {"type": "string"}}, "required": ["expression"]},
)
CLOCK = ToolSpec(name="clock", description="Tells the time.")
PLAIN = Seat(agent="ada", model="m")
HANDY = Seat(agent="ada", model="m", tools=(CALC, CLOCK), max_steps=4)
CALL = '{"tool": "calculator", "arguments": {"expression": "12/3*2"}}'


class Play:
    """Answers each Ask from a list, and each tool with ``tool``; keeps what was asked."""

    def __init__(self, replies: Sequence[str | Outcome], tool: Outcome | None = None) -> None:
        self.replies = iter(replies)
        self.tool = tool or ToolResult(text="8")
        self.effects: list[tuple[str, Effect]] = []

    def __call__(self, key: str, effect: Effect) -> Outcome:
        self.effects.append((key, effect))
        if isinstance(effect, UseTool):
            return self.tool
        answer = next(self.replies)
        return Reply(text=answer) if isinstance(answer, str) else answer

    @property
    def asks(self) -> list[Ask]:
        return [effect for _, effect in self.effects if isinstance(effect, Ask)]

    @property
    def uses(self) -> list[UseTool]:
        return [effect for _, effect in self.effects if isinstance(effect, UseTool)]

    @property
    def keys(self) -> list[str]:
        return [key for key, _ in self.effects]


def test_a_seat_without_tools_is_one_plain_ask() -> None:
    play = Play(['{"answer": "untouched"}'])
    given_ = {
        "thread": "side",
        "examples": (Turn("user", "1?"),),
        "schema": {"type": "string"},
        "temperature": 0.1,
        "max_tokens": 9,
        "stop": ("\n",),
        "deadline_s": 3.0,
        "key": "first",
    }
    outcome = rehearse(consult(PLAIN, "How much?", **given_), play)  # type: ignore[arg-type]
    assert outcome == Reply(text='{"answer": "untouched"}')
    assert play.effects == [("first", Ask("ada", "How much?", **given_))]  # type: ignore[arg-type]


def test_a_tool_is_used_and_its_result_is_seen() -> None:
    usage = Usage(tokens_out=7)
    play = Play([CALL, Reply(text='{"answer": "8 euros"}', usage=usage)])
    outcome = rehearse(consult(HANDY, "What do 12 pens cost?", examples=(Turn("user", "x"),)), play)
    assert outcome == Reply(text="8 euros", usage=usage)
    first, second = play.asks
    assert first.prompt.startswith("What do 12 pens cost?\n\nYou can use these tools:")
    assert first.examples
    assert not second.examples
    assert second.prompt.startswith("Result of calculator:\n8\n")
    assert play.uses == [UseTool("ada", "calculator", {"expression": "12/3*2"})]
    assert play.keys == ["ask/ada", "tool/ada", "ask/ada/2"]


def test_keys_follow_the_given_key_and_the_scope() -> None:
    play = Play([CALL, CALL, '{"answer": "8"}'])
    rehearse(under("round/1", consult(HANDY, "?", key="solve")), play)
    assert play.keys == [f"round/1/{key}" for key in ("solve", "solve/tool", "solve/2", "solve/tool/2", "solve/3")]


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        ('{"tool": "browser", "arguments": {}}', 'There is no tool "browser". Your tools: calculator, clock.'),
        ('{"tool": "calculator", "arguments": {}}', 'Wrong arguments for calculator: "expression" is missing.'),
        ('{"tool": "clock", "arguments": {"zone": "x"}}', 'Wrong arguments for clock: "zone" is not allowed.'),
        (
            '{"tool": "clock", "arguments": "now"}',
            "Wrong arguments for clock: arguments has to be an object, not text.",
        ),
        ('{"tool": "clock", "arguments": {', "That was not valid JSON."),
        ('{"answer": ""}', '"answer" is empty.'),
        ('{"answer": null}', '"answer" is empty.'),
    ],
)
def test_what_cannot_be_done_is_told_to_the_agent_and_costs_a_turn(reply: str, told: str) -> None:
    play = Play([reply] * 3 + ["8"])
    assert rehearse(consult(HANDY, "?"), play) == Reply(text="8")
    assert not play.uses
    assert [ask.prompt.splitlines()[0] for ask in play.asks[1:]] == [told] * 3
    never = Play([reply] * 4)
    outcome = rehearse(consult(HANDY, "?"), never)
    assert outcome == Invalid(problem=f"No answer in 4 turns: {told}", text=reply)


def test_plain_words_are_the_answer() -> None:
    assert rehearse(consult(HANDY, "?"), Play(["It is 8."])) == Reply(text="It is 8.")


def test_the_last_turn_only_takes_an_answer() -> None:
    play = Play([CALL] * 4)
    outcome = rehearse(consult(HANDY, "?"), play)
    assert isinstance(outcome, Invalid)
    assert outcome.problem == "No answer in 4 turns: it asked for a tool in its last turn"
    assert len(play.uses) == 3
    lasts = ["This is your last turn." in ask.prompt for ask in play.asks]
    assert lasts == [False, False, False, True]


@pytest.mark.parametrize("steps", [1, 0])
def test_few_steps(steps: int) -> None:
    seat = Seat(agent="ada", model="m", tools=(CALC,), max_steps=steps)
    play = Play([CALL])
    assert isinstance(rehearse(consult(seat, "?"), play), Invalid)
    assert len(play.asks) == steps


@pytest.mark.parametrize(
    "failure",
    [
        Refusal(text="no"),
        Invalid(problem="?"),
        TransportFailure(problem="gone"),
        TimedOut(after_s=3),
        BudgetExhausted(what="tokens"),
        Cancelled(),
    ],
)
def test_a_failed_turn_ends_the_loop_with_that_failure(failure: Outcome) -> None:
    assert rehearse(consult(HANDY, "?"), Play([failure])) == failure
    assert rehearse(consult(HANDY, "?"), Play([CALL, failure])) == failure


@pytest.mark.parametrize(
    ("result", "seen"),
    [
        (ToolResult(text="division by zero", ok=False), "calculator failed:\ndivision by zero"),
        (TimedOut(after_s=5), "calculator gave no result within 5 seconds."),
        (ToolResult(text="x" * (MOST_SEEN + 1)), f"Result of calculator:\n{'x' * MOST_SEEN} … (cut)\n"),
    ],
)
def test_what_became_of_a_tool_is_told(result: Outcome, seen: str) -> None:
    play = Play([CALL, "8"], tool=result)
    assert rehearse(consult(HANDY, "?"), play) == Reply(text="8")
    assert play.asks[1].prompt.startswith(seen)


def test_a_tool_call_that_was_given_up_ends_the_loop() -> None:
    assert rehearse(consult(HANDY, "?"), Play([CALL], tool=Cancelled())) == Cancelled()


def test_a_schema_is_asked_for_only_where_the_back_end_holds_to_it() -> None:
    for seat, expected in ((HANDY, False), (_with_schema(HANDY), True)):
        play = Play([CALL, "8"])
        rehearse(consult(seat, "?", schema={"type": "integer"}), play)
        assert [ask.schema is not None for ask in play.asks] == [expected] * 2


def test_the_answer_obeys_the_callers_schema_and_comes_back_as_json() -> None:
    play = Play(['{"answer": "eight"}', '{"answer": {"euros": 8}}'])
    schema = {"type": "object", "required": ["euros"]}
    assert rehearse(consult(HANDY, "?", schema=schema), play) == Reply(text='{"euros": 8}')
    assert play.asks[1].prompt.startswith('Wrong answer: "answer" has to be an object, not text.')
    assert json.dumps(schema) in play.asks[0].prompt


def _with_schema(seat: Seat) -> Seat:
    return Seat(agent=seat.agent, model=seat.model, tools=seat.tools, capabilities=frozenset({Capability.SCHEMA}))


MOVES = st.sampled_from(
    [
        CALL,
        '{"tool": "clock", "arguments": {}}',
        '{"tool": "clock", "arguments": {"x": 1}}',
        '{"tool": "none"}',
        '{"tool": ',
        '{"answer": "8"}',
        "eight",
        Refusal(),
        TimedOut(after_s=1),
    ]
)
RESULTS = st.sampled_from([ToolResult(text="8"), ToolResult(text="no", ok=False), TimedOut(after_s=1), Cancelled()])


@given(st.lists(MOVES, min_size=9, max_size=9), RESULTS, st.integers(1, 8), st.booleans())
def test_the_loop_is_bounded_and_keeps_its_rules(
    moves: list[str | Outcome], result: Outcome, steps: int, named: bool
) -> None:
    seat = Seat(agent="ada", model="m", tools=(CALC, CLOCK), max_steps=steps)
    play = Play(list(moves), tool=result)
    outcome: Any = rehearse(consult(seat, "?", key="k" if named else None), play)
    assert isinstance(outcome, (Reply, *FAILURES))
    assert 1 <= len(play.asks) <= steps
    assert len(play.uses) <= len(play.asks)
    assert len(set(play.keys)) == len(play.keys)
    allowed: dict[str, set[str]] = {"calculator": {"expression"}, "clock": set()}
    for use in play.uses:
        assert set(use.arguments) == allowed[use.tool]
    kinds = [effect.kind for _, effect in play.effects]
    assert all(kinds[place + 1] == "ask" for place in _tools_before_the_end(kinds))
    answered = [move for move in moves[: len(play.asks)] if move in ('{"answer": "8"}', "eight")]
    assert bool(answered) is isinstance(outcome, Reply)


def _tools_before_the_end(kinds: list[str]) -> Iterator[int]:
    yield from (place for place, kind in enumerate(kinds[:-1]) if kind == "tool")
