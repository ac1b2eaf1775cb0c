"""Kinds of answers, and a cautious guess at the kind that a question asks for."""

from __future__ import annotations

import re
from collections.abc import Sequence

from dissensus.answers.normal import normal
from dissensus.errors import UsageError

KINDS = ("number", "choice", "yes-no", "date", "text", "auto")

YES = frozenset({"yes", "true", "correct", "yep", "yeah", "y"})
NO = frozenset({"no", "false", "incorrect", "nope", "n"})

_ARITHMETIC = re.compile(r"(?:what is|what's|calculate|compute|evaluate)\s[-(]?[0-9][0-9\s.,()+*/×÷^·x-]*(?:[?.=]|$)")
_AMOUNT = re.compile(
    r"\bhow (?:many|much|far|long|old|tall|fast|heavy|high|deep|wide|often)\b"
    r"|\bwhat (?:percentage|percent|fraction|share)\b"
    r"|\bwhat (?:is|are|was|were|will be) (?:the|his|her|their|its) (?:total|sum|number|amount|average|mean|median|cost"
    r"|price|product|difference|quotient|remainder|probability|area|volume|perimeter|length|distance|speed|profit|age)\b"
    r"|\bwhat (?:do|does|did|will|would) .{1,80}\b(?:cost|weigh|earn|pay|measure)\b"
)
_DAY = re.compile(
    r"(?:when|on (?:what|which) (?:date|day)|(?:in )?(?:what|which) (?:year|month)"
    r"|what (?:is|was) the date|what date)\b"
)
_POLAR = re.compile(
    r"(?:is|are|am|was|were|do|does|did|can|could|will|would|should|shall|may|must|has|have|had)(?:n't)?\s[^?]*\?$"
)
_NAME = re.compile(
    r"(?:who|whom|whose|where|what is the (?:name|capital|title|word|color|colour)|what's the (?:name|capital)|name the"
    r"|(?:which|what) (?:person|country|city|capital|language|planet|element|animal|word|book|film|author|river))\b"
)
_LAST_SENTENCE = re.compile(r"(?:[.!?]|\n)\s+(?=\S)")


def infer_kind(question: str, options: Sequence[str] = ()) -> str:
    """The kind of answer that ``question`` asks for: from its options, else from its last sentence; ``auto`` in doubt.

    Yes and no (or true and false) as the only options make ``yes-no``, all other options ``choice``.
    """
    if options:
        named = {normal(option) for option in options}
        polar = len(named) == len(options) == 2 and len(named & YES) == len(named & NO) == 1
        return "yes-no" if polar else "choice"
    asked = " ".join(question[-2000:].split()).casefold()
    breaks = [match.end() for match in _LAST_SENTENCE.finditer(asked)]
    last = asked[breaks[-1] :] if breaks else asked
    if _ARITHMETIC.match(last) or (_AMOUNT.search(last) and " or " not in last):
        return "number"
    if _DAY.match(last):
        return "date"
    if _POLAR.match(last) and " or " not in last:
        return "yes-no"
    return "text" if _NAME.match(last) else "auto"


def resolved(kind: str, options: Sequence[str], unit: str) -> str:
    """``kind``, with ``auto`` resolved where options or a unit say more. Raises :class:`UsageError` for no kind."""
    if kind not in KINDS:
        raise UsageError(f"There is no kind of answer called “{kind}”.", next_step=f"Use one of {', '.join(KINDS)}.")
    if kind != "auto":
        if kind == "yes-no" and options and infer_kind("", options) != "yes-no":
            raise UsageError(
                "A yes-no question has the options yes and no, or true and false.", next_step="Use the kind choice."
            )
        return kind
    if options:
        return infer_kind("", options)
    return "number" if unit.strip() else "auto"
