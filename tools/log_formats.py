"""The page of the log formats that `dissensus audit` reads, from the readers themselves.

    python tools/log_formats.py [--write]

Prints docs/log-formats.md, or writes it.
"""

from __future__ import annotations

import sys
from pathlib import Path

from dissensus.say.readers.registry import READERS, reader_named

PAGE = Path(__file__).resolve().parent.parent / "docs" / "log-formats.md"
HEAD = """\
# Log formats

What `dissensus audit` reads, and what it makes of it. The format is told from the log; `--format NAME` says it. Where a
log cannot show something, the report ends with that. This page is made from the readers by `make docs`.

A message is *declared* where the log types it: an act, a call id, a task's state. It is *inferred* where only the order
of lines or a role's name says what it is; what an inferred message ends is `answered`, never `fulfilled`. What carries
no act is listed as untagged, and is never a violation.
"""


def page() -> str:
    """The whole page."""
    parts = [HEAD]
    for name in READERS:
        reader = reader_named(name)
        parts.append(f"\n## `{name}`: {reader.title}\n\nRecognised by {reader.looks_for}.\n")
        if reader.mapping:
            parts.append("\n| in the log | becomes |\n| --- | --- |\n")
            parts += [f"| {_cell(key)} | {_cell(value)} |\n" for key, value in reader.mapping.items()]
        if reader.cannot_tell:
            parts.append("\nCannot tell:\n\n")
            parts += [f"- {sentence}\n" for sentence in reader.cannot_tell]
    return "".join(parts)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


def main() -> None:
    """Print the page, or write it."""
    if "--write" in sys.argv[1:]:
        PAGE.write_text(page(), encoding="utf-8")
    else:
        sys.stdout.write(page())


if __name__ == "__main__":
    main()
