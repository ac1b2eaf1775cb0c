"""The wrappers in which OpenTelemetry spans lie, and the ways in which their attributes are written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from dissensus.say.readers.entries import rows, table, text

_IDS = ("span_id", "spanId", "spanID", "context.span_id")


def spans_of(value: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Each span in one JSON object, and its place there: OTLP, a list under ``data`` or ``spans``, or itself."""
    for outer in ("resourceSpans", "resource_spans"):
        for i, resource in enumerate(rows(value.get(outer))):
            for middle in ("scopeSpans", "scope_spans", "instrumentationLibrarySpans"):
                for j, scope in enumerate(rows(table(resource).get(middle))):
                    for k, span in enumerate(rows(table(scope).get("spans"))):
                        yield f"{outer}[{i}].{middle}[{j}].spans[{k}]", span
    if any(outer in value for outer in ("resourceSpans", "resource_spans")):
        return
    if is_span(value):
        yield "", value
        return
    for outer in ("data", "spans"):
        for i, item in enumerate(rows(value.get(outer))):
            inner = table(item).get("spans")  # Jaeger: traces with spans
            if isinstance(inner, list) and not is_span(item):
                for j, span in enumerate(inner):
                    yield f"{outer}[{i}].spans[{j}]", span
            else:
                yield f"{outer}[{i}]", item


def is_span(value: Mapping[str, Any]) -> bool:
    """Whether an object has the id of a span, at the top or in its ``context``."""
    context = table(value.get("context"))
    return any(text(value.get(name)) or text(context.get(name)) for name in _IDS)


def attributes(value: Mapping[str, Any]) -> dict[str, Any]:
    """The attributes of a span by name; values are plain."""
    found = value.get("attributes", value.get("tags", value.get("Attributes")))
    if isinstance(found, dict):
        return found
    if isinstance(found, list):  # OTLP: key and typed value; Jaeger: key and plain value
        return {text(table(item).get("key")): _plain(table(item).get("value")) for item in found}
    return {key.removeprefix("attributes."): one for key, one in value.items() if key.startswith("attributes.")}


def attribute(found: Mapping[str, Any], name: str) -> Any:
    """One attribute, written ``a.b.c`` or as objects in objects; None if there is none."""
    if name in found:
        return found[name]
    here: Any = found
    for part in name.split("."):
        if not isinstance(here, dict) or part not in here:
            return None
        here = here[part]
    return None if isinstance(here, dict) else here


def _plain(value: Any, depth: int = 0) -> Any:
    """The value of OTLP's ``{"stringValue": …}``; deeper than any attribute it is left as it is."""
    if not isinstance(value, dict) or len(value) != 1 or depth > 16:
        return value
    ((kind, inner),) = value.items()
    if kind in {"intValue", "int_value"}:
        return int(inner) if isinstance(inner, str) and inner.lstrip("-").isdecimal() and len(inner) < 20 else inner
    if kind in {"arrayValue", "array_value"}:
        return [_plain(item, depth + 1) for item in rows(table(inner).get("values"))]
    if kind in {"kvlistValue", "kvlist_value"}:
        pairs = rows(table(inner).get("values"))
        return {text(table(one).get("key")): _plain(table(one).get("value"), depth + 1) for one in pairs}
    return inner if kind.lower().replace("_", "").endswith("value") else value
