"""Continuing and scoring on llama.cpp's server, by its own routes.

The chat is rendered by ``/apply-template`` and the text appended to it, so that it is continued without a seam (the
chat route there sends the begun message back as part of the answer). A given continuation is scored by forcing its
token ids with a grammar: the log-probabilities reported are those before the grammar. It is checked that the server
wrote exactly the ids it was forced to.
"""

from __future__ import annotations

import math
from dataclasses import replace

from dissensus.agents.lacking import lacks
from dissensus.agents.openai.link import Link, Remembered, joined, messages, total, without_route
from dissensus.agents.openai.parse import read_ids, read_native, read_prompt
from dissensus.script.calls import Extend, Score, Turn
from dissensus.script.outcomes import Extended, Outcome, Scores, TransportFailure, Usage


class LlamaCppRoutes:
    """The text routes of one llama.cpp server."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._prompts: Remembered[str] = Remembered()

    async def extend(self, call: Extend) -> Outcome:
        """Continue the text or the ids where they end."""
        prompt = await self._prompt(call.turns)
        if not isinstance(prompt, str):
            return prompt
        # a list that mixes text and ids is read as one prompt
        whole: object = prompt + call.text if call.tokens is None else [prompt, *call.tokens]
        body = self._link.body(call, limit="n_predict", more={"prompt": whole, "return_tokens": True})
        if self._link.options.logprobs:
            body["n_probs"] = 1
        return await self._link.ask("/completion", body, read_native, max_tokens=call.max_tokens, beside_v1=True)

    async def score(self, call: Score) -> Outcome:
        """Force each continuation and read its log-probabilities."""
        prompt = await self._prompt(call.turns)
        if not isinstance(prompt, str):
            return prompt
        start = await self._ids(prompt)
        if not isinstance(start, tuple):
            return start
        begun = call.tokens is not None or bool(call.text)
        if begun:
            # what others wrote is never read for control tokens
            more = call.tokens if call.tokens is not None else await self._ids(call.text, special=False)
            if not isinstance(more, tuple):
                return more
            start += more
        sums: list[float] = []
        lengths: list[int] = []
        usages: list[Usage] = []
        for text in call.continuations:
            ids = await (self._ids(text, special=False) if begun else self._ids_after(prompt, start, text))
            if not isinstance(ids, tuple):
                return ids
            forced = await self._forced(call, start, ids) if ids else Extended(text="", tokens=(), logprobs=())
            if not isinstance(forced, Extended):
                return forced
            if forced.tokens != ids or forced.logprobs is None:
                return lacks(
                    "This llama.cpp server did not write the token ids that it was forced to; it cannot score."
                )
            sums.append(math.fsum(forced.logprobs))
            lengths.append(len(ids))
            usages.extend([forced.usage] if ids else [])
        model = self._link.options.model
        return Scores(logprobs=tuple(sums), lengths=tuple(lengths), model=model, usage=total(usages))

    async def _forced(self, call: Score, start: tuple[int, ...], ids: tuple[int, ...]) -> Outcome:
        body: dict[str, object] = {
            "model": self._link.options.model,
            "prompt": list(start),
            "n_predict": len(ids),
            "temperature": 0,
            "n_probs": 1,
            "return_tokens": True,
            "grammar": "root ::= " + " ".join(f"<[{number}]>" for number in ids),
            **self._link.cache(call.key),
        }
        outcome = await self._link.ask("/completion", body, read_native, max_tokens=len(ids), beside_v1=True)
        if isinstance(outcome, TransportFailure) and outcome.status == 400 and outcome.cause == "status":
            why = "Scoring on llama.cpp needs a build whose grammars can name token ids."
            return replace(outcome, cause="capability", problem=f"{why} {outcome.problem}")
        return outcome

    async def _prompt(self, turns: tuple[Turn, ...]) -> str | Outcome:
        if self._link.options.template == "none":
            return joined(turns)
        kept = self._prompts.get(turns)
        if kept is not None:
            return kept
        found = await self._link.ask("/apply-template", {"messages": messages(turns)}, read_prompt, beside_v1=True)
        if isinstance(found, str):
            return self._prompts.keep(turns, found)
        return without_route(found, "The server renders no chat template (is it llama.cpp's?).")

    async def _ids(self, text: str, *, special: bool = True) -> tuple[int, ...] | Outcome:
        body = {"content": text, "add_special": special, "parse_special": special}
        found = await self._link.ask("/tokenize", body, read_ids, beside_v1=True)
        return without_route(found, "The server does not tokenize.")

    async def _ids_after(self, prompt: str, start: tuple[int, ...], text: str) -> tuple[int, ...] | Outcome:
        """The ids of ``text`` as they stand after ``prompt``; by itself, where the two melt into one token."""
        if not text:
            return ()
        whole = await self._ids(prompt + text)
        if not isinstance(whole, tuple):
            return whole
        if whole[: len(start)] == start:
            return whole[len(start) :]
        return await self._ids(text, special=False)
