"""What came of an effect. Outcomes are returned to scripts, never thrown.

A failed call is never speech: only :class:`Reply`, :class:`Extended` and :class:`Scores` hold something
that a model said. ``kind`` is the stable name that stands in records and in JSON.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from typing import Any, ClassVar

import msgspec


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What one call took. ``None`` means unknown, never 0.

    Args:
        tokens_in: prompt tokens, cached ones included.
        tokens_cached: prompt tokens that came from a cache.
        tokens_out: tokens written.
        seconds: wall-clock time of the call, waiting for a free place not included.
        cost: money, in the currency that the panel file declares.
        attempts: tries, the successful one included.
    """

    tokens_in: int | None = None
    tokens_cached: int | None = None
    tokens_out: int | None = None
    seconds: float | None = None
    cost: float | None = None
    attempts: int = 1


NO_USAGE = Usage()


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """An agent's message. ``finish`` is ``stop`` (it ended), ``length`` (it was cut) or ``other``."""

    kind: ClassVar[str] = "reply"
    text: str
    finish: str = "stop"
    model: str = ""
    usage: Usage = NO_USAGE


@dataclass(frozen=True, slots=True, kw_only=True)
class Extended:
    """A continuation. ``text`` holds whole characters only; ``tokens`` are ids where the back end has them.

    Args:
        text: what was added, without the beginning of a character that the limit cut in two.
        tokens: ids of what was added; neither the one that ended the text nor any other control token is among them.
        finish: ``stop`` (the model ended its turn), ``length`` (the limit was reached) or ``other``: what the back end
            says, never guessed from the number of tokens.
        logprobs: natural-log probability of each of ``tokens``.
        model: the model, with its digest where there is one.
        usage: ``tokens_in`` less ``tokens_cached`` is what was computed of the prompt.
        raw: the bytes that ``tokens`` stand for, where they are not those of ``text``: they begin or end inside a
            character. None: they are.
        ends: where each of ``tokens`` ends in these bytes, counted from their beginning; None if it is not known.
        sampled: tokens that were sampled, the one that ended the text and those left out included; None: unknown.
        dropped: control tokens that were left out, the one that ended the text not counted.
        tokenizer: digest of the tokenizer that ``tokens`` belong to; "" if it is not known.
        template: digest of how turns became a prompt; "" if it is not known.
        fidelity: ``token_exact``, ``text_prefill`` or ``approximate`` where the back end knows better than its caller
            how exactly the given beginning was continued; "" otherwise.
        heard: natural-log probability, under this model and prompt, of what was read anew of the given tokens: of the
            last ``len(heard)`` of them. None: not asked for, or not known.
        others: where the agents of a text read along as it is written: natural-log probability of each of ``tokens``
            under each of the others, by agent.
        read: tokens that the others read for that during this call; no part of ``usage``.
    """

    kind: ClassVar[str] = "extended"
    text: str
    tokens: tuple[int, ...] | None = None
    finish: str = "length"
    logprobs: tuple[float, ...] | None = None
    model: str = ""
    usage: Usage = NO_USAGE
    raw: bytes | None = None
    ends: tuple[int, ...] | None = None
    sampled: int | None = None
    dropped: int = 0
    tokenizer: str = ""
    template: str = ""
    fidelity: str = ""
    heard: tuple[float, ...] | None = None
    others: Mapping[str, tuple[float, ...]] | None = None
    read: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Scores:
    """Natural-log probability of each continuation (sum over its tokens) and the number of its tokens."""

    kind: ClassVar[str] = "scores"
    logprobs: tuple[float, ...]
    lengths: tuple[int, ...]
    model: str = ""
    usage: Usage = NO_USAGE

    def means(self) -> tuple[float, ...]:
        """Mean log-probability per token of each continuation, so that long ones are not punished."""
        return tuple(total / max(length, 1) for total, length in zip(self.logprobs, self.lengths, strict=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """The agent, or a filter before it, declined. ``text`` is what was said, for the record only."""

    kind: ClassVar[str] = "refusal"
    text: str = ""
    usage: Usage = NO_USAGE


@dataclass(frozen=True, slots=True, kw_only=True)
class Invalid:
    """Something came and could not be read, after one repair turn where one was possible."""

    kind: ClassVar[str] = "invalid"
    problem: str
    text: str = ""
    usage: Usage = NO_USAGE


@dataclass(frozen=True, slots=True, kw_only=True)
class TransportFailure:
    """The call did not come through: no connection, an error status, a body that is not an answer.

    ``cause`` is a stable word: ``connect``, ``status``, ``rate-limited``, ``body``, ``empty``,
    ``context-length``, ``capability``, ``crashed``, ``other``. ``retry_after_s`` is how long the server asked to be
    left alone, where it said so.
    """

    kind: ClassVar[str] = "transport"
    problem: str
    cause: str = "other"
    status: int | None = None
    retry_after_s: float | None = None
    usage: Usage = NO_USAGE


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedOut:
    """No reply within the deadline. A reply that comes later is recorded as late and never used."""

    kind: ClassVar[str] = "timeout"
    after_s: float
    usage: Usage = NO_USAGE


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetExhausted:
    """The call was not made: its reservation did not fit into what is left. ``what`` is the limit hit.

    ``begun``: it was made and, when the time of the budget was over, given up; what it took is not known.
    """

    kind: ClassVar[str] = "budget"
    what: str
    begun: bool = False
    usage: Usage = NO_USAGE


@dataclass(frozen=True, slots=True, kw_only=True)
class Cancelled:
    """The call was given up because its result was no longer needed."""

    kind: ClassVar[str] = "cancelled"
    reason: str = ""
    usage: Usage = NO_USAGE


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """What a tool gave back. ``ok`` is False if it failed; then ``text`` says how."""

    kind: ClassVar[str] = "tool-result"
    text: str
    ok: bool = True
    seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """Verdict of an outside check: ``accepted``, ``rejected``, or ``error`` (it could not judge)."""

    kind: ClassVar[str] = "check-result"
    verdict: str
    detail: str = ""
    seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonAnswer:
    """What a person answered, and how they were known.

    Args:
        answer: the id of the option chosen, or free text where there are none.
        reason: why, in their words.
        who: who answered.
        authenticated_by: how that is known: ``account:ben``, ``stated:account=ben`` (a name that was only given).
        scopes: where each part holds, of an option that asks for it.
        shown: SHA-256 of what they were shown (:func:`dissensus.script.persons.shown_digest`).
        version: the version of the question that they answered; it grows when it is asked again.
        at: when, in seconds since 1970-01-01 UTC.
        rule: ``ID v2``, if they made it a standing rule; that is said apart from the answer.
    """

    kind: ClassVar[str] = "person-answer"
    answer: str
    reason: str = ""
    who: str = ""
    authenticated_by: str = ""
    scopes: Mapping[str, str] = field(default_factory=dict)
    shown: str = ""
    version: int = 1
    at: float | None = None
    rule: str = ""


@dataclass(frozen=True, slots=True)
class Done:
    """The effect only had to be recorded, and was."""

    kind: ClassVar[str] = "done"


@dataclass(frozen=True, slots=True, kw_only=True)
class Blocked:
    """A post was no legal move, so nobody has seen it. The record holds it with the finding, for the operator.

    Args:
        verdict: ``illegal`` (the act is not allowed in the thread's state), ``no-title`` (the sender, or a receiver,
            has no part in it) or ``void`` (no receiver, no such act, another's promise).
        rule: name of the rule that stands against it: ``state``, ``title``, ``kind``, ``protocol``, ``act`` …
        says: the fault in one sentence.
        expected: the acts that the state allows.
    """

    kind: ClassVar[str] = "blocked"
    verdict: str
    rule: str
    says: str
    expected: tuple[str, ...] = ()


Outcome = (
    Reply
    | Extended
    | Scores
    | Refusal
    | Invalid
    | TransportFailure
    | TimedOut
    | BudgetExhausted
    | Cancelled
    | ToolResult
    | CheckResult
    | PersonAnswer
    | Done
    | Blocked
)
Failure = Refusal | Invalid | TransportFailure | TimedOut | BudgetExhausted | Cancelled
FAILURES = (Refusal, Invalid, TransportFailure, TimedOut, BudgetExhausted, Cancelled)
FAILURE_KINDS = tuple(cls.kind for cls in FAILURES)

_BY_KIND: dict[str, type[Any]] = {
    cls.kind: cls for cls in (Reply, Extended, Scores, *FAILURES, ToolResult, CheckResult, PersonAnswer, Done, Blocked)
}


_LATER: dict[str, dict[str, Any]] = {
    cls.kind: {one.name: {} if one.default is MISSING else one.default for one in fields(cls) if one.name in names}
    for cls, names in (
        (
            Extended,
            ("raw", "ends", "sampled", "dropped", "tokenizer", "template", "fidelity", "heard", "others", "read"),
        ),
        (PersonAnswer, ("authenticated_by", "scopes", "shown", "version", "at", "rule")),
    )
}
"""Fields that came later, by kind, with their defaults: left out where they say nothing, so that what was recorded
before them is written as it was."""


def to_data(outcome: Outcome) -> dict[str, Any]:
    """``outcome`` as JSON-ready data, with its ``kind``; bytes are in base64."""
    data: dict[str, Any] = msgspec.to_builtins(outcome)
    data["kind"] = outcome.kind
    for name, default in _LATER.get(outcome.kind, {}).items():
        if data[name] == default:
            del data[name]
    return data


def from_data(data: Mapping[str, Any]) -> Outcome:
    """The outcome that :func:`to_data` wrote. Raises :class:`KeyError` for a kind that does not exist."""
    cls = _BY_KIND[data["kind"]]
    given = {name: value for name, value in data.items() if name != "kind"}
    outcome: Outcome = msgspec.convert(given, cls)
    return outcome
