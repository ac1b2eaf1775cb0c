"""What a GGUF model file says of itself, read without an engine.

Source: the GGUF specification, version 3 (ggml project, ``docs/gguf.md``): magic, version, counts, then typed
key-value pairs, then the tensors, which are not read here.
"""

from __future__ import annotations

import hashlib
import mmap
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dissensus.errors import ModelNotFound

_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9
_TOKENIZER = frozenset(f"tokenizer.ggml.{part}" for part in ("model", "pre", "tokens", "merges", "token_type"))
"""What decides how a text is cut into which ids; templates and flags do not."""
_CONTROL = 3
"""Token type of tokens that steer a chat (begin of turn, end of text); text must never turn into one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFile:
    """What matters of a model file's header.

    Args:
        architecture: such as ``qwen2`` or ``llama``.
        title: the name that its makers wrote into it ("" if none).
        context: tokens of context it was trained for (0 if it does not say).
        chat_template: whether it has a template for chats; without one it is no chat model.
        control_tokens: ids of tokens that steer a chat.
        tokenizer: SHA-256, in hex, of its vocabulary and merges: equal in files with the same tokenizer.
    """

    architecture: str
    title: str
    context: int
    chat_template: bool
    control_tokens: frozenset[int]
    tokenizer: str


def read_header(path: Path) -> ModelFile:
    """The header of a GGUF file. Raises :class:`~dissensus.errors.ModelNotFound` if it is none, or cut off."""
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            cursor = _Cursor(data)
            values = cursor.header()
    except (OSError, struct.error, ValueError, KeyError, OverflowError) as error:
        raise ModelNotFound(
            f"{str(path)!r} is not a GGUF model file that can be read ({error}).",
            next_step="Give the path of a complete .gguf file, or see 'dissensus model list'.",
        ) from error
    architecture = str(values.get("general.architecture", ""))
    context = values.get(f"{architecture}.context_length", 0)
    types = values.get("tokenizer.ggml.token_type", ())
    return ModelFile(
        architecture=architecture,
        title=str(values.get("general.name", "")),
        context=context if isinstance(context, int) else 0,
        chat_template="tokenizer.chat_template" in values,
        control_tokens=frozenset(token for token, kind in enumerate(types) if kind == _CONTROL),
        tokenizer=cursor.tokenizer.hexdigest(),
    )


class _Cursor:
    """Reads values one after the other. Running off the end raises struct.error or ValueError."""

    def __init__(self, data: mmap.mmap) -> None:
        self.data = data
        self.at = 0
        self.tokenizer = hashlib.sha256()

    def header(self) -> dict[str, Any]:
        if self.data[:4] != b"GGUF":
            raise ValueError("it does not begin with GGUF")
        self.at = 4
        version, _tensors, pairs = self.take("IQQ")
        if version not in {2, 3}:
            raise ValueError(f"its version is {version}, and 2 and 3 are known")
        values: dict[str, Any] = {}
        for _ in range(pairs):
            name = self.string()
            began = self.at
            values[name] = self.value(self.take("I")[0])
            if name in _TOKENIZER:
                self.tokenizer.update(name.encode())
                self.tokenizer.update(self.data[began : self.at])
        return values

    def value(self, kind: int) -> Any:
        if kind == _STRING:
            return self.string()
        if kind != _ARRAY:
            return self.take(_SCALARS[kind])[0]
        inner, count = self.take("IQ")
        if inner == _STRING:
            # a vocabulary is long and not needed: step over its words
            length = struct.Struct("<Q")
            for _ in range(count):
                self.at += 8 + length.unpack_from(self.data, self.at)[0]
            return ()
        if inner == _ARRAY:
            raise ValueError("it has lists of lists")
        if count > len(self.data):
            raise ValueError("it is cut off")
        return self.take(f"{count}{_SCALARS[inner]}")

    def string(self) -> str:
        (length,) = self.take("Q")
        text = self.data[self.at : self.at + length]
        if len(text) != length:
            raise ValueError("it is cut off")
        self.at += length
        return text.decode("utf-8", "replace")

    def take(self, form: str) -> tuple[Any, ...]:
        values = struct.unpack_from("<" + form, self.data, self.at)
        self.at += struct.calcsize("<" + form)
        return values
