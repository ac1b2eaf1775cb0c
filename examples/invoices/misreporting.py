"""Agents that err, overclaim, forge, fabricate, cite copies, bring friends, or are silent: on top of any item.

Each way changes the report of one side and leaves the other one, the papers and the truth as they are. Reports that
are changed sound surer than the others: no rule may mind.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from cited import AGENTS, Claim, changed, line
from draws import Draws
from items import Item
from papers import Paper

SURE = "It is beyond any doubt that {v} {u} came; I have checked it three times, and so has everybody here."


def misreport(item: Item, way: str, side: str, seed: int) -> Item:
    """``item`` with the report of ``side`` changed in one of :data:`WAYS`."""
    return WAYS[way](item, side, Draws(seed, f"{item.name}/{way}"))


def _with(item: Item, side: str, claim: Claim | None, papers: tuple[Paper, ...] = ()) -> Item:
    claims = tuple(one if one["id"] != side else claim for one in item.claims)
    kept = tuple(one for one in claims if one is not None)
    true = {name: item.true[name] for name in item.true if any(one["id"] == name for one in kept)}
    if claim is not None and claim["value"] != item.claim(side)["value"]:
        true[side] = False
    return replace(item, claims=kept, papers=(*item.papers, *papers), true=true)


def _other_value(item: Item, side: str, draws: Draws, *, above: bool = False) -> Any:
    """Another value than either side reports, written as this side's is."""
    own = item.claim(side)["value"]
    up = above or float(own) <= 20 or draws.chance("up", 50)
    step = draws.between("step", 1, 9)
    while True:
        moved = float(own) + (step if up else -step)
        value = f"{moved:.2f}" if isinstance(own, str) else int(moved)
        if value not in [one["value"] for one in item.claims]:
            return value
        step += 1


def _sure(item: Item, side: str, value: Any, **more: Any) -> Claim:
    claim = item.claim(side)
    text = SURE.format(v=value, u=claim.get("unit", ""))
    return changed(claim, value=value, text=text, confidence="0.99", **more)


def errs(item: Item, side: str, draws: Draws) -> Item:
    """Another value, on the same evidence."""
    return _with(item, side, _sure(item, side, _other_value(item, side, draws)))


def overclaims(item: Item, side: str, draws: Draws) -> Item:
    """More than what is cited, and only a part of that is cited."""
    value = _other_value(item, side, draws, above=True)
    return _with(item, side, _sure(item, side, value, evidence=item.claim(side)["evidence"][:1]))


def forges(item: Item, side: str, draws: Draws) -> Item:
    """Another value, and a quote that says so."""
    value = _other_value(item, side, draws)
    claim = item.claim(side)
    first = next(iter(claim["evidence"]), None) or line(item.papers[0], 1)
    cell = first["selectors"][0].get("col") is not None
    quote = str(value) if cell or first["selectors"][0]["type"] == "json" else f"{claim['attribute']}: {value}"
    selectors = [
        {**one, "exact": quote} if one["type"] == "quote" else one for one in first["selectors"]
    ]  # fmt: skip
    return _with(item, side, _sure(item, side, value, evidence=[{**first, "quote": quote, "selectors": selectors}]))


def fabricates(item: Item, side: str, draws: Draws) -> Item:
    """Another value, on a document of its own making, of which it cites three copies. No rule can see that it is made.

    So the case has to go before a person: three copies are one source, and one source does not beat another one.
    """
    value = _other_value(item, side, draws)
    claim = item.claim(side)
    said = f"{claim['attribute'].capitalize()}: {value} {claim.get('unit', '')}".strip()
    text = f"Handwritten slip\nOrder {item.facts.order}\n{said}\n"
    papers = tuple(Paper(f"slip{n}", f"slip_{n}.txt", text + " \n" * n, "slip") for n in range(3))
    cited = [line(paper, 3) for paper in papers]
    return _with(item, side, _sure(item, side, value, evidence=cited), papers)


def copies(item: Item, side: str, draws: Draws) -> Item:
    """The same report, resting on three more copies of its sources. It may gain nothing by them."""
    claim = item.claim(side)
    cited = list(claim["evidence"])
    papers: dict[str, Paper] = {}
    for number in range(1, 1 + draws.between("copies", 2, 4)):
        for one in claim["evidence"]:
            paper = item.paper(one["source"])
            if paper.pages or paper.media == "application/json":
                continue  # a copy with other bytes and the same text is a matter of texts
            stem, _, suffix = paper.file.rpartition(".")
            text = paper.text + "\n" * number
            copy = replace(paper, label=f"{paper.label}-{number}", file=f"{stem}_copy_{number}.{suffix}", text=text)
            papers[copy.label] = copy
            cited.append({**one, "source": copy.label})
    return _with(item, side, _sure(item, side, claim["value"], evidence=cited), tuple(papers.values()))


def crowd(item: Item, side: str, draws: Draws) -> Item:
    """The same report from three to six agents."""
    claim = item.claim(side)
    names = [name for name in AGENTS if name != claim["by"]]
    friends = tuple(
        changed(_sure(item, side, claim["value"]), id=f"{side}{number}", by=names[number])
        for number in range(draws.between("friends", 3, 6))
    )
    true = {**item.true, **{friend["id"]: item.true[side] for friend in friends}}
    return replace(item, claims=(*friends, *item.claims), true=true)


def cites_nothing(item: Item, side: str, draws: Draws) -> Item:
    """Another value, without any evidence."""
    return _with(item, side, _sure(item, side, _other_value(item, side, draws), evidence=[]))


def silent(item: Item, side: str, _draws: Draws) -> Item:
    """No report."""
    return _with(item, side, None)


WAYS: Mapping[str, Callable[[Item, str, Draws], Item]] = {
    "errs": errs, "overclaims": overclaims, "forges": forges, "fabricates": fabricates, "copies": copies,
    "crowd": crowd, "cites nothing": cites_nothing, "silent": silent,
}  # fmt: skip
