"""Where a vote and one text written in turns break in the drift model, by number of corrupted agents.

In each of the three forms of the model (walk, multiplicative, additive) every agent could also write alone: an honest
one pulls T times, a corrupted one pushes T times, and a vote on these N finished answers is what the text in turns is
compared with. ``voted`` is a vote over M texts begun on different seats by the *same* placement: it amplifies whichever
side leads. Accuracies are over all placements, so that no lucky order is shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from dissensus.errors import UsageError
from dissensus.measure import drift
from dissensus.measure.drift_fit import Fit
from dissensus.measure.drift_walk import Walk
from dissensus.measure.seats import check_seats, placements, predicted_nulls, starts
from dissensus.measure.study_points import StudyPoint

if TYPE_CHECKING:
    from dissensus.measure.special import Array
    from dissensus.measure.table import Flags

WALK, MULTIPLICATIVE, ADDITIVE = "walk", "multiplicative", "additive"
MODELS: Final = (WALK, MULTIPLICATIVE, ADDITIVE)

MOST_TEXTS: Final = 500
MOST_WORK: Final = 500_000_000
"""Placements times texts times turns that a prediction goes through."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """What is assumed.

    Args:
        agents: N.
        turns: T, of each text.
        trajectories: M, texts that are voted on.
        rotate: text m begins on seat m mod N; otherwise all on seat 0.
        x0: log-odds of the empty text.
        honest: dH, the step of an honest turn (walk).
        corrupt: dC, the step of a corrupted turn, towards the target (walk).
        noise: s, the standard deviation of a turn (walk).
        contract: gH, the factor of an honest turn (multiplicative, additive).
        stretch: gC, the factor of a corrupted turn (multiplicative).
        push: b, what a corrupted turn adds (additive).
    """

    agents: int = 5
    turns: int = 10
    trajectories: int = 5
    rotate: bool = True
    x0: float = 0.0
    honest: float = 1.0
    corrupt: float = 0.5
    noise: float = 1.0
    contract: float = 0.5
    stretch: float = 1.4
    push: float = 0.2

    @property
    def walk(self) -> Walk:
        """The walk of these parameters."""
        return Walk(self.x0, self.honest, self.corrupt, self.noise)

    def fitted(self, fit: Fit) -> Drift:
        """The same agents and turns with steps as they were measured."""
        return replace(
            self,
            honest=fit.honest.step.value or 0.0,
            corrupt=-(fit.corrupted.step.value or 0.0),
            noise=fit.noise,
            contract=fit.honest.factor,
            stretch=fit.corrupted.factor,
            push=fit.corrupted.added,
        )


@dataclass(frozen=True, slots=True)
class Row:
    """Accuracies with so many corrupted agents.

    Args:
        corrupted: how many.
        vote: on N answers, each written by one agent alone.
        text: one text in turns.
        voted: a vote over M of them.
    """

    corrupted: int
    vote: float
    text: float
    voted: float


@dataclass(frozen=True, slots=True)
class Form:
    """One form of the model.

    Args:
        name: of the form.
        parameters: in words.
        critical: the share of corrupted agents beyond which very long texts go wrong.
        rows: by number of corrupted agents.
    """

    name: str
    parameters: str
    critical: float
    rows: tuple[Row, ...]

    def breaks(self, column: str) -> int | None:
        """The smallest number of corrupted agents with an accuracy below one half; None if there is none."""
        return next((row.corrupted for row in self.rows if getattr(row, column) < 0.5 - 1e-9), None)


@dataclass(frozen=True, slots=True)
class Simulated:
    """The walk drawn at random, beside its formula: ``share`` right, with its standard error ``error``."""

    corrupted: int
    share: float
    error: float
    formula: float


@dataclass(frozen=True, slots=True)
class Prediction:
    """What follows from ``given``; an illustration, and never evidence about a model.

    Args:
        given: the parameters.
        forms: by form of the model.
        nulls: number of corrupted agents to the null models of the vote over M texts.
        null_texts: the same of one text.
        orders: number of corrupted agents to the orders of seats in the long run (additive), the worst first.
        simulated: empty unless it was asked for.
    """

    given: Drift
    forms: tuple[Form, ...]
    nulls: dict[int, dict[str, float]]
    null_texts: dict[int, dict[str, float]]
    orders: dict[int, tuple[drift.Order, ...]]
    simulated: tuple[Simulated, ...] = ()

    def predicted(self, point: StudyPoint) -> dict[str, float]:
        """Name of each form to what it predicts for a measured cell; empty if it is none that is predicted."""
        if point.agents != self.given.agents or not point.predicted_as:
            return {}
        if point.predicted_as == "voted" and point.trajectories != self.given.trajectories:
            return {}
        return {
            form.name: float(getattr(row, point.predicted_as))
            for form in self.forms
            for row in form.rows
            if row.corrupted == point.corrupted
        }

    def to_data(self) -> dict[str, Any]:
        """JSON-ready data, with the assumptions."""
        return {
            "given": {name: getattr(self.given, name) for name in self.given.__dataclass_fields__},
            **drift.named(),
            "forms": [
                {
                    "name": form.name,
                    "parameters": form.parameters,
                    "critical_share": form.critical,
                    "vote_breaks_at": form.breaks("vote"),
                    "text_breaks_at": form.breaks("text"),
                    "voted_breaks_at": form.breaks("voted"),
                    "rows": [
                        {"corrupted": row.corrupted, "vote": row.vote, "text": row.text, "voted": row.voted}
                        for row in form.rows
                    ],
                }
                for form in self.forms
            ],
            "null_models": {
                "text": {str(corrupted): found for corrupted, found in self.null_texts.items()},
                "voted": {str(corrupted): found for corrupted, found in self.nulls.items()},
            },
            "orders": {
                str(corrupted): {
                    "share_wrong": drift.share_wrong(found),
                    "orders": [{"order": one.order, "potential": _finite(one.potential), "right": one.right}
                               for one in found],
                }
                for corrupted, found in self.orders.items()
            },
            "simulated": [
                {"corrupted": one.corrupted, "share": one.share, "error": one.error, "formula": one.formula}
                for one in self.simulated
            ],
        }  # fmt: skip


def predict(
    given: Drift,
    corrupted: Iterable[int] | None = None,
    *,
    models: Sequence[str] = MODELS,
    runs: int = 0,
    seed: int = 0,
) -> Prediction:
    """Work out everything for each number of ``corrupted`` agents (None: all from 0 to N).

    Args:
        given: the parameters.
        corrupted: numbers of corrupted agents.
        models: forms of the model, of ``MODELS``.
        runs: texts to draw of the walk for each number, 0 for none.
        seed: of these.

    Raises:
        UsageError: a parameter that cannot be, or more than can be gone through.
    """
    n, turns = given.agents, given.turns
    check_seats(n, 0, turns)
    counts = sorted(set(range(n + 1) if corrupted is None else corrupted))
    for many in counts:
        check_seats(n, many, turns)
    if not 1 <= given.trajectories <= MOST_TEXTS:
        raise UsageError(
            f"There cannot be {given.trajectories} trajectories.", next_step=f"Use between 1 and {MOST_TEXTS}."
        )
    if unknown := [name for name in models if name not in MODELS]:
        raise UsageError(f"There is no form {unknown[0]!r}.", next_step=f"Use {', '.join(MODELS)}.")
    seats = {many: placements(n, many) for many in counts}
    begins = starts(n, given.trajectories, rotate=given.rotate)
    if sum(map(len, seats.values())) * len(set(begins)) * turns > MOST_WORK:
        raise UsageError(
            f"{turns:,} turns of {n} agents in all their placements are too many to go through.",
            next_step="Use fewer turns, or fewer agents.",
        )
    nulls = {many: predicted_nulls(n, many, turns, begins) for many in counts}  # refuses too many texts
    forms = tuple(_form(name, given, seats, begins) for name in models)
    simulated = [
        Simulated(
            many,
            *given.walk.simulated(n, many, turns, runs=runs, seed=seed + many),
            given.walk.accuracy(n, many, turns),
        )
        for many in (counts if runs and WALK in models else [])
    ]
    return Prediction(
        given,
        forms,
        nulls=nulls,
        null_texts={many: predicted_nulls(n, many, turns) for many in counts},
        orders={many: drift.rotation_orders(n, many, given.contract, given.push) for many in counts}
        if ADDITIVE in models
        else {},
        simulated=tuple(simulated),
    )


def _form(name: str, given: Drift, seats: dict[int, Flags], begins: tuple[int, ...]) -> Form:
    import numpy as np

    from dissensus.measure.voters import majority_of

    def after(placed: Flags, start: int) -> Array:
        if name == WALK:
            return given.walk.after(placed, given.turns, start)
        if name == MULTIPLICATIVE:
            v = drift.multiplicative_after(
                placed, given.turns, start, x0=given.x0, contract=given.contract, stretch=given.stretch
            )
        else:
            v = drift.additive_after(placed, given.turns, start, x0=given.x0, contract=given.contract, push=given.push)
        return drift.right(v)

    alone = [float(after(np.array([[honest]]), 0)[0]) for honest in (True, False)]
    rows = []
    for many, placed in seats.items():
        found = {start: after(placed, start) for start in dict.fromkeys(begins)}
        each = np.column_stack([found[start] for start in begins])
        voters = [alone[0]] * (given.agents - many) + [alone[1]] * many
        rows.append(
            Row(many, float(majority_of(voters)), float(found[begins[0]].mean()), float(majority_of(each).mean()))
        )
    return Form(name, *_described(name, given), tuple(rows))


def _described(name: str, given: Drift) -> tuple[str, float]:
    if name == WALK:
        walk = f"dH {given.honest:g}, dC {given.corrupt:g}, s {given.noise:g}, x0 {given.x0:g}"
        return walk, given.walk.critical
    if name == MULTIPLICATIVE:
        critical = drift.critical_multiplicative(given.contract, given.stretch)
        return f"gH {given.contract:g}, gC {given.stretch:g}, x0 {given.x0:g}", critical
    critical = drift.critical_additive(given.contract, given.push)
    return f"gH {given.contract:g}, b {given.push:g}, x0 {given.x0:g}", critical


def _finite(value: float) -> float | None:
    return value if value != float("inf") else None
