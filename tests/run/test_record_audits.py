"""Every record that the product makes audits clean, or says what was not: through votes, faults, races and forks."""

from __future__ import annotations

import json
import runpy
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest
from auditing import Audited, audited
from click.testing import CliRunner
from plays import SEATS, Clerk, decision, procedure

from dissensus.agents.scripted import Rule, Scripted
from dissensus.cli.main import main
from dissensus.decide.procedures import PROCEDURES, settings_of_vote
from dissensus.decide.settings import VoteSettings
from dissensus.record.jsonl import export_jsonl
from dissensus.record.memory import MemoryStore
from dissensus.record.opening import open_record
from dissensus.record.store import Store
from dissensus.run import runs
from dissensus.run.performers import Live
from dissensus.script.calls import Capability, Generate
from dissensus.script.decisions import Status
from dissensus.script.effects import Ask, AskPerson, Continue, Post, RunCheck, Script, UseTool
from dissensus.script.outcomes import CheckResult, Reply, ToolResult
from dissensus.script.questions import Question
from dissensus.script.seats import Seat, ToolSpec

PENS = Question(text="A shop sells pens at 3 for 2 euros. What do 12 pens cost?", kind="number")
COLOUR = Question(text="Which colour?", options=("red", "green"))
YES = Question(text="Is water wet?", options=("yes", "no"))
BROKEN = ["refusal", "invalid", "timeout", "budget", "connect", "status", "empty", "context-length", "crashed"]


def seats(*names: str, **more: Any) -> list[Seat]:
    return [Seat(agent=name, model="scripted", capabilities=frozenset({Capability.CHAT}), **more) for name in names]


def hold(
    models: Mapping[str, Any],
    question: Question = PENS,
    store: Store | None = None,
    chairs: list[Seat] | None = None,
    tried: Mapping[str, Any] | None = None,
    **settings: Any,
) -> Store:
    """Hold a vote, and return its record."""
    store = store if store is not None else MemoryStore()
    chairs = chairs or seats(*models)

    async def go() -> Any:
        return await runs.start(
            procedure="vote",
            settings=settings_of_vote(question, VoteSettings(**settings)),
            seats=chairs,
            performer=Live(models.__getitem__, checks=tried),
            record=store,
        )

    anyio.run(go)
    return store


def clean(store: Store) -> Audited:
    """The audit of a record in which nothing is wrong and every call ended."""
    found = audited(store.read())
    assert [one.says for one in found.findings] == []
    assert found.tally.skipped_count == 0
    assert not [owed for owed in found.obligations if owed.status in ("pending", "unknown", "violated")]
    calls = sum(event.kind in ("ask", "score", "check", "tool", "person") for event in store.read())
    assert found.tally.requests == found.tally.threads == calls
    assert found.tally.tagged == found.tally.messages
    return found


async def _check(_question: str, answer: str) -> CheckResult:
    return CheckResult(verdict="accepted" if answer.startswith("8") else "error" if "24" in answer else "rejected")


SAYS = {"ada": Scripted("Answer: 8 euros"), "ben": Scripted("Answer: 24 euros"), "cleo": Scripted("Answer: 8 euros")}


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"rule": "majority"},
        {"levers": ("temperature", "styles", "rephrase")},
        {"stop": "when-decided"},
        {"checks": ("sum",)},
        {"checks": ("sum",), "check_rule": "overrule"},
        {"checks": ("sum",), "on_disagreement": "check"},
        {"on_disagreement": "stronger", "stronger": "cleo", "stronger_decides": True},
        {"on_unanimity": "stronger", "stronger": "ben"},
        {"group_by": "model", "grouper": "cleo"},
        {"read_by": "parser", "temperature": 0.0},
    ],
    ids=repr,
)
def test_a_vote_of_any_kind_audits_clean(settings: dict[str, Any]) -> None:
    found = clean(hold(SAYS, tried={"sum": _check}, **settings))
    wanted = {"fulfilled"} | ({"declared:failed"} if "checks" in settings else set())
    wanted |= {"declared:cancelled"} if "stop" in settings else set()
    assert set(found.statuses().values()) <= wanted


