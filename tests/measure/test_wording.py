from __future__ import annotations

import pytest

from dissensus.measure.wording import between, counted, hundredths, listed, p_value, percent, short, tiny


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.6725, ".672"), (-0.364, "-.364"), (0, "0"), (1, "1"), (1.5, "1.500"), (2.0, "2"), (None, "not defined"),
        (0.9997, ".9997"), (0.99996, ".99996"), (0.0003, ".0003"), (-0.0001, "-.0001"), (1e-17, "0"), (1 - 1e-16, "1"),
        (0.9995, ".9995"),
    ],
)  # fmt: skip
def test_short_numbers(value: float | None, text: str) -> None:
    assert short(value) == text


def test_intervals_percentages_and_probabilities() -> None:
    assert between((0.41, 0.449), 2) == " [.41, .45]"
    assert between(None) == between((None, 0.5)) == ""
    assert percent(0.0714) == "7.1 %"
    assert (percent(0.99996), percent(1.0), percent(0.9994)) == ("99.996 %", "100.0 %", "99.9 %")
    assert percent(0.00034) == ".034 %"
    assert (hundredths(0), hundredths(1), hundredths(3e-9)) == ("0.0", "100.0", "3.0e-07")
    assert p_value(0.002) == "p = .002"
    assert p_value(1e-5) == "p = 1.0e-05"
    assert (tiny(4.5e-9), tiny(0.034), tiny(0)) == ("4.5e-9", ".034", "0")


def test_counts_and_lists() -> None:
    assert (counted(1, "vote"), counted(2000, "vote"), counted(1, "is", "are")) == ("1 vote", "2,000 votes", "1 is")
    assert listed(["a"]) == "a"
    assert listed(["a", "b", "c"]) == "a, b and c"
    assert listed(["a", "b"], more=7) == "a, b and 7 more"
    assert listed([]) == ""
