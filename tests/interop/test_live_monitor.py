"""A monitor beside a running system: it says what an audit would say, when it happens, and breaks nothing."""

from __future__ import annotations

import json
import math
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dissensus
from dissensus.errors import LogError, StorageError, UnknownAct, UsageError
from dissensus.interop.deadlines import Deadlines
from dissensus.interop.message_logs import AuditSettings, audit_file, open_source
from dissensus.say.book import Book
from dissensus.say.message import Message
from dissensus.say.readers.base import Options
from dissensus.say.readers.registry import recognise
from dissensus.say.readers.times import seconds
from dissensus.say.verdicts import ANSWER, PERFORMANCE, Finding, Obligation

START = 1_700_000_000.0


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> float:
        return self.now


def said(report: dict[str, Any]) -> dict[str, Any]:
    """What an audit and a monitor must agree on: all but where it came from and who was told."""
    left_out = {"log", "protocols", "failures", "skipped", "cannot_tell"}
    return {key: value for key, value in report.items() if key not in left_out}


# --- what it says


def test_a_conversation_as_it_happens() -> None:
    found: list[Finding] = []
    with dissensus.Monitor(on_violation=found.append) as monitor:
        assert monitor.tell("request", sender="planner", to="researcher", thread="f1", content="sources") == "ok"
        assert [owed.kind for owed in monitor.open()] == [ANSWER]
        assert monitor.holders("f1") == []
        assert monitor.tell("agree", sender="researcher", to="planner", thread="f1") == "ok"
        assert monitor.holders("f1") == ["researcher"]
        assert monitor.tell("inform", sender="analyst", to="planner", thread="f1") == "no-title"
        assert [finding.party for finding in monitor.last] == ["analyst"]
        assert monitor.holders("f1") == ["researcher"]
        assert monitor.see({"sender": "researcher", "receivers": "planner", "act": "inform", "thread": "f1"}) == "ok"
        assert monitor.last == ()
        assert monitor.open() == []
        assert monitor.tell("agree", sender="researcher", to="planner", thread="f1") == "duplicate"
        assert monitor.tell("refuse", sender="researcher", to="planner", thread="f1") == "illegal"
        assert monitor.counts["violations"] == 2
    assert [finding.verdict for finding in found] == ["no-title", "illegal"]
    report = monitor.report()
    assert [(owed["kind"], owed["status"]) for owed in report["obligations"]] == [
        ("answer", "fulfilled"),
        ("performance", "fulfilled"),
    ]
    assert report["counts"] == monitor.counts
    with pytest.raises(UsageError, match="has ended"):
        monitor.tell("request", sender="planner", to="researcher", thread="f2")


def test_the_report_while_it_runs_and_at_the_end() -> None:
    clock = Clock()
    with dissensus.Monitor(clock=clock) as monitor:
        monitor.tell("request", sender="a", to="b", thread="t1", reply_by=60)
        monitor.tell("request", sender="a", to="b", thread="t2")
        clock.now += 61
        monitor.check()
        early = monitor.report()
        assert [owed["status"] for owed in early["obligations"]] == ["expired", "pending"]
        assert early["counts"]["unanswered"] == 2
        assert early["counts"]["pending"] == 1
    late = monitor.report()
    assert late == early


def test_what_cannot_be_judged_is_void_and_changes_nothing(tmp_path: Path) -> None:
    bad: list[Any] = [
        {"sender": "a", "receivers": ["b"], "act": "promise", "thread": "t"},
        {"sender": "a", "receivers": ["b"], "act": "request"},
        {"receivers": ["b"], "act": "request", "thread": "t"},
        {"sender": "a", "receivers": ["b"], "act": "request", "thread": "t", "at": math.inf},
        {"sender": "a", "receivers": ["b"], "act": "request", "thread": "t", "protocol": "no-such-protocol"},
    ]
    record = tmp_path / "record.jsonl"
    with dissensus.Monitor(record=record) as monitor:
        for message in bad:
            assert monitor.see(message) == "void"
            assert not monitor.guard(message)
        assert monitor.tell("request", sender="a", to="b", thread="t") == "ok"
        assert monitor.counts["messages"] == 1
    assert monitor.report()["skipped"]["count"] == 2 * len(bad)
    assert len(record.read_bytes().splitlines()) == 1
    with dissensus.Monitor(strict=True) as monitor:
        with pytest.raises(UnknownAct, match="propose"):
            monitor.see(bad[0] | {"act": "propos"})
        for message in bad[1:]:
            with pytest.raises(LogError):
                monitor.see(message)
        assert monitor.counts["messages"] == 0


