"""Where a turn may end: each boundary by example, and what no boundary may do."""

from __future__ import annotations

from itertools import accumulate
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dissensus.decide.round_robin_chunks import (
    Chunk,
    ask_for,
    bounded,
    chunk_of,
    marks_in,
    pieces,
    without_ids,
    without_marks,
    without_overlap,
)
from dissensus.decide.round_robin_settings import MARKS, RoundRobinSettings
from dissensus.script.outcomes import Extended, Reply, Usage


def chunk(*parts: str | bytes) -> Chunk:
    raws = [part.encode() if isinstance(part, str) else part for part in parts]
    return Chunk(
        raw=b"".join(raws),
        ids=tuple(range(len(raws))),
        ends=tuple(accumulate(map(len, raws))),
        tokens=len(raws),
    )


def kept(boundary: Any, *parts: str | bytes, k: int = 4, delta: int = 2, before: bytes = b"", left: int = 99) -> bytes:
    settings = RoundRobinSettings(k=k, delta=delta, boundary=boundary)
    return bounded(chunk(*parts), before, settings, ended=False, left=left).raw


@pytest.mark.parametrize(
    ("boundary", "parts", "expected"),
    [
        ("none", ["a", b"\xe2\x82"], b"a\xe2\x82"),
        ("utf8", ["a", b"\xe2\x82"], b"a"),
        ("utf8", ["a", b"\xe2\x82", b"\xac"], "a€".encode()),
        ("utf8", [b"\xe2", b"\x82"], b"\xe2\x82"),  # nothing whole: better that than nothing
        ("word-number", ["so", " it", " is", " 4"], b"so it is"),  # 4 may become 42
        ("word-number", ["so", " it", " 4", ";"], b"so it 4;"),
        ("word-number", ["x", "=", "1", "2"], b"x="),
        ("word-number", ["ab", "cd", "ef", "gh"], b"abcdefgh"),  # no place within delta: as it is
        ("word-number", ["so", " ", "12", "3"], b"so "),
        ("word-number", ["so", "-", "1", "2", "3"], b"so-"),  # only K are asked for
        ("sentence", ["It", " is", " 4", ".", " So", " it"], b"It is 4."),
        ("sentence", ["It", " is", ".", " So", " it", " is"], b"It is."),
        ("sentence", ["It", "\n", "a", "b", "c", "\n"], b"It\nabc\n"),  # as near; the later one
        ("sentence", ["It", " is", " so", "."], b"It is so."),
        ("sentence", ["It is", " 3", ".", "5"], b"It is 3.5"),  # no sentence end, and no place within delta
        ("word-number", ["It", " is", " 3", "."], b"It is"),  # it may become 3.5
        ("word-number", ["is", " 3", ",", " "], b"is 3, "),
        ("line", ["a.", " b", "\n", " c", " d", " e"], b"a. b\n"),
        ("line", ["a", " b", " c", " d", " e", "\n"], b"a b c d e\n"),
    ],
)
def test_boundaries(boundary: str, parts: list[str | bytes], expected: bytes) -> None:
    assert kept(boundary, *parts) == expected


def test_the_nearest_sentence_end_counts_and_never_beyond_the_length() -> None:
    parts = ["a", ".", " b", " c", " d", ".", " e"]
    assert kept("sentence", *parts, k=5, delta=3) == b"a. b c d."
    assert kept("sentence", *parts, k=5, delta=3, left=5) == b"a."
    assert ask_for(RoundRobinSettings(k=5, delta=3, boundary="sentence"), 99) == 8
    assert ask_for(RoundRobinSettings(k=5, delta=3, boundary="sentence"), 6) == 6
    assert ask_for(RoundRobinSettings(k=5), 3) == 3


def test_what_stood_before_completes_a_character() -> None:
    assert kept("utf8", b"\x82", b"\xac", before=b"so \xe2") == b"\x82\xac"
    assert kept("utf8", b"\x82", b"\xac", b"\xe2", before=b"so \xe2") == b"\x82\xac"


