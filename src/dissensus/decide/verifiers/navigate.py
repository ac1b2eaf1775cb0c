"""A walk on a grid: the question is read and walked, and the positions that a text gives are held to it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from dissensus.decide.verifiers.wrong import Wrong, steps_of

Turn = Literal["left", "right", "around", "forward", "backward"]

_MOVE = re.compile(r"\b[Tt]ake (\d{1,6}) steps?(?: (forward|backward|left|right))?\b|\b[Tt]urn (left|right|around)\b")
_PLACE = re.compile(r"\(\s?([-−]?\d{1,9})\s?,\s?([-−]?\d{1,9})\s?\)")
_FACING = re.compile(
    r"\bfacing (?:the )?(?:(positive|negative) ([xy])[ -]axis|(north|south|east|west))\b", re.IGNORECASE
)
_WAYS = {"north": (0, 1), "east": (1, 0), "south": (0, -1), "west": (-1, 0)}
_TURNS = {"forward": 0, "left": 1, "around": 2, "backward": 2, "right": 3}


@dataclass(frozen=True, slots=True)
class Move:
    """Steps in a direction as seen from who walks, or a turn on the spot (``steps`` 0)."""

    steps: int
    way: Turn


@dataclass(frozen=True, slots=True)
class Walk:
    """A walk that begins at (0, 0)."""

    moves: tuple[Move, ...]

    def places(self, facing: tuple[int, int] = (0, 1)) -> list[tuple[int, int]]:
        """The place at the beginning and after each move."""
        x = y = 0
        found = [(0, 0)]
        for move in self.moves:
            dx, dy = facing
            for _ in range(_TURNS[move.way]):
                dx, dy = -dy, dx
            if move.steps:
                x, y = x + move.steps * dx, y + move.steps * dy
            else:
                facing = dx, dy
            found.append((x, y))
        return found

    @property
    def returns(self) -> bool:
        """Whether it ends where it began."""
        return self.places()[-1] == (0, 0)


@lru_cache(maxsize=512)
def read_walk(question: str) -> Walk | None:
    """The walk that ``question`` describes; None if it describes none."""
    moves = []
    for match in _MOVE.finditer(question.partition("\nOptions:")[0]):
        if match[3]:
            moves.append(Move(0, _way(match[3])))
        elif int(match[1]):
            moves.append(Move(int(match[1]), _way(match[2] or "forward")))
    return Walk(tuple(moves)) if moves else None


def _way(word: str) -> Turn:
    ways: dict[str, Turn] = {"left": "left", "right": "right", "around": "around", "backward": "backward"}
    return ways.get(word, "forward")


def verify_navigate(question: str, text: str, *, finished: bool = False) -> Wrong | None:
    """The first numbered step of ``text`` that gives another place than the walk has reached after that many moves.

    A walk begins at (0, 0) and looks along the positive y axis, unless the text says at its beginning where it looks.
    None if no step is wrong, and for a question that is no walk.
    """
    walk = read_walk(question)
    if walk is None:
        return None
    facing = (0, 1)
    for count, step in enumerate(steps_of(text, finished=finished)):
        begins = step.label == 0 or (count == 0 and step.label is None)
        if begins and (looks := _FACING.search(step.text)):
            facing = _facing(looks)
        given = [(_number(x), _number(y)) for x, y in _PLACE.findall(step.text)]
        if step.label is None or step.label > len(walk.moves) or not given:
            continue
        place = walk.places(facing)[step.label]
        if given[-1] != place:
            why = f"after move {step.label} the place is {place}, not {given[-1]}"
            return Wrong(step.start, step.stop, step.text.strip(), why)
    return None


def _number(text: str) -> int:
    return int(text.replace("−", "-"))


def _facing(match: re.Match[str]) -> tuple[int, int]:
    if match[3]:
        return _WAYS[match[3].casefold()]
    sign = 1 if match[1].casefold() == "positive" else -1
    return (sign, 0) if match[2].casefold() == "x" else (0, sign)