def test_wrong_use_is_an_error() -> None:
    anything: Any = 3
    with dissensus.Monitor() as monitor:
        with pytest.raises(UsageError, match="int is no message"):
            monitor.see(anything)
        with pytest.raises(UsageError, match="'by_when'"):
            monitor.tell("request", sender="a", to="b", thread="t", by_when=3)
    with pytest.raises(UsageError, match="watch"):
        dissensus.Monitor(watch=0)
    with pytest.raises(UsageError, match="no-such-protocol"):
        dissensus.Monitor("no-such-protocol")


def test_guard_lets_pass_what_may_be_delivered() -> None:
    with dissensus.Monitor(authority={"director": ["intern"]}) as monitor:
        order = {"receivers": ["intern"], "act": "request", "thread": "t1"}
        assert not monitor.guard(order | {"sender": "clerk", "thread": "t0"})
        assert [finding.rule for finding in monitor.last] == ["authority"]
        assert monitor.guard(order | {"sender": "director"})
        assert not monitor.guard({"sender": "clerk", "receivers": ["director"], "act": "agree", "thread": "t1"})
        assert not monitor.guard({"sender": "director", "receivers": ["intern"], "act": "agree", "thread": "t1"})
        assert monitor.guard({"sender": "intern", "receivers": ["director"], "content": "hello", "thread": "t1"})
        assert monitor.guard({"sender": "intern", "receivers": ["director"], "act": "agree", "thread": "t1"})
        assert monitor.holders("t1") == ["intern"]


# --- silence


def test_overdue_is_reported_once_by_the_next_message() -> None:
    clock, overdue = Clock(), list[Obligation]()
    with dissensus.Monitor(clock=clock, on_overdue=overdue.append) as monitor:
        monitor.tell("request", sender="a", to="b", thread="t1", reply_by=10)
        monitor.tell("request", sender="a", to="c", thread="t2", reply_by=30)
        clock.now += 10
        monitor.tell(None, sender="a", to="b", content="well?")
        assert overdue == []  # passed is strictly later
        clock.now += 1
        monitor.tell(None, sender="a", to="b", content="well?")
        assert [(owed.debtor, owed.status) for owed in overdue] == [("b", "pending")]
        assert monitor.check() == []
        clock.now += 30
        monitor.tell("inform", sender="c", to="a", thread="t2")  # what was due is overdue before it comes late
        assert [owed.debtor for owed in overdue] == ["b", "c"]
        assert monitor.last[0].verdict == "late"
    assert len(overdue) == 2


def test_overdue_is_reported_once_by_looking() -> None:
    clock, overdue = Clock(), list[Obligation]()
    with dissensus.Monitor(clock=clock, on_overdue=overdue.append, ttl=5) as monitor:
        monitor.tell("request", sender="a", to="b", thread="t1")
        assert monitor.check(START + 5) == []
        assert [owed.debtor for owed in monitor.check(START + 6)] == ["b"]
        assert monitor.check(START + 7) == []
        clock.now += 3
        monitor.tell("request", sender="a", to="b", thread="t2")
        clock.now += 6
    assert [owed.thread for owed in overdue] == ["t1", "t2"], "the end looks at the clock too"
    assert monitor.check(START + 100) == []


