"""A proxy for A2A on JSON-RPC: what passes is judged, logged, and, if asked for, stopped.

What is legal passes byte for byte, in both directions: answers in one piece and streams of events, 0.3 and 1.0. Only
the addresses in agent cards are changed, so that clients come here. Start reading at :meth:`A2AProxy.handle`.

With ``block``, a message that a client must not send is answered here with the error that the specification wants, and
the server never sees it; what a server must not say is withheld from the client: an event of a stream is left out, an
answer is replaced by error -32006. Needs the extra ``proxy``.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Iterable
from typing import Any, Final
from urllib.parse import urlsplit

import anyio
import httpx2
import msgspec
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from dissensus.errors import UsageError
from dissensus.interop import a2a_cards
from dissensus.interop.a2a_errors import INVALID_ANSWER, error_for, failed, withheld
from dissensus.interop.a2a_watch import C2S, S2C, A2AWatch, Judged
from dissensus.interop.loopback import is_loopback
from dissensus.interop.server_events import EventSplitter, data_of, event_of
from dissensus.interop.shallow import decode
from dissensus.say.readers.a2a import is_unit
from dissensus.say.wire.a2a_wire import METHODS, STREAM, SUBSCRIBE

MOST_BYTES: Final = 16_000_000
"""Bytes of the largest body or event that is passed on."""
SLOWEST_S: Final = 30.0
"""Seconds within which a client has to have sent its request."""
_NOT_PASSED_ON: Final = frozenset(
    {
        "connection",
        "content-length",
        "expect",
        "host",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
"""Headers that belong to one connection, or that are made anew."""
_EVENTS, _JSON = "text/event-stream", "application/json"


class _TooLargeError(Exception):
    """A body is larger than may be passed on."""


class _Exchange:
    """One request over HTTP and all that answers it: the units in it, under the name of its client's side."""

    def __init__(self, watch: A2AWatch, units: list[dict[str, Any]]) -> None:
        self.watch = watch
        self.units = units
        self.ids = [unit["id"] for unit in units if "id" in unit]
        self.client = watch.client(self.ids)
        self.methods = {str(unit.get("method")) for unit in units}

    def ask(self) -> list[Judged]:
        """Judge the units."""
        return [self.watch.see(unit, C2S, self.client) for unit in self.units]

    def answer(self, unit: dict[str, Any], **more: Any) -> Judged:
        """Judge a unit that answers."""
        return self.watch.see(unit, S2C, self.client, **more)

    def leave(self) -> None:
        """Nothing more comes."""
        self.watch.leave(self.client, self.ids)


