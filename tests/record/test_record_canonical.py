from __future__ import annotations

import datetime as dt
import enum
import json
import uuid
from collections import namedtuple
from collections.abc import Callable
from decimal import Decimal
from types import MappingProxyType
from typing import Any

import msgspec
import pytest
from conformance import bodies, drafts, texts, values
from hypothesis import given
from hypothesis import strategies as st

from dissensus.errors import NotRecordable, RecordDamaged, RecordTooNew, ScriptError
from dissensus.record import blobs, canonical
from dissensus.record.canonical import decode, encode
from dissensus.record.event import OPERATOR, PUBLIC, Draft
from dissensus.record.memory import MemoryStore

FILL = "fill " * 400
"""Makes an event so large that it goes the way of large ones."""


def bytes_of(body: Any, **fields: Any) -> bytes:
    return encode(Draft(kind="note", body=body, **fields), 7, "run:7", 1.5, {})


def texts_in(long: dict[bytes, bytes]) -> Callable[[bytes], str]:
    return lambda digest: long[digest].decode()


def refusal(body: Any, **fields: Any) -> NotRecordable:
    """The refusal, which must be the same for a small and for a large event."""
    small: NotRecordable | None = None
    for more in ({}, {"fill": FILL}):
        with pytest.raises(NotRecordable) as caught:
            encode(Draft(kind="note", body={**body, **more}, key="k/1", **fields), 7, "run:7", 1.5, {})
        small = small or caught.value
    assert small is not None
    return small


# --- the form


def test_the_form_is_the_documented_one() -> None:
    raw = bytes_of(
        {"b": 1, "a": [1.5, None, True, 'é\n"']}, key="k", actor="ada", thread="t", visibility=("ada", "ben")
    )
    assert raw.decode() == (
        '{"v":1,"seq":7,"id":"run:7","time":1.5,"key":"k","kind":"note","actor":"ada","thread":"t",'
        '"visibility":["ada","ben"],"body":{"b":1,"a":[1.5,null,true,"é\\n\\""]}}'
    )
    assert json.loads(raw)["body"] == {"b": 1, "a": [1.5, None, True, 'é\n"']}


@pytest.mark.parametrize("visibility", [PUBLIC, OPERATOR, (), ("ada",), ("public",)])
def test_visibility_survives(visibility: Any) -> None:
    raw = bytes_of({}, visibility=visibility)
    assert decode((7, raw, b""), str, "").visibility == visibility


@given(drafts)
def test_bytes_are_one_line_of_json(draft: Draft) -> None:
    raw = encode(draft, 1, "r:1", 0.0, {})
    assert b"\n" not in raw
    assert json.loads(raw)["seq"] == 1


@given(bodies)
def test_python_itself_reads_the_same_numbers_and_texts(body: dict[str, Any]) -> None:
    long: dict[bytes, bytes] = {}
    raw = encode(Draft(kind="note", body=body), 1, "r:1", 0.0, long)
    read = blobs.put_back(json.loads(raw)["body"], lambda digest: long[digest].decode())
    assert read == body
    assert repr(read) == repr(body)  # also the sign of zero, and the order of keys


def test_what_json_can_say_may_be_said_with_other_types() -> None:
    class Colour(enum.StrEnum):
        RED = "red"

    class Size(enum.IntEnum):
        BIG = 3

    class Kind(dict[str, int]):
        pass

    Pair = namedtuple("Pair", "a b")  # noqa: PYI024 - the untyped kind counts as a tuple too
    body = {"e": Colour.RED, "i": Size.BIG, "d": Kind(a=1), "t": (1, (2,)), "p": Pair(1, 2), Colour.RED: 1}
    for more in ({}, {"fill": FILL}):
        long: dict[bytes, bytes] = {}
        raw = encode(Draft(kind="note", body={**body, **more}), 1, "r:1", 0.0, long)
        read = decode((1, raw, b""), texts_in(long), "").body
        assert read == {"e": "red", "i": 3, "d": {"a": 1}, "t": [1, [2]], "p": [1, 2], "red": 1, **more}
    assert bytes_of(MappingProxyType({"a": 1})) == bytes_of({"a": 1})


@pytest.mark.parametrize("number", [0, -1, 2**63, 2**64, -(2**64), 10**300, 10**4000])
def test_integers_of_any_size(number: int) -> None:
    raw = bytes_of({"n": number})
    assert decode((7, raw, b""), str, "").body == {"n": number}


