"""What kind of answer a table holds, where its right answers show it beyond doubt."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from dissensus.answers import read_answer
from dissensus.answers.kinds import NO, YES
from dissensus.interop.sheet import Sheet

AS_WRITTEN = "exact"
LETTER = re.compile(r"[A-Z]")
PLAIN_NUMBER = re.compile(r"(-?)(0|[1-9][0-9]{0,14})(?:\.([0-9]{1,14}))?")
"""A decimal that stands in its one form but for zeros at its end."""

_NUMBER = re.compile(r"[-+−]?[$€£]?\s?[0-9][0-9,]*(?:\.[0-9]+)?")
_AMOUNT = re.compile(r"[-+−]?[$€£]?\s?[0-9]")
_DIGIT = re.compile(r"[0-9]")
_LOOKED_AT = 300


def kind_shown(sheet: Sheet) -> str:
    """``number``, ``yes-no`` or ``choice`` (letters) where all right answers are such and others are written otherwise.

    ``exact`` in every other case: then texts can be compared as they are.
    """
    keys = {sheet.texts[code] for code in np.unique(sheet.gold[sheet.gold >= 0])}
    others = [text for text in sheet.texts if text not in keys]
    if not keys or not others:
        return AS_WRITTEN
    if all(map(_NUMBER.fullmatch, keys)) or _all_amounts(keys):
        odd = [text for text in sheet.texts if not PLAIN_NUMBER.fullmatch(text) and _DIGIT.search(text)]
        return "number" if _most_read("number", odd, ()) else AS_WRITTEN
    if all(key.casefold() in YES | NO for key in keys):
        return "yes-no" if _most_read("yes-no", others, ()) else AS_WRITTEN
    if all(map(LETTER.fullmatch, keys)):
        odd = [text for text in others if not LETTER.fullmatch(text)]
        return "choice" if _most_read("choice", odd, letters(sheet)) else AS_WRITTEN
    return AS_WRITTEN


def _all_amounts(keys: set[str]) -> bool:
    """Whether every right answer begins with a number and is one, with or without a unit: 5 h, 3, $12."""
    looked = sorted(keys)[:: max(1, len(keys) // _LOOKED_AT)]
    return all(map(_AMOUNT.match, keys)) and all(read_answer("number", key).canonical is not None for key in looked)


def _most_read(kind: str, texts: Sequence[str], options: Sequence[str]) -> bool:
    """Whether most of ``texts`` can be read as ``kind``, spread over all of them."""
    looked = texts[:: max(1, len(texts) // _LOOKED_AT)]
    read = sum(read_answer(kind, text, options=options).canonical is not None for text in looked)
    return 2 * read > len(looked) > 0


def letters(sheet: Sheet) -> tuple[str, ...]:
    """Letters for options: as many as the file says, or as the right answers and one-letter answers reach."""
    most = 0 if sheet.options is None else int(sheet.options.max())
    seen = [ord(text) - 64 for text in sheet.texts if LETTER.fullmatch(text)]
    return tuple(chr(65 + place) for place in range(min(26, max([most, 2, *([] if most else seen)]))))
