"""From Python: decide, replay, resume, fork, on real records with a scripted panel."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest

import dissensus
from dissensus.agents.panel import ModelSpec, Panel
from dissensus.errors import NotRecorded, RecordDamaged, ReplayMismatch, RunError, UsageError
from dissensus.record.sqlite import open_record
from dissensus.record.verify import verify
from dissensus.run.casting import active_seconds, fork_from, resume_from
from dissensus.run.runs import head_of
from dissensus.script.effects import Ask, Note, Script
from dissensus.script.outcomes import Done
from dissensus.script.seats import Seat

QUESTION = "A shop sells pens at 3 for 2 euros. What do 12 pens cost?"


def panel(**replies: str) -> Panel:
    """A panel whose agents each have a scripted model of their own."""
    return Panel(
        seats=tuple(Seat(agent=name, model=f"scripted:{text}") for name, text in replies.items()),
        models={name: ModelSpec(reference=f"scripted:{text}") for name, text in replies.items()},
        model_of={name: name for name in replies},
    )


@pytest.fixture
def record(tmp_path: Path) -> Path:
    """The record of a vote that ended two to one."""
    path = tmp_path / "run.db"
    people = panel(ada="Answer: 8 euros", ben="Answer: 8 euros", cleo="Answer: 9 euros")
    decision = dissensus.vote(QUESTION, kind="number", panel=people, record=path)
    assert decision.answer == "8 EUR"
    assert decision.record == str(path)
    return path


def test_a_record_replays_to_the_identical_decision(record: Path) -> None:
    before = record.read_bytes()
    replayed = dissensus.replay(record)
    assert replayed.identical
    assert replayed.same_source
    assert replayed.decision.votes == {"8 EUR": 2.0, "9 EUR": 1.0}
    assert record.read_bytes() == before


def test_one_changed_byte_in_any_event_is_found_and_named(record: Path) -> None:
    db = sqlite3.connect(record)
    for (trigger,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
        db.execute(f"DROP TRIGGER {trigger}")
    for seq, body in db.execute("SELECT seq, body FROM events ORDER BY seq").fetchall():
        at = len(body) // 2
        changed = body[:at] + bytes([body[at] ^ 1]) + body[at + 1 :]
        with db:
            db.execute("UPDATE events SET body = ? WHERE seq = ?", (changed, seq))
        with pytest.raises(RecordDamaged) as caught:
            verify(record)
        assert caught.value.seq == seq
        with db:
            db.execute("UPDATE events SET body = ? WHERE seq = ?", (body, seq))
    db.close()
    assert verify(record).complete


def test_replay_with_another_script_names_the_key(record: Path) -> None:
    with open_record(record) as store:
        head = head_of(list(store.read()))
    other = {**head.settings, "question": {**head.settings["question"], "text": QUESTION.replace("12", "15")}}
    from dissensus.decide.procedures import PROCEDURES

    with pytest.raises(ReplayMismatch) as caught:
        dissensus.replay(record, script=PROCEDURES["vote"].build(other, head.seats, head.seed))
    assert caught.value.key == "ada/ask/ada"


def test_a_replay_that_leaves_recorded_events_undone_is_not_identical(record: Path) -> None:
    with open_record(record) as store:
        head = head_of(list(store.read()))

    def silent(script: Script) -> Script:
        """The same procedure, had it stopped noting its rule: every outcome and the decision stay as they were."""
        sent: Any = None
        while True:
            try:
                what = script.send(sent)
            except StopIteration as stop:
                return stop.value
            sent = Done() if isinstance(what, Note) and what.kind_of_note == "vote" else (yield what)

    replayed = dissensus.replay(record, script=silent(head.script()))
    assert replayed.decision == replayed.recorded
    assert [event.split(" ", 1)[1] for event in replayed.unused] == ["(vote, key vote)"]
    assert not replayed.identical


def test_a_fork_changes_one_reply_asks_nobody_else_and_names_its_parent(record: Path, tmp_path: Path) -> None:
    with open_record(record) as store:
        events = list(store.read())
    at = next(event.seq for event in events if event.kind == "outcome" and event.key == "ben/ask/ben")
    child = tmp_path / "child.db"

    async def go() -> Any:
        return await fork_from(record, child, at=at, text="Answer: 9 euros")

    decision = anyio.run(go)
    assert decision.answer == "9 EUR"
    assert decision.votes == {"9 EUR": 2.0, "8 EUR": 1.0}
    with open_record(child) as store:
        forked = list(store.read())
    parent = head_of(forked).parent
    assert parent is not None
    assert (parent["record"], parent["at"], parent["key"]) == ("run.db", at, "ben/ask/ben")
    assert parent["head"] == verify(record).head
    origins = [{name: one for name, one in event.body.items() if name in ("reused", "replaced")}
               for event in forked if event.kind == "outcome"]  # fmt: skip
    assert sorted(next(iter(origin)) for origin in origins) == ["replaced", "reused", "reused"]
    assert dissensus.replay(child).identical


def test_a_fork_by_prefix_asks_again_what_came_later(record: Path, tmp_path: Path) -> None:
    with open_record(record) as store:
        outcomes = [event.seq for event in store.read() if event.kind == "outcome"]
    child = tmp_path / "child.db"

    async def go() -> Any:
        return await fork_from(record, child, at=outcomes[0], text="Answer: 9 euros", reuse="prefix")

    anyio.run(go)
    with open_record(child) as store:
        reused = [event for event in store.read() if event.kind == "outcome" and "reused" in event.body]
    assert reused == []
    assert dissensus.replay(child).identical


@pytest.mark.parametrize("at", [0, 1, 10_000])
def test_a_fork_where_nothing_was_said_is_refused_before_a_file_is_made(record: Path, tmp_path: Path, at: int) -> None:
    child = tmp_path / "child.db"

    async def go() -> Any:
        return await fork_from(record, child, at=at, text="x")

    with pytest.raises(UsageError):
        anyio.run(go)
    assert not child.exists()


def cut(record: Path, into: Path, length: int) -> None:
    """What a crash after ``length`` events would have left."""
    with open_record(record) as store, open_record(into, "x", run_id=store.run_id) as left:
        rows = list(store.rows(1, length + 1))
        left.adopt(rows, dict(store.blobs()))


def test_resume_finishes_a_record_cut_anywhere(record: Path, tmp_path: Path) -> None:
    whole = dissensus.replay(record).decision
    length = verify(record).events
    for kept in range(1, length + 1):
        path = tmp_path / f"{kept}.db"
        cut(record, path, kept)
        decision = anyio.run(resume_from, path)
        assert decision.votes == whole.votes
        assert verify(path).complete
        assert dissensus.replay(path).identical


def test_an_unfinished_run_has_nothing_to_replay(record: Path, tmp_path: Path) -> None:
    path = tmp_path / "cut.db"
    cut(record, path, 7)
    with pytest.raises((RunError, NotRecorded), match="resume"):
        dissensus.replay(path)


def test_resume_refuses_another_source(record: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "cut.db"
    cut(record, path, 7)
    monkeypatch.setattr("dissensus.run.runs.source_digest", lambda: "another")
    with pytest.raises(RunError, match="source differs"):
        anyio.run(resume_from, path)


def test_two_dead_agents_are_said_and_three_are_counted() -> None:
    people = panel(ada="Answer: 8 euros", ben="Answer: 8 euros", cleo="Answer: 9 euros", dan="x", eve="x")
    dead = {name: ModelSpec(reference="scripted:", options={"dies_after": 0}) for name in ("dan", "eve")}
    people = Panel(seats=people.seats, models={**people.models, **dead}, model_of=people.model_of)
    decision = dissensus.vote(QUESTION, kind="number", panel=people)
    assert decision.failures == {"transport": 2}
    assert sum(decision.votes.values()) == 3
    assert [ballot.answer for ballot in decision.ballots[3:]] == [None, None]
    assert any("3 of 5" in warning for warning in decision.warnings)


def test_a_python_callable_can_check() -> None:
    people = panel(ada="Answer: 8", ben="Answer: 8", cleo="Answer: 9")

    def is_nine(_question: str, answer: str) -> bool:
        return answer.startswith("9")

    decision = dissensus.vote(QUESTION, kind="number", panel=people, check=is_nine)
    assert {check.answer: check.verdict for check in decision.checks} == {"8": "rejected", "9": "accepted"}
    assert decision.answer == "8"  # beside the vote, unless a setting says that it overrules


def test_a_call_is_given_up_when_the_time_of_the_budget_is_over(tmp_path: Path) -> None:
    from dissensus.agents.budget import Limits

    people = panel(ada="Answer: 8", ben="")
    rules = ModelSpec(reference="scripted:", options={"rules": [{"when": "", "fail": "stall"}]})
    people = replace(people, models={**people.models, "ben": rules}, budget=Limits(seconds=0.3))
    path = tmp_path / "x.db"
    decision = dissensus.vote(QUESTION, kind="number", panel=people, record=path)
    assert (decision.status, decision.failures) == ("open_budget", {"budget": 1})
    assert (decision.cost.calls, decision.cost.tokens_out) == (2, 2)
    assert any("The tokens of 1 call are not known" in warning for warning in decision.warnings)
    assert dissensus.replay(path).identical


def test_late_replies_are_counted_as_false_alarms_and_in_no_ballot(tmp_path: Path) -> None:
    people = panel(ada="Answer: 8", ben="Answer: 9", cleo="Answer: 9")
    slow, slower = (ModelSpec(reference="scripted:Answer: 8", options={"delay_s": delay}) for delay in (0.3, 0.8))
    people = replace(people, models={**people.models, "ada": slow, "ben": slower})
    people = replace(
        people, seats=tuple(replace(one, deadline_s=0.05 if one.agent == "ada" else None) for one in people.seats)
    )
    path = tmp_path / "x.db"
    decision = dissensus.vote(QUESTION, kind="number", panel=people, record=path)
    assert decision.failures == {"timeout": 1}
    assert decision.votes == {"8": 1.0, "9": 1.0}
    assert any(warning.startswith("1 reply came after the deadline") for warning in decision.warnings)
    assert dissensus.replay(path).identical
    cut = tmp_path / "cut.db"
    with open_record(path) as store, open_record(cut, "x", run_id=store.run_id) as left:
        left.adopt(list(store.rows(1, store.head().seq - 1)), dict(store.blobs()))
    assert anyio.run(resume_from, cut).warnings == decision.warnings


@pytest.mark.parametrize(
    ("question", "settings"),
    [("", {}), ("x", {"stronger": "nobody"}), ("x", {"on_unanimity": "check"}), ("x", {"read_by": "log-probability"})],
)
def test_what_cannot_be_is_refused_before_a_file_is_made(
    tmp_path: Path, question: str, settings: dict[str, str]
) -> None:
    path = tmp_path / "run.db"
    with pytest.raises(UsageError):
        dissensus.vote(
            question,
            panel=panel(ada="8"),
            record=path,
            settings=dissensus.VoteSettings(**settings),
        )
    assert list(tmp_path.iterdir()) == []


def test_a_budget_that_is_used_up_ends_open() -> None:
    from dissensus.agents.budget import Limits

    people = panel(ada="Answer: 8", ben="Answer: 8", cleo="Answer: 9")
    people = Panel(seats=people.seats, models=people.models, model_of=people.model_of, budget=Limits(calls=1))
    decision = dissensus.vote(QUESTION, kind="number", panel=people)
    assert decision.status == "open_budget"
    assert decision.answer is None
    assert decision.failures == {"budget": 2}


def test_time_between_sessions_is_not_time_at_work(record: Path) -> None:
    from dataclasses import replace

    with open_record(record) as store:
        events = list(store.read())[:4]
    times = [10.0, 12.0, 500.0, 503.0]
    kinds = ["run", "ask", "resumed", "outcome"]
    shifted = [replace(event, time=time, kind=kind) for event, time, kind in zip(events, times, kinds, strict=True)]
    assert active_seconds(shifted) == pytest.approx(5.0)
    assert active_seconds([]) == 0.0


def test_a_script_of_ones_own_can_be_replayed(record: Path) -> None:
    def other() -> Script:
        yield Ask("ada", "something else")

    with pytest.raises(ReplayMismatch):
        dissensus.replay(record, script=other())
