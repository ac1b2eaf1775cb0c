"""What a cell holds: digests of bytes, and the path that each has in the cell. Nothing else gets in."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Final

from dissensus.agents.cells.bubblewrap import SCRATCH
from dissensus.errors import CellError, UsageError

Bytes = Callable[[str], bytes | None] | Mapping[str, bytes | Path]
"""Where the bytes of a digest are had: a function (None: there are none), or a mapping to bytes or files."""

_DIGEST: Final = re.compile(r"[0-9a-f]{64}")
_MOST_NAME: Final = 200
_DEEPEST: Final = 20
_CHUNK: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Manifest:
    """SHA-256 (64 hexadecimal digits) to path in the cell, relative to the folder in which programs run.

    Raises:
        UsageError: a digest is none; a path is absolute, leaves the cell, is the scratch folder's, or is another's.
    """

    files: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        taken: set[PurePosixPath] = set()
        folders: set[PurePosixPath] = set()
        for digest, name in self.files.items():
            if not _DIGEST.fullmatch(digest):
                raise UsageError(
                    f"{digest!r} in the manifest of a cell is no SHA-256.",
                    next_step="Write 64 hexadecimal digits, small letters.",
                )
            path = _checked(name)
            above = {parent for parent in path.parents if parent.parts}
            if path in taken or path in folders or above & taken:
                raise UsageError(
                    f"Two entries in the manifest of a cell collide at {name!r}.",
                    next_step="Give each digest a path of its own.",
                )
            taken.add(path)
            folders |= above


def _checked(name: str) -> PurePosixPath:
    path = PurePosixPath(name)
    odd = any(not part.isprintable() or len(part.encode("utf-8", "replace")) > _MOST_NAME for part in path.parts)
    if (
        not path.parts
        or path.is_absolute()
        or ".." in path.parts
        or len(path.parts) > _DEEPEST
        or odd
        or path.parts[0] == SCRATCH
    ):
        raise UsageError(
            f"{name!r} cannot be a path in a cell.",
            next_step=f"Write a relative path with plain names, without .. and not in {SCRATCH}/.",
        )
    return path


def lay_out(manifest: Manifest, blobs: Bytes, folder: Path) -> None:
    """Write the bytes of ``manifest`` into ``folder``, readable and not writable, and check each against its digest.

    Raises:
        CellError: there are no bytes for a digest, or they are others.
        OSError: the disk is full, or a file cannot be read.
    """
    for digest, name in manifest.files.items():
        target = folder / _checked(name)
        for above in reversed(target.relative_to(folder).parents):
            if above.parts and not (folder / above).is_dir():
                (folder / above).mkdir()
                (folder / above).chmod(0o755)  # whatever the umask is
        seen = hashlib.sha256()
        with target.open("xb") as file:
            for chunk in _chunks(blobs, digest):
                seen.update(chunk)
                file.write(chunk)
            os.fchmod(file.fileno(), 0o444)
        if seen.hexdigest() != digest:
            raise CellError(
                f"The bytes for {name} in the manifest of a cell have the SHA-256 {seen.hexdigest()}, not {digest}.",
                next_step="Pin the source anew: what was stored under this digest is something else.",
            )


def _chunks(blobs: Bytes, digest: str) -> Iterator[bytes]:
    found = blobs(digest) if callable(blobs) else blobs.get(digest)
    if found is None:
        raise CellError(
            f"There are no bytes for {digest} in the manifest of a cell.",
            next_step="Pin the source first, or leave it out of the manifest.",
        )
    if isinstance(found, Path):
        with found.open("rb") as file:
            while chunk := file.read(_CHUNK):
                yield chunk
    else:
        yield found
