"""A model on an OpenAI-compatible server."""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

from dissensus.agents.lacking import lacks
from dissensus.agents.openai.link import Link, disclosed, enclosed, joined, messages, response_format
from dissensus.agents.openai.llama_cpp import LlamaCppRoutes
from dissensus.agents.openai.options import OpenAIOptions
from dissensus.agents.openai.parse import read_chat, read_text
from dissensus.agents.openai.plain import PlainRoutes
from dissensus.agents.openai.sglang import SglangRoutes
from dissensus.agents.openai.vllm import VllmRoutes
from dissensus.agents.served import Served
from dissensus.script.calls import Capability, Extend, Generate, Score
from dissensus.script.outcomes import Extended, Outcome, Reply


class _Routes(Protocol):
    async def extend(self, call: Extend) -> Outcome: ...

    async def score(self, call: Score) -> Outcome: ...


class OpenAI(Served):
    """One try per call; wrap it in :class:`~dissensus.agents.retried.Retried` and
    :class:`~dissensus.agents.limited.Limited`, as :func:`~dissensus.agents.registry.open_model` does.

    Raises:
        SpecError: the key's environment variable is not set, or the address cannot be used.
    """  # noqa: D205 - the first sentence needs two lines

    def __init__(self, options: OpenAIOptions) -> None:
        self.options = options
        super().__init__(options.base_url, options, options.can)
        self._link = Link(options, self._wire)
        self._routes: _Routes
        if options.server == "llama.cpp":
            self._routes = LlamaCppRoutes(self._link)
        elif options.server == "sglang":
            self._routes = SglangRoutes(self._link)
        elif options.template == "none" and options.server != "vllm":
            self._routes = PlainRoutes(self._link)
        else:
            self._routes = VllmRoutes(self._link)

    def __repr__(self) -> str:
        return f"OpenAI({self.options.model!r}, {self._wire!r})"

    @property
    def name(self) -> str:
        """The model's name on its server."""
        return self.options.model

    async def generate(self, call: Generate) -> Outcome:
        """Chat in, one message out. Uses ``/chat/completions``; ``/completions`` for a base model."""
        if Capability.CHAT not in self._can:
            return lacks("This server takes no chat.")
        if call.schema is not None and Capability.SCHEMA not in self._can:
            return lacks("This server cannot be held to a JSON schema.")
        if call.schema is not None and self.options.server == "openai" and call.schema.get("type") != "object":
            found = await self.generate(replace(call, schema=enclosed(call.schema)))
            return replace(found, text=disclosed(found.text)) if isinstance(found, Reply) else found
        form: dict[str, object] = {} if call.schema is None else {"response_format": response_format(call.schema)}
        if self.options.template == "none":
            if call.schema is not None and self.options.server == "llama.cpp":
                form = {"json_schema": dict(call.schema)}  # its text route ignores response_format
            body = self._link.body(call, limit="max_tokens", more={"prompt": joined(call.turns), **form})
            return await self._link.ask("/completions", body, read_text, max_tokens=call.max_tokens)
        body = self._link.body(call, more={"messages": messages(call.turns), **form})
        return await self._link.ask("/chat/completions", body, read_chat, max_tokens=call.max_tokens)

    async def extend(self, call: Extend) -> Outcome:
        """Continue a text or token ids, by the routes of this kind of server."""
        needed = Capability.CONTINUE if call.tokens is None else Capability.TOKENS
        if needed not in self._can:
            what = "a text" if call.tokens is None else "token ids"
            return lacks(f"A server of kind {self.options.server!r} is not known to continue {what}. {_SET_KIND}")
        if call.max_tokens < 1:
            # a server that is asked for nothing writes a token all the same
            return Extended(text="", tokens=None if call.tokens is None else (), model=self.name)
        return await self._routes.extend(call)

    async def score(self, call: Score) -> Outcome:
        """Log-probability of each continuation, by the routes of this kind of server."""
        if Capability.LOGPROBS not in self._can:
            return lacks(f"A server of kind {self.options.server!r} is not known to score continuations. {_SET_KIND}")
        return await self._routes.score(call)

    async def forget(self, prefix: str) -> None:
        """Give the cache slots of streams whose names begin with ``prefix`` to others."""
        self._link.forget(prefix)


_SET_KIND = "If it is another kind, set the option server (vllm, sglang, llama.cpp, ollama)."
