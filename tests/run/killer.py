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
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
from plays import SEATS, Clerk, procedure

from dissensus.decide.contract import ContractSettings
from dissensus.decide.procedures import PROCEDURES, settings_of_contract, settings_of_round_robin
from dissensus.decide.round_robin_result import RoundRobin
from dissensus.decide.round_robin_settings import RoundRobinSettings
from dissensus.record.sqlite import open_record
from dissensus.record.store import Store
from dissensus.record.verify import verify
from dissensus.run import runs
from dissensus.run.performers import Live
from dissensus.script.calls import Capability, Extend, Generate, Score
from dissensus.script.decisions import Decision
from dissensus.script.outcomes import Extended, Outcome, Reply, Scores
from dissensus.script.questions import Question

PROCEDURES["test"] = procedure()
PROCEDURE = sys.argv[4] if len(sys.argv) > 4 else "test"

TREE = [
    "then",
    ["together", *(["then", ["ask", name], ["note", "x"], ["ask", name], ["post", name], ["ask", name]]
                   for name in ("ada", "ben", "cleo"))],
    ["list", "ada", "ben", "cleo", "ada", "ben"],
    ["under", "last", ["together", ["ask", "ada"], ["ask", "ben"], ["then", ["ask", "cleo"], ["ask", "cleo"]]]],
]  # fmt: skip


IN_TURNS = RoundRobinSettings(
    k=24, length=150, trajectories=3, q_eos=1, boundary="word-number", verifiers=("arithmetic",), on_wrong="rewrite",
    ear="both", weight="drift",
)  # fmt: skip

SETTINGS = {
    "test": {"tree": TREE},
    "contract": settings_of_contract("Paint the fence.", ContractSettings(rounds=3, remind=1)),
    "round-robin": settings_of_round_robin(Question(text="How many?", kind="number"), IN_TURNS),
}
"""What each procedure is run with."""
CAN = frozenset({Capability.CHAT, Capability.CONTINUE, Capability.TOKENS, Capability.LOGPROBS})


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

    async def extend(self, call: Extend) -> Outcome:
        """Go on with a text, a token for each character: a sum, now and then a wrong one, at last an answer."""
        await self._begin(call)
        begun = call.tokens or ()
        heard = (-0.5,) * len(begun) if call.hear and call.seed % 2 else None
        if not call.max_tokens:
            return Extended(text="", tokens=(), heard=heard)
        one, other = call.seed % 7, call.seed % 11
        done = len(begun) > 90
        text = f"Answer: {call.seed % 3}." if done else f"{one} + {other} = {one + other + (call.seed % 5 == 0)}. "
        text = "" if "Answer" in "".join(map(chr, begun)) else text[: call.max_tokens]
        return Extended(
            text=text, tokens=tuple(map(ord, text)), ends=tuple(range(1, len(text) + 1)), heard=heard,
            finish="stop" if done else "length", sampled=len(text) + done,
        )  # fmt: skip

    async def score(self, call: Score) -> Scores:
        """Numbers from the request alone."""
        await self._begin(call)
        sums = tuple(-1.0 - (len(text) * len(call.tokens or ()) % 13) / 7 for text in call.continuations)
        return Scores(logprobs=sums, lengths=tuple(map(len, call.continuations)))

    async def _begin(self, call: Extend | Score) -> None:
        os.write(self.written, f"{call.key}\n".encode())
        await anyio.sleep(0.001 + (len(call.key) * 7 + len(call.tokens or ())) % 8 / 1000)


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
    seats = tuple(replace(seat, capabilities=CAN) for seat in SEATS) if PROCEDURE == "round-robin" else SEATS

    async def go() -> Any:
        if fresh or store.head().seq == 0:
            return await runs.start(
                procedure=PROCEDURE, settings=SETTINGS[PROCEDURE], seats=seats, performer=live, record=store, seed=5
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


def what_came(decision: Decision) -> str:
    """The answer, and the texts that were written for it."""
    texts = [(text.text, len(text.turns)) for text in decision.texts] if isinstance(decision, RoundRobin) else []
    return json.dumps([decision.answer, texts])


def main() -> None:
    folder, kills, luck = Path(sys.argv[1]), int(sys.argv[2]), random.Random(int(sys.argv[3]))  # noqa: S311
    found: Counter[str] = Counter()
    answers = set()
    whole_s = 0.25  # at most, however busy the machine is now
    for name in ("whole", "again", "thrice"):
        began = time.perf_counter()
        attempt(folder / f"{name}.db", folder / f"{name}.calls", None)
        whole_s = min(whole_s, time.perf_counter() - began)
    uninterrupted = what_came(runs.replay(folder / "whole.db").decision)
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
        answers.add(what_came(runs.replay(path).decision))
        found["runs"] += 1
        path.unlink()
    found["other decisions"] = len(answers - {uninterrupted})
    sys.stdout.write(json.dumps(found | {"answers": len(answers), "came": uninterrupted}))


if __name__ == "__main__":
    main()
