"""One item of each published set as a task, and how to tell the sets apart.

An item is what its set's file holds for one question. A reader raises :class:`ItemError` with one sentence for an item
that is not of its format; :mod:`~dissensus.study.tasks.reading` adds file and line.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from dissensus.answers.extraction import canonical_answer
from dissensus.answers.kinds import KINDS
from dissensus.answers.rationals import plain_text, whole_number
from dissensus.errors import UsageError
from dissensus.script.questions import Question
from dissensus.study.tasks.task import Task

Item = Mapping[str, Any]

_GSM_GOLD = re.compile(r"####\s*([-−]?[$]?[-−]?[0-9][0-9,]*(?:\.[0-9]+)?)\s*$")
_BBH_LETTERED = re.compile(r"\(([A-Z])\) (.*)")
_BBH_BARE = re.compile(r"- (.*)")
_AQUA = re.compile(r"\s*\(?([A-E])\)\s?(.*)", re.DOTALL)
_ASKED_AT_THE_END = re.compile(r"At the end of the ")
_PLAIN_KEYS = ("question", "kind", "options", "unit", "id", "gold", "story", "verifiers", "solution", "data")


class ItemError(Exception):
    """An item is not of the format that it is read as."""


@dataclass(frozen=True, slots=True)
class Format:
    """A format of data sets.

    Args:
        name: as it is chosen.
        keys: keys that an item of it has, and that tell it from the others.
        read: makes a task of an item and the item's name.
        about: one line for people.
    """

    name: str
    keys: frozenset[str]
    read: Callable[[Item, str], Task]
    about: str


def _text(item: Item, key: str) -> str:
    value = item.get(key)
    if not isinstance(value, str) or not value.strip():
        raise ItemError(f"“{key}” is missing or is no text")
    return value


def gsm8k(item: Item, name: str) -> Task:
    """A word problem; the gold stands behind the last ``####``, perhaps with commas or a sign."""
    solution = _text(item, "answer")
    gold = _GSM_GOLD.search(solution)
    value = whole_number(gold[1]) if gold else None
    if value is None:
        raise ItemError("no number stands behind #### at the end of “answer”")
    question = Question(text=_text(item, "question").strip(), kind="number", id=name, gold=plain_text(value))
    written = gold[1] if gold else ""
    return Task(id=name, question=question, story=name, verifiers=("arithmetic",), written=written, solution=solution)


def bbh(item: Item, name: str) -> Task:
    """A question of BIG-Bench Hard with its options in ``input``: lettered, or yes and no without letters."""
    whole, target = _text(item, "input"), _text(item, "target").strip()
    asked, marker, listed = whole.partition("\nOptions:\n")
    if not marker:
        raise ItemError("“input” has no line “Options:”")
    lettered = _BBH_LETTERED.findall(listed)
    if lettered:
        return _lettered_bbh(name, asked, lettered, target)
    options = tuple(option.strip() for option in _BBH_BARE.findall(listed))
    if target not in options:
        raise ItemError("“target” is none of the options")
    kind = "yes-no" if {option.casefold() for option in options} == {"yes", "no"} else "choice"
    gold = canonical_answer(target, kind, options=options)
    question = Question(text=asked, kind=kind, options=options, id=name, gold=gold)
    return Task(id=name, question=question, story=name, verifiers=_verifiers(asked), lettered=False)


def _lettered_bbh(name: str, asked: str, listed: list[tuple[str, str]], target: str) -> Task:
    letters, options = [letter for letter, _ in listed], tuple(text.strip() for _, text in listed)
    if letters != [chr(65 + place) for place in range(len(letters))]:
        raise ItemError("the letters of the options are not in order")
    if target.strip("()") not in letters:
        raise ItemError("“target” is none of the options")
    letter = target.strip("()")
    question = Question(text=asked, kind="choice", options=options, id=name, gold=options[letters.index(letter)])
    told = _ASKED_AT_THE_END.split(asked)
    story = _digest("At the end of the ".join(told[:-1]) if len(told) > 1 else asked)
    return Task(id=name, question=question, story=story, verifiers=_verifiers(asked), data={"letter": letter})


def _verifiers(asked: str) -> tuple[str, ...]:
    if re.search(r"\b(?:swap|switch|trade)s?\b", asked) and ": " in asked:
        return ("tracking",)
    if "return to the starting point" in asked:
        return ("navigate",)
    return ("deduction",) if "arranged in a fixed order" in asked else ()


def math(item: Item, name: str) -> Task:
    """A problem of MATH; the gold is a formula as it stands in ``answer``."""
    gold = canonical_answer(_text(item, "answer"), "text")
    if gold is None:
        raise ItemError("“answer” holds no answer")
    data = {key: item[key] for key in ("subject", "level", "unique_id") if key in item}
    question = Question(text=_text(item, "problem"), kind="text", id=name, gold=gold)
    solution = item.get("solution")
    return Task(
        id=name,
        question=question,
        story=name,
        verifiers=("arithmetic",),
        written=item["answer"],
        solution=solution if isinstance(solution, str) else "",
        data=data,
    )


