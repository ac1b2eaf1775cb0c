"""The record beside bare SQLite: appending, verifying, reading the end, memory.

    python benchmarks/bench_record.py [--events 1000000] [--quick]

Arms, interleaved in one run, each storing the same number of rows of the same size in a new file, in WAL mode with the
same pragmas and a commit after each 1,000:

* ``dissensus``: prebuilt drafts through ``append`` and ``commit``: checked, encoded, chained, stored, triggers on;
* ``bare sqlite``: prebuilt rows (sequence number, 600 bytes, 32 bytes) through ``executemany`` into the same table
  without triggers: the least that SQLite takes to store as many bytes.

Then, on the last file: verification, the last 500 events, and, in processes of their own, the most memory that writing
and verifying hold for a tenth of the events and for all of them.
"""

from __future__ import annotations

import argparse
import hashlib
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from itertools import cycle, islice
from pathlib import Path

from common import Arm, at_least, at_most, finish, measure, median_cpu_s, peak_memory_mb, ratio, side_by_side

from dissensus.record.event import Draft
from dissensus.record.memory import MemoryStore
from dissensus.record.sqlite import open_record
from dissensus.record.verify import verify

SIZE = 600
BATCH = 1_000
PREBUILT = 20
"""Different batches, used over and over: a million drafts at once would measure Python's memory, not the record."""
LAST = 500
TRIES = 20


def draft(number: int) -> Draft:
    """An event as a run writes it: the outcome of a call, 600 canonical bytes."""

    def filled(text: str) -> Draft:
        usage = {"tokens_in": 412, "tokens_out": 38, "seconds": 0.731, "cost": None, "attempts": 1}
        outcome = {"kind": "reply", "text": text, "finish": "stop", "model": "scripted:bench", "usage": usage}
        return Draft(
            kind="outcome",
            key=f"round/{number % 7}/ask/agent-{number % 20}",
            actor=f"agent-{number % 20}",
            visibility=(f"agent-{number % 20}",),
            body={"outcome": outcome, "request": hashlib.sha256(b"%d" % number).hexdigest()},
        )

    words = cycle("Twelve pens are four times three pens, and each three cost two euros.")
    return filled("".join(islice(words, SIZE - size_of(filled("")) - len(str(10**5)))))


def size_of(one: Draft) -> int:
    """Canonical bytes of an event whose number has one digit."""
    store = MemoryStore()
    store.append([one])
    return len(next(store.rows())[1])


