"""An agent that is a program behind a URL. Any web framework can be one in ten lines.

The program is sent one POST per call, with this JSON body::

    {"messages": [{"role": "system" | "user" | "assistant", "content": "…"}, …],
     "temperature": 0.7, "max_tokens": 512, "seed": 1234, "stop": [], "schema": null, "key": "round/1/ask/ada"}

The last message is what is asked now. ``key`` names the call: the same one comes again if a try is repeated. It answers
with status 200 and one of::

    {"text": "…"}          what the agent says; may add "finish": "stop" | "length", "model": "…",
                           "usage": {"tokens_in": 12, "tokens_out": 3, "cost": 0.001}
    {"refusal": "…"}       it declines, and why
    {"error": "…"}         it failed; may add "retry": true if another try may help

Any other answer is a failed call; status 429 and ``Retry-After`` mean what they mean elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from dissensus.agents.bodies import Hide, count, describe, excerpt, model_name, parse_json, text_of
from dissensus.agents.lacking import lacks
from dissensus.agents.served import Served
from dissensus.agents.wire import Answer
from dissensus.errors import SpecError
from dissensus.script.calls import Capability, Extend, Generate, Score
from dissensus.script.outcomes import Outcome, Refusal, Reply, TransportFailure, Usage

_MOST_TOKENS = 2**31
_DEFAULT_CAN = frozenset({Capability.CHAT})
_CLAIMABLE = frozenset({Capability.CHAT, Capability.SEED, Capability.SCHEMA})


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpOptions:
    """How to reach the program.

    Args:
        url: where calls are sent.
        name: what stands in records; by default the URL without its query.
        api_key_env: name of the environment variable that holds a key ("" for none).
        key_header: header that carries the key; ``Authorization`` carries it as a bearer token.
        timeout_s: most seconds for one try.
        tries: most tries of one call, the first included.
        concurrency: most calls at a time to this host.
        capabilities: what the program keeps to: ``chat``, and ``seed`` and ``schema`` where it obeys those fields.
        most_bytes: most bytes of one response.
    """

    url: str
    name: str = ""
    api_key_env: str = ""
    key_header: str = "Authorization"
    timeout_s: float = 300.0
    tries: int = 4
    concurrency: int = 16
    capabilities: tuple[Capability, ...] | None = None
    most_bytes: int = 8_000_000

    def __post_init__(self) -> None:
        if self.timeout_s <= 0 or self.concurrency < 1 or self.tries < 1 or self.most_bytes < 1:
            raise SpecError(
                "timeout_s, tries, concurrency and most_bytes have to be positive.",
                next_step="Correct the model's options.",
            )
        if not set(self.capabilities or ()) <= _CLAIMABLE:
            raise SpecError(
                "An agent behind HTTP can have the capabilities chat, seed and schema only.",
                next_step="Remove the others from capabilities.",
            )


class HttpAgent(Served):
    """A model that is a program behind a URL. One try per call.

    Raises:
        SpecError: the key's environment variable is not set, or the URL cannot be used.
    """

    def __init__(self, options: HttpOptions) -> None:
        self.options = options
        can = _DEFAULT_CAN if options.capabilities is None else frozenset(options.capabilities)
        super().__init__(options.url, options, can)
        parts = urlsplit(options.url)
        self._name = options.name or f"{parts.scheme}://{parts.netloc}{parts.path}"

    def __repr__(self) -> str:
        return f"HttpAgent({self._name!r})"

    @property
    def name(self) -> str:
        """The given name, or the URL without its query."""
        return self._name

    async def generate(self, call: Generate) -> Outcome:
        """Send the call and read what the program answers."""
        if call.schema is not None and Capability.SCHEMA not in self._can:
            return lacks("This agent cannot be held to a JSON schema.")
        answer = await self._wire.post(
            "",
            {
                "messages": [{"role": turn.role, "content": turn.text} for turn in call.turns],
                "temperature": call.temperature,
                "max_tokens": call.max_tokens,
                "seed": call.seed,
                "stop": list(call.stop),
                "schema": None if call.schema is None else dict(call.schema),
                "key": call.key,
            },
        )
        if not isinstance(answer, Answer):
            return answer
        return read_answer(answer.body, name=self._name, seconds=answer.seconds, hide=self._wire.hide)

    async def extend(self, call: Extend) -> Outcome:  # noqa: ARG002 - the interface's
        """Fail: the contract has no continuations."""
        return lacks("An agent behind HTTP cannot continue a text.")

    async def score(self, call: Score) -> Outcome:  # noqa: ARG002 - the interface's
        """Fail: the contract has no scores."""
        return lacks("An agent behind HTTP cannot score continuations.")


def read_answer(body: bytes, *, name: str, seconds: float | None, hide: Hide) -> Outcome:
    """The outcome in the body of a program's successful answer. Never raises."""
    usage = Usage(seconds=seconds)
    try:
        data: Any = parse_json(body)
    except ValueError:
        return TransportFailure(
            problem=f"The agent sent {describe(body, hide)}.", cause="body", status=200, usage=usage
        )
    if not isinstance(data, dict):
        return TransportFailure(problem="The agent sent JSON that is no object.", cause="body", status=200, usage=usage)
    usage = _usage(data.get("usage"), seconds)
    if (error := data.get("error")) is not None:
        told = excerpt(error, hide) if isinstance(error, str) else "it does not say which"
        # a program that wants no second try must not be given one: `other` is never tried again
        cause = "body" if data.get("retry") is True else "other"
        return TransportFailure(problem=f"The agent reports an error: {told}", cause=cause, status=200, usage=usage)
    if (refusal := text_of(data.get("refusal"), hide)) is not None:
        return Refusal(text=refusal, usage=usage)
    text = text_of(data.get("text"), hide)
    if text is None:
        cause = "empty" if data.get("text") is None else "body"
        return TransportFailure(problem='The answer holds no "text".', cause=cause, status=200, usage=usage)
    finish = data.get("finish", "stop")
    finish = finish if isinstance(finish, str) and finish in {"stop", "length"} else "other"
    return Reply(text=text, finish=finish, model=model_name(data.get("model"), name, hide), usage=usage)


def _usage(data: object, seconds: float | None) -> Usage:
    if not isinstance(data, Mapping):
        return Usage(seconds=seconds)
    cost = data.get("cost")
    paid = None
    if isinstance(cost, int | float) and not isinstance(cost, bool) and 0 <= cost < 1e9 and math.isfinite(cost):
        paid = float(cost)
    return Usage(
        tokens_in=count(data.get("tokens_in"), _MOST_TOKENS),
        tokens_out=count(data.get("tokens_out"), _MOST_TOKENS),
        seconds=seconds,
        cost=paid,
    )
