"""What a script says, as it stands on the record: posts, notes, and posts that were blocked."""

from __future__ import annotations

from typing import Any, Final

from dissensus.record.event import OPERATOR, PUBLIC, Draft
from dissensus.script.effects import Note, Post
from dissensus.script.outcomes import Blocked

_OPTIONAL: Final = ("protocol", "content_type", "reply_with", "in_reply_to", "deadline_s", "about")


def said(effect: Post | Note, key: str, scope: str = "") -> Draft:
    """The event of ``effect``. What a post leaves open is not written, so old and new posts have the same bytes.

    ``scope`` is the scope that the script runs in: :attr:`~dissensus.script.effects.Post.of` is a key in it.
    """
    if isinstance(effect, Note):
        return Draft(
            kind=effect.kind_of_note,
            key=key,
            actor=effect.actor,
            thread=effect.thread,
            visibility=effect.visibility,
            body=dict(effect.data),
        )
    body: dict[str, Any] = {
        "sender": effect.sender,
        "to": list(effect.to),
        "act": effect.act,
        "text": effect.text,
        "data": dict(effect.data),
    }
    body |= {name: value for name in _OPTIONAL if (value := getattr(effect, name)) is not None}
    if effect.of is not None:
        body["of"] = f"{scope}/{effect.of}" if scope else effect.of
    return Draft(
        kind="post",
        key=key,
        actor=effect.sender,
        thread=effect.thread,
        visibility=(*effect.to, effect.sender) if effect.to else PUBLIC,
        body=body,
    )


def blocked(draft: Draft, why: Blocked) -> Draft:
    """The event that stands in place of a post that nobody gets to see."""
    finding = {"verdict": why.verdict, "rule": why.rule, "says": why.says, "expected": list(why.expected)}
    return Draft(
        kind="blocked",
        key=draft.key,
        actor="engine",
        thread=draft.thread,
        visibility=OPERATOR,
        body={**draft.body, **finding},
    )
