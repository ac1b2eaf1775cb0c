from __future__ import annotations

import shutil
import sys
import time
from pathlib import Path
from typing import Any

import anyio
import pytest

pytest.importorskip("mcp", reason="the extra mcp is not installed")

from dissensus.agents import mcp_tools
from dissensus.agents.mcp_tools import McpServer
from dissensus.agents.toolbox import ToolSource, open_toolbox
from dissensus.agents.tools import Tool
from dissensus.errors import MissingExtra, SpecError
from dissensus.script.outcomes import ToolResult

pytestmark = pytest.mark.anyio
SERVER = Path(__file__).with_name("mcp_server.py")


def server(way: str = "", **options: Any) -> McpServer:
    return McpServer("small", [sys.executable, str(SERVER), way], **options)


async def call(tool: Tool, **arguments: Any) -> ToolResult:
    result = await tool.call(arguments)
    return ToolResult(text=result.text, ok=result.ok)


async def test_tools_are_listed_with_a_prefix_and_called() -> None:
    async with server() as tools:
        assert list(tools) == [f"small.{name}" for name in ("add", "fail", "die", "sleep", "parts", "data", "env")]
        add = tools["small.add"]
        assert add.spec.name == "small.add"
        assert add.spec.description == "Adds two numbers."
        assert add.spec.parameters["required"] == ["a", "b"]
        assert await call(add, a=1, b=2) == ToolResult(text="3")
        assert await call(add, a=1) == ToolResult(text='Wrong arguments: "b" is missing.', ok=False)
        assert await call(tools["small.fail"]) == ToolResult(text="it broke", ok=False)
        assert await call(tools["small.parts"]) == ToolResult(text="one\n[image]\ntwo")
        assert await call(tools["small.data"]) == ToolResult(text='{"n": 1}')


async def test_calls_side_by_side_each_get_their_own_result() -> None:
    results: dict[int, str] = {}
    async with server() as tools, anyio.create_task_group() as group:

        async def add(n: int) -> None:
            results[n] = (await call(tools["small.add"], a=n, b=n)).text

        for n in range(20):
            group.start_soon(add, n)
    assert results == {n: str(2 * n) for n in range(20)}


async def test_a_slow_tool_is_given_up() -> None:
    async with server(timeout_s=0.2) as tools:
        late = await call(tools["small.sleep"])
    assert late == ToolResult(text="It took longer than 0.2 seconds and was given up.", ok=False)


async def test_a_server_that_dies_is_a_failure_of_the_tool() -> None:
    async with server(timeout_s=10) as tools:
        assert not (await call(tools["small.die"])).ok
        assert not (await call(tools["small.add"], a=1, b=2)).ok


async def test_the_server_gets_no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CANARY_KEY", "canary")
    monkeypatch.setenv("WANTED", "1")
    async with server(env=["WANTED"]) as tools:
        names = (await call(tools["small.env"])).text.split()
    assert "WANTED" in names
    assert "CANARY_KEY" not in names


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ([sys.executable, str(SERVER), "crash"], r"small did not start: .*It said: the database is locked"),
        ([sys.executable, str(SERVER), "garbage"], "small did not start"),
        (["no-such-server"], "small did not start: .*no-such-server"),
    ],
)
async def test_a_server_that_does_not_start_is_said(command: list[str], why: str) -> None:
    with pytest.raises(SpecError, match=why):
        async with McpServer("small", command):
            pass


async def test_a_server_that_says_nothing_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcp_tools, "START_S", 0.3)
    with pytest.raises(SpecError, match="small did not start: it took too long"):
        async with server("hang"):
            pass


async def test_cancelling_the_start_ends_the_server() -> None:
    began = time.monotonic()
    with anyio.move_on_after(0.3) as scope:
        async with server("hang"):
            pass
    assert scope.cancelled_caught
    assert time.monotonic() - began < 20


async def test_a_toolbox_opens_all_kinds(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("def shout(text: str) -> str:\n    return text.upper()\n")
    shutil.copy(SERVER, tmp_path / "server.py")
    sources = [
        ToolSource(name="calculator", kind="built-in"),
        ToolSource(name="shout", kind="python", target="mine.py:shout"),
        ToolSource(name="say", kind="command", command=("echo", "{x}"), description="Says it."),
        ToolSource(name="small", kind="mcp", command=(sys.executable, "server.py")),
    ]
    async with open_toolbox({source.name: source for source in sources}, tmp_path) as box:
        assert [name for name in box if not name.startswith("small.")] == ["calculator", "shout", "say"]
        assert len(box) == 10
        assert [spec.name for spec in box.specs("small")][:2] == ["small.add", "small.fail"]
        assert box.specs("say")[0].description == "Says it."
        assert box.specs("nothing") == ()
        assert await call(box["calculator"], expression="6 * 7") == ToolResult(text="42")
        assert await call(box["shout"], text="aha") == ToolResult(text="AHA")
        assert await call(box["say"], x="hm") == ToolResult(text="hm")
        assert await call(box["small.add"], a=40, b=2) == ToolResult(text="42")


async def test_without_the_extra_the_sentence_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mcp", None)
    with pytest.raises(MissingExtra, match=r"dissensus\[mcp\]"):
        async with server():
            pass
