"""What a user sets for a server, and what each kind of server can do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from dissensus.agents.prices import Prices
from dissensus.agents.secrets import refuse_secrets
from dissensus.errors import SpecError
from dissensus.script.calls import Capabilities, Capability

Server = Literal["openai", "vllm", "sglang", "llama.cpp", "ollama"]

_CHAT = frozenset({Capability.CHAT, Capability.SEED, Capability.SCHEMA})
_TEXT = frozenset({Capability.CONTINUE, Capability.TOKENS, Capability.LOGPROBS})
CAN: Mapping[str, Capabilities] = {
    # what every server of the protocol has; a hosted one may ignore the seed
    "openai": _CHAT,
    "ollama": _CHAT,
    "sglang": _CHAT | _TEXT,
    "vllm": _CHAT | _TEXT,
    "llama.cpp": _CHAT | _TEXT,
}
"""What each kind of server can do with a chat model (the README of this package says by which routes)."""

CAN_WITHOUT_TEMPLATE: Mapping[str, Capabilities] = {
    server: frozenset({Capability.CHAT, Capability.CONTINUE, Capability.SEED})
    | (_TEXT & CAN[server])
    | ({Capability.SCHEMA} if server in {"vllm", "sglang", "llama.cpp"} else frozenset())
    for server in CAN
}
"""The same for a base model, whose turns are joined plainly (``template="none"``). Where a server is known to echo
prompts with their log-probabilities, the user adds ``logprobs``."""

_OURS = frozenset({"messages", "model", "n", "prompt", "stream", "stream_options"})


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenAIOptions:
    """How to reach and use one model on one server. Holds no key, only the name of the variable that does.

    Args:
        model: the model's name on the server.
        base_url: the address below which ``/chat/completions`` lies; most servers want it to end in ``/v1``.
        server: the kind of server; decides what it is trusted to be able to do.
        template: ``none`` for a base model without a chat template: turns are joined plainly, by line ends, and the
            text route is used for everything.
        api_key_env: name of the environment variable that holds the key ("" for a server without one).
        key_header: header that carries the key; ``Authorization`` carries it as a bearer token.
        timeout_s: most seconds for one try.
        tries: most tries of one call, the first included.
        concurrency: most calls at a time to this host.
        slots: number of cache slots of a llama.cpp server (its ``--parallel``); 0 leaves the choice to the server.
        cache_prompt: let a llama.cpp server reuse the beginning of a prompt. Faster; but logits then depend on what was
            asked before, so the same seed may give another text.
        logprobs: ask for the log-probability of each token of a continuation.
        max_tokens_field: name under which the limit is sent; some hosted models want ``max_completion_tokens``.
        omit: fields that this server refuses, such as ``temperature`` or ``seed``.
        extra: more fields of the request's body, as the server documents them.
        price_in: money per million prompt tokens, in the currency of the panel file; None means unknown.
        price_out: the same for written tokens.
        price_cached: the same for prompt tokens from a cache; None means as ``price_in``.
        capabilities: what the server can do, where the table for its kind is wrong.
        most_bytes: most bytes of one response.
    """

    model: str
    base_url: str
    server: Server = "openai"
    template: Literal["chat", "none"] = "chat"
    api_key_env: str = ""
    key_header: str = "Authorization"
    timeout_s: float = 300.0
    tries: int = 4
    concurrency: int = 16
    slots: int = 0
    cache_prompt: bool = True
    logprobs: bool = False
    max_tokens_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    omit: tuple[str, ...] = ()
    extra: Mapping[str, object] = field(default_factory=dict)
    price_in: float | None = None
    price_out: float | None = None
    price_cached: float | None = None
    capabilities: tuple[Capability, ...] | None = None
    most_bytes: int = 8_000_000

    def __post_init__(self) -> None:
        if not self.model:
            raise SpecError("No model is named for the server.", next_step="Write it like openai:MODEL@http://…/v1.")
        if self.timeout_s <= 0 or self.concurrency < 1 or self.tries < 1 or self.slots < 0 or self.most_bytes < 1:
            raise SpecError(
                "timeout_s, tries, concurrency and most_bytes have to be positive, slots at least 0.",
                next_step="Correct the model's options.",
            )
        refuse_secrets({"extra": self.extra})
        ours = sorted(_OURS & {*self.extra, *self.omit})
        if ours:
            raise SpecError(
                f"The fields {', '.join(ours)} of a request are set by dissensus.",
                next_step="Remove them from extra and omit.",
            )

    @property
    def can(self) -> Capabilities:
        """What is claimed for this server, or else known of its kind."""
        if self.capabilities is not None:
            return frozenset(self.capabilities)
        table = CAN if self.template == "chat" else CAN_WITHOUT_TEMPLATE
        slot = {Capability.CACHE_SLOT} if self.server == "llama.cpp" and self.slots else frozenset()
        return table[self.server] | slot

    @property
    def prices(self) -> Prices:
        """The prices as one value."""
        return Prices(tokens_in=self.price_in, tokens_out=self.price_out, tokens_cached=self.price_cached)
