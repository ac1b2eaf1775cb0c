"""Append to a record until killed; write down each sequence number that was acknowledged. Run as a program.

``python appender.py RECORD ACKNOWLEDGED SEED``: a line in ACKNOWLEDGED is a promise that this event and all before it
are stored.
"""

from __future__ import annotations

import os
import random
import sys
from pathlib import Path

from dissensus.record.event import Draft
from dissensus.record.opening import open_record


def main() -> None:
    path, told = Path(sys.argv[1]), os.open(sys.argv[2], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    luck = random.Random(int(sys.argv[3]))  # noqa: S311 - no secret
    print("ready", flush=True)  # noqa: T201 - the parent waits for it
    while True:
        # closing and opening again now and then, so that a kill falls into these too
        with open_record(path, "a" if path.exists() else "x") as store:
            for _ in range(luck.randrange(1, 30)):
                store.append(
                    [
                        Draft(kind="note", body={"n": luck.random(), "text": "x" * luck.choice([5, 300, 3000])})
                        for _ in range(luck.randrange(1, 20))
                    ]
                )
                store.commit(durable=luck.random() < 0.1)
                os.write(told, b"%d\n" % store.head().seq)


if __name__ == "__main__":
    main()
