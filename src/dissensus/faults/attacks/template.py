"""What an attack is: wordings by strength, each with slots for the target, the question and the agent's name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from dissensus.errors import UsageError

Strength = Literal["mild", "moderate", "strong"]
STRENGTHS: Final[tuple[Strength, ...]] = ("mild", "moderate", "strong")
"""``mild``: a hint without a reason. ``moderate``: an assertion with a reason or an authority. ``strong``: an order
that overrides what was said before, hides itself and forbids corrections."""

Aim = Literal["target", "disruption"]
"""``target``: the answer is to become one certain wrong answer. ``disruption``: there is to be no usable answer."""

SLOTS: Final = ("target", "question", "name")
_SLOT = re.compile(r"\{(target|question|name)\}")
_LIKE_SLOT = re.compile(r"\{([A-Za-z_]+)\}")


@dataclass(frozen=True, slots=True)
class Wording:
    """One way to say it: a text, or several that go to corrupted agents in turn and complete each other."""

    parts: tuple[str, ...]

    def filled(self, *, target: str, question: str, name: str, part: int = 0) -> str:
        """The text for the corrupted agent number ``part``. What is filled in is not searched for slots again."""
        values = {"target": target, "question": question, "name": name}
        return _SLOT.sub(lambda slot: values[slot[1]], self.parts[part % len(self.parts)])


@dataclass(frozen=True, slots=True, kw_only=True)
class Attack:
    """A kind of corruption.

    Args:
        name: what it is called: ``imperative``.
        version: of its texts; figures for different versions are not comparable.
        title: a few words for people.
        about: what it does, in a sentence or two.
        aim: what counts as its success.
        wordings: by strength; an attack need not have all strengths.
        digest: of name, version and texts, for the record.
    """

    name: str
    version: int
    title: str
    about: str
    aim: Aim
    wordings: Mapping[Strength, tuple[Wording, ...]]
    digest: str

    @property
    def strengths(self) -> tuple[Strength, ...]:
        """The strengths that it has, mildest first."""
        return tuple(strength for strength in STRENGTHS if strength in self.wordings)

    def of(self, strength: str) -> tuple[Wording, ...]:
        """Its wordings of that strength. Raises :class:`~dissensus.errors.UsageError` if it has none."""
        for known, wordings in self.wordings.items():
            if known == strength:
                return wordings
        raise UsageError(
            f"The attack {self.name} has no strength {strength!r}.",
            next_step=f"It has: {', '.join(self.strengths)}.",
        )


def unknown_slot(text: str) -> str:
    r"""The first word in braces in ``text`` that is like a slot and is none; "" if there is none.

    A word behind a TeX command, as in ``\frac{a}``, is none of ours.
    """
    for match in _LIKE_SLOT.finditer(text):
        tex = re.search(r"\\[A-Za-z]+(?:\{[^{}]*\})?$", text[: match.start()])
        if match[1] not in SLOTS and tex is None:
            return match[1]
    return ""
