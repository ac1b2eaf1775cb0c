"""What a reply to the request to settle says: which answer it takes, which document it names, what it quotes.

Read in this order: a JSON object with the keys that were asked for; lines such as ``Verdict: 1``; plain prose. Whatever
a reply holds, reading raises nothing: what cannot be told is a problem in words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from dissensus.answers.normal import is_abstention, mentions_abstention, without_surrogates, without_thinking
from dissensus.answers.normal import normal as folded
from dissensus.decide.dispute.normalise import normal
from dissensus.decide.dispute.searching import SHORTEST
from dissensus.decide.self_check_answers import Asking, Held, differ, given
from dissensus.script.actions import objects_in

Choice = Literal["first", "second", "neither", "third", ""]
"""Which of the two answers, in the order in which they were shown; neither; one of its own; "" cannot be told."""
Form = Literal["json", "lines", "prose", ""]

LONGEST: Final = 100_000
"""Characters of a reply that are read."""
_MOST: Final = 2000
_NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    "verdict": ("verdict", "choice", "decision", "winner"),
    "answer": ("answer", "final answer", "final_answer"),
    "source": ("source", "document", "label"),
    "quote": ("quote", "evidence", "quotation", "citation"),
    "why": ("why", "reason", "reasoning", "explanation"),
}
_FIELD: Final = {name: field for field, names in _NAMES.items() for name in names}
_LINE: Final = re.compile(
    rf"^[\s>*#_`-]*({'|'.join(sorted(_FIELD, key=len, reverse=True))})[\s*_`]*[:=]", re.IGNORECASE | re.MULTILINE
)
_POSITION: Final = re.compile(
    r"(?:answer|option|number|no\.?|nr\.?|#)?\s*(?:(1st|1|one|first)|(2nd|2|two|second))(?:\s+answer)?"
    r"(?:\s*[.:,;()\u2013\u2014-](?!\d).*)?",
    re.DOTALL,
)
_NAMED: Final = re.compile(
    r"\b(?:answer|option)\s+(?:(1|one)|(2|two))\b|\b(?:(first)|(second))\s+(?:answer|option)\b", re.IGNORECASE
)
_OPEN: Final = re.compile(
    r"\b(?:neither|none|undetermined|undecid\w+|unsettled|inconclusive|escalat\w+|irreconcilabl\w+|tie|tied)\b"
    r"|\b(?:can ?not|can't|could not|couldn't|unable to|impossible to)\s+(?:be\s+)?"
    r"(?:tell|told|say|said|settled?|decided?|determined?|know|resolved?)\b"
    r"|\b(?:a\s+)?(?:person|human|somebody)\s+(?:has\s+to|should|must|decides|needs\s+to)\b",
    re.IGNORECASE,
)
_SILENT: Final = re.compile(r"\b(?:do|does)(?: not|n't)\s+(?:tell|say|settle|decide|determine)\b", re.IGNORECASE)
"""What says in place of a verdict that there is none; in prose it may be said of one document."""
_BOTH: Final = re.compile(r"\bboth\b", re.IGNORECASE)
_QUOTED: Final = re.compile(r"[\u201c\u201e\u00ab\"]([^\u201c\u201d\u201e\u00ab\u00bb\"]+)[\u201d\u201c\u00bb\"]")
_LABEL: Final = re.compile(r"\bd[1-9][0-9]{0,3}\b", re.IGNORECASE)
_QUOTE_LABEL: Final = re.compile(r"\s*\[?(d[1-9][0-9]{0,3})\]?\s*[:,\u2013\u2014-]\s*", re.IGNORECASE)
_PAIRS: Final = {
    "\u201c": "\u201d",
    "\u201e": "\u201c",
    "\u00ab": "\u00bb",
    '"': '"',
    "'": "'",
    "\u2018": "\u2019",
    "`": "`",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What a reply says.

    Args:
        choice: which answer it takes.
        answer: its own words for it; "" if it has none.
        source: the label of the document that it names; "" if it names none, or none that it was shown.
        named: how it names its source, as it stands in the reply.
        quote: the words that it quotes, without the marks around.
        why: its reason.
        form: how it was read.
        problem: why the choice cannot be told; "" if it can.
    """

    choice: Choice = ""
    answer: str = ""
    source: str = ""
    named: str = ""
    quote: str = ""
    why: str = ""
    form: Form = ""
    problem: str = ""


