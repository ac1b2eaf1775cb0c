"""``dissensus calibrate`` from the outside, and what ``decide`` makes of the profile that it writes."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from dissensus.cli.calibrate import calibrate
from dissensus.cli.main import main
from dissensus.cli.progress import Bar
from dissensus.cli.questions import read_questions
from dissensus.decide.procedures import settings_of_vote
from dissensus.decide.settings import VoteSettings
from dissensus.errors import DissensusError, RunError, SpecError, UsageError
from dissensus.record.opening import open_record

PANEL = """
models:
  sure: {use: "scripted:", rules: [{when: "number [0-3][0-9]", say: "Answer: 7"}, {when: "", say: "Answer: 8"}]}
  wild: {use: "scripted:", rules: [{when: "", say: {"Answer: 7": 2, "Answer: 8": 1}}]}
agents:
  - {name: ada, model: sure}
  - {name: ben, model: sure}
  - {name: cleo, model: wild}
"""
ASK = "What is number 77?"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "panel.yaml").write_text(PANEL)
    write_questions(tmp_path)
    return tmp_path


def write_questions(folder: Path, count: int = 12) -> None:
    lines = [
        {"id": f"q{place:02}", "question": f"What is number {place:02}?", "kind": "number", "gold": 7}
        for place in range(count)
    ]
    (folder / "questions.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


@pytest.fixture
def enough(here: Path) -> Path:
    """As ``here``, with as many right answers as a figure takes."""
    write_questions(here, 50)
    return here


def run(*arguments: str) -> Result:
    flags = list(arguments)
    if "--panel" not in flags and "--model" not in flags:
        flags += ["--panel", "panel.yaml"]
    return CliRunner().invoke(calibrate, ["--file", "questions.jsonl", *flags])


def refused(error: type[DissensusError], *arguments: str) -> DissensusError:
    result = run(*arguments)
    assert isinstance(result.exception, error), result.output
    return result.exception


def decided(*arguments: str, code: int = 0) -> Any:
    result = CliRunner().invoke(
        main, ["decide", ASK, "--panel", "panel.yaml", "--kind", "number", "--json", *arguments]
    )
    assert result.exit_code == code, result.output
    return json.loads(result.stdout) if code < 2 else result


def test_from_questions_to_a_profile_to_a_measured_worth(enough: Path) -> None:
    result = run()
    assert result.exit_code == 0, result.output
    assert "50 questions × 3 agents: 150 calls" in result.stderr
    for part in ("3 agents on 50 labelled questions (50 number)", "3 of 3   ", "profile  panel.profile.json"):
        assert part in result.stdout
    profile = json.loads((enough / "panel.profile.json").read_text())
    levels = {level["agreeing"]: level for level in profile["measured"]["levels"]}
    assert sum(level["count"] for level in levels.values()) + profile["ties"] == 50
    assert levels[2]["count"] + levels[3]["count"] == 50  # two of them always agree
    assert sum(level["correct"] for level in levels.values()) == 40  # the two are right below 40
    assert (profile["questions"]["n"], profile["questions"]["file"]) == (50, "questions.jsonl")
    assert profile["made"]["definitions_version"] == profile["audit"]["definitions_version"]

    document = decided()
    worth, k = document["worth"], int(max(document["votes"].values()))
    assert (worth["status"], worth["of"], worth["agreeing"], worth["labels"]) == ("measured", 3, k, 50)
    assert worth["right"] == levels[k]["correct"] / levels[k]["count"]
    assert worth["interval"] == [levels[k]["low"], levels[k]["high"]]
    assert "caution" not in worth
    assert f"right {levels[k]['correct']} of {levels[k]['count']}" in worth["text"]


def test_a_decision_with_a_profile_replays_the_same_without_the_profile(enough: Path) -> None:
    assert run().exit_code == 0
    document = decided("--hollow-below", "0.99", "--levers", "none", "--profile", "none", code=2)
    assert isinstance(document.exception, SystemExit)  # nothing to judge by
    document = decided("--hollow-below", "0.99")
    (enough / "panel.profile.json").unlink()
    replayed = CliRunner().invoke(main, ["replay", document["record"]])
    assert replayed.stdout.startswith("identical")
    assert decided()["worth"]["status"] == "unmeasured"


def test_a_panel_that_is_asked_in_another_way_does_not_get_the_figures(enough: Path) -> None:
    assert run("--output", "elsewhere.json", "--levers", "none").exit_code == 0
    assert decided("--levers", "none", "--profile", "elsewhere.json")["worth"]["status"] == "measured"
    for more, what in (
        (["--levers", "shuffle"], "options_shuffled"),
        (["--temperature", "0.3", "--levers", "none"], "temperature of ada is 0.7 there and 0.3 here"),
        (["--weights", "ada=2", "--levers", "none"], "weight of ada"),
    ):
        result = decided("--profile", "elsewhere.json", *more, code=2)
        assert "elsewhere.json: The profile was measured on another panel" in result.output
        assert what in result.output
    (enough / "elsewhere.json").rename(enough / "panel.profile.json")
    (enough / "panel.yaml").write_text(PANEL.replace("ben, model: sure", "ben, model: wild"))
    result = CliRunner().invoke(main, ["decide", ASK, "--panel", "panel.yaml", "--kind", "number", "--json"])
    assert "note: the profile beside the panel file is not used. panel.profile.json: The profile was" in result.stderr
    assert json.loads(result.stdout)["worth"]["status"] == "unmeasured"
    (enough / "panel.profile.json").write_text("{}")
    assert "is not used. panel.profile.json: This is no profile" in decided_text(enough)


def decided_text(here: Path) -> str:
    assert here.is_dir()
    return CliRunner().invoke(main, ["decide", ASK, "--panel", "panel.yaml", "--kind", "number"]).stderr


def test_hollow_unanimity_may_go_by_the_measured_rate(enough: Path) -> None:
    agree = PANEL.replace("cleo, model: wild", "cleo, model: sure")
    (enough / "panel.yaml").write_text(agree)
    assert run().exit_code == 0
    strict = decided("--hollow-below", "0.9")["routed"]
    assert [entry["trigger"] for entry in strict] == ["hollow-unanimity"]
    assert strict[0]["measured"][:2] == [40, 50]
    assert decided("--hollow-below", "0.5")["routed"] == []
    assert decided()["routed"][0]["trigger"] == "hollow-unanimity"
    told = CliRunner().invoke(main, ["decide", ASK, "--panel", "panel.yaml", "--hollow-below", "0.9"])
    assert "unanimity, measured right 40 of 50" in told.stdout


def test_a_dry_run_says_what_it_takes_and_asks_nobody(here: Path) -> None:
    result = run("--dry-run", "--json", "--sizes", "3,9")
    assert result.exit_code == 0
    document = json.loads(result.stdout)
    assert (document["questions"], document["agents"], document["calls"], document["done"]) == (12, 9, 108, 0)
    assert {path.name for path in here.iterdir()} == {"panel.yaml", "questions.jsonl"}


def test_larger_sizes_ask_each_agent_several_times_and_leave_the_profile_to_the_panel(here: Path) -> None:
    assert run("--output", "small.json").exit_code == 0
    result = run("--sizes", "3,5,9", "--json")
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert [point["n"] for point in document["sizes"]] == [3, 5, 9]
    assert document["made"]["answers_of_each"] == 3
    small = json.loads((here / "small.json").read_text())
    assert document["measured"]["voters"] == 3
    assert document["audit"] == small["audit"]  # the first answers are the same
    assert decided()["worth"]["text"].endswith("at least 50 are needed.")


@pytest.mark.usefixtures("here")
def test_few_labels_print_no_rate_by_agreement() -> None:
    result = run()
    assert result.exit_code == 0
    assert "note: 12 labelled questions are too few" in result.stdout
    assert "when so many agree" not in result.stdout
    worth = decided()["worth"]
    assert worth["status"] == "unmeasured"
    assert "12 labelled questions are too few" in worth["text"]


def test_the_same_command_goes_on_and_changes_nothing(here: Path) -> None:
    assert run().exit_code == 0
    write_questions(here, 20)
    more = run()
    assert "12 of 20 questions are done and are not asked again. 8 questions × 3 agents" in more.stderr
    again = run()
    assert "20 of 20 questions are done and are not asked again. No question has to be asked." in again.stderr
    assert again.stdout == more.stdout
    assert len(list((here / "panel.calibration").glob("*.db"))) == 20


def slow(here: Path) -> list[str]:
    (here / "panel.yaml").write_text(
        PANEL.replace('sure: {use: "scripted:",', 'sure: {use: "scripted:", delay_s: 0.02,')
    )
    code = "from dissensus.cli.calibrate import calibrate; calibrate()"
    return [sys.executable, "-c", code, "--file", "questions.jsonl", "--panel", "panel.yaml"]


def wait_for(folder: Path, records: int) -> None:
    until = time.monotonic() + 60
    while len(list(folder.glob("*.db"))) < records:
        assert time.monotonic() < until
        time.sleep(0.01)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_run_that_is_cut_goes_on_where_it_stopped(here: Path, how: signal.Signals) -> None:
    write_questions(here, 20)
    with subprocess.Popen(slow(here), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as cut:
        wait_for(here / "panel.calibration", 5)
        cut.send_signal(how)
        _, said = cut.communicate(timeout=60)
    assert cut.returncode != 0
    assert not (here / "panel.profile.json").exists()
    if how is signal.SIGINT:
        assert "questions are done; the same command goes on from there" in said
    left = sorted((here / "panel.calibration").glob("*.db"))
    assert 5 <= len(left) < 20
    done = subprocess.run(slow(here), capture_output=True, text=True, timeout=120, check=True)
    number = int(done.stderr.split()[0])
    assert number >= len(left) - 1  # all but the one in which it was cut
    records = sorted((here / "panel.calibration").glob("*.db"))
    assert len(records) == 20  # the one that was begun was finished, not begun anew
    cut_profile = (here / "panel.profile.json").read_text()
    (here / "panel.profile.json").unlink()
    result = run("--record", "anew")
    assert result.exit_code == 0
    assert json.loads((here / "panel.profile.json").read_text()) == json.loads(cut_profile)


def test_a_dead_model_ends_with_3_and_what_was_lost_is_asked_again(here: Path) -> None:
    dying = PANEL.replace('wild: {use: "scripted:",', 'wild: {use: "scripted:", dies_after: 10,')
    (here / "panel.yaml").write_text(dying)
    result = run()
    assert result.exit_code == 3
    assert "2 questions lost calls; the same command asks them again." in result.stderr
    assert "2 answers are blank because the call did not come about (2 transport)" in result.stdout
    (here / "panel.yaml").write_text(PANEL)
    mended = run()
    assert mended.exit_code == 0
    assert "10 of 12 questions are done" in mended.stderr
    assert "did not come about" not in mended.stdout
    (here / "panel.yaml").write_text(
        PANEL.replace('{use: "scripted:", rules', '{use: "scripted:", dies_after: 0, rules')
    )
    stopped = refused(RunError, "--seed", "1")
    assert "no call came about" in stopped.message


def test_what_cannot_be_is_refused_before_anybody_is_asked(here: Path) -> None:
    assert "no curve at 14" in refused(SpecError, "--sizes", "14,21").message
    assert "cannot be read" in refused(UsageError, "--sizes", "three").message
    assert "cannot be read" in refused(UsageError, "--sizes", "0").message
    assert "no lever" in refused(UsageError, "--levers", "luck").message
    assert "cannot be asked by log-probability" in refused(SpecError, "--read-by", "log-probability").message
    (here / "panel.yaml").write_text(PANEL.replace("ada, model: sure", "ada, model: sure, weight: 2"))
    assert "different weights" in refused(UsageError).message
    (here / "questions.jsonl").write_text('{"question": "Is it?"}\n')
    assert "nothing to measure by" in refused(SpecError).message
    assert not (here / "panel.calibration").exists()


def test_questions_without_a_right_answer_are_left_out_and_that_is_said(here: Path) -> None:
    with (here / "questions.jsonl").open("a") as file:
        file.write('{"question": "And this?", "kind": "number"}\n')
    result = run()
    assert "1 question without a right answer is left out" in result.stderr
    assert "note: 1 question without a right answer is left out." in result.stdout


def test_without_a_panel_file_the_profile_is_named_on_its_own(here: Path) -> None:
    (here / "short.jsonl").write_text('{"question": "Is it?", "kind": "yes-no", "gold": "yes"}\n')
    result = CliRunner().invoke(calibrate, ["--file", "short.jsonl", "--model", "scripted:yes", "--agents", "3"])
    assert result.exit_code == 0, result.output
    assert "profile  dissensus.profile.json" in result.stdout
    assert (here / "dissensus.calibration").is_dir()


def test_no_agent_is_shown_a_right_answer(here: Path) -> None:
    lines = [
        json.dumps({"question": f"Which word is {place}?", "kind": "text", "gold": "xylophone"}) for place in range(3)
    ]
    (here / "questions.jsonl").write_text("\n".join(lines))
    assert run().exit_code == 0
    for record in (here / "panel.calibration").glob("*.db"):
        with open_record(record) as store:
            asked = [dict(event.body) for event in store.read() if event.kind == "ask"]
        assert len(asked) == 3
        assert "xylophone" not in json.dumps(asked)


def test_the_bar_stands_on_a_terminal_only(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    with Bar("questions", total=3, done=1) as quiet:
        quiet.add()
    assert quiet.done == 2
    assert capfd.readouterr() == ("", "")
    parent, child = pty.openpty()
    try:
        with os.fdopen(child, "w") as terminal:
            monkeypatch.setattr(sys, "stderr", terminal)
            with Bar("questions", total=3, done=1) as bar:
                bar.add()
                bar.add(0)
            bar.stop()
            monkeypatch.undo()
            shown = ""
            while "\x1b[?25h" not in shown:  # the cursor is shown again when the bar has gone
                shown += os.read(parent, 65536).decode()
    finally:
        os.close(parent)
    assert "questions" in shown
    assert "2/3" in shown
    assert "left" in shown


@pytest.mark.usefixtures("here")
def test_a_vote_keeps_no_more_of_the_profile_than_its_numbers() -> None:
    assert run().exit_code == 0
    with open_record(decided()["record"]) as store:
        head = next(iter(store.read(1, 2)))
    kept = head.body["settings"]["vote"]["profile"]
    assert (kept["voters"], kept["labels"], kept["source"]) == (3, 12, "panel.profile.json")
    assert "audit" not in kept
    plain = settings_of_vote(read_questions("questions.jsonl")[0], VoteSettings())
    assert plain["vote"]["profile"] is None
