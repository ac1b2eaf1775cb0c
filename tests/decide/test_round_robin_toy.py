"""The toy shows what its page says: collapse, rescue, null models beside it, and where more texts make it worse."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from dissensus.measure.seats import NULLS

TOY = Path(__file__).resolve().parents[2] / "examples" / "round_robin_toy.py"


@pytest.fixture(scope="module")
def toy() -> dict[str, object]:
    return runpy.run_path(str(TOY), run_name="toy")


def test_three_of_five(toy: dict[str, object]) -> None:
    found = toy["study"](3, toy["MODERATE"])  # type: ignore[operator]
    assert found["vote"] < 0.05
    assert found["round-robin, M = 5"] > 0.8
    assert found["round-robin, M = 5"] > max(found[f"null model: {name}"] for name in NULLS[:3])
    assert {f"null model: {name}" for name in NULLS} <= found.keys()


def test_four_of_five_and_more_texts_make_it_worse(toy: dict[str, object]) -> None:
    found = toy["study"](4, toy["STRONG"])  # type: ignore[operator]
    assert found["vote"] < 0.05
    assert found["round-robin, M = 1"] > found["round-robin, M = 5"] > found["round-robin, M = 15"]


def test_one_corrupted_writer_alone_says_the_target(toy: dict[str, object]) -> None:
    for number in range(20):
        item = toy["Item"](number)  # type: ignore[operator]
        assert toy["alone"](item, bad=True) == item.target != item.gold  # type: ignore[operator]
        assert toy["alone"](item, bad=False) == item.gold  # type: ignore[operator]
