"""The same script live, replayed, resumed after a cut at any event, failed and cancelled."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from hypothesis import given
from hypothesis import strategies as st
from plays import SEATS, Clerk, decision, procedure

from dissensus.decide.procedures import PROCEDURES
from dissensus.errors import RunError, ScriptError, UsageError
from dissensus.record.event import Draft
from dissensus.record.memory import MemoryStore
from dissensus.record.opening import open_record
from dissensus.run import runs
from dissensus.run.journal import Journal
from dissensus.run.performers import Live, Recorded
from dissensus.run.recordable import recordable
from dissensus.run.runs import head_of, past_of, resume, start
from dissensus.script.calls import Generate, Score
from dissensus.script.effects import Ask, ScoreTexts, Script
from dissensus.script.outcomes import Reply, Scores, TimedOut, ToolResult, TransportFailure, Usage
from dissensus.script.seats import Seat

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
            await anyio.lowlevel.checkpoint()
        return Reply(text=f"{call.key} {call.seed} {len(call.turns)}")


def record_of(settings: Mapping[str, Any], luck: int) -> tuple[MemoryStore, Any]:
    store = MemoryStore()
    clerk = Jittery(random.Random(luck))  # noqa: S311

    async def go() -> Any:
        return await start(
            procedure="test", settings=settings, seats=SEATS, performer=Live(lambda _a: clerk), record=store, seed=3
        )

    return store, anyio.run(go)


def prefix(store: MemoryStore, length: int) -> MemoryStore:
    """A store that holds the first ``length`` events: what a crash left behind."""
    left = MemoryStore()
    for event in list(store.read())[:length]:
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
def known(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The procedures, with one more named ``test``."""
    monkeypatch.setitem(PROCEDURES, "test", procedure())
    return PROCEDURES


@given(tree=racing_trees, luck=st.integers(0, 5))
def test_replay_gives_the_identical_events_and_decision(tree: Any, luck: int) -> None:
    store, first = record_of({"tree": tree}, luck)
    events = list(store.read())
    again: list[Any] = []

    async def go() -> Any:
        journal = Journal(None, events, again.append)
        head = head_of(events)
        result = await runs._play(head, journal, Recorded(past_of(events)), head.script())
        assert journal.unused() == []
        return result

    assert anyio.run(go).answer == first.answer
    assert again == events


@given(tree=racing_trees, luck=st.integers(0, 5), data=st.data())
def test_resume_repeats_no_call_that_had_an_outcome(tree: Any, luck: int, data: st.DataObject) -> None:
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


@pytest.mark.anyio
async def test_a_script_that_raises_ends_the_run_as_failed(known: dict[str, Any]) -> None:
    def build(*_: Any) -> Script:
        yield Ask("ada", "?")
        raise LookupError("lost")

    store = MemoryStore()
    known["test"] = procedure(build)
    with pytest.raises(ScriptError, match="lost"):
        await start(procedure="test", settings={}, seats=SEATS, performer=Live(lambda _a: Clerk()), record=store)
    kinds = [event.kind for event in store.read()]
    assert kinds[-2:] == ["failed", "ended"]


@pytest.mark.anyio
async def test_cancelled_runs_leave_a_record_that_resumes(known: dict[str, Any]) -> None:
    def build(*_: Any) -> Script:
        first = yield Ask("ada", "quick")
        second = yield Ask("ben", "slow")
        return decision([first.text, second.text])

    known["test"] = procedure(build)
    store = MemoryStore()
    with anyio.move_on_after(0.1):
        await start(
            procedure="test", settings={}, seats=SEATS, record=store,
            performer=Live(lambda _a: Clerk(delays={"ask/ben": 30})),
        )  # fmt: skip
    assert [event.kind for event in store.read()][-1] == "interrupted"
    clerk = Clerk()
    result = await resume(store, Live(lambda _a: clerk))
    assert [call.key for call in clerk.calls] == ["ask/ben"]
    assert result.status == "decided"


class Whole(Clerk):
    """A back end that gives whole numbers where fractions may stand, as JSON and people do."""

    async def generate(self, call: Generate) -> Reply:
        return Reply(text=call.key, usage=Usage(seconds=6, cost=2))

    async def score(self, call: Score) -> Scores:
        return Scores(logprobs=tuple(range(len(call.continuations))), lengths=(1, 1), usage=Usage(seconds=1))


def test_whole_numbers_replay(tmp_path: Path, known: dict[str, Any]) -> None:
    def script(_settings: object, seats: Sequence[Seat], _seed: int) -> Script:
        asked = yield [Ask(seats[0].agent, "?"), ScoreTexts(seats[0].agent, "?", ("yes", "no")), Ask("slow", "?")]
        return decision([asked[0].text, asked[1].logprobs, asked[2].after_s])

    known["test"] = procedure(script)
    seats = [
        Seat(agent="ada", model="m", temperature=0, deadline_s=30),
        Seat(agent="slow", model="m", temperature=1, deadline_s=1e-9),
    ]
    path = tmp_path / "whole.db"

    async def go() -> None:
        with open_record(path, "x") as store:
            slow = Clerk(delays={"ask/slow": 60})
            live = Live(lambda agent: slow if agent == "slow" else Whole())
            await start(procedure="test", settings={}, seats=seats, performer=live, record=store)

    anyio.run(go)
    assert runs.replay(path).identical


@pytest.mark.parametrize(
    "outcome",
    [
        TimedOut(after_s=math.inf),
        ToolResult(text="?", seconds=math.nan),
        Scores(logprobs=(-math.inf,), lengths=(1,)),
        Reply(text="?", usage=Usage(tokens_in=10**30)),
        Reply(text=None),  # type: ignore[arg-type] # a back end by others may return anything
        None,
    ],
)
def test_what_no_record_can_hold_is_a_failed_call(outcome: Any) -> None:
    found = recordable(outcome)
    assert isinstance(found, TransportFailure)
    assert found.cause == "body"


def test_a_seat_that_no_record_gives_back_is_refused_before_anybody_is_asked() -> None:
    seat = Seat(agent="ada", model="m", temperature="hot")  # type: ignore[arg-type] # the point
    with pytest.raises(UsageError, match="temperature"):
        anyio.run(
            lambda: start(
                procedure="test", settings={"tree": ["ask", "ada"]}, seats=[seat],
                performer=Live(lambda _agent: Clerk()), record=MemoryStore(),
            )
        )  # fmt: skip


@pytest.mark.parametrize("kind", ["run", "outcome", "decision"])
def test_a_record_of_another_version_is_no_traceback(kind: str, tmp_path: Path) -> None:
    store, _ = record_of({"tree": ["ask", "ada"]}, 0)
    path = tmp_path / "other.db"
    strange: dict[str, Any] = {
        "run": {"procedure": "test"},
        "outcome": {"outcome": {"kind": "song"}, "request": ""},
        "decision": {},
    }
    with open_record(path, "x") as other:
        for event in store.read():
            body = strange[kind] if event.kind == kind else event.body
            other.append([Draft(kind=event.kind, key=event.key, body=body)])
        other.commit()
    with pytest.raises(RunError, match="cannot be taken up by this version"):
        runs.replay(path)
