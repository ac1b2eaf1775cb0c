"""Opens the tools that a panel names, and finds them again when an agent uses one."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from dissensus.agents.command_tools import CommandTool
from dissensus.agents.tools import BUILT_IN, MOST_TEXT, TIMEOUT_S, FunctionTool, Tool
from dissensus.errors import SpecError
from dissensus.script.seats import ToolSpec

Kind = Literal["built-in", "python", "command", "mcp"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSource:
    """Where a tool comes from: what a panel file says about it.

    Args:
        name: how the panel calls it. The tools of an MCP server are called ``name.tool``.
        kind: what kind of tool it is.
        target: for ``python``: ``package.module:function`` or ``file.py:function``.
        command: for ``command`` and ``mcp``: the program and its arguments.
        description: what agents read, in place of the tool's own.
        parameters: for ``command``: JSON schema of the arguments; None takes them from the command.
        timeout_s: most seconds for one call.
        most_text: most characters of a result.
        env: names of environment variables that the program gets besides the everyday ones.
    """

    name: str
    kind: Kind
    target: str = ""
    command: tuple[str, ...] = ()
    description: str = ""
    parameters: Mapping[str, Any] | None = None
    timeout_s: float = TIMEOUT_S
    most_text: int = MOST_TEXT
    env: tuple[str, ...] = ()


class Toolbox(Mapping[str, Tool]):
    """The tools of a panel by the name that agents use."""

    def __init__(self) -> None:
        self._tools: dict[str, Tool] = {}
        self._groups: dict[str, tuple[str, ...]] = {}

    def add(self, source: str, tools: Mapping[str, Tool]) -> None:
        """Put in what came of ``source``."""
        self._tools |= tools
        self._groups[source] = tuple(tools)

    def specs(self, source: str) -> tuple[ToolSpec, ...]:
        """What agents read about the tools of ``source``; nothing if it is not here."""
        return tuple(self._tools[name].spec for name in self._groups.get(source, ()))

    def __getitem__(self, name: str) -> Tool:
        return self._tools[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._tools)

    def __len__(self) -> int:
        return len(self._tools)


@asynccontextmanager
async def open_toolbox(sources: Mapping[str, ToolSource], folder: Path) -> AsyncIterator[Toolbox]:
    """Open the tools of ``sources``; MCP servers run until the context is left.

    Args:
        sources: by name.
        folder: the panel file's folder: where commands run and Python files are looked for.

    Raises:
        SpecError: a function cannot be imported, a command is wrong, or a server does not start.
        MissingExtra: an MCP server is named, and the extra is not installed.
    """
    box = Toolbox()
    async with AsyncExitStack() as stack:
        for name, source in sources.items():
            if source.kind == "mcp":
                from dissensus.agents.mcp_tools import McpServer

                server = McpServer(
                    name,
                    source.command,
                    timeout_s=source.timeout_s,
                    most_text=source.most_text,
                    folder=folder,
                    env=source.env,
                )
                box.add(name, await stack.enter_async_context(server))
            else:
                box.add(name, {name: open_tool(source, folder)})
        yield box


def open_tool(source: ToolSource, folder: Path) -> Tool:
    """The tool of any source but an MCP server. Raises :class:`~dissensus.errors.SpecError` if it cannot be had."""
    match source.kind:
        case "built-in":
            return BUILT_IN[source.target or source.name]()
        case "python":
            return FunctionTool(
                load_function(source.target, folder),
                name=source.name,
                description=source.description,
                timeout_s=source.timeout_s,
            )
        case _:
            return CommandTool(
                source.command,
                name=source.name,
                description=source.description,
                parameters=source.parameters,
                timeout_s=source.timeout_s,
                most_text=source.most_text,
                folder=folder,
                env=source.env,
            )


def load_function(target: str, folder: Path) -> Any:
    """What ``package.module:function`` or ``file.py:function`` names; a file is looked for from ``folder``.

    Raises:
        SpecError: there is no such thing, it cannot be called, or importing it fails.
    """
    where, colon, name = target.rpartition(":")
    if not colon or not where or not name:
        raise SpecError(
            f"{target!r} does not name a function.",
            next_step="Write package.module:function or file.py:function.",
        )
    try:
        module = _from_file(folder / where) if where.endswith(".py") else importlib.import_module(where)
        found: Any = module
        for part in name.split("."):
            found = getattr(found, part)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - importing runs code, which may raise anything
        raise SpecError(
            f"The function {target} cannot be loaded: {type(error).__name__}: {error}.",
            next_step="Check its name, and that it can be imported from here.",
        ) from None
    if not callable(found):
        raise SpecError(f"{target} is no function.", next_step="Name something that can be called.")
    return found


def _from_file(path: Path) -> Any:
    """The module in a file, under a name of its own, so that it takes the place of no other."""
    name = f"dissensus_tool_{path.stem}_{hashlib.sha256(str(path.absolute()).encode()).hexdigest()[:12]}"
    found = importlib.util.spec_from_file_location(name, path)
    if found is None or found.loader is None:
        raise ImportError(f"{path.name} is no Python file")
    module = importlib.util.module_from_spec(found)
    sys.modules[name] = module  # dataclasses look their module up there
    found.loader.exec_module(module)
    return module
