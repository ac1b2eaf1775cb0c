r"""The answer of a text that several wrote: where it stands, by which rule it was found, and its one form.

A reply of one agent that marks several answers is ambiguous. In a text by many a later answer may correct an earlier
one, so one of them is picked: by default the last. Rules in their order: behind ``####``; in ``\boxed{}`` with balanced
braces; behind "answer is" or "answer:"; and, as a fallback that no mark announces, the last number, the last option in
parentheses, the last yes or no. The text is untrusted; every search is linear in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from dissensus.answers import Read, read_answer
from dissensus.answers.kinds import resolved
from dissensus.answers.marks import undecorated
from dissensus.answers.normal import MAX_ANSWER, without_surrogates, without_thinking
from dissensus.answers.quantity import Quantity
from dissensus.answers.units import CURRENCY_CODES

Rule = Literal["hash", "boxed", "phrase", "fallback", ""]
RULES: Final[tuple[Rule, ...]] = ("hash", "boxed", "phrase", "fallback")
Pick = Literal["last", "first", "last-before-end"]

_MOST = 64
"""Places that are looked at for each rule."""
_HASH = re.compile(r"####[ \t]{0,8}([^\n]{0,1000})")
_PHRASE = re.compile(
    r"\banswer(?P<how>\s{1,3}(?:is|would be|should be|must be)\b\s{0,3}:?|[\"'*_`]{0,3}\s?[:\uff1a=])",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"[.!?](?=\s|$)")
_NUMBER = re.compile(r"(?:(?<![\w.,)])[-\u2212])?[$\u20ac\u00a3]?\d[\d,]*(?:\.\d+)?")
_LETTER = re.compile(r"\(([A-Za-z])\)")
_POLAR = re.compile(r"\b(?:yes|no|true|false)\b", re.IGNORECASE)
_NOTES = re.compile(r"<<[^<>\n]{0,200}>>")
_BOXES = ("\\boxed{", "\\fbox{")


@dataclass(frozen=True, slots=True)
class Extracted:
    """What a text answers.

    Args:
        answer: the canonical answer; None if there is none.
        rule: ``hash``, ``boxed``, ``phrase`` or ``fallback``; "" if nothing was found.
        abstained: whether it says that no answer can be given.
        problem: why there is no answer.
        read: the reading, for comparing it with others.
    """

    answer: str | None
    rule: Rule = ""
    abstained: bool = False
    problem: str = ""
    read: Read | None = None

    @property
    def strict(self) -> bool:
        """Whether a mark announces the answer."""
        return self.answer is not None and self.rule != "fallback"


def extract(
    text: str,
    kind: str,
    *,
    options: Sequence[str] = (),
    unit: str = "",
    pick: Pick = "last",
    end_mark: str = "",
    cut: bool = False,
    thinking: bool = False,
) -> Extracted:
    """The answer of ``text``.

    Args:
        text: the whole text.
        kind: one of :data:`~dissensus.answers.kinds.KINDS`.
        options: the options of a choice, as the agents saw them.
        unit: the unit that a number is compared in; without one, a currency sign and a percent sign are dropped.
        pick: which one of several.
        end_mark: with ``last-before-end``: nothing behind its first occurrence is read.
        cut: the text ended at a limit: an answer that touches its end may be unfinished and is passed over.
        thinking: thinking blocks are part of the text.
    """
    kind = resolved(kind, options, unit)
    body = without_surrogates(text)
    if not thinking:
        body = without_thinking(body)[0]
    if pick == "last-before-end" and end_mark:
        place = body.find(end_mark)
        body, cut = (body[:place], False) if place >= 0 else (body, cut)
    end = len(body.rstrip()) if cut else len(body) + 1
    problem = "no answer was found"
    for rule in RULES:
        for content, stop in _places(rule, body, kind, options, first=pick == "first"):
            if stop >= end:
                problem = "the text was cut at its answer"
                continue
            found = _read(content, kind, options, unit)
            if found.status == "answer":
                found = _bare(found, kind, unit)
                return Extracted(found.canonical, rule, read=found)
            if found.status == "abstained":
                return Extracted(None, rule, abstained=True, read=found)
            problem = found.problem
    return Extracted(None, problem=problem)


def _places(rule: Rule, body: str, kind: str, options: Sequence[str], *, first: bool) -> Iterator[tuple[str, int]]:
    """Contents that may be the answer with the place behind them, the preferred one first."""
    if rule == "hash":
        found = [(match[1], match.end()) for match in _some(_HASH, body, first=first)]
    elif rule == "boxed":
        found = list(_boxed(body, first=first))
    elif rule == "phrase":
        found = [_behind(body, match) for match in _some(_PHRASE, body, first=first)]
    else:
        found = _unmarked(body, kind, options, first=first)
    for content, stop in found if first else reversed(found):
        yield content, stop
        if len(lines := content.split(" ", 1)) > 1 and kind == "number":
            yield lines[0], stop  # "#### 18 and so on"


def _some(pattern: re.Pattern[str], text: str, *, first: bool) -> list[re.Match[str]]:
    """The first or the last matches, in order."""
    found: list[re.Match[str]] = []
    for match in pattern.finditer(text):
        found.append(match)
        if first and len(found) == _MOST:
            break
        if len(found) > 2 * _MOST:
            del found[:_MOST]
    return found if first else found[-_MOST:]


def _behind(body: str, match: re.Match[str]) -> tuple[str, int]:
    """What stands behind "answer is" up to the end of its sentence, behind "answer:" up to the end of its line."""
    start = match.end()
    while start < len(body) and body[start] in " \t\n*_`" and start - match.end() < 8:
        start += 1
    line = body.find("\n", start)
    stop = min(line if line >= 0 else len(body), start + MAX_ANSWER)
    if ":" not in match["how"] and "=" not in match["how"] and (sentence := _SENTENCE_END.search(body, start, stop)):
        stop = sentence.start()
        return body[start:stop], sentence.end()
    return body[start:stop], stop


def _boxed(body: str, *, first: bool) -> Iterator[tuple[str, int]]:
    found: list[tuple[str, int]] = []
    for box in _BOXES:
        place = body.find(box) if first else body.rfind(box)
        for _ in range(_MOST):
            if place < 0:
                break
            start = place + len(box)
            if (stop := _closing(body, start)) is not None:
                found.append((body[start:stop], stop))
            place = body.find(box, start) if first else body.rfind(box, 0, place)
    yield from sorted(found, key=lambda one: one[1])


def _closing(body: str, start: int) -> int | None:
    depth = 1
    for place in range(start, min(len(body), start + MAX_ANSWER)):
        depth += (body[place] == "{") - (body[place] == "}")
        if not depth:
            return place
    return None


def _unmarked(body: str, kind: str, options: Sequence[str], *, first: bool) -> list[tuple[str, int]]:
    if kind == "number":
        plain = _NOTES.sub(lambda note: " " * len(note[0]), body)
        return [(match[0].rstrip(","), match.end()) for match in _some(_NUMBER, plain, first=first)]
    if kind == "choice":
        letters = {chr(ord("A") + place) for place in range(min(len(options), 26))}
        return [
            (match[0], match.end() - 1)
            for match in _some(_LETTER, body, first=first)
            if match[1].upper() in letters
        ]  # fmt: skip
    if kind == "yes-no":
        return [(match[0], match.end()) for match in _some(_POLAR, body, first=first)]
    return []


def _read(content: str, kind: str, options: Sequence[str], unit: str) -> Read:
    content = undecorated(content.strip())
    found = read_answer(kind, content, options=options, unit=unit)
    if found.status == "unreadable" and (sentence := _SENTENCE_END.search(content)):
        shorter = read_answer(kind, content[: sentence.start()], options=options, unit=unit)
        return found if shorter.status == "unreadable" else shorter
    return found


def _bare(found: Read, kind: str, unit: str) -> Read:
    """The reading; of a number for which no unit is declared, without currency or percent sign."""
    value = found.value
    if not isinstance(value, Quantity) or value.unit is None or kind != "number" or unit.strip():
        return found
    if value.unit.name not in {*CURRENCY_CODES, "%"}:
        return found
    number = Quantity(value.number)
    return replace(found, canonical=number.canonical(), value=number)
