"""From an effect to the call that a model gets, and the hash by which replay knows it again. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from dissensus.record.view import Seen
from dissensus.script.calls import Call, Extend, Generate, Score, Turn
from dissensus.script.effects import Ask, AskPerson, Continue, Effect, RunCheck, ScoreTexts, UseTool
from dissensus.script.seats import Seat

_encode = msgspec.json.Encoder(order="deterministic").encode
_HINTS = frozenset({"hear", "key", "report", "stream"})
"""Fields of a call that do not change what is asked."""

_SHOWN = ("exhibits", "topic", "dedupe_key")
"""What of a question to a person says what is asked, beside its text and options."""
_HANDLING = ("asked_to", "remind_s", "escalate_to", "sources", "base")
"""What says how it is handled; its deadline is that of the job."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """An effect with its key, ready to be performed."""

    key: str
    effect: Effect
    request: str
    """SHA-256, in hex, of what is asked: model, rendered context, parameters, seed."""
    call: Call | None = None
    seat: Seat | None = None
    deadline_s: float | None = None


def render(effect: Effect, key: str, seat: Seat | None, seen: Sequence[Seen], seed: int) -> Job:
    """The job for ``effect``; ``seen`` is the agent's view of the record in the effect's thread."""
    call: Call | None = None
    match effect:
        case Ask():
            if seat is None:
                raise TypeError(effect)
            call = Generate(
                turns=_context(seat, seen, effect.examples, effect.prompt),
                temperature=seat.temperature if effect.temperature is None else effect.temperature,
                max_tokens=effect.max_tokens or seat.max_tokens,
                seed=seed,
                stop=effect.stop,
                schema=effect.schema,
                key=key,
            )
        case Continue():
            if seat is None:
                raise TypeError(effect)
            call = Extend(
                turns=_context(seat, seen, (), effect.prompt),
                text=effect.text,
                tokens=effect.tokens,
                max_tokens=effect.max_tokens,
                temperature=seat.temperature if effect.temperature is None else effect.temperature,
                seed=seed,
                stop=effect.stop,
                top_p=effect.top_p,
                stream=effect.stream,
                hear=effect.hear,
                key=key,
            )
        case ScoreTexts():
            if seat is None:
                raise TypeError(effect)
            turns = _context(seat, seen, effect.examples, effect.prompt)
            call = Score(
                turns=turns,
                continuations=effect.continuations,
                text=effect.text,
                tokens=effect.tokens,
                stream=effect.stream,
                key=key,
            )
        case _:
            pass
    deadline = getattr(effect, "deadline_s", None)
    if deadline is None and seat is not None and not isinstance(effect, UseTool):
        deadline = seat.deadline_s
    return Job(
        key=key,
        effect=effect,
        request=_request_hash(effect, call, seat),
        call=call,
        seat=seat,
        deadline_s=deadline,
    )


def _context(seat: Seat, seen: Sequence[Seen], examples: Sequence[Turn], prompt: str) -> tuple[Turn, ...]:
    system = (Turn("system", seat.system),) if seat.system else ()
    history = tuple(Turn(one.role, one.text) for one in seen)
    return (*system, *history, *examples, Turn("user", f"{seat.context}\n\n{prompt}" if seat.context else prompt))


def _request_hash(effect: Effect, call: Call | None, seat: Seat | None) -> str:
    what: dict[str, Any]
    match effect, call:
        case _, Generate() | Extend() | Score():
            what = {"call": type(call).__name__, "model": seat.model if seat else ""}
            what |= {name: getattr(call, name) for name in call.__dataclass_fields__ if name not in _HINTS}
            if what.get("top_p", "") is None:  # as it was hashed before there was that field
                del what["top_p"]
            if isinstance(call, Score):  # likewise
                what = {name: value for name, value in what.items() if value or name not in ("text", "tokens")}
        case UseTool(), _:
            what = {"call": "tool", "agent": effect.agent, "tool": effect.tool, "arguments": effect.arguments}
        case RunCheck(), _:
            what = {"call": "check", "check": effect.check, "question": effect.question, "answer": effect.answer}
        case AskPerson(), _:
            what = {"call": "person", "question": effect.question, "options": effect.options}
            what |= {name: value for name in _SHOWN if (value := getattr(effect, name))}
        case _:
            what = {"call": effect.kind}
    return hashlib.sha256(_encode(what)).hexdigest()


def _plain(data: dict[str, Any]) -> dict[str, Any]:
    """``data`` as a record gives it back: mappings, lists and scalars."""
    plain: dict[str, Any] = msgspec.json.decode(_encode(data))
    return plain


def describe(job: Job) -> dict[str, Any]:
    """The body of the event that stands in the record before ``job`` is performed."""
    effect, call = job.effect, job.call
    body: dict[str, Any] = {"request": job.request}
    match effect:
        case Ask() | Continue() | ScoreTexts():
            body |= {"agent": effect.agent, "prompt": effect.prompt}
            if isinstance(effect, Ask | ScoreTexts) and effect.examples:
                body["examples"] = msgspec.to_builtins(effect.examples)
            if isinstance(effect, Continue):
                body["text"] = effect.text
                body["tokens"] = list(effect.tokens) if effect.tokens is not None else None
            if isinstance(effect, ScoreTexts):
                body["continuations"] = list(effect.continuations)
                if effect.text or effect.tokens:
                    body |= {"text": effect.text, "tokens": effect.tokens and list(effect.tokens)}
            if isinstance(call, Generate | Extend):
                body["parameters"] = {
                    "temperature": call.temperature,
                    "max_tokens": call.max_tokens,
                    "seed": call.seed,
                    "stop": list(call.stop),
                }
            if isinstance(call, Extend) and call.top_p is not None:
                body["parameters"]["top_p"] = call.top_p
            if isinstance(call, Generate) and call.schema is not None:
                body["parameters"]["schema"] = msgspec.to_builtins(call.schema)
        case UseTool():
            body |= {"agent": effect.agent, "tool": effect.tool, "arguments": dict(effect.arguments)}
        case RunCheck():
            body |= {"check": effect.check, "question": effect.question, "answer": effect.answer}
        case AskPerson():
            later = {name: getattr(effect, name) for name in (*_SHOWN, *_HANDLING)}
            asked = {name: value for name, value in later.items() if value not in (None, "", ())}
            body |= _plain({"question": effect.question, "options": effect.options, **asked})
        case _:
            raise TypeError(effect)
    if job.deadline_s is not None:
        body["deadline_s"] = job.deadline_s
    return body
