"""What ``--json`` prints."""

from __future__ import annotations

import json
import sys

import click


def show_json(data: object) -> None:
    """Print one JSON document on stdout; characters that the stream does not know are escaped."""
    import msgspec

    text = msgspec.json.format(msgspec.json.encode(data)).decode()
    try:
        text.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        text = json.dumps(json.loads(text), indent=2)
    click.echo(text)
