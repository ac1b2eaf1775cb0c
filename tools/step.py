"""Runs one command as a named step and says what it took.

    python tools/step.py NAME [--grows FOLDER] -- COMMAND...

The command keeps the terminal, so its own progress bar shows. Afterwards one line says the time and, with ``--grows``,
by how much the folder has grown. The exit status is the command's. Needs nothing but Python, because the first step
is to make the environment.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path


def main() -> int:
    """Run the step; the command's exit status."""
    parser = argparse.ArgumentParser(description="Run one command as a named step and say what it took.")
    parser.add_argument("name")
    parser.add_argument("--grows", type=Path, metavar="FOLDER", help="also say by how much FOLDER has grown")
    parser.add_argument("command", nargs="+")
    arguments = parser.parse_args()
    folder: Path | None = arguments.grows.expanduser() if arguments.grows else None

    print(f"{arguments.name} ...", flush=True)
    before = size_of(folder)
    start = time.monotonic()
    try:
        status = subprocess.call(arguments.command)
    except KeyboardInterrupt:
        status = 130
    took = f"{time.monotonic() - start:.1f} s"
    if folder:
        took += f", {max(size_of(folder) - before, 0) / 1e6:.0f} MB"
    print(f"{arguments.name}: {took}" + (f" (failed, exit status {status})" if status else ""), flush=True)
    return status


def size_of(folder: Path | None) -> int:
    """Bytes on disk under ``folder``; 0 if there is none."""
    if folder is None:
        return 0
    # allocated blocks, and each file once, however many hard links it has
    blocks: dict[tuple[int, int], int] = {}
    for root, _, names in os.walk(folder):
        for name in names:
            try:
                info = Path(root, name).lstat()
            except FileNotFoundError:
                continue
            blocks[info.st_dev, info.st_ino] = info.st_blocks * 512
    return sum(blocks.values())


if __name__ == "__main__":
    sys.exit(main())
