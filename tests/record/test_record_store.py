"""Both stores that are shipped pass what every store has to pass."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from conformance import StoreConformance

from dissensus.record.memory import MemoryStore
from dissensus.record.opening import open_record
from dissensus.record.store import Store


class TestMemory(StoreConformance):
    keeps = False

    def new(self, folder: Path, **options: Any) -> Store:  # noqa: ARG002
        return MemoryStore(**options)

    def again(self, store: Store) -> Store:
        return store


class TestSqlite(StoreConformance):
    def new(self, folder: Path, **options: Any) -> Store:
        return open_record(folder / "run.db", "x", **options)

    def again(self, store: Store) -> Store:
        return open_record(store.path, "a")
