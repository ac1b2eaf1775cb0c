"""What n of m voters would have decided, averaged over all choices of n, without drawing any (U-statistics).

For one question with g right votes, c_j for each wrong answer and z blanks among m, and n drawn of them:

* binary majority: sum over k > n/2 of C(g, k) C(m - g, n - k) / C(m, n), plus half of k = n/2;
* plurality: sum over a of C(g, a) times the ways to draw n - a others of which no answer has more than a, an outcome
  with t answers that have exactly a weighing 1/(t + 1);
* unanimity: C(g, n) / C(m, n) right, sum of C(c_j, n) / C(m, n) wrong.

The ways are coefficients of x^(n - a) in a product over wrong answers of truncated (1 + x)^c_j, the term x^a marked by
y; 1/(t + 1) is the integral of y^t over [0, 1], exact by Gauss-Legendre. One pass serves all n. All terms are positive.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dissensus.measure.special import Array
from dissensus.measure.table import Whole
from dissensus.measure.tallies import Counts

_BLOCK = 2_000_000
_ALL_UP_TO = 51
_LARGEST = 1e290


def usual_sizes(m: int) -> tuple[int, ...]:
    """The sizes of a curve: all up to 12; then odd ones to 51, every tenth from there on, and m itself."""
    sizes = set(range(1, m + 1)) if m <= 12 else set(range(1, min(m, _ALL_UP_TO) + 1, 2))
    sizes |= set(range(_ALL_UP_TO + 10, m + 1, 10)) | {m}
    choose, n = 1.0, 0
    while n < m and choose < _LARGEST:
        choose, n = choose * (m - n) / (n + 1), n + 1
    return tuple(sorted(size for size in sizes if size <= n or size == m))


def choices(most: int, of: int) -> Array:
    """C(c, i) for c = 0 … ``of`` and i = 0 … ``most``, shape (of + 1, most + 1)."""
    table = np.zeros((of + 1, most + 1))
    table[:, 0] = 1.0
    for c in range(1, of + 1):
        table[c, 1:] = table[c - 1, 1:] + table[c - 1, :-1]
    return table


def binary_curve(right: Whole, m: int, sizes: Sequence[int]) -> Array:
    """P(the majority of n voters, drawn of m of whom ``right`` are right, is right); shape (U, sizes).

    A blank or another wrong answer is a vote against. It is a lower bound of the plurality.
    """
    found = np.zeros((len(right), len(sizes)))
    for place, n in enumerate(sizes):
        by_count = np.zeros(m + 1)
        if n == m:
            c = np.arange(m + 1)
            by_count = (2 * c > m) + (2 * c == m) / 2
        else:
            choose = choices(n, m)
            total = choose[m, n]
            c = np.arange(m + 1)
            for k in range((n + 1) // 2, n + 1):
                half = 0.5 if 2 * k == n else 1.0
                by_count += half * choose[c, k] * choose[m - c, n - k] / total
        found[:, place] = by_count[right]
    return found


def any_curve(right: Whole, m: int, sizes: Sequence[int]) -> tuple[Array, Array]:
    """P(at least one of n drawn voters is right) (pass@n), and P(all are) (pass^n); shape (U, sizes) each."""
    some, every = (np.zeros((len(right), len(sizes))) for _ in range(2))
    for place, n in enumerate(sizes):
        if n == m:
            some[:, place], every[:, place] = right > 0, right == m
            continue
        share = choices(n, m)[:, n]
        share = share / share[m]
        some[:, place], every[:, place] = 1 - share[m - right], share[right]
    return some, every


def unanimity_curve(counts: Counts, sizes: Sequence[int]) -> tuple[Array, Array]:
    """P(n drawn voters all give the right answer), and P(they all give one wrong answer); shape (U, sizes) each."""
    right, wrong = (np.zeros((len(counts.right), len(sizes))) for _ in range(2))
    for place, n in enumerate(sizes):
        if n == counts.n:
            right[:, place] = counts.right == n
            wrong[:, place] = (counts.wrong == n).sum(axis=1)
            continue
        share = choices(n, counts.n)[:, n]
        share = share / share[counts.n]
        right[:, place] = share[counts.right]
        wrong[:, place] = np.where(counts.wrong > 0, share[counts.wrong], 0.0).sum(axis=1)
    return right, wrong


def plurality_curve(counts: Counts, sizes: Sequence[int]) -> Array:
    """P(the plurality of n drawn voters is right), ties split; shape (U, sizes)."""
    m = counts.n
    smaller = [n for n in sizes if n < m]
    found = np.zeros((len(counts.right), len(sizes)))
    if smaller:
        top = max(smaller)
        choose = choices(top, m)
        order = np.lexsort((counts.right, counts.wrong[:, 0] if counts.wrong.shape[1] else counts.right))
        step = max(1, _BLOCK // (top * 4))
        for start in range(0, len(order), step):
            block = order[start : start + step]
            ways = _ways(counts.right[block], counts.wrong[block], counts.blank[block], top, choose)
            for n in smaller:
                found[block, sizes.index(n)] = ways[:, n] / choose[m, n]
    if m in sizes:
        leader = counts.wrong.max(axis=1, initial=0)
        tied = ((counts.wrong == counts.right[:, None]) & (counts.wrong > 0)).sum(axis=1)
        wins = (counts.right > 0) & (counts.right >= leader)
        found[:, sizes.index(m)] = np.where(wins, 1 / (1 + tied), 0.0)
    return found


def _ways(right: Whole, wrong: Whole, blank: Whole, top: int, choose: Array) -> Array:
    """Weighted ways to draw n voters so that the right answer leads, n = 0 … ``top``; shape (U, top + 1)."""
    found = np.zeros((len(right), top + 1))
    rival = wrong.max(axis=1, initial=0)
    others = wrong.sum(axis=1) + blank
    for a in range(1, min(int(right.max(initial=0)), top) + 1):
        degree = top - a
        able = right >= a
        free = np.flatnonzero(able & (rival < a))  # no rival can reach a: any draw of others will do
        found[free, a:] += choose[right[free], a][:, None] * choose[others[free], : degree + 1]
        held = np.flatnonzero(able & (rival >= a))
        if held.size:
            ways = _held(wrong[held], blank[held], a, degree, choose)
            found[held, a:] += choose[right[held], a][:, None] * ways
    return found


def _held(wrong: Whole, blank: Whole, a: int, degree: int, choose: Array) -> Array:
    """Ways to draw b others with no answer above ``a``, ties weighed, b = 0 … ``degree``; shape (U, degree + 1)."""
    reach = wrong >= a
    ties = min(int(reach.sum(axis=1).max()), degree // a)
    nodes, weights = np.polynomial.legendre.leggauss(ties // 2 + 1)
    nodes, weights = (nodes + 1) / 2, weights / 2
    # answers that cannot reach a are drawn freely, like blanks
    free = blank + np.where(reach, 0, wrong).sum(axis=1)
    ways = np.repeat(choose[free, None, : degree + 1], len(nodes), axis=1)
    for j in range(int(reach.sum(axis=1).max())):
        rows = np.flatnonzero(reach[:, j])
        one = ways[rows]
        held = wrong[rows, j]
        new = one.copy()  # none of this answer drawn
        for i in range(1, min(a, degree) + 1):
            coefficient = choose[held, i][:, None, None]
            if i == a:
                coefficient = coefficient * nodes[None, :, None]
            new[:, :, i:] += coefficient * one[:, :, : degree + 1 - i]
        ways[rows] = new
    return np.asarray(np.einsum("ukd,k->ud", ways, weights))
