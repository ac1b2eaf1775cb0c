"""Continuing and scoring on vLLM, and continuing texts on SGLang.

A text is continued by the chat route with ``continue_final_message``: one request, and gateways let it through. Where
that would not be exact (ids are given, or the text ends in white space, which many templates cut off), the chat is
turned into ids by vLLM's ``/tokenize`` and continued by ``/completions``. Scores are read from ``prompt_logprobs``,
all continuations in one request.
"""

from __future__ import annotations

from collections.abc import Sequence

from dissensus.agents.lacking import lacks
from dissensus.agents.openai.control import ControlTokens
from dissensus.agents.openai.link import Link, Remembered, joined, messages, total, without_route
from dissensus.agents.openai.parse import prompt_logprobs, read_choices, read_continued, read_ids
from dissensus.agents.openai.parse_native import read_shown
from dissensus.agents.openai.plain import PlainRoutes
from dissensus.script.calls import Extend, Score, Turn
from dissensus.script.outcomes import Extended, Outcome, Scores


class VllmRoutes:
    """The text routes of one vLLM server, or of another one that continues a final message."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._prompts: Remembered[tuple[int, ...]] = Remembered()
        self._control = ControlTokens(self._shown)

    async def extend(self, call: Extend) -> Outcome:
        """Continue the text or the ids where they end."""
        if call.tokens is None and self._link.options.template == "none":
            return await PlainRoutes(self._link).extend(call)
        ends_in_space = call.text != call.text.rstrip()
        if call.tokens is None and not (ends_in_space and self._link.options.server == "vllm"):
            return await self._continue_chat(call)
        start = await self._prompt(call.turns)
        if not isinstance(start, tuple):
            return start
        begun = call.tokens if call.tokens is not None else await self._ids(prompt=call.text, add_special_tokens=False)
        if not isinstance(begun, tuple):
            return begun
        body = self._link.body(call, limit="max_tokens", more={"prompt": [*start, *begun], "return_token_ids": True})
        if self._link.options.logprobs:
            body["logprobs"] = 0
        outcome = await self._link.ask("/completions", body, read_continued, max_tokens=call.max_tokens)
        if call.tokens is None or not isinstance(outcome, Extended):
            return outcome
        return await self._control.without(outcome, call.tokens)

    async def score(self, call: Score) -> Outcome:
        """Read the log-probability of each continuation from the prompt that ends in it."""
        if self._link.options.server != "vllm":
            return lacks(f"Scores cannot be had from the {self._link.options.server} server by the routes used here.")
        start = await self._prompt(call.turns)
        if not isinstance(start, tuple):
            return start
        begun = call.tokens if call.tokens is not None else ()
        if call.tokens is None and call.text:
            found_ids = await self._ids(prompt=call.text, add_special_tokens=False)
            if not isinstance(found_ids, tuple):
                return found_ids
            begun = found_ids
        start += begun
        ends: list[tuple[int, ...]] = []
        for text in call.continuations:
            ids = await self._ids(prompt=text, add_special_tokens=False) if text else ()
            if not isinstance(ids, tuple):
                return ids
            ends.append(ids)
        prompts = [start + ids for ids in ends if ids]
        model = self._link.options.model
        if not prompts:
            return Scores(logprobs=(0.0,) * len(ends), lengths=(0,) * len(ends), model=model)
        body = {
            "model": model,
            "prompt": [list(prompt) for prompt in prompts],
            "max_tokens": 1,
            "temperature": 0,
            "prompt_logprobs": 1,
        }
        found = await self._link.ask("/completions", body, read_choices, max_tokens=len(prompts))
        if not isinstance(found, tuple):
            return found
        choices, usage = found
        if len(choices) != len(prompts):
            return lacks(f"The server answered {len(prompts)} prompts with {len(choices)} choices; it cannot score.")
        sums = []
        for choice, prompt in zip(choices, prompts, strict=True):
            number = prompt_logprobs(choice, prompt, len(start))
            if number is None:
                return lacks("The server gave no log-probabilities of the prompt's tokens; it cannot score.")
            sums.append(number)
        numbers = iter(sums)
        return Scores(
            logprobs=tuple(next(numbers) if ids else 0.0 for ids in ends),
            lengths=tuple(len(ids) for ids in ends),
            model=model,
            usage=total([usage]),
        )

    async def _continue_chat(self, call: Extend) -> Outcome:
        body = self._link.body(call, more={"messages": messages(call.turns, call.text), "return_token_ids": True})
        if call.text:
            body |= {"add_generation_prompt": False, "continue_final_message": True}
        if self._link.options.logprobs:
            body["logprobs"] = True
        return await self._link.ask("/chat/completions", body, read_continued, max_tokens=call.max_tokens)

    async def _prompt(self, turns: tuple[Turn, ...]) -> tuple[int, ...] | Outcome:
        kept = self._prompts.get(turns)
        if kept is not None:
            return kept
        if self._link.options.template == "none":
            found = await self._ids(prompt=joined(turns))
        else:
            found = await self._ids(messages=messages(turns), add_generation_prompt=True)
        return self._prompts.keep(turns, found) if isinstance(found, tuple) else found

    async def _shown(self, ids: Sequence[int]) -> str | None:
        body = {"model": self._link.options.model, "tokens": ids}
        found = await self._link.ask("/detokenize", body, read_shown, beside_v1=True)
        return found if isinstance(found, str) else None

    async def _ids(self, **what: object) -> tuple[int, ...] | Outcome:
        body = {"model": self._link.options.model, **what}
        found = await self._link.ask("/tokenize", body, read_ids, beside_v1=True)
        return without_route(found, "The server does not tokenize (is it vLLM?).")
