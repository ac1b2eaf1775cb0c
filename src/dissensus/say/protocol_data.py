"""A protocol as data for other programs: as a protocol file with nothing left to work in, and as a JSON Schema."""

from __future__ import annotations

from typing import Any

from dissensus.say.protocol import Move, Protocol, State

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def to_file(protocol: Protocol) -> dict[str, Any]:
    """``protocol`` in the format of protocol files: its profile and what it includes written out as moves.

    Loading it gives the same protocol again, but for lines, path and the names of other profiles.
    """
    data: dict[str, Any] = {
        "protocol": protocol.name,
        "version": protocol.version,
        "title": protocol.title,
        "source": protocol.source,
        "profile": protocol.profile,
        "roles": {
            role.name: {"count": role.count, "platform": True} if role.platform else {"count": role.count}
            for role in protocol.roles.values()
        },
        "start": {"state": protocol.start, "role": protocol.starter},
        "final": [state.name for state in protocol.states.values() if state.final],
        "delivery": protocol.delivery,
        "must_correlate": protocol.must_correlate,
        "acts": sorted(protocol.acts),
        "hidden": list(protocol.hidden),
        "states": {state.name: _state(state) for state in protocol.states.values()},
        "moves": [_move(move) for move in protocol.moves],
    }
    return {key: value for key, value in data.items() if value not in ("", [])}


def _state(state: State) -> dict[str, Any]:
    data = {
        "label": state.label,
        "may_lapse": list(state.may_lapse),
        "verify": state.verify,
        "after": state.after,
        "lapses_as": state.lapses_as,
    }
    return {key: value for key, value in data.items() if value}


def _move(move: Move) -> dict[str, Any]:
    data: dict[str, Any] = {
        "in": move.source,
        "act": move.act,
        "kind": sorted(move.kinds),
        "from": list(move.senders),
        "to": move.receiver + ("*" if move.to_all else ""),
        "next": move.next,
        "when": move.when.text if move.when is not None else None,
        "opens": [{"kind": one.kind, "debtor": one.debtor, "creditor": one.creditor} for one in move.opens],
        "closes": list(move.closes),
        "declares": list(move.declares),
        "detaches": list(move.detaches),
        "releases": list(move.releases),
        "delegates": list(move.delegates),
        "assigns": list(move.assigns),
        "by": deadline_of(move),
        "late": move.late if move.late != "accept" else None,
        "repeat": move.repeat,
        "quiet": move.quiet,
        "max": move.most,
        "sub": move.sub,
        "forwards": move.forwards,
        "origin": move.origin,
    }
    return {key: value for key, value in data.items() if value not in (None, "", [], False)}


def deadline_of(move: Move) -> str | float | None:
    """What stands behind ``by:``: ``reply_by``, ``none``, or seconds; None if nothing does."""
    return move.by if move.by is not None else {"message": "reply_by", "none": "none"}.get(move.deadline)


def message_schema(protocol: Protocol) -> dict[str, Any]:
    """A JSON Schema (2020-12) of messages that can be legal in *some* state of ``protocol``.

    A content type that the protocol does not tell apart from others is allowed everywhere, as the monitor allows it.
    """
    text, moment = {"type": "string"}, {"type": ["string", "number"]}
    told_apart = frozenset().union(*(move.kinds for move in protocol.moves))
    acts = dict.fromkeys(move.act for move in protocol.moves)
    return {
        "$schema": DIALECT,
        "title": f"Message of {protocol.name} ({protocol.profile})",
        "description": protocol.title,
        "type": "object",
        "required": ["id", "act", "sender", "receivers", "thread"],
        "properties": {
            "id": {**text, "description": "Unique in the log."},
            "act": {"enum": sorted(acts)},
            "sender": text,
            "receivers": {"type": "array", "items": text, "minItems": 1},
            "thread": {**text, "description": "The conversation, chosen by whoever began it."},
            "protocol": {"const": protocol.name},
            "reply_with": text,
            "in_reply_to": text,
            "reply_to": text,
            "reply_by": {**moment, "description": "ISO 8601, or seconds after 'at'."},
            "content": True,
            "content_type": text,
            "language": text,
            "encoding": text,
            "ontology": text,
            "about": text,
            "at": moment,
        },
        "oneOf": [_of_act(protocol, act, told_apart) for act in acts],
    }


def _of_act(protocol: Protocol, act: str, told_apart: frozenset[str]) -> dict[str, Any]:
    """What a message with ``act`` has to look like besides."""
    moves = [move for move in protocol.moves if move.act == act]
    schema: dict[str, Any] = {"properties": {"act": {"const": act}}}
    wrong = told_apart - frozenset().union(*(move.kinds for move in moves))
    if wrong and all(move.kinds for move in moves):
        schema["properties"]["content_type"] = {"not": {"enum": sorted(wrong)}}
    states = ", ".join(dict.fromkeys(move.source for move in moves))
    schema["description"] = f"Legal in: {states}."
    return schema
