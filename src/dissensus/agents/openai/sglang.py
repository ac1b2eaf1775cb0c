"""Continuing token ids and scoring on SGLang, by its own route ``/generate``.

The chat is rendered by the chat route, which tells the ids of the prompt if it is asked to; it writes one token for
that, once for each prompt. From then on ids go in and ids come out. A text without ids is continued by the chat route.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from dissensus.agents.lacking import lacks
from dissensus.agents.openai.control import ControlTokens
from dissensus.agents.openai.link import Link, Remembered, joined, messages, total, without_route
from dissensus.agents.openai.parse import read_ids
from dissensus.agents.openai.parse_native import read_generated, read_input_logprobs, read_prompt_ids, read_shown
from dissensus.agents.openai.plain import PlainRoutes
from dissensus.agents.openai.vllm import VllmRoutes
from dissensus.script.calls import Extend, Score, Turn
from dissensus.script.outcomes import Extended, Outcome, Scores


class SglangRoutes:
    """The text routes of one SGLang server."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._prompts: Remembered[tuple[int, ...]] = Remembered()
        self._by_text = PlainRoutes(link) if link.options.template == "none" else VllmRoutes(link)
        self._control = ControlTokens(self._shown)

    async def extend(self, call: Extend) -> Outcome:
        """Continue the ids where they end; a text by the chat route, if its template would not cut its end off."""
        trimmed = call.text != call.text.rstrip() and self._link.options.template == "chat"
        if call.tokens is None and not trimmed:
            return await self._by_text.extend(call)
        start = await self._prompt(call.turns)
        if not isinstance(start, tuple):
            return start
        begun = call.tokens if call.tokens is not None else await self._ids(call.text)
        if not isinstance(begun, tuple):
            return begun
        options = self._link.options
        sampling: dict[str, object] = {
            "temperature": call.temperature,
            "max_new_tokens": call.max_tokens,
            "sampling_seed": call.seed,
        }
        if call.stop:
            sampling["stop"] = list(call.stop)
        if call.top_p is not None:
            sampling["top_p"] = call.top_p
        sampling |= options.extra
        for name in options.omit:
            sampling.pop("sampling_seed" if name == "seed" else name, None)
        body: dict[str, object] = {"input_ids": [*start, *begun], "sampling_params": sampling}
        if options.logprobs:
            body["return_logprob"] = True
        outcome = await self._link.ask("/generate", body, read_generated, max_tokens=call.max_tokens, beside_v1=True)
        if not isinstance(outcome, Extended):
            return without_route(outcome, "The server does not generate by SGLang's own route.")
        return await self._control.without(outcome, begun)

    async def score(self, call: Score) -> Outcome:
        """Read the log-probability of each continuation from the prompt that ends in it."""
        start = await self._prompt(call.turns)
        if not isinstance(start, tuple):
            return start
        if call.text or call.tokens is not None:
            begun = call.tokens if call.tokens is not None else await self._ids(call.text)
            if not isinstance(begun, tuple):
                return begun
            start += begun
        sums: list[float] = []
        lengths: list[int] = []
        usages = []
        for text in call.continuations:
            ids = await self._ids(text) if text else ()
            if not isinstance(ids, tuple):
                return ids
            lengths.append(len(ids))
            if not ids:
                sums.append(0.0)
                continue
            body = {
                "input_ids": [*start, *ids],
                "sampling_params": {"max_new_tokens": 1, "temperature": 0},
                "return_logprob": True,
                "logprob_start_len": max(len(start) - 1, 0),
            }
            found = await self._link.ask("/generate", body, read_input_logprobs, max_tokens=1, beside_v1=True)
            if not isinstance(found, tuple):
                return without_route(found, "The server does not generate by SGLang's own route.")
            listed, usage = found
            numbers = [number for token, number in listed[-len(ids) :]]
            if [token for token, _ in listed[-len(ids) :]] != list(ids) or None in numbers:
                return lacks("The server gave no log-probabilities of the prompt's tokens; it cannot score.")
            sums.append(math.fsum(number for number in numbers if number is not None))
            usages.append(usage)
        model = self._link.options.model
        return Scores(logprobs=tuple(sums), lengths=tuple(lengths), model=model, usage=total(usages))

    async def _prompt(self, turns: tuple[Turn, ...]) -> tuple[int, ...] | Outcome:
        kept = self._prompts.get(turns)
        if kept is not None:
            return kept
        if self._link.options.template == "none":
            found = await self._ids(joined(turns), special=True)
        else:
            body = {
                "model": self._link.options.model,
                "messages": messages(turns),
                "max_tokens": 1,
                "return_prompt_token_ids": True,
            }
            found = await self._link.ask("/chat/completions", body, read_prompt_ids, max_tokens=1)
        return self._prompts.keep(turns, found) if isinstance(found, tuple) else found

    async def _ids(self, text: str, *, special: bool = False) -> tuple[int, ...] | Outcome:
        body = {"model": self._link.options.model, "prompt": text, "add_special_tokens": special}
        found = await self._link.ask("/tokenize", body, read_ids, beside_v1=True)
        return without_route(found, "The server does not tokenize.")

    async def _shown(self, ids: Sequence[int]) -> str | None:
        body = {"model": self._link.options.model, "tokens": ids, "skip_special_tokens": False}
        found = await self._link.ask("/detokenize", body, read_shown, beside_v1=True)
        return found if isinstance(found, str) else None
