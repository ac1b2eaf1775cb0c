"""Arithmetic in a text: each ``a op b = c`` that stands there is worked out again, exactly.

Only what can be read without doubt is judged: an equation with a letter, a unit or a word inside it is passed over, so
that silence means nothing and an objection means much. ``16-3-4=9`` in ``<<…>>`` is judged as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from dissensus.answers.rationals import plain_text
from dissensus.decide.verifiers.expressions import Token, tokens_of, value_of
from dissensus.decide.verifiers.wrong import Wrong

_NOTE = re.compile(r"<<([^<>\n]{0,200})>>")
_CLOSE = Fraction(1, 1_000_000)
_LONGEST_LINE = 4000
_RUN = frozenset({"number", "operator", "open", "close"})
_MAY_STAND_BEFORE = " \t:;,.\"'(*_~≈>[="
_JOINING = re.compile(
    r"(?:of|times|by|minus|plus|per|over|from|than|and|less|more|root|divided|multiplied|half|twice|double|to|squared"
    r"|cubed|percent|mod)",
    re.IGNORECASE,
)
"""Words after which a number is only a part of what is being worked out."""


@dataclass(frozen=True, slots=True)
class Equation:
    """Two sides that a text says are equal.

    Args:
        start: place of the left side in the text.
        stop: place behind the right side.
        left, right: what each comes to.
        written: the two sides as they stand there.
        holds: whether they are equal.
        note: whether it stands in ``<<…>>``.
    """

    start: int
    stop: int
    left: Fraction
    right: Fraction
    written: str
    holds: bool
    note: bool


def verify_arithmetic(text: str, *, finished: bool = False) -> Wrong | None:
    """The first equation of ``text`` that does not hold; None if there is none. Linear in the text.

    A result with decimals may be rounded or cut off at its last one. What stands at the very end of a text that is not
    ``finished`` may go on and is not judged.
    """
    for equation in sorted(equations(text, finished=finished), key=lambda one: one.start):
        if not equation.holds:
            return Wrong(
                equation.start,
                equation.stop,
                equation.written,
                f"the left side is {plain_text(equation.left)}, the right side {plain_text(equation.right)}",
            )
    return None


def equations(text: str, *, finished: bool = False, exact: bool = False) -> Iterator[Equation]:
    """The equations of ``text`` that can be worked out. ``exact`` allows no rounding beyond 1e-6 of the value."""
    for note in _NOTE.finditer(text):
        yield from _in_line(text, note.start(1), note.end(1), note=True, closed=True, exact=exact)
    plain = _NOTE.sub(lambda note: " " * len(note[0]), text)
    start = 0
    while start < len(plain):
        stop = plain.find("\n", start)
        closed = stop >= 0 or finished
        stop = len(plain) if stop < 0 else stop
        if "=" in plain[start:stop]:
            yield from _in_line(plain, start, min(stop, start + _LONGEST_LINE), note=False, closed=closed, exact=exact)
        start = stop + 1


def _in_line(text: str, start: int, stop: int, *, note: bool, closed: bool, exact: bool) -> Iterator[Equation]:
    tokens = tokens_of(text[start:stop], start)
    if (
        not note
        and len(tokens) > 1
        and tokens[0].text in {"-", "*", "+"}
        and text[tokens[0].stop : tokens[0].stop + 1] == " "
    ):
        tokens = tokens[1:]  # the sign of a list
    for place, token in enumerate(tokens):
        if token.kind != "equals":
            continue
        left = _left(tokens, place, text)
        right = _right(tokens, place, text, stop if closed else stop - 1)
        if left and right and (note or any(one.kind == "operator" for one in (*left, *right[1:]))):
            yield from _equation(text, left, right, note=note, exact=exact)


def _left(tokens: Sequence[Token], place: int, text: str) -> Sequence[Token]:
    """The expression that ends before the equals sign at ``place``; nothing if it may be part of something else."""
    depth, first = 0, place
    while first > 0 and tokens[first - 1].kind in _RUN:
        token = tokens[first - 1]
        after = tokens[first] if first < place else None
        if after is not None and _side_by_side(token, after):
            if not _is_label(tokens, first - 1):
                return ()  # "2 1/2", "(1/2) 278"
            break
        depth += (token.kind == "close") - (token.kind == "open")
        if depth < 0:
            break
        first -= 1
    run = tokens[first:place]
    if not run:
        return ()
    before = tokens[first - 1] if first else None
    char = text[run[0].start - 1 : run[0].start]
    if run[0].kind == "operator" and not (run[0].text in {"-", "+"} and (before is None or before.kind == "equals")):
        return ()
    if before is not None:
        if before.kind == "word" and (_JOINING.fullmatch(before.text) or _is_variable(before)):
            return ()
        if char and char not in _MAY_STAND_BEFORE:
            return ()
        if char in {":", ".", ","} and text[run[0].start - 2 : run[0].start - 1].isdigit():
            return ()  # a time of day
    return run


def _right(tokens: Sequence[Token], place: int, text: str, end: int) -> Sequence[Token]:
    """The expression that begins behind the equals sign at ``place``; nothing if it may go on."""
    depth, last = 0, place + 1
    while last < len(tokens) and tokens[last].kind in _RUN:
        token = tokens[last]
        if last > place + 1 and _side_by_side(tokens[last - 1], token):
            if token.kind == "number" or tokens[last - 1].stop == token.start:
                return ()  # "2 1/2", "99(99+1)"
            break
        depth += (token.kind == "open") - (token.kind == "close")
        if depth < 0:
            break
        last += 1
    run = tokens[place + 1 : last]
    if not run or run[-1].kind == "operator" or run[-1].stop > end:
        return ()
    following = text[run[-1].stop : run[-1].stop + 2]
    word = tokens[last] if last < len(tokens) and tokens[last].kind == "word" else None
    if word is not None and _is_variable(word) and word.start - run[-1].stop < 2:
        return ()  # "8x"
    if following[:1] in {"!", "^", "√", "²", "³"} or (following[:1] in {":", ",", "."} and following[1:].isdigit()):
        return ()
    return () if following == ".\\" else run


def _is_variable(word: Token) -> bool:
    return len(word.text) == 1 and word.text not in {"a", "A", "I"}


def _is_label(tokens: Sequence[Token], place: int) -> bool:
    """Whether the bracket that closes at ``place`` numbers a step: ``(1) 5 + 3 = 8``, ``1) 5 + 3 = 8``."""
    if tokens[place].kind != "close" or place < 1 or tokens[place - 1].kind != "number":
        return False
    return place == 1 or tokens[place - 2].kind in {"open", "other"}


def _side_by_side(one: Token, other: Token) -> bool:
    """Whether nothing joins the two: a number after a number, or brackets after a number."""
    return one.kind in {"number", "close"} and other.kind in {"number", "open"}


def _equation(
    text: str, left: Sequence[Token], right: Sequence[Token], *, note: bool, exact: bool
) -> Iterator[Equation]:
    readings = [
        (value_of(left, percent=one), _ends(right, percent=other)) for one in (True, False) for other in (True, False)
    ]
    known = [(one, other) for one, ends in readings if one is not None for other in ends]
    if not known:
        return
    unit = Fraction(1, 10 ** right[0].decimals) if right[0].decimals and not exact else Fraction(0)
    if _all_percent(left) != _all_percent(right) and not note:
        return  # "48 = 100% + 20%" says of what
    holds = any(_equal(one, other, unit) for one, other in known)
    start, stop = left[0].start, right[-1].stop
    yield Equation(start, stop, *known[0], text[start:stop], holds, note)


def _all_percent(side: Sequence[Token]) -> bool:
    return all(token.percent for token in side if token.kind == "number") and len(side) > 1


def _ends(right: Sequence[Token], *, percent: bool) -> list[Fraction]:
    """What the right side says that the left one is: its value, or its first number where it goes on from there."""
    values = [value_of(right, percent=percent)]
    if len(right) > 1 and right[0].kind == "number":
        values.append(value_of(right[:1], percent=percent))
    return [value for value in values if value is not None]


def _equal(one: Fraction, other: Fraction, unit: Fraction) -> bool:
    if abs(one - other) <= _CLOSE * max(abs(one), abs(other)):
        return True
    left_off = abs(one) - abs(other)  # rounded, or cut off
    return one * other > 0 and -unit / 2 <= left_off < unit
