from __future__ import annotations

import csv
import io
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dissensus.errors import SpecError, UsageError
from dissensus.interop import delimited
from dissensus.interop.columns import Named
from dissensus.interop.delimited import open_delimited
from dissensus.interop.equivalence import Sameness
from dissensus.interop.reading import TableRead, from_rows, read_table
from dissensus.interop.sheet import Coder

Write = Callable[[str], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def to_file(text: str, name: str = "answers.csv") -> Path:
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return to_file


def texts(read: TableRead) -> list[list[str | None]]:
    """The cells as texts."""
    table = read.table
    return [[table.texts[code] if code >= 0 else None for code in row] for row in table.codes.tolist()]


def gold(read: TableRead) -> list[str | None]:
    return [read.table.texts[code] if code >= 0 else None for code in read.table.gold.tolist()]


def notes(read: TableRead) -> str:
    return " ".join(read.report["notes"])


# --- one row a question


def test_a_wide_table(write: Write) -> None:
    read = read_table([write("id,gold,ada,ben\n1,A,A,B\n2,B, B ,\n")])
    assert read.table.voters == ("ada", "ben")
    assert list(read.table.questions) == ["1", "2"]
    assert texts(read) == [["A", "B"], ["B", None]]
    assert gold(read) == ["A", "B"]
    assert read.table.blanks() == {"empty": 1}
    assert read.report["rows"] == {"read": 2, "dropped": 0, "duplicate": 0, "unmatched": 0}


@pytest.mark.parametrize("sign", [",", ";", "\t", "|"])
def test_any_separator(write: Write, sign: str) -> None:
    read = read_table([write("id,gold,ada,ben\n1,A,A,B\n".replace(",", sign))])
    assert texts(read) == [["A", "B"]]


def test_a_byte_order_mark_is_no_part_of_the_first_name(write: Write) -> None:
    assert list(read_table([write("\ufeffid,gold,a,b\nq,A,A,B\n")]).table.questions) == ["q"]


def test_what_stands_for_nothing_and_what_is_an_answer(write: Write) -> None:
    read = read_table([write("id,gold,a,b,c,d,e\n1,NA,NA,None,null,NaN,nan\n")])
    assert texts(read) == [["NA", "None", "null", None, None]]
    assert read.table.blanks() == {"NaN": 2}
    declared = read_table([write("id,gold,a,b\n1,A,NA,A\n")], named=Named(blank=("NA",)))
    assert declared.table.blanks() == {"declared blank: NA": 1}


def test_columns_that_hold_no_answers_are_no_voters_and_are_named(write: Write) -> None:
    rows = "".join(f"{q},business,10,A,{'AB'[q % 2]},A,x{q}\n" for q in range(30))
    read = read_table([write("question_id,subject,n_options,gold,one,two,remark\n" + rows)])
    assert read.table.voters == ("one", "two")
    assert "subject, remark" in notes(read)


def test_a_voter_who_is_always_wrong_is_a_voter_where_answers_are_open(write: Write) -> None:
    rows = "".join(f"{q},{q * 7},{q * 7},{q * 7 + 1}\n" for q in range(60))
    assert read_table([write("id,gold,one,two\n" + rows)]).table.voters == ("one", "two")


def test_a_table_in_which_everybody_is_wrong_keeps_its_voters(write: Write) -> None:
    read = read_table([write("id,gold,one,two\n1,A,B,C\n2,A,C,B\n")])
    assert read.table.voters == ("one", "two")
    assert not read.table.right.any()


def test_voters_can_be_named(write: Write) -> None:
    path = write("id,gold,one,two,three\n1,A,A,B,A\n")
    assert read_table([path], named=Named(voters=("three", "one"))).table.voters == ("three", "one")
    with pytest.raises(SpecError, match="no voter 'four'"):
        read_table([path], named=Named(voters=("four",)))


def test_letters_beyond_the_options_are_blank_for_that_reason(write: Write) -> None:
    read = read_table([write("id,n_options,gold,a,b\n1,3,A,C,D\n2,4,D,D,Z\n")])
    assert texts(read) == [["C", None], ["D", None]]
    assert read.table.blanks() == {"outside the options": 2}
    assert read.table.options is not None
    assert read.table.options.tolist() == [3, 4]


def test_a_key_that_is_not_among_the_options_is_no_key_and_named(write: Write) -> None:
    read = read_table([write("id,n_options,gold,a,b\nq1,3,D,C,C\nq2,3,A,A,B\n")])
    assert gold(read) == [None, "A"]
    assert "1 key is not among the options" in notes(read)
    assert "question q1" in notes(read)


def test_listed_options_are_kept_to(write: Write) -> None:
    read = read_table([write('id,options,gold,a,b\n1,"[""red"", ""blue""]",red,red,green\n2,up|down,up,down,up\n')])
    assert texts(read) == [["red", None], ["down", "up"]]
    everywhere = read_table([write("id,gold,a,b\n1,yes,yes,maybe\n")], named=Named(options=("yes", "no")))
    assert everywhere.table.blanks() == {"outside the options": 1}


def test_the_number_of_options_is_seen_where_answers_are_letters(write: Write) -> None:
    rows = "".join(f"{q},{'AB'[q % 2]},{'ABC'[q % 3]},A\n" for q in range(40))
    read = read_table([write("id,gold,one,two\n" + rows)])
    assert read.table.options is not None
    assert set(read.table.options.tolist()) == {3}
    assert read.report["equivalence"]["options_from"] == "the answers seen"
    few = read_table([write("id,gold,one,two\n1,A,A,B\n")])
    assert few.table.options is None


def test_the_same_question_again_is_a_group(write: Write) -> None:
    by_name = read_table([write("id,gold,a,b\nq,A,A,B\nr,A,A,A\nq,A,A,B\n")])
    assert by_name.table.groups is not None
    assert by_name.table.groups.tolist() == [0, 1, 0]
    by_text = read_table([write("id,question,gold,a,b\n1,Who is  it?,A,A,B\n2,Who is it?,A,B,B\n3,,A,A,A\n4,,A,A,B\n")])
    assert by_text.table.groups is not None
    assert by_text.table.groups.tolist() == [0, 0, 1, 2]
    by_column = read_table([write("id,kin,gold,a,b\n1,x,A,A,B\n2,x,A,B,B\n3,y,A,A,A\n")], named=Named(group="kin"))
    assert by_column.table.groups is not None
    assert by_column.table.groups.tolist() == [0, 0, 1]


def test_strata_are_named(write: Write) -> None:
    read = read_table(
        [write("id,subject,gold,a,b\n1,law,A,A,B\n2,math,A,B,B\n3,law,A,A,A\n")], named=Named(strata="subject")
    )
    assert read.table.strata is not None
    assert read.table.strata.tolist() == [0, 1, 0]
    assert list(read.table.stratum_names) == ["law", "math"]


def test_empty_lines_are_dropped_and_counted(write: Write) -> None:
    read = read_table([write("id,gold,a,b\n1,A,A,B\n\n  \n2,A,B,B\n")])
    assert read.report["rows"]["dropped"] == 2
    assert read.report["rows"]["read"] == 4
    assert read.table.n_questions == 2


def test_a_million_different_answers(write: Write) -> None:
    rows = "".join(f"{q},x{q},{','.join(f'a{q}_{v}' for v in range(4))}\n" for q in range(25_000))
    read = read_table([write("id,gold,a,b,c,d\n" + rows)])
    assert read.report["equivalence"]["texts"] == 125_000
    assert read.table.codes.shape == (25_000, 4)


# --- one row a vote


LONG = "question,voter,answer,gold\n1,ada,A,A\n1,ben,B,A\n2,ada,A,B\n"


def test_a_long_table(write: Write) -> None:
    read = read_table([write(LONG)])
    assert read.table.voters == ("ada", "ben")
    assert texts(read) == [["A", "B"], ["A", None]]
    assert gold(read) == ["A", "B"]
    assert read.table.blanks() == {"absent": 1}


def test_crowd_labels_under_their_usual_names(write: Write) -> None:
    read = read_table([write("task,worker,label\nt1,w1,cat\nt1,w2,dog\n")])
    assert read.table.voters == ("w1", "w2")
    assert texts(read) == [["cat", "dog"]]


def test_the_same_vote_twice_counts_once_and_is_reported(write: Write) -> None:
    read = read_table([write(LONG + "1,ada,A,A\n")])
    assert texts(read) == [["A", "B"], ["A", None]]
    assert read.report["duplicates"] == 1
    assert "1 vote stands in the file twice, each saying the same" in notes(read)


@pytest.mark.parametrize("order", [["A", "B"], ["B", "A"]])
def test_two_different_votes_of_one_voter_make_a_blank_in_any_order(write: Write, order: Sequence[str]) -> None:
    rows = "".join(f"1,ada,{answer},A\n" for answer in order)
    read = read_table([write("question,voter,answer,gold\n1,ben,B,A\n" + rows)])
    assert texts(read) == [["B", None]]
    assert read.table.blanks() == {"voted twice, differently": 1}
    assert read.report["duplicates"] == 1
    assert "(question 1, voter ada, …)" in notes(read)


def test_of_several_rounds_the_last_counts_or_the_one_asked_for(write: Write) -> None:
    path = write("question,voter,answer,gold,round\n1,ada,A,B,1\n1,ada,B,B,2\n1,ben,A,B,1\n")
    assert texts(read_table([path])) == [["B", "A"]]
    assert texts(read_table([path], named=Named(round=1))) == [["A", "A"]]
    assert read_table([path]).report["duplicates"] == 0


def test_samples_of_a_voter_are_voters(write: Write) -> None:
    read = read_table([write("question,model,epoch,answer\n1,m,1,A\n1,m,2,B\n")])
    assert read.table.voters == ("m#1", "m#2")


def test_a_failed_call_is_a_blank_with_its_status(write: Write) -> None:
    read = read_table([write("question,voter,answer,status\n1,a,A,ok\n1,b,B,timeout\n1,c,,refused\n")])
    assert texts(read) == [["A", None, None]]
    assert read.table.blanks() == {"timeout": 1, "refused": 1}


def test_costs_are_added_up_and_unknown_is_not_nothing(write: Write) -> None:
    read = read_table([write("question,voter,answer,cost\n1,a,A,0.5\n2,a,A,0.25\n1,b,B,1\n2,b,B,\n")])
    assert read.table.costs == {"a": 0.75}


def test_two_right_answers_to_one_question_are_refused_with_their_lines(write: Write) -> None:
    with pytest.raises(
        SpecError, match=r"answers\.csv:4: The right answer of question '1' is 'B' here and 'A' in line 2"
    ):
        read_table([write("question,voter,answer,gold\n1,a,A,A\n2,a,A,A\n1,b,B,B\n")])


def test_a_vote_without_voter_or_question_is_refused(write: Write) -> None:
    with pytest.raises(SpecError, match=r":3: This vote has no voter"):
        read_table([write("question,voter,answer\n1,a,A\n1,,B\n")])
    with pytest.raises(SpecError, match=r":2: This vote has no question"):
        read_table([write("question,voter,answer\n,a,A\n")])


def test_only_the_voters_asked_for(write: Write) -> None:
    read = read_table([write(LONG)], named=Named(voters=("ben",)))
    assert read.table.voters == ("ben",)
    assert read.report["rows"]["dropped"] == 2
    with pytest.raises(SpecError, match="No row has one of the voters"):
        read_table([write(LONG)], named=Named(voters=("nobody",)))


@given(st.permutations(list(range(12))))
def test_the_order_of_rows_changes_no_cell(order: Sequence[int]) -> None:
    rows = [("q" + str(n % 4), "v" + str(n % 3), "AB"[n % 2]) for n in range(12)]
    shuffled = "question,voter,answer\n" + "".join(",".join(rows[n]) + "\n" for n in order)
    with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
        file.write(shuffled)
        file.flush()
        sheet = from_rows(open_delimited(file.name), Named())
    cells = {
        (question, voter): sheet.texts[sheet.cells[i, j]]
        for i, question in enumerate(sheet.questions)
        for j, voter in enumerate(sheet.voters)
    }
    assert cells == {(question, voter): answer for question, voter, answer in rows}


def test_which_column_is_the_vote_is_asked_where_it_could_be_two(write: Write) -> None:
    path = write("question,model,response,answer\n1,a,B,A\n1,b,A,A\n")
    with pytest.raises(SpecError, match="could be 'answer' or 'response'"):
        read_table([path])
    read = read_table([path], named=Named(answer="response", gold="answer"))
    assert read.table.right.tolist() == [[False, True]]


def test_voters_without_answers_are_no_table_of_columns(write: Write) -> None:
    with pytest.raises(SpecError, match="has to be a column of answers"):
        read_table([write("question,voter,remark\n1,a,B\n1,b,A\n")])


def test_right_or_wrong_alone_is_read_as_such(write: Write) -> None:
    long = read_table([write("question,voter,correct\n1,a,1\n1,b,0\n2,a,True\n2,b,maybe\n")])
    assert long.table.right.tolist() == [[True, False], [True, False]]
    assert long.table.blanks() == {"neither right nor wrong": 1}
    assert "lower bound of the plurality" in notes(long)
    wide = read_table([write("id,a,b\n1,1,0\n2,0,0\n")], named=Named(flags=True))
    assert wide.table.right.tolist() == [[True, False], [False, False]]
    assert wide.table.options is not None
    assert wide.table.options.tolist() == [2, 2]


# --- right answers from another file


def test_right_answers_are_joined_and_what_finds_no_partner_is_counted(write: Write, tmp_path: Path) -> None:
    path = write("id,a,b\n1,A,B\n2,B,B\n3,A,A\n")
    key = tmp_path / "key.csv"
    key.write_text("id,gold\n1,A\n2,C\n9,A\n", encoding="utf-8")
    read = read_table([path], key=key)
    assert gold(read) == ["A", "C", None]
    assert read.report["rows"]["unmatched"] == 2
    assert "1 right answer belongs to no question of the table (9)" in notes(read)
    assert "1 question of the table has no right answer in key.csv (3)" in notes(read)


def test_a_key_with_two_answers_to_one_question_is_refused(write: Write, tmp_path: Path) -> None:
    key = tmp_path / "key.csv"
    key.write_text("id,gold\n1,A\n1,B\n", encoding="utf-8")
    with pytest.raises(SpecError, match=r"key\.csv:3: Question '1' has two right answers: 'A' and 'B'"):
        read_table([write("id,a,b\n1,A,B\n")], key=key)


def test_a_key_is_joined_by_the_column_of_the_same_name(write: Write, tmp_path: Path) -> None:
    key = tmp_path / "key.jsonl"
    key.write_text(
        '{"item": "x", "qid": "1", "gold": true}\n{"item": "y", "qid": "2", "gold": false}\n', encoding="utf-8"
    )
    read = read_table([write("item,voter,answer\nx,a,true\ny,a,true\n")], key=key)
    assert gold(read) == ["true", "false"]


# --- what is no table


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "The file is empty"),
        ("id\n1\n", "names only one column"),
        ("id,gold\n1,A\n", "No column holds a voter's answers"),
        ("id,gold,a,b\n", "holds no question"),
        ("question,voter,answer\n", "holds no vote"),
        ("id,gold,a,a\n1,A,A,B\n", "Two columns are called 'a'"),
        ("id,gold,a,b\n1,A,A,B\n2,A,B\n", ":3: This line has 3 fields, the first line 4"),
        ('id,gold,a,b\n1,A,"A"x,B\n', ":2: The line cannot be read"),
        ("id,n_options,gold,a,b\n1,3,A,A,B\n2,many,A,A,B\n", ":3: 'many' is no number of options"),
        ("id,n_options,gold,a,b\n1,2.5,A,A,B\n", ":2: '2.5' is no number of options"),
        ("question,voter,answer,round\n1,a,A,first\n", ":2: 'first' is no round"),
        ("voter,answer\na,A\n", "no column that says which question"),
    ],
)
def test_what_cannot_be_read_is_refused_in_one_sentence(write: Write, text: str, words: str) -> None:
    with pytest.raises(SpecError) as caught:
        read_table([write(text)])
    assert words in str(caught.value)
    assert caught.value.next_step


