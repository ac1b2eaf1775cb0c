"""``dissensus decide`` from the outside: what it prints, how it ends, and what it refuses."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from dissensus.cli.main import main
from dissensus.cli.questions import new_path, read_questions, slug
from dissensus.cli.readout import clean, exit_code, readout
from dissensus.errors import ScriptError, SpecError, StorageError
from dissensus.script.decisions import Ballot, Check, Cost, Decision, Status

KEYS = {
    "question", "answer", "status", "ballots", "votes", "dissent", "failures", "warnings", "worth", "checks", "routed",
    "cost", "record",
}  # fmt: skip
PENS = "What do 12 pens cost?"

PANEL = """
models:
  says8: {use: "scripted:3 for 2, so 4 times 2.\\nAnswer: 8 euros"}
  says24: {use: "scripted:Two times twelve.\\nAnswer: 24 euros"}
  dead: {use: "scripted:", rules: [{when: "", fail: connect}]}
  slow: {use: "scripted:", rules: [{when: "", fail: stall}]}
agents:
  - {name: ada, model: says8}
  - {name: ben, model: says24}
  - {name: cleo, model: says8}
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "panel.yaml").write_text(PANEL)
    return tmp_path


def run(*arguments: str, **more: Any) -> Result:
    return CliRunner().invoke(main, list(arguments), **more)


def decided(*arguments: str, code: int = 0) -> Any:
    result = run("decide", *arguments, "--json")
    assert result.exit_code == code, result.output
    return json.loads(result.stdout)


def panel_with(here: Path, *agents: str, spares: str = "") -> str:
    text = PANEL.partition("agents:")[0] + "agents:\n" + "".join(f"  - {{{agent}}}\n" for agent in agents)
    (here / "own.yaml").write_text(text + (f"spares:\n  - {{{spares}}}\n" if spares else ""))
    return "own.yaml"


def test_the_document_has_the_promised_keys_and_the_record_replays(here: Path) -> None:
    document = decided(PENS, "--panel", "panel.yaml")
    assert document.keys() >= KEYS
    assert list(document)[:4] == ["question", "answer", "status", "ballots"]
    assert all(ballot.keys() >= {"agent", "answer", "reply", "outcome"} for ballot in document["ballots"])
    assert (document["question"], document["answer"], document["status"]) == (PENS, "8 EUR", "decided")
    assert document["votes"] == {"8 EUR": 2.0, "24 EUR": 1.0}
    assert document["worth"]["status"] == "unmeasured"
    assert document["cost"]["money"] is None
    record = here / document["record"]
    assert record.parent.name == "runs"
    assert record.name.endswith("-what-do-12-pens-cost.db")
    assert run("replay", str(record)).stdout.startswith("identical")
    assert run("record", "verify", str(record)).exit_code == 0


@pytest.mark.parametrize(
    "more",
    [
        ["--stop", "when-decided", "--unit", "euro"],
        ["--levers", "none", "--rule", "majority"],
        ["--check", "test {answer} = '8 EUR'", "--check-rule", "overrule"],
        ["--stronger", "scripted:Answer: 8 €", "--on-disagreement", "stronger", "--stronger-decides"],
        ["--options", "8 euros,24 euros,36 euros"],
        ["--options", "8 euros,24 euros", "--read-by", "log-probability", "--levers", "shuffle"],
    ],
)
def test_every_way_of_voting_replays_to_the_same_decision(here: Path, more: list[str]) -> None:
    document = decided(PENS, "--panel", "panel.yaml", *more)
    assert run("replay", str(here / document["record"])).stdout.startswith("identical")


def test_a_spare_steps_in_and_the_run_replays(here: Path) -> None:
    agents = [
        "name: ada, model: says8",
        "name: ben, model: slow, deadline: 0.2s",
        "name: cleo, model: slow, deadline: 0.1s",
    ]
    panel = panel_with(here, *agents, spares="name: zoe, model: says8")
    document = decided(PENS, "--panel", panel)
    assert document["votes"] == {"8 EUR": 2.0}
    (spare,) = [ballot for ballot in document["ballots"] if ballot["stands_in_for"]]
    assert (spare["agent"], spare["stands_in_for"]) == ("zoe", "cleo")
    assert document["failures"] == {"timeout": 2}
    assert run("replay", str(here / document["record"])).stdout.startswith("identical")


