"""Tools that are programs: a list of arguments, never a line for a shell."""

from __future__ import annotations

import json
import re
import shutil
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from dissensus.agents.processes import Ran, environment, run_in_thread
from dissensus.agents.tools import MOST_TEXT, TIMEOUT_S, clean, wrong_arguments
from dissensus.errors import SpecError
from dissensus.script.outcomes import ToolResult
from dissensus.script.seats import ToolSpec

_PLACE: Final = re.compile(r"\{(\w+)\}")


class CommandTool:
    """Runs a program. It reads the arguments as one JSON object from standard input and writes its result.

    An element of ``command`` may hold ``{name}``: the argument of that name is put there, inside the element that
    names it, however it looks. (It may look like an option: write ``--`` before it where the program knows that.)
    Exit status 0 is success. The program gets only everyday environment variables, and those named in ``env``.

    Args:
        command: the program and its arguments. A program with a slash is looked for from ``folder``.
        name: how agents call it.
        description: what agents read.
        parameters: JSON schema of the arguments; without one, each ``{name}`` is a text that has to be given.
        timeout_s: most seconds for one call; then the program and all that it started are ended.
        most_text: most characters of output that are kept.
        folder: where it runs; the current folder if None.
        env: names of further environment variables that it gets.

    Raises:
        SpecError: the command is empty, its program is a placeholder, or a placeholder names no parameter.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        name: str,
        description: str = "",
        parameters: Mapping[str, Any] | None = None,
        timeout_s: float = TIMEOUT_S,
        most_text: int = MOST_TEXT,
        folder: Path | None = None,
        env: Sequence[str] = (),
    ) -> None:
        self.command = tuple(command)
        self.timeout_s = timeout_s
        self.most_text = most_text
        self.folder = folder
        self.env = tuple(env)
        places = list(dict.fromkeys(found for part in command for found in _PLACE.findall(part)))
        if not command or not command[0] or _PLACE.search(command[0]):
            raise SpecError(
                f"The command of the tool {name} does not begin with a program.",
                next_step="Write a list: the program, then its arguments.",
            )
        if parameters is None and places:
            texts = {place: {"type": "string"} for place in places}
            parameters = {"type": "object", "properties": texts, "required": places, "additionalProperties": False}
        known = (parameters or {}).get("properties") or {}
        if missing := [place for place in places if place not in known]:
            raise SpecError(
                f"The command of the tool {name} uses {{{missing[0]}}}, which is none of its parameters.",
                next_step=f"Add {missing[0]} to the parameters, or take it out of the command.",
            )
        self._spec = ToolSpec(name=name, description=description, parameters=parameters or {})

    @property
    def spec(self) -> ToolSpec:
        """What the agent reads about it."""
        return self._spec

    async def call(self, arguments: Mapping[str, Any], deadline_s: float | None = None) -> ToolResult:
        """Check the arguments and run the program once."""
        if wrong := wrong_arguments(self._spec, arguments):
            return wrong
        limit_s = self.timeout_s if deadline_s is None else min(self.timeout_s, deadline_s)
        began = time.monotonic()
        try:
            ran = await self._run(arguments, limit_s)
        except (OSError, ValueError) as error:  # not there, not executable, or a NUL byte in an argument
            text = f"The program could not be started: {error}."
            return ToolResult(text=clean(text, 500), ok=False, seconds=time.monotonic() - began)
        return self._told(ran, limit_s)

    async def _run(self, arguments: Mapping[str, Any], limit_s: float) -> Ran:
        argv = [_PLACE.sub(lambda found: _filled(found, arguments), part) for part in self.command]
        argv[0] = self._program(argv[0])
        return await self._started(
            argv, json.dumps(dict(arguments), ensure_ascii=False).encode("utf-8", "replace"), limit_s
        )

    async def _started(self, argv: list[str], stdin: bytes, limit_s: float) -> Ran:
        """Start it; a tool that runs its program elsewhere overrides this."""
        return await run_in_thread(
            argv,
            stdin=stdin,
            timeout_s=limit_s,
            most_bytes=4 * self.most_text,
            env=environment(self.env),
            folder=self.folder,
        )

    def _program(self, program: str) -> str:
        if "/" in program:
            return str((self.folder or Path()).absolute() / program)
        return shutil.which(program) or program

    def _told(self, ran: Ran, limit_s: float) -> ToolResult:
        output = ran.output.decode("utf-8", "replace").strip()
        if ran.cut and len(output) <= self.most_text:
            output += f" … (cut after {len(ran.output)} bytes)"
        output = clean(output, self.most_text)
        if ran.status == 0:
            return ToolResult(text=output, seconds=ran.seconds)
        if ran.status is None:
            how = f"It took longer than {limit_s:g} seconds and was ended."
        else:
            how = f"exit status {ran.status}" if ran.status > 0 else f"signal {-ran.status}"
        errors = clean(ran.errors.decode("utf-8", "replace").strip()[-2000:])
        return ToolResult(text="\n".join(part for part in (how, output, errors) if part), ok=False, seconds=ran.seconds)


def _filled(found: re.Match[str], arguments: Mapping[str, Any]) -> str:
    value = arguments.get(found[1], "")
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
