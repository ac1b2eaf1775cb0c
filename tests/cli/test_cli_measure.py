from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from dissensus.cli.measure import SUBCOMMANDS, measure
from dissensus.errors import SpecError, UsageError

ROWS = ["A,A,A,A", "A,A,B,A", "A,B,B,A", "B,B,B,B", "B,A,B,B", "A,C,C,C"] * 20


@pytest.fixture
def answers(tmp_path: Path) -> str:
    path = tmp_path / "answers.csv"
    body = "".join(f"{number},{row},{'ab'[number % 2]}\n" for number, row in enumerate(ROWS))
    path.write_text("id,gold,ada,ben,eva,part\n" + body, encoding="utf-8")
    return str(path)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(measure, list(arguments), prog_name="dissensus measure")


def data(*arguments: str) -> dict[str, Any]:
    result = run(*arguments, "--json", "--bootstrap", "200", "--permutations", "99")
    assert result.exception is None, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def test_the_text_is_a_few_lines_and_says_what_was_read(answers: str) -> None:
    result = run(answers)
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0] == "3 voters, 120 questions, 120 with a right answer"
    assert lines[1].startswith("alone .50–.83 (best: eva .833)")
    assert "read 120 rows of CSV, one row a question; answers compared as written" in lines
    assert any(line.startswith("note: All voters agree against the key on 20 questions") for line in lines)


def test_json_has_the_names_that_are_promised(answers: str) -> None:
    found = data(answers)
    assert found.keys() >= {
        "n_questions", "n_voters", "accuracy", "plurality_accuracy", "plurality_ci", "best_voter", "joint_error",
        "independent_error", "independence_p", "rho", "rho_ci", "phi_mean", "n_eff", "same_wrong_rate",
        "same_wrong_chance", "unanimous", "by_count", "curve",
    }  # fmt: skip
    assert found["unanimous"].keys() >= {"count", "wrong", "rate", "ci"}
    assert found["by_count"][0].keys() >= {"k", "count", "correct"}
    assert found["curve"][0].keys() >= {"n", "majority", "plurality", "condorcet"}
    assert found["accuracy"] == pytest.approx({"ada": 1 / 2, "ben": 1 / 2, "eva": 5 / 6})
    assert found["rows"] == {"read": 120, "dropped": 0, "duplicate": 0, "unmatched": 0}
    assert found["equivalence"]["kind"] == "exact"
    assert found["settings"] == {"bootstrap": 200, "permutations": 99, "seed": 0}
    assert found["definitions_version"] == 1


def test_the_same_seed_gives_the_same_document(answers: str) -> None:
    assert data(answers, "--seed", "3") == data(answers, "--seed", "3")
    assert data(answers, "--seed", "3")["phi_ci"] != data(answers, "--seed", "4")["phi_ci"]


def test_options_reach_the_reader(answers: str, tmp_path: Path) -> None:
    found = data(answers, "--strata", "part", "--voters", "ada,ben", "--options", "A,B")
    assert found["n_voters"] == 2
    assert found["permutation"]["strata"]["times"] == 99
    assert found["blanks"] == {"outside the options": 40}
    assert any("even number" in warning for warning in found["warnings"])
    long = tmp_path / "votes.csv"
    long.write_text("case,who,said\n1,a,5.0\n1,b,5\n2,a,7\n2,b,6\n", encoding="utf-8")
    key = tmp_path / "key.csv"
    key.write_text("case,right\n1,5\n2,6\n", encoding="utf-8")
    names = ["--question", "case", "--voter", "who", "--answer", "said", "--gold", "right", "--key", str(key)]
    found = data(str(long), *names, "--kind", "number")
    assert found["accuracy"] == {"a": 0.5, "b": 1.0}
    near = data(str(long), *names, "--tolerance", "1")
    assert near["accuracy"] == {"a": 1.0, "b": 1.0}


def test_pictures_are_written_with_their_data(answers: str, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    folder = tmp_path / "pictures"
    found = data(answers, "--plots", str(folder))
    written = {path.name for path in folder.iterdir()}
    for name in ("curve", "reliability", "risk_coverage", "error_correlation"):
        assert {f"{name}.{kind}" for kind in ("svg", "png", "csv", "json")} <= written
    assert sorted(Path(path).name for path in found["pictures"]) == sorted(written)
    points = json.loads((folder / "curve.json").read_text(encoding="utf-8"))["curve"]
    assert [point["n"] for point in points] == [1, 2, 3]
    risk = json.loads((folder / "risk_coverage.json").read_text(encoding="utf-8"))["risk_coverage"]
    assert risk[0] == {"at_least": 3, "answered": 60, "coverage": 0.5, "risk": pytest.approx(1 / 3)}


def test_a_table_without_a_correlation_has_the_pictures_that_it_can(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    path = tmp_path / "all.csv"
    path.write_text("id,gold,a,b\n1,A,A,A\n2,B,B,B\n", encoding="utf-8")
    found = data(str(path), "--plots", str(tmp_path / "p"))
    assert found["phi_mean"] is None
    assert len(found["pictures"]) == 16
    unlabelled = tmp_path / "open.csv"
    unlabelled.write_text("id,a,b\n1,A,A\n2,B,B\n", encoding="utf-8")
    assert data(str(unlabelled), "--plots", str(tmp_path / "q"))["pictures"] == []


def test_plan_is_a_command_of_its_own(answers: str) -> None:
    result = run("plan", "--difference", "0.02", "--accuracy", "0.8", "--json")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["questions"] > 1000
    assert run("plan", "--help").stdout.startswith("Usage: dissensus measure plan [OPTIONS]")
    assert run("--json", answers, "--bootstrap", "200").exit_code == 0


def test_help_names_the_other_commands() -> None:
    text = run("--help").stdout
    assert text.startswith("Usage: dissensus measure [OPTIONS] FILE...")
    assert all(name in text for name in SUBCOMMANDS)


def test_no_file_is_a_usage_error() -> None:
    result = run()
    assert result.exit_code == 2
    assert "Missing argument 'FILE...'" in result.output


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--kind", "colour"], "no kind of answer called 'colour'"),
        (["--tolerance", "much"], "'much' is no tolerance"),
        (["--gold", "nowhere"], "no column 'nowhere'"),
    ],
)
def test_what_cannot_be_is_one_sentence(answers: str, arguments: list[str], words: str) -> None:
    result = run(answers, *arguments)
    assert isinstance(result.exception, UsageError)
    assert words in result.exception.message
    assert result.exception.next_step
    assert isinstance(run("nowhere.csv").exception, SpecError)


def test_the_reference_set_from_its_file(shared: Path) -> None:
    result = run(str(shared / "data/voting/mmlu-pro/answers.csv"), "--strata", "subject", "--bootstrap", "300")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0] == "9 voters, 6,065 questions, 6,065 with a right answer, 2,024 cells blank"
    assert "plurality .681 [.669, .692]   (ties split; the best voter alone is better)" in lines[1]
    assert lines[2] == "errors together .301, if independent .199   → independence rejected (p = .001)"
    assert lines[3].startswith("within strata, if independent .212")
    assert lines[4].startswith("correlation .42 [.41, .4")
    assert lines[4].endswith("9 voters are worth about 2.0 independent ones (order of magnitude)")
    assert lines[6] == "unanimous 1,180 times, wrong 6.6 % [5.3, 8.2]   (independent voters: 4.5e-9)"
