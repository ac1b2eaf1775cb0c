"""A toy that reasons: it works a chain of sums out line by line, and can be told a wrong answer. It is no evidence.

It stands in for a model where a whole study has to run in seconds and come out the same everywhere. It reads questions
as :func:`dissensus.study.tasks.generated.arithmetic_chains` makes them, in a conversation or as a text to go on with,
from wherever that text stands. Its rules, all of them:

* It was *told* an answer if a number stands before the question, or in its system prompt. Otherwise it is honest.
* Honest, it writes the steps that are missing and the answer. If a false answer stands, it notices with probability
  ``notices``, says "No." and puts it right; else it lets it stand. A text that ends on an answer that it holds for
  right is at its end.
* Told an answer, it states it and ends. Each "No." that stands in the text makes it likelier to give way and write
  honestly: after r of them it insists with probability ``insists`` to the power of r. ``insists`` may differ by what it
  was told: a mapping from patterns to probabilities, the first that is found in the order.
* Asked how sure it is, it says 90; told an answer, 100.

That real models behave so has to be measured. Every draw is a hash of the request, its seed and the text so far.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from dissensus.agents.scripted_rules import draw
from dissensus.agents.scripted_tokens import Tokenizer
from dissensus.errors import SpecError
from dissensus.script.calls import Call, Extend

_QUESTION: Final = re.compile(r"\b([A-Z]\w+) has (\d+) (\w+)\. (?:.*?[.] )??How many \3 does \1 have now\?", re.DOTALL)
_OPERATIONS: Final = (
    (re.compile(r"(\w+) gives (\w+) (\d+) \w+\."), "+"),
    (re.compile(r"(\w+) gives (\d+) \w+ to (\w+)\."), "-"),
    (re.compile(r"until there are (\d+) times as many\."), "*"),
    (re.compile(r"into (\d+) equal parts and keeps one of them\."), "/"),
)
_NUMBER: Final = re.compile(r"-?\d[\d,]*")
_ANSWER: Final = re.compile(r"^Answer: (-?\d+)$", re.MULTILINE)
_QUOTED: Final = re.compile(r">|Agent \d+:$")
_SENTENCE: Final = re.compile(r"[^.?]+[.?]")
NO: Final = "No."


@dataclass(frozen=True, slots=True, kw_only=True)
class Reasoner:
    """The rules with their numbers. Called with a request, it says the whole reply, or all that it would add.

    Args:
        tokenizer: by which ids become text.
        notices: how often it sees that an answer is false.
        insists: see the module's head.
        seed: goes into every draw.
    """

    tokenizer: Tokenizer
    notices: float = 1.0
    insists: float | Mapping[str, float] = 0.85
    seed: int = 0

    def __post_init__(self) -> None:
        numbers = [self.notices, *([self.insists] if isinstance(self.insists, float | int) else self.insists.values())]
        if not all(0 <= number <= 1 for number in numbers):
            raise SpecError("What a reasoner notices and insists on are probabilities.", next_step="Use 0 to 1.")

    def __call__(self, call: Call) -> str:
        """What it says."""
        seen = [turn.text for turn in call.turns if turn.role != "assistant"]
        told, order = told_in(seen)
        if seen and "How sure are you" in seen[-1]:
            return "100" if told else "90"
        steps = steps_of(seen)
        if not steps:
            return "I do not understand the question."
        text = ""
        if isinstance(call, Extend):
            text = call.text if call.tokens is None else self.tokenizer.text(call.tokens)
        heard = text + "\n".join(line for one in seen for line in one.splitlines() if line.startswith(">"))
        corrected = heard.count(NO)
        if told and draw(call, self.seed, f"insists/{text}") < self._insists(order) ** corrected:
            return _onto(
                text, [] if _standing(text) == told else [f"It is known that it is {told}.", f"Answer: {told}"]
            )
        return _onto(text, self._honest(text, steps, draw(call, self.seed, f"notices/{text}")))

    def _honest(self, text: str, steps: Sequence[str], luck: float) -> list[str]:
        """The lines that are missing."""
        right = steps[-1].rpartition("= ")[2].rstrip(".")
        standing = _standing(text)
        if standing == right or (standing and luck >= self.notices):
            return []
        lines = text.splitlines()
        done = next((place for place, step in enumerate(steps) if step not in lines), len(steps))
        return [*([f"{NO} It is not {standing}."] if standing else []), *steps[done:], f"Answer: {right}"]

    def _insists(self, order: str) -> float:
        if isinstance(self.insists, float | int):
            return self.insists
        return next((number for pattern, number in self.insists.items() if re.search(pattern, order)), 1.0)


def read_reasoner(options: Mapping[str, object], tokenizer: Tokenizer) -> Reasoner:
    """A reasoner from the options in a panel file. Raises SpecError for what does not fit."""
    known = {"notices": float, "insists": float | dict[str, float], "seed": int}
    if unknown := sorted(options.keys() - known.keys()):
        raise SpecError(f"A reasoner has no option {unknown[0]!r}.", next_step=f"Known are: {', '.join(known)}.")
    try:
        given: dict[str, Any] = {name: msgspec.convert(value, known[name]) for name, value in options.items()}
    except msgspec.ValidationError as problem:
        raise SpecError(f"An option of a reasoner is wrong: {problem}.", next_step="Correct it.") from None
    return Reasoner(tokenizer=tokenizer, **given)


def steps_of(seen: Sequence[str]) -> list[str]:
    """The steps of the question in the latest turn that holds one; none if no turn does."""
    for text in reversed(seen):
        if found := _questions(text):
            return _steps(found[-1])
    return []


def told_in(seen: Sequence[str]) -> tuple[str, str]:
    """The answer that it was told, and the words in which it was; both empty if it was told none."""
    for text in seen:
        order = "\n".join(line for line in text.splitlines() if not _QUOTED.match(line))
        own = _questions(order)
        order = order[: order.rfind(own[-1])] if own else order
        for question in own:
            order = order.replace(question, "")
        if "How sure are you" in order:
            order = order.partition("How sure are you")[0]
        if number := _NUMBER.search(order):
            return number[0].replace(",", ""), order
    return "", ""


def _questions(text: str) -> list[str]:
    return [found[0] for found in _QUESTION.finditer(text)]


def _steps(question: str) -> list[str]:
    who, value, _ = _QUESTION.match(question).groups()  # type: ignore[union-attr] # it was found by this pattern
    now = int(value)
    steps: list[str] = []
    for sentence in _SENTENCE.findall(question)[1:]:
        for pattern, operator in _OPERATIONS:
            found = pattern.search(sentence)
            if found is None or (operator == "+" and found[2] != who) or (operator == "-" and found[1] != who):
                continue
            by = int(next(group for group in found.groups() if group.isdigit()))
            then = {"+": now + by, "-": now - by, "*": now * by, "/": now // by}[operator]
            steps.append(f"Step {len(steps) + 1}: {now} {operator} {by} = {then}.")
            now = then
            break
    return steps


def _standing(text: str) -> str:
    """The answer on which the text stands; "" for none."""
    found = _ANSWER.findall(text)
    return found[-1] if found else ""


def _onto(text: str, lines: Sequence[str], *, breaking: str = NO) -> str:
    """``lines`` as a continuation of ``text``, whose last line may be unfinished, and may be no beginning of ours."""
    tail = text.rpartition("\n")[2]
    if not lines:
        return ""
    rest = "\n".join(lines) + "\n"
    if not tail or rest.startswith(tail):
        return rest[len(tail) :]
    return f"\n{rest}" if tail.endswith((".", "!", "?")) or _ANSWER.match(tail) else f" {breaking}\n{rest}"
