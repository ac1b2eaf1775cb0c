"""Files that hold claims with evidence, or evidence: ours as JSON lines or one document, debates, questions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dissensus.decide.dispute.claims import Claim
from dissensus.decide.dispute.evidence import Evidence
from dissensus.decide.dispute.parsing import Line, claim_from, evidence_from, exact_json
from dissensus.decide.dispute.sources import Source
from dissensus.errors import LogError
from dissensus.interop.evidence_files import read_bytes
from dissensus.interop.nyu_debates import TypedQuote, debate_from, looks_like_debate
from dissensus.interop.ramdocs import looks_like_question, question_from


@dataclass(frozen=True, slots=True)
class Item:
    """One line of a file: a claim, or evidence that belongs to none."""

    line: int
    claim: Claim | None
    evidence: tuple[Evidence, ...]


@dataclass(frozen=True, slots=True)
class ItemFile:
    """What a file holds.

    Args:
        path: where it is.
        items: its claims and evidence, in order.
        sources: sources that the file itself holds.
        typed: quotes without an anchor.
        debate: it is a debate: a speech without a quote is no incomplete claim.
    """

    path: Path
    items: tuple[Item, ...]
    sources: tuple[Source, ...] = ()
    typed: tuple[TypedQuote, ...] = ()
    debate: bool = False


def read_items(path: Path) -> ItemFile:
    """Read a file whole before anything is opened.

    Raises:
        SpecError: it cannot be read, or a line is wrong; carries the line.
    """
    raw = read_bytes(path)
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise LogError("The file is no text in UTF-8.", path=str(path), line=line, next_step=_NEXT) from None
    if not text.strip():
        raise LogError("The file is empty.", path=str(path), next_step=_NEXT)
    whole = _document(text)
    if looks_like_debate(whole):
        debate = debate_from(whole, path.stem)
        speeches = tuple(Item(0, claim, claim.evidence) for claim in debate.claims)
        return ItemFile(path, speeches, (debate.source,), debate.typed, debate=True)
    if isinstance(whole, list):
        return ItemFile(path, tuple(_item(each, Line(str(path), 1), n) for n, each in enumerate(whole, 1)))
    if isinstance(whole, dict) and isinstance(whole.get("claims"), list) and "digest" not in whole:
        return ItemFile(path, tuple(_item(each, Line(str(path), 1), n) for n, each in enumerate(whole["claims"], 1)))
    if whole is not None and not looks_like_question(whole):
        return ItemFile(path, (_item(whole, Line(str(path), 1), 1),))
    items: list[Item] = []
    sources: list[Source] = []
    for number, data in _lines(text, str(path)):
        if looks_like_question(data):
            question = question_from(data, path.name, number)
            items += [Item(number, claim, claim.evidence) for claim in question.claims()]
            sources += [document.source for document in question.documents]
        else:
            items.append(_item(data, Line(str(path), number), number))
    return ItemFile(path, tuple(items), tuple(sources))


_NEXT = "Give JSON lines: a claim with its evidence, or one item of evidence, on each."


def _document(text: str) -> Any:
    """The file as one JSON document; None if it is none."""
    try:
        return exact_json(text)
    except (ValueError, UnicodeEncodeError):
        return None


def _lines(text: str, path: str) -> Iterator[tuple[int, Any]]:
    """The JSON documents in the lines of a file, with their numbers."""
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            data = exact_json(line)
        except ValueError as error:
            raise Line(path, number).wrong((), f"This is no JSON: {error}.", next_step=_NEXT) from None
        yield number, data


def _item(data: Any, at: Line, number: int) -> Item:
    if isinstance(data, dict) and "digest" in data:
        return Item(at.number, None, (evidence_from(data, at),))
    claim = claim_from(data, at, name=f"claim {number}")
    return Item(at.number, claim, claim.evidence)
