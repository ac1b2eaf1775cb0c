r"""Where a reply marks its answer: JSON, ``Answer: …``, ``\boxed{…}``, ``the answer is …``.

Every search is linear in the reply: patterns have bounded repeats, and the number of marks that are read is bounded.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from dissensus.answers.normal import MAX_ANSWER

_MOST = 64
"""Marks that are looked at; a reply with more has no final answer anyway."""

_NAMES = "answer|antwort|réponse|respuesta|risposta|resposta"
_STRONG = re.compile(
    rf"(?<![A-Za-z])(?P<final>final\s{{1,3}})?(?:{_NAMES})(?:\s?\([^()\n]{{0,40}}\))?(?P<quote>[\"'*_`]{{0,3}})\s?[:：=]",
    re.IGNORECASE,
)
_PROSE = re.compile(r"\banswer\s(?:is|would be|should be|must be)\b\s?:?", re.IGNORECASE)
_LEAD = re.compile(
    r"(?:so|therefore|thus|hence)?,?\s?(?:the|my)?\s?(?:final|correct)?\s?answer is\s?:?\s", re.IGNORECASE
)
_SENTENCE_END = re.compile(r"[.!?](?=\s|$)|\n")
_RUN_ON = re.compile(r"\n\s{0,4}(?:question|q|problem|user|human)\s{0,2}[0-9]{0,4}\s{0,2}:", re.IGNORECASE)
_BOXES = ("\\boxed{", "\\fbox{")
_ALNUM = re.compile(r"[^\W_]")
_TEXT = re.compile(r"\\(?:text|textbf|mathrm|mathbf|mbox)\{([^{}]{0,200})\}")
_QUOTES = {'"': '"', "'": "'", "“": "”", "„": "“", "«": "»", "<": ">", "‘": "’"}
_QUOTED = re.compile(r"""(["'])((?:(?!\1)[^\\]|\\.){0,2000}+)\1""", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Mark:
    """A marked answer. ``final`` if it is marked as the final one; ``cut`` if it ends where the reply was cut off."""

    content: str
    start: int
    final: bool = False
    cut: bool = False


def without_run_on(reply: str) -> str:
    """``reply`` up to where, after its marked answer, the model begins to write the next question itself."""
    first = _STRONG.search(reply)
    more = _RUN_ON.search(reply, first.end()) if first else None
    return reply[: more.start()] if more else reply


def strong_marks(reply: str) -> list[Mark]:
    """The answers that ``reply`` marks in a form of its own, in order; with nothing behind the mark, empty ones."""
    found = [_after(reply, match) for match in _last(_STRONG, reply)]
    found += [Mark(content, start, final=True) for content, start in _boxed(reply)]
    line_start = reply.rstrip().rfind("\n") + 1
    if reply.startswith("####", line_start):
        found.append(Mark(undecorated(reply[line_start:].lstrip("#")), line_start, final=True))
    return sorted(found, key=lambda mark: mark.start)


def prose_marks(reply: str) -> list[Mark]:
    """The answers that ``reply`` gives in the words “the answer is”, in order."""
    found = []
    for match in _last(_PROSE, reply):
        start = match.end()
        gap = re.compile(r"\s{0,8}").match(reply, start)
        start = gap.end() if gap else start
        end = _SENTENCE_END.search(reply, start)
        content = undecorated(reply[start : min(end.start() if end else len(reply), start + 2 * MAX_ANSWER)])
        if content:
            found.append(Mark(content, match.start()))
    return found


def _last(pattern: re.Pattern[str], text: str) -> list[re.Match[str]]:
    found: list[re.Match[str]] = []
    for match in pattern.finditer(text):
        found.append(match)
        if len(found) > 2 * _MOST:
            del found[:_MOST]
    return found[-_MOST:]


def _after(reply: str, match: re.Match[str]) -> Mark:
    start = match.end()
    quote = match["quote"][:1]
    if quote in {'"', "'"} and reply[max(0, match.start() - 1) : match.start()] == quote:
        return _json_value(reply, match)
    for _ in range(3):  # the answer may stand on the next line
        end = reply.find("\n", start)
        line = reply[start : end if end >= 0 else len(reply)][: 2 * MAX_ANSWER]
        content = undecorated(line)
        if content or end < 0:
            break
        start = end + 1
    else:
        content = ""
    if start != match.end() and _STRONG.search(content):
        content = ""
    return Mark(content, match.start(), final=bool(match["final"]))


def _json_value(reply: str, match: re.Match[str]) -> Mark:
    """The value of an ``"answer"`` key in JSON that is not quite JSON."""
    start = match.end()
    while reply[start : start + 1] in {" ", "\n", "\t"}:
        start += 1
    if reply[start : start + 1] in {'"', "'"}:
        quoted = _QUOTED.match(reply, start)
        return Mark(quoted[2] if quoted else "", match.start(), cut=quoted is None)
    end = re.compile(r"[,}\n]").search(reply, start)
    return Mark(reply[start : end.start()].strip() if end else "", match.start(), cut=end is None)


def _boxed(reply: str) -> Iterator[tuple[str, int]]:
    for box in _BOXES:
        start, seen = reply.rfind(box), 0
        while start >= 0 and seen < _MOST:
            content = _balanced(reply, start + len(box))
            if content is not None:
                yield undecorated(content), start
            seen += 1
            start = reply.rfind(box, 0, start)


def _balanced(text: str, start: int) -> str | None:
    depth = 1
    for place in range(start, min(len(text), start + MAX_ANSWER)):
        depth += (text[place] == "{") - (text[place] == "}")
        if depth == 0:
            return text[start:place]
    return None


def undecorated(content: str) -> str:
    """``content`` without Markdown and quotation marks around it, and without “the answer is” in front."""
    content = content.strip()
    if not _ALNUM.search(content):
        return content
    content = content.strip("*_`").strip()
    boxed_text = _TEXT.fullmatch(content)
    content = boxed_text[1].strip() if boxed_text else content
    lead = _LEAD.match(content)
    content = content[lead.end() :].strip() if lead else content
    inner = content[1:-1]
    if (
        len(content) > 2
        and _QUOTES.get(content[0]) == content[-1]
        and content[0] not in inner
        and content[-1] not in inner
    ):
        content = inner.strip().strip("*_`").strip()
    return content


@dataclass(frozen=True, slots=True)
class JsonAnswer:
    """What a JSON reply gives. ``answer`` is text; None stands for null, and for no single value if ``problem``."""

    answer: str | None
    reason: str
    problem: str = ""


class _Number(str):
    """A JSON number as it is written: 8.00 stays exact, however long it is."""

    __slots__ = ()


_DECODER = json.JSONDecoder(strict=False, parse_float=_Number, parse_int=_Number, parse_constant=_Number)
_KEYS = frozenset({"answer", "final_answer", "final answer", "finalanswer"})
_REASONS = ("reason", "reasoning", "explanation", "reasons")


def json_answers(reply: str) -> list[JsonAnswer]:
    """The answers that stand in JSON objects of ``reply``, in order; fences and text around do not matter."""
    found: list[JsonAnswer] = []
    position = reply.find("{")
    for _ in range(16):
        if position < 0:
            break
        try:
            value, end = _DECODER.raw_decode(reply, position)
        except (ValueError, RecursionError):
            end = position + 1
        else:
            fields = {str(name).strip().casefold(): item for name, item in value.items()}
            found += [_answer(fields, fields[key]) for key in sorted(_KEYS & fields.keys())]
        position = reply.find("{", end)
    return found


def _answer(fields: dict[str, Any], value: Any) -> JsonAnswer:
    reason = next((fields[name] for name in _REASONS if isinstance(fields.get(name), str)), "")
    unit = fields.get("unit")
    if isinstance(value, dict):
        unit, value = value.get("unit", unit), value.get("value", value)
    if isinstance(value, bool):
        value = "yes" if value else "no"
    if value is None:
        return JsonAnswer(None, reason)
    if not isinstance(value, str):
        return JsonAnswer(None, reason, "ambiguous: the answer must be one value")
    if isinstance(value, _Number) and isinstance(unit, str) and len(unit) <= 40:
        value = f"{value} {unit}"
    return JsonAnswer(str(value), reason)


def is_cut_json(reply: str) -> bool:
    """Whether ``reply`` begins as a JSON object and does not end as one."""
    start = reply.lstrip("` \n\t").removeprefix("json").lstrip()
    return start.startswith("{") and not reply.rstrip("` \n\t").endswith("}")
