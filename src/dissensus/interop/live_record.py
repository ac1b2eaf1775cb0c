"""The file that a monitor of a running system writes: a message a line, in the format that ``dissensus audit`` reads.

Each line also holds what the monitor said of its message, under ``verdict`` and ``findings``; readers pass them over.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from dissensus.interop.line_file import LineFile
from dissensus.say.message import Message
from dissensus.say.readers.own import READER, line_of


class LiveRecord(LineFile):
    """Appends messages to ``path``; see :class:`~dissensus.interop.line_file.LineFile` for a file that is there."""

    def __init__(self, path: str | Path) -> None:
        super().__init__(path, READER, b'{"id":')

    def append(self, m: Message, said: Mapping[str, Any]) -> None:
        """Write one message, and what was said of it.

        Raises:
            StorageError: it cannot be written.
        """
        try:
            line = line_of(m, said)
        except UnicodeEncodeError:  # half a pair of surrogates: no file holds that
            line = line_of(_readable(m), {key: value for key, value in said.items() if key != "findings"})
        self.write(line)


def _readable(m: Message) -> Message:
    def clean(value: Any) -> Any:
        if type(value) is str:
            return value.encode("utf-8", "backslashreplace").decode()
        return tuple(map(clean, value)) if type(value) is tuple else value

    return msgspec.structs.replace(m, **{name: clean(getattr(m, name)) for name in m.__struct_fields__})
