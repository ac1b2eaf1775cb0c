from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dissensus.errors import MissingExtra, SpecError
from dissensus.interop.columns import Named
from dissensus.interop.reading import TableRead, format_of, read_table

Write = Callable[..., Path]


@pytest.fixture
def lines(tmp_path: Path) -> Write:
    def to_file(*records: Any, name: str = "answers.jsonl") -> Path:
        path = tmp_path / name
        path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
        return path

    return to_file


def texts(read: TableRead) -> list[list[str | None]]:
    return [[read.table.texts[code] if code >= 0 else None for code in row] for row in read.table.codes.tolist()]


def test_a_key_for_each_voter(lines: Write) -> None:
    read = read_table([lines({"id": 1, "gold": "A", "ada": "A", "ben": None}, {"id": 2, "gold": "B", "ada": "B"})])
    assert read.table.voters == ("ada", "ben")
    assert texts(read) == [["A", None], ["B", None]]
    assert read.table.blanks() == {"null": 1, "absent": 1}


def test_answers_by_voter_in_an_object(lines: Write) -> None:
    read = read_table(
        [
            lines(
                {"id": 1, "gold": "4", "answers": {"ada": "4", "ben": {"status": "timeout"}}},
                {"id": 2, "gold": "5", "answers": {"ada": {"answer": "5"}, "eva": "6"}},
            )
        ]
    )
    assert read.table.voters == ("ada", "ben", "eva")
    assert texts(read) == [["4", None, None], ["5", None, "6"]]
    assert read.table.blanks() == {"timeout": 1, "absent": 2}


def test_lists_of_ballots_best_first(lines: Write) -> None:
    rows = [{"doc_id": q, "target": "A", "resps": [["A", "B"], ["B"], ["invalid"]]} for q in range(20)]
    rows[3]["resps"] = [["A"], ["B"], ["A"], ["A"], ["A"], ["B"]]  # six ballots of three voters
    rows[4]["resps"] = [["A"]]
    read = read_table([lines(*rows)])
    assert read.table.voters == ("1", "2", "3")
    assert texts(read)[0] == ["A", "B", None]
    assert texts(read)[4] == ["A", None, None]
    assert read.report["duplicates"] == 3
    assert any("one voter has one vote" in note.replace("\n", " ") for note in read.report["notes"])


def test_lists_of_any_length_lose_nothing(lines: Write) -> None:
    read = read_table([lines(*({"id": q, "answers": ["A"] * (q + 1)} for q in range(5)))])
    assert read.table.n_voters == 5
    assert read.report["duplicates"] == 0


def test_votes_with_json_values(lines: Write) -> None:
    read = read_table(
        [
            lines(
                {"item": "x", "judge": "a", "verdict": True},
                {"item": "x", "judge": "b", "verdict": 1},
                {"item": "x", "judge": "c", "verdict": 1.0},
                {"item": "x", "judge": "d", "verdict": float("nan")},
            )
        ]
    )
    assert texts(read) == [["true", "1", "1", None]]
    assert read.table.blanks() == {"NaN": 1}


def test_what_votes_say_of_their_question(lines: Write) -> None:
    def vote(question: str, voter: str, answer: str, **more: Any) -> dict[str, Any]:
        return {"question_id": question, "voter": voter, "answer": answer, **more}

    read = read_table(
        [
            lines(
                vote("1", "a", "red", options=["red", "blue"], text="Which  colour?", part="x"),
                vote("1", "b", "green", options=["red", "blue"], text="", part="x"),
                vote("2", "a", "up", options="up|down", text="Which colour?", part="y", gold="up"),
                vote("2", "b", "down", text=None),
            )
        ],
        named=Named(strata="part"),
    )
    assert texts(read) == [["red", None], ["up", "down"]]
    assert read.table.options is not None
    assert read.table.options.tolist() == [2, 2]
    assert read.table.groups is not None
    assert read.table.groups.tolist() == [0, 0]
    assert list(read.table.stratum_names) == ["x", "y"]
    grouped = read_table(
        [lines(vote("1", "a", "x", kin=3), vote("2", "a", "x", kin=3), vote("3", "a", "x"), name="kin.jsonl")],
        named=Named(group="kin"),
    )
    assert grouped.table.groups is not None
    assert grouped.table.groups.tolist() == [0, 0, 1]


