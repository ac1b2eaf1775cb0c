"""Continuing and scoring on llama.cpp's server, by its own routes and as token ids.

The chat is rendered once by ``/apply-template`` and cut into ids piece by piece, texts of turns with control tokens off
(:mod:`dissensus.agents.llama_prompt`), and what is continued is appended as ids: no text, whoever wrote it, can become
a control token. (A list that mixes texts and ids would not do: there the server reads names of control tokens in
texts.)

A given continuation is scored by forcing its ids with a grammar: the log-probabilities reported are those before the
grammar. It is checked that the server wrote exactly the ids it was forced to.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from dissensus.agents.lacking import lacks
from dissensus.agents.llama_client import CallFailed
from dissensus.agents.llama_prompt import Prompter
from dissensus.agents.openai.control import ControlTokens
from dissensus.agents.openai.link import Link, Remembered, joined, total, without_route
from dissensus.agents.openai.parse import read_ids
from dissensus.agents.openai.parse_native import read_native, read_shown
from dissensus.agents.wire import Answer
from dissensus.script.calls import Extend, Score, Turn
from dissensus.script.outcomes import Extended, Outcome, Scores, TransportFailure, Usage


class _FailedError(CallFailed):
    """A request that failed in any way, on its way out of the prompter."""

    def __init__(self, outcome: Outcome) -> None:
        Exception.__init__(self)
        self.reason = outcome
        self.outcome = outcome if isinstance(outcome, TransportFailure) else TransportFailure(problem="no answer")


class LlamaCppRoutes:
    """The text routes of one llama.cpp server."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._prompts: Remembered[tuple[int, ...]] = Remembered()
        self._prompter = Prompter(self._post)
        self._control = ControlTokens(self._shown)

    async def extend(self, call: Extend) -> Outcome:
        """Continue the text or the ids where they end."""
        start = await self._begun(call)
        if not isinstance(start, tuple):
            return start
        body = self._link.body(call, limit="n_predict", more={"prompt": list(start), "return_tokens": True})
        if self._link.options.logprobs or call.tokens is not None:
            body["n_probs"] = 1  # with these come the bytes of each token
        outcome = await self._link.ask("/completion", body, read_native, max_tokens=call.max_tokens, beside_v1=True)
        if not isinstance(outcome, Extended):
            return outcome
        if not self._link.options.logprobs:
            outcome = replace(outcome, logprobs=None)
        return outcome if call.tokens is None else await self._control.without(outcome, call.tokens)

    async def score(self, call: Score) -> Outcome:
        """Force each continuation and read its log-probabilities."""
        start = await self._begun(call)
        if not isinstance(start, tuple):
            return start
        sums: list[float] = []
        lengths: list[int] = []
        usages: list[Usage] = []
        for text in call.continuations:
            ids = await self._text(text)
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
            **self._link.cache(call),
        }
        outcome = await self._link.ask("/completion", body, read_native, max_tokens=len(ids), beside_v1=True)
        if isinstance(outcome, TransportFailure) and outcome.status == 400 and outcome.cause == "status":
            why = "Scoring on llama.cpp needs a build whose grammars can name token ids."
            return replace(outcome, cause="capability", problem=f"{why} {outcome.problem}")
        return outcome

    async def _begun(self, call: Extend | Score) -> tuple[int, ...] | Outcome:
        """The prompt and the text so far."""
        start = await self._prompt(call.turns)
        if not isinstance(start, tuple):
            return start
        begun = call.tokens if call.tokens is not None else await self._text(call.text)
        return start + begun if isinstance(begun, tuple) else begun

    async def _prompt(self, turns: tuple[Turn, ...]) -> tuple[int, ...] | Outcome:
        kept = self._prompts.get(turns)
        if kept is not None:
            return kept
        if self._link.options.template == "none":
            body = {"content": joined(turns), "add_special": True, "parse_special": False}
            found = await self._link.ask("/tokenize", body, read_ids, beside_v1=True)
            if not isinstance(found, tuple):
                return without_route(found, "The server does not tokenize.")
            return self._prompts.keep(turns, found)
        try:
            return self._prompts.keep(turns, tuple(await self._prompter.chat(turns)))
        except CallFailed as failed:
            return _reason(failed, "The server renders no chat template as ids (is it llama.cpp's?).")

    async def _text(self, text: str) -> tuple[int, ...] | Outcome:
        """A text that others may have written, as ids that hold no control token."""
        try:
            return tuple(await self._prompter.text(text))
        except CallFailed as failed:
            return _reason(failed, "The server does not tokenize.")

    async def _shown(self, ids: Sequence[int]) -> str | None:
        found = await self._link.ask("/detokenize", {"tokens": list(ids)}, read_shown, beside_v1=True)
        return found if isinstance(found, str) else None

    async def _post(self, path: str, data: dict[str, Any]) -> dict[str, Any]:
        """A request of the prompter's. Raises what it takes for a failed call."""
        answer = await self._link.wire.post(path, data, beside_v1=True)
        if not isinstance(answer, Answer):
            raise _FailedError(answer)
        try:
            found = json.loads(answer.body)
        except (ValueError, RecursionError):
            found = None
        known = {"/tokenize": "tokens", "/detokenize": "content", "/apply-template": "prompt"}[path]
        right = isinstance(found, dict) and isinstance(found.get(known), list if known == "tokens" else str)
        if not right or (known == "tokens" and not all(map(_is_piece, found[known]))):
            raise _FailedError(TransportFailure(problem=f"The server's answer to {path} cannot be used.", cause="body"))
        return dict(found)


def _is_piece(token: object) -> bool:
    return isinstance(token, dict) and type(token.get("id")) is int and isinstance(token.get("piece"), str | list)


def _reason(failed: CallFailed, what: str) -> Outcome:
    reason: Outcome = failed.reason if isinstance(failed, _FailedError) else failed.outcome
    return without_route(reason, what)
