"""``dissensus model``: the local models that can be had, where they lie, and whether a model continues texts."""

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
    """List, install and find the small local models that need no key and no server; probe any model."""


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


@model.command()
@click.argument("name")
@click.option(
    "--option", "options", multiple=True, metavar="KEY=VALUE", help="An option of the model; may be repeated."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def probe(name: str, *, options: tuple[str, ...], as_json: bool) -> None:
    """Ask the model NAME whether it continues texts as agents that write together need it.

    NAME is a reference as in a panel file: an installed model, llama:PATH, openai:MODEL@URL. Exit code 1 if something
    is broken.
    """
    import anyio

    from dissensus.agents.probe import Probed
    from dissensus.agents.probe import probe as ask
    from dissensus.agents.registry import open_model

    opened = open_model(name, _options(options))

    async def run() -> Probed:
        try:
            return await ask(opened)
        finally:
            await opened.close()

    found = anyio.run(run)
    if as_json:
        show_json(
            {
                "model": found.model,
                "capabilities": list(found.capabilities),
                "fidelity": found.fidelity,
                "sound": found.sound,
                "checks": [
                    {"check": one.check, "verdict": one.verdict, "detail": one.detail} for one in found.findings
                ],
            }
        )
    else:
        click.echo(found.model)
        for one in found.findings:
            click.echo(f"{one.verdict:<8} {one.check:<9} {one.detail}")
        click.echo(f"a shared text can be continued: {found.fidelity}")
    if not found.sound:
        sys.exit(1)


def _options(given: tuple[str, ...]) -> dict[str, object]:
    """``KEY=VALUE`` each; a value is read as YAML, so that numbers, yes and lists are what they look like."""
    import yaml

    from dissensus.errors import UsageError

    options: dict[str, object] = {}
    for one in given:
        key, equals, value = one.partition("=")
        if not equals or not key:
            raise UsageError(f"{one!r} is no option.", next_step="Write it like server=llama.cpp.")
        options[key] = yaml.safe_load(value)
    return options


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
