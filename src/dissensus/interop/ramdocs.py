"""RAMDocs questions (arXiv 2504.13079) as claims with evidence: what each document says, right, wrong or neither.

One question a line, with documents that support an answer (``correct``), support a false one (``misinfo``) or say
nothing of it (``noise``). A document that supports an answer is a claim; its evidence is the place where the answer
stands in it first. Where it does not stand there, the evidence says so when it is reopened. Which documents are right
is in no claim.

A question may have several right answers, about different things of one name: claims about it need not contradict
each other, and counting documents settles nothing.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from dissensus.decide.dispute.claims import Claim
from dissensus.decide.dispute.evidence import Evidence, QuoteSelector, TextSelector
from dissensus.decide.dispute.sources import Source
from dissensus.decide.dispute.values import value_of
from dissensus.errors import LogError

KINDS: Final = ("correct", "misinfo", "noise")


@dataclass(frozen=True, slots=True)
class Document:
    """A document: its source, what it is labelled, and the answer that it supports ("unknown" for noise)."""

    source: Source
    kind: str
    answer: str


@dataclass(frozen=True, slots=True)
class Question:
    """One question with its documents.

    Args:
        name: for ids and messages.
        question: in words.
        documents: in order.
        gold, wrong: the answers that are labelled right and wrong.
    """

    name: str
    question: str
    documents: tuple[Document, ...]
    gold: tuple[str, ...]
    wrong: tuple[str, ...]

    def claims(self) -> tuple[Claim, ...]:
        """A claim for each document that supports an answer, in order."""
        return tuple(
            Claim(
                id=f"{self.name}/{number}",
                subject=self.question,
                attribute="answer",
                value=value_of(document.answer, "string"),
                evidence=(_evidence(document, f"{self.name}/{number}/1"),),
            )
            for number, document in enumerate(self.documents, 1)
            if document.kind != "noise"
        )

    def heads(self, kind: str = "") -> Counter[str]:
        """How many documents support each answer; of one kind, if one is named. Noise supports none."""
        return Counter(one.answer for one in self.documents if one.kind != "noise" and (not kind or one.kind == kind))


def looks_like_question(data: Any) -> bool:
    """Whether a JSON document is such a line."""
    return isinstance(data, Mapping) and isinstance(data.get("question"), str) and "gold_answers" in data


def question_from(data: Any, name: str, line: int = 0) -> Question:
    """The question in the JSON document of a line.

    Raises :class:`~dissensus.errors.LogError`, with the line, if it is none.
    """

    def wrong(why: str) -> LogError:
        return LogError(why, path=name, line=line, next_step="Give lines of RAMDocs.")

    if not looks_like_question(data) or not isinstance(data.get("documents"), list):
        raise wrong("The line holds no question with `documents` and `gold_answers`.")
    documents = []
    for given in data["documents"]:
        told = given if isinstance(given, Mapping) else {}
        text, kind, answer = told.get("text"), told.get("type"), told.get("answer")
        if not isinstance(text, str) or not isinstance(answer, str) or kind not in KINDS:
            raise wrong(f"A document has no text, type ({', '.join(KINDS)}) and answer.")
        documents.append(Document(Source(text.encode("utf-8", "surrogatepass"), "text/plain"), str(kind), answer))
    answers = [data.get(key, []) for key in ("gold_answers", "wrong_answers")]
    if not all(isinstance(some, list) and all(isinstance(one, str) for one in some) for some in answers):
        raise wrong("Its answers are no lists of texts.")
    gold, others = answers
    return Question(f"{name}:{line}" if line else name, data["question"], tuple(documents), tuple(gold), tuple(others))


def _evidence(document: Document, name: str) -> Evidence:
    """Where a document's answer stands in it first, in whatever case; the answer itself if it does not."""
    text = document.source.text or ""
    digest, media = document.source.digest, "text/plain"
    if document.answer and (at := re.search(re.escape(document.answer), text, re.IGNORECASE)) is not None:
        return Evidence(digest, (TextSelector(at.start(), at.end()),), at[0], media=media, id=name)
    return Evidence(digest, (QuoteSelector(document.answer),), document.answer, media=media, id=name)
