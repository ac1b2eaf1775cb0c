"""A small A2A server on real sockets, for tests: both wires, streams, and every misbehaviour that is asked for.

What a message says is what happens: ``done``, ``work``, ``rise`` (a task that goes on after its end), ``die`` (the
connection breaks within the stream), ``huge``, ``html``, ``wait`` (until the test lets it go on), ``refuse``.
"""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

HUGE = 300_000


class Server(ThreadingHTTPServer):
    """Keeps what it was sent and what it answered, byte for byte."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.received: list[tuple[str, str, bytes]] = []
        self.headers: list[dict[str, str]] = []
        self.sent: list[bytes] = []
        self.go_on = threading.Event()
        self.waiting = threading.Semaphore(0)
        self.tasks = 0
        self.lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that go away are meant."""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

    def log_message(self, *_: Any) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        self.server.received.append(("GET", self.path, b""))
        if self.path == "/.well-known/agent-card.json":
            card = {
                "name": "a", "url": "http://localhost:1/rpc", "signatures": [{}], "preferredTransport": "JSONRPC",
                "additionalInterfaces": [{"url": "http://localhost:1/rest", "transport": "HTTP+JSON"}],
                "supportedInterfaces": [{"url": "http://localhost:1/rpc?x=1", "protocolBinding": "JSONRPC"}],
            }  # fmt: skip
            self.reply(200, "application/json", json.dumps(card).encode())
        else:
            self.reply(200, "text/plain", self.path.encode())

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        self.server.received.append(("POST", self.path, body))
        self.server.headers.append(dict(self.headers))
        try:
            rpc = json.loads(body)
        except (ValueError, RecursionError):
            self.reply(200, "application/json", b'{"jsonrpc": "2.0", "id": null, "error": {"code": -32700}}')
            return
        if isinstance(rpc, list) or "method" not in rpc:
            self.reply(200, "application/json", b'{"rest": true}')
            return
        self.answer(rpc)

    def answer(self, rpc: dict[str, Any]) -> None:
        old = "/" in rpc["method"]
        ident = rpc.get("id")
        message = rpc["params"].get("message", {})
        says = message.get("parts", [{}])[0].get("text", "")
        if "card" in rpc["method"].lower():
            self.json(ident, {"name": "a", "url": "http://localhost:1/rpc"})
            return
        task = message.get("taskId") or rpc["params"].get("id")
        if task is None:
            with self.server.lock:
                self.server.tasks += 1
                task = f"t{self.server.tasks}"
        if says == "wait":
            self.server.waiting.release()
            assert self.server.go_on.wait(60)
        if says == "html":
            self.reply(500, "text/html", b"<p>no</p>")
        elif says == "huge":
            self.json(ident, whole(task, "completed", old=old, artifact="x" * HUGE))
        elif says == "refuse":
            self.reply(
                400,
                "application/json",
                json.dumps({"jsonrpc": "2.0", "id": ident, "error": {"code": -32602, "message": "no"}}).encode(),
            )
        elif "tream" in rpc["method"]:
            self.stream(ident, task, says, old=old)
        elif says == "bad json":
            self.reply(200, "application/json", b'{"jsonrpc": ')
        elif says == "short":
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", "100")
            self.end_headers()
            self.wfile.write(b"{")
            self.close_connection = True
        elif says == "other id":
            self.json("other", whole(task, "completed", old=old, artifact="x"))
        else:
            state = {"work": "working", "ask": "input-required"}.get(says, "completed")
            self.json(ident, whole(task, state, old=old, artifact="x", bare="task" not in rpc["method"].lower()))

    def stream(self, ident: Any, task: str, says: str, *, old: bool) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream; charset=utf-8")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.event(ident, whole(task, "working", old=old), before=b": a comment\r\n\r\n")
        if says == "die":
            self.wfile.flush()
            self.close_connection = True
            self.connection.close()
            return
        if says == "wait in the stream":
            self.server.waiting.release()
            assert self.server.go_on.wait(60)
        if says == "long":
            self.event(ident, whole(task, "working", old=old, artifact="x" * HUGE))
        if says == "no json":
            self.chunk(b"data: hello\n\n")
        if says != "work":
            self.event(ident, update(task, "completed", old=old), before=b"id: 2\nevent: message\n")
        if says == "rise":
            self.event(ident, update(task, "working", old=old))
            self.event(ident, update(task, "completed", old=old))
        self.chunk(b"")

    def event(self, ident: Any, result: Any, before: bytes = b"") -> None:
        text = json.dumps({"jsonrpc": "2.0", "id": ident, "result": result}, indent=1)
        self.chunk(before + b"".join(b"data: " + line.encode() + b"\n" for line in text.splitlines()) + b"\n")

    def chunk(self, data: bytes) -> None:
        self.server.sent.append(data)
        half = len(data) // 2
        for part in (data[:half], data[half:]) if data else (b"",):
            if part or not data:
                self.wfile.write(f"{len(part):x}\r\n".encode() + part + b"\r\n")
                self.wfile.flush()

    def json(self, ident: Any, result: Any) -> None:
        self.reply(
            200, "application/json", json.dumps({"jsonrpc": "2.0", "id": ident, "result": result}, indent=2).encode()
        )

    def reply(self, status: int, kind: str, body: bytes) -> None:
        self.server.sent.append(body)
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("X-Theirs", "1")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


def name_of(state: str, *, old: bool) -> str:
    return state if old else "TASK_STATE_" + state.upper().replace("-", "_")


def whole(task: str, state: str, *, old: bool, artifact: str = "", bare: bool = True) -> dict[str, Any]:
    found: dict[str, Any] = {"id": task, "contextId": "c1", "status": {"state": name_of(state, old=old)}}
    if artifact:
        part = {"kind": "text", "text": artifact} if old else {"text": artifact}
        found["artifacts"] = [{"artifactId": "a1", "parts": [part]}]
    if old:
        return {"kind": "task", **found}
    return {"task": found} if bare else found


def update(task: str, state: str, *, old: bool) -> dict[str, Any]:
    message = {"messageId": f"{task}-{state}", "role": "agent" if old else "ROLE_AGENT", "parts": [{"text": "so"}]}
    found: dict[str, Any] = {
        "taskId": task,
        "contextId": "c1",
        "status": {"state": name_of(state, old=old), "message": message},
    }
    return {"kind": "status-update", "final": state == "completed", **found} if old else {"statusUpdate": found}


def request(says: str, *, ident: Any = 1, old: bool = False, stream: bool = False, task: str | None = None) -> bytes:
    """What a client sends; written with blanks, to see that bytes are kept."""
    method = {(True, True): "message/stream", (True, False): "message/send", (False, True): "SendStreamingMessage",
              (False, False): "SendMessage"}[old, stream]  # fmt: skip
    message: dict[str, Any] = {
        "messageId": f"m-{ident}-{says}",
        "role": "user" if old else "ROLE_USER",
        "parts": [{"kind": "text", "text": says} if old else {"text": says}],
    }
    if task is not None:
        message["taskId"] = task
    params = {"message": message, "configuration": {} if old else {"returnImmediately": True}}
    return json.dumps({"jsonrpc": "2.0", "id": ident, "method": method, "params": params}, indent=3).encode()


@contextlib.contextmanager
def running() -> Iterator[Server]:
    """The server, for as long as the block lasts."""
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.go_on.set()
            server.shutdown()
            thread.join()
