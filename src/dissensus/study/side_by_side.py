"""Many pieces of work, so many at a time."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

import anyio

from dissensus.errors import DissensusError

Piece = Callable[[], Awaitable[None]]


async def side_by_side(work: Sequence[Piece], jobs: int) -> None:
    """Do all pieces of ``work``, ``jobs`` at a time, in order; the first error ends them all."""
    rest = iter(work)

    async def worker() -> None:
        for piece in rest:
            await piece()

    try:
        async with anyio.create_task_group() as tasks:
            for _ in range(min(max(jobs, 1), len(work))):
                tasks.start_soon(worker)
    except BaseExceptionGroup as group:
        raise _first(group) from None


def _first(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """The error that a person should see: an interruption before all, then one of ours."""
    leaves: list[BaseException] = []
    todo: list[BaseException] = [group]
    while todo:
        one = todo.pop()
        if isinstance(one, BaseExceptionGroup):
            todo.extend(one.exceptions)
        else:
            leaves.append(one)
    leaves.sort(key=lambda one: (isinstance(one, Exception), not isinstance(one, DissensusError)))
    return leaves[0]
