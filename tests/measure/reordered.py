"""The same table written otherwise: nothing may depend on it."""

from __future__ import annotations

import numpy as np

from dissensus.measure.table import VoteTable


def reordered(table: VoteTable, seed: int) -> VoteTable:
    """``table`` in another order of questions and voters, with other names of answers."""
    rng = np.random.default_rng(seed)
    rows, columns = rng.permutation(table.n_questions), rng.permutation(table.n_voters)
    name = rng.permutation(int(max(table.codes.max(), table.gold.max())) + 1).astype(np.int32)
    codes, gold = table.codes[rows][:, columns], table.gold[rows]
    return VoteTable(
        codes=np.where(codes >= 0, name[np.maximum(codes, 0)], codes).astype(np.int32),
        gold=np.where(gold >= 0, name[np.maximum(gold, 0)], -1).astype(np.int32),
        voters=tuple(table.voters[place] for place in columns),
        questions=[table.questions[place] for place in rows],
        reasons=table.reasons,
        options=None if table.options is None else table.options[rows],
        costs=table.costs,
        factors=table.factors,
    )
