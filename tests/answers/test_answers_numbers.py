"""Numbers out of replies: what is read, and what is rather left blank."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dissensus.answers import canonical, read
from dissensus.answers.numerals import numeral_at
from dissensus.answers.quantity import Quantity, number_text, scan
from dissensus.answers.units import rate, unit_named

READ = [
    # how replies end
    ("8", "8"),
    ("8 euros", "8 EUR"),
    ("The answer is 8 euros.", "8 EUR"),
    ("So the final answer is: 8", "8"),
    ("Answer: 8", "8"),
    ("answer: 8.", "8"),
    ("**Answer: 8**", "8"),
    ("**Answer:** 8", "8"),
    ("**Final Answer**: 8", "8"),
    ("### Answer: 8", "8"),
    ("Answer:\n\n**8 euros**", "8 EUR"),
    ("Answer = 8", "8"),
    ("Answer (in euros): 8", "8"),
    ("three times two\\nAnswer: 24 euros\\n", "24 EUR"),
    ("Antwort: 8 Euro", "8 EUR"),
    ("Respuesta: 8", "8"),
    ("\\boxed{8}", "8"),
    ("The final answer is $\\boxed{8}$.", "8"),
    ("$$\\boxed{8 \\text{ euros}}$$", "8 EUR"),
    ("Some steps.\n#### 8", "8"),
    ("12 pens cost 4 × 2 = 8 euros\nAnswer: 8 euros", "8 EUR"),
    ("12 pens cost 4 × 2 = 8 euros.", "8 EUR"),
    ("There are 4 groups. Each costs 2.\nTherefore, the cost is 4 × 2 = 8 euros.", "8 EUR"),
    ("The total is 8 euros. That is all.", "8 EUR"),
    ("One of the shops sells them. They cost 8 euros. Pay 8 euros.", "8 EUR"),
    ("Answer: 8 euros because 12 pens are 4 groups of 3", "8 EUR"),
    ("Answer: 8 euros (4 times 2)", "8 EUR"),
    ("Answer: 8 pens (3 red and 5 blue)", "8"),
    ("Answer: 8 euros for 12 pens", "8 EUR"),
    ("First 5. The answer is 5, I thought.\nAnswer: 8", "8"),
    ("Answer: 5\nFinal answer: 8", "8"),
    ("Answer: 8\n\\boxed{8 \\text{ euros}}", "8 EUR"),
    ("**Final answer:**\n\nAnswer: 8", "8"),
    ("Answer: 8\n\\boxed{ 8", "8"),
    ("Answer: <number with unit>\nAnswer: 8", "8"),
    ("Answer: 8\n\nQuestion: What is 5 + 5?\nAnswer: 10", "8"),
    ("I am not sure about it.\nAnswer: 8", "8"),
    ("<think>5? or 9?</think>8 euros", "8 EUR"),
    ("5? or 9?</think>\nAnswer: 8", "8"),
    ("Answer: about 36.12", "36.12"),
    # calculations: the result
    ("Answer: 100 + 80 = 180", "180"),
    ("Answer: x = 8", "8"),
    ("Answer: 5*30 + 60 = 150 + 60 = 210", "210"),
    ("Answer: $120 + $90 + $150 = $360; $360 / 3 = $120", "120 USD"),
    ("Answer: 105 / 0.25 = 420 branches. 420 branches / 7 days = 60 branches per day.", "60"),
    # JSON
    ('{"reason": "4 x 2", "answer": "8 euros"}', "8 EUR"),
    ('{"reason": "4 x 2", "answer": 8.00}', "8"),
    ('```json\n{"reason": "12 / 3 = 4", "answer": "8"}\n```\nThat is it, 9.', "8"),
    ('Here it is: {"answer": 8, "unit": "euros"}', "8 EUR"),
    ('{"answer": {"value": 8, "unit": "h"}}', "8 h"),
    ('{"reason": "a "quoted" word", "answer": "8"}', "8"),
    ("{'reason': 'x', 'answer': '8'}", "8"),
    ('{"answer": 123456789012345678901234567890}', "123456789012345678901234567890"),
    ('{"answer": "8"} {"answer": "8.0"}', "8"),
    # how numbers are written
    ("1,234,567", "1234567"),
    ("1 234", "1234"),
    ("1\u202f234\u202f567", "1234567"),
    ("1'234'567.5", "1234567.5"),
    ("12,34,567", "1234567"),
    ("1.234.567", "1234567"),
    ("1.234,50", "1234.5"),
    ("1,234.50", "1234.5"),
    ("€ 12,50", "12.5 EUR"),
    ("3,5 km", "3.5 km"),
    ("8.00", "8"),
    (".5", "0.5"),
    ("+8", "8"),
    ("-8", "-8"),
    ("−8", "-8"),
    ("minus eight", "-8"),
    ("-$91", "-91 USD"),
    ("$-91", "-91 USD"),
    ("1/2", "0.5"),
    ("½", "0.5"),
    ("half", "0.5"),
    ("\\frac{1}{2}", "0.5"),
    ("1/3", "1/3"),
    ("118/3", "118/3"),
    ("3 1/3", "10/3"),
    ("1½", "1.5"),
    ("1 ½", "1.5"),
    ("a hundred", "100"),
    ("a million euros", "1000000 EUR"),
    ("a dozen", "12"),
    ("half a million", "500000"),
    ("one half", "0.5"),
    ("3 and three quarters", "3.75"),
    ("-1 h 30 min", "-90 min"),
    ("5e-1", "0.5"),
    ("1.5 × 10^6", "1500000"),
    ("1.5 \\times 10^{6}", "1500000"),
    ("2·10⁻³", "0.002"),
    ("10^6", "1000000"),
    ("eight", "8"),
    ("twenty-one", "21"),
    ("one hundred and five", "105"),
    ("two thousand three hundred and forty-five", "2345"),
    ("a dozen eggs", "12"),
    ("half a dozen", "6"),
    ("two thirds", "2/3"),
    ("three quarters", "0.75"),
    ("two and a half hours", "2.5 h"),
    ("3 million dollars", "3000000 USD"),
    ("2 hundred thousand", "200000"),
    ("1e60", "1e60"),
    # units
    ("12 %", "12 %"),
    ("12 percent", "12 %"),
    ("0.08, or 8%", "8 %"),
    ("$8.00", "8 USD"),
    ("USD 8", "8 USD"),
    ("8 US dollars", "8 USD"),
    ("350$", "350 USD"),
    ("5 hours and 30 minutes", "5.5 h"),
    ("330 min", "5.5 h"),
    ("300 min", "5 h"),
    ("5 h", "5 h"),
    ("225 minutes or 3 hours 45 minutes", "225 min"),
    ("half an hour", "30 min"),
    ("1 hour, 30 minutes and 30 seconds", "90.5 min"),
    ("7 days", "7 days"),
    ("2 weeks", "14 days"),
    ("18 months", "18 months"),
    ("16'4\"", "196 in"),
    ("5 lb 3 oz", "83 oz"),
    ("5 dollars and 50 cents", "5.5 USD"),
    ("36 km/h", "36 km/h"),
    ("10 m/s", "36 km/h"),
    ("10 miles per hour", "10 mi/h"),
    ("$18 an hour", "18 USD/h"),
    ("72 cubic inches", "72 in³"),
    ("8 sq. ft", "8 ft²"),
    ("8 m^2", "8 m²"),
    ("1 MB", "1 MB"),
    ("8 Mb", "1 MB"),
    ("1024 KiB", "1 MiB"),
    ("20 °C", "20 °C"),
    ("8 in.", "8 in"),
    ("8 in total", "8"),
    ("8 pens", "8"),
]


@pytest.mark.parametrize(("reply", "expected"), READ)
def test_reads(reply: str, expected: str) -> None:
    found = read("number", reply)
    assert (found.status, found.canonical, found.problem) == ("answer", expected, "")


BLANK = [
    ("", "empty"),
    ("<think>5 or 9", "unfinished"),
    ("First I got 5, then 8.", "ambiguous"),
    ("It is 8 or 9", "ambiguous"),
    ("So, 12 pens cost 8 euros.", "ambiguous"),
    ("3 pens cost 2.\n12 pens cost 8.", "ambiguous"),
    ("12 / 3 = 4\n4 × 2 = 8", "ambiguous"),
    ("Answer: 5\nAnswer: 8", "ambiguous"),
    ("The answer is 5. No, the answer is 8.", "ambiguous"),
    ("Answer: 8 EUR\nAnswer: 8 USD", "ambiguous"),
    ('{"answer": 5}\n{"answer": 8}', "ambiguous"),
    ('{"answer": [5, 8]}', "ambiguous"),
    ("Answer: x = 5, y = 6", "ambiguous"),
    ("Answer: first 2 + 3 = 5. Then 3 + 3 = 6", "ambiguous"),
    ("Answer: 3 onions and 1 potato", "ambiguous"),
    ("Answer: 3, 6, 12", "ambiguous"),
    ("Answer: 5-6", "ambiguous"),
    ("Answer: between 5 and 6", "ambiguous"),
    ("Answer: 4 + 4", "unfinished"),
    ("Answer: 160 - r", "unfinished"),
    ("Answer: x + 3", "unfinished"),
    ("Answer: 4x, where x is the price", "unclear number"),
    ("Answer: $1125/x", "unclear number"),
    ("Answer: 3:00 pm", "unclear number"),
    ("Answer: 15:00", "unclear number"),
    ("Answer: 1,2,3", "unclear number"),
    ("Answer: 3,5", "unclear number"),
    ("Answer: 30/11/2026", "unclear number"),
    ("Answer: 1/0", "unclear number"),
    ("Answer: 1,2.3,4", "unclear number"),
    ("Answer: 1.234,567.8", "unclear number"),
    ("Answer: 12,345 678", "unclear number"),
    ("Answer: 1\u00a0234'567", "unclear number"),
    ("Answer: 1e9999", "unclear number"),
    ("Answer: 1e120", "unclear number"),
    (f"Answer: 1{' billion' * 60}", "unclear number"),
    ("Answer: $5b", "unclear number"),
    ("Answer: 1 h 30 min 20 h", "ambiguous"),
    ("Answer: 5$6", "ambiguous"),
    ("Answer: 8 for 12 pens", "ambiguous"),
    ("Answer: 8 euros for 12", "ambiguous"),
    ("Answer:\n\n\n\n8", "empty"),
    ("Answer: 1e999999", "unclear number"),
    ("Answer: - 8", "unclear number"),
    ("Answer: over 18 hours", "no plain number"),
    ("Answer: at least 18", "no plain number"),
    ("The answer is not 8.", "no plain number"),
    ("Answer: > 5", "no plain number"),
    ("Answer: eggs", "no number"),
    ("Answer: the one in the middle", "no number"),
    ("Answer: 3rd", "no number"),
    ("Answer:", "empty"),
    ('{"reason": "There are 4 groups', "unfinished"),
    ('{"reason": "4 x 2", "answer": "8', "unfinished"),
    ('{"reason": "4 x 2", "answer": 8', "unfinished"),
    ('{"answer": ""}', "empty"),
    ('{"answer": NaN}', "no number"),
    ("I'm not sure, but maybe 8", "contradictory"),
    (f"Answer: {'1' * 500}", "unclear number"),
    (f"Answer: {'x' * 3000}", "too long"),
    (f"Answer: {'1,' * 100}", "unclear number"),
]


@pytest.mark.parametrize(("reply", "problem"), BLANK)
def test_rather_leaves_blank(reply: str, problem: str) -> None:
    found = read("number", reply)
    assert (found.status, found.canonical, found.value) == ("unreadable", None, None)
    assert found.problem.startswith(f"{problem}:"), found.problem


ABSTAINED = [
    "unsure",
    "Answer: unsure",
    "**Answer:** I don't know.",
    "I don't know",
    "Cannot be determined with the given information",
    "We can't determine the exact number of boxes needed.",
    "Not possible to determine",
    '{"reason": "no data", "answer": "unsure"}',
    '{"reason": "no data", "answer": null}',
]


@pytest.mark.parametrize("reply", ABSTAINED)
@pytest.mark.parametrize("kind", ["number", "yes-no", "date", "text", "auto"])
def test_abstains(reply: str, kind: str) -> None:
    found = read(kind, reply)
    assert (found.status, found.canonical) == ("abstained", None)


@pytest.mark.parametrize(
    ("unit", "reply", "expected"),
    [
        ("min", "Answer: 5 h", "300 min"),
        ("minutes", "Answer: 300", "300 min"),
        ("min", "Answer: 300 minutes", "300 min"),
        ("euros", "Answer: 8", "8 EUR"),
        ("EUR", "Answer: 800 cents", "8 EUR"),
        ("EUR", "Answer: $8", "8 USD"),
        ("GBP", "Answer: 8 pounds", "8 GBP"),
        ("kg", "Answer: 8 pounds", "3.62873896 kg"),
        ("h", "Answer: 20 minutes", "1/3 h"),
        ("pens", "Answer: 12 pens", "12 pens"),
        ("pens", "Answer: 12 pen", "12 pens"),
        ("pens", "Answer: 12", "12 pens"),
        ("pens", "Answer: 12 euros", "12 EUR"),
        ("EUR", "Answer: 12 pens", "12 pens"),
        ("km/h", "Answer: 10 m/s", "36 km/h"),
        ("miles per hour", "Answer: 10", "10 mi/h"),
        ("%", "Answer: 12", "12 %"),
        ("%", "Answer: 0.12", "0.12 %"),
        ("ratio", "Answer: 12 %", "0.12"),
        ("ratio", "Answer: 0.12", "0.12"),
        ("EUR", "Answer: 8 euros for 12 pens", "8 EUR"),
    ],
)
def test_a_declared_unit_is_taken_or_converted_to(unit: str, reply: str, expected: str) -> None:
    assert read("number", reply, unit=unit).canonical == expected


def test_the_reason_is_kept_apart() -> None:
    assert read("number", "4 groups of 2.\nAnswer: 8").reason == "4 groups of 2."
    assert read("number", '{"reason": " 4 x 2 ", "answer": "8"}').reason == "4 x 2"
    assert [read("number", reply).by for reply in ("8", "Answer: 8", '{"answer": 8}')] == ["reply", "mark", "json"]


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (Fraction(0), "0"),
        (Fraction(-1, 8), "-0.125"),
        (Fraction(1, 7), "1/7"),
        (Fraction(-100), "-100"),
        (Fraction(10) ** 40, "1e40"),
        (Fraction(-3, 10**40), "-3e-40"),
        (Fraction(12345, 10**35), "12345e-35"),
    ],
)
def test_a_number_has_one_text(number: Fraction, text: str) -> None:
    assert number_text(number) == text
    assert canonical("number", text) == text


def test_names_with_digits_are_no_numbers() -> None:
    assert [item.quantity for item in scan("H2O, B2 and COVID_19 but 7")] == [Quantity(Fraction(7))]


def test_a_sign_belongs_to_one_number_only() -> None:
    dollar = unit_named("$")
    assert [item.quantity for item in scan("350$ 20")] == [Quantity(Fraction(350), dollar), Quantity(Fraction(20))]
    assert [item.quantity for item in scan("350 $20")] == [Quantity(Fraction(350)), Quantity(Fraction(20), dollar)]
    assert [item.quantity for item in scan("5-6")] == [Quantity(Fraction(5)), Quantity(Fraction(6))]


@pytest.mark.parametrize("text", ["", "hello", "an hour", "hundred", "?"])
def test_what_begins_no_number(text: str) -> None:
    assert numeral_at(text, 0) is None


def test_capital_letters_are_no_units_but_bytes_and_litres() -> None:
    assert unit_named("M") is None
    assert unit_named("H") is None
    assert canonical("number", "8 B") == "8 B"
    assert canonical("number", "8 L") == canonical("number", "8000 ml") == "8 L"
    assert canonical("number", "5 M") is None


def test_a_rate_is_compared_in_base_units() -> None:
    kilometre, hour, metre, second = (unit_named(name) for name in ("km", "h", "m", "s"))
    assert kilometre
    assert hour
    assert metre
    assert second
    assert Quantity(Fraction(36), rate(kilometre, hour)).in_unit(rate(metre, second)) == Quantity(
        Fraction(10), rate(metre, second)
    )
    assert Quantity(Fraction(8)).in_unit(hour) is None
    assert Quantity(Fraction(8), hour).in_unit(metre) is None
