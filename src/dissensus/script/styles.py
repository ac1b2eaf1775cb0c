"""Ways to reason and ways to put a question: two levers that make agents of one model err less alike.

Both are plain data. A style goes into an agent's system prompt; a rephrasing changes the words around a
question and leaves the question itself untouched, so that no fact, number or option can be lost.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class Style:
    """A way to reason. ``text`` is what the agent reads: short enough for a model of half a billion weights."""

    name: str
    text: str


STYLES = MappingProxyType(
    {
        style.name: style
        for style in (
            Style("plain", "Think briefly, then answer."),
            Style("exact", "Work step by step. Write down each calculation and check it before you go on."),
            Style("estimate", "First make a rough estimate. Then compute the exact answer and compare the two."),
            Style(
                "backwards",
                "Suppose an answer. Work backwards from it and see if everything in the question fits. "
                "If something does not fit, try another answer.",
            ),
            Style("cases", "List the possible cases. Rule out those that cannot be. Keep the one that is left."),
            Style("skeptic", "The answer that comes to mind first may be a trap. Look for the trap, then answer."),
        )
    }
)
"""Every style by its name."""

ROTATION = ("exact", "estimate", "backwards", "cases", "plain")
"""Styles in the order in which a panel of one model hands them out."""


@dataclass(frozen=True, slots=True)
class Rephrasing:
    """Words put before and after a question."""

    before: str
    after: str


REPHRASINGS: tuple[Rephrasing, ...] = (
    Rephrasing("", ""),
    Rephrasing("Here is a question.\n\n", ""),
    Rephrasing("", "\n\nRead the question once more before you answer."),
    Rephrasing("Please answer the following:\n\n", ""),
    Rephrasing("Somebody asks you this.\n\n", "\n\nWhat do you answer?"),
    Rephrasing("Question:\n", "\n\nAnswer it on your own."),
    Rephrasing("Consider this with care.\n\n", "\n\nThen answer."),
)
"""Wordings in the order in which they are handed out. The first leaves the question as it is."""


def rephrase(question: str, index: int) -> str:
    """``question`` in wording number ``index``; after the last wording the first comes again."""
    wording = REPHRASINGS[index % len(REPHRASINGS)]
    return f"{wording.before}{question}{wording.after}"
