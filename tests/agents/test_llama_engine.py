"""The engine's process: it starts, is shared, ends with us, and says nothing where it should not."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest

from dissensus.agents.llama import Llama, load
from dissensus.agents.llama_engine import EngineDied, EngineSettings, release, share
from dissensus.script.calls import Generate, Turn
from dissensus.script.outcomes import Reply, TransportFailure

pytestmark = [pytest.mark.anyio, pytest.mark.model]
CALL = Generate(turns=(Turn("user", "Say yes."),), max_tokens=3, temperature=0)


def small(path: Path, **options: Any) -> Llama:
    return load(str(path), **{"slots": 2, "context": 256, "threads": 1, **options})


def pid_of(model: Llama) -> int:
    assert model._engine is not None
    assert model._engine.pid is not None
    return model._engine.pid


def is_alive(pid: int) -> bool:
    """Whether the process runs; one that ended and was not waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def gone_within(pid: int, seconds: float) -> bool:
    until = time.monotonic() + seconds
    while is_alive(pid) and time.monotonic() < until:
        time.sleep(0.05)
    return not is_alive(pid)


async def test_models_with_the_same_settings_share_a_process(smollm2_path: Path) -> None:
    told: list[str] = []
    one, two, other = small(smollm2_path, tell=told.append), small(smollm2_path), small(smollm2_path, context=128)
    async with anyio.create_task_group() as group:
        for model in (one, two, other):
            group.start_soon(model.generate, CALL)
    assert pid_of(one) == pid_of(two) != pid_of(other)
    pids = {pid_of(one), pid_of(other)}
    await other.close()
    await one.close()
    assert isinstance(await two.generate(CALL), Reply), "the other user of the process goes on"
    await two.close()
    await two.close()
    assert not any(is_alive(pid) for pid in pids)
    assert not [thread for thread in threading.enumerate() if thread.name == "engine log"]
    assert [line.partition(" ")[0] for line in told] in ([], ["loading", "loaded"])


async def test_a_closed_model_can_be_used_again(smollm2_path: Path) -> None:
    model = small(smollm2_path)
    assert isinstance(await model.generate(CALL), Reply)
    await model.close()
    assert isinstance(await model.generate(CALL), Reply)
    await model.close()


def test_two_event_loops_one_after_the_other(smollm2_path: Path) -> None:
    model = small(smollm2_path)
    assert isinstance(anyio.run(model.generate, CALL), Reply)
    pid = pid_of(model)
    assert isinstance(anyio.run(model.generate, CALL), Reply)
    assert pid_of(model) == pid
    anyio.run(model.close)
    assert not is_alive(pid)


