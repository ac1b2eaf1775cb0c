"""The procedures by name: how a record's first event is turned back into the script that wrote it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from dissensus.decide.contract import Contract, ContractSettings
from dissensus.decide.contract_net import contract_net
from dissensus.decide.defences import DEFENCES
from dissensus.decide.dispute.case import Case
from dissensus.decide.dispute.case_data import case_data, case_from
from dissensus.decide.dispute.script import dispute
from dissensus.decide.dispute.settlement import Settlement
from dissensus.decide.finishing import Defended
from dissensus.decide.round_robin import round_robin
from dissensus.decide.round_robin_result import RoundRobin
from dissensus.decide.round_robin_settings import RoundRobinSettings
from dissensus.decide.self_check import self_check
from dissensus.decide.self_check_result import SelfChecked
from dissensus.decide.self_check_settings import SelfCheckSettings
from dissensus.decide.settings import VoteSettings
from dissensus.decide.swarm.reported import Reported
from dissensus.decide.swarm.reports import report
from dissensus.decide.swarm.work import Share
from dissensus.decide.vote import vote
from dissensus.errors import SpecError
from dissensus.script.decisions import Decision
from dissensus.script.effects import Script
from dissensus.script.questions import Question
from dissensus.script.seats import Seat

Build = Callable[[Mapping[str, Any], Sequence[Seat], int], Script]


@dataclass(frozen=True, slots=True)
class Procedure:
    """A way to decide.

    Args:
        name: as it stands in records.
        version: changes whenever the same settings may lead to other effects.
        build: settings as JSON data, seats and seed to a script that has not begun.
        result: what the script returns: a Decision, or a subclass of it with fields of its own.
    """

    name: str
    version: str
    build: Build
    result: type[Decision] = Decision


def settings_of_vote(question: Question, settings: VoteSettings) -> dict[str, Any]:
    """What a vote is built from, as JSON data: ``{"question": …, "vote": …}``."""
    return {"question": msgspec.to_builtins(question), "vote": settings.to_data()}


def question_from(data: Mapping[str, Any]) -> Question:
    """The question in the settings of a procedure. Raises SpecError if there is none that can be read."""
    try:
        return msgspec.convert(data["question"], Question)
    except (KeyError, msgspec.ValidationError) as problem:
        raise SpecError(f"The settings hold no question that can be read: {problem}.") from None


def _vote(data: Mapping[str, Any], seats: Sequence[Seat], seed: int) -> Script:
    return vote(question_from(data), seats, VoteSettings.from_data(data.get("vote", {})), seed)


def settings_of_contract(task: str, settings: ContractSettings) -> dict[str, Any]:
    """What a contract net is built from, as JSON data: ``{"task": …, "contract": …}``."""
    return {"task": task, "contract": settings.to_data()}


def _contract(data: Mapping[str, Any], seats: Sequence[Seat], seed: int) -> Script:
    if not isinstance(data.get("task"), str):
        raise SpecError("The settings hold no task that can be read.")
    return contract_net(data["task"], seats, ContractSettings.from_data(data.get("contract", {})), seed)


def settings_of_round_robin(question: Question, settings: RoundRobinSettings) -> dict[str, Any]:
    """What a round-robin is built from, as JSON data: ``{"question": …, "round_robin": …}``."""
    return {"question": msgspec.to_builtins(question), "round_robin": settings.to_data()}


def _round_robin(data: Mapping[str, Any], seats: Sequence[Seat], seed: int) -> Script:
    settings = RoundRobinSettings.from_data(data.get("round_robin", {}))
    return round_robin(question_from(data), seats, settings, seed)


def settings_of_dispute(case: Case) -> dict[str, Any]:
    """What a dispute is built from, as JSON data: ``{"task": …, "case": …}``."""
    return {"task": case.title or case.id, "case": case_data(case)}


def _dispute(data: Mapping[str, Any], seats: Sequence[Seat], seed: int) -> Script:
    if not isinstance(data.get("case"), Mapping):
        raise SpecError("The settings hold no case that can be read.")
    return dispute(case_from(data["case"]), seats, seed)


def settings_of_report(share: Share) -> dict[str, Any]:
    """What the reading of a share is built from, as JSON data: ``{"task": …, "share": …}``."""
    return {"task": share.task or share.party, "share": share.to_data()}


def _report(data: Mapping[str, Any], seats: Sequence[Seat], seed: int) -> Script:
    if not isinstance(data.get("share"), Mapping):
        raise SpecError("The settings hold no share that can be read.")
    return report(Share.from_data(data["share"]), seats, seed)


def settings_of_self_check(question: Question, settings: SelfCheckSettings) -> dict[str, Any]:
    """What a self-check is built from, as JSON data: ``{"question": …, "self_check": …}``."""
    return {"question": msgspec.to_builtins(question), "self_check": settings.to_data()}


def _self_check(data: Mapping[str, Any], seats: Sequence[Seat], seed: int) -> Script:
    return self_check(question_from(data), seats, SelfCheckSettings.from_data(data.get("self_check", {})), seed)


PROCEDURES: dict[str, Procedure] = {
    "contract": Procedure("contract", "1", _contract, Contract),
    "dispute": Procedure("dispute", "1", _dispute, Settlement),
    "report": Procedure("report", "1", _report, Reported),
    "round-robin": Procedure("round-robin", "2", _round_robin, RoundRobin),
    "self-check": Procedure("self-check", "1", _self_check, SelfChecked),
    "vote": Procedure("vote", "1", _vote),
    **{name: Procedure(name, "2", one.build, Defended) for name, one in DEFENCES.items()},
}
"""Every procedure by its name. Put your own in under its name before you run, resume or replay with it."""
