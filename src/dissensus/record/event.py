"""One entry of a record, and what a writer hands in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

PUBLIC = "public"
OPERATOR = "operator"
Visibility = str | tuple[str, ...]
"""``PUBLIC``, ``OPERATOR`` (no agent ever sees it), or the names of the agents that see it."""

QUESTION_KINDS = frozenset(
    {
        "question-answer",
        "question-again",
        "question-notified",
        "question-reminded",
        "question-no-answer",
        "question-escalated",
        "question-withdrawn",
        "standing-rule",
    }
)
"""Events about a question to a person. They come while nobody runs the run, some of them after it has ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """An event before it has its place. ``body`` is JSON data: no NaN, no infinities, no lone surrogates."""

    kind: str
    body: Mapping[str, Any] = field(default_factory=dict)
    key: str = ""
    actor: str = "engine"
    thread: str = "main"
    visibility: Visibility = OPERATOR


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One entry of a record.

    Args:
        seq: its place; the first is 1, without gaps.
        id: unique among all records.
        time: seconds since 1970-01-01 UTC by the writer's clock; may run backwards.
        key: key of the effect that it belongs to ("" if none).
        kind: what happened: ``run``, ``ask``, ``outcome``, ``post``, ``ballot``, ``decision`` …
        actor: who did it.
        thread: the conversation that it belongs to.
        visibility: who may see it.
        body: JSON data; long texts are stored once by content and stand here in full.
    """

    seq: int
    id: str
    time: float
    key: str
    kind: str
    actor: str
    thread: str
    visibility: Visibility
    body: Mapping[str, Any]