def test_silence_is_noticed_by_the_watcher() -> None:
    noticed = threading.Event()
    with dissensus.Monitor(watch=0.01, on_overdue=lambda _: noticed.set()) as monitor:
        monitor.tell("request", sender="a", to="b", thread="t1", reply_by=0.02)
        assert noticed.wait(30)
        watchers = [thread for thread in threading.enumerate() if thread.name == "dissensus monitor"]
        assert watchers
        assert all(thread.daemon for thread in watchers)
    assert not any(thread.is_alive() for thread in watchers)


@settings(max_examples=200)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["open", "open", "close", "put off", "bring forward", "suspend", "resume", "look"]),
            st.integers(0, 30),
            st.integers(0, 5),
        ),
        max_size=60,
    )
)
def test_deadlines_are_named_as_if_all_were_looked_at_each_time(steps: list[tuple[str, int, int]]) -> None:
    book = Book()
    deadlines = Deadlines(book)
    book.on_closed = deadlines.closed
    opened: list[Obligation] = []
    told: list[tuple[str, float]] = []
    expected: list[tuple[str, float]] = []
    named: set[str] = set()
    now = 0.0
    for seq, (step, number, which) in enumerate(steps, 1):
        book.seq = seq
        alive = [owed for owed in opened if id(owed) in book.owed]
        owed = alive[which % len(alive)] if alive else None
        if step == "open":
            m = Message(id=f"{seq}", sender="a", receivers=("b",), at=now, reply_by=now + number if number else None)
            opened.append(book.open(m, PERFORMANCE, "b", "a", thread=f"t{seq}"))
            deadlines.opened(seq)
        elif step == "close" and owed is not None:
            book.close(owed, Message(id=f"{seq}", sender="b", at=now))
        elif step == "put off" and owed is not None and owed.deadline is not None:
            owed.deadline += number
        elif step == "bring forward" and owed is not None and owed.deadline is not None:
            owed.deadline -= number
            deadlines.moved()
        elif step in {"suspend", "resume"} and owed is not None:
            owed.suspended = step == "suspend"
        elif step == "look":
            now += number
            told += [(owed.opened_by, now) for owed in deadlines.passed(now)]
            for one in book.owed.values():
                late = one.deadline is not None and now > one.deadline and not one.suspended
                if late and one.opened_by not in named:
                    named.add(one.opened_by)
                    expected.append((one.opened_by, now))
    assert sorted(told) == sorted(expected)


def test_what_is_closed_is_not_held_on_to() -> None:
    book = Book()
    deadlines = Deadlines(book)
    book.on_closed = deadlines.closed
    for seq in range(1, 5_000):
        book.seq = seq
        m = Message(id=f"{seq}", sender="a", receivers=("b",), at=0.0, reply_by=1e6)
        owed = book.open(m, PERFORMANCE, "b", "a", thread=f"t{seq}")
        deadlines.opened(seq)
        assert len(deadlines._heap) <= 2 * len(book) + 1_000
        if seq % 10:
            book.close(owed, m)
    assert len(deadlines.passed(1e6 + 1)) == 499


def test_content_of_any_kind(tmp_path: Path) -> None:
    class Rude:
        def __repr__(self) -> str:
            raise RuntimeError("no")

    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    record = tmp_path / "record.jsonl"
    with dissensus.Monitor(record=record) as monitor:
        for content in ("half a pair: \ud83d", {1: {2, 3}}, object(), float("nan"), b"raw", Path("x"), {"a": "\ud83d"}):
            assert monitor.tell(None, sender="a", to="b", content=content) == "untagged"
        for content in (deep, Rude(), [Rude()]):
            assert monitor.tell(None, sender="a", to="b", content=content) == "untagged"
        for depth in range(150, 1_100, 7):
            deep = []
            for _ in range(depth):
                deep = [deep]
            monitor.tell(None, sender="a", to="b", content=deep)
        told = monitor.counts["messages"]
    assert audit_file(record).tally.messages == told


