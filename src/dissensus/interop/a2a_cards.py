"""Agent cards whose addresses lead through a proxy: only those that a proxy of JSON-RPC follows."""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import urlsplit, urlunsplit

import msgspec

PATHS: Final = frozenset({"/.well-known/agent-card.json", "/.well-known/agent.json"})
"""Where cards lie, in 0.3 and 1.0, and before."""
METHODS: Final = frozenset({"agent/getAuthenticatedExtendedCard", "GetExtendedAgentCard"})
"""Requests that are answered with a card."""
_RPC: Final = "JSONRPC"


def through(url: Any, proxy: str) -> Any:
    """``url`` with the origin of ``proxy``; what is no address of HTTP stays as it is."""
    if not isinstance(url, str):
        return url
    try:
        parts = urlsplit(url)
    except ValueError:
        return url
    if parts.scheme not in {"http", "https"}:
        return url
    ours = urlsplit(proxy)
    return urlunsplit((ours.scheme, ours.netloc, parts.path or "/", parts.query, parts.fragment))


def card_through(card: Any, proxy: str) -> Any:
    """A card with the addresses of its JSON-RPC interfaces changed; other interfaces are not followed and stay.

    A signature over the card would be wrong then, so it is left out.

    Args:
        card: decoded JSON.
        proxy: address of the proxy, ``http://127.0.0.1:8123``.
    """
    if not isinstance(card, dict):
        return card
    changed = dict(card)
    if str(card.get("preferredTransport", _RPC)).upper() == _RPC and "url" in card:  # 0.3
        changed["url"] = through(card["url"], proxy)
    for name, kind in (("additionalInterfaces", "transport"), ("supportedInterfaces", "protocolBinding")):
        interfaces = card.get(name)
        if isinstance(interfaces, list):
            changed[name] = [_interface(one, kind, proxy) for one in interfaces]
    if changed != card:
        changed.pop("signatures", None)
    return changed


def body_through(body: bytes, proxy: str) -> bytes:
    """The card in the body of an answer; what is no card stays byte for byte."""
    try:
        card = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return body
    changed = card_through(card, proxy)
    return msgspec.json.encode(changed) if changed != card else body


def _interface(one: Any, kind: str, proxy: str) -> Any:
    if not isinstance(one, dict) or str(one.get(kind, _RPC)).upper() != _RPC:
        return one
    return {**one, "url": through(one.get("url"), proxy)}
