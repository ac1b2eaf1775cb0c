"""Parties of a tasks file: who reads for each, and the files that it works from, pinned, with the items of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from dissensus.agents.panel import Panel
from dissensus.agents.toolbox import open_tool
from dissensus.decide.dispute.case import Pinned
from dissensus.decide.dispute.evidence import CsvDialect
from dissensus.decide.swarm.work import ITEM, READER
from dissensus.errors import SpecError
from dissensus.interop.case_sources import MOST_BYTES, Sources, pinned_from
from dissensus.interop.evidence_files import Pinned as File
from dissensus.interop.evidence_files import open_source, pin, read_bytes
from dissensus.interop.item_files import by_item, is_name, matching
from dissensus.specfile import Place
from dissensus.study.swarm.batch import By, Party

_PARTY_KEYS: Final = ("agents", "program", "reader", "sources", "task")
_SOURCE_KEYS: Final = ("file", "files", "items", "kind", "media", "table")


@dataclass(slots=True)
class Parties(Sources):
    """The parties that a file names.

    Args:
        pinned_paths: files that were pinned.
        size: bytes of these.
    """

    pinned_paths: set[Path] = field(default_factory=set)
    size: int = 0

    def party(self, name: str, given: Any, items: tuple[str, ...], panel: Panel | None) -> Party:
        """One party, with its sources."""
        place: Place = ("parties", name)
        if not isinstance(given, Mapping):
            raise self.spec.wrong(place, "A party has to be a mapping.", next_step="Write agents and sources.")
        self.known(given, place, _PARTY_KEYS, "a party")
        how = [key for key in ("agents", "program", "reader") if given.get(key) is not None]
        if len(how) != 1:
            raise self.spec.wrong(
                place, f"Who reads for {name} is not said once: it has {' and '.join(how) or 'nobody'}.",
                next_step="Write one of `agents: [ada]`, `program: {tool: NAME}`, `reader: tables`.",
            )  # fmt: skip
        by, agents, tool = self.readers(given, how[0], place, panel)
        party = Party(
            name=name, by=by, agents=agents, tool=tool, task=self.said(given, "task", place), sources={}, of={}
        )
        entries = given.get("sources")
        entries = entries if isinstance(entries, list) else [] if entries is None else [entries]
        if not entries:
            raise self.spec.wrong(place, f"{name} works from no sources.", next_step="Add `sources`.")
        for number, one in enumerate(entries):
            party = self.with_sources(party, one, (*place, "sources", number), items)
        return party

    def readers(
        self, given: Mapping[str, Any], how: str, place: Place, panel: Panel | None
    ) -> tuple[By, tuple[str, ...], str]:
        """How a party is read, by whom, and by which tool."""
        said = given[how]
        if how == "reader":
            if said != "tables":
                raise self.spec.wrong((*place, how), f"There is no reader {said!r}.", next_step="Write tables.")
            return "tables", (READER,), ""
        if how == "program":
            tool = said.get("tool") if isinstance(said, Mapping) and set(said) == {"tool"} else None
            if panel is None or tool not in panel.tools:
                raise self.spec.wrong(
                    (*place, how),
                    f"The panel has no tool {tool!r}.",
                    next_step="Write {tool: NAME}, a tool of `panel`.",
                )
            source = panel.tools[str(tool)]
            takes = {} if source.kind == "mcp" else open_tool(source, panel.folder).spec.parameters
            if source.kind != "mcp" and "item" not in takes.get("properties", {}):
                raise self.spec.wrong(
                    (*place, how), f"The tool {tool!r} has no parameter `item`, so it cannot be told what to read.",
                    next_step="Write {item} in its command, or `item` among its parameters.",
                )  # fmt: skip
            return "tool", (READER,), str(tool)
        names = [said] if isinstance(said, str) else said
        if not isinstance(names, list) or not names or not all(isinstance(one, str) for one in names):
            raise self.spec.wrong((*place, how), "`agents` has to be a list of names.", next_step="Use brackets.")
        known = [seat.agent for seat in panel.seats] if panel is not None else []
        for number, one in enumerate(names):
            if one not in known:
                raise self.spec.wrong(
                    (*place, how, number), f"The panel has no agent {one!r}.",
                    next_step=f"There are: {', '.join(known)}." if known else "Add `panel`.",
                )  # fmt: skip
        return "agent", tuple(names), ""

    def with_sources(self, party: Party, given: Any, place: Place, items: tuple[str, ...]) -> Party:
        """The party with the files of one entry of its sources."""
        told = {"file": given} if isinstance(given, str) else given
        if not isinstance(told, Mapping):
            raise self.spec.wrong(
                place, "A source is a file, or a mapping with `file` or `files`.", next_step="Name it."
            )
        self.known(told, place, _SOURCE_KEYS, "a source")
        if ("file" in told) == ("files" in told):
            raise self.spec.wrong(place, "A source has either `file` or `files`.", next_step="Name one of them.")
        key = "files" if "files" in told else "file"
        meant = {**told, "table": self.table(told.get("table"), place)}
        told_of = self.told_of(told.get("items"), items, (*place, "items"))
        found = self.files_of(self.pattern(told[key], (*place, key)), key, (*place, key), told_of)
        sources, of, paths, dialects = dict(party.sources), dict(party.of), dict(party.paths), dict(party.dialects)
        names = {pinned.name: digest for digest, pinned in sources.items()}
        for path, whose in found.items():
            file, pinned = self.captured(path, meant, (*place, key), names)
            sources.setdefault(file.digest, pinned)
            names.setdefault(pinned.name, file.digest)
            paths.setdefault(file.digest, self.reference(path))
            if file.dialect is not None and file.dialect != CsvDialect():
                dialects[file.digest] = file.dialect
            for item in whose:
                of[item] = tuple(dict.fromkeys((*of.get(item, ()), file.digest)))
        return replace(party, sources=sources, of=of, paths=paths, dialects=dialects)

    def told_of(self, given: Any, items: tuple[str, ...], place: Place) -> tuple[str, ...]:
        """The items of which a source tells: those that it names, else all."""
        if given is None:
            return items
        named = [str(one) for one in given] if isinstance(given, list) else []
        if not named or any(isinstance(one, bool) or not isinstance(one, str | int) for one in given):
            raise self.spec.wrong(place, "`items` has to be a list of items.", next_step="Use brackets.")
        known = frozenset(items)
        if unknown := next((one for one in named if one not in known), None):
            raise self.spec.wrong(place, f"There is no item {unknown!r}.", next_step="Name it under `items`, too.")
        return tuple(named)

    def files_of(self, pattern: str, key: str, place: Place, items: tuple[str, ...]) -> dict[Path, tuple[str, ...]]:
        """The files that an entry names, with the items of each."""
        if ITEM not in pattern:
            found = matching(self.folder, pattern) if key == "files" else [self.folder / pattern]
            whose = dict.fromkeys(found, items)
        elif key == "file":
            named = {item: self.folder / pattern.replace(ITEM, item) for item in items if is_name(item)}
            whose = {path: (item,) for item, path in named.items() if path.is_file()}
        else:
            whose = {}
            for item, paths in by_item(self.folder, pattern, items).items():
                for path in paths:
                    whose[path] = (*whose.get(path, ()), item)
        if not whose:
            raise self.spec.wrong(place, f"No file is named {pattern!r}.", next_step="Check the pattern.")
        return dict(sorted(whose.items()))

    def captured(
        self, path: Path, told: Mapping[str, Any], place: Place, names: Mapping[str, str]
    ) -> tuple[File, Pinned]:
        """The file, pinned, under a name that no other source of the party has."""
        try:
            file = pin(path, self.store)
            source = open_source(read_bytes(file.stored), str(told.get("media") or file.media))
        except SpecError as error:
            raise self.spec.wrong(place, f"{path.name}: {error.message}", next_step=error.next_step) from None
        if path not in self.pinned_paths:
            self.pinned_paths.add(path)
            self.size += file.size
        if self.size > MOST_BYTES:
            raise self.spec.wrong(
                place, f"The sources are larger than {MOST_BYTES // 1_000_000} MB together.",
                next_step="Divide the batch, or take out the parts that matter.",
            )  # fmt: skip
        name = self.reference(path)
        if name.startswith(("/", "..")):
            name = path.name
        if names.get(name, file.digest) != file.digest:
            name = f"{file.digest[:12]}-{path.name}"
        return file, pinned_from(source, {**told, "name": name}, file.media)

    def reference(self, path: Path) -> str:
        """The path from the folder of the tasks file, if it lies there."""
        try:
            return path.relative_to(self.folder).as_posix()
        except ValueError:
            return str(path)

    def pattern(self, given: Any, place: Place) -> str:
        """The name of a file, or a pattern of names."""
        if not isinstance(given, str) or not given.strip() or "\0" in given:
            raise self.spec.wrong(place, "A file has to be a text.", next_step="Put it into quotes.")
        if place[-1] == "files" and Path(given).is_absolute():
            raise self.spec.wrong(
                place, "A pattern starts from the folder of this file.", next_step="Write it without the first /."
            )
        return given

    def said(self, given: Mapping[str, Any], key: str, place: Place) -> str:
        """A text; numbers are taken as they are written."""
        value = given.get(key)
        if value is None:
            return ""
        if isinstance(value, bool) or not isinstance(value, str | int):
            raise self.spec.wrong((*place, key), f"`{key}` has to be a text.", next_step="Put it into quotes.")
        return str(value)
