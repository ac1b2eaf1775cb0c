"""What a voter reads, and how its answer is going to be read: by schema, by parser, or by scoring the options.

Small models get another wording than able ones: worked examples in place of advice on how to reason, which they cannot
follow, and options that are scored, not named by a letter. That makes them readable, not right: with these examples a
model of half a billion weights cast 12 of 30 right ballots on sums and 14 of 30 on yes or no (five voters, six
questions each). No example resembles a question that ships with the project.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from dissensus.answers import displayed, infer_kind, instruction_for, schema_for
from dissensus.decide.levers import Plan
from dissensus.decide.settings import VoteSettings
from dissensus.errors import SpecError
from dissensus.script.calls import Capability, Turn
from dissensus.script.questions import AUTO, Question
from dissensus.script.seats import Seat
from dissensus.script.styles import STYLES, rephrase

MAX_QUESTION = 200_000
"""Most characters of a question: about 50,000 tokens, what most context windows hold beside a reply."""

_NUMBERS = (
    ("A box holds 12 eggs. How many eggs are in 5 boxes?", "5 x 12 = 60.\nAnswer: 60"),
    (
        "Ben has 20 coins. He spends 7 and finds 4. How many coins does he have?",
        "20 - 7 = 13. 13 + 4 = 17.\nAnswer: 17",
    ),
    ("A garden is 7 m by 4 m. How long is the fence around it, in m?", "7 + 4 = 11. 2 x 11 = 22.\nAnswer: 22"),
    ("What is 8 times 7, minus 6?", "8 x 7 = 56. 56 - 6 = 50.\nAnswer: 50"),
    (
        "A film starts at 18:30 and ends at 20:15. How many minutes does it last?",
        "18:30 to 20:15 is 1 hour 45 minutes. 60 + 45 = 105.\nAnswer: 105",
    ),
)
_POLAR = (
    ("Is the sun a star?", "yes"),
    ("Is a whale a fish?", "no"),
    ("Can dogs fly?", "no"),
    ("Is Rome in Italy?", "yes"),
)
_SHORT = {
    "date": "Reply with the date only.",
    "text": "Reply with the answer only, in a few words.",
    "auto": "Reply with the answer only, in a few words.",
}
_Item = TypeVar("_Item")


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """How one voter is asked.

    Args:
        read_by: ``schema``, ``parser`` or ``log-probability``.
        prompt: what it reads.
        options: the options in the order in which it sees them.
        examples: worked examples shown before the prompt.
        schema: that the reply is held to, if it is.
        max_tokens: most tokens of the reply; None leaves it to the seat.
    """

    read_by: str
    prompt: str
    options: tuple[str, ...] = ()
    examples: tuple[Turn, ...] = ()
    schema: Mapping[str, object] | None = None
    max_tokens: int | None = None


def kind_of(question: Question) -> str:
    """The kind of answer: as stated, else from options and unit, else guessed from the words; ``auto`` in doubt."""
    if question.kind != AUTO:
        return question.kind
    if not question.options and question.unit.strip():
        return "number"
    return infer_kind(question.text, question.options)


def checked(question: Question) -> Question:
    """``question``, if it can be asked. Raises SpecError that says what is wrong with it."""
    if not question.text.strip():
        raise SpecError("The question is empty.", next_step="Write what is to be decided.")
    if len(question.text) > MAX_QUESTION:
        raise SpecError(
            f"The question has {len(question.text):,} characters; the limit is {MAX_QUESTION:,}.",
            next_step="Shorten it, or put long material where agents can look it up with a tool.",
        )
    try:
        "".join((question.text, *question.options, question.unit)).encode()
    except UnicodeEncodeError:
        raise SpecError("The question is not valid UTF-8 text.", next_step="Save or type it as UTF-8.") from None
    if len(question.options) == 1:
        raise SpecError("There is only one option, so there is nothing to decide.", next_step="Give two or more.")
    if question.options and question.kind not in (AUTO, "choice", "yes-no"):
        raise SpecError(
            f"A question with options cannot be of the kind {question.kind!r}.", next_step="Use the kind choice."
        )
    if question.kind == "choice" and not question.options:
        raise SpecError("A choice needs options.", next_step="Give two or more, such as --options red,green.")
    instruction_for(kind_of(question), question.options, question.unit)  # refuses a kind that does not exist …
    if question.options:
        displayed(question.options)  # … and options that are the same
    return question


def asking_for(question: Question, kind: str, seat: Seat, plan: Plan, settings: VoteSettings) -> Asking:
    """How ``seat`` is asked. Raises SpecError if it cannot be asked in the way that the settings say."""
    options = tuple(question.options[place] for place in plan.order) if question.options else ()
    weak = seat.model in settings.weak_models and not seat.tools
    can_score = Capability.LOGPROBS in seat.capabilities and not seat.tools
    how = settings.read_by
    if how == "log-probability" and not (can_score and kind in ("choice", "yes-no")):
        raise SpecError(
            f"{seat.agent} cannot be asked by log-probability: that takes a model that scores texts, and options.",
            next_step="Use --read-by auto, or give options and a back end with log-probabilities.",
        )
    if how == "log-probability" or (how == "auto" and weak and can_score and kind == "choice"):
        shown = options or ("yes", "no")
        request = f"Options: {'; '.join(shown)}.\nReply with one of the options and nothing else."
        prompt = f"{rephrase(question.text, plan.wording)}\n{request}"
        return Asking(read_by="log-probability", prompt=prompt, options=shown)
    if Capability.SCHEMA in seat.capabilities and (how == "schema" or (how == "auto" and not weak)):
        answer = f"{wanted(question, kind)}, or unsure if you cannot tell"
        form = f'Reply with JSON: {{"reason": "one or two short sentences", "answer": "{answer}"}}'
        parts = (_question(question, options, plan), _style(plan), form)
        return Asking(
            read_by="schema",
            prompt="\n\n".join(part for part in parts if part),
            options=options,
            schema=schema_for(kind, options, question.unit),
        )
    if weak and how == "auto" and kind != "choice":
        return _for_weak(question, kind, options, plan)
    parts = (_question(question, options, plan), _style(plan), instruction_for(kind, options, question.unit))
    return Asking(read_by="parser", prompt="\n\n".join(part for part in parts if part), options=options)


def _question(question: Question, options: Sequence[str], plan: Plan) -> str:
    polar = infer_kind("", options) == "yes-no" if options else True  # yes and no need no list
    text = question.text if polar else f"{question.text}\n\n{displayed(options)}"
    return rephrase(text, plan.wording)


def wanted(question: Question, kind: str) -> str:
    """What stands for the answer in the form that a reply is to have; a schema alone is not shown to every model."""
    unit = question.unit.strip()
    return {
        "number": f"number in {unit}" if unit else "number with unit",
        "choice": "one of the options",
        "yes-no": " or ".join(question.options or ("yes", "no")),
        "date": "YYYY-MM-DD",
    }.get(kind, "the answer alone, in a few words")


def _style(plan: Plan) -> str:
    return STYLES[plan.style].text if plan.style else ""


def _for_weak(question: Question, kind: str, options: tuple[str, ...], plan: Plan) -> Asking:
    """Worked examples, in another order for each voter instead of other words, which such a model does not survive."""
    style = _style(plan)
    before = f"{style}\n" if style else ""
    if kind == "number":
        end = "\nEnd with: Answer: <number>"
        return Asking(
            read_by="parser",
            prompt=f"{before}{question.text}{end}",
            examples=_turns(_rotated(_NUMBERS, plan.wording), before, end),
            max_tokens=256,
        )
    if kind == "yes-no":
        yes, no = options or ("yes", "no")
        said = {"yes": yes, "no": no} if yes.lower() in ("yes", "true") else {"yes": no, "no": yes}
        worked = [(asked, said[answer]) for asked, answer in _rotated(_POLAR, plan.wording)]
        return Asking(
            read_by="parser",
            prompt=before + question.text,
            options=options,
            examples=_turns(worked, before, ""),
            max_tokens=64,
        )
    return Asking(
        read_by="parser", prompt=f"{before}{rephrase(question.text, plan.wording)}\n{_SHORT[kind]}", max_tokens=96
    )


def _rotated(items: Sequence[_Item], by: int) -> tuple[_Item, ...]:
    by %= len(items)
    return (*items[by:], *items[:by])


def _turns(worked: Sequence[tuple[str, str]], before: str, end: str) -> tuple[Turn, ...]:
    return tuple(
        turn for asked, answer in worked for turn in (Turn("user", f"{before}{asked}{end}"), Turn("assistant", answer))
    )