def test_the_readout_says_all_that_qualifies_the_answer(here: Path) -> None:
    agents = [
        "name: ada, model: says8",
        "name: ben, model: says24",
        "name: cleo, model: says8",
        "name: dora, model: dead",
    ]
    result = run("decide", PENS, "--panel", panel_with(here, *agents), "--weights", "ada=2")
    assert result.exit_code == 0
    text = " ".join(result.stdout.split())
    for fact in (
        "8 EUR decided: 3 of 5 votes",
        "(blank)",
        "dora – call failed",
        "ben says 24 EUR: Two times twelve.",
        "copy of ada",
        "weight 2",
        "failures 1 call failed",
        "A verifier that cannot check adds only a signature.",
        "unmeasured.",
        "disagreement → reported",
        "3 of 4 voters count",
        "one opinion photocopied",
        "money unknown",
        "dissensus record show",
        "dissensus replay",
    ):
        assert fact in text, fact
    assert "\x1b" not in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 80


def test_unanimity_of_one_model_comes_with_its_illustration() -> None:
    counted = [
        Ballot(agent=name, answer="8", reply=name, outcome="reply", model="m") for name in ("ada", "ben", "cleo")
    ]
    from dissensus.decide.worth import worth_of

    worth = worth_of(counted)
    text = " ".join(" ".join(readout(decision(ballots=tuple(counted), worth=worth))).split())
    assert "An illustration with assumed numbers" in text
    assert "27.2% of the unanimous answers of 3 agents" in text  # voting reference, section 1.3


def decision(**what: Any) -> Decision:
    ballot = Ballot(agent="ada", answer="8", reply="Answer: 8", outcome="reply")
    fine = Decision(question=PENS, answer="8", status=Status.DECIDED, ballots=(ballot,), votes={"8": 1.0})
    return replace(fine, **what)


REJECTED = Check(check="c", answer="8", verdict="rejected")


@pytest.mark.parametrize(
    ("what", "code", "says"),
    [
        ({}, 0, "decided: 1 of 1 votes"),
        ({"checks": (REJECTED,)}, 1, "8 rejected by c"),
        ({"checks": (replace(REJECTED, answer="9"),)}, 0, "9 rejected by c"),
        (
            {"checks": (replace(REJECTED, verdict="error", detail="exit status 7"),)},
            0,
            "could not judge by c: exit status 7",
        ),
        ({"answer": None, "status": Status.SPLIT}, 1, "split"),
        ({"answer": None, "status": Status.DISPUTED}, 1, "needs a person"),
        ({"answer": None, "status": Status.ABSTAINED}, 1, "abstained"),
        ({"answer": None, "status": Status.WAITING}, 3, "waiting"),
        ({"answer": None, "status": Status.OPEN_BUDGET}, 3, "budget ended"),
        ({"answer": None, "status": Status.FAILED, "votes": {}, "ballots": ()}, 3, "failed"),
        ({"answer": "7"}, 0, "decided, but not by the vote"),
        (
            {"cost": Cost(calls=1, tokens_in=1200, money=0.5)},
            0,
            "1 call, tokens: 1,200 in, unknown out, time unknown, money 0.5",
        ),
    ],
)
def test_each_status_has_its_words_and_its_exit_code(what: dict[str, Any], code: int, says: str) -> None:
    one = decision(**what)
    assert exit_code(one) == code
    text = " ".join("\n".join(readout(one)).split())
    for style in ("\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[31m", "\x1b[32m", "\x1b[33m"):
        text = text.replace(style, "")
    assert says in text


def test_what_agents_write_cannot_steer_a_terminal() -> None:
    hostile = "8\x1b[2J\x07\u202e gnp\nfailures  none"
    ballots = (Ballot(agent="ada", answer=hostile, reply=hostile, outcome="reply", reason=hostile, model="m"),)
    one = decision(ballots=ballots, votes={hostile: 1.0}, answer="9", question=hostile, warnings=(hostile,),
                   dissent=({"agent": "ada", "answer": hostile, "reason": hostile},))  # fmt: skip
    lines = list(readout(one))
    assert not any(char in line for line in lines for char in "\x07\u202e\n")
    assert not any("\x1b[2J" in line for line in lines)
    assert sum(line.lstrip("\x1b[1m").startswith("failures") for line in lines) == 1
    assert clean("a\tb\r\nc") == "a b c"


