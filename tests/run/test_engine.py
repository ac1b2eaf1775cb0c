"""The engine: keys, order, views, races, deadlines; the same script live, replayed and resumed."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from plays import SEATS, Clerk

from dissensus.errors import DuplicateKey, NotRecorded, ReplayMismatch, ScriptError
from dissensus.record.memory import MemoryStore
from dissensus.run.engine import Engine
from dissensus.run.journal import Journal
from dissensus.run.performers import Live, Recorded, StillWaiting
from dissensus.run.runs import past_of
from dissensus.script.calls import Generate, Score, Turn
from dissensus.script.effects import Ask, AskPerson, Note, Post, Race, ScoreTexts, Script, Together, once, under
from dissensus.script.outcomes import Done, Reply, Scores, TimedOut, TransportFailure, Usage
from dissensus.script.seats import Seat

pytestmark = pytest.mark.anyio
by_name = {seat.agent: seat for seat in SEATS}


async def play(script: Script, clerk: Any = None, store: MemoryStore | None = None, **live: Any) -> Any:
    clerk = clerk or Clerk()
    store = store if store is not None else MemoryStore()
    async with Live(lambda _agent: clerk, **live) as performer:
        return await Engine(Journal(store), performer, by_name, seed=7).run(script)


async def test_keys_follow_scope_kind_agent_and_occurrence() -> None:
    def script() -> Script:
        yield [Ask("ada", "1"), Ask("ben", "1"), Ask("ada", "2")]
        for number in (1, 2):
            yield from under(f"round/{number}", once(Ask("ada", "again")))
        yield Ask("ada", "given", key="mine")
        yield Together({"left": once(Ask("ada", "l")), "right": once(Ask("ben", "r"))})

    store = MemoryStore()
    await play(script(), store=store)
    assert [event.key for event in store.read() if event.kind == "ask"] == [
        "ask/ada", "ask/ben", "ask/ada/2", "round/1/ask/ada", "round/2/ask/ada", "mine",
        "left/ask/ada", "right/ask/ben",
    ]  # fmt: skip


async def test_outcomes_come_back_in_list_order_whatever_the_order_of_arrival() -> None:
    def script() -> Script:
        outcomes = yield [Ask("ada", "slow"), Ask("ben", "quick")]
        return [outcome.text.split(" |")[0] for outcome in outcomes]

    store = MemoryStore()
    clerk = Clerk(delays={"ask/ada": 0.05})
    assert await play(script(), clerk, store) == ["slow", "quick"]
    assert [event.key for event in store.read() if event.kind == "outcome"] == ["ask/ben", "ask/ada"]


async def test_a_duplicate_key_is_an_error() -> None:
    def script() -> Script:
        yield [Ask("ada", "1", key="same"), Ask("ben", "2", key="same")]

    with pytest.raises(DuplicateKey) as caught:
        await play(script())
    assert caught.value.key == "same"


async def test_asking_nobody_and_yielding_nonsense_are_script_errors() -> None:
    def stranger() -> Script:
        yield Ask("zoe", "?")

    def nonsense() -> Script:
        yield "ask ada"

    with pytest.raises(ScriptError, match="zoe"):
        await play(stranger())
    with pytest.raises(ScriptError, match="str"):
        await play(nonsense())


async def test_an_agent_sees_its_own_thread_and_what_is_said_to_it_and_nothing_else() -> None:
    def script() -> Script:
        yield Post("ben", "to all")
        yield Post("ben", "to cleo only", to=("cleo",))
        yield Note("secret", {"text": "operator only"})
        yield Ask("ada", "first", examples=(Turn("user", "e"), Turn("assistant", "f")))
        yield Ask("ben", "not for ada")
        yield Ask("ada", "elsewhere", thread="other")
        yield Ask("ada", "second")

    clerk = Clerk()
    await play(script(), clerk)
    last = [turn.text for turn in clerk.calls[-1].turns]
    first_reply = next(f"first | seed {call.seed}" for call in clerk.calls if call.turns[-1].text == "first")
    assert last == ["ben: to all", "e", "f", "first", first_reply, "second"]


async def test_a_failed_call_never_enters_a_view() -> None:
    class Dead(Clerk):
        async def generate(self, call: Generate) -> Any:
            self.calls.append(call)
            return TransportFailure(problem="no route", cause="connect")

    def script() -> Script:
        yield Ask("ada", "first")
        yield Ask("ada", "second")

    clerk = Dead()
    await play(script(), clerk)
    assert [turn.text for turn in clerk.calls[-1].turns] == ["second"]


async def test_a_back_end_that_raises_is_a_failed_call() -> None:
    class Broken(Clerk):
        async def generate(self, call: Generate) -> Any:
            raise ZeroDivisionError(call.key)

    def script() -> Script:
        return (yield Ask("ada", "?"))

    outcome = await play(script(), Broken())
    assert isinstance(outcome, TransportFailure)
    assert outcome.cause == "crashed"
    assert "ZeroDivisionError" in outcome.problem


async def test_seeds_differ_by_key_and_are_the_same_in_every_run() -> None:
    def script() -> Script:
        yield [Ask("ada", "x"), Ask("ben", "x")]

    clerks = Clerk(), Clerk()
    for clerk in clerks:
        await play(script(), clerk)
    seeds = [[call.seed for call in clerk.calls] for clerk in clerks]
    assert seeds[0] == seeds[1]
    assert len(set(seeds[0])) == 2


async def test_lone_surrogates_in_a_reply_are_replaced() -> None:
    class Odd(Clerk):
        async def generate(self, call: Generate) -> Reply:  # noqa: ARG002
            return Reply(text="a\ud800b")

    store = MemoryStore()

    def script() -> Script:
        return (yield Ask("ada", "?"))

    outcome = await play(script(), Odd(), store)
    assert outcome.text == "a?b"


@pytest.mark.parametrize("number", [float("nan"), float("-inf")])
async def test_numbers_that_no_record_can_hold_are_a_failed_call(number: float) -> None:
    class Odd(Clerk):
        async def score(self, call: Score) -> Scores:
            return Scores(logprobs=(number, -1.0), lengths=(1,) * len(call.continuations))

        async def generate(self, call: Generate) -> Reply:  # noqa: ARG002
            return Reply(text="fine", usage=Usage(cost=number))

    def script() -> Script:
        return (yield [ScoreTexts("ada", "which?", ("x", "y")), Ask("ben", "?")])

    outcomes = await play(script(), Odd())
    assert [outcome.cause for outcome in outcomes] == ["body", "body"]


async def test_a_race_ends_early_records_who_was_used_and_cancels_the_rest() -> None:
    def script() -> Script:
        scripts = {name: once(Ask(name, "run")) for name in ("ada", "ben", "cleo")}
        return (yield Race(scripts, lambda used: len(used) == 2))

    store = MemoryStore()
    clerk = Clerk(delays={"ada/ask/ada": 5, "ben/ask/ben": 0.05})
    with anyio.fail_after(3):
        finish = await play(script(), clerk, store)
    assert list(finish.used) == ["cleo", "ben"]
    assert finish.given_up == ("ada",)
    events = list(store.read())
    raced = next(event for event in events if event.kind == "raced")
    assert raced.body == {"used": ["cleo", "ben"], "given_up": ["ada"]}
    cancelled = next(event for event in events if event.kind == "outcome" and event.key == "ada/ask/ada")
    assert cancelled.body["outcome"]["kind"] == "cancelled"


async def test_silence_past_the_deadline_is_an_outcome_and_the_late_reply_is_recorded_as_late() -> None:
    def script() -> Script:
        first = yield Ask("ada", "slow", deadline_s=0.05)
        yield Ask("ben", "meanwhile")
        return first

    store = MemoryStore()
    first = await play(script(), Clerk(delays={"ask/ada": 0.3, "ask/ben": 1.2}), store)
    assert first == TimedOut(after_s=0.05)
    late = [event for event in store.read() if event.kind == "late"]
    assert [event.key for event in late] == ["ask/ada"]
    assert late[0].body["outcome"]["kind"] == "reply"


async def test_scores_and_checks_and_tools_go_through_the_record() -> None:
    def script() -> Script:
        return (yield ScoreTexts("ada", "which?", ("x", "y")))

    store = MemoryStore()
    scores = await play(script(), store=store)
    assert scores.means() == (0.0, -1.0)
    assert [event.kind for event in store.read()] == ["score", "outcome"]


async def test_waiting_for_a_person_lets_siblings_finish() -> None:
    def script() -> Script:
        return (yield [AskPerson("who?"), Ask("ada", "meanwhile")])

    store = MemoryStore()
    with pytest.raises(StillWaiting) as waiting:
        await play(script(), Clerk(delays={"ask/ada": 0.05}), store)
    assert waiting.value.keys == ("person",)
    assert [event.key for event in store.read() if event.kind == "outcome"] == ["ask/ada"]


async def test_lists_of_posts_are_done_at_once_and_an_empty_list_gives_an_empty_list() -> None:
    def script() -> Script:
        nothing = yield []
        done = yield [Post("ada", "x"), Note("n", {})]
        none = yield Together({})
        for _ in range(5_000):  # no recursion
            yield Note("many", {})
        return nothing, done, none

    assert await play(script()) == ([], [Done(), Done()], {})


async def test_replay_refuses_a_changed_prompt_and_names_the_key() -> None:
    def script(prompt: str) -> Script:
        yield Ask("ada", "same")
        yield Ask("ben", prompt)

    store = MemoryStore()
    await play(script("as it was"), store=store)
    events = list(store.read())
    replaying = Engine(Journal(None, events), Recorded(past_of(events)), by_name, seed=7)
    with pytest.raises(ReplayMismatch) as caught:
        await replaying.run(script("changed"))
    assert caught.value.key == "ask/ben"
    more = Engine(Journal(None, events), Recorded(past_of(events)), by_name, seed=7)

    def longer() -> Script:
        yield from script("as it was")
        yield Ask("cleo", "one more")

    with pytest.raises(NotRecorded) as missing:
        await more.run(longer())
    assert missing.value.key == "ask/cleo"


async def test_another_seed_or_seat_makes_replay_refuse() -> None:
    def script() -> Script:
        yield Ask("ada", "same")

    store = MemoryStore()
    await play(script(), store=store)
    events = list(store.read())
    with pytest.raises(ReplayMismatch, match="ask/ada"):
        await Engine(Journal(None, events), Recorded(past_of(events)), by_name, seed=8).run(script())
    other = {**by_name, "ada": Seat(agent="ada", model="scripted:other", temperature=0.0)}
    with pytest.raises(ReplayMismatch, match="ask/ada"):
        await Engine(Journal(None, events), Recorded(past_of(events)), other, seed=7).run(script())
