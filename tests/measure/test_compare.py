"""Ways to count the same votes, beside each other: the reference's figures, and comparisons that can be trusted."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reordered import reordered
from scipy.stats import norm  # type: ignore[import-untyped]
from voting_sets import gsm, mmlu_pro, random_table

from dissensus.measure.compare import Comparison, compare, sign_test
from dissensus.measure.table import VoteTable

RULES = {
    "plurality", "best single voter", "log-odds weights", "log-odds weights, tempered",
    "log-odds weights, as if two options", "capped by cluster", "Dawid-Skene", "Dawid-Skene, one coin", "stacker",
}  # fmt: skip


@pytest.fixture(scope="module")
def nine(shared: Path) -> Comparison:
    return compare(mmlu_pro(shared), p_independence=0.001, bootstrap=500)


def rate(found: Comparison, rule: str) -> float:
    outcome = found.outcome(rule)
    assert outcome is not None
    assert outcome.accuracy.rate is not None
    return outcome.accuracy.rate


def test_nine_models(nine: Comparison) -> None:
    assert {outcome.rule for outcome in nine.outcomes} == RULES
    rates = [outcome.accuracy.rate or 0.0 for outcome in nine.outcomes]
    assert rates == sorted(rates, reverse=True)
    assert rate(nine, "plurality") == pytest.approx(0.68081, abs=6e-6)
    assert rate(nine, "best single voter") == pytest.approx(0.70651, abs=6e-6)
    assert rate(nine, "Dawid-Skene") == pytest.approx(0.688, abs=6e-4)
    assert rate(nine, "log-odds weights") == pytest.approx(0.6976, abs=1e-3)
    assert nine.missing == ()


def test_differences_are_paired(nine: Comparison) -> None:
    plurality, best = nine.outcome("plurality"), nine.outcome("best single voter")
    assert plurality is not None
    assert best is not None
    assert (plurality.minus, plurality.ci, plurality.shown) == (0.0, (0.0, 0.0), False)
    assert best.minus == pytest.approx(0.02571, abs=6e-6)
    assert best.error == pytest.approx(0.00529, abs=6e-6)
    assert best.ci is not None
    assert best.ci[0] < 0.02571 - 1.5 * 0.00529 < 0.02571 + 1.5 * 0.00529 < best.ci[1]
    assert best.shown


def test_a_posterior_stands_beside_what_came_of_it(nine: Comparison) -> None:
    outcome = nine.outcome("Dawid-Skene")
    assert outcome is not None
    claim = outcome.claim
    assert claim is not None
    assert claim.note == "model-based, independence rejected"
    assert [claim.mean, claim.ece, claim.sure_wrong] == pytest.approx([0.956, 0.268, 0.177], abs=6e-4)
    assert claim.sure == pytest.approx(0.675, abs=1.1e-3)
    stacked = nine.outcome("stacker")
    assert stacked is not None
    assert stacked.claim is not None
    assert "cross-validated" in stacked.claim.note
    assert stacked.claim.ece < 0.03
    tempered, plain = nine.outcome("log-odds weights, tempered"), nine.outcome("log-odds weights")
    assert tempered is not None
    assert plain is not None
    assert tempered.claim is not None
    assert plain.claim is not None
    assert tempered.accuracy == plain.accuracy
    assert tempered.claim.ece < 0.1 < plain.claim.ece


def test_answers_that_are_no_classes_leave_the_full_model_out(shared: Path) -> None:
    found = compare(gsm(shared), bootstrap=200)
    assert found.outcome("Dawid-Skene") is None
    assert found.outcome("Dawid-Skene, one coin") is not None
    assert "different answers" in found.missing[0]


def test_copies_are_capped() -> None:
    table = random_table(np.random.default_rng(0), 600, 4, accuracy=0.7)
    lone = table.codes[:, 3]
    copied = VoteTable(
        codes=np.column_stack([table.codes[:, :3], lone, lone, lone, lone]),
        gold=table.gold,
        voters=tuple("abcdefg"),
        questions=table.questions,
        options=table.options,
    )
    found = compare(copied, families={"host": [["d", "e", "f", "g"]], "none": [["a"]]}, bootstrap=200)
    assert rate(found, "capped by host") == pytest.approx(rate(compare(table, bootstrap=200), "plurality"))
    assert rate(found, "plurality") < rate(found, "capped by host")
    assert found.outcome("capped by none") is None


def test_rules_from_elsewhere_are_compared_too() -> None:
    table = random_table(np.random.default_rng(1), 300, 3)
    found = compare(table, others={"always right": np.ones(300)}, bootstrap=200)
    assert found.outcomes[0].rule == "always right"
    assert found.outcomes[0].shown


def test_where_the_votes_say_nothing_nothing_is_shown() -> None:
    """Five coins: no rule may be shown to differ from plurality more often than the level allows."""
    rng = np.random.default_rng(2)
    false = 0
    for _ in range(16):
        codes = rng.integers(0, 4, (120, 5)).astype(np.int32)
        gold = rng.integers(0, 4, 120).astype(np.int32)
        table = VoteTable(
            codes=codes,
            gold=gold,
            voters=tuple("abcde"),
            questions=[str(rng.integers(10**9)) for _ in range(120)],
            options=np.full(120, 4),
        )
        false += any(outcome.shown for outcome in compare(table, bootstrap=200).outcomes)
    assert false <= 3


@given(st.lists(st.sampled_from([-1.0, -0.5, 0.0, 0.5, 1.0]), max_size=9))
def test_signs_are_coins(difference: list[float]) -> None:
    values = [value for value in difference if value]
    signs = list(product([-1, 1], repeat=len(values)))
    far = [abs(sum(s * v for s, v in zip(sign, values, strict=True))) >= abs(sum(values)) - 1e-9 for sign in signs]
    assert sign_test(np.array(difference)) == pytest.approx(sum(far) / len(far), abs=0.02)


def test_signs_of_many_and_of_repeats() -> None:
    rng = np.random.default_rng(7)
    many = rng.choice([-1.0, 0.0, 1.0], 20_000, p=[0.3, 0.4, 0.3])
    assert sign_test(many) == pytest.approx(2 * float(norm.sf(abs(many.sum()) / (many**2).sum() ** 0.5)))
    repeated = np.repeat([1.0, 1.0, 1.0, 1.0, 1.0, 1.0], 4)
    assert sign_test(repeated) < 0.001
    assert sign_test(repeated, np.arange(24) // 4) == pytest.approx(2 / 64, abs=0.01)


def test_few_labels_give_a_sentence() -> None:
    found = compare(random_table(np.random.default_rng(3), 19, 3))
    assert found.outcomes == ()
    assert found.sentence.startswith("Not enough labels: 19 of at least 20")
    some = compare(random_table(np.random.default_rng(3), 60, 3), bootstrap=200)
    assert some.outcome("stacker") is None
    assert any("200" in text for text in some.missing)


def test_one_voter_has_one_way() -> None:
    found = compare(random_table(np.random.default_rng(4), 60, 1), bootstrap=200)
    assert [outcome.rule for outcome in found.outcomes] == ["plurality"]
    assert found.stopping == ()


def test_questions_without_a_key_are_used_where_no_label_is_needed() -> None:
    table = random_table(np.random.default_rng(5), 400, 5)
    gold = np.where(np.arange(400) < 100, table.gold, -1).astype(np.int32)
    some = compare(replace(table, gold=gold), bootstrap=200)
    cut = compare(table.rows(np.arange(400) < 100), bootstrap=200)
    assert rate(some, "plurality") == rate(cut, "plurality")
    one, other = some.outcome("Dawid-Skene"), cut.outcome("Dawid-Skene")
    assert one is not None
    assert other is not None
    assert one.claim != other.claim  # 400 questions teach more than 100


@pytest.mark.parametrize("seed", range(2))
def test_order_and_names_do_not_matter(seed: int) -> None:
    table = random_table(np.random.default_rng(6), 240, 4)
    first = compare(table, bootstrap=200)
    turned = reordered(table, seed)
    second = compare(turned.columns([turned.voters.index(voter) for voter in table.voters]), bootstrap=200)
    for outcome in first.outcomes:
        assert rate(second, outcome.rule) == pytest.approx(outcome.accuracy.rate)
    assert [one.votes for one in first.stopping] == pytest.approx([one.votes for one in second.stopping])
