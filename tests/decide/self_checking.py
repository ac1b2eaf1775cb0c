"""Scripted agents for self-checks, a small folder of documents, and a run of the script without an engine."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import Any

from dissensus.decide.dispute.case import Pinned
from dissensus.decide.self_check import self_check
from dissensus.decide.self_check_result import SelfChecked
from dissensus.decide.self_check_settings import Document, SelfCheckSettings
from dissensus.script.effects import Ask, Effect
from dissensus.script.outcomes import Outcome, Reply
from dissensus.script.questions import Question
from dissensus.script.rehearsal import rehearse
from dissensus.script.seats import Seat

NOTE = "Delivery note DN-88\nOrder 4711\nPallets received: 10\nSigned: M. R.\n"
LOG = "booking,order,pallets\nB1,4711,6\nB2,4711,3\n"
CLUB = "Vestri is a sports club in the Westfjords.\n\nIts best known side plays football in the first division.\n"
HOW_MANY = "How many pallets of order 4711 were received?"
Says = Callable[[str, str], str | Outcome]
"""From the key of a request and its prompt to what the agent says."""


def document(text: str, name: str = "", media: str = "text/plain") -> Document:
    digest = sha256(text.encode()).hexdigest()
    return Document(
        digest=digest, name=name or f"{digest[:6]}.txt", pinned=Pinned(text=text, media=media), shown=((0, len(text)),)
    )  # fmt: skip


NOTE_AND_LOG = (document(LOG, "log.csv", "text/csv"), document(NOTE, "note.txt"))


def check(
    says: Says,
    question: str | Question = HOW_MANY,
    documents: Sequence[Document] = NOTE_AND_LOG,
    *,
    seat: Seat | None = None,
    seed: int = 0,
    **more: Any,
) -> SelfChecked:
    """Play the script; ``says`` says what the agent does."""

    def answer(key: str, effect: Effect) -> Outcome:
        assert isinstance(effect, Ask), effect
        said = says(key, effect.prompt)
        return Reply(text=said, model="m") if isinstance(said, str) else said

    asked = Question(text=question) if isinstance(question, str) else question
    settings = SelfCheckSettings(documents=tuple(documents), **more)
    seats = (seat or Seat(agent="ada", model="m"),)
    found: SelfChecked = rehearse(self_check(asked, seats, settings, seed), answer)
    assert SelfChecked.from_data(json.loads(json.dumps(found.to_data()))) == found, "a record gives it back"
    return found


def shown(prompt: str) -> list[tuple[str, str]]:
    """Label and text of each document in a prompt, in order."""
    return re.findall(r"^(d\d+):\n<<[0-9a-f]{16}\n(.*?)\n[0-9a-f]{16}>>", prompt, re.MULTILINE | re.DOTALL)


def answers(prompt: str) -> list[str]:
    """The two answers in a request to settle, in order."""
    return [json.loads(text) for text in re.findall(r'^Answer \d: (".*")$', prompt, re.MULTILINE)]


def label_of(prompt: str, words: str) -> str:
    """The label of the first document that holds ``words``."""
    return next(label for label, text in shown(prompt) if words in text)


def verdict(choice: object, source: str = "", quote: str = "", answer: str = "", why: str = "because") -> str:
    """A reply in the form that was asked for."""
    return f"Verdict: {choice}\nAnswer: {answer}\nSource: {source}\nQuote: {quote}\nWhy: {why}"


def doubled(settle: Says, equal: Says | None = None, says: tuple[str, str] = ("10 pallets", "9 pallets")) -> Says:
    """An agent that gives another answer each time, settles as ``settle`` says, and equal sources as ``equal`` does."""
    asked: list[str] = []

    def agent(key: str, prompt: str) -> str | Outcome:
        if key.startswith("round/"):
            asked.append(key)
            return f"Answer: {says[(len(asked) - 1) % 2]}"
        return (equal or cannot_tell if key.startswith("equal/") else settle)(key, prompt)

    return agent


def cannot_tell(_key: str, _prompt: str) -> str:
    return verdict("cannot tell")


def takes(answer: str, words: str, quote: str | None = None) -> Says:
    """Takes ``answer`` wherever it is shown; quotes ``quote``, or ``words``, of the document that holds ``words``."""

    def settle(_key: str, prompt: str) -> str:
        place = answers(prompt).index(answer) + 1
        return verdict(place, label_of(prompt, words), f'"{words if quote is None else quote}"', answer)

    return settle
