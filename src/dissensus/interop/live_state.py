"""What a monitor of a running system knows, in a file from which another process goes on.

One JSON object a line: first what the monitor knows, then the findings and the closed obligations of its report.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import msgspec

from dissensus.errors import LogError, StorageError
from dissensus.say.verdicts import Finding, Obligation

FORMAT: Final = "dissensus monitor 1"
_encode = msgspec.json.Encoder().encode


def write(path: str | Path, head: dict[str, Any], findings: Iterable[Finding], closed: Iterable[Obligation]) -> None:
    """Write a state; ``path`` holds either what it held before or all of it.

    Raises:
        StorageError: it cannot be written.
    """
    place = Path(path)
    try:
        with tempfile.NamedTemporaryFile(dir=place.parent, prefix=f".{place.name}-", delete=False) as stream:
            try:
                for line in _lines(head, findings, closed):
                    stream.write(line + b"\n")
                stream.flush()
                os.fsync(stream.fileno())
                Path(stream.name).replace(place)
            except BaseException:
                with contextlib.suppress(OSError):
                    Path(stream.name).unlink()
                raise
    except OSError as error:
        raise StorageError(
            f"The state {path} cannot be written: {error.strerror or error}.",
            next_step="Check the path and the room on its disk.",
        ) from None


@dataclass(slots=True)
class Kept:
    """A state that was read: what the monitor knew, and the two lists of its report."""

    head: dict[str, Any] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    closed: list[Obligation] = field(default_factory=list)


def read(path: str | Path) -> Kept:
    """What :func:`write` wrote.

    Raises:
        LogError: there is no such file, or it is no state of a monitor.
    """
    kept, number = Kept(), 0
    try:
        with Path(path).open("rb") as stream:
            for number, line in enumerate(stream, 1):
                if number == 1:
                    kept.head = msgspec.json.decode(line, type=dict[str, Any])
                    if kept.head.get("format") != FORMAT:
                        break
                elif line.startswith(b'{"finding":'):
                    kept.findings.append(msgspec.json.decode(line, type=_Finding).finding)
                else:
                    kept.closed.append(msgspec.json.decode(line, type=_Closed).closed)
    except OSError as error:
        raise LogError(f"The state cannot be read: {error.strerror or error}.", path=str(path)) from None
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise LogError(f"This is no state of a monitor: {error}.", path=str(path), line=number) from None
    if kept.head.get("format") != FORMAT or not isinstance(kept.head.get("options"), dict):
        raise LogError(
            "This is no state of a monitor, or of another version.",
            path=str(path),
            line=1,
            next_step="Monitor.save writes it.",
        )
    return kept


class _Finding(msgspec.Struct):
    finding: Finding


class _Closed(msgspec.Struct):
    closed: Obligation


def _lines(head: dict[str, Any], findings: Iterable[Finding], closed: Iterable[Obligation]) -> Iterator[bytes]:
    yield _encode({"format": FORMAT, **head})
    for finding in findings:
        yield _encode(_Finding(finding))
    for owed in closed:
        yield _encode(_Closed(owed))
