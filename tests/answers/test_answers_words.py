"""Choices, yes and no, dates, texts, and what is read when the kind is not known."""

from __future__ import annotations

import pytest

from dissensus.answers import canonical, displayed, read
from dissensus.answers.normal import normal, without_surrogates, without_thinking
from dissensus.errors import UsageError

CITIES = ("Paris", "Rome", "New York", "York")


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("Paris", "Paris"),
        ("  paris. ", "Paris"),
        ("NEW  YORK!", "New York"),
        ("new-york", "New York"),
        ("B", "Rome"),
        ("b", "Rome"),
        ("(B)", "Rome"),
        ("[b]", "Rome"),
        ("B.", "Rome"),
        ("**B**", "Rome"),
        ("B) Rome", "Rome"),
        ("B. rome", "Rome"),
        ("B: Rome, of course", "Rome"),
        ("B - Rome", "Rome"),
        ("B Rome", "Rome"),
        ("option 2", "Rome"),
        ("Option B", "Rome"),
        ("Answer: C", "New York"),
        ("Answer: B because it is older", "Rome"),
        ("Answer: option (D)", "York"),
        ("Answer: A because it is larger", "Paris"),
        ("A, since it is the capital", "Paris"),
        ("B because A is wrong", "Rome"),
        ("The answer is (D).", "York"),
        ("\\boxed{B}", "Rome"),
        ("\\boxed{\\text{Rome}}", "Rome"),
        ("Rome is not what I expected.\nAnswer: Rome", "Rome"),
        ("I think it is New York", "New York"),
        ("I would pick option B", "Rome"),
        ("Answer: Paris because Rome is elsewhere", "Paris"),
        ("Let me see.\n" + "x" * 2000 + "\n\nB) Rome", "Rome"),
        ("B) Rome\nIt is the capital of Italy.", "Rome"),
        ("Let me think.\n\nRome", "Rome"),
        ('{"reason": "not Paris", "answer": "Rome"}', "Rome"),
    ],
)
def test_reads_a_choice(reply: str, expected: str) -> None:
    found = read("choice", reply, options=CITIES)
    assert (found.status, found.canonical) == ("answer", expected)
    assert CITIES[found.value] == expected if isinstance(found.value, int) else False


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        ("E", "not an option"),
        ("option 7", "not an option"),
        ("option 0", "not an option"),
        ("London", "not an option"),
        ("A man walks", "not an option"),
        ("2", "not an option"),
        ("B) Paris", "contradictory"),
        ("A because Rome is the capital", "contradictory"),
        ("B Paris", "contradictory"),
        ("not Rome", "ambiguous"),
        ("I think.\nPerhaps Rome.\nOr Paris.", "ambiguous"),
        ("x\n" * 1000, "ambiguous"),
        ("It isn't Rome", "ambiguous"),
        ("Rome, not Paris", "ambiguous"),
        ("B or C", "not an option"),
        ("A, B", "not an option"),
        ("(A) or (B)", "ambiguous"),
        ("A. or B.", "ambiguous"),
        ("A) Paris, or maybe (B)", "ambiguous"),
        ("Rome or Paris", "ambiguous"),
        ("A) Paris\nB) Rome\nC) New York\nD) York", "ambiguous"),
        ("Answer: A\nAnswer: B", "ambiguous"),
    ],
)
def test_leaves_an_unclear_choice_blank(reply: str, problem: str) -> None:
    found = read("choice", reply, options=CITIES)
    assert found.status == "unreadable"
    assert found.problem.startswith(f"{problem}:"), found.problem


def test_letters_follow_the_order_displayed() -> None:
    shuffled = ("Rome", "York", "Paris", "New York")
    assert [read("choice", letter, options=shuffled).canonical for letter in "ABCD"] == list(shuffled)
    assert displayed(shuffled) == "A) Rome\nB) York\nC) Paris\nD) New York"


def test_an_option_that_is_a_letter_goes_before_the_letter_of_another() -> None:
    options = ("C", "A", "B")
    assert displayed(options) == "- C\n- A\n- B"
    assert [read("choice", letter, options=options).canonical for letter in "ABC"] == ["A", "B", "C"]
    assert read("choice", "B) A", options=options).canonical == "A"
    assert read("choice", "D", options=options).status == "unreadable"


def test_an_option_that_is_a_number_goes_before_the_number_of_another() -> None:
    options = ("2", "3", "5")
    assert read("choice", "2", options=options).canonical == "2"
    assert read("choice", "option 2", options=options).problem.startswith("ambiguous:")
    assert read("choice", "option 1", options=("3", "5")).canonical == "3"