@pytest.mark.parametrize("options", ["[broken", 7, {"a": 1}])
def test_options_that_are_no_list_are_refused(lines: Write, options: Any) -> None:
    with pytest.raises(SpecError, match=r":2: The options are no list"):
        read_table(
            [lines({"id": 1, "options": None, "a": "x", "b": "y"}, {"id": 2, "options": options, "a": "x", "b": "y"})]
        )


def test_a_list_of_objects_is_read_like_lines(tmp_path: Path) -> None:
    path = tmp_path / "answers.json"
    path.write_text('[{"id": 1, "gold": "A", "a": "A", "b": "B"}]', encoding="utf-8")
    assert texts(read_table([path])) == [["A", "B"]]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"id": 1, "a": "A", "b": "B"}\n{"id": 2, "a"\n', ":2: The line is not JSON"),
        ('{"id": 1, "a": "A", "b": "B"}\n[1]\n', ":2: The line is no JSON object"),
        ("{}\n", "holds no object"),
        (
            '{"id": 1, "answers": ["A"]}\n{"id": 2, "answers": {"a": "A"}}\n',
            "lists on some lines and objects on others",
        ),
        ('{"id": 1, "a": "x", "answers": {"a": "A", "b": "B"}}\n', "'a' is a key of the line and a voter"),
        ("[1, 2]", "Item 1 of the list is no object"),
    ],
)
def test_what_is_no_table_is_refused(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "answers.jsonl"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SpecError) as caught:
        read_table([path])
    assert words in str(caught.value)


def test_parquet_says_the_same_as_csv(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    rows = {"id": [1, 2], "gold": ["A", "B"], "ada": ["A", None], "ben": ["B", "B"]}
    pq.write_table(pa.table(rows), tmp_path / "answers.parquet")
    read = read_table([tmp_path / "answers.parquet"])
    assert texts(read) == [["A", "B"], [None, "B"]]
    assert read.report["format"] == "Parquet, one row a question"
    long = {"question": ["1", "1"], "voter": ["a", "b"], "answer": ["x", "y"], "cost": [0.5, None]}
    pq.write_table(pa.table(long), tmp_path / "long.parquet")
    read = read_table([tmp_path / "long.parquet"])
    assert texts(read) == [["x", "y"]]
    assert read.table.costs == {"a": 0.5}
    pq.write_table(pa.table({"id": [1], "answers": [["A", "B"]]}), tmp_path / "nested.parquet")
    with pytest.raises(SpecError, match="holds lists or objects"):
        read_table([tmp_path / "nested.parquet"])
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 and nothing more")
    with pytest.raises(SpecError, match="no Parquet, or damaged"):
        read_table([tmp_path / "broken.parquet"])


def test_without_its_package_parquet_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    (tmp_path / "answers.parquet").write_bytes(b"PAR1")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtra, match=r"dissensus\[parquet\]"):
        read_table([tmp_path / "answers.parquet"])


def test_formats_are_told_by_content(tmp_path: Path, lines: Write) -> None:
    assert format_of(lines({"id": 1})) == "json"
    assert format_of(lines({"id": 1, "gold": "A"}, name="table.csv")) == "json"
    path = tmp_path / "table.txt"
    path.write_text("id,a,b\n", encoding="utf-8")
    assert format_of(path) == "csv"
    assert format_of(lines({"doc_id": 1, "filtered_resps": ["a"]}, name="x.jsonl")) == "lm-eval"


def test_the_sets_of_the_reference_data(shared: Path) -> None:
    votes = shared / "data/voting"
    ranked = read_table([votes / "rankedvotingsc/votes.dedup.jsonl"], named=Named(options=tuple("ABCDE")))
    assert (ranked.table.n_questions, ranked.table.n_voters) == (606, 8)
    assert ranked.table.blanks() == {"invalid ballot": 614}
    judges = read_table(
        [votes / "trajectory-judge/verdicts.jsonl"],
        named=Named(answer="faulty", gold="faulty"),
        key=votes / "trajectory-judge/labels.jsonl",
    )
    assert (judges.table.n_questions, judges.table.n_voters) == (202, 5)
    assert judges.table.labelled.all()
    mmlu = read_table([votes / "mmlu-pro/answers.csv"])
    assert (mmlu.table.n_questions, mmlu.table.n_voters) == (6065, 9)
    assert mmlu.table.blanks() == {"empty": 1982, "outside the options": 42}
