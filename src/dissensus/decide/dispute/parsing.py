"""Claims and evidence from JSON or YAML data, and back. What is wrong is named with its place and what to do.

Whoever calls says how errors are made: a :class:`~dissensus.specfile.Spec` knows the lines of its file, and
:class:`Line` is one line of a JSONL file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final, Protocol, TypeVar

from dissensus.decide.dispute.claims import CLAIM_KINDS, Claim, wrong_parts
from dissensus.decide.dispute.evidence import Evidence, Obtained, QuoteSelector, Selector
from dissensus.decide.dispute.selector_data import selector_data, selector_from
from dissensus.decide.dispute.values import NotRead, Value, Written, as_of_from, decimal_of, value_of
from dissensus.errors import LogError, SpecError
from dissensus.specfile import Place

_HELP: Final = "See `dissensus evidence check --help`."
_DIGEST: Final = re.compile(r"(?:sha-?256:)?([0-9a-fA-F]{64})")
_CLAIM_KEYS: Final = (
    "id", "by", "cell", "step", "subject", "attribute", "value", "value_type", "unit", "as_of", "tolerance", "kind",
    "children", "evidence", "text",
)  # fmt: skip
_EVIDENCE_KEYS: Final = (
    "id", "digest", "media", "selectors", "selector", "quote", "prefix", "suffix", "obtained", "origin", "captured_at",
    "live_ref", "title",
)  # fmt: skip
_OBTAINED_KEYS: Final = ("tool_call", "tool", "args_digest", "exit", "step", "at", "by")
_T = TypeVar("_T")


class Wrong(Protocol):
    """Makes the error for what stands at a place; a ``Spec`` is one."""

    def wrong(self, place: Place, message: str, *, next_step: str = "") -> SpecError:
        """The error to raise."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a file, from 1."""

    path: str = ""
    number: int = 0

    def wrong(self, place: Place, message: str, *, next_step: str = "") -> LogError:
        """The error to raise for what stands at ``place`` in this line."""
        where = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in place).lstrip(".")
        text = f"{where}: {message}" if where else message
        return LogError(text, path=self.path, line=self.number, next_step=next_step)


def exact_json(text: str | bytes) -> Any:
    """The JSON document ``text``, with the digits of its fractions kept (:class:`Written`).

    Raises:
        ValueError: it is no JSON, or holds a key twice, NaN or half a surrogate pair; a sentence without an end.
    """
    if isinstance(text, bytes):
        text = text.decode("utf-8-sig")
    try:
        data = json.loads(
            text, parse_float=Written, parse_int=_whole, parse_constant=_constant, object_pairs_hook=_once
        )
    except RecursionError:
        raise ValueError("it is nested too deep") from None
    json.dumps(data, ensure_ascii=False).encode()  # a lone surrogate can be neither shown nor kept
    return data


def _whole(digits: str) -> int | Written:
    return int(digits) if len(digits) < 1000 else Written(digits)


def _constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"the key {next(name for name in names if names.count(name) > 1)!r} stands twice")
    return found


def claim_from(data: Any, at: Wrong | None = None, place: Place = (), *, name: str = "") -> Claim:
    """The claim in ``data``.

    Args:
        data: a mapping with the keys of section "Claims" of the README.
        at: makes errors.
        place: where ``data`` stands in the file.
        name: the id of a claim that names none.

    Raises:
        SpecError: something is wrong; names the place.
    """
    at = at or Line()
    fields = _Fields(data, at, place, "claim", _CLAIM_KEYS)
    kind = fields.text("kind") or "LEAF"
    if kind.upper() not in CLAIM_KINDS:
        raise fields.wrong("kind", f"{kind!r} is no kind of claim.", f"Known are {', '.join(CLAIM_KINDS)}.")
    children = tuple(fields.texts("children"))
    if problem := wrong_parts(kind.upper(), children):
        raise fields.wrong("children", *problem)
    items = fields.many("evidence")
    evidence = tuple(evidence_from(item, at, (*place, "evidence", n)) for n, item in enumerate(items))
    value = fields.made("value", lambda raw: value_of(raw, fields.text("value_type") or None))
    tolerance = fields.made("tolerance", _tolerance)
    if tolerance is not None and value is not None and value.number is None:
        raise fields.wrong("tolerance", "Only a number has a tolerance.", "Remove it.")
    return Claim(
        id=fields.text("id") or name,
        subject=fields.text("subject") or None,
        attribute=fields.text("attribute") or None,
        value=value,
        unit=fields.text("unit") or None,
        as_of=fields.made("as_of", as_of_from),
        tolerance=tolerance,
        kind=kind.upper(),  # type: ignore[arg-type] # looked up above
        children=children,
        evidence=evidence,
        text=fields.text("text"),
        by=fields.text("by"),
        cell=fields.text("cell"),
        step=fields.text("step"),
    )


