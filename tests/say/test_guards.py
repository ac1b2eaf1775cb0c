"""Conditions on content: what they mean, and that no text and no content breaks them."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dissensus.say.guards import GuardError, compile_guard

CONTENT = {"price": 5, "state": "sold", "order": {"total": 2.5, "paid": False}, "a-b": None, "tags": []}


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("price > 3", True),
        ("price >= 5 and price <= 5", True),
        ("price < 5 or price == 5.0", True),
        ("price != 5", False),
        ("not price < 5", True),
        ("not (price > 3 and state == 'sold')", False),
        ("false or true and false", False),
        ('(true or false) and state == "sold"', True),
        ("order.total < price", True),
        ("order.paid", False),
        ("order.paid == false", True),
        ("order.paid == 0", False),
        ("state in ['lost', 'sold']", True),
        ("state not in ['lost', 'sold']", False),
        ("price in [1, 5]", True),
        ("order.lost == 1", False),
        ("order.lost != 1", False),
        ("not (order.lost > 1)", True),
        ("lost in [1]", False),
        ("lost not in [1]", True),
        ("a-b", False),
        ("a-b == null", True),
        ("tags", False),
        ("state > 3", False),
        ("state < 'tall'", True),
        ("price > -1e3", True),
        ("'and' == 'and'", True),
        ("content.price == 5", True),
        ("order.paid > 0", False),
    ],
)
def test_what_a_condition_means(text: str, *, holds: bool) -> None:
    assert compile_guard(text).holds(CONTENT) is holds


@pytest.mark.parametrize(("content", "holds"), [("yes", True), ("no", False), (None, False), (["yes"], False)])
def test_content_that_is_no_mapping_is_compared_whole(content: Any, *, holds: bool) -> None:
    assert compile_guard("content == 'yes'").holds(content) is holds
    assert not compile_guard("answer == 'yes'").holds(content)


def test_the_text_is_kept_with_blanks_evened() -> None:
    assert compile_guard("  price   >\n 3 ").text == "price > 3"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("price >", "ends too early"),
        ("price > 3 4", "'4' is not expected here"),
        ("price => 3", "'=>' is not expected here"),
        ("(price > 3", "')' is missing at the end"),
        ("price in 3", "'[' is missing before '3'"),
        ("price in [1 2]", "']' is missing before '2'"),
        ("price not 3", "'in' is missing after 'not'"),
        ("and", "'and' is not expected here"),
        ("", "ends too early"),
        ("price == 'x", '"\'x" is not expected here'),
        ("(" * 40 + "price" + ")" * 40, "nested more than 30 deep"),
        ("9" * 5000, "too long for a number"),
        ("__import__('os')", "'(' is not expected here"),
    ],
)
def test_what_cannot_be_read_is_said(text: str, says: str) -> None:
    with pytest.raises(GuardError, match=r".") as caught:
        compile_guard(text)
    assert says in str(caught.value)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", "content"]), inner),
    max_leaves=8,
)
values = st.sampled_from(["a", "a.b", "content", "1", "-2.5", "'x'", "true", "null"])
signs = st.sampled_from(["==", "!=", "<", "<=", ">", ">="])
comparisons = st.builds("{} {} {}".format, values, signs, values) | st.builds(
    "{} in [{}, {}]".format, values, values, values
)
conditions = st.recursive(
    comparisons | values,
    lambda inner: (
        st.builds("({}) and {}".format, inner, inner)
        | st.builds("{} or {}".format, inner, inner)
        | st.builds("not ({})".format, inner)
    ),
    max_leaves=6,
)


@given(conditions, json_values)
def test_a_condition_holds_or_its_negation_does(text: str, content: Any) -> None:
    holds = compile_guard(text).holds(content)
    assert isinstance(holds, bool)
    assert compile_guard(f"not ({text})").holds(content) is not holds


@given(conditions, conditions, json_values)
def test_the_laws_of_de_morgan(one: str, two: str, content: Any) -> None:
    left = compile_guard(f"not (({one}) and ({two}))").holds(content)
    assert left is compile_guard(f"not ({one}) or not ({two})").holds(content)


@given(st.text(alphabet="ab.'\"()[]<>=!,0- \n", max_size=30) | st.text(max_size=20))
def test_no_text_raises_anything_else(text: str) -> None:
    with contextlib.suppress(GuardError):
        compile_guard(text).holds({"a": 1})
