"""A case as it is worked on: sources opened, evidence reopened, equal reports merged, contradictions found.

Nothing here reads words, names, confidence or order: claims are sorted and told apart by what they say and cite.
Equal claims on the same evidence are one claim, however many reports there are; so are copies of one text.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from fractions import Fraction
from functools import cached_property, lru_cache
from hashlib import sha256
from typing import Any, Literal

from dissensus.answers.rationals import plain_text
from dissensus.decide.dispute import jcs
from dissensus.decide.dispute.amounts import amounts_in, stem
from dissensus.decide.dispute.bearing import Measures, Reading
from dissensus.decide.dispute.case import Case, Pinned
from dissensus.decide.dispute.checkers import Checked
from dissensus.decide.dispute.citations import Citation
from dissensus.decide.dispute.claims import Claim
from dissensus.decide.dispute.comparing import Comparison, Edge, Graph, contradictions
from dissensus.decide.dispute.evidence import Evidence, Live, Reopened, Selector
from dissensus.decide.dispute.normalise import normal
from dissensus.decide.dispute.origins import Origin, origins
from dissensus.decide.dispute.reopening import LiveCopy, reopen
from dissensus.decide.dispute.selector_data import selector_data
from dissensus.decide.dispute.sources import Source
from dissensus.decide.dispute.units import Conversion
from dissensus.decide.dispute.values import Value

Stand = Literal["standing", "incomplete", "fallen"]
_FIRST = "R0"
_KEPT = 8
"""Sources that stay open: cases of one batch cite the same tables, and opening one reads all of it."""


@dataclass(slots=True)
class Item:
    """An item of evidence of one claim.

    Args:
        name: its id, or the claim's and a number.
        evidence: as it was cited.
        reopened: what came of reopening it.
        source: its bytes; None if there are none.
        content: SHA-256 of the source's text after N, of copies that of the original; the digest if it is no text.
        reading: what it says about the claim; None as long as nobody has read it.
        void: the rule by which it is void; "" if it is not.
        why: why it is.
    """

    name: str
    evidence: Evidence
    reopened: Reopened
    source: Source | None
    content: str
    reading: Reading | None = None
    void: str = ""
    why: str = ""

    @property
    def usable(self) -> bool:
        """Whether it may still decide."""
        return self.reopened.settles and not self.void

    @property
    def says(self) -> str:
        """What stands there, after N; of an item that was not found, what was claimed to."""
        return normal(self.reopened.text if self.reopened.text is not None else self.evidence.quote)

    @property
    def selector(self) -> Selector | None:
        """Where it stands; where it was said to, if it was not found."""
        return self.reopened.selector or next(iter(self.evidence.selectors), None)

    @property
    def captured(self) -> tuple[bool, str]:
        """Of copies, the original comes first."""
        return captured(self.evidence)

    def order(self) -> tuple[str, str, str]:
        """A place in the order of items that depends on the bytes alone."""
        return self.evidence.digest, _selectors(self.evidence), self.evidence.quote


@dataclass(slots=True)
class Weighed:
    """A claim with what became of it.

    Args:
        claim: the claim; of equal ones, the one with the shortest id.
        ids: of all reports that say the same on the same evidence.
        items: its evidence, copies included, originals first.
        parts: the claims that it is made of; of a SEQ, in its order.
        stand: whether it stands.
        rule: the rule by which it does not.
        why: the reason.
        checked: what checkers found out.
        decided: of a claim that falls, the lines that decided.
        by_parts: it goes back because parts of it do.
    """

    claim: Claim
    ids: tuple[str, ...]
    items: list[Item]
    parts: list[Weighed] = field(default_factory=list)
    stand: Stand = "standing"
    rule: str = ""
    why: str = ""
    checked: list[Checked] = field(default_factory=list)
    decided: list[Citation] = field(default_factory=list)
    by_parts: bool = False

    @property
    def name(self) -> str:
        """The id under which it is cited."""
        return self.claim.id

    def usable(self) -> list[Item]:
        """Its items that may decide, those of its parts included."""
        found = [item for item in self.items if item.usable]
        return found + [item for part in self.parts for item in part.usable()]

    def supported(self) -> bool:
        """Whether evidence that may decide says what it says."""
        if any(item.usable and item.reading is not None and item.reading.bears == "yes" for item in self.items):
            return True
        if any(one.verdict == "holds" for one in self.checked) and not self.parts:
            return bool(self.usable())
        if self.claim.kind == "OR":
            return any(part.stand == "standing" and part.supported() for part in self.parts)
        whole = self.claim.kind != "CALC" or any(one.verdict == "holds" for one in self.checked)
        return bool(self.parts) and whole and all(part.stand == "standing" and part.supported() for part in self.parts)

    def fall(self, rule: str, why: str) -> None:
        """It does not stand."""
        self.stand, self.rule, self.why = "fallen", rule, why

    def give_back(self, why: str) -> None:
        """It goes back to its author, and is not weighed."""
        self.stand, self.rule, self.why = "incomplete", _FIRST, why


class Docket:
    """A case, opened.

    Args:
        case: the case.
    """

    def __init__(self, case: Case) -> None:
        self.case = case
        self.sources = {digest: source_of(pinned) for digest, pinned in sorted(case.sources.items())}
        self._contents: dict[str, str] = self._of_originals()
        self.measures = Measures(tuple(self._conversions()))
        self.claims = self._merged()
        self.reruns: dict[str, str] = {}
        self._heard: dict[tuple[int, int], Comparison] = {}

    @cached_property
    def graph(self) -> Graph:
        """Which claims contradict each other; places in :attr:`claims`."""
        claims = [one.claim for one in self.claims]
        return contradictions(claims, self.measures.units, heard=self._heard, kin=frozenset(self._kin()))

    def _kin(self) -> Iterator[tuple[int, int]]:
        """Pairs of places, the lower first, of which the one claim is a part of the other, or of a part of it."""
        places = {one.name: place for place, one in enumerate(self.claims)}
        for place, one in enumerate(self.claims):
            below = list(one.parts)
            while below:
                part = below.pop()
                below += part.parts
                yield min(place, places[part.name]), max(place, places[part.name])

    def unheard(self) -> list[tuple[Weighed, Weighed]]:
        """The pairs that stand and that only a model can compare, and none has."""
        pairs = [(edge.first, edge.second) for edge in self.graph.incomparable]
        found = [(self.claims[pair[0]], self.claims[pair[1]]) for pair in pairs if pair not in self._heard]
        free = [pair for pair in found if any(one.claim.subject is None for one in pair)]
        return [pair for pair in free if all(one.stand == "standing" for one in pair)]

    def hear(self, one: Weighed, other: Weighed, said: Comparison) -> None:
        """Take in what a model says of two claims."""
        first, second = sorted(n for n, each in enumerate(self.claims) if each.name in (one.name, other.name))
        self._heard[first, second] = said
        self.__dict__.pop("graph", None)
        self.__dict__.pop("rivals", None)

    def by_word(self) -> list[str]:
        """The models by whose word claims that stand contradict each other."""
        edges = zip(self.graph.contradictions, self.pairs(), strict=True)
        models = {edge.comparison.model for edge, pair in edges if all(one.stand == "standing" for one in pair)}
        return sorted(models - {""})

    @cached_property
    def origins(self) -> tuple[Origin, ...]:
        """Which cited sources are copies of one another."""
        return origins([item for claim in self.case.claims for item in claim.evidence], self.sources)

    def origin_of(self, digest: str) -> str:
        """The origin of a source: the lowest digest of its copies."""
        return next((origin.id for origin in self.origins if digest in origin.digests), digest)

    def content_of(self, digest: str) -> str:
        """What a source shares with its copies."""
        if digest not in self._contents:
            self._contents[digest] = content_of(self.sources.get(digest), digest)
        return self._contents[digest]

    def _of_originals(self) -> dict[str, str]:
        """The content of each cited source; of copies that of the original, so that one more of them changes nothing.

        The original is not declared a copy, was captured first, has the lowest digest: what tells it first counts.
        """
        first: dict[str, tuple[bool, str]] = {}
        for item in (item for claim in self.case.claims for item in claim.evidence):
            first[item.digest] = min(captured(item), first.get(item.digest, (True, "~~")))
        found: dict[str, str] = {}
        for origin in self.origins:
            original = min(origin.digests, key=lambda digest: (first[digest], digest))
            content = content_of(self.sources.get(original), original)
            found |= dict.fromkeys(origin.digests, content)
        return found

    def live(self, evidence: Evidence) -> LiveCopy | Live:
        """What lay where an item was captured from when the case was opened."""
        found = self.case.live.get(evidence.live_ref or "")
        if found is None or found in ("GONE", "NOT_CHECKED"):
            return "GONE" if found == "GONE" else "NOT_CHECKED"
        return LiveCopy(found)

    def pairs(self, edges: tuple[Edge, ...] | None = None) -> list[tuple[Weighed, Weighed]]:
        """The claims of some edges of the graph; of the contradictions, if none are given."""
        edges = self.graph.contradictions if edges is None else edges
        return [(self.claims[edge.first], self.claims[edge.second]) for edge in edges]

    @cached_property
    def rivals(self) -> dict[str, frozenset[str]]:
        """For each claim that contradicts others, their names."""
        found: dict[str, set[str]] = {}
        for one, other in self.pairs():
            found.setdefault(one.name, set()).add(other.name)
            found.setdefault(other.name, set()).add(one.name)
        return {name: frozenset(names) for name, names in found.items()}

    def contest(self) -> list[tuple[Weighed, Weighed]]:
        """Pairs that contradict each other and both stand."""
        return [(one, other) for one, other in self.pairs() if one.stand == other.stand == "standing"]

    def item(self, evidence: Evidence, name: str) -> Item:
        """An item of evidence, reopened."""
        source = self.sources.get(evidence.digest)
        found = reopen(evidence, self.sources, self.live)
        return Item(name, evidence, found, source, self.content_of(evidence.digest))

    def _conversions(self) -> Iterator[Conversion]:
        """The declared conversions whose evidence holds the factor; the others do not count."""
        for number, size in enumerate(self.case.pack_sizes, 1):
            names = []
            for n, evidence in enumerate(sorted(size.evidence, key=_selectors), 1):
                item = self.item(evidence, evidence.id or f"units/{number}/{n}")
                if item.usable and not item.reopened.cut and _states(item.reopened, Fraction(size.factor)):
                    names.append(item.name)
            if names:
                yield Conversion(size.unit, size.factor, size.of, tuple(names), size.subject)

    def _merged(self) -> list[Weighed]:
        """The claims, equal ones merged, in an order that depends on what they say and cite alone."""
        by_id = {claim.id: claim for claim in self.case.claims}
        opened = {
            claim.id: sorted((self.item(evidence, "") for evidence in claim.evidence), key=Item.order)
            for claim in self.case.claims
        }
        groups: dict[bytes, list[Claim]] = {}
        for claim in self.case.claims:
            groups.setdefault(jcs.canonical(_said_and_cited(claim, by_id, opened)), []).append(claim)
        found: list[Weighed] = []
        for _, claims in sorted(groups.items()):
            claims.sort(key=lambda claim: (len(claim.id), claim.id))
            items: list[Item] = []
            seen: set[tuple[str, str, str]] = set()
            for item in (item for claim in claims for item in opened[claim.id]):
                if item.order() not in seen:
                    seen.add(item.order())
                    items.append(item)
            # originals first, so that a copy that comes later changes no name and is not what is cited
            items.sort(key=lambda item: (item.captured, item.order()))
            for number, item in enumerate(items, 1):
                item.name = item.evidence.id or f"{claims[0].id}/{number}"
            found.append(Weighed(claims[0], tuple(claim.id for claim in claims), items))
        for one in found:
            children = one.claim.children
            one.parts = [part for part in found if set(part.ids) & set(children)] if children else []
            if one.claim.kind == "SEQ":
                one.parts.sort(key=lambda part: min(children.index(name) for name in part.ids if name in children))
        return found


@lru_cache(maxsize=_KEPT)
def source_of(pinned: Pinned) -> Source:
    """The source in pinned bytes. What is no base64 is no bytes, which shows when the digest is looked at."""
    if pinned.text is not None:
        data = pinned.text.encode("utf-8", "surrogatepass")
    else:
        try:
            data = base64.b64decode(pinned.base64 or "", validate=True)
        except binascii.Error:
            data = b""
    return Source(data, pinned.media, pinned.pages)


def captured(evidence: Evidence) -> tuple[bool, str]:
    """Whether it is declared a copy, and when it was captured: of copies, the original has the least of these."""
    return evidence.origin not in (None, evidence.digest), evidence.captured_at or "~"


def content_of(source: Source | None, digest: str) -> str:
    """What copies of one text share; of what is no text, the digest."""
    return digest if source is None or source.digest != digest else source.content


def _said_and_cited(claim: Claim, by_id: Mapping[str, Claim], opened: Mapping[str, list[Item]]) -> list[Any]:
    """What a claim says and cites, its parts included: what is equal in this is one claim."""
    cited = sorted({(item.content, item.says, item.reopened.result) for item in opened[claim.id]})
    parts = [_said_and_cited(by_id[child], by_id, opened) for child in claim.children if child in by_id]
    if claim.kind != "SEQ":
        parts.sort(key=jcs.canonical)
    return [typed(claim, by_id), cited, parts]


def typed(claim: Claim, by_id: Mapping[str, Claim]) -> dict[str, Any]:
    """What a claim says, as JSON data: equal claims give equal data, however they were written and by whom."""
    parts = [typed(by_id[child], by_id) for child in claim.children if child in by_id]
    if claim.kind != "SEQ":  # whose steps have an order
        parts.sort(key=jcs.canonical)
    number = claim.value.number if claim.value is not None else None
    said: dict[str, Any] = {
        "subject": None if claim.subject is None else normal(claim.subject).strip(),
        "attribute": None if claim.attribute is None else normal(claim.attribute).strip(),
        "value": None if claim.value is None else _value(claim.value),
        "unit": None if claim.unit is None or number is None else stem(claim.unit),
        "as_of": None if claim.as_of is None else [_moment(claim.as_of.start), _moment(claim.as_of.end)],
        "tolerance": plain_text(Fraction(claim.tolerance or 0)),
        "kind": claim.kind,
        "parts": parts,
    }
    if claim.subject is None:  # free words: they tell such claims apart, and no rule reads them
        said["words"] = sha256(normal(claim.text).strip().encode("utf-8", "surrogatepass")).hexdigest()
    return said


def _value(value: Value) -> list[Any]:
    if value.number is not None:
        return ["number", plain_text(Fraction(value.number))]
    if isinstance(value.value, frozenset):
        return ["set", sorted(normal(text).strip() for text in value.value)]
    if isinstance(value.value, date):
        return ["date", value.value.isoformat()]
    if isinstance(value.value, bool):
        return ["boolean", value.value]
    return ["text", normal(str(value.value)).strip()]


def _moment(moment: datetime | None) -> str | None:
    return None if moment is None else moment.astimezone(UTC).isoformat()


def _selectors(evidence: Evidence) -> str:
    data = [selector_data(selector) for selector in evidence.selectors]
    return json.dumps([evidence.digest, data, evidence.quote], sort_keys=True)


def _states(reopened: Reopened, factor: Fraction) -> bool:
    return any(amount.value == factor for amount in amounts_in(reopened.text or "").found)
