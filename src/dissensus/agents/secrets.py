"""Keys of servers: read from the environment, sent in one header, shown nowhere.

A panel file names the *environment variable* that holds a key (``api_key_env: NAME``). The value lives in a
:class:`Secret`, whose text is its source, and is taken out of every text that a server sends back and of what the
HTTP libraries log.
"""

from __future__ import annotations

import html
import json
import logging
import os
import re
import weakref
from collections.abc import Mapping
from typing import NoReturn
from urllib.parse import quote

from dissensus.errors import SpecError

HIDDEN = "[key removed]"
_LEAST_LENGTH = 8
"""Shorter values are placeholders ("none", "EMPTY"): hiding them would tear holes into ordinary words."""

_LOGGERS = (
    "httpx2",
    "httpcore2.connection",
    "httpcore2.http11",
    "httpcore2.http2",
    "httpcore2.proxy",
    "httpcore2.socks",
)
_SECRET_NAME = re.compile(
    r"(?:^|[_\-.])(?:api[_\-]?key|apikey|key|token|secret|password|passwd|authorization|auth|credentials?|sig)$",
    re.IGNORECASE,
)
_SECRET_VALUE = re.compile(
    r"^(?:bearer\s+\S{8,}|(?:sk|pk|rk|gsk|hf|ghp|gho|xai|r8|nvapi|tgp)[-_][A-Za-z0-9_\-]{16,}|AKIA[A-Z0-9]{12,}|AIza[\w\-]{30,})$",
    re.IGNORECASE,
)


class Secret:
    """A value that must not be seen; its text is only where it came from.

    Args:
        value: the value. White space around it is removed: files and shells like to add a line end.
        source: where it came from, for messages.
        env: name of the environment variable that it came from, if it did.

    Raises:
        SpecError: the value is empty or cannot stand in a header.
    """

    __slots__ = ("__weakref__", "_forms", "_value", "env", "source")

    def __init__(self, value: str, *, source: str, env: str = "") -> None:
        value = value.strip()
        if not value or not value.isascii() or not value.isprintable():
            raise SpecError(
                f"The key in {source} is empty or holds characters that no header can carry.",
                next_step="Set it to the key exactly as the server's operator gave it.",
            )
        self._value = value
        self.source = source
        self.env = env
        self._forms = _forms_of(value)
        _guard_logs(self)

    @classmethod
    def from_env(cls, name: str) -> Secret:
        """The secret in environment variable ``name``. Raises :class:`~dissensus.errors.SpecError` if it is not set."""
        value = os.environ.get(name, "")
        if not value.strip():
            raise SpecError(
                f"The environment variable {name} is not set.",
                next_step=f"Set it to the server's key: export {name}=…",
            )
        return cls(value, source=f"environment variable {name}", env=name)

    def reveal(self) -> str:
        """The value itself, for the one header that carries it."""
        return self._value

    def hide(self, text: str) -> str:
        """``text`` without the value, in whatever form it was written there."""
        return _without(text, self._forms)

    def __repr__(self) -> str:
        return f"<key from {self.source}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a key is not written anywhere: read it again from the environment")


def looks_like_secret(name: str, value: object) -> bool:
    """Whether an option of this name and value seems to hold a key itself (``…_env`` names a variable and is fine)."""
    if not isinstance(value, str) or not value:
        return False
    return bool(_SECRET_NAME.search(name) or _SECRET_VALUE.match(value.strip()))


def refuse_secrets(options: Mapping[str, object], *, where: str = "") -> None:
    """Raise :class:`~dissensus.errors.SpecError`, without showing it, if a key stands in ``options``, however deep."""
    for name, value in options.items():
        path = f"{where}.{name}" if where else str(name)
        if looks_like_secret(str(name), value):
            raise SpecError(
                f"The option {path!r} seems to hold a key itself.",
                next_step="Put the key into an environment variable and name that one: api_key_env: NAME.",
            )
        if isinstance(value, Mapping):
            refuse_secrets(value, where=path)
        elif isinstance(value, list | tuple):
            refuse_secrets({str(index): item for index, item in enumerate(value)}, where=path)


def hide_keys(text: str) -> str:
    """``text`` without any key in use here and without the value of any environment variable that is named like one.

    For what programs wrote that inherit the environment: they may print all of it.
    """
    for secret in tuple(_FILTER.known):
        text = secret.hide(text)
    for name, value in os.environ.items():
        if _SECRET_NAME.search(name):
            text = _without(text, _forms_of(value.strip()))
    return text


def _forms_of(value: str) -> tuple[str, ...]:
    """The ways in which ``value`` may be written, the longest first, so that no part of a longer one is left."""
    if len(value) < _LEAST_LENGTH:
        return ()
    bare = repr(value.encode("utf-8", "surrogateescape"))[2:-1]
    forms = {value, quote(value, safe="", errors="replace"), json.dumps(value)[1:-1], html.escape(value), bare}
    return tuple(sorted(forms, key=len, reverse=True))


def _without(text: str, forms: tuple[str, ...]) -> str:
    for form in forms:
        if form in text:
            text = text.replace(form, HIDDEN)
    return text


class _HideInLogs(logging.Filter):
    """Takes known keys out of log lines: at level DEBUG the HTTP libraries log the headers that a server sent."""

    def __init__(self) -> None:
        super().__init__()
        self.known: weakref.WeakSet[Secret] = weakref.WeakSet()

    def filter(self, record: logging.LogRecord) -> bool:
        told = record.getMessage()
        shown = told
        for secret in tuple(self.known):
            shown = secret.hide(shown)
        if shown != told:
            record.msg, record.args = shown, ()
        return True


_FILTER = _HideInLogs()


def _guard_logs(secret: Secret) -> None:
    _FILTER.known.add(secret)
    for name in _LOGGERS:
        # a filter on a logger does not reach its children, so each is named; adding one twice does nothing
        logging.getLogger(name).addFilter(_FILTER)
