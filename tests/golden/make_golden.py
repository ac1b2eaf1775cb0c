"""Writes the golden record of the schema version of today: ``python tests/golden/make_golden.py``.

Run it once for each schema version, when that version is released, and never again: ``v1.db`` and ``v1.jsonl`` are what
version 1 wrote, and every later version has to read them. It refuses to overwrite.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from dissensus.record.event import OPERATOR, PUBLIC, Draft, Visibility
from dissensus.record.jsonl import export_jsonl
from dissensus.record.opening import open_record
from dissensus.record.upcast import SCHEMA

HERE = Path(__file__).parent
RUN = "00000000000000a1"
START = 1_800_000_000.5
PROMPT = "What do 12 pens cost, if 3 cost 2 euros? Show how you got there. " * 20
REPLY = "Answer: 8 euros"
USAGE = {"tokens_in": 31, "tokens_out": None, "seconds": 0.25}
SAID: dict[str, Any] = {"sender": "ada", "act": "inform", "data": {}}


def event(kind: str, body: dict[str, Any], visibility: Visibility = OPERATOR, **fields: str) -> Draft:
    """One draft."""
    return Draft(kind=kind, body=body, visibility=visibility, **fields)


BATCHES: list[list[Draft]] = [
    [event("run", {"procedure": "vote", "version": "1", "settings": {"seed": 7, "temperature": 0.7}})],
    [
        event(
            "ask",
            {
                "agent": name,
                "prompt": PROMPT,
                "examples": [{"role": "user", "text": "1+1?"}, {"role": "assistant", "text": "2"}],
            },
            (name,),
            key=f"round/1/ask/{name}",
            actor="procedure",
        )
        for name in ("ada", "ben")
    ],
    [
        event(
            "outcome",
            {"outcome": {"kind": "reply", "text": REPLY, "usage": USAGE}},
            ("ada",),
            key="round/1/ask/ada",
            actor="ada",
        ),
        event(
            "outcome",
            {"outcome": {"kind": "timeout", "after_s": 30.0}},
            ("ben",),
            key="round/1/ask/ben",
            actor="ben",
        ),
    ],
    [
        event("post", {**SAID, "text": "8 €, I say – naïve?", "to": []}, PUBLIC, actor="ada"),
        event("post", {**SAID, "text": "Only for you.", "to": ["ben"]}, ("ben", "ada"), thread="side"),
        event(
            "note",
            {
                "$blob": "a key that looks like a reference",
                "$$blob": {"$blob": PROMPT},
                "numbers": [0, -1, 2**63, 1e-300, -0.0, 1.5e300],
                "texts": ["", "\u0000\u001f\u007f\u2028", "🖊 日本語 עברית", '\\"/'],
                "nothing": [None, True, False, {}, []],
            },
        ),
    ],
    [event("decision", {"answer": "8 EUR", "votes": {"8 EUR": 1.0}}, actor="procedure"), event("ended", {})],
]  # fmt: skip


def main() -> None:
    """Write both files."""
    times = iter([START + number for number in range(len(BATCHES))])
    path = HERE / f"v{SCHEMA}.db"
    with open_record(path, "x", clock=lambda: next(times), run_id=RUN) as store:
        for batch in BATCHES:
            store.append(batch)
            store.commit(durable=True)
    head = export_jsonl(path, path.with_suffix(".jsonl"))
    sys.stdout.write(f"{path.name}: {head.seq} events, head {head.hash.hex()}\n")


if __name__ == "__main__":
    main()
