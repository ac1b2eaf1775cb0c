"""Opening a cell and running programs in it."""

from __future__ import annotations

import contextlib
import hashlib
import secrets
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, Literal, TypeVar

import anyio

from dissensus.agents.cells.folders import Place, for_a_new_user, laid_out
from dissensus.agents.cells.guards import LEVELS, Level
from dissensus.agents.cells.interpreter import program_of, real_interpreter, wants_python
from dissensus.agents.cells.ladder import Reached, reach, required
from dissensus.agents.cells.launch import launched, program_path
from dissensus.agents.cells.limits import Limits
from dissensus.agents.cells.manifest import Bytes, Manifest, lay_out
from dissensus.agents.cells.trial import last_line
from dissensus.agents.cells.watch import Watch, empty
from dissensus.agents.processes import Ran, run_in_thread
from dissensus.agents.tools import in_thread
from dissensus.errors import CellError, UsageError

_DEFAULT: Final = Limits()
_ROOM_FOR_TOKEN: Final = 4096
_SIGNALLED: Final = 128
_Entered = TypeVar("_Entered")


@dataclass(frozen=True, slots=True, kw_only=True)
class CellRun:
    """What became of a program in a cell.

    Args:
        exit: its exit status; 128 + n if signal n ended it; None if we had to end it.
        stdout: what it wrote, up to the limit.
        stderr: the same for its errors.
        truncated: whether it wrote more than that to either.
        ended_for: the limit for which we ended it; empty if it ended by itself.
        seconds: how long it took, with the start.
        level: of the cell.
        enforced: what the cell kept it from (:data:`~.guards.GUARDS` by name).
        not_enforced: what it did not.
    """

    exit: int | None
    stdout: bytes
    stderr: bytes
    truncated: bool
    ended_for: Literal["", "wall", "memory", "disk", "files"]
    seconds: float
    level: Level
    enforced: tuple[str, ...]
    not_enforced: tuple[str, ...]

    @property
    def timed_out(self) -> bool:
        """Whether its time by the clock was over."""
        return self.ended_for == "wall"


class Cell:
    """A place that holds the files of a manifest, in which programs run one at a time; each begins with empty scratch.

    Programs run in the folder of the evidence: paths of the manifest are relative to it, and ``tmp`` in it is the only
    folder that can be written. Opened by :func:`open_cell`.
    """

    def __init__(
        self, reached: Reached, place: Place, manifest: Manifest, limits: Limits, code: Sequence[Path]
    ) -> None:
        self.reached = reached
        self.manifest = manifest
        self.limits = limits
        self._place = place
        self._code = tuple((path.resolve(), path) for path in code)
        self._one_at_a_time = anyio.Lock()

    @property
    def level(self) -> Level:
        """The level that was reached."""
        return self.reached.level

    def on_record(self) -> dict[str, Any]:
        """What a record says of it: level, how, what is and is not enforced, why no higher level, files, limits."""
        return self.reached.on_record() | {"files": dict(self.manifest.files), "limits": asdict(self.limits)}

    async def run(
        self,
        program: str | Sequence[str],
        *,
        stdin: bytes = b"",
        arguments: Sequence[str] = (),
        env: Mapping[str, str] | None = None,
        limits: Limits | None = None,
    ) -> CellRun:
        """Run a program to its end, or to the limit that ends it.

        Args:
            program: a text in Python, or a list: a program and its arguments; no shell is involved. Python in first
                place of a list is the bare interpreter, without packages.
            stdin: what it reads.
            arguments: of a program that is a text.
            env: variables beside the few that every program gets; nothing of ours is inherited.
            limits: for this run.

        Raises:
            CellError: there is no such program, or the cell could not be entered. Then nothing of it was run.
            UsageError: the list is empty.
        """
        limits = limits or self.limits
        argv, file, needed = ([], None, []) if isinstance(program, str) else _resolved(program)
        way, token = self.reached.way, secrets.token_hex(16)
        watch = Watch(limits, None if way.bwrap else self._place.scratch)
        async with self._one_at_a_time:
            try:
                place = await in_thread(self._made_ready)
                if isinstance(program, str):
                    argv = ["python", await in_thread(lambda: self._kept(program)), *arguments]
                command = launched(
                    way,
                    place,
                    argv,
                    file=file,
                    needed=[*needed, *self._code],
                    env=env or {},
                    limits=limits,
                    token=token,
                )
                async with _beside_the_loop(command) as launch:
                    ran = await run_in_thread(
                        launch.argv,
                        stdin=stdin,
                        timeout_s=limits.wall_s,
                        most_bytes=limits.output_bytes + _ROOM_FOR_TOKEN,
                        env=launch.env,
                        watch=watch,
                    )
                    if ran.status is None:
                        await in_thread(watch.settle)
            except (OSError, ValueError) as error:
                raise CellError(f"A program could not be started in a cell: {error}.") from None
            finally:
                with anyio.CancelScope(shield=True), contextlib.suppress(OSError):  # then the next run will say so
                    await in_thread(lambda: empty(self._place.scratch))
        return self._told(ran, token.encode("ascii"), watch, limits)

    def _told(self, ran: Ran, token: bytes, watch: Watch, limits: Limits) -> CellRun:
        _, entered, errors = ran.errors.partition(token)
        if not entered and ran.status is not None:
            raise CellError(
                f"A {self.level} cell could not be entered: {last_line(ran.errors) or 'no reason was given'}.",
                next_step="Nothing was run. `dissensus doctor` says what this machine reaches.",
            )
        most = limits.output_bytes
        status = ran.status
        return CellRun(
            exit=status if status is None or status >= 0 else _SIGNALLED - status,
            stdout=ran.output[:most],
            stderr=errors[:most],
            truncated=ran.cut or len(ran.output) > most or len(errors) > most,
            ended_for=watch.over or ("wall" if status is None else ""),
            seconds=ran.seconds,
            level=self.level,
            enforced=self.reached.enforced,
            not_enforced=self.reached.not_enforced,
        )

    def _made_ready(self) -> Place:
        """The folders of the cell for another run: empty scratch, and a user who has nothing running."""
        empty(self._place.scratch)
        return self._place if self._place.uid is None else for_a_new_user(self._place)

    def _kept(self, source: str) -> str:
        """The path inside of a file with this text: a file, so that a traceback can show its lines."""
        data = source.encode("utf-8", "replace")
        name = f"{hashlib.sha256(data).hexdigest()[:16]}.py"
        path = self._place.program / name
        if not path.exists():
            path.write_bytes(data)
            path.chmod(0o444)
        return program_path(self.reached.way, self._place, name)


