"""What asking a panel many questions will take, before anybody is asked: an estimate of calls, tokens and money."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dissensus.agents.panel import Panel
from dissensus.decide.ballots import REPAIR_TOKENS
from dissensus.decide.election import Voter, prepare
from dissensus.decide.settings import VoteSettings
from dissensus.script.questions import Question

CHARS_A_TOKEN = 4
"""Characters that a token stands for, roughly, in English."""

_TURN_TOKENS = 8
"""What a turn costs beside its text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """An estimate.

    Args:
        questions: to be asked.
        agents: asked each question.
        calls: if every reply can be read.
        calls_at_most: if every reply needs its repair turn. Tries of a call that fails, and turns of agents with
            tools, come on top.
        tokens_in: read, roughly, without repair turns.
        tokens_out_at_most: written, if every reply is as long as it may be.
        money_at_most: in the panel's currency, with all repair turns; None if a price is not known.
        currency: of the panel; "" if none is named.
        with_tools: agents that may make further calls.
    """

    questions: int
    agents: int
    calls: int
    calls_at_most: int
    tokens_in: int
    tokens_out_at_most: int
    money_at_most: float | None
    currency: str
    with_tools: int

    def text(self) -> str:
        """One sentence or two."""
        if not self.questions:
            return "No question has to be asked."
        repairs = f" (at most {self.calls_at_most:,} with repair turns)" if self.calls_at_most > self.calls else ""
        money = "money unknown"
        if self.money_at_most is not None:
            money = f"at most {self.money_at_most:.2g} {self.currency or 'in money'}"
        tools = " Agents with tools make more calls than that." if self.with_tools else ""
        return (
            f"{self.questions:,} questions × {self.agents:,} agents: {self.calls:,} calls{repairs}, about "
            f"{self.tokens_in:,} tokens read and at most {self.tokens_out_at_most:,} written, {money}.{tools}"
        )


def estimate(panel: Panel, questions: Sequence[Question], settings: VoteSettings, seed: int) -> Estimate:
    """What it takes to ask the ``panel``, whose models are open, these questions; spares are left out.

    Raises SpecError for the first question that cannot be asked: so nothing is begun that would end there.
    """
    calls = repairs = read = written = agents = 0
    money: float | None = 0.0
    for question in questions:
        voters = prepare(question, panel.seats, settings, seed).voters
        agents = len(voters)
        for voter in voters:
            tokens_in, tokens_out = _tokens(voter)
            calls, read, written = calls + 1, read + tokens_in, written + tokens_out
            again_in = again_out = 0
            if voter.asking.read_by != "log-probability":
                repairs += 1
                again_in, again_out = tokens_in + tokens_out, REPAIR_TOKENS
            cost = panel.spec_of(voter.seat.agent).prices.cost(tokens_in + again_in, tokens_out + again_out)
            money = None if money is None or cost is None else money + cost
    return Estimate(
        questions=len(questions),
        agents=agents,
        calls=calls,
        calls_at_most=calls + repairs,
        tokens_in=read,
        tokens_out_at_most=written,
        money_at_most=money if calls else None,
        currency=panel.currency,
        with_tools=sum(bool(seat.tools) for seat in panel.seats),
    )


def _tokens(voter: Voter) -> tuple[int, int]:
    """Tokens read, and most tokens written, by one voter's first call."""
    seat, asking = voter.seat, voter.asking
    texts = [seat.system, *(turn.text for turn in asking.examples), seat.context + asking.prompt]
    prompt = sum(len(text) for text in texts) // CHARS_A_TOKEN + _TURN_TOKENS * len(texts)
    if asking.read_by == "log-probability":
        return prompt + sum(len(option) // CHARS_A_TOKEN + 1 for option in asking.options), 0
    return prompt, min(asking.max_tokens or seat.max_tokens, seat.max_tokens)
