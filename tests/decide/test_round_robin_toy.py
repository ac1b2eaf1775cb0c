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


def test_beside_the_chosen_setting_it_falls_below_its_null_models(toy: dict[str, object]) -> None:
    for corrupt, insists, length, _ in toy["NEIGHBOURS"]:  # type: ignore[attr-defined]
        found = toy["study"](corrupt, insists, length)  # type: ignore[operator]
        assert found["round-robin, M = 5"] < max(found[f"null model: {name}"] for name in NULLS[1:3])


def test_it_says_that_its_settings_were_chosen(toy: dict[str, object], capsys: pytest.CaptureFixture[str]) -> None:
    toy["main"]()  # type: ignore[operator]
    printed = capsys.readouterr().out
    assert "CHOSEN because the wanted pattern appears there" in printed
    assert printed.count("BELOW what its seats alone would give") >= len(toy["NEIGHBOURS"])  # type: ignore[arg-type]
    assert "WORSE" in printed
    assert "chosen because the wanted pattern appears there" in str(toy["__doc__"])
