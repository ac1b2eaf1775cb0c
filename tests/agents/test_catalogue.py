from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from dissensus.agents import catalogue
from dissensus.agents.catalogue import (
    Entry,
    State,
    cache_dir,
    digest_of,
    entries,
    find,
    locate,
    path_of,
    remembered_digest,
    state_of,
)
from dissensus.errors import ModelNotFound

BYTES = b"GGUF and so on" * 1000
ENTRY = Entry(
    name="tiny",
    title="Tiny",
    use="tests",
    license="Apache-2.0",
    provenance="made here",
    size=len(BYTES),
    sha256=hashlib.sha256(BYTES).hexdigest(),
)


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DISSENSUS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(catalogue, "entries", lambda: (ENTRY,))
    return tmp_path / "cache"


def put(data: bytes) -> Path:
    path = path_of(ENTRY)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def test_every_entry_is_complete() -> None:
    assert {"qwen2.5-coder-0.5b", "smollm2-135m"} <= {entry.name for entry in entries()}
    for entry in entries():
        assert entry.name == entry.name.lower()
        assert "/" not in entry.name
        assert len(bytes.fromhex(entry.sha256)) == 32
        assert all([entry.title, entry.use, entry.license, entry.provenance])
        assert sum(part.size for part in entry.packages) == entry.size
        assert entry.hub == "" or entry.hub.startswith("https://")
        # a branch of a hub may move; a commit does not
        assert entry.hub == "" or any(len(piece) == 40 for piece in entry.hub.split("/"))


def test_names_are_unique() -> None:
    assert len({entry.name for entry in entries()}) == len(entries())


def test_an_unknown_name_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ModelNotFound, match="gpt-99") as caught:
        find("gpt-99")
    assert "smollm2-135m" in caught.value.next_step


def test_a_name_may_be_written_in_capitals() -> None:
    assert find("SmolLM2-135M").name == "smollm2-135m"


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"DISSENSUS_CACHE": "/a/own", "XDG_CACHE_HOME": "/b"}, "/a/own"),
        ({"XDG_CACHE_HOME": "/b"}, "/b/dissensus"),
        ({"XDG_CACHE_HOME": "relative/path"}, "~/.cache/dissensus"),
        ({}, "~/.cache/dissensus"),
    ],
)
def test_where_the_cache_lies(variables: dict[str, str], expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DISSENSUS_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert cache_dir() == Path(expected).expanduser()


@pytest.mark.usefixtures("own_cache")
def test_states() -> None:
    assert state_of(ENTRY) is State.ABSENT
    path = put(BYTES[:-1])
    assert state_of(ENTRY) is State.DAMAGED
    put(BYTES)
    assert state_of(ENTRY) is State.INSTALLED
    assert state_of(ENTRY, deep=True) is State.INSTALLED
    path.write_bytes(b"x" + BYTES[1:])
    assert state_of(ENTRY) is State.INSTALLED, "the size alone does not show it"
    assert state_of(ENTRY, deep=True) is State.DAMAGED


def test_digest_tells_how_far_it_is(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"ab" * (1 << 20))
    steps: list[int] = []
    assert digest_of(path, step=steps.append) == hashlib.sha256(path.read_bytes()).hexdigest()
    assert sum(steps) == path.stat().st_size
    assert len(steps) > 1


@pytest.mark.usefixtures("own_cache")
def test_a_digest_is_remembered_until_the_file_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"one")
    first = remembered_digest(path)
    assert first == hashlib.sha256(b"one").hexdigest()
    with monkeypatch.context() as patch:
        patch.setattr(catalogue, "digest_of", lambda _path: pytest.fail("it was read again"))
        assert remembered_digest(path) == first
    path.write_bytes(b"two")
    os.utime(path, ns=(0, 12345))  # two writes may fall into one tick of the clock
    assert remembered_digest(path) == hashlib.sha256(b"two").hexdigest()


def test_a_damaged_or_unwritable_note_costs_nothing(own_cache: Path, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"one")
    right = hashlib.sha256(b"one").hexdigest()
    own_cache.mkdir()
    (own_cache / "digests.json").write_bytes(b"{not json")
    assert remembered_digest(path) == right
    assert remembered_digest(path) == right
    (own_cache / "digests.json").unlink()
    own_cache.rmdir()
    own_cache.write_bytes(b"a file in the cache's place")
    assert remembered_digest(path) == right


@pytest.mark.usefixtures("own_cache")
def test_locate_by_name() -> None:
    with pytest.raises(ModelNotFound, match="is not installed") as caught:
        locate("tiny")
    assert caught.value.next_step == "Run: dissensus model install tiny"
    path = put(BYTES)
    found = locate("tiny")
    assert (found.name, found.path, found.sha256) == ("tiny", path, ENTRY.sha256)
    path.write_bytes(b"x" + BYTES[1:])
    os.utime(path, ns=(0, 12345))
    with pytest.raises(ModelNotFound, match="is damaged") as caught:
        locate("tiny")
    assert "install tiny" in caught.value.next_step


@pytest.mark.usefixtures("own_cache")
def test_locate_by_path(tmp_path: Path) -> None:
    path = tmp_path / "My-Model.gguf"
    with pytest.raises(ModelNotFound, match=r"My-Model\.gguf"):
        locate(str(path))
    path.write_bytes(b"bytes")
    found = locate(str(path))
    assert (found.name, found.path) == ("My-Model", path)
    assert found.sha256 == hashlib.sha256(b"bytes").hexdigest()
