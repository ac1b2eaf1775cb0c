"""Starts, shares and stops a process that holds the engine.

That is :mod:`dissensus.agents.llama_host`, or its sister :mod:`dissensus.agents.llama_streams_host`.

Threads only, no event loop: one engine serves every run of this Python process that asks for the same file with the
same settings, whichever loop each of them runs on.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any, ClassVar

from dissensus.agents.llama_cores import idle_cores

_LAST_LINES = 40
_STOP_S = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineSettings:
    """What makes two engines the same.

    Args:
        path: the GGUF file.
        slots: requests that are worked on side by side; each has its own context.
        context: tokens of one slot's context, prompt and answer together.
        threads: threads of the engine; 0 counts the cores that are idle when it starts.
        flash_attention: None leaves it to the engine. Off, results depend less on what else runs beside a request.
        chat_template: a Jinja template in place of the model's own ("" for its own).
        gpu_layers: layers on a GPU, where the engine was built for one; -1 for all that fit.
    """

    HOST: ClassVar[str] = "llama_host.py"
    path: str
    slots: int = 6
    context: int = 4096
    threads: int = 0
    flash_attention: bool | None = None
    chat_template: str = ""
    gpu_layers: int = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamSettings:
    """The same for the engine that holds streams.

    Args:
        path: the GGUF file.
        streams: most streams at a time; the one used longest ago makes room for another.
        context: most tokens of one.
        threads: as above.
        flash_attention: as above.
        gpu_layers: as above.
        ingest: ``handover``, ``lockstep``, or ``auto``, which measures when it starts.
    """

    HOST: ClassVar[str] = "llama_streams_host.py"
    path: str
    streams: int = 64
    context: int = 4096
    threads: int = 0
    flash_attention: bool | None = None
    gpu_layers: int = -1
    ingest: str = "handover"


class EngineDied(Exception):
    """The engine's process ended, or did not start. ``str()`` is a sentence for the record."""


class Engine:
    """The process. ``address`` and ``key`` are set once :meth:`start` has returned."""

    def __init__(self, settings: EngineSettings | StreamSettings) -> None:
        self.settings = settings
        self.told: dict[str, Any] = {}
        """What it said of itself when it had started."""
        self.address = ""
        self.key = ""
        self.users = 0
        self.load_s = 0.0
        self._process: subprocess.Popen[str] | None = None
        self._log: deque[str] = deque(maxlen=_LAST_LINES)
        self._reader: threading.Thread | None = None
        self._starting = threading.Lock()
        self._folder = ""

    @property
    def pid(self) -> int | None:
        """Process id while it runs."""
        return self._process.pid if self._process is not None and self._process.poll() is None else None

    def start(self, tell: Callable[[str], None]) -> None:
        """Start the process and wait until the model is loaded; does nothing if it runs. Blocks for seconds.

        Raises :class:`EngineDied` with the engine's last words.
        """
        with self._starting:
            if self.pid is not None and self.address:
                return
            self._end()
            tell(f"loading {Path(self.settings.path).name}")
            began = time.monotonic()
            self._spawn()
            self.load_s = time.monotonic() - began
            tell(f"loaded {Path(self.settings.path).name} in {self.load_s:.1f} s")

    def stop(self) -> None:
        """End the process and the thread that reads its log. Safe to call twice."""
        with self._starting:
            self._end()

    def last_words(self, lines: int = 3) -> str:
        """The end of the engine's log, on one line."""
        return " | ".join(list(self._log)[-lines:])

    def ended(self, within_s: float = 2.0) -> str | None:
        """How the process ended, as a sentence with its last words; None if it still runs after ``within_s``."""
        process = self._process
        if process is None:
            return "The engine was stopped."
        try:
            status = process.wait(within_s)
        except subprocess.TimeoutExpired:
            return None
        if self._reader is not None:
            self._reader.join(within_s)
        if status < 0:
            name = signal.Signals(-status).name
            how = f"was ended by {name}" + (", perhaps for want of memory" if name == "SIGKILL" else "")
        else:
            how = f"ended with status {status}"
        words = self.last_words()
        return f"The engine {how}." + (f" Its last words: {words}" if words else "")

    def _spawn(self) -> None:
        settings = asdict(self.settings)
        settings["threads"] = self.settings.threads or idle_cores()
        settings["key"] = self.key = secrets.token_hex(16)
        # nobody else may enter it, so a socket in it needs no key; made here, because a child that is killed leaves it
        if isinstance(self.settings, StreamSettings):
            settings["folder"] = self._folder = tempfile.mkdtemp(prefix="dissensus-")
        self._log.clear()
        # workers of the engine's pool must sleep while they wait: spinning, two of them on a busy machine of two cores
        # were six times slower than one
        env = {**os.environ, "OMP_WAIT_POLICY": "passive"}
        self._process = subprocess.Popen(  # noqa: S603 - our own file, by the Python that runs us
            [sys.executable, "-P", "-u", str(Path(__file__).with_name(self.settings.HOST))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            errors="replace",
            env=env,
            start_new_session=True,  # Ctrl-C is for this program, which then ends the engine in good order
        )
        process = self._process
        assert process.stdin is not None  # noqa: S101 - asked for above
        assert process.stdout is not None  # noqa: S101
        assert process.stderr is not None  # noqa: S101
        self._reader = threading.Thread(target=self._keep, args=(process.stderr,), name="engine log", daemon=True)
        self._reader.start()
        try:
            process.stdin.write(json.dumps(settings) + "\n")
            process.stdin.flush()
            answer = json.loads(process.stdout.readline())
        except (OSError, ValueError):
            answer = {}
        if "address" in answer:
            self.address, self.told = answer["address"], answer
            return
        problem = self.ended() or "The engine does not start."
        self._end()
        raise EngineDied(f"The model could not be loaded. {answer.get('error', '')} {problem}".replace("  ", " "))

    def _end(self) -> None:
        process, self._process, self.address = self._process, None, ""
        folder, self._folder = self._folder, ""
        if process is None:
            return
        if process.stdin is not None:
            with contextlib.suppress(OSError):  # it may be dead already
                process.stdin.close()  # the sign to stop
        try:
            process.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if self._reader is not None:
            self._reader.join()
        for pipe in (process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()
        if folder:
            shutil.rmtree(folder, ignore_errors=True)

    def _keep(self, stderr: IO[str]) -> None:
        for line in stderr:
            if text := line.strip():
                self._log.append(text)


_engines: dict[EngineSettings | StreamSettings, Engine] = {}
_guard = threading.Lock()


def share(settings: EngineSettings | StreamSettings) -> Engine:
    """The engine for these settings, with one more user. It is not started here."""
    with _guard:
        engine = _engines.setdefault(settings, Engine(settings))
        engine.users += 1
        return engine


def release(engine: Engine) -> None:
    """One user less; the last one ends the process. Blocks until it is gone."""
    with _guard:
        engine.users -= 1
        last = engine.users <= 0
        if last:
            _engines.pop(engine.settings, None)
    if last:
        engine.stop()


@atexit.register
def _stop_all() -> None:
    with _guard:
        engines = list(_engines.values())
        _engines.clear()
    for engine in engines:
        engine.stop()
