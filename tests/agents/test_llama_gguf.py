from __future__ import annotations

import contextlib
import struct
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dissensus.agents.llama_gguf import read_header
from dissensus.errors import ModelNotFound


def text(value: str) -> bytes:
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def value_of(value: Any) -> bytes:
    """A value with its type, as a writer of such files would choose it."""
    match value:
        case bool():
            return struct.pack("<I?", 7, value)
        case int():
            return struct.pack("<II", 4, value)
        case float():
            return struct.pack("<Id", 12, value)
        case str():
            return struct.pack("<I", 8) + text(value)
        case [str(), *_]:
            return struct.pack("<IIQ", 9, 8, len(value)) + b"".join(map(text, value))
        case _:
            return struct.pack(f"<IIQ{len(value)}i", 9, 5, len(value), *value)


def file_of(values: dict[str, Any], *, version: int = 3, magic: bytes = b"GGUF") -> bytes:
    head = magic + struct.pack("<IQQ", version, 0, len(values))
    return head + b"".join(text(name) + value_of(value) for name, value in values.items())


GOOD = {
    "general.architecture": "llama",
    "general.name": "A name with ü",
    "llama.context_length": 8192,
    "general.quantized": True,
    "llama.rope.freq_base": 10000.0,
    "tokenizer.ggml.tokens": ["<s>", "</s>", "a", "", "ö"],
    "tokenizer.ggml.token_type": [3, 3, 1, 4, 6],
    "tokenizer.chat_template": "{{ messages }}",
}


def test_what_is_read(tmp_path: Path) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(file_of(GOOD))
    header = read_header(path)
    assert (header.architecture, header.title, header.context) == ("llama", "A name with ü", 8192)
    assert header.chat_template
    assert header.control_tokens == {0, 1}


def test_what_is_not_said(tmp_path: Path) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(file_of({"general.architecture": "gemma"}, version=2))
    header = read_header(path)
    assert (header.title, header.context, header.chat_template, header.control_tokens) == ("", 0, False, frozenset())


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "empty"),
        (b"PK\x03\x04 something else entirely", "does not begin with GGUF"),
        (file_of(GOOD, version=9), "its version is 9"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + text("x") + struct.pack("<IIQ", 9, 9, 1), "lists of lists"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + text("x") + struct.pack("<IIQ", 9, 5, 2**60), "cut off"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + struct.pack("<Q", 2**63) + b"x", "cut off"),
    ],
)
def test_what_is_no_model(tmp_path: Path, data: bytes, problem: str) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(data)
    with pytest.raises(ModelNotFound, match=problem):
        read_header(path)


@given(st.data())
def test_a_damaged_file_is_refused_or_read_but_nothing_else(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    good = file_of(GOOD)
    cut = data.draw(st.integers(1, len(good)))
    changed = bytearray(good[:cut])
    for _ in range(data.draw(st.integers(0, 3))):
        changed[data.draw(st.integers(0, cut - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.mktemp("g") / "m.gguf"
    path.write_bytes(changed)
    with contextlib.suppress(ModelNotFound):
        assert read_header(path).context >= 0


def test_every_cut_before_the_end_is_found(tmp_path: Path) -> None:
    good = file_of(GOOD)
    path = tmp_path / "m.gguf"
    for cut in range(1, len(good)):
        path.write_bytes(good[:cut])
        with pytest.raises(ModelNotFound):
            read_header(path)


@pytest.mark.model
def test_the_real_one(smollm2_path: Path) -> None:
    header = read_header(smollm2_path)
    assert header.architecture == "llama"
    assert header.context == 8192
    assert header.chat_template
    assert {1, 2} <= header.control_tokens  # <|im_start|>, <|im_end|>
    assert len(header.control_tokens) < 100
