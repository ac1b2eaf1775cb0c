"""Which reader a log is for, and what is said when it is for none."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from dissensus.errors import LogError, UsageError
from dissensus.say.readers import registry
from dissensus.say.readers.base import Reader, Source
from dissensus.say.readers.registry import READERS, reader_named, recognise


def source(raw: bytes) -> Source:
    return Source("some.log", lambda: io.BytesIO(raw))


def test_a_reader_is_called_by_its_name() -> None:
    for reader in registry.readers():
        assert reader_named(reader.name) is reader
        assert READERS[reader.name]
        assert reader.mapping
        assert reader.looks_for
        assert all(sentence.endswith(".") for sentence in reader.cannot_tell)


def test_a_wrong_name_is_told_the_nearest() -> None:
    with pytest.raises(UsageError, match="Did you mean 'langchain'"):
        reader_named("langchian")
    with pytest.raises(UsageError, match="openai-chat"):
        reader_named("?")


@pytest.mark.parametrize(
    "raw", [b"hello\nworld\n", b"{}", b"[1, 2]", b'{"a": 1}\n{"a": 2}\n', b"\x00\x01", b"a,b\n1,2\n"]
)
def test_what_is_no_log_is_told_what_was_looked_for(raw: bytes) -> None:
    with pytest.raises(LogError) as caught:
        recognise(source(raw))
    for reader in registry.readers():
        assert f"{reader.name}: {reader.looks_for}" in caught.value.message
    assert "--format" in caught.value.next_step
    assert caught.value.path == "some.log"


@pytest.mark.parametrize("raw", [b"", b"\n \n"])
def test_an_empty_file_is_said_to_be_empty(raw: bytes) -> None:
    with pytest.raises(LogError, match="The file is empty"):
        recognise(source(raw))


def test_the_surest_wins_and_the_order_decides_between_two(monkeypatch: pytest.MonkeyPatch) -> None:
    scores = {"own": 0.6, "a2a": 0.9, "mcp": 0.9}

    def loaded(place: str) -> Reader | None:
        name = next(name for name, other in READERS.items() if other == place)
        if name not in scores:
            return None
        return Reader(name=name, title="", recognise=lambda _: scores[name], read=lambda *_: iter(()), looks_for=name)

    monkeypatch.setattr(registry, "_loaded", loaded)
    assert recognise(source(b"x")).name == "a2a"
    scores["mcp"] = 0.95
    assert recognise(source(b"x")).name == "mcp"
    scores.update(a2a=0.4, mcp=0.49, own=0.1)
    with pytest.raises(LogError):
        recognise(source(b"x"))


def test_a_missing_module_breaks_no_other_and_a_missing_dependency_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "dissensus.say.readers.chat", None)
    assert "openai-chat" not in [reader.name for reader in registry.readers()]
    assert "langchain" in [reader.name for reader in registry.readers()]
    with pytest.raises(UsageError, match="not part of this installation"):
        reader_named("openai-chat")
    monkeypatch.delitem(sys.modules, "dissensus.say.readers.chat")
    monkeypatch.delitem(sys.modules, "dissensus.say.readers.llmcontract", raising=False)
    monkeypatch.setitem(sys.modules, "dissensus.say.readers.chatting", None)
    with pytest.raises(ModuleNotFoundError, match="chatting"):
        reader_named("llmcontract")


@pytest.mark.parametrize(
    ("folder", "name"),
    [
        ("own/a2a", "a2a"), ("own/mcp", "mcp"), ("own/acl", "own"), ("who_and_when", "who-and-when"),
        ("tau_bench", "openai-chat"), ("llmcontract/v1", "llmcontract"), ("mcp_examples", "mcp"),
    ],
)  # fmt: skip
def test_every_reference_log_is_known_for_what_it_is(shared: Path, folder: str, name: str) -> None:
    logs = [path for path in (shared / "data/messages-and-protocols" / folder).rglob("*.json*")
            if not path.name.endswith(".expected.json")]  # fmt: skip
    assert logs
    for path in logs:
        assert recognise(Source(path.name, lambda path=path: path.open("rb"))).name == name, path  # type: ignore[misc]
