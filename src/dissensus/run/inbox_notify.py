"""Telling people that a question waits: by a POST to a webhook, or by a command of their own.

Both get the same JSON object: :meth:`~dissensus.run.inbox_attend.Notice.to_data` and an ``idempotency_key``. A webhook
gets it as the body, the command on standard input; a key that the webhook wants comes from the environment. A program
of 20 lines turns it into a mail or a message in a chat.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import replace
from urllib.parse import urlsplit

import msgspec

from dissensus.agents.processes import environment, run_in_thread
from dissensus.agents.secrets import Secret
from dissensus.agents.wire import Answer, Wire
from dissensus.errors import UsageError
from dissensus.run.inbox_attend import Notice, Notify, Sent

TIMEOUT_S = 15.0
_MOST_BYTES = 64_000


def webhook(url: str, *, key_env: str = "", timeout_s: float = TIMEOUT_S) -> Notify:
    """Sends notices to ``url``. ``key_env`` names the environment variable with a bearer token.

    Raises :class:`~dissensus.errors.SpecError` if the address cannot be used or the variable is not set.
    """
    key = Secret.from_env(key_env) if key_env else None
    where = f"{urlsplit(url).scheme}://{urlsplit(url).netloc}"
    Wire(url, key=key)  # what is wrong with the address shows now

    async def send(notice: Notice, now: float) -> Sent:
        wire = Wire(url, key=key, timeout_s=timeout_s, most_bytes=_MOST_BYTES, places=1)
        try:
            came = await wire.post("", {**notice.to_data(now), "idempotency_key": notice.idempotency_key})
        finally:
            await wire.close()
        if isinstance(came, Answer):
            return Sent(channel="webhook", to=where)
        problem = getattr(came, "problem", "") or f"No answer within {timeout_s:g} s."
        return Sent(channel="webhook", to=where, problem=problem[:300], status=getattr(came, "status", None))

    return send


def command(line: str, *, timeout_s: float = TIMEOUT_S, pass_env: Sequence[str] = ()) -> Notify:
    """Runs a command for each notice, without a shell. ``pass_env`` names variables that it gets beside the usual ones.

    Raises :class:`~dissensus.errors.UsageError` if ``line`` cannot be taken apart into words.
    """
    try:
        argv = shlex.split(line)
    except ValueError as error:
        raise UsageError(f"The command {line!r} cannot be read: {error}.", next_step="Close its quotes.") from None
    if not argv:
        raise UsageError("The command for notices is empty.", next_step="Name a program.")

    async def run(notice: Notice, now: float) -> Sent:
        sent = Sent(channel="command", to=argv[0])
        body = msgspec.json.encode({**notice.to_data(now), "idempotency_key": notice.idempotency_key})
        try:
            ran = await run_in_thread(
                argv, stdin=body, timeout_s=timeout_s, most_bytes=_MOST_BYTES, env=environment(pass_env), keep="last"
            )
        except (OSError, ValueError) as error:
            return replace(sent, problem=f"It cannot be started: {error}."[:300])
        if ran.status == 0:
            return sent
        if ran.status is None:
            return replace(sent, problem=f"It did not end within {timeout_s:g} s and was stopped.")
        said = ran.errors.decode("utf-8", "replace").strip().splitlines()
        told = f"It ended with {ran.status}" + (f": {said[-1]}" if said else ".")
        return replace(sent, problem=told[:300], status=ran.status)

    return run


def both(*ways: Notify) -> Notify:
    """Sends each notice all these ways. It counts as sent if one of them did; else the last problem is told."""

    async def send(notice: Notice, now: float) -> Sent:
        came = [await way(notice, now) for way in ways]
        return next((one for one in came if not one.problem), came[-1])

    return send
