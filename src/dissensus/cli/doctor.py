"""``dissensus doctor``: whether this installation can do its work, one line for each thing looked at."""

from __future__ import annotations

import sys

import click

from dissensus.cli.json_document import show_json


@click.command()
@click.option("--deep", is_flag=True, help="Also read all of each model file, and load the smallest model.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def doctor(*, deep: bool, as_json: bool) -> None:
    """Check this installation: what is there, what is missing, what is broken, and what to do about it.

    Only what is broken counts: a part that is optional and not there is "missing". Exit code 1 if anything is broken.
    """
    from dissensus.cli.doctor_checks import PROBLEM, examine

    found = examine(deep=deep)
    broken = sum(finding.status == PROBLEM for finding in found)
    if as_json:
        show_json({"ok": not broken, "checks": found})
    else:
        for finding in found:
            click.echo(f"{finding.status:<8} {finding.check:<12} {finding.detail}")
            if finding.next_step:
                click.echo(f"{'':<21} → {finding.next_step}")
        click.echo(f"{broken} broken" if broken else "nothing is broken", err=True)
    if broken:
        sys.exit(1)
