"""What texts written in turns came to by who wrote them, and whether what was wrong was put right in them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from dissensus.measure.paired import Interval, wilson
from dissensus.study.gather import WrittenText
from dissensus.study.report_cells import CellRows

NOTHING: Final = Interval(None, None, None, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Some of the texts: how many, and the shares of them that are right and that are on target."""

    texts: int
    right: float
    target: float

    def to_data(self) -> dict[str, Any]:
        """JSON-ready data."""
        return {"texts": self.texts, "right": self.right, "target": self.target}


@dataclass(frozen=True, slots=True, kw_only=True)
class Turns:
    """All texts of one cell, taken apart.

    Args:
        tasks, lineup, procedure, attack, corrupted: which cell.
        texts: all of them.
        first, last: by whoever added the first and the last token, ``honest`` or ``corrupted``.
        seat: by the seat that began.
        honest_turns: by the number of turns in which an honest agent added something.
        end: by how they ended.
        repaired: of the texts in which a corrupted turn announced the target, the share that ended right.
        captured: of those in which an honest turn announced the right answer, the share that ended on the target.
        begun: how many texts each seat began.
    """

    tasks: str
    lineup: str
    procedure: str
    attack: str
    corrupted: int
    texts: Part
    first: dict[str, Part] = field(default_factory=dict)
    last: dict[str, Part] = field(default_factory=dict)
    seat: dict[str, Part] = field(default_factory=dict)
    honest_turns: dict[str, Part] = field(default_factory=dict)
    end: dict[str, Part] = field(default_factory=dict)
    repaired: Interval = NOTHING
    captured: Interval = NOTHING
    begun: dict[str, int] = field(default_factory=dict)

    def to_data(self) -> dict[str, Any]:
        """JSON-ready data."""
        data: dict[str, Any] = {name: getattr(self, name) for name in self.__dataclass_fields__}
        for name in ("first", "last", "seat", "honest_turns", "end"):
            data[name] = {key: part.to_data() for key, part in data[name].items()}
        return data | {
            "texts": self.texts.to_data(),
            "repaired": self.repaired.to_data(),
            "captured": self.captured.to_data(),
        }


def turns_of(cell: CellRows) -> Turns | None:
    """The texts of a cell taken apart; None if it has none. Texts that were not awaited are left out."""
    texts = [text for row in cell.rows for text in row.texts if text.end != "not-awaited"]
    if not texts:
        return None
    begun = Counter(str(text.first.seat) for text in texts if text.first is not None)
    stated = [text for text in texts if text.target_stated]
    held = [text for text in texts if text.gold_stated]
    return Turns(
        tasks=cell.tasks,
        lineup=cell.cell.lineup.name,
        procedure=cell.procedure,
        attack=cell.cell.attack,
        corrupted=cell.cell.corrupted,
        texts=_part(texts),
        first=_by(texts, lambda text: _who(text.first)),
        last=_by(texts, lambda text: _who(text.last)),
        seat=_by(texts, lambda text: None if text.first is None else text.first.seat),
        honest_turns=_by(texts, lambda text: text.honest_turns),
        end=_by(texts, lambda text: text.end),
        repaired=_rate([text.score.right for text in stated]),
        captured=_rate([text.score.target for text in held]),
        begun=dict(sorted(begun.items())),
    )


def _who(turn: Any) -> str | None:
    return None if turn is None else "honest" if turn.honest else "corrupted"


def _by(texts: Iterable[WrittenText], key: Callable[[WrittenText], Hashable | None]) -> dict[str, Part]:
    groups: dict[Any, list[WrittenText]] = {}
    for text in texts:
        if (name := key(text)) is not None:
            groups.setdefault(name, []).append(text)
    return {str(name): _part(groups[name]) for name in sorted(groups)}


def _part(texts: list[WrittenText]) -> Part:
    many = len(texts)
    return Part(
        texts=many,
        right=sum(text.score.right for text in texts) / many,
        target=sum(text.score.target for text in texts) / many,
    )


def _rate(values: list[float]) -> Interval:
    if not values:
        return NOTHING
    low, high = wilson(sum(values), len(values))
    return Interval(sum(values) / len(values), low, high, len(values))
