"""``--ear``, ``--verify`` and ``dissensus round-robin ear`` from the outside."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

from dissensus.cli.decide import decide
from dissensus.cli.round_robin import round_robin
from dissensus.decide.verifiers.verify import VERIFIERS

PANEL = r"""
models:
  honest: {use: "scripted:Tom has 3 and gets 4. 3 + 4 = 7.\nAnswer: 7"}
  target: {use: "scripted:Tom has 3 and gets 4. 3 + 4 = 9.\nAnswer: 9"}
  esc: {use: "scripted:\e[31mTom has 3 and gets 4. 3 + 4 = 9.\nAnswer: 9"}
  deaf: {use: "scripted:Answer: 7", capabilities: [chat, continue, tokens]}
agents:
  - {name: ada, model: honest}
  - {name: ben, model: honest}
  - {name: eve, model: target}
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "panel.yaml").write_text(PANEL)
    (tmp_path / "q.jsonl").write_text(json.dumps({"question": "How many?", "kind": "number", "gold": "7.0"}) + "\n")
    return tmp_path


def run(command: click.Command, *arguments: str) -> Result:
    return CliRunner().invoke(command, list(arguments))


def asked(*arguments: str, panel: str = "panel.yaml") -> Result:
    question = [] if "--file" in arguments else ["How many?", "--kind", "number"]
    return run(decide, *question, "--panel", panel, "--procedure", "round-robin", "--k", "4", *arguments)


def heard(*arguments: str) -> Any:
    result = run(round_robin, "ear", *arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


@pytest.mark.usefixtures("here")
def test_the_readout_and_the_document_tell_what_was_heard() -> None:
    shown = asked("--ear", "both")
    assert shown.exit_code == 0, shown.output
    assert "surprise at each writer's parts" in shown.stdout
    assert "log-odds of 7 in text-1" in " ".join(shown.stdout.split())
    assert "listening took" in shown.stdout
    document = json.loads(asked("--ear", "both", "--json").stdout)
    assert document["ear"]["candidates"] == ["7", "9"]
    assert {one["reader"] for one in document["ear"]["texts"][0]["opinions"]} == {"ada", "ben", "eve"}
    assert document["ledger"]["ear"]["calls"] > 0
    quiet = json.loads(asked("--json").stdout)
    assert quiet["ear"] is None
    assert "ear" not in quiet["ledger"]
    assert [one["text"] for one in quiet["texts"]] == [one["text"] for one in document["texts"]]


def test_from_a_record_to_a_table_to_steps_that_drift_is_fitted_to(here: Path) -> None:
    asked_for = ("--ear", "both", "--file", "q.jsonl", "--candidate", "9", "--candidate", "7", "--record", "r.db")
    assert asked(*asked_for).exit_code == 0
    table = run(round_robin, "ear", "r.db")
    assert table.exit_code == 0, table.output
    assert "text-1: answers 7; log-odds of 7" in table.stdout
    assert "by honest writers" not in table.stdout
    told = run(round_robin, "ear", "r.db", "--corrupted", "eve", "--target", "9")
    assert told.exit_code == 0, told.output
    assert "parts by corrupted writers" in told.stdout
    document = heard("r.db", "--corrupted", "eve", "--target", "9")
    assert document["runs"][0]["sides"]["honest"]["chunks"] > 0
    assert {step["corrupted"] for step in document["steps"]} == {False, True}
    (here / "steps.json").write_text(json.dumps(document))
    fitted = run(round_robin, "drift", "--agents", "3", "--measured", "steps.json", "--json")
    assert fitted.exit_code == 0, fitted.output
    honest = json.loads(fitted.stdout)["measured_steps"]["honest"]
    assert honest["turns"] == sum(not step["corrupted"] for step in document["steps"])
    assert document["fit"]["honest"] == honest
    both = heard("r.db", "r.db", "--corrupted", "eve")
    assert {step["text"].partition("/")[0] for step in both["steps"]} == {"r"}


def test_the_picture_comes_with_its_numbers(here: Path) -> None:
    pytest.importorskip("matplotlib")
    assert asked("--ear", "both", "--record", "r.db").exit_code == 0
    document = heard("r.db", "--corrupted", "eve", "--right", "7", "--plots", "pics")
    assert [Path(path).name for path in document["pictures"]] == ["ear.svg", "ear.png", "ear.csv", "ear.json"]
    with (here / "pics" / "ear.csv").open() as file:
        rows = list(csv.DictReader(file))
    texts = document["runs"][0]["ear"]["texts"]
    assert len(rows) == sum(len(text["chunks"]) * len(text["opinions"]) for text in texts)
    assert [float(row["surprise"]) for row in rows if row["surprise"]] == pytest.approx(
        [
            opinion["surprise"][place]
            for text in texts
            for place in range(len(text["chunks"]))
            for opinion in text["opinions"]
            if opinion["surprise"][place] is not None
        ]
    )
    svg = (here / "pics" / "ear.svg").read_bytes()
    again = heard("r.db", "--corrupted", "eve", "--right", "7", "--plots", "pics")
    assert again == document
    assert (here / "pics" / "ear.svg").read_bytes() == svg


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("mode", ["surprise", "drift"])
def test_half_of_it_is_drawn_as_well(mode: str) -> None:
    pytest.importorskip("matplotlib")
    assert asked("--ear", mode, "--record", "r.db").exit_code == 0
    assert heard("r.db", "--plots", "pics")["pictures"]
    assert run(round_robin, "ear", "r.db").exit_code == 0


@pytest.mark.usefixtures("here")
def test_a_wrong_step_is_shown_and_taken_back() -> None:
    noted = asked("--verify", "arithmetic")
    assert noted.exit_code == 0, noted.output
    told = " ".join(noted.stdout.split())
    assert "“3 + 4 = 9” by" in told
    assert "the left side is 7, the right side 9 (noted)" in told
    document = json.loads(asked("--verify", "arithmetic", "--on-wrong", "rewrite", "--json").stdout)
    wrong = [one for text in document["texts"] for one in text["wrong"]]
    assert {one["action"] for one in wrong} <= {"taken-back", "let-stand"}
    assert any(one["action"] == "taken-back" for one in wrong)


def test_nothing_in_a_text_steers_the_terminal(here: Path) -> None:
    text = PANEL.replace("name: eve, model: target", "name: eve, model: esc")
    (here / "esc.yaml").write_text(text)
    assert asked("--ear", "both", "--verify", "arithmetic", "--record", "r.db", panel="esc.yaml").exit_code == 0
    for result in (run(round_robin, "ear", "r.db"), asked("--ear", "both", panel="esc.yaml")):
        assert "\x1b" not in result.stdout


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("--ear", "off", "--weigh-by", "drift"), "nobody listens"),
        (("--ear", "both", "--candidate", "7"), "at least two"),
        (("--weigh-by", "drift", "--ear", "drift", "--adaptive"), "adaptive"),
    ],
)
def test_what_cannot_be_is_refused(arguments: tuple[str, ...], problem: str) -> None:
    result = asked(*arguments)
    assert result.exit_code != 0
    assert problem in result.output or problem in str(result.exception)