def evidence_from(data: Any, at: Wrong | None = None, place: Place = ()) -> Evidence:
    """The evidence in ``data``, read as a claim is. The text of a quote selector is the quote, if no other is given.

    Raises:
        SpecError: something is wrong, or the selectors contradict each other or the quote; names the place.
    """
    at = at or Line()
    fields = _Fields(data, at, place, "piece of evidence", _EVIDENCE_KEYS)
    raw = fields.text("digest")
    digest = _DIGEST.fullmatch(raw)
    if not digest:
        what = "has no digest" if not raw else "has a digest that is no SHA-256"
        raise fields.wrong("digest", f"The evidence {what}.", "`dissensus evidence pin FILE` prints it.")
    one = fields.data.get("selector")
    items = fields.many("selectors") or ([] if one is None else [one])
    key = "selectors" if fields.many("selectors") else "selector"
    selectors: list[Selector] = []
    quote: str | None = fields.made("quote", _quote)
    for n, item in enumerate(items):
        where = (*place, key, n) if key == "selectors" else (*place, key)
        try:
            selector, cited = selector_from(item)
        except ValueError as error:
            raise at.wrong(where, f"The selector {error}.", next_step=_HELP) from None
        if cited is not None and quote is not None and cited != quote:
            raise at.wrong(
                where, "The selector's text is not the evidence's quote.", next_step="Leave one of the two out."
            )
        quote = cited if quote is None else quote
        for earlier in selectors:
            if earlier.type == selector.type and earlier != selector:
                raise at.wrong(
                    where,
                    f"Two {selector.type} selectors contradict each other.",
                    next_step="One item of evidence points to one place: make two items of it.",
                )
        selectors.append(selector)
    if quote is None:
        raise at.wrong(
            place, "The evidence has no quote.", next_step="Add `quote`: the text that stands where it points."
        )
    origin = fields.text("origin") or None
    if origin is not None and (named := _DIGEST.fullmatch(origin)):
        origin = named[1].lower()
    prefix, suffix = fields.text("prefix"), fields.text("suffix")
    for selector in selectors:
        if isinstance(selector, QuoteSelector):
            prefix, suffix = prefix or selector.prefix, suffix or selector.suffix
    return Evidence(
        digest=digest[1].lower(),
        selectors=tuple(selectors),
        quote=quote,
        prefix=prefix,
        suffix=suffix,
        media=fields.text("media"),
        obtained=fields.made("obtained", lambda inner: _obtained(inner, at, (*place, "obtained"))),
        origin=origin,
        captured_at=fields.text("captured_at") or None,
        live_ref=fields.text("live_ref") or None,
        id=fields.text("id"),
        title=fields.text("title"),
    )


def claim_data(claim: Claim) -> dict[str, Any]:
    """The claim as JSON data that :func:`claim_from` reads back as an equal claim."""
    kept: dict[str, Any] = {
        "id": claim.id,
        "by": claim.by,
        "cell": claim.cell,
        "step": claim.step,
        "subject": claim.subject,
        "attribute": claim.attribute,
        **value_data(claim.value),
        "unit": claim.unit,
        "as_of": None if claim.as_of is None else claim.as_of.written,
        "tolerance": None if claim.tolerance is None else str(claim.tolerance),
        "kind": claim.kind,
        "children": list(claim.children),
        "evidence": [evidence_data(item) for item in claim.evidence],
        "text": claim.text,
    }
    return {key: value for key, value in kept.items() if value not in (None, "", []) or key == "value"}