@pytest.mark.parametrize(
    ("reply", "expected"), [("8", "8 euros"), ("8.00 €", "8 euros"), ("eight", "8 euros"), ("$8", None), ("80", None)]
)
def test_options_that_are_numbers_are_compared_as_numbers(reply: str, expected: str | None) -> None:
    assert read("choice", reply, options=("8 euros", "9 euros")).canonical == expected


@pytest.mark.parametrize("reply", ["-5", "5.5", "50", "the 5th"])
def test_a_number_is_not_an_option_that_only_looks_like_it(reply: str) -> None:
    assert read("choice", reply, options=("5", "6")).canonical is None


def test_marks_in_options_count_where_they_tell_them_apart() -> None:
    languages = ("C", "C++", "C#")
    assert [read("choice", name.lower(), options=languages).canonical for name in languages] == list(languages)
    assert read("choice", "I prefer C++ here", options=languages).canonical == "C++"


def test_options_with_the_same_words_are_told_apart_by_their_marks_only() -> None:
    options = ("a b", "a-b")
    assert [read("choice", text, options=options).canonical for text in options] == list(options)
    assert read("choice", "I take a b", options=options).status == "unreadable"


def test_an_abstention_that_is_an_option_is_an_answer() -> None:
    options = ("yes", "no", "unsure")
    assert read("choice", "Answer: unsure", options=options).canonical == "unsure"
    assert read("choice", "Unsure.", options=options).canonical == "unsure"
    cannot = ("4", "Cannot be determined")
    assert read("choice", "It cannot be determined.", options=cannot).canonical == "Cannot be determined"
    assert read("choice", "Answer: unsure", options=CITIES).status == "abstained"
    assert read("choice", "I do not know.", options=CITIES).status == "abstained"


@pytest.mark.parametrize("options", [(), ("a", "A"), ("a", ""), ("Paris", "paris ")])
def test_options_that_are_no_choice_are_refused(options: tuple[str, ...]) -> None:
    with pytest.raises(UsageError) as caught:
        read("choice", "a", options=options)
    assert caught.value.next_step


def test_a_kind_that_does_not_exist_is_refused() -> None:
    with pytest.raises(UsageError, match="colour"):
        read("colour", "red")
    with pytest.raises(UsageError, match="yes and no"):
        read("yes-no", "yes", options=("yes", "maybe"))


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("Yes", "yes"),
        ("No.", "no"),
        ("yes, because it has no divisors", "yes"),
        ("No, it is divisible by 3.", "no"),
        ("no it isn't", "no"),
        ("No 2028 is even.", "no"),
        ("**Yes**", "yes"),
        ("True", "yes"),
        ("FALSE", "no"),
        ("N", "no"),
        ("Answer: yes", "yes"),
        ("No number divides it.\nAnswer: yes", "yes"),
        ("Yes, I can help.\nAnswer: yes, it is", "yes"),
        ("Some reasoning.\n\nNo.", "no"),
        ("The statement is false.", "no"),
        ("The answer is yes.", "yes"),
        ("It has no divisor, so yes", "yes"),
        ('{"reason": "", "answer": true}', "yes"),
        ('{"reason": "", "answer": "No"}', "no"),
    ],
)
def test_reads_yes_and_no(reply: str, expected: str) -> None:
    found = read("yes-no", reply)
    assert (found.status, found.canonical, found.value) == ("answer", expected, expected == "yes")
    assert read("yes-no", reply, options=("No!", "Yes!")).canonical == expected.capitalize() + "!"


@pytest.mark.parametrize(
    "reply",
    [
        "No number divides 2027, so it is prime.",
        "2027 is prime",
        "There is no evidence.",
        "It is not true",
        "Is it true?",
        "Yes and no",
        "Answer: yes or no",
        "Yes, it is.\nAnswer: no",
        "Answer: Yes.\nAnswer: No.",
        "Yes.\nNo.",
        "Answer: 42",
        "Is 2027 prime? Not if it can be divided.",
    ],
)
def test_leaves_an_unclear_yes_or_no_blank(reply: str) -> None:
    assert read("yes-no", reply).status == "unreadable"