async def test_the_engine_prints_nothing(smollm2_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    model = small(smollm2_path)
    await model.generate(CALL)
    too_long = Generate(turns=(Turn("user", "word " * 500),))
    assert isinstance(await model.generate(too_long), TransportFailure)
    await model.close()
    assert capfd.readouterr() == ("", "")


async def test_only_who_has_the_key_is_served(smollm2_path: Path) -> None:
    model = small(smollm2_path)
    await model.generate(CALL)
    assert model._engine is not None
    address, key = model._engine.address, model._engine.key
    assert address.startswith("http://127.0.0.1:")
    async with httpx2.AsyncClient() as stranger:
        for headers in ({}, {"authorization": "Bearer guess"}):
            for path in ("/completion", "/v1/chat/completions", "/tokenize"):
                assert (await stranger.post(address + path, json={}, headers=headers)).status_code == 401
    command_line = await anyio.Path(f"/proc/{pid_of(model)}/cmdline").read_bytes()
    assert key.encode() not in command_line, "others on this machine can read command lines"
    await model.close()


async def test_a_crash_is_an_outcome_and_the_next_call_works(smollm2_path: Path) -> None:
    model = small(smollm2_path)
    assert isinstance(await model.generate(CALL), Reply)
    pid = pid_of(model)
    outcomes: list[object] = []

    async def long_call() -> None:
        outcomes.append(await model.generate(Generate(turns=CALL.turns, max_tokens=200, temperature=1.5)))

    os.kill(pid, signal.SIGSTOP)  # so that the call is under way for certain when the engine dies
    async with anyio.create_task_group() as group:
        group.start_soon(long_call)
        await anyio.sleep(0.2)
        os.kill(pid, signal.SIGABRT)
        os.kill(pid, signal.SIGCONT)
    (outcome,) = outcomes
    assert isinstance(outcome, TransportFailure)
    assert outcome.cause == "crashed"
    assert "SIGABRT" in outcome.problem
    assert isinstance(await model.generate(CALL), Reply)
    assert pid_of(model) != pid
    await model.close()


async def test_a_model_that_cannot_be_loaded_is_an_outcome(smollm2_path: Path, tmp_path: Path) -> None:
    cut = tmp_path / "cut.gguf"
    with smollm2_path.open("rb") as whole:
        cut.write_bytes(whole.read(20_000_000))
    model = small(cut)
    outcome = await model.generate(CALL)
    assert isinstance(outcome, TransportFailure)
    assert outcome.cause == "crashed"
    assert "could not be loaded" in outcome.problem
    assert "cut.gguf" in outcome.problem, "the engine's last words are passed on"
    await model.close()


def test_a_host_that_cannot_start_says_so(tmp_path: Path) -> None:
    engine = share(EngineSettings(path=str(tmp_path / "absent.gguf"), threads=1))
    try:
        with pytest.raises(EngineDied, match="could not be loaded"):
            engine.start(lambda _line: None)
        assert engine.pid is None
        assert engine.ended() == "The engine was stopped."
    finally:
        release(engine)


def test_the_process_ends_when_ours_is_killed(smollm2_path: Path) -> None:
    program = (
        "import sys, anyio\n"
        "from dissensus.agents.llama import load\n"
        "from dissensus.script.calls import Generate, Turn\n"
        "model = load(sys.argv[1], slots=1, context=128, threads=1)\n"
        "anyio.run(model.generate, Generate(turns=(Turn('user', 'Hi'),), max_tokens=1))\n"
        "print(model._engine.pid, flush=True)\n"
        "sys.stdin.read()\n"
    )
    command = [sys.executable, "-c", program, str(smollm2_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        pid = int(child.stdout.readline())
        assert is_alive(pid)
        child.kill()
    assert gone_within(pid, 20)


def test_the_process_ends_when_ours_is_killed_in_the_middle_of_long_calls(smollm2_path: Path) -> None:
    program = (
        "import sys, anyio\n"
        "from dissensus.agents.llama import load\n"
        "from dissensus.script.calls import Generate, Turn\n"
        "model = load(sys.argv[1], slots=8, context=4096, threads=1)\n"
        "async def main():\n"
        "    await model.generate(Generate(turns=(Turn('user', 'Hi'),), max_tokens=1))\n"
        "    print(model._engine.pid, flush=True)\n"
        "    async with anyio.create_task_group() as calls:\n"
        "        for n in range(8):\n"
        "            long = Generate(turns=(Turn('user', f'{n} ' * 1900),), max_tokens=200)\n"
        "            calls.start_soon(model.generate, long)\n"
        "anyio.run(main)\n"
    )
    command = [sys.executable, "-c", program, str(smollm2_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        pid = int(child.stdout.readline())
        time.sleep(1)  # the calls are under way, and take far longer than what is waited for below
        assert child.poll() is None
        child.kill()
    assert gone_within(pid, 20)


def test_the_process_ends_when_nobody_closed_it(smollm2_path: Path) -> None:
    program = (
        "import sys, anyio\n"
        "from dissensus.agents.llama import load\n"
        "from dissensus.script.calls import Generate, Turn\n"
        "model = load(sys.argv[1], slots=1, context=128, threads=1)\n"
        "anyio.run(model.generate, Generate(turns=(Turn('user', 'Hi'),), max_tokens=1))\n"
        "print(model._engine.pid, flush=True)\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program, str(smollm2_path)],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert not is_alive(int(done.stdout))
    assert done.stderr == ""
