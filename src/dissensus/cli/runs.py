"""``dissensus replay``, ``resume`` and ``fork``: what can be done with the record of a run."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from dissensus.cli.json_document import show_json
from dissensus.errors import DissensusError, UsageError

SAME, DIFFERS = 0, 1
SHOWN = 5
"""Most events shown that a procedure no longer comes by."""


@click.command()
@click.argument("records", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def replay(records: tuple[Path, ...], *, as_json: bool) -> None:
    """Recompute the decision of each of RECORDS from what is recorded: no model, no network.

    Exit code 1 if a decision no longer follows from its record. Of several records, one that cannot be replayed does
    not keep the others from it.
    """
    from dissensus.run.runs import replay as run_again

    found: list[dict[str, Any]] = []
    codes: list[int] = []
    paths = _records(records)
    for path in paths:
        try:
            result = run_again(path)
        except DissensusError as problem:
            if len(paths) == 1:
                raise
            codes.append(problem.exit_code)
            found.append({"record": str(path), "identical": False, "error": problem.message})
            where = "" if str(path) in problem.message else f"{path}: "
            click.echo(f"error: {where}{problem}", err=True)
            continue
        codes.append(SAME if result.identical else DIFFERS)
        found.append(
            {
                "record": str(path),
                "identical": result.identical,
                "events": result.events,
                "unused": list(result.unused),
                "same_source": result.same_source,
                "decision": result.decision.to_data(),
            }
        )
        if not as_json:
            verdict = "identical" if result.identical else "DIFFERENT"
            source = "" if result.same_source else "  (the procedure's source has changed since)"
            click.echo(f"{verdict}  {path}  {result.decision.status}: {result.decision.answer}{source}")
            if not result.identical:
                click.echo(f"  recorded  {result.recorded.status}: {result.recorded.answer}")
                for event in result.unused[:SHOWN]:
                    click.echo(f"  no longer done: event {event}")
    if as_json:
        show_json(found if len(found) > 1 else found[0])
    if code := max(codes):
        raise SystemExit(code)


@click.command()
@click.argument("record", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def resume(record: Path, *, as_json: bool) -> None:
    """Finish the interrupted run in RECORD. No call that has an outcome is made again."""
    import anyio

    from dissensus.cli.progress import Progress
    from dissensus.cli.readout import exit_code, show
    from dissensus.run.casting import resume_from

    with _can_go_on(record), Progress() as progress:
        decision = anyio.run(lambda: resume_from(record, on_event=progress.on_event))
    show(decision, as_json=as_json)
    raise SystemExit(exit_code(decision))


@click.command()
@click.argument("record", type=click.Path(path_type=Path))
@click.option("--at", type=int, required=True, metavar="EVENT", help="The reply to change: its sequence number.")
@click.option("--replace", "text", required=True, metavar="TEXT", help="What the agent is to have said instead.")
@click.option(
    "--reuse",
    type=click.Choice(["unaffected", "prefix"]),
    default="unaffected",
    show_default=True,
    help="Keep all outcomes whose request is unchanged, or only those before EVENT.",
)
@click.option("-o", "--output", type=click.Path(path_type=Path), help="The new record.  [default: beside RECORD]")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def fork(record: Path, *, at: int, text: str, reuse: str, output: Path | None, as_json: bool) -> None:
    """Run again from RECORD with one reply changed; what no longer follows from it is asked anew.

    The new record names its parent. `dissensus record show RECORD` lists the events.
    """
    import anyio

    from dissensus.cli.progress import Progress
    from dissensus.cli.readout import exit_code, show
    from dissensus.run.casting import fork_from

    if any("\ud800" <= char <= "\udfff" for char in text):
        raise UsageError("The replacement is not valid UTF-8 text.", next_step="Type it as UTF-8.")
    path = output or _beside(record, at)
    with _can_go_on(path), Progress() as progress:
        decision = anyio.run(lambda: fork_from(record, path, at=at, text=text, reuse=reuse, on_event=progress.on_event))
    show(decision, as_json=as_json)
    raise SystemExit(exit_code(decision))


@contextlib.contextmanager
def _can_go_on(record: Path) -> Iterator[None]:
    """Say how to finish the run in ``record`` if it is interrupted."""
    try:
        yield
    except KeyboardInterrupt:
        click.echo(f"The run can be finished with: dissensus resume {record}", err=True)
        raise


def _records(paths: tuple[Path, ...]) -> list[Path]:
    """Every record named, or lying in a folder that is named."""
    found: list[Path] = []
    for path in paths:
        found += sorted([*path.glob("*.db"), *path.glob("*.jsonl")]) if path.is_dir() else [path]
    if not found:
        raise UsageError(f"There is no record in {', '.join(map(str, paths))}.")
    return found


def _beside(record: Path, at: int) -> Path:
    """A name for the new record that is not taken: ``…-fork-17.db``, then ``…-fork-17-2.db`` and so on."""
    stem, number = f"{record.stem}-fork-{at}", 1
    while (path := record.with_name(f"{stem}{'' if number == 1 else f'-{number}'}.db")).exists():
        number += 1
    return path