@asynccontextmanager
async def open_cell(
    manifest: Manifest | Mapping[str, str],
    blobs: Bytes | None = None,
    *,
    require: str | None = None,
    highest: Level = "strong",
    limits: Limits = _DEFAULT,
    code: Sequence[Path] = (),
) -> AsyncIterator[Cell]:
    """A cell with the files of ``manifest``, at the highest level that this machine reaches. Gone when it is left.

    Args:
        manifest: SHA-256 to path in the cell.
        blobs: where the bytes of the digests are had; may be left out for an empty manifest.
        require: ``strong`` or ``medium``: refuse to open a cell below that, before any file is written.
        highest: do not try for more than this.
        limits: of each run.
        code: further files and folders that programs in the cell can read and run, where they are: say, a tool.

    Raises:
        CellError: the required level is not reached, or bytes are missing or wrong.
        UsageError: the manifest or ``require`` is wrong.
    """
    if highest not in LEVELS:
        raise UsageError(f"There is no level {highest!r} of cells.", next_step=f"Write one of {', '.join(LEVELS)}.")
    held = manifest if isinstance(manifest, Manifest) else Manifest(dict(manifest))
    reached = required(await in_thread(lambda: reach(highest)), require)
    async with AsyncExitStack() as stack:
        try:
            place = await stack.enter_async_context(_beside_the_loop(laid_out(reached.way)))
            await in_thread(lambda: lay_out(held, blobs if blobs is not None else {}, place.evidence))
        except OSError as error:
            raise CellError(
                f"A cell cannot be laid out: {error}.",
                next_step="Check the disk of the temporary folder, and the files that the bytes come from.",
            ) from None
        yield Cell(reached, place, held, limits, code)


@asynccontextmanager
async def _beside_the_loop(manager: contextlib.AbstractContextManager[_Entered]) -> AsyncIterator[_Entered]:
    """A context whose ends read and write files: both are done in a thread, and both to their end."""
    with anyio.CancelScope(shield=True):
        entered: _Entered = await in_thread(manager.__enter__)
    try:
        yield entered
    finally:
        with anyio.CancelScope(shield=True):
            await in_thread(lambda: manager.__exit__(None, None, None))


def _resolved(program: Sequence[str]) -> tuple[list[str], Path | None, list[tuple[Path, Path]]]:
    if not program:
        raise UsageError("There is no program to run in a cell.", next_step="Give a list: the program, its arguments.")
    path, needed = program_of(program[0])
    if path.resolve() == real_interpreter():
        return list(program), None, []
    if wants_python(path):  # the real interpreter, and no shim
        return ["python", str(path), *program[1:]], None, needed[:1]
    return list(program), path, needed
