from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

import anyio
import pytest

from dissensus.agents.command_tools import CommandTool
from dissensus.errors import SpecError
from dissensus.script.outcomes import ToolResult

pytestmark = pytest.mark.anyio


def python(code: str, *more: str, **options: Any) -> CommandTool:
    return CommandTool([sys.executable, "-c", code, *more], name="tool", **options)


async def call(tool: CommandTool, **arguments: Any) -> ToolResult:
    result = await tool.call(arguments)
    return ToolResult(text=result.text, ok=result.ok)


def alive(pid: int) -> bool:
    """Whether the process runs; one that ended and was not reaped by its new parent yet does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


async def gone(pid: int) -> bool:
    for _ in range(400):
        if not alive(pid):
            return True
        await anyio.sleep(0.01)
    return False


async def test_arguments_come_on_standard_input_and_in_their_places() -> None:
    code = "import json, sys; print(json.load(sys.stdin), sys.argv[1:])"
    tool = python(code, "--city={city}", "{city}", "{n}", parameters={"properties": {"city": {}, "n": {}}})
    nasty = "x; $(touch y) `z` '\" \n {n} é"
    arguments = {"city": nasty, "n": [1, None]}
    assert await call(tool, **arguments) == ToolResult(text=f"{arguments} {[f'--city={nasty}', nasty, '[1, null]']}")


async def test_places_are_the_parameters_unless_some_are_declared() -> None:
    tool = CommandTool(["echo", "{a}-{b}", "{a}"], name="t", description="Says it.")
    assert tool.spec.description == "Says it."
    assert tool.spec.parameters["required"] == ["a", "b"]
    assert await call(tool, a="1", b="2") == ToolResult(text="1-2 1")
    assert await call(tool, a="1") == ToolResult(text='Wrong arguments: "b" is missing.', ok=False)
    assert await call(tool, a="1", b=2) == ToolResult(
        text='Wrong arguments: "b" has to be text, not a whole number.', ok=False
    )
    assert await call(CommandTool(["true"], name="t"), x=1) == ToolResult(
        text='Wrong arguments: "x" is not allowed.', ok=False
    )


async def test_failures_say_how() -> None:
    assert await call(python("import sys; print('out'); sys.exit('err')")) == ToolResult(
        text="exit status 1\nout\nerr", ok=False
    )
    killed = await call(python("import os; os.kill(os.getpid(), 9)"))
    assert killed == ToolResult(text="signal 9", ok=False)
    missing = await call(CommandTool(["no-such-program-here"], name="t"))
    assert not missing.ok
    assert missing.text.startswith("The program could not be started: ")
    assert not (await call(CommandTool(["echo", "{x}"], name="t"), x="a\0b")).ok


async def test_a_program_with_a_slash_is_looked_for_from_the_folder_and_runs_there(tmp_path: Path) -> None:
    script = tmp_path / "where.sh"
    script.write_text("#!/bin/sh\npwd\n")
    script.chmod(0o755)
    here = os.path.realpath(tmp_path)  # noqa: ASYNC240 - nothing else runs here
    assert await call(CommandTool(["./where.sh"], name="t", folder=tmp_path)) == ToolResult(text=here)
    script.chmod(0o644)
    assert "could not be started" in (await call(CommandTool(["./where.sh"], name="t", folder=tmp_path))).text


async def test_secrets_in_the_environment_stay_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CANARY_KEY", "canary-7f3a")
    show = "import os; print(sorted(os.environ.items()))"
    assert "canary-7f3a" not in (await call(python(show))).text
    assert "canary-7f3a" in (await call(python(show, env=["CANARY_KEY", "NOT_SET"]))).text


async def test_output_is_bounded_and_whole_output_is_read() -> None:
    big = await call(python("print('x' * 10_000_000)", most_text=1000))
    assert big == ToolResult(text=f"{'x' * 1000} … (cut after 1000 characters)")
    spaces = await call(python("print(' ' * 10_000 + 'end')", most_text=1000))
    assert spaces.text.strip() == "… (cut after 4000 bytes)"
    whole = await call(python("print('y' * 300_000)", most_text=300_000))
    assert whole == ToolResult(text="y" * 300_000)


async def test_input_that_nobody_reads_is_no_problem() -> None:
    big = "x" * 5_000_000
    tool = CommandTool(["true"], name="t", parameters={"properties": {"text": {"type": "string"}}})
    assert await call(tool, text=big) == ToolResult(text="")
    counts = python("import sys; print(len(sys.stdin.read()))", parameters={"properties": {"text": {}}})
    assert await call(counts, text=big) == ToolResult(text=str(len(big) + len('{"text": ""}')))


async def test_bytes_that_are_no_text_are_replaced() -> None:
    result = await call(python(r"import sys; sys.stdout.buffer.write(b'a\xff\xed\xa0\x80')"))
    assert result.text.startswith("a�")
    assert result.text.encode()


FAMILY = """
import os, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
print(os.getpid(), child.pid, flush=True)
"""


async def test_out_of_time_the_whole_family_is_ended(tmp_path: Path) -> None:
    code = f"import sys; sys.stdout = open({str(tmp_path / 'pids')!r}, 'w')\n{FAMILY}time.sleep(60)"
    began = time.monotonic()
    result = await python(code).call({}, deadline_s=4)
    assert result.text == "It took longer than 4 seconds and was ended."
    assert time.monotonic() - began < 30
    pids = [int(word) for word in (tmp_path / "pids").read_text().split()]
    assert len(pids) == 2
    for pid in pids:
        assert await gone(pid)


async def test_what_a_program_leaves_running_is_ended_with_it() -> None:
    result = await call(python(FAMILY))
    assert result.ok
    pid, child = map(int, result.text.split())
    assert not alive(pid)
    assert await gone(child)


async def test_a_child_in_a_session_of_its_own_does_not_hold_up_the_call() -> None:
    code = FAMILY.replace("])", "], start_new_session=True)")
    began = time.monotonic()
    result = await call(python(code))
    child = int(result.text.split()[1])
    try:
        assert time.monotonic() - began < 30
        assert alive(child)  # it left the group, so it is not ours to end
    finally:
        os.kill(child, 9)


async def test_cancelling_ends_the_program_before_going_on(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    code = f"import sys; sys.stdout = open({str(pids)!r}, 'w')\n{FAMILY}time.sleep(60)"
    async with anyio.create_task_group() as group:
        group.start_soon(python(code).call, {})
        while not pids.exists() or len(pids.read_text().split()) < 2:  # noqa: ASYNC110 - another process writes it
            await anyio.sleep(0.01)
        group.cancel_scope.cancel()
    for pid in map(int, pids.read_text().split()):
        assert await gone(pid)


@pytest.mark.parametrize(
    ("command", "problem"),
    [
        ([], "does not begin with a program"),
        ([""], "does not begin with a program"),
        (["{tool}", "x"], "does not begin with a program"),
    ],
)
async def test_commands_without_a_program_are_refused(command: list[str], problem: str) -> None:
    with pytest.raises(SpecError, match=problem):
        CommandTool(command, name="t")


async def test_places_without_a_parameter_are_refused() -> None:
    with pytest.raises(SpecError, match=r"uses \{b\}, which is none of its parameters"):
        CommandTool(["echo", "{a}", "{b}"], name="t", parameters={"properties": {"a": {}}})
