"""The built-in reader of documents in words: labels with a number beside them, in a text or on the pages of a PDF.

``Pallets received: 10``, ``Pallets received ....... 10 pallets``, ``10 pallets received``. Prose is not read, nor is
anything in a document that does not name the item as what it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property
from typing import Final

from dissensus.decide.dispute.amounts import amounts_in, words_of
from dissensus.decide.dispute.bearing import dates_in
from dissensus.decide.dispute.evidence import LineSelector, PageSelector, Selector
from dissensus.decide.dispute.normalise import normal
from dissensus.decide.dispute.sources import Source
from dissensus.decide.dispute.subjects import Subject, named_in, subject_of
from dissensus.decide.dispute.topics import belongs, families
from dissensus.decide.dispute.values import as_of_from
from dissensus.decide.dispute.words import UNITS
from dissensus.decide.swarm.reader_names import MEASURES, NONE, NOUNS, PART, TOTAL, UNIT, Asked, fit, form, set_of
from dissensus.decide.swarm.reader_said import Said, Unread, amount_of, cite, unit_as_wanted

_LONGEST: Final = 1000
_ORNAMENT: Final = re.compile(r"^[\s>*•|#+_`-]+(?=[^\W\d_])|[\s*_`|]+$|\*\*|__")
_COLUMNS: Final = re.compile(r"\t+\s*|\s*\|\s*|;\s+|\s{2,}")
_SEPARATOR: Final = re.compile(r"(?<!\d)[:=]|[:=](?!\d)|\.{2,}|…+")
_BESIDE: Final = re.compile(r"(?P<label>[^\d:=]*[^\W\d_])\s+(?P<value>[-+\u2212€$£¥]?\s?\d.*)")
_COUNTED: Final = re.compile(r"\d[\d.,]*\s+(?=[^\W\d_])")
_DATE_LABELS: Final = set_of("date day datum delivered received arrived booked delivery receipt signed unloaded of on")
_DATE_WORDS: Final = frozenset(["date", "datum", "delivered", "received", "arrived", "booked", "unloaded"])
_DOCUMENTS: Final = (
    "ref|reference|note|receipt|invoice|ticket|document|slip|bill|docket|waybill|manifest|lieferschein|rechnung|bolla"
    "|fattura|facture"
)
_DOCUMENT_WORDS: Final = frozenset(_DOCUMENTS.split("|"))
_IDENTIFIER: Final = r"[^\s,;:()\[\]\"'#]*\d[^\s,;()\[\]\"']*"
_NUMBER_OF: Final = re.compile(
    rf"(?<!your )\b(?:{_DOCUMENTS})\b[\s:.#]*(?:(?:no|nr|number|id)\b[\s:.#]*)?(?P<id>{_IDENTIFIER})"
    r"(?P<after>\s*[^\W\d_]*)"
)
_BARE_NUMBER: Final = re.compile(rf"(?:no|nr|number)\b[\s:.#]*({_IDENTIFIER})")
_TITLE: Final = re.compile(rf"(?=.*[^\W\d_]){_IDENTIFIER}")
_AND: Final = r"\s*(?:,|;|/|&|\+|\band\b|\bund\b|\be\b|\bet\b)\s*"
_CORRECTS: Final = re.compile(
    r"\b(?:correct(?:s|ed|ion)|replac(?:es|ed|ement)|supersed(?:es|ed)|cancel(?:s|led|ed|lation)|amend(?:s|ed|ment)"
    r"|revis(?:ed|ion)|storno|credit note|duplicate|copy|reprint)\b"
)
_DAY: Final = re.compile(r"\d{1,4}[-./]\d{1,2}[-./]\d{1,4}")


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a document: its text as it stands there, and the selector under which that is found."""

    text: str
    selector: Selector