def test_options_that_are_scored_audit_clean() -> None:
    chairs = [replace(seat, capabilities=frozenset(Capability)) for seat in seats("ada", "ben", "cleo")]
    models = {name: Scripted("red", capabilities=frozenset(Capability)) for name in ("ada", "ben", "cleo")}
    store = hold(models, COLOUR, chairs=chairs, read_by="log-probability")
    assert set(clean(store).statuses().values()) == {"fulfilled"}
    assert {event.kind for event in store.read()} >= {"score"}


@pytest.mark.parametrize("fault", BROKEN)
def test_a_call_that_fails_is_said_to_have_failed(fault: str) -> None:
    models = {**SAYS, "ben": Scripted([Rule("", fail=fault)])}
    store = hold(models)
    found = audited(store.read())
    assert found.findings == []
    assert found.statuses() == {
        "ada/ask/ada": "fulfilled",
        "ben/ask/ben": {"refusal": "declared:refused", "timeout": "expired"}.get(fault, "declared:failed"),
        "cleo/ask/cleo": "fulfilled",
    }
    assert found.tally.unanswered == (1 if fault == "timeout" else 0)


def test_an_unreadable_reply_is_asked_about_once_more_and_both_are_answered() -> None:
    models = {**SAYS, "ben": Scripted(["8 or maybe 24 euros?", "7 or 9 euros?"])}
    found = clean(hold(models))
    assert found.statuses()["ben/repair/ben"] == "fulfilled"


class Slow(Clerk):
    def __init__(self, seconds: float) -> None:
        super().__init__()
        self.seconds = seconds

    async def generate(self, call: Generate) -> Reply:
        self.calls.append(call)
        await anyio.sleep(self.seconds)
        return Reply(text="Answer: 8 euros")


def test_who_is_silent_owes_past_its_deadline_the_spare_answers_and_what_comes_later_is_late() -> None:
    chairs = seats("ada", "ben", "cleo")
    chairs[1] = replace(chairs[1], deadline_s=0.02)
    chairs[2] = replace(chairs[2], spare=True)
    store = hold({"ada": Slow(0.3), "ben": Slow(0.12), "cleo": SAYS["cleo"]}, chairs=chairs)
    found = audited(store.read())
    assert found.statuses() == {
        "ada/ask/ada": "fulfilled", "ben/ask/ben": "expired", "ben/ask/cleo": "fulfilled",
    }  # fmt: skip
    assert [(one.verdict, one.level, one.party) for one in found.findings] == [("late", "warning", "ben")]
    late = next(owed for owed in found.obligations if owed.debtor == "ben")
    assert late.late_by_s is not None
    assert 0 < late.late_by_s < 0.3
    assert found.tally.violations == 0


def test_silence_that_ends_the_log_is_past_its_deadline_all_the_same() -> None:
    store = hold({"ada": Slow(9)}, chairs=seats("ada", deadline_s=0.02))
    assert audited(store.read()).statuses() == {"ada/ask/ada": "expired"}


def test_a_cancelled_voter_was_called_off_and_confirmed_it() -> None:
    store = hold({"ada": SAYS["ada"], "ben": SAYS["ada"], "cleo": Slow(9)}, stop="when-decided", levers=())
    found = clean(store)
    assert found.statuses()["cleo/ask/cleo"] == "declared:cancelled"
    assert found.statuses("cancel") == {"cleo/ask/cleo": "fulfilled"}


def test_a_spare_that_is_no_longer_needed_was_called_off_and_the_silent_one_still_owes() -> None:
    chairs = seats("ada", "ben", "cleo", "dan")
    chairs[2] = replace(chairs[2], deadline_s=0.02)
    chairs[3] = replace(chairs[3], spare=True)
    models = {"ada": SAYS["ada"], "ben": Slow(0.15), "cleo": Slow(9), "dan": Slow(9)}
    found = audited(hold(models, chairs=chairs, stop="when-decided", levers=()).read())
    assert found.findings == []
    assert found.statuses() == {
        "ada/ask/ada": "fulfilled", "ben/ask/ben": "fulfilled",
        "cleo/ask/cleo": "expired", "cleo/ask/dan": "declared:cancelled",
    }  # fmt: skip


