from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dissensus.script.styles import REPHRASINGS, ROTATION, STYLES, rephrase


def test_styles_are_named_by_themselves_and_short() -> None:
    assert all(name == style.name for name, style in STYLES.items())
    assert all(0 < len(style.text) <= 160 for style in STYLES.values())
    assert len({style.text for style in STYLES.values()}) == len(STYLES)
    assert set(ROTATION) <= set(STYLES)
    assert len(set(ROTATION)) == len(ROTATION)


def test_wordings_bring_in_no_number_and_differ() -> None:
    assert not any(char.isdigit() for wording in REPHRASINGS for char in wording.before + wording.after)
    assert len(set(REPHRASINGS)) == len(REPHRASINGS)


@given(st.text(min_size=1), st.integers(0, 50))
def test_the_question_stays_word_for_word(question: str, index: int) -> None:
    assert question in rephrase(question, index)
    assert rephrase(question, index) == rephrase(question, index + len(REPHRASINGS))
    assert rephrase(question, 0) == question
