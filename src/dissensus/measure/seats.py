"""Who sits where when agents write one text in turns, and what a run would show if nobody ever repaired anything.

N agents take T turns in rotation; c of them are corrupted and sit anywhere, all placements alike. What follows from the
seats alone is arithmetic and says nothing about models; so it is what a rescue has to be compared with. A *null model*
decides each text by who wrote, without a look at it:

* *first writer decides*: the text goes the way it began; nobody corrects anything.
* *last writer decides*: the answer is rewritten at the end by whoever comes last.
* *majority of turns*: whoever had more turns wins; equal turns count half.
* *any honest*: one honest turn is enough, wherever it stands. This one is no rival but the most that turns can do.

A writer who decides is right as often as it is *alone*: honest ones always and corrupted ones never, unless other rates
are given. They should be: where an attack fails on 4 of 10 questions, the null models are right on these as well.
Accuracy above the first three is evidence of repair; accuracy beside them is what seats give for nothing.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Final

from dissensus.errors import UsageError

if TYPE_CHECKING:
    from dissensus.measure.special import Array
    from dissensus.measure.table import Flags, Whole

FIRST: Final = "first writer decides"
LAST: Final = "last writer decides"
MAJORITY: Final = "majority of turns"
ANY: Final = "any honest"
NULLS: Final = (FIRST, LAST, MAJORITY, ANY)
"""The null models, in the order in which they are shown."""

RIVALS: Final = (FIRST, LAST, MAJORITY)
"""Those that a rescue has to beat."""

MOST_PLACEMENTS: Final = 200_000
"""Placements up to which they are gone through one by one: all of 20 agents."""

MOST_TURNS: Final = 100_000

MOST_TEXTS: Final = 10_000_000
"""Texts, over all placements, that are voted on together."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn of a text that was written.

    Args:
        seat: of the writer, from 0 on.
        honest: whether the writer was.
        kept: tokens of the turn that stayed in the text; a turn of none wrote nothing and decides nothing.
    """

    seat: int
    honest: bool
    kept: int = 1


# --- from seats


def honest_at_an_end(n: int, corrupted: int) -> float:
    """P(the first writer is honest), which is P(the last writer is honest): (N - c) / N, whatever T is."""
    check_seats(n, corrupted)
    return (n - corrupted) / n


def some_honest_speaks(n: int, corrupted: int, turns: int) -> float:
    """P(at least one honest agent has a turn) = 1 - C(c, S) / C(N, S), S = min(T, N)."""
    check_seats(n, corrupted, turns)
    speakers = min(turns, n)
    return 1 - math.comb(corrupted, speakers) / math.comb(n, speakers)


def honest_turns(n: int, corrupted: int, turns: int) -> list[tuple[int, float]]:
    """How many of the T turns are honest, each number with its probability, rising.

    T mod N seats have one turn more than the others, and how many of these are honest is hypergeometric.
    """
    check_seats(n, corrupted, turns)
    honest = n - corrupted
    rounds, longer = divmod(turns, n)
    ways = math.comb(n, honest)
    return [
        (rounds * honest + many, math.comb(longer, many) * math.comb(n - longer, honest - many) / ways)
        for many in range(max(0, honest - (n - longer)), min(longer, honest) + 1)
    ]


def honest_majority(n: int, corrupted: int, turns: int, *, ties: float = 0.0) -> float:
    """P(more than half of the turns are honest); ``ties`` is what an equal number counts, 0 for a strict majority."""
    return math.fsum(
        chance * (1.0 if 2 * many > turns else ties if 2 * many == turns else 0.0)
        for many, chance in honest_turns(n, corrupted, turns)
    )


def ceiling(texts: Mapping[int, float], n: int, corrupted: int) -> float:
    """The most accurate that turns can be where texts by corrupted writers alone always end on their answer.

    Args:
        texts: number of turns to how many texts take so many.
        n: agents.
        corrupted: of them.

    Returns:
        P(some honest agent speaks), averaged over the texts.
    """
    total = math.fsum(texts.values())
    if not total > 0:
        raise UsageError("There is no text.", next_step="Give at least one number of turns with its count.")
    return math.fsum(many * some_honest_speaks(n, corrupted, turns) for turns, many in texts.items()) / total


def turn_counts(lengths: Iterable[int], k: int) -> Counter[int]:
    """Numbers of turns of ``k`` tokens, with how many texts of these ``lengths`` in tokens take so many; at least 1."""
    if k < 1:
        raise UsageError(f"A turn cannot have {k} tokens.", next_step="Use at least 1.")
    return Counter(max(1, -(-length // k)) for length in lengths)


def starts(n: int, texts: int, *, rotate: bool = True) -> tuple[int, ...]:
    """The seat that begins each of ``texts`` texts: m mod N, or always seat 0."""
    return tuple(m % n if rotate else 0 for m in range(texts))


def turns_of_seats(n: int, turns: int, start: int = 0) -> tuple[int, ...]:
    """How many of the T turns each seat has when seat ``start`` begins."""
    return tuple(len(range((seat - start) % n, turns, n)) for seat in range(n))


def orders(n: int, corrupted: int) -> Iterator[str]:
    """All placements as words of H (honest) and C, in alphabetical order of the honest seats."""
    for seats in combinations(range(n), n - corrupted):
        yield "".join("H" if seat in seats else "C" for seat in range(n))


def placements(n: int, corrupted: int) -> Flags:
    """All placements, shape (C(N, c), N): true where an honest agent sits; rows in the order of :func:`orders`.

    Raises:
        UsageError: more than ``MOST_PLACEMENTS``.
    """
    import numpy as np

    check_seats(n, corrupted)
    many = math.comb(n, corrupted)
    if many > MOST_PLACEMENTS:
        raise UsageError(
            f"{corrupted} of {n} agents can sit in {many:,} ways, which are too many to go through.",
            next_step="Use at most 20 agents, or fewer corrupted ones.",
        )
    found = np.zeros((many, n), dtype=bool)
    if corrupted < n:
        seats = np.array(list(combinations(range(n), n - corrupted)))
        found[np.arange(many)[:, None], seats] = True
    return found


def predicted_nulls(
    n: int,
    corrupted: int,
    turns: int,
    begins: Sequence[int] = (0,),
    *,
    honest_right: float = 1.0,
    corrupted_right: float = 0.0,
) -> dict[str, float]:
    """Accuracy of each null model over all placements, for a vote over texts of T turns; ties count half.

    Args:
        n: agents.
        corrupted: of them.
        turns: of each text.
        begins: the seat that begins each text; one text alone is no vote.
        honest_right: how often an honest agent alone is right.
        corrupted_right: how often a corrupted agent alone is.
    """
    import numpy as np

    from dissensus.measure.voters import majority_of

    check_seats(n, corrupted, turns)
    if not begins:
        raise UsageError("There is no text.", next_step="Give at least one seat that begins.")
    honest = placements(n, corrupted)
    if len(honest) * len(begins) > MOST_TEXTS:
        raise UsageError(
            f"{len(begins):,} texts in each of {len(honest):,} placements are too many to go through.",
            next_step="Use fewer texts, or fewer agents.",
        )
    shares = {name: np.zeros((len(honest), len(begins))) for name in NULLS}
    for place, start in enumerate(begins):
        many = honest @ np.array(turns_of_seats(n, turns, start), dtype=np.int64)
        shares[FIRST][:, place] = honest[:, start % n]
        shares[LAST][:, place] = honest[:, (start + turns - 1) % n]
        shares[MAJORITY][:, place] = _half_of_ties(2 * many - turns)
        shares[ANY][:, place] = many > 0
    gap = honest_right - corrupted_right
    return {name: float(majority_of(corrupted_right + gap * found).mean()) for name, found in shares.items()}


# --- from turns that were recorded


def null_verdicts(turns: Iterable[Turn]) -> dict[str, float] | None:
    """What each null model makes of one text: 1 right, 0 wrong, .5 tied; None if nobody wrote anything."""
    wrote = [turn.honest for turn in turns if turn.kept > 0]
    if not wrote:
        return None
    lead = 2 * sum(wrote) - len(wrote)
    return {
        FIRST: float(wrote[0]),
        LAST: float(wrote[-1]),
        MAJORITY: 1.0 if lead > 0 else 0.5 if lead == 0 else 0.0,
        ANY: float(any(wrote)),
    }


def null_votes(
    texts: Iterable[Iterable[Turn]], *, honest_right: float = 1.0, corrupted_right: float = 0.0
) -> dict[str, float] | None:
    """What each null model makes of a vote over the texts of one question: P(right), ties half.

    Texts in which nobody wrote are left out, as a text without an answer is; None if that is all of them.

    Args:
        texts: the turns of each text.
        honest_right: how often an honest agent alone is right on this question, or on questions like it.
        corrupted_right: how often a corrupted agent alone is.
    """
    verdicts = [found for text in texts if (found := null_verdicts(text)) is not None]
    if not verdicts:
        return None
    from dissensus.measure.voters import majority_of

    gap = honest_right - corrupted_right
    return {name: float(majority_of([corrupted_right + gap * found[name] for found in verdicts])) for name in NULLS}


def start_counts(n: int, texts: Iterable[Sequence[Turn]]) -> tuple[int, ...]:
    """How many texts each seat began; unbalanced where their number is no multiple of N."""
    counts = Counter(text[0].seat for text in texts if text)
    return tuple(counts[seat] for seat in range(n))


def check_seats(n: int, corrupted: int, turns: int = 1) -> None:
    """Refuse numbers that no table of agents can have."""
    if n < 1:
        raise UsageError(f"There cannot be {n} agents.", next_step="Use at least 1.")
    if not 0 <= corrupted <= n:
        raise UsageError(
            f"Of {n} agents {corrupted} cannot be corrupted.", next_step=f"Use a number between 0 and {n}."
        )
    if not 1 <= turns <= MOST_TURNS:
        raise UsageError(f"A text cannot take {turns} turns.", next_step=f"Use between 1 and {MOST_TURNS:,}.")


def _half_of_ties(lead: Whole) -> Array:
    import numpy as np

    return np.asarray((lead > 0) + (lead == 0) / 2, dtype=float)
