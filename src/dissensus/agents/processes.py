"""Run a program with bounds on its time and on what is kept of its output, and leave nothing of it behind.

The program gets a process group of its own. When it is over, or has to be, the whole group is ended, and only that
group: the program's process is not reaped before, so its number cannot have gone to somebody else meanwhile.

POSIX only.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final, Literal, cast

import anyio

from dissensus.agents.tools import in_thread

_LOOK_S: Final = 0.02
_LAST_LOOK_S: Final = 0.004
_WATCH_S: Final = 0.1
_GRACE_S: Final = 2.0
_CHUNK: Final = 65536
_LAST_CHUNKS: Final = 64
_INHERITED: Final = ("HOME", "LANG", "LC_ALL", "LC_CTYPE", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """What became of a program. ``status`` is None if it had to be ended, negative for a signal.

    ``cut`` says whether it wrote more than was kept in ``output`` and ``errors``; ``seconds`` how long it ran.
    """

    status: int | None
    output: bytes
    errors: bytes
    cut: bool
    seconds: float


def environment(names: Sequence[str] = ()) -> dict[str, str]:
    """Variables that a program gets: the everyday ones, and those in ``names``; so no keys unless they are named."""
    return {name: os.environ[name] for name in (*_INHERITED, *names) if name in os.environ}


def run_program(
    argv: Sequence[str],
    *,
    stdin: bytes = b"",
    timeout_s: float,
    most_bytes: int,
    env: Mapping[str, str],
    folder: Path | None = None,
    keep: Literal["first", "last"] = "first",
    joined: bool = False,
    stop: threading.Event | None = None,
    watch: Callable[[int], bool] | None = None,
) -> Ran:
    """Run ``argv`` to its end, or until ``timeout_s`` seconds are over or ``stop`` is set. No shell is involved.

    Of standard output and of standard error the first (or last) ``most_bytes`` each are kept; the rest is read and
    dropped. ``joined`` has both in ``output``, in the order in which they were written. What the program leaves running
    in its process group is ended with it. ``watch`` is called about ten times a second with the number of that group,
    and ends the program by returning true.

    Raises:
        OSError: the program cannot be started.
        ValueError: an argument holds a NUL byte.
    """
    began = time.monotonic()
    process = subprocess.Popen(  # noqa: S603 - the caller's own program, as a list
        list(argv),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT if joined else subprocess.PIPE,
        env=dict(env),
        cwd=folder,
        start_new_session=True,
    )
    pipes = _Pipes(process, stdin, most_bytes, keep)
    try:
        deadline, next_look = began + timeout_s, began + _WATCH_S
        while not (gone := _is_over(process)) and (now := time.monotonic()) < deadline and not (stop and stop.is_set()):
            if watch and now >= next_look:
                if watch(process.pid):
                    break
                next_look = time.monotonic() + _WATCH_S
            pipes.move(_LOOK_S)
        _end_group(process)
        for _ in range(_LAST_CHUNKS):  # what it wrote last may still be in the pipes
            if not (gone and pipes.move(0)):
                break
    finally:
        _end_group(process)
        process.wait()
        pipes.close()
    return Ran(
        status=process.returncode if gone else None,
        output=bytes(pipes.kept[0]),
        errors=bytes(pipes.kept[1]),
        cut=pipes.cut,
        seconds=time.monotonic() - began,
    )


async def run_in_thread(
    argv: Sequence[str],
    *,
    stdin: bytes = b"",
    timeout_s: float,
    most_bytes: int,
    env: Mapping[str, str],
    folder: Path | None = None,
    keep: Literal["first", "last"] = "first",
    joined: bool = False,
    watch: Callable[[int], bool] | None = None,
) -> Ran:
    """:func:`run_program` in a thread. If the caller is cancelled, the program is ended before going on."""
    stop, over = threading.Event(), threading.Event()

    def work() -> Ran:
        try:
            return run_program(
                argv,
                stdin=stdin,
                timeout_s=timeout_s,
                most_bytes=most_bytes,
                env=env,
                folder=folder,
                keep=keep,
                joined=joined,
                stop=stop,
                watch=watch,
            )
        finally:
            over.set()

    try:
        ran: Ran = await in_thread(work)
    finally:
        stop.set()
        with anyio.move_on_after(_GRACE_S, shield=True):
            while not over.is_set():  # noqa: ASYNC110 - a thread sets it
                await anyio.sleep(0.005)
    return ran


class _Pipes:
    """Feeds a program its input and keeps the beginning or the end of what it writes, without ever blocking."""

    def __init__(
        self, process: subprocess.Popen[bytes], stdin: bytes, most_bytes: int, keep: Literal["first", "last"]
    ) -> None:
        self.kept = (bytearray(), bytearray())
        self.cut = False
        self._most = most_bytes
        self._keep = keep
        self._rest = memoryview(stdin)
        self._selector = selectors.DefaultSelector()
        self._open: list[IO[bytes]] = []
        for pipe, event, kept in (
            (process.stdin, selectors.EVENT_WRITE, None),
            (process.stdout, selectors.EVENT_READ, self.kept[0]),
            (process.stderr, selectors.EVENT_READ, self.kept[1]),
        ):
            if pipe is not None:
                os.set_blocking(pipe.fileno(), False)
                self._selector.register(pipe, event, kept)
                self._open.append(pipe)

    def move(self, wait_s: float) -> bool:
        """Move what can be moved, waiting at most ``wait_s``. Returns whether anything was."""
        if not self._open:
            time.sleep(min(wait_s, _LAST_LOOK_S))  # it closed all: most likely it is about to end
            return False
        moved = False
        for key, _ in self._selector.select(wait_s):
            pipe = cast("IO[bytes]", key.fileobj)
            moved = (self._write(pipe) if key.data is None else self._read(pipe, key.data)) or moved
        return moved

    def _write(self, pipe: IO[bytes]) -> bool:
        written = 0
        with contextlib.suppress(BlockingIOError):
            try:
                written = os.write(pipe.fileno(), self._rest[:_CHUNK])
            except BrokenPipeError:  # it does not want the rest
                self._rest = self._rest[len(self._rest) :]
        self._rest = self._rest[written:]
        if not self._rest:
            self._drop(pipe)
        return written > 0

    def _read(self, pipe: IO[bytes], kept: bytearray) -> bool:
        try:
            data = os.read(pipe.fileno(), _CHUNK)
        except BlockingIOError:
            return False
        if not data:
            self._drop(pipe)
            return False
        room = self._most - len(kept)
        self.cut = self.cut or len(data) > room
        if self._keep == "first":
            kept += data[: max(room, 0)]
        else:
            kept += data
            del kept[: max(len(kept) - self._most, 0)]
        return True

    def _drop(self, pipe: IO[bytes]) -> None:
        self._selector.unregister(pipe)
        self._open.remove(pipe)
        pipe.close()

    def close(self) -> None:
        for pipe in self._open:
            pipe.close()
        self._selector.close()


def _is_over(process: subprocess.Popen[bytes]) -> bool:
    """Whether the program has ended; where the system can tell, without reaping it."""
    if not hasattr(os, "waitid"):
        return process.poll() is not None
    try:
        return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:  # the system reaps children by itself (SIGCHLD is ignored)
        return True


def _end_group(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):  # nobody is left in it
        os.killpg(process.pid, signal.SIGKILL)
