"""``dissensus.vote``: one question, one panel, one decision, from Python."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio

from dissensus.agents.checks import callable_check, check_from_spec
from dissensus.agents.panel import Panel, default_panel, load_panel
from dissensus.agents.weak import weak_models
from dissensus.decide.election import prepare
from dissensus.decide.procedures import settings_of_vote
from dissensus.decide.settings import VoteSettings
from dissensus.errors import UsageError
from dissensus.record.event import Event
from dissensus.record.memory import MemoryStore
from dissensus.record.sqlite import open_record
from dissensus.record.store import Store
from dissensus.run.casting import Cast, run_procedure
from dissensus.script.decisions import Decision
from dissensus.script.questions import Question

DEFAULT_MODEL = "llama:qwen2.5-coder-0.5b"
"""The embedded model that a panel gets when none is named."""


async def vote_async(
    question: str | Question,
    *,
    options: Sequence[str] = (),
    kind: str = "auto",
    unit: str = "",
    panel: Panel | Cast | str | Path | None = None,
    model: str = DEFAULT_MODEL,
    agents: int = 5,
    check: str | Callable[[str, str], Any] | None = None,
    settings: VoteSettings | None = None,
    seed: int = 0,
    record: str | Path | Store | None = None,
    on_event: Callable[[Event], None] | None = None,
) -> Decision:
    """Put a question to a panel, vote, and return the decision with all that qualifies it.

    Args:
        question: its text, or a :class:`~dissensus.script.questions.Question` (then without the next three).
        options: the answers allowed; none for an open question.
        kind: what counts as an answer: ``number``, ``choice``, ``yes-no``, ``date``, ``text`` or ``auto``.
        unit: the unit that numbers are compared in.
        panel: who takes part: a panel, an open cast, or a panel file.
        model: without a panel: the model of all agents.
        agents: without a panel: how many there are.
        check: an outside check of the answers: a command, a test file, or a function of question and answer.
        settings: how the vote is held; by default as the command line does it.
        seed: all randomness derives from it.
        record: a new ``.db`` file, or an empty store; None keeps the record in memory only.
        on_event: called after each event.

    Raises:
        UsageError: something that was asked for cannot be; the message says what to do.
        RunError: the run could not be finished; its record can be resumed.
    """
    asked = _question(question, options, kind, unit)
    if panel is None:
        panel = default_panel(model, agents, vary=False)  # the vote's own levers vary it, and say so on the record
    elif isinstance(panel, str | Path):
        panel = load_panel(panel)
    seated = panel.panel if isinstance(panel, Cast) else panel
    settings = settings or VoteSettings(weak_models=weak_models(seated))
    checks: dict[str, Any] = {}
    if check is not None:
        one = check_from_spec(check) if isinstance(check, str) else callable_check(check)
        checks[one.name] = one
        settings = replace(settings, checks=(*settings.checks, one.name))
    async with AsyncExitStack() as stack:
        cast = panel if isinstance(panel, Cast) else await stack.enter_async_context(Cast(panel))
        prepare(asked, cast.panel.seats, settings, seed)  # what cannot be is refused before a file is made
        store: Store = _store(record)
        if store is not record:
            stack.callback(store.close)
        return await run_procedure(
            procedure="vote",
            settings=settings_of_vote(asked, settings),
            panel=cast,
            record=store,
            seed=seed,
            checks=checks,
            on_event=on_event,
        )


def vote(question: str | Question, **options: Any) -> Decision:
    """:func:`vote_async` with an event loop of its own. Not for use where one is running already."""

    async def go() -> Decision:
        return await vote_async(question, **options)

    return anyio.run(go)


def _question(question: str | Question, options: Sequence[str], kind: str, unit: str) -> Question:
    if isinstance(question, Question):
        if options or unit or kind != "auto":
            raise UsageError("A Question has its own options, kind and unit.", next_step="Put them into the Question.")
        return question
    return Question(text=question, options=tuple(options), kind=kind, unit=unit)


def _store(record: str | Path | Store | None) -> Store:
    if record is None:
        return MemoryStore()
    return open_record(record, "x") if isinstance(record, str | Path) else record
