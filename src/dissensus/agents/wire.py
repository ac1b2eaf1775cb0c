"""One POST to a server: bounded in time and size, following no redirect, and never raising but for cancellation."""

from __future__ import annotations

import ipaddress
import json
import re
import time
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlsplit

import anyio
import msgspec
from anyio.lowlevel import RunVar

from dissensus.agents.bodies import keep
from dissensus.agents.secrets import Secret, looks_like_secret
from dissensus.agents.statuses import failure_of_status
from dissensus.errors import SpecError
from dissensus.script.outcomes import Outcome, TimedOut, TransportFailure, Usage

if TYPE_CHECKING:
    import httpx2

_CONNECT_S = 10.0
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
# below the 5 s after which common servers of models close an idle connection: a call must not race with that
_IDLE_S = 4.0


@dataclass(frozen=True, slots=True)
class Answer:
    """A successful response: its body as bytes, its headers by lower-case name, and how long it took."""

    body: bytes
    headers: Mapping[str, str]
    seconds: float
    sent: int
    """bytes of the request's body: a bound on how many tokens a prompt can have"""


class Wire:
    """POSTs JSON to the paths below one address.

    All wires of one event loop to the same host, with the same number of places, share one pool of connections.

    Args:
        base_url: ``http://…`` or ``https://…``; its query, if any, is sent with each request.
        key: sent in ``key_header``, or None.
        key_header: ``Authorization`` carries ``Bearer KEY``; any other header carries the key alone.
        timeout_s: most seconds for one try, from connecting to the last byte.
        most_bytes: most bytes of a response's body.
        places: most connections.

    Raises:
        SpecError: the address cannot be used, or holds a password or a key.
    """

    def __init__(
        self,
        base_url: str,
        *,
        key: Secret | None = None,
        key_header: str = "Authorization",
        timeout_s: float = 300.0,
        most_bytes: int = 8_000_000,
        places: int = 16,
    ) -> None:
        self.origin, self._path, self._query = _parts(base_url)
        if not _HEADER_NAME.fullmatch(key_header):
            raise SpecError(
                "The name of the key's header is none.", next_step="Write it like Authorization or api-key."
            )
        self.hide = key.hide if key is not None else keep
        self._key_env = key.env if key is not None else ""
        self._key = key
        self._key_header = key_header
        self._timeout_s = timeout_s
        self._most_bytes = most_bytes
        self._places = places
        self._urls: dict[str, httpx2.URL] = {}
        self._held: _Pool | None = None

    def __repr__(self) -> str:
        return f"Wire({self.origin + self._path!r})"

    async def post(self, path: str, payload: object, *, beside_v1: bool = False) -> Answer | Outcome:
        """POST ``payload`` as JSON to ``path`` below the address, or below the folder in which its ``/v1`` lies.

        Returns:
            The answer if its status is 2xx, else the failure. Nothing is raised but cancellation.
        """
        started = time.perf_counter()
        try:
            base = self._path.removesuffix("/v1") if beside_v1 else self._path
            request = self._request(base + path, _encode(payload))
            with anyio.move_on_after(self._timeout_s):
                return await self._send(request, started)
        except Exception as error:  # noqa: BLE001 - whatever a library raises here is a failed call, not a crash
            problem = f"The request could not be made: {type(error).__name__}: {self.hide(str(error))}"
            return TransportFailure(problem=problem, cause="other", usage=_took(started))
        return TimedOut(after_s=self._timeout_s, usage=_took(started))

    async def close(self) -> None:
        """Give the connections back; the last holder closes them. Safe to call twice."""
        pool, self._held = self._held, None
        if pool is not None:
            await pool.release()

    async def _send(self, request: httpx2.Request, started: float) -> Answer | Outcome:
        import httpx2

        try:
            response = await self._client().send(request, stream=True)
        except (httpx2.TransportError, OSError) as error:
            problem = f"No answer from {self.origin}: {self.hide(str(error)) or type(error).__name__}"
            return TransportFailure(problem=problem, cause="connect", usage=_took(started))
        try:
            body = await _read(response, self._most_bytes)
        except (httpx2.TransportError, OSError) as error:
            problem = f"The answer broke off: {self.hide(str(error)) or type(error).__name__}"
            return TransportFailure(problem=problem, cause="body", status=response.status_code, usage=_took(started))
        except _UnusableBodyError as error:
            status = response.status_code
            return TransportFailure(problem=str(error), cause="body", status=status, usage=_took(started))
        finally:
            await response.aclose()
        if response.is_success:
            return Answer(body, response.headers, time.perf_counter() - started, len(request.content))
        return failure_of_status(
            response.status_code,
            response.headers,
            body,
            now=datetime.now(UTC),
            hide=self.hide,
            key_env=self._key_env,
            usage=_took(started),
        )

    def _request(self, path: str, content: bytes) -> httpx2.Request:
        import httpx2

        url = self._urls.get(path)
        if url is None:
            url = self._urls[path] = httpx2.URL(self.origin + path + self._query)
        headers = [
            ("Content-Type", "application/json"),
            ("Accept", "application/json"),
            ("Accept-Encoding", "identity"),
        ]
        headers.append(("User-Agent", "dissensus"))
        if self._key is not None:
            bearer = "Bearer " if self._key_header.lower() == "authorization" else ""
            headers.append((self._key_header, bearer + self._key.reveal()))
        timeouts = {"connect": min(_CONNECT_S, self._timeout_s), "read": None, "write": None, "pool": None}
        return httpx2.Request("POST", url, headers=headers, content=content, extensions={"timeout": timeouts})

    def _client(self) -> httpx2.AsyncClient:
        pools = _POOLS.get(None)
        if pools is None:
            pools = {}
            _POOLS.set(pools)
        if self._held is None or pools.get(self._held.key) is not self._held:
            key = (self.origin, self._places)
            pool = pools.get(key)
            if pool is None:
                pool = pools[key] = _Pool(key, _new_client(self.origin, self._places), pools)
            pool.holders += 1
            self._held = pool
        return self._held.client


