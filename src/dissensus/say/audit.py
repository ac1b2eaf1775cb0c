"""The audit of a whole log: the monitor, fed from a reader, and what is to be reported."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from dissensus.errors import LogError
from dissensus.say.message import GUESSED, Message
from dissensus.say.monitor import Monitor
from dissensus.say.readers.base import Item, Options, Reader, Skipped, Source
from dissensus.say.verdicts import PENDING, UNTAGGED

_MOST_SKIPPED: Final = 1_000


@dataclass(slots=True)
class Tally:
    """What was read and seen, apart from findings and obligations, which go where the monitor sends them.

    Args:
        reader: the format that was read.
        messages, tagged: messages, and those with an act.
        sources: how many got their act from a field, the structure, inference, a pattern, a model.
        asides: entries that are no messages, by kind.
        untagged: first ids of messages without an act.
        skipped: lines that could not be read (the first thousand), and how many there are.
        notes: what else this log cannot tell, in whole sentences, from whoever tagged it.
    """

    reader: Reader
    messages: int = 0
    tagged: int = 0
    threads: int = 0
    requests: int = 0
    unanswered: int = 0
    pending: int = 0
    violations: int = 0
    warnings: int = 0
    sources: Counter[str] = field(default_factory=Counter)
    asides: Counter[str] = field(default_factory=Counter)
    untagged: list[str] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    skipped_count: int = 0
    last_unreadable: int = 0
    backwards: int = 0
    backwards_at: tuple[str, ...] = ()
    as_of: float | None = None
    inferred: bool = False
    notes: tuple[str, ...] = ()

    def counts(self) -> dict[str, int]:
        """The counts that every report shows."""
        return {
            "messages": self.messages,
            "tagged": self.tagged,
            "threads": self.threads,
            "requests": self.requests,
            "unanswered": self.unanswered,
            "pending": self.pending,
            "violations": self.violations,
            "warnings": self.warnings,
        }

    def cannot_tell(self) -> Iterator[str]:
        """What this log cannot show, in whole sentences."""
        yield from self.reader.cannot_tell
        if missing := self.messages - self.tagged:
            yield (
                f"{missing:,} of {self.messages:,} messages carry no act: what they ask, promise or answer is not seen."
            )
        if self.inferred and not any("inferred" in sentence for sentence in self.reader.cannot_tell):
            yield "Some acts were only inferred: `answered` says that something came back, not that it was delivered."
        if self.skipped_count:
            lines = "line" if self.skipped_count == 1 else "lines"
            yield f"{self.skipped_count:,} {lines} could not be read: what was open there may have been closed."
        yield from self.notes


def run(
    source: Source,
    reader: Reader,
    monitor: Monitor,
    options: Options | None = None,
    *,
    as_of: float | None = None,
    closed: bool = False,
    tagger: Callable[[Message], Message] | None = None,
    through: Callable[[Iterator[Item]], Iterator[Item]] | None = None,
    progress: Callable[[int], Any] | None = None,
) -> Tally:
    """Read ``source`` to its end, judge every message, and close the book.

    Args:
        source: what is read.
        reader: its format.
        monitor: receives the messages; its callbacks receive findings and obligations.
        options: how it is read.
        as_of: time by which deadlines are judged; the latest in the log if not given.
        closed: whether the conversations are known to be over.
        tagger: is shown every message, and tries to tag those that carry no act.
        through: what all that is read goes through first, in order: a tagger that looks at several messages at once.
        progress: called with the number of messages, every few thousand; after each if they go ``through`` something.

    Raises:
        LogError: a line cannot be read or cannot be judged, and reading is not lenient.
    """
    options = options or Options()
    tally = Tally(reader)
    kinds = tally.asides

    def aside(entry: Any) -> None:
        kinds[entry.kind] += 1

    options = Options(lenient=options.lenient, protocol=options.protocol, extra=options.extra, aside=aside)
    sources: dict[str, int] = {}
    see = monitor.see
    guesses = tagger is not None or through is not None
    every = 0xFFF if through is None else 0
    read = reader.read(source, options)
    for item in read if through is None else through(read):
        if isinstance(item, Skipped):
            _skip(tally, item)
            continue
        m = item
        if tagger is not None and m.wire is None:
            m = tagger(m)
        try:
            verdict = see(m)
        except LogError as error:
            if not options.lenient:
                raise source.wrong(m.line, error.message, next_step=error.next_step) from None
            _skip(tally, Skipped(m.line, error.message, m.where))
            continue
        if verdict is UNTAGGED:
            if len(tally.untagged) < _MOST_SKIPPED:
                tally.untagged.append(m.id)
        else:
            sources[m.tag_source] = sources.get(m.tag_source, 0) + 1
            if guesses and m.tag_source in GUESSED and m.thread is not None:
                monitor.guessed.add(m.thread)
        if progress is not None and not monitor.messages & every:
            progress(monitor.messages)
    unreadable = (tally.last_unreadable,) if tally.last_unreadable else ()
    monitor.finish(as_of, closed=closed, unreadable=unreadable)
    tally.sources.update(sources)
    tally.inferred = "inferred" in sources
    tally.messages, tally.tagged, tally.threads = monitor.messages, monitor.tagged, monitor.threads_seen()
    tally.requests, tally.unanswered = monitor.book.requests, monitor.book.unanswered
    tally.pending = monitor.book.counts.get(PENDING, 0)
    tally.violations, tally.warnings = monitor.violations, monitor.warnings
    tally.backwards, tally.backwards_at = monitor.backwards, tuple(monitor.backwards_at)
    now = monitor.now if monitor.now != float("-inf") else None
    tally.as_of = as_of if as_of is not None else now
    return tally


def _skip(tally: Tally, item: Skipped) -> None:
    tally.skipped_count += 1
    tally.last_unreadable = max(tally.last_unreadable, item.line)
    if len(tally.skipped) < _MOST_SKIPPED:
        tally.skipped.append(item)
