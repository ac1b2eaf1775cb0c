"""Who has what after a series of swaps: the question is read and played through, and a text's steps are held to it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from dissensus.decide.verifiers.wrong import Step, Wrong, steps_of

_HAS = r"(?:is playing|is dancing with|is holding|is sitting in|starts with|has|gets|holds|buys)"
_START = re.compile(rf"^(?:and )?([A-Z]\w*) {_HAS} (?:an? |the )?(.+)$")
_LIST = re.compile(r"[A-Z]\w*(?:, [A-Z]\w*)*,? and [A-Z]\w*")
_SWAP = re.compile(r"\b([A-Z]\w*) and ([A-Z]\w*) (?:swap|switch|trade|exchange)s?\b")
_ASKED = re.compile(rf"At the end of [\w ]{{1,40}}, ([A-Z]\w*) {_HAS}\b")
_BEGINNING = re.compile(r"\b(?:start|initial|begin)\w*\b", re.IGNORECASE)
_AFTER = re.compile(
    r"\bafter (?:swap|step|trade|switch|exchange|round)\s{0,2}(?:no\.?\s{0,2})?(\d{1,3})\b", re.IGNORECASE
)
_IF = re.compile(r"\b(?:if|suppose|would|wrong|not|instead|incorrect\w*)\b", re.IGNORECASE)
_SAYS = (
    r"\s{0,2}(?::|=|->|→|(?:now\s)?(?:has|have|gets|got|holds|with|is)\b(?:\snow)?"
    r"(?:\s(?:playing|dancing|holding))?(?:\swith)?)"
)


@dataclass(frozen=True, slots=True)
class Shuffle:
    """A question of who has what.

    Args:
        names: who takes part.
        start: what each has at the beginning.
        swaps: pairs of names, in order.
        asked: whose thing is asked for; "" if nobody's is.
    """

    names: tuple[str, ...]
    start: Mapping[str, str]
    swaps: tuple[tuple[str, str], ...]
    asked: str = ""

    def states(self) -> list[dict[str, str]]:
        """What each has at the beginning and after each swap."""
        states = [dict(self.start)]
        for one, other in self.swaps:
            now = dict(states[-1])
            now[one], now[other] = now[other], now[one]
            states.append(now)
        return states

    @property
    def answer(self) -> str | None:
        """What the one who is asked about has at the end."""
        return self.states()[-1].get(self.asked)


@lru_cache(maxsize=512)
def read_shuffle(question: str) -> Shuffle | None:
    """The shuffle that ``question`` tells of; None if it tells of none. Options behind it do not matter."""
    story = question.partition("\nOptions:")[0]
    listed = _LIST.search(story)
    _, colon, rest = story.partition(": ")
    if listed is None or not colon:
        return None
    names = tuple(re.split(r", and |, | and ", listed[0]))
    beginning = re.split(r"\.(?:\s|$)", rest, maxsplit=1)[0]
    start: dict[str, str] = {}
    for part in re.split(
        r", (?=(?:and )?[A-Z]\w* (?:is|has|gets|holds|starts|buys) )| (?=and [A-Z]\w* (?:is|has|gets) )", beginning
    ):
        match = _START.match(part)
        if match is None:
            return None
        start[match[1]] = match[2]
    swaps = tuple((match[1], match[2]) for match in _SWAP.finditer(rest))
    asked = _ASKED.search(rest)
    known = set(names) == start.keys() and all({one, other} <= start.keys() for one, other in swaps)
    if not known or len(set(start.values())) != len(start) or any(one == other for one, other in swaps):
        return None
    return Shuffle(names, start, swaps, asked[1] if asked and asked[1] in start else "")


def verify_tracking(question: str, text: str, *, finished: bool = False) -> Wrong | None:
    """The first step of ``text`` that says that somebody has what they do not have then.

    A step is judged if it tells when: by its number (``(3) Ann and Bob swap: Ann: blue, …``), by the swap that it
    names, or as the beginning. None if no step is wrong, and for a question that is no shuffle.
    """
    shuffle = read_shuffle(question)
    if shuffle is None:
        return None
    reader = _Reader(shuffle)
    for step in steps_of(text, finished=finished):
        if not _IF.search(step.text) and (why := reader.objection(step)):
            return Wrong(step.start, step.stop, step.text.strip(), why)
    return None


class _Reader:
    """Compares steps with the states of one shuffle."""

    def __init__(self, shuffle: Shuffle) -> None:
        self._states = shuffle.states()
        self._swaps = [frozenset(pair) for pair in shuffle.swaps]
        self._things = _ways_to_say(shuffle)
        names = "|".join(map(re.escape, shuffle.names))
        things = "|".join(re.escape(way) for way in sorted(self._things, key=len, reverse=True))
        self._claim = re.compile(rf"\b({names})\b{_SAYS}\s{{0,2}}(?:an?\s|the\s)?({things})\b", re.IGNORECASE)

    def objection(self, step: Step) -> str:
        """What is wrong with ``step``; "" if nothing is."""
        claims = list(self._claims(step.text))
        when = self._when(step)
        if when is None:
            return "no such swap stands in the question"
        if not claims or not when:
            return ""
        for place in when:
            if all(self._states[place][name] == thing for name, thing in claims):
                return ""
        wrong = next(pair for pair in claims if self._states[when[0]][pair[0]] != pair[1])
        return f"after swap {when[0]} {wrong[0]} has {self._states[when[0]][wrong[0]]}, not {wrong[1]}"

    def _claims(self, text: str) -> Iterator[tuple[str, str]]:
        for match in self._claim.finditer(text):
            yield match[1].title() if match[1].islower() else match[1], self._things[match[2].casefold()]

    def _when(self, step: Step) -> list[int] | None:
        """The states that the step may tell of, the likeliest first; None if it names a swap that there is not."""
        places = range(len(self._states))
        swaps = {frozenset((match[1], match[2])) for match in _SWAP.finditer(step.text)}
        if swaps:
            found = [place + 1 for place, pair in enumerate(self._swaps) if pair in swaps]
            if not found and all(pair <= self._states[0].keys() for pair in swaps):
                return None
            if step.label is not None and step.label in found:
                return [step.label]
            return found if len(swaps) == 1 else []
        if (after := _AFTER.search(step.text)) is not None:
            return [int(after[1])] if int(after[1]) in places else []
        if _BEGINNING.search(step.text):
            return [0]
        return [step.label] if step.label is not None and step.label in places else []


def _ways_to_say(shuffle: Shuffle) -> dict[str, str]:
    """Each thing by its name, and by its first word where all have two words that begin differently."""
    things = list(shuffle.start.values())
    ways = {thing.casefold(): thing for thing in things}
    words = [thing.split() for thing in things]
    if all(len(one) == 2 for one in words) and len({one[0].casefold() for one in words}) == len(things):
        ways |= {one[0].casefold(): thing for one, thing in zip(words, things, strict=True)}
    return ways