class _Pool:
    """The connections to one host in one event loop, and how many wires use them."""

    __slots__ = ("client", "holders", "key", "pools")

    def __init__(self, key: tuple[str, int], client: httpx2.AsyncClient, pools: dict[tuple[str, int], _Pool]) -> None:
        self.key = key
        self.client = client
        self.holders = 0
        self.pools = pools

    async def release(self) -> None:
        self.holders -= 1
        if self.holders <= 0 and self.pools.get(self.key) is self:
            del self.pools[self.key]
            if _POOLS.get(None) is self.pools:  # a loop that has ended took its sockets along
                await self.client.aclose()


_POOLS: RunVar[dict[tuple[str, int], _Pool]] = RunVar("dissensus-connections")


def _new_client(origin: str, places: int) -> httpx2.AsyncClient:
    import httpx2

    parts = urlsplit(origin)
    return httpx2.AsyncClient(
        # a pool serves one origin and follows no redirect: a plain one never needs the certificates
        verify=parts.scheme == "https",
        limits=httpx2.Limits(max_connections=places, max_keepalive_connections=places, keepalive_expiry=_IDLE_S),
        # a proxy named in the environment is for the outside, not for this machine
        trust_env=not _is_loopback(parts.hostname or ""),
        cookies=CookieJar(policy=DefaultCookiePolicy(allowed_domains=[])),
    )


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class _UnusableBodyError(Exception):
    """A body that is too long or packed in an unknown way."""


async def _read(response: httpx2.Response, most: int) -> bytes:
    """The body, unpacked; at most ``most`` bytes of it exist at any time, packed or not."""
    coding = response.headers.get("content-encoding", "identity").strip().lower()
    unpack: Any = None
    if coding in {"gzip", "x-gzip", "deflate"}:
        unpack = zlib.decompressobj(wbits=47)  # finds out by itself whether a gzip or a zlib header comes
    elif coding not in {"identity", ""}:
        raise _UnusableBodyError(f"The answer is packed as {coding[:40]!r}, which was not asked for.")
    body = bytearray()
    async for chunk in response.aiter_raw():
        try:
            body += chunk if unpack is None else unpack.decompress(chunk, most + 1 - len(body))
        except zlib.error:
            raise _UnusableBodyError("The answer is damaged: it cannot be unpacked.") from None
        if len(body) > most:
            raise _UnusableBodyError(f"The answer is longer than {most:,} bytes; the rest was not read.")
    return bytes(body)


def _encode(payload: object) -> bytes:
    try:
        return msgspec.json.encode(payload)
    except (TypeError, ValueError, OverflowError, RecursionError):
        # half a surrogate pair or a number beyond 64 bits: the slower encoder escapes what it can
        return json.dumps(payload).encode()


def _took(started: float) -> Usage:
    return Usage(seconds=time.perf_counter() - started)


def _parts(base_url: str) -> tuple[str, str, str]:
    """Origin, path without a slash at its end, and query with its question mark."""
    try:
        parts = urlsplit(base_url.strip())
        port = parts.port
        secret = any(looks_like_secret(name, value) for name, value in parse_qsl(parts.query))
    except ValueError:
        parts, port, secret = urlsplit(""), None, False
    host = parts.hostname or ""
    if parts.username or parts.password or secret:
        raise SpecError(
            f"The address of the server at {host!r} holds a password or a key.",
            next_step="Put it into an environment variable and name that one: api_key_env: NAME.",
        )
    if parts.scheme not in {"http", "https"} or not host or not base_url.strip().isprintable():
        shown = "What was given" if {"@", "="} & set(base_url) else repr(base_url)  # it may hold a password
        raise SpecError(f"{shown} is no address of a server.", next_step="Write it like http://127.0.0.1:8080/v1.")
    shown = f"[{host}]" if ":" in host else host
    origin = f"{parts.scheme}://{shown}" + (f":{port}" if port is not None else "")
    return origin, parts.path.rstrip("/"), f"?{parts.query}" if parts.query else ""
