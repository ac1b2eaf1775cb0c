"""The tasks file of a swarm: YAML in, a batch out, with the bytes that it works from pinned.

::

    swarm: march
    items: {file: orders.csv, column: order}     # or a list; or {files: "notes/*.txt"}: their names without the end
    panel: panel.yaml
    wanted:
      - {attribute: pallets received, subject: "order {item}", unit: pallet, note: add up all deliveries}
    parties:
      documents:
        agents: [ada, ben]                       # or program: {tool: NAME}; or reader: tables
        sources: [{files: "notes/{item}*", kind: signed-note}]
        task: Read the delivery notes.
      warehouse:
        agents: [cleo]
        sources:
          - {file: warehouse.csv, kind: log, table: {value: pallets, subject: order, key: booking, time: booked_at}}
    verifier: vera
    spot_checks: 0.1                             # share of the consistent items that the verifier looks at
    plants: {share: 0.05}                        # faults that are planted in copies; or a number
    budget: {calls: 500}                         # of everything together
    seed: 0
    jobs: 2

``units``, ``precedence``, ``turns``, ``rounds`` and ``person`` are as in a case file; ``sources`` at the top are those
that the evidence of ``units`` names. A source with ``{item}`` belongs to that item, one without to every item, or to
those that it lists: ``{file: notes/1.txt, items: ["4711"]}``. Where items are counted in different units, ``unit:
{column: unit}`` names a column of the file that names the items.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from dissensus.agents.budget import Limits
from dissensus.agents.panel import Panel
from dissensus.decide.dispute.csv_cells import cells_of
from dissensus.decide.dispute.values import NotRead, as_of_from
from dissensus.decide.swarm.work import ITEM, Wanted
from dissensus.errors import SpecError
from dissensus.interop.evidence_files import dialect_of, read_bytes
from dissensus.interop.item_files import matching
from dissensus.interop.party_files import Parties
from dissensus.specfile import Place, Spec, read_spec
from dissensus.study.swarm.batch import KINDS, Plants, Swarm, checked

WHAT: Final = "tasks file"
_KEYS: Final = (
    "swarm", "items", "panel", "wanted", "parties", "sources", "units", "precedence", "verifier", "turns", "rounds",
    "repairs", "spot_checks", "plants", "budget", "person", "seed", "jobs",
)  # fmt: skip
_WANTED_KEYS: Final = ("attribute", "subject", "unit", "as_of", "note", "names")
_PLANT_KEYS: Final = ("share", "number", "kinds")


def read_tasks(path: Path, store: Path) -> Swarm:
    """Read a tasks file and pin the files that it names; nothing is asked of anybody.

    Args:
        path: the file.
        store: folder of the copies.

    Raises:
        SpecError: the file, or one that it names, is wrong or missing; carries the line.
        StorageError: a copy cannot be written.
    """
    return tasks_of(read_spec(path, WHAT), path.parent, store)


def tasks_of(spec: Spec, folder: Path, store: Path, panel: Panel | None = None) -> Swarm:
    """What the data of a tasks file says, as :func:`read_tasks` reads it.

    Args:
        spec: the data.
        folder: from which the files that it names are looked for.
        store: folder of the copies.
        panel: who takes part, in place of the file that is named as ``panel``.
    """
    return _Reading(spec, folder, store, given=panel).read()


@dataclass(slots=True)
class _Reading(Parties):
    given: Panel | None = None

    def panel(self) -> tuple[Panel | None, Limits]:
        """Who takes part, and the most that may be spent."""
        panel, budget = Parties.panel(self)
        return self.given or panel, budget

    def read(self) -> Swarm:
        data = self.spec.data
        self.known(data, (), _KEYS, "a tasks file")
        name = data.get("swarm")
        if not isinstance(name, str | int) or isinstance(name, bool) or not str(name).strip():
            raise self.spec.wrong(("swarm",), "The swarm has no name.", next_step="Add `swarm: some-name`.")
        for label, given in self.mapping("sources").items():
            self.source(label, given)
        panel, budget = self.panel()
        items = self.items()
        swarm = Swarm(
            name=str(name),
            items=items,
            wanted=tuple(self.wanted()),
            parties=tuple(self.party(label, given, items, panel) for label, given in self.mapping("parties").items()),
            panel=panel,
            budget=budget,
            pack_sizes=tuple(self.pack_size(one, n) for n, one in enumerate(self.many("units"))),
            shared=self.pinned([]) if self.files else {},
            precedence=self.precedence(),
            verifier=self.text("verifier"),
            turns=self.whole("turns", 6),
            rounds=self.whole("rounds", 1),
            repairs=self.whole("repairs", 1),
            asking=self.asking(),
            spot_checks=self.share("spot_checks", 0.1),
            plants=self.plants(),
            seed=self.number("seed", 0),
            jobs=max(self.whole("jobs", 2), 1),
            path=self.spec.path,
        )
        try:
            return checked(swarm)
        except SpecError as error:
            where: Place = ("verifier",) if swarm.verifier and swarm.verifier in error.message else ("parties",)
            raise self.spec.wrong(where, error.message, next_step=error.next_step) from None

    # --- items

    def items(self) -> tuple[str, ...]:
        """The items, each once, in the order of the file that names them."""
        given = self.spec.data.get("items")
        if isinstance(given, list):
            found = [self.item(one, ("items", n)) for n, one in enumerate(given)]
        elif isinstance(given, Mapping) and set(given) == {"files"}:
            pattern = self.pattern(given["files"], ("items", "files"))
            found = [path.stem for path in matching(self.folder, pattern)]
            if len(set(found)) < len(found):
                raise self.spec.wrong(
                    ("items", "files"), "Two of these files have one name but for its end.",
                    next_step="Name the items in a list, or in a column of a file.",
                )  # fmt: skip
        elif isinstance(given, Mapping) and set(given) == {"file", "column"}:
            found = list(self.column(given["file"], given["column"]))
        else:
            raise self.spec.wrong(
                ("items",), "There are no items.",
                next_step='Write a list, {file: orders.csv, column: order}, or {files: "notes/*.txt"}.',
            )  # fmt: skip
        if not found:
            raise self.spec.wrong(("items",), "There is not one item.", next_step="Check the file or the pattern.")
        return tuple(dict.fromkeys(found))

    def item(self, given: Any, place: Place) -> str:
        if isinstance(given, bool) or not isinstance(given, str | int) or not str(given).strip():
            raise self.spec.wrong(place, "An item has to be a text.", next_step="Put it into quotes.")
        return str(given).strip()

    def column(self, file: Any, column: Any) -> Iterator[str]:
        """The cells of a column of a CSV file, empty ones left out."""
        if not isinstance(file, str) or not isinstance(column, str):
            raise self.spec.wrong(
                ("items",), "`file` and `column` have to be texts.", next_step="Put them into quotes."
            )
        return (item for (item,) in self.cells(file, [(column, ("items", "column"))]) if item)

    def cells(self, file: str, columns: Sequence[tuple[str, Place]]) -> Iterator[tuple[str, ...]]:
        """The cells of some columns of a CSV file, row by row, "" where a row is too short.

        ``columns`` says besides where in the tasks file each is named.
        """
        path = self.folder / file
        try:
            data = read_bytes(path)
        except SpecError as error:
            raise self.spec.wrong(("items", "file"), error.message, next_step=error.next_step) from None
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError:
            raise self.spec.wrong(("items", "file"), f"{file} is no text in UTF-8.", next_step="Save it so.") from None
        rows = [[cell.text.strip() for cell in row] for row in cells_of(text, dialect_of(data))]
        header = rows[0] if rows else []
        for column, place in columns:
            if column not in header:
                raise self.spec.wrong(
                    place, f"{file} has no column {column!r}.", next_step=f"It has: {', '.join(header)}."
                )
        places = [header.index(column) for column, _ in columns]
        for row in rows[1:]:
            yield tuple(row[at] if at < len(row) else "" for at in places)

    # --- what is wanted

    def wanted(self) -> Iterator[Wanted]:
        given = self.spec.data.get("wanted")
        many = [given] if isinstance(given, Mapping) else given
        if not isinstance(many, list) or not many:
            raise self.spec.wrong(
                ("wanted",), "It is not said what is wanted of each item.", next_step="Add `wanted`: attribute, unit …"
            )
        for number, one in enumerate(many):
            place: Place = ("wanted",) if isinstance(given, Mapping) else ("wanted", number)
            if not isinstance(one, Mapping):
                raise self.spec.wrong(place, "What is wanted has to be a mapping.", next_step="Write attribute: …")
            self.known(one, place, _WANTED_KEYS, "what is wanted")
            units = self.units_by_item(one["unit"], (*place, "unit")) if isinstance(one.get("unit"), Mapping) else {}
            texts = {key: self.said(one, key, place) for key in _WANTED_KEYS[:-1] if key != "unit" or not units}
            if not texts["attribute"]:
                raise self.spec.wrong(place, "The `attribute` is missing.", next_step="Name the property.")
            if texts["as_of"] and ITEM not in texts["as_of"]:
                try:
                    as_of_from(texts["as_of"])
                except NotRead as error:
                    raise self.spec.wrong(
                        (*place, "as_of"), f"`as_of` {error}.", next_step="Write it like 2026-03-02."
                    ) from None
            names = one.get("names") or []
            if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
                raise self.spec.wrong(
                    (*place, "names"), "`names` has to be a list of texts.", next_step="Use brackets."
                )
            yield Wanted(**{**texts, "subject": texts["subject"] or ITEM}, names=tuple(names), units=units)

    def units_by_item(self, given: Mapping[str, Any], place: Place) -> dict[str, str]:
        """The unit of each item, from a column of the file that names the items."""
        items = self.spec.data.get("items")
        if (
            set(given) != {"column"} or not isinstance(given["column"], str)
            or not isinstance(items, Mapping) or set(items) != {"file", "column"}
        ):  # fmt: skip
            raise self.spec.wrong(
                place, "A unit is a text, or a column of the file that names the items.",
                next_step="Write unit: pallet, or unit: {column: unit} with items: {file: …, column: …}.",
            )  # fmt: skip
        columns = [(items["column"], ("items", "column")), (given["column"], place)]
        found: dict[str, str] = {}
        for item, unit in self.cells(items["file"], columns):
            if item and unit and found.setdefault(item, unit) != unit:
                raise self.spec.wrong(
                    place, f"{items['file']} gives {item} two units: {found[item]} and {unit}.",
                    next_step="Correct the file.",
                )  # fmt: skip
        if not found:
            raise self.spec.wrong(place, f"The column {given['column']!r} is empty.", next_step="Name another one.")
        return found

    # --- numbers

    def plants(self) -> Plants:
        given = self.spec.data.get("plants")
        if given is None:
            return Plants()
        if isinstance(given, int) and not isinstance(given, bool) and given >= 0:
            return Plants(number=given)
        place: Place = ("plants",)
        if not isinstance(given, Mapping):
            raise self.spec.wrong(place, "`plants` is a number, or {share: 0.05}.", next_step="Correct it.")
        self.known(given, place, _PLANT_KEYS, "`plants`")
        if ("share" in given) == ("number" in given):
            raise self.spec.wrong(place, "`plants` has either a share or a number.", next_step="Write one of them.")
        kinds = given.get("kinds", list(KINDS))
        if not isinstance(kinds, list) or not kinds or any(kind not in KINDS for kind in kinds):
            raise self.spec.wrong(
                (*place, "kinds"),
                "`kinds` names no fault that can be planted.",
                next_step=f"Known are {', '.join(KINDS)}.",
            )
        share, number = given.get("share"), given.get("number")
        if share is not None:
            share = self.part(share, (*place, "share"))
        if number is not None and (isinstance(number, bool) or not isinstance(number, int) or number < 0):
            raise self.spec.wrong(
                (*place, "number"), "`number` has to be a whole number.", next_step="Write it like 5."
            )
        return Plants(share=share, number=number, kinds=tuple(kinds))

    def share(self, key: str, default: float) -> float:
        given = self.spec.data.get(key)
        return default if given is None else self.part(given, (key,))

    def part(self, given: Any, place: Place) -> float:
        if isinstance(given, bool) or not isinstance(given, int | float) or not 0 <= given <= 1:
            raise self.spec.wrong(place, f"`{place[-1]}` has to be from 0 to 1.", next_step="Write it like 0.1.")
        return float(given)

    def number(self, key: str, default: int) -> int:
        given = self.spec.data.get(key, default)
        if isinstance(given, bool) or not isinstance(given, int):
            raise self.spec.wrong((key,), f"`{key}` has to be a whole number.", next_step="Write it like 1.")
        return given
