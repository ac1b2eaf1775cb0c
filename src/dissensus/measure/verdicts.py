"""What to do with the votes: state a probability, answer alone or hand on, count them otherwise, choose other voters.

:func:`extend_audit` is where to start reading. It finds what :func:`dissensus.measure.audit.audit` does not hold, and
its result writes itself as JSON and as text like that one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dissensus.measure.calibration import Calibration, calibrate
from dissensus.measure.compare import Comparison, compare
from dissensus.measure.factors import Factors, Levels, factors_of
from dissensus.measure.greedy import Chosen, choose
from dissensus.measure.selective import TARGETS, Selection, select
from dissensus.measure.special import Array
from dissensus.measure.table import VoteTable

CAVEAT = "holds for questions like these, in other words exchangeable with them; says nothing of others"


@dataclass(frozen=True, slots=True)
class Verdicts:
    """What :func:`extend_audit` found; None for what was not asked for.

    Args:
        n_voters: voters of the panel.
        calibration: P(right) from the vote.
        selection: when to answer alone.
        aggregators: other ways to count the same votes.
        factors: what makes voters err alike; None also where no factor is known.
        choice: which voters to keep.
    """

    n_voters: int
    calibration: Calibration | None = None
    selection: Selection | None = None
    aggregators: Comparison | None = None
    factors: Factors | None = None
    choice: Chosen | None = None

    def to_data(self) -> dict[str, Any]:
        """JSON-ready data with the keys calibration, selection, aggregators, factors, choice; never NaN or infinity."""
        from dissensus.measure.verdicts_data import data_of

        return data_of(self)

    def lines(self) -> list[str]:
        """A few lines of text."""
        from dissensus.measure.verdicts_text import lines_of

        return lines_of(self)


def extend_audit(
    table: VoteTable,
    *,
    calibration: bool = True,
    aggregators: bool = False,
    factors: bool = True,
    targets: Sequence[float] = TARGETS,
    levels: Levels | None = None,
    others: Mapping[str, Array] | None = None,
    p_independence: float | None = None,
    bootstrap: int = 2000,
    seed: int = 0,
) -> Verdicts:
    """What to do with the votes of ``table``.

    Every figure is the same for any order of voters and questions and any names of answers.

    Args:
        table: answers and right answers.
        calibration: state probabilities, and look for a rule when to answer alone.
        aggregators: compare ways to count the votes, and choose voters.
        factors: correlations by factor, where factors or costs are known.
        targets: error rates that a rule is looked for.
        levels: factor to voter to level; None: what the table holds.
        others: rules on data the table does not hold: name to credit of each question, shape (Q,).
        p_independence: p of the audit's test of independent errors, for the note on posteriors.
        bootstrap: drawings of questions for intervals.
        seed: of all drawings.

    Raises:
        UsageError: a target is not between 0 and 1.
    """
    table = table.columns(sorted(range(table.n_voters), key=lambda place: table.voters[place]))
    known = table.factors if levels is None else levels
    measured = factors_of(table, known, bootstrap=bootstrap, seed=seed) if factors and (known or table.costs) else None
    return Verdicts(
        n_voters=table.n_voters,
        calibration=calibrate(table, seed=seed) if calibration else None,
        selection=select(table, targets=targets) if calibration else None,
        aggregators=compare(
            table,
            families=families_of(known),
            others=others,
            p_independence=p_independence,
            bootstrap=bootstrap,
            seed=seed,
        )
        if aggregators
        else None,
        factors=measured,
        choice=choose(table, bootstrap=bootstrap, seed=seed) if aggregators else None,
    )


def families_of(levels: Levels) -> dict[str, list[list[str]]]:
    """Factor to the voters of each of its levels, for capped votes."""
    found: dict[str, list[list[str]]] = {}
    for factor, of in levels.items():
        groups: dict[str, list[str]] = {}
        for voter, level in of.items():
            groups.setdefault(level, []).append(voter)
        found[factor] = list(groups.values())
    return found
