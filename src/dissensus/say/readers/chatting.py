"""A conversation of a person, an assistant and its tools, turn by turn, as messages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from dissensus.say.message import Message
from dissensus.say.readers.base import Aside
from dissensus.say.readers.calls import Calls
from dissensus.say.readers.chat_items import Call, Nothing, Part, Result, Text


class Chat:
    """One conversation.

    What is said in words is untagged and goes between the person and the assistant who spoke last; it stands in a
    thread of its own, where nothing is owed. What is said together with a call is kept in the call's content.

    Args:
        prefix: put before ids and thread names, where one log holds several conversations: ``r3:``.
        assistant, user: names of the two until the log says others.
    """

    def __init__(self, prefix: str = "", *, assistant: str = "assistant", user: str = "user") -> None:
        self.prefix = prefix
        self.calls = Calls(prefix)
        self.assistant = assistant
        self.user = user
        self.count = 0
        """Entries so far: ids are ``m`` and the number of the entry, from 0."""
        self._caller = assistant

    def turn(self, parts: Sequence[Part], speaker: str | None, **place: Any) -> Iterator[Message | Aside]:
        """The messages of one entry.

        Args:
            parts: what the entry says.
            speaker: the agent who says it, if it is an agent and has a name.
            place: ``line``, ``where`` and ``at``.
        """
        name = f"{self.prefix}m{self.count}"
        self.count += 1
        if speaker:
            self.assistant = speaker
        kept = next((part for part in parts if isinstance(part, Call)), None)
        text = next((part.content for part in parts if isinstance(part, Text)), None) if kept is not None else None
        number = 0
        for part in parts:
            if isinstance(part, Nothing):
                yield Aside(part.kind, place.get("line", 0), place.get("where", ""))
            elif not isinstance(part, Text) or kept is None:
                yield self._message(part, f"{name}.{number}" if number else name, text if part is kept else None, place)
                number += 1

    def _message(self, part: Call | Result | Text, name: str, text: Any, place: dict[str, Any]) -> Message:
        if isinstance(part, Call):
            self._caller = {"user": self.user, "": self.assistant}.get(part.caller, self.assistant)
            content = {"arguments": part.arguments, "text": text} if text else part.arguments
            return self.calls.call(name, self._caller, part.tool, part.id, content, **place)
        if isinstance(part, Result):
            return self.calls.result(
                name, part.tool, part.id, part.content, failed=part.failed, caller=self._caller, **place
            )
        if part.role == "user":
            self.user = part.speaker
        return Message(
            id=name,
            sender=part.speaker,
            receivers=(self.user if part.role == "assistant" else self.assistant,),
            thread=f"{self.prefix}chat",
            content=part.content,
            **place,
        )
