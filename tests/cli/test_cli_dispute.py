"""``dissensus dispute``, ``why`` and ``reopen``: a case file, its record, and what is wrong with files."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from dissensus.cli import dispute as commands
from dissensus.cli.answer import answer
from dissensus.cli.inbox import inbox
from dissensus.errors import DissensusError, SpecError, UsageError
from dissensus.interop import evidence_files

NOTE = "Delivery note DN-88\nOrder 4711\nPallets received: 10\nSigned: M. R.\n"
LOG = "booking,order,pallets,booked_at\nB1,4711,6,2026-03-02T09:00\nB2,4711,3,2026-03-02T10:00\n"
CASE = """\
case: delivery
title: How many pallets of order 4711 came?
sources:
  note: {file: note.txt, kind: signed-note}
  log: {file: log.csv, kind: log, table: {value: pallets, subject: order, key: booking, time: booked_at, unit: pallet}}
claims:
  - {id: A, by: ada, subject: order 4711, attribute: pallets received, value: 10, unit: pallet, as_of: 2026-03-02,
     confidence: 0.99, text: "clearly complete",
     evidence: [{source: note, quote: "Pallets received: 10", selectors: [{type: line, first: 3}]}]}
  - {id: B, by: ben, subject: order 4711, attribute: pallets received, value: 9, unit: pallet, as_of: 2026-03-02,
     evidence: [{source: log, quote: "6", selectors: [{type: csv, row: 2, col: pallets}]}]}
