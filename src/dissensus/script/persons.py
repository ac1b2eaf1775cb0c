"""What a person is asked: the answers to choose from, and the things to compare side by side.

Data only, so that a question stands on the record with all that it takes to show it weeks later, on another machine.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

_encode = msgspec.json.Encoder(order="deterministic").encode
_LIVE_CHANGES = frozenset({"CHANGED", "GONE"})


@dataclass(frozen=True, slots=True)
class Option:
    """One answer that may be chosen.

    Args:
        id: what is typed and recorded: ``A``, ``both``, ``need-more``.
        text: what it means.
        scopes: parts of which the answer has to say where they hold: of ``both``, the ids of the exhibits.
        rule: what stands for later disputes if the person says so apart: JSON data with an ``id``, a sentence ``says``,
            and whatever the procedure needs to apply it. None: this answer can be made no rule.
    """

    id: str
    text: str = ""
    scopes: tuple[str, ...] = ()
    rule: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Cited:
    """One item of evidence, and what stood there when it was reopened.

    Args:
        item: the evidence, as :func:`dissensus.decide.dispute.parsing.evidence_data` writes it.
        result: what reopening gave: ``EXACT``, ``MOVED`` …; "" if it was not reopened.
        live: what has become of the source that was captured; "" if nobody looked.
        where: the place in words: ``line 3``.
        before, text, after: what stands there, with what stands around it. ``text`` None: nothing was found.
        hint: a sentence about the result.
    """

    item: Mapping[str, Any]
    result: str = ""
    live: str = ""
    where: str = ""
    before: str = ""
    text: str | None = None
    after: str = ""
    hint: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exhibit:
    """One of the things to compare.

    Args:
        id: as the options name it: ``A``.
        title: its heading.
        text: what it says, in words.
        facts: labels and values: ``("value", "47 pallets")``.
        cited: the evidence that it rests on.
    """

    id: str
    title: str = ""
    text: str = ""
    facts: tuple[tuple[str, str], ...] = ()
    cited: tuple[Cited, ...] = ()


def option_of(option: str | Option) -> Option:
    """``option``, which may be a bare text."""
    return option if isinstance(option, Option) else Option(option)


def fingerprint(cited: Cited) -> str:
    """SHA-256 of what stands under an item now: bytes, place, result, text, and whether the live source has changed.

    Context is left out, since it follows from the bytes. A live source that nobody looked at counts as unchanged.
    """
    live = cited.live if cited.live in _LIVE_CHANGES else ""
    what = [cited.item.get("digest"), cited.item.get("selectors"), cited.item.get("quote"), cited.result, cited.text]
    return hashlib.sha256(_encode([*what, live])).hexdigest()


def shown_digest(question: str, options: Sequence[str | Option], exhibits: Sequence[Exhibit]) -> str:
    """SHA-256 of all that whoever answers has to have seen: the question, its options, and every item as it is."""
    choices = [[one.id, one.text, one.scopes] for one in map(option_of, options)]
    sides = [[one.id, one.title, one.text, one.facts, [fingerprint(item) for item in one.cited]] for one in exhibits]
    return hashlib.sha256(_encode([question, choices, sides])).hexdigest()
