"""Reading one number, with its unit, from an answer or from a whole reply.

A wrong ballot is worse than a blank one, which costs a repair turn: where two numbers could be meant, none is read.
"""

from __future__ import annotations

import re
from fractions import Fraction
from itertools import islice

from dissensus.answers import units
from dissensus.answers.normal import MAX_ANSWER
from dissensus.answers.quantity import Found, Quantity, merged, scan
from dissensus.answers.units import RATIO, Unit

AMBIGUOUS = "ambiguous: several numbers, and none is marked as the answer"
_OWN = "own:"
_MANY = 12
"""Numbers in an answer beyond which it is a calculation."""
_MOST_SAME = 200
"""Times that a reply may repeat its one number."""

_LATEX = (
    (re.compile(r"\\[dt]?frac\{([^{}]{1,40})\}\{([^{}]{1,40})\}"), r" \1/\2 "),
    (re.compile(r"\\(?:text|textbf|mathrm|mathbf|mbox)\{([^{}]{0,80})\}"), r" \1 "),
    (re.compile(r"\\left|\\right|\\[()\[\],;!: ]"), " "),
    (re.compile(r"\^\{?\\circ\}?|\\degree"), "°"),
    (re.compile(r"\\(?:times|cdot)(?![A-Za-z])"), "×"),
    (re.compile(r"\\div(?![A-Za-z])"), "÷"),
    (re.compile(r"\\approx(?![A-Za-z])"), "≈"),
    (re.compile(r"\{,\}"), ","),
    (re.compile(r"\\([$%&#_{}])"), r"\1"),
    (re.compile(r"(?<![\w$])\$([^$\n]{1,200})\$(?![\w$])"), r" \1 "),
    (re.compile(r"(?<![0-9])\*\*|\*\*(?![0-9])|`|__"), ""),
)
_SPACES = re.compile(r" {2,}")
_EQUALS = re.compile(r"(?<![<>!])=+>?|≈|→|->")
_NEW_STATEMENT = re.compile(r"[,;]\s|[.!?]\s|\sand\s|\n")
_BECAUSE = re.compile(r"[\s,.;:(–—-]+(?:because|since|as|explanation|reason|reasoning|so that|which)\b", re.IGNORECASE)
_ATTRIBUTE = re.compile(r"[0-9A-Za-z]{1,9}-[A-Za-z]{3,9}\b")
_PARENTHESIS = re.compile(r"(?:\s[A-Za-z-]{2,20}){0,3}\s*\([^()]*\)[\s.!]*")
_FOR = re.compile(r"\s+for\s", re.IGNORECASE)
_OPERATOR_BEFORE = re.compile(r"(?:[\w)\]%]\s*[+*×÷·/^]|(?:^|\W)(?:[0-9]+|[A-Za-z])\s+[-−–]|\)\s*[-−–]|\s[x×])[\s(]*$")
_SIGNED_AFTER_TERM = re.compile(r"(?:(?:^|\W)[A-Za-z]|[0-9)])\s*$")
_OPERATOR_AFTER = re.compile(
    r"[\s)]*(?:[+*×÷^]|/(?![A-Za-z]{2})|x\s?(?=[0-9(])|[-−–]\s?(?:[0-9(]|[A-Za-z](?![A-Za-z])))"
)
_HEDGE_BEFORE = re.compile(
    r"(?:\b(?:over|under|above|below|more than|less than|fewer than|greater than|at least|at most|up to|between|not"
    r"|from|within|no more than|no less than|hotter than|colder than|exceeds|almost|nearly)\s|[<>≤≥±]\s?)$",
    re.IGNORECASE,
)
_LOOSE_SIGN = re.compile(r"\s*[-−–]\s+")
_CONCLUDES = re.compile(
    r"(?:so|therefore|thus|hence|in total|altogether|in conclusion|finally|overall)\b", re.IGNORECASE
)
_LAST_SENTENCE = re.compile(r"(?:[.!?]\s|\n)\s*(?=\S)")


def plain(text: str) -> str:
    """``text`` without LaTeX and Markdown around its numbers."""
    if "\\" in text or "$" in text or "*" in text or "`" in text or "{" in text or "_" in text:
        for pattern, plainer in _LATEX:
            text = pattern.sub(plainer, text)
        text = _SPACES.sub(" ", text)
    return text.strip()


