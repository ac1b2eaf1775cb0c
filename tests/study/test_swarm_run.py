"""A swarm from its files to its end: what agrees, what is contested, what only one tells of, and what is looked at."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from small_swarms import PANEL, TASKS, done_twice, ends, events, ran, records, swarm, written

from dissensus.agents.budget import Limits
from dissensus.errors import CellError, RunError, SpecError, UsageError
from dissensus.interop.tasks_file import read_tasks
from dissensus.record.memory import MemoryStore
from dissensus.record.opening import open_record
from dissensus.run import runs
from dissensus.run.inbox_answers import Given
from dissensus.run.inbox_desk import finish, hand_in
from dissensus.run.inbox_folder import find
from dissensus.run.inbox_letters import drop
from dissensus.run.inbox_withdrawing import withdraw
from dissensus.study.swarm.planning import plan_of
from dissensus.study.swarm.running import SwarmResult, run_swarm
from dissensus.study.swarm.summary import exit_code, pressing, summary_of

HERE = Path(__file__).parent


def test_each_item_ends_as_its_sources_say(tmp_path: Path) -> None:
    found = ran(tmp_path)
    outcomes = {item: outcome for item, (outcome, _, _) in ends(found).items()}
    assert outcomes == {
        "4700": "consistent", "4701": "consistent", "4703": "consistent", "4705": "consistent",
        "4702": "waiting", "4706": "waiting",
        "4704": "unchallenged", "4707": "unchallenged",
    }  # fmt: skip
    why = {one.item: one.why for one in found.items}
    assert why["4704"].startswith("only warehouse is left")
    assert "it has no source of this item" in why["4704"]
    assert why["4707"].startswith("only documents is left")
    assert exit_code(found) == 3
    assert [one.item for one in pressing(found)] == ["4702", "4706", "4704", "4707"]
    assert not done_twice(tmp_path / "out")


def test_shares_are_adjacent_and_an_agent_sees_the_sources_of_its_share_alone(tmp_path: Path) -> None:
    ran(tmp_path)
    heads = {path.name: events(path)[0].body for path in (tmp_path / "out" / "reports").glob("*.db")}
    assert set(heads) == {"documents-ada.db", "documents-ben.db", "warehouse-reader.db"}
    shares = {name: head["settings"]["share"] for name, head in heads.items()}
    assert shares["documents-ada.db"]["items"] == ["4700", "4701", "4702", "4703"]
    assert shares["documents-ben.db"]["items"] == ["4705", "4706", "4707"]
    for name, share in shares.items():
        names = sorted(source["name"] for source in share["sources"].values())
        wanted = ["log.csv"] if "warehouse" in name else [f"notes/{item}-note.txt" for item in share["items"]]
        assert names == wanted, "nothing of another party, nothing of another share"
    assert [seat["agent"] for seat in heads["documents-ada.db"]["seats"]] == ["ada"]
    text = (tmp_path / "out" / "reports" / "documents-ada.db").read_bytes()
    assert b"B0a,4700" not in text


def test_the_same_again_asks_nobody_and_changes_nothing(tmp_path: Path) -> None:
    first = ran(tmp_path)
    before = {path: path.read_bytes() for path in records(tmp_path / "out")}
    again = ran(tmp_path)
    assert ends(again) == ends(first)
    assert again.plants == first.plants
    assert {path: path.read_bytes() for path in records(tmp_path / "out")} == before
    assert again.cost == first.cost


def test_agreement_is_looked_at_by_rules_spot_checks_and_planted_faults(tmp_path: Path) -> None:
    found = ran(tmp_path)
    spots = {item: spot for item, (_, _, spot) in ends(found).items() if spot}
    assert set(spots.values()) == {"sound"}
    summary = summary_of(found)
    assert (summary.drawn, summary.spots) == (1, {"sound": 1}), "a quarter of the four in which nothing contradicts"
    assert len(found.plants) == 2, "half of four consistent items"
    assert {one.fate for one in found.plants} == {"caught"}
    assert summary.all_plants.caught == 2
    low, high = summary.all_plants.low, summary.all_plants.high
    assert low is not None
    assert high is not None
    assert (round(low, 3), high) == (0.342, 1.0), "Wilson 1927 for two of two"
    planted = {path.name for path in (tmp_path / "out" / "plants").glob("*.db")}
    assert planted == {f"{one.item}+{one.kind}.db" for one in found.plants}
    assert not any(event.kind == "person" for name in planted for event in events(tmp_path / "out" / "plants" / name))
    assert not {one.item for one in found.plants} - {
        item for item, end in ends(found).items() if end[0] == "consistent"
    }


def test_without_a_verifier_programs_look_and_it_is_said(tmp_path: Path) -> None:
    tasks = TASKS.replace("verifier: vera\n", "").replace("spot_checks: 0.25", "spot_checks: 1")
    found = ran(tmp_path, swarm(tmp_path, tasks=tasks))
    assert summary_of(found).spots == {"programs only": 4}


WRONG = (
    r"      - {when: '(?s)Reports agree.*\n(e\d+) [^\n]*\n<<\w+\n(pallets received: \d+)\n', say: "
    r"""'{"answer": {"outcome": "SOURCE_WRONG", "source": "\1", "cites": [{"evidence": "\1", "quote": "\2"}],"""
    r""" "reason": "no"}}'}"""
    "\n"
)


