"""Questions on the record: one answer is taken, all others are recorded and refused, and nothing decides by itself."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest
from asking import OPTIONS, Asked, ask, delivery, question_in, resume

from dissensus.cli.inbox_look import looker
from dissensus.errors import RunError, UsageError
from dissensus.record.event import Draft, Event
from dissensus.record.memory import MemoryStore
from dissensus.record.opening import open_record
from dissensus.record.verify import verify
from dissensus.run import runs
from dissensus.run.casting import active_seconds
from dissensus.run.inbox import Question, State, questions_in, questions_of
from dissensus.run.inbox_answers import Given, idempotency_key, judge
from dissensus.run.inbox_desk import as_recorded, finish, hand_in, hand_on
from dissensus.run.inbox_folder import find, read_inbox, short
from dissensus.run.inbox_letters import drop, folder_of, waiting
from dissensus.run.inbox_rules import Rules, standing_rules, withdraw_rule
from dissensus.run.performers import Live
from dissensus.run.render import describe, render
from dissensus.script.effects import AskPerson
from dissensus.script.outcomes import PersonAnswer, from_data, to_data
from dissensus.script.persons import Cited, Exhibit, Option, fingerprint, shown_digest

NOW = 1_800_000_000.0


def given(question: Question, choice: str = "A", who: str = "kim", **more: Any) -> Given:
    said: dict[str, Any] = {"principal": who, "choice": choice, "reason": "", **more}
    said.setdefault("idempotency_key", idempotency_key(question, said))
    return Given(question=question.id, authenticated_by="account:kim", at=NOW, **said)


@pytest.fixture
def asked(tmp_path: Path) -> Question:
    """A question about two reports, whose sources are pinned beside its record."""
    return ask(tmp_path / "a.db", Asked(exhibits=delivery(tmp_path)))


def events_of(question: Question) -> list[Event]:
    with open_record(question.record) as store:
        return list(store.read())


# --- the question as an event


def test_a_plain_question_is_recorded_and_hashed_as_it_always_was() -> None:
    job = render(AskPerson("who?", ("ada", "ben")), "person", None, (), 0)
    what = {"call": "person", "options": ["ada", "ben"], "question": "who?"}
    assert job.request == hashlib.sha256(msgspec.json.encode(what, order="deterministic")).hexdigest()
    assert describe(job) == {"request": job.request, "question": "who?", "options": ["ada", "ben"]}


def test_what_an_older_version_recorded_is_read() -> None:
    store = MemoryStore()
    store.append(
        [
            Draft(kind="run", key="run", body={"procedure": "old"}),
            Draft(kind="person", key="person", body={"request": "r", "question": "who?", "options": ["ada"]}),
            Draft(kind="waiting", body={"keys": ["person"]}),
        ]
    )
    (question,) = questions_in(store.read())
    assert (question.text, question.options, question.state) == ("who?", (Option("ada"),), State.OPEN)
    old = {"kind": "person-answer", "answer": "ada", "reason": "", "who": "kim"}
    assert to_data(from_data(old)) == old
    new = PersonAnswer(answer="A", authenticated_by="account:kim", scopes={"A": "now"}, shown="ff", version=2, at=1.5)
    assert from_data(msgspec.json.decode(msgspec.json.encode(to_data(new)))) == new


def test_what_is_shown_is_part_of_what_is_asked_and_how_it_is_handled_is_not(tmp_path: Path) -> None:
    sides = delivery(tmp_path)
    plain = AskPerson("?", OPTIONS, exhibits=sides)
    same = replace(plain, deadline_s=5.0, remind_s=1.0, asked_to=("kim",), sources=("x",))
    other = replace(plain, exhibits=(sides[0],))
    hashes = [render(one, "k", None, (), 0).request for one in (plain, same, other)]
    assert hashes[0] == hashes[1] != hashes[2]
    assert describe(render(same, "k", None, (), 0))["deadline_s"] == 5.0


def test_a_question_holds_all_that_it_takes_to_show_it(asked: Question, tmp_path: Path) -> None:
    assert asked.exhibits == delivery(tmp_path)
    assert [side.cited[0].result for side in asked.exhibits] == ["EXACT", "EXACT"]
    assert asked.exhibits[1].cited[0].text == "47"
    assert asked.exhibits[1].cited[0].before.endswith("07:42,4711,received,")
    assert asked.shown == shown_digest(asked.text, asked.options, asked.exhibits)
    with open_record(asked.record) as store:
        assert questions_in(store.read(), asked.record) == questions_of(store)


def test_an_event_that_cannot_be_read_is_named() -> None:
    store = MemoryStore()
    store.append([Draft(kind="person", key="person", body={"request": "r", "question": 7})])
    with pytest.raises(RunError, match="event 1"):
        questions_in(store.read())


# --- one answer is taken


def test_the_accepted_answer_reaches_the_script_with_all_that_is_known_of_it(asked: Question) -> None:
    taken = hand_in(asked, given(asked, "B", reason="the log is exact"), look=looker())
    assert taken.answer is not None
    assert taken.answer.accepted
    assert taken.question.state is State.ANSWERED
    assert not taken.question.taken_up
    decision = resume(Path(asked.record))
    assert decision.answer == "B by kim"
    assert question_in(Path(asked.record)).taken_up
    events = events_of(asked)
    (outcome,) = [event for event in events if event.kind == "outcome" and event.key == "person"]
    (answer,) = [event for event in events if event.kind == "question-answer"]
    assert outcome.body["answered"] == answer.seq
    assert from_data(outcome.body["outcome"]) == PersonAnswer(
        answer="B", reason="the log is exact", who="kim", authenticated_by="account:kim", shown=asked.shown, at=NOW
    )
    assert [item["result"] for item in answer.body["shown"]["items"]] == ["EXACT", "EXACT"]
    assert answer.body["shown"]["items"][0]["text_sha256"] == hashlib.sha256(b"pallets: 48").hexdigest()
    replayed = runs.replay(asked.record)
    assert replayed.identical
    assert verify(asked.record).complete


def test_the_second_answer_is_recorded_and_refused_before_and_after_the_run_has_ended(asked: Question) -> None:
    hand_in(asked, given(asked, "B"))
    second = hand_in(asked, given(asked, "A", "lee"))
    resume(Path(asked.record))
    third = hand_in(asked, given(asked, "A", "max"))
    refused = [one.answer.refused for one in (second, third) if one.answer is not None]
    assert refused == ["answered", "answered"]
    assert "kim" in (third.answer.says if third.answer is not None else "")
    now = question_in(Path(asked.record))
    assert [(one.principal, one.accepted) for one in now.answers] == [("kim", True), ("lee", False), ("max", False)]
    assert resume(Path(asked.record)).answer == "B by kim"
    assert runs.replay(asked.record).identical
    assert verify(asked.record).complete


def test_the_same_attempt_again_gets_the_first_result_and_leaves_no_trace(asked: Question) -> None:
    attempt = given(asked, "B")
    first = hand_in(asked, attempt)
    length = len(events_of(asked))
    assert hand_in(asked, replace(attempt, choice="A")).answer == first.answer
    assert len(events_of(asked)) == length


def test_what_was_refused_may_be_tried_again(tmp_path: Path) -> None:
    asked = ask(tmp_path / "a.db", Asked(asked_to=("lee",)))
    keys = []
    for _ in range(3):
        now = question_in(tmp_path / "a.db")
        attempt = given(now, "A", "kim")
        keys.append(attempt.idempotency_key)
        hand_in(now, attempt)
    assert len(set(keys)) == 3
    assert [one.refused for one in question_in(Path(asked.record)).answers] == ["unauthorised"] * 3


def test_nobody_but_those_asked_may_answer(tmp_path: Path) -> None:
    asked = ask(tmp_path / "a.db", Asked(asked_to=("lee",)))
    taken = hand_in(asked, given(asked, "A", "kim"))
    assert taken.answer is not None
    assert (taken.answer.accepted, taken.answer.refused) == (False, "unauthorised")
    assert question_in(tmp_path / "a.db").state is State.OPEN
    right = hand_in(asked, given(asked, "A", "lee"))
    assert right.answer is not None
    assert right.answer.accepted


def test_who_has_to_be_known_by_an_account_cannot_be_named(tmp_path: Path) -> None:
    asked = ask(tmp_path / "a.db", Asked(asked_to=("account:kim",)))
    said = given(asked, "A", "kim")
    assert judge(asked, replace(said, authenticated_by="stated:account=lee"), ()).refused == "unauthorised"
    assert judge(asked, replace(said, principal="account:kim", authenticated_by="x"), ()).refused == "unauthorised"
    assert judge(asked, said, ()).refused == ""


@pytest.mark.parametrize(
    ("change", "refused"),
    [
        ({"choice": "C"}, "unknown-choice"),
        ({"choice": "both"}, "scopes"),
        ({"choice": "both", "scopes": {"A": "now", "B": " "}}, "scopes"),
        ({"choice": "A", "scopes": {"A": "now"}}, "scopes"),
        ({"choice": "A", "rule": True}, "no-rule"),
        ({"version": 2}, "version"),
        ({"shown": "0" * 64}, "not-shown"),
        ({"shown": "abc"}, "not-shown"),
        ({"choice": "both", "scopes": {"A": "now", "B": "then"}}, ""),
    ],
)
def test_an_answer_that_cannot_stand_is_refused(asked: Question, change: dict[str, Any], refused: str) -> None:
    verdict = judge(asked, replace(given(asked), **change), asked.exhibits)
    assert (verdict.refused, verdict.again) == (refused, False)
    assert bool(verdict.says) is bool(refused)


def test_what_was_shown_is_named_by_enough_of_its_digest(asked: Question) -> None:
    for length, taken in ((11, False), (12, True), (64, True)):
        assert (judge(asked, given(asked, shown=asked.shown[:length]), asked.exhibits).refused == "") is taken


def test_free_text_is_an_answer_where_there_are_no_options(tmp_path: Path) -> None:
    asked = ask(tmp_path / "a.db", Asked(options=()))
    assert judge(asked, given(asked, " "), ()).refused == "unknown-choice"
    hand_in(asked, given(asked, "about noon"))
    assert resume(tmp_path / "a.db").answer == "about noon by kim"


def test_a_question_that_ended_without_an_answer_takes_none() -> None:
    store = MemoryStore()
    store.append(
        [
            Draft(kind="person", key="person", body={"request": "r", "question": "who?", "options": []}),
            Draft(kind="outcome", key="person", actor="person", body={"outcome": {"kind": "cancelled", "reason": ""}}),
        ]
    )
    (question,) = questions_in(store.read())
    assert question.state is State.WITHDRAWN
    assert judge(question, given(question, "me"), ()).refused == "withdrawn"


# --- what was shown has changed


def test_a_source_that_was_altered_in_between_is_asked_again(asked: Question, tmp_path: Path) -> None:
    look = looker()
    pinned = tmp_path / "evidence" / str(asked.exhibits[0].cited[0].item["digest"])
    pinned.chmod(0o644)
    pinned.write_text("Delivery note 8812\norder 4711\npallets: 84\nsigned: R. Kern\n")
    taken = hand_in(asked, given(asked, "A", shown=asked.shown), look=look)
    assert taken.answer is not None
    assert (taken.answer.refused, taken.question.version) == ("changed", 2)
    assert "delivery note" in taken.answer.says
    again = question_in(tmp_path / "a.db")
    assert again.state is State.OPEN
    assert again.exhibits[0].cited[0].result == "NOT_FOUND"
    assert again.shown == shown_digest(again.text, again.options, look(again)) != asked.shown
    old = hand_in(again, given(again, "A", version=1, shown=asked.shown), look=look)
    assert old.answer is not None
    assert old.answer.refused == "version"
    new = hand_in(again, given(again, "need-more", version=2, shown=again.shown), look=look)
    assert new.answer is not None
    assert new.answer.accepted
    decision = resume(tmp_path / "a.db")
    assert decision.answer == "need-more by kim"
    assert runs.replay(asked.record).identical


def test_a_live_source_that_changed_is_a_change_too_and_says_so(asked: Question, tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("time,order,event,pallets\n")
    taken = hand_in(asked, given(asked, "B"), look=looker())
    assert taken.answer is not None
    assert taken.answer.refused == "changed"
    assert "live source" in taken.answer.says
    assert taken.question.exhibits[1].cited[0].live == "CHANGED"
    assert taken.question.exhibits[1].cited[0].text == "47"  # what was pinned still says so


def test_an_answer_to_what_nobody_could_reopen_is_bound_to_what_was_recorded(asked: Question) -> None:
    assert as_recorded(asked) == asked.exhibits
    taken = hand_in(asked, given(asked, "A", shown=asked.shown[:16]))
    assert taken.answer is not None
    assert taken.answer.accepted


def test_where_the_script_reopened_nothing_what_is_shown_with_the_answer_counts(tmp_path: Path) -> None:
    sides = tuple(
        replace(side, cited=tuple(replace(one, result="", text=None) for one in side.cited))
        for side in delivery(tmp_path)
    )
    asked = ask(tmp_path / "a.db", Asked(exhibits=sides))
    assert asked.shown == ""
    taken = hand_in(asked, given(asked, "A"), look=looker())
    assert taken.answer is not None
    assert taken.answer.accepted
    assert [item["result"] for item in taken.answer.shown["items"]] == ["EXACT", "EXACT"]


def test_context_and_an_unchecked_live_source_do_not_count_as_change() -> None:
    cited = Cited(item={"digest": "d", "quote": "q"}, result="EXACT", text="q")
    assert fingerprint(cited) == fingerprint(replace(cited, before="x", live="SAME", hint="h", where="line 1"))
    for change in ({"text": "r"}, {"result": "MOVED"}, {"live": "GONE"}, {"item": {"digest": "e", "quote": "q"}}):
        assert fingerprint(cited) != fingerprint(replace(cited, **change))


# --- answers that wait


def test_an_answer_is_kept_while_another_process_writes_the_record_and_taken_in_then(asked: Question) -> None:
    with open_record(asked.record, "a"):
        taken = hand_in(asked, given(asked, "B"), wait_s=0.0)
        assert taken.answer is None
        assert "another process" in taken.kept
        assert [one.choice for _, one in waiting(asked.record)] == ["B"]
    again = hand_in(asked, replace(given(asked, "A", "lee"), at=NOW + 1))
    assert again.answer is not None
    assert again.answer.refused == "answered"  # the first to be handed in was first
    assert not folder_of(asked.record).exists()


def test_what_is_no_answer_is_put_aside_and_harms_nobody(asked: Question) -> None:
    path = drop(asked.record, given(asked, "B"))
    path.with_name(f"{0:020d}-x.json").write_bytes(b'{"question": 3}')
    path.with_name(f"{1:020d}-y.json").write_bytes(b"\xff" * 10)
    path.with_name("notes.txt").write_text("mine")
    drop(asked.record, replace(given(asked, "B"), question="0:1", idempotency_key="other"))
    assert len(finish(read_inbox(Path(asked.record).parent))) == 0
    assert question_in(Path(asked.record)).state is State.ANSWERED
    left = sorted(one.suffix for one in folder_of(asked.record).iterdir())
    assert left == [".txt", ".unreadable", ".unreadable"]


# --- one question for identical disputes


def test_one_answer_serves_all_questions_that_are_the_same(tmp_path: Path) -> None:
    sides = delivery(tmp_path)
    same = Asked(exhibits=sides, dedupe_key="k")
    first, second = (ask(tmp_path / f"{name}.db", same) for name in "ab")
    ask(tmp_path / "c.db", Asked(exhibits=sides, dedupe_key="other"))
    ask(tmp_path / "d.db", Asked(exhibits=sides[:1], dedupe_key="k"))
    ask(tmp_path / "e.db", Asked(exhibits=sides))
    ask(tmp_path / "f.db", Asked(exhibits=sides))
    inbox = read_inbox(tmp_path)
    assert sorted(map(len, inbox.groups())) == [1, 1, 1, 1, 2]
    taken = hand_in(first, given(first, "B"), look=looker())
    assert [one.question.id for one in taken.copies] == [second.id]
    copy = question_in(tmp_path / "b.db").accepted
    assert copy is not None
    assert (copy.copied_from, copy.principal, copy.choice) == (first.id, "kim", "B")
    assert resume(tmp_path / "b.db").answer == "B by kim"
    assert {one.record for one in read_inbox(tmp_path).open()} == {str(tmp_path / f"{name}.db") for name in "cdef"}
    later = ask(tmp_path / "g.db", same)
    assert later.state is State.OPEN  # an answer is no rule
    assert hand_on(question_in(tmp_path / "a.db")) == ()


def test_names_and_titles_are_other_words_for_the_same_question(tmp_path: Path) -> None:
    """Claims and evidence are in the key; how a case, a report or its author is called makes no other question."""
    sides = delivery(tmp_path)
    renamed = tuple(replace(side, title="Renamed", text="Perhaps.", facts=(("reported by", "zoe"),)) for side in sides)
    first = ask(tmp_path / "a.db", Asked(exhibits=sides, dedupe_key="k"))
    other = Asked(
        "Case 2: which?", tuple(replace(one, text=f"{one.text}!") for one in OPTIONS), renamed, dedupe_key="k"
    )
    second = ask(tmp_path / "b.db", other)
    ask(tmp_path / "c.db", Asked(options=OPTIONS[:1], exhibits=sides, dedupe_key="k"))
    taken = hand_in(first, given(first, "B"), look=looker())
    assert [(one.question.id, one.answer and one.answer.accepted) for one in taken.copies] == [(second.id, True)]


def test_a_copy_is_refused_where_the_answerer_may_not_answer(tmp_path: Path) -> None:
    first = ask(tmp_path / "a.db", Asked(dedupe_key="k"))
    ask(tmp_path / "b.db", Asked(dedupe_key="k", asked_to=("lee",)))
    taken = hand_in(first, given(first, "B"))
    assert [one.answer.refused for one in taken.copies if one.answer is not None] == ["unauthorised"]
    assert question_in(tmp_path / "b.db").state is State.OPEN


def test_a_copy_that_was_not_handed_on_is_handed_on_by_whoever_comes_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = (ask(tmp_path / f"{name}.db", Asked(dedupe_key="k")) for name in "ab")

    def die(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("dissensus.run.inbox_desk.hand_on", die)
    with pytest.raises(KeyboardInterrupt):
        hand_in(first, given(first, "B"))
    monkeypatch.undo()
    assert question_in(tmp_path / "b.db").state is State.OPEN
    assert [one.question.id for one in finish(read_inbox(tmp_path))] == [second.id]
    assert finish(read_inbox(tmp_path)) == []
    assert question_in(tmp_path / "b.db").state is State.ANSWERED


# --- standing rules


def test_an_answer_is_a_rule_only_by_a_yes_of_its_own(tmp_path: Path) -> None:
    first, second, third = (ask(tmp_path / f"{name}.db", Asked()) for name in "abc")
    hand_in(first, given(first, "B"))
    assert standing_rules(tmp_path) == ()
    hand_in(second, given(second, "B", rule=True, reason="always so"))
    (rule,) = standing_rules(tmp_path)
    assert (rule.name, rule.question, rule.principal, rule.reason) == (
        "note-beats-log v1",
        second.id,
        "kim",
        "always so",
    )
    assert rule.data == OPTIONS[1].rule
    hand_in(third, given(third, "B", rule=True))
    assert [one.name for one in standing_rules(tmp_path)] == ["note-beats-log v2"]
    events = events_of(third)
    answer, made = [event for event in events if event.kind in ("question-answer", "standing-rule")]
    assert answer.body["rule"] == "note-beats-log v2"
    assert made.body["question"] == third.id
    resume(tmp_path / "c.db")
    (outcome,) = [event for event in events_of(third) if event.kind == "outcome" and event.key == "person"]
    assert outcome.body["outcome"]["rule"] == "note-beats-log v2"


def test_a_rule_that_was_taken_back_stands_no_more_and_keeps_its_place(tmp_path: Path) -> None:
    asked = ask(tmp_path / "a.db", Asked())
    hand_in(asked, given(asked, "B", rule=True))
    who = {"principal": "lee", "authenticated_by": "account:lee", "at": NOW, "reason": "no"}
    withdraw_rule(Rules.read(tmp_path), "note-beats-log", **who)  # type: ignore[arg-type] # spelled out above
    rules = Rules.read(tmp_path)
    assert rules.standing() == ()
    assert [(one.version, one.withdrawn) for one in rules.all] == [(1, False), (2, True)]
    assert rules.next_version("note-beats-log") == 3
    with pytest.raises(UsageError, match="stands"):
        withdraw_rule(rules, "note-beats-log", **who)  # type: ignore[arg-type] # spelled out above


def test_two_rules_of_one_version_that_differ_are_used_by_nobody(tmp_path: Path) -> None:
    for name, over in (("a", 1), ("b", 2)):
        rule = {"id": "x", "says": "?", "over": over}
        asked = ask(tmp_path / name / "r.db", Asked(options=(Option("A", rule=rule),)))
        hand_in(asked, given(asked, "A", rule=True))
    assert [one.version for one in Rules.read(tmp_path).all] == [1, 1]
    assert Rules.read(tmp_path).conflicts() == ("x",)
    assert standing_rules(tmp_path) == ()
    assert [one.name for one in standing_rules(tmp_path / "a")] == ["x v1"]


# --- the run meanwhile


def test_waiting_costs_no_working_time(tmp_path: Path) -> None:
    times = iter(range(0, 10**9, 1))
    clock: Callable[[], float] = lambda: float(next(times))  # noqa: E731 - a clock that a name is needed for
    asked = ask(tmp_path / "a.db", Asked(), clock=clock)
    before = active_seconds(events_of(asked))
    hand_in(asked, given(asked, "C"), clock=lambda: 1e6)
    hand_in(asked, given(asked, "B"), clock=lambda: 2e6)
    assert active_seconds(events_of(asked)) == before
    with open_record(asked.record, "a", clock=lambda: 3e6) as store:
        store.append([Draft(kind="resumed"), Draft(kind="note")])
    assert active_seconds(events_of(asked)) == before


def test_a_run_that_waited_is_resumed_by_changed_procedures_that_come_to_the_same_question(
    asked: Question, monkeypatch: pytest.MonkeyPatch
) -> None:
    hand_in(asked, given(asked, "B"))
    monkeypatch.setattr(runs, "source_digest", lambda: "another")
    assert resume(Path(asked.record)).answer == "B by kim"


def test_and_by_none_that_ask_something_else(asked: Question, monkeypatch: pytest.MonkeyPatch) -> None:
    from dissensus.decide.procedures import PROCEDURES

    hand_in(asked, given(asked, "B"))

    def other(settings: Any, seats: Any, seed: int) -> Any:
        yield AskPerson("another question")
        return (yield from build(settings, seats, seed))

    build = PROCEDURES["asking"].build
    monkeypatch.setattr(runs, "source_digest", lambda: "another")
    monkeypatch.setitem(PROCEDURES, "asking", replace(PROCEDURES["asking"], build=other))
    with pytest.raises(RunError, match="source differs"):
        resume(Path(asked.record))
    monkeypatch.setitem(PROCEDURES, "asking", replace(PROCEDURES["asking"], build=build, version="2"))
    with pytest.raises(RunError, match="source differs"):
        resume(Path(asked.record))
    assert question_in(Path(asked.record)).state is State.ANSWERED  # the answer is not lost


def test_a_run_in_which_nobody_has_a_seat_is_resumed_without_a_panel(tmp_path: Path) -> None:
    path = tmp_path / "a.db"

    async def go() -> Any:
        with open_record(path, "x") as store:
            settings = {"asked": msgspec.to_builtins(Asked())}
            live = Live(pytest.fail)
            return await runs.start(procedure="asking", settings=settings, seats=(), performer=live, record=store)

    anyio.run(go)
    asked = question_in(path)
    hand_in(asked, given(asked, "A"))
    assert resume(path).answer == "A by kim"


# --- finding a question


def test_a_question_is_found_by_as_much_of_its_name_as_tells_it(tmp_path: Path) -> None:
    runs_ = ("12345678aaaaaaaa", "12345678bbbbbbbb")
    first, second = (ask(tmp_path / run / "a.db", Asked(), run_id=run) for run in runs_)
    path = tmp_path / runs_[0] / "a.db"
    for name in (first.id, runs_[0], "12345678a", "12345678a:4", str(path), f"{path}:4"):
        assert find(name, tmp_path)[0].id == first.id
    assert short(second, [first, second]) == "12345678b:4"
    assert short(second) == "1234:4"
    for name in ("", "zz", f"{runs_[0]}:9", str(tmp_path / "none.db"), f"{path}:9"):
        with pytest.raises(UsageError):
            find(name, tmp_path)
    with pytest.raises(UsageError, match="any of 2"):
        find("1234", tmp_path)
    hand_in(first, given(first, "A"))
    assert find("1234", tmp_path)[0].id == second.id  # the one that is open


def test_a_damaged_record_and_foreign_files_keep_nobody_from_the_others(asked: Question, tmp_path: Path) -> None:
    damaged = tmp_path / "z.db"
    ask(damaged, Asked())
    data = bytearray(damaged.read_bytes())
    at = data.rindex(b'"kind":"person"')
    data[at - 40 : at] = b"\xff" * 40
    damaged.write_bytes(bytes(data))
    (tmp_path / "notes.db").write_text("no database")
    (tmp_path / ".hidden").mkdir()
    (tmp_path / ".hidden" / "h.db").write_bytes(Path(asked.record).read_bytes())
    (tmp_path / "copy.db").write_bytes(Path(asked.record).read_bytes())  # the same run, once
    found = read_inbox(tmp_path)
    assert [one.id for one in found.open()] == [asked.id]
    assert [path.name for path, _ in found.problems] == ["z.db"]


def test_exhibits_are_plain_data() -> None:
    side = Exhibit(id="A", facts=(("value", "1"),), cited=(Cited(item={"digest": "d"}),))
    assert msgspec.convert(msgspec.json.decode(msgspec.json.encode(side)), Exhibit) == side