def batches(events: int, prebuilt: list[list[Draft]]) -> Iterator[list[Draft]]:
    """As many events, in batches."""
    return islice(cycle(prebuilt), events // BATCH)


def ours(path: Path, events: int, prebuilt: list[list[Draft]]) -> None:
    """Append and commit."""
    path.unlink(missing_ok=True)
    with open_record(path, "x") as store:
        for batch in batches(events, prebuilt):
            store.append(batch)
            store.commit()


def bare(path: Path, events: int, bodies: list[bytes], hashes: list[bytes]) -> None:
    """Insert and commit."""
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = NORMAL")
        db.execute("CREATE TABLE events(seq INTEGER PRIMARY KEY, body BLOB NOT NULL, hash BLOB NOT NULL)")
        for first in range(1, events + 1, BATCH):
            db.execute("BEGIN IMMEDIATE")
            db.executemany("INSERT INTO events VALUES(?, ?, ?)", zip(range(first, first + BATCH), bodies, hashes))  # noqa: B905 - speed
            db.execute("COMMIT")


def last_events_ms(path: Path) -> float:
    """Wall-clock milliseconds to open the record and read its last events: the median of some tries."""
    took = []
    for _ in range(TRIES):
        began = time.perf_counter()
        with open_record(path) as store:
            events = store.tail(LAST)
        took.append(time.perf_counter() - began)
        if len(events) != LAST:
            raise RuntimeError(f"{len(events)} events")
    return statistics.median(took) * 1000


def memory_mb(what: str, path: Path, events: int) -> float:
    """Most memory of a process that does ``what`` with so many events."""
    command = [sys.executable, __file__, f"--{what}", str(path), "--events", str(events)]
    return float(subprocess.run(command, capture_output=True, text=True, check=True, timeout=600).stdout)


def one_by_one_us(path: Path, prebuilt: list[list[Draft]]) -> float:
    """CPU microseconds of an event that is appended, committed and looked at by itself, as an engine does it."""
    few = [one for batch in prebuilt for one in batch][: 5 * BATCH]
    with open_record(path, "x") as store:

        def arm() -> None:
            for one in few:
                (_,) = store.append([one])
                store.commit()

        return measure(arm).cpu_s / len(few) * 1e6


def long_texts_us(path: Path) -> float:
    """CPU microseconds of an event with a text of its own, just long enough to be stored apart."""
    drafts = [Draft(kind="ask", body={"prompt": f"{number:0{SIZE}}"}) for number in range(20 * BATCH)]
    with open_record(path, "x") as store:

        def arm() -> None:
            for first in range(0, len(drafts), BATCH):
                store.append(drafts[first : first + BATCH])
                store.commit()

        return measure(arm).cpu_s / len(drafts) * 1e6


def main() -> int:
    """Measure, print, write the result; 1 if a promise was missed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--quick", action="store_true", help="50,000 events")
    parser.add_argument("--write", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--verify", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    events = 50_000 if options.quick else options.events
    if options.verify:
        verify(options.verify)
        print(peak_memory_mb())
        return 0
    prebuilt = [[draft(number * BATCH + place) for place in range(BATCH)] for number in range(PREBUILT)]
    if options.write:
        ours(options.write, events, prebuilt)
        print(peak_memory_mb())
        return 0
    with tempfile.TemporaryDirectory(dir=".") as name:
        folder = Path(name)
        store = MemoryStore()
        store.append([*prebuilt[0], *prebuilt[1]])
        bodies, hashes = zip(*((raw.ljust(SIZE)[:SIZE], link) for _, raw, link in store.rows(BATCH + 1)), strict=True)
        record = folder / "ours.db"
        arms: dict[str, Arm] = {
            "dissensus": lambda: ours(record, events, prebuilt),
            "bare sqlite": lambda: bare(folder / "bare.db", events, list(bodies), list(hashes)),
        }
        took = side_by_side(arms, rounds=3)
        checked = measure(lambda: verify(record))
        with open_record(record) as stored:
            sizes = [len(raw) for _, raw, _ in stored.rows(max(1, events - 10 * BATCH))]
        last_ms = last_events_ms(record)
        writing = [memory_mb("write", folder / f"{part}.db", part) for part in (events // 10, events)]
        verifying = [memory_mb("verify", folder / f"{part}.db", part) for part in (events // 10, events)]
        one_us = one_by_one_us(folder / "one.db", prebuilt)
        long_us = long_texts_us(folder / "long.db")
        megabytes = record.stat().st_size / 1e6
    return finish(
        "record",
        took,
        [
            at_least("appending, times the speed of a bare insert", ratio(took, "bare sqlite", "dissensus"), 0.4),
            at_least("verified per CPU second", events / checked.cpu_s, 100_000),
            at_most(f"opening and reading the last {LAST}, ms", last_ms, 10),
            at_most("memory that ten times the events add to writing, MB", writing[1] - writing[0], 10),
            at_most("memory that ten times the events add to verifying, MB", verifying[1] - verifying[0], 10),
        ],
        facts={
            "events": events,
            "mean canonical bytes of the last events": round(statistics.mean(sizes), 1),
            "file, MB": round(megabytes, 1),
            "appended per CPU second": round(events / median_cpu_s(took["dissensus"])),
            "verified per wall-clock second": round(events / checked.wall_s),
            "memory of writing, MB": [round(one, 1) for one in writing],
            "memory of verifying, MB": [round(one, 1) for one in verifying],
            "appended, committed and looked at one by one, CPU µs": round(one_us, 1),
            f"with a text of {SIZE} bytes of its own, stored apart, CPU µs": round(long_us, 1),
        },
    )


if __name__ == "__main__":
    sys.exit(main())
