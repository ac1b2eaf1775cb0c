from __future__ import annotations

import json
from pathlib import Path

import common
import pytest
from common import Took


def test_arms_are_interleaved_and_each_round_begins_with_another() -> None:
    calls: list[str] = []
    arms = {name: (lambda name=name: calls.append(name)) for name in "abc"}
    took = common.side_by_side(arms, rounds=3, warm_up=1)
    assert "".join(calls) == "cab" + "abc" + "bca" + "cab"
    assert {name: len(rounds) for name, rounds in took.items()} == {"a": 3, "b": 3, "c": 3}


def test_a_ratio_compares_within_rounds() -> None:
    slow_minute = {"ours": [Took(1, 0), Took(10, 0), Took(1, 0)], "theirs": [Took(2, 0), Took(20, 0), Took(3, 0)]}
    assert common.ratio(slow_minute, "theirs", "ours") == 2


@pytest.mark.parametrize(("value", "status"), [(0.5, 0), (0.3, 1)])
def test_a_promise_that_was_missed_is_an_exit_status(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: float, status: int
) -> None:
    monkeypatch.setattr(common, "RESULTS", tmp_path)
    took = {"ours": [Took(0.25, 0.5), Took(0.75, 1.0)]}
    assert common.finish("example", took, [common.at_least("speed", value, 0.4)], facts={"events": 7}) == status
    result = json.loads((tmp_path / "example.json").read_text(encoding="utf-8"))
    assert result["promises"] == [{"what": "speed", "value": value, "bound": 0.4, "kept": status == 0}]
    assert result["cpu_s"] == {"ours": [0.25, 0.75]}
    assert result["facts"] == {"events": 7}


def test_time_of_child_processes_counts() -> None:
    import subprocess
    import sys

    work = "x = 0\nfor i in range(3_000_000): x += i"
    took = common.measure(lambda: subprocess.run([sys.executable, "-c", work], check=True))
    assert took.cpu_s > 0.02