def declared(unit: str) -> Unit | None:
    """The unit that a question names: of the table, a rate of two, a ratio, or a word of its own; None for none."""
    name = " ".join(unit.split())
    if not name:
        return None
    if name.casefold() in {"ratio", "fraction", "probability", "1"}:
        return RATIO
    if known := units.unit_named(name):
        return known
    found = next(scan(f"1 {name}"), None)
    if found and found.quantity and found.quantity.unit and found.end == len(name) + 2:
        return found.quantity.unit
    return Unit(name, ((f"{_OWN}{name.casefold()}", 1),))


def _own_words(unit: Unit) -> list[str]:
    """The words, in the singular, of a unit that no table knows: what a question counts."""
    base = unit.dimensions[0][0] if unit.dimensions else ""
    return [_singular(word) for word in base.removeprefix(_OWN).split()] if base.startswith(_OWN) else []


def _singular(word: str) -> str:
    word = word.casefold()
    return word.removesuffix("s") if len(word) > 2 else word


def settled(quantity: Quantity, unit: Unit | None) -> Quantity:
    """``quantity`` in the declared unit: a bare number takes it, another is converted if it can be."""
    if unit is None:
        return quantity
    if quantity.bare or (quantity.noun and _singular(quantity.noun) in _own_words(unit)):
        return Quantity(quantity.number, None if unit == RATIO else unit)
    return quantity.in_unit(unit) or quantity


def answer_text(quantity: Quantity, unit: Unit | None) -> str:
    """The canonical text of a settled quantity: in the declared unit if it could be brought to it.

    What counts something else keeps its noun, so that 8 pens stay apart from the bare 8 that is 8 EUR.
    """
    if unit is None:
        return quantity.canonical()
    if quantity.unit == unit:
        return quantity.canonical_in(unit)
    return f"{quantity.canonical()} {quantity.noun}".rstrip()


def quantity_in(answer: str, unit: Unit | None) -> Quantity | str:
    """The one number that ``answer`` gives, or why there is none: a problem, in words."""
    text = plain(answer)
    if not text:
        return "empty: no answer was given"
    pieces = _EQUALS.split(text)
    if len(pieces) > 1:
        if any(_NEW_STATEMENT.search(piece) for piece in pieces[1:-1]) and not _builds_on(pieces[-2]):
            return AMBIGUOUS
        text = pieces[-1].strip()
        if not any(scan(text)) and len(pieces) == 2:
            return "no number: nothing stands behind the equals sign"
    return _one_of(text, unit)


def _builds_on(piece: str) -> bool:
    """Whether ``piece``, from one equals sign to the next, ends in a calculation with the result that it begins with.

    “= 420 in total. 420 / 7 =” does; then what follows is a last step, and not another value beside the first.
    """
    breaks = [match.end() for match in _NEW_STATEMENT.finditer(piece)]
    result = next(scan(piece), None)
    if not breaks or result is None or result.quantity is None or result.end > breaks[-1]:
        return False
    number, step = result.quantity.number, piece[breaks[-1] :].replace("/", " ÷ ")
    return any(item.quantity and item.quantity.number == number for item in islice(scan(step), _MANY))


def whole_quantity(answer: str) -> Quantity | None:
    """The quantity that ``answer`` is, with nothing before or behind it; None if it is anything else."""
    text = plain(answer).strip(" .!")
    found = merged(text, list(islice(scan(text), 4)))
    whole = len(found) == 1 and found[0].start == 0 and found[0].end == len(text)
    return found[0].quantity if whole else None


def _one_of(text: str, unit: Unit | None) -> Quantity | str:
    found = merged(text, list(islice(scan(text), _MANY)))
    if not found:
        return "no number: a number was asked for"
    if any(not item.word for item in found):
        found = [item for item in found if not _in_passing(text, item)] or found
    elif len(found) == 1 and _is_one(found[0]) and text[: found[0].start].strip(" \t(*_\"'“"):
        return "no number: a number was asked for"
    first = found[0]
    if first.quantity is not None and not text[: first.start].strip(" \t(*_\"'“<[~≈:"):
        rest = text[first.end :]
        if _BECAUSE.match(rest) or _PARENTHESIS.fullmatch(rest):
            return _checked(text, first) or first.quantity
        if _FOR.match(rest) and _only_of_its_kind(found, unit):
            return _checked(text, first) or first.quantity
    for item in found:
        if item.quantity is None:
            return f"unclear number: {item.problem}"
    seen = {_comparable(item.quantity, unit) for item in found if item.quantity}
    if len(seen) > 1 and not _share_and_percent(found):
        return AMBIGUOUS
    for item in found:
        if problem := _checked(text, item):
            return problem
    return max((item.quantity for item in found if item.quantity), key=lambda quantity: not quantity.bare)


