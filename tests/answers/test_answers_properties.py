"""What holds for every text: nothing is raised, forms are stable, writing a number in another way changes nothing."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dissensus.answers import KINDS, canonical, read, same
from dissensus.answers.numerals import VULGAR
from dissensus.answers.quantity import number_text
from dissensus.answers.units import unit_named

OPTIONS = ("Paris", "Rome", "New York", "A")
ASKED: list[tuple[str, tuple[str, ...], str]] = [
    ("number", (), ""),
    ("number", (), "min"),
    ("number", (), "pens"),
    ("number", (), "ratio"),
    ("number", (), "km/h"),
    ("choice", OPTIONS, ""),
    ("yes-no", (), ""),
    ("yes-no", ("Yes", "No"), ""),
    ("date", (), ""),
    ("text", (), ""),
    ("auto", (), ""),
]
WORDS = """8 1 12 1,234 3,5 1.5 ½ / - − – euros EUR $ € % h hours min and or the a an The yes no not true Answer: Final
    answer: \\boxed{ } { "answer": " ' ( ) * ** = + x × 10^ e5 January May 2026 03 04 . , : ; ! ? <think> </think>
    unsure A B A) (B) option Paris Rome York ² m km ft in kB Mb MB per /h half one twenty five hundred million dozen
    BC AD -- ﬁ İ ß ℃ ſ K ̈ ` _ [ ] < > ~ | Å ǰ ΐ K_"""
PIECES = st.sampled_from([*WORDS.split(), " ", "\n", "\u200b", "\u00a0", "i don't know"])
TEXTS = st.lists(PIECES, max_size=9).map("".join) | st.lists(PIECES, max_size=9).map(" ".join) | st.text(max_size=60)


@settings(max_examples=400)
@given(TEXTS, st.sampled_from(ASKED))
@example("½ hundred", ("number", (), "min"))
@example("03 ana_ { ", ("number", (), "pens"))
@example("_ `| ", ("text", (), ""))
@example("12 ǰ", ("number", (), "min"))
@example("the eight", ("auto", (), ""))
@example("twenty K_` !,", ("number", (), "min"))
def test_any_text_is_read_without_an_error_and_a_canonical_form_stays(
    text: str, asked: tuple[str, tuple[str, ...], str]
) -> None:
    kind, options, unit = asked
    found = read(kind, text, options=options, unit=unit)
    assert (found.canonical is not None) == (found.status == "answer") == (found.value is not None)
    assert bool(found.problem) == (found.status == "unreadable")
    form = canonical(kind, text, options=options, unit=unit)
    if form is not None:
        assert form
        assert canonical(kind, form, options=options, unit=unit) == form
        assert same(kind, form, text, options=options, unit=unit)
        if kind not in {"text", "auto"}:  # a text may itself look like a mark
            assert read(kind, f"Answer: {form}", options=options, unit=unit).canonical == form
    assert same(kind, text, text, options=options, unit=unit)


NUMBERS = st.builds(Fraction, st.integers(-(10**15), 10**15), st.sampled_from([1, 1, 2, 4, 5, 8, 10, 100, 1000]))


def written(number: Fraction) -> list[str]:
    """``number``, which ends as a decimal, in many ways."""
    plain = number_text(number)
    sign, digits = ("-", plain[1:]) if plain.startswith("-") else ("", plain)
    whole, _, decimals = digits.partition(".")
    grouped = f"{int(whole):,}"
    point = f".{decimals}" if decimals else ""
    ways = [
        plain,
        f"{sign}{whole}.{decimals}00",
        f"{sign}{grouped}{point}",
        f"{sign}{grouped.replace(',', chr(0xA0))}{point}",
        f"{sign}{grouped.replace(',', chr(0x2019))}{point}",
        f"−{digits}" if sign else f"+{digits}",
        f"**{plain}**",
        f"${plain}$",
        f"\\({plain}\\)",
        f"\\boxed{{{plain}}}",
        f"{sign}{whole}{decimals}e{-len(decimals)}",
        f"{sign}{whole}{decimals} × 10^{-len(decimals)}" if decimals else f"{plain} × 10^0",
        f"{number.numerator}/{number.denominator}",
    ]
    if decimals and "," in grouped:
        ways.append(f"{sign}{grouped.replace(',', '.')},{decimals}")
    if abs(number.numerator) < 10**6 and number.denominator == 2:
        ways.append(f"{sign}{int(whole)}½" if int(whole) else f"{sign}½")
    return ways


@given(NUMBERS)
@example(Fraction(0))
@example(Fraction(-1, 2))
def test_a_number_is_the_same_in_every_way_of_writing_it(number: Fraction) -> None:
    for way in written(number):
        assert canonical("number", way) == number_text(number), way
        assert read("number", f"It was 3 and 4 before.\nAnswer: {way}").canonical == number_text(number), way


@given(NUMBERS, st.sampled_from(["$", "€", "£"]))
def test_money_is_the_same_with_sign_code_or_word(number: Fraction, sign: str) -> None:
    unit = unit_named(sign)
    assert unit
    plain = number_text(abs(number))
    words = {"$": "dollars", "€": "euros", "£": "pounds sterling"}
    ways = (
        f"{sign}{plain}",
        f"{plain} {sign}",
        f"{unit.name} {plain}",
        f"{plain}{unit.name}",
        f"{plain} {words[sign]}",
    )
    assert {canonical("number", way) for way in ways} == {f"{plain} {unit.name}"}


