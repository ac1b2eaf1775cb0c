"""From a study to its runs: how many, what they have in common, where the corrupted agents sit."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_studies import TOY, study, units

from dissensus.errors import UsageError
from dissensus.study.grid import ATTACKED_ALONE, HONEST_ALONE, cells_of, units_of
from dissensus.study.placement import orders
from dissensus.study.planning import amount_of, plan_of


def test_as_many_units_as_the_axes_make(tmp_path: Path) -> None:
    text = TOY.replace("corrupted: [0, 3]", "corrupted: [0, 2, 3]\nseeds: 3")
    text = text.replace("  told: {attack: told.yaml, strength: moderate}",
                        "  told: {attack: told.yaml, strength: moderate}\n"
                        "  firm: {attack: told.yaml, strength: strong, corrupted: [4]}")  # fmt: skip
    whole = study(tmp_path, text)
    assert len(list(cells_of(whole))) == 1 + 2 + 2 * (1 + 2 + 1)  # checks; procedures: nobody, two counts, one count
    found = units_of(whole)
    assert len(found) == 11 * 4 * 3
    assert len({unit.name for unit in found}) == len({unit.digest for unit in found}) == len(found)
    assert len({unit.run_seed for unit in found}) == len(found)


def test_cells_share_the_question_the_target_and_the_seats(tmp_path: Path) -> None:
    whole = study(tmp_path)
    for first, second in zip(units(whole, "vote", 3), units(whole, "in turns", 3), strict=True):
        assert first.task == second.task
        assert first.target == second.target
        assert not first.task.right(first.target)
        assert (first.order, first.corrupted) == (second.order, second.corrupted)
        assert first.seats() == second.seats()


def test_only_the_corrupted_read_the_attack(tmp_path: Path) -> None:
    for unit in units(study(tmp_path), "in turns", 3):
        for seat in unit.seats():
            assert (unit.target in seat.context) == (seat.agent in unit.corrupted)
            assert unit.task.gold not in seat.context + seat.system


def test_a_procedure_is_not_told_what_the_operator_knows(tmp_path: Path) -> None:
    unit = units(study(tmp_path), "in turns", 3)[0]
    data = unit.data
    assert data["truth"]["gold"] == unit.task.gold
    assert data["question"]["gold"] is None
    del data["truth"]
    assert unit.target not in repr(data)


def test_whatever_decides_a_run_changes_its_digest_and_a_name_does_not(tmp_path: Path) -> None:
    digest = units(study(tmp_path), "in turns", 3)[0].digest
    for old, new in (("k: 150", "k: 151"), ("q_eos: 4", "q_eos: 3"), ("length: 400", "length: 401"),
                     ("strength: moderate", "strength: strong"), ("note: 0.0", "note: 0.1"), ("steps: 3", "steps: 4"),
                     ("name: toy,", "name: other,")):  # fmt: skip
        assert units(study(tmp_path, TOY.replace(old, new)), "in turns", 3)[0].digest != digest, new
    more = TOY.replace("study: small", "study: other") + "  third: {procedure: single}\n"
    assert units(study(tmp_path, more), "in turns", 3)[0].digest == digest


def test_the_checks_try_each_agent_that_may_be_corrupted_alone(tmp_path: Path) -> None:
    text = TOY.replace("model: toy}]", "model: toy}]\n    corrupt: [eve, dan, cleo]").replace("count: 4", "count: 6")
    whole = study(tmp_path, text)
    attacked = units(whole, ATTACKED_ALONE, 1)
    assert [unit.corrupted for unit in attacked] == [("eve",), ("dan",), ("cleo",)] * 2
    assert all(unit.order[0] == unit.corrupted[0] for unit in attacked)
    assert Counter(unit.order[0] for unit in units(whole, HONEST_ALONE, 0)).keys() == set(whole.lineups["toys"].agents)
    assert attacked[0].length == 400  # K = L
    assert not units(study(tmp_path, text + "checks: false\n"), ATTACKED_ALONE, 1)


def test_dealt_placements_are_each_taken_equally_often(tmp_path: Path) -> None:
    whole = study(tmp_path, TOY.replace("count: 4", "count: 20"))
    seats = Counter(
        "".join("C" if name in unit.corrupted else "H" for name in unit.order) for unit in units(whole, "vote", 3)
    )
    assert len(seats) == 10
    assert set(seats.values()) == {2}


def test_all_placements_are_runs_of_their_own(tmp_path: Path) -> None:
    whole = study(tmp_path, TOY + "placement: all\n")
    assert len(units(whole, "vote", 3)) == 4 * 10
    assert len(units(whole, "vote", 0)) == 4


AGENTS = ("a", "b", "c", "d", "e", "f")


@given(st.sampled_from(["dealt", "rotated", "random"]), st.integers(0, 6), st.integers(0, 200))
def test_every_order_seats_everybody_once(how: str, corrupted: int, turn: int) -> None:
    [order] = orders(how, AGENTS, AGENTS[:corrupted], turn)
    assert sorted(order) == list(AGENTS)


@given(st.integers(1, 5))
def test_a_stretch_of_dealt_placements_favours_no_seat(corrupted: int) -> None:
    names = AGENTS[:corrupted]
    seats = Counter(
        place
        for turn in range(6)
        for place, name in enumerate(next(orders("dealt", AGENTS, names, turn)))
        if name in names
    )
    assert max(seats.values()) - min(seats.values() if len(seats) == 6 else [0]) <= 1


def test_a_written_order_is_kept(tmp_path: Path) -> None:
    whole = study(tmp_path, TOY + "placement: HCHCC\n")
    for unit in units(whole, "vote", 3):
        assert ["C" if name in unit.corrupted else "H" for name in unit.order] == list("HCHCC")
    assert {unit.order[1] for unit in units(whole, "vote", 3)} == {"ada", "ben", "cleo"}  # each has each of their seats


def test_fixed_is_the_order_of_the_file(tmp_path: Path) -> None:
    whole = study(tmp_path, TOY + "placement: fixed\n")
    assert {unit.order for unit in units(whole, "vote", 3)} == {("ada", "ben", "cleo", "dan", "eve")}


def test_too_many_placements_are_refused() -> None:
    agents = tuple(map(str, range(20)))
    with pytest.raises(UsageError, match="184,756 ways"):
        list(orders("all", agents, agents[:10], 0))
    assert len(next(orders("dealt", agents, agents[:10], 5))) == 20


def test_all_placements_are_all() -> None:
    found = {
        tuple(place for place, name in enumerate(order) if name in ("a", "b"))
        for order in orders("all", AGENTS, ("a", "b"), 0)
    }
    assert found == set(combinations(range(6), 2))


# --- what it takes


def test_a_plan_counts_runs_tokens_and_money(tmp_path: Path) -> None:
    text = TOY.replace("tokenizer: character,", "tokenizer: character, price_in: 1.0, price_out: 2.0,")
    text = text.replace("reasoner:", "prices: {in: 1.0, out: 2.0, currency: EUR}, reasoner:").replace(
        "price_in: 1.0, price_out: 2.0,", ""
    )
    whole = study(tmp_path, text)
    found = units_of(whole)
    made = plan_of(found)
    assert made.total.runs == len(found) == 4 * 6
    assert made.arms["vote"].decoded == 8 * 5 * 400
    assert made.arms["in turns"].decoded == 8 * 3 * 400
    assert made.arms["in turns"].per_question == 1200
    assert made.total.money == pytest.approx(
        sum(amount.money for amount in map(amount_of, found) if amount.money is not None)
    )
    one = amount_of(units(whole, "vote", 0)[0])
    assert one.money == pytest.approx((one.computed * 1.0 + one.decoded * 2.0) / 1e6, rel=0.01)
    assert "EUR" in made.lines()[0]
    assert made.to_data()["left"]["runs"] == 24


def test_a_price_that_is_not_known_is_no_price(tmp_path: Path) -> None:
    made = plan_of(units_of(study(tmp_path)))
    assert made.total.money is None
    assert "money unknown" in made.lines()[0]
