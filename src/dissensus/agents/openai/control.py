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
_WINDOW = 8
"""So many ids before a seam are enough to see a character that stands across it."""


class ControlTokens:
    """Takes control tokens out of what one server writes.

    Args:
        text_of: the text of token ids with control tokens shown; None where the server does not tell.
    """

    def __init__(self, text_of: Callable[[Sequence[int]], Awaitable[str | None]]) -> None:
        self._text_of = text_of
        self._pieces: dict[int, str] = {}

    async def without(self, outcome: Extended, before: Sequence[int]) -> Extended:
        """``outcome`` without them; as it is if there are none, or if it cannot be told.

        ``before`` are the ids that were continued: a character that they begin and ``outcome`` ends, whose halves no
        server shows, becomes part of its text.
        """
        ids = outcome.tokens
        if not ids:
            return outcome
        whole = await self._text_of(ids)
        if whole is None:
            return outcome
        if _bare(whole) != _bare(outcome.text) and (wrong := await self._strangers(ids, outcome.text)):
            _log.warning("%s wrote %d control tokens into a text; they were left out.", outcome.model, len(wrong))
            kept = [place for place in range(len(ids)) if place not in wrong]
            numbers = outcome.logprobs
            ids = tuple(ids[place] for place in kept)
            outcome = replace(
                outcome,
                tokens=ids,
                logprobs=None if numbers is None else tuple(numbers[place] for place in kept),
                raw=None,
                ends=None,
                dropped=outcome.dropped + len(wrong),
            )
        if outcome.ends is None and _HALF in whole + outcome.text:
            return await self._made_whole(outcome, tuple(before)[-_WINDOW:], ids)
        return outcome

    async def _made_whole(self, outcome: Extended, before: tuple[int, ...], ids: tuple[int, ...]) -> Extended:
        """Its text as what the whole text grew by, characters that are not complete yet left to who completes them."""
        earlier = await self._text_of(before) if before else ""
        later = await self._text_of((*before, *ids))
        if earlier is None or later is None:
            return outcome
        earlier, later = earlier.rstrip(_HALF), later.rstrip(_HALF)
        return replace(outcome, text=later[len(earlier) :]) if later.startswith(earlier) else outcome

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
