"""``dissensus record``: check, read and exchange the records of runs."""

from __future__ import annotations

import contextlib
import sys
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from dissensus.cli.json_document import show_json
from dissensus.errors import RecordDamaged, RecordError, SpecError, UsageError

if TYPE_CHECKING:
    from dissensus.record.event import Event
    from dissensus.record.store import Store
    from dissensus.record.verify import Progress, Verified

DAMAGED = 4
_PATIENCE_S = 2.0
"""A check that takes longer shows how far it has come."""


@click.group()
def record() -> None:
    """Verify, show, export and import records."""


@record.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--head", metavar="HASH", help="The hash that the last event must have, 64 hex digits.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def verify(paths: tuple[Path, ...], head: str | None, *, as_json: bool) -> None:
    """Check every byte of the records at PATHS (.db, .jsonl, or folders of them).

    A changed, missing or moved event is named. That events were cut off at the end only shows against a hash that was
    noted before: --head. Exit code 4 if a record is damaged.
    """
    records = [one for path in paths for one in _records(path)]
    if head is not None and len(records) != 1:
        raise UsageError("--head is the hash of one record.", next_step="Name one record.")
    found = [_checked(one, _hash(head)) for one in records]
    if as_json:
        show_json(found if len(found) > 1 else found[0])
    else:
        for one in found:
            click.echo(_verdict(one))
    damaged = sum(not one["ok"] for one in found)
    if len(found) > 1:
        click.echo(f"{len(found)} records, {damaged or 'none'} damaged", err=True)
    if damaged:
        sys.exit(DAMAGED)


