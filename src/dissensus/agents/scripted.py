"""A model without a model: it says what a script says. For tests, examples, rehearsals and the fault lab.

    >>> from dissensus.agents.scripted import Rule, Scripted
    >>> always = Scripted("42")
    >>> by_rules = Scripted([Rule("prime", {"no": 3, "yes": 1}), Rule("capital of France", "Paris"), Rule("", "pass")])
    >>> in_order = Scripted(replies=["first", "second"])
    >>> by_function = Scripted(lambda call: call.turns[-1].text.upper())

What it says depends on the seed and the request alone, not on the order of calls, unless a list of replies was given.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate

import anyio

from dissensus.agents.lacking import lacks
from dissensus.agents.prices import UNKNOWN_PRICES, Prices
from dissensus.agents.scripted_rules import STALLED, Rule, draw
from dissensus.agents.scripted_tokens import WORDS, Tokenizer, bytes_of, whole_text
from dissensus.errors import SpecError
from dissensus.script.calls import Call, Capabilities, Capability, Extend, Generate, Score
from dissensus.script.outcomes import (
    Extended,
    Invalid,
    Outcome,
    Refusal,
    Reply,
    Scores,
    TimedOut,
    TransportFailure,
    Usage,
)

__all__ = ["Answers", "Delay", "Rule", "Scripted"]

Answers = str | Outcome | Sequence[Rule | str | Outcome] | Mapping[str, str | Outcome] | Callable[[Call], str | Outcome]
"""A text or an outcome: always that. A list of rules: the first that fits. A list of texts and outcomes: one after the
other (rules and texts do not mix). A mapping: by the call's key, else by its last turn, else under ``*``. A function:
what it returns."""

Delay = float | tuple[float, float] | Callable[[Call], float]
"""Seconds before an answer: fixed, drawn between two bounds by the request, or as a function says."""

DEFAULT_CAN = frozenset(Capability) - {Capability.SCHEMA, Capability.CACHE_SLOT}
"""All but ``schema``: a script that answers schemas with JSON says so itself."""

_SURE = -0.01
_WITH_USAGE = Refusal | Invalid | TransportFailure | TimedOut


class Scripted:
    """Says what ``replies`` say. Cheap: thousands of calls may be in flight at once.

    A continuation goes on with the reply to the same turns: if the text so far has n tokens, what follows is its
    tokens from n on. So two continuations of k tokens give the same as one of 2 k, and agents that take turns at one
    text each add their own part. A continuation that is equal to the reply is scored as nearly certain, others by a
    hash.

    Args:
        replies: what it says; see :data:`Answers`.
        name: the model's name in records.
        capabilities: what it claims to be able to do; other calls fail as they would with a real back end.
        seed: goes into every draw.
        delay_s: see :data:`Delay`.
        dies_after: from the call after this many on, no connection; None means never.
        continues: what a continuation adds, as a function of the call, where the rule above does not fit.
        scores: log-probability of a continuation by its text; others are scored as above.
        tokenizer: :data:`~dissensus.agents.scripted_tokens.WORDS`, ``CHARACTERS`` or ``BYTES``.
        prices: for budgets; unknown by default.
        keep_calls: keep each call in ``asked``.

    ``calls`` counts the calls so far. ``Usage.seconds`` is the delay, not the clock's, so that records are the same
    in every run.
    """

    def __init__(
        self,
        replies: Answers = "",
        *,
        name: str = "scripted",
        capabilities: Capabilities = DEFAULT_CAN,
        seed: int = 0,
        delay_s: Delay = 0.0,
        dies_after: int | None = None,
        continues: Callable[[Extend], str | Outcome] | None = None,
        scores: Mapping[str, float] | None = None,
        tokenizer: Tokenizer = WORDS,
        prices: Prices = UNKNOWN_PRICES,
        keep_calls: bool = False,
    ) -> None:
        self._name = name
        self._can = frozenset(capabilities)
        self._seed = seed
        self._delay_s = delay_s
        self._dies_after = dies_after
        self._continues = continues
        self._scores = scores or {}
        self._tokenizer = tokenizer
        self._prices = prices
        self._say = _speaker(replies, seed)
        self.calls = 0
        self.asked: list[Call] | None = [] if keep_calls else None

    def __repr__(self) -> str:
        return f"Scripted(name={self._name!r})"

    @property
    def name(self) -> str:
        """The name given."""
        return self._name

    @property
    def capabilities(self) -> Capabilities:
        """The capabilities given."""
        return self._can

    @property
    def tokenizer(self) -> str:
        """Names the tokenizer, as a digest would."""
        return f"scripted/{type(self._tokenizer).__name__.lower()}"

    async def generate(self, call: Generate) -> Outcome:
        """Say what the script says, cut at ``stop`` and at ``max_tokens``."""
        if Capability.CHAT not in self._can:
            return lacks("This scripted model takes no chat.")
        if call.schema is not None and Capability.SCHEMA not in self._can:
            return lacks("This scripted model cannot be held to a JSON schema.")
        said, delay_s = await self._answer(call)
        if not isinstance(said, str):
            return said
        text, ended = _stopped(said, call.stop)
        tokens_out = self._tokenizer.count(text)
        if tokens_out > call.max_tokens:
            kept = "".join(self._tokenizer.split(text)[: call.max_tokens])
            text, ended, tokens_out = whole_text(bytes_of(kept)), "length", call.max_tokens
        return Reply(text=text, finish=ended, model=self._name, usage=self._usage(call, tokens_out, delay_s))

    async def extend(self, call: Extend) -> Outcome:
        """Add the next tokens of the reply to the same turns."""
        needed = Capability.CONTINUE if call.tokens is None else Capability.TOKENS
        if needed not in self._can:
            return lacks(f"This scripted model lacks the capability {needed.value!r}.")
        said, delay_s = await self._answer(call)
        if not isinstance(said, str):
            return said
        rest = self._tokenizer.split(said)
        written = 0
        if self._continues is None:
            written = self._tokenizer.count(call.text) if call.tokens is None else len(call.tokens)
        pieces = rest[written : written + call.max_tokens]
        text, ended = _stopped("".join(pieces), call.stop)
        if len(text) < sum(map(len, pieces)):
            pieces = self._tokenizer.split(text)
        elif len(rest) - written >= max(call.max_tokens, 1):
            ended = "length"  # where nothing is left the end is one token more, which a full budget does not see
        tokens = self._tokenizer.ids(pieces) if Capability.TOKENS in self._can else None
        numbers = (_SURE,) * len(pieces) if Capability.LOGPROBS in self._can else None
        usage = self._usage(call, len(pieces), delay_s)
        lengths = [len(bytes_of(piece)) for piece in pieces]
        raw = bytes_of("".join(pieces))
        whole = whole_text(raw)
        return Extended(
            text=whole,
            tokens=tokens,
            finish=ended,
            logprobs=numbers,
            model=self._name,
            usage=usage,
            raw=None if whole.encode("utf-8", "replace") == raw else raw,
            ends=tuple(accumulate(lengths)) if tokens is not None else None,
            sampled=len(pieces) + (ended == "stop"),
            tokenizer=self.tokenizer if tokens is not None else "",
        )

    async def score(self, call: Score) -> Outcome:
        """Score each continuation: as given, as nearly certain if it is the reply, else by a hash.

        Of an answer that has begun, a continuation is nearly certain if the reply begins so and goes on like that.
        """
        if Capability.LOGPROBS not in self._can:
            return lacks(f"This scripted model lacks the capability {Capability.LOGPROBS.value!r}.")
        said, delay_s = await self._answer(call)
        if not isinstance(said, str):
            return said
        lengths = tuple(self._tokenizer.count(text) for text in call.continuations)
        begun = call.text if call.tokens is None else self._tokenizer.text(call.tokens)
        numbers = []
        for text, length in zip(call.continuations, lengths, strict=True):
            number = self._scores.get(text)
            if number is None:
                whole = begun + text
                sure = text.strip() == said.strip() if not begun else said.startswith(whole)
                number = length * (_SURE if sure else -1.0 - 4.0 * draw(call, self._seed, f"score/{whole}"))
            numbers.append(number)
        usage = self._usage(call, 0, delay_s)
        return Scores(logprobs=tuple(numbers), lengths=lengths, model=self._name, usage=usage)

    async def close(self) -> None:
        """Do nothing: nothing is held."""

    async def _answer(self, call: Call) -> tuple[str | Outcome, float]:
        """The text to say, or the outcome to return as it is; and the seconds that went by."""
        self.calls += 1
        if self.asked is not None:
            self.asked.append(call)
        if self._dies_after is not None and self.calls > self._dies_after:
            return TransportFailure(problem="scripted: the server has died", cause="connect"), 0.0
        if self._continues is not None and isinstance(call, Extend):
            said, delay_s = _called(self._continues, call), None
        else:
            said, delay_s = self._say(call)
        if said is STALLED:
            await anyio.sleep(math.inf)
        seconds = self._wait_s(call) if delay_s is None else delay_s
        if seconds > 0:
            await anyio.sleep(seconds)
        if isinstance(said, _WITH_USAGE):
            said = replace(said, usage=replace(said.usage, seconds=seconds))
        return said, seconds

    def _wait_s(self, call: Call) -> float:
        if isinstance(self._delay_s, tuple):
            low, high = self._delay_s
            return low + (high - low) * draw(call, self._seed, "delay")
        return self._delay_s(call) if callable(self._delay_s) else self._delay_s

    def _usage(self, call: Call, tokens_out: int, seconds: float) -> Usage:
        tokens_in = sum(self._tokenizer.count(turn.text) for turn in call.turns)
        if isinstance(call, Extend | Score):
            tokens_in += self._tokenizer.count(call.text) if call.tokens is None else len(call.tokens)
        return Usage(
            tokens_in=tokens_in,
            tokens_out=tokens_out,
            seconds=seconds,
            cost=self._prices.cost(tokens_in, tokens_out),
        )


_Said = tuple[str | Outcome, float | None]


def _speaker(replies: Answers, seed: int) -> Callable[[Call], _Said]:
    """One function for all forms of :data:`Answers`: the text or outcome, and a rule's own delay."""
    if isinstance(replies, str):
        return lambda _call: (replies, None)
    if isinstance(replies, Mapping):
        return lambda call: (_looked_up(replies, call), None)
    if callable(replies):
        return lambda call: (_called(replies, call), None)
    if not isinstance(replies, Sequence):
        return lambda _call: (replies, None)
    rules = [item for item in replies if isinstance(item, Rule)]
    if rules:
        if len(rules) != len(replies):
            raise SpecError("A list of replies mixes rules with texts.", next_step="Give either rules or texts.")
        return lambda call: _by_rules(rules, call, seed)
    rest = iter([item for item in replies if not isinstance(item, Rule)])
    spent = TransportFailure(problem="scripted: the list of replies is used up", cause="other")
    return lambda _call: (next(rest, spent), None)


