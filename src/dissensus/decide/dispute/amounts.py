"""Amounts in a line of text: numbers with their unit and the words around them. What may be no amount is none.

Numbers that are names (``order 4711``, ``DN-12``), days and times are left out. A number that can be read in two ways
(``1.234``) carries both.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import Final

from dissensus.answers.numerals import numeral_at
from dissensus.decide.dispute.normalise import normal
from dissensus.decide.dispute.words import NEGATIONS, NUMBER_WORDS, UNITS


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


_MOMENT: Final = re.compile(
    r"\b\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?"
    r"|\b\d{1,2}[./]\d{1,2}[./]\d{4}\b|\b\d{1,2}:\d{2}(?::\d{2})?\b"
)
_NAME: Final = re.compile(r"\S*[^\W\d_]\S*\d\S*|\S*\d\S*[-_/#]\S*\d\S*|\S*#\S*\d\S*")
_LABELLED: Final = re.compile(r"[^\W\d_]+[:=][-+\u2212]?\d[\d.,]*")
_WITH_UNIT: Final = re.compile(r"[€$£¥]?\d[\d.,]*(?:%|€|\$|£|¥|([^\W\d_]{1,8}))?")
NAMED: Final = _set(
    "order no nr number note invoice delivery ticket booking line page row item position pos ref id document article"
    " customer supplier shipment lot batch po sku auftrag bestellung rechnung lieferschein ordine bolla fattura"
    " commande facture"
)
"""Words after which a number is a name."""
_STRICTLY: Final = _set(
    "order invoice note ticket booking ref id no nr number line page row pos position po sku auftrag bestellung"
    " rechnung"
)
"""Those of which that is so after a colon, too."""
_HEDGES: Final = _set(
    "or about approximately approx circa around roughly estimated estimate between almost nearly maybe perhaps probably"
    " least most more less fewer than over under ungefähr etwa oder circa forse quasi environ ou"
    " minus target quota hope hoped hopefully if should would could might will assume assumed supposed supposedly"
    " alleged allegedly apparently wrong false incorrect incorrectly corrected correction cancelled canceled void"
    " voided invalid erroneous error deleted obsolete soll falls storno storniert falsch annullato sbagliato faux"
)
"""Words beside which a number need not be what is said."""
_DOUBT: Final = re.compile(
    r"[~<>≈±≤≥]\s*\d|\d\s*\?|\?\s*$|[:=]\s*\(\s*\d[\d.,]*\s*\)|\d-(?=\s|$|[,;.)])|[:=]\s*[–—]\d"
    r"|\d\s+\d+/\d|\d\s+(?:to|bis|out of|of|von)\s+(?:the\s+)?\d|~~|<(?:s|del|strike)>|\d[\u200b-\u200d\u2060\ufeff]+\d"
    r"|\b(?:min|max)\b\.?\s*:?\s*\d|\bup to\b|\bto be\b|\bshort of\b",
    re.IGNORECASE,
)
"""Signs that a number is a bound, a part, in doubt or struck out."""
_WORD: Final = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_START: Final = re.compile(r"(?<![\w.,])(?:\d|\.\d|[^\W\d_])")
_SIGN: Final = re.compile(r"(?:^|(?<=[\s:=(]))[-+\u2212]$")
_CURRENCY: Final = re.compile(r"(€|\$|£|¥|\b(?:EUR|USD|GBP|CHF|JPY)\b)\s?$")
_AFTER: Final = re.compile(r"\s?(%|€|\$|£|¥|[^\W\d_]+)")
_CLAUSE: Final = re.compile(r"[,;|()\[\]\t]|\.(?:\s|$)|\s[-–—]\s")
_GROUPED: Final = re.compile(r"\d{1,3}(?:[.,]\d{3})+")
_OPERATOR: Final = re.compile(r"[×*·=÷]|(?<=[\s\d])[xX/](?=[\s\d])|(?<=\s)[-+](?=\s)")
_NUMBER_SIGN: Final = re.compile(r"\bno\.(?=\s*[:#]?\s*\d)")
_BOLD: Final = re.compile(r"(?<![^\s|(>])(\*\*)(?=\S)([^*\n]+)(\*\*)(?!\w)|^(\s*\*)(?=\s)")
_SHORT: Final = 200
_SIGNS: Final = {"€": "eur", "$": "usd", "£": "gbp", "¥": "jpy"}


@dataclass(frozen=True, slots=True)
class Amount:
    """A number in a text.

    Args:
        value: what it says.
        start, end: where it stands, its unit not included.
        unit: the word, percent or currency sign beside it, after N; "" if there is none. It need be no unit.
        words: words of the clause that it stands in, the unit included, without plural s.
        others: what else its digits may say.
    """

    value: Fraction
    start: int
    end: int
    unit: str = ""
    words: frozenset[str] = field(default=frozenset())
    others: frozenset[Fraction] = field(default=frozenset())


@dataclass(frozen=True, slots=True)
class Amounts:
    """All amounts of a text.

    Args:
        found: in order.
        words: all words of the text, without plural s.
        negated: a word such as "not" or "without" stands in it, so that an amount may be denied.
        open: something may say a number and cannot be read: a number word of another language, a sign of arithmetic,
            "about", "10 or 11".
    """

    found: tuple[Amount, ...]
    words: frozenset[str]
    negated: bool
    open: bool


def stem(word: str) -> str:
    """A word after N, without a plural s."""
    text = normal(word).strip()
    if len(text) > 3 and text.endswith(("xes", "ches", "shes", "sses")):
        return text[:-2]
    return text[:-1] if len(text) > 3 and text.endswith("s") and not text.endswith("ss") else text


def words_of(text: str) -> frozenset[str]:
    """The words of a text, letters only, each as :func:`stem` has it."""
    return _few_words(text) if len(text) < _SHORT else _words(text)


@lru_cache(maxsize=4096)
def _few_words(text: str) -> frozenset[str]:
    return _words(text)


def _words(text: str) -> frozenset[str]:
    return frozenset(stem(word) for word in _WORD.findall(normal(text).replace("_", " ")))


def amounts_in(text: str) -> Amounts:
    """The amounts in ``text``. Total: any text has some, or none."""
    masked = _masked(text)
    found: list[Amount] = []
    unread = part = False
    at = 0
    while match := _START.search(masked, at):
        start = match.start()
        numeral = numeral_at(masked, start)
        if numeral is None:
            word = _WORD.match(masked, start)
            at = word.end() if word else start + 1
            continue
        at = max(numeral.end, start + 1)
        if numeral.value is None:
            unread = True
            continue
        unit = _unit(masked, start, numeral.end)
        part |= numeral.word and numeral.value < 1
        if not numeral.word and _is_name(masked, text, start, unit):
            continue
        sign = -1 if _SIGN.search(masked[:start]) else 1
        others = frozenset(sign * each for each in _other_readings(masked[start:at]) if each != numeral.value)
        found.append(Amount(sign * numeral.value, start, numeral.end, unit, others=others))
    plain = set(_WORD.findall(_NUMBER_SIGN.sub(" ", normal(text))))
    known = {word for amount in found for word in _WORD.findall(normal(masked[amount.start : amount.end]))}
    beside = any(not text[one.end : other.start].strip() for one, other in pairwise(found))  # 10 9
    doubted = bool(plain & _HEDGES) or _DOUBT.search(text) is not None
    hedged = bool(found) and (doubted or beside or (len(found) > 1 and part))
    return Amounts(
        _with_words(masked, text, found),
        words_of(text),
        negated=bool(plain & NEGATIONS),
        open=unread
        or hedged
        or (bool(found) and bool(_OPERATOR.search(masked)))
        or bool((plain & NUMBER_WORDS) - known),
    )


def doubtful(text: str) -> bool:
    """Whether a word or sign in ``text`` denies, bounds or doubts what it says."""
    words = set(_WORD.findall(normal(text)))
    return bool(words & (_HEDGES | NEGATIONS)) or _DOUBT.search(text) is not None


def _masked(text: str) -> str:
    """``text`` with moments, names that hold digits and marks of Markdown blanked out, place by place."""

    def blank(match: re.Match[str]) -> str:
        return " " * len(match[0])

    def blank_name(match: re.Match[str]) -> str:
        token = match[0]
        bare = token.strip(".,;:()[]\"'")
        plain = _WITH_UNIT.fullmatch(bare)  # 480g, 12%
        if _LABELLED.fullmatch(bare):  # received:12
            return token
        return token if plain and (not plain[1] or normal(plain[1]) in UNITS) else " " * len(token)

    plain = _BOLD.sub(lambda match: match[0].replace("*", " "), text) if "*" in text else text
    return _NAME.sub(blank_name, _MOMENT.sub(blank, plain))


def _is_name(masked: str, text: str, start: int, unit: str) -> bool:
    """Whether a number names the thing whose word stands before it, rather than counting something."""
    before = re.search(r"([^\W\d_]+)(\s*[:=#.]*\s*)$", masked[:start])
    if before is None or _NAME.search(_MOMENT.sub("", text[before.end(1) : start])):  # "order K7: 12" has its name
        return False
    word = normal(before[1])
    if unit and (unit in UNITS or stem(unit) in UNITS):
        return False
    return word in _STRICTLY if ":" in before[2] or "=" in before[2] else word in NAMED


def _unit(text: str, start: int, end: int) -> str:
    before = _CURRENCY.search(text[:start].rstrip("-+\u2212"))
    if before:
        return _SIGNS.get(before[1], normal(before[1]))
    after = _AFTER.match(text, end)
    return _SIGNS.get(after[1], stem(after[1])) if after else ""


def _with_words(masked: str, text: str, found: list[Amount]) -> tuple[Amount, ...]:
    """The amounts with the words that go with each: of its clause, divided among the amounts in it."""
    breaks = [0, *(match.end() for match in _CLAUSE.finditer(masked)), len(masked)]
    done: list[Amount] = []
    for number, amount in enumerate(found):
        first = max(at for at in breaks if at <= amount.start)
        last = min(at for at in breaks if at >= amount.end)
        others = [each for n, each in enumerate(found) if n != number and first <= each.start < last]
        if others and masked[first:last].lstrip()[:1].isalpha():  # ordered 12 received 9
            first = max((each.end for each in others if each.end <= amount.start), default=first)
            last = amount.end
        elif others:  # 12 ordered 9 received
            first, last = amount.start, min((each.start for each in others if each.start >= amount.end), default=last)
        words = words_of(text[first:last]) | ({amount.unit} if amount.unit in UNITS else frozenset())
        done.append(replace(amount, words=words))
    return tuple(done)


def _other_readings(digits: str) -> frozenset[Fraction]:
    """What digits say if their marks are meant the other way round: 1.234 is a thousand in some countries."""
    found: set[Fraction] = set()
    if _GROUPED.fullmatch(digits):
        found.add(Fraction(digits.replace(".", "").replace(",", "")))
        if digits.count(".") + digits.count(",") == 1:
            found.add(Fraction(digits.replace(",", ".")))
    return frozenset(found)
