"""A server on this machine that behaves as badly as it is told to. Real sockets; nothing is mocked."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

Act = Callable[["Seen", asyncio.StreamWriter], Awaitable[None]]
"""What the server does with one request: it writes what it likes, and the connection is closed after it."""


@dataclass(frozen=True, slots=True)
class Seen:
    """One request as it came."""

    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def data(self) -> Any:
        return json.loads(self.body)


@dataclass(slots=True)
class Hostile:
    """A running server: its address, and what it was sent."""

    url: str = ""
    seen: list[Seen] = field(default_factory=list)
    most_at_once: int = 0
    connections: int = 0
    _at_once: int = 0

    @property
    def paths(self) -> list[str]:
        return [seen.path for seen in self.seen]


@contextlib.asynccontextmanager
async def hostile(*acts: Act, keep_alive: bool = False) -> AsyncIterator[Hostile]:
    """Serve request n with ``acts[n]``, and all further ones with the last."""
    state = Hostile()
    tasks: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        state.connections += 1
        try:
            while await _one(reader, writer) and keep_alive:
                pass
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            tasks.discard(task)
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()

    async def _one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = await reader.readuntil(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines if line)}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        seen = Seen(first.split(" ")[1], headers, body)
        state.seen.append(seen)
        state._at_once += 1
        state.most_at_once = max(state.most_at_once, state._at_once)
        act = acts[min(len(state.seen), len(acts)) - 1]
        try:
            await act(seen, writer)
            await writer.drain()
        finally:
            state._at_once -= 1
        return True

    server = await asyncio.start_server(serve, "127.0.0.1", 0, limit=64 * 1024 * 1024)
    state.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    try:
        yield state
    finally:
        server.close()
        for task in tuple(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await server.wait_closed()


def raw(text: bytes) -> Act:
    """Send exactly these bytes."""

    async def act(_seen: Seen, writer: asyncio.StreamWriter) -> None:
        writer.write(text)

    return act


def body(content: bytes, *, status: int = 200, kind: str = "application/json", **headers: str) -> Act:
    """Send a whole response with this body. Names of ``headers`` have underscores for hyphens."""
    return raw(response(content, status=status, kind=kind, **headers))


def answer(data: object, *, status: int = 200, **headers: str) -> Act:
    """Send ``data`` as JSON."""
    return body(json.dumps(data).encode(), status=status, **headers)


def response(content: bytes, *, status: int = 200, kind: str = "application/json", **headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status} Some Reason", f"Content-Type: {kind}", f"Content-Length: {len(content)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + content


def half(content: bytes, *, of: int) -> Act:
    """Promise ``of`` bytes, send these, and hang up."""
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {of}\r\n\r\n".encode()
    return raw(head + content)


async def stall(_seen: Seen, _writer: asyncio.StreamWriter) -> None:
    """Never answer."""
    await asyncio.sleep(3600)


async def stall_inside(_seen: Seen, writer: asyncio.StreamWriter) -> None:
    """Begin to answer and never go on."""
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{")
    await writer.drain()
    await asyncio.sleep(3600)


async def drip(_seen: Seen, writer: asyncio.StreamWriter) -> None:
    """Send a byte now and then, so that no single read ever times out."""
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
    while True:
        writer.write(b" ")
        await writer.drain()
        await asyncio.sleep(0.02)


async def endless(_seen: Seen, writer: asyncio.StreamWriter) -> None:
    """Send without end."""
    writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    chunk = b"10000\r\n" + b"x" * 65536 + b"\r\n"
    while True:
        writer.write(chunk)
        await writer.drain()


async def hang_up(_seen: Seen, writer: asyncio.StreamWriter) -> None:
    """Close the connection without a word."""
    writer.close()


def chat(
    text: object = "42", *, finish: str | None = "stop", usage: object = None, **message: object
) -> dict[str, Any]:
    """A chat answer as the protocol has it."""
    return {
        "id": "x",
        "object": "chat.completion",
        "model": "served-model",
        "choices": [
            {"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": text, **message}},
        ],
        "usage": {"prompt_tokens": 12, "completion_tokens": 3, "total_tokens": 15} if usage is None else usage,
    }
