"""``dissensus study``: procedures beside each other under attack, over a grid of questions, line-ups and settings."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dissensus.cli.json_document import show_json

if TYPE_CHECKING:
    from dissensus.study.grid import Unit
    from dissensus.study.report import Report
    from dissensus.study.study_file import Study
    from dissensus.study.unit_runs import Found

INCOMPLETE = 3

_FILE = click.argument("file", metavar="STUDY.yaml", type=click.Path(dir_okay=False, path_type=Path))
_OUTPUT = click.option(
    "-o",
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="A folder for records and report.  [STUDY.study beside where you are]",
)
_JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")


class _Studies(click.Group):
    """A file in place of a command is a study to run."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put ``run`` before the name of a file."""
        if args and not args[0].startswith("-") and args[0] not in self.commands:
            args.insert(0, "run")
        return super().parse_args(ctx, args)


@click.group(cls=_Studies)
def study() -> None:
    """Measure procedures beside each other under attack: a grid of runs, resumed wherever it was cut, and a report.

    With a file in place of a command, that study is run.

    \b
    dissensus study examples/studies/collapse.yaml
    dissensus study plan examples/studies/collapse.yaml
    dissensus study run examples/studies/collapse.yaml -o toy
    dissensus study report examples/studies/collapse.yaml -o toy --plots toy/plots
    """  # noqa: D301 - click reads the control character


@study.command()
@_FILE
@_OUTPUT
@_JSON
def plan(*, file: Path, output: Path | None, as_json: bool) -> None:
    """Say how many runs a study has, and what they take at most: tokens and money. Nobody is asked anything."""
    from dissensus.study.planning import plan_of

    whole, units, folder = _read(file, output)
    left = _left(folder, units)
    made = plan_of(left, done=len(units) - len(left))
    if as_json:
        show_json({"study": whole.name, "output": str(folder), **made.to_data()})
        return
    for line in made.lines():
        click.echo(line)


@study.command()
@_FILE
@_OUTPUT
@click.option("--jobs", type=click.IntRange(1, 1000), metavar="N", help="Runs side by side.  [as the file says]")
@click.option("--most", type=click.IntRange(1), metavar="N", help="Do at most so many runs now.")
@click.option("--minutes", type=click.FloatRange(0, min_open=True), metavar="N", help="Begin no run after so many.")
@click.option("--plots", type=click.Path(file_okay=False, path_type=Path), metavar="DIR", help="Draw pictures there.")
@_JSON
def run(
    *,
    file: Path,
    output: Path | None,
    jobs: int | None,
    most: int | None,
    minutes: float | None,
    plots: Path | None,
    as_json: bool,
) -> None:
    """Do the runs of a study that are not done yet, each into a record of its own, and write the report.

    What it will take is said first. A study that is cut, or killed, goes on where it stopped: give the same command
    again. No agent is shown a right answer.

    Exit codes: 0 finished; 2 usage; 3 incomplete: some runs are missing or lost calls, give the command again.
    """
    import anyio

    from dissensus.cli.progress import Bar
    from dissensus.study.executor import Local
    from dissensus.study.planning import plan_of

    whole, units, folder = _read(file, output)
    left = _left(folder, units)
    for line in plan_of(left, done=len(units) - len(left)).lines():
        click.echo(line, err=True)
    now = left[:most] if most else left
    with Bar("runs", total=len(units), done=len(units) - len(left)) as bar:

        def on_done(_unit: Unit, _found: Found) -> None:
            bar.add()

        try:
            if now:
                anyio.run(Local(jobs or whole.jobs, minutes=minutes).run, folder, now, on_done)
        except BaseException:
            bar.stop()
            again = shlex.join(["dissensus", "study", "run", str(file), *(["-o", str(output)] if output else [])])
            click.echo(f"{bar.done:,} of {len(units):,} runs are done; go on with: {again}", err=True)
            raise
    _report(whole, units, folder, plots, as_json=as_json)


@study.command()
@_FILE
@_OUTPUT
@click.option("--plots", type=click.Path(file_okay=False, path_type=Path), metavar="DIR", help="Draw pictures there.")
@_JSON
def report(*, file: Path, output: Path | None, plots: Path | None, as_json: bool) -> None:
    """Write the report of the runs that are done: report.md, report.json, cells.csv and runs.csv in the folder."""
    whole, units, folder = _read(file, output)
    _report(whole, units, folder, plots, as_json=as_json)


def _read(file: Path, output: Path | None) -> tuple[Study, list[Unit], Path]:
    from dissensus.study.grid import units_of
    from dissensus.study.study_file import read_study

    whole = read_study(file)
    return whole, units_of(whole), output or Path(f"{file.name.removesuffix('.yaml').removesuffix('.yml')}.study")


def _left(folder: Path, units: Sequence[Unit]) -> list[Unit]:
    """The units that are not done; those that lost calls are not."""
    from dissensus.study.unit_runs import found

    return [unit for unit in units if (one := found(folder, unit)) is None or one.lost]


def _report(whole: Study, units: Sequence[Unit], folder: Path, plots: Path | None, *, as_json: bool) -> None:
    from dissensus.cli.progress import Bar
    from dissensus.errors import UsageError
    from dissensus.study.gather import rows_of
    from dissensus.study.report import report_of
    from dissensus.study.report_files import write_report

    with Bar("records", total=len(units)) as bar:
        rows = list(rows_of(folder, units, bar.add))
    if not rows:
        raise UsageError(
            f"No run of the study is done in {folder}.", next_step="Do them with `dissensus study run`, or name its -o."
        )
    made = report_of(whole, rows, units=len(units))
    written = write_report(made, rows, folder)
    if plots is not None:
        from dissensus.cli.pictures import study as pictures

        written += pictures.draw(made, plots)
    if as_json:
        show_json({**made.to_data(), "files": [str(path) for path in written]})
    else:
        _show(made, written)
    if made.done < made.units or made.lost:
        click.echo(f"{made.units - made.done:,} runs are missing, {made.lost:,} calls were lost.", err=True)
        raise SystemExit(INCOMPLETE)


def _show(made: Report, written: Sequence[Path]) -> None:
    from dissensus.study.report_parts import place_of
    from dissensus.study.report_text import number, share, title

    for warning in made.warnings:
        click.echo(f"note: {warning}")
    for where in dict.fromkeys(place_of(one) for one in made.cells):
        click.echo(title(where))
        own = [one for one in made.cells if place_of(one) == where]
        wide = max(len(one.procedure) for one in own)
        for one in own:
            click.echo(
                f"  {one.procedure:<{wide}}  right {share(one.right)}  target {share(one.target)}  "
                f"written {number(one.decoded)}  {one.seconds:.2f} s"
            )
    for judged in made.rescues:
        click.echo(f"{judged.procedure}, {title(judged.where)}: {' '.join(judged.rescue.sentences())}")
    for path in written:
        click.echo(f"wrote {path}")
