"""Is a text about the thing that a claim is about? Only what can be seen is said: it is, it is not, or nothing tells.

A subject may name several things at once (``PO-4711 / SKU-12``): each of its identifiers has to be told by itself.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, pairwise
from typing import Final, Literal

from dissensus.decide.dispute.amounts import NAMED, amounts_in, stem, words_of
from dissensus.decide.dispute.claims import Claim
from dissensus.decide.dispute.normalise import normal
from dissensus.decide.dispute.places import Row, Surroundings, table_rows
from dissensus.decide.dispute.sources import Source
from dissensus.decide.dispute.words import UNITS

Told = Literal["yes", "no", "silent"]

_TOKEN: Final = re.compile(r"[^\s,;:()\[\]\"']+")
_IDENTIFIER: Final = r"[^\s,;:()\[\]\"'#]*\d[^\s,;()\[\]\"']*"
_PARTS: Final = re.compile(r"[/|#=_]")
_NAMED_NUMBER: Final = re.compile(r"([^\W\d_]+)-(\d+)")
_DAY: Final = re.compile(r"\d{4}-\d{2}-\d{2}")
_EMPTY: Final = frozenset(["the", "a", "an", "of", "for", "in", "on", "at", "by", "to", "no", "nr", "number"])
_IDENTIFYING: Final = frozenset(["no", "nr", "id", "number", "ref", "code"])
_UNIT_COLUMNS: Final = frozenset(["unit", "uom", "einheit", "unita", "unite"])
_AND: Final = r"\s*(?:,|&|/|\+|\b(?:and|und|or|e|et|y)\b)\s*"
"""Between things that are named in one breath: ``orders 4711 and 4712``."""
_CONDITION: Final = re.compile(r"\b(?:good|perfect|proper|working)\s+$")
"""Words after which "order" is a state, and no order."""
_KIN: Final = 2
"""Letters and digits, each, of the shortest identifier by whose form another one is told: ``PO-4712``, not ``A8``."""
_MOST: Final = 3
"""Most words of a cell that names a part of a subject."""
_LONGEST: Final = 80


@dataclass(frozen=True, slots=True)
class Subject:
    """What a claim is about: its identifiers (``4711``), the other words (``order``), and the unit of its number."""

    ids: frozenset[str]
    words: frozenset[str]
    unit: str = ""


def subject_of(claim: Claim) -> Subject:
    """The subject of a claim as it is looked for in texts."""
    tokens = _tokens(claim)
    ids = frozenset(token for token in tokens if any(char.isdigit() for char in token))
    words = frozenset(stem(token) for token in tokens if token and token not in ids) - _EMPTY
    return Subject(ids, words, stem(claim.unit or ""))


def _tokens(claim: Claim) -> list[str]:
    return [part for token in _TOKEN.findall(normal(claim.subject or "")) for part in _parts(token.strip(".#"))]


def _parts(token: str) -> list[str]:
    """The names in a token such as ``po-4711/sku-12`` or ``order_4711``; ``2026/0815`` is one."""
    parts = [part for part in _PARTS.split(token) if part]
    held = [any(char.isdigit() for char in part) for part in parts]
    if any(part.isdigit() and held[n] for n, part in enumerate(parts[1:])):
        parts = [token]
    found: list[str] = []
    for part in parts:
        named = _NAMED_NUMBER.fullmatch(part)
        noun = named is not None and named[1] in NAMED and len(named[1]) > _MOST  # an order, and no PO-4711
        found += list(named.groups()) if named is not None and noun else [part]
    return found


def names_subject(claim: Claim, around: Surroundings, row: Row | None, source: Source, column: str = "") -> Told:
    """Whether what stands around an item is about the claim's subject; ``no`` if it is about another thing.

    ``column`` is the one that is declared to hold what a row is about; "" if none is.
    """
    subject = subject_of(claim)
    if row is not None:
        written = normal(row.fields.get(column, "")).strip()
        whole = written == normal(claim.subject or "").strip()
        if written and not whole and not any(_stands(one, written) for one in subject.ids):
            return "no"
        if (told := in_row(claim, row, source, column if written else "")) != "silent":
            return told
        saying = [value for name, value in row.fields.items() if _says(subject, words_of(name))]
        if any(_stands(one, normal(value)) for one in subject.ids for value in saying):
            return "silent"  # it names it together with another one, or a part of it
    if not subject.ids:
        return _by_words(subject, around, row, source)
    told = _together(_in_text(subject, one, around, row, source) for one in _telling(subject))
    return "silent" if told == "yes" and row is None and _listed_apart(claim, subject, around, source) else told


def in_row(claim: Claim, row: Row, source: Source, column: str) -> Told:
    """Whether a row of a table is about the claim's subject; ``column`` is declared to hold what it is about."""
    subject = subject_of(claim)
    if _tells_apart(subject, row, source):
        return "no"
    if normal(row.fields.get(column, "")).strip() == normal(claim.subject or "").strip():
        return "yes"
    keys = _keys(row.pointer, source)
    return _together(_named_in_row(subject, one, row, column, keys) for one in _telling(subject))


