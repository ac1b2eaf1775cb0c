"""What a verifier is given: a pure function of claims and evidence, as canonical bytes, whose hash is on the record.

Not in it: prose, names, confidence, scratchpads, order of arrival, copies. A report that is made in another tone, by
another agent, or ten times, gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from dissensus.decide.dispute import jcs
from dissensus.decide.dispute.docket import Docket, Item, Weighed, typed
from dissensus.decide.dispute.selector_data import selector_data

VERIFIER: Final = "dissensus-verifier@1"
"""Id and version of what is asked, and how. Another one is another input."""
TASK: Final = "Which of these sources is wrong, and where? Both may be sound and differ."


@dataclass(frozen=True, slots=True)
class Manifest:
    """A verifier's input.

    Args:
        data: the claims and the evidence, as JSON data.
        items: label of each item of evidence to the item.
        claims: label of each claim to the claim.
    """

    data: Mapping[str, Any]
    items: Mapping[str, Item]
    claims: Mapping[str, Weighed]

    @property
    def bytes(self) -> bytes:
        """The canonical bytes (RFC 8785)."""
        return jcs.canonical(self.data)

    @property
    def sha256(self) -> str:
        """SHA-256 of the canonical bytes."""
        return jcs.digest_of(self.data)


def manifest_of(docket: Docket) -> Manifest:
    """What a verifier is given of a case: the claims that are weighed, with their evidence as it was reopened."""
    by_id = {claim.id: claim for claim in docket.case.claims}
    weighed = [one for one in docket.claims if one.stand != "incomplete"]
    chosen = {one.name: _without_copies(one.items) for one in weighed}
    keyed = {_key(item): item for items in chosen.values() for item in items}
    labels = {key: f"e{number}" for number, key in enumerate(sorted(keyed), 1)}
    claims = []
    for number, one in enumerate(weighed, 1):
        evidence = sorted((labels[_key(item)] for item in chosen[one.name]), key=lambda label: int(label[1:]))
        claims.append({"claim": f"c{number}", **typed(one.claim, by_id), "evidence": evidence})
    data = {
        "verifier": VERIFIER,
        "task": TASK,
        "claims": claims,
        "evidence": [{"evidence": label, **_item(keyed[key])} for key, label in labels.items()],
    }
    return Manifest(
        data,
        {label: keyed[key] for key, label in labels.items()},
        {f"c{number}": one for number, one in enumerate(weighed, 1)},
    )


def _without_copies(items: Iterable[Item]) -> list[Item]:
    """The items, of copies those of the original, and what only a copy says."""
    by_content: dict[str, dict[str, list[Item]]] = {}
    for item in items:
        by_content.setdefault(item.content, {}).setdefault(item.evidence.digest, []).append(item)
    kept: list[Item] = []
    for copies in by_content.values():
        said: set[str] = set()
        for digest in sorted(copies, key=lambda each: (copies[each][0].captured, each)):
            new = [item for item in copies[digest] if item.says not in said]
            said |= {item.says for item in new}
            kept += new
    return kept


def _key(item: Item) -> tuple[str, str, str, str]:
    data = None if item.selector is None else _small(selector_data(item.selector))
    return item.content, jcs.canonical(data).decode(), item.says, item.reopened.result


def _item(item: Item) -> dict[str, Any]:
    return {
        "source": item.content,
        "selector": None if item.selector is None else _small(selector_data(item.selector)),
        "says": item.says,
        "reopened": item.reopened.result,
    }


def _small(data: Any) -> Any:
    """Whole numbers beyond what canonical JSON holds, as texts."""
    if isinstance(data, Mapping):
        return {key: _small(value) for key, value in data.items()}
    return str(data) if isinstance(data, int) and not isinstance(data, bool) and abs(data) >= 2**53 else data
