"""Random A2A traffic: legal logs have no fault and open what they should; no log at all makes the tracker fail."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest
from a2a_lines import log, owed, source, told, track
from hypothesis import given
from hypothesis import strategies as st

from dissensus.say.book import Book
from dissensus.say.message import Message
from dissensus.say.protocol_file import shipped_protocol
from dissensus.say.readers.a2a import READER
from dissensus.say.readers.base import Options
from dissensus.say.verdicts import INFO, VIOLATION
from dissensus.say.wire import a2a_wire as wire
from dissensus.say.wire.a2a import A2ATracker
from dissensus.say.wire.a2a_wire import wire_name

WIRES = st.sampled_from(["0.3", "1.0"])
GOES_ON = ("working", "input-required", "auth-required")
ENDS = ("completed +says", "failed", "canceled", "rejected")


class Server:
    """A client and a server that keep all rules, and what each move has to make somebody owe: our own account of it."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw
        self.lines: list[str] = []
        self.states: dict[int, str] = {}
        self.promised: set[int] = set()
        self.asks = 0
        self.owed: Counter[str] = Counter()

    def step(self) -> None:
        alive = [task for task, state in self.states.items() if state in ("submitted", *GOES_ON)]
        moves = ["new"] + (["tell", "more", "poll", "artifact", "cancel"] if alive else [])
        move = self.draw(st.sampled_from(moves))
        self.asks += 1
        if move == "new":
            self.owed["answer"] += 1
            task = self.asks
            self.lines.append(f"> stream {task}")
            kind = self.draw(st.sampled_from(["task", "message", "error", "none"]))
            if kind == "task":
                self.enter(task, f"< task {task} t{task} c1", first=True)
            elif kind != "none":
                self.lines.append(f"< {kind} {task} -32603" if kind == "error" else f"< message {task} c1")
            return
        task = self.draw(st.sampled_from(alive))
        if move == "tell":
            self.enter(task, f"< status {task} t{task} c1")
        elif move == "artifact":
            self.lines.append(f"< artifact {task} t{task} c1")
        elif move == "poll":
            self.lines += [f"> get {self.asks} t{task}"]
            if self.draw(st.booleans()):
                self.lines.append(f"< bare {self.asks} t{task} c1 {self.states[task]}")
            else:
                self.owed["rpc"] += 1
        elif move == "more":
            self.owed["answer"] += 1
            self.lines.append(f"> stream {self.asks} t{task} c1")
            if self.states[task] in GOES_ON[1:]:
                self.states[task] += " told"
            self.enter(task, f"< task {self.asks} t{task} c1")
        else:
            self.owed["cancel"] += 1
            self.lines.append(f"> cancel {self.asks} t{task}")
            if self.draw(st.booleans()):
                self.states[task] = "canceled"
                self.lines.append(f"< bare {self.asks} t{task} c1 canceled")
            else:
                self.lines.append(f"< error {self.asks} -32002")

    def enter(self, task: int, line: str, *, first: bool = False) -> None:
        before = self.states.get(task, "")
        choices = [*GOES_ON, *ENDS, *(["submitted"] if first or before == "submitted" else [])]
        if before == "input-required":
            choices.remove("working")  # a warning, not a fault
        state = self.draw(st.sampled_from(choices))
        self.lines.append(f"{line} {state}")
        name = state.split()[0]
        if name in GOES_ON and task not in self.promised:
            self.promised.add(task)
            self.owed["performance"] += 1
        kind = {"input-required": "input", "auth-required": "authorization"}.get(name)
        if kind is not None and not self.is_owed(task, kind):
            self.owed[kind] += 1
        self.note(task, kind, name)
        self.states[task] = name

    def is_owed(self, task: int, kind: str) -> bool:
        return (task, kind) in self.open and " told" not in self.states.get(task, "")

    def note(self, task: int, kind: str | None, name: str) -> None:
        if name not in GOES_ON[1:] or " told" in self.states.get(task, ""):
            self.open -= {(task, "input"), (task, "authorization")}
        if kind is not None:
            self.open.add((task, kind))

    open: set[tuple[int, str]]


