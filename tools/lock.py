"""Writes the lock files: every package that an install may bring, each with its exact version and hashes.

    python tools/lock.py              keeps what is locked, adds what pyproject.toml now asks for
    python tools/lock.py --upgrade    takes the newest releases that have cooled down

A release counts only when it has been out for a week: most poisoned releases are found and withdrawn within days.
The age is the upload time that the package index states for each file. No address of an index is written, so that
an install uses whatever index its machine is set up with.
"""

from __future__ import annotations

import argparse
import datetime as dt
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COOLDOWN_DAYS = 7
EXTRAS_OF = {
    "run": ["local"],
    "dev": ["local", "mcp", "plots", "draw", "cells", "pdf", "otel", "proxy", "parquet", "dev"],
    "bench": ["local", "mcp", "plots", "draw", "cells", "pdf", "otel", "proxy", "parquet", "dev", "bench"],
}
"""Lock file to the extras in it, small to large: each is held to the versions of the one before."""


def main() -> int:
    """Write all lock files; 0 if that worked."""
    parser = argparse.ArgumentParser(description="Write requirements/*.txt.")
    parser.add_argument("--upgrade", action="store_true", help="take newer releases of what is already locked")
    upgrade: bool = parser.parse_args().upgrade
    before = dt.datetime.now(dt.UTC).date() - dt.timedelta(days=COOLDOWN_DAYS)
    smaller: Path | None = None
    for name in EXTRAS_OF:
        smaller = lock(name, before=before, within=smaller, upgrade=upgrade)
    return 0


def lock(name: str, *, before: dt.date, within: Path | None, upgrade: bool) -> Path:
    """Write one lock file from releases older than ``before``; what ``within`` locks keeps its version there."""
    target = ROOT / "requirements" / f"{name}.txt"
    command = [sys.executable, "-m", "uv", "pip", "compile", "-", "--quiet", "--output-file", str(target)]
    command += ["--universal", "--python-version", "3.11", "--generate-hashes", "--no-annotate", "--no-config"]
    command += ["--custom-compile-command", "make lock", "--exclude-newer", before.isoformat()]
    command += ["--no-emit-package", "dissensus"]
    if upgrade:
        command.append("--upgrade")
    with tempfile.TemporaryDirectory() as folder:
        if within is not None:
            pins = Path(folder) / "pins.txt"
            pins.write_text(pins_of(within.read_text(encoding="utf-8")), encoding="utf-8")
            command += ["--constraints", str(pins)]
        subprocess.run(command, input=wanted(EXTRAS_OF[name]), text=True, check=True, cwd=ROOT)
    return target


def wanted(extras: list[str]) -> str:
    """What pyproject.toml asks for: to run, for ``extras``, and to build, one requirement a line."""
    spec = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    lines: list[str] = list(spec["project"]["dependencies"])
    for extra in extras:
        lines += spec["project"]["optional-dependencies"][extra]
    # an editable install needs `editables` besides the backend itself
    return "\n".join([*lines, *spec["build-system"]["requires"], "editables"]) + "\n"


def pins_of(text: str) -> str:
    """The ``name==version ; marker`` lines of a lock file, without hashes."""
    return "\n".join(line.rstrip("\\ ") for line in text.splitlines() if line[:1].isalnum()) + "\n"


if __name__ == "__main__":
    sys.exit(main())
