"""Kill a run with SIGKILL at random moments, resume it, and look for anything lost or done twice.

Run as a program: ``python killer.py FOLDER KILLS SEED [PROCEDURE]``. Prints one JSON object. It forks its children, so
it has to be a process of its own with a single thread.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
import traceback
from collections import Counter
from pathlib import Path
from typing import Any

import anyio
from plays import SEATS, Clerk, procedure

from dissensus.decide.contract import ContractSettings
from dissensus.decide.procedures import PROCEDURES, settings_of_contract
from dissensus.record.sqlite import open_record
from dissensus.record.store import Store
from dissensus.record.verify import verify
from dissensus.run import runs
from dissensus.run.performers import Live
from dissensus.script.calls import Generate
from dissensus.script.outcomes import Reply

PROCEDURES["test"] = procedure()
PROCEDURE = sys.argv[4] if len(sys.argv) > 4 else "test"

TREE = [
    "then",
    ["together", *(["then", ["ask", name], ["note", "x"], ["ask", name], ["post", name], ["ask", name]]
                   for name in ("ada", "ben", "cleo"))],
    ["list", "ada", "ben", "cleo", "ada", "ben"],
    ["under", "last", ["together", ["ask", "ada"], ["ask", "ben"], ["then", ["ask", "cleo"], ["ask", "cleo"]]]],
]  # fmt: skip


SETTINGS = {
    "test": {"tree": TREE},
    "contract": settings_of_contract("Paint the fence.", ContractSettings(rounds=3, remind=1)),
}
"""What each procedure is run with."""


class Slow(Clerk):
    """Answers from key and seed alone, after 1 to 8 ms; writes each call down before it begins."""

    def __init__(self, written: int) -> None:
        super().__init__()
        self.written = written

    async def generate(self, call: Generate) -> Reply:
        """Write the key down, wait, answer."""
        os.write(self.written, f"{call.key}\n".encode())
        await anyio.sleep(0.001 + (call.seed % 8) / 1000)
        if call.key.startswith("round/"):  # of the contract net: bids, and two holders that fail
            bid = json.dumps({"price": call.seed % 5, "estimate": 1, "confidence": 1})
            return Reply(text=bid if call.key.endswith("/ask") else "FAILED: no" if call.key[6] < "3" else "painted")
        return Reply(text=f"{call.key} {call.seed}")


class Telling:
    """A store that tells its parent, after each commit, how many events are acknowledged."""

    def __init__(self, store: Store, pipe: int) -> None:
        self._store = store
        self._pipe = pipe

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def commit(self, *, durable: bool = False) -> None:
        self._store.commit(durable=durable)
        os.write(self._pipe, f"{self._store.head().seq}\n".encode())


def child(path: Path, calls_file: Path, pipe: int, *, fresh: bool) -> None:
    """Start or resume the run; never returns."""
    calls = os.open(calls_file, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    store: Any = Telling(open_record(path, "x" if fresh else "a"), pipe)
    live = Live(lambda _agent: Slow(calls))

    async def go() -> Any:
        if fresh or store.head().seq == 0:
            return await runs.start(
                procedure=PROCEDURE, settings=SETTINGS[PROCEDURE], seats=SEATS, performer=live, record=store, seed=5
            )
        return await runs.resume(store, live)

    anyio.run(go)
    store.close()
    os._exit(0)


def attempt(path: Path, calls_file: Path, kill_after_s: float | None) -> tuple[bool, int]:
    """One child, killed after a while unless it ends first. Returns whether it was killed, and events acknowledged."""
    fresh = not path.exists()
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        try:
            child(path, calls_file, writing, fresh=fresh)
        except Exception:  # noqa: BLE001 - whatever it was, show it; the parent sees the exit status
            traceback.print_exc()
        finally:
            os._exit(1)
    os.close(writing)
    if kill_after_s is not None:
        time.sleep(kill_after_s)
        os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    with os.fdopen(reading, "rb") as told:
        numbers = told.read().split()
    if not os.WIFSIGNALED(status) and os.waitstatus_to_exitcode(status) != 0:
        raise SystemExit("a child failed")
    return os.WIFSIGNALED(status), int(numbers[-1]) if numbers else 0


def main() -> None:
    folder, kills, luck = Path(sys.argv[1]), int(sys.argv[2]), random.Random(int(sys.argv[3]))  # noqa: S311
    found: Counter[str] = Counter()
    answers = set()
    whole_s = 0.25  # at most, however busy the machine is now
    for name in ("whole", "again", "thrice"):
        began = time.perf_counter()
        attempt(folder / f"{name}.db", folder / f"{name}.calls", None)
        whole_s = min(whole_s, time.perf_counter() - began)
    uninterrupted = runs.replay(folder / "whole.db").decision.answer
    number = 0
    while found["kills"] < kills:
        number += 1
        path, calls_file = folder / f"{number}.db", folder / f"{number}.calls"
        acknowledged, finished = 0, False
        answered: set[str] = set()
        while not finished:
            before = calls_file.stat().st_size if calls_file.exists() else 0
            wait = luck.uniform(0.02, 1.2) * whole_s if found["kills"] < kills else None
            killed, told = attempt(path, calls_file, wait)
            found["kills"] += killed
            acknowledged = max(acknowledged, told)
            if not path.exists():
                continue
            made = calls_file.read_text()[before:].split("\n") if calls_file.exists() else []
            found["repeated"] += len(answered & set(made))
            with open_record(path) as store:
                events = list(store.read())
            found["lost"] += len(events) < acknowledged
            found["broken chains"] += verify(path).events != len(events)
            answered = {event.key for event in events if event.kind == "outcome"}
            finished = not killed
        answers.add(runs.replay(path).decision.answer)
        found["runs"] += 1
        path.unlink()
    found["other decisions"] = len(answers - {uninterrupted})
    sys.stdout.write(json.dumps(found | {"answers": len(answers)}))


if __name__ == "__main__":
    main()
