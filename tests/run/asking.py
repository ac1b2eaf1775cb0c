"""A procedure that asks an agent, then a person, then an agent again; and two reports about one delivery."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import anyio
import msgspec

from dissensus.agents.panel import default_panel
from dissensus.decide.dispute.exhibits import exhibit_of
from dissensus.decide.dispute.parsing import claim_from
from dissensus.decide.procedures import PROCEDURES, Procedure
from dissensus.interop.evidence_files import Folders, pin
from dissensus.record.chain import Clock
from dissensus.record.opening import open_record
from dissensus.run.casting import resume_from, run_procedure
from dissensus.run.inbox import Question, questions_of
from dissensus.script.decisions import Decision, Status
from dissensus.script.effects import Ask, AskPerson, Post
from dissensus.script.outcomes import PersonAnswer
from dissensus.script.persons import Exhibit, Option

NOTE = "Delivery note 8812\norder 4711\npallets: 48\nsigned: R. Kern\n"
LOG = "time,order,event,pallets\n07:10,4710,received,12\n07:42,4711,received,47\n08:05,4712,received,9\n"
PRECEDENCE = {"id": "note-beats-log", "says": "A signed delivery note beats the warehouse log.", "over": ["A", "B"]}
OPTIONS = (
    Option("A", "48 pallets came"),
    Option("B", "47 pallets came", rule=PRECEDENCE),
    Option("both", "each is right, in its scope", scopes=("A", "B")),
    Option("neither", "neither stands"),
    Option("need-more", "this cannot be told from what is here"),
)
"""B can be made a standing rule; which way round that is does not matter here."""


def build(settings: Mapping[str, Any], seats: Sequence[Any], _seed: int) -> Any:
    """The script: said, asked, said again."""
    asked = msgspec.convert(settings["asked"], Asked)
    if seats:
        yield [Ask(seat.agent, "What came?") for seat in seats]
    answer = yield AskPerson(
        asked.question, options=asked.options, exhibits=asked.exhibits, topic=asked.topic, dedupe_key=asked.dedupe_key,
        asked_to=asked.asked_to, deadline_s=asked.deadline_s, remind_s=asked.remind_s, escalate_to=asked.escalate_to,
        sources=asked.sources,
    )  # fmt: skip
    assert isinstance(answer, PersonAnswer)
    yield Post("clerk", f"A person said {answer.answer}")
    if seats:
        yield Ask(seats[0].agent, f"It is {answer.answer}. Anything else?")
    return Decision(question=asked.question, answer=f"{answer.answer} by {answer.who}", status=Status.DECIDED)


class Asked(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the person is asked, as settings."""

    question: str = "Order 4711: did 48 or 47 pallets come?"
    options: tuple[Option, ...] = OPTIONS
    exhibits: tuple[Exhibit, ...] = ()
    topic: str = "dispute"
    dedupe_key: str = ""
    asked_to: tuple[str, ...] = ()
    deadline_s: float | None = None
    remind_s: float | None = None
    escalate_to: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()


PROCEDURES["asking"] = Procedure(name="asking", version="1", build=build)


def delivery(folder: Path) -> tuple[Exhibit, ...]:
    """Both reports with their evidence: files in ``folder``, pinned in ``folder/evidence``."""
    (folder / "note.txt").write_text(NOTE)
    (folder / "log.csv").write_text(LOG)
    note, log = (pin(folder / name, folder / "evidence").digest for name in ("note.txt", "log.csv"))
    sources = Folders((folder / "evidence",))
    claims = [
        {"id": "A", "by": "north", "value": 48, "text": "Clearly 48 came.", "evidence": [
            {"id": "e1", "digest": note, "media": "text/plain", "quote": "pallets: 48", "live_ref": "note.txt",
             "selectors": [{"type": "line", "first": 3, "last": 3}], "title": "delivery note"}]},
        {"id": "B", "by": "south", "value": 47, "text": "It was 47.", "evidence": [
            {"id": "e2", "digest": log, "media": "text/csv", "quote": "47", "live_ref": "log.csv",
             "selectors": [{"type": "csv", "row": 3, "col": "pallets"}], "title": "warehouse log"}]},
    ]  # fmt: skip
    about = {"subject": "order 4711", "attribute": "pallets received", "unit": "pallet", "as_of": "2027-03-01"}
    return tuple(exhibit_of(claim_from({**about, **data}), sources, title=str(data["by"])) for data in claims)


def ask(
    record: Path, asked: Asked, *, agents: int = 1, clock: Clock = time.time, run_id: str | None = None
) -> Question:
    """Run the procedure until it waits; the question."""

    async def go() -> Decision:
        with open_record(record, "x", clock=clock, run_id=run_id) as store:
            return await run_procedure(
                procedure="asking",
                settings={"asked": msgspec.to_builtins(asked)},
                panel=default_panel("scripted:47, I think", agents),
                record=store,
            )

    assert anyio.run(go).status is Status.WAITING
    return question_in(record)


def question_in(record: Path) -> Question:
    """The question in a record, as it is now."""
    with open_record(record) as store:
        (question,) = questions_of(store)
    return question


def resume(record: Path) -> Decision:
    """Resume the run in a record."""
    return anyio.run(resume_from, record)


def command(*arguments: str | Path) -> list[str]:
    """The real program, with this procedure in it."""
    here = Path(__file__).parent
    code = (
        f"import sys; sys.path.insert(0, {str(here)!r}); import asking; from dissensus.cli.main import COMMANDS, main; "
        "COMMANDS.setdefault('inbox', 'dissensus.cli.inbox:inbox'); "
        "COMMANDS.setdefault('answer', 'dissensus.cli.answer:answer'); main()"
    )
    return [sys.executable, "-c", code, *map(str, arguments)]
