"""What a verdict rests on: its quote is reopened and held to the answer that it chose. Start at :func:`weigh`.

==========================  ===========================================================================================
``cites-and-stands``        it quotes words of a document that stand there, and in them stands the answer it chose
``cites-unclear``           they stand there, and a program cannot tell whether they say so; or they stand at several
                            places, and it cannot be told which is meant
``cites-what-does-not-bear``  they stand there, and do not say what it chose, or say something else
``cites-what-does-not-stand``  they do not stand in the document that it names, or there is no such document
``no-source``               it chose one and quotes nothing: a vote dressed as a verdict
``blend``                   it gives a third answer
``escalates``               it chooses neither
``unreadable``              it cannot be told what it chose
``failed``                  the call did not come about, or the agent refused
==========================  ===========================================================================================

Both looks differ in nothing but the order of the two answers, and are asked for at temperature 0. Together they are
``leans-on-order`` if they do not come to the same; else the worse of both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, get_args

import msgspec

from dissensus.decide.dispute.docket import source_of
from dissensus.decide.dispute.evidence import Evidence, QuoteSelector, Reopened
from dissensus.decide.dispute.exhibits import cited_of
from dissensus.decide.dispute.reopening import reopen
from dissensus.decide.self_check_answers import Asking, Held
from dissensus.decide.self_check_bearing import Bearing, bearing_of, stands_in
from dissensus.decide.self_check_documents import shown_text
from dissensus.decide.self_check_settings import Document
from dissensus.decide.self_check_verdict import Said

Class = Literal[
    "cites-and-stands",
    "cites-unclear",
    "cites-what-does-not-bear",
    "cites-what-does-not-stand",
    "no-source",
    "leans-on-order",
    "blend",
    "escalates",
    "unreadable",
    "failed",
]
CLASSES: Final[tuple[Class, ...]] = get_args(Class)
_WORSE: Final = CLASSES[:5]
"""Of two looks that choose the same answer, the one that stands later here counts."""

Chose = Literal["A", "B", ""]


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """One reply to the request to settle, weighed.

    Args:
        order: ``AB`` if answer A was shown first, ``BA`` if answer B was.
        kind: what it rests on: one of :data:`CLASSES`.
        chose: which answer it takes; "" if none of the two.
        says: its answer in words: of the two, or its own.
        source: name of the document that it rests on; "" if there is none.
        digest: of that document.
        named: how it names its source.
        quote: what it quotes.
        reopened: what came of reopening that; "" if nothing was quoted.
        where: in words.
        why: why it is of that class.
        reason: its own reason, as it gives it.
        reply: the reply, verbatim; None if there was none.
        key: key of the effect whose outcome it was read from.
    """

    order: str
    kind: Class
    chose: Chose = ""
    says: str = ""
    source: str = ""
    digest: str = ""
    named: str = ""
    quote: str = ""
    reopened: str = ""
    where: str = ""
    why: str = ""
    reason: str = ""
    reply: str | None = None
    key: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SelfVerdict:
    """What the agent's settling comes to.

    Args:
        kind: one of :data:`CLASSES`.
        chose: ``A``, ``B``, or "" if it settled on none.
        says: the chosen answer.
        why: why it is of that class.
        looks: one for each order that was asked in.
        also: names of documents in which the answer that it did not choose stands as well.
    """

    kind: Class
    chose: Chose = ""
    says: str = ""
    why: str = ""
    looks: tuple[Look, ...] = ()
    also: tuple[str, ...] = ()

    def to_data(self) -> dict[str, Any]:
        """JSON-ready data."""
        data: dict[str, Any] = msgspec.to_builtins(self)
        return data


@dataclass(frozen=True, slots=True)
class Pair:
    """The two answers that differ: ``a`` was given before ``b``."""

    a: Held
    b: Held

    def shown(self, order: str) -> tuple[Held, Held]:
        """Both in the order in which they are shown."""
        return (self.a, self.b) if order == "AB" else (self.b, self.a)


def weigh(
    said: Said, pair: Pair, order: str, asking: Asking, documents: Mapping[str, Document], *, reply: str, key: str
) -> Look:
    """What a reply that could be had rests on.

    Args:
        said: what was read of it.
        pair: the two answers.
        order: in which it was shown them.
        asking: the question.
        documents: what it was shown, by label.
        reply: the reply, verbatim.
        key: of the effect that brought it.
    """
    seen = Look(
        order=order, kind="unreadable", reply=reply, key=key, reason=said.why, quote=said.quote, named=said.named
    )  # fmt: skip
    if said.problem:
        return replace(seen, why=f"It cannot be read: {said.problem}.")
    if said.choice == "neither":
        return replace(seen, kind="escalates", why="It chooses neither.")
    if said.choice == "third":
        return replace(seen, kind="blend", says=said.answer, why="It gives an answer of its own.")
    first, second = pair.shown(order)
    chosen, other = (first, second) if said.choice == "first" else (second, first)
    took = replace(seen, chose="A" if chosen is pair.a else "B", says=chosen.answered.written)
    if not said.quote:
        why = f"It names {said.named}, and quotes nothing of it." if said.named else "It names no source."
        return replace(took, kind="no-source", why=why)
    if said.named and not said.source:
        why = "It was shown no such document."
        return replace(took, kind="cites-what-does-not-stand", why=why, reopened="SOURCE_MISSING")
    named = [documents[said.source]] if said.source else list(documents.values())
    found = [_opened(document, said.quote, asking, (chosen, other)) for document in named]
    best = min(found, key=lambda one: _WORSE.index(one.kind))  # without a named source, where it stands best
    cited = best.document if best.reopened.settles or said.source else None
    return replace(
        took,
        kind=best.kind,
        source=cited.name if cited else "",
        digest=cited.digest if cited else "",
        reopened=best.reopened.result,
        where=best.where,
        why=_why(best, said, documents),
    )


def _why(best: _Opened, said: Said, documents: Mapping[str, Document]) -> str:
    """Why a quote is of its class, with where it stands instead of where it is said to."""
    found = best.reopened.settles
    if not said.source:
        return f"{best.why} It names no document: the quote was looked for." if found else "It stands in no document."
    if best.reopened.result != "NOT_FOUND":
        return best.why
    others = [one for one in documents.values() if one is not documents[said.source]]
    elsewhere = [one.name for one in others if _reopened(one, said.quote)[1].settles]
    return f"{best.why} It stands in {', '.join(elsewhere)}, which it does not name." if elsewhere else best.why


@dataclass(frozen=True, slots=True)
class _Opened:
    document: Document
    kind: Class
    reopened: Reopened
    where: str
    why: str


def _reopened(document: Document, quote: str) -> tuple[Evidence, Reopened]:
    source = source_of(document.pinned)
    evidence = Evidence(document.digest, (QuoteSelector(quote),), quote, media=document.pinned.media)
    return evidence, reopen(evidence, {document.digest: source})


def _opened(document: Document, quote: str, asking: Asking, answers: tuple[Held, Held]) -> _Opened:
    """A quote, reopened in a document and held to the answer."""
    evidence, found = _reopened(document, quote)
    source = source_of(document.pinned)
    if found.result == "AMBIGUOUS":
        return _Opened(document, "cites-unclear", found, "", found.hint)
    if not found.settles:
        return _Opened(document, "cites-what-does-not-stand", found, "", found.hint or "It does not stand there.")
    bearing: Bearing = bearing_of(asking.question.text, answers, evidence, found, source)
    kinds: dict[str, Class] = {
        "yes": "cites-and-stands", "unclear": "cites-unclear", "no": "cites-what-does-not-bear",
    }  # fmt: skip
    where = cited_of(evidence, {document.digest: source}).where
    return _Opened(document, kinds[bearing.bears], found, where, bearing.why)


def together(looks: Sequence[Look], pair: Pair, asking: Asking) -> SelfVerdict:
    """What the looks come to together."""
    for kind in ("failed", "unreadable"):
        for look in looks:
            if look.kind == kind:
                return SelfVerdict(kind=look.kind, why=look.why, looks=tuple(looks))
    first, last = looks[0], looks[-1]
    if _outcome(first) != _outcome(last):
        return SelfVerdict(kind="leans-on-order", why=_by_order(first, last), looks=tuple(looks))
    if not first.chose:
        return SelfVerdict(kind=first.kind, says=first.says, why=first.why, looks=tuple(looks))
    worst = max(looks, key=lambda look: _WORSE.index(look.kind))
    other = pair.b if first.chose == "A" else pair.a
    documents, question = asking.settings.documents, asking.question.text
    also = tuple(one.name for one in documents if stands_in(other, shown_text(one), question))
    return SelfVerdict(
        kind=worst.kind, chose=first.chose, says=first.says, why=worst.why, looks=tuple(looks), also=also
    )


def _outcome(look: Look) -> str:
    return look.chose or look.kind


def _by_order(first: Look, last: Look) -> str:
    if first.chose and last.chose:
        place = "first" if first.chose == first.order[0] else "second"
        return f"It took the answer that was shown {place}, both times."
    said = [f"{_did(look)} when {look.order[0]} was shown first" for look in (first, last)]
    return f"It {said[0]}, and {said[1]}."


def _did(look: Look) -> str:
    if look.chose:
        return f"took {look.chose}"
    return "chose neither" if look.kind == "escalates" else "gave a third answer"
