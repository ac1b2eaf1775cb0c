"""Reopens what a question shows, from where its sources lie on this machine; and who is at the keyboard."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dissensus.decide.dispute.sources import Source
    from dissensus.run.inbox import Question
    from dissensus.run.inbox_desk import Look
    from dissensus.script.persons import Exhibit

_STORE = "evidence"
_DIGEST = re.compile("[0-9a-f]{64}")


def looker(sources: Sequence[Path] = ()) -> Look:
    """Reopens exhibits from ``sources``, the folders that the question names, ``evidence/``, and the record's texts.

    Where none of these exists, the question is taken as it stands on its record: nothing can be looked at.
    """

    def look(question: Question) -> tuple[Exhibit, ...]:
        if not any(side.cited for side in question.exhibits):
            return question.exhibits
        from dissensus.decide.dispute.exhibits import reopened_again
        from dissensus.interop.evidence_files import Folders, LiveFiles

        home = Path(question.record).parent
        named = [*sources, *(_place(home, hint) for hint in question.sources)]
        found = [place for place in (*named, home / _STORE, Path(_STORE)) if place.exists()]
        kept = _in_record(question)
        if not (named or found or kept):
            return question.exhibits
        folders = Folders(tuple(found))

        def source(digest: str) -> Source | None:
            return folders(digest) or kept.get(digest)

        live = LiveFiles(_place(home, question.base) if question.base else home)
        return tuple(reopened_again(side, source, live) for side in question.exhibits)

    return look


def _in_record(question: Question) -> dict[str, Source]:
    """The sources that the record holds itself: those of a case, and long texts that are stored by their digest."""
    from dissensus.decide.dispute.case_data import case_from
    from dissensus.decide.dispute.docket import source_of
    from dissensus.interop.evidence_files import open_source
    from dissensus.record.opening import open_record

    found: dict[str, Source] = {}
    with open_record(question.record) as store:
        first = next(store.read(1, 2))
        if question.procedure == "dispute":
            case = case_from(first.body["settings"]["case"])
            found = {digest: source_of(pinned) for digest, pinned in case.sources.items()}
        for cited in (one for side in question.exhibits for one in side.cited):
            digest = str(cited.item.get("digest", ""))
            if digest not in found and _DIGEST.fullmatch(digest):
                data = store.blob(bytes.fromhex(digest))
                if data is not None:
                    found[digest] = open_source(data, str(cited.item.get("media", "")))
    return found


def _place(home: Path, hint: str) -> Path:
    """A folder that a question names: absolute, or beside its record, or below the current folder."""
    path = Path(hint)
    return home / path if not path.is_absolute() and (home / path).exists() else path


def known_as(name: str | None) -> tuple[str, str]:
    """Who answers, and how that is known: by the account that runs this, or by a name that was only given."""
    import pwd

    try:
        account = pwd.getpwuid(os.getuid()).pw_name
    except KeyError:  # a number without a name, as in containers
        account = str(os.getuid())
    if name is None or name == account:
        return account, f"account:{account}"
    return name, f"stated:account={account}"
