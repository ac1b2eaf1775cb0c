"""Which voters err together: a tree of voters by the correlation of their errors, cut where groups stand apart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dissensus.measure.special import Array

STRUCTURE = 0.25
"""Mean silhouette below which groups are no groups (Kaufman & Rousseeuw 1990)."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """Voters that err alike. ``phi`` is the mean correlation inside; None for a voter alone."""

    voters: tuple[str, ...]
    phi: float | None


@dataclass(frozen=True, slots=True)
class Clusters:
    """The tree and its groups.

    Args:
        order: voters as the leaves of the tree stand, neighbours alike.
        merges: rows (first, second, distance, size) as scipy's linkage gives them: numbers below m are places in
            ``voters``, m + i is what row i made; distance is 1 - phi, average linkage.
        voters: the m voters in the tree; others have no correlation because they are always right or always wrong.
        groups: the groups, largest first; a single one if none stand apart.
        silhouette: of the grouping; None if there is one group.
    """

    order: tuple[str, ...]
    merges: tuple[tuple[int, int, float, int], ...]
    voters: tuple[str, ...]
    groups: tuple[Cluster, ...]
    silhouette: float | None


def clusters_of(phi: Array, voters: tuple[str, ...]) -> Clusters | None:
    """Group voters by average linkage on 1 - phi; None if fewer than three have a correlation.

    Args:
        phi: shape (n, n); rows of NaN are left out.
        voters: n names.

    The number of groups is the one with the largest mean silhouette, if that is at least 0.25, else one.
    """
    from scipy.cluster.hierarchy import fcluster, leaves_list, linkage  # type: ignore[import-untyped]

    known = [place for place in range(len(voters)) if np.isfinite(phi[place, place])]
    if len(known) < 3:
        return None
    names = tuple(voters[place] for place in known)
    distance = 1.0 - phi[np.ix_(known, known)]
    np.fill_diagonal(distance, 0.0)
    distance = np.clip((distance + distance.T) / 2, 0.0, 2.0)
    tree = linkage(distance[np.triu_indices(len(known), 1)], method="average")
    best, labels = STRUCTURE, np.ones(len(known), dtype=int)
    for many in range(2, len(known) // 2 + 1):  # more groups than pairs are noise
        split = np.asarray(fcluster(tree, many, criterion="maxclust"))
        width = silhouette(distance, split)
        if width > best + 1e-12:
            best, labels = width, split
    groups = []
    for label in np.unique(labels):
        inside = np.flatnonzero(labels == label)
        upper = np.triu_indices(len(inside), 1)
        mean = float(1.0 - distance[np.ix_(inside, inside)][upper].mean()) if len(inside) > 1 else None
        groups.append(Cluster(tuple(names[place] for place in inside), mean))
    return Clusters(
        order=tuple(names[place] for place in leaves_list(tree)),
        merges=tuple((int(a), int(b), float(d), int(size)) for a, b, d, size in tree),
        voters=names,
        groups=tuple(sorted(groups, key=lambda group: (-len(group.voters), group.voters))),
        silhouette=best if len(groups) > 1 else None,
    )


def silhouette(distance: Array, labels: Array) -> float:
    """Mean silhouette (Rousseeuw 1987); a voter alone in a group counts 0."""
    kinds = np.unique(labels)
    if len(kinds) < 2:
        return 0.0
    inside = labels[:, None] == kinds
    sizes = inside.sum(axis=0)
    to = distance @ inside
    own = inside.argmax(axis=1)
    rows = np.arange(len(labels))
    alone = sizes[own] == 1
    a = to[rows, own] / np.maximum(sizes[own] - 1, 1)
    away = to / sizes
    away[rows, own] = np.inf
    b = away.min(axis=1)
    larger = np.maximum(a, b)
    width = np.where(alone | (larger == 0), 0.0, (b - a) / np.where(larger == 0, 1.0, larger))
    return float(width.mean())
