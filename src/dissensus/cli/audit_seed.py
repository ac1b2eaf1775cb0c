"""An audit in the layout of the machine that it grew from: one line for each thread, by its state."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from dissensus.cli.readout import clean
from dissensus.say.verdicts import ANSWER, ILLEGAL, NO_TITLE, PENDING, PERFORMANCE

if TYPE_CHECKING:
    from dissensus.interop.message_logs import AuditReport

_WORDS: Final = {
    "it": {
        "open": "aperto", "requested": "in attesa", "agreed": "impegnato", "closed": "chiuso",
        "unanswered": "richiesta senza risposta", "unkept": "impegno non onorato",
        "illegal": "violazione: filo {thread}: '{act}' non e' lecita nello stato '{state}' (attese: {expected})",
        "title": "violazione: filo {thread}: risponde {sender}, ma la richiesta era per {party}", "none": "nessuna",
    },
    "en": {
        "open": "open", "requested": "waiting", "agreed": "committed", "closed": "closed",
        "unanswered": "request without answer", "unkept": "commitment not kept",
        "illegal": "violation: thread {thread}: '{act}' is not legal in state '{state}' (expected: {expected})",
        "title": "violation: thread {thread}: {sender} answers, but the request was for {party}", "none": "none",
    },
}  # fmt: skip
_ACTS: Final = {
    "request": "richiedi", "agree": "accetta", "refuse": "rifiuta", "inform": "informa", "failure": "fallisci",
}  # fmt: skip


def seed_lines(report: AuditReport, lang: str) -> Iterator[str]:
    """Threads by name, then violations in the order of the record."""
    words = _WORDS[lang]
    states: dict[str, str] = {}
    debtors: dict[str, str] = {}
    for owed in report.obligations:
        debtors.setdefault(owed.thread, owed.debtor)
        if owed.status == PENDING and owed.kind in {ANSWER, PERFORMANCE}:
            states[owed.thread] = "agreed" if owed.kind == PERFORMANCE else "requested"
        else:
            states.setdefault(owed.thread, "closed")
    for thread, state in sorted(states.items()):
        mark = {"requested": words["unanswered"], "agreed": words["unkept"]}.get(state)
        yield f"{clean(thread)}: {words[state]:<10} {f'<- {mark}' if mark else ''}".rstrip()
    for finding in report.findings:
        act = _ACTS.get(finding.act or "", finding.act or "") if lang == "it" else finding.act
        thread, party = clean(finding.thread or ""), clean(finding.party)
        if finding.verdict == ILLEGAL:
            expected = ", ".join(_ACTS.get(each, each) if lang == "it" else each for each in finding.expected)
            state = words[finding.state if finding.state in words else "closed"]
            yield words["illegal"].format(thread=thread, act=act, state=state, expected=expected or words["none"])
        elif finding.verdict == NO_TITLE:
            owing = clean(debtors.get(finding.thread or "", "?"))
            yield words["title"].format(thread=thread, sender=party, party=owing)
