"""``dissensus contract``: put a task out to tender among a panel, and say who holds it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dissensus.cli.json_document import show_json
from dissensus.cli.panel_options import who_is_asked
from dissensus.errors import StorageError, UsageError

if TYPE_CHECKING:
    from dissensus.decide.contract import Contract


@click.command()
@click.argument("task", required=False)
@who_is_asked
@click.option("--spares", type=click.IntRange(0, 1000), default=0, help="Without a panel: agents from round 2 on.")
@click.option(
    "--by",
    "criterion",
    type=click.Choice(["price", "estimate", "confidence"]),
    default="price",
    show_default=True,
    help="What makes an offer the best: lowest price, shortest estimate, highest confidence.",
)
@click.option("--bid-within", metavar="SPAN", help="How long bidders have: 30s, 5 min.  [as long as each seat says]")
@click.option("--report-within", metavar="SPAN", help="How long the holder has, from the award.  [as above]")
@click.option("--remind", type=click.IntRange(0, 100), default=0, help="How often a silent holder is reminded.")
@click.option(
    "--rounds", type=click.IntRange(1, 100), default=3, show_default=True, help="Announce it at most so often."
)
@click.option("--max-tokens", type=click.IntRange(1), help="Most tokens in one reply.")
@click.option("--seed", type=int, default=0, show_default=True, help="All randomness derives from it.")
@click.option(
    "--record",
    type=click.Path(),
    default="runs",
    show_default=True,
    metavar="PATH",
    help="A folder for records, or one new .db file.",
)
@click.option("--budget-tokens", type=click.IntRange(0), help="Most tokens.")
@click.option("--budget-calls", type=click.IntRange(0), help="Most model calls.")
@click.option("--budget-seconds", type=click.FloatRange(0), help="Most seconds.")
@click.option(
    "--who", metavar="RECORD", type=click.Path(path_type=Path), help="Say who holds the task of this record, and end."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def contract(task: str | None, *, who: Path | None, as_json: bool, **flags: Any) -> None:
    """Announce TASK to a panel, take bids, award it to the best, and have it reported.

    If the holder fails or is silent, the task is announced anew to the others. Exit codes: 0 delivered; 1 everybody
    refused; 2 usage; 3 nobody delivered, or the budget ended first.

    \b
    dissensus contract "Name three risks of this plan: …" --panel panel.yaml --report-within "2 min"
    dissensus contract --who runs/2026-11-30-153012-name-three-risks.db
    dissensus audit runs/2026-11-30-153012-name-three-risks.db
    """  # noqa: D301 - click reads the control character
    if (task is None) == (who is None):
        raise UsageError(
            "Give one task, or --who with a record.", next_step='For example: dissensus contract "Sum up this page: …"'
        )
    if who is not None:
        _tell_who(who, as_json=as_json)
        return
    import anyio

    from dissensus.cli.readout import exit_code, say, show

    path: list[Path] = []
    try:
        found = anyio.run(_award, task or "", flags, path)
    except (KeyboardInterrupt, StorageError):
        if path:
            say(f"The run can be finished with: dissensus resume {path[0]}", err=True)
        raise
    show(found, as_json=as_json)
    raise SystemExit(exit_code(found))


async def _award(task: str, flags: Mapping[str, Any], path: list[Path]) -> Contract:
    from dissensus.cli.panel_flags import adjusted, panel_from
    from dissensus.cli.progress import Progress
    from dissensus.cli.questions import new_path
    from dissensus.decide.contract import ContractSettings, checked
    from dissensus.run.api import DEFAULT_MODEL
    from dissensus.run.casting import Cast
    from dissensus.run.contracting import contract_async

    panel = panel_from(
        flags["panel"], flags["models"], flags["agents"], spares=flags["spares"], levers=None, fallback=DEFAULT_MODEL
    )
    budget = {name: flags[f"budget_{name}"] for name in ("tokens", "calls", "seconds")}
    panel = adjusted(panel, max_tokens=flags["max_tokens"], deadline_s=None, budget=budget)
    settings = ContractSettings(
        criterion=flags["criterion"],
        bid_s=_seconds("--bid-within", flags["bid_within"]),
        report_s=_seconds("--report-within", flags["report_within"]),
        remind=flags["remind"],
        rounds=flags["rounds"],
    )
    checked(task, panel.seats, settings)
    async with Cast(panel) as cast:
        path.append(new_path(Path(flags["record"]), task))
        with Progress(task, [seat.agent for seat in cast.panel.seats if not seat.spare]) as progress:
            return await contract_async(
                task,
                panel=cast,
                settings=settings,
                seed=flags["seed"],
                record=path[0],
                on_event=progress.on_event,
            )


def _seconds(flag: str, text: str | None) -> float | None:
    from dissensus.agents.durations import seconds_of

    if text is None:
        return None
    try:
        return seconds_of(text)
    except ValueError as error:
        raise UsageError(f"{flag} {text!r} {error}.", next_step="Write it like 30s, 5 min or 2 h.") from None


def _tell_who(record: Path, *, as_json: bool) -> None:
    """Print who holds the task of a record, and who held it before."""
    import msgspec

    from dissensus.cli.contract_text import holding_lines
    from dissensus.cli.readout import say
    from dissensus.run.holding import holdings

    held = holdings(record)
    if as_json:
        now = [one.agent for one in held if one.closed_by is None]
        document = {"record": str(record), "holder": now[-1] if now else None, "held": msgspec.to_builtins(held)}
        show_json(document)
        return
    for line in holding_lines(held):
        say(line)
