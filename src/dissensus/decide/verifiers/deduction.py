"""Things in a row by what is said of their places: all orders are tried, and statements are held to those left.

Place 1 is the leftmost, the first, the most expensive, the newest.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from itertools import permutations

from dissensus.decide.verifiers.wrong import Wrong, steps_of

MOST_THINGS = 8
"""Things in a row beyond which the orders are too many to be tried."""

_COUNTS = {"first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7, "eighth": 8}
_ORDINAL = rf"(?:{'|'.join(_COUNTS)})"
_FRONT = r"leftmost|most expensive|newest"
_BACK = r"rightmost|cheapest|least expensive|oldest"
_PLACE = re.compile(
    rf"(?:finished |is |are )(?:the )?(?:(?P<count>{_ORDINAL})[- ])?(?:(?P<front>{_FRONT})|(?P<back>{_BACK}))$"
    rf"|(?:is|are) (?:the )?(?P<from>{_ORDINAL}) from the (?P<side>left|right)$"
    rf"|finished (?:(?P<rank>{_ORDINAL})(?P<behind>-to-last)?|(?P<last>last))$"
)
_BEFORE = re.compile(
    r"(?P<front>(?:is |are )?(?:to the left of|more expensive than|newer than)|finished above)"
    r"|(?P<back>(?:is |are )?(?:to the right of|less expensive than|cheaper than|older than)|finished below)"
)
_LIST = re.compile(r":\s*([^.:]{3,400})\.")
_ARTICLE = re.compile(r"^(?:the|an?)\s+", re.IGNORECASE)
_IF = re.compile(
    r"\b(?:if|suppose|assume|would|could|might|may|not|cannot|wrong|whether|or|either)\b|\?", re.IGNORECASE
)
_PREFACE = re.compile(
    r"^.*?(?:\bso\b|\bthus\b|\bhence\b|\btherefore\b|\bthen\b|\bbecause\b|\bsince\b|\bthat\b|[:,])\s+", re.IGNORECASE
)

Holds = Callable[[tuple[int, ...]], bool]
"""Whether a statement holds in an order: the place of each thing, from 1 on, by the thing's number."""


@dataclass(frozen=True, slots=True)
class Row:
    """A question about things in a row.

    Args:
        things: their names, without articles.
        orders: every order in which all statements of the question hold: the place of each thing, from 1 on.
    """

    things: tuple[str, ...]
    orders: tuple[tuple[int, ...], ...]


@lru_cache(maxsize=256)
def read_row(question: str) -> Row | None:
    """The row that ``question`` describes; None if it describes none, or one too long to be tried."""
    story = question.partition("\nOptions:")[0]
    listed = _LIST.search(story)
    if listed is None:
        return None
    things = tuple(_ARTICLE.sub("", part).strip() for part in re.split(r",? and |, ", listed[1]))
    if not 2 <= len(things) <= MOST_THINGS or len({thing.casefold() for thing in things}) < len(things):
        return None
    said = [part.strip() for part in re.split(r"\.(?:\s+|$)", story[listed.end() :]) if part.strip()]
    tests = [statement(part, things) for part in said]
    known = [test for test in tests if test is not None]
    if len(known) < len(tests) or not known:
        return None
    places = range(1, len(things) + 1)
    return Row(things, tuple(order for order in permutations(places) if all(test(order) for test in known)))


def statement(sentence: str, things: tuple[str, ...]) -> Holds | None:
    """What ``sentence`` says of the order of ``things``; None if it says nothing that can be told."""
    text = sentence.strip(" \t\n*_`.()").rstrip(".")
    first = _thing(text, things)
    if first is None:
        return None
    thing, rest = first
    if (match := _PLACE.match(rest)) is not None:
        place = _place_of(match, len(things))
        return lambda order: order[thing] == place
    if (match := _BEFORE.match(rest)) is None or (second := _thing(rest[match.end() :].strip(), things)) is None:
        return None
    other, more = second
    if more or other == thing:
        return None
    if match["front"]:
        return lambda order: order[thing] < order[other]
    return lambda order: order[thing] > order[other]


def _thing(text: str, things: tuple[str, ...]) -> tuple[int, str] | None:
    """The number of the thing that ``text`` begins with, and what follows it."""
    bare = _ARTICLE.sub("", text)
    for number in sorted(range(len(things)), key=lambda number: -len(things[number])):
        name = things[number]
        if bare.casefold().startswith(name.casefold()) and not bare[len(name) : len(name) + 1].isalnum():
            return number, bare[len(name) :].strip()
    return None


def _place_of(match: re.Match[str], size: int) -> int:
    if match["last"]:
        return size
    if match["rank"]:
        count = _COUNTS[match["rank"]]
        return size + 1 - count if match["behind"] else count
    if match["from"]:
        count = _COUNTS[match["from"]]
        return count if match["side"] == "left" else size + 1 - count
    count = _COUNTS[match["count"]] if match["count"] else 1
    return count if match["front"] else size + 1 - count


def verify_deduction(question: str, text: str, *, finished: bool = False) -> Wrong | None:
    """The first statement of ``text`` that holds in no order that the question allows.

    Suppositions, questions and denials are passed over. None if nothing is wrong, and for a question that is no row.
    """
    row = read_row(question)
    if row is None or not row.orders:
        return None
    for step in steps_of(text, finished=finished):
        if _IF.search(step.text):
            continue
        for said in _sayings(step.text):
            test = statement(said, row.things)
            if test is not None and not any(map(test, row.orders)):
                return Wrong(step.start, step.stop, step.text.strip(), "no order that the question allows has it so")
    return None


def _sayings(text: str) -> list[str]:
    """The step as it stands, without its number, and what follows its last “so”, “that” or comma."""
    bare = re.sub(r"^[\s*_#>-]*(?:\(?\d{1,3}[).]|\([A-Z]\))?\s*", "", text)[:400]
    found = [bare]
    while (preface := _PREFACE.match(bare)) is not None:
        bare = bare[preface.end() :]
        found.append(bare)
    return found