def read_verdict(text: str, asking: Asking, shown: tuple[Held, Held], names: Mapping[str, str]) -> Said:
    """What ``text`` says.

    Args:
        text: the reply.
        asking: the question.
        shown: the two answers, in the order in which they were shown.
        names: label to name of each document that was shown.
    """
    first, second = shown
    reply, unfinished = without_thinking(without_surrogates(text[:LONGEST]))
    if not reply:
        return Said(problem="the reply ended while thinking" if unfinished else "nothing was said")
    fields, form = _fields(reply)
    if not fields:
        return _prose(reply, asking, first, second, names)
    named = fields.get("source", "").strip()
    quote = fields.get("quote", "").strip()
    label = _QUOTE_LABEL.match(quote)
    if label is not None and label[1].lower() in names:
        named, quote = named or label[1], quote[label.end() :]
    said = Said(
        answer=_bare(fields.get("answer", ""))[:_MOST],
        source=_label_in(named, names),
        named="" if is_nothing(named) else named[:_MOST],
        quote="" if is_nothing(quote) else _bare(quote)[:LONGEST],
        why=fields.get("why", "").strip()[:_MOST],
        form=form,
    )
    choice, problem = _choice(fields.get("verdict", "").strip(), said.answer, asking, first, second)
    return replace(said, choice=choice, problem=problem)


def is_nothing(text: str) -> bool:
    """Whether a field says that there is nothing to put into it."""
    return folded(text) in ("", "none", "nothing", "null", "n/a", "na", "-", "…", "...", "no source", "no quote")


# --- the parts of a reply


def _fields(reply: str) -> tuple[dict[str, str], Form]:
    """The fields of the last JSON object that has a verdict or an answer; else those of lines."""
    for found in reversed(list(objects_in(reply))):
        fields = dict(reversed(list(_flat(found))))  # of one field that stands twice, the first counts
        if "verdict" in fields or "answer" in fields:
            return fields, "json"
    marks = list(_LINE.finditer(reply))
    lines: dict[str, str] = {}
    for place, mark in enumerate(marks, 1):
        end = marks[place].start() if place < len(marks) else len(reply)
        value = reply[mark.end() : end].strip(" \t\r\n*_")
        lines[_FIELD[mark[1].lower()]] = value  # of one that stands twice, the last: replies end with their verdict
    return (lines, "lines") if "verdict" in lines or "answer" in lines else ({}, "")


def _flat(data: Mapping[str, Any], deep: int = 2) -> Iterator[tuple[str, str]]:
    for key, value in data.items():
        field = _FIELD.get(str(key).strip().lower())
        for one in value if isinstance(value, list) else [value]:
            if isinstance(one, Mapping):
                if deep:
                    yield from _flat(one, deep - 1)
            elif field is not None and one is not None:
                yield field, ("yes" if one else "no") if isinstance(one, bool) else str(one)


def _bare(text: str) -> str:
    """``text`` without quotation marks and dots of omission around it."""
    before = None
    while text != before:
        before, text = text, text.strip()
        closing = _PAIRS.get(text[:1])
        if len(text) > 1 and closing == text[-1] and text[0] not in text[1:-1] and closing not in text[1:-1]:
            text = text[1:-1]
        for dots in ("…", "..."):
            text = text.removeprefix(dots).removesuffix(dots)
    return text


def _label_in(named: str, names: Mapping[str, str]) -> str:
    """The label of the one document that ``named`` names: by label, else by its name."""
    labels = {label.lower() for label in _LABEL.findall(named)} & names.keys()
    if len(labels) == 1:
        return str(labels.pop())
    if labels or not named.strip():
        return ""
    text = normal(named).strip()
    same = [label for label, name in names.items() if normal(name).strip() == text]
    held = same or [label for label, name in names.items() if normal(name).strip() in text]
    return held[0] if len(held) == 1 else ""


# --- which answer


def _choice(verdict: str, answer: str, asking: Asking, first: Held, second: Held) -> tuple[Choice, str]:
    """Which answer a reply in fields takes, and why that cannot be told."""
    place = _POSITION.fullmatch(folded(verdict).removeprefix("the ")) if verdict else None
    word = _same_words(verdict, first, second)
    if place is not None and word and word != ("first" if place[1] else "second"):
        return "", f"ambiguous: “{folded(verdict)}” may be an answer, or its number"
    if word:
        return _beside(word, answer, asking, first, second)
    if place is not None:
        return _beside("first" if place[1] else "second", answer, asking, first, second)
    open_ = _OPEN.search(verdict) or _SILENT.search(verdict)
    if verdict and (is_abstention(verdict) or (open_ and not _one_of(verdict, asking, first, second))):
        own = answer and not is_nothing(answer) and not is_abstention(answer)
        third = own and folded(verdict) in ("neither", "none") and _is_third(answer, asking, first, second)
        return ("third" if third else "neither"), ""
    if _BOTH.match(folded(verdict)) or folded(verdict) in ("another", "another answer", "other"):
        return "third", ""
    text = verdict or answer
    if not text or is_nothing(text):
        return "", "it does not say which answer is right"
    if is_abstention(text):
        return "neither", ""
    if one := _one_of(text, asking, first, second) or _held_in(text, first, second):
        return one, ""
    return ("third", "") if given(asking, text, "").read is not None else ("", "its verdict cannot be read")


