"""A case as lines of text."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from dissensus.cli.readout import clean, say
from dissensus.decide.dispute.account import Account, account_of, chapters
from dissensus.decide.dispute.settlement import Settlement

LABEL = 12
WIDTH = 100
_SAID = {
    "settled": "settled",
    "consistent": "consistent: nothing contradicts; that verifies no claim",
    "incomplete": "incomplete: returned to the authors, and decided nothing",
    "disputed": "disputed: only a person can tell",
    "waiting": "disputed, waiting for a person",
    "reopened": "reopened: a source has changed",
    "open_budget": "open: the budget was over before it was settled",
    "error": "error: the run failed",
}


def show_account(account: Account) -> None:
    """Print what came of a case: its status, rule, lines, losers."""
    for line in account_lines(account):
        say(line)


def account_lines(account: Account) -> Iterator[str]:
    """What came of a case, as lines."""
    document = account.document()
    rule = f" by {document['rule']}" if document["rule"] else ""
    yield f"{account.case.get('id')}: {_SAID.get(account.state, account.state)}{rule}"
    why = account.verdict.get("why")
    if why:
        yield from _item("because", str(why))
    if account.state == "settled":
        standing = ", ".join(account.verdict.get("standing", [])) or "nothing"
        yield from _item("standing", standing)
    for one in document["losers"]:
        yield from _item("falls", f"{one['claim']}: {one['reason']}")
    for one in account.verdict.get("returned", []):
        yield from _item("returned", f"{one['claim']}: {one['reason']}")
    for cite in document["cites"]:
        where = f"{cite['source_sha256'][:12]}, {cite['reopened']}"
        yield from _item("cites", f'{cite["claim"]} {cite["evidence"]}: "{cite["quote"]}" ({where})')
    if account.question is not None and account.state == "waiting":
        yield from _item("question", str(account.question["text"]))
    if account.budget.get("stopped"):
        yield from _item("stopped", str(account.budget["stopped"]))
    if account.record:
        yield from _item("record", account.record)


def settlement_lines(found: Settlement) -> Iterator[str]:
    """What came of a case whose run has just gone on: as its record tells, if it has one."""
    if not found.record:
        rule = f" by {found.rule}" if found.rule else ""
        yield f"{found.case or found.question}: {_SAID.get(found.state, found.status.value)}{rule}"
        return
    from dissensus.record.opening import open_record

    with open_record(found.record) as store:
        account = account_of(store.read())
    account.record = found.record
    yield from account_lines(account)


def show_chapters(account: Account) -> None:
    """Print the whole course of a case."""
    say(f"{account.case.get('id')}: {account.case.get('title') or _SAID.get(account.state, account.state)}")
    for chapter in chapters(account):
        say("")
        say(chapter.title)
        for label, text in chapter.lines:
            for line in _item(label, text):
                say(line)


def _item(label: str, text: str) -> Iterator[str]:
    """A label and its text, wrapped; on one line what could steer a terminal is left out."""
    lines = textwrap.wrap(clean(text), WIDTH - LABEL - 2, break_long_words=False, break_on_hyphens=False) or [""]
    yield f"  {clean(label):<{LABEL - 1}} {lines[0]}"
    for line in lines[1:]:
        yield f"  {'':<{LABEL}}{line}"
