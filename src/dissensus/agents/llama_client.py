"""Talks to the engine's server: one call, its failures as outcomes, its answer as a plain record."""

from __future__ import annotations

import json
import ssl
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dissensus.agents.llama_engine import Engine, EngineSettings
from dissensus.script.outcomes import TransportFailure, Usage

if TYPE_CHECKING:
    import httpx2

_FIELDS = (
    "content",
    "tokens",
    "stop_type",
    "completion_probabilities",
    "timings/cache_n",
    "timings/prompt_n",
    "timings/prompt_ms",
    "timings/predicted_n",
    "timings/predicted_ms",
)
"""What is wanted of an answer; without this list the engine sends the whole prompt back."""
_FINISH = {"eos": "stop", "word": "stop", "limit": "length"}


class CallFailed(Exception):
    """The call did not come through; ``outcome`` says how."""

    def __init__(self, outcome: TransportFailure) -> None:
        super().__init__(outcome.problem)
        self.outcome = outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """What the engine wrote.

    Args:
        text: as it stands in the engine's answer; bytes that are no whole character became U+FFFD.
        tokens: ids, with the one that ended the text, if one did.
        logprobs: ``(id, natural log of its probability)`` for each token that ended on a whole character.
        finish: ``stop``, ``length`` or ``other``.
        usage: tokens and seconds of work; waiting for a free slot is not in it.
        ranked: the same pairs for the most likely tokens at the last place, where they were asked for.
    """

    text: str
    tokens: tuple[int, ...]
    logprobs: tuple[tuple[int, float], ...]
    finish: str
    usage: Usage
    ranked: tuple[tuple[int, float], ...] = ()


class Client:
    """Connections to one engine, for one event loop."""

    def __init__(self, engine: Engine) -> None:
        import httpx2

        self.engine = engine
        self.address = engine.address
        self._http = httpx2.AsyncClient(
            base_url=engine.address,
            headers={"authorization": f"Bearer {engine.key}"},
            # a request may wait for a slot and then write for minutes; who is in a hurry cancels it
            timeout=httpx2.Timeout(None, connect=10.0),
            # the server drops idle connections after seconds; a new one costs a fraction of a millisecond here
            limits=httpx2.Limits(max_connections=_slots(engine) + 2, max_keepalive_connections=0),
            trust_env=False,  # no proxy between a program and its own process
            verify=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT),  # never used; the default reads all certificates first
        )

    async def post(self, path: str, data: Mapping[str, Any]) -> dict[str, Any]:
        """Send JSON, get JSON. Raises :class:`CallFailed`."""
        import httpx2

        try:
            body = json.dumps(data, allow_nan=False, default=dict).encode("ascii")
            response = await self._http.post(path, content=body, headers={"content-type": "application/json"})
        except httpx2.HTTPError as error:
            raise CallFailed(await self._broken(error)) from error
        try:
            answer = response.json()
        except ValueError as error:
            problem = f"The engine answered with something that is not JSON (status {response.status_code})."
            raise CallFailed(TransportFailure(problem=problem, cause="body", status=response.status_code)) from error
        if response.status_code == 200 and isinstance(answer, dict):
            return answer
        raise CallFailed(_refused(response.status_code, answer))

    async def complete(
        self, prompt: Sequence[int], *, max_tokens: int, probabilities: int = 0, **sampling: Any
    ) -> Completion:
        """Continue ``prompt`` by at most ``max_tokens`` (at least 1). Raises :class:`CallFailed`.

        ``probabilities`` asks for the log-probabilities of the tokens written, and of that many likely ones beside.
        """
        request = {
            "prompt": list(prompt),
            "n_predict": max_tokens,
            "cache_prompt": True,
            "return_tokens": True,
            "n_probs": probabilities,
            "response_fields": _FIELDS,
            **sampling,
        }
        answer = await self.post("/completion", request)
        try:
            return _completion(answer)
        except (KeyError, TypeError, ValueError) as error:
            failure = TransportFailure(problem=f"The engine's answer lacks a part: {error!r}.", cause="body")
            raise CallFailed(failure) from error

    async def close(self) -> None:
        """Close the connections; the engine goes on."""
        await self._http.aclose()

    async def _broken(self, error: httpx2.HTTPError) -> TransportFailure:
        import anyio

        how = await anyio.to_thread.run_sync(self.engine.ended, abandon_on_cancel=True)
        if how is not None:
            return TransportFailure(problem=how, cause="crashed")
        return TransportFailure(problem=f"The engine cannot be reached: {error!r}", cause="connect")


def _slots(engine: Engine) -> int:
    return engine.settings.slots if isinstance(engine.settings, EngineSettings) else 1


def _completion(answer: Mapping[str, Any]) -> Completion:
    steps = answer.get("completion_probabilities") or []
    milliseconds = answer["timings/prompt_ms"] + answer["timings/predicted_ms"]
    cached = answer["timings/cache_n"]
    return Completion(
        text=answer["content"],
        tokens=tuple(answer["tokens"]),
        logprobs=tuple((step["id"], step["logprob"]) for step in steps),
        finish=_FINISH.get(answer["stop_type"], "other"),
        usage=Usage(
            tokens_in=cached + answer["timings/prompt_n"],
            tokens_cached=cached,
            tokens_out=answer["timings/predicted_n"],
            seconds=milliseconds / 1000,
        ),
        ranked=tuple((other["id"], other["logprob"]) for step in steps[-1:] for other in step["top_logprobs"]),
    )


def _refused(status: int, answer: object) -> TransportFailure:
    error = answer.get("error", {}) if isinstance(answer, dict) else {}
    message = str(error.get("message", "no reason given")) if isinstance(error, dict) else str(error)
    kind = error.get("type", "") if isinstance(error, dict) else ""
    if kind == "exceed_context_size_error":
        have, room = error.get("n_prompt_tokens", "?"), error.get("n_ctx", "?")
        return TransportFailure(
            problem=f"The prompt has {have} tokens and the context holds {room}. Give the model a larger context.",
            cause="context-length",
            status=status,
        )
    return TransportFailure(problem=f"The engine refused the call: {message}", cause="status", status=status)


def total(usages: Sequence[Usage]) -> Usage:
    """The usage of several calls as one."""
    return Usage(
        tokens_in=sum(usage.tokens_in or 0 for usage in usages),
        tokens_cached=sum(usage.tokens_cached or 0 for usage in usages),
        tokens_out=sum(usage.tokens_out or 0 for usage in usages),
        seconds=sum(usage.seconds or 0.0 for usage in usages),
    )