@given(
    parts=st.lists(st.text(alphabet="ab 1.\n€", min_size=1, max_size=3), min_size=1, max_size=12),
    boundary=st.sampled_from(["none", "utf8", "word-number", "sentence", "line"]),
    k=st.integers(1, 12), delta=st.integers(0, 5), unit=st.sampled_from(["writer", "ruler"]), ended=st.booleans(),
    with_ends=st.booleans(),
)  # fmt: skip
def test_a_turn_is_a_beginning_of_what_was_written_and_not_nothing(
    *, parts: list[str], boundary: Any, k: int, delta: int, unit: Any, ended: bool, with_ends: bool
) -> None:
    settings = RoundRobinSettings(k=k, delta=delta, boundary=boundary, unit=unit)
    asked = ask_for(settings, 99)
    whole = chunk(*parts[:asked])
    if not with_ends:
        whole = Chunk(raw=whole.raw, tokens=whole.tokens)
    cut = bounded(whole, b"", settings, ended=ended, left=99)
    assert whole.raw.startswith(cut.raw)
    assert cut.raw
    assert cut.tokens >= 1
    if cut.ids is not None:
        assert cut.ids == (whole.ids or ())[: cut.tokens]
        assert cut.ends is not None
        assert cut.ends[-1] == len(cut.raw)
    cut.raw.decode()
    if unit == "ruler":
        assert pieces(cut.raw.decode()) <= k + (delta if boundary in ("sentence", "line") else 0) or cut.tokens == 1
    elif boundary not in ("sentence", "line"):
        assert cut.tokens <= k or ended


def test_the_ruler_is_the_same_for_all() -> None:
    assert pieces("The answer is 1234, so") == len(["The", " answ", "er", " is", " 123", "4", ",", " so"])
    settings = RoundRobinSettings(k=3, unit="ruler", boundary="none")
    by_words, by_letters = chunk("The", " answer", " is", " so"), chunk(*"The answer is so")
    assert bounded(by_words, b"", settings, ended=False, left=99).raw == b"The answer"
    assert bounded(by_letters, b"", settings, ended=False, left=99).raw == b"The answer"


# --- what outcomes hold


def test_counts_of_text_come_from_the_back_end_or_are_estimated() -> None:
    text = "twelve chars"
    assert chunk_of(Extended(text=text, sampled=5, finish="stop"), asked=9, with_ids=False).tokens == 4
    assert chunk_of(Extended(text=text, usage=Usage(tokens_out=3)), asked=9, with_ids=False).tokens == 3
    guessed = chunk_of(Extended(text=text, finish="stop"), asked=9, with_ids=False)
    assert (guessed.tokens, guessed.counted) == (3, False)
    assert chunk_of(Extended(text=text, finish="length"), asked=9, with_ids=False).tokens == 9
    assert chunk_of(Reply(text=text, usage=Usage(tokens_out=2)), asked=9, with_ids=False).tokens == 2
    assert chunk_of(Extended(text=""), asked=9, with_ids=False).tokens == 0


@pytest.mark.parametrize("ends", [(1,), (2, 1), (1, 3), (5, 6)])
def test_ends_that_cannot_be_are_not_believed(ends: tuple[int, ...]) -> None:
    found = chunk_of(Extended(text="ab", tokens=(1, 2), ends=ends), asked=9, with_ids=True)
    assert (found.ends, found.ids, found.raw) == (None, (1, 2), b"ab")


def test_banned_ids_take_their_bytes_with_them() -> None:
    cut, number = without_ids(chunk("a", "<e>", "b"), [1])
    assert (cut.raw, cut.ids, cut.ends, number) == (b"ab", (0, 2), (1, 2), 1)
    blind, number = without_ids(Chunk(raw=b"ab", ids=(1, 2), tokens=2), [1])
    assert (blind.ids, number) == ((2,), 1)


@given(
    st.lists(st.sampled_from(["<|im_", "end|>", "<|im_end|>", "<s", ">", "</s>", "x"]), max_size=10), st.integers(0, 10)
)
def test_no_control_mark_survives_as_text_wherever_it_is_cut(parts: list[str], seam: int) -> None:
    before, _ = without_marks(Chunk(raw="".join(parts[:seam]).encode(), tokens=5), b"", MARKS)
    after, _ = without_marks(Chunk(raw="".join(parts[seam:]).encode(), tokens=5), before.raw, MARKS)
    whole = (before.raw + after.raw).decode()
    assert not [mark for mark in MARKS if mark in whole]
    assert not marks_in(after, before.raw, MARKS)


def test_a_repetition_is_taken_out_once_and_short_ones_stay() -> None:
    def rest(before: str, after: str) -> str:
        return without_overlap(Chunk(raw=after.encode(), tokens=9), before.encode()).raw.decode()

    assert rest("3 + 4 is seven, so", "is seven, so 7") == " 7"
    assert rest("the number is 1", "1") == "1"  # 11, perhaps
    assert rest("x = 1", "x = 1 + 2") == " + 2"  # all of it
    assert rest("", "so it goes") == "so it goes"


@given(st.text(alphabet="ab", max_size=30), st.text(alphabet="ab", max_size=30))
def test_the_longest_overlap_is_found(before: str, after: str) -> None:
    longest = max(n for n in range(min(len(before), len(after)) + 1) if before.endswith(after[:n]))
    found = without_overlap(Chunk(raw=after.encode(), tokens=9), before.encode()).raw.decode()
    assert found == (after[longest:] if longest >= min(8, len(before)) else after)
