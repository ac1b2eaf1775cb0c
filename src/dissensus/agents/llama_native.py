"""The C calls of the embedded engine, declared for exactly one build of it.

The package ``xllamacpp`` exports llama.cpp's C functions (``llama.h``) but does not document them. What is declared
here is what this project uses, for the build that ``pyproject.toml`` pins. :func:`library` refuses another build, and
looks whether the structures have the default values that they have in this one: an error here would otherwise be a
crash or, worse, wrong numbers.

Only :mod:`dissensus.agents.llama_sequences` and what runs in its process may use this.
"""

from __future__ import annotations

import ctypes as c
import functools
import importlib
import importlib.metadata
import sys
from pathlib import Path
from typing import Any, Final

BUILD: Final = "2026.10.11549"
_ERROR = 4
_CONTEXT: Final = {
    "batch": 2048,
    "ubatch": 512,
    "sequences": 1,
    "flash": -1,
    "type_k": 1,
    "type_v": 1,
    "unified": False,
}
_MODEL: Final = {"gpu_layers": -1, "split": 1}


class NativeError(Exception):
    """The engine's library is not the one that is declared here, or a call of it failed."""


class ModelParams(c.Structure):
    """``llama_model_params``; only what is set here has a name. Longer than the real one: the rest is not read."""

    _fields_ = (
        ("devices", c.c_void_p),
        ("overrides", c.c_void_p),
        ("gpu_layers", c.c_int32),
        ("split", c.c_int32),
        ("rest", c.c_ubyte * 256),
    )


class ContextParams(c.Structure):
    """``llama_context_params``, as above."""

    _fields_ = (
        ("tokens", c.c_uint32),  # of all sequences together
        ("batch", c.c_uint32),  # most tokens of one call
        ("ubatch", c.c_uint32),  # most tokens worked on at a time
        ("sequences", c.c_uint32),
        ("snapshots", c.c_uint32),
        ("outputs", c.c_uint32),  # most rows of logits at a time; 0 is as many as ``batch``
        ("outputs_each", c.c_uint32),
        ("threads", c.c_int32),
        ("threads_batch", c.c_int32),
        ("kind", c.c_int32),
        ("rope_scaling", c.c_int32),
        ("pooling", c.c_int32),
        ("attention", c.c_int32),
        ("flash", c.c_int32),  # -1 is the engine's choice
        ("rope", c.c_float * 2),
        ("yarn", c.c_float * 4),
        ("yarn_context", c.c_uint32),
        ("defrag", c.c_float),
        ("on_eval", c.c_void_p),
        ("on_eval_data", c.c_void_p),
        ("type_k", c.c_int32),
        ("type_v", c.c_int32),
        ("on_abort", c.c_void_p),
        ("on_abort_data", c.c_void_p),
        ("experts", c.c_size_t),
        ("embeddings", c.c_bool),
        ("offload", c.c_bool),
        ("no_timings", c.c_bool),
        ("offload_ops", c.c_bool),
        ("full_windows", c.c_bool),
        ("unified", c.c_bool),
        ("rest", c.c_ubyte * 256),
    )


class Batch(c.Structure):
    """``llama_batch``: tokens of any sequences, and which of them give logits."""

    _fields_ = (
        ("count", c.c_int32),
        ("token", c.POINTER(c.c_int32)),
        ("embedding", c.c_void_p),
        ("place", c.POINTER(c.c_int32)),
        ("sequences", c.POINTER(c.c_int32)),
        ("sequence", c.POINTER(c.POINTER(c.c_int32))),
        ("logits", c.POINTER(c.c_int8)),
    )


