"""Answers that were made standing rules. Each stands in the record of the question that it answered.

A rule has an id and a version; a later version takes the place of an earlier one, and a withdrawal is a version too.
Two rules of one id and version that say different things are in conflict, and neither is used: that needs a person.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from dissensus.errors import DissensusError, UsageError
from dissensus.record.canonical import decode
from dissensus.record.chain import Clock
from dissensus.record.event import Draft, Event
from dissensus.record.opening import open_record
from dissensus.record.store import Texts
from dissensus.record.verify import verify
from dissensus.run.inbox import RULE, Question
from dissensus.run.inbox_answers import Given
from dissensus.run.inbox_folder import records_in

_MARK = f'"kind":"{RULE}"'.encode()


@dataclass(frozen=True, slots=True, kw_only=True)
class StandingRule:
    """A rule that a person made of an answer.

    Args:
        id, version: its name.
        says: the rule in one sentence.
        data: what the procedure applies, as it stood in the option.
        withdrawn: this version takes the rule back.
        principal, authenticated_by: who said so, and how that is known.
        at: seconds since 1970-01-01 UTC.
        reason: why, in their words.
        question: id of the question; "" of a withdrawal.
        record, seq: where it stands.
    """

    id: str
    version: int
    says: str
    data: Mapping[str, Any]
    principal: str
    authenticated_by: str
    at: float
    reason: str = ""
    question: str = ""
    withdrawn: bool = False
    record: str = ""
    seq: int = 0

    @property
    def name(self) -> str:
        """``ID v2``, as decisions cite it."""
        return f"{self.id} v{self.version}"


@dataclass(frozen=True, slots=True)
class Rules:
    """All rules of a folder, every version of each, oldest first."""

    all: tuple[StandingRule, ...] = ()
    problems: tuple[tuple[Path, DissensusError], ...] = field(default=())

    @classmethod
    def read(cls, places: str | Path | Iterable[str | Path]) -> Rules:
        """The rules in the records of one or more folders."""
        found: list[StandingRule] = []
        problems: list[tuple[Path, DissensusError]] = []
        for place in [places] if isinstance(places, str | Path) else places:
            for path in records_in(place):
                try:
                    found += _rules_in(path)
                except DissensusError as problem:
                    problems.append((path, problem))
        return cls(tuple(sorted(found, key=lambda one: (one.id, one.version, one.at))), tuple(problems))

    def next_version(self, name: str) -> int:
        """The version that the next rule with this id gets."""
        return 1 + max((one.version for one in self.all if one.id == name), default=0)

    def standing(self) -> tuple[StandingRule, ...]:
        """The latest version of each rule that is neither withdrawn nor in conflict."""
        return tuple(one for one in self._latest().values() if not one.withdrawn and one.id not in self.conflicts())

    def conflicts(self) -> tuple[str, ...]:
        """Ids whose latest version says two different things."""
        latest = self._latest()
        return tuple(
            sorted(
                {
                    one.id
                    for one in self.all
                    if one.version == latest[one.id].version
                    and (one.data, one.withdrawn) != (latest[one.id].data, latest[one.id].withdrawn)
                }
            )
        )

    def _latest(self) -> dict[str, StandingRule]:
        return {one.id: one for one in self.all}  # sorted: the last of each id is its latest version


def standing_rules(places: str | Path | Iterable[str | Path]) -> tuple[StandingRule, ...]:
    """The rules that stand now in one or more folders of records."""
    return Rules.read(places).standing()


def rule_draft(question: Question, rule: Mapping[str, Any], given: Given, version: int) -> Draft:
    """The event that makes the answer ``given`` a rule."""
    return Draft(
        kind=RULE,
        key=question.key,
        actor=given.principal,
        body={
            "id": str(rule["id"]),
            "version": version,
            "says": str(rule.get("says", "")),
            "data": dict(rule),
            "principal": given.principal,
            "authenticated_by": given.authenticated_by,
            "at": given.at,
            "reason": given.reason,
            "question": question.id,
            "withdrawn": False,
        },
    )


def withdraw_rule(
    rules: Rules, name: str, *, principal: str, authenticated_by: str, at: float, reason: str, clock: Clock = time.time
) -> StandingRule:
    """Take a rule back, in the record in which it stands. Decisions that it made stay, and go on naming its version.

    Raises :class:`~dissensus.errors.UsageError` if no rule of this id stands.
    """
    latest = next((one for one in reversed(rules.all) if one.id == name), None)
    if latest is None or latest.withdrawn:
        known = ", ".join(one.id for one in rules.standing()) or "none"
        raise UsageError(f"No rule {name!r} stands.", next_step=f"Those that do: {known}.")
    body = {
        "id": latest.id,
        "version": latest.version + 1,
        "says": latest.says,
        "data": dict(latest.data),
        "principal": principal,
        "authenticated_by": authenticated_by,
        "at": at,
        "reason": reason,
        "question": "",
        "withdrawn": True,
    }
    with open_record(latest.record, "a", clock=clock) as store:
        verify(store)
        (event,) = store.append([Draft(kind=RULE, actor=principal, body=body)])
        store.commit(durable=True)
    return _rule(event, latest.record)


def _rules_in(path: Path) -> list[StandingRule]:
    with open_record(path) as store:
        texts = Texts(store)  # type: ignore[arg-type] # a store reads
        events = (decode(row, texts, store.path) for row in store.rows() if _MARK in row[1])
        return [_rule(event, store.path) for event in events if event.kind == RULE]


def _rule(event: Event, record: str) -> StandingRule:
    return msgspec.convert({**event.body, "record": record, "seq": event.seq}, StandingRule)
