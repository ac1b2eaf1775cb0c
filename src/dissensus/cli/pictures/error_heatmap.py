"""Heat map of the correlation of errors, voters in the order of the tree that groups them, the tree beside it."""

from __future__ import annotations

from pathlib import Path

from dissensus.cli.pictures import style
from dissensus.measure.audit import Audit
from dissensus.measure.wording import short

_NUMBERS_UP_TO = 16
_NAMES_UP_TO = 60


def draw(found: Audit, folder: Path, *, name: str = "error_correlation") -> list[Path]:
    """Write the picture and its data; returns the four paths.

    Raises:
        MissingExtra: matplotlib is not installed.
        StorageError: the folder cannot be written.
    """
    import numpy as np

    data = found.to_data()
    tree = found.errors.clusters if found.errors is not None else None
    everyone = sorted(voter.id for voter in found.voters)
    order = list(tree.order) if tree else []
    order += [voter for voter in everyone if voter not in order]
    place = {voter: i for i, voter in enumerate(order)}
    phi = np.full((len(order), len(order)), np.nan)
    for pair in data["pairs"]:
        i, j = place[pair["i"]], place[pair["j"]]
        phi[i, j] = phi[j, i] = np.nan if pair["phi"] is None else pair["phi"]
    side = min(14.0, max(5.0, 0.45 * len(order) + 3))
    title = f"Who errs together: mean correlation {short(data['phi_mean'], 2)}"
    with style.drawing(width=side + (2.0 if tree else 0.6), height=side) as (figure, axes):
        figure.delaxes(axes)
        grid = figure.add_gridspec(1, 2 if tree else 1, width_ratios=[1, 5] if tree else [1])
        heat = figure.add_subplot(grid[0, -1])
        image = heat.imshow(phi, vmin=-1, vmax=1, cmap="RdBu_r")
        heat.grid(visible=False)
        if len(order) <= _NAMES_UP_TO:
            heat.set_xticks(range(len(order)), labels=[_cut(voter) for voter in order], rotation=90, fontsize=7)
            heat.set_yticks(range(len(order)), labels=[_cut(voter) for voter in order], fontsize=7)
            heat.yaxis.tick_right()
        else:
            heat.set_xticks([])
            heat.set_yticks([])
        if len(order) <= _NUMBERS_UP_TO:
            for i in range(len(order)):
                for j in range(len(order)):
                    if np.isfinite(phi[i, j]):
                        ink = "white" if abs(phi[i, j]) > 0.6 else style.BLACK
                        heat.text(j, i, short(float(phi[i, j]), 2), ha="center", va="center", fontsize=7, color=ink)
        heat.set_title(title)
        figure.colorbar(image, ax=heat, location="bottom", shrink=0.6, label="correlation of errors (phi)")
        heat.set_anchor("W")  # beside its tree; a colour bar puts its map in the middle
        if tree is not None:
            from scipy.cluster.hierarchy import dendrogram  # type: ignore[import-untyped]

            left = figure.add_subplot(grid[0, 0])
            drawn = dendrogram(np.array(tree.merges, dtype=float), no_plot=True)
            for ends, depths in zip(drawn["icoord"], drawn["dcoord"], strict=True):
                left.plot(depths, ends, color=style.GREY, linewidth=1.2)
            left.invert_xaxis()
            left.set_yticks([])
            left.set_ylim(10 * len(tree.voters), -10 * (len(order) - len(tree.voters)))
            left.set_xlabel("1 − phi", fontsize=7)
            left.grid(visible=False)
            left.spines["left"].set_visible(False)
        style.explain(
            figure,
            f"{found.n_labelled:,} questions. Blank, off the diagonal: a voter who is always right or always wrong has "
            "no correlation. Tree: average linkage on 1 − phi.",
        )
        kept = {key: data[key] for key in ("pairs", "clusters", "phi_mean", "phi_ci", "phi_range")}
        return style.save(figure, folder, name, rows=data["pairs"], data=kept, title=title)


def _cut(voter: str) -> str:
    return voter if len(voter) <= 28 else f"{voter[:27]}…"
