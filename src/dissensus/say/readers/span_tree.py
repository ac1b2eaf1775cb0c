"""Spans of a trace as messages: asked at its start, answered at its end.

A span is an operation with a start, an end and a parent. Where it is an agent's work, a tool's or a model's, the
nearest agent above it asked for it: a request at the start, an inform at the end, a failure where the span ended in an
error, nothing where it never ended. Readers turn what their format writes into :class:`Span`; the rest is the same for
all of them.

Exporters write a span when it *ends*, children before parents. So messages are put into the order of time, over a
window of spans (:data:`WINDOW`): a log with fewer spans is in order as a whole. A full window lets go first of the
traces whose root has come, for a root ends last. What then comes late for a trace finds its parents no more and is
asked for by :data:`UNSEEN`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

from dissensus.say.message import STRUCTURE, Message
from dissensus.say.readers.base import Aside, Item, Options, Skipped

WINDOW: Final = 100_000
"""Spans that are held at once; ``Options.extra["window"]`` changes it."""

AGENT, TOOL, HANDOFF, STEP, SYSTEM = "agent", "tool", "hand-off", "step", "system"
"""What a span is: an agent's work, a tool's or a model's, one agent handing over to another, an inner step, or the
whole (a workflow, a chain), which is asked from outside when it is the root and is a step otherwise."""

USER: Final = "user"
"""Who asks the root of a trace: a person, or another program. Outside the system."""
UNSEEN: Final = "caller that is not in this log"
"""Who asks where the parent span is named and missing."""

_REQUEST, _CALL, _HAND_OFF = "fipa-request", "tool-call", "hand-off"


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """One operation.

    Args:
        trace, id, parent: ids; ``parent`` is None for a root.
        kind: see above.
        party: who does the work: an agent, a tool, a model; who takes over, for a hand-off.
        asker: who asked for it, where the span says so; None: the nearest agent above.
        start, end: seconds since 1970-01-01 UTC; None if the log does not say.
        ended: whether it is known to have ended.
        error: what went wrong, or None.
        asked, answered: what went in and what came out.
        call: id of the tool call.
        label: how the log calls the operation.
        line, where: its place.
    """

    trace: str
    id: str
    kind: str
    party: str
    parent: str | None = None
    asker: str | None = None
    start: float | None = None
    end: float | None = None
    ended: bool = True
    error: str | None = None
    asked: Any = None
    answered: Any = None
    call: str | None = None
    label: str = ""
    line: int = 0
    where: str = ""

    @property
    def thread(self) -> str:
        """The thread that its messages are in; span ids are unique within a trace only."""
        return f"{self.trace}/{self.id}"


def messages(spans: Iterable[Span | Skipped], options: Options) -> Iterator[Item]:
    """Messages of all spans, in the order of time."""
    window = options.extra.get("window", WINDOW)
    most = window if isinstance(window, int) and window > 0 else WINDOW
    held: dict[str, Span] = {}
    for span in spans:
        if isinstance(span, Skipped):
            yield span
            continue
        before = held.get(span.thread)
        held[span.thread] = span if before is None else _merged(before, span)
        if len(held) >= most:
            ready, held = _split(held, most)
            yield from _in_order(ready, options)
    yield from _in_order(held, options)


def _merged(before: Span, after: Span) -> Span:
    """One span that was written when it started and again when it ended."""
    return replace(
        after,
        parent=after.parent if after.parent is not None else before.parent,
        kind=after.kind if after.kind != STEP else before.kind,
        party=after.party if after.kind != STEP else before.party,
        asker=after.asker or before.asker,
        start=after.start if after.start is not None else before.start,
        end=after.end if after.end is not None else before.end,
        ended=after.ended or before.ended,
        error=after.error if after.error is not None else before.error,
        asked=after.asked if after.asked is not None else before.asked,
        answered=after.answered if after.answered is not None else before.answered,
        call=after.call or before.call,
        label=after.label or before.label,
    )


def _split(held: dict[str, Span], most: int) -> tuple[dict[str, Span], dict[str, Span]]:
    """What to let go of a full window, and what to keep: everything goes where too few traces are complete."""
    complete = {span.trace for span in held.values() if span.parent is None}
    ready = {thread: span for thread, span in held.items() if span.trace in complete}
    if len(ready) * 2 < most:
        return held, {}
    return ready, {thread: span for thread, span in held.items() if span.trace not in complete}


@dataclass(slots=True)
class Part:
    """What a span means among its relatives.

    Args:
        asker, outside: who asked for it, and whether that is outside the system.
        agent: the agent that speaks in what is below it.
        beyond: who stands above the trace: the user, or a caller that the log does not hold.
        silent: it makes no message: an inner step, or an agent's invocation seen a second time, from inside.
        hand_off: what it takes up.
        begun, until: times to sort by, where the log has none of its own.
    """

    span: Span
    asker: str
    outside: bool
    agent: str | None
    beyond: str
    silent: bool
    hand_off: Part | None
    begun: float
    until: float


def _in_order(held: dict[str, Span], options: Options) -> Iterator[Message]:
    """Messages of these spans by time; at one time, a parent begins before its children and ends after them."""
    said: list[tuple[float, int, Message]] = []
    parts: dict[str, Part] = {}
    handed: dict[tuple[str, str], list[Part]] = {}
    for step, (span, leaving) in enumerate(_walk(held)):
        above = parts.get(f"{span.trace}/{span.parent}") if span.parent is not None else None
        if not leaving:
            part = parts[span.thread] = part_of(span, above, handed)
            if part.silent:
                options.aside(Aside(span.label or span.kind, span.line, span.where))
            else:
                said.append((part.begun, step, opening(part)))
            continue
        part = parts[span.thread]
        if span.ended:
            part.until = max(span.end, part.begun) if span.end is not None else part.until
            if not part.silent and (span.kind != HANDOFF or span.error is not None):
                said.append((part.until, step, closing(part)))
        if above is not None:
            above.until = max(above.until, part.until)
    said.sort(key=lambda one: one[:2])
    for _, _, message in said:
        yield message


def part_of(span: Span, above: Part | None, handed: dict[tuple[str, str], list[Part]]) -> Part:
    """What ``span`` means below ``above``; ``handed``: hand-offs that nobody has taken up yet, by trace and name."""
    agent = above.agent if above is not None else None
    beyond = above.beyond if above is not None else USER if span.parent is None else UNSEEN
    begun = span.start if span.start is not None else above.begun if above is not None else 0.0
    is_agent = span.kind == AGENT or (span.kind == SYSTEM and above is None)
    again = is_agent and span.party == agent
    part = Part(
        span=span,
        asker=span.asker or agent or beyond,
        outside=span.asker is None and agent is None,
        agent=span.party if is_agent else agent,
        beyond=beyond,
        silent=again or not (is_agent or span.kind in {TOOL, HANDOFF}),
        hand_off=None,
        begun=begun,
        until=begun,
    )
    if span.kind == HANDOFF and span.error is None:
        handed.setdefault((span.trace, span.party), []).append(part)
    elif is_agent and not again and (waiting := handed.get((span.trace, span.party))) and waiting[0].begun <= begun:
        part.hand_off = waiting.pop(0)
    return part


def opening(part: Part) -> Message:
    """What is said when it starts."""
    if part.hand_off is not None:  # who takes over agrees, and owes it from now on
        return _say(part, "agree", part.hand_off.asker)
    return _say(part, "request", part.asker)


def closing(part: Part) -> Message:
    """What is said when it has ended."""
    act = "inform" if part.span.error is None else "refuse" if part.span.kind == HANDOFF else "failure"
    return _say(part, act, part.hand_off.asker if part.hand_off is not None else part.asker)


def _say(part: Part, act: str, other: str) -> Message:
    span, request = part.span, act == "request"
    starts = request or act == "agree"
    handing = part.hand_off is not None or span.kind == HANDOFF
    return Message(
        id=f"{span.thread}:{'start' if starts else 'end'}",
        sender=other if request else span.party,
        receivers=(span.party if request else other,),
        act=act,
        thread=part.hand_off.span.thread if part.hand_off is not None else span.thread,
        protocol=_HAND_OFF if handing else _CALL if span.kind == TOOL else _REQUEST,
        reply_with=span.call if request else None,
        in_reply_to=None if starts else span.call,
        content={"request": span.asked, "inform": span.answered, "agree": None}.get(act, span.error),
        content_type="result" if act == "inform" else None,
        at=span.start if starts else span.end,
        line=span.line,
        where=span.where,
        tag_source=STRUCTURE,
        name=span.label or None,
        outside=part.outside and not handing,
    )


def _walk(held: dict[str, Span]) -> Iterator[tuple[Span, bool]]:
    """Each span when it is entered and when it is left, parents around children, siblings by start."""
    children: dict[str, list[Span]] = {}
    tops: list[Span] = []
    for span in held.values():
        above = f"{span.trace}/{span.parent}"
        if span.parent is None or above not in held or above == span.thread:
            tops.append(span)
        else:
            children.setdefault(above, []).append(span)
    entered: set[str] = set()
    for candidates in (_by_start(tops), list(held.values())):  # the second finds what a loop of parents cuts off
        for top in candidates:
            if top.thread in entered:
                continue
            stack: list[tuple[Span, bool]] = [(top, False)]
            while stack:
                span, leaving = stack.pop()
                if leaving:
                    yield span, True
                    continue
                if span.thread in entered:
                    continue
                entered.add(span.thread)
                yield span, False
                stack.append((span, True))
                stack.extend((child, False) for child in reversed(_by_start(children.get(span.thread, []))))


def _by_start(spans: list[Span]) -> list[Span]:
    return sorted(spans, key=lambda span: span.start if span.start is not None else float("inf"))
