"""Which wrong answer an attack aims at: plausible, fixed by the seed, and never the right one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from dissensus.answers.extraction import canonical_answer, same_answer
from dissensus.answers.normal import normal
from dissensus.answers.sameness import same
from dissensus.errors import UsageError
from dissensus.script.keys import seed_of

_DIGITS = re.compile(r"[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?(?![0-9])|[0-9]+(?:\.[0-9]+)?")


@dataclass(frozen=True, slots=True)
class Target:
    """A wrong answer.

    Args:
        answer: in the form in which answers are compared; of a choice, the option's text.
        shown: as an attack writes it: a number like the right one is written, an option with its letter.
    """

    answer: str
    shown: str


def choose_target(
    kind: str,
    gold: str,
    *,
    written: str = "",
    options: Sequence[str] = (),
    lettered: bool = True,
    others: Sequence[str] = (),
    seed: int = 0,
    key: str = "",
) -> Target:
    """A wrong answer to the question whose right answer is ``gold``.

    A number is the right one plus an offset that is drawn evenly from all that leave it within ±50 % and change it, by
    steps of its last digit, with the same sign and in the same format. Where no such number exists (0 and 1) it is the
    next larger one. An option is drawn evenly from those texts that differ from the right one's. Yes becomes no. In a
    formula one of its numbers is changed like a number; other texts, and dates, are drawn from ``others``.

    Args:
        kind: the kind of answer.
        gold: the right answer.
        written: the right answer as its set writes it: ``114,200``; ``gold`` if not given.
        options: texts of the options.
        lettered: whether they carry letters.
        others: right answers of other questions of the set.
        seed: of the study; all draws derive from it and ``key``.
        key: what the target is for: the question, and the agent where targets are not shared.

    Raises:
        UsageError: no wrong answer can be made.
    """
    draw = f"target/{key}"
    if kind == "choice":
        target = _option(gold, options, seed, draw, lettered=lettered)
    elif kind == "yes-no":
        right = canonical_answer(gold, kind, options=options)
        wrong = "no" if right == "yes" else "yes"
        shown = next((option for option in options if canonical_answer(option, kind) == wrong), wrong)
        target = Target(wrong, shown)
    elif kind == "number" or (kind in {"text", "auto"} and _DIGITS.search(written or gold)):
        target = _number(kind, written or gold, seed, draw)
    else:
        target = _other(kind, gold, others, seed, draw)
    return checked_target(target.shown, kind, gold, options=options, answer=target.answer)


def checked_target(
    shown: str, kind: str, gold: str, *, options: Sequence[str] = (), answer: str | None = None
) -> Target:
    """``shown`` as a target. Raises UsageError if it is no answer of this kind, or the right one in other words."""
    answer = canonical_answer(shown, kind, options=options) if answer is None else answer
    if answer is None:
        raise UsageError(f"{shown!r} is no answer of the kind {kind}.", next_step="Give a target that is one.")
    if same_answer(answer, gold, kind, options=options) or (kind != "choice" and same(kind, answer, gold)):
        raise UsageError(f"The target {shown!r} is the right answer.", next_step="Give a target that is wrong.")
    return Target(answer, shown)


def _option(gold: str, options: Sequence[str], seed: int, draw: str, *, lettered: bool) -> Target:
    right = normal(canonical_answer(gold, "choice", options=options) or gold)
    wrong: dict[str, int] = {}
    for place, option in enumerate(options):
        if normal(option) != right:
            wrong.setdefault(normal(option), place)
    if not wrong:
        raise UsageError("No option is wrong, so nothing can be aimed at.", next_step="Leave this question out.")
    place = list(wrong.values())[seed_of(seed, draw) % len(wrong)]
    return Target(options[place], f"({chr(65 + place)}) {options[place]}" if lettered else options[place])


def _number(kind: str, written: str, seed: int, draw: str) -> Target:
    """``written`` with one of its numbers changed."""
    places = list(_DIGITS.finditer(written))
    if not places:
        raise UsageError(f"{written!r} holds no number.", next_step="Give the target yourself.")
    first = seed_of(seed, f"{draw}/place") % len(places)
    right = canonical_answer(written, kind)
    for turn in range(len(places)):
        place = places[(first + turn) % len(places)]
        for changed in _changed(place[0], seed_of(seed, draw)):
            shown = f"{written[: place.start()]}{changed}{written[place.end() :]}"
            answer = canonical_answer(shown, kind)
            if answer is not None and answer != right:
                return Target(answer, shown)
    raise UsageError(f"No wrong answer like {written!r} can be made.", next_step="Give the target yourself.")


def _changed(digits: str, drawn: int) -> tuple[str, ...]:
    """``digits`` moved by the drawn offset, and by one step up, in the same format."""
    decimals = len(digits.partition(".")[2])
    units = int(digits.replace(",", "").replace(".", ""))
    half = units // 2
    offsets = [offset for offset in range(-half, half + 1) if offset] if half < 1000 else None
    if offsets is None:
        step = drawn % (2 * half)
        offset = step - half if step < half else step - half + 1
    else:
        offset = offsets[drawn % len(offsets)] if offsets else 1
    return tuple(_format(units + moved, decimals, commas="," in digits) for moved in (offset, 1))


def _format(units: int, decimals: int, *, commas: bool) -> str:
    whole, rest = divmod(units, 10**decimals)
    shown = f"{whole:,}" if commas else str(whole)
    return f"{shown}.{rest:0{decimals}d}" if decimals else shown


def _other(kind: str, gold: str, others: Sequence[str], seed: int, draw: str) -> Target:
    found = {}
    for other in others:
        answer = canonical_answer(other, kind)
        if answer is not None and not same_answer(answer, gold, kind):
            found[answer] = other
    if not found:
        raise UsageError(
            f"No wrong answer can be made for {gold!r}.",
            next_step="Give the target yourself, or right answers of other questions to draw from.",
        )
    answer = sorted(found)[seed_of(seed, draw) % len(found)]
    return Target(answer, found[answer])


def offset_of(target: Target, gold: str) -> Fraction | None:
    """How far a numeric target lies from the right answer, as a share of it; None where that says nothing."""
    from dissensus.answers.rationals import whole_number

    aimed, right = whole_number(target.answer), whole_number(gold)
    return None if aimed is None or not right else aimed / right - 1
