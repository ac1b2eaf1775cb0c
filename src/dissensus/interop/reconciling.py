"""From two folders to a swarm: what lies in them, what is the same thing in both, and the tasks file that compares it.

Start at :func:`plan_of`. Nothing is done with the result before it was shown. The tasks file that it compiles to is
the one that a person could have written: :func:`tasks_data`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any, Final

from dissensus.decide.dispute.case import Pinned
from dissensus.decide.swarm.opened import Opened
from dissensus.decide.swarm.pairing import Compared, Key, Told, Unclear, compared, key_of, lacking
from dissensus.decide.swarm.reader_said import written
from dissensus.decide.swarm.survey import FILE_NAME, Counted, Survey, survey
from dissensus.errors import UsageError
from dissensus.interop.folders import Document, Folder, read_folder

ALWAYS: Final = "0001-01-01/.."
"""The time of claims where no document bears a date: whatever is there counts."""
MOST_PASSED: Final = 5


@dataclass(frozen=True, slots=True)
class Plan:
    """What two folders are taken to be.

    Args:
        folders: the two sides.
        names: how the sides are called: the names of the folders, or A and B.
        surveys: what was found in them.
        key: how the items are called.
        compared: what both state about each.
        as_of: the time at which everything is said to hold.
        missing: items that were named and that neither side has.
    """

    folders: tuple[Folder, Folder]
    names: tuple[str, str]
    surveys: tuple[Survey, Survey]
    key: Key
    compared: tuple[Compared, ...]
    as_of: str
    missing: tuple[str, ...] = ()


def plan_of(
    first: Path, second: Path, told: Told, *, agents: bool = False, on_file: Callable[[], None] | None = None
) -> Plan:
    """What two folders are taken to be.

    Args:
        first: the folder of the one side.
        second: that of the other side.
        told: what the user says of them.
        agents: whether agents read, who find properties that no label or column names.
        on_file: called after each file.

    Raises:
        UsageError: a folder is none, holds nothing, or it is not clear what is what: lists what there is.
        SpecError: a folder holds too much.
    """
    _two(first, second)
    folders = read_folder(first, on_file), read_folder(second, on_file)
    opened = tuple(Opened(_pinned(folder)) for folder in folders)
    surveys = survey(opened[0]), survey(opened[1])
    try:
        key = key_of(surveys, told)
        told = replace(told, as_of=told.as_of or _as_of(surveys))
        found = compared(surveys, key, told)
    except Unclear as problem:
        raise unclear(problem) from None
    if not agents and (lack := list(lacking(found))):
        side, name = lack[0]
        counted = tuple(one.name for one in surveys["AB".index(side)].counted)
        raise unclear(Unclear(f"Nothing in {side} is called {name!r}.", '--attribute "NAME=OTHER"', {side: counted}))
    nameless = [label for label, names in zip("AB", key.names, strict=True) if names == (FILE_NAME,)]
    if nameless and not agents:
        raise UsageError(
            f"The documents in {nameless[0]} do not say which item they are about, only the names of their files do."
            " The built-in reader takes nothing from them.",
            next_step="Have agents read: --model REF, or --panel FILE.",
        )
    known = set(key.items)
    missing = tuple(item for item in told.items if " ".join(item.casefold().split()) not in known)
    return Plan(folders, _names(first, second), surveys, key, tuple(found), told.as_of, missing)


def _two(first: Path, second: Path) -> None:
    for path in (first, second):
        if not path.is_dir():
            what = "is no folder" if path.exists() else "is not there"
            raise UsageError(f"{path} {what}.", next_step="Check the path.")
    one, other = first.resolve(), second.resolve()
    if one == other:
        raise UsageError("Both folders are the same.", next_step="Name the folder of the other side.")
    if one in other.parents or other in one.parents:
        raise UsageError(
            "One folder lies in the other, so that its files would speak for both sides.",
            next_step="Move them beside each other.",
        )


def unclear(problem: Unclear) -> UsageError:
    """The error to raise for what is not clear: what there is, and the flag that says it."""
    listed = [f"  {side}: {', '.join(names) or 'nothing'}" for side, names in problem.candidates.items()]
    return UsageError("\n".join([str(problem), *listed]), next_step=f"Say it with {problem.flag}.")


def _pinned(folder: Folder) -> Mapping[str, Pinned]:
    return {document.digest: document.pinned for document in reversed(folder.documents)}


def _names(first: Path, second: Path) -> tuple[str, str]:
    one, other = first.resolve().name, second.resolve().name
    return (one, other) if one and other and one != other else ("A", "B")


def _as_of(surveys: tuple[Survey, Survey]) -> str:
    """From the first to the last day that a document bears: everything that is there counts, on both sides."""
    days = [side.days for side in surveys if side.days is not None]
    if not days:
        return ALWAYS
    first, last = min(day[0] for day in days), max(day[1] for day in days)
    return ALWAYS if last == date.max else written((first, last))


# --- the tasks file


def base_of(plan: Plan) -> Path:
    """The folder that holds both."""
    return Path(os.path.commonpath([folder.path.resolve() for folder in plan.folders]))


def tasks_data(plan: Plan, base: Path, readers: Sequence[Mapping[str, Any]], more: Mapping[str, Any]) -> dict[str, Any]:
    """What a person could have written: the data of a tasks file that lies in ``base``.

    Args:
        plan: what the folders are taken to be.
        base: the folder that paths start from.
        readers: of each side, who reads: ``{"reader": "tables"}``, ``{"agents": [...]}``.
        more: other keys of the file.
    """
    return {
        "swarm": f"{plan.names[0]} and {plan.names[1]}",
        "items": list(plan.key.items.values()),
        "wanted": [_wanted(one) for one in plan.compared],
        "parties": {
            name: {**readers[side], "sources": list(_sources(plan, side, base))} for side, name in enumerate(plan.names)
        },
        **more,
    }


def _wanted(one: Compared) -> dict[str, Any]:
    wanted = one.wanted
    data: dict[str, Any] = {"attribute": wanted.attribute, "subject": wanted.subject}
    data |= {key: text for key, text in (("unit", wanted.unit), ("as_of", wanted.as_of)) if text}
    return {**data, "names": list(wanted.names)} if wanted.names else data


def _sources(plan: Plan, side: int, base: Path) -> Iterator[dict[str, Any]]:
    """Each document that names an item, with its items and, of a table, how it is read."""
    where, folder, key = plan.key.where[side], plan.folders[side], plan.key
    of: dict[str, list[str]] = {}
    for item, written_ in key.items.items():
        for digest in where.get(item, ()):
            of.setdefault(digest, []).append(written_)
    for document in used(plan, side):
        entry: dict[str, Any] = {"file": _relative(folder.path / document.path, base)}
        if len(of[document.digest]) < len(key.items):
            entry["items"] = of[document.digest]
        if table := _table(plan, side, document.digest):
            entry["table"] = table
        yield entry


def used(plan: Plan, side: int) -> list[Document]:
    """The documents of one side that name an item; of equal bytes, one."""
    known = {digest for digests in plan.key.where[side].values() for digest in digests}
    first: dict[str, Document] = {}
    for document in plan.folders[side].documents:
        if document.digest in known:
            first.setdefault(document.digest, document)
    return list(first.values())


def _relative(path: Path, base: Path) -> str:
    return Path(os.path.relpath(path.resolve(), base.resolve())).as_posix()


def _table(plan: Plan, side: int, digest: str) -> dict[str, str]:
    """How a table is read, where one property is compared and it is clear which columns are meant."""
    counted = plan.compared[0].sides[side] if len(plan.compared) == 1 else None
    value = counted.columns.get(digest, "") if counted is not None else ""
    subject = column_of_items(plan, side, digest)
    if not value or not subject or counted is None:
        return {}
    survey_ = plan.surveys[side]
    found = {
        "value": value,
        "subject": subject,
        "key": survey_.keys.get(digest, ""),
        "time": survey_.times.get(digest, ""),
        "unit": counted.unit or plan.compared[0].wanted.unit,
    }
    return {key: text for key, text in found.items() if text and not (key == "key" and text == subject)}


def column_of_items(plan: Plan, side: int, digest: str) -> str:
    """The column of a table that holds the items; "" if it is no table."""
    called = [plan.surveys[side].called[name] for name in plan.key.names[side] if name != FILE_NAME]
    return next((one.columns[digest] for one in called if digest in one.columns), "")


# --- in words


def plan_data(plan: Plan) -> dict[str, Any]:
    """What the folders are taken to be, as JSON data."""
    sides = [
        {
            "folder": str(folder.path),
            "party": name,
            "files": len(folder.documents),
            "passed_over": {path.as_posix(): why for path, why in folder.passed_over},
            "called": list(plan.key.names[side]),
            "only": [plan.key.items[item] for item in plan.key.only[side]],
        }
        for side, (folder, name) in enumerate(zip(plan.folders, plan.names, strict=True))
    ]
    return {
        "sides": sides,
        "items": len(plan.key.items),
        "missing": list(plan.missing),
        "wanted": [_wanted(one) for one in plan.compared],
        "as_of": plan.as_of,
    }


def lines_of(plan: Plan) -> Iterator[str]:
    """What the folders are taken to be, in lines."""
    for side, label in enumerate("AB"):
        yield from _side(plan, side, label)
    both = len(plan.key.both)
    called = [_called(plan, side) for side in (0, 1)]
    noun = f"{plan.key.noun} " if plan.key.noun else ""
    yield f"items: {both:,} on both sides, called {called[0]} in A and {called[1]} in B"
    for label, only in zip("AB", plan.key.only, strict=True):
        if only:
            yield f"  only in {label}: {_some([noun + plan.key.items[item] for item in only])}"
    if plan.missing:
        yield f"  on neither side: {_some(plan.missing)}"
    for one in plan.compared:
        sides = [_counted(counted) for counted in one.sides]
        unit = f", in {one.wanted.unit}" if one.wanted.unit else ""
        yield f"compared: {one.wanted.attribute}{unit}: {sides[0]} in A, {sides[1]} in B"
    yield f"as of: {'whenever it was' if plan.as_of == ALWAYS else plan.as_of}; whatever lies in the folders counts"


def _side(plan: Plan, side: int, label: str) -> Iterator[str]:
    folder = plan.folders[side]
    kinds: dict[str, int] = {}
    for document in folder.documents:
        kinds[document.path.suffix.lower()[1:]] = kinds.get(document.path.suffix.lower()[1:], 0) + 1
    told = ", ".join(f"{count:,} {kind}" for kind, count in sorted(kinds.items()))
    yield f"{label}: {plan.names[side]}, {told}"
    for path, why in folder.passed_over[:MOST_PASSED]:
        yield f"  passed over: {path} ({why})"
    if len(folder.passed_over) > MOST_PASSED:
        yield f"  passed over: {len(folder.passed_over) - MOST_PASSED:,} more"
    silent = len({document.digest for document in folder.documents}) - len(used(plan, side))
    if silent:
        yield f"  {silent:,} of them name no item"
    same = len(folder.documents) - len({document.digest for document in folder.documents})
    if same:
        yield f"  {same:,} of them have the bytes of another one, and count once"


def _called(plan: Plan, side: int) -> str:
    found = []
    for name in plan.key.names[side]:
        called = plan.surveys[side].called[name]
        columns = sorted(set(called.columns.values()))
        found += [f"column {column}" for column in columns]
        if not columns:
            found.append("by the names of files" if name == FILE_NAME else called.shown)
    return " and ".join(found)


def _counted(counted: Counted | None) -> str:
    if counted is None:
        return "what agents find"
    columns = sorted(set(counted.columns.values()))
    labels = len(counted.where) - len(counted.columns)
    found = [f"column {column}" for column in columns]
    if labels:
        found.append(f'"{counted.name}" in {labels:,} document{"" if labels == 1 else "s"}')
    return " and ".join(found)


def _some(listed: Sequence[str], most: int = 8) -> str:
    return ", ".join(listed[:most]) + (f" and {len(listed) - most:,} more" if len(listed) > most else "")
