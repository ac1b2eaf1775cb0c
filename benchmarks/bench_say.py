"""The monitor beside state-machine libraries and a bare dict; from JSON lines; ten million messages in little memory.

    python benchmarks/bench_say.py [--threads 20000] [--messages 10000000] [--quick]

Every arm is given the same prebuilt messages: request, agree, inform, in threads interleaved in blocks of 1,000.

* ``dissensus``: every check on: ids seen, who may move, what answers what, deadlines, obligations opened and closed.
* ``bare dict``: a table from state and act to state, looked up by thread: nobody asks who speaks.
* ``transitions``, ``python-statemachine``: one machine of the library for each thread, driven through the same states,
  without any of the checks. They take so long to make a machine that they are given a part of the threads, and are
  compared with our monitor on the same part.

Then one million lines of JSON through reader and monitor, and, in a process of its own, the most memory that the audit
of ten million messages holds, of which one in a hundred is faulty: findings and obligations go to disk.
"""

from __future__ import annotations

import argparse
import io
import itertools
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
from common import at_least, at_most, finish, measure, median_cpu_s, peak_memory_mb, ratio, side_by_side

from dissensus.interop.spool import Spool
from dissensus.say.audit import run
from dissensus.say.message import Message
from dissensus.say.monitor import Monitor
from dissensus.say.readers.base import Source
from dissensus.say.readers.own import READER
from dissensus.say.verdicts import Finding, Obligation

BLOCK = 1_000
STEPS = ("request", "agree", "inform")
FEWER = 1_000
"""Threads for the libraries that make a machine slowly."""


def messages(threads: int) -> list[Message]:
    """Three messages for each thread, interleaved, with deadlines and reply tags."""
    return [Message(**fields) for fields in _fields(threads)]


def _fields(threads: int, *, faulty: bool = False) -> Iterator[dict[str, Any]]:
    number = 0
    for first in range(0, threads, BLOCK):
        for step, act in enumerate(STEPS):
            for thread in range(first, min(first + BLOCK, threads)):
                number += 1
                asker, asked = f"planner-{thread % 50}", f"worker-{thread % 37}"
                sender, receiver = (asker, asked) if step == 0 else (asked, asker)
                if faulty and step and number % 100 == 0:
                    sender = "stranger"
                yield {
                    "id": f"m{number}", "act": act, "sender": sender, "receivers": (receiver,), "thread": f"t{thread}",
                    "content": "find the figures" if step == 0 else None, "at": float(number),
                    "reply_by": float(number + 10_000_000) if step < 2 else None,
                    "reply_with": f"q{thread}" if step == 0 else None,
                    "in_reply_to": f"q{thread}" if step else None,
                    "content_type": "result" if step == 2 else None,
                }  # fmt: skip


def ours(log: list[Message]) -> Monitor:
    """Every message through the monitor."""
    closed = 0

    def count(_owed: Obligation) -> None:
        nonlocal closed
        closed += 1

    monitor = Monitor(on_closed=count)
    see = monitor.see
    for m in log:
        see(m)
    monitor.finish()
    if monitor.violations or closed != len(log) // 3 * 2:
        raise SystemExit(f"the monitor found {monitor.violations} violations and closed {closed} obligations")
    return monitor


TABLE = {
    ("open", "request"): "waiting", ("waiting", "agree"): "committed", ("waiting", "refuse"): "closed",
    ("waiting", "inform"): "closed", ("committed", "inform"): "closed", ("committed", "failure"): "closed",
}  # fmt: skip


def bare(log: list[Message]) -> None:
    """A dict of states and a dict of moves."""
    states: dict[str | None, str] = {}
    for m in log:
        states[m.thread] = TABLE[states.get(m.thread, "open"), m.act or ""]


def transitions_arm(log: list[Message]) -> None:
    """One machine of ``transitions`` for each thread."""
    from transitions import Machine

    moves = [{"trigger": act, "source": source, "dest": dest} for (source, act), dest in TABLE.items()]
    machines: dict[str | None, Any] = {}
    for m in log:
        machine = machines.get(m.thread)
        if machine is None:
            machine = machines[m.thread] = Machine(
                states=["open", "waiting", "committed", "closed"], transitions=moves, initial="open"
            )
        machine.trigger(m.act)