"""
RULES = """
precedence: {id: receiving, version: 3, rules: [{id: note-first, prefer: signed-note, over: log}]}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "note.txt").write_text(NOTE)
    (tmp_path / "log.csv").write_text(LOG)
    (tmp_path / "case.yaml").write_text(CASE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(command: str, *args: str) -> Result:
    return CliRunner().invoke(getattr(commands, command), [*args], catch_exceptions=True)


def document(*args: str) -> Any:
    return json.loads(run("dispute", *args, "--json").stdout)


def fails(*args: str) -> DissensusError:
    found = run("dispute", *args)
    assert isinstance(found.exception, DissensusError), found.output
    return found.exception


def test_a_dispute_waits_for_a_person(folder: Path) -> None:
    found = run("dispute", "case.yaml", "--json")
    assert found.exit_code == 3
    data = json.loads(found.stdout)
    assert list(data) == [
        "case", "status", "rule", "cites", "losers", "question", "answer", "verifier_input_sha256", "cell", "budget",
    ]  # fmt: skip
    assert (data["case"], data["status"], data["rule"], data["losers"]) == ("delivery", "waiting", "R7", [])
    assert "dissensus inbox" in found.stderr
    digest = hashlib.sha256(NOTE.encode()).hexdigest()
    assert (folder / "evidence" / digest).read_text() == NOTE, "what is cited is pinned"
    assert data["cites"][0] == {
        "claim": "A", "evidence": "A/1", "source_sha256": digest, "selector": {"type": "line", "first": 3, "last": 3},
        "reopened": "EXACT", "quote": "Pallets received: 10",
    }  # fmt: skip
    text = run("dispute", "case.yaml", "--no-ask")
    assert text.exit_code == 1
    assert text.stdout.startswith("delivery: disputed: only a person can tell by R7")


def test_precedence_settles_and_why_tells_it_in_order(folder: Path) -> None:
    (folder / "case.yaml").write_text(CASE + RULES)
    found = run("dispute", "case.yaml")
    assert found.exit_code == 0
    assert "settled by R6" in found.stdout
    assert "receiving/note-first v3" in found.stdout
    told = run("why", "case.yaml").stdout
    order = [
        told.index(part) for part in ("Reports", "Evidence, reopened", "Verifier", "Rules", "Verdict", "What fell")
    ]
    assert order == sorted(order)
    for part in ("clearly complete", "reported by ben", "table@1", "R6: By receiving/note-first v3", "SHA-256"):
        assert part in " ".join(told.split())
    (record,) = (folder / "runs").glob("*.db")
    assert run("why", str(record)).stdout == told
    assert json.loads(run("why", "case.yaml", "--json").stdout)["rule"] == "R6"


def test_exports(folder: Path) -> None:
    hostile = CASE.replace('"clearly complete"', '"<script>alert(1)</script>"') + RULES
    (folder / "case.yaml").write_text(hostile)
    run("dispute", "case.yaml")
    assert run("why", "case.yaml", "--html", "why.html").exit_code == 0
    page = (folder / "why.html").read_text()
    assert "<script" not in page.replace("&lt;script", "")
    assert "&lt;script&gt;alert(1)" in page
    assert not [part for part in ('src="', 'href="', "http://", "https://") if part in page], "it needs nothing else"
    statement = json.loads(run("why", "case.yaml", "--statement").stdout)
    assert statement["_type"] == "https://in-toto.io/Statement/v1"
    digests = {hashlib.sha256(text.encode()).hexdigest() for text in (NOTE, LOG)}
    assert {one["digest"]["sha256"] for one in statement["subject"]} == digests
    assert statement["predicate"]["rule"] == "R6"
    events = [json.loads(line) for line in run("why", "case.yaml", "--jsonl").stdout.splitlines()]
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert "verdict" in {event["kind"] for event in events}


def test_reopen_sees_what_changed_since(folder: Path) -> None:
    (folder / "case.yaml").write_text(CASE + RULES)
    run("dispute", "case.yaml")
    before = run("reopen", "case.yaml", "--json")
    assert before.exit_code == 0
    assert [(one["reopened"], one["live"]) for one in json.loads(before.stdout)["evidence"]] == [("EXACT", "SAME")] * 2
    (folder / "note.txt").write_text(NOTE.replace("10", "12"))
    after = run("reopen", "case.yaml", "--json")
    assert after.exit_code == 1
    data = json.loads(after.stdout)
    assert data["status"] == "reopened"
    assert [one["changed"] for one in data["evidence"]] == [one["claim"] == "A" for one in data["evidence"]]
    assert {one["reopened"] for one in data["evidence"]} == {"EXACT"}, "the snapshot stands"
    (folder / "note.txt").unlink()
    assert "GONE" in run("reopen", "case.yaml").stdout


def states(record: Path) -> list[str]:
    events = [json.loads(line) for line in run("why", str(record), "--jsonl").stdout.splitlines()]
    return [event["body"]["to"] for event in events if event["kind"] == "state"]


def test_reopen_again_opens_the_case_anew_after_its_record(folder: Path) -> None:
    (folder / "case.yaml").write_text(CASE + RULES)
    run("dispute", "case.yaml")
    (record,) = (folder / "runs").glob("*.db")
    same = run("reopen", "case.yaml", "--again", "--json")
    assert (same.exit_code, "again" in json.loads(same.stdout)) == (0, False)
    assert [*(folder / "runs").glob("*.db")] == [record], "nothing is not as it was"
    (folder / "note.txt").write_text(NOTE.replace("10", "12"))
    kept = run("reopen", "case.yaml", "--again", "--json")
    assert kept.exit_code == 0
    data = json.loads(kept.stdout)
    assert (data["status"], data["record"]) == ("reopened", f"runs/{record.name}")
    assert (data["again"]["status"], data["again"]["rule"]) == ("settled", "R6"), "the captured bytes decide"
    assert "has other bytes now" in kept.stderr
    anew = folder / data["again"]["record"]
    assert states(anew) == ["reopened", "open", "contested", "verifying", "settled"]
    assert record.name in run("why", str(anew), "--jsonl").stdout.splitlines()[1]
    pinned = run("reopen", str(record), "--again", "--repin", "--json")
    again = json.loads(pinned.stdout)["again"]
    assert (pinned.exit_code, again["status"], again["rule"]) == (0, "settled", "R1"), "what was quoted is gone"
    assert [one["claim"] for one in again["losers"]] == ["A"]
    now = hashlib.sha256(NOTE.replace("10", "12").encode()).hexdigest()
    assert again["cites"][0]["source_sha256"] == now
    assert (folder / "evidence" / now).is_file(), "and the new bytes are kept"
    assert "settled by R1" in run("reopen", str(record), "--again", "--repin").stdout
    shown = run("why", str(anew)).stdout
    assert "live source: CHANGED" in shown


def test_a_case_that_waits_is_not_opened_anew(folder: Path) -> None:
    run("dispute", "case.yaml")
    (folder / "note.txt").unlink()
    found = run("reopen", "case.yaml", "--again")
    assert isinstance(found.exception, UsageError)
    assert "waiting" in found.exception.message
    assert "dissensus inbox" in found.exception.next_step
    assert len(list((folder / "runs").glob("*.db"))) == 1


def test_a_file_that_changed_does_not_refute_what_was_quoted_from_it(folder: Path) -> None:
    run("dispute", "case.yaml")
    (folder / "note.txt").write_text(NOTE.replace("10", "12"))
    error = fails("case.yaml")
    digest = hashlib.sha256(NOTE.encode()).hexdigest()
    assert "note.txt has other bytes" in error.message
    assert digest in error.next_step
    (folder / "case.yaml").write_text(CASE.replace("kind: signed-note", f"kind: signed-note, sha256: {digest}"))
    found = run("dispute", "case.yaml", "--json")
    assert json.loads(found.stdout)["rule"] == "R7", "the snapshot decides"
    assert "has other bytes now" in found.stderr
    (folder / "case.yaml").write_text(CASE)
    assert document("case.yaml", "--repin")["rule"] == "R1"


def test_several_groups_are_several_cases(folder: Path) -> None:
    more = """\
  - {id: C, subject: order 9, attribute: boxes, value: 1, as_of: 2026-03-02, evidence: []}
  - {id: D, subject: order 9, attribute: boxes, value: 2, as_of: 2026-03-02}
  - {id: E, subject: order 8, attribute: boxes, value: 2, as_of: 2026-03-02, evidence: [{source: note, quote: Signed}]}
"""
    (folder / "case.yaml").write_text(CASE + more)
    data = document("case.yaml", "--no-ask")
    assert [(one["case"], one["status"]) for one in data] == [
        ("delivery-1", "disputed"), ("delivery-2", "incomplete"), ("delivery-3", "settled"),
    ]  # fmt: skip
    assert len(list((folder / "runs").glob("*.db"))) == 3
    assert "These are 3 cases" in fails("case.yaml", "--record", "one.db").message
    assert run("why", "delivery-2").exit_code == 0


def test_several_cases_of_a_file_share_its_budget(folder: Path) -> None:
    """A verifier looks twice at each of two cases; three calls pay for one of them and a half."""
    vera = "models: {m: {use: 'scripted:nothing'}}\nagents: [{name: vera, model: m}]\n"
    (folder / "panel.yaml").write_text(vera)
    other = CASE.partition("claims:\n")[2].replace("id: A", "id: C").replace("id: B", "id: D")
    more = other.replace("attribute: pallets received", "attribute: pallets received in all")
    tail = "panel: panel.yaml\nverifier: vera\nbudget: {calls: 3}\n"
    (folder / "case.yaml").write_text(CASE + more + tail)
    result = run("dispute", "case.yaml", "--no-ask", "--json")
    first, second = json.loads(result.stdout)
    assert (first["status"], first["budget"]["limits"]) == ("disputed", {"calls": 3})
    assert first["budget"]["spent"]["calls"] == 2
    assert (second["status"], second["budget"]["limits"], second["budget"]["stopped"]) == (
        "open_budget", {"calls": 1}, "budget: calls",
    )  # fmt: skip
    assert second["budget"]["spent"]["calls"] == 1
    assert result.exit_code == 3
    assert result.stderr.count("2 of 3 calls in the budget of the run are used.") == 1


def test_claims_in_a_file_of_lines(folder: Path) -> None:
    claims = [
        {"id": "A", "subject": "order 4711", "attribute": "pallets received", "value": 10, "unit": "pallet",
         "as_of": "2026-03-02", "scratchpad": "secret", "evidence": [{"source": "note", "quote": "received: 10"}]},
        {"id": "B", "subject": "order 4711", "attribute": "pallets received", "value": 9, "unit": "pallet",
         "as_of": "2026-03-02", "evidence": [{"source": "log", "quote": "never stood there, not once"}]},
    ]  # fmt: skip
    (folder / "claims.jsonl").write_text("\n".join(json.dumps(one) for one in claims) + "\n")
    head = CASE.partition("claims:")[0]
    (folder / "case.yaml").write_text(f"{head}claims: claims.jsonl\n")
    data = document("case.yaml")
    assert (data["status"], data["rule"]) == ("settled", "R1")
    (folder / "claims.jsonl").write_text(json.dumps(claims[0]) + "\n{bad\n")
    error = fails("case.yaml")
    assert isinstance(error, SpecError)
    assert error.line == 2
    assert "claims.jsonl" in error.path


@pytest.mark.parametrize(
    ("old", "new", "line", "says"),
    [
        ("case: delivery", "cas: delivery", 1, "'cas' is no key of a case file"),
        ("case: delivery", "case: ''", 1, "no name"),
        ("kind: signed-note", "colour: red", 4, "'colour' is no key of a source"),
        ("file: note.txt", "file: gone.txt", 4, "cannot be read"),
        ("file: note.txt", "file: .", 4, "folder"),
        ("value: pallets, subject", "values: pallets, subject", 5, "at least its `value`"),
        ("key: booking", "row: booking", 5, "'row' is no key of a table"),
        ("by: ada", "author: ada", 7, "'author' is no key of a claim"),
        ("source: note", "source: nota", 9, "no source 'nota'"),
        ("source: note", "origins: note", 9, "'origins' is no key"),
        ("{type: line, first: 3}", "{type: line, frist: 3}", 9, "unknown key 'frist'"),
        ("id: B", "id: A", 6, "Two claims have the id 'A'"),
        ("value: 10", "value: ten", 7, ""),
    ],
)
def test_what_is_wrong_is_named_with_its_line(folder: Path, old: str, new: str, line: int, says: str) -> None:
    if new == "value: ten":
        new, says = "value: ten, value_type: decimal", "is no number"
    assert old in CASE
    (folder / "case.yaml").write_text(CASE.replace(old, new, 1))
    error = fails("case.yaml")
    assert isinstance(error, SpecError)
    assert says in error.message
    assert error.line == line
    assert error.next_step
    assert not (folder / "runs").exists(), "no record is begun"


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ("precedence: {id: x, rules: []}", "need a version"),
        ("precedence: {id: x, version: 1, rules: [{id: a, prefer: b}]}", "`over` has to be a text"),
        ("precedence: {id: x, version: 1, rules: [{id: a, prefer: b, over: b}]}", "cannot go before itself"),
        ("precedence: rules.yaml", "cannot be read"),
        ("units: [{unit: pallet, factor: 48, of: box}]", "needs evidence"),
        ("units: [{unit: pallet, factor: 0, of: box, evidence: [{source: note, quote: x}]}]", "not above zero"),
        ("verifier: vera", "no agent 'vera'"),
        ("calls: [{tool: stock}]", "no tool 'stock'"),
        ("budget: {calls: many}", "has to be a number"),
        ("budget: {cals: 1}", "'cals' is no key of a budget"),
        ("person: {deadline: soon}", "`deadline`"),
        ("person: {to: ben}", "list of names"),
        ("rounds: -1", "from 0 to 100"),
        ("sources2: {}", "'sources2' is no key"),
    ],
)
def test_what_else_may_be_wrong(folder: Path, more: str, says: str) -> None:
    (folder / "case.yaml").write_text(f"{CASE}{more}\n")
    error = fails("case.yaml")
    assert isinstance(error, SpecError)
    assert says in error.message
    assert error.next_step


