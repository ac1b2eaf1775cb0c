"""Which source a run was made by: whoever resumes it needs the same, or it may ask something else."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from importlib import resources
from typing import Final

import dissensus

_DECIDING: Final = (
    ("answers", ".py"),
    ("decide", ".py"),
    ("decide/dispute", ".py"),
    ("decide/swarm", ".py"),
    ("decide/verifiers", ".py"),
    ("measure", ".py"),
    ("say", ".py"),
    ("say/protocols", ".yaml"),
    ("say/readers", "record.py"),
    ("script", ".py"),
)
"""Folders and ends of names of the sources that decide what a script does. Readers of foreign logs do not."""


@lru_cache(maxsize=1)
def source_digest() -> str:
    """SHA-256 over the sources that decide what a script does: everything pure."""
    digest = hashlib.sha256()
    for package, names in _DECIDING:
        folder = resources.files(dissensus).joinpath(*package.split("/"))
        for file in sorted((entry for entry in folder.iterdir() if entry.name.endswith(names)), key=lambda f: f.name):
            digest.update(f"{package}/{file.name}\0".encode())
            digest.update(file.read_bytes())
    return digest.hexdigest()