def aqua(item: Item, name: str) -> Task:
    """A problem with five options ``A)…``; two of them may have the same text."""
    listed = item.get("options")
    if not isinstance(listed, list) or not listed or not all(isinstance(option, str) for option in listed):
        raise ItemError("“options” is no list of texts")
    pairs = [_AQUA.fullmatch(option) for option in listed]
    letters = [match[1] if match else "" for match in pairs]
    if letters != [chr(65 + place) for place in range(len(letters))]:
        raise ItemError("the letters of the options are not in order")
    options = tuple(match[2].strip() for match in pairs if match)
    letter = _text(item, "correct").strip()
    if letter not in letters:
        raise ItemError("“correct” is none of the options")
    gold = canonical_answer(options[letters.index(letter)], "choice", options=options)
    question = Question(text=_text(item, "question").strip(), kind="choice", options=options, id=name, gold=gold)
    rationale = item.get("rationale")
    return Task(
        id=name,
        question=question,
        story=name,
        verifiers=("arithmetic",),
        solution=rationale if isinstance(rationale, str) else "",
        data={"letter": letter},
    )


def strategyqa(item: Item, name: str) -> Task:
    """A question of yes and no; facts and decomposition stay with the operator."""
    if not isinstance(item.get("answer"), bool):
        raise ItemError("“answer” is neither true nor false")
    gold = "yes" if item["answer"] else "no"
    data = {key: item[key] for key in ("qid", "term", "facts", "decomposition") if key in item}
    question = Question(text=_text(item, "question").strip(), kind="yes-no", id=name, gold=gold)
    return Task(id=name, question=question, story=name, data=data)


def plain(item: Item, name: str) -> Task:
    """An item of the own format: the keys of a file of questions, and ``story``, ``verifiers``, ``solution``."""
    if unknown := sorted(item.keys() - set(_PLAIN_KEYS)):
        raise ItemError(f"“{unknown[0]}” is no key of it; known are {', '.join(_PLAIN_KEYS)}")
    options = item.get("options", [])
    if not isinstance(options, list) or not all(isinstance(option, str) for option in options):
        raise ItemError("“options” is no list of texts")
    kind = item.get("kind", "auto")
    if kind not in KINDS:
        raise ItemError(f"“kind” is none of {', '.join(KINDS)}")
    kind = "choice" if options and kind == "auto" else "text" if kind == "auto" else kind
    gold = _plain_gold(item.get("gold"), kind, options)
    data = item.get("data", {})
    question = Question(
        text=_text(item, "question"),
        kind=kind,
        options=tuple(options),
        unit=str(item.get("unit", "")),
        id=name,
        gold=gold,
        data=data if isinstance(data, dict) else {},
    )
    verifiers = item.get("verifiers", [])
    if not isinstance(verifiers, list) or not all(isinstance(one, str) for one in verifiers):
        raise ItemError("“verifiers” is no list of names")
    solution = item.get("solution", "")
    return Task(
        id=name,
        question=question,
        story=str(item.get("story") or name),
        verifiers=tuple(verifiers),
        solution=solution if isinstance(solution, str) else "",
    )


def _plain_gold(gold: Any, kind: str, options: list[str]) -> str:
    if gold is None:
        raise ItemError("“gold” is missing: without the right answer there is nothing to measure")
    written = ("yes" if gold else "no") if isinstance(gold, bool) else str(gold)
    try:
        found = canonical_answer(written, kind, options=options)
    except UsageError as problem:
        raise ItemError(problem.message) from None
    if found is None:
        raise ItemError(f"“gold” is no answer of the kind {kind}")
    return found


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:12]


FORMATS: Final[Mapping[str, Format]] = {
    one.name: one
    for one in (
        Format("aqua", frozenset({"question", "options", "correct"}), aqua, "AQuA: five options, scored by text"),
        Format("bbh", frozenset({"input", "target"}), bbh, "BIG-Bench Hard: options in the question"),
        Format("math", frozenset({"problem", "answer"}), math, "MATH and MATH500: a formula"),
        Format("strategyqa", frozenset({"qid", "question", "answer"}), strategyqa, "StrategyQA: yes or no"),
        Format("gsm8k", frozenset({"question", "answer"}), gsm8k, "GSM8K: a number behind ####"),
        Format("plain", frozenset({"question", "gold"}), plain, "one object a line, with question and gold"),
    )
}
"""In the order in which they are tried on an item whose format was not named."""


def format_of(item: Item) -> Format | None:
    """The format that ``item`` looks like; None if it looks like none."""
    return next((one for one in FORMATS.values() if one.keys <= item.keys()), None)