def test_what_a_spot_check_finds_wrong_is_agreed_no_more(tmp_path: Path) -> None:
    path = written(tmp_path / "in", tasks=TASKS.replace("spot_checks: 0.25", "spot_checks: 1"))
    panel = PANEL.format(delay=0).replace("      - {when: Reports,", f"{WRONG}      - {{when: Reports,")
    (tmp_path / "in" / "panel.yaml").write_text(panel)
    found = run_swarm(read_tasks(path, tmp_path / "out" / "evidence"), tmp_path / "out")
    assert ends(found)["4700"] == ("unchallenged", "", "wrong")
    why = next(one.why for one in found.items if one.item == "4700")
    assert why.startswith("only warehouse is left; the report of documents fell (R4:")
    assert "model-says" in why
    assert not found.plants, "a fault is planted only where all reports stand"


def test_reports_that_rest_on_copies_of_one_source_are_not_agreement(tmp_path: Path) -> None:
    tasks = TASKS.replace(
        '    sources: [{files: "notes/{item}*", kind: signed-note}]',
        '    sources: [{files: "notes/{item}*", kind: signed-note}]\n'
        '  copies:\n    reader: tables\n    sources: [{files: "copies/{item}*"}]',
    )
    tasks = tasks[: tasks.index("  warehouse:")] + tasks[tasks.index("verifier:") :]
    path = written(tmp_path / "in", tasks=tasks, notes={"4700": 5}, log={})
    shutil.copytree(tmp_path / "in" / "notes", tmp_path / "in" / "copies")
    found = run_swarm(read_tasks(path, tmp_path / "out" / "evidence"), tmp_path / "out")
    assert ends(found)["4700"][0] == "unchallenged"
    assert found.items[0].why == "copies and documents rest on copies of one source" or (
        found.items[0].why == "documents and copies rest on copies of one source"
    )


# --- a person, and what persons made rules


def answer(folder: Path, item: str, choice: str, *, rule: bool = False) -> None:
    asked, around = find(str(folder / "cases" / f"{item}.db"), str(folder / "cases"))
    given = Given(
        question=asked.id, version=asked.version, principal="kim", authenticated_by="test", choice=choice,
        reason="the note is signed", scopes={}, shown="", rule=rule, at=1.0, idempotency_key=f"{item}/{choice}",
    )  # fmt: skip
    taken = hand_in(asked, given, look=lambda question: question.exhibits, inbox=around, wait_s=1)
    assert taken.answer is not None
    assert taken.answer.accepted, taken.answer


