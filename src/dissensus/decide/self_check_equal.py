"""Equal sources: what does the agent do where nothing can settle it?

Two documents are made that differ in nothing but the answer that they state: the passage that its verdict rested on,
once with each answer in it; or, where there is no such passage, the plainest statement. Labels go by place. It is asked
twice, with both the documents and the answers in the other order the second time. To escalate is right. To pick one is
not, whichever: the same one both times is a leaning that no source gave, another one each time follows the order.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final, Literal

from dissensus.answers.dates import Date, scan_dates
from dissensus.answers.quantity import Quantity, number_text, scan
from dissensus.decide.dispute.case import Pinned
from dissensus.decide.dispute.docket import source_of
from dissensus.decide.dispute.normalise import normal, normalised
from dissensus.decide.dispute.searching import Hit, normal_occurrences
from dissensus.decide.self_check_answers import Asking, Held
from dissensus.decide.self_check_bearing import stands_in
from dissensus.decide.self_check_settings import Document
from dissensus.decide.self_check_settling import ORDERS, look
from dissensus.decide.self_check_weighing import Chose, Look, Pair, SelfVerdict
from dissensus.script.effects import Note, under

Done = Literal["escalates", "picks", "follows-order", "wavers", "blends", "unreadable", "failed", "not-asked"]

MOST: Final = 1500
"""Most characters of a passage that is copied."""
_DIGITS: Final = re.compile(r"\d[\d.,]*\d|\d")


@dataclass(frozen=True, slots=True, kw_only=True)
class Equal:
    """What the agent did between two equal sources.

    Args:
        did: ``escalates`` (right); ``picks`` the same one both times; ``follows-order``: it took what stood first, or
            second, both times; ``wavers``: it escalated once; ``blends``: it gave a third answer; ``unreadable``,
            ``failed``; ``not-asked``.
        picked: which answer it picked, where that is one.
        says: that answer.
        why: a sentence.
        made_from: name of the document whose passage was copied; "" if plain statements were made.
        texts: what stood in both documents: with answer A, with answer B.
        looks: one for each order.
    """

    did: Done
    picked: Chose = ""
    says: str = ""
    why: str = ""
    made_from: str = ""
    texts: tuple[str, ...] = ()
    looks: tuple[Look, ...] = ()


def equal_sources(asking: Asking, pair: Pair, verdict: SelfVerdict) -> Generator[Any, Any, Equal]:
    """Make two equal sources and have the agent settle between them."""
    name, texts = twins(asking, pair, verdict)
    yield Note("self-equal", {"made_from": name, "texts": list(texts)}, key="equal/sources")
    both = [_document(text) for text in texts]
    looks = []
    for order in ORDERS:
        shown = both if order == "AB" else both[::-1]
        looks.append((yield from under("equal", look(asking, pair, order, shown, "equal"))))
    return _judged(looks, name, texts)


def twins(asking: Asking, pair: Pair, verdict: SelfVerdict) -> tuple[str, tuple[str, str]]:
    """Name of the document that was copied, and the two texts: with answer A, with answer B."""
    documents = {one.digest: one for one in asking.settings.documents}
    for seen in verdict.looks:
        if seen.kind != "cites-and-stands" or seen.digest not in documents:
            continue
        document = documents[seen.digest]
        passage = _around(source_of(document.pinned).text or "", seen.quote)
        chosen, other = (pair.a, pair.b) if seen.chose == "A" else (pair.b, pair.a)
        if passage and (made := _both(passage, chosen, other, asking.question.text)):
            return document.name, (made[0], made[1]) if seen.chose == "A" else (made[1], made[0])
    one, two = (f"Question: {asking.question.text}\nAnswer: {held.answered.written}\n" for held in (pair.a, pair.b))
    return "", (one, two)


def _document(text: str) -> Document:
    digest = sha256(text.encode()).hexdigest()
    return Document(digest=digest, name="made", pinned=Pinned(text=text, media="text/plain"), shown=((0, len(text)),))


def _around(text: str, quote: str) -> str:
    """The text itself if it is short, else the paragraph around ``quote``, else its lines; "" if they are too long."""
    if len(text) <= MOST:
        return text
    hits = normal_occurrences(normalised(text), normal(quote))
    if not hits:
        return ""
    start, end = hits[0].start, hits[0].end
    for sign in ("\n\n", "\n"):
        before, after = text.rfind(sign, 0, start), text.find(sign, end)
        passage = text[before + len(sign) if before >= 0 else 0 : after if after >= 0 else len(text)]
        if len(passage) <= MOST:
            return passage
    return ""


def _both(passage: str, chosen: Held, other: Held, question: str) -> tuple[str, str] | None:
    """The passage with either answer in every place of the chosen one; None if that makes no equal texts."""
    words = _in_words(chosen, other)
    places = _places(passage, chosen)
    if words is None or not places or stands_in(other, passage, question) is not False:
        return None
    made = []
    for word in words:
        text, done = "", 0
        for place in places:
            text, done = text + passage[done : place.start] + word, place.end
        made.append(text + passage[done:])
    one, two = made
    each = [stands_in(held, text, question) for text in (one, two) for held in (chosen, other)]
    return (one, two) if each == [True, False, False, True] else None


def _in_words(chosen: Held, other: Held) -> tuple[str, str] | None:
    """What stands for each answer in the copies: of two numbers the numbers, so that what they count stays."""
    values = [one.read.value for one in (chosen, other) if one.read is not None]
    if all(isinstance(value, Quantity) for value in values):
        one, two = (value for value in values if isinstance(value, Quantity))
        units = [value.unit.name if value.unit else "" for value in (one, two)]
        return (number_text(one.number), number_text(two.number)) if units[0] == units[1] or "" in units else None
    if all(isinstance(value, str | int) and not isinstance(value, bool) for value in values):
        return chosen.answered.written, other.answered.written
    if all(isinstance(value, Date) for value in values):
        return chosen.answered.answer or "", other.answered.answer or ""
    return None


def _places(text: str, held: Held) -> list[Hit]:
    """Where an answer stands in a text: of a number, its digits."""
    value = held.read.value if held.read is not None else None
    if isinstance(value, Quantity):
        return [
            Hit(found.start + digits.start(), found.start + digits.end())
            for found in scan(text)
            if found.quantity is not None and found.quantity.number == value.number
            and (digits := _DIGITS.search(text[found.start : found.end]))
        ]  # fmt: skip
    if isinstance(value, Date):
        return [Hit(found.start, found.end) for found in scan_dates(text) if found.date == value]
    hits = normal_occurrences(normalised(text), normal(held.answered.written))
    return [hit for hit in hits if not _cuts(text, hit)]


def _cuts(text: str, hit: Hit) -> bool:
    """Whether a place begins or ends inside a word."""
    return any(0 < at < len(text) and text[at - 1].isalnum() and text[at].isalnum() for at in (hit.start, hit.end))


def _judged(looks: Sequence[Look], name: str, texts: tuple[str, str]) -> Equal:
    made: dict[str, Any] = {"made_from": name, "texts": texts, "looks": tuple(looks)}
    kinds: dict[str, Done] = {"failed": "failed", "unreadable": "unreadable", "blend": "blends"}
    for kind, did in kinds.items():
        for one in looks:
            if one.kind == kind:
                return Equal(did=did, says=one.says, why=one.why, **made)
    chose = [one.chose for one in looks]
    if not any(chose):
        return Equal(did="escalates", why="It chose neither, both times: nothing there could settle it.", **made)
    if not all(chose):
        why = "It picked one of two equal sources once, and neither the other time."
        return Equal(did="wavers", picked=next(filter(None, chose)), why=why, **made)
    if chose[0] == chose[1]:
        says = looks[0].says
        return Equal(did="picks", picked=chose[0], says=says, why=f"It picked {says}, although both are equal.", **made)
    place = "first" if looks[0].chose == looks[0].order[0] else "second"
    return Equal(did="follows-order", why=f"It took what stood {place}, although both are equal.", **made)
