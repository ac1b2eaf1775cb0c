"""Taking questions back: their case is looked at again elsewhere, and nobody is to be asked twice about one matter."""

from __future__ import annotations

import time
from pathlib import Path

from dissensus.record.chain import Clock
from dissensus.record.event import Draft
from dissensus.record.opening import open_record
from dissensus.run.inbox import WITHDRAWN, State, questions_of
from dissensus.run.inbox_letters import waiting


def withdraw(record: Path, why: str, *, clock: Clock = time.time) -> bool:
    """Take back the open questions of a record, unless an answer is there that nobody has taken up or judged yet.

    Args:
        record: where they stand.
        why: a sentence for whoever comes to answer.
        clock: for the time of the events.

    Returns:
        whether it was done; False if there is an answer: it goes before what somebody else has found meanwhile.

    Raises:
        RecordError: the record is damaged.
        StorageError: it cannot be written, or somebody else writes it.
    """
    with open_record(record, "a", clock=clock) as store:
        questions = questions_of(store)
        if any(one.accepted is not None and not one.taken_up for one in questions) or waiting(record):
            return False
        drafts = [Draft(kind=WITHDRAWN, key=one.key, body={"why": why}) for one in questions if one.state is State.OPEN]
        if drafts:
            store.append(drafts)
            store.commit(durable=True)
    return True
