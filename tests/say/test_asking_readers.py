"""Logs in which one agent asks others by name: Magentic-One, HyperAgent, and llmcontract's calls by name."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from chat_logs import Read, audited, source

from dissensus.say.message import INFERRED
from dissensus.say.readers.base import Source
from dissensus.say.readers.hyperagent import READER as HYPERAGENT
from dissensus.say.readers.llmcontract import READER as LLMCONTRACT
from dissensus.say.readers.registry import recognise
from dissensus.say.readers.who_and_when import READER as WHO_AND_WHEN

# --- llmcontract


def test_llmcontract_pairs_by_name_and_keeps_opinions_apart() -> None:
    log = source([
        {"type": "meta", "task_id": "1"},
        {"type": "user", "content": "book"},
        {"type": "agent_tool_call", "name": "search", "args": {}},
        {"type": "agent_tool_call", "name": "book", "args": {}},
        {"type": "tool_result", "name": "book", "content": "Error: full"},
        {"type": "monitor", "verdict": "Violation"},
        {"type": "outcome", "outcome": "violated"},
    ], lines=True)  # fmt: skip
    assert recognise(log).name == "llmcontract"
    read = Read(LLMCONTRACT, log)
    assert read.said == [
        (None, "user", "agent"), ("request", "agent", "search"), ("request", "agent", "book"),
        ("failure", "book", "agent"),
    ]  # fmt: skip
    assert [a.kind for a in read.asides] == ["meta", "monitor: Violation", "outcome: violated"]
    counts, obligations, findings = audited(log)
    assert (counts["unanswered"], findings) == (1, [])
    assert [o.debtor for o in obligations if o.closed_by is None] == ["search"]


def test_the_five_calls_without_a_result(shared: Path) -> None:
    calls, results, records, opinions = 0, 0, 0, Counter[str]()
    lost = set()
    for path in sorted((shared / "data/messages-and-protocols/llmcontract/v1").glob("*.jsonl")):
        log = Source(str(path), lambda path=path: path.open("rb"))  # type: ignore[misc]
        read = Read(LLMCONTRACT, log)
        counts, obligations, findings = audited(log)
        assert not findings
        calls += counts["requests"]
        results += counts["requests"] - counts["unanswered"]
        opinions.update(a.kind for a in read.asides)
        records += len(read.messages) + len(read.asides)
        if counts["unanswered"]:
            lost.add(path.name[:2])
            assert [o.debtor for o in obligations if o.closed_by is None] == ["book_flight"]
    assert (calls, results, calls - results, records) == (96, 91, 5, 805)
    assert lost == {"04", "05"}
    assert opinions["monitor: Ok"] == 268
    assert (opinions["monitor: Violation"], opinions["outcome: violated"], opinions["outcome: ok"]) == (5, 5, 31)


# --- Magentic-One

RUN = [
    ("human", "task"),
    ("Orchestrator (thought)", "plan"),
    ("Orchestrator (-> WebSurfer)", "open the page"),
    ("Orchestrator (thought)", "Next speaker WebSurfer"),
    ("WebSurfer", "opened"),
    ("Orchestrator (-> WebSurfer)", "scroll"),
    ("Orchestrator (-> FileSurfer)", "read the file"),
    ("FileSurfer", "read"),
    ("FileSurfer", "and more"),
    ("Orchestrator (-> Assistant)", "sum up"),
    ("Orchestrator (termination condition)", "No agent selected."),
]


def history(run: list[tuple[str, str]]) -> dict[str, Any]:
    return {"history": [{"role": role, "content": text} for role, text in run], "mistake_step": "1"}


def as_events(run: list[tuple[str, str]]) -> list[Any]:
    return [{"type": "LLMCallEvent", "source": "client", "prompt_tokens": 3},
            *({"timestamp": f"2026-01-01T00:00:{at:02}", "source": role, "message": text, "type": "OrchestrationEvent"}
              for at, (role, text) in enumerate(run))]  # fmt: skip


def as_console(run: list[tuple[str, str]], mark: str = "") -> str:
    return "started\n" + "".join(
        f"\n{'-' * 75} \n\x1b[91m[2026-01-01T00:00:{at:02}.5], {role}{mark}:\x1b[0m\n\n{text}\n"
        for at, (role, text) in enumerate(run)
    )


LOGS = {
    "document": source(history(RUN)),
    "lines": source(as_events(RUN), lines=True),
    "console": source(as_console(RUN)),
    "new console": source(as_console(RUN, " 🗣️")),
}


@pytest.mark.parametrize("form", LOGS)
def test_who_was_asked_and_who_answered(form: str) -> None:
    log = LOGS[form]
    assert recognise(log).name == "who-and-when"
    read = Read(WHO_AND_WHEN, log)
    first = 1 if form == "lines" else 0
    assert [(m.act, m.sender, m.receivers[0], m.thread) for m in read.messages] == [
        ("request", "human", "Orchestrator", "task"),
        ("request", "Orchestrator", "WebSurfer", f"h{first + 2}"),
        ("inform", "WebSurfer", "Orchestrator", f"h{first + 2}"),
        ("request", "Orchestrator", "WebSurfer", f"h{first + 5}"),
        ("request", "Orchestrator", "FileSurfer", f"h{first + 6}"),
        ("inform", "FileSurfer", "Orchestrator", f"h{first + 6}"),
        (None, "FileSurfer", "Orchestrator", "said"),
        ("request", "Orchestrator", "Assistant", f"h{first + 9}"),
        ("inform", "Orchestrator", "human", "task"),
    ]
    counts, obligations, findings = audited(log)
    assert (counts["requests"], counts["unanswered"]) == (4, 2)
    assert [f.verdict for f in findings if f.level != "info"] == []
    assert [(o.debtor, o.superseded_by) for o in obligations if o.status == "pending"] == [
        ("WebSurfer", f"h{first + 6}"), ("Assistant", None)
    ]  # fmt: skip
    assert {o.status for o in obligations if o.closed_by} == {"answered"}
    assert {m.tag_source for m in read.messages if m.act == "inform"} == {INFERRED}
    assert len(read.messages) + len(read.asides) == len(RUN) + first


def test_who_speaks_where_another_was_asked_has_no_title() -> None:
    log = source(history([("Orchestrator (-> WebSurfer)", "a"), ("FileSurfer", "b"), ("WebSurfer", "c")]))
    counts, _, findings = audited(log)
    assert counts["unanswered"] == 0
    assert [(f.verdict, f.party, f.where) for f in findings] == [("no-title", "FileSurfer", "history[1]")]


def test_who_was_left_behind_may_still_answer_his_own_request() -> None:
    run = [("Orchestrator (-> A)", "1"), ("Orchestrator (-> B)", "2"), ("A", "3"), ("B", "4")]
    counts, _, findings = audited(source(history(run)))
    assert (counts["requests"], counts["unanswered"], findings) == (2, 0, [])
    same = [("Orchestrator (-> A)", "1"), ("Orchestrator (-> A)", "2"), ("A", "3"), ("A", "4")]
    assert audited(source(history(same)))[0]["unanswered"] == 1


@pytest.mark.parametrize("aloud", ["Orchestrator", "Orchestrator (ledger)", "Orchestrator (-> )"])
def test_who_asked_cannot_answer_itself(aloud: str) -> None:
    """Also what is marked as nothing known: it is said to nobody in particular, and no move in what is open."""
    run = [("human", "task"), ("Orchestrator (-> A)", "1"), (aloud, "hm"), ("A", "2")]
    counts, _, findings = audited(source(history(run)))
    assert (counts["messages"], counts["tagged"], counts["unanswered"]) == (4, 3, 0)
    assert [f.verdict for f in findings] in ([], ["untagged"])


def test_who_asks_while_being_asked_answers_its_own() -> None:
    run = [("Orchestrator (-> A)", "1"), ("A (-> B)", "2"), ("B", "3"), ("A", "4")]
    counts, _, findings = audited(source(history(run)))
    assert (counts["requests"], counts["unanswered"], findings) == (2, 0, [])


def test_a_run_in_which_nobody_spoke_is_a_run() -> None:
    log = source({"history": [], "question": "?", "mistake_agent": "A"})
    assert recognise(log).name == "who-and-when"
    assert audited(log)[0]["messages"] == 0


def test_a_person_who_was_asked_answers() -> None:
    run = [("human", "task"), ("Orchestrator (-> UserProxy)", "which one?"), ("UserProxy", "that one"), ("human", "go")]
    assert Read(WHO_AND_WHEN, source(history(run))).said[2:] == [
        ("inform", "UserProxy", "Orchestrator"), (None, "human", "Orchestrator")
    ]  # fmt: skip


def test_a_task_that_nobody_ended_is_unknown_and_not_counted() -> None:
    counts, obligations, _ = audited(source(history(RUN[:5])))
    assert (counts["requests"], counts["unanswered"], counts["pending"]) == (1, 0, 0)
    assert [o.status for o in obligations if o.outside] == ["unknown"]


def test_who_and_when_has_the_seventeen(shared: Path) -> None:
    expected = {
        "2": [6], "10": [22], "22": [14], "28": [10], "36": [70], "44": [18, 115, 118, 121], "46": [112],
        "50": [98, 101, 108, 111], "54": [6], "56": [6, 40],
    }  # fmt: skip
    requests, superseded, entries = 0, 0, 0
    found: dict[str, list[int]] = {}
    for path in sorted((shared / "data/messages-and-protocols/who_and_when").glob("*.json")):
        log = Source(str(path), lambda path=path: path.open("rb"))  # type: ignore[misc]
        read = Read(WHO_AND_WHEN, log)
        counts, obligations, findings = audited(log)
        assert not findings
        requests += counts["requests"]
        entries += len(read.messages) + len(read.asides)
        lines = path.read_text().split("\n")
        assert all(lines[m.line - 1].strip() == "{" for m in read.messages)
        places = {m.id: m.where for m in read.messages}
        lost = [o for o in obligations if o.closed_by is None and not o.outside]
        superseded += sum(o.superseded_by is not None for o in lost)
        if lost:
            found[path.stem] = [int(places[o.opened_by].removeprefix("history[")[:-1]) for o in lost]
    assert (requests, entries, superseded) == (256, 1_103, 15)
    assert found == expected


# --- HyperAgent


def log_of(*entries: str, instance: str = "a__a-1") -> list[str]:
    return [line for entry in entries for line in f"HyperAgent_{instance} - INFO - {entry}".split("\n")]


PLAN = "Planner's Response: Thought: look.\nIntern Name: Codebase Navigator\nSubgoal: find the class"
TRAJECTORY = log_of(
    "Initialized HyperAgent instance", "Initialized tools", PLAN, PLAN, "Inner-Navigator-Assistant's Response: hm",
    "Navigator->Planner: it is there", "Navigator->Planner: it is there",
    "Planner's Response: edit\nIntern Name: Codebase Editor\nSubgoal: fix it",
    "Planner's Response: edit again\nIntern Name: Codebase Editor\nSubgoal: fix it well", "Editor->Planner: fixed",
    "Planner's Response: Final Answer: done",
)  # fmt: skip


@pytest.mark.parametrize("form", ["text", "document", "record", "trace"])
def test_subgoals_and_reports(form: str) -> None:
    document = {"instance_id": "a", "problem_statement": ["p"], "trajectory": TRAJECTORY}
    forms: dict[str, Any] = {
        "text": "\n".join(TRAJECTORY),
        "document": document,
        "record": [document],
        "trace": [{"mas_name": "HyperAgent", "trace": json.dumps(document)}],
    }
    log = source(forms[form])
    assert recognise(log).name == "hyperagent"
    read = Read(HYPERAGENT, log)
    assert read.said == [
        ("request", "Planner", "Navigator"), ("inform", "Navigator", "Planner"), ("request", "Planner", "Editor"),
        ("request", "Planner", "Editor"), ("inform", "Editor", "Planner"), (None, "Planner", "user"),
    ]  # fmt: skip
    assert read.messages[0].content == "find the class"
    assert Counter(a.kind for a in read.asides) == {"initialized": 2, "repeated": 2, "inner response": 1}
    counts, obligations, findings = audited(log)
    assert (counts["requests"], counts["unanswered"], findings) == (3, 1, [])
    assert {o.status for o in obligations if o.closed_by} == {"answered"}


def test_initialized_begins_another_run() -> None:
    second = log_of("Initialized HyperAgent instance", "Navigator->Planner: nobody asked", instance="b")
    read = Read(HYPERAGENT, source("\n".join(log_of(PLAN) + second)))
    assert [(m.act, m.thread) for m in read.messages] == [("request", "h0"), (None, "r1:said")]