@st.composite
def legal_traffic(draw: st.DrawFn) -> tuple[list[str], Counter[str]]:
    server = Server(draw)
    server.open = set()
    for _ in range(draw(st.integers(1, 12))):
        server.step()
    return server.lines, server.owed


@given(legal_traffic(), WIRES, st.booleans())
def test_legal_traffic_has_no_fault_and_opens_what_it_should(
    traffic: tuple[list[str], Counter[str]], version: str, complete: bool
) -> None:
    lines, expected = traffic
    found, closed, _ = track(log("\n".join(lines), version), {"complete": complete})
    assert [one for one in found if one.level == VIOLATION] == []
    assert Counter(one.kind for one in closed) == expected


WORDS = (*(f"> {word} {ident}" for word in ("send", "stream") for ident in (1, 2, 3)),)
NAMES = ("submitted", "working", "input-required", "auth-required", "completed", "failed", "canceled", "!odd")
PARTS = st.one_of(
    st.builds("{}{}".format, st.sampled_from(WORDS), st.sampled_from(["", " t1", " t2 c2"])),
    st.builds("> {} {} {}".format, st.sampled_from(["get", "cancel", "subscribe"]), st.sampled_from([1, 4]),
              st.sampled_from(["t1", "t2"])),
    st.builds("< {} {} {} c1 {}".format, st.sampled_from(["task", "status", "bare"]), st.integers(1, 4),
              st.sampled_from(["t1", "t2"]), st.sampled_from(NAMES)),
    st.sampled_from(["< message 1 c1", "< message 2 c1", "< error 1 -32603", "< error 3 -32002", "< error null -32700",
                     "< junk 2", "< artifact 1 t1", "> list 4", "< tasks 4 t1=working t2=completed",
                     "push status t1 working", "push task t2 failed"]),
)  # fmt: skip
OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "complete": st.booleans(),
        "followup": st.sampled_from(["any", "input-only"]),
        "retries": st.sampled_from(["new", "duplicate"]),
        "stream_ends": st.sampled_from(["terminal", "interrupted"]),
        "order": st.sampled_from(["total", "unordered"]),
    },
)


@given(st.lists(PARTS, min_size=1, max_size=25), WIRES, OPTIONS, st.data())
def test_stored_and_restored_anywhere_it_goes_on_as_before(
    lines: list[str], version: str, options: dict[str, Any], data: st.DataObject
) -> None:
    raw = log("\n".join(lines), version)
    found, closed, tracker = track(raw, options)
    split = data.draw(st.integers(1, len(lines)))
    again, closed_again, tracker_again = track(raw, options, split=split)
    assert told(again) == told(found)
    assert [one.caused_by for one in again] == [one.caused_by for one in found]
    assert owed(closed_again) == owed(closed)
    assert tracker_again.threads == tracker.threads


@given(st.lists(PARTS, min_size=1, max_size=25), WIRES, OPTIONS)
def test_of_any_traffic_nothing_is_lost(lines: list[str], version: str, options: dict[str, Any]) -> None:
    """Each obligation gets one status, and what is discarded opens and closes nothing."""
    found, closed, tracker = track(log("\n".join(lines), version), options)
    assert len(tracker.book) == 0
    assert sum(tracker.book.counts.values()) == len(closed)
    discarded = {one.line for one in found if one.verdict in ("illegal", "no-title", "void", "duplicate")}
    listed = {at for at, each in enumerate(lines, 1) if "tasks" in each}  # of several tasks, one may be discarded
    for one in closed:
        assert one.opened_line not in discarded - listed
        assert one.closed_line not in discarded - listed
        assert one.status != "pending" or not one.closed_line


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-40000, 40000)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
FIELDS = st.sampled_from(
    ["id", "taskId", "contextId", "status", "state", "message", "artifacts", "history", "kind", "task", "statusUpdate",
     "artifactUpdate", "tasks", "final"]
)  # fmt: skip
OBJECT = st.dictionaries(FIELDS, JSON | st.dictionaries(FIELDS, JSON, max_size=4), max_size=5)
UNITS = st.dictionaries(
    st.sampled_from(["jsonrpc", "id", "method", "params", "result", "error"]),
    JSON | OBJECT | st.sampled_from([*wire.METHODS]),
    max_size=6,
)