def value_data(value: Value | None) -> dict[str, Any]:
    """``value`` and ``value_type`` of a claim as JSON data; decimals are texts, so that no reader rounds them."""
    if value is None:
        return {"value": None}
    data: Any = value.written
    if value.type == "integer" and isinstance(value.value, int) and abs(value.value) < 2**53:
        data = int(value.value)
    elif value.type == "boolean":
        data = bool(value.value)
    elif value.type == "set" and isinstance(value.value, frozenset):
        data = sorted(value.value)
    return {"value": data, "value_type": value.type}


def evidence_data(evidence: Evidence) -> dict[str, Any]:
    """The evidence as JSON data that :func:`evidence_from` reads back as equal evidence."""
    obtained = evidence.obtained
    kept: dict[str, Any] = {
        "id": evidence.id,
        "digest": evidence.digest,
        "media": evidence.media,
        "selectors": [selector_data(each) for each in evidence.selectors],
        "quote": evidence.quote,
        "prefix": evidence.prefix,
        "suffix": evidence.suffix,
        "obtained": obtained
        and {key: getattr(obtained, key) for key in _OBTAINED_KEYS if getattr(obtained, key) is not None},
        "origin": evidence.origin,
        "captured_at": evidence.captured_at,
        "live_ref": evidence.live_ref,
        "title": evidence.title,
    }
    return {key: value for key, value in kept.items() if value not in (None, "", [], {}) or key == "quote"}


def _tolerance(raw: Any) -> Decimal:
    value = value_of(raw, "decimal")
    number = decimal_of(value.written)
    if number < 0:
        raise NotRead("is below zero")
    return number


def _quote(raw: Any) -> str:
    if not isinstance(raw, str):
        raise NotRead("has to be a text")
    return str(raw)


def _obtained(data: Any, at: Wrong, place: Place) -> Obtained:
    fields = _Fields(data, at, place, "receipt", _OBTAINED_KEYS)
    code = fields.data.get("exit")
    if code is not None and (not isinstance(code, int) or isinstance(code, bool)):
        raise fields.wrong("exit", "An exit status is a whole number.", "Write it like 0.")
    texts = {key: fields.text(key) or None for key in _OBTAINED_KEYS if key != "exit"}
    return Obtained(exit=code, **texts)


class _Fields:
    """The fields of a mapping, each read with an error that names its place."""

    def __init__(self, data: Any, at: Wrong, place: Place, what: str, known: Iterable[str]) -> None:
        self.at, self.place = at, place
        if not isinstance(data, dict):
            raise at.wrong(place, f"A {what} has to be a mapping.", next_step=f"Its keys are {', '.join(known)}.")
        self.data: dict[str, Any] = data
        for key in data:
            if key not in known:
                raise at.wrong(
                    (*place, key), f"{key!r} is no key of a {what}.", next_step=f"Known are {', '.join(known)}."
                )

    def wrong(self, key: str, message: str, next_step: str) -> SpecError:
        return self.at.wrong((*self.place, key), message, next_step=next_step)

    def text(self, key: str) -> str:
        """A text or number; empty if there is none."""
        raw = self.data.get(key)
        if raw is None:
            return ""
        if isinstance(raw, bool) or not isinstance(raw, str | int):
            raise self.wrong(key, f"`{key}` has to be a text.", "Put it into quotes.")
        return str(raw)

    def many(self, key: str) -> list[Any]:
        raw = self.data.get(key)
        if raw is None:
            return []
        if not isinstance(raw, list):
            raise self.wrong(key, f"`{key}` has to be a list.", "Put it into brackets.")
        return raw

    def texts(self, key: str) -> list[str]:
        items = self.many(key)
        if not all(isinstance(each, str) for each in items):
            raise self.wrong(key, f"`{key}` has to be a list of texts.", "Put each into quotes.")
        return [str(each) for each in items]

    def made(self, key: str, make: Callable[[Any], _T]) -> _T | None:
        """What ``make`` makes of a field; None if there is none."""
        raw = self.data.get(key)
        if raw is None:
            return None
        try:
            return make(raw)
        except ValueError as error:
            raise self.wrong(key, f"`{key}` {error}.", _HELP) from None
