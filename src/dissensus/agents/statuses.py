"""What an HTTP status that is no success means for a call."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from urllib.parse import urlsplit

from dissensus.agents.bodies import Hide, describe, error_in, excerpt, parse_json
from dissensus.script.outcomes import Outcome, Refusal, TransportFailure, Usage

_TOO_LONG = re.compile(
    r"context[ _-]*(?:length|size|window)|exceed_context|maximum (?:prompt|input|model) length"
    r"|(?:prompt|input) is too long|too many (?:input )?tokens|reduce the length of the",
    re.IGNORECASE,
)
_FILTERED = re.compile(r"content[_ ]?(?:filter|policy)|responsible_?ai", re.IGNORECASE)
_NO_MONEY = re.compile(r"insufficient_quota|billing|credit balance|payment", re.IGNORECASE)


def failure_of_status(
    status: int,
    headers: Mapping[str, str],
    body: bytes,
    *,
    now: datetime,
    hide: Hide,
    key_env: str = "",
    usage: Usage,
) -> Outcome:
    """The outcome of a response whose ``status`` is no success.

    Args:
        status: HTTP status, not 2xx.
        headers: of the response, looked up in lower case.
        body: as much of it as was read.
        now: to turn a date in ``Retry-After`` into seconds, where the response has no ``Date``.
        hide: takes keys out of texts.
        key_env: name of the environment variable that the key came from ("" if the call carried none).
        usage: what the try took.
    """
    if 300 <= status < 400:
        return TransportFailure(problem=_redirect(headers, hide), cause="status", status=status, usage=usage)
    message, code = _error(body)
    told = excerpt(message, hide) if message else describe(body, hide)
    if _TOO_LONG.search(f"{message} {code}") and status != 429:
        problem = f"The prompt does not fit into the model's context: {told}"
        return TransportFailure(problem=problem, cause="context-length", status=status, usage=usage)
    if status == 400 and _FILTERED.search(code):
        return Refusal(text=told, usage=usage)
    wait_s = retry_after_s(headers, now)
    if status == 429:
        # an account without money answers 429 too; waiting does not fill it
        cause = "status" if _NO_MONEY.search(code) else "rate-limited"
        problem = f"The server turns calls away (429): {told}"
        return TransportFailure(problem=problem, cause=cause, status=status, retry_after_s=wait_s, usage=usage)
    problem = f"The server answered with status {status}: {told}{_next_step(status, key_env)}"
    return TransportFailure(problem=problem, cause="status", status=status, retry_after_s=wait_s, usage=usage)


def _error(body: bytes) -> tuple[str, str]:
    try:
        return error_in(parse_json(body))
    except ValueError:
        return "", ""


def _next_step(status: int, key_env: str) -> str:
    if status in {401, 403}:
        if key_env:
            return f" Check the key in the environment variable {key_env}."
        return " Name the environment variable that holds a key for this server: api_key_env: NAME."
    if status in {404, 405}:
        return " Check the model's name and base_url (most servers want it to end in /v1)."
    return ""


def _redirect(headers: Mapping[str, str], hide: Hide) -> str:
    try:
        host = urlsplit(hide(headers.get("location", ""))).hostname or "another path"
    except ValueError:
        host = "an unreadable address"
    # followed, a redirect would carry the prompts and perhaps the key to a host that nobody named
    return f"The server redirects to {excerpt(host, hide, 100)}; redirects are not followed. Name that address itself."


def retry_after_s(headers: Mapping[str, str], now: datetime) -> float | None:
    """Seconds in ``Retry-After``, given as a number or as an HTTP date (RFC 9110, section 10.2.3); None if absent."""
    value = headers.get("retry-after", "").strip()
    if not value:
        return None
    try:
        seconds = float(value)
    except ValueError:
        then = _date(value)
        if then is None:
            return None
        # measured by the server's own clock where it tells it: ours may be wrong
        seconds = (then - (_date(headers.get("date", "")) or now)).total_seconds()
    return max(seconds, 0.0) if math.isfinite(seconds) else None


def _date(value: str) -> datetime | None:
    try:
        date = parsedate_to_datetime(value)
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
    return date if date.tzinfo is not None else date.replace(tzinfo=UTC)