# --- what is refused


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize(
    "place",
    [
        lambda x: {"a": x},
        lambda x: {"a": {"b": [1, {"c": x}]}},
        lambda x: {"a": [0.5] * 100 + [x]},
        lambda x: {"a": [0.5] * 100 + [x, "text", None]},
        lambda x: {"a": [[x]] * 100},
        lambda x: {"a": {str(n): 0.5 for n in range(100)} | {"x": x}},
        lambda x: {"a": (x,)},
    ],
)
def test_numbers_that_json_lacks_are_refused(place: Any, number: float) -> None:
    error = refusal(place(number))
    assert "NaN" in error.message
    assert "'k/1'" in error.message
    assert error.next_step


@pytest.mark.parametrize("text", ["\ud800", "a\udfffb", "\udc80" * 600])
def test_lone_surrogates_are_refused(text: str) -> None:
    assert "surrogate" in refusal({"a": [text]}).message
    assert "surrogate" in refusal({text: 1}).message
    with pytest.raises(NotRecordable, match="surrogate"):
        bytes_of({}, actor=text)


@pytest.mark.parametrize(
    "value",
    [
        b"bytes",
        bytearray(b"x"),
        {1},
        frozenset("a"),
        Decimal("1.5"),
        dt.datetime(2026, 1, 1, tzinfo=dt.UTC),
        dt.date(2026, 1, 1),
        dt.timedelta(1),
        uuid.UUID(int=5),
        complex(1),
        object(),
        int,
        Draft(kind="x"),
        msgspec.Raw(b"1"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_no_json_is_refused(value: Any) -> None:
    for body in ({"a": value}, {"a": [1, {"b": value}]}, {"a": [1.5] * 100 + [value]}):
        assert "cannot be recorded" in refusal(body).message


@pytest.mark.parametrize("key", [1, None, True, 1.5, b"a", ("a",)])
def test_keys_that_are_no_strings_are_refused(key: Any) -> None:
    refusal({"a": {key: 1}})
    refusal({key: 1})


def test_a_list_that_contains_itself_is_refused() -> None:
    inner: list[Any] = [1]
    inner += [inner, inner]
    refusal({"a": inner})


def test_nesting_has_an_end() -> None:
    def nested(depth: int) -> Any:
        value: Any = 1
        for _ in range(depth):
            value = [value]
        return value

    deepest = {"fill": FILL, "a": nested(canonical.MAX_DEPTH - 1)}
    raw = bytes_of(deepest)
    assert json.loads(raw)["body"]["a"] == deepest["a"]
    with pytest.raises(NotRecordable, match="nested"):
        bytes_of({"fill": FILL, "a": nested(canonical.MAX_DEPTH)})
    with pytest.raises(NotRecordable):
        bytes_of({"a": nested(10_000)})
    as_deep_as_a_small_event_can_be = nested((blobs.LONG - len(bytes_of({"a": 1}))) // 2 - 1)
    raw = bytes_of({"a": as_deep_as_a_small_event_can_be})
    assert decode((7, raw, b""), str, "").body["a"] == as_deep_as_a_small_event_can_be


def test_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blobs, "MAX_BYTES", 5000)
    with pytest.raises(NotRecordable, match="longer than 5000"):
        bytes_of({"a": "x" * 5001})
    with pytest.raises(NotRecordable, match="longer than 5000"):
        bytes_of({"a": list(range(3000))})
    bytes_of({"a": "x" * 5000})


@pytest.mark.parametrize(
    "fields",
    [
        {"key": None},
        {"kind": 5},
        {"actor": b"ada"},
        {"thread": ["main"]},
        {"visibility": "ada"},
        {"visibility": ["ada"]},
        {"visibility": None},
        {"visibility": ("ada", 5)},
        {"visibility": (b"ada",)},
        {"key": uuid.UUID(int=5)},
        {"body": None},
        {"body": [1]},
    ],
)
def test_fields_of_the_wrong_type_are_refused(fields: dict[str, Any]) -> None:
    for body in ({}, {"fill": FILL}):
        with pytest.raises(NotRecordable):
            encode(Draft(**{"kind": "note", "body": body, **fields}), 1, "r:1", 0.0, {})


def test_the_clock_must_be_finite() -> None:
    store = MemoryStore(clock=lambda: float("nan"))
    with pytest.raises(NotRecordable, match="clock"):
        store.append([Draft(kind="note")])
    assert len(store) == 0


def test_a_refusal_is_the_scripts_fault() -> None:
    assert issubclass(NotRecordable, ScriptError)
    assert NotRecordable.exit_code == 3


# --- long texts


@given(values)
def test_long_texts_are_taken_out_and_put_back(value: Any) -> None:
    long: dict[bytes, bytes] = {}
    stored = blobs.take_out(value, long)
    assert blobs.put_back(stored, lambda digest: long[digest].decode()) == value
    assert set(blobs.references(stored)) == set(long)

    def short(part: Any) -> bool:
        if isinstance(part, dict):
            return all(map(short, part.values()))
        if isinstance(part, list):
            return all(map(short, part))
        return not isinstance(part, str) or len(part.encode()) < blobs.LONG

    assert short(stored)


@given(st.dictionaries(st.from_regex(r"\A\$*blob\Z"), texts, max_size=5))
def test_keys_that_look_like_a_reference_survive(body: dict[str, str]) -> None:
    store = MemoryStore()
    store.append([Draft(kind="note", body=body), Draft(kind="note", body={"deep": [body, body]})])
    first, second = store.read()
    assert first.body == body
    assert second.body == {"deep": [body, body]}


def test_the_length_is_counted_in_bytes() -> None:
    for text, apart in [
        ("x" * (blobs.LONG - 1), False),
        ("x" * blobs.LONG, True),
        ("é" * (blobs.LONG // 2 - 1), False),
        ("é" * (blobs.LONG // 2), True),
        ("🖊" * (blobs.LONG // 4), True),
        ("é" * (blobs.LONG // 2 - 1) + "x", False),
    ]:
        long: dict[bytes, bytes] = {}
        raw = encode(Draft(kind="note", body={"t": text, "pad": "y" * 900}), 1, "r:1", 0.0, long)
        assert bool(long) == apart, text[:3]
        assert decode((1, raw, b""), texts_in(long), "").body["t"] == text


# --- reading bytes that somebody else made


def row(text: str) -> tuple[int, bytes, bytes]:
    return 7, text.encode(), b""


GOOD = bytes_of({"a": 1}).decode()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "null",
        "[]",
        GOOD[:-1],
        GOOD + " x",
        GOOD.replace('"seq":7', '"seq":8'),
        GOOD.replace('"seq":7', '"seq":"7"'),
        GOOD.replace('"v":1', '"v":"1"'),
        GOOD.replace('"v":1', '"v":0'),
        GOOD.replace('"v":1,', ""),
        GOOD.replace('"kind":"note",', ""),
        GOOD.replace('{"a":1}', "[1]"),
        GOOD.replace('{"a":1}', '{"$blob":"sha256:12"}'),
        GOOD.replace('{"a":1}', '{"a":{"$blob":5}}'),
        GOOD.replace('{"a":1}', '{"a":{"$blob":"sha256:%s","b":1}}' % ("0" * 64)),
        GOOD.replace('{"a":1}', '{"a":' + "[" * 100_000),
    ],
)
def test_bytes_that_are_no_event_are_damage(text: str) -> None:
    with pytest.raises(RecordDamaged) as caught:
        decode(row(text), str, "run.db")
    assert caught.value.seq == 7
    assert "Event 7 of run.db" in caught.value.message


def test_bytes_that_are_no_utf8_are_damage() -> None:
    with pytest.raises(RecordDamaged):
        decode((7, GOOD.replace("note", "n\udcffte").encode("utf-8", "surrogateescape"), b""), str, "")


def test_a_later_version_is_told_from_damage() -> None:
    with pytest.raises(RecordTooNew) as caught:
        decode(row(GOOD.replace('"v":1', '"v":2')), str, "")
    assert caught.value.exit_code == 4
    assert "Update" in caught.value.next_step
    with pytest.raises(RecordTooNew):
        canonical.check_place(7, GOOD.replace('"v":1', '"v":2').encode(), "")


def test_other_orders_and_white_space_can_be_read() -> None:
    fields = json.loads(GOOD)
    other = json.dumps(dict(reversed(fields.items())), indent=1)
    assert decode(row(other), str, "") == decode(row(GOOD), str, "")
    with pytest.raises(RecordDamaged, match="line break"):
        canonical.check_place(7, other.encode(), "")