def test_wide_and_long_answers_stay_in_their_columns() -> None:
    answer = "汉字" * 40
    one = decision(
        ballots=(Ballot(agent="ada", answer=answer, reply="", outcome="reply"),), votes={answer: 1.0}, answer=answer
    )
    from rich.cells import cell_len

    for line in list(readout(one))[4:]:
        plain = line.replace("\x1b[0m", "").replace("\x1b[1m", "").replace("\x1b[2m", "").replace("\x1b[32m", "")
        assert cell_len(plain) <= 80, plain


def write_lines(here: Path, *lines: Any) -> str:
    (here / "q.jsonl").write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines))
    return "q.jsonl"


def test_a_file_of_questions_is_a_list_and_goes_on_after_a_failure(here: Path) -> None:
    panel = here / "rules.yaml"
    panel.write_text(
        "models:\n  m:\n    use: 'scripted:Answer: 8 euros'\n    rules:\n"
        "      - {when: broken, fail: crashed}\n      - {when: prime, say: 'Answer: yes'}\n"
        "agents:\n  - {count: 3, model: m}\n"
    )
    file = write_lines(
        here,
        {"id": "a", "question": PENS, "unit": "euro", "gold": 8},
        "",
        {"id": "b", "question": "What is broken?"},
        {"id": "c", "question": "Is 91 prime?", "kind": "yes-no", "gold": False},
    )
    documents = decided("--file", file, "--panel", "rules.yaml", code=3)
    assert [one["status"] for one in documents] == ["decided", "failed", "decided"]
    assert [one["id"] for one in documents] == ["a", "b", "c"]
    assert documents[0]["gold"] == {"answer": "8", "equal": True}
    assert documents[2]["gold"] == {"answer": "no", "equal": False}
    assert len({one["record"] for one in documents}) == 3
    result = run("decide", "--file", file, "--panel", "rules.yaml", "--record", "other")
    text = " ".join(result.stdout.split())
    assert "questions 3: 2 decided, 1 failed" in text
    assert "1 of 2 answers equal the file's gold" in text
    assert "gold 8: equal" in text
    assert "NOT equal" in text
    assert len(list((here / "other").glob("*.db"))) == 3


def test_questions_from_standard_input(here: Path) -> None:
    result = run("decide", "--file", "-", "--panel", "panel.yaml", "--json", input=json.dumps({"question": PENS}))
    assert [one["answer"] for one in json.loads(result.stdout)] == ["8 EUR"]
    assert (here / "runs").is_dir()


@pytest.mark.usefixtures("here")
def test_gold_stays_with_whoever_wrote_the_file(here: Path) -> None:
    (here / "echo.yaml").write_text("models:\n  m: {use: 'scripted:Answer: 8'}\nagents:\n  - {count: 2, model: m}\n")
    file = write_lines(here, {"question": PENS, "gold": "GOLD-CANARY", "data": {"note": "DATA-CANARY"}})
    (document,) = decided("--file", file, "--panel", "echo.yaml")
    events = json.loads(run("record", "show", document["record"], "--json").stdout)
    assert "GOLD-CANARY" in json.dumps(events[0])
    asks = [event for event in events if event["kind"] == "ask"]
    assert len(asks) == 2
    assert "CANARY" not in json.dumps(asks)


def test_levers_make_seats_differ_or_not(here: Path) -> None:
    varied = decided(PENS, "--model", "scripted:Answer: 8", "--agents", "3")
    assert len({ballot["style"] for ballot in varied["ballots"]}) == 3
    same = decided(PENS, "--model", "scripted:Answer: 8", "--agents", "3", "--levers", "none")
    assert {ballot["style"] for ballot in same["ballots"]} == {""}
    mixed = decided(PENS, "--model", "scripted:Answer: 8", "--model", "scripted:Answer: 9", "--agents", "3")
    assert [ballot["answer"] for ballot in mixed["ballots"]] == ["8", "9", "8"]
    assert (here / "runs").is_dir()


