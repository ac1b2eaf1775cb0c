"""One of ``tasks`` in a study file: a data set that is read, or tasks that are made, and which of them are taken."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from dissensus.agents.entries import Entry, Text, read_entry
from dissensus.errors import SpecError, UsageError
from dissensus.script.keys import seed_of
from dissensus.specfile import Place, Spec
from dissensus.study.tasks.generated import arithmetic_chains, object_tracking
from dissensus.study.tasks.reading import read_tasks
from dissensus.study.tasks.task import Task

Whole = Annotated[int, Field(ge=0)]


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSet:
    """Questions with right answers.

    Args:
        name: as the study file has it.
        tasks: in the order in which they are asked.
        left_out: of those chosen, how many could not be used: two of their options have the same text.
    """

    name: str
    tasks: tuple[Task, ...]
    left_out: int = 0


class TaskEntry(Entry):
    """Exactly one of ``file`` and ``generate`` says where the questions come from."""

    file: Text | None = None
    generate: Literal["chains", "tracking"] | None = None
    format: Text | None = None
    kind: Literal["number", "choice", "yes-no", "date", "text"] | None = None
    skip: Whole = 0
    take: Annotated[int, Field(ge=1)] | None = None
    order: Literal["file", "shuffled"] = "file"
    count: Annotated[int, Field(ge=1, le=100_000)] | None = None
    steps: Annotated[int, Field(ge=1)] | None = None
    largest: Annotated[int, Field(ge=1)] | None = None
    objects: Annotated[int, Field(ge=1)] | None = None
    swaps: Annotated[int, Field(ge=1)] | None = None
    seed: int = 0


_OF_FILES = ("format", "kind")
_OF_CHAINS = ("steps", "largest")
_OF_TRACKING = ("objects", "swaps")


def task_set(spec: Spec, name: str, given: Any, place: Place, *, seed: int = 0) -> TaskSet:
    """The tasks that ``given``, which stands at ``place``, describes; ``seed`` is that by which they are shuffled.

    Raises SpecError for whatever is wrong with it, or with the file that it names.
    """
    entry = read_entry(TaskEntry, spec, given, place, "a set of tasks")
    if (entry.file is None) is (entry.generate is None):
        raise spec.wrong(place, 'A set of tasks has either a "file" or "generate".', next_step="Give one of them.")
    fitting = (
        (_OF_FILES, entry.file is not None),
        (("count",), entry.generate is not None),
        (_OF_CHAINS, entry.generate == "chains"),
        (_OF_TRACKING, entry.generate == "tracking"),
    )
    for keys, fits in fitting:
        for key in keys:
            if getattr(entry, key) is not None and not fits:
                raise spec.wrong((*place, key), f'"{key}" says nothing about such tasks.', next_step="Leave it out.")
    tasks = _made(spec, entry, place) if entry.file is None else _read(spec, entry, name, place)
    if entry.order == "shuffled":
        tasks.sort(key=lambda task: (seed_of(seed, f"order/{task.id}"), task.id))
    if entry.kind is not None:
        tasks = [task for task in tasks if task.question.kind == entry.kind]
    chosen = tasks[entry.skip :][: entry.take]
    usable = tuple(task for task in chosen if task.distinct)
    if not usable:
        raise spec.wrong(place, "No task is left.", next_step="Skip fewer, or take more.")
    return TaskSet(name=name, tasks=usable, left_out=len(chosen) - len(usable))


def _read(spec: Spec, entry: TaskEntry, name: str, place: Place) -> list[Task]:
    path = Path(spec.path).parent / (entry.file or "")
    if not path.is_file():
        raise spec.wrong((*place, "file"), f"There is no file {path}.", next_step="Check the path.")
    try:
        return read_tasks(path, format=entry.format or "auto", name=name)
    except SpecError as error:
        if error.path:
            raise
        raise spec.wrong((*place, "format"), error.message, next_step=error.next_step) from None


def _made(spec: Spec, entry: TaskEntry, place: Place) -> list[Task]:
    count = entry.count or 20
    try:
        if entry.generate == "chains":
            return arithmetic_chains(count, steps=entry.steps or 5, largest=entry.largest or 10_000, seed=entry.seed)
        return object_tracking(count, objects=entry.objects or 7, swaps=entry.swaps, seed=entry.seed)
    except UsageError as error:
        raise spec.wrong(place, error.message, next_step=error.next_step) from None
