"""One change to a conversation, of each kind, in each place. Whether it breaks the protocol is for others to say."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from dissensus.say.language import PLATFORM
from dissensus.say.protocol import TOTAL, Protocol
from dissensus.say.traces import PATIENCE, Said

STRANGER: Final = "stranger"
NO_ACT: Final = "no-such-act"

FAULTS: Final = (
    "drop", "swap", "wrong-sender", "wrong-receiver", "late", "duplicate", "again", "unknown-act", "wrong-kind",
    "after-close",
)  # fmt: skip
"""Kinds of change. ``duplicate`` repeats a message with its id, ``again`` with a new one."""

Changed = tuple[str, tuple[Said, ...]]


def mutations(protocol: Protocol, said: tuple[Said, ...]) -> Iterator[Changed]:
    """Every change of ``said``; some of them are still legal, or are told apart by nothing.

    Where messages may cross on the way, order alone is no fault: nothing is dropped or swapped there.
    """
    known = sorted(frozenset[str]().union(*(move.kinds for move in protocol.moves)))
    ordered = protocol.delivery == TOTAL
    for at, each in enumerate(said):
        before, after = said[:at], said[at + 1 :]
        if ordered and after:
            yield "drop", (*before, *after)
            yield "swap", (*before, after[0], each, *after[1:])
        if each.sender != PLATFORM:
            yield "wrong-sender", (*before, replace(each, sender=STRANGER, answers=""), *after)
        yield "wrong-receiver", (*before, replace(each, receivers=(STRANGER,), answers=""), *after)
        if at:
            yield "late", (*before, replace(each, delay=2 * PATIENCE), *after)
        yield "duplicate", (*before, each, replace(each, again=True), *after)
        yield "again", (*before, each, each, *after)
        yield "unknown-act", (*before, replace(each, act=NO_ACT), *after)
        for kind in known:
            if kind != each.kind:
                yield "wrong-kind", (*before, replace(each, kind=kind), *after)
    for each in (said[0], said[-1])[: len(said)]:
        more = f"{each.content} once more" if isinstance(each.content, str) else each.content
        yield "after-close", (*said, replace(each, content=more))
