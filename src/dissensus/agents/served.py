"""A model behind a URL: what all back ends that send calls to a server have in common."""

from __future__ import annotations

from typing import Protocol

from dissensus.agents.secrets import Secret
from dissensus.agents.wire import Wire
from dissensus.script.calls import Capabilities


class Reach(Protocol):
    """The options that say how a server is reached."""

    @property
    def api_key_env(self) -> str:
        """Name of the environment variable that holds the key ("" for none)."""
        ...

    @property
    def key_header(self) -> str:
        """Header that carries the key."""
        ...

    @property
    def timeout_s(self) -> float:
        """Most seconds for one try."""
        ...

    @property
    def concurrency(self) -> int:
        """Most calls at a time to this host."""
        ...

    @property
    def most_bytes(self) -> int:
        """Most bytes of one response."""
        ...


class Served:
    """Holds the connection to ``url``, and gives it back. What is sent over it is the back end's own.

    Raises:
        SpecError: the key's environment variable is not set, or the URL cannot be used.
    """

    def __init__(self, url: str, reach: Reach, capabilities: Capabilities) -> None:
        self._can = capabilities
        self._wire = Wire(
            url,
            key=Secret.from_env(reach.api_key_env) if reach.api_key_env else None,
            key_header=reach.key_header,
            timeout_s=reach.timeout_s,
            most_bytes=reach.most_bytes,
            places=reach.concurrency,
        )

    @property
    def host(self) -> str:
        """The server that limits are counted for."""
        return self._wire.origin

    @property
    def capabilities(self) -> Capabilities:
        """What the server can do, as far as it is known or claimed."""
        return self._can

    async def close(self) -> None:
        """Give the connections back. Safe to call twice."""
        await self._wire.close()
