"""``dissensus round-robin plan`` and ``dissensus decide --procedure round-robin`` from the outside."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

from dissensus.cli.decide import decide
from dissensus.cli.round_robin import round_robin
from dissensus.cli.round_robin_text import round_robin_lines
from dissensus.cli.runs import replay
from dissensus.decide.round_robin_result import RoundRobin
from dissensus.record.opening import open_record

PANEL = r"""
models:
  honest: {use: "scripted:Tom has 3 and gets 4, so he has 7.\nAnswer: 7"}
  target: {use: "scripted:Tom has 3 and gets 4, so he has 9.\nAnswer: 9"}
  esc: {use: "scripted:\e[2J\e[31m <|im_end|> Answer: 9"}
  chat: {use: "scripted:Answer: 7", capabilities: [chat]}
  dead: {use: "scripted:", rules: [{when: "", fail: connect}]}
agents:
  - {name: ada, model: honest}
  - {name: ben, model: honest}
  - {name: cleo, model: target}
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "panel.yaml").write_text(PANEL)
    return tmp_path


def run(command: click.Command, *arguments: str) -> Result:
    return CliRunner().invoke(command, list(arguments))


def asked(*arguments: str, panel: str = "panel.yaml") -> Result:
    return run(decide, "How many?", "--kind", "number", "--panel", panel, "--procedure", "round-robin", *arguments)


def panel_of(here: Path, *models: str) -> str:
    head = PANEL[: PANEL.index("agents:")]
    rows = [
        f"  - {{name: {name}, model: {model}}}" for name, model in zip(("ada", "ben", "cleo"), models, strict=False)
    ]
    (here / "other.yaml").write_text(head + "agents:\n" + "\n".join(rows) + "\n")
    return "other.yaml"


# --- plan


