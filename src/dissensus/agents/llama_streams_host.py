"""The process that holds the streams: takes calls over a socket of its own folder, works on all of them, answers.

It runs by itself (``python -P llama_streams_host.py``), for the reason that its sister
:mod:`dissensus.agents.llama_host`
does: the engine is C++, and where it aborts only this process dies. Unlike that one it uses this package, from the
folder that it lies in.

Standard input: one line of JSON (:class:`Host`), then nothing; its end means stop. Standard output: one line of
JSON, ``{"address": PATH, …}`` or ``{"error": …}``. Standard error: what the engine complains of. On the socket: frames
of 4 bytes of length and MessagePack, one call and one answer for each connection; who hangs up gives the call up.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import shutil
import socket
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dissensus.agents.llama_exactness import Exactness, Rates
    from dissensus.agents.llama_jobs import Job
    from dissensus.agents.llama_streams import Streams

_MOST_BYTES = 64_000_000
_LINGER_S = 0.01
"""How long those who were just answered may take to ask again before the next pass begins without them."""
_COMPANY_S = 0.003
"""How long the first call after a silence waits for others that come with it."""


def main() -> int:
    """Serve until standard input ends. 0 if all went well, 1 if the engine could not start."""
    # the engine's library may print: let that go to the log, and keep the answers' channel for answers
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    settings = json.loads(sys.stdin.readline())
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
    try:
        host = Host(settings, str(Path(settings["folder"]) / "streams"))
    except Exception as error:  # noqa: BLE001 - whatever it was, the parent has to hear of it
        print(json.dumps({"error": f"{error}"}), file=answers, flush=True)
        return 1
    else:
        print(json.dumps({"address": host.address, **host.told()}), file=answers, flush=True)
        host.serve()
        return 0
    finally:
        shutil.rmtree(settings["folder"], ignore_errors=True)  # where the parent was killed, nobody else does


class Host:
    """Streams behind a socket. ``settings`` are those of :class:`dissensus.agents.llama_engine.StreamSettings`."""

    def __init__(self, settings: dict[str, Any], address: str) -> None:
        from dissensus.agents import llama_exactness
        from dissensus.agents.llama_native import Weights
        from dissensus.agents.llama_sequences import Sequences
        from dissensus.agents.llama_streams import Streams

        self.address = address
        weights = Weights(settings["path"], gpu_layers=settings["gpu_layers"])
        how = {"threads": settings["threads"], "flash_attention": settings["flash_attention"]}
        probed = Sequences(weights, **how)
        self._exactness: Exactness = llama_exactness.measure(probed)
        self._rates: Rates | None = llama_exactness.rates(probed) if settings["ingest"] == "auto" else None
        probed.release()
        sequences = Sequences(weights, **how, most=settings["streams"], context=settings["context"])
        self._ingest: str = settings["ingest"]
        self._streams: Streams = Streams(sequences)
        self._callers: dict[socket.socket, bytearray] = {}
        self._asked: dict[socket.socket, Job] = {}
        self._count = 0
        self._selector = selectors.DefaultSelector()
        self._door = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._door.bind(address)
        self._door.listen(512)
        self._door.setblocking(False)  # noqa: FBT003
        self._selector.register(self._door, selectors.EVENT_READ)
        self._selector.register(sys.stdin, selectors.EVENT_READ)

    def told(self) -> dict[str, Any]:
        """What was found at the start."""
        from dataclasses import asdict

        return {"exactness": asdict(self._exactness), "rates": None if self._rates is None else asdict(self._rates)}

    def serve(self) -> None:
        """Work until standard input ends."""
        answered = 0
        while self._gather(answered):
            answered = sum(self._answer(job) for job in self._streams.work())

    def _gather(self, expected: int) -> bool:
        """Take calls. False if it is time to stop.

        Those who were answered in the last pass ask again at once, as a rule, and who begins has company. One pass for
        all is cheaper, so it waits for them, but not for long.
        """
        begins = self._streams.idle and not expected
        until = time.monotonic() + _LINGER_S if expected else None
        while True:
            wait = None if begins and until is None else 0.0 if until is None else max(until - time.monotonic(), 0.0)
            for key, _ in self._selector.select(wait):
                if key.fileobj is sys.stdin:
                    if not os.read(key.fd, 4096):
                        return False
                elif key.fileobj is self._door:
                    self._enter()
                elif isinstance(key.fileobj, socket.socket) and self._heard(key.fileobj):
                    expected -= 1
                    if begins and until is None:
                        until = time.monotonic() + _COMPANY_S
            if until is None:
                if not begins:
                    return True
            elif time.monotonic() >= until or (expected <= 0 and not begins):
                return True

    def _enter(self) -> None:
        with contextlib.suppress(BlockingIOError):
            while True:
                caller, _ = self._door.accept()
                self._callers[caller] = bytearray()
                self._selector.register(caller, selectors.EVENT_READ)

    def _heard(self, caller: socket.socket) -> int:
        """Read from a caller. 1 if that began a job."""
        try:
            data = caller.recv(1 << 20)
        except OSError:
            data = b""
        if not data:
            self._leave(caller)
            return 0
        buffer = self._callers[caller]
        buffer += data
        size = int.from_bytes(buffer[:4], "big")
        if size > _MOST_BYTES:
            self._leave(caller)
            return 0
        if len(buffer) < 4 or len(buffer) < 4 + size:
            return 0
        return self._begin(caller, bytes(buffer[4 : 4 + size]))

    def _begin(self, caller: socket.socket, frame: bytes) -> int:
        import msgspec

        try:
            call = msgspec.msgpack.decode(frame)
            if call["do"] == "forget":
                self._streams.forget(call["prefix"])
                self._reply(caller, {})
                return 0
            job = self._job(call)
        except Exception as error:  # noqa: BLE001 - a call that makes no sense must not end the process
            self._reply(caller, {"cause": "other", "problem": f"The call makes no sense: {error!r}"})
            return 0
        self._count += 1
        job.number = self._count
        self._asked[caller] = job
        self._streams.submit(job)
        return 1

    def _job(self, call: dict[str, Any]) -> Job:
        from dissensus.agents.llama_jobs import Score, Write
        from dissensus.agents.llama_sampling import Sampling

        size = self._streams.sequences.weights.size
        for ids in (call["prompt"], call["text"], *call.get("continuations", ())):
            if ids and not 0 <= min(ids) <= max(ids) < size:
                raise ValueError("a token id that the vocabulary does not have")
        own = {"name": call["stream"], "prompt": tuple(call["prompt"]), "text": tuple(call["text"])}
        if call["do"] == "score":
            return Score(**own, continuations=tuple(map(tuple, call["continuations"])))
        group = call["stream"].rpartition("/")[0]
        agents = len({*(name for name in self._streams.names if name.rpartition("/")[0] == group), call["stream"]})
        lockstep = self._ingest == "lockstep" or (
            self._ingest == "auto" and self._rates is not None and self._rates.lockstep_pays(agents)
        )
        return Write(
            **own,
            lockstep=lockstep,
            most=call["most"],
            sampling=Sampling(**call["sampling"]),
            stop=tuple(call["stop"]),
            hear=call["hear"],
        )

    def _answer(self, job: Job) -> int:
        """Tell a job's caller, if they still want to know. 1 if they do."""
        caller = next((one for one, asked in self._asked.items() if asked is job), None)
        if caller is None:
            return 0
        self._reply(caller, job.result)
        return 1

    def _reply(self, caller: socket.socket, result: dict[str, Any]) -> None:
        import msgspec

        body = msgspec.msgpack.encode(result)
        with contextlib.suppress(OSError):
            caller.setblocking(True)  # noqa: FBT003 - an answer is small, and its reader waits for it
            caller.settimeout(5.0)
            caller.sendall(len(body).to_bytes(4, "big") + body)
        self._asked.pop(caller, None)
        self._leave(caller)

    def _leave(self, caller: socket.socket) -> None:
        job = self._asked.pop(caller, None)
        if job is not None:
            self._streams.cancel(job)
        if self._callers.pop(caller, None) is not None:
            self._selector.unregister(caller)
        caller.close()


if __name__ == "__main__":
    sys.exit(main())
