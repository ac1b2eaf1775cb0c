from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from dissensus.agents import registry
from dissensus.agents.budget import Budget, Exhausted, Limits
from dissensus.agents.panel import (
    TEMPERATURES,
    ModelSpec,
    Panel,
    close_models,
    default_panel,
    open_budget,
    open_models,
    open_tools,
    panel_from_data,
    with_capabilities,
    with_tools,
)
from dissensus.agents.panel_file import panel_of
from dissensus.agents.prices import Prices
from dissensus.errors import SpecError, UsageError
from dissensus.script.calls import Capability, Extend, Generate, Score, Turn
from dissensus.script.outcomes import Extended, Reply, Scores
from dissensus.script.seats import Seat
from dissensus.script.styles import ROTATION, STYLES
from dissensus.specfile import parse_spec

pytestmark = pytest.mark.anyio


def read(text: str) -> Panel:
    return panel_of(parse_spec(text, "", "panel file"))


async def test_the_default_panel_varies_style_and_temperature() -> None:
    panel = default_panel("scripted:x", 7, spares=1, language="de", deadline_s=9, budget=Limits(calls=3))
    assert [seat.agent for seat in panel.seats] == ["ada", "ben", "cleo", "dan", "eve", "finn", "gus", "hana"]
    assert [seat.spare for seat in panel.seats] == [False] * 7 + [True]
    assert [seat.style for seat in panel.seats[:5]] == list(ROTATION)
    assert [seat.temperature for seat in panel.seats[:4]] == list(TEMPERATURES)
    assert len({(seat.style, seat.temperature) for seat in panel.seats}) == 8
    assert panel.seats[0].system == f"{STYLES[ROTATION[0]].text}\nAnswer in German."
    assert {seat.deadline_s for seat in panel.seats} == {9}
    assert panel.spec_of("gus") == ModelSpec(reference="scripted:x")
    assert panel_from_data(json.loads(json.dumps(panel.to_data()))) == panel


async def test_without_variation_agents_differ_in_name_only() -> None:
    panel = default_panel("scripted:x", 3, vary=False, temperature=0.0, max_tokens=5)
    assert panel.seats == tuple(
        Seat(agent=name, model="scripted:x", temperature=0.0, max_tokens=5) for name in ("ada", "ben", "cleo")
    )


@pytest.mark.parametrize(("agents", "spares"), [(0, 0), (-1, 0), (1001, 0), (1, -1)])
async def test_numbers_of_agents_that_cannot_be(agents: int, spares: int) -> None:
    with pytest.raises(UsageError, match="1 to 1000 agents"):
        default_panel("scripted:x", agents, spares=spares)


async def test_equal_specs_share_one_model_and_others_do_not() -> None:
    panel = read(
        "models:\n one: {use: 'scripted:yes', seed: 1}\n same: {seed: 1, use: 'scripted:yes'}\n"
        " other: {use: 'scripted:yes', seed: 2}\n"
        "agents: {count: 4, models: [one, same, other, one]}"
    )
    models = open_models(panel)
    assert models["ada"] is models["ben"] is models["dan"]
    assert models["ada"] is not models["cleo"]
    await close_models(models)
    await close_models(models)


async def test_each_model_is_closed_once() -> None:
    closed: list[str] = []

    class Closing:
        name = "x"
        capabilities = frozenset({Capability.CHAT})

        async def close(self) -> None:
            closed.append(self.name)

    model: Any = Closing()
    await close_models({"ada": model, "ben": model})
    assert closed == ["x"]


async def test_capabilities_come_from_the_opened_models() -> None:
    panel = read("models:\n m: {use: 'scripted:x', capabilities: [chat, schema]}\nagents: {count: 2, model: m}")
    assert {seat.capabilities for seat in panel.seats} == {frozenset()}
    opened = with_capabilities(panel, open_models(panel))
    assert {seat.capabilities for seat in opened.seats} == {frozenset({Capability.CHAT, Capability.SCHEMA})}
    assert opened.to_data()["seats"][0]["capabilities"] == ["chat", "schema"]
    assert panel_from_data(opened.to_data()) == opened


async def test_a_missing_key_is_said_when_models_are_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    panel = read(
        "models:\n m: {use: 'openai:x', url: 'http://127.0.0.1:1/v1', api_key_env: NO_SUCH_KEY}\n"
        "agents: {count: 1, model: m}"
    )
    with pytest.raises(SpecError, match="NO_SUCH_KEY is not set"):
        open_models(panel)


