"""What one JSON-RPC 2.0 object is: its kind, its id as people read it, and what its error says."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from dissensus.say.verdicts import FAILED, NOT_UNDERSTOOD, REFUSED

REQUEST, NOTIFICATION, RESPONSE, MALFORMED = "request", "notification", "response", "malformed"

_NOT_UNDERSTOOD: Final = frozenset({-32700, -32600, -32601, -32602, -32005})
_FAILED: Final = -32603


def kind_of(rpc: Any) -> str:
    """What a decoded JSON value is: one of the four constants. A list is malformed here; see :func:`units`."""
    if type(rpc) is not dict:
        return MALFORMED
    if "method" in rpc:
        if type(rpc["method"]) is not str:
            return MALFORMED
        return REQUEST if "id" in rpc else NOTIFICATION
    return RESPONSE if "result" in rpc or "error" in rpc else MALFORMED


def units(value: Any) -> list[Any]:
    """The objects of a batch; a value that is no list is the only one."""
    return value if type(value) is list else [value]


def id_text(value: Any) -> str:
    """An id as threads show it: ``1`` for 1 and ``"1"``, ``null`` for none."""
    if type(value) is str:
        return value
    if value is None:
        return "null"
    if type(value) is float and value.is_integer():
        return str(int(value))
    return str(value) if isinstance(value, int | float) else msgspec.json.encode(value).decode()


def error_of(rpc: dict[str, Any]) -> tuple[int | None, str]:
    """Code and message of an error response; the code is None where there is none."""
    error = rpc.get("error")
    if type(error) is not dict:
        return None, str(error) if error is not None else ""
    code = error.get("code")
    text = error.get("message")
    return code if type(code) is int else None, text if type(text) is str else ""


def declared_by_error(code: int | None) -> tuple[str, str]:
    """Act and status of an error response: a failure, not understood, or a refusal."""
    if code == _FAILED:
        return "failure", FAILED
    if code in _NOT_UNDERSTOOD:
        return "not-understood", NOT_UNDERSTOOD
    return "refuse", REFUSED