def test_budget_and_deadline_from_flags(here: Path) -> None:
    document = decided(PENS, "--panel", "panel.yaml", "--budget-calls", "0", code=3)
    assert (document["status"], document["failures"]) == ("open_budget", {"budget": 3})
    panel = panel_with(here, "name: ada, model: slow")
    document = decided(PENS, "--panel", panel, "--deadline", "0.1", code=3)
    assert document["failures"] == {"timeout": 1}


@pytest.mark.usefixtures("here")
def test_what_is_nearly_used_up_is_said_once_on_stderr() -> None:
    result = run("decide", PENS, "--panel", "panel.yaml", "--budget-calls", "2", "--json")
    document = json.loads(result.stdout)
    assert (document["status"], document["stopped"]) == ("open_budget", "budget: calls")
    assert result.stderr.count("2 of 2 calls in the budget of the run are used.") == 1
    assert result.stderr.count("in the budget of the run") <= 2
    text = run("decide", PENS, "--panel", "panel.yaml", "--budget-calls", "2").stdout
    assert "stopped by budget: calls" in " ".join(text.split())


def test_a_named_record_is_never_written_over(here: Path) -> None:
    document = decided(PENS, "--panel", "panel.yaml", "--record", "one.db")
    assert document["record"] == "one.db"
    before = (here / "one.db").read_bytes()
    result = run("decide", PENS, "--panel", "panel.yaml", "--record", "one.db")
    assert result.exit_code in (2, 3)
    assert "one.db" in result.stderr
    assert (here / "one.db").read_bytes() == before


def test_names_of_records_are_short_plain_and_free(tmp_path: Path) -> None:
    first = new_path(tmp_path / "deep" / "runs", "Wie heißt das größte Land der Welt, nach Fläche?")
    assert first.parent.is_dir()
    assert slug("Où est l'église ?") == "ou-est-l-eglise"
    assert slug("Is 2027 a prime number?") == "is-2027-a-prime"
    assert len(slug("a" * 300)) == 20
    assert slug("?!…") == "question"
    first.touch()
    second = new_path(tmp_path / "deep" / "runs", "Wie heißt das größte Land der Welt, nach Fläche?")
    assert not second.exists()


BAD_LINES: list[tuple[list[Any], str]] = [
    (['{"question": "a?"', {"question": "b?"}], "q.jsonl:1: The line is not JSON"),
    ([{"question": "a?"}, "[1]"], "q.jsonl:2: Expected `object`"),
    (
        [{"question": "a?"}, {"question": "b?", "optoins": ["x", "y"]}],
        "q.jsonl:2: Object contains unknown field `optoins`",
    ),
    ([{"text": "a?"}], "q.jsonl:1:"),
    ([{"question": 7}], "q.jsonl:1: Expected `str`"),
    ([{"question": "  "}], "q.jsonl:1: The question is empty"),
    ([{"question": "x" * 10_000_000}], "q.jsonl:1: The question has 10,000,000 characters"),
    ([{"question": "a?", "options": ["x"]}], "q.jsonl:1: There is only one option"),
    ([{"question": "a?", "options": ["x", "x"]}], "q.jsonl:1: Two options are the same"),
    ([{"question": "a?", "kind": "colour"}], "q.jsonl:1: There is no kind"),
    ([{"question": "a?", "id": "i"}, {"question": "b?", "id": "i"}], "q.jsonl:2: The id 'i' stands in line 1 already"),
    (['{"question": "a\\ud800?"}'], "q.jsonl:1:"),
    (["[" * 100_000], "q.jsonl:1:"),
    ([], "q.jsonl: The file holds no question"),
    ([" ", ""], "q.jsonl: The file holds no question"),
]


@pytest.mark.parametrize(("lines", "says"), BAD_LINES)
def test_bad_files_are_refused_with_their_line_before_anybody_is_asked(here: Path, lines: list[Any], says: str) -> None:
    result = run("decide", "--file", write_lines(here, *lines), "--panel", "panel.yaml")
    assert result.exit_code == 2, result.output
    assert result.stderr.startswith(f"error: {says}")
    assert result.stdout == ""
    assert not (here / "runs").exists()


def test_the_shipped_questions_can_be_asked() -> None:
    questions = read_questions(str(Path(__file__).parents[2] / "examples" / "questions.jsonl"))
    assert {question.kind for question in questions} >= {"number", "yes-no", "text"}
    assert any(question.options for question in questions)
    assert all(question.gold for question in questions)