def test_a_promise_bound_by_a_later_message_of_a2a() -> None:
    def unit(rpc: dict[str, Any], at: float, sender: str, to: str) -> Message:
        return Message(id=f"{at}", sender=sender, receivers=(to,), act="inform", protocol="a2a", at=at, wire=rpc)

    def send(number: int, **message: Any) -> dict[str, Any]:
        return {"jsonrpc": "2.0", "id": number, "method": "SendStreamingMessage", "params": {"message": message}}

    working = {"task": {"id": "t1", "contextId": "c1", "status": {"state": "TASK_STATE_WORKING"}}}
    overdue: list[Obligation] = []
    with dissensus.Monitor("fipa-request", on_overdue=overdue.append) as monitor:
        monitor.see(unit(send(1, messageId="m1", role="ROLE_USER", parts=[]), START, "client", "server"))
        monitor.see(unit({"jsonrpc": "2.0", "id": 1, "result": working}, START + 1, "server", "client"))
        assert monitor.holders("t1") == ["server"]
        assert monitor.check(START + 100) == []
        by = {"urn:dissensus:deadline": 10}
        hurry = send(2, messageId="m2", role="ROLE_USER", parts=[], taskId="t1", metadata=by)
        monitor.see(unit(hurry, START + 101, "client", "server"))
        assert {owed.kind for owed in monitor.check(START + 112)} == {ANSWER, PERFORMANCE}
    assert len(overdue) == 2


def owed_in(monitor: Any) -> list[tuple[str, ...]]:
    return [(owed.thread, owed.sub, owed.kind, owed.debtor, owed.creditor, owed.opened_by) for owed in monitor.open()]


def test_what_is_stopped_was_said_to_nobody_also_not_to_those_to_whom_it_might_be() -> None:
    with dissensus.Monitor("fipa-contract-net") as monitor:
        call = {"act": "cfp", "sender": "a", "thread": "t"}
        assert monitor.guard({**call, "receivers": ["b"], "content": "walls"})
        before = owed_in(monitor)
        assert not monitor.guard({**call, "receivers": ["b", "c"], "content": "roof"})
        assert [finding.rule for finding in monitor.last] == ["state"]
        assert owed_in(monitor) == before, "c was called by nothing that was delivered"
        assert not monitor.guard({"act": "propose", "sender": "c", "receivers": ["a"], "thread": "t"})
        assert monitor.guard({**call, "receivers": ["c", "d"], "content": "roof"})
        assert [owed[3] for owed in owed_in(monitor)] == ["b", "c", "d"]


moves = st.lists(
    st.tuples(
        st.sampled_from(
            ["cfp", "propose", "refuse", "accept-proposal", "reject-proposal", "inform", "failure", "cancel"]
        ),
        st.sampled_from("abcd"),
        st.lists(st.sampled_from("abcd"), min_size=1, max_size=3, unique=True),
        st.sampled_from(["x", "y"]),
    ),
    max_size=14,
)


@settings(max_examples=150)
@given(said=moves, delivery=st.sampled_from([None, "fifo"]), rights=st.booleans())
def test_a_guard_that_stops_changes_nothing_and_its_record_says_the_same(
    tmp_path_factory: pytest.TempPathFactory, said: list[Any], delivery: str | None, rights: bool
) -> None:
    record = tmp_path_factory.mktemp("guard") / "record.jsonl"
    more: dict[str, Any] = {"authority": {"a": ["b", "c"]}} if rights else {}
    monitor = dissensus.Monitor("fipa-contract-net", delivery=delivery, record=record, clock=Clock(), **more)
    for act, sender, receivers, content in said:
        before = owed_in(monitor)
        if not monitor.guard({"act": act, "sender": sender, "receivers": receivers, "thread": "t", "content": content}):
            assert owed_in(monitor) == before
    monitor.finish()
    told = monitor.report()
    if said:
        report = audit_file(record, AuditSettings(protocol="fipa-contract-net", delivery=delivery, **more)).to_data()
        assert report["obligations"] == told["obligations"]
        assert report["messages"] == told["messages"]


