"""``dissensus measure plan``: how many questions tell two panels, or two sizes of one, apart."""

from __future__ import annotations

import click

from dissensus.cli.json_document import show_json


@click.command()
@click.option(
    "--difference", type=float, required=True, metavar="SHARE", help="The difference that must not be missed."
)
@click.option("--accuracy", type=float, required=True, metavar="SHARE", help="Accuracy of the side to compare with.")
@click.option(
    "--power", type=float, default=0.8, show_default=True, help="Chance to see the difference if it is there."
)
@click.option("--level", type=float, default=0.05, show_default=True, help="Chance to see one that is not, two-sided.")
@click.option(
    "--correlation",
    type=float,
    metavar="R",
    help="Between the two sides' right answers, question by question.  [default: 0.5, or the most that is possible]",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def plan(
    *, difference: float, accuracy: float, power: float, level: float, correlation: float | None, as_json: bool
) -> None:
    """Say how many questions a paired comparison needs, before you buy the answers.

    Both sides answer the same questions. The number depends on how often only one of them is right, so the plan states
    what it assumes about that, and what other assumptions would cost.
    """
    from dissensus.measure.planning import plan as make_plan

    made = make_plan(difference, accuracy, power=power, level=level, correlation=correlation)
    if as_json:
        show_json(made.to_data())
        return
    for line in made.lines():
        click.echo(line)
