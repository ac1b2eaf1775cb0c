"""Records of our own runs: one question each, its ballots as they were counted, its key where the question had one."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

from dissensus.answers import matches_gold
from dissensus.errors import SpecError
from dissensus.interop.columns import Named
from dissensus.interop.factors import Traits
from dissensus.interop.scored import Scored, sheet_of
from dissensus.interop.sheet import Sheet, some
from dissensus.measure.wording import counted
from dissensus.record.event import Event
from dissensus.record.opening import open_record
from dissensus.record.store import Store

_LAST = 8
"""Events at the end of a record among which its decision stands."""


def read_records(paths: list[Path], named: Named) -> Sheet:
    """Read the records, or folders of records, as one table: a question a record, a voter an agent.

    A ballot is right if it is the same answer as the key. A spare's ballot counts for the agent it stood in for. A
    record without a decision is left out, and said so; a question that several records answer is one asked again.

    Raises:
        SpecError: there is no record, or none with ballots.
        RecordError: a record cannot be read.
    """
    files = [entry for path in paths for entry in (_records(path) if path.is_dir() else [path])]
    votes: list[Scored] = []
    gold: dict[str, str] = {}
    options: dict[str, int] = {}
    groups: dict[str, str] = {}
    times: Counter[str] = Counter()
    unfinished: list[str] = []
    traits = Traits({"model": 0, "style": 1})
    for path in files:
        with open_record(path) as store:
            head, decision = _ends(store)
        if decision is None:
            unfinished.append(path.name)
            continue
        question = dict(dict(head.body.get("settings", {})).get("question", {}))
        text = str(question.get("text") or decision["question"])
        name = str(question.get("id") or text)
        times[name] += 1
        if times[name] > 1:
            name = f"{name} ({times[name]})"
        groups[name] = text
        key = question.get("gold")
        choices = tuple(question.get("options") or ())
        if choices:
            options[name] = len(choices)
        if key is not None:
            gold[name] = str(key)
        for ballot in decision["ballots"]:
            voter = ballot.get("stands_in_for") or ballot["agent"]
            if not named.voters or voter in named.voters:
                votes.append(_vote(name, voter, ballot, question, choices))
                traits.take([voter], [[ballot.get("model")], [ballot.get("style")]], None)
    if not votes:
        raise SpecError(
            "There is no record with ballots.",
            path=", ".join(map(str, paths)),
            next_step="Name records of votes, or the folder that holds them.",
        )
    notes = []
    if unfinished:
        lost = counted(len(unfinished), "record without a decision is", "records without a decision are")
        notes.append(f"{lost} left out ({some(unfinished)}).")
    sheet = sheet_of(
        votes,
        gold,
        options=options,
        groups=groups,
        format_="records of runs",
        rows_read=len(files),
        dropped=len(unfinished),
        notes=notes,
    )
    return replace(sheet, factors=traits.shared(sheet.voters))


def _records(folder: Path) -> list[Path]:
    return sorted([*folder.glob("*.db"), *folder.glob("*.jsonl")])


def _ends(store: Store) -> tuple[Event, dict[str, Any] | None]:
    """The first event of a record, and its decision."""
    head = next(iter(store.read(1, 2)), None)
    if head is None:
        raise SpecError("The record is empty.", path=store.path, next_step="Look at the run that wrote it.")
    decision = next((event for event in reversed(store.tail(_LAST)) if event.kind == "decision"), None)
    return head, dict(decision.body) if decision else None


def _vote(name: str, voter: str, ballot: dict[str, Any], question: dict[str, Any], choices: tuple[str, ...]) -> Scored:
    answer, key = ballot.get("answer"), question.get("gold")
    if answer is None:
        outcome = str(ballot.get("outcome") or "blank")
        return Scored(name, voter, None, None, "unreadable" if outcome == "reply" else outcome)
    if key is None:
        return Scored(name, voter, str(answer), None)
    right = matches_gold(
        str(question.get("kind") or "auto"),
        str(answer),
        str(key),
        options=choices,
        unit=str(question.get("unit") or ""),
    )
    return Scored(name, voter, str(answer), right)
