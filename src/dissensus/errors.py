"""Everything that can go wrong and that a caller may want to catch.

::

    DissensusError
    ├── UsageError                the caller asked for something that cannot be            exit 2
    │   ├── SpecError             a file or option is wrong; carries file and line
    │   │   └── LogError          a log of messages cannot be read, or holds what no message can be
    │   ├── UnknownAct            a message names no communicative act; carries the nearest
    │   ├── MissingExtra          an optional package is not installed
    │   └── ModelNotFound         no such model, or it is not installed on this machine
    ├── RunError                  a run could not be finished; its record can be resumed   exit 3
    │   ├── StorageError          disk full, read-only, locked by another writer
    │   ├── ScriptError           a procedure broke a rule of scripts
    │   │   ├── DuplicateKey      two effects of one run carry the same key
    │   │   └── NotRecordable     an event that no record can hold: NaN, a lone surrogate, no JSON
    │   ├── ReplayMismatch        what the script asks now is not what the record holds
    │   │   └── NotRecorded       replay needs an outcome that the record does not hold
    │   ├── DownloadError         a download failed or its digest is wrong
    │   └── CellError             no cell of the level that is required, or one that cannot be laid out
    └── RecordError               a record cannot be trusted or read                       exit 4
        ├── RecordDamaged         a hash, a byte or a page is wrong; carries the event
        └── RecordTooNew          written by a newer version of the product

Failures of agents (a refusal, a timeout, a dead server) are *not* here: they are outcomes, which
procedures receive and records keep (:mod:`dissensus.script.outcomes`).

Each class has a stable ``code`` for programs, an ``exit_code`` for the command line, and carries
``next_step``: one sentence that says what to do about it.
"""

from __future__ import annotations

from typing import ClassVar


class DissensusError(Exception):
    """Base of all errors raised on purpose by this package."""

    code: ClassVar[str] = "error"
    exit_code: ClassVar[int] = 3

    def __init__(self, message: str, *, next_step: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.next_step = next_step

    def __str__(self) -> str:
        return f"{self.message} {self.next_step}".strip()


class UsageError(DissensusError):
    """The caller asked for something that cannot be."""

    code = "usage"
    exit_code = 2


class SpecError(UsageError):
    """A file or an option has a wrong value. ``line`` counts from 1; 0 means unknown."""

    code = "spec"

    def __init__(self, message: str, *, path: str = "", line: int = 0, next_step: str = "") -> None:
        where = f"{path}:{line}: " if path and line else f"{path}: " if path else ""
        super().__init__(where + message, next_step=next_step)
        self.path = path
        self.line = line


class UnknownAct(UsageError):
    """A message names an act that is none of the 22, no KQML performative and no known variant; ``near`` is like it."""

    code = "unknown-act"

    def __init__(self, name: str, *, near: str | None = None) -> None:
        super().__init__(
            f"{name!r} is no communicative act.",
            next_step=f"Did you mean {near!r}?" if near else "`dissensus protocol acts` lists them.",
        )
        self.name = name
        self.near = near


class LogError(SpecError):
    """A log of messages cannot be read at a line, or holds there what no message can be."""

    code = "log"


class MissingExtra(UsageError):
    """An optional package is needed and is not installed."""

    code = "missing-extra"

    def __init__(self, what: str, *, extra: str) -> None:
        super().__init__(
            f"{what} needs packages that are not installed.",
            next_step=f"Install them with: pip install 'dissensus[{extra}]'",
        )
        self.extra = extra


class ModelNotFound(UsageError):
    """No model has this name, or its file is not on this machine."""

    code = "model-not-found"


class RunError(DissensusError):
    """A run could not be finished. Its record holds what was done and can be resumed."""

    code = "run"


class StorageError(RunError):
    """The record cannot be written: disk full, read-only, or another writer has it open."""

    code = "storage"


class ScriptError(RunError):
    """A procedure broke a rule of scripts."""

    code = "script"


class DuplicateKey(ScriptError):
    """Two effects of one run carry the same key."""

    code = "duplicate-key"

    def __init__(self, key: str) -> None:
        super().__init__(
            f"The key {key!r} was used twice in one run.",
            next_step="Give the effect another key, or enter the part that repeats with under(…).",
        )
        self.key = key


class NotRecordable(ScriptError):
    """An event that no record can hold: its body is not JSON (NaN, a lone surrogate), or a field is wrong."""

    code = "not-recordable"


class ReplayMismatch(RunError):
    """What the script asks under a key is not what the record holds under it."""

    code = "replay-mismatch"

    def __init__(self, key: str, message: str, *, next_step: str = "") -> None:
        super().__init__(message, next_step=next_step)
        self.key = key


class NotRecorded(ReplayMismatch):
    """Replay needs an outcome that the record does not hold."""

    code = "not-recorded"


class DownloadError(RunError):
    """A download failed, or what came has the wrong digest."""

    code = "download"


class CellError(RunError):
    """A cell cannot be had: its level is not reached on this machine, its bytes are not there, or it does not start."""

    code = "cell"


class RecordError(DissensusError):
    """A record cannot be read or trusted."""

    code = "record"
    exit_code = 4


class RecordDamaged(RecordError):
    """A hash, a byte or a page of a record is wrong. ``seq`` is the event, 0 if none can be named."""

    code = "record-damaged"

    def __init__(self, message: str, *, seq: int = 0, next_step: str = "") -> None:
        super().__init__(message, next_step=next_step)
        self.seq = seq


class RecordTooNew(RecordError):
    """The record was written by a newer version of the product."""

    code = "record-too-new"