def test_a_reply_within_a_deadline_is_in_time_however_late_it_was_written_down() -> None:
    chairs = seats("ada", deadline_s=5.0)
    store = hold({"ada": SAYS["ada"]}, chairs=chairs)
    events = [replace(event, time=event.time + (7 * 86400 if event.kind != "ask" else 0)) for event in store.read()]
    assert audited(events).statuses() == {"ada/ask/ada": "fulfilled"}


def test_tools_and_checks_and_continuations_and_the_person(monkeypatch: pytest.MonkeyPatch) -> None:
    class Tool:
        async def call(self, arguments: Mapping[str, Any], _deadline_s: float | None) -> ToolResult:
            return ToolResult(text="8", ok=arguments != {"no": 1})

    def build(*_: Any) -> Script:
        yield [UseTool("ada", "sum", {}), UseTool("ada", "sum", {"no": 1}), UseTool("ben", "none", {})]
        yield [Continue("ada", "go on", "a"), RunCheck("sum", "q", "8"), Ask("ben", "said")]
        yield Post("ben", "for all to hear")
        yield AskPerson("who?")
        return decision("never")

    monkeypatch.setitem(PROCEDURES, "test", procedure(build))
    store = MemoryStore()
    performer = Live(lambda _agent: Clerk(), tools={"sum": Tool()}, checks={"sum": _check})

    async def go() -> Any:
        return await runs.start(procedure="test", settings={}, seats=SEATS, performer=performer, record=store)

    assert anyio.run(go).status is Status.WAITING
    found = audited(store.read())
    assert found.findings == []
    assert found.statuses() == {
        "tool/ada": "fulfilled", "tool/ada/2": "declared:failed", "tool/ben": "declared:failed",
        "continue/ada": "declared:failed", "check/sum": "fulfilled", "ask/ben": "fulfilled", "person": "pending",
    }  # fmt: skip
    assert {owed.debtor for owed in found.obligations} == {"sum", "none", "ada", "ben", "person"}
    assert (found.tally.messages, found.tally.tagged) == (14, 13)  # the announcement carries no act
    assert found.tally.asides["waiting"] == 1


def test_an_agent_with_tools_audits_clean() -> None:
    class Adder:
        async def call(self, _arguments: Mapping[str, Any], _deadline_s: float | None) -> ToolResult:
            return ToolResult(text="8 euros")

    adds = Scripted(['{"tool": "sum", "arguments": {}}', '{"answer": "8 euros"}'])
    chairs = seats("ada", tools=(ToolSpec(name="sum", description="adds"),))
    store = MemoryStore()

    async def go() -> Any:
        return await runs.start(
            procedure="vote", settings=settings_of_vote(PENS, VoteSettings()), seats=chairs,
            performer=Live(lambda _agent: adds, tools={"sum": Adder()}), record=store,
        )  # fmt: skip

    assert anyio.run(go).answer == "8 EUR"
    assert set(clean(store).statuses()) == {"ada/ask/ada", "ada/ask/ada/tool", "ada/ask/ada/2"}


def test_forks_and_interrupted_runs_audit_as_they_are(tmp_path: Path) -> None:
    parent = tmp_path / "parent.db"
    with open_record(parent, "x") as store:
        hold(SAYS, store=store)
    with open_record(parent) as store:
        events = list(store.read())
    at = next(event.seq for event in events if event.kind == "outcome" and event.actor == "ben")
    child = MemoryStore()

    async def fork() -> Any:
        return await runs.fork(parent, child, Live(SAYS.__getitem__), at=at, text="Answer: 8 euros")

    anyio.run(fork)
    clean(child)
    found = audited(events[: at - 1])
    assert found.statuses()["ben/ask/ben"] == "pending"
    assert found.findings == []


