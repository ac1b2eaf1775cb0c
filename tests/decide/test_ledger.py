"""Tokens of writing in turns: every figure of the reference, and formulas against doing it token by token."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dissensus.decide import ledger
from dissensus.decide.ledger import (
    BLOCKS,
    CACHES,
    EXACT,
    NONE,
    Ledger,
    Spoken,
    count,
    lockstep,
    plan,
    simulate,
    simulate_lockstep,
    spoken_in,
    total,
)
from dissensus.errors import SpecError

TABLE = [
    (300, 1, 300, 599_250, 24_850, 13_675),
    (300, 20, 15, 29_250, 11_650, 11_300),
    (300, 100, 3, 5_250, 5_250, 5_250),
    (600, 1, 600, 1_648_500, 43_540, 21_175),
    (600, 50, 12, 31_500, 16_060, 15_785),
    (600, 100, 6, 15_000, 13_320, 13_255),
    (1200, 1, 1200, 5_097_000, 81_000, 36_175),
    (1200, 50, 24, 99_000, 28_680, 27_845),
    (1200, 100, 12, 48_000, 25_520, 25_285),
    (1200, 300, 4, 14_000, 14_000, 14_000),
]
SINGLE = [
    (3, 1000, 64, 120, 9_600, 2_320, 2_229),
    (2, 10, 3, 5, 38, 38, 21),
    (7, 1200, 1, 33, 759_000, 17_528, 8_603),
    (1, 300, 100, 50, 450, 66, 52),
]


@pytest.mark.parametrize(("length", "k", "turns", "none", "block16", "exact"), TABLE)
def test_sums_over_five_texts(*, length: int, k: int, turns: int, none: int, block16: int, exact: int) -> None:
    planned = [plan(5, k, length, 250, starts=range(5), block=block) for block in (NONE, BLOCKS, EXACT)]
    assert [one.computed for one in planned] == [none, block16, exact]
    assert {one.turns for one in planned} == {5 * turns}
    assert {one.decoded for one in planned} == {ledger.vote(5, length, 250).decoded}
    assert ledger.vote(5, length, 250).computed == 1_250


@pytest.mark.parametrize(("n", "length", "k", "prompt", "none", "block16", "exact"), SINGLE)
def test_single_texts(*, n: int, length: int, k: int, prompt: int, none: int, block16: int, exact: int) -> None:
    assert [plan(n, k, length, prompt, block=block).computed for block in (NONE, BLOCKS, EXACT)] == [
        none,
        block16,
        exact,
    ]


@pytest.mark.parametrize(
    ("n", "length", "k", "prompt", "per_turn"),
    [(3, 1000, 64, 120, [120, 184, 248, 129, 129]), (2, 10, 3, 5, [5, 8, 4, 4])],
)
def test_computed_by_turn(n: int, length: int, k: int, prompt: int, per_turn: list[int]) -> None:
    turns = spoken_in(n, k, length, prompt)
    sums = [total(count(turns[: end + 1]).values()).computed for end in range(len(per_turn))]
    assert [after - before for before, after in zip([0, *sums], sums, strict=False)] == per_turn


@pytest.mark.parametrize(
    ("length", "starts", "computed"),
    [(600, range(5), 8_259), (300, range(5), 2_754), (300, [0] * 5, 2_254)],
)
def test_shared_prompts(length: int, starts: list[int], computed: int) -> None:
    planned = plan(5, 100, length, 250, starts=starts, shared=True)
    assert planned.computed == computed
    turns = ledger.turns_of(length, 100)
    speakers, spoke, z = min(turns, 5), set[int](), 0
    for start in starts:
        z += start in spoke
        spoke |= {(start + turn) % 5 for turn in range(speakers)}
    alone = plan(5, 100, length, 250).computed
    assert planned.computed == 5 * alone - 250 * (5 * speakers - len(spoke)) + z


def test_lockstep_of_the_reference() -> None:
    assert lockstep(5, 600, 250).computed == 3_646
    assert lockstep(5, 600, 250, texts=5, shared=True).computed == 1_250 + 5 * 4 * 599


def test_steady_revisits_read_what_the_others_wrote_and_one_token() -> None:
    for n in (1, 2, 3, 5, 7):
        more, less = plan(n, 8, 8 * (n + 4), 50), plan(n, 8, 8 * (n + 3), 50)
        assert more.computed - less.computed == (n - 1) * 8 + 1


@settings(max_examples=150)
@given(
    n=st.sampled_from([1, 2, 3, 5, 7]),
    length=st.integers(0, 1200),
    k=st.integers(1, 300),
    prompt=st.integers(1, 300),
    texts=st.integers(1, 6),
    start=st.sampled_from(["rotate", "fixed"]),
    block=st.sampled_from([NONE, BLOCKS, EXACT]),
    shared=st.booleans(),
)
def test_formula_count_and_simulator_agree(
    *, n: int, length: int, k: int, prompt: int, texts: int, start: str, block: int, shared: bool
) -> None:
    starts = tuple((text if start == "rotate" else 0) % n for text in range(texts))
    planned = plan(n, k, length, prompt, starts=starts, block=block, shared=shared)
    counted = total(count(spoken_in(n, k, length, prompt, starts), block=block, shared=shared).values())
    assert planned == counted
    if length * texts <= 2500:  # the simulator compares lists, token by token
        assert planned == simulate(n, k, length, prompt, starts=starts, block=block, shared=shared)


@settings(max_examples=60)
@given(
    n=st.integers(1, 7), length=st.integers(0, 200), prompt=st.integers(1, 40),
    texts=st.integers(1, 4), shared=st.booleans(),
)  # fmt: skip
def test_lockstep_agrees_with_the_simulator(*, n: int, length: int, prompt: int, texts: int, shared: bool) -> None:
    done = simulate_lockstep(n, length, prompt, texts=texts, shared=shared)
    assert done == lockstep(n, length, prompt, texts=texts, shared=shared)


def test_trimmed_and_ending_tokens_are_decoded_and_not_held() -> None:
    # seat 0 samples 6, keeps 4: it holds the prompt and these 4. Seat 1 ends after 2: it has read both.
    turns = [
        Spoken(text=0, seat=0, prompt=10, before=0, sampled=6, kept=4),
        Spoken(text=0, seat=1, prompt=10, before=4, sampled=3, kept=2),
        Spoken(text=0, seat=0, prompt=10, before=6, sampled=1, kept=0),
        Spoken(text=0, seat=1, prompt=10, before=6, sampled=1, kept=0),
    ]
    by_seat = count(turns)
    assert by_seat[0] == Ledger(decoded=7, computed=10 + 2, cached=14, passes=7, turns=2, speakers=1)
    assert by_seat[1] == Ledger(decoded=4, computed=14 + 1, cached=15, passes=4, turns=2, speakers=1)


def test_caches_have_their_names() -> None:
    assert list(CACHES.items()) == [("none", 0), ("block16", 16), ("exact", 1)]


@pytest.mark.parametrize("numbers", [(0, 1, 1, 1), (1, 0, 1, 1), (1, 1, -1, 1), (1, 1, 1, 0)])
def test_numbers_that_cannot_be(numbers: tuple[int, int, int, int]) -> None:
    with pytest.raises(SpecError):
        plan(*numbers)
