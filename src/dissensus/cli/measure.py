"""``dissensus measure``: what agreement is worth, from a table of answers; and the commands that go with it."""

from __future__ import annotations

import importlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dissensus.errors import UsageError

if TYPE_CHECKING:
    from dissensus.measure.audit import Audit
    from dissensus.measure.verdicts import Verdicts

SUBCOMMANDS: dict[str, tuple[str, str]] = {
    "plan": ("dissensus.cli.plan:plan", "How many questions a comparison needs."),
}
"""Name after ``measure`` to ``module:attribute`` and its line of help. A file of that name is ``./NAME``."""


class WithSubcommands(click.Command):
    """A command that takes files, and hands over where its first word is the name of another command."""

    def get_command(self, name: str) -> click.Command:
        """The command behind ``measure NAME``."""
        module, attribute = SUBCOMMANDS[name][0].split(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """The context of this command, or of the one that is named."""
        if args and args[0] in SUBCOMMANDS:
            return self.get_command(args[0]).make_context(f"{info_name} {args[0]}", args[1:], parent=parent, **extra)
        return super().make_context(info_name, args, parent=parent, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        """Run whichever command the context is of."""
        return super().invoke(ctx) if ctx.command is self else ctx.command.invoke(ctx)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the other commands below the options."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in sorted(SUBCOMMANDS.items())])
        super().format_epilog(ctx, formatter)


@click.command(cls=WithSubcommands)
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=click.Path(path_type=Path))
@click.option("--key", type=click.Path(path_type=Path), metavar="FILE", help="Right answers: a table by question.")
@click.option(
    "--kind", metavar="KIND", default="", help="What answers are: exact, number, choice, yes-no, date, text or auto."
)
@click.option("--unit", metavar="UNIT", default="", help="Unit that numbers are compared in.")
@click.option("--tolerance", metavar="X", default="", help="How far equal numbers may differ: 0.01, or 1% of them.")
@click.option("--options", metavar="A,B,…", default="", help="The answers that every question allows.")
@click.option("--blank", metavar="TEXT", multiple=True, help="A text that means no answer; may be repeated.")
@click.option("--voters", metavar="NAME,…", default="", help="The voters to read: columns, or names.")
@click.option("--question", metavar="COLUMN", default="", help="Column that names the question.")
@click.option("--voter", metavar="COLUMN", default="", help="Column that names the voter, with one row a vote.")
@click.option("--answer", metavar="COLUMN", default="", help="Column of the answers, with one row a vote.")
@click.option("--gold", metavar="COLUMN", default="", help="Column of the right answers.")
@click.option("--flags", is_flag=True, help="Cells say right or wrong (1 or 0), not what was answered.")
@click.option("--strata", metavar="COLUMN", default="", help="Also test independence inside the parts it names.")
@click.option("--group", metavar="COLUMN", default="", help="Equal cells mean one question asked again.")
@click.option(
    "--round", type=click.IntRange(min=0), default=0, metavar="N", help="Round of a debate.  [default: the last]"
)
@click.option("--filter", "filter_name", metavar="NAME", default="", help="Filter or scorer of a log that has several.")
@click.option("--max-error", "targets", type=click.FloatRange(0, 1, min_open=True, max_open=True), multiple=True,
              metavar="SHARE", help="Error rate to look for a rule for.  [default: .01, .05 and .1]")  # fmt: skip
@click.option("--factors", type=click.Path(path_type=Path), metavar="FILE",
              help="Model, family, prompt, cost … of the voters: a table with one row a voter.")  # fmt: skip
@click.option("--aggregators", is_flag=True, help="Also compare other ways to count the votes, and choose voters.")
@click.option("--sizes", metavar="N,N,…", default="", help="And with so many voters? Bounds, and fits that survive.")
@click.option("--bootstrap", type=click.IntRange(200, 100_000), default=2000, show_default=True, metavar="B",
              help="Drawings of questions for intervals.")  # fmt: skip
@click.option("--permutations", type=click.IntRange(99, 1_000_000), default=999, show_default=True, metavar="B",
              help="Dealings of errors for the test of independence.")  # fmt: skip
@click.option("--seed", type=int, default=0, show_default=True, help="Of both.")
@click.option("--plots", type=click.Path(path_type=Path, file_okay=False), metavar="DIR", help="Write pictures there.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def measure(
    *,
    files: tuple[Path, ...],
    key: Path | None,
    kind: str,
    unit: str,
    tolerance: str,
    options: str,
    blank: tuple[str, ...],
    voters: str,
    question: str,
    voter: str,
    answer: str,
    gold: str,
    flags: bool,
    strata: str,
    group: str,
    round: int,  # noqa: A002 - the name of the option
    filter_name: str,
    targets: tuple[float, ...],
    factors: Path | None,
    aggregators: bool,
    sizes: str,
    bootstrap: int,
    permutations: int,
    seed: int,
    plots: Path | None,
    as_json: bool,
) -> None:
    """Measure what agreement is worth in a table of answers: question, voter, answer, and the right one where known.

    How correlated the voters' errors are, how many independent votes they amount to, what a unanimous vote has been
    worth, whether the panel beats its best member, and where adding voters stops paying.

    FILE is CSV, JSON lines or Parquet with one row a vote or one row a question; or logs of inspect_ai, samples of
    lm-eval, records of runs, or folders of these. A blank cell counts as not right.

    \b
    dissensus measure answers.csv
    dissensus measure answers.csv --kind number --strata subject --plots pictures/
    dissensus measure votes.jsonl --key labels.jsonl --json
    dissensus measure votes.csv --factors voters.csv --aggregators --max-error 0.02
    """  # noqa: D301 - click reads the control character
    # before numpy is imported: on a busy machine the threads of linear algebra wait for each other, at twice the cost
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from dissensus.interop.columns import Named
    from dissensus.interop.equivalence import Sameness, tolerance_of
    from dissensus.interop.reading import read_table
    from dissensus.measure.audit import audit
    from dissensus.measure.selective import TARGETS
    from dissensus.measure.verdicts import extend_audit

    named = Named(
        question=question,
        voter=voter,
        answer=answer,
        gold=gold,
        voters=_names(voters),
        strata=strata,
        group=group,
        blank=blank,
        options=_names(options),
        round=round,
        flags=flags,
    )
    asked = _whole_numbers(sizes)
    read = read_table(
        files,
        named=named,
        same=Sameness(kind=kind, unit=unit, tolerance=tolerance_of(tolerance)),
        key=key,
        filter_name=filter_name,
    )
    table, others = read.table, None
    if factors is not None:
        from dissensus.interop.factors import with_factors

        table = with_factors(table, factors)
    if aggregators:
        from dissensus.interop.rankings import read_ranked

        others = read_ranked(files, table, named=named)
    found = audit(table, bootstrap=bootstrap, permutations=permutations, seed=seed, sizes=asked, reading=read.report)
    verdicts = extend_audit(
        table,
        aggregators=aggregators,
        targets=targets or TARGETS,
        others=others,
        p_independence=found.errors.permutation.p if found.errors is not None else None,
        bootstrap=bootstrap,
        seed=seed,
    )
    written: list[Path] = []
    if plots is not None:
        from dissensus.cli.pictures.audit import draw_all

        written = draw_all(found, plots, verdicts)
    if as_json:
        import msgspec

        data = found.to_data() | verdicts.to_data() | {"pictures": [str(path) for path in written]}
        click.echo(msgspec.json.format(msgspec.json.encode(data)).decode())
        return
    for line in readout(found, verdicts):
        click.echo(_printable(line))
    for path in written:
        click.echo(f"wrote {path}")


def readout(found: Audit, verdicts: Verdicts | None = None) -> list[str]:
    """The result as text: its lines, what was read, and what to know before using a figure."""
    more = [] if verdicts is None else verdicts.lines()
    notes = (f"note: {warning}" for warning in found.warnings)
    return [*found.lines(), *more, _was_read(found.reading), *notes]


def _was_read(reading: Mapping[str, Any]) -> str:
    rows, equivalence = reading["rows"], reading["equivalence"]
    lost = [f"{rows[what]:,} {what}" for what in ("dropped", "duplicate", "unmatched") if rows[what]]
    compared = "as written" if equivalence["kind"] == "exact" else f"as {equivalence['kind']}"
    counts = f" ({', '.join(lost)})" if lost else ""
    return f"read {rows['read']:,} rows{counts} of {reading['format']}; answers compared {compared}"


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _printable(line: str) -> str:
    """What a file holds must not steer the terminal."""
    return line if line.isprintable() else "".join(c if c.isprintable() else repr(c)[1:-1] for c in line)


def _whole_numbers(text: str) -> tuple[int, ...]:
    try:
        sizes = tuple(int(part) for part in _names(text))
    except ValueError:
        sizes = (0,)
    if any(size < 1 for size in sizes):
        raise UsageError(f"The sizes {text!r} cannot be read.", next_step="Write them as --sizes 21,99.")
    return sizes
