"""One answer in turns on real engines, end to end: the embedded one by its streams, and a server by ids and by text."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import dissensus.agents.llama_host
from dissensus.agents.panel import Panel, default_panel
from dissensus.decide.round_robin_result import RoundRobin
from dissensus.decide.round_robin_settings import RoundRobinSettings
from dissensus.record.memory import MemoryStore
from dissensus.run.casting import run_procedure

pytestmark = [pytest.mark.anyio, pytest.mark.model]
KEY = "canary-0123456789"
N, K, L = 3, 4, 20
SETTINGS: dict[str, Any] = {"k": K, "length": L, "trajectories": 1, "temperature": 0.0, "top_p": None, "max_idle": 99}


@pytest.fixture(scope="module")
def server(smollm2_path: Path) -> Iterator[str]:
    """The engine's own server, with a slot for each agent."""
    pytest.importorskip("xllamacpp")
    settings = {
        "path": str(smollm2_path), "key": KEY, "slots": N, "context": 512, "threads": 1, "flash_attention": None,
        "chat_template": "", "gpu_layers": 0,
    }  # fmt: skip
    with subprocess.Popen(
        [sys.executable, "-P", dissensus.agents.llama_host.__file__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(settings) + "\n")
        process.stdin.flush()
        yield json.loads(process.stdout.readline())["address"]
        process.stdin.close()
        process.wait(30)


async def decided(panel: Panel, **more: Any) -> RoundRobin:
    settings = RoundRobinSettings(**(SETTINGS | more)).to_data()
    question = {"text": "Tell a long story of a mill, then say: how many wheels has it?", "kind": "number"}
    result = await run_procedure(
        procedure="round-robin",
        settings={"question": question, "round_robin": settings},
        panel=panel,
        record=MemoryStore(),
        seed=1,
    )
    assert isinstance(result, RoundRobin)
    return result


def counts_agree(result: RoundRobin) -> bool:
    """Whether the engine computed exactly what a cache that keeps everything would have to."""
    measured, counted = result.ledger["measured"], result.ledger["counted"]
    expected = {name: counted["exact"][name] for name in ("decoded", "computed", "cached")}
    return {name: measured[name] for name in expected} == expected


async def test_the_embedded_engine_computes_what_the_ledger_counts(smollm2_path: Path) -> None:
    options = {"slots": 1, "context": 512, "threads": 1, "streams": 6}
    panel = default_panel(f"llama:{smollm2_path}", N, vary=False, options=options)
    result = await decided(panel)
    [text] = result.texts
    assert (text.fidelity, text.kept, len(text.turns)) == ("token_exact", L, L // K)
    assert counts_agree(result)
    alone = await decided(panel, k=L)
    assert text.ids == alone.texts[0].ids, "one prompt for all: in turns it is the text that one writes alone"


async def test_a_server_by_ids_computes_the_same_and_by_text_it_says_so(
    server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ENGINE_KEY", KEY)
    options = {"server": "llama.cpp", "api_key_env": "ENGINE_KEY", "slots": N, "extra": {"ignore_eos": True}}
    panel = default_panel(f"openai:m@{server}/v1", N, vary=False, options=options)
    by_ids = await decided(panel)
    [text] = by_ids.texts
    assert (text.fidelity, text.kept, len(text.turns)) == ("token_exact", L, L // K)
    assert counts_agree(by_ids)
    assert text.ids is not None
    assert len(text.ids) == L
    words = default_panel(
        f"openai:m@{server}/v1", N, vary=False, options={**options, "capabilities": ["chat", "continue"]}
    )
    by_text = await decided(words)
    assert by_text.fidelity == "text_prefill"
    assert by_text.texts[0].text.strip()
    assert any("handed over as text" in warning for warning in by_text.warnings)