def statemachine_arm(log: list[Message]) -> None:
    """One machine of ``python-statemachine`` for each thread."""
    from statemachine import State, StateMachine

    class Four(StateMachine):  # type: ignore[misc,unused-ignore] # untyped where the library is not installed
        begun = State(initial=True)
        waiting = State()
        committed = State()
        closed = State(final=True)
        request = begun.to(waiting)
        agree = waiting.to(committed)
        refuse = waiting.to(closed)
        inform = waiting.to(closed) | committed.to(closed)
        failure = committed.to(closed)

    machines: dict[str | None, Any] = {}
    for m in log:
        machine = machines.get(m.thread)
        if machine is None:
            machine = machines[m.thread] = Four()
        machine.send(m.act or "")


class Lines(io.RawIOBase):
    """A log that is made while it is read."""

    def __init__(self, threads: int) -> None:
        super().__init__()
        encode = msgspec.json.Encoder().encode
        self._lines = (encode(fields) + b"\n" for fields in _fields(threads, faulty=True))

    def readline(self, _size: int | None = -1, /) -> bytes:
        """The next line."""
        return next(self._lines, b"")


def many(count: int) -> None:
    """Audit that many messages, and print the most memory held."""
    findings, obligations = Spool(Finding), Spool(Obligation)
    monitor = Monitor(on_finding=findings.add, on_closed=obligations.add)
    begun = time.process_time()
    tally = run(Source("made", lambda: Lines(count // 3)), READER, monitor)  # type: ignore[arg-type,return-value]
    seconds = time.process_time() - begun
    told = {
        "messages": tally.messages, "violations": tally.violations, "obligations": len(obligations),
        "findings": len(findings), "memory_mb": peak_memory_mb(), "cpu_s": seconds,
    }  # fmt: skip
    print(msgspec.json.encode(told).decode())


def main() -> int:
    """Run it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--threads", type=int, default=20_000)
    parser.add_argument("--lines", type=int, default=1_000_000)
    parser.add_argument("--messages", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="a tenth of everything")
    parser.add_argument("--many", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.many:
        many(options.many)
        return 0
    part = 10 if options.quick else 1
    log = messages(options.threads // part)
    few = messages(FEWER // part)
    large = side_by_side({"dissensus": lambda: ours(log), "bare dict": lambda: bare(log)}, rounds=options.rounds)
    small = side_by_side(
        {
            "dissensus, few threads": lambda: ours(few),
            "transitions": lambda: transitions_arm(few),
            "python-statemachine": lambda: statemachine_arm(few),
        },
        rounds=3,
    )
    count = options.lines // part
    encode = msgspec.json.Encoder().encode
    raw = b"".join(encode(fields) + b"\n" for fields in itertools.islice(_fields(count), count))
    source = Source("made", lambda: io.BytesIO(raw))
    from_lines = measure(lambda: run(source, READER, Monitor()))
    command = [sys.executable, str(Path(__file__)), "--many", str(options.messages // part)]
    told = msgspec.json.decode(subprocess.run(command, check=True, capture_output=True).stdout)
    print(told)
    speed = len(log) / median_cpu_s(large["dissensus"])
    return finish(
        "say",
        {**large, **small},
        [
            at_least("messages per CPU second in memory", speed, 300_000),
            at_least("lines of JSON per CPU second", count / from_lines.cpu_s, 100_000),
            at_most(f"memory for {told['messages']:,} messages, MB", told["memory_mb"], 500),
            at_least("its speed against transitions", ratio(small, "transitions", "dissensus, few threads"), 10),
            at_least("against python-statemachine", ratio(small, "python-statemachine", "dissensus, few threads"), 10),
        ],
        facts={
            "its time against a bare dict, which checks nothing": round(ratio(large, "dissensus", "bare dict"), 2),
            "the audit of many": told,
            "threads": len(log) // 3,
            "lines": count,
        },
    )


if __name__ == "__main__":
    sys.exit(main())
