"""A share as a person reads it: what was reported of each item, on how much evidence, and what is silent."""

from __future__ import annotations

import pytest

from dissensus.cli.readout import exit_code, show
from dissensus.decide.swarm.reported import Reported
from dissensus.script.decisions import Status

CLAIM = {"attribute": "pallets received", "value": 9, "unit": "pallet", "evidence": [{}, {}]}
FOUND = Reported(
    question="?", answer=None, status=Status.REPORTED, party="office", agent="ada", record="share.db",
    claims={"4711": (CLAIM,), "a long name": ({**CLAIM, "value": "open", "unit": None, "evidence": []},)},
    silent={"4713": "the log\x1b[2J is locked"}, failures={"tool": 1},
)  # fmt: skip


def test_every_item_has_its_line(capsys: pytest.CaptureFixture[str]) -> None:
    show(FOUND)
    assert capsys.readouterr().out.splitlines() == [
        "office, read by ada: 3 items",
        "reported: 2 items reported, 1 silent",
        "",
        "4711      pallets received: 9 pallet (2 items of evidence)",
        "a long name",
        "          pallets received: open (no evidence)",
        "4713      silent: the log [2J is locked",
        "",
        "failures  1 tool",
        "record    share.db",
    ]
    assert exit_code(FOUND) == 0


def test_a_share_that_was_stopped_says_so_and_is_not_finished(capsys: pytest.CaptureFixture[str]) -> None:
    cut = Reported(
        question="?", answer=None, status=Status.OPEN_BUDGET, stopped="budget: calls", silent={"x": "budget"}
    )
    show(cut)
    out = capsys.readouterr().out
    assert "open_budget: 0 items reported, 1 silent" in out
    assert "stopped   budget: calls" in out
    assert exit_code(cut) == 3