def test_a_person_settles_and_the_swarm_goes_on(tmp_path: Path) -> None:
    ran(tmp_path)
    side = {"A": "documents", "B": "warehouse"}
    answer(tmp_path / "out", "4702", "A")
    found = ran(tmp_path)
    assert ends(found)["4702"][:2] == ("settled", "person")
    assert ends(found)["4706"][0] == "waiting"
    assert len(side) == 2
    assert not done_twice(tmp_path / "out")


def test_an_answer_that_was_made_a_rule_is_followed_by_later_cases_in_the_folder(tmp_path: Path) -> None:
    ran(tmp_path)
    asked, _ = find(str(tmp_path / "out" / "cases" / "4702.db"), str(tmp_path / "out" / "cases"))
    option = next(one for one in asked.options if one.rule is not None and one.rule["prefer"] == "signed-note")
    answer(tmp_path / "out", "4702", option.id, rule=True)
    note = tmp_path / "in" / "notes" / "4706-note.txt"
    note.write_text(note.read_text().replace("received: 19", "received: 18"))
    whole = read_tasks(tmp_path / "in" / "tasks.yaml", tmp_path / "out" / "evidence")
    left_out = tmp_path / "copy"
    shutil.copytree(tmp_path / "out", left_out)
    found = run_swarm(whole, tmp_path / "out", repin=True)
    assert ends(found)["4706"][:2] == ("settled", "R6")
    why = next(one.why for one in found.items if one.item == "4706")
    assert f"{option.rule['id']} v1" in why if option.rule is not None else False
    assert ends(run_swarm(whole, left_out, repin=True, follow_standing=False))["4706"][0] == "waiting"


def ruled(tmp_path: Path) -> str:
    """Answer 4702 and make it a rule, while 4706 waits for the same kind of answer; the rule's id."""
    ran(tmp_path)
    asked, _ = find(str(tmp_path / "out" / "cases" / "4702.db"), str(tmp_path / "out" / "cases"))
    option = next(one for one in asked.options if one.rule is not None and one.rule["prefer"] == "signed-note")
    answer(tmp_path / "out", "4702", option.id, rule=True)
    assert option.rule is not None
    return str(option.rule["id"])


def test_a_case_that_waits_is_looked_at_again_once_a_rule_may_decide_it(tmp_path: Path) -> None:
    rule = ruled(tmp_path)
    found = ran(tmp_path)
    assert ends(found)["4702"][:2] == ("settled", "person")
    assert ends(found)["4706"][:2] == ("settled", "R6")
    assert f"{rule} v1" in next(one.why for one in found.items if one.item == "4706")
    old, _ = find(str(tmp_path / "out" / "cases" / "4706.db"), str(tmp_path / "out" / "cases"))
    assert old.state == "withdrawn"
    assert "looked at again" in old.withdrawn_why
    assert not questions_left(tmp_path / "out")
    state = next(one for one in events(tmp_path / "out" / "cases" / "4706~2.db") if one.kind == "state")
    assert state.body["why"] == "Sources, claims or rules are not as they were in 4706.db."
    kept = sorted((tmp_path / "out" / "cases").iterdir())
    again = ran(tmp_path)
    assert ends(again) == ends(found)
    assert sorted((tmp_path / "out" / "cases").iterdir()) == kept


def questions_left(folder: Path) -> list[str]:
    _, around = find(str(folder / "cases" / "4706.db"), str(folder / "cases"))
    return [one.id for one in around.questions if one.state == "open"]


def test_without_standing_rules_what_waits_still_waits(tmp_path: Path) -> None:
    ruled(tmp_path)
    found = ran(tmp_path, follow_standing=False)
    assert ends(found)["4706"][0] == "waiting"
    assert len(questions_left(tmp_path / "out")) == 1


