"""Does the name of a column, a label or a key say what is wanted? And can it hold what an item is called?

Names are compared as sets of words after N, without plural s; words for one property (received, delivered) are one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from dissensus.decide.dispute.amounts import NAMED, stem, words_of
from dissensus.decide.dispute.bearing import Measures
from dissensus.decide.dispute.claims import Claim
from dissensus.decide.dispute.normalise import normal
from dissensus.decide.dispute.parsing import claim_from
from dissensus.decide.dispute.subjects import subject_of
from dissensus.decide.dispute.topics import families, same_property
from dissensus.decide.swarm.work import Wanted

NAME, PROPERTY, PART, UNIT, TOTAL, NONE = range(6)
"""How well a name fits, the best first: it is the name, it names the property (and what counts nothing), it names a
part of it, it names only what is counted, it is a total of the unit that is wanted. ``NONE``: nothing fits."""


def set_of(text: str) -> frozenset[str]:
    """The words of a list, for constants."""
    return frozenset(text.split())


MEASURES: Final = Measures()
NOUNS: Final = (NAMED - frozenset(["line", "page", "row", "item", "position", "pos", "customer", "supplier"])) | {
    *("po", "purchase", "receipt", "asn", "sku", "case", "job", "project", "auftrag", "item", "code", "key"),
}
"""Words that stand before, or name the column of, what things are called."""
STOPS: Final = set_of("the a an of in on at by per for all actual actually we was were has have been is are")
FILLING: Final = STOPS | set_of("total sum overall altogether qty quantity count amount")
_COUNTED: Final = frozenset(["number", "no", "nr"])
MEASURING: Final = set_of(
    "qty quantity count amount total sum value price cost weight size length width height volume net gross tax vat"
    " date time day year month"
)
COUNTABLE: Final = set_of(
    "pcs piece box carton pallet crate drum sack bag roll barrel bottle bale bundle reel tray bucket keg jar case pack"
)
"""What is counted in whole numbers."""
_NOT_ALL: Final = frozenset(["lacking", "broken", "back"])
"""Properties of a part of what came: a plain number of pallets is none of them."""
_DIGITS: Final = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class Asked:
    """One thing that is wanted of one item.

    Args:
        item: how the item is called.
        wanted: what is wanted.
        claim: the claim without its value.
        ids: what stands for the item in a field: its name, its subject, and its identifier if it has one.
        words: words of the property and of its unit.
    """

    item: str
    wanted: Wanted
    claim: Claim
    ids: frozenset[str]
    words: frozenset[str]

    @classmethod
    def of(cls, item: str, wanted: Wanted) -> Asked:
        """What is asked. Raises :class:`~dissensus.errors.SpecError` for a time that is none."""
        claim = claim_from(wanted.about(item), name="claim")
        name, subject = normal(item).strip(), subject_of(claim)
        ids = {name, normal(claim.subject or "").strip(), *(subject.ids if len(subject.ids) == 1 else ())}
        words = words_of(claim.attribute or "") | ({stem(claim.unit)} if claim.unit else set())
        return cls(item, wanted, claim, frozenset(ids), words)

    @property
    def nouns(self) -> frozenset[str]:
        """The words of the subject that are not the item: ``order`` of ``order 4711``."""
        return subject_of(self.claim).words - words_of(self.item)

    def is_item(self, text: str) -> bool:
        """Whether a field holds the item and nothing else."""
        return normal(text).strip().lstrip("#").strip() in self.ids


def fit(name: str, asked: Asked, unit: str = "") -> int:
    """How well ``name`` fits what is wanted; ``unit`` is what stands beside the number."""
    words = words_of(name)
    if any(normal(name).strip() == normal(one).strip() or (words and words == words_of(one)) for one in _names(asked)):
        return NAME
    counted = words & _COUNTED if "of" in words else frozenset()
    left = words - (asked.nouns - asked.words) - counted - (FILLING - asked.words)
    if not left:
        known = stem(unit) in asked.words if asked.claim.unit else unit in COUNTABLE
        return TOTAL if known and not families(asked.words) & _NOT_ALL else NONE
    mine, theirs = terms(words_of(asked.claim.attribute or "")), terms(left)
    if mine <= theirs and theirs - mine <= MEASURES.names:
        return PROPERTY
    if left <= NOUNS - asked.words or (not left & asked.words and not families(left) & families(asked.words)):
        return NONE
    if theirs - terms(asked.words) - MEASURES.names or same_property(asked.claim, left) == "no":
        return NONE
    if families(left):
        return PART
    return NONE if families(asked.words) & _NOT_ALL else UNIT


def _names(asked: Asked) -> tuple[str, ...]:
    return (asked.claim.attribute or "", *(name.replace("{item}", asked.item) for name in asked.wanted.names))


def terms(words: frozenset[str]) -> frozenset[str]:
    """Words, those of one property under one name."""
    return frozenset(f"@{name}" for word in words for name in families(frozenset([word])) or ()) | frozenset(
        word for word in words if not families(frozenset([word]))
    )


def may_name(name: str, asked: Asked) -> bool | None:
    """Whether a column or key may hold what the item is called; None if nothing tells."""
    words = words_of(name)
    if words & asked.nouns and words <= asked.nouns | NOUNS:
        return True
    if words and words <= NOUNS:
        return True
    if words & (MEASURING | MEASURES.names) or fit(name, asked) != NONE:
        return False
    return None


def by_noun(name: str, asked: Asked) -> bool:
    """Whether a column or key is called like the subject itself: ``order_no`` for ``order 4711``."""
    words = words_of(name)
    return bool(words & asked.nouns) and words <= asked.nouns | NOUNS


def form(identifier: str) -> str:
    """What identifiers of one kind have in common: letters and signs, each run of digits as one 0."""
    return _DIGITS.sub("0", normal(identifier).strip())
