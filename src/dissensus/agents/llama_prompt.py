"""Chats as token ids, in which no text of a turn can become a control token.

A chat template joins turns with control tokens such as ``<|im_start|>``. If the joined text were cut into tokens as a
whole, a message that contains these characters would open a turn of its own, and whoever writes to an agent could speak
as its system prompt. So the template is rendered once for each sequence of *roles*, with a mark in place of each text;
what lies between the marks is cut with control tokens on, each text with control tokens off, and the ids are joined.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from dissensus.agents.llama_client import CallFailed
from dissensus.script.calls import Role, Turn
from dissensus.script.outcomes import TransportFailure

Post = Callable[[str, dict[str, Any]], Awaitable[dict[str, Any]]]
"""Sends JSON to a path of the engine's server and gives its JSON; raises what the server refuses."""

_TEXTS_KEPT = 2048


class _RefusedError(CallFailed):
    """The template does not render this sequence of roles."""


class Prompter:
    """Makes token ids of chats for one engine. Remembers templates and recent texts."""

    def __init__(self, post: Post) -> None:
        self._post = post
        self._mark = f"turn-{secrets.token_hex(6)}-"
        self._frames: dict[tuple[Role, ...], list[list[int] | int]] = {}
        self._texts: OrderedDict[str, list[int]] = OrderedDict()
        self._adds_space: bool | None = None
        self.fragments: set[int] = set()
        """Tokens seen so far that are only a piece of a character."""

    async def chat(self, turns: Sequence[Turn]) -> list[int]:
        """The chat up to where the assistant's next message begins.

        If the last turn is the assistant's, its text is the beginning of that message.
        """
        begun = turns[-1].text if turns and turns[-1].role == "assistant" else ""
        turns = turns[:-1] if begun or (turns and turns[-1].role == "assistant") else turns
        try:
            frame = await self._frame(tuple(turn.role for turn in turns))
        except _RefusedError:
            # many templates want user and assistant in turn and know no system role
            turns = plain_turns(turns)
            frame = await self._frame(tuple(turn.role for turn in turns))
        ids: list[int] = []
        for piece in frame:
            ids += await self.text(turns[piece].text) if isinstance(piece, int) else piece
        return ids + (await self.text(begun) if begun else [])

    def template(self, turns: Sequence[Turn]) -> str:
        """Digest of how turns with these roles become a prompt; "" if none have yet."""
        roles = tuple(turn.role for turn in turns)
        frame = self._frames.get(roles) or self._frames.get(tuple(turn.role for turn in plain_turns(turns)))
        return "" if frame is None else hashlib.sha256(repr(frame).encode()).hexdigest()[:16]

    async def text(self, text: str) -> list[int]:
        """A text as ids that hold no control token."""
        if not text:
            return []
        known = self._texts.get(text)
        if known is None:
            known = await self._cut(text)
            self._texts[text] = known
            if len(self._texts) > _TEXTS_KEPT:
                self._texts.popitem(last=False)
        else:
            self._texts.move_to_end(text)
        return list(known)

    async def _cut(self, text: str) -> list[int]:
        """Cut a text; where the tokenizer would put a space before it, cut it behind an anchor and drop the anchor."""
        if self._adds_space is None:
            plain = await self._tokens("a", special=False)
            written = (await self._post("/detokenize", {"tokens": plain}))["content"]
            self._adds_space = written != "a"
        if self._adds_space:
            anchor = await self._tokens("\n", special=False)
            both = await self._tokens("\n" + text, special=False)
            if both[: len(anchor)] == anchor:
                return both[len(anchor) :]
        return await self._tokens(text, special=False)

    async def _tokens(self, text: str, *, special: bool, first: bool = False) -> list[int]:
        request = {"content": text, "parse_special": special, "add_special": first, "with_pieces": True}
        cut = (await self._post("/tokenize", request))["tokens"]
        # a piece that is no whole characters comes as a list of its bytes
        self.fragments.update(token["id"] for token in cut if not isinstance(token["piece"], str))
        return [token["id"] for token in cut]

    async def _frame(self, roles: tuple[Role, ...]) -> list[list[int] | int]:
        """The template around turns with these roles: ids, and the numbers of the turns whose texts stand between."""
        if roles in self._frames:
            return self._frames[roles]
        messages = [{"role": role, "content": f"{self._mark}{number}."} for number, role in enumerate(roles)]
        try:
            rendered: str = (await self._post("/apply-template", {"messages": messages}))["prompt"]
        except CallFailed as failed:
            if failed.outcome.cause == "status":
                raise _RefusedError(failed.outcome) from failed
            raise
        frame: list[list[int] | int] = []
        # odd places hold the number between the mark and its dot
        for place, piece in enumerate(re.split(re.escape(self._mark) + r"(\d+)\.", rendered)):
            frame.append(int(piece) if place % 2 else await self._tokens(piece, special=True, first=place == 0))
        if sorted(piece for piece in frame if isinstance(piece, int)) != list(range(len(roles))):
            problem = "The chat template leaves turns out, or repeats them."
            raise _RefusedError(TransportFailure(problem=problem, cause="status"))
        self._frames[roles] = frame
        return frame


def plain_turns(turns: Sequence[Turn]) -> list[Turn]:
    """The same chat for templates that only know user and assistant in turn.

    A system turn becomes the beginning of the user turn after it; neighbours of one role become one turn; before an
    assistant that speaks first, a user says nothing.
    """
    plain = [Turn("user", "")] if turns and turns[0].role == "assistant" else []
    for turn in turns:
        role: Role = "user" if turn.role == "system" else turn.role
        if plain and plain[-1].role == role:
            plain[-1] = Turn(role, f"{plain[-1].text}\n\n{turn.text}")
        else:
            plain.append(Turn(role, turn.text))
    return plain