def _called(function: Callable[..., str | Outcome], call: Call) -> str | Outcome:
    """What a user's function returns; that it failed is an outcome like any other."""
    try:
        said = function(call)
    except Exception as error:  # noqa: BLE001 - a user's function may raise anything, a model nothing
        return TransportFailure(problem=f"scripted: {type(error).__name__}: {error}", cause="crashed")
    if isinstance(said, str | Outcome):
        return said
    return TransportFailure(problem=f"scripted: the function returned {type(said).__name__}", cause="crashed")


def _looked_up(replies: Mapping[str, str | Outcome], call: Call) -> str | Outcome:
    for name in (call.key, call.turns[-1].text if call.turns else "", "*"):
        if name in replies:
            return replies[name]
    return TransportFailure(problem=f"scripted: no reply for the call {call.key!r}", cause="other")


def _by_rules(rules: Sequence[Rule], call: Call, seed: int) -> _Said:
    for number, rule in enumerate(rules):
        said = rule.answer(call, seed, number)
        if said is not None:
            return said, rule.delay_s
    return TransportFailure(problem="scripted: no rule fits the prompt", cause="other"), None


def _stopped(text: str, stop: Sequence[str]) -> tuple[str, str]:
    """``text`` up to the first of ``stop``, and why it ends."""
    ends = [found for end in stop if end and (found := text.find(end)) >= 0]
    return (text[: min(ends)] if ends else text), "stop"
