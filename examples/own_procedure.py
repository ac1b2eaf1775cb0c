"""A procedure is a generator. This one asks two agents, lets each read the other's answer, and asks again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import anyio

from dissensus.agents.scripted import Scripted
from dissensus.decide.procedures import PROCEDURES, Procedure
from dissensus.record.sqlite import open_record
from dissensus.run.performers import Live
from dissensus.run.runs import replay, start
from dissensus.script.decisions import Decision, Status
from dissensus.script.effects import Ask, Post, Script, under
from dissensus.script.outcomes import Reply
from dissensus.script.seats import Seat


def one_round(question: str, agents: Sequence[str]) -> Script:
    """Ask all at once; what each said is put where the others can read it."""
    outcomes = yield [Ask(agent, question) for agent in agents]
    said = {agent: one.text for agent, one in zip(agents, outcomes, strict=True) if isinstance(one, Reply)}
    yield [Post(agent, text) for agent, text in said.items()]
    return said


def two_rounds(settings: Mapping[str, Any], seats: Sequence[Seat], _seed: int) -> Script:
    """Decided if all say the same in the end, split if not."""
    agents = [seat.agent for seat in seats]
    said: dict[str, str] = {}
    for number in (1, 2):
        said = yield from under(f"round/{number}", one_round(settings["question"], agents))
    answers = set(said.values())
    agreed = len(answers) == 1 and len(said) == len(agents)
    return Decision(
        question=settings["question"],
        answer=answers.pop() if agreed else None,
        status=Status.DECIDED if agreed else Status.SPLIT,
    )


PROCEDURES["two-rounds"] = Procedure("two-rounds", "1", two_rounds)

if __name__ == "__main__":
    # ben gives in as soon as he has read another opinion; ada does not
    models = {
        "ada": Scripted("tea"),
        "ben": Scripted(lambda call: "tea" if any("ada: tea" in turn.text for turn in call.turns) else "coffee"),
    }

    async def go() -> Decision:
        """Run it live, on a record."""
        with open_record("rounds.db", "x") as record:
            return await start(
                procedure="two-rounds",
                settings={"question": "Tea or coffee?"},
                seats=[Seat(agent=name, model="scripted") for name in models],
                performer=Live(models.__getitem__),
                record=record,
            )

    decision = anyio.run(go)
    print(decision.status, decision.answer)
    with open_record("rounds.db") as record:
        for event in record.read():
            if event.kind == "post":
                print(f"  {event.key}: {event.body['text']}")
    print("replayed, identical:", replay("rounds.db").identical)
