"""Dawid and Skene: the reference's figures, the truth of simulated voters, and the model written out."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reordered import reordered
from voting_sets import mmlu_pro, random_table, spelled, tables

from dissensus.errors import UsageError
from dissensus.measure.candidates import candidates_of, wrong_options
from dissensus.measure.compare import classes
from dissensus.measure.dawid_skene import dawid_skene, note, one_coin
from dissensus.measure.scores import scores_of
from dissensus.measure.table import Codes, VoteTable


def independent_votes(
    seed: int, questions: int = 4000, voters: int = 7
) -> tuple[Codes, Codes, np.ndarray[tuple[int, ...], np.dtype[np.float64]]]:
    """Votes, truth and confusion, shape (n, 3, 3), of voters that err independently given the right class."""
    rng = np.random.default_rng(seed)
    truth = rng.choice(3, questions, p=[0.5, 0.3, 0.2]).astype(np.int32)
    confusion = np.array([rng.dirichlet(np.ones(3) + 6 * np.eye(3)[k]) for _ in range(voters) for k in range(3)])
    confusion = confusion.reshape(voters, 3, 3)
    codes = np.array([[rng.choice(3, p=confusion[v, k]) for v in range(voters)] for k in truth], dtype=np.int32)
    return codes, truth, confusion


def test_nine_models(shared: Path) -> None:
    table = mmlu_pro(shared)
    names, codes = classes(table)
    assert names is not None
    found = dawid_skene(codes, len(names))
    assert found.converged
    right = names[found.posterior.argmax(axis=1)] == table.gold
    top = found.posterior.max(axis=1)
    assert float(right.mean()) == pytest.approx(0.688, abs=6e-4)
    assert float(top.mean()) == pytest.approx(0.956, abs=6e-4)
    assert scores_of(top, right.astype(float)).ece == pytest.approx(0.268, abs=6e-4)
    sure = top > 0.999
    assert float(sure.mean()) == pytest.approx(0.675, abs=1.1e-3)
    assert float(1 - right[sure].mean()) == pytest.approx(0.177, abs=6e-4)


def test_independent_voters_are_found_out() -> None:
    codes, truth, confusion = independent_votes(0)
    found = dawid_skene(codes, 3)
    assert float(np.abs(found.confusion - confusion).max()) < 0.06
    assert found.prior == pytest.approx([0.5, 0.3, 0.2], abs=0.03)
    best = found.posterior.argmax(axis=1) == truth
    plurality = np.array([np.bincount(row, minlength=3).argmax() for row in codes]) == truth
    assert best.mean() >= plurality.mean()
    assert scores_of(found.posterior.max(axis=1), best.astype(float)).ece < 0.02  # here the posterior may be believed


def test_the_posterior_is_the_models() -> None:
    codes, _, _ = independent_votes(1, questions=60, voters=4)
    codes[3, 2] = codes[5, :] = -1
    found = dawid_skene(codes, 3, iterations=40, tolerance=0.0)
    again = dawid_skene(codes, 3, iterations=41, tolerance=0.0)
    for row in range(60):
        joint = again.prior.copy()
        for voter, code in enumerate(codes[row]):
            if code >= 0:
                joint = joint * again.confusion[voter, :, code]
        assert again.posterior[row] == pytest.approx(joint / joint.sum(), abs=1e-9)
    # and its parameters are the shares that the posterior before them gives
    assert again.prior == pytest.approx(found.posterior.mean(axis=0))
    for voter in range(4):
        for answer in range(3):
            seen = found.posterior[codes[:, voter] == answer].sum(axis=0)
            total = found.posterior[codes[:, voter] >= 0].sum(axis=0)
            assert again.confusion[voter, :, answer] == pytest.approx(seen / total, abs=1e-8)


def test_the_likelihood_never_falls() -> None:
    codes, _, _ = independent_votes(2, questions=200)
    values = [dawid_skene(codes, 3, iterations=many, tolerance=-np.inf).log_likelihood for many in range(1, 12)]
    assert all(later >= earlier - 1e-12 for earlier, later in pairwise(values))


def test_questions_without_a_vote_hold_the_prior() -> None:
    codes = np.array([[0, 0], [1, 1], [0, 1], [-1, -1]], dtype=np.int32)
    found = dawid_skene(codes, 2)
    assert found.posterior[3] == pytest.approx(found.prior, abs=1e-6)
    assert np.isfinite(found.posterior).all()


@pytest.mark.parametrize("seed", range(2))
def test_order_and_names_do_not_matter(seed: int) -> None:
    table = random_table(np.random.default_rng(3), 150, 5)
    other = reordered(table, seed)
    place = {name: row for row, name in enumerate(other.questions)}
    rows = [place[name] for name in table.questions]
    (names, codes), (other_names, other_codes) = classes(table), classes(other)
    assert names is not None
    assert other_names is not None
    first = dawid_skene(codes, len(names)).posterior.max(axis=1)
    second = dawid_skene(other_codes, len(other_names)).posterior.max(axis=1)
    assert first == pytest.approx(second[rows], abs=1e-9)
    one = one_coin(candidates_of(table), wrong_options(table))
    two = one_coin(candidates_of(other), wrong_options(other))
    assert one.posterior.max(axis=1) == pytest.approx(two.posterior.max(axis=1)[rows], abs=1e-9)
    accuracy = dict(zip(other.voters, two.accuracy.tolist(), strict=True))
    assert one.accuracy.tolist() == pytest.approx([accuracy[voter] for voter in table.voters], abs=1e-9)


def test_one_coin_finds_independent_voters_with_any_answers() -> None:
    rng = np.random.default_rng(4)
    skill = np.array([0.9, 0.8, 0.6, 0.5, 0.4])
    right = rng.random((6000, 5)) < skill
    wrong = rng.integers(1, 6, (6000, 5))
    codes = np.where(right, 0, wrong) + 10 * np.arange(6000)[:, None]  # no answer means the same on two questions
    table = VoteTable(
        codes=codes.astype(np.int32),
        gold=(10 * np.arange(6000)).astype(np.int32),
        voters=tuple("abcde"),
        options=np.full(6000, 6),
    )
    found = one_coin(candidates_of(table), wrong_options(table))
    assert found.converged
    assert found.accuracy == pytest.approx(skill, abs=0.03)
    voted = candidates_of(table)
    credit = voted.credit(voted.leaders(found.posterior))
    assert scores_of(found.posterior.max(axis=1).clip(0, 1), credit).ece < 0.02
    assert credit.mean() > voted.credit(voted.leaders(voted.counts())).mean()


@given(tables(), st.integers(1, 5))
def test_one_coin_posteriors_are_probabilities(table: VoteTable, rounds: int) -> None:
    found = one_coin(candidates_of(table), wrong_options(table), iterations=rounds)
    assert (found.posterior >= 0).all()
    assert (found.posterior.sum(axis=1) <= 1 + 1e-9).all()
    assert ((found.accuracy > 0) & (found.accuracy < 1)).all()


def test_answers_that_are_no_classes() -> None:
    table = spelled(["AB", "CD"], "AC")
    assert classes(table)[0] is None
    few = spelled(["AB-", "BA-"] * 20, "AB" * 20)
    names, codes = classes(few)
    assert names is not None
    assert sorted(np.unique(codes).tolist()) == [-1, 0, 1]


def test_what_cannot_be_learned_from_is_refused() -> None:
    with pytest.raises(UsageError, match="no vote"):
        dawid_skene(np.full((3, 2), -1, dtype=np.int32), 2)
    with pytest.raises(UsageError, match="2 classes"):
        dawid_skene(np.array([[0, 2]], dtype=np.int32), 2)


def test_the_warning_that_goes_with_it() -> None:
    assert note(0.001) == "model-based, independence rejected"
    assert "untested" in note(None)
    assert "not rejected" in note(0.4)