# --- the system that is watched goes on


def test_callbacks_that_fail_are_collected() -> None:
    clock = Clock()

    def fails(_: object) -> None:
        raise RuntimeError("no")

    with dissensus.Monitor(clock=clock, on_violation=fails, on_finding=fails, on_overdue=fails) as monitor:
        assert monitor.tell("agree", sender="b", to="a", thread="t0") == "illegal"
        assert monitor.tell("request", sender="a", to="b", thread="t1", reply_by=1) == "ok"
        clock.now += 2
        assert len(monitor.check()) == 1
    assert monitor.report()["failures"] == {"count": 3, "first": ["RuntimeError: no"] * 3}


@pytest.mark.parametrize("says", [math.nan, math.inf, "noon", None, 10**400, RuntimeError("stopped")])
def test_a_clock_that_fails_breaks_nothing(says: Any) -> None:
    told = iter([START, says, says, says, START + 9])

    def clock() -> Any:
        now = next(told)
        if isinstance(now, Exception):
            raise now
        return now

    with dissensus.Monitor(clock=clock) as monitor:
        assert monitor.tell("request", sender="a", to="b", thread="t", reply_by=5) == "ok"
        assert monitor.tell("agree", sender="b", to="a", thread="t") == "ok"
        assert monitor.check() == []
        assert [owed.opened_at for owed in monitor.open()] == [START], "the latest time that is known"
        monitor.tell("cancel", sender="a", to="b", thread="t")
    assert monitor.report()["failures"]["count"] == 3


def test_a_callback_may_tell_and_ask() -> None:
    answers: list[str] = []

    def remind(owed: Obligation) -> None:
        answers.append(monitor.tell(None, sender="monitor", to=owed.debtor, thread=owed.thread, content="well?"))
        answers.extend(monitor.holders(owed.thread))

    with dissensus.Monitor(on_overdue=remind) as monitor:
        monitor.tell("request", sender="a", to="b", thread="t", at=START)
        monitor.tell("agree", sender="b", to="a", thread="t", at=START, reply_by=5)
        assert len(monitor.check(START + 6)) == 1
    assert answers == ["untagged", "b"]