def test_yes_and_no_by_letter_where_they_were_displayed() -> None:
    assert read("yes-no", "B", options=("yes", "no")).canonical == "no"
    assert read("yes-no", "A) no", options=("no", "yes")).canonical == "no"
    assert read("yes-no", "B").status == "unreadable"


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("2026-11-30", "2026-11-30"),
        ("2026/11/30", "2026-11-30"),
        ("2026-11-30T12:00:00Z", "2026-11-30"),
        ("30 November 2026", "2026-11-30"),
        ("the 30th of November, 2026", "2026-11-30"),
        ("Nov 30, 2026", "2026-11-30"),
        ("Monday, November 30th 2026", "2026-11-30"),
        ("Answer: Nov. 30, 2026.", "2026-11-30"),
        ("30.11.2026", "2026-11-30"),
        ("03.04.2026", "2026-04-03"),
        ("11/30/2026", "2026-11-30"),
        ("30/11/2026", "2026-11-30"),
        ("04/04/2026", "2026-04-04"),
        ("November 2026", "2026-11"),
        ("2026", "2026"),
        ("It was in 1969.", "1969"),
        ("30 November", "--11-30"),
        ("November", "--11"),
        ("15 March 44 BC", "0044-03-15 BC"),
        ("79 AD", "0079"),
        ("29 February 2028", "2028-02-29"),
        ('{"answer": "30 November 2026"}', "2026-11-30"),
    ],
)
def test_reads_a_date(reply: str, expected: str) -> None:
    assert read("date", reply).canonical == expected
    assert canonical("date", expected) == expected


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        ("03/04/2026", "unclear date"),
        ("30/11/26", "unclear date"),
        ("30 November 26", "unclear date"),
        ("31 April 2026", "unclear date"),
        ("29 February 2027", "unclear date"),
        ("2026-13-01", "unclear date"),
        ("13.13.2026", "unclear date"),
        ("0000-01-01", "unclear date"),
        ("before 1999", "a bound"),
        ("1969 or 1970", "ambiguous"),
        ("30 November 2026, that is in 2026", "ambiguous"),
        ("tomorrow", "no date"),
        ("2019-2020", "no date"),
    ],
)
def test_leaves_an_unclear_date_blank(reply: str, problem: str) -> None:
    found = read("date", reply)
    assert found.status == "unreadable"
    assert found.problem.startswith(f"{problem}:"), found.problem


@pytest.mark.parametrize(
    ("kind", "reply", "expected"),
    [
        ("text", "Answer: The Beatles.", "beatles"),
        ("text", "the  BEATLES", "beatles"),
        ("text", "“Beatles”", "beatles"),
        ("text", "Answer: ＦＵＬＬ width", "full width"),
        ("text", "Answer: Straße", "strasse"),
        ("text", "(Paris)", "paris"),
        ("text", "f(x)", "f(x)"),
        ("text", "Answer: A", "a"),
        ("auto", "Yes.", "yes"),
        ("auto", "8 euros", "8 EUR"),
        ("auto", "The eight", "8"),
        ("auto", "Answer: 12 Monkeys", "12 monkeys"),
        ("auto", "30 November 2026", "2026-11-30"),
        ("auto", "2026", "2026"),
        ("auto", "79 AD", "0079"),
        ("auto", "Answer: It is Paris", "it is paris"),
    ],
)
def test_reads_texts(kind: str, reply: str, expected: str) -> None:
    assert read(kind, reply).canonical == expected


@pytest.mark.parametrize("reply", ["The capital of France is Paris.", "a\nb", "word " * 50])
def test_a_text_about_the_answer_is_not_the_answer(reply: str) -> None:
    assert read("text", reply).problem.startswith("unmarked:")


def test_auto_follows_options_and_unit() -> None:
    assert read("auto", "B", options=CITIES).canonical == "Rome"
    assert read("auto", "A", options=("no", "yes")).canonical == "no"
    assert read("auto", "300", unit="min").canonical == "300 min"


def test_thinking_is_left_out() -> None:
    assert without_thinking("a<think>b</think>c<THINKING>d</THINKING>e") == ("a\nc\ne", False)
    assert without_thinking("b</think>c") == ("c", False)
    assert without_thinking("a<think>b") == ("a", True)
    assert without_thinking("<think>a<think>b</think>c") == ("c", False)


def test_lone_surrogates_are_replaced() -> None:
    assert without_surrogates("a\ud800b\U0001f600") == "a\ufffdb\U0001f600"
    assert read("text", "Answer: a\ud800b").canonical == "a\ufffdb"


def test_an_invisible_text_is_empty() -> None:
    assert read("text", "\u200b").problem.startswith("empty:")


def test_the_normal_form_leaves_something() -> None:
    assert [normal(text) for text in ("The", "the the", "!!!", "a an the X")] == ["the", "the", "!!!", "x"]