def test_an_answer_goes_before_a_rule_that_came_later(tmp_path: Path) -> None:
    ruled(tmp_path)
    answer(tmp_path / "out", "4706", "B")
    found = ran(tmp_path)
    assert ends(found)["4706"][:2] == ("settled", "person")
    assert not (tmp_path / "out" / "cases" / "4706~2.db").exists()


def test_an_answer_that_nobody_has_judged_yet_goes_before_a_rule_too(tmp_path: Path) -> None:
    ruled(tmp_path)
    record = tmp_path / "out" / "cases" / "4706.db"
    asked, around = find(str(record), str(tmp_path / "out" / "cases"))
    given = Given(
        question=asked.id, version=1, principal="kim", authenticated_by="test", choice="B", reason="", scopes={},
        shown="", rule=False, at=2.0, idempotency_key="letter",
    )  # fmt: skip
    drop(record, given)
    assert ends(ran(tmp_path))["4706"][0] == "waiting"
    finish(around)
    assert ends(ran(tmp_path))["4706"][:2] == ("settled", "person")


def test_killed_between_taking_a_question_back_and_looking_again_it_looks_again(tmp_path: Path) -> None:
    ruled(tmp_path)
    record = tmp_path / "out" / "cases" / "4706.db"
    assert withdraw(record, "It is looked at again.")
    asked, around = find(str(record), str(tmp_path / "out" / "cases"))
    late = Given(
        question=asked.id, version=1, principal="kim", authenticated_by="test", choice="A", reason="", scopes={},
        shown="", rule=False, at=2.0, idempotency_key="late",
    )  # fmt: skip
    refused = hand_in(asked, late, look=lambda question: question.exhibits, inbox=around, wait_s=1)
    assert refused.answer is not None
    assert (refused.answer.accepted, refused.answer.refused) == (False, "withdrawn")
    assert refused.answer.says == "The question was withdrawn. It is looked at again."
    found = ran(tmp_path, follow_standing=False)
    assert ends(found)["4706"][0] == "waiting", "no rule is followed, so a person is asked anew"
    assert len(questions_left(tmp_path / "out")) == 1
    assert ends(ran(tmp_path))["4706"][:2] == ("settled", "R6")


def test_a_question_of_reports_that_have_changed_is_taken_back(tmp_path: Path) -> None:
    ran(tmp_path)
    note = tmp_path / "in" / "notes" / "4706-note.txt"
    note.write_text(note.read_text().replace("received: 19", "received: 18"))
    whole = read_tasks(tmp_path / "in" / "tasks.yaml", tmp_path / "out" / "evidence")
    found = run_swarm(whole, tmp_path / "out", repin=True)
    assert ends(found)["4706"][0] == "waiting"
    old, _ = find(str(tmp_path / "out" / "cases" / "4706.db"), str(tmp_path / "out" / "cases"))
    assert old.state == "withdrawn"
    assert len(questions_left(tmp_path / "out")) == 2, "that of 4702, and the new one of 4706"


def test_disputes_can_be_left_and_asked_about_later(tmp_path: Path) -> None:
    whole = swarm(tmp_path)
    found = ran(tmp_path, replace(whole, asking=replace(whole.asking, ask=False)))
    assert ends(found)["4702"][0] == "disputed"
    assert exit_code(found) == 1
    found = ran(tmp_path, whole)
    assert ends(found)["4702"][0] == "waiting"
    assert (tmp_path / "out" / "cases" / "4702~2.db").exists()
    assert (tmp_path / "out" / "cases" / "4702.db").exists(), "no record is written over"
    assert not (tmp_path / "out" / "cases" / "4700~2.db").exists()


def test_precedence_settles_what_it_covers(tmp_path: Path) -> None:
    rules = "precedence: {id: receiving, version: 1, rules: [{id: note, prefer: signed-note, over: log}]}\n"
    found = ran(tmp_path, swarm(tmp_path, tasks=TASKS + rules))
    assert ends(found)["4702"][:2] == ("settled", "R6")
    assert summary_of(found).rules == {"R6": 2}