def test_files_that_are_none(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "cannot be read" in fails("nothing.yaml").message
    (folder / "case.yaml").write_bytes(b"\x00\xff\xfe binary")
    assert isinstance(fails("case.yaml"), SpecError)
    (folder / "case.yaml").write_text(CASE)
    monkeypatch.setattr(
        "dissensus.interop.case_sources.pin", lambda path, store: evidence_files.pin(path, store, most=20)
    )
    error = fails("case.yaml")
    assert isinstance(error, SpecError)
    assert (error.line, "larger than" in error.message) == (4, True)
    assert not (folder / "runs").exists()


def test_a_binary_source_and_selectors_that_contradict_each_other(folder: Path) -> None:
    (folder / "note.txt").write_bytes(bytes(range(256)) * 4)
    result = run("dispute", "case.yaml", "--json")
    data = json.loads(result.stdout)
    assert (data["status"], data["losers"], result.exit_code) == ("incomplete", [], 1), "nobody could look into it"
    assert "no text can be read from its source" in run("why", "case.yaml").stdout
    (folder / "runs").rename(folder / "old")
    (folder / "note.txt").write_text(NOTE)
    twice = CASE.replace("[{type: line, first: 3}]", "[{type: line, first: 3}, {type: line, first: 2}]")
    (folder / "case.yaml").write_text(twice)
    assert "selectors contradict each other" in fails("case.yaml").message
    twice = CASE.replace("[{type: line, first: 3}]", "[{type: line, first: 3}, {type: text, start: 0, end: 20}]")
    (folder / "case.yaml").write_text(twice)
    found = run("dispute", "case.yaml", "--json")
    assert found.exit_code == 1
    assert json.loads(found.stdout)["status"] == "incomplete", "selectors that contradict each other go back"


def test_reports_of_other_procedures_are_no_cases(folder: Path) -> None:
    from dissensus.record.event import Draft
    from dissensus.record.sqlite import open_record

    with open_record(folder / "other.db", "x") as store:
        store.append([Draft(kind="run", key="run", body={"procedure": "vote"})])
        store.commit()
    found = run("why", "other.db")
    assert isinstance(found.exception, DissensusError)
    assert "no record of a dispute" in found.exception.message
    missing = run("why", "case.yaml")
    assert isinstance(missing.exception, UsageError)
    assert "dissensus dispute" in missing.exception.next_step


def test_tools_run_again_in_a_cell(folder: Path) -> None:
    """A read-only tool whose output is cited: the same output stands, another one refutes if it repeats itself."""
    from dissensus.decide.dispute.jcs import digest_of

    (folder / "panel.yaml").write_text(
        'models: {m: {use: "scripted:none"}}\nagents: [{name: vera, model: m}]\n'
        'tools: {stock: {command: ["/bin/echo", "Order {order} pallets received: 10"], description: "stock"}}\n'
    )
    output = "Order 4711 pallets received: 10\n"
    (folder / "stock.txt").write_text(output)
    args = digest_of({"tool": "stock", "arguments": {"order": "4711"}})
    cited = (
        "[{source: stock, quote: 'Order 4711 pallets received: 10', selectors: [{type: line, first: 1}],"
        f" obtained: {{tool: stock, args_digest: {args}}}}}]"
    )
    first = CASE.replace('[{source: note, quote: "Pallets received: 10", selectors: [{type: line, first: 3}]}]', cited)
    first = first.replace("  note:", "  stock: {file: stock.txt}\n  note:")
    tail = "panel: panel.yaml\ncalls: [{tool: stock, arguments: {order: '4711'}, repeatable: true}]\n"
    (folder / "case.yaml").write_text(first + tail)
    data = document("case.yaml", "--no-ask", "--record", "a")
    assert data["rule"] == "R7", data
    assert data["cell"]["level"] in ("strong", "medium", "unconfined")
    told = run("why", "case.yaml", "--runs", "a").stdout
    assert "re-run      stock: same" in told
    waits = document("case.yaml", "--record", "c")
    assert waits["status"] == "waiting"
    asked = json.loads(CliRunner().invoke(inbox, ["list", "c", "--json"]).stdout)
    given = CliRunner().invoke(answer, [asked[0]["id"], "A", "--runs", "c", "--as", "ben"])
    assert given.exit_code == 0, given.output
    assert "settled by person" in run("why", "case.yaml", "--runs", "c").stdout, "it went on, in a cell again"
    forged = output.replace("10", "11")
    (folder / "stock.txt").write_text(forged)
    (folder / "case.yaml").write_text(
        first.replace("received: 10'", "received: 11'").replace("value: 10", "value: 11") + tail
    )
    data = document("case.yaml", "--no-ask", "--record", "b")
    assert (data["rule"], data["losers"][0]["claim"]) == ("R3", "A")
    assert "re-run@1" in data["losers"][0]["reason"]


def test_a_case_with_something_new_is_reopened(folder: Path) -> None:
    (folder / "case.yaml").write_text(CASE + RULES)
    run("dispute", "case.yaml")
    run("dispute", "case.yaml")
    digest = hashlib.sha256(NOTE.encode()).hexdigest()
    (folder / "case.yaml").write_text(CASE.replace("kind: signed-note", f"kind: signed-note, sha256: {digest}") + RULES)
    (folder / "note.txt").write_text(NOTE.replace("10", "12"))
    run("dispute", "case.yaml")
    paths = []
    for record in sorted((folder / "runs").glob("*.db")):
        events = [json.loads(line) for line in run("why", str(record), "--jsonl").stdout.splitlines()]
        paths.append([event["body"]["to"] for event in events if event["kind"] == "state"][:2])
    assert sorted(paths) == [["open", "contested"], ["open", "contested"], ["reopened", "open"]]


def test_a_required_cell_that_is_not_reached_runs_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from dissensus.agents.cells import cell as cells
    from dissensus.errors import CellError

    def unreachable(*_args: Any) -> Any:
        raise CellError("No cell of the level strong here.", next_step="")

    monkeypatch.setattr(cells, "required", unreachable)
    error = fails("case.yaml", "--require-cell", "strong")
    assert isinstance(error, CellError)
    assert not list((folder / "runs").glob("*.db")), "no record is begun"
