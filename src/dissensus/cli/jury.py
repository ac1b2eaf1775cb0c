"""``dissensus jury``: what more voters would bring, if they were independent and if they are not."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dissensus.cli.json_document import show_json
from dissensus.errors import UsageError

if TYPE_CHECKING:
    from dissensus.measure.jury_curve import JuryCurve

_WIDEST = 72


@click.command()
@click.option("--n", "sizes", default="1,3,5,9,21", show_default=True, metavar="N,N,…", help="Panel sizes.")
@click.option("--p", "p", type=float, metavar="SHARE", help="One voter's accuracy over all questions.")
@click.option("--trap", type=float, metavar="SHARE", help="Share of questions where all give the same wrong answer.")
@click.option("--rho", type=float, metavar="R", help="Correlation of two voters' right answers.")
@click.option(
    "--model",
    type=click.Choice(["beta-binomial", "gaussian", "trap"]),
    help="How errors go together at that rho.  [default: beta-binomial]",
)
@click.option(
    "--options",
    metavar="K|SHARE,…",
    help="Number of options, the wrong ones alike; or each option's share of a voter's answers, the right one first.",
)
@click.option(
    "--plots", type=click.Path(path_type=Path, file_okay=False), metavar="DIR", help="Write the picture there."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def jury(
    *,
    sizes: str,
    p: float | None,
    trap: float | None,
    rho: float | None,
    model: str | None,
    options: str | None,
    plots: Path | None,
    as_json: bool,
) -> None:
    """Show how often a vote is right as the panel grows: promised by independence, and kept under correlation.

    A calculator: its parameters are yours, nothing is measured. `dissensus measure` takes them from answers.

    \b
    dissensus jury --n 3,5,9,21,99 --p 0.7 --trap 0.2
    dissensus jury --p 0.7 --rho 0.4 --model gaussian --plots pictures/
    dissensus jury --options 0.4,0.35,0.25
    """  # noqa: D301 - click reads the control character
    from dissensus.measure.jury_curve import jury_curve

    curve = jury_curve(
        _whole_numbers(sizes),
        p,
        trap_share=trap,
        rho=rho,
        model=model,  # type: ignore[arg-type] # click has checked the choice
        options=None if options is None else _options(options),
    )
    written: list[Path] = []
    if plots is not None:
        from dissensus.cli.pictures.jury_curve import draw

        written = draw(curve, plots)
    if as_json:
        show_json(curve.to_data() | {"pictures": [str(path) for path in written]})
        return
    for line in _table(curve):
        click.echo(line)
    click.echo()
    for line in _dots(curve):
        click.echo(line)
    click.echo()
    for line in curve.notes():
        click.echo(line)
    for path in written:
        click.echo(f"wrote {path}")
    for warning in curve.warnings:
        click.echo(f"warning: {warning}", err=True)


def _table(curve: JuryCurve) -> list[str]:
    from dissensus.measure.jury_curve import shown

    plain = curve.model == "independent"
    heads = ["n", "independent", *([] if plain else [curve.model, "worth"]), "all agree", "then wrong"]
    heads += [] if plain else ["(independent)"]
    if curve.options is not None:
        heads.insert(2 if plain else 3, "sole leader")
    rows = []
    for point in curve.points:
        row = [f"{point.n:,}", shown(point.independent)]
        if not plain:
            row.append(shown(point.correlated))
        if point.strictly is not None:
            row.append(shown(point.strictly))
        if not plain:
            row.append("-" if point.worth is None else f"{point.worth:.2f}")
        row += [shown(point.agree), _maybe(point.wrong_if_agreed)]
        rows.append(row if plain else [*row, _maybe(point.wrong_if_agreed_independent)])
    end = ["limit", shown(curve.limit_independent), *([] if plain else [shown(curve.limit)])]
    if not plain:
        if curve.options is not None:
            end.append("")
        end.append(f"{1 / curve.rho:.2f}" if curve.rho else "-")
    rows.append(end)
    widths = [max(len(head), *(len(row[i]) for row in rows if i < len(row))) for i, head in enumerate(heads)]
    lines = ["   ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=False)) for row in [heads, *rows]]
    return [curve.title(), "", *(line.rstrip() for line in lines)]


def _dots(curve: JuryCurve) -> list[str]:
    from dissensus.cli.pictures.terminal import FANCY, PLAIN, dots

    try:
        FANCY.encode(sys.stdout.encoding or "ascii")
        marks = FANCY
    except UnicodeError:
        marks = PLAIN
    plain = curve.model == "independent"
    return dots(
        [f"{point.n:,}" for point in curve.points],
        [point.independent for point in curve.points],
        None if plain else [point.correlated for point in curve.points],
        limit=curve.limit,
        names=("independent", curve.model),
        width=min(_WIDEST, shutil.get_terminal_size().columns - 12),
        marks=marks,
    )


def _maybe(value: float | None) -> str:
    from dissensus.measure.jury_curve import shown

    return "-" if value is None else shown(value)


def _whole_numbers(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",") if part.strip()]
    except ValueError:
        raise UsageError(
            f"--n needs whole numbers between commas, not {text!r}.", next_step="For example --n 3,5,9,21."
        ) from None


def _options(text: str) -> int | list[float]:
    try:
        return int(text) if text.strip().isdigit() else [float(part) for part in text.split(",")]
    except ValueError:
        raise UsageError(
            f"--options needs a number of options, or shares between commas, not {text!r}.",
            next_step="For example --options 4, or --options 0.4,0.35,0.25.",
        ) from None
