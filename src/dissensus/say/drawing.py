"""A protocol as a diagram: Mermaid text, and (:mod:`dissensus.say.picture`) SVG. Both come from the same captions.

What ``include:`` brings in may cut into nearly every state: arrows for it would hide the rest. It is told in notes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from dissensus.say.protocol import RESUME, Move, Protocol
from dissensus.say.verdicts import PERFORMANCE

OWED, SETTLED, PASSED = "+", "−", "→"
LEGEND: Final = f"{OWED} owed from then on   {SETTLED} settled   {PASSED} passed on"


@dataclass(frozen=True, slots=True)
class Caption:
    """What stands beside an arrow.

    Args:
        act: act and content types: ``inform [done]``.
        parties: ``initiator → participant*``; the star means: to each.
        owes: what it does to obligations: ``+ answer``; "" if nothing.
        terms: condition, bound and deadline, in words; "" if none.
        sender: the first role that may send it.
    """

    act: str
    parties: str
    owes: str
    terms: str
    sender: str


def caption(move: Move) -> Caption:
    """The caption of ``move``."""
    kinds = f" [{', '.join(sorted(move.kinds))}]" if move.kinds else ""
    star = "*" if move.to_all else ""
    settled = dict.fromkeys((*move.closes, *move.declares, *move.releases, *move.detaches))
    opened = dict.fromkeys(
        [*(each.kind for each in move.opens if not move.quiet), *(PERFORMANCE for _ in move.detaches)]
    )
    owes = [f"{OWED} {kind}" for kind in opened]
    owes += [f"{SETTLED} {kind}" for kind in settled]
    owes += [f"{PASSED} {kind}" for kind in dict.fromkeys((*move.delegates, *move.assigns))]
    terms: list[str] = []
    if move.when is not None:
        terms.append(f"when {move.when.text}")
    if move.most is not None:
        terms.append(f"at most {move.most} times")
    if move.by is not None:
        terms.append(f"within {move.by:g} s")
    if move.late == "reject":
        terms.append("not if late")
    if move.quiet:
        terms.append("silence is an answer")
    if move.forwards:
        terms.append("passes on an answer" if move.forwards == "any" else "passes on an answer, one of each")
    elif move.sub is not None:
        terms.append("then asks others" if move.sub == "any" else f"then asks others by {move.sub}")
    parties = f"{' or '.join(move.senders)} → {move.receiver}{star}"
    return Caption(f"{move.act}{kinds}", parties, "  ".join(owes), ", ".join(terms), move.senders[0])


def drawn(protocol: Protocol, *, everything: bool = False) -> tuple[Move, ...]:
    """The moves that get an arrow: all but those that ``include:`` brought in, unless ``everything`` is asked for.

    A move back to what was suspended has no one place to go to; it is told in a note in either case.
    """
    return tuple(move for move in protocol.moves if (everything or not move.origin) and move.next != RESUME)


def notes(protocol: Protocol, *, everything: bool = False) -> tuple[str, ...]:
    """What has no arrow, one line for each: where it may be said, what it is, and where it leads."""
    shown = drawn(protocol, everything=everything)
    gathered: dict[tuple[str, str, str, str], list[str]] = {}
    for move in protocol.moves:
        if move in shown:
            continue
        said = caption(move)
        target = "back to what was suspended" if move.next == RESUME else move.next
        gathered.setdefault((said.act, said.parties, said.owes, target), []).append(move.source)
    lines: list[str] = []
    for (act, parties, owes, target), sources in gathered.items():
        more = f"  ({owes})" if owes else ""
        lines.append(f"in {_listed(list(dict.fromkeys(sources)))}: {act} {parties}{more}: {target}")
    return tuple(lines)


def mermaid(protocol: Protocol, *, everything: bool = False) -> str:
    """``protocol`` as a Mermaid ``stateDiagram-v2``.

    Args:
        protocol: what to draw.
        everything: draw what ``include:`` brought in with arrows as well.
    """
    moves = drawn(protocol, everything=everything)
    states = states_of(protocol, moves)
    names = {state: f"s{number}" for number, state in enumerate(states)}
    lines = ["---", f"title: {_yaml(title(protocol))}", "---", "stateDiagram-v2"]
    for state, name in names.items():
        lines.append(f'    state "{_mermaid(state)}" as {name}')
    lines.append(f"    [*] --> {names[protocol.start]}")
    for move in moves:
        said = caption(move)
        text = f"{said.act} {said.parties}"
        text += "".join(f"<br/>{more}" for more in (said.owes, said.terms) if more)
        lines.append(f"    {names[move.source]} --> {names[move.next]}: {_mermaid(text)}")
    finals = [state for state in states if state in protocol.states and protocol.states[state].final]
    lines += [f"    {names[state]} --> [*]" for state in finals]
    if told := notes(protocol, everything=everything):
        lines.append(f"    note right of {names[protocol.start]}")
        lines += [f"        {_mermaid(line)}" for line in told]
        lines.append("    end note")
    return "\n".join(lines) + "\n"


def title(protocol: Protocol) -> str:
    """Name and profile."""
    return f"{protocol.name} ({protocol.profile})"


def states_of(protocol: Protocol, moves: tuple[Move, ...]) -> tuple[str, ...]:
    """States that are drawn, the start first."""
    found = dict.fromkeys([protocol.start])
    for move in moves:
        found.setdefault(move.source)
        found.setdefault(move.next)
    told = {name for move in protocol.moves if move not in moves for name in (move.source, move.next)}
    for state in protocol.states:
        if state not in told:
            found.setdefault(state)
    return tuple(found)


def _listed(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def _yaml(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _mermaid(text: str) -> str:
    """``text`` with what Mermaid reads as syntax written as entities; line breaks stay."""
    parts = text.split("<br/>")
    return "<br/>".join(
        part.replace("#", "#35;").replace(";", "#59;").replace("#35#59;", "#35;")
        .replace('"', "#quot;").replace(":", "#58;").replace("<", "#lt;").replace(">", "#gt;")
        for part in parts
    )  # fmt: skip