# --- what has changed


def changed(tmp_path: Path) -> SwarmResult:
    first = ran(tmp_path)
    note = tmp_path / "in" / "notes" / "4700-note.txt"
    note.write_text(note.read_text().replace("received: 5", "received: 6"))
    return first


def test_a_changed_source_is_refused_and_says_which(tmp_path: Path) -> None:
    changed(tmp_path)
    whole = read_tasks(tmp_path / "in" / "tasks.yaml", tmp_path / "out" / "evidence")
    for call in (lambda: run_swarm(whole, tmp_path / "out"), lambda: plan_of(whole, tmp_path / "out")):
        with pytest.raises(UsageError, match=r"documents-ada.*notes/4700-note.txt has other bytes") as raised:
            call()
        assert "--repin" in raised.value.next_step


def test_repinned_only_what_has_changed_is_read_again(tmp_path: Path) -> None:
    first = changed(tmp_path)
    whole = read_tasks(tmp_path / "in" / "tasks.yaml", tmp_path / "out" / "evidence")
    found = run_swarm(whole, tmp_path / "out", repin=True)
    assert ends(found)["4700"][0] == "waiting"
    assert {item: end for item, end in ends(found).items() if item != "4700"} == {
        item: end for item, end in ends(first).items() if item != "4700"
    }
    again = events(tmp_path / "out" / "reports" / "documents-ada~2.db")
    assert again[0].body["settings"]["share"]["items"] == ["4700"]
    case = events(tmp_path / "out" / "cases" / "4700~2.db")[0].body["settings"]["case"]
    assert case["after"] == "4700.db"
    assert not list((tmp_path / "out" / "cases").glob("4701~*"))
    before = {path.name for path in records(tmp_path / "out")}
    assert ends(run_swarm(whole, tmp_path / "out")) == ends(found), "what was read anew is not refused again"
    assert {path.name for path in records(tmp_path / "out")} == before


@pytest.mark.parametrize(
    ("was", "now", "says"),
    [
        ("unit: pallet, as_of", "unit: box, as_of", "something else is wanted"),
        ("kind: signed-note", "kind: note", "other terms"),
        ("agents: [ada, ben]", "agents: [ben]", "ada reads nothing for documents any more"),
        ("verifier: vera", "turns: 3\nverifier: vera", "settled under other terms"),
    ],
)
def test_changed_tasks_are_refused(tmp_path: Path, was: str, now: str, says: str) -> None:
    ran(tmp_path)
    whole = swarm(tmp_path, tasks=TASKS.replace(was, now))
    with pytest.raises(UsageError, match=says):
        ran(tmp_path, whole)


def test_another_model_is_another_reader(tmp_path: Path) -> None:
    ran(tmp_path)
    panel = tmp_path / "in" / "panel.yaml"
    panel.write_text(
        panel.read_text().replace("{name: ada, model: reads}", "{name: ada, model: reads, temperature: 0}")
    )
    with pytest.raises(UsageError, match="ada of documents reads under other terms"):
        run_swarm(read_tasks(tmp_path / "in" / "tasks.yaml", tmp_path / "out" / "evidence"), tmp_path / "out")


# --- the budget


