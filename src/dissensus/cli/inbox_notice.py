"""Who is told that a question waits: what the settings say, and what was said on the command line."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dissensus.run.inbox_attend import Notify


def notify_by(url: str | None, key_env: str | None, line: str | None) -> Notify | None:
    """How notices are sent; None if nobody is to be told. Raises SpecError or UsageError for what cannot be used."""
    from dissensus.run.inbox_notify import both, command, webhook

    ways = [webhook(url, key_env=key_env or "")] if url else []
    ways += [command(line)] if line else []
    return both(*ways) if ways else None


async def tell_of(record: str | Path) -> None:
    """Say which questions of ``record`` wait, and tell whom the settings name (``[inbox.attend]``).

    To be called when a run has ended in waiting. Nothing that goes wrong here is the run's: it is said, and tried again
    by ``dissensus inbox attend``.
    """
    from dissensus.cli.readout import say
    from dissensus.cli.settings import settings_for
    from dissensus.errors import DissensusError
    from dissensus.run.inbox_attend import attend
    from dissensus.run.inbox_folder import read_inbox

    found = read_inbox(record).open()
    for one in found:
        seq = one.id.rpartition(":")[2]
        say(f"a question waits: dissensus inbox show {one.record}:{seq}", err=True)
    try:
        settings: dict[str, Any] = settings_for("inbox").get("attend", {})
        notify = notify_by(settings.get("webhook"), settings.get("webhook_key_env"), settings.get("line"))
        if notify is None:
            return
        for did in await attend(found, now=time.time(), notify=notify):
            if did.problem:
                say(f"note: nobody could be told ({did.problem}); `dissensus inbox attend` tries again.", err=True)
    except DissensusError as problem:
        say(f"note: nobody was told. {problem}", err=True)
