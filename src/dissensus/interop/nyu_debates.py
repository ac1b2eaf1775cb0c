"""Debates of the NYU human debate experiments (arXiv 2311.08702) as claims with evidence.

Each speech is a claim that the speaker's answer is right, with its quotes as evidence: spans of tokens into the story
of the same file. The story is the source, as a JSON array of its tokens, and is known by its digest alone: the same
article id stands for different texts. What debaters typed in quotation marks without the quoting tool has no anchor
and is no evidence; whether such words stand in the story is counted beside it.

``feedback`` and ``scratchpads`` of a file are never read: they hold guesses at who somebody is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from dissensus.decide.dispute.claims import Claim
from dissensus.decide.dispute.evidence import Evidence, TokenSelector
from dissensus.decide.dispute.sources import Source
from dissensus.decide.dispute.values import value_of
from dissensus.errors import LogError

TYPED: Final = re.compile('["\u201c]([^"\u201c\u201d]{25,400})["\u201d]')
_OTHER_THAN_WORD: Final = re.compile("[^a-z0-9]")
MEDIA: Final = "application/json"


@dataclass(frozen=True, slots=True)
class TypedQuote:
    """Words in quotation marks in somebody's text. ``verified``: they stand in the story, letters and digits alone."""

    claim: str
    text: str
    verified: bool


@dataclass(frozen=True, slots=True)
class Debate:
    """A debate file.

    Args:
        name: for ids and messages.
        source: the story.
        tokens: its tokens.
        claims: one for each speech, in order: rounds, then sides ``0`` and ``1``.
        typed: quotes without an anchor, in order.
    """

    name: str
    source: Source
    tokens: tuple[str, ...]
    claims: tuple[Claim, ...]
    typed: tuple[TypedQuote, ...]


def looks_like_debate(document: Any) -> bool:
    """Whether a JSON document is such a file."""
    return (
        isinstance(document, dict)
        and isinstance(document.get("rounds"), list)
        and isinstance(document.get("setup"), dict)
        and isinstance(document["setup"].get("sourceMaterial"), dict)
    )


def debate_from(document: Any, name: str) -> Debate:
    """The debate in a JSON document.

    Raises:
        LogError: it is none; names the part.
    """
    setup = _need(document, "setup", dict, name)
    tokens = _tokens(setup, name)
    source = Source(msgspec.json.encode(tokens), MEDIA)
    answers = setup.get("answers") if isinstance(setup.get("answers"), list) else []
    story = squeezed(" ".join(tokens))
    claims: list[Claim] = []
    typed: list[TypedQuote] = []
    for number, side, speech in _speeches(_need(document, "rounds", list, name)):
        at = f"{name}/{number}/{side}"
        texts, items = _parts(speech, at, source, tokens, name)
        answer = answers[int(side)] if side.isdigit() and int(side) < len(answers) else None
        claims.append(
            Claim(
                id=at,
                subject=str(setup.get("question") or "") or None,
                attribute="answer",
                value=value_of(answer, "string") if isinstance(answer, str) else None,
                evidence=tuple(items),
                text=" ".join(texts),
                by=str(speech.get("speaker") or ""),
                step=f"round {number}",
            )
        )
        typed += [TypedQuote(at, quote, squeezed(quote) in story) for text in texts for quote in TYPED.findall(text)]
    return Debate(name, source, tuple(tokens), tuple(claims), tuple(typed))


def squeezed(text: str) -> str:
    """Letters and digits of a text, in lower case."""
    return _OTHER_THAN_WORD.sub("", text.lower())


def _tokens(setup: dict[str, Any], name: str) -> list[str]:
    material = _need(setup, "sourceMaterial", dict, name)
    for part in material.values():
        contents = part.get("contents") if isinstance(part, dict) else None
        if isinstance(contents, list) and all(isinstance(token, str) for token in contents):
            return contents
    raise LogError("The debate has no source material with `contents`, a list of tokens.", path=name)


def _speeches(rounds: list[Any]) -> Iterator[tuple[int, str, dict[str, Any]]]:
    for number, each in enumerate(rounds):
        bodies = each.values() if isinstance(each, dict) else ()
        for body in bodies:
            speeches = body.get("speeches") if isinstance(body, dict) else None
            if isinstance(speeches, dict):
                for side in sorted(speeches):
                    if isinstance(speeches[side], dict):
                        yield number, side, speeches[side]


def _parts(
    speech: dict[str, Any], at: str, source: Source, tokens: list[str], name: str
) -> tuple[list[str], list[Evidence]]:
    """What a speaker wrote, and the evidence for it."""
    texts: list[str] = []
    items: list[Evidence] = []
    content = speech.get("content")
    for part in content if isinstance(content, list) else []:
        if not isinstance(part, dict):
            continue
        text, quote = part.get("Text"), part.get("Quote")
        if isinstance(text, dict) and isinstance(text.get("text"), str):
            texts.append(text["text"])
        if quote is not None:
            span = quote.get("span") if isinstance(quote, dict) else None
            if not (isinstance(span, list) and len(span) == 2 and all(type(end) is int for end in span)):
                raise LogError(f"{at}: A quote has no span of two whole numbers.", path=name)
            start, end = span
            # a span that reaches out of the story quotes nothing, which reopening will say
            words = " ".join(tokens[start:end]) if 0 <= start < end <= len(tokens) else ""
            items.append(
                Evidence(
                    digest=source.digest,
                    selectors=(TokenSelector(start, end),),
                    quote=words,
                    media=MEDIA,
                    id=f"{at}/{len(items)}",
                )
            )
    return texts, items


def _need(data: Any, key: str, kind: type, name: str) -> Any:
    found = data.get(key) if isinstance(data, dict) else None
    if not isinstance(found, kind):
        raise LogError(f"The debate has no `{key}`.", path=name, next_step="Give a file of the folder `official`.")
    return found
