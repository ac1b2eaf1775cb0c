"""Fields that came later leave what was recorded before them as it was."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest

from dissensus.run.render import render
from dissensus.script.effects import Continue
from dissensus.script.outcomes import Extended, from_data, to_data
from dissensus.script.seats import Seat, data_with_seats

OLD = {
    "text": " and so on",
    "tokens": [3, 4],
    "finish": "length",
    "logprobs": None,
    "model": "m",
    "usage": {
        "tokens_in": 9,
        "tokens_cached": None,
        "tokens_out": 2,
        "seconds": 0.5,
        "cost": None,
        "attempts": 1,
    },
    "kind": "extended",
}
SEAT = Seat(agent="ada", model="m")


def test_an_old_continuation_reads_and_is_written_as_it_was() -> None:
    assert json.loads(json.dumps(to_data(from_data(OLD)))) == OLD


def test_bytes_and_counts_survive_the_record() -> None:
    outcome = Extended(
        text="a", raw=b"a\xe2\x82", ends=(1, 3), sampled=3, dropped=1, tokenizer="t", fidelity="approximate"
    )
    data = to_data(outcome)
    assert data["raw"] == "YeKC"
    assert from_data(data) == outcome


@pytest.mark.parametrize(("more", "same"), [({}, True), ({"stream": "text/ada"}, True), ({"top_p": 0.5}, False)])
def test_hints_do_not_change_the_request_and_top_p_does(more: dict[str, Any], same: bool) -> None:
    request = render(Continue("ada", "?", "so", **more), "k", SEAT, (), 1).request
    # what this request was hashed to before there were these fields
    assert (request == "23fa4f7d0773925b3b28b8a5ba76dd6d5ff48610604f32a6d0aeef34454239ae") is same


def test_an_unknown_tokenizer_is_not_written() -> None:
    @dataclass
    class Holder:
        seats: tuple[Seat, ...]

    known = Seat(agent="ben", model="m", tokenizer="t")
    first, second = data_with_seats(Holder((SEAT, known)))["seats"]
    assert "tokenizer" not in first
    assert second["tokenizer"] == "t"
