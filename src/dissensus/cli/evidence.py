"""``dissensus evidence``: pin files, and see whether what claims cite still stands where they say."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from dissensus.decide.dispute.evidence import Evidence, Reopened
    from dissensus.interop.evidence_items import ItemFile

FOUND = 1
"""Exit status: the check ran, and something does not reopen or carries no evidence."""
_SHOWN = 80


@click.group()
def evidence() -> None:
    """Pin files as evidence, and reopen what claims cite."""


@evidence.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--sources", multiple=True, metavar="DIR", type=click.Path(path_type=Path, exists=True),
    help="Folder of captured files, or one such file.  [default: the folder of FILE]",
)  # fmt: skip
@click.option("--no-live", is_flag=True, help="Do not look at the files that items were captured from.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
def check(*, files: tuple[Path, ...], sources: tuple[Path, ...], no_live: bool, as_json: bool) -> None:
    """Reopen all evidence in FILE and print one result per line.

    FILE holds JSON lines: a claim with its `evidence`, or one item of evidence, on each; or it is one debate of the
    NYU experiments, or questions of RAMDocs. An item has a `digest` (SHA-256 of the captured bytes), a `quote`, and
    `selectors` that say where it stands:

    \b
    {"type": "text", "start": 0, "end": 10}     code points, from 0, end exclusive
    {"type": "token", "start": 3, "end": 7}     tokens, from 0, end exclusive
    {"type": "quote", "exact": "…"}             wherever it stands; "prefix", "suffix"
    {"type": "line", "first": 4, "last": 5}     from 1, last inclusive
    {"type": "csv", "row": 2, "col": "qty"}     from 1, row 1 is the header line
    {"type": "json", "pointer": "/lines/0"}     RFC 6901
    {"type": "page", "page": 3}                 from 1

    Results: EXACT, REPAIRED (but for ligatures, hyphenation, white space, quotes, dashes, case), MOVED, and those that
    settle nothing: CHANGED, NOT_FOUND, SOURCE_MISSING, OUT_OF_RANGE, AMBIGUOUS. A claim without evidence is INCOMPLETE.
    Ends with 1 if there is any of these.
    """  # noqa: D301 - click reads the control character
    from dissensus.errors import UsageError
    from dissensus.interop.evidence_items import read_items

    counts: Counter[str] = Counter()
    typed: Counter[bool] = Counter()
    read = [read_items(path) for path in files]  # all of it, so that an error is not the end of a list
    for file in read:
        if not (file.items or file.typed or file.debate):
            raise UsageError(
                f"{file.path} holds no claim and no evidence.",
                next_step="Give JSON lines: a claim with its evidence, or one item of evidence, on each.",
            )
    passed_over: list[Path] = []
    for file in read:
        for line in _checked(file, sources or (file.path.parent,), passed_over, live=not no_live):
            _count(line, counts, typed)
            _show(line, as_json=as_json)
    _conclude(counts, typed, passed_over)
    if set(counts) - {"EXACT", "REPAIRED", "MOVED"}:
        sys.exit(FOUND)


@evidence.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--store", metavar="DIR", default="evidence", show_default=True, type=click.Path(path_type=Path, file_okay=False),
    help="Folder of the copies.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
def pin(*, paths: tuple[Path, ...], store: Path, as_json: bool) -> None:
    """Keep a copy of each file under its SHA-256, and print that digest.

    Evidence points into such a copy. What becomes of the file later changes nothing in it.
    """
    from dissensus.interop.evidence_files import pin as keep
    from dissensus.interop.evidence_files import pin_line

    for path in paths:
        pinned = keep(path, store)
        click.echo(pin_line(pinned) if as_json else f"{pinned.digest}  {pinned.media}  {pinned.path}")


def _checked(
    file: ItemFile, folders: tuple[Path, ...], passed_over: list[Path], *, live: bool
) -> Iterator[dict[str, Any]]:
    from dissensus.decide.dispute.reopening import reopen
    from dissensus.interop.evidence_files import Folders, LiveFiles

    sources = Folders(folders, passed_over=passed_over)
    for source in file.sources:
        sources.add(source)
    look = LiveFiles(file.path.parent) if live else None
    for item in file.items:
        head = {"file": str(file.path), "line": item.line, "claim": item.claim.id if item.claim else None}
        if item.claim is not None and not item.evidence and not file.debate:
            yield {**head, "result": "INCOMPLETE", "hint": "The claim has no evidence; it is not weighed."}
        for each in item.evidence:
            read = sources.in_dialect(each)
            yield {**head, **_result(read, reopen(read, sources, look))}
    for quote in file.typed:
        head = {"file": str(file.path), "line": 0, "claim": quote.claim}
        yield {**head, "result": None, "typed": True, "verified": quote.verified, "quote": quote.text}


def _result(item: Evidence, found: Reopened) -> dict[str, Any]:
    from dissensus.decide.dispute.selector_data import selector_data

    return {
        "evidence": item.id or None,
        "source_sha256": item.digest,
        "result": found.result,
        "live": found.live,
        "settles": found.settles,
        "selectors": [selector_data(each) for each in item.selectors],
        "selector": None if found.selector is None else selector_data(found.selector),
        "quote": item.quote,
        "text": found.text,
        "partial": found.partial,
        "cut": found.cut or None,
        "damaged": found.damaged,
        "contradictory": found.contradictory,
        "unread": found.unread,
        "hint": found.hint or None,
    }


def _count(line: dict[str, Any], counts: Counter[str], typed: Counter[bool]) -> None:
    if line.get("typed"):
        typed[line["verified"]] += 1
    else:
        counts[line["result"]] += 1


def _show(line: dict[str, Any], *, as_json: bool) -> None:
    import json

    text = json.dumps(line, ensure_ascii=False) if as_json else _plain(line)
    try:
        text.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        text = json.dumps(line) if as_json else text.encode("ascii", "backslashreplace").decode()
    click.echo(text)


def _plain(line: dict[str, Any]) -> str:
    """A result as a line of text: the result, where, what stands there, and why it settles nothing."""
    import json

    where = line.get("evidence") or line["claim"] or f"line {line['line']}"
    if line["claim"] and line.get("evidence") and line["claim"] not in where:
        where = f"{line['claim']}/{where}"
    if line.get("typed"):
        state = "typed, verified" if line["verified"] else "typed, unverified"
        return f"{state:<18}{where}  {json.dumps(_cut(line['quote']), ensure_ascii=False)}"
    said = line["result"] + (" partial" if line.get("partial") else "")
    parts = [f"{said:<18}{where}"]
    if line.get("text") is not None:
        parts.append(json.dumps(_cut(line["text"]), ensure_ascii=False))
    if line.get("live") in ("CHANGED", "GONE"):
        parts.append(f"[live: {line['live']}]")
    if line.get("hint"):
        parts.append(line["hint"])
    return "  ".join(parts)


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


def _conclude(counts: Counter[str], typed: Counter[bool], passed_over: list[Path]) -> None:
    """Say the sums on stderr."""
    items = sum(counts.values()) - counts["INCOMPLETE"]
    said = ", ".join(f"{number} {name}" for name, number in sorted(counts.items()) if number)
    click.echo(f"{items} item{'' if items == 1 else 's'} of evidence: {said or 'none'}", err=True)
    if typed:
        click.echo(
            f"{typed.total()} quotes typed without an anchor, which are no evidence: {typed[True]} stand in the source,"
            f" {typed[False]} do not",
            err=True,
        )
    if passed_over:
        many = "1 file" if len(passed_over) == 1 else f"{len(passed_over)} files"
        click.echo(f"not looked at in the folder of sources: {many}, too large or not readable", err=True)
