"""Properties and costs of voters: columns beside the votes, a table of their own, samples, logs and records."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dissensus.errors import SpecError
from dissensus.interop.columns import Named
from dissensus.interop.factors import Traits, with_factors
from dissensus.interop.rankings import ballot_of, read_ranked
from dissensus.interop.reading import read_table
from dissensus.measure.table import VoteTable

LONG = """question,voter,answer,gold,model,family,factor.host,prompt,cost
1,a,X,X,m1,f,eu,short,0.5
1,b,Y,X,m1,f,us,long,0.25
1,c,X,X,m2,f,,short,
2,a,X,Y,m1,f,eu,short,0.5
2,b,Y,Y,m1,f,us,long,0.25
2,c,X,Y,m2,f,,long,1
"""


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_columns_beside_the_votes(tmp_path: Path) -> None:
    read = read_table([written(tmp_path, "votes.csv", LONG)])
    assert read.table.factors == {
        "model": {"a": "m1", "b": "m1", "c": "m2"},
        "family": {"a": "f", "b": "f", "c": "f"},
        "host": {"a": "eu", "b": "us"},
    }
    assert read.table.costs == {"a": 1.0, "b": 0.5}  # what is unknown once is unknown
    assert any("prompt changes within a voter" in note for note in read.report["notes"])
    assert read.table.groups is None  # a prompt is no text of the question


def test_a_model_that_is_the_voter_is_no_factor(tmp_path: Path) -> None:
    text = LONG.replace("voter,", "").replace(",model,", ",x,").replace("question,", "question,model,", 1)
    assert "model" not in read_table([written(tmp_path, "votes.csv", text)]).table.factors


def test_samples_of_one_voter_are_told_apart_and_belong_together(tmp_path: Path) -> None:
    text = "question,voter,sample,answer,gold\n" + "".join(
        f"{q},{v},{s},X,X\n" for q in (1, 2) for v in "ab" for s in (1, 2)
    )
    table = read_table([written(tmp_path, "votes.csv", text)]).table
    assert table.factors == {"voter": {"a#1": "a", "a#2": "a", "b#1": "b", "b#2": "b"}}


def wide(folder: Path) -> VoteTable:
    return read_table([written(folder, "wide.csv", "id,gold,a,b,c\n1,X,X,Y,X\n2,Y,X,Y,X\n")]).table


def test_a_table_of_the_voters(tmp_path: Path) -> None:
    path = written(tmp_path, "voters.csv", "voter,model,temperature,cost\nb,m,0.2,3\na,m,,1.5\n")
    table = with_factors(wide(tmp_path), path)
    assert table.factors == {"model": {"b": "m", "a": "m"}, "temperature": {"b": "0.2"}}
    assert table.costs == {"b": 3.0, "a": 1.5}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("model,cost\nm,1\n", "no voter 'm'"),
        ("kind,cost\nm,1\n", "no column of voters"),
        ("voter,cost\na,1\na,2\n", "stands here twice"),
        ("voter,cost\na,cheap\n", "'cheap' is no cost"),
        ("voter,cost\na,-1\n", "'-1' is no cost"),
        ("voter,cost\na,inf\n", "'inf' is no cost"),
    ],
)
def test_a_table_of_the_voters_that_does_not_fit(tmp_path: Path, text: str, message: str) -> None:
    path = written(tmp_path, "voters.csv", text)
    with pytest.raises(SpecError, match=message):
        with_factors(wide(tmp_path), path)
    with pytest.raises(SpecError, match="no such file"):
        with_factors(wide(tmp_path), tmp_path / "missing.csv")


def test_what_every_voter_has_for_itself_or_all_have_is_not_shared() -> None:
    traits = Traits({"model": 0, "style": 1, "host": 2})
    for voter, model, style, host in (("a", "m", "s", "x"), ("b", "m", "t", "x"), ("c", "n", "u", "x")):
        traits.take([voter], [[model], [style], [host]], None)
    assert traits.shared("abc") == {"model": {"a": "m", "b": "m", "c": "n"}}
    assert traits.shared("ac") == {}


# --- ranked ballots


def test_ballots_in_lists(tmp_path: Path) -> None:
    rows = [
        {"id": 1, "gold": "A", "votes": [["A", "B"], ["B", "A"], ["B", "A"], ["C", "A"], ["C", "A"]]},
        {"id": 2, "gold": "B", "votes": [["B"], ["invalid"], ["A", "A"], ["B", "C"], []]},
    ]
    path = written(tmp_path, "votes.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    table = read_table([path]).table
    found = {name: credit.tolist() for name, credit in read_ranked([path], table, named=Named()).items()}
    assert found["ranked: first choice"] == [0.0, 1.0]
    assert found["ranked: Borda"] == [1.0, 1.0]  # A stands second everywhere
    assert found["ranked: Schulze"] == [1.0, 1.0]


def test_ballots_in_a_column(tmp_path: Path) -> None:
    text = "question,voter,answer,ranking,gold\n1,a,A,A > B,B\n1,b,B,B>A,B\n1,c,C,C > B,B\n1,c,C,C > A,B\n"
    path = written(tmp_path, "votes.csv", text)
    found = read_ranked([path], read_table([path]).table, named=Named())
    assert found["ranked: first choice"].tolist() == [1 / 3]
    assert found["ranked: Borda"].tolist() == [1.0]


def test_texts_with_commas_are_no_ballots(tmp_path: Path) -> None:
    path = written(tmp_path, "wide.csv", 'id,gold,a,b\n1,"1,000","1,000",7\n')
    assert read_ranked([path], read_table([path]).table, named=Named()) == {}
    plain = written(tmp_path, "long.csv", "question,voter,answer,gold\n1,a,A,A\n")
    assert read_ranked([plain], read_table([plain]).table, named=Named()) == {}
    assert read_ranked([plain, plain], read_table([plain]).table, named=Named()) == {}


@pytest.mark.parametrize(
    ("cell", "ballot"),
    [
        (["B", "A"], ["B", "A"]),
        ("B > A > C", ["B", "A", "C"]),
        ("['B', 'A']", ["B", "A"]),
        ("B;A", ["B", "A"]),
        ("B", ["B"]),
        ("", []),
        (None, []),
        (["invalid"], []),
        (["A", "B", "A"], []),
        ([1, 2], ["1", "2"]),
    ],
)
def test_what_a_cell_ranks(cell: object, ballot: list[str]) -> None:
    assert ballot_of(cell) == ballot
