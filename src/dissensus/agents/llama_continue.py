"""Continuing and scoring on streams: from a call to the process that holds them, and back to an outcome."""

from __future__ import annotations

import codecs
import logging
from collections.abc import Callable, Sequence
from typing import Any

from dissensus.agents.llama_client import CallFailed
from dissensus.agents.llama_engine import Engine, EngineDied, StreamSettings, release, share
from dissensus.script.calls import Extend, Score
from dissensus.script.outcomes import Extended, Scores, TransportFailure, Usage

_log = logging.getLogger("dissensus.agents")
_LONGEST = 64_000_000


class StreamEngine:
    """The process of one model's streams, started when it is first needed, for any number of event loops."""

    def __init__(self, settings: StreamSettings, tell: Callable[[str], None], *, name: str, tokenizer: str) -> None:
        self._settings = settings
        self._tell = tell
        self._name = name
        self._tokenizer = tokenizer
        self._engine: Engine | None = None

    @property
    def told(self) -> dict[str, Any]:
        """What the process found when it started: how exact it is, and its rates if they decide anything."""
        return {} if self._engine is None else self._engine.told

    @property
    def pid(self) -> int | None:
        """Process id while it runs."""
        return None if self._engine is None else self._engine.pid

    async def start(self) -> Engine:
        """The process, started if it does not run (any more). Raises CallFailed."""
        import anyio

        if self._engine is None:
            self._engine = share(self._settings)
        engine = self._engine
        if engine.pid is None or not engine.address:
            try:
                await anyio.to_thread.run_sync(engine.start, self._tell, abandon_on_cancel=True)
            except EngineDied as died:
                raise CallFailed(TransportFailure(problem=str(died), cause="crashed")) from died
        return engine

    async def extend(self, call: Extend, prompt: Sequence[int], tokens: Sequence[int], how: dict[str, Any]) -> Extended:
        """Go on with ``tokens`` after ``prompt``. ``how``: fields of Sampling. Raises CallFailed."""
        found = await self._ask(
            {
                "do": "write",
                "stream": call.stream,
                "prompt": list(prompt),
                "text": list(tokens),
                "most": max(call.max_tokens, 0),
                "sampling": how,
                "stop": [text.encode() for text in call.stop],
                "hear": call.hear,
            }
        )
        raw: bytes = found["raw"]
        text = codecs.getincrementaldecoder("utf-8")("replace").decode(raw)
        if found["dropped"]:
            _log.warning("%s wrote a control token that ends no turn; it was left out, and the turn ends.", self._name)
        others = {name.rpartition("/")[2]: tuple(numbers) for name, numbers in found["others"].items()}
        return Extended(
            text=text,
            tokens=tuple(found["tokens"]),
            finish=found["finish"],
            logprobs=tuple(found["logprobs"]),
            model=self._name,
            usage=_usage(found),
            raw=None if text.encode() == raw else raw,
            ends=tuple(found["ends"]),
            sampled=found["sampled"],
            dropped=found["dropped"],
            tokenizer=self._tokenizer,
            fidelity="token_exact",
            heard=tuple(found["heard"]) if call.hear else None,
            others=others or None,
            read=found["read"],
        )

    async def score(
        self, call: Score, prompt: Sequence[int], tokens: Sequence[int], continuations: Sequence[Sequence[int]]
    ) -> Scores:
        """Log-probability of each of ``continuations`` after ``tokens`` after ``prompt``. Raises CallFailed."""
        found = await self._ask(
            {
                "do": "score",
                "stream": call.stream,
                "prompt": list(prompt),
                "text": list(tokens),
                "continuations": [list(ids) for ids in continuations],
            }
        )
        lengths = tuple(map(len, continuations))
        return Scores(logprobs=tuple(found["sums"]), lengths=lengths, model=self._name, usage=_usage(found))

    async def forget(self, prefix: str) -> None:
        """Free the streams whose names begin with ``prefix``; does nothing if the process does not run."""
        if self._engine is not None and self._engine.pid is not None and self._engine.address:
            await self._ask({"do": "forget", "prefix": prefix})

    async def close(self) -> None:
        """Let go of the process; it ends with its last user. Safe to call twice."""
        import anyio

        engine, self._engine = self._engine, None
        if engine is not None:
            await anyio.to_thread.run_sync(release, engine)

    async def _ask(self, call: dict[str, Any]) -> dict[str, Any]:
        """One call over a connection of its own; hanging up gives the call up."""
        import anyio
        import msgspec

        engine = await self.start()
        body = msgspec.msgpack.encode(call)
        try:
            async with await anyio.connect_unix(engine.address) as stream:
                await stream.send(len(body).to_bytes(4, "big") + body)
                answer = bytearray()
                while len(answer) < 4 or len(answer) < 4 + min(int.from_bytes(answer[:4], "big"), _LONGEST):
                    answer += await stream.receive()
        except (OSError, anyio.EndOfStream, anyio.BrokenResourceError) as error:
            how = await anyio.to_thread.run_sync(engine.ended, abandon_on_cancel=True)
            problem = how or f"The engine cannot be reached: {error!r}"
            cause = "connect" if how is None else "crashed"
            raise CallFailed(TransportFailure(problem=problem, cause=cause)) from error
        found: dict[str, Any] = msgspec.msgpack.decode(bytes(answer[4:]))
        if "cause" in found:
            raise CallFailed(TransportFailure(problem=found["problem"], cause=found["cause"]))
        return found


def _usage(found: dict[str, Any]) -> Usage:
    return Usage(
        tokens_in=found["context"],
        tokens_cached=found["context"] - found["computed"],
        tokens_out=found.get("sampled", 0),
        seconds=found["seconds"],
    )
