"""Answers by hand: an agent that is nothing but a person who copies prompts into a chat and pastes the replies.

Also the file of answers that were got elsewhere: YAML, or one JSON object a line.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final
from unicodedata import category

import msgspec

from dissensus.agents.lacking import lacks
from dissensus.cli.readout import say
from dissensus.decide.self_check_settings import Given
from dissensus.errors import RunError, SpecError
from dissensus.script.calls import Capabilities, Capability, Extend, Generate, Score
from dissensus.script.outcomes import Outcome, Reply
from dissensus.script.questions import Question
from dissensus.script.seats import Seat

MODEL: Final = "pasted"
SEAT: Final = Seat(agent=MODEL, model=MODEL, capabilities=frozenset({Capability.CHAT}))
_LINE: Final = "-" * 72
_END: Final = "."
_KEYS: Final = (
    "question",
    "kind",
    "options",
    "unit",
    "id",
    "docs",
    "documents",
    "first",
    "second",
    "settle",
    "swapped",
)


class Pasted:
    """Shows each prompt on stderr and reads the reply from stdin, up to a line with one dot.

    Each new thread is a new conversation; a repair turn goes on in the one that it belongs to.
    """

    name = MODEL
    capabilities: Capabilities = frozenset({Capability.CHAT})

    def __init__(self) -> None:
        self._conversations: dict[str, int] = {}

    async def generate(self, call: Generate) -> Outcome:
        """Show the prompt, wait for the reply.

        Raises RunError when stdin ends: the run can be gone on with.
        """
        thread = call.key.rpartition("/")[0]
        new = thread not in self._conversations
        number = self._conversations.setdefault(thread, len(self._conversations) + 1)
        where = "a new conversation" if new and len(call.turns) == 1 else "the same conversation, goes on"
        say(f"\nConversation {number}: {where}. Copy what stands between the lines, paste the reply,", err=True)
        say("and then write a line with one dot.", err=True)
        say(_LINE, err=True)
        say(_harmless(call.turns[-1].text), err=True)
        say(_LINE, err=True)
        lines = []
        while (line := sys.stdin.readline()) and line.rstrip("\r\n") != _END:
            lines.append(line)
        if not line:
            raise RunError(
                "The input ended before a line with one dot.", next_step="What came before is on the record."
            )
        return Reply(text="".join(lines).strip(), model=MODEL)

    async def extend(self, call: Extend) -> Outcome:  # noqa: ARG002 - the interface's
        """Fail: a chat is not continued."""
        return lacks("A pasted reply cannot be continued.")

    async def score(self, call: Score) -> Outcome:  # noqa: ARG002 - the interface's
        """Fail: a chat has no scores."""
        return lacks("Pasted replies have no scores.")

    async def close(self) -> None:
        """Nothing is open."""


def _harmless(text: str) -> str:
    """``text`` without what could steer a terminal."""
    return "".join(char if char in "\n\t" or not category(char).startswith("C") else " " for char in text)


def read_answers(path: Path, question: Question | None) -> list[tuple[Question, Given]]:
    """The answers in a file, each with its question.

    Args:
        path: YAML with one set of answers, or ``.jsonl`` with one on each line.
        question: what was asked, if the file does not say.

    Raises SpecError that names the line.
    """
    from dissensus.specfile import read_spec

    if path.suffix.lower() not in (".jsonl", ".ndjson"):
        spec = read_spec(path, "file of answers")
        return [_one(spec.data, question, str(path), 0)]
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as problem:
        why = getattr(problem, "strerror", None) or "it is not UTF-8"
        raise SpecError(f"The file of answers cannot be read: {why}.", path=str(path), next_step="Check it.") from None
    found = []
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                data = json.loads(line)
            except (ValueError, RecursionError):
                data = None
            if not isinstance(data, dict):
                raise SpecError("The line is no JSON object.", path=str(path), line=number, next_step="Correct it.")
            found.append(_one(data, question, str(path), number))
    if not found:
        raise SpecError("The file holds no answers.", path=str(path), next_step="Write one JSON object a line.")
    return found


def _one(data: Mapping[str, Any], question: Question | None, path: str, line: int) -> tuple[Question, Given]:
    def wrong(message: str) -> SpecError:
        return SpecError(message, path=path, line=line, next_step=f"Known keys are {', '.join(_KEYS)}.")

    if unknown := sorted(set(map(str, data)) - set(_KEYS)):
        raise wrong(f"A set of answers has no {unknown[0]!r}.")
    replies = {}
    for key in ("first", "second", "settle", "swapped"):
        value = data.get(key, "" if key == "swapped" else None)
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise wrong(f"There is no {key!r}, or it is no text.")
        replies[key] = str(value)
    if "question" in data:
        asked = {
            "text": data["question"],
            **{key: data[key] for key in ("kind", "options", "unit", "id") if key in data},
        }
        try:
            question = msgspec.convert(asked, Question)
        except msgspec.ValidationError as problem:
            raise wrong(f"The question cannot be read: {problem}.") from None
    if question is None:
        raise wrong("There is no question.")
    own = {key: data[key] for key in ("docs", "documents") if key in data}
    return replace(question, data={**question.data, **own}), Given(**replies)