def test_many_threads_tell_at_once(tmp_path: Path) -> None:
    record = tmp_path / "record.jsonl"
    wrong: list[str] = []

    def work(name: str) -> None:
        for number in range(50):
            thread = f"{name}.{number}"
            verdicts = [
                monitor.tell("request", sender="a", to=name, thread=thread),
                monitor.tell("refuse", sender=name, to="a", thread=thread),
                monitor.tell("agree", sender=name, to="a", thread=thread),
            ]
            if verdicts != ["ok", "ok", "illegal"] or monitor.last[0].thread != thread:
                wrong.append(thread)

    with dissensus.Monitor(record=record) as monitor:
        workers = [threading.Thread(target=work, args=(f"w{number}",)) for number in range(8)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    assert not wrong
    assert monitor.counts == {
        "messages": 1200, "tagged": 1200, "threads": 400, "requests": 400, "unanswered": 0, "pending": 0,
        "violations": 400, "warnings": 0,
    }  # fmt: skip
    assert audit_file(record).tally.violations == 400


# --- the record


@pytest.mark.parametrize("own_default", [False, True])
def test_an_audit_of_the_record_says_the_same(tmp_path: Path, own_default: bool) -> None:
    class Odd:
        def __repr__(self) -> str:
            return "<odd>"

    record = tmp_path / "record.jsonl"
    with dissensus.Monitor("fipa-query" if own_default else "fipa-request", record=record) as monitor:
        monitor.tell("query-ref" if own_default else "request", sender="a", to="b", thread="1", reply_by=0.1)
        monitor.tell("sorry", sender="b", to="a", thread="1")
        monitor.tell("inform-done", sender="b", to="a", thread="1", content=Odd())
        monitor.tell(None, sender="b", to="a", content={"half": "a pair \ud800", "odd": Odd(), 3: math.nan})
        monitor.tell("cfp", sender="a", to=["b", "c"], thread="2", protocol="fipa-contract-net")
        monitor.tell("propose", sender="b", to="a", thread="2", reply_with="bid", content={"price": 3})
        monitor.tell("request", sender="a\ud800", to="b", thread="3", protocol="fipa-request")
        monitor.see(Message(id="mine", sender="user", receivers=("a",), act="request", thread="4",
                            protocol="fipa-request", outside=True, name="message/send"))  # fmt: skip
        monitor.see(Message(id="2nd", sender="user", receivers=("a",), act="request", thread="5",
                            protocol="fipa-request", supersedes="mine", tag_source="inferred"))  # fmt: skip
    ours, theirs = said(monitor.report()), said(audit_file(record).to_data())
    ours["as_of"] = theirs["as_of"]
    changed = json.loads(json.dumps(ours).replace(r"a\ud800", r"a\\ud800"))
    assert changed == theirs
    lines = [json.loads(line) for line in record.read_bytes().splitlines()]
    assert [line.get("verdict", "ok") for line in lines[:4]] == ["ok", "ok", "illegal", "untagged"]
    assert lines[2]["findings"][0]["rule"] == "state"


AGENTS = ("a", "b", "c")
MESSAGES = st.fixed_dictionaries(
    {
        "act": st.sampled_from(["request", "agree", "refuse", "inform", "failure", "cancel", "cfp", "propose", None]),
        "sender": st.sampled_from(AGENTS),
        "receivers": st.lists(st.sampled_from(AGENTS), max_size=2),
        "thread": st.sampled_from(["t1", "t2", "t3"]),
    },
    optional={
        "id": st.sampled_from(["x", "y"]),
        "reply_by": st.integers(0, 4),
        "content": st.sampled_from(["one", "two", {"actor": "b"}]),
        "in_reply_to": st.sampled_from(["x", "r"]),
        "reply_with": st.just("r"),
        "content_type": st.sampled_from(["done", "result"]),
        "protocol": st.sampled_from(["fipa-request", "fipa-contract-net"]),
    },
)


@settings(max_examples=60)
@given(
    st.lists(st.tuples(MESSAGES, st.integers(-1, 3)), min_size=1, max_size=25),
    st.integers(0, 25),
    st.sampled_from([None, "fifo", "unordered"]),
    st.sampled_from(["fipa", "jade", "strict"]),
)
def test_online_offline_and_resumed_are_one(
    tmp_path_factory: pytest.TempPathFactory,
    messages: list[tuple[dict[str, Any], int]],
    cut: int,
    delivery: str | None,
    profile: str,
) -> None:
    folder = tmp_path_factory.mktemp("records")
    options: dict[str, Any] = {"delivery": delivery, "profile": profile}
    clock = Clock()
    whole = dissensus.Monitor(record=folder / "whole.jsonl", clock=clock, **options)
    half = dissensus.Monitor(record=folder / "cut.jsonl", clock=clock, **options)
    loaded = dissensus.Monitor(clock=clock, **options)
    for number, (message, later) in enumerate(messages):
        if number == cut:  # the process ends without a word, and another goes on
            assert half._core._record is not None
            half._core._record.close()
            half = dissensus.Monitor(record=folder / "cut.jsonl", clock=clock, **options)
            loaded.save(folder / "state")
            loaded = dissensus.Monitor.load(folder / "state", clock=clock)
        clock.now += later
        assert whole.see(message) == half.see(message) == loaded.see(message)
        assert whole.last == half.last == loaded.last
        assert whole.open() == half.open() == loaded.open()
    whole.finish()
    half.finish()
    loaded.finish()
    as_of = seconds(whole.report()["as_of"])  # the last message may be one that cannot be judged, nor recorded
    offline = audit_file(folder / "whole.jsonl", AuditSettings(**options, as_of=as_of)).to_data()
    assert said(whole.report()) == said(offline)
    assert said(half.report()) == said(offline)
    assert said(loaded.report()) == said(offline)


@pytest.mark.parametrize("kind", ["a2a", "acl", "mcp"])
def test_logs_of_all_kinds_recorded_and_cut_anywhere(shared: Path, tmp_path: Path, kind: str) -> None:
    logs = sorted((shared / "data" / "messages-and-protocols" / "own" / kind).glob("*.jsonl"))
    assert logs
    for number, log in enumerate(logs):
        source = open_source(log)
        messages = [m for m in recognise(source).read(source, Options()) if isinstance(m, Message)]
        record = tmp_path / f"{number}.jsonl"
        with dissensus.Monitor(record=record, clock=Clock()) as whole:
            verdicts = [whole.see(m) for m in messages]
        assert said(whole.report()) == said(audit_file(record).to_data()), log.name
        for cut in range(len(messages) + 1):
            first = dissensus.Monitor(clock=Clock())
            begun = [first.see(m) for m in messages[:cut]]
            first.save(tmp_path / "state")
            with dissensus.Monitor.load(tmp_path / "state", clock=Clock()) as second:
                assert begun + [second.see(m) for m in messages[cut:]] == verdicts
            assert [each["status"] for each in second.report()["obligations"]] == [
                each["status"] for each in whole.report()["obligations"]
            ], log.name
            assert second.counts == whole.counts


def test_a_state_goes_on_where_it_was_saved(tmp_path: Path) -> None:
    clock, overdue = Clock(), list[Obligation]()
    record, state = tmp_path / "record.jsonl", tmp_path / "state"
    with dissensus.Monitor("fipa-query", clock=clock, on_overdue=overdue.append, record=record, ttl=50) as monitor:
        monitor.tell("query-ref", sender="a", to="b", thread="t1", reply_by=10)
        monitor.tell("query-ref", sender="a", to="c", thread="t2", reply_by=20)
        monitor.tell("promise", sender="a", to="c", thread="t2")
        clock.now += 11
        assert [owed.debtor for owed in monitor.check()] == ["b"]
        monitor.save(state)
        monitor.tell("query-ref", sender="a", to="d", thread="t3")
    clock.now += 100
    with dissensus.Monitor.load(state, record=record, clock=clock, on_overdue=overdue.append) as monitor:
        assert [owed.debtor for owed in monitor.open()] == ["b", "c", "d"]
        assert monitor.report()["skipped"]["count"] == 1
        monitor.check()
        assert [owed.debtor for owed in overdue] == ["b", "c", "d"], "each once, over both lives"
        assert monitor.tell("refuse", sender="d", to="a", thread="t3") == "late"
        monitor.save(state)
    lines = record.read_bytes().splitlines(keepends=True)
    record.write_bytes(b"".join(lines[:2]))
    with pytest.raises(LogError, match="has 2 lines, and the state was saved at line 4"):
        dissensus.Monitor.load(state, record=record)
    with pytest.raises(UsageError, match="does not have"):
        dissensus.Monitor.load(state, protocol="fipa-query", protocols=[write_protocol(tmp_path)])
    assert len(list(tmp_path.iterdir())) == 3, "no part of a file is left"


def write_protocol(folder: Path) -> str:
    """Another protocol of the same name, with other states."""
    path = folder / "query.yaml"
    path.write_text(
        """protocol: fipa-query
version: 2
roles: {initiator: one, participant: one}
start: {state: begin, role: initiator}
final: [end]
moves:
  - {in: begin, act: query-ref, from: initiator, to: participant, next: end}
""",
        encoding="utf-8",
    )
    return str(path)


@pytest.mark.parametrize("text", ["", "dear diary", "{}", '{"format": "dissensus monitor 9"}', "\xff"])
def test_what_is_no_state_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "state").write_text(text, encoding="latin-1")
    with pytest.raises(LogError, match="no state of a monitor"):
        dissensus.Monitor.load(tmp_path / "state")
    with pytest.raises(LogError, match="cannot be read"):
        dissensus.Monitor.load(tmp_path / "nothing")
    with dissensus.Monitor() as monitor, pytest.raises(StorageError, match="cannot be written"):
        monitor.save(tmp_path / "no-such-folder" / "state")


