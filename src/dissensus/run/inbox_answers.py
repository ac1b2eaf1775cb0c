"""Whether an answer is taken. Pure: a question as its record tells it, an answer, and what the person would see now.

Exactly one answer to a question is ever accepted: whoever decides holds the record's lock, and decides by what the
record says then. Everything else that comes is recorded too, refused, with the reason.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from dissensus.record.event import Draft
from dissensus.run.inbox import AGAIN, ANSWER, Question, State
from dissensus.script.persons import Cited, Exhibit, fingerprint, shown_digest

SHORTEST: Final = 12
"""Fewest hexadecimal digits by which what was shown is named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """An answer as it was handed in.

    Args:
        question: the question's id.
        version: the version that was answered; None is the one that there is when it is judged.
        principal, authenticated_by: who answers, and how that is known.
        choice, reason, scopes: what they say.
        shown: SHA-256 of what they were shown, or its beginning; "": it was shown with the answer.
        rule: the separate yes to making the answer a standing rule.
        at: seconds since 1970-01-01 UTC.
        idempotency_key: names the attempt.
        copied_from: id of the question whose answer this is.
    """

    question: str
    principal: str
    authenticated_by: str
    choice: str
    at: float
    idempotency_key: str
    version: int | None = None
    reason: str = ""
    scopes: Mapping[str, str] = field(default_factory=dict)
    shown: str = ""
    rule: bool = False
    copied_from: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """``refused`` is "" if the answer is taken; ``again`` if the question has to be asked again as it is now."""

    refused: str = ""
    says: str = ""
    again: bool = False


def idempotency_key(question: Question, given: Mapping[str, Any]) -> str:
    """A name for this attempt: the same answer again has the same one, unless it was refused meanwhile.

    ``given`` holds ``version``, ``principal``, ``choice``, ``reason``, ``scopes``, ``shown``, ``rule``.
    """
    content = hashlib.sha256(
        msgspec.json.encode([question.id, sorted((k, str(v)) for k, v in given.items())])
    ).hexdigest()
    tried = sum(not one.accepted and one.idempotency_key.startswith(content[:32]) for one in question.answers)
    return f"{content[:32]}-{tried + 1}"


def judge(question: Question, given: Given, now: Sequence[Exhibit]) -> Verdict:
    """Whether ``given`` is taken.

    Args:
        question: as the record has it, its lock held.
        given: the answer.
        now: the question's exhibits as they are when reopened now.
    """
    if (taken := question.accepted) is not None:
        who = "you" if taken.principal == given.principal else taken.principal
        return Verdict("answered", f"It was answered by {who} at {when(taken.answered_at)}: {taken.choice}.")
    if question.state is State.WITHDRAWN:
        why = question.withdrawn_why or "Nobody waits for an answer any more."
        return Verdict("withdrawn", f"The question was withdrawn. {why}")
    if given.version is not None and given.version != question.version:
        return Verdict(
            "version", f"This answers version {given.version}; the question was asked again as {question.version}."
        )
    allowed = question.may_answer()
    if allowed and not any(_is(given, one) for one in allowed):
        return Verdict("unauthorised", f"{given.principal} may not answer this; it is for {', '.join(allowed)}.")
    if (problem := ill_formed(question, given)) is not None:
        return problem
    return _as_shown(question, given, now)


def _is(given: Given, who: str) -> bool:
    """Whether an answer comes from ``who``: a name, or how somebody is known, which nobody can be by a name alone."""
    return who == (given.authenticated_by if ":" in who else given.principal)


