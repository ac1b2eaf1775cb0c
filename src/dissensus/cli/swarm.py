"""``dissensus swarm``: a batch shared out to agents with sources of their own, and what they say held together."""

from __future__ import annotations

import shlex
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dissensus.cli.json_document import show_json
from dissensus.cli.swarm_options import FILE, how_settled
from dissensus.errors import StorageError

if TYPE_CHECKING:
    from dissensus.study.swarm.batch import Swarm
    from dissensus.study.swarm.bench import Stage
    from dissensus.study.swarm.running import SwarmResult


@click.command()
@click.argument("tasks", metavar="TASKS.yaml", type=FILE)
@click.option("-o", "--output", type=click.Path(file_okay=False, path_type=Path), metavar="DIR",
              help="A folder for records and pinned copies.  [TASKS.swarm where you are]")  # fmt: skip
@click.option("--plan", is_flag=True, help="Say who would read what, and how many calls at most. Nobody is asked.")
@click.option("--seed", type=int, help="All randomness derives from it.  [as the file says]")
@click.option("--jobs", type=click.IntRange(1, 1000), metavar="N", help="Records side by side.  [as the file says]")
@how_settled
def swarm(
    *, tasks: Path, output: Path | None, csv_file: Path | None, html_file: Path | None, as_json: bool, **flags: Any
) -> None:
    """Have a batch of items reported from different sources, and settle what contradicts.

    TASKS.yaml names the items, what is wanted of each, and parties: agents, programs or the built-in reader, each
    working from files of its own. Items are shared out in adjacent shares; each share is read in a record of its own,
    its programs in a cell that holds its files alone. What two parties report of one item meets in a case, as in
    `dissensus dispute`. Agreement is no approval: what agrees still passes the rules on its evidence, a seeded share
    is looked at by the verifier, and planted faults say how many would be noticed.

    A swarm that is cut, or killed, goes on where it stopped: give the same command again. Answer its questions with
    `dissensus inbox DIR/cases`.

    Exit codes: 0 all settled or consistent; 1 something was returned, is disputed, told by one party only, or by
    nobody; 2 usage; 3 something waits for a person, or the budget is over.

    \b
    dissensus swarm tasks.yaml --plan
    dissensus swarm tasks.yaml -o march --csv march.csv
    dissensus why march/cases/4711.db
    """  # noqa: D301 - click reads the control character
    folder = output or Path(f"{tasks.stem}.swarm")
    if flags["plan"]:
        with tempfile.TemporaryDirectory() as place:  # nothing is kept of a plan
            whole = _read(tasks, Path(place), flags)
        _show_plan(whole, folder, repin=flags["repin"], as_json=as_json)
        return
    whole = _read(tasks, folder / "evidence", flags)
    again = ["dissensus", "swarm", str(tasks), *(["-o", str(output)] if output else [])]
    found = carried_out(whole, folder, again=shlex.join(again), **_how(flags))
    show_result(found, again=shlex.join(again), csv_file=csv_file, html_file=html_file, as_json=as_json)


def _read(tasks: Path, store: Path, flags: dict[str, Any]) -> Swarm:
    from dissensus.interop.tasks_file import read_tasks

    whole = read_tasks(tasks, store)
    asking = replace(whole.asking, ask=whole.asking.ask and not flags["no_ask"])
    seed = whole.seed if flags["seed"] is None else flags["seed"]
    return replace(whole, asking=asking, seed=seed)


def _how(flags: dict[str, Any]) -> dict[str, Any]:
    return {
        "jobs": flags["jobs"],
        "require_cell": flags["require_cell"],
        "follow_standing": not flags["no_standing_rules"],
        "repin": flags["repin"],
    }


def _show_plan(whole: Swarm, folder: Path, *, repin: bool, as_json: bool) -> None:
    from dissensus.study.swarm.planning import plan_of

    made = plan_of(whole, folder, repin=repin)
    if as_json:
        show_json({**made.to_data(), "output": str(folder)})
        return
    from dissensus.cli.readout import say
    from dissensus.cli.swarm_text import plan_lines

    for line in plan_lines(made):
        say(line)


def carried_out(whole: Swarm, folder: Path, *, again: str, **how: Any) -> SwarmResult:
    """Do a swarm behind a bar of progress. Whatever ends it before its end, ``again`` is said to go on with."""
    from dissensus.cli.progress import Bar
    from dissensus.cli.readout import say
    from dissensus.cli.swarm_text import plan_lines
    from dissensus.study.swarm.planning import plan_of
    from dissensus.study.swarm.running import run_swarm

    made = plan_of(whole, folder, repin=bool(how.get("repin")))
    for line in plan_lines(made):
        say(line, err=True)
    total = made.done + sum(share.items for share in made.shares) + made.items + whole.plants.of(made.items)
    with Bar("reports, cases, plants", total=total, done=made.done) as bar:

        def on_done(_stage: Stage, _name: str) -> None:
            bar.add()

        try:
            return run_swarm(whole, folder, on_done=on_done, **how)
        except BaseException:
            bar.stop()
            say(f"What is done is kept; go on with: {again}", err=True)
            raise


def show_result(
    found: SwarmResult,
    *,
    again: str,
    csv_file: Path | None = None,
    html_file: Path | None = None,
    as_json: bool = False,
    beside: Mapping[str, Any] | None = None,
) -> None:
    """Print how a swarm has ended, and exit as that says; ``beside`` are more keys of the JSON document."""
    from dissensus.cli.readout import say
    from dissensus.cli.swarm_text import csv_of, document_of, result_lines
    from dissensus.study.swarm.summary import exit_code

    if csv_file is not None:
        _write(csv_file, csv_of(found))
    if html_file is not None:
        from dissensus.cli.swarm_page import page_of

        _write(html_file, page_of(found))
    if as_json:
        show_json({**document_of(found), **(beside or {})})
    else:
        for line in result_lines(found, again):
            say(line)
    if code := exit_code(found):
        sys.exit(code)


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8", newline="")
    except OSError as problem:
        raise StorageError(
            f"{path} cannot be written: {problem.strerror or problem}.", next_step="Name another file."
        ) from None
    click.echo(f"Written to {path}", err=True)
