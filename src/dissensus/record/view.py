"""What an agent has seen: a pure function of the record.

Nothing else builds an agent's context. An agent's view is made of

- every ``post`` that its visibility lets the agent see: its own as what it said, the others' as what it was told;
- every exchange of its own (an ``ask`` or ``continue`` that names it, and the ``outcome`` under the same key) once the
  outcome has come, and only if it is a reply. A call that failed was never heard and was never speech.

Both events of an exchange must be visible to the agent: what only the operator sees is in nobody's view, a probe
therefore neither. :func:`view_of` says this in the plainest way; :class:`Views` keeps the same thing up to date for
all agents at once, event by event (a test holds the two equal).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from dissensus.errors import RecordError
from dissensus.record.event import PUBLIC, Event, Visibility

_CALLS = frozenset({"ask", "continue"})


@dataclass(frozen=True, slots=True)
class Seen:
    """One turn of an agent's context.

    Args:
        role: ``assistant`` if the agent said it, otherwise ``user``.
        text: what was said; another agent's post begins with its name and a colon.
        thread: the conversation that it belongs to.
        seq: the event that it comes from; prompts and examples come from the ask, replies from the outcome.
    """

    role: Literal["user", "assistant"]
    text: str
    thread: str
    seq: int


def view_of(events: Iterable[Event], agent: str, thread: str | None = None) -> tuple[Seen, ...]:
    """All that ``agent`` has seen after ``events``, in the order in which it came about; in one thread if one is named.

    Raises :class:`~dissensus.errors.RecordError` for an event that lacks what its kind promises.
    """
    view: list[Seen] = []
    asked: dict[str, Event] = {}
    for event in events:
        if event.kind in _CALLS:
            asked[event.key] = event
        elif event.kind == "outcome":
            call = asked.pop(event.key, None)
            if call is not None and _text(call, "agent") == agent and _sees(agent, call) and _sees(agent, event):
                view += _exchange(call, event)
        elif event.kind == "post" and _sees(agent, event):
            view.append(_post(event, own=_text(event, "sender") == agent))
    return tuple(seen for seen in view if thread is None or seen.thread == thread)


class Views:
    """The views of all agents of one run, kept up to date.

    Each event costs the same however long the run is; :meth:`of` costs the length of the view that it returns, and
    what has been posted since it was last called for that agent.
    """

    __slots__ = ("_agents", "_arrivals", "_asked", "_public")

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self._asked: dict[str, Event] = {}
        self._public: list[tuple[int, str, Event, Seen]] = []
        self._agents: defaultdict[str, _Agent] = defaultdict(_Agent)
        self._arrivals = 0
        for event in events:
            self.add(event)

    def add(self, event: Event) -> None:
        """Take in the next event of the record. Raises as :func:`view_of` does."""
        if event.kind in _CALLS:
            self._asked[event.key] = event
        elif event.kind == "outcome":
            call = self._asked.pop(event.key, None)
            if call is not None and _sees(agent := _text(call, "agent"), call) and _sees(agent, event):
                self._keep(agent, _exchange(call, event))
        elif event.kind == "post":
            self._add_post(event)

    def of(self, agent: str, thread: str | None = None) -> tuple[Seen, ...]:
        """What :func:`view_of` gives for the events that were added."""
        return self._agents[agent].caught_up(agent, self._public, thread)

    def _add_post(self, event: Event) -> None:
        who, sender = event.visibility, _text(event, "sender")
        if who == PUBLIC:
            self._arrivals += 1
            self._public.append((self._arrivals, sender, event, _post(event, own=False)))
        elif isinstance(who, tuple):
            heard = _post(event, own=False)
            for agent in dict.fromkeys(who):
                self._keep(agent, (_post(event, own=True),) if agent == sender else (heard,))

    def _keep(self, agent: str, turns: Iterable[Seen]) -> None:
        self._arrivals += 1
        self._agents[agent].private.extend((self._arrivals, seen) for seen in turns)


class _Agent:
    """One agent's view as far as it was asked for, and what came for this agent alone since then."""

    __slots__ = ("everything", "private", "read", "threads")

    def __init__(self) -> None:
        self.private: list[tuple[int, Seen]] = []
        self.read = 0
        self.everything: list[Seen] = []
        self.threads: defaultdict[str, list[Seen]] = defaultdict(list)

    def caught_up(self, agent: str, public: list[tuple[int, str, Event, Seen]], thread: str | None) -> tuple[Seen, ...]:
        if self.read < len(public) or self.private:
            news = self.private
            for arrival, sender, event, heard in public[self.read :]:
                news.append((arrival, _post(event, own=True) if sender == agent else heard))
            news.sort(key=lambda one: one[0])  # keeps the turns of one exchange together, as they were
            for _, seen in news:
                self.everything.append(seen)
                self.threads[seen.thread].append(seen)
            self.read, self.private = len(public), []
        return tuple(self.everything if thread is None else self.threads.get(thread, ()))


def _sees(agent: str, event: Event) -> bool:
    who: Visibility = event.visibility
    return who == PUBLIC or (isinstance(who, tuple) and agent in who)


def _post(event: Event, *, own: bool) -> Seen:
    text = _text(event, "text")
    if own:
        return Seen("assistant", text, event.thread, event.seq)
    return Seen("user", f"{_text(event, 'sender')}: {text}", event.thread, event.seq)


def _exchange(call: Event, answer: Event) -> list[Seen]:
    """The turns of a call that was answered; none if it failed."""
    outcome = answer.body.get("outcome")
    kind = outcome.get("kind") if isinstance(outcome, Mapping) else None
    if kind not in {"reply", "extended"}:
        return []
    said = _text(answer, "text", outcome)
    if kind == "extended":
        said = _text(call, "text") + said
    return [
        *(_example(call, turn) for turn in call.body.get("examples") or ()),
        Seen("user", _text(call, "prompt"), call.thread, call.seq),
        Seen("assistant", said, call.thread, answer.seq),
    ]


def _example(call: Event, turn: object) -> Seen:
    own = _text(call, "role", turn) == "assistant"
    return Seen("assistant" if own else "user", _text(call, "text", turn), call.thread, call.seq)


def _text(event: Event, name: str, where: Any = None) -> str:
    part = event.body if where is None else where
    value = part.get(name) if isinstance(part, Mapping) else None
    if not isinstance(value, str):
        raise RecordError(
            f"Event {event.seq} is of kind {event.kind!r} and has no text {name!r}.",
            next_step="Whatever wrote this record does not keep to its format; see src/dissensus/record/README.md.",
        )
    return value