def test_a_file_that_is_not_utf8(here: Path) -> None:
    (here / "q.jsonl").write_bytes(b'{"question": "a?"}\n{"question": "caf\xe9?"}\n')
    with pytest.raises(SpecError, match=r"q\.jsonl:2: The file is not UTF-8"):
        read_questions("q.jsonl")
    (here / "q.jsonl").write_bytes(b'\xef\xbb\xbf{"question": "a?"}\r\n')
    assert read_questions("q.jsonl")[0].text == "a?"
    with pytest.raises(SpecError, match="cannot be read"):
        read_questions("absent.jsonl")


BAD_FLAGS: list[tuple[list[str], str]] = [
    ([], "Give one question"),
    (["a?", "--file", "q.jsonl"], "not both"),
    (["  "], "empty"),
    (["a?", "--options", "red"], "only one option"),
    (["a?", "--options", "red,red"], "same"),
    (["a?", "--options", "red,"], "empty"),
    (["a?", "--kind", "choice"], "options"),
    (["a?", "--kind", "number", "--options", "1,2"], "cannot be of the kind"),
    (["a?", "--panel", "absent.yaml"], "absent.yaml"),
    (["a?", "--panel", "panel.yaml", "--agents", "3"], "cannot be given beside"),
    (["a?", "--model", "scripted:x", "--model", "scripted:y", "--agents", "1"], "shared among"),
    (["a?", "--model", "llama:no-such-model"], "no-such-model"),
    (["a?", "--model", "nonsense:x"], "nonsense"),
    (["a?", "--model", "scripted:x", "--levers", "style"], "no lever 'style'"),
    (["a?", "--model", "scripted:x", "--weights", "ada"], "cannot be read"),
    (["a?", "--model", "scripted:x", "--weights", "zoe=2"], "no agent 'zoe'"),
    (["a?", "--model", "scripted:x", "--weights", "ada=0"], "cannot have the weight"),
    (["a?", "--model", "scripted:x", "--check", ""], "check is empty"),
    (["a?", "--model", "scripted:x", "--check", "no-such-program {answer}"], "was not found"),
    (["a?", "--model", "scripted:x", "--check", "true", "--check", "true"], "twice"),
    (["a?", "--model", "scripted:x", "--on-disagreement", "stronger"], "--stronger"),
    (["a?", "--model", "scripted:x", "--weights", "ada=1e308,ben=1e308"], "at most 1e+12"),
    (["a?", "--model", "scripted:x", "--temperature", "nan"], "temperature of the voters cannot be nan"),
    (["a?", "--model", "scripted:x", "--deadline", "inf"], "deadline of ada cannot be inf"),
    (["a?", "--model", "scripted:x", "--check-rule", "overrule"], "--check"),
    (["a?", "--model", "scripted:x", "--stronger-decides"], "--stronger"),
    (["a?", "--model", "scripted:x", "--on-unanimity", "check"], "--check"),
    (["a?", "--model", "scripted:x", "--read-by", "log-probability"], "log-probability"),
    (["a?", "--model", "scripted:x", "--group-by-model", "scripted:y", "--stop", "when-decided"], "cannot stop early"),
]


@pytest.mark.parametrize(("arguments", "says"), BAD_FLAGS)
def test_what_cannot_be_is_one_sentence_and_exit_code_2(here: Path, arguments: list[str], says: str) -> None:
    result = run("decide", *arguments)
    assert result.exit_code == 2, result.output
    assert says in result.stderr
    assert "Traceback" not in result.output
    assert result.stdout == ""
    assert not (here / "runs").exists()


def test_a_folder_that_cannot_be_made_is_one_sentence(here: Path) -> None:
    (here / "runs").write_text("a file is in the way")
    result = run("decide", PENS, "--panel", "panel.yaml")
    assert result.exit_code == 3
    assert "--record" in result.stderr
    file = write_lines(here, {"question": "a?"}, {"question": "b?"})
    result = run("decide", "--file", file, "--panel", "panel.yaml", "--record", "one.db")
    assert (result.exit_code, "folder" in result.stderr) == (2, True)