def _same_words(verdict: str, first: Held, second: Held) -> Choice:
    """The answer that a verdict repeats as it was shown."""
    said = folded(verdict)
    fits = [said == folded(one.answered.written) for one in (first, second)]
    return "" if not said or fits[0] == fits[1] else "first" if fits[0] else "second"


def _beside(choice: Choice, answer: str, asking: Asking, first: Held, second: Held) -> tuple[Choice, str]:
    """A verdict by number, held to the answer that stands beside it."""
    if not answer or is_nothing(answer):
        return choice, ""
    if is_abstention(answer):
        return "", "contradictory: it takes an answer and says that none can be given"
    one = _one_of(answer, asking, first, second)
    if one and one != choice:
        return "", "contradictory: it takes one answer and writes the other"
    return ("third", "") if not one and _is_third(answer, asking, first, second) else (choice, "")


def _one_of(text: str, asking: Asking, first: Held, second: Held) -> Choice:
    """The one of the two answers that ``text`` gives; "" if it gives neither, or both."""
    own = given(asking, text, "")
    if own.read is None:
        return ""
    fits = [not differ(asking, own, one) for one in (first, second)]
    return "" if fits[0] == fits[1] else "first" if fits[0] else "second"


def _is_third(text: str, asking: Asking, first: Held, second: Held) -> bool:
    """Whether ``text`` is for certain another answer: a number, date, or yes where the two are such.

    Free words may be the same answer said otherwise.
    """
    own = given(asking, text, "")
    if own.read is None or own.answered.answer in (first.answered.answer, second.answered.answer):
        return False
    values = [one.read.value for one in (own, first, second) if one.read is not None]
    return not any(isinstance(value, str) for value in values) and len({type(value) for value in values}) == 1


# --- prose


def _prose(reply: str, asking: Asking, first: Held, second: Held, names: Mapping[str, str]) -> Said:
    answers = {normal(one.answered.written).strip() for one in (first, second)}
    quotes = [one.strip() for one in _QUOTED.findall(reply)]
    quotes = [one for one in quotes if len(normal(one)) >= SHORTEST and normal(one).strip() not in answers]
    outside = _QUOTED.sub(" ", reply)  # what is quoted is not what it says itself
    labels = {label.lower() for label in _LABEL.findall(outside)} & names.keys()
    if not labels:
        labels = {label for label, name in names.items() if normal(name).strip() in normal(outside)}
    source = labels.pop() if len(labels) == 1 else ""
    said = Said(source=source, named=source, quote=max(quotes, key=len, default=""), why=reply[:_MOST], form="prose")
    choice = _in_prose(reply, outside, asking, first, second)
    return replace(said, choice=choice, problem="" if choice else "it does not say which answer is right")


def _in_prose(reply: str, outside: str, asking: Asking, first: Held, second: Held) -> Choice:
    marked = asking.read(reply)
    if marked.status == "answer" and marked.by in ("mark", "json") and marked.canonical is not None:
        return _one_of(marked.canonical, asking, first, second) or "third"
    if marked.status == "abstained" or _OPEN.search(outside) or mentions_abstention(outside):
        return "neither"
    places = {"first" if match[1] or match[3] else "second" for match in _NAMED.finditer(outside)}
    if len(places) == 1:
        return "first" if "first" in places else "second"
    return _one_of(reply, asking, first, second) or _held_in(outside, first, second)


def _held_in(text: str, first: Held, second: Held) -> Choice:
    """The one answer whose words stand in ``text``, if those of the other do not."""
    plain = normal(text)
    here = [
        bool(re.search(rf"(?<!\w){re.escape(normal(one.answered.written).strip())}(?!\w)", plain))
        for one in (first, second)
    ]
    return "" if here[0] == here[1] else "first" if here[0] else "second"