def test_nothing_of_a_swarm_passes_its_budget_however_often_it_is_begun(tmp_path: Path) -> None:
    whole = swarm(tmp_path)
    found = ran(tmp_path, replace(whole, budget=Limits(calls=0)))
    assert found.cost.calls == 0
    notes = [item for item, _ in ends(found).items() if ("documents", item) in found.reports]
    assert notes
    for item in notes:
        assert ends(found)[item][0] == "open_budget", "nobody was asked: that is not for want of a second report"
    assert exit_code(found) == 3
    documents = {one["item"]: one["status"] for item in found.items for one in item.documents()}
    assert {documents[item] for item in notes} == {"open_budget"}
    for calls in (3, 5, 100):
        found = ran(tmp_path, replace(whole, budget=Limits(calls=calls)))
        assert found.cost.calls <= calls
        made = sum(
            event.kind == "outcome" and bool(event.body["outcome"].get("model"))
            for path in records(tmp_path / "out")
            for event in events(path)
        )
        assert made == found.cost.calls
        if calls < 7:  # seven notes are to be read
            assert made == calls, "all that may be spent is"
            assert found.stopped == ("calls",)
    assert ends(found) == ends(ran(tmp_path / "other"))
    read = [event.body["item"] for path in records(tmp_path / "out") for event in events(path)
            if event.kind == "reported" and event.body["party"] == "documents" and event.body["claims"]]  # fmt: skip
    assert sorted(read) == sorted(set(read)), "what was read is not read again with more money"


def test_a_case_whose_budget_was_over_is_open_and_looked_at_again_with_more(tmp_path: Path) -> None:
    whole = swarm(tmp_path)
    found = ran(tmp_path, replace(whole, budget=Limits(calls=7)))
    assert {item for item, end in ends(found).items() if end[0] == "open_budget"} >= {"4702", "4706"}
    assert exit_code(found) == 3
    same = ran(tmp_path, replace(whole, budget=Limits(calls=7)))
    assert ends(same) == ends(found)
    assert not list((tmp_path / "out" / "cases").glob("*~2.db")), "with the same budget it would end the same"
    found = ran(tmp_path, replace(whole, budget=Limits(calls=70)))
    assert ends(found)["4702"][0] == "waiting"


def test_evidence_that_names_no_source_of_the_party_is_told_where_the_report_goes_back(tmp_path: Path) -> None:
    path = written(tmp_path / "in")
    panel = tmp_path / "in" / "panel.yaml"
    panel.write_text(panel.read_text().replace('"source": ""', '"source": "log.csv"'))
    found = run_swarm(read_tasks(path, tmp_path / "out" / "evidence"), tmp_path / "out")
    returned = [one.why for one in found.items if one.outcome == "incomplete"]
    assert returned
    for why in returned:
        assert "Item 1 of its evidence names a source that is not in the share: 'log.csv'." in why


# --- agents that cannot be asked


def test_where_nobody_can_be_asked_it_stops_and_goes_on_later(tmp_path: Path) -> None:
    path = written(tmp_path / "in")
    panel = tmp_path / "in" / "panel.yaml"
    good = panel.read_text()
    panel.write_text(good.replace('say: \'{"claims"', 'fail: connect\n        say: \'{"claims"'))
    with pytest.raises(RunError, match="could not be asked about the last 3 items"):
        run_swarm(read_tasks(path, tmp_path / "out" / "evidence"), tmp_path / "out", jobs=1)
    assert not (tmp_path / "out" / "cases").exists()


def test_an_item_that_was_lost_is_read_again(tmp_path: Path) -> None:
    path = written(tmp_path / "in")
    panel = tmp_path / "in" / "panel.yaml"
    good = panel.read_text()
    lost = "      - {when: 'Order 4701', fail: connect}\n      - when: '(?s)Pallets"
    panel.write_text(good.replace("      - when: '(?s)Pallets", lost))
    found = run_swarm(read_tasks(path, tmp_path / "out" / "evidence"), tmp_path / "out")
    assert ends(found)["4701"][0] == "unchallenged"
    assert "ada gave no report (transport)" in next(one.why for one in found.items if one.item == "4701")
    assert exit_code(found) == 3
    run_swarm(read_tasks(path, tmp_path / "out" / "evidence"), tmp_path / "out")
    again = [event.body["item"] for event in events(tmp_path / "out" / "reports" / "documents-ada~2.db")
             if event.kind == "reported"]  # fmt: skip
    assert again == ["4701"], "what was read is not read again"


# --- programs in cells


