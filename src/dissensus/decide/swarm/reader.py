"""The built-in reader: what do documents say about an item, as far as a program can read it without doubt?

Start at :meth:`Reader.read`. It reads tables (:mod:`~dissensus.decide.swarm.reader_tables`), labels in texts and on
pages of PDF files (:mod:`~dissensus.decide.swarm.reader_texts`), and JSON documents
(:mod:`~dissensus.decide.swarm.reader_json`). What comes out are claims with evidence that reopens EXACT and in which
rule R2 reads the claimed value: every claim is held to both before it is made. Of a doubt comes no claim, but a reason:
two numbers under one label, "about 10", a negation, two columns that may be it.

What several sources say (:mod:`~dissensus.decide.swarm.reader_parts`):

* Of sources in which it is called by its name, and others where only part of the name fits, the former count, with all
  documents of their kind.
* Copies (:mod:`dissensus.decide.dispute.origins`) count once.
* Documents of one kind with distinct numbers (``DN-1``, ``DN-2``) are parts, and add up, if every one can be read; one
  number twice with the same value is one document. A document that names the number of another one, or says that it
  corrects or replaces one, or a document without a number beside others, is a doubt.
* Tables with one header add up, a booking under one key that stands in two of them once. Without a key it is a doubt.
* Everything else counts if it says the same, and is a doubt if it does not.

A sum is one claim that cites each part: rule R2 adds them up again, copies once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dissensus.decide.dispute.case import Pinned
from dissensus.decide.dispute.places import is_table
from dissensus.decide.dispute.sources import Source
from dissensus.decide.swarm.opened import Opened
from dissensus.decide.swarm.reader_json import Tree, read_json
from dissensus.decide.swarm.reader_names import NONE, Asked, form
from dissensus.decide.swarm.reader_parts import originals, together
from dissensus.decide.swarm.reader_said import Said, Unread, claimed, doubt
from dissensus.decide.swarm.reader_tables import Sheet, read_table
from dissensus.decide.swarm.reader_texts import Paper, read_text
from dissensus.decide.swarm.work import Wanted


@dataclass(frozen=True, slots=True)
class Found:
    """What the documents say about one item.

    Args:
        claims: at most one for each thing that is wanted, with the keys of
            :func:`~dissensus.decide.dispute.parsing.claim_from`.
        why: why nothing is claimed of what is not among them, a sentence each; "" if all of it is.
    """

    claims: tuple[dict[str, Any], ...] = ()
    why: str = ""


def read_item(
    item: str, wanted: Sequence[Wanted], sources: Mapping[str, Pinned], digests: Sequence[str] | None = None
) -> Found:
    """What ``sources`` say about one item. Whoever reads many items keeps a :class:`Reader`.

    Args:
        item: the item.
        wanted: what is wanted of it.
        sources: the bytes by SHA-256.
        digests: those that may tell of it; all if left out.

    Raises :class:`~dissensus.errors.SpecError` for a time in ``wanted`` that is none.
    """
    return Reader(Opened(sources)).read(item, wanted, tuple(sources) if digests is None else digests)


class Reader:
    """Sources that are read item by item; each is opened once.

    Args:
        opened: the sources.
    """

    def __init__(self, opened: Opened) -> None:
        self.opened = opened
        self._forms: dict[str, Sheet | Tree | Paper | None] = {}

    def read(self, item: str, wanted: Sequence[Wanted], digests: Sequence[str]) -> Found:
        """What the sources ``digests`` say about ``item``."""
        claims: list[dict[str, Any]] = []
        told: list[str] = []
        for one in wanted:
            asked = Asked.of(item, one)
            found = self._answer(asked, [digest for digest in dict.fromkeys(digests) if digest in self.opened])
            if isinstance(found, str):
                told.append(f"{one.attribute}: {found}.")
            else:
                claims.append(claimed(asked, found))
        return Found(tuple(claims), " ".join(told))

    def _answer(self, asked: Asked, digests: Sequence[str]) -> Said | str:
        """What all sources together say, or why that cannot be told."""
        said: list[Said] = []
        unread: list[tuple[str, Unread]] = []
        for digest in digests:
            match self._source(asked, digest):
                case Said() as found:
                    said.append(found)
                case Unread() as doubtful:
                    unread.append((digest, doubtful))
        best = min([*(one.fit for one in said), *(one.fit for _, one in unread)], default=NONE)
        for digest, doubtful in unread:
            if doubtful.fit == best:
                return f"{self._name(digest)} {doubtful.why}"
        if not said:
            names = ", ".join(self._name(digest) for digest in digests[:3]) or "nothing"
            more = f" and {len(digests) - 3} more" if len(digests) > 3 else ""
            return f"no document that was read names it ({names}{more})"
        best_of = {form(one.document) for one in said if one.fit == best and one.document}
        for digest, doubtful in unread:
            if form(doubtful.document) in best_of:
                return f"{self._name(digest)} {doubtful.why}, beside others of its kind"
        kept = [one for one in said if one.fit == best or form(one.document) in best_of]
        chosen = originals(kept, self.opened)
        whole = together(asked, chosen, self._name)
        if (
            isinstance(whole, Said)
            and len(chosen) > 1
            and (why := doubt(asked, whole, self._bytes(whole), self._counted(whole)))
        ):
            return f"what its documents say together {why}"
        return whole

    def _source(self, asked: Asked, digest: str) -> Said | Unread | None:
        found: Said | Unread | None
        match self.opened_as(digest):
            case Sheet() as sheet:
                found = read_table(asked, sheet)
            case Tree() as tree:
                found = read_json(asked, tree)
            case Paper() as paper:
                found = read_text(asked, paper)
            case _:
                return None
        if isinstance(found, Said) and (why := doubt(asked, found, self._bytes(found), self._counted(found))):
            return Unread(why, found.fit, found.document)
        return found

    def opened_as(self, digest: str) -> Sheet | Tree | Paper | None:
        """The source as what it is; None if it holds no text."""
        if digest not in self._forms:
            source, declared = self.opened[digest], self.opened.pinned[digest].table
            if source.text is None:
                self._forms[digest] = None
            elif is_table(source):
                self._forms[digest] = Sheet(source, declared)
            elif (source.text or "").lstrip("\ufeff \t\r\n")[:1] in ("{", "[") and source.is_json:
                self._forms[digest] = Tree(source)
            else:
                self._forms[digest] = Paper(source)
        return self._forms[digest]

    def _bytes(self, said: Said) -> dict[str, Source]:
        return {item.digest: self.opened[item.digest] for item in said.evidence}

    def _counted(self, said: Said) -> dict[str, str]:
        tables = {item.digest: self.opened.pinned[item.digest].table for item in said.evidence}
        return {digest: table.value for digest, table in tables.items() if table is not None}

    def _name(self, digest: str) -> str:
        return self.opened.pinned[digest].name or digest[:12]