class Paper:
    """A document that is read many times.

    Args:
        source: the document.
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        self.plain = normal(source.text or "")

    @cached_property
    def lines(self) -> list[Line]:
        """Its lines. Pages with the same text count once."""
        source = self.source
        if not source.paged:
            text = source.text or ""
            return [Line(text[start:end], LineSelector(n, n)) for n, (start, end) in enumerate(source.lines, 1)]
        seen: set[str] = set()
        found: list[Line] = []
        for number, page in enumerate(source.pages, 1):
            if normal(page) not in seen:
                seen.add(normal(page))
                found += [Line(line.strip("\r"), PageSelector(number)) for line in page.split("\n")]
        return found

    @cached_property
    def fields(self) -> list[tuple[Line, str, str]]:
        """Every label with what stands beside it, and its line."""
        return [(line, *pair) for line in self.lines if len(line.text) <= _LONGEST for pair in pairs_in(line.text)]

    @cached_property
    def numbers(self) -> list[str]:
        """Numbers of documents that it names, its own first."""
        texts = [text for line in self.lines if (text := normal(line.text).strip())]
        named = [texts[0]] if texts and _TITLE.fullmatch(texts[0]) else []
        about_document = False
        for text in texts:
            matches = _NUMBER_OF.finditer(text)
            named += [match["id"].strip(".:") for match in matches if match["after"].strip() not in UNITS]
            bare = _BARE_NUMBER.fullmatch(text)
            if bare and about_document:
                named.append(bare[1])
            about_document = about_document or bool(words_of(text) & _DOCUMENT_WORDS)
        return [name for name in dict.fromkeys(named) if not _DAY.fullmatch(name)]

    @property
    def corrects(self) -> bool:
        """Whether it says that it replaces something, or is a copy."""
        return _CORRECTS.search(self.plain) is not None

    def day(self) -> date | None:
        """The day that it bears under a label; None if there is none, or several that fit equally well."""
        found: dict[bool, set[date]] = {True: set(), False: set()}
        for _, label, value in self.fields:
            words = words_of(label)
            if words & _DATE_WORDS and words <= _DATE_LABELS | NOUNS - {"order", "invoice"}:
                days = dates_in(value)
                if len(days) == 1:
                    found[words in ({"date"}, {"datum"})] |= days
        chosen = found[True] or found[False]
        return next(iter(chosen)) if len(chosen) == 1 else None


def pairs_in(line: str) -> Iterator[tuple[str, str]]:
    """The labels of a line with what stands beside each; a phrase that begins with a number is its own label."""
    bare = _ORNAMENT.sub("", line).strip()
    pieces = [piece.strip() for piece in _COLUMNS.split(bare) if piece.strip()]
    pieces = [part for piece in pieces for part in _in_commas(piece)]
    at = 0
    while at < len(pieces):
        piece, after = pieces[at], pieces[at + 1] if at + 1 < len(pieces) else ""
        at += 1
        separated = _separated(piece)
        if separated is not None and (separated[1] or _separated(after) is not None):
            yield separated
        elif separated is not None:
            yield separated[0], after
            at += 1
        elif beside := _BESIDE.fullmatch(piece):
            yield beside["label"], beside["value"]
        elif counted := _COUNTED.match(piece):
            yield piece[counted.end() :], piece
        elif after and _starts_with_number(after):
            yield piece.strip(". "), after
            at += 1


def _in_commas(piece: str) -> list[str]:
    """``ordered 12, received 9`` as its parts; any other piece as it is."""
    parts = [part.strip(" .") for part in piece.split(", ")]
    alone = all(_BESIDE.fullmatch(part) or _COUNTED.match(part) for part in parts)
    return parts if len(parts) > 1 and alone and _separated(piece) is None else [piece]


def _separated(text: str) -> tuple[str, str] | None:
    """A label and what stands after the sign behind it."""
    sign = _SEPARATOR.search(text)
    if sign is None or not any(char.isalpha() for char in text[: sign.start()]):
        return None
    return text[: sign.start()].strip(), text[sign.end() :].strip()


def _starts_with_number(text: str) -> bool:
    return re.match(r"[-+\u2212€$£¥]?\s?\d", text) is not None and _separated(text) is None


def read_text(asked: Asked, paper: Paper) -> Said | Unread | None:
    """What a document says; None if it does not name the item."""
    where = _about(asked, paper)
    if where is None:
        return None
    found = _read(asked, paper, where)
    own = [name for name in paper.numbers if name not in asked.ids]
    if isinstance(found, Unread):
        return replace(found, document=own[0] if own else "")
    return replace(found, document=own[0] if own else "", others=frozenset(own[1:]), corrects=paper.corrects)


def _read(asked: Asked, paper: Paper, where: Mapping[int, str]) -> Said | Unread:
    found: list[tuple[int, Line, str, str]] = []
    for line, label, value in paper.fields:
        how = _fit(asked, label, value)
        if how != NONE and where[id(line)] != "other":
            found.append((how, line, label, value))
    best = min((how for how, *_ in found), default=NONE)
    if best == NONE:
        return Unread(f"names it, and has no line that is called like {asked.claim.attribute!r}")
    chosen = [one for one in found if one[0] == best]
    _, line, label, value = chosen[0]
    if any(where[id(one[1])] == "unclear" for one in chosen):
        return Unread(f"names several things, and does not tell of which it is: {line.text.strip()!r}", best)
    if len(chosen) > 1:
        return Unread(f"states it more than once, under {label!r}", best)
    if best in (UNIT, TOTAL) and (other := _besides(asked, paper, line)) is not None:
        return Unread(f"does not tell whether {label!r} is it, beside {other!r}", best)
    amount = amount_of(value, asked)
    if isinstance(amount, str):
        return Unread(f"has a line that is called {label!r} and {amount}", best)
    day = paper.day()
    if asked.claim.as_of is not None and day is not None and not _counts(asked, day):
        return Unread(f"is of another time: {day.isoformat()}", best)
    unit = amount.unit or _unit_in(label, asked)
    return Said(
        fit=best,
        value=amount.value,
        parts=(amount.value,),
        unit=unit_as_wanted(unit, asked),
        evidence=(cite(paper.source, line.selector, line.text),),
        name=label,
        days=None if day is None else (day, day),
    )


def label_words(label: str) -> str:
    """A label without what things are called in it: ``Order K4711`` is ``Order``."""
    return re.sub(_IDENTIFIER, " ", label)


def _fit(asked: Asked, label: str, value: str) -> int:
    """How well a label fits. Without a number, what only fits in part is something else: ``Received by``."""
    read = amounts_in(value)
    how = fit(label_words(label), asked, read.found[0].unit if len(read.found) == 1 else "")
    told = read.found or read.open or read.negated
    return how if told or (how < PART and not dates_in(value)) else NONE


def _counts(asked: Asked, day: date) -> bool:
    as_of, time = asked.claim.as_of, as_of_from(day.isoformat())
    return as_of is None or time is None or belongs(as_of, time)


def _unit_in(label: str, asked: Asked) -> str:
    """A unit in a label; the wanted one, if it is among several."""
    found = {word for word in words_of(label) if word in MEASURES.names}
    wanted = words_of(asked.claim.unit or "")
    return next(iter(sorted(found & wanted) or sorted(found)), "")


def _besides(asked: Asked, paper: Paper, chosen: Line) -> str | None:
    """Another line that counts what is wanted, or what is lacking of it, where the chosen label says neither."""
    telling = families(asked.words) | {"lacking", "back"}
    if not families(asked.words):
        return None
    for line in paper.lines:
        if line is not chosen and families(words_of(line.text)) & telling and amounts_in(line.text).found:
            return line.text.strip()[:80]
    return None


# --- which lines are about the item


def _about(asked: Asked, paper: Paper) -> dict[int, str] | None:
    """For each line ``own``, ``other`` or ``unclear``; None if the document does not name the item as what it is."""
    named = _names(asked, paper)
    if named is None:
        return None
    others = any(one != "own" for some in named.values() for one in some)
    found: dict[int, str] = {}
    last = "unclear" if others else "own"
    for line in paper.lines:
        here = named.get(id(line), [])
        if here:
            last = here[0] if len(set(here)) == 1 else "unclear"
        found[id(line)] = last
    return found


def _names(asked: Asked, paper: Paper) -> dict[int, list[str]] | None:
    """For each line that names things of the item's kind, whether each is the item; None if none is."""
    subject = subject_of(asked.claim)
    if not subject.ids:
        found = {id(line): ["own"] for line in paper.lines if _phrase(asked, line.text)}
        return found or None
    if not any(one in paper.plain for one in asked.ids):
        return None
    found = _by_noun(asked, paper, subject)
    if any(any(char.isalpha() for char in one) for one in subject.ids):
        for line in paper.lines:
            tokens = [token.strip(".:") for token in re.findall(_IDENTIFIER, normal(line.text))]
            alike = [token for token in tokens if form(token) in {form(one) for one in subject.ids}]
            if alike and id(line) not in found:
                found[id(line)] = ["own" if token in subject.ids else "other" for token in alike]
    return found if any("own" in some for some in found.values()) else None


