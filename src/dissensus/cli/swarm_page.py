"""A swarm as one HTML page that needs no other file, no script and no network: the table, and each case."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING, Final

from dissensus.cli.inbox_page import POLICY, STYLE
from dissensus.cli.swarm_text import SAID, answer_of, caught_line, cell_line, cost_line, reported
from dissensus.decide.dispute.account import chapters

if TYPE_CHECKING:
    from dissensus.study.swarm.outcomes import ItemResult
    from dissensus.study.swarm.running import SwarmResult
    from dissensus.study.swarm.summary import Summary

_MORE: Final = """
summary { cursor: pointer; } details { border-top: 1px solid var(--line); padding: .4rem 0; }
details p { scroll-margin-top: 3rem; } h2 { margin-top: 2rem; }
.facts { width: auto; } .facts th { min-width: 13rem; } .facts td { padding-right: 2rem; } .how { white-space: nowrap; }
"""
_FACTS: Final = '<table class="facts">'


def page_of(found: SwarmResult) -> str:
    """The page. All text of others is escaped."""
    from dissensus.study.swarm.summary import summary_of

    summary = summary_of(found)
    name = escape(found.swarm.name)
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width,initial-scale=1">',
            f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">',
            f"<title>{name}</title><style>{STYLE}{_MORE}</style></head><body>",
            f"<h1>{name}: {summary.items:,} items</h1>",
            *_numbers(found, summary),
            "<h2>Items</h2>",
            *_items(found),
            "<h2>Cases</h2>",
            *(line for one in found.items for line in _case(one)),
            "</body></html>\n",
        ]
    )


def _numbers(found: SwarmResult, summary: Summary) -> Iterator[str]:
    yield _FACTS
    for outcome, count in summary.outcomes.items():
        if count:
            rules = ", ".join(f"{many} by {rule}" for rule, many in summary.rules.items())
            said = rules if outcome == "settled" and rules else SAID[outcome]
            yield _row(outcome, f"{count:,}", said)
    yield "</table><h3>Reports</h3>"
    yield _FACTS
    for reader in summary.readers:
        silent = "; ".join(f"{count} x {reason}" for reason, count in reader.silent)
        said = f"{reader.reported:,} of {reader.read:,}"
        yield _row(f"{reader.party}/{reader.agent}", said, silent, cell_line(reader))
    yield "</table><h3>Spot checks</h3>"
    yield _FACTS
    yield _row("drawn", f"{summary.drawn:,}", f"verifier: {found.swarm.verifier or 'none'}")
    for spot, count in summary.spots.items():
        yield _row(spot, f"{count:,}", "")
    yield "</table><h3>Planted faults (share caught: Wilson's 95 % interval)</h3>"
    if summary.plants:
        yield _FACTS
        for kind, one in [*summary.plants.items(), ("all", summary.all_plants)]:
            yield _row(kind, caught_line(one).strip())
        yield "</table>"
    else:
        yield "<p>none</p>"
    if summary.unplanted:
        yield f"<p>No item was fit for: {escape(', '.join(summary.unplanted))}</p>"
    yield f"<h3>Cost</h3><p>{escape(cost_line(found))}</p>"
    if found.stopped:
        yield f'<p class="bad">Limits of the budget that were hit: {escape(", ".join(found.stopped))}</p>'


def _items(found: SwarmResult) -> Iterator[str]:
    parties = [party.name for party in found.swarm.parties]
    yield "<table><tr>"
    yield "".join(f"<th>{escape(name)}</th>" for name in ("item", "outcome", "answer", *parties, "why"))
    yield "</tr>"
    for one in found.items:
        item = escape(one.item)
        link = f'<a href="#case-{escape(one.item, quote=True)}">{item}</a>' if one.runs else item
        rule = f" by {one.rule}" if one.rule else ""
        cells = [answer_of(one), *(reported(found, p, one.item) for p in parties), one.why]
        how = f'<td class="how">{escape(one.outcome + rule)}</td>'
        yield f"<tr><td>{link}</td>{how}{''.join(f'<td>{escape(cell)}</td>' for cell in cells)}</tr>"
    yield "</table>"


def _case(one: ItemResult) -> Iterator[str]:
    for number, run in enumerate(one.runs):
        if run.account is None:
            continue
        # inside what is folded: browsers unfold it for whoever follows the link
        mark = f' id="case-{escape(one.item, quote=True)}"' if not number else ""
        title = f"{run.account.case.get('id')}: {run.account.case.get('title')}"
        yield f"<details><summary>{escape(title)} — {escape(run.state)}</summary>"
        yield f'<p class="small"{mark}>{escape(run.account.record)}</p>'
        for chapter in chapters(run.account):
            yield f"<h3>{escape(chapter.title)}</h3><table>"
            yield from (_row(label, text) for label, text in chapter.lines)
            yield "</table>"
        yield "</details>"


def _row(label: str, *cells: str) -> str:
    return f"<tr><th>{escape(label)}</th>{''.join(f'<td>{escape(cell)}</td>' for cell in cells)}</tr>"