def _in_passing(text: str, item: Found) -> bool:
    """Whether a number only goes along with another: “one of”, “the second half”, “a two-week trip”."""
    word = item.word and item.quantity is not None and item.quantity.number in {1, Fraction(1, 2)}
    return (word and item.quantity is not None and item.quantity.unit is None) or bool(
        _ATTRIBUTE.match(text, item.start) and text[: item.start].strip()
    )


def _share_and_percent(found: list[Found]) -> bool:
    """Whether there are two numbers, and one is the other in percent: 0.08, or 8 %."""
    if len(found) != 2:
        return False
    one, other = (item.quantity for item in found)
    if one is None or other is None or one.bare == other.bare:
        return False
    share, percent = (one, other) if one.bare else (other, one)
    as_share = percent.in_unit(RATIO)
    return as_share is not None and as_share.number == share.number


def _is_one(item: Found) -> bool:
    return item.quantity is not None and item.quantity.unit is None and item.quantity.number == 1


def _comparable(quantity: Quantity, unit: Unit | None) -> str:
    return answer_text(settled(quantity, unit), unit)


def _only_of_its_kind(found: list[Found], unit: Unit | None) -> bool:
    """Whether only the first number has a unit, and the others count things: 8 euros for 12 pens."""
    first, *others = (item.quantity for item in found)
    if first is None or first.unit is None or (unit is not None and first.in_unit(unit) is None):
        return False
    return all(other is not None and other.noun for other in others)


def _checked(text: str, item: Found) -> str:
    """Why the number at ``item`` is no plain answer: part of a calculation, a bound, negated; "" if it is one."""
    before, after = text[: item.start], text[item.end :]
    signed = text[item.start : item.start + 1] in {"-", "−", "–"} and _SIGNED_AFTER_TERM.search(before)
    if signed or _OPERATOR_BEFORE.search(before) or _OPERATOR_AFTER.match(after):
        return "unfinished: a calculation and not its result"
    if _HEDGE_BEFORE.search(before):
        return "no plain number: a bound or a “not” stands before it"
    if _LOOSE_SIGN.fullmatch(before):
        return "unclear number: the sign may be a dash"
    return ""


def quantity_of_reply(reply: str, unit: Unit | None) -> Quantity | str:
    """The number of a reply that marks none: the whole reply is the answer, it holds one number, or it concludes so."""
    text = reply.strip()
    if len(text) <= MAX_ANSWER and "\n" not in text and not re.search(r"[.!?]\s", text):
        return quantity_in(text, unit)
    only = _only_number(text, unit)
    if isinstance(only, Quantity):
        return only
    breaks = [match.end() for match in _LAST_SENTENCE.finditer(text, max(0, len(text) - MAX_ANSWER))]
    sentence = text[breaks[-1] :] if breaks else ""
    if _CONCLUDES.match(sentence) and "=" in sentence:
        concluded = quantity_in(sentence, unit)
        return concluded if isinstance(concluded, Quantity) else only
    return only


def _only_number(text: str, unit: Unit | None) -> Quantity | str:
    text = plain(text)
    only: Quantity | None = None
    for place, item in enumerate(scan(text)):
        if place == _MOST_SAME:
            return AMBIGUOUS
        if item.word and _is_one(item):
            continue
        if item.quantity is None:
            return f"unclear number: {item.problem}"
        if only and _comparable(only, unit) != _comparable(item.quantity, unit):
            return AMBIGUOUS
        if problem := _checked(
            text[max(0, item.start - 40) : item.end + 20], _moved(item, item.start - max(0, item.start - 40))
        ):
            return AMBIGUOUS if problem.startswith("unfinished") else problem
        only = item.quantity if only is None or only.bare else only
    return only or "no number: a number was asked for"


def _moved(item: Found, start: int) -> Found:
    return Found(start, start + item.end - item.start, item.quantity)
