"""``tools`` of a panel file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from dissensus.agents.entries import McpEntry, ToolEntry, nearest, read_entry
from dissensus.agents.toolbox import Kind, ToolSource, open_tool
from dissensus.agents.tools import BUILT_IN, MOST_TEXT, TIMEOUT_S
from dissensus.errors import SpecError
from dissensus.script.seats import ToolSpec
from dissensus.specfile import Place, Spec

_KINDS: Final[Mapping[str, Kind]] = {"python": "python", "command": "command", "mcp": "mcp", "builtin": "built-in"}
"""The keys that say what a tool is."""

_FITS: Final[Mapping[str, frozenset[str]]] = {
    "python": frozenset({"description", "timeout"}),
    "command": frozenset({"description", "parameters", "timeout", "max_output", "env"}),
    "mcp": frozenset({"timeout", "max_output", "env"}),
    "builtin": frozenset(),
}
"""What else may be said of each kind of tool."""


def read_tools(spec: Spec, data: Mapping[str, Any]) -> tuple[dict[str, ToolSource], dict[str, tuple[ToolSpec, ...]]]:
    """Where tools come from, and what agents read about them, by name; those that are built in are among them.

    Functions are imported, so that a wrong name is found now. The tools of an MCP server are known once it runs; until
    then one specification with the server's name stands for them.

    Raises:
        SpecError: a tool is wrong.
    """
    sources = {name: ToolSource(name=name, kind="built-in", target=name) for name in BUILT_IN}
    for name, given in data.items():
        if not name or len(name) > 64 or not name.replace("-", "_").isidentifier():
            hint = "Use letters, digits, _ and -."
            raise spec.wrong(("tools", name), "This cannot be the name of a tool.", next_step=hint)
        sources[name] = _read_source(spec, name, given, ("tools", name))
    folder = Path(spec.path).parent
    specs: dict[str, tuple[ToolSpec, ...]] = {}
    for name, source in sources.items():
        if source.kind == "mcp":
            specs[name] = (ToolSpec(name=name, description="The tools of a server that is not running yet."),)
            continue
        try:
            specs[name] = (open_tool(source, folder).spec,)
        except SpecError as error:
            raise spec.wrong(("tools", name), error.message, next_step=error.next_step) from None
    return sources, specs


def _read_source(spec: Spec, name: str, data: Any, place: Place) -> ToolSource:
    entry = read_entry(ToolEntry, spec, data, place, "a tool")
    kinds = [kind for kind in _KINDS if getattr(entry, kind) is not None]
    if len(kinds) != 1:
        problem = f"A tool has exactly one of {', '.join(_KINDS)}; this has {' and '.join(kinds) or 'none'}."
        raise spec.wrong(place, problem, next_step='Write for instance {command: ["./lookup.sh"]}.')
    kind = kinds[0]
    for key in data:
        if key != kind and key not in _FITS[kind]:
            raise spec.wrong((*place, key), f'"{key}" does not fit a tool of the kind {kind}.', next_step="Remove it.")
    command, env = entry.command or [], list(entry.env)
    if entry.mcp is not None:
        server = read_entry(McpEntry, spec, entry.mcp, (*place, "mcp"), "an MCP server")
        command, env = server.command, [*env, *server.env]
    if entry.builtin is not None and entry.builtin not in BUILT_IN:
        problem = f'There is no built-in tool "{entry.builtin}".'
        raise spec.wrong((*place, "builtin"), problem, next_step=nearest(entry.builtin, tuple(BUILT_IN)))
    return ToolSource(
        name=name,
        kind=_KINDS[kind],
        target=entry.python or entry.builtin or "",
        command=tuple(command),
        description=entry.description,
        parameters=entry.parameters,
        timeout_s=entry.timeout or TIMEOUT_S,
        most_text=entry.max_output or MOST_TEXT,
        env=tuple(env),
    )
