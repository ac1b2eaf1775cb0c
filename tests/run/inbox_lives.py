"""Two runs that ask the same of a person, lived through to the end, however often the process dies on the way.

``live`` is one life: it goes on from whatever the life before has left, as people and programs would. ``Deaths`` lets a
life end just before or just after each thing that it writes.

As a program it is killed for real, with SIGKILL, at a later boundary in each of the lives that it begins:
``python inbox_lives.py FOLDER KILLS`` does so in folder after folder, and prints how often.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import msgspec
from asking import Asked, resume

from dissensus.agents.panel import default_panel
from dissensus.record import sqlite_writer
from dissensus.record.opening import open_record
from dissensus.record.sqlite_writer import SqliteWriter
from dissensus.record.verify import verify
from dissensus.run import inbox_desk, inbox_letters, runs
from dissensus.run.casting import run_procedure
from dissensus.run.inbox import State, questions_of
from dissensus.run.inbox_answers import Given, idempotency_key
from dissensus.run.inbox_desk import finish, hand_in
from dissensus.run.inbox_folder import read_inbox
from dissensus.run.inbox_letters import waiting

NAMES = ("a.db", "b.db")
SAID: dict[str, Any] = {"version": 1, "principal": "kim", "choice": "B", "reason": "so it is", "rule": True}


class Killed(BaseException):
    """A death that is only played: nothing may be written after it."""


class Deaths:
    """Counts the boundaries that a life comes by, and ends it at one of them.

    Args:
        at: the number of that boundary, from 1; 0: at none.
        end: how it ends.
    """

    def __init__(self, at: int, end: Callable[[], None]) -> None:
        self.at, self.end = at, end
        self.passed = 0
        self.dead = False

    def __call__(self) -> None:
        """One boundary."""
        if self.dead:
            raise Killed
        self.passed += 1
        if self.passed == self.at:
            self.dead = True
            self.end()

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        """Have all that is written pass by here."""
        put_back = []
        places: list[tuple[Any, str]] = [
            (SqliteWriter, "append"), (SqliteWriter, "commit"), (sqlite_writer, "_make"),
            (inbox_letters, "_write"), (inbox_desk, "take_away"),
        ]  # fmt: skip
        for owner, name in places:
            original = getattr(owner, name)
            put_back.append((owner, name, original))
            setattr(owner, name, self._around(original))
        if self.end is played:  # the disk has to survive no power cut here, and flushing it takes nearly all the time
            places_of_flushing: list[tuple[Any, str, Any]] = [
                (SqliteWriter, "_flush_on_commit", _flush_nothing), (os, "fsync", lambda _: None)
            ]  # fmt: skip
            for owner, name, nothing in places_of_flushing:
                put_back.append((owner, name, getattr(owner, name)))
                setattr(owner, name, nothing)
        close = SqliteWriter.close
        put_back.append((SqliteWriter, "close", close))
        setattr(SqliteWriter, "close", lambda store: self._close(store, close))  # noqa: B010 - put back below
        try:
            yield
        finally:
            for owner, name, original in put_back:
                setattr(owner, name, original)

    def _around(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            self()
            result = original(*arguments, **named)
            self()
            return result

        return call

    def _close(self, store: SqliteWriter, close: Callable[[SqliteWriter], None]) -> None:
        """The dead close nothing: what they had not committed is gone, and the system lets go of the lock."""
        if not self.dead:
            close(store)
            return
        store._closed = True
        store._db.close()
        store._lock.release()


def _flush_nothing(store: SqliteWriter, *, durable: bool) -> None:
    store._db.execute("PRAGMA synchronous = OFF")
    assert durable in (True, False)


def played() -> None:
    """Die as far as this process is concerned."""
    raise Killed


def killed() -> None:
    """Die."""
    os.kill(os.getpid(), signal.SIGKILL)


def live(folder: Path) -> None:
    """One life: put what was not put, answer what is open, hand on, and let the runs go on."""
    for name in NAMES:
        _go_on(folder / name)
    inbox = read_inbox(folder)
    finish(inbox)
    for question in read_inbox(folder).open():
        attempt = Given(
            question=question.id, authenticated_by="account:kim", at=1.8e9,
            idempotency_key=idempotency_key(question, SAID), **SAID,
        )  # fmt: skip
        hand_in(question, attempt)
    for question in read_inbox(folder).unfinished():
        resume(Path(question.record))


def _go_on(path: Path) -> None:
    """Start the run, or resume it where it was cut off."""
    if path.exists():
        with open_record(path) as store:
            events = list(store.read())
            waits = any(event.kind == "person" for event in events)
        if waits or runs.finished(events) is not None:
            return
        if events:
            resume(path)
            return
    mode = "a" if path.exists() else "x"
    settings = {"asked": msgspec.to_builtins(Asked(dedupe_key="the same"))}

    async def go() -> None:
        with open_record(path, mode) as store:
            await run_procedure(
                procedure="asking", settings=settings, panel=default_panel("scripted:47, I think", 1), record=store
            )

    anyio.run(go)


def check(folder: Path) -> None:
    """Nothing was lost, doubled or left over."""
    copied = 0
    for name in NAMES:
        path = folder / name
        with open_record(path) as store:
            events = list(store.read())
            (question,) = questions_of(store)
        keys = [(event.kind, event.key) for event in events if event.kind in ("person", "outcome", "ask", "decision")]
        assert len(keys) == len(set(keys)), keys
        assert [event.kind for event in events].count("person") == 1
        assert [event.body["accepted"] for event in events if event.kind == "question-answer"].count(True) == 1
        attempts = [one.idempotency_key for one in question.answers]
        assert len(attempts) == len(set(attempts)), attempts
        accepted = question.accepted
        assert accepted is not None
        assert question.state is State.ANSWERED
        assert question.taken_up
        copied += bool(accepted.copied_from)
        assert [event.kind for event in events].count("standing-rule") == (not accepted.copied_from)
        assert verify(path).complete
        replayed = runs.replay(path)
        assert replayed.identical
        assert replayed.decision.answer == "B by kim"
        assert waiting(path) == []
    assert copied <= 1
    assert [path.name for path in sorted(folder.iterdir()) if path.suffix == ".db"] == list(NAMES)


def lives(folder: Path, first: int) -> int:
    """Live until all is done, killed at boundary ``first``, then at the next, and so on; the number of deaths."""
    folder.mkdir()
    deaths = 0
    while True:
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                with Deaths(first + deaths, killed).watching():
                    live(folder)
                code = 0
            except Exception:  # noqa: BLE001 - whatever it was, show it; the parent sees the exit status
                traceback.print_exc()
            finally:
                os._exit(code)
        _, status = os.waitpid(pid, 0)
        if not os.WIFSIGNALED(status):
            break
        deaths += 1
    if os.waitstatus_to_exitcode(status) != 0:
        raise SystemExit("a life failed")
    check(folder)
    return deaths


def main() -> None:
    """Live until there were so many deaths."""
    folder, kills = Path(sys.argv[1]), int(sys.argv[2])
    found: list[int] = []
    while sum(found) < kills:
        found.append(lives(folder / str(len(found)), 1 + 3 * len(found)))
    sys.stdout.write(str(sum(found)))


if __name__ == "__main__":
    main()
