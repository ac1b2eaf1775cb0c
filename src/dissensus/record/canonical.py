"""The bytes of an event: made once, hashed, stored, and never made again.

They are UTF-8 JSON without white space: an object with the fields ``v`` (version of the schema), ``seq``, ``id``,
``time``, ``key``, ``kind``, ``actor``, ``thread``, ``visibility``, ``body``, in this order. Keys inside the body keep
the order in which they were given: nobody ever encodes an event a second time to compare, so sorting would buy nothing
and would lose what an order says (options by votes, most first). Long texts stand apart
(:mod:`dissensus.record.blobs`).

The fast encoder writes NaN as null, bytes as base64 and sets as lists without a word. So a small event is decoded again
and compared with what was handed over, which is one pass in C; a large one is looked through.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import isfinite
from typing import Any, NoReturn

import msgspec

from dissensus.errors import NotRecordable, RecordDamaged
from dissensus.record import blobs
from dissensus.record.event import OPERATOR, PUBLIC, Draft, Event
from dissensus.record.upcast import SCHEMA, too_new, upcast

Row = tuple[int, bytes, bytes]
"""An event as it is stored: sequence number, canonical bytes, hash."""

MAX_DEPTH = 100
"""Deepest nesting of lists and dicts in the body of a large event; a small one cannot go too deep for its readers."""

WRONG_HASH = "its hash does not follow from its bytes and the hash before it"

_PREFIX = b'{"v":%d,' % SCHEMA


class _Stored(msgspec.Struct, gc=False):
    v: int
    seq: int
    id: str
    time: float
    key: str
    kind: str
    actor: str
    thread: str
    visibility: str | tuple[str, ...]
    body: dict[str, Any]


class Place(msgspec.Struct, gc=False):
    """The part of an event that verification looks at."""

    v: int
    seq: int
    id: str
    kind: str


class _Body(msgspec.Struct, gc=False):
    body: dict[str, Any]


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(_Stored).decode
_decode_place = msgspec.json.Decoder(Place).decode
_decode_body = msgspec.json.Decoder(_Body).decode
_decode_any = msgspec.json.Decoder(dict[str, Any]).decode

_PLAIN = frozenset({str, int, bool, type(None)})
_NESTED = frozenset({dict, list, tuple})
_ALL = _PLAIN | _NESTED | {float}
_MANY = 32
_MAYBE_LONG = blobs.LONG // 4
_NO_NUMBER = "it holds a number that JSON does not have (NaN or an infinity)"
_ONE_OF_TWO = (PUBLIC, OPERATOR)


def encode(draft: Draft, seq: int, event_id: str, time: float, long: dict[bytes, bytes]) -> bytes:
    """The canonical bytes of an event. Its long texts are put into ``long``, under their SHA-256.

    Raises :class:`~dissensus.errors.NotRecordable` if the draft holds anything but JSON.
    """
    body: Any = draft.body
    if not isinstance(body, dict):
        if not isinstance(body, Mapping):
            _refuse(draft, "its body is no mapping")
        body = dict(body)
    who = draft.visibility
    if type(who) is not tuple and who not in _ONE_OF_TWO:
        _refuse(draft, f"visibility must be {PUBLIC!r}, {OPERATOR!r} or a tuple of names, not {who!r:.80}")
    try:
        # a TypeError, from C, if one is no string; PUBLIC and OPERATOR are taken letter by letter
        "".join((draft.key, draft.kind, draft.actor, draft.thread, *who))
    except TypeError:
        _refuse(draft, "key, kind, actor, thread and the names in visibility must be strings")
    stored = _Stored(SCHEMA, seq, event_id, time, draft.key, draft.kind, draft.actor, draft.thread, who, body)
    try:
        raw = _encode(stored)
        if len(raw) < blobs.LONG and (b"$" not in raw or blobs.MARK not in raw):
            # the usual event: small, and what will be read is what was handed over; unless it holds a tuple
            if _decode(raw).body != body:
                _check(draft, body)
            return raw
        if _check(draft, body) or blobs.MARK in raw:
            stored.body = blobs.take_out(body, long)
            raw = _encode(stored)
    except UnicodeEncodeError as error:
        _refuse(draft, f"it holds a lone surrogate, {error.object[error.start : error.end]!r}")
    except RecursionError:
        _refuse(draft, f"it is nested more than {MAX_DEPTH} deep")
    except (TypeError, ValueError, OverflowError) as error:
        _refuse(draft, str(error))
    if len(raw) > blobs.MAX_BYTES:
        _refuse(draft, f"it is longer than {blobs.MAX_BYTES} bytes")
    return raw


def decode(row: Row, text_of: Callable[[bytes], str], where: str) -> Event:
    """The event in a row of the record ``where``; ``text_of`` gives the long text of a digest.

    Raises:
        RecordDamaged: the bytes are no event, or not the one that belongs in this place.
        RecordTooNew: a later version wrote them.
    """
    seq, raw, _ = row
    try:
        stored = _decode(raw) if raw.startswith(_PREFIX) else msgspec.convert(upcast(_decode_any(raw), where), _Stored)
    except (ValueError, RecursionError) as error:
        raise damaged(where, seq, f"its bytes are no event ({error})") from None
    body = stored.body
    if blobs.MARK in raw:
        try:
            body = blobs.put_back(body, text_of)
        except ValueError as error:
            raise damaged(where, seq, str(error)) from None
    if stored.seq != seq:
        raise damaged(where, seq, f"it says of itself that it is event {stored.seq}")
    return Event(
        seq=seq,
        id=stored.id,
        time=stored.time,
        key=stored.key,
        kind=stored.kind,
        actor=stored.actor,
        thread=stored.thread,
        visibility=stored.visibility,
        body=body,
    )


def check_place(seq: int, raw: bytes, where: str) -> Place:
    """What ``raw`` says of itself. Raises as :func:`decode` does unless that is event ``seq``; the body is not read."""
    try:
        place = _decode_place(raw)
    except (ValueError, RecursionError) as error:
        raise damaged(where, seq, f"its bytes are no event ({error})") from None
    if place.seq != seq:
        raise damaged(where, seq, f"it says of itself that it is event {place.seq}")
    if b"\n" in raw:  # allowed in JSON, never written by the encoder, and it would break the lines of an export
        raise damaged(where, seq, "its bytes hold a line break")
    if place.v > SCHEMA:
        raise too_new(where, place.v, SCHEMA)
    return place


def references(seq: int, raw: bytes, where: str) -> list[bytes]:
    """Digests of the long texts that an event refers to."""
    if blobs.MARK not in raw:
        return []
    try:
        return list(blobs.references(_decode_body(raw).body))
    except (ValueError, RecursionError) as error:
        raise damaged(where, seq, str(error)) from None


def _check(draft: Draft, body: dict[str, Any]) -> bool:
    """Refuse what JSON does not have. Returns whether some string may be long enough to be stored apart.

    Goes level by level, without recursion. A wide list or dict (scores, token ids) is looked through by loops that
    run in C.
    """
    level: list[Any] = [body]
    long_text = False
    for _ in range(MAX_DEPTH):
        deeper: list[Any] = []
        for item in level:
            values = item
            if isinstance(item, dict):
                "".join(item)  # a TypeError, from C, if a key is no string
                values = item.values()
            if len(item) > _MANY and str not in (kinds := set(map(type, values))) and kinds <= _ALL:
                if float in kinds and not all(map(isfinite, [one for one in values if type(one) is float])):
                    _refuse(draft, _NO_NUMBER)
                if kinds & _NESTED:
                    deeper += [one for one in values if type(one) in _NESTED]
                continue
            for value in values:
                kind = type(value)
                if kind is str:
                    if len(value) >= _MAYBE_LONG and not (len(value) < blobs.LONG and value.isascii()):
                        long_text = True
                elif kind in _PLAIN:
                    pass
                elif kind is float:
                    if not isfinite(value):
                        _refuse(draft, _NO_NUMBER)
                elif kind in _NESTED or isinstance(value, dict | list | tuple):
                    deeper.append(value)
                elif not isinstance(value, str | int):  # an Enum of these is written as its value
                    _refuse(draft, f"it holds a value of type {kind.__name__}")
        if not deeper:
            return long_text
        level = deeper
    return _refuse(draft, f"it is nested more than {MAX_DEPTH} deep")


def _refuse(draft: Draft, why: str) -> NoReturn:
    raise NotRecordable(
        f"An event of kind {draft.kind!r:.80} with the key {draft.key!r:.200} cannot be recorded: {why}.",
        next_step="Hand over plain JSON data: strings without lone surrogates, finite numbers, lists, dicts, null.",
    ) from None


def damaged(where: str, seq: int, why: str) -> RecordDamaged:
    """The error for an event that cannot be trusted."""
    return RecordDamaged(
        f"Event {seq} of {where or 'the record'} is damaged: {why}.",
        seq=seq,
        next_step="Restore the record from a copy" + ("; what stands before can still be read." if seq > 1 else "."),
    )
