"""Picture of the ear: how each part of a text surprised its readers, and how it moved the odds of the text's answer."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from dissensus.cli.pictures import style
from dissensus.decide.round_robin_opinions import Ear, HeardText
from dissensus.decide.round_robin_result import RoundRobin

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_TEXTS: Final = 3
"""Texts that are drawn; the data hold all."""
_COLOURS: Final = (style.BLUE, style.ORANGE, style.GREEN, style.PURPLE, style.SKY)
_MARKERS: Final = ("o", "s", "^", "D", "v", "P", "X")
_LONGEST_NAME: Final = 12


def draw(
    found: RoundRobin, ear: Ear, folder: Path, *, corrupted: Collection[str] = (), name: str = "ear"
) -> list[Path]:
    """Write the picture and its data; returns the four paths. ``corrupted`` names agents, if it is known who was.

    Raises:
        MissingExtra: matplotlib is not installed.
        StorageError: the folder cannot be written.
    """
    shown = ear.texts[:MOST_TEXTS]
    surprise = ear.mode in ("surprise", "both")
    odds = ear.mode in ("drift", "both")
    parts = [max(len(text.chunks), 3) for text in shown] or [3]
    readers = max([len(text.opinions) for text in shown] + [1])
    heights = [0.5 + 0.32 * readers] * surprise + [2.4] * odds
    title = _title(ear, corrupted)
    width = min(max(2.4 + 0.7 * len(shown) + 0.44 * sum(parts), 7.0), 18.0)
    with style.drawing(width=width, height=1.5 + sum(heights)) as (figure, axes):
        figure.delaxes(axes)
        panels = figure.subplots(
            len(heights),
            len(parts),
            squeeze=False,
            sharex="col",
            gridspec_kw={"height_ratios": heights, "width_ratios": parts},
        )
        used: dict[str, Any] = {}
        most = max((value for text in ear.texts for one in text.opinions for value in one.surprise if value), default=1)
        image = None
        for column, text in enumerate(shown):
            answer = "no answer" if found.texts[text.number].answer is None else str(found.texts[text.number].answer)
            panels[0][column].set_title(f"text-{text.number + 1}: {answer[: 6 * parts[column]]}", fontsize=9)
            if surprise:
                image = _surprise(panels[0][column], text, most, corrupted, labels=column == 0)
            if odds:
                _odds(panels[-1][column], ear, text, used, corrupted)
            _writers(panels[-1][column], text, corrupted)
        if image is not None:
            bar = figure.colorbar(image, ax=list(panels[0]), shrink=0.9, pad=0.01)
            bar.set_label("surprise, nats a token", fontsize=8)
            bar.ax.tick_params(labelsize=7)
        if odds and used:
            panels[-1][0].set_ylabel("log-odds against\nthe other candidates", fontsize=8)
            longest = max(range(len(parts)), key=parts.__getitem__)
            panels[-1][longest].legend(list(used.values()), list(used), loc="best", fontsize=8)
        figure.suptitle(title, x=0.01, ha="left", fontsize=11, fontweight="bold")
        style.explain(figure, _beneath(ear, corrupted))
        rows = [row for text in ear.texts for row in _rows(ear, text)]
        import msgspec

        data = {"ear": msgspec.to_builtins(ear), "corrupted": sorted(corrupted)}
        return style.save(figure, folder, name, rows=rows, data=data, title=title)


def _title(ear: Ear, corrupted: Collection[str]) -> str:
    writers = ear.by_writer()
    if not writers:
        return "How each part of a text moved the odds of its answer"
    most = max(writers, key=lambda name: writers[name])
    least = min(writers, key=lambda name: writers[name])
    mark = " (corrupted)" if most in corrupted else ""
    return (
        f"{most}'s parts{mark} surprised their readers most ({writers[most]:.2f}), {least}'s least "
        f"({writers[least]:.2f})"
    )


def _beneath(ear: Ear, corrupted: Collection[str]) -> str:
    told = {"given": "given beforehand", "options": "the options", "answers": "what the texts answer"}
    how = "Each reader by its own model, from its own prompt: how likely something is to a model, not how right it is."
    parts = [how]
    if ear.candidates:
        parts.append(f"Candidates ({told.get(ear.source, ear.source)}): {', '.join(ear.candidates)[:120]}.")
    if corrupted:
        parts.append("(C) and dashed: corrupted.")
    if len(ear.texts) > MOST_TEXTS:
        parts.append(f"The first {MOST_TEXTS} of {len(ear.texts)} texts.")
    return " ".join(parts)


def _surprise(panel: Axes, text: HeardText, most: float, corrupted: Collection[str], *, labels: bool) -> Any:
    import numpy as np

    grid = np.full((len(text.opinions), max(len(text.chunks), 1)), np.nan)
    for row, opinion in enumerate(text.opinions):
        for column, value in enumerate(opinion.surprise):
            grid[row, column] = np.nan if value is None else value
    image = panel.imshow(grid, cmap="Blues", vmin=0, vmax=most, aspect="auto", interpolation="nearest")
    panel.grid(visible=False)
    for row, opinion in enumerate(text.opinions):
        for column, writer in enumerate(text.writers):
            value = grid[row, column]
            if not np.isnan(value):
                ink = "white" if value > 0.6 * most else style.BLACK
                panel.text(column, row, f"{value:.1f}", ha="center", va="center", fontsize=7, color=ink)
            elif writer == opinion.reader:
                panel.text(column, row, "own", ha="center", va="center", fontsize=6, color=style.GREY)
    names = [_name(opinion.reader, corrupted) for opinion in text.opinions]
    panel.set_yticks(range(len(names)), labels=names if labels else [""] * len(names), fontsize=8)
    if labels:
        panel.set_ylabel("reader", fontsize=8)
    return image


def _odds(panel: Axes, ear: Ear, text: HeardText, used: dict[str, Any], corrupted: Collection[str]) -> None:
    panel.axhline(0, color=style.GREY, linewidth=0.8)
    for place, writer in enumerate(text.writers):
        if writer in corrupted:
            panel.axvspan(place - 0.5, place + 0.5, color=style.ORANGE, alpha=0.12, linewidth=0)
    own = ear.told_of(text)
    if own is None:
        panel.text(0.5, 0.5, "one candidate only", ha="center", va="center", transform=panel.transAxes, fontsize=8)
        return
    panel.annotate(
        f"of {ear.candidates[own][:24]}", (0.02, 0.98), xycoords="axes fraction", va="top", fontsize=8, color=style.GREY
    )
    others = [place for place in range(len(ear.candidates)) if place != own]
    marks = [place - 0.5 for place in range(len(text.chunks) + 1)]
    for place, opinion in enumerate(text.opinions):
        points = [(x, opinion.odds(mark, own, others)) for mark, x in enumerate(marks)]
        known = [(x, y) for x, y in points if y is not None]
        if not known:
            continue
        [line] = panel.plot(
            *zip(*known, strict=True),
            color=_COLOURS[place % len(_COLOURS)],
            marker=_MARKERS[place % len(_MARKERS)],
            markersize=4,
            linewidth=1.3,
            linestyle="--" if opinion.reader in corrupted else "-",
        )
        used.setdefault(_name(opinion.reader, corrupted), line)
    means = text.odds_of(ear.candidates, own)
    mean = [(x, value) for x, value in zip(marks, means, strict=True) if value is not None]
    if mean and len(text.opinions) > 1:
        [line] = panel.plot(*zip(*mean, strict=True), color=style.BLACK, linewidth=2.2, linestyle=(0, (1, 1)))
        used.setdefault("mean of readers", line)


def _writers(panel: Axes, text: HeardText, corrupted: Collection[str]) -> None:
    """Who wrote which part, beneath the lowest panel."""
    names = [_name(writer, corrupted) for writer in text.writers]
    panel.set_xticks(range(len(names)), labels=names, fontsize=7, rotation=60 if len(names) > 5 else 0)
    panel.set_xlim(-0.6, max(len(names), 1) - 0.4)
    panel.set_xlabel("part, by its writer", fontsize=8)


def _name(agent: str, corrupted: Collection[str]) -> str:
    return f"{agent[:_LONGEST_NAME]}{' (C)' if agent in corrupted else ''}"


def _rows(ear: Ear, text: HeardText) -> Sequence[dict[str, Any]]:
    of = ear.told_of(text)
    odds = () if of is None else text.odds_of(ear.candidates, of)
    return [
        {
            "text": text.number + 1,
            "part": place + 1,
            "turn": turn + 1,
            "writer": writer,
            "reader": opinion.reader,
            "surprise": opinion.surprise[place] if place < len(opinion.surprise) else None,
            "odds_of": "" if of is None else ear.candidates[of],
            "odds_before": odds[place] if odds else None,
            "odds_after": odds[place + 1] if odds else None,
        }
        for place, (turn, writer) in enumerate(zip(text.chunks, text.writers, strict=True))
        for opinion in text.opinions
    ]
