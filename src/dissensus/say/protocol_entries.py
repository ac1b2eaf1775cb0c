"""Mappings of a protocol file, taken key by key; what does not fit is refused with its place and the nearest name."""

from __future__ import annotations

import difflib
import math
from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from dissensus.errors import SpecError

if TYPE_CHECKING:
    from dissensus.specfile import Place, Spec


def near(name: str, known: Iterable[str]) -> str:
    """A question that names what of ``known`` looks most like ``name``; "" if nothing does."""
    found = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f"Did you mean {found[0]!r}?" if found else ""


def listed(names: Iterable[str]) -> str:
    """Names for a sentence."""
    return ", ".join(names)


class Entry:
    """A mapping at ``place``, with the keys that it may have. ``what`` names it in messages: ``a move``.

    Raises:
        SpecError: it is no mapping, or has another key.
    """

    def __init__(self, spec: Spec, data: Any, place: Place, what: str, keys: Collection[str] | None) -> None:
        self.spec = spec
        self.place = place
        self.what = what
        if not isinstance(data, Mapping):
            raise self.wrong("", f"{what.capitalize()} has to be a mapping: lines like `key: value`.")
        self.data: Mapping[str, Any] = data
        for key in data if keys is not None else ():
            if key not in (keys or ()):
                next_step = near(key, keys or ()) or f"It may have: {listed(sorted(keys or ()))}."
                raise self.wrong(key, f"{what.capitalize()} has no key {key!r}.", next_step)

    def wrong(self, key: str | tuple[str | int, ...], message: str, next_step: str = "") -> SpecError:
        """The error for what stands under ``key``; "" is the entry itself."""
        parts = (key,) if isinstance(key, str) else key
        place: Place = (*self.place, *parts) if key else self.place
        column = next(
            (self.spec.columns[place[:end]] for end in range(len(place), 0, -1) if place[:end] in self.spec.columns), 0
        )
        where = f" (Column {column}.)" if column else ""
        return self.spec.wrong(place, message + where, next_step=next_step)

    def has(self, key: str) -> bool:
        """Whether the key is there, and not empty."""
        return self.data.get(key) is not None

    def need(self, key: str) -> None:
        """Refuse an entry that lacks ``key``."""
        if not self.has(key):
            raise self.wrong("", f"{self.what.capitalize()} needs {key!r}.", "See docs/protocol-files.md.")

    def text(self, key: str, default: str = "") -> str:
        """A text that is not empty."""
        value = self.data.get(key)
        if value is None:
            return default
        if not isinstance(value, str) or not value.strip():
            raise self.wrong(key, f"{key!r} has to be a text, not {_shown(value)}.", "Put it into quotes.")
        return value

    def texts(self, key: str, *, words: bool = False) -> tuple[str, ...]:
        """A text, or a list of texts; under ``words``, true and false are the words that they are written as."""
        value = self.data.get(key)
        if value is None:
            return ()
        values = list(value) if isinstance(value, list) else [value]
        if words:
            values = [str(each).lower() if isinstance(each, bool) else each for each in values]
        for at, each in enumerate(values):
            if not isinstance(each, str) or not each.strip():
                where = (key, at) if isinstance(value, list) else key
                raise self.wrong(where, f"{key!r} has to be a text or a list of texts, not {_shown(each)}.")
        return tuple(dict.fromkeys(values))

    def flag(self, key: str) -> bool:
        """True or false."""
        value = self.data.get(key, False)
        if not isinstance(value, bool):
            raise self.wrong(key, f"{key!r} has to be true or false, not {_shown(value)}.")
        return value

    def choice(self, key: str, options: Collection[str], default: str) -> str:
        """One of ``options``."""
        value = self.text(key, default)
        if value not in options:
            known = f"It may be {listed(sorted(options))}."
            raise self.wrong(key, f"{key!r} cannot be {_shown(value)}.", near(value, options) or known)
        return value

    def whole(self, key: str) -> int | None:
        """A whole number from 1."""
        value = self.data.get(key)
        if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 1):
            raise self.wrong(key, f"{key!r} has to be a whole number from 1, not {_shown(value)}.")
        return value

    def entries(self, key: str, what: str, keys: Collection[str]) -> list[Entry]:
        """A list of mappings."""
        value = self.data.get(key)
        if value is None:
            return []
        if not isinstance(value, list):
            raise self.wrong(key, f"{key!r} has to be a list, not {_shown(value)}.")
        return [Entry(self.spec, each, (*self.place, key, at), what, keys) for at, each in enumerate(value)]

    def mapping(self, key: str, what: str, keys: Collection[str] | None = None) -> Entry:
        """A mapping; an empty one where the key is not there. Without ``keys`` it may have any."""
        value = self.data.get(key)
        return Entry(self.spec, {} if value is None else value, (*self.place, key), what, keys)


def seconds(entry: Entry, key: str) -> float:
    """A number of seconds above 0."""
    value = entry.data[key]
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value < math.inf:
        raise entry.wrong(key, f"{key!r} has to be reply_by, none, or a number of seconds, not {_shown(value)}.")
    try:
        return float(value)
    except OverflowError:
        raise entry.wrong(key, f"{key!r} is too large.") from None


def _shown(value: Any) -> str:
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    if value is None:
        return "nothing"
    text = str(value).lower() if isinstance(value, bool) else repr(value)
    return text if len(text) <= 40 else text[:39] + "…"
