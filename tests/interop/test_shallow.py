from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dissensus.interop.shallow import DEEPEST, decode

values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(alphabet='[]{}"\\a', max_size=9),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(alphabet='[{"\\', max_size=3), inner, max_size=4)
    ),
)


@given(values)
def test_what_is_no_deeper_is_read_as_it_stands(value: object) -> None:
    assert decode(json.dumps(value).encode()) == value


def test_brackets_in_texts_nest_nothing() -> None:
    many = ["[" * 50] * 50
    assert decode(json.dumps(many).encode()) == many


@pytest.mark.parametrize(("depth", "read"), [(DEEPEST, True), (DEEPEST + 1, False), (100_000, False)])
def test_the_limit_is_where_it_is_said_to_be(depth: int, read: bool) -> None:
    raw = b"[" * depth + b"]" * depth
    if read:
        assert json.dumps(decode(raw)).encode() == raw.replace(b"][", b"], [")
    else:
        with pytest.raises(RecursionError):
            decode(raw)
