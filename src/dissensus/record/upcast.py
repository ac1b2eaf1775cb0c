"""Reads events that older versions wrote.

The bytes of an event carry the version of their schema as ``v``. Each change of the schema adds one function here that
turns the fields of an event of one version into those of the next, and a record of the old version to
``tests/golden``. Stored bytes are never rewritten: they are read through this module for ever.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dissensus.errors import RecordTooNew

SCHEMA = 1
"""Version of the schema that is written now."""

Upcaster = Callable[[dict[str, Any]], dict[str, Any]]

UPCASTERS: dict[int, Upcaster] = {}
"""From version n to the function that gives the fields of version n + 1, as in ``{1: authors_become_actors}``."""


def upcast(
    fields: dict[str, Any], where: str = "", upcasters: Mapping[int, Upcaster] = UPCASTERS, schema: int = SCHEMA
) -> dict[str, Any]:
    """The fields of an event of the record ``where``, as version ``schema`` has them.

    Raises:
        RecordTooNew: the event has a later version.
        ValueError: it has no version, or one that never was.
    """
    version = fields.get("v")
    if type(version) is not int or version < 1:
        raise ValueError(f"an event has no version of its schema: v = {version!r:.40}")
    if version > schema:
        raise too_new(where, version, schema)
    for step in range(version, schema):
        fields = {**upcasters[step](fields), "v": step + 1}
    return fields


def too_new(where: str, version: object, known: int) -> RecordTooNew:
    """The error for a record of a later version."""
    return RecordTooNew(
        f"{where or 'The record'} was written in version {version!r:.40} of its format; "
        f"this program knows versions up to {known}.",
        next_step="Update dissensus, then try again.",
    )