async def test_no_secret_gets_into_a_panels_data(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CANARY", "canary-5d1f9a0c77")
    panel = read(
        "models:\n m: {use: 'openai:x', url: 'http://127.0.0.1:1/v1', api_key_env: CANARY}\n"
        "agents: {count: 1, model: m}"
    )
    models = open_models(panel)
    try:
        shown = json.dumps(with_capabilities(panel, models).to_data()) + repr(panel) + repr(models)
    finally:
        await close_models(models)
    assert "CANARY" in shown
    assert "canary-5d1f9a0c77" not in shown


async def test_prices_of_a_back_end_that_knows_none_are_added_to_what_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = registry.open_model("scripted:one two")
    monkeypatch.setattr(registry, "open_model", lambda *_: plain)
    panel = read("models:\n m: {use: 'sc:x', prices: {in: 1000000, out: 2000000}}\nagents: {count: 1, model: m}")
    assert panel.spec_of("ada").options == {}
    model = open_models(panel)["ada"]
    assert (model.name, model.capabilities) == (plain.name, plain.capabilities)
    call = Generate(turns=(Turn("user", "a b c"),))
    bare, priced = await plain.generate(call), await model.generate(call)
    assert isinstance(bare, Reply)
    assert isinstance(priced, Reply)
    assert bare.usage.cost is None
    assert bare.usage.tokens_in is not None
    assert bare.usage.tokens_out is not None
    assert priced.usage.cost == bare.usage.tokens_in + 2 * bare.usage.tokens_out
    assert priced.text == bare.text
    extended = await model.extend(Extend(turns=(Turn("user", "a"),), text="one"))
    scored = await model.score(Score(turns=(Turn("user", "a"),), continuations=("one", "two")))
    for outcome, alone in (
        (extended, await plain.extend(Extend(turns=(Turn("user", "a"),), text="one"))),
        (scored, await plain.score(Score(turns=(Turn("user", "a"),), continuations=("one", "two")))),
    ):
        assert isinstance(outcome, Extended | Scores)
        assert outcome.usage.tokens_in is not None
        assert outcome.usage.cost == outcome.usage.tokens_in + 2 * (outcome.usage.tokens_out or 0)
        assert outcome == replace(alone, usage=outcome.usage)  # type: ignore[arg-type]


async def test_a_back_end_that_knows_prices_is_told_them() -> None:
    panel = read("models:\n m: {use: 'scripted:x', prices: {in: 3, out: 4}}\nagents: {count: 1, model: m}")
    assert panel.spec_of("ada") == ModelSpec(
        reference="scripted:x", options={"price_in": 3, "price_out": 4}, prices=Prices(tokens_in=3, tokens_out=4)
    )
    reply = await open_models(panel)["ada"].generate(Generate(turns=(Turn("user", "a"),)))
    assert isinstance(reply, Reply)
    assert reply.usage.cost is not None


async def test_the_budget_of_a_panel() -> None:
    now = [100.0]
    text = "agents: {count: 2, model: 'sc:x', budget: {calls: 1}}\nbudget: {calls: 2, seconds: 1 min}"
    panel = read(text)
    assert panel_from_data(panel.to_data()) == panel
    budget, of = open_budget(panel, clock=lambda: now[0], elapsed_s=50)
    assert budget.left().seconds == 10
    of["ada"].reserve()
    assert isinstance(of["ada"].reserve(), Exhausted), "its own is used up"
    assert budget.left().calls == 1
    of["ben"].reserve()
    assert isinstance(budget.reserve(), Exhausted), "and what both have taken is the run's"
    around = Budget(Limits(calls=1), name="study")
    (budget, _), (other, _) = open_budget(panel, within=around), open_budget(panel, within=around)
    budget.reserve()
    assert isinstance(other.reserve(), Exhausted), "two runs share what is above them"


async def test_tools_are_opened_and_put_into_the_seats() -> None:
    panel = read(
        "tools:\n say: {command: [echo, '{x}']}\n server: {mcp: {command: [x]}}\n"
        "agents:\n- {name: ada, model: 'sc:x', tools: [calculator, server, say]}\n- {name: ben, model: 'sc:x'}"
    )
    assert [tool.name for tool in panel.seat("ada").tools] == ["calculator", "server", "say"]
    small = read(
        "tools:\n say: {command: [echo, '{x}']}\nagents:\n- {name: a, model: 'sc:x', tools: [calculator, say]}"
    )
    async with open_tools(small) as box:
        assert (await box["say"].call({"x": "hm"})).text == "hm"
        assert with_tools(small, box) == small
        box.add("server", {"server.a": box["say"], "server.b": box["calculator"]})
        seated = with_tools(panel, box)
        assert [tool.name for tool in seated.seat("ada").tools] == ["calculator", "say", "calculator", "say"]
        assert seated.seat("ben").tools == ()


async def test_data_that_is_no_panel_is_refused() -> None:
    with pytest.raises(UsageError, match="not the data of a panel"):
        panel_from_data({"seats": 3})


async def test_unknown_agents_have_no_seat() -> None:
    panel = default_panel("scripted:x", 1)
    with pytest.raises(KeyError):
        panel.seat("nobody")
    with pytest.raises(KeyError):
        panel.spec_of("nobody")
