"""``dissensus round-robin drift``: where a vote and one text written in turns break, if the drift model held."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from dissensus.cli.json_document import show_json
from dissensus.errors import SpecError, UsageError

if TYPE_CHECKING:
    from dissensus.measure.drift_fit import Fit
    from dissensus.measure.drift_prediction import Drift
    from dissensus.measure.study_points import Step, StudyPoint


@click.command()
@click.option("--agents", default=5, show_default=True, metavar="N", help="Agents.")
@click.option("--corrupted", metavar="C,C,…", help="Numbers of corrupted agents.  [default: all from 0 to N]")
@click.option("--turns", default=10, show_default=True, metavar="T", help="Turns that a text takes.")
@click.option("--trajectories", default=5, show_default=True, metavar="M", help="Texts that are voted on.")
@click.option(
    "--start",
    type=click.Choice(["rotate", "fixed"]),
    default="rotate",
    show_default=True,
    help="Whether each text begins on the next seat, or all on the first.",
)
@click.option(
    "--form",
    "forms",
    type=click.Choice(["walk", "multiplicative", "additive"]),
    multiple=True,
    help="Only this form of the model; may be repeated.  [default: all]",
)
@click.option("--x0", default=0.0, show_default=True, help="Log-odds that a text begins with.")
@click.option("--honest", default=1.0, show_default=True, metavar="DH", help="Walk: what an honest turn adds.")
@click.option("--corrupt", default=0.5, show_default=True, metavar="DC", help="Walk: what a corrupted turn takes away.")
@click.option("--noise", default=1.0, show_default=True, metavar="S", help="Walk: standard deviation of a turn.")
@click.option("--contract", default=0.5, show_default=True, metavar="GH", help="Factor of V in an honest turn.")
@click.option(
    "--stretch", default=1.4, show_default=True, metavar="GC", help="Multiplicative: that of a corrupted one."
)
@click.option("--push", default=0.2, show_default=True, metavar="B", help="Additive: what a corrupted turn adds to V.")
@click.option("--simulate", default=0, metavar="RUNS", help="Also draw so many walks at random, beside the formula.")
@click.option("--seed", default=0, show_default=True, help="Of what is drawn.")
@click.option(
    "--measured",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    metavar="STUDY.json",
    help="Report of a study: what was measured is laid beside what is predicted.",
)
@click.option("--fit", is_flag=True, help="Take the steps from those measured in that report.")
@click.option(
    "--plots", type=click.Path(path_type=Path, file_okay=False), metavar="DIR", help="Write the pictures there."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def drift(
    *,
    agents: int,
    corrupted: str | None,
    turns: int,
    trajectories: int,
    start: str,
    forms: tuple[str, ...],
    x0: float,
    honest: float,
    corrupt: float,
    noise: float,
    contract: float,
    stretch: float,
    push: float,
    simulate: int,
    seed: int,
    measured: Path | None,
    fit: bool,
    plots: Path | None,
    as_json: bool,
) -> None:
    """Say where a vote and one text written in turns break, if the drift model held.

    A calculator: its parameters are yours, and its assumptions are printed with every figure. In a text written in
    turns an honest turn pulls towards the right answer and a corrupted one pushes away from it; whoever pulls more
    wins. None of it is calibrated on a language model. The null models beside it decide by the seats alone.

    \b
    dissensus round-robin drift --agents 5 --corrupted 3
    dissensus round-robin drift --honest 1 --corrupt 1 --form walk --simulate 20000
    dissensus round-robin drift --measured study/report.json --plots pictures/
    """  # noqa: D301 - click reads the control character
    from dissensus.cli import drift_text
    from dissensus.measure.drift_prediction import MODELS, Drift, predict

    given = Drift(
        agents=agents,
        turns=turns,
        trajectories=trajectories,
        rotate=start == "rotate",
        x0=x0,
        honest=honest,
        corrupt=corrupt,
        noise=noise,
        contract=contract,
        stretch=stretch,
        push=push,
    )
    points, steps = _read(measured)
    found = _fitted(steps, seed) if steps else None
    if fit:
        given = _refitted(given, found)
    counts = None if corrupted is None else _counts(corrupted)
    predicted = predict(given, counts, models=forms or MODELS, runs=simulate, seed=seed)
    written: list[Path] = []
    if plots is not None:
        from dissensus.cli.pictures import drift as pictures

        written = pictures.draw(predicted, plots, points)
    if as_json:
        beside = [point.to_data() | {"predicted": predicted.predicted(point)} for point in points]
        show_json(
            predicted.to_data()
            | {
                "steps_from": "measured" if fit else "assumed",
                "measured": beside,
                "measured_steps": None if found is None else found.to_data(),
                "pictures": [str(path) for path in written],
            }
        )
        return
    for line in drift_text.lines(predicted, points, found, fitted=fit, listed=counts is not None):
        click.echo(line)
    for path in written:
        click.echo(f"wrote {path}")
    if strangers := [point for point in points if point.agents != given.agents]:
        click.echo(
            f"warning: {len(strangers)} of the measured points are not of {given.agents} agents and are left out.",
            err=True,
        )


def _read(path: Path | None) -> tuple[tuple[StudyPoint, ...], tuple[Step, ...]]:
    if path is None:
        return (), ()
    from dissensus.measure.study_points import read_points

    try:
        document = path.read_bytes()
    except OSError as error:
        raise SpecError(
            f"The report cannot be read: {error.strerror or error}.", path=str(path), next_step="Check the file."
        ) from error
    return read_points(document, path=str(path))


def _fitted(steps: tuple[Step, ...], seed: int) -> Fit:
    from dissensus.measure.drift_fit import fit_steps

    return fit_steps(steps, seed=seed)


def _refitted(given: Drift, found: Fit | None) -> Drift:
    if found is None:
        raise UsageError(
            "There are no measured steps to take the parameters from.",
            next_step="Name a report with steps as --measured, or leave --fit out.",
        )
    return given.fitted(found)


def _counts(text: str) -> list[int]:
    try:
        found = [int(part) for part in text.split(",") if part.strip()]
    except ValueError:
        found = []
    if not found:
        raise UsageError(
            f"--corrupted needs whole numbers between commas, not {text!r}.", next_step="For example --corrupted 2,3."
        )
    return found
