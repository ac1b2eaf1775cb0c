"""Tasks made from a seed: as many as are wanted, of any length, and in nobody's training data.

Each has one right answer by construction, and a worked solution whose every step a verifier accepts. The same seed
gives the same tasks everywhere; the task with number n does not depend on how many are made.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from dissensus.decide.verifiers.tracking import Shuffle
from dissensus.errors import UsageError
from dissensus.script.questions import Question
from dissensus.study.tasks.task import Task

_NAMES = ("Alice", "Bob", "Claire", "Dave", "Eve", "Fred", "Gertrude", "Hugo", "Ines", "Jack", "Kim", "Leo")
_COLORS = (
    "red", "blue", "green", "yellow", "white", "black", "pink", "purple", "orange", "brown", "gray", "golden",
)  # fmt: skip
_PEOPLE = ("Ada", "Ben", "Chen", "Dora", "Emil", "Fatima", "Goran", "Hana", "Ivan", "Jana", "Kofi", "Lena")
_THINGS = ("marbles", "stamps", "coins", "shells", "cards", "beads", "pencils", "stickers", "buttons", "tickets")
MOST_OBJECTS = len(_NAMES)


def object_tracking(count: int, *, objects: int = 7, swaps: int | None = None, seed: int = 0) -> list[Task]:
    """Questions of who has what after swaps, as in the Track sets: Track-n has n ``objects`` and as many ``swaps``.

    Raises :class:`~dissensus.errors.UsageError` for fewer than 2 or more than 12 objects, or fewer than 1 swap.
    """
    swaps = objects if swaps is None else swaps
    if not 2 <= objects <= MOST_OBJECTS or swaps < 1 or count < 0:
        raise UsageError(
            f"No tracking of {objects} objects with {swaps} swaps can be made.",
            next_step=f"Use 2 to {MOST_OBJECTS} objects and 1 swap or more.",
        )
    return [_tracking(random.Random(f"track/{seed}/{objects}/{swaps}/{n}"), n, objects, swaps) for n in range(count)]  # noqa: S311


def _tracking(draw: random.Random, number: int, objects: int, swaps: int) -> Task:
    names = _NAMES[:objects]
    things = [f"{color} ball" for color in draw.sample(_COLORS, objects)]
    pairs = [tuple(draw.sample(names, 2)) for _ in range(swaps)]
    asked = draw.choice(names)
    shuffle = Shuffle(names, dict(zip(names, things, strict=True)), tuple((a, b) for a, b in pairs), asked)
    options = tuple(draw.sample(things, objects))
    have = _listed([f"{name} has a {thing}" for name, thing in shuffle.start.items()])
    told = " ".join(
        f"{_order(place, swaps)}, {one} and {other} swap balls." for place, (one, other) in enumerate(pairs)
    )
    text = (
        f"{_listed(names)} are playing a game. At the start of the game, they are each holding a ball: {have}.\n"
        f"As the game progresses, pairs of players trade balls. {told} At the end of the game, {asked} has the"
    )
    gold = shuffle.answer or ""
    name = f"track{objects}/{number}"
    question = Question(text=text, kind="choice", options=options, id=name, gold=gold)
    solution = _tracking_solution(shuffle, options)
    return Task(id=name, question=question, story=name, verifiers=("tracking",), solution=solution)


def _tracking_solution(shuffle: Shuffle, options: Sequence[str]) -> str:
    states = shuffle.states()
    lines = [f"(0) At the start: {_state(states[0])}."]
    for place, ((one, other), state) in enumerate(zip(shuffle.swaps, states[1:], strict=True), 1):
        lines.append(f"({place}) {one} and {other} swap: {_state(state)}.")
    letter = chr(65 + options.index(states[-1][shuffle.asked]))
    return "\n".join([*lines, f"So the answer is ({letter})."])


def _state(state: dict[str, str]) -> str:
    return ", ".join(f"{name}: {thing.split()[0]}" for name, thing in state.items())


def _order(place: int, count: int) -> str:
    return "First" if place == 0 else "Finally" if place == count - 1 else "Then"


def _listed(parts: Sequence[str]) -> str:
    return " and ".join(parts) if len(parts) == 2 else f"{', '.join(parts[:-1])}, and {parts[-1]}"


def arithmetic_chains(count: int, *, steps: int = 5, largest: int = 10_000, seed: int = 0) -> list[Task]:
    """Word problems in which a number goes through ``steps`` operations, one a sentence, and stays a whole number.

    No number on the way is below 1 or above ``largest``. Raises :class:`~dissensus.errors.UsageError` for fewer than 1
    step or a ``largest`` below 100.
    """
    if steps < 1 or largest < 100 or count < 0:
        raise UsageError(
            f"No chains of {steps} steps up to {largest} can be made.",
            next_step="Use 1 step or more, and 100 or more as the largest number.",
        )
    return [_chain(random.Random(f"chain/{seed}/{steps}/{largest}/{n}"), n, steps, largest) for n in range(count)]  # noqa: S311


def _chain(draw: random.Random, number: int, steps: int, largest: int) -> Task:
    who, things = draw.choice(_PEOPLE), draw.choice(_THINGS)
    value = draw.randint(10, 99)
    told, lines = [f"{who} has {value} {things}."], []
    for step in range(1, steps + 1):
        sentence, operator, by = _operation(draw, who, things, value, largest)
        before, value = value, {"+": value + by, "-": value - by, "*": value * by, "/": value // by}[operator]
        told.append(sentence)
        lines.append(f"Step {step}: {before} {operator} {by} = {value}.")
    text = f"{' '.join(told)} How many {things} does {who} have now?"
    name = f"chain{steps}/{number}"
    question = Question(text=text, kind="number", id=name, gold=str(value))
    solution = "\n".join([*lines, f"#### {value}"])
    return Task(id=name, question=question, story=name, verifiers=("arithmetic",), solution=solution)


def _operation(draw: random.Random, who: str, things: str, value: int, largest: int) -> tuple[str, str, int]:
    """A sentence, its operation and the number in it, such that the result is a whole number from 1 to ``largest``."""
    other = draw.choice([person for person in _PEOPLE if person != who])
    parts = [by for by in range(2, 10) if value % by == 0]
    possible = ["+"] * (value < largest) + ["-"] * (value > 2) + ["*"] * (value * 2 <= largest) + ["/"] * bool(parts)
    operator = draw.choice(possible)
    if operator == "+":
        by = draw.randint(1, min(99, largest - value))
        return f"{other} gives {who} {by} {things}.", operator, by
    if operator == "-":
        by = draw.randint(1, min(99, value - 1))
        return f"{who} gives {by} {things} to {other}.", operator, by
    if operator == "*":
        by = draw.randint(2, min(9, largest // value))
        return f"{who} goes on collecting until there are {by} times as many.", operator, by
    by = draw.choice(parts)
    return f"{who} divides the {things} into {by} equal parts and keeps one of them.", operator, by
