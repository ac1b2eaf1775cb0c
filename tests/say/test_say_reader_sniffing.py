"""Each sample is recognised by its own reader and by no other one."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from dissensus.say.message import Message
from dissensus.say.protocol_file import shipped
from dissensus.say.readers.base import Options, Reader, Source
from dissensus.say.readers.registry import reader_named, readers, recognise

DATA = Path(__file__).parent / "data"
NAMES = (
    "autogen", "agentchat", "chatdev", "agents-sdk", "otel", "openinference", "langsmith", "crewai", "metagpt",
    "fipa-text", "spade",
)  # fmt: skip
READERS = {name: reader_named(name) for name in NAMES}
SAMPLES = {
    "agents_sdk.jsonl": "agents-sdk",
    "agentchat.jsonl": "agentchat",
    "agentchat_state.json": "agentchat",
    "autogen.log": "autogen",
    "chatdev.log": "chatdev",
    "crewai_events.jsonl": "crewai",
    "crewai_tasks.json": "crewai",
    "crewai_tasks.txt": "crewai",
    "fipa.acl": "fipa-text",
    "kqml.txt": "fipa-text",
    "langsmith.jsonl": "langsmith",
    "metagpt.json": "metagpt",
    "metagpt.log": "metagpt",
    "openinference.jsonl": "openinference",
    "otel.json": "otel",
    "otel_console.json": "otel",
    "spade.jsonl": "spade",
    "spade.txt": "spade",
}


def opened(path: Path) -> Source:
    return Source(str(path), lambda: path.open("rb"))


@pytest.mark.parametrize("name", SAMPLES)
def test_its_own_reader_is_the_surest_and_others_stay_away(name: str) -> None:
    sure = {reader.name: reader.recognise(opened(DATA / name)) for reader in readers()}
    assert recognise(opened(DATA / name)).name == SAMPLES[name]
    own = sure.pop(SAMPLES[name])
    assert own >= 0.8
    family = {"otel", "openinference"}
    assert {other for other, how in sure.items() if how > 0} <= (family if SAMPLES[name] in family else set()), sure
    assert all(how < own for how in sure.values())


@pytest.mark.parametrize("name", SAMPLES)
def test_a_sample_inside_a_text_field_of_another_log_is_not_recognised(name: str) -> None:
    """A log may quote another one: what stands inside a JSON string is nobody's format."""
    quoted = json.dumps({"role": "user", "content": (DATA / name).read_text(encoding="utf-8")}).encode() + b"\n"
    source = Source("quoted", lambda: io.BytesIO(quoted))
    assert {reader.name for reader in READERS.values() if reader.recognise(source) > 0} == set()


@pytest.mark.parametrize("name", SAMPLES)
def test_samples_use_shipped_protocols_and_have_threads_and_unique_ids(name: str) -> None:
    items = list(READERS[SAMPLES[name]].read(opened(DATA / name), Options()))
    messages = [item for item in items if isinstance(item, Message)]
    assert len(items) == len(messages) > 1
    assert len({m.id for m in messages}) == len(messages)
    assert {m.protocol for m in messages} <= {None, *shipped()}
    assert all(m.thread and m.receivers for m in messages if m.act)
    assert all(m.line or m.where for m in messages)


def test_the_logs_of_other_formats_are_nobodys_here(shared: Path) -> None:
    folder = shared / "data" / "messages-and-protocols"
    taken = {
        (path.name, reader.name)
        for path in sorted(folder.rglob("*.json*"))
        for reader in READERS.values()
        if reader.recognise(opened(path)) > 0
    }
    assert taken == set()


@pytest.mark.parametrize("reader", READERS.values(), ids=READERS)
def test_readers_say_what_they_do_and_what_they_cannot(reader: Reader) -> None:
    assert reader.looks_for
    assert reader.mapping
    assert reader.cannot_tell
    assert all(sentence.endswith(".") for sentence in reader.cannot_tell)
    assert reader.recognise(Source("empty", lambda: io.BytesIO(b""))) == 0
    assert list(reader.read(Source("empty", lambda: io.BytesIO(b"\n\n")), Options())) == []
