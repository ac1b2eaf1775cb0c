"""A dispute killed with SIGKILL at moments all over its life: begun, resumed, answered, answered again.

``python dispute_lives.py FOLDER KILLS SEED`` lives through case after case until there were so many kills, looks for
anything lost or done twice, and prints one JSON object. Each life is a process of its own that runs the real command.
The processes are forked, so that none has to import anything: this one has a single thread.

A case has all that a dispute can do: a tool that is run again in a cell, an author who is asked for evidence, a
verifier who looks twice, and a person. Author and verifier are behind HTTP; their server writes each request's key
down.
"""

from __future__ import annotations

import contextlib
import http.server
import importlib
import json
import os
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from dissensus.agents.cells.ladder import reach
from dissensus.cli.main import main as dissensus
from dissensus.decide.dispute.jcs import digest_of
from dissensus.errors import DissensusError
from dissensus.record.event import Event
from dissensus.record.opening import open_record
from dissensus.record.verify import verify
from dissensus.run import runs
from dissensus.run.inbox import State, questions_of
from dissensus.run.inbox_letters import waiting

NOTE = "Delivery note DN-88\nOrder 4711\nPallets received: 10\nSigned: M. R.\n"
LOG = "booking,order,pallets,booked_at\nB1,4711,6,2026-03-02T09:00\nB2,4711,3,2026-03-02T10:00\n"
STOCK = "Order 4711 pallets received: 10\n"
ARGUMENTS = digest_of({"tool": "stock", "arguments": {"order": "4711"}})
CASE = f"""\
case: delivery
sources: {{stock: {{file: stock.txt}}, note: {{file: note.txt}}, log: {{file: log.csv}}}}
claims:
  - {{id: A, by: ada, subject: order 4711, attribute: pallets received, value: 10, unit: pallet, as_of: 2026-03-02,
     evidence: [{{source: note, quote: "Pallets received: 10"}},
                {{source: stock, quote: "Order 4711 pallets received: 10",
                 obtained: {{tool: stock, args_digest: {ARGUMENTS}}}}}]}}
  - {{id: B, by: ben, subject: order 4711, attribute: pallets received, value: 9, unit: pallet, as_of: 2026-03-02}}
panel: panel.yaml
verifier: vera
calls: [{{tool: stock, arguments: {{order: "4711"}}, repeatable: true}}]
"""
PANEL = """\
models: {{m: {{use: "{url}"}}}}
agents: [{{name: vera, model: m}}, {{name: ben, model: m}}]
tools: {{stock: {{command: [/bin/echo, "Order {{order}} pallets received: 10"], description: stock}}}}
"""
NEEDED = (
    "anyio._backends._asyncio", "dissensus.agents.http", "dissensus.agents.wire", "dissensus.cli.answer",
    "dissensus.cli.dispute", "dissensus.cli.dispute_text", "dissensus.cli.inbox_look", "dissensus.cli.inbox_notice",
    "dissensus.cli.inbox_text", "dissensus.cli.progress", "dissensus.cli.questions", "dissensus.cli.readout",
    "dissensus.cli.runs", "dissensus.cli.settings", "dissensus.interop.case_file", "dissensus.run.disputing", "httpx2",
)  # fmt: skip
"""What the commands import: had here once, and by each life from here."""
LUCK = frozenset({"waiting", "resumed", "interrupted", "attempt"})
"""Kinds of events that say when a process died, and nothing of the case."""
REPLY_S = 0.02