def test_exit_code_1_when_something_was_found(here: Path) -> None:
    panel = panel_with(here, "name: ada, model: says8", "name: ben, model: says24")
    assert decided(PENS, "--panel", panel, code=1)["status"] == "split"
    document = decided(PENS, "--panel", "panel.yaml", "--check", "false", code=1)
    assert {check["verdict"] for check in document["checks"]} == {"rejected"}
    assert (
        decided(PENS, "--panel", "panel.yaml", "--check", "false", "--check-rule", "overrule", code=1)["status"]
        == "disputed"
    )


def test_free_text_grouped_by_a_model(here: Path) -> None:
    document = decided(
        "Who wrote Hamlet?", "--kind", "text", "--model", "scripted:Answer: Shakespeare",
        "--model", "scripted:Answer: William Shakespeare", "--agents", "3", "--group-by-model", "scripted:1, 2",
    )  # fmt: skip
    assert document["votes"] == {"shakespeare": 3.0}
    assert (here / "runs").is_dir()


def test_resume_and_fork_print_the_same_readout(here: Path) -> None:
    document = decided(PENS, "--panel", "panel.yaml")
    events = json.loads(run("record", "show", document["record"], "--json").stdout)
    at = next(event["seq"] for event in events if event["kind"] == "outcome" and event["key"] == "ben/ask/ben")
    result = run(
        "fork", document["record"], "--at", str(at), "--replace", "Answer: 8 euros", "-o", str(here / "fork.db")
    )
    assert result.exit_code == 0, result.output
    assert "decided: 3 of 3 votes" in result.stdout


def test_progress_is_for_terminals_only(here: Path) -> None:
    result = run("decide", PENS, "--panel", "panel.yaml")
    assert result.stderr == ""
    assert (here / "runs").is_dir()


@pytest.mark.parametrize(("agents", "seen"), [("3", b"cleo"), ("30", b"of 30")])
def test_on_a_terminal_ballots_are_seen_as_they_arrive(here: Path, agents: str, seen: bytes) -> None:
    ours, theirs = pty.openpty()
    start = "from dissensus.cli.main import main; main()"
    command = [sys.executable, "-c", start, "decide", PENS, "--model", "scripted:8 or 9?", "--agents", agents]
    process = subprocess.Popen(command, stderr=theirs, stdout=subprocess.PIPE, cwd=here)
    os.close(theirs)
    written = b""
    with contextlib.suppress(OSError):  # how a terminal says that the other side has gone
        while more := os.read(ours, 65536):
            written += more
    os.close(ours)
    printed, _ = process.communicate(timeout=60)
    assert process.returncode == 3
    assert seen in written
    assert PENS.encode() in written
    assert b"failed: no ballot came" in printed
    assert b"\x1b" not in printed


