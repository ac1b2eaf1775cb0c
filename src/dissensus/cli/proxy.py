"""``dissensus proxy``: stand between programs, judge what passes, and stop what must not."""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dissensus.cli.readout import clean
from dissensus.errors import MissingExtra, UsageError

if TYPE_CHECKING:
    from dissensus.interop.a2a_watch import A2AMonitor, A2AWatch
    from dissensus.say.verdicts import Finding, Obligation

FOUND = 1
"""Exit status: it ran, and there were violations or broken promises."""
_WATCH_S = 5.0
_LOOKS = 4
"""Seconds between looks at the clock, and how many looks there are at least within a span of ``--deadline``."""


@click.group()
def proxy() -> None:
    """Stand between programs, judge what passes, and stop what must not."""


@proxy.command()
@click.option("--to", required=True, metavar="URL", help="Address of the A2A server.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on; this machine only.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, show_default=True, help="0 takes a free one.")
@click.option("--block", is_flag=True, help="Stop what is not legal, in both directions.")
@click.option(
    "--log", metavar="FILE", type=click.Path(path_type=Path, dir_okay=False),
    help="Append what passes; `dissensus audit` reads it.",
)  # fmt: skip
@click.option("--deadline", metavar="SPAN", help="What has no deadline of its own is overdue after this: 30s, 5 min.")
@click.option("--timeout", default="5 min", show_default=True, metavar="SPAN", help="Silence that the server may keep.")
@click.option(
    "--wire-version", type=click.Choice(["0.3", "1.0"]), help="Version of A2A.  [default: told from the traffic]"
)
@click.option("--complete", is_flag=True, help="All tasks began here: one that nobody made is a fault.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document at the end.")
def a2a(
    *,
    to: str,
    host: str,
    port: int,
    block: bool,
    log: Path | None,
    deadline: str | None,
    timeout: str,
    wire_version: str | None,
    complete: bool,
    as_json: bool,
) -> None:
    """Pass A2A on JSON-RPC on to the server at URL, and say who owes what.

    Clients talk to the address that is printed. What is legal passes unchanged. Ctrl-C, or SIGTERM, ends it with the
    report of an audit; it ends with 1 if there were violations or broken promises.

    \b
    dissensus proxy a2a --to http://127.0.0.1:9000 --port 8123
    dissensus proxy a2a --to http://127.0.0.1:9000 --block --log traffic.jsonl --deadline 30s
    """  # noqa: D301 - click reads the control character
    try:
        import anyio

        from dissensus.interop.a2a_proxy import A2AProxy
        from dissensus.interop.a2a_watch import A2AMonitor, A2AWatch
        from dissensus.interop.loopback import serving
    except ModuleNotFoundError as error:
        if error.name not in {"starlette", "uvicorn"}:
            raise
        raise MissingExtra("The proxy", extra="proxy") from None

    ttl = None if deadline is None else _span("--deadline", deadline)
    silence = _span("--timeout", timeout)
    options = {**({"version": wire_version} if wire_version else {}), **({"complete": True} if complete else {})}
    every = _WATCH_S if ttl is None else min(ttl / _LOOKS, _WATCH_S)
    monitor = A2AMonitor(ttl=ttl, wire=options, watch=every, on_violation=_wrong, on_overdue=_late)
    watch = A2AWatch(monitor, log)

    async def run() -> None:
        server = A2AProxy(to, watch, block=block, timeout=silence)
        try:
            with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
                async with serving(server, host, port) as address:
                    click.echo(f"listening on {address}, for {server.to}", err=True)
                    async for _ in signals:
                        break
        finally:
            await server.close()

    try:
        with monitor:
            anyio.run(run)
    finally:
        watch.close()
    _report(monitor, watch, as_json=as_json)
    if not monitor.audit().clean():
        sys.exit(FOUND)


def _report(monitor: A2AMonitor, watch: A2AWatch, *, as_json: bool) -> None:
    if as_json:
        from dissensus.cli.json_document import show_json

        show_json(monitor.report() | {"proxy": dict(sorted(watch.counts.items()))})
        return
    from dissensus.cli.audit_text import text_lines

    for line in text_lines(monitor.audit()):
        click.echo(line)
    if watch.counts:
        click.echo(", ".join(f"{number:,} {what}" for what, number in sorted(watch.counts.items())))


def _wrong(finding: Finding) -> None:
    thread = finding.thread or ""
    says = finding.says if finding.says.startswith(thread) else f"{thread}: {finding.says}"
    click.echo(clean(f"{finding.verdict} #{finding.seq} {says}"), err=True)


def _late(owed: Obligation) -> None:
    click.echo(clean(f"overdue {owed.thread}: {owed.debtor} owes {owed.creditor} {owed.kind}"), err=True)


def _span(option: str, text: str) -> float:
    from dissensus.agents.durations import seconds_of

    try:
        found = seconds_of(text)
    except ValueError as error:
        raise UsageError(f"{option} {text!r} {error}.", next_step="Write it like 30s, 5 min or 2 h.") from None
    return found
