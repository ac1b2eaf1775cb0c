"""What protocols may include instead of writing it out: the cancel meta-protocol, and not-understood.

FIPA SC00026 to SC00036 add both to every protocol. They are worked in as moves like any other, marked by
:attr:`~dissensus.say.protocol.Move.origin`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from dissensus.say.protocol import RESUME, Move, Opening
from dissensus.say.verdicts import CANCEL, KINDS, PERFORMANCE

CANCEL_INCLUDE, NOT_UNDERSTOOD_INCLUDE = "cancel", "not-understood"
INCLUDES: Final = (CANCEL_INCLUDE, NOT_UNDERSTOOD_INCLUDE)

CANCELLING, CANCELLED, GARBLED = "cancelling", "end.cancelled", "end.not-understood"
"""States that they bring."""
BRINGS: Final = {CANCEL_INCLUDE: (CANCELLING, CANCELLED), NOT_UNDERSTOOD_INCLUDE: (GARBLED,)}
FINALS: Final = {CANCEL_INCLUDE: CANCELLED, NOT_UNDERSTOOD_INCLUDE: GARBLED}
AFTER: Final = {
    CANCELLING: "The starter called it off; the partner has not yet said whether that was still possible.",
    CANCELLED: "It was called off, and the partner confirmed that.",
    GARBLED: "A message was not understood; nothing is owed any more.",
}


def cancel_moves(moves: Sequence[Move], states: Iterable[str], starter: str, partner: str, line: int) -> list[Move]:
    """Cancel by the starter from each of ``states``; the partner confirms, or fails and all is as it was."""
    owed = _opened(moves)
    there = [
        Move(
            source=state,
            act="cancel",
            senders=(starter,),
            receiver=partner,
            next=CANCELLING,
            opens=(Opening(CANCEL, partner, starter),),
            deadline="message",
            origin=CANCEL_INCLUDE,
            line=line,
        )
        for state in states
    ]
    done = Move(
        source=CANCELLING,
        act="inform",
        kinds=frozenset({"done"}),
        senders=(partner,),
        receiver=starter,
        next=CANCELLED,
        closes=(CANCEL,),
        declares=owed,
        origin=CANCEL_INCLUDE,
        line=line,
    )
    failed = Move(
        source=CANCELLING,
        act="failure",
        senders=(partner,),
        receiver=starter,
        next=RESUME,
        declares=(CANCEL,),
        origin=CANCEL_INCLUDE,
        line=line,
    )
    return [*there, done, failed]


def not_understood_moves(moves: Sequence[Move], states: Iterable[str], line: int) -> list[Move]:
    """Not-understood in each of ``states``, by whoever may just have received what led there, to who sent it."""
    owed, found = _opened(moves), dict[tuple[str, str, str], Move]()
    there = frozenset(states)
    written = {(move.source, sender) for move in moves if move.act == "not-understood" for sender in move.senders}
    for move in moves:
        key = (move.next, move.receiver, move.senders[0])
        if move.next in there and (move.next, move.receiver) not in written and key not in found:
            found[key] = Move(
                source=move.next,
                act="not-understood",
                senders=(move.receiver,),
                receiver=move.senders[0],
                next=GARBLED,
                declares=owed,
                origin=NOT_UNDERSTOOD_INCLUDE,
                line=line,
            )
    return list(found.values())


def _opened(moves: Iterable[Move]) -> tuple[str, ...]:
    """Kinds of obligation that may be open somewhere."""
    kinds = set[str]()
    for move in moves:
        kinds.update(opening.kind for opening in move.opens)
        if move.detaches:
            kinds.add(PERFORMANCE)
    return tuple(kind for kind in KINDS if kind in kinds) + tuple(sorted(kinds - set(KINDS)))