def _telling(subject: Subject) -> list[str]:
    """The identifiers that have to be named: all but days, which say when, if there are others."""
    return sorted(one for one in subject.ids if not _DAY.fullmatch(one)) or sorted(subject.ids)


def _together(found: Iterable[Told]) -> Told:
    """What is told of several identifiers at once: each has to be named, and none may be another one."""
    told = list(found)
    if "no" in told:
        return "no"
    return "yes" if told and all(each == "yes" for each in told) else "silent"


# --- rows of tables, objects


def _keys(pointer: str, source: Source) -> list[str]:
    """The keys with digits under which an object stands, as in ``{"4711": {…}}``."""
    parts = pointer.split("/")[1:]
    within = [source.value("".join(f"/{part}" for part in parts[:n])) or b"" for n in range(len(parts))]
    keys = [
        part.replace("~1", "/").replace("~0", "~") for part, raw in zip(parts, within, strict=True) if raw[:1] == b"{"
    ]
    return [normal(key).strip() for key in keys if any(char.isdigit() for char in key)]


def _named_in_row(subject: Subject, one: str, row: Row, column: str, keys: list[str]) -> Told:
    fields = {name: normal(value).strip() for name, value in row.fields.items()}
    saying = [name for name in fields if name == column or _says(subject, words_of(name))]
    if any(_stands(one, key) for key in keys):
        return "yes"
    others = [key for key in keys if _alike(key, one)]
    for name in saying:
        bare = fields[name].lstrip("#")
        if _stands(one, bare):
            further = any(char.isdigit() for char in bare.replace(one, "", 1))  # 4711-2, or 4711 and 4712
            return "silent" if further and not any(other in bare for other in subject.ids - {one}) else "yes"
        others += [bare] if _alike(bare, one) and name != row.chosen else []
    if not (saying and one.isdigit()):  # a bare number may count anything
        for name, written in fields.items():
            if written == one or (not one.isdigit() and " " not in written and _stands(one, written)):
                return "yes"
            others += [written] if _is_kin(written, one) and name != row.chosen else []
    return "no" if set(others) - subject.ids else "silent"


def _says(subject: Subject, words: frozenset[str]) -> bool:
    """Whether a column says by its name that it holds what a row is about."""
    return bool(words & subject.words) and words <= subject.words | _IDENTIFYING


def _tells_apart(subject: Subject, row: Row, source: Source) -> bool:
    """Whether a column names a part of the subject in other rows, and something else in this one."""
    named = _columns(source, row.number > 0, row.pointer.rpartition("/")[0])
    keys = {" ".join(some) for most in range(1, _MOST + 1) for some in combinations(sorted(subject.words), most)}
    for name in {name for key in keys | subject.ids for name in named.get(key, ())} - {row.chosen}:
        own = _key(row.fields.get(name, ""))
        if own and own not in subject.ids and not set(own.split(" ")) <= subject.words:
            return True
    return False


def _key(text: str) -> str:
    """A cell as it is looked up: an identifier as it is, words stemmed and in order; "" if it tells nothing."""
    written = normal(text).strip()
    if any(char.isdigit() for char in written):
        return "" if written.isdigit() or " " in written else written
    words = sorted(words_of(written))
    return " ".join(words) if len(written) > _KIN and len(words) <= _MOST else ""


