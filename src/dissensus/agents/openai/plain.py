"""Continuing and scoring with a base model: turns are joined plainly and sent as text."""

from __future__ import annotations

from dissensus.agents.lacking import lacks
from dissensus.agents.openai.link import Link, joined, total
from dissensus.agents.openai.parse import echoed_logprobs, read_choices, read_continued
from dissensus.script.calls import Extend, Score
from dissensus.script.outcomes import Outcome, Scores


class PlainRoutes:
    """The text route that every server of the protocol has."""

    def __init__(self, link: Link) -> None:
        self._link = link

    async def extend(self, call: Extend) -> Outcome:
        """Continue the text."""
        if call.tokens is not None:
            return lacks("This server is not known to take token ids.")
        body = self._link.body(call, limit="max_tokens", more={"prompt": joined(call.turns) + call.text})
        if self._link.options.server in {"vllm", "sglang"}:
            body["return_token_ids"] = True
        if self._link.options.logprobs:
            body["logprobs"] = 1
        return await self._link.ask("/completions", body, read_continued, max_tokens=call.max_tokens)

    async def score(self, call: Score) -> Outcome:
        """Have the server echo each prompt with its log-probabilities."""
        if call.tokens is not None:
            return lacks("This server is not known to take token ids.")
        prompt = joined(call.turns) + call.text
        sums: list[float] = []
        lengths: list[int] = []
        usages = []
        for text in call.continuations:
            body = {
                "model": self._link.options.model,
                "prompt": prompt + text,
                "max_tokens": 1,
                "temperature": 0,
                "echo": True,
                "logprobs": 1,
            }
            found = await self._link.ask("/completions", body, read_choices, max_tokens=1)
            if not isinstance(found, tuple):
                return found
            choices, usage = found
            scored = echoed_logprobs(choices[0], prompt, prompt + text)
            if scored is None:
                return lacks("The server does not echo a prompt with its log-probabilities; it cannot score.")
            sums.append(scored[0])
            lengths.append(scored[1])
            usages.append(usage)
        model = self._link.options.model
        return Scores(logprobs=tuple(sums), lengths=tuple(lengths), model=model, usage=total(usages))
