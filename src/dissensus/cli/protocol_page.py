"""A protocol as a page of Markdown: its moves, what they make whom owe, and what its states mean."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from dissensus.say.protocol import RESUME

if TYPE_CHECKING:
    from dissensus.say.protocol import Move, Protocol


def page(protocol: Protocol) -> str:
    """The page. States in which the same move is possible share a row."""
    roles = [f"{role.name} ({role.count})" for role in protocol.roles.values()]
    facts = [
        f"Roles: {', '.join(roles)}. {protocol.starter} begins in `{protocol.start}`.",
        f"Profile: {protocol.profile} of {', '.join(protocol.profiles)}. Delivery: {protocol.delivery}.",
    ]
    if protocol.must_correlate:
        facts.append("An answer has to carry in_reply_to if its question carried reply_with.")
    if protocol.source:
        facts.insert(0, f"Source: {protocol.source}.")
    moves = [("in", "act", "from > to", "next", "what it does")]
    moves += [_row(sources, move) for sources, move in _joined(protocol.moves)]
    states = [("state", "shown as", "means")]
    states += [
        (state.name, state.shown, _lapsing(state.after, state.may_lapse, state.lapses_as))
        for state in protocol.states.values()
    ]
    parts = [
        f"# {protocol.name}",
        protocol.title,
        "\n".join(facts),
        "## Moves",
        table(moves),
        "## States",
        table(states),
    ]
    return "\n\n".join(part for part in parts if part)


def table(rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table whose first row is its head, in columns of even width."""
    cells = [[cell.replace("|", "\\|").replace("\n", " ") for cell in row] for row in rows]
    widths = [max(len(row[column]) for row in cells) for column in range(len(cells[0]))]
    lines = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |" for row in cells
    ]
    return "\n".join([lines[0], "| " + " | ".join("-" * width for width in widths) + " |", *lines[1:]])


def _joined(moves: Sequence[Move]) -> Iterator[tuple[list[str], Move]]:
    found: dict[Move, list[str]] = {}
    for move in moves:
        found.setdefault(replace(move, source="", line=0), []).append(move.source)
    for move, sources in found.items():
        yield sources, move


def _row(sources: Sequence[str], move: Move) -> tuple[str, str, str, str, str]:
    kinds = f" [{', '.join(sorted(move.kinds))}]" if move.kinds else ""
    parties = f"{', '.join(move.senders)} > {move.receiver}{'*' if move.to_all else ''}"
    return ", ".join(sources), move.act + kinds, parties, move.next, "; ".join(effects(move))


def effects(move: Move) -> Iterator[str]:
    """What a move does, in phrases."""
    for one in move.opens:
        yield f"{one.debtor} owes {one.creditor}: {one.kind}"
    for kinds, verb in (
        (move.closes, "meets"),
        (() if move.origin else move.declares, "ends by saying so"),
        (move.detaches, "makes due"),
        (move.releases, "releases"),
        (move.delegates, "delegates"),
        (move.assigns, "assigns"),
    ):
        if kinds:
            yield f"{verb}: {', '.join(kinds)}"
    if move.origin and move.declares:
        yield "ends that it was called off" if move.next == RESUME else "ends whatever is open"
    if move.by is not None:
        yield f"within {move.by:g} s"
    elif move.deadline:
        yield "by its reply_by" if move.deadline == "message" else "without deadline"
    if move.when is not None:
        yield f"if {move.when.text}"
    if move.late == "reject":
        yield "discarded if late"
    if move.quiet:
        yield "silence is an answer"
    if move.repeat:
        yield "again and again"
    if move.most is not None:
        yield f"at most {move.most} times"
    if move.sub:
        yield "third parties: any protocol" if move.sub == "any" else f"third parties: {move.sub}"
    if move.forwards:
        yield "passes on what a third party answered" + (", once" if move.forwards == "once" else "")


def _lapsing(after: str, kinds: Sequence[str], act: str | None) -> str:
    more = [after] if after else []
    if kinds:
        more.append(f"May stay open: {', '.join(kinds)}.")
    if act:
        more.append(f"Silence past the deadline counts as {act}.")
    return " ".join(more)