def run_cli(*arguments: str) -> tuple[int, Any]:
    done = CliRunner().invoke(main, ["audit", *arguments, "--json"])
    return done.exit_code, json.loads(done.stdout) if done.stdout.startswith("{") else done.output


def test_the_command_reads_both_forms_of_a_record_by_what_they_hold(tmp_path: Path) -> None:
    path, lines, renamed = tmp_path / "run.db", tmp_path / "run.jsonl", tmp_path / "unknown.bin"
    with open_record(path, "x") as store:
        hold({**SAYS, "ben": Scripted([Rule("", fail="connect")])}, store=store)
    export_jsonl(path, lines)
    renamed.write_bytes(lines.read_bytes())
    reports = [run_cli(str(one)) for one in (path, lines, renamed)]
    for code, report in reports:
        assert code == 0
        assert report["format"] == "record"
        assert report["counts"]["violations"] == 0
        assert report["obligations"] == reports[0][1]["obligations"]
    piped = CliRunner().invoke(main, ["audit", "-", "--json"], input=lines.read_bytes())
    assert json.loads(piped.stdout)["obligations"] == reports[0][1]["obligations"]
    statuses = {one["thread"]: one["status"] for one in reports[0][1]["obligations"]}
    assert statuses == {"ada/ask/ada": "fulfilled", "ben/ask/ben": "declared:failed", "cleo/ask/cleo": "fulfilled"}


def test_a_damaged_record_is_not_audited(tmp_path: Path) -> None:
    path, lines = tmp_path / "run.db", tmp_path / "run.jsonl"
    with open_record(path, "x") as store:
        hold(SAYS, store=store)
    export_jsonl(path, lines)
    whole = lines.read_bytes()
    lines.write_bytes(whole.replace(b"24 euros", b"42 euros", 1))
    code, told = run_cli(str(lines))
    assert code == 4
    assert "is damaged" in told
    lines.write_bytes(whole[: len(whole) // 2])
    assert run_cli(str(lines))[0] == 4
    (tmp_path / "no.db").write_bytes(b"SQLite format 3\0" + bytes(4000))
    assert run_cli(str(tmp_path / "no.db"))[0] == 4


EXAMPLES = sorted((Path(__file__).resolve().parents[2] / "examples").glob("*.py"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_the_records_of_the_examples_audit_without_violations(
    example: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", [str(example)])
    try:
        runpy.run_path(str(example), run_name="__main__")
    except SystemExit as end:
        assert not end.code  # noqa: PT017 - an example may end with a status of its own
    for path in tmp_path.rglob("*.db"):
        if path.name != "damaged.db":
            code, report = run_cli(str(path))
            assert code == 0, report
            assert report["counts"]["violations"] == 0
            assert report["skipped"]["count"] == 0


def test_the_golden_record_reads_as_messages() -> None:
    golden = Path(__file__).resolve().parents[1] / "golden" / "v1.db"
    with open_record(golden) as store:
        found = audited(store.read())
    assert found.statuses() == {"round/1/ask/ada": "fulfilled", "round/1/ask/ben": "expired"}
    assert (found.tally.messages, found.tally.tagged, found.tally.violations) == (5, 3, 0)


def test_outcomes_that_cannot_be_read_are_skipped_and_said() -> None:
    store = hold(SAYS)
    events = [
        replace(event, body={**event.body, "outcome": {"kind": "telepathy"}}) if event.actor == "ben" and
        event.kind == "outcome" else event
        for event in store.read()
        if not (event.kind == "ask" and event.actor == "procedure" and event.body.get("agent") == "ada")
    ]  # fmt: skip
    from dissensus.say.readers.base import Skipped
    from dissensus.say.readers.record import messages

    forged = replace(
        events[-1], kind="post", body={"sender": "ada", "to": ["ben"], "act": "request", "protocol": "a2a"}
    )
    assert isinstance(next(iter(messages([forged]))), Skipped)
    why = [item.why for item in messages(iter(events)) if isinstance(item, Skipped)]
    assert why == [
        "The outcome 'ada/ask/ada' answers no call of this record.",
        "The outcome 'ben/ask/ben' is of the unknown kind 'telepathy'.",
    ]
