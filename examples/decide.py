"""A panel decides, and the decision shows everything that qualifies it. Scripted agents, so that it runs anywhere."""

from __future__ import annotations

import dissensus
from dissensus.agents.panel import ModelSpec, Panel

QUESTION = "A shop sells pens at 3 for 2 euros. What do 12 pens cost?"
SAID = {
    "ada": "12 pens are 4 times 3 pens, so 4 x 2 = 8. Answer: 8 euros",
    "ben": "Twelve pens, two euros each. Answer: 24 euros",
    "cleo": "2 / 3 of a euro each, times 12. Answer: 8.00 €",
}

if __name__ == "__main__":
    panel = Panel(
        seats=tuple(dissensus.Seat(agent=name, model=f"scripted:{name}") for name in SAID),
        models={name: ModelSpec(reference=f"scripted:{text}") for name, text in SAID.items()},
        model_of={name: name for name in SAID},
    )
    decision = dissensus.vote(QUESTION, kind="number", panel=panel)
    print(decision.status, decision.answer, dict(decision.votes))
    for ballot in decision.ballots:
        print(f"  {ballot.agent}: {ballot.answer}  read from: {ballot.reply}")
    for one in decision.dissent:
        print(f"  {one['agent']} dissents: {one['reason']}")
    print("checks:", decision.checks or "none")
    print("worth:", decision.worth["text"])
