"""Tables as users have them, through the command: the same figures for the same votes, a sentence for a mistake."""

from __future__ import annotations

import csv
import io
import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from dissensus.cli.measure import measure
from dissensus.errors import DissensusError

Write = Callable[..., str]
VOTERS = ("ada", "ben", "eva")


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def to_file(text: str | bytes, name: str = "answers.csv") -> str:
        path = tmp_path / name
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return str(path)

    return to_file


def run(*arguments: str) -> Result:
    return CliRunner().invoke(measure, [*arguments, "--bootstrap", "200", "--permutations", "99"])


def data(*arguments: str) -> dict[str, Any]:
    result = run(*arguments, "--json")
    assert result.exception is None, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def refused(*arguments: str) -> str:
    problem = run(*arguments).exception
    assert isinstance(problem, DissensusError)
    assert problem.next_step
    return problem.message


def votes(questions: int = 90, seed: int = 1) -> list[list[str]]:
    """Rows of question, right answer, and an answer or none of each voter."""
    draw = random.Random(seed)  # noqa: S311 - votes, not secrets
    rows = []
    for number in range(questions):
        key = draw.choice("ABC")
        rows.append([f"q{number}", key, *(key if draw.random() < 0.6 else draw.choice("ABCD ") for _ in VOTERS)])
    return [[cell.strip() for cell in row] for row in rows]


def wide(rows: Sequence[Sequence[str]], *, voters: Sequence[str] = VOTERS, sign: str = ",", quote: int = 0) -> str:
    text = io.StringIO()
    writer = csv.writer(text, delimiter=sign, quoting=quote, lineterminator="\n")  # type: ignore[arg-type]
    writer.writerows([["id", "gold", *voters], *rows])
    return text.getvalue()


def figures(found: dict[str, Any]) -> dict[str, Any]:
    """All that must not depend on how the votes were written down."""
    kept = {name: found[name] for name in found if name not in {"rows", "format", "files", "notes", "columns"}}
    kept = {name: value for name, value in kept.items() if name not in {"equivalence", "warnings", "key_review"}}
    return {name: rounded(value) for name, value in kept.items()}


def rounded(value: Any) -> Any:
    """Sums in another order differ in their last digit."""
    if isinstance(value, dict):
        return {name: rounded(one) for name, one in value.items()}
    if isinstance(value, list):
        return [rounded(one) for one in value]
    return round(value, 9) if isinstance(value, float) else value


def test_every_key_that_is_promised_is_there(write: Write) -> None:
    found = data(write(wide(votes())))
    numbers = (
        "plurality_accuracy", "joint_error", "independent_error", "independence_p", "rho", "phi_mean", "n_eff",
        "same_wrong_rate", "same_wrong_chance",
    )  # fmt: skip
    assert all(isinstance(found[name], float) for name in numbers)
    assert (found["n_questions"], found["n_voters"]) == (90, 3)
    assert found["accuracy"].keys() == set(VOTERS)
    assert found["best_voter"] in VOTERS
    assert all(len(found[name]) == 2 for name in ("plurality_ci", "rho_ci"))
    assert isinstance(found["unanimous"]["count"], int)
    assert isinstance(found["unanimous"]["wrong"], int)
    assert found["unanimous"]["ci"][0] <= found["unanimous"]["rate"] <= found["unanimous"]["ci"][1]
    assert all(level["correct"] <= level["count"] for level in found["by_count"])
    assert [point["n"] for point in found["curve"]] == [1, 2, 3]
    assert all(isinstance(point[name], float) for point in found["curve"] for name in ("majority", "plurality"))
    assert all(isinstance(point["condorcet"], float) for point in found["curve"])
    fits, bounds = found["fits"], found["bounds"]
    assert fits.keys() == {"independent", "trap", "bb", "two_classes", "npmle"}
    assert [bound["n"] for bound in bounds] == [21, None]


def test_the_same_votes_in_any_order_under_any_names(write: Write) -> None:
    rows = votes()
    once = figures(data(write(wide(rows))))
    shuffled = random.Random(2).sample(rows, len(rows))  # noqa: S311 - as above
    turned = [[row[0], row[1], row[4], row[2], row[3]] for row in shuffled]
    assert figures(data(write(wide(turned, voters=("eva", "ada", "ben"))))) == once
    other = {"A": "C", "B": "D", "C": "B", "D": "A", "": ""}
    renamed = [[row[0], *(other[cell] for cell in row[1:])] for row in rows]
    assert figures(data(write(wide(renamed)))) == once


