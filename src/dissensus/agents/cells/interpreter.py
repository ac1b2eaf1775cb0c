"""The real Python behind whatever started us, and what has to be readable for it to run."""

from __future__ import annotations

import functools
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from dissensus.errors import CellError

_LIBRARIES: Final = ("/lib", "/lib32", "/lib64", "/libx32", "/usr/lib", "/usr/lib32", "/usr/lib64")
_PUBLIC: Final = ("/etc/ld.so.cache", "/usr/share/zoneinfo")
DEVICES: Final = ("/dev/null", "/dev/zero", "/dev/random", "/dev/urandom")
_ELF: Final = b"\x7fELF"


@functools.cache
def real_interpreter() -> Path:
    """The program file of this Python: no link, no shim that is a script, not the copy in a virtual environment.

    Raises:
        CellError: none is found.
    """
    name = f"python{sys.version_info.major}.{sys.version_info.minor}"
    candidates = (
        getattr(sys, "_base_executable", ""),
        f"{sys.base_exec_prefix}/bin/{name}",
        f"{sys.base_prefix}/bin/{name}",
        sys.executable,
    )
    for candidate in candidates:
        if candidate and _is_program(path := Path(candidate).resolve()):
            return path
    raise CellError(
        "The program file of this Python is not found.",
        next_step="Run with a Python whose own program can be read.",
    )


def _is_program(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(4) == _ELF or sys.platform != "linux"
    except OSError:
        return False


@functools.cache
def code_paths() -> tuple[Path, ...]:
    """What a bare interpreter reads: itself, its library, the system's libraries. Files or folders that exist."""
    prefixes = {sys.base_prefix, sys.base_exec_prefix, str(real_interpreter().parent.parent)}
    wanted = [str(real_interpreter())]
    wanted += [*_LIBRARIES, *_PUBLIC]
    wanted += [f"{prefix}/{folder}" for prefix in sorted(prefixes) for folder in ("lib", "lib64")]
    if sys.base_prefix.startswith("/nix/store/"):  # there, each library has a folder of its own
        wanted.append("/nix/store")
    found = list(dict.fromkeys(path for text in wanted if (path := Path(text)).exists()))
    return tuple(path for path in found if not any(other in path.parents and not other.is_symlink() for other in found))


def program_of(name: str) -> tuple[Path, list[tuple[Path, Path]]]:
    """The file that a command names, and what has to be readable for it: pairs of where it is and where it is sought.

    For a script, the interpreter of its first line is among them.

    Raises:
        CellError: there is no such program.
    """
    found = shutil.which(name)
    if found is None:
        raise CellError(f"There is no program {name!r} to run in a cell.", next_step="Check its name and the PATH.")
    path = Path(os.path.abspath(found))  # noqa: PTH100 - the name as it was given, links and all
    needed = [(path.resolve(), path)]
    needed.extend((Path(part).resolve(), Path(part)) for part in _interpreter_of(path))
    return path, needed


def wants_python(path: Path) -> bool:
    """Whether a script asks for any Python: ``#!/usr/bin/env python3``. What that finds may be a shim."""
    parts = _first_line(path)
    return len(parts) > 1 and Path(parts[0]).name == "env" and parts[1] in ("python", "python3")


def _first_line(path: Path) -> list[str]:
    """The words after ``#!``; none if the file is no script."""
    try:
        with path.open("rb") as file:
            first = file.read(256).split(b"\n")[0]
    except OSError:
        return []
    return first[2:].decode("utf-8", "replace").split() if first.startswith(b"#!") else []


def _interpreter_of(path: Path) -> Iterator[str]:
    parts = _first_line(path)
    if parts:
        yield parts[0]
    if len(parts) > 1 and Path(parts[0]).name == "env" and (found := shutil.which(parts[1])):
        yield found


def uncovered(paths: Sequence[tuple[Path, Path]], covering: Sequence[Path]) -> list[tuple[Path, Path]]:
    """Those of ``paths`` that lie in none of ``covering`` where they are sought."""
    return [
        (source, sought) for source, sought in paths if not any(sought.is_relative_to(folder) for folder in covering)
    ]