def test_an_interrupted_run_says_how_to_go_on(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def interrupted(**_what: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("dissensus.run.casting.run_procedure", interrupted)
    result = run("decide", PENS, "--panel", "panel.yaml")
    assert result.exit_code == 130
    (record,) = (here / "runs").glob("*.db")
    assert f"dissensus resume {record.relative_to(here)}" in result.stderr


def test_an_interrupted_file_says_what_was_not_asked(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from dissensus.run import casting

    honest = casting.run_procedure

    async def interrupted(**what: Any) -> Decision:
        if what["settings"]["question"]["text"] == "b?":
            raise KeyboardInterrupt
        return await honest(**what)

    monkeypatch.setattr("dissensus.run.casting.run_procedure", interrupted)
    file = write_lines(here, {"question": PENS}, {"question": "b?"}, {"question": "c?"}, {"question": "d?"})
    result = run("decide", "--file", file, "--panel", "panel.yaml", "--json")
    assert result.exit_code == 130
    assert "Not asked: 2 of 4 questions, from “c?” on" in result.stderr
    assert [one["answer"] for one in json.loads(result.stdout)] == ["8 EUR"]


def decided_into(here: Path, sink: str, *arguments: str, **env: str) -> tuple[int, str]:
    """Exit code and stderr of `decide` whose output goes to ``sink``, as a shell would have it."""
    program = f"{sys.executable} -c 'from dissensus.cli.main import main; main()' decide"
    line = f"{program} {' '.join(arguments)} --panel panel.yaml {sink}; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["/bin/bash", "-c", line],
        cwd=here,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, **env},
    )
    return done.returncode, done.stderr


def test_a_reader_that_has_gone_is_no_error_unless_questions_are_left(here: Path) -> None:
    assert decided_into(here, "| true", "what?") == (0, "")
    file = write_lines(here, *({"question": f"{number}?"} for number in range(3)))
    code, told = decided_into(here, "| true", "--file", file)
    assert (code, "Not asked: 2 of 3 questions" in told) == (3, True)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_output_onto_a_full_disk_is_one_sentence(here: Path) -> None:
    code, told = decided_into(here, "> /dev/full", "what?")
    assert code == 3
    assert told.startswith("error: The output cannot be written: No space left on device.")
    assert "Traceback" not in told
    assert len(list((here / "runs").glob("*.db"))) == 1


def test_a_closed_standard_input_holds_no_question(here: Path) -> None:
    code, told = decided_into(here, "<&-", "--file", "-")
    assert (code, "holds no question" in told) == (2, True)


def test_no_color_is_heeded_on_a_terminal(here: Path) -> None:
    for value, coloured in (("", True), ("1", False)):
        ours, theirs = pty.openpty()
        command = [sys.executable, "-c", "from dissensus.cli.main import main; main()", "decide", "what?", "--panel"]
        environment = {**os.environ, "NO_COLOR": value, "TERM": "xterm"}
        process = subprocess.Popen(
            [*command, "panel.yaml"], stdout=theirs, stderr=subprocess.PIPE, cwd=here, env=environment
        )
        os.close(theirs)
        written = b""
        with contextlib.suppress(OSError):
            while more := os.read(ours, 65536):
                written += more
        os.close(ours)
        process.communicate(timeout=60)
        assert b"decided: 2 of 3 votes" in written
        assert (b"\x1b[" in written) is coloured


def test_a_run_that_breaks_does_not_keep_the_other_questions_from_theirs(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dissensus.run import casting

    honest = casting.run_procedure

    async def broken(**what: Any) -> Decision:
        if what["settings"]["question"]["text"] == "a?":
            raise ScriptError("It broke.", next_step="Mend it.")
        return await honest(**what)

    monkeypatch.setattr("dissensus.run.casting.run_procedure", broken)
    file = write_lines(here, {"question": "a?"}, {"question": PENS})
    result = run("decide", "--file", file, "--panel", "panel.yaml", "--json")
    assert (result.exit_code, "It broke. Mend it." in result.stderr) == (3, True)
    assert [one["status"] for one in json.loads(result.stdout)] == ["failed", "decided"]
    assert run("decide", "a?", "--panel", "panel.yaml").exit_code == 3


def test_a_full_disk_ends_the_file_and_what_was_decided_is_printed(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from dissensus.run import casting

    honest = casting.run_procedure

    async def full(**what: Any) -> Decision:
        if what["settings"]["question"]["text"] == "b?":
            raise StorageError("The disk is full.", next_step="Make room.")
        return await honest(**what)

    monkeypatch.setattr("dissensus.run.casting.run_procedure", full)
    file = write_lines(here, {"question": PENS}, {"question": "b?"}, {"question": "c?"})
    result = run("decide", "--file", file, "--panel", "panel.yaml", "--json")
    assert (result.exit_code, "The disk is full." in result.stderr) == (3, True)
    assert [one["answer"] for one in json.loads(result.stdout)] == ["8 EUR"]


def test_the_readout_tells_routes(here: Path) -> None:
    more = ["--panel", "panel.yaml", "--check", "test {answer} = '24 EUR'", "--on-disagreement"]
    result = run("decide", PENS, *more, "check")
    assert "disagreement → the checks decided" in result.stdout
    assert "The vote was for 8 EUR; the outside check rejected it and accepted 24 EUR." in " ".join(
        result.stdout.split()
    )
    result = run("decide", PENS, *more, "stronger", "--stronger", "scripted:Answer: 7 €")
    text = " ".join(result.stdout.split())
    assert "asked: 7 EUR, shown beside the vote" in text
    assert "asked alone, answers 7 EUR" in text
    assert (here / "runs").is_dir()


def test_ascii_streams_get_plainer_characters(here: Path) -> None:
    result = CliRunner(charset="ascii").invoke(main, ["decide", PENS, "--panel", "panel.yaml"])
    assert result.exit_code == 0, result.output
    assert "####" in result.stdout_bytes.decode("ascii")
    assert (here / "runs").is_dir()
