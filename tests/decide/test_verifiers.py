from __future__ import annotations

import json
import re
from collections.abc import Callable
from fractions import Fraction
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dissensus.decide.verifiers.arithmetic import equations, verify_arithmetic
from dissensus.decide.verifiers.deduction import read_row, statement, verify_deduction
from dissensus.decide.verifiers.navigate import read_walk, verify_navigate
from dissensus.decide.verifiers.tracking import read_shuffle, verify_tracking
from dissensus.decide.verifiers.verify import VERIFIERS, verifier
from dissensus.errors import SpecError

SHUFFLE = (
    "Ann, Ben, and Cid are holding a white elephant gift exchange. At the start of the event, they are each holding a "
    "present of a different color: Ann has a red present, Ben has a blue present, and Cid has a green ball.\n"
    "As the event progresses, pairs of people swap gifts. First, Ann and Ben swap their gifts. Then, Ben and Cid swap "
    "their gifts. Finally, Ann and Cid swap their gifts. At the end of the event, Ben has the"
)
ROW = (
    "The following paragraphs each describe a set of three objects arranged in a fixed order. On a branch, there are "
    "three birds: a blue jay, a quail, and a falcon. The falcon is to the right of the blue jay. "
    "The blue jay is to the right of the quail."
)
WALK = (
    "If you follow these instructions, do you return to the starting point? Turn left. Take 3 steps. Turn around. "
    "Take 5 steps backward."
)


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def bbh(shared: Path, name: str) -> list[dict[str, str]]:
    path = shared / f"data/round-robin/bbh/{name}.even.json"
    examples: list[dict[str, str]] = json.loads(path.read_text(encoding="utf-8"))["examples"]
    return examples


def options(item: dict[str, str]) -> dict[str, str]:
    return {f"({letter})": text for letter, text in re.findall(r"\(([A-Z])\) (.*)", item["input"])}


# --- arithmetic


@pytest.mark.parametrize(
    "text",
    [
        "16 - 3 - 4 = <<16-3-4=9>>9 eggs, then 9 * 2 = $18.",
        "16 - 3 = 13 * 2 = 26",
        "10 / 3 = 3.33 and 2 / 3 = .66",
        "50% * 80 = 40, 100% - 20% = 80%",
        "$1,200 + $300 = $1,500",
        "3 x 4 = 12 and 3x4=12",
        "- 5 + 3 = 8",
        "1) 5 + 3 = 8",
        "(1) 5 + 3 = 8",
        r"5 \times 3 = 15",
        "2^10 = 1024, (2 + 3) * 4 = 20",
        "3/4 = 0.75 = 75%",
        # what cannot be judged
        "2x + 3 = 9 and x - 3 = 7",
        "half of 10 + 3 = 8",
        "5 apples + 3 = 9",
        "99(99 + 1) = 9",
        "5! + 1 = 9 and 10! = 7 + 1!",
        "12:30 + 2 = 14:30",
        "f(3 + 1) = 16",
        "2 1/2 = 2.5",
        "48 = 100% + 20%",
        "1 / 0 = 7",
        "a = b = c",
        "2 ** 999999999 = 1",
        "5 + 3 >= 9",
    ],
)
def test_no_equation_is_doubted_that_may_hold(text: str) -> None:
    assert verify_arithmetic(text, finished=True) is None


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("5 + 3 = 8. So 8 * 2 = 18 eggs. Then 1 + 1 = 3", "8 * 2 = 18"),
        ("Ann pays 4 * $3 = $13", "4 * $3 = $13"),
        ("<<16-3-4=8>>8", "16-3-4=8"),
        ("10 / 3 = 3.4", "10 / 3 = 3.4"),
        ("(2 + 3) * 4 = 14", "(2 + 3) * 4 = 14"),
        ("3 + 4 = 7 = 2 * 4", "7 = 2 * 4"),
        ("- 5 * 3 = 16", "5 * 3 = 16"),
    ],
)
def test_the_first_wrong_equation_is_named(text: str, written: str) -> None:
    wrong = verify_arithmetic(text, finished=True)
    assert wrong is not None
    assert wrong.written == written == text[wrong.start : wrong.stop]


def test_a_number_at_the_end_may_go_on() -> None:
    assert verify_arithmetic("9 * 2 = 1") is None
    assert verify_arithmetic("9 * 2 = 1 ") is not None
    assert verify_arithmetic("9 * 2 = 1", finished=True) is not None


