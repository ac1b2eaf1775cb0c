"""``dissensus protocol check|draw|traces``: what is wrong with a protocol, how it looks, and what it allows."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dissensus.cli.json_document import show_json
from dissensus.errors import StorageError, UsageError

if TYPE_CHECKING:
    from dissensus.say.protocol import Protocol
    from dissensus.say.protocol_checks import Fault
    from dissensus.say.traces import Trace

FOUND = 1
_UNREADABLE = "unknown-act"
"""Traces with this fault are left out of ``--json``: an audit refuses a log that names an act nobody knows."""


@click.command()
@click.argument("names", nargs=-1, metavar="[NAME|FILE]...")
@click.option("--profile", metavar="PROFILE", help="Only under this.  [default: all that the file knows]")
@click.option("--all", "everything", is_flag=True, help="Check every protocol that is shipped, too.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def check(*, names: tuple[str, ...], profile: str | None, everything: bool, as_json: bool) -> None:
    """Look for faults in protocols, each with the shortest conversation that shows it.

    docs/protocol-checks.md explains the codes P01 to P15. Exit code 1: there is an error; warnings alone give 0.

    \b
    dissensus protocol check fipa-contract-net
    dissensus protocol check ours.yaml --profile strict
    """  # noqa: D301 - click reads the control character
    from dissensus.say.protocol_file import shipped

    wanted = list(dict.fromkeys((*names, *(shipped() if everything else ()))))
    if not wanted:
        raise UsageError("No protocol is named.", next_step="Name some, or give --all for those that are shipped.")
    results = [_checked(name, profile) for name in wanted]
    errors = sum(fault["level"] == "error" for each in results for fault in each["faults"])
    warnings = sum(len(each["faults"]) for each in results) - errors
    if as_json:
        show_json({"protocols": results, "counts": {"errors": errors, "warnings": warnings}})
    else:
        for each in results:
            _tell(each)
        click.echo(f"{_count(errors, 'error')}, {_count(warnings, 'warning')}, {_count(len(results), 'protocol')}")
    if errors:
        sys.exit(FOUND)


def _checked(name: str, profile: str | None) -> dict[str, Any]:
    """Faults of one protocol under each profile; what is wrong under several stands once, with their names."""
    from dissensus.say.protocol_checks import check as faults_of
    from dissensus.say.protocol_file import find_protocol

    first = find_protocol(name, profile or "fipa", strict=False)
    profiles = [profile] if profile else list(first.profiles)
    found: dict[Fault, list[str]] = {}
    for each in profiles:
        protocol = first if each == first.profile else find_protocol(name, each, strict=False)
        for fault in faults_of(protocol):
            found.setdefault(fault, []).append(each)
    return {
        "name": first.name,
        "path": first.path,
        "profiles": profiles,
        "faults": [
            {
                "code": fault.code,
                "level": fault.level,
                "line": fault.line,
                "message": fault.message,
                "trace": list(fault.trace),
                "profiles": under,
            }
            for fault, under in sorted(found.items(), key=lambda item: (item[0].code, item[0].line))
        ],
    }


def _tell(result: dict[str, Any]) -> None:
    faults: Sequence[dict[str, Any]] = result["faults"]
    under = ", ".join(result["profiles"])
    errors = sum(fault["level"] == "error" for fault in faults)
    state = "ok" if not errors else _count(errors, "error")
    click.echo(f"{result['name']} ({under}): {state}")
    for fault in faults:
        where = f"{result['path']}:{fault['line']}" if fault["line"] else result["path"]
        some = f" ({', '.join(fault['profiles'])} only)" if fault["profiles"] != result["profiles"] else ""
        click.echo(f"  {where}: {fault['code']} {fault['level']}: {fault['message']}{some}")
        for line in fault["trace"]:
            click.echo(f"      {line}")


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


@click.command()
@click.argument("name", metavar="NAME|FILE")
@click.option("--profile", default="fipa", show_default=True, metavar="PROFILE", help="Reading of the protocol.")
@click.option("--mermaid", "as_mermaid", is_flag=True, help="Print Mermaid text: the default without --svg.")
@click.option("--svg", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Write a picture there.")
@click.option("--everything", is_flag=True, help="Draw arrows for cancel and not-understood, too, instead of notes.")
@click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON document: the Mermaid text, and the file written."
)
def draw(*, name: str, profile: str, as_mermaid: bool, svg: Path | None, everything: bool, as_json: bool) -> None:
    """Draw the protocol NAME, or the one in FILE: as Mermaid text, or as an SVG picture (the extra `draw`)."""
    from dissensus.say.drawing import mermaid
    from dissensus.say.protocol_file import find_protocol

    protocol = find_protocol(name, profile, strict=False)
    if svg is not None:
        from dissensus.say.picture import svg as picture

        text = picture(protocol, everything=everything)
        try:
            svg.write_text(text, encoding="utf-8")
        except OSError as error:
            raise StorageError(
                f"The picture cannot be written to {svg}: {error.strerror or error}.",
                next_step="Choose another file with --svg.",
            ) from error
        click.echo(f"wrote {svg}", err=True)
    if as_json:
        text = mermaid(protocol, everything=everything)
        written = None if svg is None else str(svg)
        show_json({"protocol": protocol.name, "profile": profile, "mermaid": text, "svg": written})
    elif svg is None or as_mermaid:
        click.echo(mermaid(protocol, everything=everything), nl=False)


@click.command()
@click.argument("name", metavar="NAME|FILE")
@click.option("--profile", default="fipa", show_default=True, metavar="PROFILE", help="Reading of the protocol.")
@click.option("--negative", is_flag=True, help="Conversations with one fault each, instead of such without any.")
@click.option("--json", "as_json", is_flag=True, help="Print one message a line, as `dissensus audit` reads them.")
def traces(*, name: str, profile: str, negative: bool, as_json: bool) -> None:
    """Write conversations that keep to the protocol NAME, or to the one in FILE, or such as break it.

    Those that keep to it go a shortest way through every move. With --negative, one thing is changed in each: a message
    is missing, twice there, late, or comes from a stranger.
    """
    from dissensus.say.protocol_file import find_protocol
    from dissensus.say.traces import negative_traces, positive_traces

    protocol = find_protocol(name, profile, strict=False)
    made = negative_traces(protocol) if negative else positive_traces(protocol)
    if as_json:
        _print_lines(protocol, made)
    else:
        _print_traces(made)


def _print_lines(protocol: Protocol, made: Iterable[Trace]) -> None:
    import msgspec

    left_out = 0
    for trace in made:
        if trace.fault == _UNREADABLE:
            left_out += 1
            continue
        for m in trace.messages:
            times = {key: _iso(value) for key in ("at", "reply_by") if (value := getattr(m, key)) is not None}
            click.echo(msgspec.json.encode(msgspec.to_builtins(m) | times).decode())
    if left_out:
        click.echo(f"left out {_count(left_out, 'trace')} with an act that nobody knows: no audit reads them", err=True)
    if protocol.profile != "fipa":
        click.echo(f"audit them with --profile {protocol.profile}", err=True)


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")


def _print_traces(made: Iterable[Trace]) -> None:
    for trace in made:
        click.echo(f"{trace.name}: {f'{trace.fault}, in ' if trace.fault else ''}{trace.shows}")
        for at, m in enumerate(trace.messages):
            mark = "!" if at == trace.at else " "
            kind = f"[{m.content_type}]" if m.content_type else ""
            about = f" about {m.about}" if m.about else ""
            click.echo(f"  {mark} {m.sender} > {', '.join(m.receivers)}: {m.act}{kind}{about}")
