from __future__ import annotations

import json
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dissensus.answers.extraction import Extraction, canonical_answer, extract, same_answer
from dissensus.answers.rationals import plain_text, whole_number
from dissensus.errors import UsageError

BIRDS = ("a raven", "an owl", "a robin")


@pytest.mark.parametrize(
    ("text", "answer", "rule"),
    [
        ("2+2=4\n#### 4\nThe answer is 5", "4", "hashes"),
        ("#### 3\n#### -1,234.50", "-1234.5", "hashes"),
        ("#### Step 4: add\nThe answer is 3.", "3", "phrase"),
        ("##### 7\nso 8", "8", "fallback"),
        (r"\boxed{3} then \boxed{\frac{3}{4}}", "0.75", "boxed"),
        (r"\boxed{12} and \boxed{\frac{3}{4}", "12", "boxed"),
        (r"\boxed{\$1{,}000}", "1000", "boxed"),
        (r"\boxed{18 \text{ dollars}}", "18", "boxed"),
        ("The answer is 10 - 3 = 7 eggs.", "7", "phrase"),
        ("**Answer**: 18\nbye 3", "18", "phrase"),
        ("The final answer is:\n\n**$1,000.0**", "1000", "phrase"),
        ("The answer is not 5. It may be 6", "6", "fallback"),
        ("the answer to the riddle is 12. Then 99 bottles", "12", "phrase"),
        ("16 - 3", "3", "fallback"),
        ("so -5", "-5", "fallback"),
        ("10-3", "3", "fallback"),
        ("$-5", "-5", "fallback"),
        ("1 1/2", "1.5", "fallback"),
        ("H2O", None, "none"),
        ("nothing", None, "none"),
        ("", None, "none"),
    ],
)
def test_numbers_come_from_the_first_rule_that_finds_one(text: str, answer: str | None, rule: str) -> None:
    found = extract(text, "number")
    assert (found.answer, found.rule) == (answer, rule)
    assert found.strict == (None if rule == "fallback" else answer)
    assert found.written in text
    assert found.start == -1 or text.startswith(
        found.written, found.start + len(text[found.start :]) - len(text[found.start :].lstrip())
    )


@pytest.mark.parametrize(
    ("text", "answer", "rule"),
    [
        ("The answer is (B).", "an owl", "phrase"),
        ("Answer: **B**", "an owl", "phrase"),
        ("The answer is B because it flies.", "an owl", "phrase"),
        (r"\boxed{\text{C}}", "a robin", "boxed"),
        ("#### (A)", "a raven", "hashes"),
        ("The answer is A car, so (C)", "a robin", "fallback"),
        ("The answer is an owl.", "an owl", "phrase"),
        ("The answer is the bird that is called an owl", "an owl", "phrase"),
        ("The answer is (Z). Look at (A), (C) and (Q).", "a robin", "fallback"),
        ("A bird sings", None, "none"),
        ("answer: a", None, "none"),
        ("the answer is a raven or an owl", None, "none"),
    ],
)
def test_an_article_is_no_option(text: str, answer: str | None, rule: str) -> None:
    found = extract(text, "choice", options=BIRDS)
    assert (found.answer, found.rule) == (answer, rule)


def test_options_with_equal_texts_are_one_answer() -> None:
    options = ("277", "288", "200", "277", "168")
    assert extract("The answer is (D).", "choice", options=options).answer == "277"
    assert same_answer("(A)", "D", "choice", options=options)
    assert not same_answer("(A)", "B", "choice", options=options)
    assert extract("#### 288.0", "choice", options=options).answer == "288"


def test_the_last_whole_word_yes_or_no_is_only_lenient() -> None:
    found = extract("Yes, at first. Nobody knows. But no", "yes-no")
    assert (found.answer, found.rule, found.strict) == ("no", "fallback", None)
    assert extract("So the answer is yes.\nno", "yes-no").strict == "yes"
    assert extract("the answer is false", "yes-no").answer == "no"
    assert extract("Nobody noticed", "yes-no") == Extraction(None)


def test_the_first_answer_stands_against_a_last_word() -> None:
    text = "#### 4\nwait, no\n#### 9"
    assert extract(text, "number").answer == "9"
    assert extract(text, "number", which="first").answer == "4"
    assert extract("(A) or (B)", "choice", options=BIRDS, which="first").answer == "a raven"


@pytest.mark.parametrize(
    ("text", "whole", "cut", "earlier"),
    [
        ("3 + 4 = 7\n#### 18", "18", None, "7"),
        ("The answer is 18", "18", None, None),
        ("The answer is 18.", "18", "18", "18"),
        (r"\boxed{18}", "18", "18", "18"),
        (r"\boxed{4}, no, \boxed{1", "4", None, "4"),
        ("#### 4\n#### 18", "18", None, "4"),
        ("#### 4\nNo.\n####", "4", None, "4"),
        ("Answer: 20.\nNo, that is wrong. Answer:", "20", None, "20"),
        ("#### 18\n#### Ste", "18", "18", "18"),
        ("#### 18\n\nStep 4: we", "18", "18", "18"),
        ("so 4, or 18", "18", None, "4"),
        ("so 18 \n", "18", None, None),
        ("so 18 it is", "18", "18", "18"),
    ],
)
def test_an_answer_at_the_end_of_a_cut_text_may_be_unfinished(
    text: str, whole: str, cut: str | None, earlier: str | None
) -> None:
    assert extract(text, "number").answer == whole
    found = extract(text, "number", cut=True)
    assert found.answer == cut
    assert found.cut is (cut is None)
    assert extract(text, "number", cut=True, cut_answer="earlier").answer == earlier