def ill_formed(question: Question, given: Given) -> Verdict | None:
    """What is wrong with an answer whoever gives it: no such choice, no scope, a rule that cannot be."""
    option = next((one for one in question.options if one.id == given.choice), None)
    if option is None and (question.options or not given.choice.strip()):
        choices = ", ".join(one.id for one in question.options)
        return Verdict("unknown-choice", f"{given.choice!r} is no choice; there are {choices or 'texts of your own'}.")
    wanted = () if option is None else option.scopes
    lacking = [part for part in wanted if not given.scopes.get(part, "").strip()]
    if lacking:
        return Verdict("scopes", f"{given.choice!r} has to say where each holds; it does not of {', '.join(lacking)}.")
    if unknown := [part for part in given.scopes if part not in wanted]:
        return Verdict("scopes", f"{given.choice!r} has no part {', '.join(unknown)} to give a scope for.")
    if given.rule and (option is None or option.rule is None):
        return Verdict("no-rule", f"{given.choice!r} is no answer that can be made a standing rule.")
    return None


def _as_shown(question: Question, given: Given, now: Sequence[Exhibit]) -> Verdict:
    """Whether what was shown is what there is now."""
    digest = shown_digest(question.text, question.options, now)
    asked = question.shown
    if given.shown:
        if len(given.shown) >= SHORTEST and digest.startswith(given.shown.lower()):
            return Verdict()
        if digest == asked:
            return Verdict("not-shown", "What you were shown is not this question as it is now: look at it again.")
    elif asked in ("", digest):
        return Verdict()
    told = "; ".join(changes(question.exhibits, now)) or "an item is not as it was"
    says = f"It has changed since it was shown, so it is asked again: {told}."
    return Verdict("changed", says, again=digest != asked)


def changes(then: Sequence[Exhibit], now: Sequence[Exhibit]) -> list[str]:
    """What is different, in words."""
    found = []
    for before, after in zip(then, now, strict=False):
        for old, new in zip(before.cited, after.cited, strict=False):
            if fingerprint(old) == fingerprint(new):
                continue
            item = new.item
            name = item.get("title") or item.get("live_ref") or item.get("id") or str(item.get("digest"))[:12]
            if old.result != new.result:
                found.append(f"{before.id}: {name} was {old.result or 'not reopened'} and is {new.result}")
            elif old.live != new.live:
                found.append(f"{before.id}: the live source of {name} is {new.live or 'not to be had'}")
            else:
                found.append(f"{before.id}: other words stand in {name}")
    return found


def answer_draft(
    question: Question,
    given: Given,
    verdict: Verdict,
    now: Sequence[Exhibit],
    *,
    copied_to: Sequence[str] = (),
    rule: str = "",
) -> Draft:
    """The event of an answer."""
    how = "copy" if given.copied_from else "before" if given.shown else "with the answer"
    return Draft(
        kind=ANSWER,
        key=question.key,
        actor=given.principal,
        body={
            "version": question.version if given.version is None else given.version,
            "principal": given.principal,
            "authenticated_by": given.authenticated_by,
            "choice": given.choice,
            "reason": given.reason,
            "scopes": dict(given.scopes),
            "shown": {
                "sha256": shown_digest(question.text, question.options, now),
                "how": how,
                "items": [_item(side.id, cited) for side in now for cited in side.cited],
                **({"stated": given.shown} if given.shown else {}),
            },
            "answered_at": given.at,
            "idempotency_key": given.idempotency_key,
            "accepted": not verdict.refused,
            "refused": verdict.refused,
            "says": verdict.says,
            "copied_from": given.copied_from,
            "copied_to": list(copied_to),
            "rule": rule,
        },
    )


def again_draft(question: Question, now: Sequence[Exhibit]) -> Draft:
    """The event by which a question is asked again, as it is now."""
    return Draft(
        kind=AGAIN,
        key=question.key,
        body={
            "version": question.version + 1,
            "reason": "changed",
            "changes": changes(question.exhibits, now),
            "exhibits": msgspec.to_builtins(list(now)),
        },
    )


def _item(side: str, cited: Cited) -> dict[str, Any]:
    text = cited.text
    return {
        "exhibit": side,
        "digest": cited.item.get("digest"),
        "result": cited.result,
        "live": cited.live,
        "text_sha256": None if text is None else hashlib.sha256(text.encode("utf-8", "replace")).hexdigest(),
    }


def when(seconds: float) -> str:
    """A time as people read it: ``2027-03-01 14:05 UTC``."""
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M} UTC"
