"""What a run, its agents and several runs may take: one tree, held while calls are under way, for every procedure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dissensus.agents.budget import Budget, Limits
from dissensus.agents.panel import Panel, default_panel
from dissensus.decide.contract import ContractSettings
from dissensus.decide.procedures import settings_of_contract, settings_of_round_robin, settings_of_vote
from dissensus.decide.round_robin_settings import RoundRobinSettings
from dissensus.decide.settings import VoteSettings
from dissensus.record.event import Event
from dissensus.record.memory import MemoryStore
from dissensus.record.sqlite import open_record
from dissensus.run.casting import Cast, resume_from, run_procedure
from dissensus.run.performers import Finished, Live
from dissensus.run.render import render
from dissensus.run.spending import Spending
from dissensus.script.calls import Capability, Extend, Generate, Score
from dissensus.script.decisions import Decision
from dissensus.script.effects import Ask, UseTool
from dissensus.script.outcomes import BudgetExhausted, Outcome, Reply, ToolResult, Usage
from dissensus.script.questions import Question
from dissensus.script.seats import Seat

QUESTION = Question(text="How many?", kind="number")
AGENTS = ("ada", "ben", "cleo")
small = st.none() | st.integers(0, 12)
limits = st.builds(Limits, calls=small, tokens=st.none() | st.integers(0, 12_000))


class Watched:
    """A model that takes a while, never more than was reserved, and looks at the tree whenever it is at work."""

    capabilities = frozenset({Capability.CHAT})
    name = "watched"

    def __init__(self, tree: Mapping[str, Budget], pauses: list[int], share: int) -> None:
        self.tree, self.pauses, self.share = tree, pauses, share
        self.calls: Counter[str] = Counter()
        self.most_at_once = self._now = 0

    async def generate(self, call: Generate) -> Outcome:
        self.calls[call.key.split("/")[0]] += 1
        self._now += 1
        self.most_at_once = max(self.most_at_once, self._now)
        for _ in range(self.pauses[self.calls.total() % len(self.pauses)]):
            self.look()
            await anyio.lowlevel.checkpoint()
        self._now -= 1
        self.look()
        took = call.max_tokens * self.share // 10
        return Reply(text="42", model="watched", usage=Usage(tokens_in=0, tokens_out=took))

    async def extend(self, call: Extend) -> Outcome:
        raise AssertionError(call)

    async def score(self, call: Score) -> Outcome:
        raise AssertionError(call)

    async def close(self) -> None:
        pass

    def look(self) -> None:
        """At every node, what is held and what is spent fit into the limit."""
        for budget in self.tree.values():
            held, charged = budget.held(), budget.charged()
            for what in ("calls", "tokens"):
                limit = getattr(budget.limits, what)
                assert limit is None or getattr(held, what) + getattr(charged, what) <= limit


async def asked(live: Live, demands: Mapping[str, int]) -> dict[str, Outcome]:
    """Ask all at once; the outcomes by key."""
    found: dict[str, Outcome] = {}
    async with live:
        for agent, times in demands.items():
            for number in range(times):
                key = f"{agent}/{number}"
                live.start(render(Ask(agent, "How many?"), key, Seat(agent=agent, model="watched"), (), number))
        while len(found) < sum(demands.values()):
            for one in await live.next():
                if isinstance(one, Finished):
                    found[one.key] = one.outcome
    return found


@settings(max_examples=150, deadline=None)
@given(
    st.tuples(limits, limits),
    st.dictionaries(st.sampled_from(AGENTS), limits),
    st.fixed_dictionaries({name: st.integers(0, 6) for name in AGENTS}),
    st.lists(st.integers(0, 4), min_size=1, max_size=5),
    st.integers(0, 10),
)
def test_calls_side_by_side_never_take_more_than_any_budget_on_their_way_up(
    above: tuple[Limits, Limits], of: dict[str, Limits], demands: dict[str, int], pauses: list[int], share: int
) -> None:
    around, run = above
    top = Budget(around, name="all")
    tree = {"all": top, "run": Budget(run, top)}
    tree |= {name: Budget(one, tree["run"], name=name) for name, one in of.items()}
    model = Watched(tree, pauses, share)
    purses = {name: tree[name] for name in of}
    live = Live(lambda _agent: model, spending=Spending(tree["run"], purses))
    found = anyio.run(asked, live, demands)
    for agent, times in demands.items():
        outcomes = [found[f"{agent}/{number}"] for number in range(times)]
        assert model.calls[agent] == sum(isinstance(one, Reply) for one in outcomes)
        assert all(isinstance(one, Reply | BudgetExhausted) for one in outcomes)
    for budget in tree.values():
        assert (budget.held().calls, budget.held().tokens) == (0, 0), "what was not used is given back"
    if all(one.tokens is None for one in (around, run, *of.values())):
        own = {name: one.calls for name, one in of.items() if one.calls is not None}
        most = sum(min(demands[name], own.get(name, 99)) for name in AGENTS)
        bounds = [limit for limit in (around.calls, run.calls) if limit is not None]
        assert model.calls.total() == min([most, *bounds]), "and nothing that could be paid is refused"


def test_calls_are_really_side_by_side() -> None:
    tree = {"run": Budget(Limits(calls=9))}
    model = Watched(tree, [3], 1)
    anyio.run(asked, Live(lambda _agent: model, spending=Spending(tree["run"])), dict.fromkeys(AGENTS, 5))
    assert (model.calls.total(), model.most_at_once) == (9, 9)


def test_no_tool_is_begun_when_the_time_is_over() -> None:
    now = [0.0]
    ran: list[str] = []

    class Tool:
        async def call(self, arguments: Any, _deadline_s: Any) -> ToolResult:
            ran.append(str(arguments))
            return ToolResult(text="done")

    async def go(at: float) -> Outcome:
        spending = Spending(Budget(Limits(seconds=10), clock=lambda: now[0]))
        now[0] += at
        seat = Seat(agent="ada", model="m")
        async with Live(lambda _agent: pytest.fail("asked"), tools={"t": Tool()}, spending=spending) as live:
            live.start(render(UseTool("ada", "t", {}), "tool/ada", seat, (), 1))
            (one,) = await live.next()
            assert isinstance(one, Finished)
            return one.outcome

    assert anyio.run(go, 9.0) == ToolResult(text="done")
    assert anyio.run(go, 10.0) == BudgetExhausted(what="seconds")
    assert len(ran) == 1


# --- every procedure


def panel(text: str, **more: Any) -> Panel:
    return replace(default_panel(f"scripted:{text}", 3), **more)


def ran(procedure: str, told: Any, of: Panel, within: Budget | None = None) -> tuple[Decision, list[Event]]:
    store = MemoryStore()

    async def go() -> Decision:
        async with Cast(of, within=within) as cast:
            return await run_procedure(procedure=procedure, settings=told, panel=cast, record=store)

    return anyio.run(go), list(store.read())


WRITERS = RoundRobinSettings(k=2, length=40, trajectories=1)
EVERY = {
    "vote": (settings_of_vote(QUESTION, VoteSettings()), panel("Answer: 8")),
    "round-robin": (
        settings_of_round_robin(QUESTION, WRITERS),
        panel("one two three four five six seven eight nine ten"),
    ),
    "contract": (
        settings_of_contract("Paint.", ContractSettings(rounds=1)),
        panel('{"price": 1, "estimate": 1, "confidence": 1}'),
    ),
}


@pytest.mark.parametrize("procedure", sorted(EVERY))
def test_every_procedure_says_which_limit_stopped_it_and_gives_notice_before(procedure: str) -> None:
    told, of = EVERY[procedure]
    free, _ = ran(procedure, told, of)
    assert free.stopped == ""
    assert free.cost.calls > 2
    found, events = ran(procedure, told, replace(of, budget=Limits(calls=2)))
    assert found.stopped == "budget: calls"
    assert found.to_data()["stopped"] == "budget: calls"
    assert found.cost.calls == 2
    notices = [event.body for event in events if event.kind == "budget-warning"]
    assert [(one["budget"], one["what"], one["share"], one["limit"]) for one in notices] in (
        [("run", "calls", 0.5, 2), ("run", "calls", 0.8, 2)], [("run", "calls", 0.8, 2)],
    )  # fmt: skip
    assert notices[-1]["text"] == "2 of 2 calls in the budget of the run are used."


@pytest.mark.parametrize("procedure", sorted(EVERY))
def test_an_agent_has_no_more_than_its_own_and_the_others_go_on(procedure: str) -> None:
    told, of = EVERY[procedure]
    _, free = ran(procedure, told, of)
    found, events = ran(procedure, told, replace(of, budgets={"ada": Limits(calls=0)}))
    paid = [event.actor for event in events if event.kind == "outcome" and event.body["outcome"]["kind"] != "budget"]
    assert "ada" in [event.actor for event in free if event.kind == "outcome"]
    assert "ada" not in paid
    assert bool(paid) is (procedure != "round-robin"), "the others were asked; a text ends at who cannot be paid"
    assert found.stopped == "budget: calls"


def test_runs_share_what_is_above_them() -> None:
    told, of = EVERY["vote"]
    together = Budget(Limits(calls=5), name="all votes")
    first, second = ran("vote", told, of, together)[0], ran("vote", told, of, together)[0]
    assert (first.stopped, first.cost.calls) == ("", 3)
    assert (second.stopped, second.cost.calls) == ("budget: calls", 2)
    assert together.charged().calls == 5


def test_a_run_that_goes_on_has_what_it_had_left_and_repeats_no_notice(tmp_path: Path) -> None:
    told, of = EVERY["vote"]
    of = replace(of, budget=Limits(calls=3), budgets={"ada": Limits(calls=1)})
    store = MemoryStore()

    async def whole() -> Decision:
        async with Cast(of) as cast:
            return await run_procedure(procedure="vote", settings=told, panel=cast, record=store)

    decision = anyio.run(whole)
    warned = [event for event in store.read() if event.kind == "budget-warning" and event.body["budget"] == "run"]
    cut = tmp_path / "cut.db"
    with open_record(cut, "x", run_id=store.run_id) as left:
        left.adopt(list(store.rows(1, warned[0].seq + 1)), dict(store.blobs()))
    again = anyio.run(resume_from, cut)
    assert again.votes == decision.votes
    with open_record(cut) as found:
        steps = [
            (event.body["budget"], event.body["what"], event.body["share"])
            for event in found.read() if event.kind == "budget-warning"
        ]  # fmt: skip
    assert len(steps) == len(set(steps)), "each once, whatever has died in between"
    assert ("run", "calls", 0.8) in steps