@lru_cache(maxsize=8)
def _columns(source: Source, table: bool, pointer: str) -> Mapping[str, frozenset[str]]:
    """By what stands in cells, the columns of a table in which it does; or the keys of the objects in a JSON list."""
    found: dict[str, set[str]] = {}
    if table:
        pairs = (pair for row in table_rows(source) for pair in row.fields.items())
    else:
        listed = source.decoded(pointer) if pointer else None
        objects = [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
        pairs = ((key, text) for each in objects for key, text in each.items() if isinstance(text, str))
    for name, text in pairs:
        if len(text) < _LONGEST and not words_of(name) & _UNIT_COLUMNS and (key := _key(text)):
            found.setdefault(key, set()).add(name)
    return {key: frozenset(names) for key, names in found.items()}


# --- running text


def _by_words(subject: Subject, around: Surroundings, row: Row | None, source: Source) -> Told:
    """Whether a text holds all words of a subject without an identifier."""
    whole = around.line if source.text is None else source.text
    if row is not None and row.number:
        whole = _header(whole)
    return "yes" if subject.words <= words_of(around.line) or subject.words <= words_of(whole) else "silent"


def _in_text(subject: Subject, one: str, around: Surroundings, row: Row | None, source: Source) -> Told:
    """Whether a line, or else the document that it stands in, is about what one identifier names."""
    here = [name for _, alike, name in _mentions(subject, around.line) if alike == one]
    if here:
        return "no" if one not in here else "yes" if set(here) == {one} else "silent"
    if source.text is None:
        return "silent"
    # what another row names, a row need not be about
    whole = _header(source.text) if row is not None and row.number else source.text
    named = [(line, name) for line, alike, name in _mentions(subject, whole) if alike == one]
    if all(name != one for _, name in named):
        return "no" if named else "silent"
    if all(name == one for _, name in named):
        return "yes"
    if row is not None:
        return "silent"
    # the document is about several things: which of them was named last before this?
    at = whole.find(around.line) if around.start is None else around.start
    before = bisect_left(named, (whole.count("\n", 0, max(at, 0)), ""))
    return "yes" if not before or named[before - 1][1] == one else "silent"


def _header(text: str) -> str:
    return text.lstrip("\ufeff").partition("\n")[0]


@lru_cache(maxsize=16)
def _mentions(subject: Subject, text: str) -> tuple[tuple[int, str, str], ...]:
    """What is named in a text, in its order: number of the line, the identifier that it is or is like, and its name."""
    hints = [*subject.words, *subject.ids, *(re.split(r"\d", one)[0] for one in subject.ids if _kin(one))]
    found: list[tuple[int, str, str]] = []
    for number, line in enumerate(text.split("\n")):
        folded = line.casefold()
        if any(hint in folded for hint in hints if hint) or not folded.isascii():
            found += [(number, one, name) for one, name in _mentioned(subject, normal(line))]
    return tuple(found)


def _mentioned(subject: Subject, plain: str) -> Iterator[tuple[str, str]]:
    after_noun = named_in(subject, plain)
    for one in sorted(subject.ids):
        if _stands(one, plain):
            yield one, one
        kin = _kin(one)
        listed = re.findall(
            rf"(?<![^\W_]){re.escape(one)}{_AND}({_IDENTIFIER})|({_IDENTIFIER}){_AND}{re.escape(one)}(?![^\W_])", plain
        )
        others = [
            *after_noun,
            *(kin.findall(plain) if kin else ()),
            *(each.strip(".:") for pair in listed for each in pair),
        ]
        for name in dict.fromkeys(others):
            if name not in subject.ids and (_alike(name, one) or _is_kin(name, one)):
                yield one, name


def named_in(subject: Subject, text: str) -> list[str]:
    """Identifiers that stand after the subject's noun in a text after N: ``order 4712``, ``order no. 4712``."""
    if not subject.words:
        return []
    nouns = "|".join(re.escape(word) for word in sorted(subject.words))
    pattern = rf"\b(?:{nouns})s?\b[\s:#.]*(?:(?:no|nr|number|id)\b[\s:#.]*)?({_IDENTIFIER})"
    found = []
    for match in re.finditer(pattern, text):
        following = re.match(r"\s*([^\W\d_]+)", text[match.end() :])
        identifier = match[1].strip(".:")
        counted = following is not None and (following[1] in UNITS or stem(following[1]) == subject.unit)
        counted = counted and not match[1].endswith(":")  # order 4712: pallets received
        counted = counted or _CONDITION.search(text[: match.start()]) is not None  # in good order: 12
        if not counted and (identifier in subject.ids or any(_alike(identifier, one) for one in subject.ids)):
            found.append(identifier)
    return found


def _listed_apart(claim: Claim, subject: Subject, around: Surroundings, source: Source) -> bool:
    """Whether another line states an amount of what this one does not name: ``Nuts: 7`` for the bolts of an order."""
    tokens = [token for token in _tokens(claim) if token not in _EMPTY]
    nouns = {stem(before) for before, token in pairwise(tokens) if token in subject.ids}  # the order of "order 4711"
    apart = subject.words - nouns - words_of(claim.attribute or "") - {subject.unit} - words_of(around.line)
    return bool(apart) and _states_of(apart, source.text or "")


@lru_cache(maxsize=64)
def _states_of(words: frozenset[str], text: str) -> bool:
    lines = (line for line in text.split("\n") if any(word in line.casefold() for word in words))
    return any(words & words_of(line) and amounts_in(line).found for line in lines)


def _alike(identifier: str, one: str) -> bool:
    """Whether an identifier after the subject's noun has the form of its own, so that it names another of its kind."""
    return _form(identifier) == _form(one) or (identifier.isdigit() and one.isdigit() and len(identifier) > _KIN)


def _form(identifier: str) -> str:
    return re.sub(r"[^\W\d_]", "a", re.sub(r"\d", "0", identifier))


@lru_cache(maxsize=64)
def _kin(one: str) -> re.Pattern[str] | None:
    """Identifiers with the letters of this one and other digits, which name another of its kind wherever they stand."""
    if sum(char.isalpha() for char in one) < _KIN or sum(char.isdigit() for char in one) < _KIN:
        return None
    body = r"\d+".join(re.escape(part) for part in re.split(r"\d+", one))
    return re.compile(rf"(?<![^\W_])(?<![^\W_]-)(?:{body})(?![^\W_])(?!-[^\W_])")


def _is_kin(identifier: str, one: str) -> bool:
    kin = _kin(one)
    return kin is not None and kin.fullmatch(identifier) is not None


def _stands(identifier: str, text: str) -> bool:
    if identifier not in text:
        return False
    return re.search(rf"(?<![^\W_]){re.escape(identifier)}(?![^\W_])", text) is not None
