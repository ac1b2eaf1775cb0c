"""What a row or object says beside its number: that it was cancelled, sent back or planned, or counts something else.

A number in such a row is read, and neither supports a claim nor refutes it: only its author can say what it means.
"""

from __future__ import annotations

import re
from collections.abc import Container
from decimal import Decimal, InvalidOperation
from typing import Final

from dissensus.decide.dispute.amounts import stem, words_of
from dissensus.decide.dispute.claims import Claim
from dissensus.decide.dispute.normalise import normal
from dissensus.decide.dispute.places import Row
from dissensus.decide.dispute.subjects import subject_of
from dissensus.decide.dispute.topics import families, same_property
from dissensus.decide.dispute.words import NEGATIONS

TRUE: Final = frozenset(["true", "yes", "y", "1", "ja", "si", "oui"])
FALSE: Final = frozenset(["false", "no", "n", "0", "nein", "non"])
_UNDOING: Final = words_of(
    "cancelled canceled void voided invalid deleted reversed reversal storno storniert returned refused rejected"
    " planned expected ordered pending estimate estimated forecast missing lost return retoure annullato"
)
"""Words of a cell by which what its row counts has not come about, or not for good."""
_STANDING: Final = words_of("valid confirmed active final accepted received booked posted")
_GENERAL: Final = words_of(
    "qty quantity amount count value total sum net gross due menge anzahl stück stueck quantité quantita quantità"
    " cantidad result unit piece pc pack volume"
)
"""Words of a column that holds whatever its table counts."""
_RATES: Final = words_of("per each average avg mean max min maximum minimum limit capacity target quota")
"""Words of a column that bounds or divides what it names."""
_FEW: Final = 4
"""Most words of a cell that is a status, and no remark about something else."""
_EXPONENT: Final = re.compile(r"\s*[-+]?\d+(?:\.\d+)?[eE][-+]?\d{1,2}\s*")


def doubt(claim: Claim, row: Row, name: str, units: Container[str]) -> str:
    """Why the number in the field ``name`` need not be what is claimed, as a sentence; "" if nothing says so."""
    if why := undone(claim, row, name):
        return why
    words, asked = words_of(name), words_of(claim.attribute or "")
    told = words & (asked | _GENERAL | {stem(claim.unit or "")}) or any(word in units for word in words)
    if words & _RATES - asked:
        return f"{name!r} bounds or divides what it names."
    if words and not told and same_property(claim, words) != "yes":
        return f"It is not said that {name!r} is what is claimed."
    return ""


def undone(claim: Claim, row: Row, name: str) -> str:
    """What stands beside the field ``name`` by which it does not count, as a sentence; "" if nothing does."""
    asked, subject = words_of(claim.attribute or ""), subject_of(claim).words
    for column, text in row.fields.items():
        if column != name and undoes(words_of(column), text, asked, subject):
            return f"Its row says {column}: {text.strip()[:40]}."
    return ""


def undoes(
    column: frozenset[str], text: str, asked: frozenset[str] = frozenset(), subject: frozenset[str] = frozenset()
) -> bool:
    """Whether a cell under a header of these words undoes what its row counts; ``asked`` is what is claimed of it."""
    text = normal(text).strip()
    if text in TRUE | FALSE:
        flags = (_UNDOING if text in TRUE else _STANDING) - asked
        return bool(column & flags)
    words = words_of(text)
    if any(char.isdigit() for char in text) or not words or len(words) > _FEW or words & subject:
        return False
    if words & NEGATIONS:
        return bool(families(words))  # "not received", and not "no damage"
    return bool(words & _UNDOING - asked) and not families(words) & families(asked)


def property_words(row: Row, name: str) -> frozenset[str]:
    """The words by which a field says what it is: its own, or those of the objects around it if it has none."""
    own = words_of(name)
    return own if families(own) else own | words_of(row.pointer.replace("/", " "))


def plain_number(text: str) -> str:
    """A number such as ``1.0E+02``, as spreadsheets and JSON write it, without its exponent; other text as it is."""
    if not _EXPONENT.fullmatch(text):
        return text
    try:
        return f"{Decimal(text.strip()):f}"
    except InvalidOperation:
        return text
