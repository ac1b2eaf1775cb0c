"""From what a reply cites to evidence: a source of the share, the words that are said to stand there, and where."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from dissensus.decide.dispute.evidence import (
    CsvDialect,
    CsvSelector,
    Evidence,
    JsonSelector,
    LineSelector,
    PageSelector,
    QuoteSelector,
    Selector,
)
from dissensus.decide.dispute.normalise import normal
from dissensus.decide.dispute.parsing import evidence_from
from dissensus.decide.dispute.selector_data import selector_from
from dissensus.decide.dispute.selectors import select
from dissensus.decide.dispute.values import NotRead
from dissensus.decide.swarm.opened import Named, Opened
from dissensus.decide.swarm.showing import digest_named
from dissensus.decide.swarm.work import Share
from dissensus.errors import DissensusError

MOST_EVIDENCE: Final = 100
MOST_QUOTE: Final = 2000
_MOST_NUMBER: Final = 2**31


@dataclass(frozen=True, slots=True)
class Desk:
    """Where the citations of one item are looked up.

    Args:
        share: whose sources they are.
        labels: how the sources of the item are called, to their digests.
        opened: the sources.
        named: how the item is named.
        columns: headers, after N, of the columns that tell what is wanted.
    """

    share: Share
    labels: Mapping[str, str]
    opened: Opened
    named: Named
    columns: frozenset[str]

    @classmethod
    def of(cls, share: Share, item: str, labels: Mapping[str, str], opened: Opened) -> Desk:
        """The desk of ``item``."""
        names = [name for one in share.wanted for name in (one.attribute, *one.names)]
        return cls(share, labels, opened, Named.of(item, share.wanted), frozenset(header(name) for name in names))


def header(name: str) -> str:
    """The name of a column or property as names are compared: ``Pallets_Received`` is ``pallets received``."""
    return " ".join(normal(name).replace("_", " ").replace("-", " ").split())


def cited(raw: Any, desk: Desk) -> tuple[list[Evidence], list[str]]:
    """The evidence in what a reply cites, and a sentence for each item that is none."""
    if raw is None or raw == "":
        return [], []
    items = raw if isinstance(raw, list) else [raw]
    told: list[str] = []
    if len(items) > MOST_EVIDENCE:
        told.append(f"Only the first {MOST_EVIDENCE} of {len(items)} items of evidence were read.")
        items = items[:MOST_EVIDENCE]
    whole = [one for one in items if isinstance(one, Mapping)]
    times = Counter((_text(one, "source"), _text(one, "quote")) for one in whole)
    done: Counter[tuple[str, str]] = Counter()
    found: list[Evidence] = []
    for number, one in enumerate(items, 1):
        if not isinstance(one, Mapping):
            told.append(f"Item {number} of its evidence is no object.")
            continue
        which = (_text(one, "source"), _text(one, "quote"))
        try:
            evidence = _full(one, desk) if "digest" in one else _short(one, desk, (done[which], times[which]))
        except (NotRead, DissensusError) as problem:
            told.append(f"Item {number} of its evidence {problem}".rstrip(".") + ".")
            continue
        done[which] += 1
        if evidence not in found:
            found.append(evidence)
    return found, told


def _text(data: Mapping[str, Any], key: str) -> str:
    found = data.get(key)
    return found if isinstance(found, str) else ""


def _full(data: Mapping[str, Any], desk: Desk) -> Evidence:
    """Evidence that names its source by digest. How the bytes were come by is not for whoever makes claims to say."""
    kept = {key: data[key] for key in ("digest", "selectors", "selector", "quote", "prefix", "suffix") if key in data}
    try:
        evidence = evidence_from(kept)
    except DissensusError as error:
        raise NotRead(f"cannot be read: {error.message}") from None
    if evidence.digest not in desk.opened:
        raise NotRead("names a source that is not in the share")
    pinned = desk.share.sources[evidence.digest]
    return Evidence(
        evidence.digest, evidence.selectors, evidence.quote, evidence.prefix, evidence.suffix, media=pinned.media,
        title=pinned.name,
    )  # fmt: skip


def _short(data: Mapping[str, Any], desk: Desk, turn: tuple[int, int]) -> Evidence:
    """Evidence that names its source as it was shown. ``turn``: which citation of these words, of how many."""
    digest = digest_named(_text(data, "source"), desk.labels, desk.share)
    if digest is None:
        raise NotRead(f"names a source that is not in the share: {_text(data, 'source')[:80]!r}")
    quote = _text(data, "quote").strip()
    if len(quote) > MOST_QUOTE:
        raise NotRead(f"has a quote of {len(quote)} characters; at most {MOST_QUOTE} are read")
    places = _places(data, desk, digest)
    source = desk.opened[digest]
    if not quote:
        chosen = select(source, places[0]) if places else None
        if chosen is None or not chosen.text.strip() or len(chosen.text) > MOST_QUOTE or chosen.wide:
            raise NotRead("has no quote")
        quote = chosen.text
    selectors: list[Selector] = list(places)
    if not places:
        cell = _in_table(quote, desk, digest, turn) if desk.opened.is_table(digest) else None
        selectors = [cell or QuoteSelector(quote)]
    elif any((part := select(source, place)) is None or part.text != quote for place in places):
        selectors.append(QuoteSelector(quote))  # the place may be wider than what is quoted of it
    pinned = desk.share.sources[digest]
    return Evidence(digest, tuple(selectors), quote, media=pinned.media, title=pinned.name)


def _places(data: Mapping[str, Any], desk: Desk, digest: str) -> list[Selector]:
    """Where a reply says that it stands."""
    found: list[Selector] = []
    if data.get("pointer") not in (None, ""):
        selector, _ = selector_from({"type": "json", "pointer": data["pointer"]})
        found.append(selector if isinstance(selector, JsonSelector) else JsonSelector(""))
    if (row := _number(data, "row")) is not None:
        dialect = desk.opened.dialect(digest) if desk.opened.is_table(digest) else CsvDialect()
        found.append(CsvSelector(row, _column(data.get("col")), dialect))
    if (line := _number(data, "line")) is not None:
        found.append(LineSelector(line, line))
    if (page := _number(data, "page")) is not None:
        found.append(PageSelector(page))
    return found


def _number(data: Mapping[str, Any], key: str) -> int | None:
    raw = data.get(key)
    if raw is None or raw == "":
        return None
    if isinstance(raw, str) and raw.strip().isdecimal() and len(raw) < 10:
        raw = int(raw)
    if isinstance(raw, bool) or not isinstance(raw, int) or not 0 <= raw < _MOST_NUMBER:
        raise NotRead(f"has a `{key}` that is no number of a {key}")
    return raw


def _column(raw: Any) -> int | str | None:
    if raw is None or raw == "":
        return None
    if isinstance(raw, str) and len(raw) <= MOST_QUOTE:
        return raw
    if isinstance(raw, int) and not isinstance(raw, bool) and 0 <= raw < _MOST_NUMBER:
        return raw
    raise NotRead("has a `col` that is neither a number nor the name of a column")


def _in_table(quote: str, desk: Desk, digest: str, turn: tuple[int, int]) -> CsvSelector | None:
    """The row or cell of the item that ``quote`` is; None if it is none, or if several are and it is not said which.

    Words that stand in as many rows as they are cited are cited from each of them once.
    """
    wanted = normal(quote).strip()
    dialect = desk.opened.dialect(digest)
    rows = desk.opened.rows_naming(digest, desk.named)
    if not rows:
        return None
    texts = desk.opened.row_texts(digest)
    whole = [CsvSelector(row, None, dialect) for row in rows if normal(texts[row - 1]).strip() == wanted]
    if whole:
        return _turn(whole, turn)
    table = desk.opened[digest].cells(dialect)
    cells = [
        (row, column)
        for row in rows
        for column, cell in enumerate(table[row - 1], 1)
        if normal(cell.text).strip() == wanted
    ]
    names = [cell.text for cell in table[0]]
    telling = [
        (row, column) for row, column in cells if column <= len(names) and header(names[column - 1]) in desk.columns
    ]
    chosen = telling or cells
    return _turn([CsvSelector(row, _named_column(names, column), dialect) for row, column in chosen], turn)


def _turn(places: Sequence[CsvSelector], turn: tuple[int, int]) -> CsvSelector | None:
    number, times = turn
    if len(places) == 1:
        return places[0]
    return places[number] if number < len(places) == times else None


def _named_column(names: list[str], column: int) -> int | str:
    """A column by its header, if that is its alone."""
    name = names[column - 1].strip() if column <= len(names) else ""
    return name if name and sum(other.strip() == name for other in names) == 1 else column