def test_a_state_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    with dissensus.Monitor() as monitor:
        monitor.tell("request", sender="a", to="b", thread="t")
        monitor.save(tmp_path / "state")
    head = json.loads((tmp_path / "state").read_bytes())
    changes: list[dict[str, Any]] = [{"monitor": {}}, {"named": [7]}, {"monitor": None}, {"report": 3}, {"options": 1}]
    for change in changes:
        (tmp_path / "state").write_text(json.dumps(head | change), encoding="utf-8")
        with pytest.raises(UsageError):
            dissensus.Monitor.load(tmp_path / "state")


def test_what_a_killed_process_left_half_written_is_cut_off(tmp_path: Path) -> None:
    record = tmp_path / "record.jsonl"
    with dissensus.Monitor(record=record) as monitor:
        monitor.tell("request", sender="a", to="b", thread="t1")
        monitor.tell("agree", sender="b", to="a", thread="t1")
    whole = record.read_bytes()
    for cut in range(1, len(whole) + 1):
        record.write_bytes(whole[:cut])
        with dissensus.Monitor(record=record) as monitor:
            kept = monitor.counts["messages"]
            monitor.tell("request", sender="a", to="c", thread="t2")
        assert audit_file(record).tally.messages == kept + 1
        begun = whole[:cut].count(b"\n")
        assert kept == begun + (whole[cut : cut + 1] == b"\n")  # a line that lacks only its end is whole