@given(
    st.lists(st.integers(1, 999), min_size=2, max_size=5),
    st.lists(st.sampled_from("+-*/"), min_size=4, max_size=4),
    st.integers(-3, 3),
)
def test_equations_are_worked_out_as_python_does(numbers: list[int], operators: list[str], off: int) -> None:
    written, exact = str(numbers[0]), f"Fraction({numbers[0]})"
    for number, operator in zip(numbers[1:], operators, strict=False):
        written, exact = f"{written} {operator} {number}", f"{exact} {operator} Fraction({number})"
    value = eval(exact, {"Fraction": Fraction})  # noqa: S307 - made of digits and signs above
    moved = value + off
    right = abs(off) <= Fraction(1, 10**6) * max(abs(value), abs(moved))
    assert (verify_arithmetic(f"So {written} = {moved} eggs.") is None) == right
    assert (verify_arithmetic(f"{written} = {moved}", finished=True) is None) == right


def test_all_notes_of_gsm8k_are_right(shared: Path) -> None:
    answers = [row["answer"] for row in lines(shared / "data/round-robin/gsm8k/test.even.jsonl")]
    notes = [one for answer in answers for one in equations(answer, finished=True, exact=True) if one.note]
    assert len(notes) == 2156
    assert all(one.holds for one in notes)
    prose = [one for answer in answers for one in equations(answer, finished=True) if not one.note]
    assert len(prose) > 1200
    # an error that stands in the published solution: 320 was meant
    assert [one.written for one in prose if not one.holds] == ["$32 - $20 = $300"]


def test_every_note_of_gsm8k_is_seen_when_it_is_changed(shared: Path) -> None:
    for row in lines(shared / "data/round-robin/gsm8k/test.even.jsonl")[:100]:
        for note in re.finditer(r"<<([^>]*)=([\d.]+)>>", row["answer"]):
            changed = f"{row['answer'][: note.start()]}<<{note[1]}={Fraction(note[2]) * 2 + 1}>>"
            wrong = verify_arithmetic(changed)
            assert wrong is not None
            assert wrong.start == note.start(1) + changed[note.start(1) :].index(wrong.written)


# --- who has what


def test_a_shuffle_is_read_and_played_through() -> None:
    shuffle = read_shuffle(SHUFFLE)
    assert shuffle is not None
    assert shuffle.start == {"Ann": "red present", "Ben": "blue present", "Cid": "green ball"}
    assert shuffle.swaps == (("Ann", "Ben"), ("Ben", "Cid"), ("Ann", "Cid"))
    assert [state["Ben"] for state in shuffle.states()] == ["blue present", "red present", "green ball", "green ball"]
    assert (shuffle.asked, shuffle.answer) == ("Ben", "green ball")


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        (
            "(0) Start: Ann: red present, Ben: blue, Cid: green.\n(1) Ann and Ben swap: Ann: blue, Ben: red.\n",
            "",
        ),
        ("(1) Ann and Ben swap: Ann: blue, Ben: red.\n(2) Ben and Cid swap: Ben: blue, Cid: red.\n", "(2)"),
        ("1. At the start: Ann has the red present.\n2. Ann and Ben swap: Ann has the blue present.\n", ""),
        ("1. At the start: Ann has the red present.\n2. Ann and Ben swap: Ann has the red present.\n", "2."),
        ("After swap 2, Ben has the red present. ", "After"),
        ("Initially Cid has the blue present.\n", "Initially"),
        ("(1) Ann and Ann swap.\n", "(1)"),
        ("(3) If Ann and Cid swap, Ben: red.\n", ""),
        ("(1) Ann and Ben swap: Ann: red", ""),
        ("Ben likes red. Ben has the red present. ", ""),
    ],
)
def test_a_step_is_held_to_the_swaps(text: str, wrong: str) -> None:
    found = verify_tracking(SHUFFLE, text)
    assert (found.written if found else "").startswith(wrong)
    assert (found is None) == (wrong == "")


def test_track7_is_solved(shared: Path) -> None:
    items = bbh(shared, "tracking_shuffled_objects_seven_objects")
    read = [read_shuffle(item["input"]) for item in items]
    assert all(one is not None and len(one.swaps) == len(one.names) == 7 for one in read)
    solved = [
        one is not None and options(item)[item["target"]] == one.answer for one, item in zip(read, items, strict=True)
    ]
    assert (sum(solved), len(items)) == (125, 125)


