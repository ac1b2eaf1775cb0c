"""Tools of an MCP server that runs as a program beside this one and is spoken to over its standard streams.

The extra ``mcp`` has the protocol (https://modelcontextprotocol.io); it is imported when a server is opened.
"""

from __future__ import annotations

import asyncio
import math
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Final

import anyio

from dissensus.agents.processes import environment
from dissensus.agents.tools import MOST_TEXT, TIMEOUT_S, Tool, clean, wrong_arguments
from dissensus.errors import MissingExtra, SpecError
from dissensus.script.outcomes import ToolResult
from dissensus.script.seats import ToolSpec

START_S: Final = 30.0
"""Most seconds until a server has started and listed its tools."""
MOST_TOOLS: Final = 200
_MOST_DESCRIPTION: Final = 1000


class McpServer:
    """A server and its tools. Use as an async context manager; entering gives the tools by their full names.

    The session lives in a task of its own, since it has to be left by the task that entered it.

    Args:
        name: prefix of the tools' names: ``name.tool``.
        command: the program and its arguments.
        timeout_s: most seconds for one call.
        most_text: most characters of a result.
        folder: where the server runs.
        env: names of environment variables that it gets besides the everyday ones.
    """

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        *,
        timeout_s: float = TIMEOUT_S,
        most_text: int = MOST_TEXT,
        folder: Path | None = None,
        env: Sequence[str] = (),
    ) -> None:
        self.name = name
        self.command = tuple(command)
        self.timeout_s = timeout_s
        self.most_text = most_text
        self.folder = folder
        self.env = tuple(env)
        self._leave = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> dict[str, Tool]:
        """Start the server and list its tools.

        Raises:
            MissingExtra: the protocol's package is not installed.
            SpecError: the server does not start, or does not speak the protocol.
        """
        started: asyncio.Future[dict[str, Tool]] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._live(started))
        try:
            return await started
        except BaseException:
            self._task.cancel()
            await self._stop()
            raise

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stop()

    async def _stop(self) -> None:
        self._leave.set()
        if self._task is not None:
            with anyio.CancelScope(shield=True):
                await asyncio.wait([self._task])

    async def _live(self, started: asyncio.Future[dict[str, Tool]]) -> None:
        """Hold the session open from start to end, and tell ``started`` how the start went."""
        with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as log:
            scope = anyio.CancelScope(deadline=anyio.current_time() + START_S)
            problem: BaseException = TimeoutError()
            try:
                with scope:
                    await self._serve(started, log, scope)
            except Exception as error:  # noqa: BLE001 - whatever a stranger's server makes the protocol raise
                problem = error
            if not started.done():
                started.set_exception(self._not_started(problem, log))

    async def _serve(self, started: asyncio.Future[dict[str, Tool]], log: Any, scope: anyio.CancelScope) -> None:
        try:
            from mcp import ClientSession, StdioServerParameters
            from mcp.client.stdio import stdio_client
        except ModuleNotFoundError:
            started.set_exception(MissingExtra("A tool server that speaks MCP", extra="mcp"))
            return
        program, *arguments = self.command
        if "/" in program:
            program = str((self.folder or Path()).absolute() / program)
        server = StdioServerParameters(command=program, args=arguments, env=environment(self.env), cwd=self.folder)
        async with stdio_client(server, errlog=log) as (read, write), ClientSession(read, write) as session:
            await session.initialize()
            tools = await self._tools(session)
            scope.deadline = math.inf
            if not started.done():
                started.set_result(tools)
            await self._leave.wait()

    async def _tools(self, session: Any) -> dict[str, Tool]:
        from mcp.types import PaginatedRequestParams

        tools: dict[str, Tool] = {}
        cursor: str | None = None
        while len(tools) < MOST_TOOLS:
            page = await session.list_tools(params=PaginatedRequestParams(cursor=cursor) if cursor else None)
            told = page.model_dump(by_alias=True)  # the names on the wire are the same in all versions of the package
            for tool in told["tools"]:
                spec = ToolSpec(
                    name=f"{self.name}.{tool['name']}",
                    description=clean(tool.get("description") or "", _MOST_DESCRIPTION).replace("\n", " "),
                    parameters=tool.get("inputSchema") or {},
                )
                tools[spec.name] = _McpTool(self, session, tool["name"], spec)
            cursor = told.get("nextCursor")
            if not cursor:
                break
        return tools

    def _not_started(self, error: BaseException, log: Any) -> SpecError:
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        why = "it took too long" if isinstance(error, TimeoutError) else f"{type(error).__name__}: {error}"
        log.seek(0)
        said = log.read(100_000).strip().splitlines()
        last = f" It said: {said[-1][:300]}" if said else ""
        return SpecError(
            f"The tool server {self.name} did not start: {clean(why, 300)}.{last}",
            next_step=f"Try its command by hand: {' '.join(self.command)}",
        )


class _McpTool:
    """One tool of a server."""

    def __init__(self, server: McpServer, session: Any, name: str, spec: ToolSpec) -> None:
        self._server = server
        self._session = session
        self._name = name
        self._spec = spec

    @property
    def spec(self) -> ToolSpec:
        return self._spec

    async def call(self, arguments: Mapping[str, Any], deadline_s: float | None = None) -> ToolResult:
        if wrong := wrong_arguments(self._spec, arguments):
            return wrong
        most_s = self._server.timeout_s
        limit_s = most_s if deadline_s is None else min(most_s, deadline_s)
        began = time.monotonic()
        ok, text = False, f"It took longer than {limit_s:g} seconds and was given up."
        try:
            with anyio.move_on_after(limit_s):
                result = (await self._session.call_tool(self._name, dict(arguments))).model_dump(by_alias=True)
                ok, text = not result.get("isError"), _text_of(result)
        except Exception as error:  # noqa: BLE001 - a server that is gone, or answers what the protocol does not know
            ok, text = False, f"{type(error).__name__}: {error}"[:500] or "The tool server is gone."
        return ToolResult(text=clean(text, self._server.most_text), ok=ok, seconds=time.monotonic() - began)


def _text_of(result: Mapping[str, Any]) -> str:
    """The texts of a result; other parts are named, and structured data stands in for missing texts."""
    parts = []
    for part in result.get("content") or ():
        match part.get("type"):
            case "text":
                parts.append(str(part.get("text", "")))
            case "resource" if isinstance(part.get("resource", {}).get("text"), str):
                parts.append(part["resource"]["text"])
            case kind:
                parts.append(f"[{kind}]")
    if not parts and result.get("structuredContent") is not None:
        import json

        return json.dumps(result["structuredContent"], ensure_ascii=False)
    return "\n".join(parts)
