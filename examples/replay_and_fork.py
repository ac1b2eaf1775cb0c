"""A record replays without any model, shows a changed byte, and can be forked with one reply changed."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import anyio

import dissensus
from dissensus.errors import RecordDamaged
from dissensus.run.casting import fork_from

if __name__ == "__main__":
    panel = dissensus.default_panel("scripted:Answer: yes", agents=3)
    dissensus.vote("Is 2027 a prime number?", options=("yes", "no"), panel=panel, record="run.db")
    print("replayed, identical:", dissensus.replay("run.db").identical)
    print("verified:", dissensus.verify("run.db").events, "events")

    with dissensus.open_record("run.db") as record:
        reply = next(event for event in record.read() if event.kind == "outcome" and event.actor == "ben")

    async def what_if() -> dissensus.Decision:
        """The same run, had ben said no."""
        return await fork_from("run.db", "fork.db", at=reply.seq, text="Answer: no")

    print(f"had ben said no at event {reply.seq}:", dict(anyio.run(what_if).votes))

    copy = Path("damaged.db")
    copy.write_bytes(Path("run.db").read_bytes())
    with sqlite3.connect(copy) as database:
        database.execute("DROP TRIGGER events_are_not_changed")
        database.execute(
            "UPDATE events SET body = replace(body, 'Answer: yes', 'Answer: no!') WHERE seq = ?", (reply.seq,)
        )
    database.close()
    try:
        dissensus.verify(copy)
    except RecordDamaged as damage:
        print(f"one reply rewritten, and found at event {damage.seq}")
