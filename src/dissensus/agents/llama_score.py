"""Exact log-probabilities of given texts, through the engine's server.

The server tells the log-probability of the tokens that it *writes*, taken from the model's own distribution before any
sampler or grammar touches it. So a text is scored by making the engine write just this text: a grammar that names one
token after the other leaves no choice, and the numbers that come back are log p(token | prompt, tokens before). By the
chain rule their sum is the text's log-probability. Weights are loaded once, and the prompt stays in the slot's cache.

Tokens that are only a piece of a character (rare scripts, emoji) are beyond the grammar and are not reported when
written; their place is found in the full list of the distribution instead: as exact, and slower.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from dissensus.agents.llama_client import CallFailed, Client, Completion, total
from dissensus.agents.llama_prompt import Prompter
from dissensus.script.outcomes import TransportFailure, Usage

_ALL = 1 << 24
"""More tokens than any vocabulary has."""
_SURE = 1e4


@dataclass(frozen=True, slots=True)
class Scored:
    """Natural-log probability of a text, summed over its ``length`` tokens (0.0 for none), and what it took."""

    logprob: float
    length: int
    usage: Usage


async def score_text(client: Client, prompter: Prompter, prompt: Sequence[int], text: str) -> Scored:
    """The score of ``text`` after ``prompt``. Raises :class:`~dissensus.agents.llama_client.CallFailed`."""
    tokens = await prompter.text(text)
    logprob = 0.0
    usages: list[Usage] = []
    before = list(prompt)
    for fragments, group in groupby(tokens, key=prompter.fragments.__contains__):
        run = list(group)
        if not fragments:
            done = await _write(client, before, run)
            logprob += sum(value for _, value in done.logprobs)
            usages.append(done.usage)
            before += run
            continue
        anchor = (await prompter.text("a"))[-1]
        for token in run:
            done = await _list(client, before, anchor)
            logprob += dict(done.ranked)[token]
            usages.append(done.usage)
            before.append(token)
    return Scored(logprob, len(tokens), total(usages))


async def _write(client: Client, before: list[int], run: list[int]) -> Completion:
    """Have the engine write exactly ``run``."""
    grammar = "root ::= " + " ".join(f"<[{token}]>" for token in run)
    done = await client.complete(before, max_tokens=len(run), probabilities=1, temperature=0, grammar=grammar)
    if [token for token, _ in done.logprobs] != run:
        problem = "The engine did not write the tokens that it was held to: no score can be had from it."
        raise CallFailed(TransportFailure(problem=problem, cause="body"))
    return done


async def _list(client: Client, before: list[int], anchor: int) -> Completion:
    """The whole distribution of the next token. It only comes with a token that is a whole character: ``anchor``."""
    return await client.complete(before, max_tokens=1, probabilities=_ALL, temperature=0, logit_bias=[[anchor, _SURE]])
