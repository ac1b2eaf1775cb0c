"""Control tokens in what a server wrote: found, left out, and logged.

A server leaves control tokens out of a text but not out of its ids. Handed to the next writer, such an id would steer
that writer's chat. Servers do not say which ids these are; but if ids are turned into text, control tokens show, and
the text that was written lacks them.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from dissensus.script.outcomes import Extended

_log = logging.getLogger("dissensus.agents")
_MARK = re.compile(r"\s*[<\[\u2581]?[<\[].*[>\]]\s*", re.DOTALL)
"""What the name of a control token looks like."""
_HALF = "\ufffd"


class ControlTokens:
    """Takes control tokens out of what one server writes.

    Args:
        text_of: the text of token ids with control tokens shown; None where the server does not tell.
    """

    def __init__(self, text_of: Callable[[Sequence[int]], Awaitable[str | None]]) -> None:
        self._text_of = text_of
        self._pieces: dict[int, str] = {}

    async def without(self, outcome: Extended) -> Extended:
        """``outcome`` without them; as it is if there are none, or if it cannot be told."""
        ids = outcome.tokens
        if not ids:
            return outcome
        whole = await self._text_of(ids)
        if whole is None or _bare(whole) == _bare(outcome.text):
            return outcome
        wrong = await self._strangers(ids, outcome.text)
        if not wrong:
            return outcome
        _log.warning("%s wrote %d control tokens into a text; they were left out.", outcome.model, len(wrong))
        kept = [place for place in range(len(ids)) if place not in wrong]
        numbers = outcome.logprobs
        return replace(
            outcome,
            tokens=tuple(ids[place] for place in kept),
            logprobs=None if numbers is None else tuple(numbers[place] for place in kept),
            raw=None,
            ends=None,
            dropped=outcome.dropped + len(wrong),
        )

    async def _strangers(self, ids: Sequence[int], text: str) -> set[int]:
        """Places of ids whose text looks like a mark and is not where it would have to stand in ``text``."""
        found: set[int] = set()
        rest = text
        for place, token in enumerate(ids):
            if token not in self._pieces:
                self._pieces[token] = await self._text_of((token,)) or ""
            piece = self._pieces[token]
            if piece and rest.startswith(piece):
                rest = rest[len(piece) :]
            elif piece and rest.lstrip().startswith(piece.strip()) and piece.strip():
                rest = rest.lstrip()[len(piece.strip()) :]
            elif _HALF not in piece and _MARK.fullmatch(piece):
                found.add(place)
        return found


def _bare(text: str) -> str:
    """Without what tokenizers add or cannot show: space at the ends, characters cut in half."""
    return text.replace(_HALF, "").strip()