def test_the_byte_that_is_not_utf_8_is_named(tmp_path: Path) -> None:
    path = tmp_path / "latin.csv"
    path.write_bytes("id,gold,a,b\n1,A,A,B\n2,A,café,B\n".encode("latin-1"))
    with pytest.raises(SpecError, match=r":3: The file is not UTF-8: byte 0xe9 in column 8"):
        read_table([path])


def test_missing_files_and_columns_are_named(write: Write, tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="no such file"):
        read_table([tmp_path / "no.csv"])
    with pytest.raises(SpecError, match="No file is named"):
        read_table([])
    with pytest.raises(SpecError, match="no column 'key'"):
        read_table([write("id,gold,a,b\n1,A,A,B\n")], named=Named(gold="key"))
    with pytest.raises(SpecError, match="has to be a column of voters"):
        read_table([write("id,gold,a,b\n1,A,A,B\n")], named=Named(answer="a"))
    with pytest.raises(SpecError, match="2 tables at once"):
        read_table([write("id,gold,a,b\n1,A,A,B\n"), write(LONG)])
    with pytest.raises(SpecError, match="no such file"):
        read_table([write(LONG)], key=tmp_path / "no.csv")


@given(
    st.lists(
        st.lists(st.text(st.characters(codec="utf-8"), max_size=4), min_size=3, max_size=3),
        min_size=1,
        max_size=5,
    )
)
def test_any_cells_are_read_or_refused(cells: list[list[str]]) -> None:
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(["id", "a", "b"])
    writer.writerows(cells)
    with tempfile.NamedTemporaryFile("w", suffix=".csv", encoding="utf-8", newline="") as file:
        file.write(text.getvalue())
        file.flush()
        try:
            sheet = from_rows(open_delimited(file.name), Named())
        except SpecError:
            return
    kept = [row for row in cells if any(map(str.strip, row)) or len(row) == 3]
    assert sheet.cells.shape == (len(kept), 2)
    for row, codes in zip(kept, sheet.cells.tolist(), strict=True):
        for cell, code in zip(row[1:], codes, strict=True):
            assert code < 0 if cell.strip() in {"", "NaN", "nan"} else sheet.texts[code] == cell.strip()