class A2AProxy:
    """An ASGI application in front of one server.

    Args:
        to: address of the server; a path is put before those of requests.
        watch: judges and logs what passes.
        block: stop what must not be delivered.
        timeout: seconds of silence after which the server is given up.
        most_bytes: of a body or an event.

    Raises:
        UsageError: the address is none.
    """

    def __init__(
        self,
        to: str,
        watch: A2AWatch,
        *,
        block: bool = False,
        timeout: float = 300.0,
        most_bytes: int = MOST_BYTES,
    ) -> None:
        parts = urlsplit(to)
        if parts.scheme not in {"http", "https"} or not parts.hostname or parts.query or parts.fragment:
            raise UsageError(f"{to!r} is no address of a server.", next_step="Write it like http://127.0.0.1:9000.")
        self.to = f"{parts.scheme}://{parts.netloc}"
        self.watch = watch
        self.block = block
        self.most_bytes = most_bytes
        self._path = parts.path.rstrip("/")
        self._http = httpx2.AsyncClient(
            timeout=httpx2.Timeout(timeout, connect=min(timeout, 10.0), pool=None),
            limits=httpx2.Limits(max_connections=None, max_keepalive_connections=0),  # none that has just been closed
            trust_env=False,  # nothing between the proxy and its server
        )

    async def close(self) -> None:
        """Close the connections to the server."""
        await self._http.aclose()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request, as ASGI wants it."""
        if scope["type"] != "http":
            return
        request = Request(scope, receive)
        request.state.open = opened = contextlib.AsyncExitStack()
        async with opened:  # closes the answer of the server, whatever becomes of ours
            try:
                response = await self.handle(request)
            except ClientDisconnect:
                return
            await response(scope, receive, send)

    async def handle(self, request: Request) -> Response:
        """Judge a request, pass it on, judge what answers it, pass that back."""
        if not is_loopback(request.url.hostname or ""):  # a page of the web that had its name point here
            return Response("This proxy is for programs on this machine.\n", 403)
        try:
            body = await self._body(request)
        except _TooLargeError:
            return self._turned_away(413, f"The request is larger than {self.most_bytes:,} bytes.")
        except TimeoutError:
            return self._turned_away(408, f"The request did not come within {SLOWEST_S:g} s.")
        units = _units(body) if request.method == "POST" else []
        if not units:
            self.watch.counts["unread"] += request.method == "POST"
            return await self._pass(request, body, None)
        exchange = _Exchange(self.watch, units)
        request.state.open.callback(exchange.leave)
        judged = exchange.ask()
        if self.block and any(one.blocked for one in judged):
            return self._refuse(request, exchange, judged)
        return await self._pass(request, body, exchange)

    async def _body(self, request: Request) -> bytes:
        body = bytearray()
        with anyio.fail_after(SLOWEST_S):
            async for chunk in request.stream():
                body += chunk
                if len(body) > self.most_bytes:
                    raise _TooLargeError
        return bytes(body)

    def _turned_away(self, status: int, why: str) -> Response:
        self.watch.counts["turned away"] += 1
        self.watch.note(C2S, http=status, why=why)
        body = msgspec.json.encode(failed(None, why, code=-32600))
        return Response(body, status, media_type=_JSON, headers={"connection": "close"})

    def _refuse(self, request: Request, exchange: _Exchange, judged: list[Judged]) -> Response:
        """Answer in the server's place."""
        errors = []
        for unit, one in zip(exchange.units, judged, strict=True):
            if one.blocked:
                self.watch.counts["blocked"] += 1
            if "id" in unit:
                errors.append(error_for(unit, one))
                exchange.answer(errors[-1], by="proxy")
        if not errors:
            return Response(status_code=202)
        return self._errors(request, exchange, errors, 200)

    @staticmethod
    def _errors(request: Request, exchange: _Exchange, errors: list[dict[str, Any]], status: int) -> Response:
        body = msgspec.json.encode(errors[0] if len(errors) == 1 else errors)
        streams = any(METHODS.get(one, ("",))[0] in {STREAM, SUBSCRIBE} for one in exchange.methods)
        if streams and status == 200 and _EVENTS in request.headers.get("accept", ""):
            return Response(event_of(body), status, media_type=_EVENTS)
        return Response(body, status, media_type=_JSON)

    async def _pass(self, request: Request, body: bytes, exchange: _Exchange | None) -> Response:
        headers = [(k, v) for k, v in request.headers.raw if k.decode("latin-1").lower() not in _NOT_PASSED_ON]
        headers = [(k, v) for k, v in headers if k.lower() != b"accept-encoding"] + [(b"accept-encoding", b"identity")]
        asked = httpx2.Request(request.method, self._address(request), headers=headers, content=body or None)
        try:
            answer = await self._http.send(asked, stream=True)
        except httpx2.TimeoutException:
            return self._no_answer(request, exchange, 504, "The server did not answer in time.")
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            return self._no_answer(request, exchange, 502, f"The server cannot be reached: {_why(error)}.")
        request.state.open.push_async_callback(_close, answer)
        kind = answer.headers.get("content-type", "").partition(";")[0].strip().lower()
        if exchange is not None and kind == _EVENTS:
            return _with(answer, StreamingResponse(self._events(answer, exchange), answer.status_code))
        try:
            if exchange is not None and (kind == _JSON or kind.endswith("+json")):
                return await self._in_one_piece(request, answer, exchange)
            if exchange is None and request.method == "GET" and request.url.path in a2a_cards.PATHS:
                card = a2a_cards.body_through(await self._whole(answer), _here(request))
                return _with(answer, Response(card, answer.status_code))
        except _TooLargeError:
            return self._no_answer(request, exchange, 502, f"The answer is larger than {self.most_bytes:,} bytes.")
        except httpx2.HTTPError as error:
            return self._no_answer(request, exchange, 502, f"The answer broke off: {_why(error)}.")
        if exchange is not None:  # an answer of HTTP alone: nothing in JSON-RPC was answered
            self.watch.note(S2C, http=answer.status_code, ids=exchange.ids)
        return _with(answer, StreamingResponse(answer.aiter_raw(), answer.status_code), raw=True)

    def _no_answer(self, request: Request, exchange: _Exchange | None, status: int, why: str) -> Response:
        """Say to the client that the server failed."""
        self.watch.counts["failed"] += 1
        if exchange is None:
            return Response(f"{why}\n", status, media_type="text/plain")
        errors = [failed(ident, why) for ident in exchange.ids]
        for error in errors:
            exchange.answer(error, by="proxy")
        if not errors:
            return Response(f"{why}\n", status, media_type="text/plain")
        return self._errors(request, exchange, errors, status)

    async def _in_one_piece(self, request: Request, answer: httpx2.Response, exchange: _Exchange) -> Response:
        body = await self._whole(answer)
        try:
            value = decode(body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            self.watch.counts["unread"] += 1
            self.watch.note(S2C, http=answer.status_code, ids=exchange.ids, why="The answer is no JSON.")
            return _with(answer, Response(body, answer.status_code))
        several = isinstance(value, list)
        units = value if several else [value]
        out = []
        for unit in units:
            if not isinstance(unit, dict) or not is_unit(unit):
                out.append(self._no_unit(unit, answer, exchange))
                continue
            judged = exchange.answer(unit)
            if self.block and judged.blocked:
                self.watch.counts["withheld"] += 1
                out.append(withheld(exchange.ids[0] if exchange.ids and not several else unit.get("id"), judged))
            else:
                out.append(self._card_in(unit, exchange, _here(request)))
        if out != units:
            body = msgspec.json.encode(out if several else out[0])
        return _with(answer, Response(body, answer.status_code))

    def _no_unit(self, value: Any, answer: httpx2.Response, exchange: _Exchange) -> Any:
        """What the client gets of an answer that is JSON and no JSON-RPC. Nothing was answered by it."""
        why = "The answer is no JSON-RPC."
        self.watch.note(S2C, http=answer.status_code, ids=exchange.ids, why=why)
        self.watch.counts["withheld" if self.block else "unread"] += 1
        return failed(next(iter(exchange.ids), None), why, code=INVALID_ANSWER) if self.block else value

    @staticmethod
    def _card_in(unit: dict[str, Any], exchange: _Exchange, here: str) -> dict[str, Any]:
        if not exchange.methods & a2a_cards.METHODS or not isinstance(unit.get("result"), dict):
            return unit
        return {**unit, "result": a2a_cards.card_through(unit["result"], here)}

    async def _events(self, answer: httpx2.Response, exchange: _Exchange) -> AsyncIterator[bytes]:
        """The events of a stream; if the server breaks off, so does this, and the client sees it."""
        splitter = EventSplitter(self.most_bytes)
        try:
            async for chunk in answer.aiter_bytes():
                for event in splitter.feed(chunk):
                    if self._may_pass(event, exchange):
                        yield event
            if (rest := splitter.rest()) and self._may_pass(rest, exchange):
                yield rest
        except (httpx2.HTTPError, ValueError) as error:
            self.watch.counts["failed"] += 1
            self.watch.note(S2C, ids=exchange.ids, why=f"The stream broke off: {_why(error)}.")
            raise

    def _may_pass(self, event: bytes, exchange: _Exchange) -> bool:
        data = data_of(event)
        if not data:
            return True
        try:
            value = decode(data)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            value = None
        if not isinstance(value, dict) or not is_unit(value):
            self.watch.counts["unread"] += 1
            return True
        judged = exchange.answer(value)
        if not (self.block and judged.blocked):
            return True
        self.watch.counts["withheld"] += 1
        return False

    async def _whole(self, answer: httpx2.Response) -> bytes:
        body = bytearray()
        async for chunk in answer.aiter_bytes():
            body += chunk
            if len(body) > self.most_bytes:
                raise _TooLargeError
        return bytes(body)

    def _address(self, request: Request) -> str:
        path = request.scope.get("raw_path", request.url.path.encode()).decode("latin-1").partition("?")[0]
        path = self._path if self._path and path == "/" else self._path + path
        query = request.scope.get("query_string", b"").decode("latin-1")
        return f"{self.to}{path}{'?' if query else ''}{query}"


def _units(body: bytes) -> list[dict[str, Any]]:
    """The JSON-RPC objects in a body; none if it is anything else, which is passed on unread."""
    try:
        value = decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return []
    units = value if isinstance(value, list) else [value]
    if not all(isinstance(unit, dict) and is_unit(unit) for unit in units):
        return []
    return units


def _with(answer: httpx2.Response, response: Response, *, raw: bool = False) -> Response:
    """``response`` with the headers of ``answer``; ``raw``: its body has the length and the encoding that these say."""
    left_out = _NOT_PASSED_ON - {"content-length"} if raw else _NOT_PASSED_ON | {"content-encoding"}
    kept: Iterable[tuple[bytes, bytes]] = [
        (k.lower(), v) for k, v in answer.headers.raw if k.decode("latin-1").lower() not in left_out
    ]
    length = [(k, v) for k, v in response.raw_headers if k == b"content-length"]
    response.raw_headers = [*kept, *length]
    return response


async def _close(answer: httpx2.Response) -> None:
    with anyio.CancelScope(shield=True):
        await answer.aclose()


def _here(request: Request) -> str:
    return f"http://{request.url.netloc}"


def _why(error: Exception) -> str:
    return str(error).rstrip(".") or type(error).__name__