def test_the_first_answer_of_a_cut_text_is_whole_unless_it_is_the_only_one() -> None:
    assert extract("so 4, or 18", "number", cut=True, which="first").answer == "4"
    assert extract(r"\boxed{4}, no, \boxed{1", "number", cut=True, which="first").answer == "4"
    assert extract("so 18", "number", cut=True, which="first") == Extraction(None, written="18", start=3, cut=True)


def test_a_letter_in_brackets_at_the_end_of_a_cut_text_is_whole_and_a_word_is_not() -> None:
    assert extract("It must be (B)", "choice", options=BIRDS, cut=True).rule == "fallback"
    assert extract("yes, or rather no", "yes-no", cut=True).answer is None
    assert extract("yes, or rather no", "yes-no", cut=True, cut_answer="earlier").answer == "yes"


@given(text=st.text(alphabet="#4 1.\\boxed{}answr i:\n", max_size=40), which=st.sampled_from(["last", "first"]))
def test_what_a_cut_text_gives_is_what_it_would_give_uncut_or_nothing(text: str, which: Any) -> None:
    cut, whole = extract(text, "number", cut=True, which=which), extract(text, "number", which=which)
    assert cut.answer is None or cut == whole


def test_nothing_behind_the_mark_of_the_end_is_read() -> None:
    assert extract("#### 4 [END]\n#### 9", "number", end_mark="[END]").answer == "4"
    assert extract("#### 4\n#### 9", "number", end_mark="[END]").answer == "9"


def test_formulas_are_compared_without_their_clothes() -> None:
    assert same_answer(r"\left( 3, \dfrac{\pi}{2} \right)", r"(3,\frac{\pi}{2})", "text")
    assert same_answer(r"\text{Evelyn}", "Evelyn", "text")
    assert same_answer(r"\frac{1}{2}", "0.5", "text")
    assert not same_answer("x^2", "x^3", "text")


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(UsageError, match="no kind"):
        extract("4", "colour")


@given(st.fractions())
def test_a_number_in_its_one_form_is_read_back(value: Fraction) -> None:
    text = plain_text(value)
    assert whole_number(text) == value or len(str(value.denominator)) > 20
    assert canonical_answer(text, "number") in {text, None}


@given(st.integers(-(10**12), 10**12), st.sampled_from(["{}", "{:,}", "{}.0", "{:,}.00."]))
def test_every_way_to_write_an_integer_is_the_same(value: int, way: str) -> None:
    assert extract(f"#### {way.format(value)}", "number").answer == str(value)
    assert extract(f"The answer is {way.format(value)}", "number").answer == str(value)


@given(
    st.lists(
        st.sampled_from(
            [
                "####",
                r"\boxed{",
                "}",
                "{",
                "answer is",
                "answer:",
                "(A)",
                "A",
                "yes",
                "no",
                " ",
                "\n",
                "1,000",
                "-5",
                "/0",
                ".",
                "\ud800",
                "$",
                "e9",
            ]
        )
        | st.text(max_size=5)
    ).map("".join),
    st.sampled_from(["number", "choice", "yes-no", "text", "date", "auto"]),
)
def test_any_text_gives_an_answer_or_none(text: str, kind: str) -> None:
    options = BIRDS if kind in {"choice", "auto"} else ()
    found = extract(text, kind, options=options)
    assert (found.answer is None) == (found.rule == "none") == (found.start < 0)
    if kind in {"choice", "auto"}:
        assert found.answer in {None, *BIRDS}
    if kind == "yes-no":
        assert found.answer in {None, "yes", "no"}
    if kind == "number" and found.answer is not None:
        assert canonical_answer(found.answer, "number") == found.answer


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_solutions_of_gsm8k_end_on_their_golds(shared: Path) -> None:
    rows = _lines(shared / "data/round-robin/gsm8k/test.even.jsonl")
    golds = [extract(row["answer"], "number") for row in rows]
    assert {gold.rule for gold in golds} == {"hashes"}
    assert sum(int(gold.answer or "") for gold in golds) == 4_249_795
    assert len({gold.answer for gold in golds}) == 224
    solutions = [re.sub(r"<<[^>]*>>", "", row["answer"].rpartition("####")[0]) for row in rows]
    assert (
        sum(extract(text, "number").answer == gold.answer for text, gold in zip(solutions, golds, strict=True)) == 647
    )


def test_the_last_box_of_math500_is_its_answer(shared: Path) -> None:
    rows = json.loads((shared / "data/round-robin/math500/math500_test.even.json").read_text(encoding="utf-8"))
    found = [extract(row["solution"], "text") for row in rows]
    assert [one.written for one in found] == [row["answer"] for row in rows]
    assert {one.rule for one in found} == {"boxed"}
    assert all(one.answer == canonical_answer(row["answer"], "text") for one, row in zip(found, rows, strict=True))
