"""An outside check tries the answers without asking any agent, and can overrule a panel that is wrong together."""

from __future__ import annotations

import dissensus
from dissensus.agents.panel import ModelSpec, Panel


def is_a_root(_question: str, answer: str) -> bool:
    """Whether the answer solves x * x = 1369."""
    return int(answer) ** 2 == 1369


if __name__ == "__main__":
    said = {"ada": "Answer: 36", "ben": "Answer: 36", "cleo": "Answer: 37"}
    panel = Panel(
        seats=tuple(dissensus.Seat(agent=name, model=f"scripted:{text}") for name, text in said.items()),
        models={name: ModelSpec(reference=f"scripted:{text}") for name, text in said.items()},
        model_of={name: name for name in said},
    )
    question = "Which whole number x above 0 has x * x = 1369?"
    for rule in ("beside", "overrule"):
        settings = dissensus.VoteSettings(check_rule=rule)
        decision = dissensus.vote(question, kind="number", panel=panel, check=is_a_root, settings=settings)
        verdicts = ", ".join(f"{check.answer} {check.verdict}" for check in decision.checks)
        print(f"{rule}: {decision.status} {decision.answer}; votes {dict(decision.votes)}; {verdicts}")
