"""Ranked ballots beside the answers: lists in JSON lines, or a column ``ranking`` with one row a vote."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dissensus.interop.columns import Named, Roles, roles_of
from dissensus.interop.rows import Rows
from dissensus.interop.wide import as_text
from dissensus.measure.ranked import RULES, Ballot, credit
from dissensus.measure.special import Array
from dissensus.measure.table import VoteTable

RANKING = ("ranking", "ranked", "rank_order", "preferences")
_INVALID = frozenset({"", "invalid", "[invalid]"})
_MARKS = (">", ";", "|", ",")


def read_ranked(paths: Sequence[str | Path], table: VoteTable, *, named: Named) -> dict[str, Array]:
    """What each ranked rule would have decided: name to credit of each question of ``table``, shape (Q,).

    A ballot that names an option twice is invalid, that is blank; one that leaves options out ranks these together
    below the others. Empty if there are several files, or no ballot ranks anything.

    Args:
        paths: the files that ``table`` was read from.
        table: for the names of its questions and voters, and how many options there are.
        named: what the columns are, as for the table.
    """
    from dissensus.interop.reading import format_of, rows_of

    if len(paths) != 1 or format_of(Path(paths[0])) not in {"csv", "json", "parquet"}:
        return {}
    rows = rows_of(Path(paths[0]))
    header = [name.strip().lower().replace(" ", "_") for name in rows.header]
    roles = roles_of(rows.header, named, path=rows.path, voters=rows.voters)
    place = next((header.index(name) for name in RANKING if name in header), None)
    if roles.question is None or (roles.long and place is None) or not (roles.long or _lists(rows, roles)):
        return {}
    found: dict[str, dict[str, list[str]]] = {}
    gold: dict[str, str] = {}
    for question, right, voter, ballot in _ballots(rows, roles, place):
        if right:
            gold.setdefault(question, right)
        found.setdefault(question, {}).setdefault(voter, ballot)  # one voter has one ballot
    ranks = any(len(ballot) > 1 for ballots in found.values() for ballot in ballots.values())
    return _credits(found, gold, table) if ranks else {}


def _lists(rows: Rows, roles: Roles) -> bool:
    """Whether a cell of a voter, near the beginning, is a list."""
    _, block = next(iter(rows.blocks()), (0, ()))
    return bool(block) and any(isinstance(value, list) for place in roles.voters.values() for value in block[place])


def _ballots(rows: Rows, roles: Roles, place: int | None) -> Iterator[tuple[str, str, str, list[str]]]:
    """Question, right answer, voter and ballot."""
    for _, block in rows.blocks():
        questions = map(as_text, block[roles.question or 0])
        for row, question in enumerate(questions):
            right = "" if roles.gold is None else as_text(block[roles.gold][row])
            if roles.long:
                yield question, right, as_text(block[roles.voter or 0][row]), ballot_of(block[place or 0][row])
                continue
            for voter, column in roles.voters.items():
                value = block[column][row]  # a text with commas may be an answer: only a list is a ranking here
                yield question, right, voter, ballot_of(value) if isinstance(value, list) else []


def ballot_of(value: Any) -> list[str]:
    """Options of a cell, best first: a list, or a text such as ``B > A > C``; empty if it is invalid or blank."""
    if isinstance(value, list | tuple):
        options = [as_text(item) for item in value]
    else:
        text = as_text(value).strip("[]()")
        mark = next((mark for mark in _MARKS if mark in text), None)
        options = [part.strip().strip("\"'") for part in (text.split(mark) if mark else [text])]
    if any(option.lower() in _INVALID for option in options) or len(set(options)) < len(options):
        return []
    return options


def _credits(found: dict[str, dict[str, list[str]]], gold: dict[str, str], table: VoteTable) -> dict[str, Array]:
    won = {f"ranked: {name}": np.zeros(table.n_questions) for name in RULES}
    for place, question in enumerate(table.questions):
        number: dict[str, int] = {}
        ballots: list[Ballot] = [
            [number.setdefault(option, len(number)) for option in ballot] for ballot in found.get(question, {}).values()
        ]
        options = max(len(number), 0 if table.options is None else int(table.options[place]))
        code = int(table.gold[place])
        known = gold.get(question) or (table.texts[code] if 0 <= code < len(table.texts) else "")
        for name, rule in RULES.items():
            won[f"ranked: {name}"][place] = credit(rule(ballots, options), number.get(known))
    return won