def test_the_same_votes_in_any_format(write: Write, tmp_path: Path) -> None:
    rows = votes()
    text = wide(rows)
    once = figures(data(write(text)))
    long = [[row[0], voter, cell, row[1]] for row in rows for voter, cell in zip(VOTERS, row[2:], strict=True)]
    names = ("question", "voter", "answer", "gold")
    found = {
        "semicolons": write(wide(rows, sign=";"), "semi.csv"),
        "tabs": write(wide(rows, sign="\t"), "tabs.tsv"),
        "quotes": write(wide(rows, quote=csv.QUOTE_ALL), "quoted.csv"),
        "CRLF and BOM": write("\ufeff" + text.replace("\n", "\r\n"), "bom.csv"),
        "long": write("\n".join(",".join(row) for row in [names, *long]) + "\n", "long.csv"),
        "lines": write(
            "".join(json.dumps(dict(zip(names, row, strict=True))) + "\n" for row in long),
            "long.jsonl",
        ),
        "wide lines": write(
            "".join(json.dumps(dict(zip(("id", "gold", *VOTERS), row, strict=True))) + "\n" for row in rows), "w.jsonl"
        ),
    }
    for name, path in found.items():
        assert figures(data(path)) == once, name
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    columns = dict(zip(("id", "gold", *VOTERS), map(list, zip(*rows, strict=True)), strict=True))
    pq.write_table(pa.table(columns), tmp_path / "wide.parquet")
    assert figures(data(str(tmp_path / "wide.parquet"))) == once
    pq.write_table(
        pa.table(dict(zip(names, map(list, zip(*long, strict=True)), strict=True))), tmp_path / "long.parquet"
    )
    assert figures(data(str(tmp_path / "long.parquet"))) == once


@pytest.mark.parametrize(
    ("text", "arguments", "expected", "words"),
    [
        pytest.param(
            "question,voter,answer,gold\n1,a,A,A\n1,a,B,A\n1,b,A,A\n2,a,B,B\n2,a,B,B\n2,b,A,B\n", [],
            {"accuracy": {"a": 0.5, "b": 0.5}, "rows": {"read": 6, "dropped": 0, "duplicate": 2, "unmatched": 0}},
            "answered one question differently", id="duplicate votes",
        ),
        pytest.param(
            "question,voter,answer,gold\n1,a,A,A\n1,b,A,A\n2,a,B,B\n3,b,A,A\n2,c,A,B\n", [],
            {"n_questions": 3, "accuracy": {"a": 2 / 3, "b": 2 / 3, "c": 0}}, "cells are blank", id="missing cells",
        ),
        pytest.param(
            "id,gold,a,b,c\n1,A,A,A,A\n2,B,B,A,\n3,A,A,B,\n", [], {"accuracy": {"a": 1, "b": 1 / 3, "c": 1 / 3}},
            "Most: c (2)", id="a voter with one answer",
        ),
        pytest.param(
            "id,gold,a,b,c\n" + "1,A,A,A,A\n2,B,B,B,B\n" * 30, [],
            {"plurality_accuracy": 1, "phi_mean": None, "n_eff": None, "joint_error": 0},
            "correlation of errors is not defined", id="all right",
        ),
        pytest.param(
            "id,gold,a,b,c\n" + "".join(f"{i},A,B,B,B\n" for i in range(60)), [],
            {"plurality_accuracy": 0, "phi_mean": None, "joint_error": 1, "same_wrong_rate": 1},
            "All voters agree against the key on 60 questions", id="all wrong",
        ),
        pytest.param(
            "id,gold,a,b,c\n1,A,A,A,B\n", [], {"n_questions": 1, "plurality_accuracy": 1, "argmax_n": 3},
            "Only 1 question", id="one question",
        ),
        pytest.param(
            "id,gold,a,b,c\n1,5 h,300 min,5 h,5 min\n2,2 km,2000 m,2 km,2 kg\n", [],
            {"accuracy": {"a": 1, "b": 1, "c": 0}}, "compared as number", id="mixed units",
        ),
        pytest.param(
            "id,gold,a,b,c\n1,Z,A,B,A\n2,A,A,B,A\n", ["--options", "A,B"],
            {"n_questions": 2, "n_labelled": 1, "accuracy": {"a": 1, "b": 0, "c": 1}}, "1 key is not among the options",
            id="a key that is no option",
        ),
        pytest.param(
            "id,gold,a,b,c\n1,3,NaN,3,3\n2,4,nan,4,-inf\n3,NaN,5,5,5\n", ["--kind", "number"],
            {"n_questions": 3, "n_labelled": 2, "accuracy": {"a": 0, "b": 1, "c": 0.5}}, "no right answer", id="NaN",
        ),
        pytest.param(
            'id,gold,a,b,c\n1,1000,1 000,"1,000",1000.0\n2,1,1,1.0,1e0\n', [],
            {"accuracy": {"a": 1, "b": 1, "c": 1}}, "compared as number", id="one number written differently",
        ),
        pytest.param(
            "id,gold,a,b\n1,Paris,paris, PARIS.\n2,Rome,Rome,Roma\n", [], {"accuracy": {"a": 0.5, "b": 0}},
            "2 answers counted as wrong for capitals, spaces or a full stop only ('PARIS.' for 'Paris')",
            id="a right answer in other letters",
        ),
        pytest.param(
            "id,gold,a\n1,A,A\n2,B,A\n", [], {"n_voters": 1, "joint_error": None, "accuracy": {"a": 0.5}},
            "One voter: there is no agreement to measure.", id="one voter",
        ),
        pytest.param(
            "id,gold,a,b\n1,A,A,B\n2,B,B,B\n", [], {"n_voters": 2, "plurality_accuracy": 0.75},
            "2 voters is an even number", id="two voters",
        ),
        pytest.param(
            "question,voter,answer,gold\n1,gold,A,A\n1,answer,B,A\n2,gold,B,B\n2,answer,B,B\n", [],
            {"accuracy": {"gold": 1, "answer": 0.5}}, "even number", id="voters named like columns",
        ),
        pytest.param(
            "id,gold,answer,voter\n1,A,A,B\n2,B,B,B\n", ["--voters", "answer,voter"],
            {"accuracy": {"answer": 1, "voter": 0.5}}, "even number", id="columns of voters with usual names",
        ),
        pytest.param(
            ",id,gold,a,b\n7,1,A,A,B\n8,2,B,B,B\n", [], {"n_voters": 2}, "Columns not read as voters: (no name).",
            id="a column without a name",
        ),
        pytest.param(
            "id,gold,a,b\n1,A,,\n2,B,,\n", [], {"accuracy": {"a": 0, "b": 0}, "blanks": {"empty": 4}},
            "of all cells are blank", id="nobody answered",
        ),
    ],
)  # fmt: skip
def test_the_right_answer_and_a_sentence(
    write: Write, text: str, arguments: list[str], expected: dict[str, Any], words: str
) -> None:
    found = data(write(text), *arguments)
    for name, value in expected.items():
        assert found[name] == (pytest.approx(value) if isinstance(value, dict | float) else value), name
    shown = run(write(text), *arguments)
    assert words in shown.output


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param("", "The file is empty", id="empty"),
        pytest.param("\n\n", "The file is empty", id="empty lines"),
        pytest.param("id,gold,a,b\n", "holds no question", id="header only"),
        pytest.param("id,gold,a,b\n1,A,A\n", "3 fields, the first line 4", id="a cell too few"),
        pytest.param("id,gold,a,a\n1,A,A,B\n", "Two columns are called 'a'", id="two columns of a name"),
        pytest.param(
            "question,voter,answer,gold\n1,a,A,A\n1,b,A,B\n", "The right answer of question '1'", id="two keys"
        ),
        pytest.param("id,gold,a\n1,caf\u00e9,x\n".encode("latin-1"), "byte 0xe9 in column 6", id="Latin-1"),
        pytest.param("id,gold,a\n1,A,A\n".encode("utf-16"), "not UTF-8", id="UTF-16"),
    ],
)
def test_one_sentence_and_nothing_else(write: Write, text: str | bytes, words: str) -> None:
    assert words in refused(write(text))


