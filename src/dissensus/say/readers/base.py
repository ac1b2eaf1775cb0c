"""What a reader of logs is, and where it reads from.

A reader turns one format into :class:`~dissensus.say.message.Message`, one after the other, and decides nothing:
whether a message was legal is for the monitor to say. It never drops a line in silence. What carries no act is yielded
untagged; what cannot be read is an error with file and line, or, under ``lenient``, a :class:`Skipped`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import IO, Any, Final

from dissensus.errors import LogError
from dissensus.say.message import Message
from dissensus.say.readers.decoding import decode

LONGEST_LINE: Final = 64_000_000
"""Bytes of the longest line that is read. No message is that long; a file with such a line is another kind of file."""
MOST_DOCUMENT: Final = 2_000_000_000
"""Bytes of the largest file that is one JSON document, which must be read whole."""
BOM: Final = b"\xef\xbb\xbf"
HEAD: Final = 65_536
"""Bytes of a file's beginning that sniffing may look at."""


@dataclass(frozen=True, slots=True)
class Skipped:
    """A line, or a part of a document (``where``), that could not be read under ``lenient``."""

    line: int
    why: str
    where: str = ""


Item = Message | Skipped


@dataclass(frozen=True, slots=True)
class Aside:
    """An entry that was read and is no message between parties, so that no entry vanishes without being counted.

    Args:
        kind: what it is: ``thought``, ``meta``, ``monitor: Violation``. Few different ones occur in one log.
        line, where: its place, as in :class:`~dissensus.say.message.Message`.
    """

    kind: str
    line: int = 0
    where: str = ""


def _ignore(_aside: Aside) -> None:
    """Nobody asked for asides."""


@dataclass(frozen=True, slots=True)
class Options:
    """How to read.

    Args:
        lenient: count and skip what cannot be read, instead of stopping there.
        protocol: protocol of messages that name none.
        extra: settings of single readers, such as ``version`` for A2A and MCP, or ``complete``.
        aside: is told of each entry that is no message. Entries = those of messages + skipped ones + asides.
    """

    lenient: bool = False
    protocol: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    aside: Callable[[Aside], None] = _ignore


class Source:
    """A log that can be opened, several times if need be.

    Args:
        name: its path, for messages.
        opens: gives a new binary stream at its beginning, with ``read`` and ``readline``.
    """

    def __init__(self, name: str, opens: Callable[[], IO[bytes]]) -> None:
        self.name = name
        self.opens = opens
        self._head: bytes | None = None

    def head(self) -> bytes:
        """The first bytes, for sniffing, without a byte order mark."""
        if self._head is None:
            with self.opens() as stream:
                self._head = stream.read(HEAD).removeprefix(BOM)
        return self._head

    def lines(self, *, skip: Callable[[Skipped], None] | None = None) -> Iterator[tuple[int, bytes]]:
        """Line number from 1, and the line without its end and without a byte order mark. Blank lines are passed over.

        Args:
            skip: is told of a line that is longer than any message, which is then passed over.

        Raises:
            LogError: a line is longer than any message, and there is no ``skip``.
        """
        with self.opens() as stream:
            for number, line in enumerate(iter(lambda: stream.readline(LONGEST_LINE), b""), 1):
                if len(line) >= LONGEST_LINE:
                    too_long = f"This line is longer than {LONGEST_LINE // 1_000_000} MB."
                    if skip is None:
                        raise self.wrong(number, too_long)
                    skip(Skipped(number, too_long))
                    rest = line
                    while rest and not rest.endswith(b"\n"):
                        rest = stream.readline(LONGEST_LINE)
                    continue
                text = line.rstrip(b"\r\n")
                if number == 1:
                    text = text.removeprefix(BOM)
                if text.strip():
                    yield number, text

    def document(self) -> Any:
        """The whole file as one JSON document.

        Raises:
            LogError: it is none, or is too large to be read whole.
        """
        raw = self.whole()
        try:
            return decode(raw)
        except ValueError as error:
            raise self.wrong(_line_of(raw, str(error)), f"This is no JSON document: {error}.") from None

    def whole(self) -> bytes:
        """All bytes of the file, without a byte order mark.

        Raises:
            LogError: it is too large to be read whole.
        """
        with self.opens() as stream:
            raw = stream.read(MOST_DOCUMENT + 1)
        if len(raw) > MOST_DOCUMENT:
            raise self.wrong(0, f"The file is one document of more than {MOST_DOCUMENT // 1_000_000_000} GB.")
        return raw.removeprefix(BOM)

    def wrong(self, line: int, message: str, *, next_step: str = "") -> LogError:
        """The error to raise for what stands at ``line``."""
        return LogError(message, path=self.name, line=line, next_step=next_step or "Try --lenient to pass over it.")


def _line_of(raw: bytes, message: str) -> int:
    """Line of the byte that a decoder complained about, by the end of its sentence: ``(byte 17)``."""
    digits = message.rpartition("(byte ")[2].rstrip(")")
    return raw.count(b"\n", 0, int(digits)) + 1 if digits.isdigit() else raw.count(b"\n") + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """One format of logs.

    Args:
        name: for ``--format``: ``who-and-when``.
        title: for people.
        recognise: how sure it is, from 0 to 1, that a source is of its format; looks at :meth:`Source.head`, or at the
            parsed beginning, and is quick. 0 means no.
        read: yields messages and skipped lines.
        looks_for: by what it recognises its format, for the error when nothing does: ``lines with "jsonrpc"``.
        mapping: what becomes of what, one entry per line of the documentation's table.
        cannot_tell: what such a log cannot show, for the end of the report, in whole sentences.
        ids: ``log`` if messages have ids of their own there; ``line`` if they are known by their line only.
    """

    name: str
    title: str
    recognise: Callable[[Source], float]
    read: Callable[[Source, Options], Iterator[Item]]
    looks_for: str
    mapping: Mapping[str, str] = field(default_factory=dict)
    cannot_tell: tuple[str, ...] = ()
    ids: str = "log"
