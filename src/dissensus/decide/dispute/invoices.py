"""Totals in JSON documents: does a total follow from its lines, with whatever is added to them or taken off?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any, Final

import msgspec

from dissensus.answers.rationals import plain_text
from dissensus.decide.dispute.amounts import NAMED, words_of
from dissensus.decide.dispute.evidence import JsonSelector
from dissensus.decide.dispute.faults import TOTAL_WORDS, Cite, number_in
from dissensus.decide.dispute.places import Row
from dissensus.decide.dispute.row_doubts import undoes
from dissensus.decide.dispute.sources import Source

_AMOUNT: Final = frozenset(["amount", "total", "sum", "net", "gross", "subtotal", "value"])
_QUANTITY: Final = frozenset(["qty", "quantity", "count", "piece", "pc"])
_PRICE: Final = frozenset(["price", "rate"])
_EXTRAS: Final = frozenset(
    [
        "tax",
        "vat",
        "mwst",
        "iva",
        "discount",
        "shipping",
        "freight",
        "fee",
        "rounding",
        "deposit",
        "charge",
        "surcharge",
    ]
)
_STATED: Final = TOTAL_WORDS | {"amount", "due", "subtotal", "net", "gross"}
_OF_MONEY: Final = words_of(
    "invoice order bill grand payable price value incl excl including excluding vat tax eur euro usd gbp chf jpy"
)
"""Words that a stated total may have besides; with any other, ``total_weight``, it is a total of something else."""
_MOST_EXTRAS: Final = 6


def wrong_total(source: Source, row: Row) -> tuple[str, tuple[Cite, ...]] | None:
    """Why the total that ``row`` points at does not hold, and the places; None if it does or that cannot be told."""
    if row.chosen is None or not words_of(row.chosen) & _STATED or words_of(row.chosen) - _STATED - _OF_MONEY:
        return None
    stated = number_in(row.fields.get(row.chosen, ""))
    document = source.decoded(row.pointer)
    if stated is None or document is None:
        return None
    lists = [(key, value) for key, value in document.items() if _is_lines(value)] if isinstance(document, dict) else []
    if len(lists) != 1:
        return None
    name, lines = lists[0]
    amounts = [_amount(source, f"{row.pointer}/{_escaped(name)}/{n}", line) for n, line in enumerate(lines)]
    if any(amount is None for amount in amounts):
        return None
    added = sum((amount[0] for amount in amounts if amount is not None), Fraction(0))
    possible = _possible(added, stated, document, row)
    if possible is None or stated in possible:
        return None
    cites = [_cite(source, pointer) for amount in amounts if amount is not None for pointer in amount[1]]
    cites.append(_cite(source, f"{row.pointer}/{_escaped(row.chosen)}"))
    why = f"Its {len(lines)} lines add up to {plain_text(added)}, and {row.chosen!r} states {plain_text(stated)}."
    return why, tuple(cites)


def _is_lines(value: Any) -> bool:
    return isinstance(value, list) and len(value) > 0 and all(isinstance(item, dict) for item in value)


def _amount(source: Source, pointer: str, line: Mapping[str, Any]) -> tuple[Fraction, tuple[str, ...]] | None:
    """What a line comes to, and where that stands: its amount, or quantity times price."""

    def of(wanted: frozenset[str], unwanted: frozenset[str] = frozenset()) -> list[tuple[Fraction, str]]:
        names = [key for key in line if words_of(key) & wanted and not words_of(key) & unwanted]
        found = [(_number(source, f"{pointer}/{_escaped(key)}"), f"{pointer}/{_escaped(key)}") for key in names]
        return [(value, where) for value, where in found if value is not None]

    if of(_EXTRAS) or any(isinstance(text, str) and undoes(words_of(key), text) for key, text in line.items()):
        return None  # a tax of its own, or a line that was cancelled
    stated, quantity, price = of(_AMOUNT, _PRICE | _QUANTITY | _EXTRAS), of(_QUANTITY), of(_PRICE)
    if len(quantity) == 1 and len(price) == 1:
        product = quantity[0][0] * price[0][0]
        if not stated or (len(stated) == 1 and stated[0][0] == product):
            return product, (quantity[0][1], price[0][1])
        return None  # the line itself does not hold, or has extras of its own: which is wrong cannot be told
    return (stated[0][0], (stated[0][1],)) if len(stated) == 1 else None


def _possible(
    added: Fraction, stated: Fraction, document: Mapping[str, Any], row: Row
) -> set[Fraction] | None:  # fmt: skip
    """What the total may be: the lines, with any other number of the object added, taken off, or in per cent.

    Whatever is no name of something may be a tax, a discount or a payment, in whatever words; but for what only states
    the total again, which explains nothing. None: there are too many.
    """
    texts = [(key, row.fields[key]) for key in document if key != row.chosen and key in row.fields]
    for key, inner in document.items():
        if isinstance(inner, dict):  # tax: {rate: 19, amount: 3.04}
            texts += [
                (f"{key} {name}", str(text)) for name, text in inner.items() if isinstance(text, str | int | float)
            ]
    numbers = [number_in(text) for key, text in texts if not words_of(key) & NAMED]
    extras = [value for value in numbers if value is not None and value != stated]
    if len(extras) > _MOST_EXTRAS:
        return None
    found = {added}
    for count in range(1, len(extras) + 1):
        for chosen in combinations(extras, count):
            found |= _with(added, chosen)
    return found


def _with(added: Fraction, extras: Sequence[Fraction]) -> set[Fraction]:
    found = {added}
    for extra in extras:
        share = extra / 100 if extra >= 1 else extra
        found = {
            value for base in found for value in (base + extra, base - extra, base * (1 + share), base * (1 - share))
        }
    return found | {value for base in found for value in (_rounded(base),)}


def _rounded(value: Fraction) -> Fraction:
    return Fraction(round(value * 100), 100)


def _number(source: Source, pointer: str) -> Fraction | None:
    raw = source.value(pointer)
    return None if raw is None else number_in(raw.decode().strip('"'))


def _cite(source: Source, pointer: str) -> Cite:
    raw = source.value(pointer) or b""
    text = msgspec.json.decode(raw, type=str) if raw[:1] == b'"' else raw.decode()
    return Cite(source.digest, JsonSelector(pointer), text)


def _escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")
