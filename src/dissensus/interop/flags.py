"""Tables that say only right or wrong, not what was answered."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dissensus.interop.sheet import Sheet

RIGHT, WRONG = "right", "wrong"
YES = frozenset({"1", "1.0", "true", "t", "yes", "y", "right", "correct", "c"})
NO = frozenset({"0", "0.0", "false", "f", "no", "n", "wrong", "incorrect", "i"})

NOTE = (
    "Only right or wrong is known, not the answers: the majority of these is a lower bound of the plurality, and "
    "nothing can be said of equal wrong answers."
)


def as_flags(sheet: Sheet) -> Sheet:
    """``sheet`` with its cells read as right or wrong; what is neither is blank for that reason."""
    reasons = [*sheet.reasons, "neither right nor wrong"]
    place = np.array([_place(text, -len(reasons)) for text in sheet.texts] or [0], dtype=np.int32)
    cells = np.where(sheet.cells >= 0, place[np.maximum(sheet.cells, 0)], sheet.cells).astype(np.int32)
    questions = cells.shape[0]
    return replace(
        sheet,
        cells=cells,
        gold=np.zeros(questions, dtype=np.int32),
        texts=[RIGHT, WRONG],
        reasons=reasons,
        options=np.full(questions, 2, dtype=np.int64),
        allowed=None,
        notes=(*sheet.notes, NOTE),
        kind="exact",
    )


def _place(text: str, neither: int) -> int:
    flag = text.casefold()
    return 0 if flag in YES else 1 if flag in NO else neither
