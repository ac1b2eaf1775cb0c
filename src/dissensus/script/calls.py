"""What a model is asked: chat in, text in, or continuations to score.

These are the rendered requests. A script yields *effects* (:mod:`dissensus.script.effects`); the engine
renders each from the record and hands the call to a model. The hash of a call is what replay compares.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

Role = Literal["system", "user", "assistant"]


class Capability(StrEnum):
    """What a back end can do."""

    CHAT = "chat"
    """chat turns in, one message out"""
    CONTINUE = "continue"
    """continues a given text exactly where it ends"""
    TOKENS = "tokens"
    """takes and returns token ids"""
    LOGPROBS = "logprobs"
    """can score given continuations"""
    SEED = "seed"
    """the same seed gives the same text, as far as the server keeps that promise"""
    SCHEMA = "schema"
    """can be held to a JSON schema"""
    CACHE_SLOT = "cache-slot"
    """a request can name the cache slot that holds its prefix"""


Capabilities = frozenset[Capability]


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn of a chat."""

    role: Role
    text: str


@dataclass(frozen=True, slots=True)
class Attempt:
    """One try of a call that failed and was followed by another."""

    number: int
    problem: str
    status: int | None = None
    waited_s: float = 0.0


Report = Callable[[Attempt], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Generate:
    """Chat in, one message out.

    Args:
        turns: the chat so far; the last turn is what is asked now.
        temperature: 0 is greedy.
        max_tokens: most tokens to write.
        seed: 0 ≤ seed < 2**31.
        stop: texts that end the message.
        schema: JSON schema that the message has to obey, or None.
        key: the effect's key, for logs and cache slots; not part of the request's hash.
        report: called once for each failed try before the next one; not part of the hash.
    """

    turns: tuple[Turn, ...]
    temperature: float = 0.7
    max_tokens: int = 512
    seed: int = 0
    stop: tuple[str, ...] = ()
    schema: Mapping[str, object] | None = None
    key: str = ""
    report: Report | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Extend:
    """A text that the model has begun in, at most ``max_tokens`` more tokens out.

    The model's own prompt is ``turns``; ``text`` (or ``tokens``, where it takes ids) is the assistant's
    message so far, which is continued without a seam.

    ``top_p`` is sent where it is given; None leaves it to the model's options. ``stream`` names the growing text that
    is continued, for one reader: a back end that keeps one cache for each (turns, stream) reads nothing twice. It is a
    hint, as ``key`` is, and no part of the request's hash. So is ``hear``: it asks for the log-probability of what is
    read anew of the text, from a back end that can tell it.
    """

    turns: tuple[Turn, ...]
    text: str = ""
    tokens: tuple[int, ...] | None = None
    max_tokens: int = 64
    temperature: float = 0.7
    seed: int = 0
    stop: tuple[str, ...] = ()
    top_p: float | None = None
    stream: str = ""
    hear: bool = False
    key: str = ""
    report: Report | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """Log-probability of each of ``continuations`` as the assistant's message after ``turns``.

    If that message has begun already, with ``text`` or ``tokens``, they are what might come next; ``stream`` is as in
    :class:`Extend`.
    """

    turns: tuple[Turn, ...]
    continuations: tuple[str, ...]
    text: str = ""
    tokens: tuple[int, ...] | None = None
    stream: str = ""
    key: str = ""
    report: Report | None = field(default=None, compare=False)


Call = Generate | Extend | Score