def _by_noun(asked: Asked, paper: Paper, subject: Subject) -> dict[int, list[str]]:
    """Things that are named after a word that says what they are, ``order 4711``: the words that name the item so."""
    own = Subject(subject.ids, asked.nouns | NOUNS)
    lines = [(line, normal(line.text)) for line in paper.lines]
    telling = [(line, text) for line, text in lines if any(one in text for one in subject.ids)]
    nouns = frozenset(
        noun
        for _, text in telling
        for noun in own.words
        if any(one in subject.ids for one in named_in(Subject(subject.ids, frozenset([noun])), text))
    )
    if not nouns:
        return {}
    kind = Subject(subject.ids, nouns)
    here = {id(line): [*named_in(kind, text), *_listed(subject, text)] for line, text in lines}
    return {key: ["own" if one in subject.ids else "other" for one in some] for key, some in here.items() if some}


def _listed(subject: Subject, text: str) -> Iterator[str]:
    """What is named in one breath with the item: the other one of ``orders 4711 and 4712``."""
    for one in subject.ids:
        if one in text:
            name = re.escape(one)
            for match in re.finditer(rf"(?<!\w){name}{_AND}({_IDENTIFIER})|({_IDENTIFIER}){_AND}{name}(?!\w)", text):
                other = (match[1] or match[2]).strip(".:")
                if form(other) == form(one):
                    yield other


def _phrase(asked: Asked, text: str) -> bool:
    plain = normal(text)
    return any(re.search(rf"(?<!\w){re.escape(one)}(?!\w)", plain) is not None for one in asked.ids)
