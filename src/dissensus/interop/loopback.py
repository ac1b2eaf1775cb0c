"""Serving an application to this machine alone. Needs the extra ``proxy``."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import socket
from collections.abc import AsyncIterator, Generator
from typing import Any

import anyio
import uvicorn

from dissensus.errors import UsageError

_GRACE_S = 1
"""Seconds that open connections have to finish at the end."""


def is_loopback(host: str) -> bool:
    """Whether ``host`` names this machine and nothing else."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]").partition("%")[0]).is_loopback
    except ValueError:
        return False


class _Server(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """Leave signals to whoever serves."""
        yield


@contextlib.asynccontextmanager
async def serving(app: Any, host: str = "127.0.0.1", port: int = 0) -> AsyncIterator[str]:
    """Serve an ASGI application for as long as the block lasts; gives its address.

    Args:
        app: the application.
        host: an address of the loopback interface, or ``localhost``.
        port: 0 takes a free one.

    Raises:
        UsageError: others could reach the host, or the port is taken.
    """
    if not is_loopback(host):
        raise UsageError(f"{host!r} can be reached from other machines.", next_step="Take 127.0.0.1, ::1 or localhost.")
    listener = _listener("127.0.0.1" if host.lower() == "localhost" else host.strip("[]"), port)
    with listener:
        name, number = listener.getsockname()[:2]
        config = uvicorn.Config(
            app, loop="asyncio", http="h11", ws="none", lifespan="off", log_config=None, log_level="critical",
            access_log=False, server_header=False, date_header=False, proxy_headers=False, limit_concurrency=1_000,
            timeout_graceful_shutdown=_GRACE_S,
        )  # fmt: skip
        server = _Server(config)
        serves = asyncio.ensure_future(server.serve([listener]))  # no task group: what the block raises stays as it is
        try:
            yield f"http://[{name}]:{number}" if ":" in name else f"http://{name}:{number}"
        finally:
            server.should_exit = True
            with anyio.CancelScope(shield=True):
                await serves


def _listener(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(2048)
    except (OSError, OverflowError) as error:
        listener.close()
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise UsageError(
            f"Port {port} of {host} cannot be listened to: {why}.", next_step="Take another one; 0 takes a free one."
        ) from None
    return listener
