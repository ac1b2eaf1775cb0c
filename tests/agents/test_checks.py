"""Outside checks: three verdicts, no shell, nothing left running."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import anyio
import pytest

from dissensus.agents.checks import callable_check, check_from_spec, command_check, pytest_check
from dissensus.errors import SpecError
from dissensus.script.outcomes import CheckResult

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def program(tmp_path: Path, source: str) -> str:
    file = tmp_path / "check.py"
    file.write_text(source)
    return f"{sys.executable} {file}"


@pytest.mark.parametrize(
    ("source", "verdict", "detail"),
    [
        ("import sys; sys.exit(0)", "accepted", ""),
        ("import sys; print('too small'); sys.exit(1)", "rejected", "too small"),
        ("import sys; sys.exit(7)", "error", "exit status 7"),
        ("raise RuntimeError('x')\n", "rejected", "RuntimeError"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGTERM)", "error", "signal 15"),
    ],
)
async def test_exit_status_is_the_verdict(tmp_path: Path, source: str, verdict: str, detail: str) -> None:
    result = await command_check(program(tmp_path, source))("q", "a")
    assert result.verdict == verdict
    assert detail in result.detail


async def test_the_answer_comes_as_argument_as_input_and_in_the_environment(tmp_path: Path) -> None:
    source = (
        "import os, sys\n"
        "seen = [sys.argv[1], sys.stdin.read(), os.environ['DISSENSUS_ANSWER']]\n"
        "asked = [sys.argv[2], os.environ['DISSENSUS_QUESTION']]\n"
        "sys.exit(0 if seen == ['; rm -rf $HOME \\u00e9'] * 3 and asked == ['two words'] * 2 else 3)\n"
    )
    check = command_check(program(tmp_path, source) + " {answer} {question}")
    assert (await check("two words", "; rm -rf $HOME \u00e9")).verdict == "accepted"


@pytest.mark.parametrize("answer", ["a\0b", "x" * 300_000])
async def test_an_answer_that_no_argument_can_hold_is_an_error_not_a_rejection(answer: str) -> None:
    result = await command_check("cat {answer}")("q", answer)
    assert result.verdict == "error"
    assert "could not be started" in result.detail


async def test_a_check_that_hangs_is_ended_with_its_children(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    source = (
        "import subprocess, sys, time, pathlib\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
        f"pathlib.Path({str(pid_file)!r}).write_text(str(child.pid))\n"
        "time.sleep(60)\n"
    )
    began = time.monotonic()
    result = await command_check(program(tmp_path, source), timeout_s=2)("q", "a")
    assert time.monotonic() - began < 30
    assert result.verdict == "error"
    assert "2 s" in result.detail
    await gone(int(pid_file.read_text()))


async def test_a_child_left_behind_does_not_hold_the_verdict_up(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    source = (
        "import subprocess, sys, pathlib\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
        f"pathlib.Path({str(pid_file)!r}).write_text(str(child.pid))\n"
        "sys.exit(1)\n"
    )
    result = await command_check(program(tmp_path, source), timeout_s=30)("q", "a")
    assert result.verdict == "rejected"
    await gone(int(pid_file.read_text()))


async def test_a_check_that_is_given_up_is_ended_first(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    source = (
        "import os, pathlib, time\n"
        f"pathlib.Path({str(pid_file)!r} + '.new').write_text(str(os.getpid()))\n"
        f"os.rename({str(pid_file)!r} + '.new', {str(pid_file)!r})\n"
        "time.sleep(60)\n"
    )
    async with anyio.create_task_group() as group:
        group.start_soon(command_check(program(tmp_path, source)), "q", "a")
        with anyio.fail_after(30):
            while not pid_file.exists():  # noqa: ASYNC110 - another process writes it
                await anyio.sleep(0.02)
        group.cancel_scope.cancel()
    assert not runs(int(pid_file.read_text()))


@pytest.mark.parametrize("reads", [True, False])
async def test_a_long_answer_goes_in_whole_or_is_left_unread(tmp_path: Path, *, reads: bool) -> None:
    source = "import sys\nsys.exit(len(sys.stdin.read()) != 100_000)\n" if reads else "raise SystemExit(0)\n"
    assert (await command_check(program(tmp_path, source))("q", "x" * 100_000)).verdict == "accepted"


def runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().split(")")[-1].split()[0] != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False


async def gone(pid: int) -> None:
    for _ in range(200):
        if not runs(pid):
            return
        await anyio.sleep(0.05)
    pytest.fail(f"process {pid} still runs")


async def test_a_flood_of_output_keeps_only_its_end(tmp_path: Path) -> None:
    source = "import sys\nfor i in range(200000): print('line', i)\nsys.exit(1)\n"
    result = await command_check(program(tmp_path, source))("q", "a")
    assert len(result.detail) <= 2000
    assert result.detail.endswith("line 199999")


@pytest.mark.parametrize(
    ("command", "says"),
    [
        ("", "empty"),
        ("python 'open", "split"),
        ("no-such-program-here {answer}", "not found"),
        (f"{sys.executable} -c 'print({{answer}})'", "inside the argument"),
        ("{answer}", "not found"),
    ],
)
async def test_commands_that_cannot_work_are_refused_before_anybody_is_asked(command: str, says: str) -> None:
    with pytest.raises(SpecError, match=says):
        command_check(command)


async def test_callables() -> None:
    def asserts(_question: str, answer: str) -> bool:
        assert int(answer) > 3, "not above three"
        return True

    async def slow(_question: str, _answer: str) -> bool:
        await anyio.sleep(30)
        return True

    check = callable_check(asserts)
    assert check.name.endswith("asserts")
    assert (await check("q", "4")).verdict == "accepted"
    rejected = await check("q", "2")
    assert (rejected.verdict, "not above three" in rejected.detail) == ("rejected", True)
    assert (await check("q", "x")).detail.startswith("ValueError")
    assert (await callable_check(slow, timeout_s=0.05)("q", "x")).verdict == "error"
    assert (await callable_check(lambda _q, _a: (False, "no"))("q", "x")).detail == "no"
    assert (await callable_check(lambda _q, _a: None)("q", "x")).verdict == "error"
    given = CheckResult(verdict="accepted", detail="said so")
    assert await callable_check(lambda _q, _a: given)("q", "x") is given


@pytest.mark.parametrize("ending", [SystemExit, KeyboardInterrupt, StopIteration])
async def test_a_function_that_would_end_the_program_ends_only_its_own_check(ending: type[BaseException]) -> None:
    def ends(_question: str, _answer: str) -> bool:
        raise ending

    verdict = await callable_check(ends)("q", "x")
    assert (verdict.verdict, ending.__name__ in verdict.detail) == ("error", True)


async def test_an_async_function_that_exits_ends_only_its_own_check() -> None:
    async def ends(_question: str, _answer: str) -> bool:
        sys.exit(0)

    assert (await callable_check(ends)("q", "x")).verdict == "error"


def test_a_function_that_hangs_does_not_keep_python_from_exiting() -> None:
    source = (
        "import anyio, time\nfrom dissensus.agents.checks import callable_check\n"
        "check = callable_check(lambda q, a: time.sleep(600), timeout_s=0.05)\n"
        "print(anyio.run(check, 'q', 'a').verdict)\n"
    )
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "error"


async def test_keys_in_what_a_check_prints_are_taken_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "canary-0123456789")
    monkeypatch.setenv("SOME_PLACE", "here-0123456789")
    filler = "x" * 1980  # so that the cut falls into the key
    source = (
        f"import os\nprint(*os.environ.values())\nprint(os.environ['SOME_API_KEY'] + '{filler}')\nraise SystemExit(1)\n"
    )
    verdict = await command_check(program(tmp_path, source))("q", "8")
    assert verdict.verdict == "rejected"
    assert "6789" not in verdict.detail
    shown = await command_check(program(tmp_path, "import os\nprint(*os.environ.values())\n"))("q", "8")
    assert "canary" not in shown.detail


async def test_a_test_file(tmp_path: Path) -> None:
    tests = tmp_path / "x_test.py"
    tests.write_text("import os\ndef test_it():\n    assert os.environ['DISSENSUS_ANSWER'] == '8'\n")
    check = pytest_check(tests)
    assert (await check("q", "8")).verdict == "accepted"
    rejected = await check("q", "9")
    assert rejected.verdict == "rejected"
    assert "assert" in rejected.detail
    tests.write_text("import no_such_module_at_all\n")
    assert (await check("q", "8")).verdict == "error"
    tests.write_text("\n")
    assert (await check("q", "8")).verdict == "error"
    with pytest.raises(SpecError, match="no test file"):
        pytest_check(tmp_path / "absent.py")


async def test_checks_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_checks.py").write_text("def even(question, answer):\n    return int(answer) % 2 == 0\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert (await check_from_spec("python:my_checks:even")("q", "8")).verdict == "accepted"
    with pytest.raises(SpecError, match="cannot be imported"):
        check_from_spec("python:my_checks:odd")
    assert (await check_from_spec("true")("q", "8")).verdict == "accepted"
    assert check_from_spec(f"pytest:{__file__}").name == f"pytest:{__file__}"