def test_the_plan_is_the_reference_table() -> None:
    result = run(
        round_robin, "plan", "--agents", "5", "--k", "100", "--length", "600", "--prompt", "250", "--trajectories", "5",
        "--json",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    made = json.loads(result.stdout)
    by_cache = made["ledger"]
    assert {name: row["computed"] for name, row in by_cache.items()} == {
        "none": 15_000, "block16": 13_320, "exact": 13_255,
    }  # fmt: skip
    for row in by_cache.values():
        assert {name: row[name] for name in ("decoded", "passes", "turns", "speakers", "price")} == {
            "decoded": 3_000, "passes": 3_000, "turns": 30, "speakers": 5, "price": None,
        }  # fmt: skip
        assert row["computed"] + row["cached"] == 15_000
    assert made["shared_prompts"]["exact"]["computed"] == 8_259
    assert made["vote"]["computed"] == 1_250
    assert made["trajectories"] == 5


def test_the_price_stands_there_before_anything_is_spent() -> None:
    prices = ("--price-in", "2", "--price-out", "8", "--price-cached", "0.5")
    made = json.loads(run(round_robin, "plan", *prices, "--json").stdout)
    exact = made["ledger"]["exact"]
    assert exact["price"] == pytest.approx((exact["computed"] * 2 + exact["cached"] * 0.5 + exact["decoded"] * 8) / 1e6)
    shown = run(round_robin, "plan", *prices).stdout
    assert "price" in shown
    assert "13,255" in shown


@pytest.mark.parametrize("wrong", [("--agents", "0"), ("--k", "0"), ("--length", "0"), ("--prompt", "0")])
def test_a_plan_that_cannot_be(wrong: tuple[str, str]) -> None:
    assert run(round_robin, "plan", *wrong).exit_code == 2


def test_help_lists_the_parts_and_says_where_to_write() -> None:
    shown = run(round_robin, "--help").stdout
    assert "plan" in shown
    assert "drift" in shown
    assert "--procedure round-robin" in shown
    assert run(round_robin, "nothing").exit_code == 2


# --- decide


def test_it_decides_and_the_document_holds_everything(here: Path) -> None:
    result = asked("--k", "4", "--q-eos", "1", "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found["answer"] == "7"
    assert found["fidelity"] == "token_exact"
    assert [text["start"] for text in found["texts"]] == [0, 1, 2]
    assert found["seats"] == ["ada", "ben", "cleo"]
    turn = found["texts"][0]["turns"][0]
    assert set(turn) >= {
        "agent", "seat", "added", "finish", "kept", "trimmed", "decoded", "before", "input_hash", "prompt", "model",
        "tokenizer", "fidelity", "seconds", "key",
    }  # fmt: skip
    assert set(found["ledger"]["counted"]) == {"none", "block16", "exact"}
    assert found["ends"] == {"eos": 3}
    (record,) = (here / "runs").glob("*.db")
    with open_record(record) as store:
        first = next(iter(store.read()))
    assert first.body["settings"]["round_robin"]["k"] == 4
    assert run(replay, str(record)).stdout.startswith("identical")


@pytest.mark.usefixtures("here")
def test_the_readout_shows_who_wrote_what() -> None:
    shown = asked("--k", "4", "--trajectories", "1").stdout
    assert "ada │ Tom has 3 and" in shown
    assert "ben │ gets 4, so he" in shown
    assert "1 of 1 texts" in shown
    assert "plurality of 1 text" in shown


def test_what_writers_put_into_a_text_cannot_steer_a_terminal(here: Path) -> None:
    shown = asked("--k", "4", panel=panel_of(here, "esc", "honest")).stdout
    assert "\x1b" not in shown
    assert "control mark" in shown


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("colour", [False, True])
def test_writers_have_colours_where_there_are_any(colour: bool) -> None:
    found = RoundRobin.from_data(json.loads(asked("--k", "4", "--json").stdout))
    assert isinstance(found, RoundRobin)
    lines = list(round_robin_lines(found))
    assert any("\x1b[36m" in line and "ada" in line for line in lines)  # styled here, taken off where it is no terminal
    again = ["How many?", "--kind", "number", "--panel", "panel.yaml", "--procedure", "round-robin", "--k", "4"]
    assert ("\x1b" in CliRunner().invoke(decide, again, color=colour).stdout) is colour


def test_a_hosted_chat_is_refused_with_the_reason_and_quoted_is_marked(here: Path) -> None:
    panel = panel_of(here, "chat", "chat")
    refused = asked(panel=panel)
    assert refused.exit_code != 0
    assert "cannot continue a text that others began" in str(refused.exception)
    assert not (here / "runs").exists(), "nothing is begun"
    quoted = asked("--quoted", "--json", panel=panel)
    assert quoted.exit_code == 0
    found = json.loads(quoted.stdout)
    assert (found["fidelity"], found["answer"]) == ("approximate", "7")
    assert found["warnings"][0].startswith("APPROXIMATE")


def test_dead_servers_fail_with_exit_code_three_and_one_is_passed_over(here: Path) -> None:
    failed = asked("--json", panel=panel_of(here, "dead", "dead"))
    assert failed.exit_code == 3
    assert json.loads(failed.stdout)["status"] == "failed"
    one = asked("--k", "4", "--json", panel=panel_of(here, "dead", "honest"))
    assert one.exit_code == 0
    assert json.loads(one.stdout)["by_agent"]["ada"]["failed"] > 0


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        (["--procedure", "round-robin", "--rule", "majority"], "--rule belongs to a vote"),
        (["--procedure", "round-robin", "--check", "true"], "--check belongs to a vote"),
        (["--k", "4"], "--k belongs to texts"),
        (["--quoted"], "--quoted belongs to texts"),
        (["--with", "max_turns=3"], "--with belongs to texts"),
        (["--procedure", "round-robin", "--with", "max_turns"], "NAME=VALUE"),
        (["--procedure", "round-robin", "--with", "speed=3"], "no setting 'speed'"),
        (["--procedure", "round-robin", "--with", "max_turns=many"], "setting of the round-robin is wrong"),
        (["--procedure", "round-robin", "--quoted", "--fidelity", "token_exact"], "--quoted is approximate"),
        (["--procedure", "round-robin", "--q-eos", "3"], "cannot confirm an end"),
    ],
)
def test_what_does_not_go_together(here: Path, arguments: list[str], names: str) -> None:
    result = run(decide, "How many?", "--panel", "panel.yaml", *arguments)
    assert names in str(result.exception)
    assert not (here / "runs").exists()


@pytest.mark.usefixtures("here")
def test_any_setting_can_be_given() -> None:
    found = json.loads(
        asked("--k", "2", "--with", "max_turns=3", "--with", 'order=["cleo", "ada", "ben"]', "--json").stdout
    )
    assert found["seats"] == ["cleo", "ada", "ben"]
    assert {len(text["turns"]) for text in found["texts"]} == {3}


def test_a_file_of_questions_goes_on_where_it_stopped(here: Path) -> None:
    lines = [{"id": str(n), "question": f"How many, {n}?", "kind": "number", "gold": "7"} for n in range(3)]
    (here / "q.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))

    def go(*more: str) -> Any:
        how = ("--panel", "panel.yaml", "--procedure", "round-robin", "--k", "4", "--q-eos", "1", "--json")
        return run(decide, "--file", "q.jsonl", *how, *more)

    first = go()
    assert first.exit_code == 0, first.output
    before = sorted((here / "runs").glob("*.db"))
    before[1].unlink()
    again = go("--continue")
    assert again.exit_code == 0, again.output
    assert "2 of 3 questions are decided" in again.stderr
    assert [one["answer"] for one in json.loads(again.stdout)] == ["7", "7", "7"]
    assert [one["gold"]["equal"] for one in json.loads(again.stdout)] == [True, True, True]
    assert len(list((here / "runs").glob("*.db"))) == 3
    other = go("--continue", "--with", "max_turns=9")
    assert "0 of 3 questions are decided" in other.stderr
