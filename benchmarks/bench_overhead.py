"""CPU per model call: engine and record included, beside inspect_ai's mock model and a bare httpx2 call.

    python benchmarks/bench_overhead.py [--calls 1000] [--quick]

Arms, interleaved in one run, each making the same number of calls and answering each with the same 60 characters:

* ``dissensus``: agents of one run ask the scripted model, side by side, every effect and outcome in an SQLite record;
* ``inspect_ai``: ``eval`` of as many samples with ``generate()`` and its mock model, its log written as it does;
* ``httpx2``: one client, one POST per call to a server on loopback in another process (its CPU is not counted);
* ``dissensus, no engine``: the scripted model alone, to show what the engine and the record add.

Then 2,000 calls in flight at once in a process of their own: the most memory that it held.
"""

from __future__ import annotations

import argparse
import logging
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import anyio
import httpx2
from common import Took, at_least, at_most, finish, median_cpu_s, peak_memory_mb, side_by_side

from dissensus.agents.scripted import Scripted
from dissensus.decide.procedures import PROCEDURES, Procedure
from dissensus.record.sqlite import open_record
from dissensus.run import runs
from dissensus.run.performers import Live
from dissensus.script.calls import Generate, Turn
from dissensus.script.decisions import Decision, Status
from dissensus.script.effects import Ask, Script
from dissensus.script.seats import Seat

REPLY = "Twelve pens are four times three pens.\nAnswer: 8 euros......"
PROMPT = "A shop sells pens at 3 for 2 euros. What do 12 pens cost?"
SEATS = tuple(Seat(agent=f"agent-{number}", model="scripted:bench") for number in range(20))
IN_FLIGHT = 2_000

SERVER = f"""
import http.server
class Answer(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        body = {REPLY!r}.encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *args): pass
server = http.server.HTTPServer(("127.0.0.1", 0), Answer)
print(server.server_port, flush=True)
server.serve_forever()
"""


def ask_all(calls: int) -> Script:
    """Ask each seat in turn, all at once, each question in a thread of its own, as a vote does."""
    yield [Ask(SEATS[number % len(SEATS)].agent, PROMPT, thread=f"q{number}") for number in range(calls)]
    return Decision(question="", answer=None, status=Status.ABSTAINED)


def ours(calls: int, folder: str) -> None:
    """A whole run with its record on the disk."""
    PROCEDURES["bench"] = Procedure("bench", "1", lambda *_: ask_all(calls))
    model = Scripted(lambda _call: REPLY)
    path = Path(tempfile.mkdtemp(dir=folder)) / "run.db"

    async def go() -> None:
        with open_record(path, "x") as store:
            live = Live(lambda _agent: model)
            await runs.start(procedure="bench", settings={}, seats=SEATS, performer=live, record=store)

    anyio.run(go)


def model_alone(calls: int) -> None:
    """The same calls without engine and record."""
    model = Scripted(lambda _call: REPLY)

    async def go() -> None:
        for number in range(calls):
            await model.generate(Generate(turns=(Turn("user", PROMPT),), seed=number))

    anyio.run(go)


def inspect_arm(calls: int, folder: str) -> Any:
    """The same number of samples through inspect_ai; its log goes to ``folder``."""
    from inspect_ai import Task
    from inspect_ai import eval as inspect_eval
    from inspect_ai.dataset import Sample
    from inspect_ai.model import ModelOutput, ModelUsage, get_model
    from inspect_ai.solver import generate

    logging.getLogger().setLevel(logging.ERROR)

    def arm() -> None:
        outputs = [ModelOutput.from_content("mockllm/model", REPLY) for _ in range(calls)]
        for output in outputs:  # else it would fetch a tokenizer to count them
            output.usage = ModelUsage(input_tokens=20, output_tokens=15, total_tokens=35)
        task = Task(dataset=[Sample(input=PROMPT, id=number) for number in range(1, calls + 1)], solver=generate())
        model = get_model("mockllm/model", custom_outputs=outputs, memoize=False)
        (log,) = inspect_eval(task, model=model, display="none", log_dir=folder, max_samples=20, max_connections=20)
        if log.status != "success":
            raise RuntimeError(str(log.error)[:300])

    return arm


def bare_httpx2(calls: int, port: int) -> None:
    """One client, one POST after another over a kept-alive connection."""

    async def go() -> None:
        async with httpx2.AsyncClient(base_url=f"http://127.0.0.1:{port}", trust_env=False) as client:
            for _ in range(calls):
                response = await client.post("/", json={"messages": [{"role": "user", "content": PROMPT}]})
                if response.text != REPLY:
                    raise RuntimeError(response.text)

    anyio.run(go)


def in_flight() -> None:
    """``IN_FLIGHT`` calls at once, all waiting for the same event; prints the most memory held, in MB."""
    model = Scripted(lambda _call: REPLY, delay_s=1.5)
    most = 0

    async def go() -> None:
        nonlocal most
        with tempfile.TemporaryDirectory() as folder, open_record(Path(folder) / "run.db", "x") as store:
            PROCEDURES["bench"] = Procedure("bench", "1", lambda *_: ask_all(IN_FLIGHT))

            class Counting(Live):
                async def next(self) -> Sequence[Any]:
                    nonlocal most
                    most = max(most, len(self._scopes))
                    return await super().next()

            await runs.start(
                procedure="bench", settings={}, seats=SEATS, performer=Counting(lambda _a: model), record=store
            )

    anyio.run(go)
    print(most, peak_memory_mb())


def main() -> int:
    """Measure, print, keep; returns the exit status."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--calls", type=int, default=1_000)
    parser.add_argument("--quick", action="store_true", help="200 calls, 3 rounds")
    parser.add_argument("--in-flight", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.in_flight:
        in_flight()
        return 0
    calls, rounds = (200, 3) if options.quick else (options.calls, 5)
    server = subprocess.Popen([sys.executable, "-c", SERVER], stdout=subprocess.PIPE, text=True)
    try:
        port = int(server.stdout.readline()) if server.stdout else 0
        with tempfile.TemporaryDirectory() as folder:
            arms = {
                "dissensus": lambda: ours(calls, folder),
                "inspect_ai": inspect_arm(calls, folder),
                "httpx2": lambda: bare_httpx2(calls, port),
                "dissensus, no engine": lambda: model_alone(calls),
            }
            took = side_by_side(arms, rounds=rounds)
    finally:
        server.kill()
        server.wait()
    told = subprocess.run(
        [sys.executable, __file__, "--in-flight"], capture_output=True, text=True, check=True, timeout=120
    ).stdout.split()

    def per_call_ms(rounds_of: Sequence[Took]) -> float:
        return median_cpu_s(rounds_of) / calls * 1000

    ours_ms = per_call_ms(took["dissensus"])
    return finish(
        "overhead",
        took,
        [
            at_most("CPU per call, engine and record included, ms", ours_ms, 1.0),
            at_least("calls in flight at once", float(told[0]), IN_FLIGHT),
            at_most(f"memory with {IN_FLIGHT} calls in flight, MB", float(told[1]), 300),
        ],
        facts={
            "calls per round": calls,
            "CPU per call, ms": {arm: round(per_call_ms(one), 4) for arm, one in took.items()},
            "times inspect_ai's": round(ours_ms / per_call_ms(took["inspect_ai"]), 3),
            "times a bare httpx2 call's": round(ours_ms / per_call_ms(took["httpx2"]), 3),
            "inspect_ai": version("inspect_ai"),
            "httpx2": version("httpx2"),
        },
    )


if __name__ == "__main__":
    sys.exit(main())
