"""Evidence as W3C Web Annotations (Recommendation of 23 February 2017), and back.

The source is named by its digest (``urn:sha256:…``). Selectors that the model knows are written as these: text and
quote selectors, and fragments of RFC 5147 (lines), RFC 7111 (CSV), RFC 6901 (JSON) and RFC 8118 (pages). Tokens, named
columns, dialects and ranges of pages have no such form; they keep ours, which other readers pass over.
"""

from __future__ import annotations

from typing import Any, Final

from dissensus.decide.dispute.evidence import (
    CsvDialect,
    CsvSelector,
    Evidence,
    JsonSelector,
    LineSelector,
    PageSelector,
    QuoteSelector,
    Selector,
    TextSelector,
)
from dissensus.decide.dispute.parsing import Wrong, evidence_from
from dissensus.decide.dispute.selector_data import selector_data

CONTEXT: Final = "http://www.w3.org/ns/anno.jsonld"
_SOURCE: Final = "urn:sha256:"
_RFC: Final = "http://tools.ietf.org/rfc/rfc"


def annotation_data(evidence: Evidence) -> dict[str, Any]:
    """The evidence as one annotation. The quote is always among its selectors, with prefix and suffix."""
    quote = QuoteSelector(evidence.quote, evidence.prefix, evidence.suffix)
    selectors = [_selector(each) for each in evidence.selectors if not isinstance(each, QuoteSelector)]
    target: dict[str, Any] = {"source": _SOURCE + evidence.digest, "selector": [*selectors, _selector(quote)]}
    if evidence.media:
        target["format"] = evidence.media
    data: dict[str, Any] = {"@context": CONTEXT, "type": "Annotation", "motivation": "identifying", "target": target}
    if evidence.captured_at:
        data["created"] = evidence.captured_at
    return {**data, "id": evidence.id} if evidence.id else data


def evidence_from_annotation(data: Any, at: Wrong | None = None) -> Evidence:
    """The evidence that an annotation points to, if its source is named by a digest.

    Raises:
        SpecError: it is no such annotation.
    """
    target = data.get("target") if isinstance(data, dict) else None
    if not isinstance(target, dict):
        return evidence_from(data, at)  # says what is missing
    source, selector = target.get("source"), target.get("selector")
    digest = source.removeprefix(_SOURCE) if isinstance(source, str) else source
    fields = {
        "id": data.get("id"),
        "digest": digest,
        "media": target.get("format"),
        "captured_at": data.get("created"),
        "selectors": selector if isinstance(selector, list) else [selector],
    }
    return evidence_from({key: value for key, value in fields.items() if value is not None}, at)


def _selector(selector: Selector) -> dict[str, Any]:
    if isinstance(selector, TextSelector):
        return {"type": "TextPositionSelector", "start": selector.start, "end": selector.end}
    if isinstance(selector, QuoteSelector):
        return {**selector_data(selector), "type": "TextQuoteSelector"}
    if isinstance(selector, LineSelector):
        return _fragment("5147", f"line={selector.first - 1},{selector.last}")
    if isinstance(selector, CsvSelector) and selector.dialect == CsvDialect() and not isinstance(selector.col, str):
        place = f"row={selector.row}" if selector.col is None else f"cell={selector.row},{selector.col}"
        return _fragment("7111", place)
    if isinstance(selector, JsonSelector):
        return _fragment("6901", selector.pointer)
    if isinstance(selector, PageSelector) and selector.last is None:
        return _fragment("8118", f"page={selector.page}")
    return selector_data(selector)


def _fragment(rfc: str, value: str) -> dict[str, Any]:
    return {"type": "FragmentSelector", "conformsTo": _RFC + rfc, "value": value}
