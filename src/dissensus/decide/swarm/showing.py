"""What an agent is shown of an item's sources: each between fences that no text can close, and no more than fits.

A fence is a hash that depends on the run's seed and on the bytes that it encloses, and that none of them holds: whoever
writes a document cannot write its end.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final

from dissensus.decide.swarm.opened import Named, Opened
from dissensus.decide.swarm.work import Share

MOST_SHOWN: Final = 6000
"""Most characters of one source; of all sources of an item together, four times as many."""
LEAST_SHOWN: Final = 400
MOST_ROWS: Final = 6
"""Most rows of a table that is shown whole. Of a longer one those that name the item are shown: all of a log for each
item is slow to read, and a small model takes the first row that it sees."""
MOST_LINES: Final = 60
"""Most lines of a source of which each can be offered for a quote, and the most characters of one."""
_MOST_LABEL: Final = 80
_LONGEST_LINE: Final = 200


@dataclass(frozen=True, slots=True)
class Shown:
    """The sources of one item as an agent has them.

    Args:
        labels: how each source is called, to its digest.
        fence: what stands before and after each.
        text: all of it.
        lines: of sources that are short enough, the lines that can be quoted, by label; of a table the rows that name
            the item, or all but the header if none does.
    """

    labels: Mapping[str, str]
    fence: str
    text: str
    lines: Mapping[str, tuple[str, ...]]


def show(share: Share, item: str, opened: Opened, seed: int) -> Shown:
    """The sources that ``share`` has of ``item``, those of other items and of other parties not among them."""
    labels = labels_of(share, item)
    most = max(min(MOST_SHOWN, 4 * MOST_SHOWN // max(len(labels), 1)), LEAST_SHOWN)
    named = Named.of(item, share.wanted)
    parts = {label: _parts(label, digest, opened, named, most) for label, digest in labels.items()}
    bodies = {label: [body for _, body, _ in found] for label, found in parts.items()}
    fence = _fence(
        f"{seed}/{share.party}/{share.agent}/{item}/{','.join(labels.values())}",
        [body for found in bodies.values() for body in found],
    )
    lines = []
    for heading, body, remark in (one for found in parts.values() for one in found):
        lines.append(f"{heading}:")
        if body:
            lines.append(f"<<{fence}\n{body}\n{fence}>>")
        if remark:
            lines.append(remark)
    quotable = {label: _lines(digest, bodies[label], opened, named) for label, digest in labels.items()}
    return Shown(labels, fence, "\n".join(lines), {label: found for label, found in quotable.items() if found})


def _lines(digest: str, bodies: list[str], opened: Opened, named: Named) -> tuple[str, ...]:
    """The lines of a source; none if there are too many to choose from."""
    found = [line.strip() for body in bodies for line in body.splitlines()]
    if opened.is_table(digest):
        texts = opened.row_texts(digest)
        own = {texts[row - 1].strip() for row in opened.rows_naming(digest, named)}
        found = [line for line in found if line in own] or found[1:]
    kept = tuple(dict.fromkeys(line for line in found if line))
    return kept if len(kept) <= MOST_LINES and all(len(line) <= _LONGEST_LINE for line in kept) else ()


def labels_of(share: Share, item: str) -> dict[str, str]:
    """How each source of ``item`` is called, to its digest: by its name, and by more where that is not enough."""
    found: dict[str, str] = {}
    digests = [digest for digest in dict.fromkeys(share.of.get(item, ())) if digest in share.sources]
    names = [plain(share.sources[digest].name) for digest in digests]
    for digest, name in zip(digests, names, strict=True):
        clear = name and sum(other.casefold() == name.casefold() for other in names) == 1
        found[name if clear else f"{name} {digest[:12]}".strip()] = digest
    return found


def plain(name: str) -> str:
    """A name that comes from outside, as one short line without quotes."""
    words = "".join(char if char.isprintable() and char not in '"`<>' else " " for char in name).split()
    return " ".join(words)[:_MOST_LABEL]


def digest_named(said: str, labels: Mapping[str, str], share: Share) -> str | None:
    """The digest of what a reply calls ``said``; None if it is no source of the share, or may be several."""
    said = said.strip().strip("\"'")
    if not said:
        return next(iter(labels.values())) if len(labels) == 1 else None
    if said in labels:
        return labels[said]
    if said in share.sources:
        return said
    wanted = said.casefold()
    for same in (_as_written, _file_name, _stem):
        found = {digest for label, digest in labels.items() if same(label.casefold()) == same(wanted)}
        if found:
            return found.pop() if len(found) == 1 else None
    found = {digest for digest in share.sources if len(wanted) >= 12 and digest.startswith(wanted)}
    found |= {digest for digest, pinned in share.sources.items() if plain(pinned.name) == said}
    return found.pop() if len(found) == 1 else None


def _as_written(label: str) -> str:
    return label


def _file_name(label: str) -> str:
    return PurePosixPath(label).name


def _stem(label: str) -> str:
    return PurePosixPath(label).stem


def _fence(seed: str, texts: Iterable[str]) -> str:
    """A hash that stands in none of ``texts``."""
    told = list(texts)
    number = 0
    while True:
        fence = hashlib.sha256(f"{seed}/{number}".encode("utf-8", "surrogatepass")).hexdigest()[:16]
        if not any(fence in text for text in told):
            return fence
        number += 1


def _parts(label: str, digest: str, opened: Opened, named: Named, most: int) -> list[tuple[str, str, str]]:
    """Heading, text and a remark about what is left out, of a source or of each of its pages."""
    source = opened[digest]
    heading = f'Source "{label}"'
    if source.text is None or not source.text.strip():
        return [(heading, "", "(It holds no text that can be shown.)")]
    if source.paged and len(source.pages) > 1:
        return _pages(heading, source.pages, most)
    longer = opened.is_table(digest) and len(opened.row_texts(digest)) > MOST_ROWS + 1
    if longer and (rows := opened.rows_naming(digest, named)):
        return [_rows(heading, opened.row_texts(digest), rows, opened.remarks(digest), most)]
    return [_cut(heading, source.text, most)]


def _cut(heading: str, text: str, most: int) -> tuple[str, str, str]:
    if len(text) <= most:
        return heading, text.strip("\n"), ""
    return heading, text[:most].strip("\n"), f"(Cut: these are the first {most} of {len(text)} characters.)"


def _rows(heading: str, texts: list[str], rows: list[int], remarks: list[int], most: int) -> tuple[str, str, str]:
    """The header, the rows that name the item, as many as fit, and remarks; in the order of the table."""
    left = most - len(texts[0])
    kept: list[int] = []
    for number in [*rows, *(remark for remark in remarks if remark not in rows)]:
        left -= len(texts[number - 1]) + 1
        if left < 0:
            break
        kept.append(number)
    shown = len(set(kept) & set(rows))
    which = (
        "the rows that name the item"
        if shown == len(rows)
        else f"the first {shown} of {len(rows)} rows that name the item"
    )
    lines = [texts[0][:most], *(texts[number - 1] for number in sorted(kept))]
    return heading, "\n".join(lines), f"(Of its {len(texts) - 1} rows, these are {which}.)"


def _pages(heading: str, pages: list[str], most: int) -> list[tuple[str, str, str]]:
    found: list[tuple[str, str, str]] = []
    left = most
    for number, page in enumerate(pages, 1):
        if left <= 0:
            found.append((heading, "", f"(Cut: pages {number} to {len(pages)} are left out.)"))
            break
        found.append(_cut(f"{heading}, page {number}", page, left))
        left -= len(page)
    return found
