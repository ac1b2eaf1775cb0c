"""Questions whose key should be looked at: the panel agrees against it, or nobody has it.

Wrong keys and blind spots that voters share look alike in a table. A review may change a key only on the record, with
both results shown; nothing here changes one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from dissensus.measure.table import VoteTable
from dissensus.measure.tallies import Tallies

Reason = Literal["unanimous against the key", "most against the key", "nobody has the key"]

MOST = (7, 9)
"""Share of all voters behind one answer that is not the key, from which a question is listed."""


@dataclass(frozen=True, slots=True)
class Doubt:
    """A question to look at.

    Args:
        question: its name.
        reason: the strongest of the three that holds.
        key: the right answer by the table.
        leader: the answers with the most votes, and their votes.
        votes_for_key: votes for the key.
    """

    question: str
    reason: Reason
    key: str
    leader: tuple[str, ...]
    votes: int
    votes_for_key: int


@dataclass(frozen=True, slots=True)
class Review:
    """Questions to look at, strongest first, and how many there are in all."""

    listed: tuple[Doubt, ...]
    unanimous: int
    most: int
    nobody: int
    total: int


def review(table: VoteTable, tallies: Tallies, *, most_listed: int = 1000) -> Review:
    """List questions on which the table and its key disagree.

    Args:
        table: right answers all known.
        tallies: of ``table``.
        most_listed: how many to list; the counts are always of all.

    ``unanimous``, ``most`` (which holds the unanimous ones) and ``nobody`` may overlap; ``total`` counts each once.
    """
    lost = tallies.credit == 0
    all_against = lost & tallies.unanimous
    share, of = MOST
    most = lost & (of * tallies.leader >= share * tallies.n)
    nobody = tallies.right == 0
    rows = np.flatnonzero(most | nobody)
    chosen = sorted(rows, key=lambda q: (-int(tallies.leader[q]), int(tallies.right[q]), _name(table, int(q))))
    doubts = []
    for q in map(int, chosen[:most_listed]):
        reason: Reason = (
            "unanimous against the key"
            if all_against[q]
            else "most against the key"
            if most[q]
            else "nobody has the key"
        )
        codes, votes = np.unique(table.codes[q][table.codes[q] >= 0], return_counts=True)
        leader = tuple(sorted(_text(table, int(code)) for code in codes[votes == tallies.leader[q]]))
        doubts.append(
            Doubt(
                _name(table, q),
                reason,
                _text(table, int(table.gold[q])),
                leader,
                int(tallies.leader[q]),
                int(tallies.right[q]),
            )
        )
    return Review(tuple(doubts), int(all_against.sum()), int(most.sum()), int(nobody.sum()), len(rows))


def _name(table: VoteTable, question: int) -> str:
    return str(table.questions[question]) if table.questions else str(question + 1)


def _text(table: VoteTable, code: int) -> str:
    return str(table.texts[code]) if 0 <= code < len(table.texts) else str(code)
