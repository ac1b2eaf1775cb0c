"""Outside checks: try an answer without asking any agent.

A check is a command, a Python callable or a test file. Its verdict is one of three, and the third is not a
weaker form of the second: ``accepted``, ``rejected``, or ``error`` (it could not judge: it crashed, hung, was not
there). Nothing that agents wrote is ever put into a shell or into program text: it is handed over as one whole
argument, on standard input and in the environment.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import os
import shlex
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

import anyio

from dissensus.agents.processes import run_in_thread
from dissensus.agents.secrets import hide_keys
from dissensus.agents.tools import in_thread
from dissensus.errors import MissingExtra, SpecError
from dissensus.script.outcomes import CheckResult

ACCEPTED, REJECTED, ERROR = "accepted", "rejected", "error"
TIMEOUT_S = 60.0
DETAIL_CHARS = 2000
_KEPT_BYTES = 64 * 1024
_ANSWER, _QUESTION = "{answer}", "{question}"


class Check(Protocol):
    """Tries one answer. ``name`` stands in records."""

    @property
    def name(self) -> str:
        """What the check is called."""
        ...

    async def __call__(self, question: str, answer: str) -> CheckResult:
        """The verdict on ``answer``. Returns ``error`` rather than raising."""
        ...


class CommandCheck:
    """Runs a program: exit status 0 accepts, 1 rejects, anything else could not judge."""

    def __init__(self, argv: Sequence[str], *, name: str, timeout_s: float = TIMEOUT_S) -> None:
        self.argv = tuple(argv)
        self.name = name
        self.timeout_s = timeout_s

    async def __call__(self, question: str, answer: str) -> CheckResult:
        """Run the program once and read its exit status."""
        given = {_ANSWER: answer, _QUESTION: question}
        argv = [given.get(argument, argument) for argument in self.argv]
        env = {**os.environ, "DISSENSUS_ANSWER": answer, "DISSENSUS_QUESTION": question}
        try:
            ran = await run_in_thread(
                argv,
                stdin=answer.encode(),
                timeout_s=self.timeout_s,
                most_bytes=_KEPT_BYTES,
                env=env,
                keep="last",
                joined=True,
            )
        except (OSError, ValueError) as problem:  # not startable, or a text that no argument can hold
            return CheckResult(verdict=ERROR, detail=f"could not be started: {problem}")
        status, seconds = ran.status, round(ran.seconds, 3)
        if status is None:
            return CheckResult(verdict=ERROR, detail=f"did not end within {self.timeout_s:g} s", seconds=seconds)
        detail = hide_keys(ran.output.decode("utf-8", "replace")).strip()[-DETAIL_CHARS:]  # before a cut may halve one
        if status in (0, 1):
            return CheckResult(verdict=REJECTED if status else ACCEPTED, detail=detail, seconds=seconds)
        how = f"signal {-status}" if status < 0 else f"exit status {status}"
        return CheckResult(verdict=ERROR, detail=f"{how}: {detail}" if detail else how, seconds=seconds)


class CallableCheck:
    """Calls a Python function, plain or async, with question and answer.

    It returns True or False, a ``(bool, detail)`` pair or a CheckResult. A failed ``assert`` in it rejects; any other
    exception, ``sys.exit`` included, means that it could not judge. A plain function runs in a thread of its own, and
    one that hangs is not waited for.
    """

    def __init__(self, function: Callable[[str, str], Any], *, name: str, timeout_s: float = TIMEOUT_S) -> None:
        self.function = function
        self.name = name
        self.timeout_s = timeout_s

    async def __call__(self, question: str, answer: str) -> CheckResult:
        """Call the function once."""
        began = time.monotonic()
        result: Any = None
        try:
            with anyio.fail_after(self.timeout_s):
                if inspect.iscoroutinefunction(self.function):
                    result = await self.function(question, answer)
                else:
                    result = await in_thread(lambda: self.function(question, answer))
        except TimeoutError:
            return CheckResult(verdict=ERROR, detail=f"did not end within {self.timeout_s:g} s")
        except AssertionError as problem:
            return CheckResult(verdict=REJECTED, detail=str(problem)[:DETAIL_CHARS])
        except (Exception, SystemExit) as problem:  # noqa: BLE001 - a check that breaks must not break the run
            return CheckResult(verdict=ERROR, detail=f"{type(problem).__name__}: {problem}"[:DETAIL_CHARS])
        return _verdict(result, round(time.monotonic() - began, 3))


def _verdict(result: Any, seconds: float) -> CheckResult:
    match result:
        case CheckResult():
            return result
        case bool():
            return CheckResult(verdict=ACCEPTED if result else REJECTED, seconds=seconds)
        case (bool() as fine, str() as detail):
            verdict = ACCEPTED if fine else REJECTED
            return CheckResult(verdict=verdict, detail=detail[:DETAIL_CHARS], seconds=seconds)
        case _:
            detail = f"returned {type(result).__name__}, not True or False"
            return CheckResult(verdict=ERROR, detail=detail, seconds=seconds)


def command_check(command: str, *, name: str = "", timeout_s: float = TIMEOUT_S) -> CommandCheck:
    """A check that runs ``command``, split into arguments as a shell would, without a shell.

    An argument that is exactly ``{answer}`` or ``{question}`` is replaced by that text; the answer is also on standard
    input, and both are in the environment as ``DISSENSUS_ANSWER`` and ``DISSENSUS_QUESTION``.

    Raises SpecError for a command that is empty, badly quoted, not found, or would put an answer into program text.
    """
    try:
        argv = shlex.split(command)
    except ValueError as problem:
        raise SpecError(
            f"The check {command!r} cannot be split into arguments: {problem}.",
            next_step="Close the quotes.",
        ) from None
    if not argv:
        raise SpecError("The check is empty.", next_step="Give a command, such as --check './check.sh'.")
    for argument in argv[1:]:
        if argument not in (_ANSWER, _QUESTION) and (_ANSWER in argument or _QUESTION in argument):
            raise SpecError(
                f"In the check {command!r} a placeholder stands inside the argument {argument!r}.",
                next_step="Make it an argument of its own, or read standard input or $DISSENSUS_ANSWER.",
            )
    if shutil.which(argv[0]) is None:
        raise SpecError(
            f"The check's program {argv[0]!r} was not found.",
            next_step="Give its path, and make it executable.",
        )
    return CommandCheck(argv, name=name or command, timeout_s=timeout_s)


def callable_check(
    function: Callable[[str, str], Any], *, name: str = "", timeout_s: float = TIMEOUT_S
) -> CallableCheck:
    """A check that calls ``function(question, answer)``; see :class:`CallableCheck`."""
    return CallableCheck(function, name=name or getattr(function, "__qualname__", "callable"), timeout_s=timeout_s)


def pytest_check(path: str | Path, *, name: str = "", timeout_s: float = TIMEOUT_S) -> CommandCheck:
    """A check that runs a file of pytest tests, which read the answer from ``$DISSENSUS_ANSWER``.

    All pass: accepted. One fails: rejected. No tests, or a file that cannot be imported: could not judge.
    Raises SpecError if there is no such file, MissingExtra without pytest.
    """
    if not Path(path).is_file():
        raise SpecError(f"There is no test file {str(path)!r}.", next_step="Give the path of a file of pytest tests.")
    if importlib.util.find_spec("pytest") is None:
        raise MissingExtra("A check by test file", extra="dev")
    argv = (sys.executable, "-m", "pytest", "-q", "--no-header", "-p", "no:cacheprovider", str(path))
    return CommandCheck(argv, name=name or f"pytest:{path}", timeout_s=timeout_s)


def check_from_spec(text: str, *, timeout_s: float = TIMEOUT_S) -> Check:
    """The check that ``text`` names: ``pytest:FILE``, ``python:MODULE:FUNCTION``, or else a command."""
    scheme, _, rest = text.partition(":")
    if scheme == "pytest":
        return pytest_check(rest, name=text, timeout_s=timeout_s)
    if scheme != "python":
        return command_check(text, timeout_s=timeout_s)
    module, _, attribute = rest.partition(":")
    try:
        function = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as problem:
        raise SpecError(
            f"The check {text!r} cannot be imported: {problem}.",
            next_step="Write python:MODULE:FUNCTION, with the module on the import path.",
        ) from None
    return callable_check(function, name=text, timeout_s=timeout_s)