READER = """\
#!/usr/bin/env python3
import json, os, re, sys
given = json.load(sys.stdin)
files = sorted(os.path.join(at, name) for at, _, names in os.walk(".") for name in names)
own = [name for name in files if given["item"] in name]
text = open(own[0]).read() if own else ""
found = re.search(r"Pallets received: (\\d+)", text)
claims = [{"attribute": "pallets received", "value": int(found[1]),
           "evidence": [{"source": own[0][2:], "quote": found[0]}]}] if found else []
print(json.dumps({"claims": claims, "none": "sees " + " ".join(files)}))
"""


def with_program(folder: Path, **how: str) -> Path:
    path = written(folder, tasks=TASKS.replace("agents: [ada, ben]", "program: {tool: reads}"), **how)  # type: ignore[arg-type]
    (folder / "read.py").write_text(READER)
    (folder / "read.py").chmod(0o755)
    panel = folder / "panel.yaml"
    takes = "{type: object, properties: {item: {type: string}}, required: [item]}"
    panel.write_text(panel.read_text() + f'tools:\n  reads: {{command: ["./read.py"], parameters: {takes}}}\n')
    return path


def test_a_program_reads_in_a_cell_that_holds_its_sources_alone(tmp_path: Path) -> None:
    path = with_program(tmp_path / "in")
    (tmp_path / "in" / "secret.txt").write_text("Pallets received: 99\n")
    found = run_swarm(read_tasks(path, tmp_path / "out" / "evidence"), tmp_path / "out")
    assert ends(found)["4700"][0] == "consistent"
    record = tmp_path / "out" / "reports" / "documents-reader.db"
    share = events(record)[0].body["settings"]["share"]
    assert sorted(share["cell"]["files"].values()) == sorted(f"notes/{item}-note.txt" for item in share["items"])
    (reader,) = [one for one in summary_of(found).readers if one.party == "documents"]
    assert reader.cell == share["cell"]["level"]
    ran_tools = [event.body["outcome"]["text"] for event in events(record) if event.kind == "outcome"]
    assert ran_tools
    assert not any("secret" in text or "log.csv" in text for text in ran_tools)


