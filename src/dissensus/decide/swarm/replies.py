"""What an agent or a program answers with about one item: the form that is asked for, and how an answer is read.

::

    {"claims": [{"attribute": "pallets received", "value": 9, "evidence": [{"source": "log.csv", "quote": "B1,9"}]}]}
    {"none": "the sources do not name the item"}

An agent's answer is read tolerantly: prose around it, a claim without the list, a list that breaks off. A program's
output is one such document, or lines of one claim each, and nothing else.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from dissensus.decide.dispute.parsing import exact_json
from dissensus.decide.swarm.showing import Shown
from dissensus.decide.swarm.work import Wanted
from dissensus.script.actions import objects_in

LONGEST: Final = 200_000
"""Most characters of an answer that are read."""
_MOST_CITED: Final = 20
_TEXT: Final[dict[str, object]] = {"type": "string"}


@dataclass(frozen=True, slots=True)
class Document:
    """An answer, as data that nobody has looked at yet.

    Args:
        claims: what it claims.
        none: why it claims nothing; "" if it claims something.
        besides: what else stands in it: other keys, and the words around it. It weighs nothing.
        problem: why it is no answer; "" if it is one.
        cut: what of it was not read, in a sentence; "" if all was.
    """

    claims: tuple[Any, ...] = ()
    none: str = ""
    besides: str = ""
    problem: str = ""
    cut: str = ""


def answer_schema(wanted: Sequence[Wanted], shown: Shown) -> dict[str, object]:
    """JSON schema of an answer, for models that can be held to one.

    Only what is wanted can be claimed, and of a source that is short one of its lines has to be quoted: small models
    cannot copy. It is an object with both keys, since some servers take no choice at the top.
    """
    claims = {**_list([_claim(one, shown) for one in wanted], len(wanted) if shown.labels else 0), "minItems": 0}
    return _closed({"claims": claims, "none": {"type": ["string", "null"]}})


def _claim(wanted: Wanted, shown: Shown) -> dict[str, object]:
    cited = [
        _closed(
            {"source": {"const": label}, "quote": {"enum": list(lines)} if (lines := shown.lines.get(label)) else _TEXT}
        )
        for label in shown.labels
    ] or [_closed({"source": _TEXT, "quote": _TEXT})]
    claim: dict[str, object] = {
        "attribute": {"const": wanted.attribute},
        "value": {"type": "number"} if wanted.unit else {"anyOf": [{"type": "number"}, _TEXT]},
        "evidence": _list(cited, _most(shown)),
    }
    return _closed(claim if wanted.as_of else {**claim, "as_of": _TEXT})


def _most(shown: Shown) -> int:
    """Most items of evidence: as many as there are lines to choose from."""
    lines = sum(map(len, shown.lines.values()))
    return min(lines, _MOST_CITED) if shown.lines.keys() == shown.labels.keys() else _MOST_CITED


def _list(forms: list[dict[str, object]], most: int) -> dict[str, object]:
    items: dict[str, object] = forms[0] if len(forms) == 1 else {"anyOf": forms}
    return {"type": "array", "minItems": 1, "maxItems": most, "items": items}


def _closed(properties: dict[str, object]) -> dict[str, object]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def document_in(text: str) -> Document:
    """The answer in an agent's message. Total: what holds none has a ``problem``."""
    read = text[:LONGEST]
    found = list(objects_in(read))
    chosen = next((one for one in found if "claims" in one or "none" in one), None)
    if chosen is not None:
        document = _document(chosen)
    elif bare := tuple(one for one in found if "value" in one):
        document = Document(bare)
    elif "{" in read:
        document = Document(problem="The reply holds no JSON object with `claims` or `none` that can be read.")
    else:
        document = Document(problem="The reply holds no JSON object.")
    cut = f"Only the first {LONGEST} of {len(text)} characters were read." if len(text) > LONGEST else ""
    return Document(document.claims, document.none, _besides(document.besides, read), document.problem, cut)


def document_of(output: str) -> Document:
    """The answer in a program's output. Total: what is none has a ``problem``."""
    try:
        return _of_program(exact_json(output))
    except RecursionError:
        return Document(problem="Its output is nested too deep.")
    except ValueError as problem:
        lines = [line for line in output.splitlines() if line.strip()]
        if len(lines) < 2:
            return Document(problem=f"Its output is no JSON: {_brief(problem)}.")
    claims: list[Any] = []
    for number, line in enumerate(lines, 1):
        try:
            claims.append(exact_json(line))
        except RecursionError:
            return Document(problem=f"Line {number} of its output is nested too deep.")
        except ValueError as problem:
            return Document(problem=f"Line {number} of its output is no JSON: {_brief(problem)}.")
    return Document(tuple(claims))


def _of_program(data: Any) -> Document:
    if isinstance(data, list):
        return _document({"claims": data})
    if not isinstance(data, Mapping):
        return Document(problem="Its output is neither an object nor a list.")
    if "claims" not in data and "none" not in data:
        return Document((data,))
    return _document(data)


def _document(data: Mapping[str, Any]) -> Document:
    claims, none = data.get("claims"), data.get("none")
    rest = {key: value for key, value in data.items() if key not in ("claims", "none")}
    besides = in_words(rest) if rest else ""
    if isinstance(claims, Mapping):
        claims = [claims]
    if isinstance(claims, list) and claims:
        why = in_words(none) if none not in (None, "") else ""
        return Document(tuple(claims), besides=" ".join(part for part in (besides, why) if part))
    if claims is not None and not isinstance(claims, list):
        return Document(besides=besides, problem="`claims` is no list.")
    if none is None and claims is None:
        return Document(besides=besides, problem="`none` does not say why.")
    why = none if isinstance(none, str) and none.strip() else "It reports nothing and does not say why."
    return Document(none=why, besides=besides)


def _besides(keys: str, text: str) -> str:
    """Other keys of the document, and the words before and after it."""
    first, last = text.find("{"), text.rfind("}")
    if first < 0 or last < first:
        return text.strip()
    words = f"{text[:first].rstrip('[ ')} {text[last + 1 :].lstrip('] ')}"
    plain = " ".join(words.replace("```json", " ").replace("```", " ").split())
    return " ".join(part for part in (keys, plain) if part)


def in_words(data: Any, most: int = LONGEST) -> str:
    """Data from outside as one text: a text as it is, anything else as JSON; at most ``most`` characters of it."""
    if isinstance(data, str):
        return str(data) if len(data) <= most else f"{data[:most]} … (cut)"
    try:
        text = json.dumps(data, ensure_ascii=False, default=str)
    except (ValueError, RecursionError):
        text = "(nested too deep to be shown)"
    return text if len(text) <= most else f"{text[:most]} … (cut)"


def _brief(problem: ValueError) -> str:
    return str(problem)[:100].rstrip(".")
