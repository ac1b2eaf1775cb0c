"""N, against what it is defined to do, and its way back to the original."""

from __future__ import annotations

import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dissensus.decide.dispute.normalise import normal, normalised

ODD = "aA1-²½ﬁ\u00ad\n\r\x0c \u00a0“”‘’\u2010\u2014\u2212ée\u0301\u0345ßİΣςΐ한\u1112\u1161\u11ab\uff76\uff9e"
TEXTS = st.text(st.sampled_from(ODD)) | st.text(max_size=30)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("10² boxes", "10² boxes"),  # NFKC would make 102 of it
        ("½ full, ①", "½ full, ①"),
        ("ﬁnal ﬂow", "final flow"),
        ("co\u00adoperate", "cooperate"),
        ("co-\noperate", "cooperate"),
        ("co\u2010\r\noperate", "cooperate"),
        ("co\u00ad\noperate", "cooperate"),
        ("pages 1-\n2", "pages 1- 2"),  # digits are no letters
        ("a -\nb", "a - b"),
        ("“it’s”", '"it\'s"'),
        ("\u22125 \u20145 \u20125", "-5 -5 -5"),
        ("a \t\n\u00a0 b", "a b"),
        (" a ", " a "),
        ("STRASSE straße", "strasse strasse"),
        ("1,5 -3 +4 0.50", "1,5 -3 +4 0.50"),
        ("e\u0301", "é"),
    ],
)
def test_what_is_normalised(text: str, expected: str) -> None:
    assert normal(text) == expected


@given(TEXTS)
def test_twice_is_once(text: str) -> None:
    once = normal(text)
    assert normal(once) == once


def test_twice_is_once_for_each_character() -> None:
    for code in range(sys.maxunicode + 1):
        char = chr(code)
        if not 0xD800 <= code < 0xE000 and unicodedata.normalize("NFKC", char).casefold() != char:
            once = normalised(char).text
            assert normalised(once).text == once, hex(code)


@given(TEXTS)
def test_digits_and_signs_are_never_dropped(text: str) -> None:
    plain = "".join(char for char in text if char.isascii() or char in "²½")

    def kept(of: str) -> str:
        return "".join(char for char in of if char in "0123456789.,+²½")

    assert kept(normal(plain)) == kept(plain)


@given(TEXTS)
def test_the_way_back_covers_the_text_in_order(text: str) -> None:
    found = normalised(text)
    assert len(found.text) == len(found.starts) == len(found.ends)
    for start, end in zip(found.starts, found.ends, strict=True):
        assert 0 <= start < end <= len(text)
    assert list(found.starts) == sorted(found.starts)
    assert list(found.ends) == sorted(found.ends)


@given(TEXTS, st.data())
def test_a_part_and_what_it_came_from_are_equal_after_n(text: str, data: st.DataObject) -> None:
    """What the way back names has, by itself, the same normal form, but for marks that join over its edge."""
    found = normalised(text)
    if not found.text:
        return
    start = data.draw(st.integers(0, len(found.text) - 1))
    end = data.draw(st.integers(start + 1, len(found.text)))
    origin = found.origin(start, end)
    if origin is None:
        return
    assert normal(text[origin[0] : origin[1]]) == normal(found.text[start:end])


@given(TEXTS)
def test_nfkc_but_for_numbers_of_category_no(text: str) -> None:
    """Without No characters, breaks, hyphens and the other replaced signs, N is NFKC, case folding and blanks."""
    plain = "".join(char for char in text if unicodedata.category(char) != "No")
    plain = plain.replace("\u00ad", "")
    expected = plain
    for _ in range(4):
        expected = unicodedata.normalize("NFKC", expected).casefold()
    if any(sign in expected for sign in "-\u2010\u2011\u2012\u2013\u2014\u2015\u2212‘’‚‛“”„‟"):
        return
    expected = "".join(" " if char.isspace() else char for char in expected)
    while "  " in expected:
        expected = expected.replace("  ", " ")
    assert normal(plain) == expected
