"""Replies of the scripted model as data: a table of rules, each a pattern and what it leads to.

A rule that fits decides, the first one first. What it says is drawn by a hash of the seed and the request, so the same
request always gets the same answer, whatever was asked before it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dissensus.errors import SpecError
from dissensus.script.calls import Call, Extend, Generate
from dissensus.script.outcomes import (
    BudgetExhausted,
    Cancelled,
    Invalid,
    Outcome,
    Refusal,
    TimedOut,
    TransportFailure,
)

STALLED = TimedOut(after_s=float("inf"))
"""Stands for a call that is never answered: the model waits until it is cancelled."""
FAILURES: Mapping[str, Outcome] = {
    "refusal": Refusal(text="I will not answer that."),
    "invalid": Invalid(problem="scripted: what came could not be read"),
    "timeout": TimedOut(after_s=0.0),
    "budget": BudgetExhausted(what="scripted"),
    "cancelled": Cancelled(reason="scripted"),
    "connect": TransportFailure(problem="scripted: no connection", cause="connect"),
    "status": TransportFailure(problem="scripted: the server answered with status 500", cause="status", status=500),
    "rate-limited": TransportFailure(problem="scripted: too many calls", cause="rate-limited", status=429),
    "body": TransportFailure(problem="scripted: half a body", cause="body", status=200),
    "empty": TransportFailure(problem="scripted: no choices", cause="empty", status=200),
    "context-length": TransportFailure(problem="scripted: the prompt is too long", cause="context-length", status=400),
    "capability": TransportFailure(problem="scripted: this cannot be done", cause="capability"),
    "crashed": TransportFailure(problem="scripted: the engine died", cause="crashed"),
    "stall": STALLED,
    "other": TransportFailure(problem="scripted: a failure", cause="other"),
}
"""Failures by the name under which a rule may ask for them; ``stall`` is a call that is never answered."""

_GROUP = re.compile(r"\\([1-9])")
_RULE_KEYS = frozenset({"when", "say", "fail", "share", "delay_s"})


@dataclass(frozen=True, slots=True)
class Rule:
    r"""What to do where ``when`` is found.

    Args:
        when: regular expression, searched in the last turn; "" fits everything.
        say: the reply, in which ``\1`` stands for the pattern's first group; or several, one of which is drawn: a
            sequence, or a mapping from text to weight. With temperature 0 the heaviest is said, the first of equals.
        fail: the name of a failure (:data:`FAILURES`), instead of a reply.
        share: share of the requests that fit which the rule applies to; the others go on to the next rule.
        delay_s: seconds before the answer; None means as the model has it.
    """

    when: str = ""
    say: str | Sequence[str] | Mapping[str, float] = ""
    fail: str = ""
    share: float = 1.0
    delay_s: float | None = None

    def __post_init__(self) -> None:
        try:
            re.compile(self.when)
        except re.error as error:
            raise SpecError(
                f"The pattern {self.when!r} of a rule cannot be read: {error}.", next_step="Correct the expression."
            ) from None
        if self.fail and self.fail not in FAILURES:
            raise SpecError(
                f"A rule asks for the unknown failure {self.fail!r}.",
                next_step=f"Use one of {', '.join(sorted(FAILURES))}.",
            )
        weights = self.say.values() if isinstance(self.say, Mapping) else [1.0]
        if not 0 <= self.share <= 1 or any(weight < 0 for weight in weights) or not sum(weights) > 0:
            raise SpecError(
                "The share of a rule has to lie between 0 and 1, and its weights have to be positive.",
                next_step="Correct the rule.",
            )
        if not isinstance(self.say, str) and not self.say:
            raise SpecError("A rule says one of an empty list.", next_step="Give it at least one text.")

    @classmethod
    def from_data(cls, data: object) -> Rule:
        """The rule in a YAML or JSON file. Raises :class:`~dissensus.errors.SpecError` for what is none."""
        if not isinstance(data, Mapping) or not data or not set(data) <= _RULE_KEYS:
            raise SpecError(
                f"A rule of a scripted model has to be a mapping with the keys {', '.join(sorted(_RULE_KEYS))}.",
                next_step="Correct the rule.",
            )
        say = data.get("say", "")
        if isinstance(say, Mapping):
            good = all(isinstance(key, str) and _is_number(value) for key, value in say.items())
        else:
            good = isinstance(say, str) or (isinstance(say, list | tuple) and all(isinstance(one, str) for one in say))
        texts = all(isinstance(data.get(name, ""), str) for name in ("when", "fail"))
        delay_s = data.get("delay_s")
        if (
            not good
            or not texts
            or not _is_number(data.get("share", 1.0))
            or not (delay_s is None or _is_number(delay_s))
        ):
            raise SpecError(
                "In a rule of a scripted model, when and fail are texts, say is a text, a list of texts or a mapping "
                "from text to weight, share and delay_s are numbers.",
                next_step="Correct the rule; put quotation marks around texts such as yes, no and 42.",
            )
        return cls(**data)

    def answer(self, call: Call, seed: int, number: int) -> str | Outcome | None:
        """What this rule answers: a text or a failure, or None if it does not fit.

        ``number`` is the rule's place in its table: two rules draw independently.
        """
        found = re.search(self.when, call.turns[-1].text if call.turns else "")
        if found is None or (self.share < 1 and draw(call, seed, f"share/{number}") >= self.share):
            return None
        if self.fail:
            return FAILURES[self.fail]
        text = self.say if isinstance(self.say, str) else self._pick(call, seed, number)
        return _GROUP.sub(lambda group: _group(found, int(group[1])), text) if "\\" in text else text

    def _pick(self, call: Call, seed: int, number: int) -> str:
        weights: Mapping[str, float]
        if isinstance(self.say, Mapping):
            weights = self.say
        else:
            weights = {}
            for one in self.say:
                weights[one] = weights.get(one, 0.0) + 1.0
        if isinstance(call, Generate | Extend) and call.temperature == 0:
            return max(weights, key=lambda text: weights[text])
        left = draw(call, seed, f"say/{number}") * sum(weights.values())
        for text, weight in weights.items():
            left -= weight
            if left < 0:
                return text
        return next(reversed(list(weights)))


def _group(found: re.Match[str], number: int) -> str:
    return (found[number] or "") if number <= (found.re.groups) else ""


def draw(call: Call, seed: int, salt: str) -> float:
    """A number in [0, 1) that depends on the request, its seed, ``seed`` and ``salt``, and on nothing else.

    At temperature 0 the request's own seed does not count: a greedy model ignores it.
    """
    own = 0
    if isinstance(call, Generate | Extend) and call.temperature != 0:
        own = call.seed
    state = hashlib.blake2b(f"{seed}/{own}/{salt}".encode(), digest_size=8)
    for turn in call.turns:
        state.update(f"\x00{turn.role}\x00".encode())
        state.update(turn.text.encode("utf-8", "surrogatepass"))
    return int.from_bytes(state.digest(), "big") / 2**64


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value == value  # noqa: PLR0124 - no NaN
