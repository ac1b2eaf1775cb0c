"""A swarm as lines of text, as a table of its items, and as one JSON document."""

from __future__ import annotations

import csv
import io
import shlex
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from dissensus.cli.readout import clean

if TYPE_CHECKING:
    from dissensus.study.swarm.outcomes import ItemResult
    from dissensus.study.swarm.planning import SharePlan, SwarmPlan
    from dissensus.study.swarm.running import SwarmResult
    from dissensus.study.swarm.summary import Caught, Reader, Summary

WIDTH: Final = 100
MOST_LISTED: Final = 25
SAID: Final = {
    "settled": "settled by a rule with its lines, or by a person",
    "consistent": "at least two parties say the same; that verifies nothing",
    "unchallenged": "one party is left, or they rest on one source or speak of two times: nobody has agreed",
    "no report": "nobody has reported anything",
    "incomplete": "a report went back to its author; nothing is decided",
    "disputed": "more than one report stands; only a person can tell",
    "waiting": "a person is asked",
    "open_budget": "the budget was over; nothing is decided",
    "error": "the run failed; its record says why",
}
_SPOTS: Final = {
    "sound": "sound by what the verifier says",
    "wrong": "a source was found wrong: what rests on it fell (R4, model-says)",
    "undetermined": "the verifier could not tell",
    "failed": "the verifier could not be asked",
    "programs only": "no verifier: looked at by programs only",
}
_BY: Final = {"agent": "", "tool": ", a program", "tables": ", the built-in reader"}


def plan_lines(plan: SwarmPlan) -> Iterator[str]:
    """What is left to be done."""
    done = f"; {plan.done:,} readings and {plan.cases:,} cases are there and are not repeated" if plan.done else ""
    yield f"{clean(plan.name)}: {_count(plan.items, 'item')}{done}."
    for share in plan.shares:
        yield f"  {_share(share)}"
    for party, lacking in plan.unread.items():
        yield f"  {clean(party)} has no source of {_count(lacking, 'item')}"
    look = f"{clean(plan.verifier)} looks" if plan.verifier else "no verifier: programs alone look"
    yield f"  {look} at {plan.spot_checks:.3g} of the items in which nothing contradicts, and at contradictions"
    for attribute in plan.timeless:
        yield f"note: no `as_of` is wanted of {clean(attribute)!r}: reports that state no time cannot be compared."
    limits = ", ".join(
        f"{getattr(plan.budget, name):,} {name}"
        for name in ("calls", "tokens", "seconds", "money")
        if getattr(plan.budget, name) is not None
    )
    yield f"At most {plan.calls:,} calls, if all is contested; the budget allows {limits or 'any number'}."


def _share(share: SharePlan) -> str:
    span = f" ({clean(share.first)} … {clean(share.last)})" if share.items > 1 else f" ({clean(share.first)})"
    begun = ", begun before" if share.begun else ""
    calls = f", at most {share.calls:,} calls" if share.calls else ""
    who = f"{clean(share.party)}/{clean(share.agent)}{_BY[share.by]}"
    what = f"{_count(share.items, 'item')}{span} from {_count(share.sources, 'file')}, {share.size:,} bytes"
    return f"{who}: {what}{calls}{begun}"


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'s' * (number != 1)}"


def result_lines(found: SwarmResult, again: str) -> Iterator[str]:
    """How a swarm has ended: the table, then what needs somebody."""
    from dissensus.study.swarm.summary import pressing, summary_of

    summary = summary_of(found)
    yield f"{clean(found.swarm.name)}: {_count(summary.items, 'item')}"
    yield from _outcomes(summary)
    yield ""
    yield "Reports"
    for reader in summary.readers:
        yield from _reader(reader)
    yield ""
    yield from _spot_checks(found, summary)
    yield ""
    yield from _plants(summary, wanted=found.swarm.plants.of(summary.items))
    yield ""
    yield from _cost(found)
    needy = pressing(found)
    if needy:
        yield ""
        yield from _needy(found, needy, again)


