"""Parts of a case file that name sources: the files, what the user says of them, and evidence that points into them."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from dissensus.decide.dispute.case import PackSize, Pinned
from dissensus.decide.dispute.evidence import Evidence
from dissensus.decide.dispute.parsing import Wrong, evidence_from
from dissensus.decide.dispute.sources import Source
from dissensus.decide.dispute.values import NotRead, decimal_of, value_of
from dissensus.errors import SpecError
from dissensus.interop.case_fields import Fields
from dissensus.interop.evidence_files import Folders, pin
from dissensus.interop.evidence_files import Pinned as File
from dissensus.specfile import Place

MOST_BYTES: Final = 120_000_000
"""Bytes of all sources of a case together: its record holds them."""
_SOURCE_KEYS: Final = ("file", "sha256", "kind", "media", "name", "table")
_DIGEST: Final = re.compile("[0-9a-fA-F]{64}")


@dataclass(slots=True)
class Sources(Fields):
    """The sources that a file names, by their labels.

    Args:
        files: the pinned files by label.
        told: what the user says of each, by its digest.
    """

    files: dict[str, File] = field(default_factory=dict)
    told: dict[str, dict[str, Any]] = field(default_factory=dict)
    _folders: Folders | None = None

    def source(self, label: str, given: Any) -> None:
        """Pin a source that the file names under ``sources``."""
        place = ("sources", label)
        told = {"file": given} if isinstance(given, str) else given
        if not isinstance(told, Mapping):
            raise self.spec.wrong(place, "A source is a file, or a mapping with `file`.", next_step="Name its file.")
        self.known(told, place, _SOURCE_KEYS, "a source")
        if not isinstance(told.get("file"), str):
            raise self.spec.wrong(place, "The source names no file.", next_step="Add `file`.")
        try:
            file = pin(self.folder / told["file"], self.store)
        except SpecError as error:
            raise self.spec.wrong((*place, "file"), error.message, next_step=error.next_step) from None
        captured = told.get("sha256", file.digest)
        if not isinstance(captured, str) or not _DIGEST.fullmatch(captured):
            raise self.spec.wrong(
                (*place, "sha256"),
                "`sha256` has to be 64 hexadecimal digits.",
                next_step="Take it from `evidence pin`.",
            )
        self.files[label] = replace(file, digest=captured.lower())  # the file may have changed since it was captured
        table = self.table(told.get("table"), place)
        self.told[self.files[label].digest] = {**told, "label": label, "table": table}

    @property
    def folders(self) -> Folders:
        """Where the bytes under a digest are found: the copies, then the folder of the file."""
        if self._folders is None:
            self._folders = Folders((self.store, *(file.stored for file in self.files.values()), self.folder))
        return self._folders

    def pinned(self, items: list[Evidence]) -> dict[str, Pinned]:
        """The bytes that are cited, and those that are named; what is nowhere is left out, which reopening says."""
        found: dict[str, Pinned] = {}
        size = 0
        for digest in sorted({item.digest for item in items} | {file.digest for file in self.files.values()}):
            source = self.folders(digest)
            if source is None:
                continue
            size += len(source.data)
            if size > MOST_BYTES:
                raise self.spec.wrong(
                    ("sources",), f"The sources are larger than {MOST_BYTES // 1_000_000} MB together.",
                    next_step="Take out the parts that matter, and cite those.",
                )  # fmt: skip
            named = next((file.media for file in self.files.values() if file.digest == digest), "")
            cited = next((item.media for item in items if item.digest == digest and item.media), "")
            found[digest] = pinned_from(source, self.told.get(digest, {}), named or cited or source.media)
        return found

    def evidence(self, given: Any, at: Wrong, place: Place) -> Any:
        """Evidence with the digest, the media type and the file of the source that it names."""
        if not isinstance(given, Mapping) or "source" not in given:
            return given
        label = given["source"]
        if not isinstance(label, str) or label not in self.files:
            known = ", ".join(self.files) or "none"
            raise at.wrong((*place, "source"), f"The case has no source {label!r}.", next_step=f"There are: {known}.")
        if "digest" in given:
            raise at.wrong((*place, "source"), "Evidence names a source or a digest, not both.", next_step="Drop one.")
        file = self.files[label]
        rest = {key: value for key, value in given.items() if key != "source"}
        media = self.told[file.digest].get("media") or file.media
        return {"digest": file.digest, "media": media, "live_ref": self.told[file.digest]["file"], **rest}

    def pack_size(self, given: Any, number: int) -> PackSize:
        """A declared conversion, an entry of ``units``."""
        place: Place = ("units", number)
        known = ("unit", "factor", "of", "subject", "evidence")
        if not isinstance(given, Mapping):
            raise self.spec.wrong(place, "A conversion has to be a mapping.", next_step=f"Its keys are {known}.")
        self.known(given, place, known, "a conversion")
        items = given.get("evidence")
        if not isinstance(items, list) or not items:
            raise self.spec.wrong(
                place, "A conversion needs evidence that says so.", next_step="Add `evidence`: where it stands."
            )
        try:
            factor = decimal_of(value_of(given.get("factor"), "decimal").written)
        except NotRead as error:
            raise self.spec.wrong((*place, "factor"), f"`factor` {error}.", next_step="Write it like 48.") from None
        if factor <= 0:
            raise self.spec.wrong((*place, "factor"), "`factor` is not above zero.", next_step="Write it like 48.")
        texts = {key: given.get(key) for key in ("unit", "of")}
        for key, text in texts.items():
            if not isinstance(text, str) or not text.strip():
                raise self.spec.wrong((*place, key), f"`{key}` has to be a text.", next_step="Name a unit.")
        wheres = [(*place, "evidence", n) for n in range(len(items))]
        read = (
            evidence_from(self.evidence(one, self.spec, where), self.spec, where)
            for one, where in zip(items, wheres, strict=True)
        )
        subject = given.get("subject")
        return PackSize(
            unit=str(texts["unit"]), factor=factor, of=str(texts["of"]),
            evidence=tuple(map(self.folders.in_dialect, read)), subject=None if subject is None else str(subject),
        )  # fmt: skip


def pinned_from(source: Source, told: Mapping[str, Any], media: str) -> Pinned:
    """The source as a case holds it, with what the user says of it."""
    text: str | None = None
    if not source.paged:
        try:
            text = source.data.decode()
        except UnicodeDecodeError:
            text = None
    return Pinned(
        text=text,
        base64=None if text is not None else base64.b64encode(source.data).decode(),
        pages=tuple(source.pages) if source.paged else None,
        media=str(told.get("media") or ("text/csv" if told.get("table") and media == "text/plain" else media)),
        name=str(told.get("name") or told.get("label") or ""),
        kind=str(told.get("kind") or ""),
        table=told.get("table"),
    )