def test_lines_of_json_are_named(write: Write) -> None:
    good = '{"question": 1, "voter": "x", "answer": "A", "gold": "A"}\n'
    assert "not JSON" in refused(write(good + '{"question": 2,\n', "cut.jsonl"))
    found = data(write('{"id": 1, "gold": 1, "a": 1.0, "b": NaN}\n{"id": 2, "gold": 2, "a": "2", "b": 2}\n', "n.jsonl"))
    assert found["accuracy"] == {"a": 1, "b": 0.5}


def test_lists_of_objects_are_no_answers(write: Write) -> None:
    line = '{"idx": 1, "texts": ["a", "b"], "infos": [{"r": 1}, {"r": 0}]}\n'
    assert "a list of lists or objects, which is neither answer nor ballot" in refused(write(line, "s.jsonl"))


def test_a_name_in_a_file_does_not_steer_the_terminal(write: Write) -> None:
    result = CliRunner().invoke(measure, [write("id,gold,a,\x1b[31mred\n1,A,B,A\n2,B,B,B\n")], color=True)
    assert "best: \\x1b[31mred 1" in result.stdout
    assert "\x1b" not in result.stdout


def test_sizes_are_asked_about(write: Write) -> None:
    path = write(wide(votes()))
    found = data(path, "--sizes", "8,99")
    assert [bound["n"] for bound in found["bounds"]] == [8, 99, None]
    assert any(warning.startswith("8 voters: an even panel can tie") for warning in found["warnings"])
    lines = run(path, "--sizes", "21").stdout.splitlines()
    assert any(line.startswith("and with 21? a majority of right against wrong (") for line in lines)
    for wrong in ("many", "0", "3,-1", "2.5"):
        assert "cannot be read" in refused(path, "--sizes", wrong)