@given(
    st.builds(Fraction, st.integers(0, 10**6), st.sampled_from([1, 2, 3, 7, 10])),
    st.sampled_from(
        ["ms", "s", "min", "h", "days", "weeks", "mm", "km", "miles", "ft", "g", "oz", "L", "gal", "kB", "m²"]
    ),
    st.sampled_from(
        ["ms", "s", "min", "h", "days", "weeks", "mm", "km", "miles", "ft", "g", "oz", "L", "gal", "kB", "m²"]
    ),
)
def test_units_are_the_same_exactly_where_the_quantity_is(number: Fraction, one: str, other: str) -> None:
    a, b = unit_named(one), unit_named(other)
    assert a
    assert b
    text = f"{number_text(number)} {one}"
    if a.dimensions == b.dimensions:
        converted = number * a.factor / b.factor
        assert same("number", text, f"{number_text(converted)} {other}")
        assert not same("number", text, f"{number_text(converted + 1)} {other}")
    else:
        assert not same("number", text, f"{number_text(number)} {other}")


SMALL = """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
seventeen eighteen nineteen"""
TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
MONTHS = "January February March April May June July August September October November December"


def spelled(number: int) -> str:
    """English words of 0 ≤ number < 10^12, by another way than the reader's."""
    small, tens = SMALL.split(), TENS.split()
    if number < 20:
        return small[number]
    if number < 100:
        return tens[number // 10 - 2] + (f"-{small[number % 10]}" if number % 10 else "")
    for size, name in ((10**9, "billion"), (10**6, "million"), (1000, "thousand"), (100, "hundred")):
        if number >= size:
            rest = number % size
            joint = " and " if rest < 100 else " "
            return f"{spelled(number // size)} {name}" + (f"{joint}{spelled(rest)}" if rest else "")
    raise AssertionError(number)


@given(st.integers(0, 10**12 - 1) | st.integers(0, 2000))
@example(0)
@example(100)
@example(1_000_001)
def test_number_words_are_numbers(number: int) -> None:
    assert canonical("number", spelled(number)) == str(number)
    assert canonical("number", spelled(number).upper()) == str(number)


def test_vulgar_fractions_are_fractions() -> None:
    assert all(same("number", sign, f"{value.numerator}/{value.denominator}") for sign, value in VULGAR.items())


@given(st.dates())
def test_a_date_is_the_same_in_every_way_of_writing_it(date: object) -> None:
    iso = str(date)
    year, month, day = (int(part) for part in iso.split("-"))
    name = MONTHS.split()[month - 1]
    ordinal = "th" if day in {11, 12, 13} else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")
    ways = [f"{day}.{month}.{year:04}", f"{year:04}/{month}/{day}"]
    if year >= 100:
        ways += [
            f"{day} {name} {year}",
            f"{name} {day}, {year}",
            f"{name[:3].upper()}. {day} {year}",
            f"the {day}{ordinal} of {name} {year}",
        ]
    if day > 12 or day == month:
        ways += [f"{day}/{month}/{year:04}", f"{month:02}/{day:02}/{year:04}"]
    assert {canonical("date", way) for way in ways} == {iso}
    ambiguous = day <= 12 and day != month
    assert (canonical("date", f"{day}/{month}/{year:04}") is None) == ambiguous


# Long and hostile replies. Each is read in well under a second; a quadratic step would take minutes and hit the limit
# on the time of a test.
_HOSTILE = """a 1 1, 1. 1/ $ { [[ {"answer": {"a": Answer: \\boxed{ \\boxed{8} <think> </think> - 1- = 1= ( ((1) twenty
and January 2026- 1/2/ " ** * _ ½ 10^ \\frac{1}{ \\text{ ﬁ İ 1:2 5'6 "answer":" \\ 1e e1 1/h 1,1 '1 . a. #### ̈"""
_HOSTILE_LINES = """the answer is 8.
yes
no
1 = 2,
one hundred and
1 May
option B
i am not sure
it cannot be
half a
$1
x = 1
5 hours and
1 x 10
the the
it it
answer (
so = 1.
Answer: 8
{"answer": 8}"""
HOSTILE = [
    *_HOSTILE.split(),
    *(line + " " for line in _HOSTILE_LINES.splitlines()),
    *("\n", " ", "\u00a0", "1\u202f", "\ud800", "A) x\n", "Answer:\n", "Answer: 8\n", "Question: \n"),
]


@pytest.mark.parametrize("kind", KINDS)
def test_long_hostile_replies_are_read_in_linear_time(kind: str) -> None:
    options = OPTIONS if kind == "choice" else ()
    for piece in HOSTILE:
        text = piece * (100_000 // len(piece))
        assert read(kind, text, options=options).status in {"answer", "abstained", "unreadable"}
        canonical(kind, text, options=options)


@pytest.mark.parametrize("piece", ["1 ", "Answer: 8\n", '{"a":', "((1)", "the answer is 8. "])
@pytest.mark.parametrize("kind", ["number", "text"])
def test_a_megabyte_is_read(piece: str, kind: str) -> None:
    reply = piece * (1_000_000 // len(piece))
    assert read(kind, reply).status in {"answer", "unreadable"}
    assert read(kind, f"{reply}\nFinal answer: 7").canonical in {"7", None}
    assert read(kind, f"<think>{reply}</think>\nAnswer: 7").canonical == "7"