def _outcomes(summary: Summary) -> Iterator[str]:
    for outcome, count in summary.outcomes.items():
        if not count:
            continue
        rules = ", ".join(f"{many} by {rule}" for rule, many in summary.rules.items())
        yield f"  {outcome:<13}{count:>6,}  {rules if outcome == 'settled' and rules else SAID[outcome]}"


def _reader(reader: Reader) -> Iterator[str]:
    who = f"{clean(reader.party)}/{clean(reader.agent)}"
    quiet = reader.read - reader.reported
    yield f"  {who:<24} {reader.reported:>5,} of {reader.read:,} items; {quiet:,} without a report"
    for reason, count in reader.silent[:3]:
        yield from _wrapped(f"{count:>5,} x ", reason, 6)
    if len(reader.silent) > 3:
        yield f"{'':<6}and {len(reader.silent) - 3:,} other reasons"
    yield f"{'':<6}{cell_line(reader)}"


def cell_line(reader: Reader) -> str:
    """In which cell its programs ran."""
    if not reader.cell:
        said = "no program of others was run"
    else:
        lack = f"; not kept from it: {', '.join(reader.not_enforced)}" if reader.not_enforced else ""
        said = f"programs in a {reader.cell} cell{lack}"
    beside = f"; {', '.join(reader.beside)} ran in no cell" if reader.beside else ""
    return f"cell: {said}{beside}"


def _spot_checks(found: SwarmResult, summary: Summary) -> Iterator[str]:
    verifier = found.swarm.verifier
    who = f"the verifier is {clean(verifier)}" if verifier else "no verifier"
    looked = sum(summary.spots.values())
    drawn = f"{_count(summary.drawn, 'item')} drawn among those in which nothing contradicts"
    yield f"Spot checks: {drawn}, {looked:,} looked at; {who}"
    for spot, count in summary.spots.items():
        yield f"  {count:>6,}  {_SPOTS[spot]}"


def _plants(summary: Summary, *, wanted: int) -> Iterator[str]:
    if not summary.plants and not summary.unplanted:
        yield "Planted faults: none" + ("; no item is consistent that one could be planted in" if wanted else "")
        return
    yield "Planted faults, in copies of consistent items (share caught: Wilson's 95 % interval)"
    for kind, one in [*summary.plants.items(), ("all", summary.all_plants)]:
        yield f"  {kind:<14} {caught_line(one)}"
    if summary.unplanted:
        yield f"  no item was fit for: {', '.join(summary.unplanted)}"


def caught_line(one: Caught) -> str:
    """How many of one kind were caught."""
    share = f"  [{one.low:.2f}, {one.high:.2f}]" if one.low is not None and one.high is not None else ""
    told = (
        (one.unchallenged, "unchallenged"), (one.passed, "not noticed"), (one.believed, "believed"),
        (one.missing, "not looked at"),
    )  # fmt: skip
    rest = [f"{count:,} {what}" for count, what in told if count]
    return f"{one.caught:>4,} of {one.planted:,} caught{share}" + (f"; {', '.join(rest)}" if rest else "")


def _cost(found: SwarmResult) -> Iterator[str]:
    yield f"Cost: {cost_line(found)}"
    if found.stopped:
        yield f"Limits of the budget that were hit: {', '.join(found.stopped)}"


def cost_line(found: SwarmResult) -> str:
    """What all calls took; what nobody said is unknown."""
    cost = found.cost

    def told(name: str, text: str) -> str:
        silent = cost.silent.get(name, 0)
        if not silent:
            return text
        return f"{name.replace('_', ' ')} unknown" if silent == cost.calls else f"{text} ({silent:,} calls did not say)"

    currency = found.swarm.panel.currency if found.swarm.panel is not None else ""
    parts = [
        f"{cost.calls:,} calls",
        told("tokens_in", f"{cost.tokens_in or 0:,} tokens read"),
        told("tokens_out", f"{cost.tokens_out or 0:,} written"),
        told("money", f"{cost.money or 0:.4g} {currency or 'in money'}"),
        f"{found.seconds:.1f} s",
    ]
    return ", ".join(parts) if cost.calls else f"no call of a model, {found.seconds:.1f} s"


