"""An audit as text: one line for each thread, then what was wrong, then the counts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from dissensus.cli.readout import clean
from dissensus.interop.message_logs import iso
from dissensus.say.verdicts import (
    ANSWER,
    ANSWERED,
    EXPIRED,
    FULFILLED,
    INFO,
    PENDING,
    PERFORMANCE,
    UNKNOWN,
    VIOLATED,
    Finding,
    Obligation,
)

if TYPE_CHECKING:
    from dissensus.interop.message_logs import AuditReport
    from dissensus.interop.model_tagger import Tagged

MOST_THREADS: Final = 60
"""Threads up to which all are shown; of more, only those where something is open or went wrong."""
MOST_LINES: Final = 200
MOST_KINDS: Final = 20
"""Kinds of entries that are no messages, up to which each is named."""
_FINE: Final = frozenset({FULFILLED, ANSWERED})
_WIDTH: Final = 12
_WIDEST: Final = 48
"""Characters up to which a column is made wide enough for all its names; a longer one moves only its own row."""
_BEGAN: Final = {
    ANSWER: "asked",
    PERFORMANCE: "agreed",
    "offer": "offered",
    "decision": "bid",
    "cancel": "cancelled",
    "input": "asked for input",
    "authorization": "asked for authorization",
    "rpc": "called",
}


def text_lines(report: AuditReport, *, everything: bool = False) -> Iterator[str]:
    """The lines of the report."""
    threads = _threads(report)
    shown = {key: owed for key, owed in threads.items() if everything or len(threads) <= MOST_THREADS or _open(owed)}
    rows = [
        (_name(key, threads), *_row(owed)) for key, owed in list(shown.items())[: None if everything else MOST_LINES]
    ]
    first = min(max((len(row[0]) for row in rows), default=0), _WIDEST) + 2
    second = max(_WIDTH, *(len(row[1]) + 2 for row in rows)) if rows else _WIDTH
    third = min(max((len(row[2]) for row in rows), default=0), _WIDEST) + 4
    for thread, status, parties, detail in rows:
        yield f"{thread:<{first - 1}} {status:<{second}}{parties:<{third - 1}} {detail}".rstrip()
    if (left := len(threads) - len(rows)) > 0:
        what = "threads in which nothing is open" if len(rows) == len(shown) else "threads"
        yield f"… {left:,} more {what} (--all shows them)"
    yield from _findings(report, everything=everything)
    for one in report.differences or ():
        yield f"{f'profiles #{one.seq}':<16}{clean(one.says())}"
    yield _counts(report)
    yield from map(clean, _rest(report))  # kinds, sources and ids are the log's own words


def _threads(report: AuditReport) -> dict[tuple[str, str], list[Obligation]]:
    """Obligations by thread and party, threads in the order in which they began."""
    found: dict[tuple[str, str], list[Obligation]] = {}
    for owed in sorted(report.obligations, key=lambda owed: owed.opened_seq):
        found.setdefault((owed.thread, owed.sub), []).append(owed)
    return found


def _name(key: tuple[str, str], threads: dict[tuple[str, str], list[Obligation]]) -> str:
    thread, sub = key
    return clean(f"{thread}/{sub}" if sub and sum(other[0] == thread for other in threads) > 1 else thread)


def _open(owed: list[Obligation]) -> bool:
    return any(one.status not in _FINE and not one.status.startswith("declared:") for one in owed)


def _row(owed: list[Obligation]) -> tuple[str, str, str]:
    """Status, parties and detail of one thread: of what is open if anything is, else of what came last."""
    still = [one for one in owed if one.status in {PENDING, VIOLATED, EXPIRED, UNKNOWN}]
    ranked = sorted(still or owed, key=lambda one: (not one.suspended, one.kind == PERFORMANCE, one.opened_seq))
    one = ranked[-1]
    if one.status in {PENDING, VIOLATED, EXPIRED, UNKNOWN}:
        shown = {PENDING: "OPEN", VIOLATED: "VIOLATED"}.get(one.status, one.status)
        parties = f"{one.debtor} owes {one.creditor}"
        return shown, clean(parties), clean(_since(one))
    parties = f"{one.debtor} → {one.creditor}"
    if one.status in _FINE:
        return one.status, clean(parties), clean(_done(one))
    return one.status.removeprefix("declared:"), clean(parties), clean(one.reason)


def _since(one: Obligation) -> str:
    began = f"{_BEGAN.get(one.kind, one.kind)} at #{one.opened_seq}"
    if one.closed_seq:
        ended = f"ended at #{one.closed_seq} ({one.reason})" if one.reason else f"came at #{one.closed_seq}"
        return f"{began}, {ended}, {_seconds(one.late_by_s or 0)} late"
    if one.superseded_by:
        return f"{began}, left behind by {one.superseded_by}"
    if one.untagged:
        return f"{began}, and {one.untagged}, which carries no act, may have answered it"
    if one.suspended:
        return f"{began}, waiting for its creditor"
    if one.deadline is not None:
        due = f"due {iso(one.deadline)}" + (" by policy" if one.deadline_source == "policy" else "")
        return f"{began}, nothing since ({due})"
    return f"{began}, nothing since (no deadline)"


def _seconds(span: float) -> str:
    return f"{span:.2g} s" if span < 1 else f"{round(span, 2):.12g} s"


def _done(one: Obligation) -> str:
    if one.kind == PERFORMANCE:
        return f"agreed at #{one.opened_seq}, delivered at #{one.closed_seq}"
    return f"{_BEGAN.get(one.kind, one.kind)} at #{one.opened_seq}, answered at #{one.closed_seq}"


def _findings(report: AuditReport, *, everything: bool) -> Iterator[str]:
    shown = 0
    folded: dict[str, int] = {}
    for finding in report.findings:
        if finding.caused_by is not None:
            folded[finding.caused_by] = folded.get(finding.caused_by, 0) + 1
    hidden = 0
    for finding in report.findings:
        if finding.level == INFO and not everything and finding.rule != "crossed":
            continue
        if finding.caused_by is not None and not everything:
            continue
        if shown >= MOST_LINES and not everything:
            hidden += 1
            continue
        shown += 1
        yield _finding(finding, folded.get(finding.id, 0))
    if hidden:
        yield f"… {hidden:,} more findings (--all shows them)"


def _finding(finding: Finding, consequences: int) -> str:
    level = finding.level if finding.level != INFO else "note"
    told = f"{finding.thread}: " if finding.thread and not finding.says.startswith(f"{finding.thread}:") else ""
    says = f"{told}{finding.says}" + (f", and {consequences} more that only follow from it" if consequences else "")
    if finding.caused_by is not None:
        says += f" (follows from {finding.caused_by})"
    return f"{f'{level} #{finding.seq}':<16}{clean(says)}"


def _counts(report: AuditReport) -> str:
    tally = report.tally
    commitments = sum(one.status == PENDING and one.kind != ANSWER for one in report.obligations)
    parts = [
        _number(commitments, "open commitment"),
        *([_number(report.broken, "broken promise")] if report.broken else []),
        _number(tally.violations, "violation"),
        *([_number(tally.warnings, "warning")] if tally.warnings else []),
        _number(tally.unanswered, "unanswered request"),
        _number(tally.messages, "message"),
        _number(tally.threads, "thread"),
    ]
    return ", ".join(parts)


def _rest(report: AuditReport) -> Iterator[str]:
    tally = report.tally
    if tally.tagged != tally.messages or set(tally.sources) - {"field"}:
        by = ", ".join(f"{count:,} by {source}" for source, count in tally.sources.most_common())
        yield f"tagged {tally.tagged:,} of {tally.messages:,}" + (f": {by}" if by else "")
    if report.tagger is not None:
        yield _tagger(report.tagger)
    if tally.asides:
        most = [f"{count:,} {kind}" for kind, count in tally.asides.most_common(MOST_KINDS)]
        others = len(tally.asides) - len(most)
        yield "not messages: " + ", ".join([*most, *([f"{others:,} other kinds"] if others else [])])
    if tally.backwards:
        yield f"the clock ran backwards {_number(tally.backwards, 'time')}, first at {tally.backwards_at[0]}"
    for one in tally.skipped[:10]:
        yield f"skipped line {one.line}: {clean(one.why)}"
    if tally.skipped_count > 10:
        yield f"… {tally.skipped_count - 10:,} more lines skipped"
    told = list(tally.cannot_tell())
    if told:
        yield "What this log cannot tell:"
        yield from (f"- {sentence}" for sentence in told)


def _tagger(made: Tagged) -> str:
    rest = (
        (made.none, "no act"),
        (made.unsure, "not sure enough"),
        (made.unclear, "unclear"),
        (made.no_place, "without a place"),
    )
    told = f"model {clean(made.model)}: tagged {made.tagged:,} of {made.shown:,} shown"
    if others := ", ".join(f"{count:,} {what}" for count, what in rest if count):
        told += f" ({others})"
    told += f", {_number(made.calls, 'call')}"
    if made.failed_calls:
        causes = ", ".join(f"{count:,} {cause}" for cause, count in made.failures.most_common())
        told += f", {made.failed_calls:,} failed ({causes}), {made.not_shown:,} not judged"
    return told


def _number(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
