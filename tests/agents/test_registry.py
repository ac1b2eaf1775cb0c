"""From a reference to a model; what does not exist or does not fit is refused with the next step."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import EntryPoint, EntryPoints
from typing import Any

import anyio
import pytest
from servers import answer, chat, hostile

from dissensus.agents import registry
from dissensus.agents.limited import Limited
from dissensus.agents.model import Model
from dissensus.agents.registry import open_model, schemes, split_reference
from dissensus.agents.retried import Retried
from dissensus.agents.scripted import Scripted
from dissensus.errors import DissensusError, ModelNotFound, SpecError
from dissensus.script.calls import Attempt, Capability, Generate, Turn
from dissensus.script.outcomes import Reply, TransportFailure

CALL = Generate(turns=(Turn("user", "Is 9 prime?"),))


def said(model: Model, call: Generate = CALL) -> str:
    outcome = anyio.run(model.generate, call)
    assert isinstance(outcome, Reply), outcome
    return outcome.text


@pytest.mark.parametrize(
    ("reference", "parts"),
    [
        ("scripted:42", ("scripted", "42")),
        ("scripted:", ("scripted", "")),
        ("scripted:a:b", ("scripted", "a:b")),
        ("openai:m@http://h/v1", ("openai", "m@http://h/v1")),
        ("http://h/agent", ("http", "http://h/agent")),
        ("https://h/agent", ("http", "https://h/agent")),
        ("http:https://h/agent", ("http", "https://h/agent")),
        ("llama:smollm2-135m", ("llama", "smollm2-135m")),
        (" smollm2-135m ", ("llama", "smollm2-135m")),
        ("./models/a:b.gguf", ("llama", "./models/a:b.gguf")),
        ("C:\\models\\a.gguf", ("llama", "C:\\models\\a.gguf")),
        ("theirs:thing", ("theirs", "thing")),
    ],
)
def test_how_a_reference_is_read(reference: str, parts: tuple[str, str]) -> None:
    assert split_reference(reference) == parts


def test_scripted_from_plain_data() -> None:
    assert said(open_model("scripted:42")) == "42"
    options: dict[str, Any] = {
        "rules": [{"when": "prime", "say": "no"}, {"when": "x", "fail": "timeout"}],
        "seed": 3,
        "name": "clerk",
        "delay_s": [0.0, 0.001],
        "tokenizer": "character",
        "capabilities": ["chat", "seed"],
        "price_in": 1,
        "price_out": 1,
    }
    model = open_model("scripted:else", options)
    assert (model.name, model.capabilities) == ("clerk", frozenset({Capability.CHAT, Capability.SEED}))
    assert said(model) == "no"
    assert said(model, Generate(turns=(Turn("user", "Hello"),))) == "else"
    listed = open_model("scripted:", {"replies": ["a", "b"], "dies_after": 2})
    assert (said(listed), said(listed)) == ("a", "b")
    assert anyio.run(listed.generate, CALL).kind == "transport"


@pytest.mark.anyio
async def test_a_server_is_limited_and_tried_again() -> None:
    told: list[Attempt] = []
    async with hostile(answer({"error": "x"}, status=500), answer(chat("again"))) as server:
        model = open_model(f"openai:m@{server.url}", {"concurrency": 2, "server": "vllm"})
        assert isinstance(model, Retried)
        assert isinstance(model.model, Limited)
        assert Capability.TOKENS in model.capabilities
        outcome = await model.generate(Generate(turns=CALL.turns, report=told.append))
        await model.close()
        assert isinstance(outcome, Reply)
        assert (outcome.text, len(told)) == ("again", 1)
        once = open_model("openai:m", {"base_url": server.url, "tries": 1})
        assert isinstance(once, Limited)


@pytest.mark.anyio
async def test_an_agent_behind_a_url() -> None:
    async with hostile(answer({"text": "here"})) as server:
        for reference in (server.url, f"http:{server.url}"):
            model = open_model(reference, {"name": "ada"})
            outcome = await model.generate(CALL)
            await model.close()
            assert isinstance(outcome, Reply)
            assert (outcome.text, model.name) == ("here", "ada")


REFUSED: list[tuple[str, dict[str, Any], type[DissensusError], str]] = [
    ("openia:m@http://h", {}, ModelNotFound, "openai:m@http://h"),
    ("zzz:m", {}, ModelNotFound, "scripted"),
    ("openai:", {}, ModelNotFound, "openai:MODEL@URL"),
    ("", {}, ModelNotFound, "llama:NAME"),
    ("llama:no-such-model", {}, ModelNotFound, "smollm2-135m"),
    ("openai:m", {}, SpecError, "@http"),
    ("openai:@http://h", {}, SpecError, "MODEL"),
    ("openai:m@http://h", {"timeout": 3}, SpecError, "timeout_s"),
    ("openai:m@http://h", {"zzzzzz": 3}, SpecError, "Known are"),
    ("openai:m@http://h", {"timeout_s": "long"}, SpecError, "options"),
    ("openai:m@http://h", {"server": "tgi"}, SpecError, "options"),
    ("openai:m@http://h", {"capabilities": ["magic"]}, SpecError, "options"),
    ("openai:m@http://h", {"base_url": "http://i"}, SpecError, "Remove"),
    ("openai:m@http://h", {"api_key": "canary"}, SpecError, "api_key_env"),
    ("openai:m@http://h", {"api_key_env": "NOT_SET_ANYWHERE"}, SpecError, "export NOT_SET_ANYWHERE"),
    ("openai:m@http://h", {"timeout_s": -1}, SpecError, "options"),
    ("http:localhost:80", {}, SpecError, "http://"),
    ("scripted:x", {"rules": [{"when": "("}]}, SpecError, "expression"),
    ("scripted:x", {"rules": ["x"]}, SpecError, "options"),
    ("scripted:x", {"rules": [{"say": "x"}], "replies": ["y"]}, SpecError, "one of them"),
    ("scripted:x", {"tokenizer": "bpe"}, SpecError, "character"),
]


@pytest.mark.parametrize(("reference", "options", "error", "hint"), REFUSED)
def test_what_is_wrong_is_refused_with_the_next_step(
    reference: str, options: dict[str, Any], error: type[DissensusError], hint: str
) -> None:
    with pytest.raises(error) as caught:
        open_model(reference, options)
    assert hint in str(caught.value)
    assert caught.value.next_step
    assert "canary" not in str(caught.value)


class TheirModel(Scripted):
    """What another package might bring."""


def their_load(rest: str, **options: Any) -> Model:
    return TheirModel(f"{rest} {sorted(options)}")


def test_a_back_end_of_another_package_is_found_by_its_entry_point(monkeypatch: pytest.MonkeyPatch) -> None:
    here = [
        EntryPoint("theirs", f"{__name__}:their_load", registry.GROUP),
        EntryPoint("scripted", f"{__name__}:their_load", registry.GROUP),
        EntryPoint("broken", "no_such_package_at_all:load", registry.GROUP),
    ]

    def entry_points(**wanted: Any) -> EntryPoints:
        return EntryPoints(here).select(**wanted)

    monkeypatch.setattr(registry, "entry_points", entry_points)
    monkeypatch.setitem(sys.modules, __name__, sys.modules[test_how_a_reference_is_read.__module__])
    model = open_model("theirs:thing", {"depth": 3})
    assert isinstance(model, TheirModel)
    assert said(model) == "thing ['depth']"
    assert schemes() == ("broken", "http", "llama", "openai", "scripted", "theirs")
    assert not isinstance(open_model("scripted:ours"), TheirModel)
    with pytest.raises(ModelNotFound, match="no_such_package_at_all"):
        open_model("broken:x")
    with pytest.raises(ModelNotFound, match="theirs:x"):
        open_model("theirz:x")


def test_back_ends_are_imported_when_they_are_named() -> None:
    code = """
import sys
from dissensus.agents.registry import open_model
heavy = {"httpx2", "xllamacpp", "pydantic", "numpy", "yaml"}
assert not heavy & set(sys.modules), heavy & set(sys.modules)
open_model("scripted:42")
open_model("openai:m@http://127.0.0.1:1/v1")
assert not heavy & set(sys.modules), heavy & set(sys.modules)
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_no_connection_is_a_failure_that_says_where() -> None:
    model = open_model("openai:m@http://127.0.0.1:9/v1", {"tries": 1})

    async def run() -> Any:
        outcome = await model.generate(CALL)
        await model.close()
        return outcome

    outcome = anyio.run(run)
    assert isinstance(outcome, TransportFailure)
    assert "http://127.0.0.1:9" in outcome.problem