class Agents(http.server.BaseHTTPRequestHandler):
    """Author and verifier: what they say depends on the question alone. The path is the file to write keys into."""

    def do_POST(self) -> None:
        """Write the key down, wait, answer."""
        data = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with Path(self.path).open("a") as keys:
            keys.write(f"{data['key']}\n")
        time.sleep(REPLY_S)
        with contextlib.suppress(OSError):  # whoever asked may be dead
            content = json.dumps({"text": said(data["messages"][-1]["content"])}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's
        """Nothing: what goes wrong shows in the keys."""


def said(asked: str) -> str:
    """The author brings the rows of the log, the verifier opens an item and then finds both sound."""
    if asked.startswith("Reports contradict"):
        return '{"tool": "open", "arguments": {"evidence": "e1"}}'
    if asked.startswith("<<"):
        return json.dumps({"answer": {"outcome": "BOTH_CONSISTENT", "cites": [], "reason": "each adds up"}})
    return json.dumps({"evidence": [{"source": "log", "quote": row} for row in LOG.splitlines()[1:]]})


@contextlib.contextmanager
def serving() -> Iterator[str]:
    """The agents, in a process of their own; their address."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Agents)
    pid = os.fork()
    if pid == 0:
        server.serve_forever()
    server.socket.close()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


class Lived:
    """One case in a folder of its own, and how it was killed.

    Args:
        folder: made here.
        url: where the agents are.
    """

    def __init__(self, folder: Path, url: str) -> None:
        self.folder = folder
        folder.mkdir()
        self.keys = folder / "keys"
        self.keys.touch()
        for name, text in (("note.txt", NOTE), ("log.csv", LOG), ("stock.txt", STOCK), ("case.yaml", CASE)):
            (folder / name).write_text(text)
        (folder / "panel.yaml").write_text(PANEL.format(url=f"{url}{self.keys}"))
        self.died_at: list[int] = []
        self.repeated = 0

    @property
    def record(self) -> Path | None:
        """The record, if there is one by now."""
        return next(iter((self.folder / "runs").glob("*.db")), None)

    def events(self) -> list[Event]:
        """What is on the record now."""
        if self.record is None or not self.record.stat().st_size:
            return []
        with open_record(self.record) as store:
            return list(store.read())

    def life(self, kill_after_s: float | None, *arguments: str) -> int | None:
        """One process that runs a command; its exit status, or None if it was killed before it ended."""
        had = {event.key for event in self.events() if event.kind == "outcome"}
        before = len(self.keys.read_text().split())
        pid = os.fork()
        if pid == 0:
            self._run(arguments)
        if kill_after_s is not None:
            time.sleep(kill_after_s)
            os.kill(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
        if self.record is not None and self.events():
            verify(self.record)
        self.repeated += len(had.intersection(self.keys.read_text().split()[before:]))
        if os.WIFSIGNALED(status):
            self.died_at.append(len(self.events()))
            return None
        return os.waitstatus_to_exitcode(status)

    def _run(self, arguments: Sequence[str]) -> None:
        code = 70
        try:
            os.chdir(self.folder)
            with (self.folder / "said").open("a") as told:
                os.dup2(told.fileno(), 1)
                os.dup2(told.fileno(), 2)
            dissensus(list(arguments))
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 70
        finally:
            os._exit(code)

    def until_it_waits(self, kill_after_s: Iterator[float | None]) -> None:
        """Begin, and go on, until the case waits for a person."""
        while True:
            if self.events():
                code = self.life(next(kill_after_s), "resume", str(self.record))
            else:  # it died before its record said anything: begun again, as the error says
                for left in (self.folder / "runs").glob("*"):
                    left.unlink()
                code = self.life(next(kill_after_s), "dispute", "case.yaml")
            if code == 3 and questions(self.events()):
                return
            if code is not None:
                raise SystemExit(f"{self.folder} ended with {code}:\n{(self.folder / 'said').read_text()}")

    def until_it_is_answered(self, kill_after_s: Iterator[float | None]) -> None:
        """Give the answer, and give it again, until the command ends."""
        while True:
            given = ("answer", str(self.record), "B", "--as", "kim", "--reason", "counted twice")
            code = self.life(next(kill_after_s), *given)
            if code == 0:
                return
            if code is not None:
                raise SystemExit(f"{self.folder} ended with {code}:\n{(self.folder / 'said').read_text()}")


def questions(events: Sequence[Event]) -> list[str]:
    """Keys of the questions to a person."""
    return [event.key for event in events if event.kind == "person"]


def course(events: Sequence[Event]) -> list[tuple[str, str, Any]]:
    """What a record tells of the case, whenever its processes died: kinds and keys, and what was found."""
    told = {"rule", "finding", "state", "verdict", "re-run", "person-said", "verifier-input", "reopened"}
    return [
        (event.kind, event.key, {name: body for name, body in event.body.items() if name != "model"})
        if event.kind in told else (event.kind, event.key, None)
        for event in events if event.kind not in LUCK
    ]  # fmt: skip


def check(one: Lived, whole: list[tuple[str, str, Any]]) -> None:
    """Nothing is lost, doubled or left over."""
    (path,) = (one.folder / "runs").glob("*.db")
    events = one.events()
    assert verify(path).complete
    outcomes = Counter(event.key for event in events if event.kind == "outcome")
    effects = Counter(event.key for event in events if event.kind in ("ask", "tool", "person"))
    assert outcomes == effects, "each effect has exactly one outcome"
    assert set(outcomes.values()) == {1}
    assert one.repeated == 0, "nothing that had an outcome is done again"
    assert set(one.keys.read_text().split()) == {event.key for event in events if event.kind == "ask"}
    assert questions(events) == ["person/1"]
    with open_record(path) as store:
        (question,) = questions_of(store)
    assert question.state is State.ANSWERED
    assert question.taken_up
    assert [given.accepted for given in question.answers] == [True]
    assert waiting(path) == []
    assert course(events) == whole, "the same as a case that was never killed"
    replayed = runs.replay(path)
    assert replayed.identical


def never() -> Iterator[float | None]:
    """No kills."""
    while True:
        yield None


def seconds(of: Callable[[Iterator[float | None]], None]) -> float:
    """How long it takes if nobody is killed."""
    began = time.perf_counter()
    of(never())
    return time.perf_counter() - began


def spread(number: int, luck: random.Random) -> Callable[[float], float]:
    """A moment in part ``number`` of ten of a time, the parts taken in an order that leaves no end for last."""
    part = number * 3 % 10
    return lambda whole_s: (part + luck.random()) / 10 * whole_s


def kills(number: int, whole_s: float, luck: random.Random, times: int) -> Iterator[float | None]:
    """So many moments, the first in its part of the whole life, the others anywhere."""
    yield spread(number, luck)(whole_s)
    for _ in range(times - 1):
        yield luck.random() * whole_s
    yield from never()


def main() -> None:
    """Live through cases until there were enough kills."""
    folder, wanted, luck = Path(sys.argv[1]), int(sys.argv[2]), random.Random(int(sys.argv[3]))  # noqa: S311
    for name in NEEDED:
        importlib.import_module(name)
    reach("strong")  # found once a process, and by trial
    lived: list[Lived] = []
    with serving() as url:
        wholes = [Lived(folder / name, url) for name in ("whole", "again")]
        begin_s = min(seconds(one.until_it_waits) for one in wholes)
        answer_s = min(seconds(one.until_it_is_answered) for one in wholes)
        expected = course(wholes[0].events())
        check(wholes[1], expected)
        while sum(len(one.died_at) for one in lived) < wanted:
            number = len(lived)
            one = Lived(folder / str(number), url)
            lived.append(one)
            one.until_it_waits(kills(number, begin_s, luck, 2))
            one.until_it_is_answered(kills(number, answer_s, luck, 2))
            try:
                check(one, expected)
            except (AssertionError, DissensusError) as problem:
                raise SystemExit(f"{one.folder}: {problem!r}\n{(one.folder / 'said').read_text()}") from problem
    places = Counter(at for one in lived for at in one.died_at)
    found = {"kills": places.total(), "cases": len(lived), "places": len(places), "events": len(expected)}
    requests = [len(one.keys.read_text().split()) for one in lived]
    found["requests"] = sum(requests)
    sys.stdout.write(json.dumps({**found, "begin_s": round(begin_s, 3), "answer_s": round(answer_s, 3)}))


if __name__ == "__main__":
    main()