def test_a_coder_numbers_each_text_once() -> None:
    coder = Coder()
    assert coder.column(["A", " A ", "B", "", "A"]) == [0, 0, 1, -1, 0]
    assert coder.column([True, 1, 1.0, 1.5, None, ["B", "A"], {"status": "timeout"}, {"answer": "B"}]) == [
        2,
        3,
        3,
        4,
        -2,
        1,
        -3,
        1,
    ]
    assert coder.texts == ["A", "B", "true", "1", "1.5"]
    assert coder.reasons == ["empty", "null", "timeout"]


def test_a_table_as_large_as_memory_is_read_in_blocks(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delimited, "BLOCK", 3)
    read = read_table([write("id,n_options,gold,a,b\n" + "".join(f"{q},2,A,A,B\n" for q in range(10)))])
    assert list(read.table.questions) == [str(q) for q in range(10)]
    with pytest.raises(SpecError, match=":9: "):
        read_table(
            [write("id,n_options,gold,a,b\n" + "".join(f"{q},{'x' if q == 7 else 2},A,A,B\n" for q in range(10)))]
        )
    long = read_table([write("question,voter,answer\n" + "".join(f"{q // 2},v{q % 2},A\n" for q in range(10)))])
    assert long.table.codes.shape == (5, 2)


def test_a_kind_that_does_not_exist_is_refused(write: Write) -> None:
    with pytest.raises(UsageError, match="no kind of answer called 'colour'"):
        read_table([write("id,gold,a,b\n1,A,A,B\n")], same=Sameness(kind="colour"))


def test_cells_are_thirty_two_bit_numbers(write: Write) -> None:
    assert read_table([write("id,gold,a,b\n1,A,A,B\n")]).table.codes.dtype == np.int32
