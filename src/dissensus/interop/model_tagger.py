"""Tags of a model: messages of a log that carry no act are shown to it, some at a time, and come out in their order.

A model's tag is a guess. It is marked ``tag_source: model``, is applied only from a confidence on, never takes the
place of what the log declares or a pattern says, and comes to nothing where it has no place
(:mod:`dissensus.say.readers.placing`). A call that fails tags nothing, and is counted.

What to ask and how to read the reply is in :mod:`dissensus.say.readers.tagging`; the calling is done here.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import anyio
from anyio.from_thread import start_blocking_portal

from dissensus.agents.model import Model
from dissensus.errors import DissensusError, UsageError
from dissensus.say.message import Message
from dissensus.say.readers.base import Item
from dissensus.say.readers.chat_items import text_of
from dissensus.say.readers.patterns import Patterns, seen_of
from dissensus.say.readers.placing import Threads
from dissensus.say.readers.tagging import Tag, prompt_for, read_tags, schema_for, tagged
from dissensus.script.calls import Capability, Generate, Turn
from dissensus.script.outcomes import Outcome, Reply, TimedOut, TransportFailure

AT_LEAST: Final = 0.5
"""Confidence from which a tag is applied; it is also what counts where a model states none."""
WINDOW: Final = 8
"""Messages that the model is asked about in one call."""
CONTEXT: Final = 4
"""Most messages before each of them that it is shown besides."""
MOST_WAITING: Final = 256
"""Items that are held back until there are enough to ask about; so memory has a bound."""
MOST_IN_A_ROW: Final = 5
"""Calls that may fail one after the other for the same reason of transport; then the model is asked no more."""
DEADLINE_S: Final = 300.0
"""Seconds after which a call counts as failed."""

Ask = Callable[[Generate], Outcome]
_NOTHING: Final[Tag] = (None, 0.0)


@dataclass(slots=True)
class Tagged:
    """What a model made of a log. Each message shown is in exactly one of the five counts after ``shown``.

    Args:
        model: its name.
        at_least: confidence from which its tags were applied.
        shown: untagged messages on which a reply came that could be read.
        tagged: of these, messages that got an act.
        none: the model said that they do none of the acts.
        unsure: its confidence was too low.
        unclear: the reply said nothing of them, or named an act that is none.
        no_place: an act that fits nowhere: an answer to nothing.
        not_shown: untagged messages with text that no call, or only a failed one, was about.
        calls: how many calls were made.
        failures: failed calls by cause: ``connect``, ``refusal``, ``timeout``, ``unreadable`` …
        gave_up: whether it was asked no more after too many failures in a row.
    """

    model: str
    at_least: float = AT_LEAST
    shown: int = 0
    tagged: int = 0
    none: int = 0
    unsure: int = 0
    unclear: int = 0
    no_place: int = 0
    not_shown: int = 0
    calls: int = 0
    failures: Counter[str] = field(default_factory=Counter)
    gave_up: bool = False

    @property
    def failed_calls(self) -> int:
        """How many calls failed."""
        return self.failures.total()

    def to_data(self) -> dict[str, Any]:
        """It as JSON data."""
        return {
            "model": self.model,
            "threshold": self.at_least,
            "shown": self.shown,
            "tagged": self.tagged,
            "none": self.none,
            "unsure": self.unsure,
            "unclear": self.unclear,
            "no_place": self.no_place,
            "not_shown": self.not_shown,
            "calls": self.calls,
            "failed_calls": self.failed_calls,
            "failures": dict(sorted(self.failures.items())),
            "gave_up": self.gave_up,
        }

    def cannot_tell(self) -> Iterator[str]:
        """What is not known for sure because of it, in whole sentences."""
        if self.tagged:
            acts = "1 act is a guess" if self.tagged == 1 else f"{self.tagged:,} acts are guesses"
            yield (
                f"{acts} of the model {self.model}: what such an act opens may not be owed, and what it closes may "
                "still be open."
            )
        if self.not_shown:
            many = "1 message" if self.not_shown == 1 else f"{self.not_shown:,} messages"
            why = "calls to it failed" + (", and it was then asked no more" if self.gave_up else "")
            yield f"{many} without an act could not be judged by the model {self.model}, because {why}."


class ModelTagger:
    """Lets the messages of one log pass, in order, and tags those that carry no act.

    Args:
        model: the model's name.
        ask: makes a call and waits for what comes of it; raises nothing.
        patterns: rules that are tried first; the model is not asked about what one of them fits.
        at_least: confidence from which a tag is applied, from 0 to 1.
        window: messages in one call.
        context: most messages shown before each of them.
        with_schema: whether the model can be held to a JSON schema.

    Attributes:
        done: what was made of the log so far.
    """

    def __init__(
        self,
        model: str,
        ask: Ask,
        *,
        patterns: Patterns | None = None,
        at_least: float = AT_LEAST,
        window: int = WINDOW,
        context: int = CONTEXT,
        with_schema: bool = False,
    ) -> None:
        self.done = Tagged(model, at_least)
        self._ask = ask
        self._patterns = patterns
        self._window = window
        self._with_schema = with_schema
        self._before: deque[Message] = deque(maxlen=context)
        self._threads = Threads()
        self._in_a_row = 0

    def through(self, items: Iterator[Item]) -> Iterator[Item]:
        """The items, in order, with tags. At most :data:`MOST_WAITING` are held back."""
        waiting: list[tuple[Item, Message | None]] = []
        due = 0
        for item in items:
            marked = item if isinstance(item, Message) and item.wire is None else None
            if marked is not None:
                marked = self._patterns.marked(marked) if self._patterns is not None else marked
                due += _is_due(marked)
            waiting.append((item, marked))
            if due >= self._window or len(waiting) >= MOST_WAITING:
                yield from self._decided(waiting)
                waiting, due = [], 0
        yield from self._decided(waiting)

    def tags_for(self, messages: list[Message]) -> list[Tag | None]:
        """The model's tag of each message that carries no act and has a text; None for others, and where a call failed.

        Messages of earlier calls are context.
        """
        shown: list[Message] = []
        asked: list[int] = []
        places: list[int] = []
        recent = self._before.copy()
        for place, message in enumerate(messages):
            if _is_due(message):
                shown += recent
                recent.clear()
                asked.append(len(shown))
                places.append(place)
                shown.append(message)
            else:
                recent.append(message)
        found: list[Tag | None] = [None] * len(messages)
        for place, tag in zip(places, self._call(shown, asked), strict=True):
            found[place] = tag
        self._before.extend(messages)
        return found

    def _decided(self, waiting: list[tuple[Item, Message | None]]) -> Iterator[Item]:
        """Tag what waits, and give each message its place; in order, for a place follows from what came before."""
        tags = iter(self.tags_for([marked for _, marked in waiting if marked is not None]))
        for item, marked in waiting:
            if marked is None or not isinstance(item, Message):  # skipped, or a unit of a wire protocol
                yield item
                continue
            tag = next(tags)
            now = marked if tag is None else tagged(marked, tag, at_least=self.done.at_least)
            placed: Message | None = None
            if now is item:
                self._threads.note(item)
            else:
                placed = self._threads.placed(now, seen_of(item.content))
            if tag is not None:
                self._count(tag, applied=now is not item, placed=placed is not None)
            yield placed or item

    def _count(self, tag: Tag, *, applied: bool, placed: bool) -> None:
        done = self.done
        done.shown += 1
        if applied:
            done.tagged += placed
            done.no_place += not placed
        elif tag == _NOTHING:
            done.unclear += 1
        elif tag[0] is None:
            done.none += 1
        else:
            done.unsure += 1

    def _call(self, shown: list[Message], asked: list[int]) -> list[Tag | None]:
        """Tags of the messages at the places ``asked``; None for each if the call fails."""
        nothing: list[Tag | None] = [None] * len(asked)
        if not asked:
            return nothing
        if self.done.gave_up:
            self.done.not_shown += len(asked)
            return nothing
        self.done.calls += 1
        outcome = self._ask(
            Generate(
                turns=(Turn("user", prompt_for(shown, asked)),),
                temperature=0.0,
                max_tokens=256 + 64 * len(asked),
                seed=0,
                schema=schema_for(len(asked)) if self._with_schema else None,
                key=f"tag/{self.done.calls}",
            )
        )
        if isinstance(outcome, TransportFailure) and outcome.cause == "context-length" and len(asked) > 1:
            self.done.calls -= 1  # it was one question; it is asked in two parts
            half = len(asked) // 2
            cut = asked[half - 1] + 1
            first = self._call(shown[:cut], asked[:half])
            return first + self._call(shown[cut:], [place - cut for place in asked[half:]])
        if isinstance(outcome, Reply) and read_tags(outcome.text):
            self._in_a_row = 0
            return [*read_tags(outcome.text, len(asked))]
        self._failed(outcome, len(asked))
        return nothing

    def _failed(self, outcome: Outcome, count: int) -> None:
        cause = "unreadable" if isinstance(outcome, Reply) else getattr(outcome, "cause", outcome.kind)
        self.done.failures[cause] += 1
        self.done.not_shown += count
        self._in_a_row = self._in_a_row + 1 if isinstance(outcome, TransportFailure | TimedOut) else 0
        self.done.gave_up = self._in_a_row >= MOST_IN_A_ROW


def _is_due(message: Message) -> bool:
    """Whether a model is to be asked about it: it carries no act and has a text."""
    return message.act is None and bool(text_of(message.content).strip())


@contextmanager
def open_tagger(
    model: str | Model,
    *,
    patterns: Patterns | None = None,
    at_least: float = AT_LEAST,
    window: int = WINDOW,
    deadline_s: float = DEADLINE_S,
) -> Iterator[ModelTagger]:
    """A tagger whose model is open, for one log.

    Args:
        model: a reference as ``decide --model`` takes it, a panel file with ``#`` and the name of a model or an agent
            (``panel.yaml#judge``), or an open model, which is left open.
        patterns: rules that are tried first.
        at_least: confidence from which a tag is applied, from 0 to 1.
        window: messages in one call.
        deadline_s: seconds after which a call counts as failed.

    Raises:
        ModelNotFound, MissingExtra, SpecError: the model cannot be opened.
        UsageError: the threshold is not between 0 and 1, or the model cannot chat.
    """
    if not 0 <= at_least <= 1:
        raise UsageError(f"The threshold of a tagger is from 0 to 1, not {at_least}.", next_step="Give it another.")
    opened = _opened(model) if isinstance(model, str) else model

    async def answer(call: Generate) -> Outcome:
        try:
            with anyio.move_on_after(deadline_s):
                return await opened.generate(call)
        except DissensusError:
            raise
        except Exception as error:  # noqa: BLE001 - a back end by others may raise anything; it is no tag
            return TransportFailure(problem=f"{type(error).__name__}: {error}"[:500], cause="crashed")
        return TimedOut(after_s=deadline_s)

    with start_blocking_portal() as portal:

        def ask(call: Generate) -> Outcome:
            future = portal.start_task_soon(answer, call)
            try:
                return future.result()
            except BaseException:
                future.cancel()
                raise

        try:
            if Capability.CHAT not in opened.capabilities:
                raise UsageError(f"The model {opened.name} takes no chat.", next_step="Name one that does.")
            yield ModelTagger(
                opened.name,
                ask,
                patterns=patterns,
                at_least=at_least,
                window=window,
                with_schema=Capability.SCHEMA in opened.capabilities,
            )
        finally:
            if opened is not model:
                portal.call(opened.close)


def _opened(reference: str) -> Model:
    from dissensus.agents.registry import open_model

    path, _, name = reference.partition("#")
    if not path.endswith((".yaml", ".yml")):
        return open_model(reference)
    from dissensus.agents.panel import load_panel

    panel = load_panel(path)
    name = panel.model_of.get(name, name)
    if not name and len(panel.models) == 1:
        name = next(iter(panel.models))
    if name not in panel.models:
        raise UsageError(
            f"{path} has no model or agent {name!r}." if name else f"{path} has several models.",
            next_step=f"Write {path}#NAME with one of: {', '.join([*panel.models, *panel.model_of])}.",
        )
    spec = panel.models[name]
    return open_model(spec.reference, spec.options)
