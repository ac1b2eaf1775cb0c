"""What readers made of a text while it was written: log-probabilities that came with the turns themselves.

An engine that keeps what each agent has read tells them for nothing, or nearly: where every agent reads each token as
it is written, of all of them (``Extended.others``); at a hand-over, of what the next writer reads anew
(``Extended.heard``). They are exact: of the very token ids, from the reader's own prompt.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from dissensus.script.outcomes import Extended
from dissensus.script.seats import Seat


class Overheard:
    """Natural-log probabilities by reader and token of one text that is handed over as ids."""

    def __init__(self) -> None:
        self._numbers: dict[str, dict[int, float]] = {}
        self.tell: set[str] = set()
        """Models, by the names of their seats, that have told anything."""

    def take(self, outcome: Extended, writer: Seat, *, before: int, kept: int, whole: bool) -> None:
        """Note what ``outcome`` tells.

        Args:
            outcome: of the turn.
            writer: whose turn it was.
            before: tokens of the text before it.
            kept: tokens of it that became part of the text.
            whole: whether these are the first ones of ``outcome.tokens``.
        """
        heard = (outcome.heard or ())[-before:] if before else ()
        self._put(writer.agent, before - len(heard), heard)
        if outcome.heard is not None:
            self.tell.add(writer.model)
        if whole:
            others: Mapping[str, Sequence[float]] = outcome.others or {}
            for reader, numbers in others.items():
                if len(numbers) == len(outcome.tokens or ()):
                    self._put(reader, before, numbers[:kept])

    def cut(self, length: int) -> None:
        """The text was taken back to ``length`` tokens."""
        for own in self._numbers.values():
            for place in [place for place in own if place >= length]:
                del own[place]

    def mean(self, reader: str, start: int, stop: int) -> float | None:
        """Mean over tokens ``start`` to ``stop``; None if one of them is not known."""
        own = self._numbers.get(reader, {})
        numbers = [own[place] for place in range(start, stop) if place in own]
        return math.fsum(numbers) / len(numbers) if numbers and len(numbers) == stop - start else None

    def _put(self, reader: str, start: int, numbers: Sequence[float]) -> None:
        own = self._numbers.setdefault(reader, {}) if numbers else {}
        own.update((start + place, number) for place, number in enumerate(numbers) if math.isfinite(number))
