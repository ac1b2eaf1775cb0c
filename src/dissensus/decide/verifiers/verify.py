"""The mechanical verifiers by name, and several of them as one function of a text."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from dissensus.decide.verifiers.arithmetic import verify_arithmetic
from dissensus.decide.verifiers.deduction import verify_deduction
from dissensus.decide.verifiers.navigate import verify_navigate
from dissensus.decide.verifiers.tracking import verify_tracking
from dissensus.decide.verifiers.wrong import Wrong
from dissensus.errors import SpecError

Verify = Callable[[str], Wrong | None]


def _arithmetic(question: str, text: str, *, finished: bool = False) -> Wrong | None:  # noqa: ARG001 - as the others
    return verify_arithmetic(text, finished=finished)


VERIFIERS: Final[Mapping[str, Callable[..., Wrong | None]]] = MappingProxyType(
    {
        "arithmetic": _arithmetic,
        "deduction": verify_deduction,
        "navigate": verify_navigate,
        "tracking": verify_tracking,
    }
)
"""Each is called with the question, the text and ``finished``."""


def verifier(names: Sequence[str], question: str, *, finished: bool = False) -> Verify:
    """A function that gives the earliest step of a text that one of the verifiers ``names`` finds wrong, or None.

    Without ``finished`` it serves a text that is still being written: its last line or sentence is not judged yet. A
    verifier that cannot read the question objects to nothing. Raises :class:`~dissensus.errors.SpecError` for a name
    that does not exist.
    """
    for name in names:
        if name not in VERIFIERS:
            raise SpecError(f"There is no verifier {name!r}.", next_step=f"Known are: {', '.join(sorted(VERIFIERS))}.")

    def verify(text: str) -> Wrong | None:
        found = [VERIFIERS[name](question, text, finished=finished) for name in names]
        return min((wrong for wrong in found if wrong is not None), key=lambda wrong: wrong.start, default=None)

    return verify
