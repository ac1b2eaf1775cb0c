"""Records that older versions wrote can be read and verified for ever."""

from __future__ import annotations

import shutil
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from golden import make_golden

from dissensus.errors import RecordTooNew
from dissensus.record import canonical
from dissensus.record.jsonl import export_jsonl, import_jsonl
from dissensus.record.memory import MemoryStore
from dissensus.record.opening import open_record
from dissensus.record.upcast import SCHEMA, UPCASTERS, upcast
from dissensus.record.verify import verify
from dissensus.record.view import view_of

GOLDEN = Path(make_golden.__file__).parent
HEADS = {1: "f0b74ca8f39d16b24cba29f8999412cd1baa2d9ff5effae64d3777bb4e8bd08a"}
FILES = [GOLDEN / f"v{version}{suffix}" for version in HEADS for suffix in (".db", ".jsonl")]


@pytest.fixture(params=FILES, ids=lambda path: path.name)
def golden(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A copy, so that nothing can happen to the original."""
    return Path(shutil.copy(request.param, tmp_path))


def test_every_version_of_the_schema_has_a_golden_record() -> None:
    assert list(HEADS) == list(range(1, SCHEMA + 1))
    assert list(UPCASTERS) == list(range(1, SCHEMA))
    assert all(path.is_file() for path in FILES)


def test_golden_records_verify(golden: Path) -> None:
    found = verify(golden)
    assert found.head == HEADS[int(golden.stem[1:])]
    assert (found.events, found.blobs, found.complete, found.run_id) == (10, 1, True, make_golden.RUN)


def test_golden_records_are_read_as_they_were_written(golden: Path) -> None:
    with open_record(golden) as store:
        events = list(store.read())
    drafts = list(chain(*make_golden.BATCHES))
    times = [make_golden.START + number for number, batch in enumerate(make_golden.BATCHES) for _ in batch]
    assert [event.time for event in events] == times
    assert [event.id for event in events] == [f"{make_golden.RUN}:{seq}" for seq in range(1, 11)]
    for event, draft in zip(events, drafts, strict=True):
        assert repr(event.body) == repr(draft.body)
        assert (event.kind, event.key, event.actor, event.thread, event.visibility) == (
            draft.kind, draft.key, draft.actor, draft.thread, draft.visibility,
        )  # fmt: skip


def test_golden_records_give_the_same_views(golden: Path) -> None:
    with open_record(golden) as store:
        events = list(store.read())
    assert [(seen.role, seen.text[:20], seen.thread, seen.seq) for seen in view_of(events, "ada")] == [
        ("user", "1+1?", "main", 2),
        ("assistant", "2", "main", 2),
        ("user", make_golden.PROMPT[:20], "main", 2),
        ("assistant", "Answer: 8 euros", "main", 4),
        ("assistant", "8 €, I say – naïve?", "main", 6),
        ("assistant", "Only for you.", "side", 7),
    ]
    assert [seen.text for seen in view_of(events, "ben")] == ["ada: 8 €, I say – naïve?", "ada: Only for you."]
    assert [seen.text for seen in view_of(events, "cleo")] == ["ada: 8 €, I say – naïve?"]


def test_both_golden_files_hold_the_same_bytes(tmp_path: Path) -> None:
    for version in HEADS:
        lines = GOLDEN / f"v{version}.jsonl"
        record = Path(shutil.copy(GOLDEN / f"v{version}.db", tmp_path))
        export_jsonl(record, tmp_path / lines.name)
        assert (tmp_path / lines.name).read_bytes() == lines.read_bytes()
        import_jsonl(lines, tmp_path / "back.db")
        with open_record(record) as one, open_record(tmp_path / "back.db") as other:
            assert list(one.rows()) == list(other.rows())


def test_what_is_written_today_is_what_was_written_then() -> None:
    """Whoever changes the bytes of an event gives them a new version."""
    times = iter([make_golden.START + number for number in range(len(make_golden.BATCHES))])
    store = MemoryStore(run_id=make_golden.RUN, clock=lambda: next(times))
    for batch in make_golden.BATCHES:
        store.append(batch)
    assert store.head().hash.hex() == HEADS[SCHEMA]


# --- the machine that reads older versions, tried with changes that never were


def authors_become_actors(fields: dict[str, Any]) -> dict[str, Any]:
    fields = dict(fields)
    fields["actor"] = fields.pop("author")
    return fields


def threads_get_a_default(fields: dict[str, Any]) -> dict[str, Any]:
    return {"thread": "main", **fields}


CHANGES = {1: authors_become_actors, 2: threads_get_a_default}


def test_each_change_is_applied_in_turn() -> None:
    old = {"v": 1, "author": "ada"}
    assert upcast(old, "", CHANGES, 3) == {"v": 3, "actor": "ada", "thread": "main"}
    assert upcast({"v": 2, "actor": "ada"}, "", CHANGES, 3) == {"v": 3, "actor": "ada", "thread": "main"}
    assert upcast({"v": 3, "actor": "ada"}, "", CHANGES, 3) == {"v": 3, "actor": "ada"}
    assert old == {"v": 1, "author": "ada"}


def test_an_old_event_is_read_through_the_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(canonical, "_PREFIX", b'{"v":3,')
    monkeypatch.setattr(canonical, "upcast", partial(upcast, upcasters=CHANGES, schema=3))
    raw = b'{"v":1,"seq":4,"id":"r:4","time":2,"key":"","kind":"note","author":"ada","visibility":"public","body":{}}'
    event = canonical.decode((4, raw, b""), str, "")
    assert (event.actor, event.thread, event.time) == ("ada", "main", 2.0)


@pytest.mark.parametrize("version", [None, "1", 0, -1, 1.0, True, [1]])
def test_versions_that_never_were(version: Any) -> None:
    with pytest.raises(ValueError, match="version"):
        upcast({"v": version})


def test_a_version_to_come() -> None:
    with pytest.raises(RecordTooNew, match=r"run\.db was written in version 4"):
        upcast({"v": 4}, "run.db", CHANGES, 3)