_LOG = c.CFUNCTYPE(None, c.c_int, c.c_char_p, c.c_void_p)
_P, _I, _B = c.c_void_p, c.c_int32, c.c_bool
_SIGNATURES: Final[dict[str, tuple[Any, ...]]] = {
    # name: (result, arguments …)
    "llama_backend_init": (None,),
    "llama_log_set": (None, _LOG, _P),
    "llama_model_default_params": (ModelParams,),
    "llama_context_default_params": (ContextParams,),
    "llama_model_load_from_file": (_P, c.c_char_p, ModelParams),
    "llama_model_free": (None, _P),
    "llama_model_get_vocab": (_P, _P),
    "llama_init_from_model": (_P, _P, ContextParams),
    "llama_free": (None, _P),
    "llama_n_ctx_seq": (c.c_uint32, _P),
    "llama_get_memory": (_P, _P),
    "llama_memory_seq_rm": (_B, _P, _I, _I, _I),
    "llama_memory_seq_cp": (None, _P, _I, _I, _I, _I),
    "llama_memory_seq_pos_max": (_I, _P, _I),
    "llama_state_seq_get_size": (c.c_size_t, _P, _I),
    "llama_state_seq_get_data": (c.c_size_t, _P, _P, c.c_size_t, _I),
    "llama_state_seq_set_data": (c.c_size_t, _P, _P, c.c_size_t, _I),
    "llama_batch_init": (Batch, _I, _I, _I),
    "llama_batch_free": (None, Batch),
    "llama_decode": (_I, _P, Batch),
    "llama_get_logits_ith": (c.POINTER(c.c_float), _P, _I),
    "llama_vocab_n_tokens": (_I, _P),
    "llama_vocab_is_eog": (_B, _P, _I),
    "llama_vocab_is_control": (_B, _P, _I),
    "llama_tokenize": (_I, _P, c.c_char_p, _I, c.POINTER(_I), _I, _B, _B),
    "llama_token_to_piece": (_I, _P, _I, c.c_char_p, _I, _I, _B),
}


@functools.cache
def library() -> Any:
    """The engine's library with its functions declared. Raises :class:`NativeError` if it is another build."""
    try:
        found = importlib.metadata.version("xllamacpp")
    except importlib.metadata.PackageNotFoundError:
        raise NativeError("The package xllamacpp is not installed.") from None
    if found != BUILD:
        raise NativeError(f"xllamacpp is {found}; the low-level calls are declared for {BUILD} and no other.")
    package = importlib.import_module("xllamacpp")
    [path] = Path(package.__path__[0]).glob("xllamacpp*.so")
    loaded = c.CDLL(str(path))
    for name, (result, *arguments) in _SIGNATURES.items():
        function = getattr(loaded, name)
        function.restype, function.argtypes = result, arguments
    loaded.llama_log_set(_log, None)
    for kind, expected in (("context", _CONTEXT), ("model", _MODEL)):
        params = getattr(loaded, f"llama_{kind}_default_params")()
        told = {name: getattr(params, name) for name in expected}
        if told != expected:
            raise NativeError(f"The engine's structure of {kind} parameters is not the one declared: {told}.")
    loaded.llama_backend_init()
    return loaded


def _tell(level: int, text: bytes | None, _data: object) -> None:
    if level == _ERROR and text:
        sys.stderr.write(text.decode("utf-8", "replace"))


_log: Final = _LOG(_tell)  # held as long as the library may call it


class Weights:
    """A model file that is loaded, and its vocabulary. Raises :class:`NativeError` if it cannot be loaded."""

    def __init__(self, path: str, *, gpu_layers: int = -1) -> None:
        self._lib = library()
        params = self._lib.llama_model_default_params()
        params.gpu_layers = gpu_layers
        self.handle = self._lib.llama_model_load_from_file(path.encode(), params)
        if not self.handle:
            raise NativeError(f"The engine cannot load {Path(path).name}.")
        self._vocabulary = self._lib.llama_model_get_vocab(self.handle)
        self.size: int = self._lib.llama_vocab_n_tokens(self._vocabulary)
        self._pieces: dict[int, bytes] = {}

    def close(self) -> None:
        """Free the memory. Nothing that was made of these weights may be used any more."""
        if self.handle:
            self._lib.llama_model_free(self.handle)
            self.handle = None

    def ends(self, token: int) -> bool:
        """Whether the token ends a turn or a text."""
        return bool(self._lib.llama_vocab_is_eog(self._vocabulary, token))

    def steers(self, token: int) -> bool:
        """Whether the token is a control token; one that ends a turn is one too."""
        return bool(self._lib.llama_vocab_is_control(self._vocabulary, token)) or self.ends(token)

    def piece(self, token: int) -> bytes:
        """The bytes that a token stands for; of a control token, none."""
        known = self._pieces.get(token)
        if known is None:
            buffer = c.create_string_buffer(512)
            with_specials = False
            length = self._lib.llama_token_to_piece(self._vocabulary, token, buffer, len(buffer), 0, with_specials)
            known = self._pieces[token] = buffer.raw[: max(length, 0)]
        return known

    def cut(self, text: str, *, special: bool = False) -> list[int]:
        """A text as token ids; with ``special``, names of control tokens in it become these tokens."""
        data = text.encode("utf-8", "replace")
        ids = (c.c_int32 * (len(data) + 8))()
        add_first = False
        count = self._lib.llama_tokenize(self._vocabulary, data, len(data), ids, len(ids), add_first, special)
        if count < 0:
            raise NativeError("The engine cannot cut a text into tokens.")
        return list(ids[:count])