@record.command()
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--at", metavar="SEQ", type=click.IntRange(min=1), help="Show this one event, in full.")
@click.option("--last", metavar="N", type=click.IntRange(min=1), help="Show the last N events.")
@click.option("--kind", "kinds", metavar="KIND", multiple=True, help="Show events of this kind; may be given twice.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def show(path: Path, at: int | None, last: int | None, kinds: tuple[str, ...], *, as_json: bool) -> None:
    """Show the events of the record at PATH, one line each."""
    from dissensus.record.opening import open_record

    with open_record(path) as store:
        if at is not None:
            event = next(store.read(at, at + 1), None)
            if event is None:
                raise UsageError(f"{path} has no event {at}.", next_step=f"Its last event is number {len(store)}.")
            _show_one(event, as_json=as_json)
        elif as_json:
            _print_list(_chosen(store, last, kinds))
        else:
            _show_lines(_chosen(store, last, kinds))


@record.command()
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--jsonl", is_flag=True, default=True, help="Write JSON lines (the one format there is).")
@click.option("-o", "--output", metavar="FILE", type=click.Path(path_type=Path), help="Where to; else standard output.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document about the file that was written.")
def export(path: Path, output: Path | None, *, jsonl: bool, as_json: bool) -> None:  # noqa: ARG001 - one format
    """Write the record at PATH as JSON lines, byte for byte, for other programs and other machines."""
    from dissensus.record.jsonl import export_jsonl, write_jsonl
    from dissensus.record.opening import open_record

    if output is None:
        if as_json:
            raise UsageError("--json and the record cannot both go to standard output.", next_step="Add -o FILE.")
        with open_record(path) as store:
            write_jsonl(store, sys.stdout.buffer)
        return
    head = export_jsonl(path, output)
    if as_json:
        show_json({"record": str(output), "events": head.seq, "head": head.hash.hex()})
    else:
        click.echo(f"{output}  {_count(head.seq)}, head {head.hash.hex()}")


@record.command("import")
@click.argument("path", metavar="FILE.jsonl", type=click.Path(path_type=Path))
@click.option(
    "-o", "--output", metavar="FILE.db", type=click.Path(path_type=Path), required=True, help="The new record."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def import_(path: Path, output: Path, *, as_json: bool) -> None:
    """Verify the record in FILE.jsonl and write it, byte for byte, to a new record."""
    from dissensus.record.jsonl import import_jsonl

    if output.suffix == ".jsonl":
        raise UsageError("The new record must not be called .jsonl.", next_step="Give it a name that ends in .db.")
    with _progress() as progress:
        found = import_jsonl(path, output, progress=progress)
    if as_json:
        show_json({"record": str(output), "events": found.events, "head": found.head})
    else:
        click.echo(f"{output}  {_count(found.events)}, head {found.head}")


def _records(path: Path) -> list[Path]:
    """The records at ``path``: itself, or all in it if it is a folder."""
    if not path.is_dir():
        return [path]
    found = sorted(one for suffix in ("*.db", "*.jsonl") for one in path.rglob(suffix))
    if not found:
        raise SpecError("there are no records in this folder.", path=str(path), next_step="Name another.")
    return found


def _hash(text: str | None) -> str | None:
    if text is not None and (len(text) != 64 or set(text.lower()) - set("0123456789abcdef")):
        raise UsageError(f"--head {text!r:.80} is no hash.", next_step="Give the 64 hex digits that verify prints.")
    return text and text.lower()


def _checked(path: Path, head: str | None) -> dict[str, Any]:
    """The result of verifying one record, as data."""
    from dissensus.record.verify import verify as verify_record

    result: dict[str, Any] = {"record": str(path), "ok": True}
    try:
        with _progress() as progress:
            found = verify_record(path, progress=progress)
        if head is not None and found.head != head:
            _refuse_head(path, found, head)
    except RecordError as error:
        seq = error.seq or None if isinstance(error, RecordDamaged) else None
        return {**result, "ok": False, "event": seq, "error": error.code, "message": str(error)}
    return {
        **result,
        "run": found.run_id,
        "events": found.events,
        "head": found.head,
        "complete": found.complete,
        "long_texts": found.blobs,
    }


def _refuse_head(path: Path, found: Verified, head: str) -> NoReturn:
    from dissensus.record.opening import open_record

    with open_record(path) as store:
        place = next((seq for seq, _, link in store.rows() if link.hex() == head), 0)
    if place:
        more = f"That is the hash of event {place}, and {_count(found.events - place)} follow."
    else:
        more = "No event in it has that hash: events were cut off, or the record was written anew."
    raise RecordDamaged(f"{path} is whole, but does not end in {head}.", next_step=more)


def _verdict(one: dict[str, Any]) -> str:
    if not one["ok"]:
        return f"DAMAGED  {_printable(one['message'])}"
    state = "complete" if one["complete"] else "not finished"
    return f"ok       {one['record']}  {_count(one['events'])}, {state}, head {one['head']}"


def _count(events: int) -> str:
    return f"{events:,} event{'' if events == 1 else 's'}"


def _chosen(store: Store, last: int | None, kinds: tuple[str, ...]) -> Iterator[Event]:
    if not kinds:
        return iter(store.tail(last)) if last else store.read()
    of_kind = (event for event in store.read() if event.kind in kinds)
    return iter(deque(of_kind, maxlen=last)) if last else of_kind


def _show_lines(events: Iterator[Event]) -> None:
    """One line per event, as they are read; with colours and cut to the width on a terminal."""
    if not sys.stdout.isatty():
        for event in events:
            click.echo("  ".join(part for part in (*_columns(event), _gist(event)) if part).rstrip())
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False)
    for event in events:
        parts = zip((*_columns(event), _gist(event)), ("dim", "dim", "bold cyan", "green", "dim", ""), strict=True)
        console.print(
            Text("  ").join(Text(part, style) for part, style in parts if part), no_wrap=True, overflow="ellipsis"
        )


def _columns(event: Event) -> tuple[str, ...]:
    return (
        f"{event.seq:>6}",
        _when(event.time),
        f"{_printable(event.kind):<9}",
        f"{_printable(event.actor):<10}",
        _printable(event.key),
    )


def _gist(event: Event, most: int = 200) -> str:
    """What an event says, in one line."""
    body = event.body
    outcome = body.get("outcome")
    if isinstance(outcome, dict):
        said = next((outcome[name] for name in ("text", "problem", "answer", "verdict") if outcome.get(name)), "")
        text = f"{outcome.get('kind')}: {said}"
    elif isinstance(body.get("text") or body.get("prompt"), str):
        text = body.get("text") or body["prompt"]
    else:
        import msgspec

        text = msgspec.json.encode(body).decode() if body else ""
    return _printable(text if len(text) <= most else f"{text[:most]}…")


def _show_one(event: Event, *, as_json: bool) -> None:
    import json

    if as_json:
        show_json(_data(event))
        return
    who = event.visibility if isinstance(event.visibility, str) else ", ".join(event.visibility) or "nobody"
    head = {
        "event": event.seq,
        "id": event.id,
        "time": f"{_when(event.time)} UTC",
        "kind": event.kind,
        "key": event.key,
        "actor": event.actor,
        "thread": event.thread,
        "visible to": who,
    }
    for name, value in head.items():
        click.echo(f"{name:<11} {_printable(str(value))}")
    body = "\n".join(map(_printable, json.dumps(event.body, indent=2, ensure_ascii=False).split("\n")))
    if not sys.stdout.isatty():
        click.echo(body)
        return
    from rich.console import Console
    from rich.highlighter import JSONHighlighter

    Console(highlight=False).print(JSONHighlighter()(body))


def _when(seconds: float) -> str:
    from datetime import UTC, datetime

    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S")
    except (OverflowError, ValueError, OSError):
        return repr(seconds)  # a clock may say anything


def _printable(text: str) -> str:
    """``text`` without anything that could move the cursor or turn the direction: what agents write is not trusted."""
    if text.isprintable():
        return text
    import json

    return "".join(one if one.isprintable() else json.dumps(one)[1:-1] for one in text)


def _data(event: Event) -> dict[str, Any]:
    import msgspec

    data: dict[str, Any] = msgspec.to_builtins(event)
    return data


def _print_list(events: Iterator[Event]) -> None:
    """A JSON list, written as the events are read."""
    import msgspec

    click.echo("[", nl=False)
    for number, event in enumerate(events):
        click.echo(("," if number else "") + "\n" + msgspec.json.encode(_data(event)).decode(), nl=False)
    click.echo("\n]")


@contextlib.contextmanager
def _progress() -> Iterator[Progress | None]:
    """A bar on standard error, if that is a terminal and the work takes longer than two seconds."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress as Bar

    began = time.monotonic()
    with Bar(console=Console(stderr=True), transient=True, auto_refresh=False) as bar:
        task = bar.add_task("verifying", visible=False, total=None)

        def progress(done: int, total: int) -> None:
            late = time.monotonic() - began > _PATIENCE_S
            bar.update(task, completed=done, total=total, visible=late, refresh=late)

        yield progress