def test_a_foreign_file_is_left_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "file"
    for text in (b"dear diary", b'{"jsonrpc": "2.0"}', b"\x00\xff" * 100):
        file.write_bytes(text)
        with pytest.raises(LogError, match="no log of such messages"):
            dissensus.Monitor(record=file)
        assert file.read_bytes() == text
        assert list(tmp_path.iterdir()) == [file], "no lock is left"
    file.write_bytes(b'{"id": "1", "sender": "a", "receivers": [], "act": "jump"}\n')
    with pytest.raises(LogError, match=":1: 'jump' is no communicative act"):
        dissensus.Monitor(record=file)


def test_one_monitor_writes_one_record(tmp_path: Path) -> None:
    with dissensus.Monitor(record=tmp_path / "r.jsonl") as monitor:
        monitor.tell("request", sender="a", to="b", thread="t1")
        with pytest.raises(StorageError, match="another process"):
            dissensus.Monitor(record=tmp_path / "r.jsonl")
        monitor.tell("agree", sender="b", to="a", thread="t1")
    assert audit_file(tmp_path / "r.jsonl").tally.messages == 2
    with pytest.raises(StorageError, match="cannot be written"):
        dissensus.Monitor(record=tmp_path / "no-such-folder" / "r.jsonl")


def test_a_full_disk_ends_the_record_and_nothing_else(tmp_path: Path) -> None:
    program = """
import resource, signal, sys
import dissensus
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
with dissensus.Monitor(record=sys.argv[1]) as monitor:
    for number in range(100):
        assert monitor.tell("request", sender="a", to="b", thread=f"t{number}") == "ok"
report = monitor.report()
assert report["counts"]["messages"] == 100
assert report["failures"]["count"] == 1, report["failures"]
print(report["failures"]["first"][0])
"""
    record = tmp_path / "record.jsonl"
    done = subprocess.run(
        [sys.executable, "-c", program, str(record)], capture_output=True, text=True, check=True, timeout=60
    )
    assert "cannot be written: File too large" in done.stdout
    assert "goes on without it" in done.stderr
    lines = record.read_bytes().splitlines(keepends=True)
    assert 5 < len(lines) < 20
    assert all(json.loads(line) for line in lines)
    assert lines[-1].endswith(b"\n")
