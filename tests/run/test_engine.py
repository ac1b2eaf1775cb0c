"""The engine: keys, order, views, races, deadlines; the same script live, replayed and resumed."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from plays import SEATS, decision, procedure

from dissensus.decide import procedures
from dissensus.errors import DuplicateKey, NotRecorded, ReplayMismatch, ScriptError
from dissensus.record.memory import MemoryStore
from dissensus.run.engine import Engine
from dissensus.run.journal import Journal
from dissensus.run.performers import Live, Recorded, StillWaiting
from dissensus.run.runs import past_of, resume, run_procedure
from dissensus.script.calls import Capability, Extend, Generate, Score, Turn
from dissensus.script.effects import Ask, AskPerson, Note, Post, Race, ScoreTexts, Script, Together, once, under
from dissensus.script.outcomes import Cancelled, Done, Reply, Scores, TimedOut, TransportFailure
from dissensus.script.seats import Seat

pytestmark = pytest.mark.anyio
by_name = {seat.agent: seat for seat in SEATS}


class Clerk:
    """A model that keeps every call it got, waits as it is told, and answers with what it saw last."""

    name = "scripted:test"
    capabilities = frozenset({Capability.CHAT, Capability.LOGPROBS})

    def __init__(self, agent: str = "", delays: Mapping[str, float] | None = None) -> None:
        self.agent = agent
        self.delays = delays or {}
        self.calls: list[Generate] = []

    async def generate(self, call: Generate) -> Reply:
        self.calls.append(call)
        await anyio.sleep(self.delays.get(call.key, 0))
        return Reply(text=f"{call.turns[-1].text} | seed {call.seed}")

    async def extend(self, call: Extend) -> TransportFailure:
        return TransportFailure(problem=f"cannot continue {call.text!r}", cause="capability")

    async def score(self, call: Score) -> Scores:
        count = len(call.continuations)
        return Scores(logprobs=tuple(-float(i) for i in range(count)), lengths=(1,) * count)

    async def close(self) -> None:
        return None


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
        "ask/ada", "ask/ben", "ask/ada/2", "round/1/ask/ada", "round/2/ask/ada", "mine", "left/ask/ada", "right/ask/ben",
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
    first = await play(script(), Clerk(delays={"ask/ada": 0.15, "ask/ben": 0.4}), store)
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


# -- replay and resume ------------------------------------------------------------------------------------------

agents = st.sampled_from([seat.agent for seat in SEATS])
leaves = st.one_of(
    st.tuples(st.just("ask"), agents), st.tuples(st.just("post"), agents), st.tuples(st.just("note"), st.just("x"))
).map(list)


def nested(children: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    some = st.lists(children, max_size=4)
    return st.one_of(
        some.map(lambda nodes: ["then", *nodes]),
        some.map(lambda nodes: ["together", *nodes]),
        st.lists(agents, max_size=4).map(lambda names: ["list", *names]),
        st.tuples(st.sampled_from(["a", "b"]), children).map(lambda pair: ["under", *pair]),
    )


trees = st.recursive(leaves, nested, max_leaves=12)
racing_trees = st.recursive(
    leaves,
    lambda children: st.one_of(
        nested(children),
        st.tuples(st.integers(1, 3), st.lists(children, min_size=1, max_size=4)).map(lambda p: ["race", p[0], *p[1]]),
    ),
    max_leaves=12,
)


class Jittery(Clerk):
    """Answers after a short random delay, from the request alone."""

    def __init__(self, luck: random.Random) -> None:
        super().__init__()
        self.luck = luck

    async def generate(self, call: Generate) -> Reply:
        self.calls.append(call)
        for _ in range(self.luck.randrange(4)):
            await anyio.sleep(0)
        return Reply(text=f"{call.key} {call.seed} {len(call.turns)}")


def record_of(settings: Mapping[str, Any], luck: int) -> tuple[MemoryStore, Any]:
    store = MemoryStore()
    clerk = Jittery(random.Random(luck))  # noqa: S311

    async def go() -> Any:
        return await run_procedure(
            procedure="test", settings=settings, seats=SEATS, performer=Live(lambda _a: clerk), record=store, seed=3
        )

    return store, anyio.run(go)


def prefix(store: MemoryStore, length: int) -> MemoryStore:
    """A store that holds the first ``length`` events: what a crash left behind."""
    from dissensus.record.event import Draft

    left = MemoryStore()
    for event in store.read(1, length + 1) if False else list(store.read())[:length]:
        left.append(
            [
                Draft(
                    kind=event.kind, key=event.key, actor=event.actor, thread=event.thread,
                    visibility=event.visibility, body=event.body,
                )
            ]
        )  # fmt: skip
    left.commit()
    return left


@pytest.fixture(autouse=True)
def test_procedure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(procedures, "PROCEDURES", {**procedures.PROCEDURES, "test": procedure()})
    monkeypatch.setattr("dissensus.run.runs.PROCEDURES", procedures.PROCEDURES | {"test": procedure()})


class TestEveryWay:
    """Plain functions, since hypothesis drives them; each starts its own event loop."""

    pytestmark: tuple[Any, ...] = ()

    @given(tree=racing_trees, luck=st.integers(0, 5))
    def test_replay_gives_the_identical_events_and_decision(self, tree: Any, luck: int) -> None:
        store, first = record_of({"tree": tree}, luck)
        events = list(store.read())
        again: list[Any] = []

        async def go() -> Any:
            from dissensus.run.runs import _play, head_of

            journal = Journal(None, events, again.append)
            head = head_of(events)
            result = await _play(head, journal, Recorded(past_of(events)), head.script())
            assert journal.unused() == []
            return result

        assert anyio.run(go).answer == first.answer
        assert again == events

    @given(tree=racing_trees, luck=st.integers(0, 5), data=st.data())
    def test_resume_repeats_no_call_that_had_an_outcome(self, tree: Any, luck: int, data: st.DataObject) -> None:
        store, first = record_of({"tree": tree}, luck)
        length = data.draw(st.integers(1, len(store)))
        left = prefix(store, length)
        answered = {event.key for event in left.read() if event.kind == "outcome"}
        clerk = Jittery(random.Random(luck + 1))  # noqa: S311
        second = anyio.run(resume, left, Live(lambda _a: clerk))
        asked = Counter(call.key for call in clerk.calls)
        assert not answered & set(asked)
        assert all(times == 1 for times in asked.values())
        keys = Counter((event.kind, event.key) for event in left.read() if event.kind != "resumed")
        assert all(times == 1 for times in keys.values())
        if "race" not in repr(tree):
            assert second.answer == first.answer
        if length == len(store):
            assert second.answer == first.answer
            assert not clerk.calls


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


async def test_a_script_that_raises_ends_the_run_as_failed() -> None:
    def build(*_: Any) -> Script:
        yield Ask("ada", "?")
        raise LookupError("lost")

    procedures.PROCEDURES["test"]  # the fixture has put it there  # noqa: B018
    store = MemoryStore()
    from dissensus.run import runs

    runs.PROCEDURES["test"] = procedure(build)  # type: ignore[index]
    with pytest.raises(ScriptError, match="lost"):
        await run_procedure(
            procedure="test", settings={}, seats=SEATS, performer=Live(lambda _a: Clerk()), record=store
        )
    kinds = [event.kind for event in store.read()]
    assert kinds[-2:] == ["failed", "ended"]


async def test_cancelled_runs_leave_a_record_that_resumes() -> None:
    from dissensus.run import runs

    def build(*_: Any) -> Script:
        first = yield Ask("ada", "quick")
        second = yield Ask("ben", "slow")
        return decision([first.text, second.text])

    runs.PROCEDURES["test"] = procedure(build)  # type: ignore[index]
    store = MemoryStore()
    with anyio.move_on_after(0.1):
        await run_procedure(
            procedure="test", settings={}, seats=SEATS, record=store,
            performer=Live(lambda _a: Clerk(delays={"ask/ben": 30})),
        )  # fmt: skip
    assert [event.kind for event in store.read()][-1] == "interrupted"
    clerk = Clerk()
    result = await resume(store, Live(lambda _a: clerk))
    assert [call.key for call in clerk.calls] == ["ask/ben"]
    assert result.status == "decided"
    assert isinstance(Cancelled(), Cancelled)
