"""``dissensus audit``: who owes what in a log of messages, and who moved without title."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dissensus.errors import UsageError

if TYPE_CHECKING:
    from dissensus.interop.message_logs import AuditReport, AuditSettings

WIRE_OPTIONS = {
    "followup": ("any", "input-only"),
    "retries": ("new", "duplicate"),
    "stream_ends": ("terminal", "interrupted"),
}
"""What the specification of A2A leaves open, and how it may be read; the first is what holds."""
FOUND = 1
"""Exit status: the audit ran and found violations or broken promises."""


def _list_formats(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    """Print the formats that are read, and end."""
    if not value or ctx.resilient_parsing:
        return
    from dissensus.say.readers.registry import READERS, reader_named

    for name in READERS:
        reader = reader_named(name)
        click.echo(f"{name:<14}{reader.title}: {reader.looks_for}")
    ctx.exit()


@click.command()
@click.argument("log", type=click.Path(path_type=str, allow_dash=True))
@click.option(
    "--formats", is_flag=True, is_eager=True, expose_value=False, callback=_list_formats, help="List what is read."
)
@click.option("--format", "format_", metavar="NAME", help="Format of the log.  [default: told from the log]")
@click.option(
    "--protocol", "protocols", multiple=True, metavar="NAME|FILE",
    help="Protocol of messages that name none (the first), and files of others.  [default: fipa-request]",
)  # fmt: skip
@click.option(
    "--profile", type=click.Choice(["fipa", "jade", "strict"]), default="fipa", show_default=True,
    help="Whose reading of the specifications.",
)  # fmt: skip
@click.option(
    "--delivery", type=click.Choice(["total", "fifo", "unordered"]),
    help="What the order of the log says.  [default: what each protocol says]",
)  # fmt: skip
@click.option(
    "--as-of", metavar="TIME", help="Judge deadlines by this time (ISO 8601).  [default: the last in the log]"
)
@click.option("--ttl", metavar="SPAN", help="What has no deadline expires after this: 30s, 5 min.")
@click.option("--closed", is_flag=True, help="The conversations are over: what is open will not come.")
@click.option(
    "--authority", metavar="FILE", type=click.Path(path_type=Path, dir_okay=False),
    help="YAML that says who may order whom: director: [intern].",
)  # fmt: skip
@click.option("--patterns", metavar="FILE|default", help="Tag prose by the patterns of this YAML file.")
@click.option(
    "--tagger", metavar="MODEL",
    help="Have a model guess what untagged prose does: a reference as for decide --model, or PANEL.yaml#NAME.",
)  # fmt: skip
@click.option(
    "--tagger-threshold", type=click.FloatRange(0, 1), metavar="P",
    help="Apply the model's tags of this confidence and more.  [default: 0.5]",
)  # fmt: skip
@click.option("--wire-version", metavar="V", help="Version of A2A or MCP.  [default: told from the log]")
@click.option(
    "--wire", "wire", multiple=True, metavar="KEY=VALUE",
    help="How A2A or MCP is read where it is undecided: followup=input-only, retries=duplicate …",
)  # fmt: skip
@click.option("--compare-profiles", is_flag=True, help="Say too where the profiles differ about a message.")
@click.option("--complete", is_flag=True, help="The log lacks nothing: what refers to something unseen is wrong.")
@click.option("--lenient", is_flag=True, help="Count and skip what cannot be read.")
@click.option("--all", "everything", is_flag=True, help="Show every thread, also when there are many.")
@click.option("--style", type=click.Choice(["plain", "seed"]), default="plain", help="Layout of the text.")
@click.option("--lang", type=click.Choice(["en", "it"]), help="Language of the seed style.  [default: en]")
@click.option(
    "--plots", type=click.Path(path_type=Path, file_okay=False), metavar="DIR", help="Write pictures of it there."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def audit(
    *,
    log: str,
    format_: str | None,
    protocols: tuple[str, ...],
    profile: str,
    delivery: str | None,
    as_of: str | None,
    ttl: str | None,
    closed: bool,
    authority: Path | None,
    patterns: str | None,
    tagger: str | None,
    tagger_threshold: float | None,
    wire_version: str | None,
    wire: tuple[str, ...],
    compare_profiles: bool,
    complete: bool,
    lenient: bool,
    everything: bool,
    style: str,
    lang: str | None,
    plots: Path | None,
    as_json: bool,
) -> None:
    """Say what became of every request and promise in LOG, and who moved without title.

    LOG is a file of messages (or - for standard input): ours, A2A or MCP traffic, chats with tool calls, traces of
    agent frameworks, or a record of a run. `--formats` lists what is read. Ends with 1 if a rule
    was violated or a promise broken.

    \b
    dissensus audit team.jsonl
    dissensus audit a2a.jsonl --as-of 2026-03-02T11:00:00Z --json
    dissensus audit old.log --format chatdev --lenient
    """  # noqa: D301 - click reads the control character
    from dissensus.interop.message_logs import AuditSettings, audit_file

    if tagger is None and tagger_threshold is not None:
        raise UsageError("--tagger-threshold says how sure a model has to be.", next_step="Name one with --tagger.")
    if lang is not None and style != "seed":
        raise UsageError("Only the seed style is written in several languages.", next_step="Add --style seed.")
    settings = AuditSettings(
        format=format_,
        protocol=protocols[0] if protocols else None,
        protocols=tuple(each for each in protocols[1:] if each),
        profile=profile,
        delivery=delivery,
        authority=None if authority is None else read_authority(authority),
        ttl=None if ttl is None else _span(ttl),
        as_of=None if as_of is None else _time(as_of),
        closed=closed,
        lenient=lenient,
        extra={
            **_pairs(wire),
            **({"version": wire_version} if wire_version else {}),
            **({"complete": True} if complete else {}),
        },
        patterns=patterns,
        tagger=tagger,
        **({} if tagger_threshold is None else {"tagger_threshold": tagger_threshold}),
    )
    report = _audited(log, settings, audit_file)
    if plots is not None:
        from dissensus.cli.pictures.audit_threads import draw

        for path in draw(report, plots):
            click.echo(f"wrote {path}", err=True)
    if compare_profiles:
        from dissensus.interop.profile_differences import profile_differences

        report.differences = profile_differences(log, settings)
    if as_json:
        _show(report)
    elif style == "seed":
        from dissensus.cli.audit_seed import seed_lines

        for line in seed_lines(report, lang or "en"):
            click.echo(line)
    else:
        from dissensus.cli.audit_text import text_lines

        for line in text_lines(report, everything=everything):
            click.echo(line)
    if not report.clean():
        sys.exit(FOUND)


def _audited(log: str, settings: AuditSettings, audit_file: Callable[..., AuditReport]) -> AuditReport:
    """Run the audit; on a terminal, count messages once it takes more than two seconds, or a model is asked."""
    if not sys.stderr.isatty():
        return audit_file(log, settings)
    import time

    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    begun = time.monotonic()
    columns = (SpinnerColumn(), TextColumn("{task.fields[seen]:,} messages"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True, disable=False) as bar:
        task = bar.add_task("audit", total=None, seen=0, visible=settings.tagger is not None)

        def seen(count: int) -> None:
            if settings.tagger is not None or time.monotonic() - begun > 2:
                bar.update(task, seen=count, visible=True)

        return audit_file(log, settings, progress=seen)


def read_authority(path: Path) -> dict[str, tuple[str, ...]]:
    """The map of a YAML file ``director: [intern]``, which may stand under ``authority:``.

    Raises:
        SpecError: the file is wrong; carries the line.
    """
    from dissensus.specfile import read_spec

    spec = read_spec(path, "authority file")
    found: dict[str, tuple[str, ...]] = {}
    nested = spec.data.get("authority")
    within = isinstance(nested, dict) and len(spec.data) == 1
    told: dict[str, Any] = nested if within and isinstance(nested, dict) else spec.data
    for name, whom in told.items():
        names = [whom] if isinstance(whom, str) else whom
        if not isinstance(names, list) or not all(isinstance(each, str) for each in names):
            raise spec.wrong(
                ("authority", name) if within else (name,), f"{name!r} needs a list of the agents that it may order."
            )
        found[name] = tuple(names)
    return found


def _pairs(given: tuple[str, ...]) -> dict[str, str]:
    pairs = {}
    for each in given:
        key, equals, value = each.partition("=")
        if not equals or key not in WIRE_OPTIONS:
            raise UsageError(
                f"--wire {each!r} is no option of a tracker.",
                next_step="Write KEY=VALUE; the keys are " + ", ".join(WIRE_OPTIONS) + ".",
            )
        if value not in WIRE_OPTIONS[key]:
            raise UsageError(f"--wire {key} cannot be {value!r}.", next_step=f"It is {' or '.join(WIRE_OPTIONS[key])}.")
        pairs[key] = value
    return pairs


def _span(text: str) -> float:
    from dissensus.agents.durations import seconds_of

    try:
        return seconds_of(text)
    except ValueError as error:
        raise UsageError(f"--ttl {text!r} {error}.", next_step="Write it like 30s, 5 min or 2 h.") from None


def _time(text: str) -> float:
    from dissensus.say.readers.times import seconds

    found = seconds(text)
    if found is None:
        raise UsageError(f"--as-of {text!r} is no time.", next_step="Write it like 2026-03-02T11:00:00Z.")
    return found


def _show(report: AuditReport) -> None:
    """Print the report as one JSON document; a long one is written as it is read back."""
    from dissensus.cli.json_document import show_json
    from dissensus.interop.message_logs import finding_data, obligation_data
    from dissensus.interop.spool import IN_MEMORY

    if len(report.obligations) + len(report.findings) < IN_MEMORY:
        show_json(report.to_data())
        return
    import msgspec

    out = sys.stdout.buffer
    encode = msgspec.json.Encoder().encode
    reader = report.tally.reader
    head = report.head()
    out.write(b"{" + encode(head)[1:-1])
    many: tuple[tuple[str, Any, Any], ...] = (
        ("obligations", report.obligations, obligation_data),
        ("messages", report.findings, finding_data),
    )
    for name, items, data in many:
        out.write(b',\n"' + name.encode() + b'": [')
        between = b"\n"
        for item in items:
            out.write(between + encode(data(item, reader)))
            between = b",\n"
        out.write(b"]")
    out.write(b"}\n")
    out.flush()