# --- a walk


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("(1) Turn left: (0, 0), facing the negative x-axis.\n(2) Take 3 steps: (-3, 0).\n(4) (-8, 0)\n", True),
        ("(2) Take 3 steps: (0, 3).\n", False),
        ("We begin at (0, 0), facing the positive x-axis.\n(2) Take 3 steps: (0, 3).\n", True),
        ("(9) somewhere (1, 1)\n", True),
        ("(2) Take 3 steps: (0, 3)", True),
    ],
)
def test_a_walk_is_walked(text: str, *, right: bool) -> None:
    assert (verify_navigate(WALK, text) is None) == right


def test_navigate_is_solved(shared: Path) -> None:
    items = bbh(shared, "navigate")
    walks = [read_walk(item["input"]) for item in items]
    assert (
        sum(w is not None and w.returns == (item["target"] == "Yes") for w, item in zip(walks, items, strict=True))
        == 125
    )


# --- things in a row


def test_a_row_is_tried_in_all_orders() -> None:
    row = read_row(ROW)
    assert row is not None
    assert row.things == ("blue jay", "quail", "falcon")
    assert row.orders == ((2, 1, 3),)


@pytest.mark.parametrize(
    ("said", "order"),
    [
        ("The ant is the second from the right", (3, 1, 2, 4)),
        ("The ant is the second-newest", (2, 1, 3, 4)),
        ("The ant are the cheapest", (4, 1, 2, 3)),
        ("Ant finished third-to-last", (2, 1, 3, 4)),
        ("Ant finished above bee", (1, 2, 3, 4)),
        ("The ant is older than the bee", (2, 1, 3, 4)),
        ("The ant are less expensive than the bee", (2, 1, 3, 4)),
    ],
)
def test_a_statement_tells_places(said: str, order: tuple[int, ...]) -> None:
    holds = statement(said, ("ant", "bee", "cat", "dog"))
    assert holds is not None
    assert holds(order)
    assert sum(map(holds, permutations(range(1, 5)))) in {6, 12}


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("The quail is the leftmost. So, the falcon is the rightmost. ", True),
        ("So the blue jay is the leftmost. ", False),
        ("(2) The falcon is to the left of the quail.\n", False),
        ("If the blue jay is the leftmost, we fail. ", True),
        ("The answer is (A) The falcon is the leftmost. ", True),
        ("The blue jay is the leftmost", True),
    ],
)
def test_statements_of_a_text_are_held_to_the_orders(text: str, *, right: bool) -> None:
    assert (verify_deduction(ROW, text) is None) == right


def test_logical_deduction_is_solved(shared: Path) -> None:
    items = bbh(shared, "logical_deduction_seven_objects")
    solved = 0
    for item in items:
        row = read_row(item["input"])
        assert row is not None
        (order,) = row.orders
        tests = {letter: statement(text, row.things) for letter, text in options(item).items()}
        solved += [letter for letter, holds in tests.items() if holds is not None and holds(order)] == [item["target"]]
    assert solved == 125


# --- all of them


def test_the_earliest_objection_counts() -> None:
    verify = verifier(("arithmetic", "tracking"), SHUFFLE)
    found = verify("After swap 2, Ben has the red present. 1 + 1 = 3. ")
    assert found is not None
    assert found.why == "after swap 2 Ben has green ball, not red present"
    assert verify("1 + 1 = 2. ") is None
    with pytest.raises(SpecError, match="no verifier 'oracle'"):
        verifier(("oracle",), SHUFFLE)


@pytest.mark.parametrize("name", sorted(VERIFIERS))
@pytest.mark.parametrize(
    "question", [SHUFFLE, WALK, ROW, "", "What is 2 + 2?"], ids=["shuffle", "walk", "row", "", "sum"]
)
@given(
    st.lists(
        st.sampled_from(
            [
                "(1) ",
                "Ann",
                " and ",
                "Ben swap",
                ": ",
                "red",
                "(3, 0)",
                "=",
                "5",
                "+",
                "\n",
                ". ",
                "The quail is the leftmost",
                "%",
                "(",
                ")",
                "^",
                "/0",
                "<<",
                ">>",
            ]
        )
        | st.text(max_size=3)
    ).map("".join)
)
def test_any_text_is_survived_and_an_objection_lies_in_it(question: str, name: str, text: str) -> None:
    check: Callable[..., Any] = VERIFIERS[name]
    early, late = check(question, text, finished=False), check(question, text, finished=True)
    for found in (early, late):
        if found is not None:
            assert 0 <= found.start < found.stop <= len(text)
            assert found.written.strip() == text[found.start : found.stop].strip()
    if early is not None:
        assert late is not None
        assert late.start <= early.start
