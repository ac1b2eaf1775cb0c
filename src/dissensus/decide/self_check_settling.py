"""The third context: the agent is shown both answers and the documents, and asked to settle, to name and to quote.

It is asked twice, each time in a context of its own, in which nothing differs but the order of the two answers. It is
told neither who gave them nor that it was itself.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import msgspec

from dissensus.decide.self_check_answers import Asking, Held
from dissensus.decide.self_check_documents import Shown, laid_out
from dissensus.decide.self_check_settings import Document
from dissensus.decide.self_check_verdict import Said, read_verdict
from dissensus.decide.self_check_weighing import Look, Pair, weigh
from dissensus.script.consult import consult
from dissensus.script.effects import Note
from dissensus.script.outcomes import Outcome, Reply

ORDERS: Final = ("AB", "BA")
_MOST_SHOWN: Final = 600
_FORM: Final = """\
Reply in these lines and nothing else:
Verdict: the right answer, or: cannot tell
Source: the label of the document, such as d1
Quote: the words in it that settle it
Why: one short sentence"""
_JSON: Final = (
    'Reply with JSON: {"why": "one short sentence", "source": "the label of the document, such as d1", "quote":'
    ' "the words in it that settle it", "verdict": "the right answer, or: cannot tell"}'
)


def prompt_of(asking: Asking, pair: Pair, order: str, shown: Shown) -> str:
    """What the agent reads."""
    answers = [
        f"Answer {number}: {json.dumps(_short(one), ensure_ascii=False)}"
        for number, one in enumerate(pair.shown(order), 1)
    ]
    return "\n".join([
        "One question was answered twice, and the answers differ. Which of them is right, by the documents below?",
        "", f"Question: {asking.question.text}", *answers, "", shown.text, "",
        "Name the document that settles it, and quote the words in it that do: as they stand there, in one piece.",
        "If the documents do not settle it, write: cannot tell. Then a person decides.",
        "", _JSON if asking.by_schema else _FORM,
    ])  # fmt: skip


def _short(one: Held) -> str:
    return one.answered.written[:_MOST_SHOWN]


def schema_of(labels: Sequence[str], answers: Sequence[str]) -> Mapping[str, object]:
    """What a reply is held to, where the agent can be: the reason and the quote before the verdict."""
    properties = {
        "why": {"type": "string", "maxLength": 300},
        "source": {"enum": [*labels, "none"]},
        "quote": {"type": "string", "maxLength": 600},
        "verdict": {"enum": list(dict.fromkeys([*answers, "another answer", "cannot tell"]))},
    }
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def look(
    asking: Asking, pair: Pair, order: str, documents: Sequence[Document], scope: str
) -> Generator[Any, Any, Look]:
    """Have it settled once, with one repair turn if the reply cannot be read.

    Args:
        asking: who is asked what.
        pair: the two answers.
        order: in which they are shown.
        documents: in the order in which they are shown.
        scope: the part of the self-check that this look belongs to: the name of its threads and fences.
    """
    shown = laid_out(documents, scope, asking.seed)
    answers = [_short(one) for one in pair.shown(order)]
    schema = schema_of(list(shown.documents), answers) if asking.by_schema else None
    prompt, thread = prompt_of(asking, pair, order, shown), f"{scope}/{order}"
    outcome: Outcome = yield from consult(
        asking.seat, prompt, thread=thread, schema=schema, temperature=0.0, key=f"{order}/ask"
    )
    key = f"{scope}/{order}/ask"
    said = _read(outcome, asking, pair, order, shown)
    if said is not None and said.problem:
        again = f"Your reply could not be read: {said.problem}.\n{_JSON if asking.by_schema else _FORM}"
        key = f"{scope}/{order}/repair"
        outcome = yield from consult(
            asking.seat, again, thread=thread, schema=schema, temperature=0.0, key=f"{order}/repair"
        )
        said = _read(outcome, asking, pair, order, shown)
    if said is None or not isinstance(outcome, Reply):
        problem = getattr(outcome, "problem", "") or getattr(outcome, "what", "") or getattr(outcome, "text", "")
        found = Look(order=order, kind="failed", why=f"{outcome.kind}: {problem}".rstrip(": "), key=key)
    else:
        found = weigh(said, pair, order, asking, shown.documents, reply=outcome.text, key=key)
    yield from told(found, scope)
    return found


def look_given(asking: Asking, pair: Pair, order: str, reply: str) -> Generator[Any, Any, Look]:
    """A reply to such a request that was got elsewhere; its documents are labelled in the order of their names."""
    labels = {f"d{number}": document for number, document in enumerate(asking.settings.documents, 1)}
    names = {label: document.name for label, document in labels.items()}
    said = read_verdict(reply, asking, pair.shown(order), names)
    found = weigh(said, pair, order, asking, labels, reply=reply, key="")
    yield from told(found, "settle")
    return found


def told(found: Look, scope: str) -> Generator[Any, Any, None]:
    """Put a look on the record."""
    says = f"{found.says}: {found.kind}" if found.says else found.kind
    data = {**msgspec.to_builtins(found), "step": f"{scope} {found.order}", "says": says, "answer": found.says}
    yield Note("self-verdict", data, durable=True, key=f"{found.order}/look")


def _read(outcome: Outcome, asking: Asking, pair: Pair, order: str, shown: Shown) -> Said | None:
    if not isinstance(outcome, Reply):
        return None
    names = {label: document.name for label, document in shown.documents.items()}
    said = read_verdict(outcome.text, asking, pair.shown(order), names)
    cut = outcome.finish == "length" and said.form != "json"
    return replace(said, problem="the reply was cut at its limit of tokens") if cut and not said.choice else said