def test_a_record_of_a_program_is_gone_on_with_in_a_cell_again(tmp_path: Path) -> None:
    import anyio

    from dissensus.run.casting import resume_from

    path = with_program(tmp_path / "in")
    whole = read_tasks(path, tmp_path / "out" / "evidence")
    run_swarm(whole, tmp_path / "out")
    record = tmp_path / "out" / "reports" / "documents-reader.db"
    half = tmp_path / "half.db"
    cut(record, half, len(events(record)) // 2)
    decision = anyio.run(resume_from, half)
    assert [event.body for event in events(half) if event.kind == "reported"] == [
        event.body for event in events(record) if event.kind == "reported"
    ]
    assert decision.status.value == "reported"


def test_a_level_that_is_not_reached_is_refused_before_anybody_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dissensus.agents.cells.ladder import reach
    from dissensus.study.swarm import bench

    weak = reach("unconfined")
    monkeypatch.setattr(bench, "reach", lambda: weak)
    with pytest.raises(CellError, match="strong cell is required"):
        ran(tmp_path, require_cell="strong")
    assert not (tmp_path / "out" / "reports").exists()


def test_a_tool_that_runs_beside_us_is_refused_where_a_cell_is_required(tmp_path: Path) -> None:
    path = written(tmp_path / "in")
    panel = tmp_path / "in" / "panel.yaml"
    text = panel.read_text().replace("{name: ada, model: reads}", "{name: ada, model: reads, tools: [mine]}")
    panel.write_text(text + 'tools:\n  mine: {python: "mine.py:look"}\n')
    (tmp_path / "in" / "mine.py").write_text("def look(name: str) -> str:\n    return name\n")
    whole = read_tasks(path, tmp_path / "out" / "evidence")
    with pytest.raises(CellError, match="'mine' of ada is no program"):
        run_swarm(whole, tmp_path / "out", require_cell="medium")


# --- cut at every event


def cut(record: Path, into: Path, number: int) -> None:
    """What the file holds if the process dies when so many events are in it."""
    into.parent.mkdir(parents=True, exist_ok=True)
    with open_record(record) as whole, open_record(into, "x", run_id=whole.run_id) as store:
        memory = MemoryStore(run_id=whole.run_id)
        memory.adopt(list(whole.rows(1, number + 1)), {})
        needed = {digest: whole.blob(digest) for digest in _blobs(record)}
        store.adopt(list(memory.rows(1)), {digest: text for digest, text in needed.items() if text is not None})
        store.commit(durable=True)


def _blobs(record: Path) -> list[bytes]:
    import sqlite3

    with sqlite3.connect(f"file:{record}?mode=ro", uri=True) as db:
        found = [row[0] for row in db.execute("SELECT digest FROM blobs")]
    db.close()
    return found


def without_luck(path: Path) -> list[tuple[str, str, object]]:
    """The events that do not depend on when a process died."""
    return [(one.kind, one.key, one.body) for one in events(path) if one.kind not in ("resumed", "interrupted")]


@pytest.mark.parametrize("name", ["reports/documents-ada", "reports/warehouse-reader", "cases/4700", "cases/4702"])
def test_cut_at_every_event_it_goes_on_to_the_same_end(tmp_path: Path, name: str) -> None:
    notes = {"4700": 5, "4702": 11}
    whole = swarm(tmp_path, notes=notes, log={"4700": 5, "4702": 7}, tasks=TASKS.replace("0.25", "1"))
    first = ran(tmp_path, whole)
    record = tmp_path / "out" / f"{name}.db"
    all_events = len(events(record))
    for number in range(1, all_events):
        folder = tmp_path / f"cut-{number}"
        shutil.copytree(tmp_path / "out", folder)
        stage = name.partition("/")[0]
        for later in ("cases", "plants") if stage == "reports" else ("plants",):
            shutil.rmtree(folder / later, ignore_errors=True)
        (folder / f"{name}.db").unlink()
        cut(record, folder / f"{name}.db", number)
        again = run_swarm(whole, folder)
        assert ends(again) == ends(first), f"cut after event {number}"
        assert not done_twice(folder)
        assert len(records(folder)) == len(records(tmp_path / "out"))
        if "4702" not in name:  # one that waits says so each time
            assert without_luck(folder / f"{name}.db") == without_luck(record)
        shutil.rmtree(folder)


def test_killed_at_random_moments_it_goes_on_to_the_same_end(tmp_path: Path) -> None:
    """Real processes, SIGKILL: nothing is lost, nothing is done twice."""
    done = subprocess.run(
        [sys.executable, str(HERE / "swarm_killer.py"), str(tmp_path), "10", "7"],
        capture_output=True, text=True, timeout=280, check=False, cwd=HERE,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["kills"] >= 10
    assert told["problems"] == []


def test_a_file_that_was_never_a_record_is_left_where_it_is(tmp_path: Path) -> None:
    whole = swarm(tmp_path)
    (tmp_path / "out" / "reports").mkdir(parents=True)
    (tmp_path / "out" / "reports" / "documents-ada.db").touch()
    found = ran(tmp_path, whole)
    assert ends(found)["4700"][0] == "consistent"
    assert (tmp_path / "out" / "reports" / "documents-ada~2.db").exists()


def test_records_of_cases_and_shares_replay(tmp_path: Path) -> None:
    ran(tmp_path)
    for path in records(tmp_path / "out"):
        if events(path)[-1].kind == "ended":
            assert runs.replay(path).identical, path


def test_one_party_alone_is_refused(tmp_path: Path) -> None:
    tasks = TASKS[: TASKS.index("  warehouse:")] + TASKS[TASKS.index("verifier:") :]
    with pytest.raises(SpecError, match="needs two parties"):
        swarm(tmp_path, tasks=tasks)