@pytest.mark.usefixtures("here")
def test_records_without_an_ear_and_strangers_are_refused() -> None:
    assert asked("--record", "r.db").exit_code == 0
    result = run(round_robin, "ear", "r.db")
    assert "in which anybody listened" in str(result.exception)
    assert asked("--ear", "both", "--record", "s.db").exit_code == 0
    assert "Nobody in s.db is called zoe" in str(run(round_robin, "ear", "s.db", "--corrupted", "zoe").exception)
    missing = run(round_robin, "ear", "s.db", "--corrupted", "eve", "--right", "12")
    assert "not among the answers" in str(missing.exception)


@pytest.mark.usefixtures("here")
def test_these_options_do_not_belong_to_a_vote() -> None:
    for option in (("--ear", "both"), ("--candidate", "7"), ("--verify", "arithmetic"), ("--weigh-by", "drift")):
        result = run(decide, "How many?", "--panel", "panel.yaml", *option)
        assert option[0] in str(result.exception)


def test_the_verifiers_that_can_be_named_are_those_that_there_are() -> None:
    [option] = [one for one in decide.params if one.name == "verify"]
    assert isinstance(option.type, click.Choice)
    assert sorted(option.type.choices) == sorted(VERIFIERS)


def test_the_plan_tells_what_listening_would_add() -> None:
    document = json.loads(run(round_robin, "plan", "--agents", "3", "--k", "20", "--length", "50", "--json").stdout)
    assert document["ear"] == {"calls": 36, "none": 9 * (4 * 250 + 0 + 20 + 40 + 50), "exact": 450, "scored": 576}
    assert "Listening (--ear drift, two answers) would add 36 calls" in run(
        round_robin, "plan", "--agents", "3", "--k", "20", "--length", "50"
    ).stdout.replace("\n", " ")
