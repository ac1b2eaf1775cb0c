"""Audit a file of messages: open it, tell its format, feed the monitor, keep what it says."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from dissensus.errors import LogError
from dissensus.interop.record_log import record_from_bytes, record_source
from dissensus.interop.spool import Spool
from dissensus.say.audit import Tally, run
from dissensus.say.monitor import Monitor
from dissensus.say.protocol import FIPA, Protocol
from dissensus.say.readers.base import Options, Reader, Source
from dissensus.say.readers.patterns import Patterns, read_patterns
from dissensus.say.readers.record import PLATFORMS, EventSource
from dissensus.say.readers.registry import reader_named, recognise
from dissensus.say.verdicts import VIOLATED, Finding, Obligation

if TYPE_CHECKING:
    from dissensus.agents.model import Model
    from dissensus.interop.model_tagger import ModelTagger, Tagged
    from dissensus.interop.profile_differences import Difference


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditSettings:
    """How a log is audited.

    Args:
        format: name of a reader; None: told from the log.
        protocol: protocol of messages that name none: a shipped name, a file, or a protocol.
        protocols: files of further protocols that messages may name.
        profile: ``fipa``, ``jade`` or ``strict``.
        delivery: ``total``, ``fifo``, ``unordered``, or None: what each protocol says.
        authority: who may order whom.
        ttl: seconds after which what has no deadline expires.
        as_of: time by which deadlines are judged, in seconds since 1970-01-01 UTC; None: the latest in the log.
        closed: whether the conversations are known to be over.
        lenient: count and skip what cannot be read.
        extra: settings of single readers and trackers: ``version``, ``complete``, ``followup``.
        patterns: a pattern file that tags prose; ``default`` is the shipped one for English.
        tagger: a model that tags what carries no act and fits no pattern: a reference as ``decide --model`` takes it,
            ``PANEL_FILE#NAME``, or an open model.
        tagger_threshold: confidence from which a model's tag is applied, from 0 to 1.
    """

    format: str | None = None
    protocol: str | Protocol | None = None
    protocols: tuple[str, ...] = ()
    profile: str = FIPA
    delivery: str | None = None
    authority: Mapping[str, Collection[str]] | None = None
    ttl: float | None = None
    as_of: float | None = None
    closed: bool = False
    lenient: bool = False
    extra: Mapping[str, Any] = field(default_factory=dict)
    patterns: str | Path | None = None
    tagger: str | Model | None = None
    tagger_threshold: float = 0.5


@dataclass(slots=True)
class AuditReport:
    """What an audit found. ``findings`` and ``obligations`` may be long; they lie on disk then.

    ``broken`` is the number of promises whose agreed deadline has passed: no message is at fault for silence, so they
    are not among ``tally.violations``. ``differences`` holds the messages about which the profiles differ, if that was
    asked.
    """

    log: str
    settings: AuditSettings
    tally: Tally
    findings: Spool[Finding]
    obligations: Spool[Obligation]
    protocols: tuple[str, ...] = ()
    tagger: Tagged | None = None
    broken: int = 0
    differences: list[Difference] | None = None

    def clean(self) -> bool:
        """Whether nothing was violated: neither a rule by a message, nor a promise."""
        return not (self.tally.violations or self.broken)

    def head(self) -> dict[str, Any]:
        """The report as JSON data, without the two lists that may be long."""
        tally = self.tally
        return {
            "log": self.log,
            "format": tally.reader.name,
            "protocols": list(self.protocols),
            "profile": self.settings.profile,
            "as_of": iso(tally.as_of),
            "counts": tally.counts(),
            "broken": self.broken,
            **({} if self.differences is None else {"profiles": [one.to_data() for one in self.differences]}),
            "tagged_by": dict(sorted(tally.sources.items())),
            "tagger": self.tagger.to_data() if self.tagger is not None else None,
            "asides": dict(sorted(tally.asides.items())),
            "untagged": tally.untagged,
            "skipped": {
                "count": tally.skipped_count,
                "lines": [{"line": one.line, "where": one.where, "why": one.why} for one in tally.skipped],
            },
            "clock": {"ran_backwards": tally.backwards, "at": list(tally.backwards_at)},
            "cannot_tell": list(tally.cannot_tell()),
        }

    def to_data(self) -> dict[str, Any]:
        """The whole report as JSON data."""
        reader = self.tally.reader
        return self.head() | {
            "obligations": [obligation_data(owed, reader) for owed in self.obligations],
            "messages": [finding_data(finding, reader) for finding in self.findings],
        }


def audit(path: str | Path, *, progress: Callable[[int], Any] | None = None, **how: Any) -> AuditReport:
    """Say what became of every request and promise in the log at ``path``, and who moved without title.

    Args:
        path: a file of messages of any format that ``dissensus audit --formats`` lists, or a record of a run.
        progress: called with the number of messages read, every few thousand; with a ``tagger`` more often.
        how: the fields of :class:`AuditSettings`: ``format``, ``protocol``, ``as_of``, ``lenient`` …

    Returns:
        The report: ``findings``, ``obligations``, ``tally``, and ``to_data()``, which is what ``--json`` prints.

    Raises:
        LogError: it cannot be opened, is none of the formats, or has a line that cannot be read.
        SpecError: a protocol file or a pattern file is wrong.
        ModelNotFound: the tagger is not there.
        RecordDamaged: it is a record of a run that has been tampered with.
    """
    return audit_file(path, AuditSettings(**how), progress=progress)


def audit_file(
    path: str | Path, settings: AuditSettings | None = None, *, progress: Callable[[int], Any] | None = None
) -> AuditReport:
    """Audit the log at ``path``; ``-`` reads standard input.

    Raises:
        LogError: it cannot be opened, is none of the formats, or has a line that cannot be read.
        SpecError: a protocol file is wrong.
    """
    settings = settings or AuditSettings()
    patterns = None if settings.patterns is None else read_patterns(settings.patterns)  # one serves one log
    source = open_source(path)
    reader = reader_named(settings.format) if settings.format else recognise(source)
    findings, obligations = Spool(Finding), Spool(Obligation)
    monitor = monitor_for(settings, on_finding=findings.add, on_closed=obligations.add)
    as_of = settings.as_of
    if as_of is None and isinstance(source, EventSource):
        as_of = source.ended()
    with _tagger(settings, patterns) as tagger:
        tally = run(
            source,
            reader,
            monitor,
            Options(
                lenient=settings.lenient,
                protocol=monitor.default if settings.protocol is not None else None,
                extra=settings.extra,
            ),
            as_of=as_of,
            closed=settings.closed,
            tagger=patterns.tag if patterns is not None and tagger is None else None,
            through=None if tagger is None else tagger.through,
            progress=progress,
        )
    made = None if tagger is None else tagger.done
    if made is not None:
        tally.notes = tuple(made.cannot_tell())
    broken = monitor.book.counts.get(VIOLATED, 0)
    return AuditReport(str(path), settings, tally, findings, obligations, monitor.followed(), made, broken)


@contextmanager
def _tagger(settings: AuditSettings, patterns: Patterns | None) -> Iterator[ModelTagger | None]:
    """The model that tags, open; None if none is to."""
    if settings.tagger is None:
        yield None
        return
    from dissensus.interop.model_tagger import open_tagger

    with open_tagger(settings.tagger, patterns=patterns, at_least=settings.tagger_threshold) as tagger:
        yield tagger


def monitor_for(
    settings: AuditSettings,
    *,
    on_finding: Callable[[Finding], None] | None = None,
    on_closed: Callable[[Obligation], None] | None = None,
) -> Monitor:
    """A monitor that follows ``settings``."""
    from dissensus.say.protocol_file import find_protocol, shipped, shipped_protocol

    given: dict[str, Protocol] = {}
    for each in settings.protocols:
        protocol = find_protocol(each, settings.profile)
        given[protocol.name] = protocol
    default = settings.protocol or "fipa-request"
    if not isinstance(default, Protocol):
        default = given.get(default) or find_protocol(default, settings.profile)
    given[default.name] = default

    def find(name: str, profile: str) -> Protocol:
        if name in given:
            return given[name]
        if name not in shipped():
            raise LogError(
                f"No protocol is called {name!r}.",
                next_step="`dissensus protocol list` shows the shipped ones; give the file of another with --protocol.",
            )
        return shipped_protocol(name, profile)

    return Monitor(
        protocol=default,
        profile=settings.profile,
        delivery=settings.delivery,
        authority=settings.authority,
        ttl=settings.ttl,
        platforms=PLATFORMS,
        find=find,
        wire=settings.extra,
        on_finding=on_finding,
        on_closed=on_closed,
    )


def open_source(path: str | Path) -> Source:
    """The log at ``path``; standard input, which cannot be read twice, is read whole.

    Raises:
        LogError: there is no such file, or it cannot be read.
    """
    name = str(path)
    if name == "-":
        raw = sys.stdin.buffer.read()
        return record_from_bytes("stdin", raw) or Source("stdin", lambda: io.BytesIO(raw))
    place = Path(path)

    def opens() -> IO[bytes]:
        try:
            return place.open("rb")
        except OSError as error:
            why = error.strerror or error
            raise LogError(f"The log cannot be read: {why}.", path=name, next_step="Check the path.") from None

    if place.is_dir():
        raise LogError("This is a folder, not a log.", path=name, next_step="Give one file; call it once for each.")
    opens().close()
    return record_source(place) or Source(name, opens)


def iso(at: float | None) -> str | None:
    """A time in seconds as ISO 8601 in UTC, without a fraction that is zero."""
    if at is None:
        return None
    try:
        text = datetime.fromtimestamp(at, UTC).isoformat()
    except (OverflowError, ValueError, OSError):
        return None
    return text.replace("+00:00", "Z")


def obligation_data(owed: Obligation, reader: Reader) -> dict[str, Any]:
    """One obligation as JSON data. Where the log has no ids, messages are named by their line."""
    by_line = reader.ids == "line"
    return {
        "thread": owed.thread,
        "sub": owed.sub or None,
        "kind": owed.kind,
        "debtor": owed.debtor,
        "creditor": owed.creditor,
        "status": owed.status,
        "opened_by": owed.opened_line if by_line else owed.opened_by,
        "closed_by": (owed.closed_line if by_line else owed.closed_by) if owed.closed_by is not None else None,
        "opened_line": owed.opened_line or None,
        "closed_line": owed.closed_line or None,
        "opened_seq": owed.opened_seq,
        "closed_seq": owed.closed_seq or None,
        "opened_at": iso(owed.opened_at),
        "closed_at": iso(owed.closed_at),
        "deadline": iso(owed.deadline),
        "deadline_source": owed.deadline_source or None,
        "late_by_s": owed.late_by_s,
        "reason": owed.reason or None,
        "superseded_by": owed.superseded_by,
        "acknowledged": owed.acknowledged or None,
        "suspended": owed.suspended,
        "outside": owed.outside,
        "protocol": owed.protocol or None,
        "about": owed.about or None,
        "tag_source": owed.tag_source,
        "closed_tag_source": owed.closed_tag_source or None,
    }


def finding_data(finding: Finding, reader: Reader) -> dict[str, Any]:
    """One finding as JSON data."""
    return {
        "id": finding.line if reader.ids == "line" else finding.id,
        "line": finding.line or None,
        "seq": finding.seq,
        "where": finding.where or None,
        "thread": finding.thread,
        "sub": finding.sub or None,
        "verdict": finding.verdict,
        "rule": finding.rule,
        "level": finding.level,
        "party": finding.party or None,
        "caused_by": finding.caused_by,
        "says": finding.says,
        "act": finding.act,
        "state": finding.state or None,
        "expected": list(finding.expected),
        "crossed": list(finding.crossed),
        "at": iso(finding.at),
        "remedy": finding.remedy or None,
        "tag_source": finding.tag_source,
    }
