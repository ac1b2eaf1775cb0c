"""The process that holds the engine: reads its settings from standard input, says where it listens, ends when told.

It runs by itself (``python -P llama_host.py``) and imports nothing of this package. A process of its own, because the
engine is C++: where it aborts, this process dies and the run goes on; what it prints, its parent reads; its memory and
threads are gone when it is; and the waiting policy of its thread pool, which is read from the environment when the
library is loaded, can be set without touching the rest of the program.

Standard input: one line of JSON (see :func:`serve`), then nothing; its end means stop, also when the parent was killed.
Standard output: one line of JSON, ``{"address": …}`` or ``{"error": …}``. Standard error: the engine's own log.
"""

from __future__ import annotations

import faulthandler
import importlib
import json
import os
import sys
from typing import Any

GRACE_S = 5.0
"""After the order to stop, how long the engine may take to end by itself."""


def main() -> int:
    """Serve until standard input ends. 0 if all went well, 1 if the engine could not start."""
    # the engine's libraries may print: let that go to the log, and keep the answers' channel for answers
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    settings = json.loads(sys.stdin.readline())
    try:
        server = serve(settings)
    except Exception as error:  # noqa: BLE001 - whatever it was, the parent has to hear of it
        print(json.dumps({"error": f"{error}"}), file=answers, flush=True)
        return 1
    print(json.dumps({"address": server.listening_address}), file=answers, flush=True)
    sys.stdin.read()
    # a timer of Python's own would wait for the interpreter, which the engine holds until its work is done
    faulthandler.dump_traceback_later(GRACE_S, exit=True)
    del server
    return 0


def serve(settings: dict[str, Any]) -> Any:
    """Load the model and start the server, on loopback, on a free port, closed to whoever lacks the key.

    ``settings``: path, key, slots, context (tokens per slot), threads, batch, flash_attention (True, False or None for
    the engine's choice), chat_template ("" for the model's own), gpu_layers.
    """
    xllamacpp: Any = importlib.import_module("xllamacpp")  # it has no types, and not everyone has it

    params = xllamacpp.CommonParams()
    params.model.path = settings["path"]
    params.n_parallel = settings["slots"]
    params.n_ctx = settings["slots"] * settings["context"]
    params.kv_unified = False  # in shared memory a slot's prefix is not found again, though it is there
    for cpu in (params.cpuparams, params.cpuparams_batch):
        cpu.n_threads = settings["threads"]
        cpu.poll = 0  # never spin while waiting: on a busy machine that is slower by an order of magnitude
    params.n_gpu_layers = settings["gpu_layers"]
    params.fit_params = False  # the settings are what was asked for, not what a guess makes of free memory
    if settings["flash_attention"] is not None:
        kinds = xllamacpp.llama_flash_attn_type
        wanted = kinds.LLAMA_FLASH_ATTN_TYPE_ENABLED
        if not settings["flash_attention"]:
            wanted = kinds.LLAMA_FLASH_ATTN_TYPE_DISABLED
        params.flash_attn_type = wanted
    if settings["chat_template"]:
        params.chat_template = settings["chat_template"]
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.api_keys = [settings["key"]]
    params.cors_origins = "null"
    params.n_threads_http = settings["slots"] + 4
    params.ui = False
    params.endpoint_slots = False
    params.cache_ram_mib = 0  # it would take up to 8 GB of memory for prefixes that left their slot
    params.warmup = False
    params.verbosity = 1  # errors
    return xllamacpp.Server(params)


if __name__ == "__main__":
    sys.exit(main())