def _needy(found: SwarmResult, needy: list[ItemResult], again: str) -> Iterator[str]:
    yield f"Needs somebody: {_count(len(needy), 'item')}"
    wide = min(max(len(clean(one.item)) for one in needy), 24)
    parties = [party.name for party in found.swarm.parties]
    for one in needy[:MOST_LISTED]:
        said = [f"{party}: {value}" for party in parties if (value := reported(found, party, one.item))]
        told = f"({'; '.join(said)}) {one.why}" if said else one.why
        yield from _wrapped(f"  {clean(one.item)[:wide]:<{wide}}  {one.outcome:<12} ", told, wide + 17)
        yield f"{'':<{wide + 17}}{next_command(one, again)}"
    if len(needy) > MOST_LISTED:
        yield f"  and {len(needy) - MOST_LISTED:,} more: --csv FILE lists all"
    if any(one.outcome == "waiting" for one in needy):
        yield f"Questions: dissensus inbox {shlex.quote(str(found.folder / 'cases'))}"
        yield f"Then: {again}"


def next_command(one: ItemResult, again: str) -> str:
    """What to do about an item."""
    records = [run.account.record for run in one.runs if run.account is not None]
    if one.outcome == "open_budget":
        return f"raise the budget, then: {again}"
    if one.outcome == "waiting":
        waiting = [run.account.record for run in one.runs if run.account is not None and run.state == "waiting"]
        return f"dissensus inbox show {shlex.quote(waiting[0])}"
    return f"dissensus why {shlex.quote(records[-1])}" if records else "see to its sources or its readers"


def _wrapped(label: str, text: str, indent: int) -> Iterator[str]:
    lines = textwrap.wrap(clean(text), WIDTH - indent, break_long_words=False, break_on_hyphens=False) or [""]
    yield f"{label:<{indent}}{lines[0]}"
    for line in lines[1:]:
        yield f"{'':<{indent}}{line}"


# --- documents


def document_of(found: SwarmResult) -> dict[str, Any]:
    """The one JSON document."""
    from dissensus.study.swarm.summary import summary_of

    return {
        "swarm": found.swarm.name,
        "output": str(found.folder),
        "items": [document for one in found.items for document in one.documents()],
        "plants": [one.to_data() for one in found.plants],
        "summary": {
            **summary_of(found).to_data(),
            "cost": found.cost.to_data(),
            "seconds": round(found.seconds, 3),
            "stopped": list(found.stopped),
        },
    }


def csv_of(found: SwarmResult) -> str:
    """A table of the items: how each ended, what each party reported, where that stands."""
    parties = [party.name for party in found.swarm.parties]
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(["item", "outcome", "rule", "answer", *parties, "spot_check", "why", "record"])
    for one in found.items:
        said = [_guarded(reported(found, party, one.item)) for party in parties]
        records = [Path(run.account.record).name for run in one.runs if run.account is not None]
        row = [one.item, one.outcome, one.rule, answer_of(one), *said, one.spot, one.why, " ".join(records)]
        table.writerow([_guarded(cell) for cell in row])
    return text.getvalue()


def _guarded(text: str) -> str:
    """What others wrote, so that no spreadsheet takes it for a formula."""
    return f"'{text}" if text[:1] in ("=", "+", "-", "@", "\t", "\r") and not _is_number(text) else text


def _is_number(text: str) -> bool:
    return text[1:].replace(".", "", 1).isdecimal()


def reported(found: SwarmResult, party: str, item: str) -> str:
    """The values that a party has reported of an item, in words."""
    report = found.reports.get((party, item))
    several = len(found.swarm.wanted) > 1
    said = []
    for claim in report.claims if report is not None else ():
        value = f"{claim.get('value')} {claim.get('unit', '')}".strip()
        said.append(f"{claim.get('attribute')}: {value}" if several else value)
    return "; ".join(said)


def answer_of(one: ItemResult) -> str:
    """What is left standing in a settled item, in words; of several cases, all."""
    answers = []
    for run in one.runs:
        decided = [event for event in (run.account.events if run.account else ()) if event.kind == "decision"]
        if decided and decided[-1].body.get("answer"):
            answers.append(str(decided[-1].body["answer"]))
    return "; ".join(answers) if one.outcome == "settled" else ""