@given(st.lists(UNITS | OBJECT | JSON, max_size=8), OPTIONS)
def test_nothing_that_is_json_makes_it_fail(units: list[Any], options: dict[str, Any]) -> None:
    book = Book()
    tracker = A2ATracker(book, options)
    for number, unit in enumerate(units, 1):
        book.seq = number
        tracker.see(Message(id=f"{number}", sender="server", receivers=("client",), line=number, wire=unit))
        json.dumps(tracker.state())
    tracker.finish()
    book.finish(None)
    assert len(book) == 0


@given(st.lists(UNITS | OBJECT | JSON, max_size=8))
def test_nothing_that_is_json_makes_the_reader_fail(units: list[Any]) -> None:
    raw = b"\n".join(json.dumps(unit).encode() for unit in units)
    items = list(READER.read(source(raw), Options(lenient=True)))
    assert len(items) <= sum(len(unit) if isinstance(unit, list) else 1 for unit in units) * 9
    assert 0.0 <= READER.recognise(source(raw)) <= 1.0


def test_finished_tasks_take_little() -> None:
    """Neither tasks nor requests that are over are kept as such, nor the streams that told of them."""
    parts = []
    for number in range(300):
        task = f"t{number}"
        parts.append(
            f"> stream {2 * number} | < task {2 * number} {task} working | > subscribe {2 * number + 1} {task}"
        )
        parts.append(f"< task {2 * number + 1} {task} working | < status {2 * number} {task} completed +says")
    _, _, tracker = track(log("|".join(parts), "1.0"))
    assert tracker.live == {}
    assert tracker.calls.open_calls() == []
    assert len(tracker.over) == 300


@pytest.mark.parametrize("version", ["0.3", "1.0"])
def test_the_protocol_file_and_the_tracker_know_the_same_states(version: str) -> None:
    protocol = shipped_protocol(f"a2a-task-{version}")
    names = {wire_name(state, version) for state in wire.STATES}
    assert names <= set(protocol.states)
    added = {name for name in protocol.states if name not in names and not name.startswith("end.")}
    assert added == {"start", "sent", "answered", "both", "told", "cancelling"}
    for state in wire.STATES:
        assert protocol.states[wire_name(state, version)].final == (state in wire.TERMINAL)
    for state in wire.INTERRUPTED:
        assert {move.senders for move in protocol.moves_from(wire_name(state, version))} >= {("client",), ("server",)}


BOTH = {"input-required": "input", "auth-required": "authorization"}
"""Kind of the move by which a task that waits for one thing waits for the other too."""


@pytest.mark.parametrize("version", ["0.3", "1.0"])
def test_the_protocol_file_and_the_tracker_allow_the_same_and_open_the_same(version: str) -> None:
    """Every pair of states: what the file says of the move is what the tracker does."""
    protocol = shipped_protocol(f"a2a-task-{version}")
    for before in (None, *wire.STATES):
        stands = "sent" if before is None else wire_name(before, version)
        for after in wire.STATES:
            if after == "submitted" and before not in (None, "submitted"):
                continue  # a warning
            name = wire_name(after, version)
            moves = [m for m in protocol.moves_from(stands) if m.next in (name, "both") and m.senders == ("server",)]
            moves = [m for m in moves if m.next == name or m.kinds == {BOTH.get(after)}]
            head = "> stream 1 |" if before is None else f"> stream 1 | < task 1 t1 {before} |"
            kind = "task" if before is None else "status"
            _, start, _ = track(log(head, version))
            found, end, _ = track(log(f"{head} < {kind} 1 t1 {after} +says", version))
            legal = not any(one.level in (VIOLATION, INFO) for one in found)
            assert legal == bool(moves), (before, after)
            opened = Counter(one.kind for one in end) - Counter(one.kind for one in start)
            if moves:
                assert opened == Counter(each.kind for each in moves[0].opens), (before, after)
            else:
                assert not opened, (before, after)
