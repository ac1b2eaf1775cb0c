"""``dissensus model``: the local models that can be had, and where they lie."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from dissensus.cli.json_document import show_json

if TYPE_CHECKING:
    from dissensus.agents.catalogue import Entry
    from dissensus.agents.download import Progress, Watch

_TALK_EVERY_S = 5.0


@click.group()
def model() -> None:
    """List, install and find the small local models that need no key and no server."""


@model.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def list_models(*, as_json: bool) -> None:
    """Show the catalogue: what each model is, whose it is, how large, and whether it is installed."""
    from dissensus.agents.catalogue import entries

    if as_json:
        show_json([_data(entry) for entry in entries()])
        return
    for entry in entries():
        data = _data(entry)
        click.echo(f"{entry.name}  {data['state']}  {entry.size / 1e6:,.0f} MB  {entry.license}")
        click.echo(f"    {entry.title}. {_sentence(entry.use)}")
        click.echo(f"    {_sentence(entry.provenance)}")
        click.echo(f"    sha256 {entry.sha256}")


@model.command()
@click.argument("name")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def install(name: str, *, as_json: bool) -> None:
    """Fetch the model NAME into the cache and check its digest. Goes on where an earlier attempt stopped."""
    from dissensus.agents.catalogue import find
    from dissensus.agents.download import install as fetch_model

    entry = find(name)
    with _progress(entry.name) as watch:
        path = fetch_model(entry, watch=watch)
    if as_json:
        show_json(_data(entry))
    else:
        click.echo(path)


@model.command()
@click.argument("name")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def path(name: str, *, as_json: bool) -> None:
    """Print where the installed model NAME lies."""
    from dissensus.agents.catalogue import find, locate

    found = locate(find(name).name)
    if as_json:
        show_json(_data(find(name)))
    else:
        click.echo(found.path)


def _data(entry: Entry) -> dict[str, Any]:
    from dissensus.agents.catalogue import State, path_of, state_of

    state = state_of(entry)
    return {
        "name": entry.name,
        "title": entry.title,
        "use": entry.use,
        "license": entry.license,
        "provenance": entry.provenance,
        "size": entry.size,
        "sha256": entry.sha256,
        "state": str(state),
        "path": None if state is State.ABSENT else str(path_of(entry)),
    }


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + "."


@contextlib.contextmanager
def _progress(name: str) -> Iterator[Watch]:
    """Show progress on standard error: a bar on a terminal, else a line now and then."""
    if not sys.stderr.isatty():
        yield _Lines(name)
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeRemainingColumn, TransferSpeedColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    with Bar(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(name, total=None)

        def watch(progress: Progress) -> None:
            bar.update(task, completed=progress.done, total=progress.total, description=f"{name}: {progress.doing}")

        yield watch


class _Lines:
    """Progress as lines: one at the start, one when the work changes, and one every few seconds."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._doing = ""
        self._said = 0.0

    def __call__(self, progress: Progress) -> None:
        now = time.monotonic()
        if progress.doing == self._doing and now - self._said < _TALK_EVERY_S:
            return
        self._doing, self._said = progress.doing, now
        share = f"{progress.done / 1e6:,.0f} of {progress.total / 1e6:,.0f} MB"
        click.echo(f"{self.name}: {share}, {progress.doing}", err=True)
