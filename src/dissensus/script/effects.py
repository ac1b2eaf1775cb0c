"""What a procedure may ask the engine to do.

A script is a generator. It yields one effect, a list of effects (done side by side, outcomes come back in
list order), :class:`Together` (whole sub-scripts side by side) or :class:`Race` (the same, ended early), and is
sent back the outcome or outcomes. :func:`under` enters a sub-script and adds its name to the keys.

Effects are matched with recorded outcomes by key. A key is ``scope/kind/agent`` and, from the second time in
that scope on, ``/2``, ``/3`` …; a script may give one (``key=``), and does so in loops whose length may change.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar

from dissensus.record.event import OPERATOR, Visibility
from dissensus.script.calls import Turn
from dissensus.script.persons import Exhibit, Option


@dataclass(frozen=True, slots=True)
class Ask:
    """Ask an agent for one message. Outcome: Reply or a failure.

    The agent's context is its own view of the record in ``thread``, then ``examples``, then ``prompt``.
    Values that are None come from the agent's seat.
    """

    kind: ClassVar[str] = "ask"
    agent: str
    prompt: str
    _: KW_ONLY
    thread: str = "main"
    examples: tuple[Turn, ...] = ()
    schema: Mapping[str, object] | None = None
    temperature: float | None = None
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()
    deadline_s: float | None = None
    key: str | None = None


@dataclass(frozen=True, slots=True)
class Continue:
    """Have an agent continue ``text`` (or ``tokens``) from its own prompt. Outcome: Extended or a failure.

    ``top_p`` None leaves it to the model; ``stream`` names the growing text, so that a back end can keep its cache;
    ``hear`` asks for the log-probability of what is read anew.
    """

    kind: ClassVar[str] = "continue"
    agent: str
    prompt: str
    text: str = ""
    _: KW_ONLY
    tokens: tuple[int, ...] | None = None
    max_tokens: int = 64
    thread: str = "main"
    temperature: float | None = None
    top_p: float | None = None
    stream: str = ""
    hear: bool = False
    stop: tuple[str, ...] = ()
    deadline_s: float | None = None
    key: str | None = None


@dataclass(frozen=True, slots=True)
class ScoreTexts:
    """Have an agent's model score ``continuations`` as its answer to ``prompt``. Outcome: Scores or a failure.

    ``text`` (or ``tokens``) is an answer that has begun already; then they are what might come next.
    """

    kind: ClassVar[str] = "score"
    agent: str
    prompt: str
    continuations: tuple[str, ...]
    _: KW_ONLY
    text: str = ""
    tokens: tuple[int, ...] | None = None
    stream: str = ""
    thread: str = "main"
    examples: tuple[Turn, ...] = ()
    deadline_s: float | None = None
    key: str | None = None


@dataclass(frozen=True, slots=True)
class UseTool:
    """Run a tool on behalf of an agent. Outcome: ToolResult or TimedOut."""

    kind: ClassVar[str] = "tool"
    agent: str
    tool: str
    arguments: Mapping[str, Any]
    _: KW_ONLY
    deadline_s: float | None = None
    key: str | None = None


@dataclass(frozen=True, slots=True)
class RunCheck:
    """Try an answer against the outside check named ``check``; no agent is asked. Outcome: CheckResult."""

    kind: ClassVar[str] = "check"
    check: str
    question: str
    answer: str
    _: KW_ONLY
    key: str | None = None


@dataclass(frozen=True, slots=True)
class AskPerson:
    """Put a question to a person. Outcome: PersonAnswer, perhaps weeks later; the run waits meanwhile.

    Times run from when the question was put. None of them decides anything.

    Args:
        question: what is asked.
        options: the answers to choose from, texts or :class:`~dissensus.script.persons.Option`; none: free text.
        exhibits: what is shown side by side. An answer is bound to it: if it has changed since it was shown, the answer
            is refused and the question is asked again.
        topic: what kind of question it is: ``dispute``.
        dedupe_key: questions with the same key, put by several runs of one folder, are answered once.
        asked_to: who may answer: a name, which may be only stated, or how somebody is known, such as ``account:ben``;
            empty means anybody.
        deadline_s: when an answer is wanted by. Past it, the question stays open with the reason ``no-answer``.
        remind_s: how often to remind until it is answered.
        escalate_to: who may answer too once the deadline has passed.
        sources: folders in which the pinned bytes lie, for whoever reopens them.
        base: folder that relative references to live sources start from.
        key: the effect's key.
    """

    kind: ClassVar[str] = "person"
    question: str
    options: tuple[str | Option, ...] = ()
    _: KW_ONLY
    exhibits: tuple[Exhibit, ...] = ()
    topic: str = ""
    dedupe_key: str = ""
    asked_to: tuple[str, ...] = ()
    deadline_s: float | None = None
    remind_s: float | None = None
    escalate_to: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    base: str = ""
    key: str | None = None


@dataclass(frozen=True, slots=True)
class Post:
    """Put a message on the record for others to read. Outcome: Done, or Blocked if it was no legal move.

    ``to`` names the receivers; empty means everybody. The message enters the views of those who may see it.

    A post with a ``protocol``, or in a thread that has one, is a move in it: it names its receivers, its ``act`` is one
    of the 22, and it is judged before anybody sees it. Any other post is an announcement, which no protocol judges.

    Args:
        sender: who speaks.
        text: what is read.
        to: the receivers.
        act: what the message does.
        thread: the conversation.
        data: the payload for programs.
        protocol: name of the protocol; None takes that of the thread, if it has one.
        content_type: ``done``, ``result``, ``true`` …, where the protocol tells such apart.
        reply_with, in_reply_to: exact correlation of question and answer.
        deadline_s: seconds within which the next move is wanted.
        about: the agent that this is about, where another speaks for it: ``engine`` reports that one has failed.
        of: key of the effect whose outcome this was read from. What is said in time there is said in time here.
        key: the effect's key.
    """

    kind: ClassVar[str] = "post"
    sender: str
    text: str
    _: KW_ONLY
    to: tuple[str, ...] = ()
    act: str = "inform"
    thread: str = "main"
    data: Mapping[str, Any] = field(default_factory=dict)
    protocol: str | None = None
    content_type: str | None = None
    reply_with: str | None = None
    in_reply_to: str | None = None
    deadline_s: float | None = None
    about: str | None = None
    of: str | None = None
    key: str | None = None


@dataclass(frozen=True, slots=True)
class Note:
    """Put something on the record that is no message: a ballot, a lever used, a route taken. Outcome: Done.

    ``kind_of_note`` becomes the event's kind. ``durable`` notes (ballots) are flushed to the disk before anything else
    is performed.
    """

    kind: ClassVar[str] = "note"
    kind_of_note: str
    data: Mapping[str, Any]
    _: KW_ONLY
    actor: str = "procedure"
    visibility: Visibility = OPERATOR
    thread: str = "main"
    durable: bool = False
    key: str | None = None


Effect = Ask | Continue | ScoreTexts | UseTool | RunCheck | AskPerson | Post | Note
Script = Generator[Any, Any, Any]
"""A procedure in code: yields effects, is sent outcomes, returns its result."""


@dataclass(frozen=True, slots=True)
class Together:
    """Run whole scripts side by side, without a barrier between their steps.

    The name of each becomes its scope. Sent back: a dict of their results, in this order.
    """

    scripts: Mapping[str, Script]


@dataclass(frozen=True, slots=True)
class Race:
    """Run scripts side by side until ``enough`` says so; what is still running then is cancelled.

    ``enough`` is pure: it is given the results so far, by name, in the order in which they arrived, after each arrival.
    Sent back: :class:`Finish`. The order is put on the record before the script sees it.
    """

    scripts: Mapping[str, Script]
    enough: Callable[[Mapping[str, Any]], bool]
    _: KW_ONLY
    key: str | None = None


@dataclass(frozen=True, slots=True)
class Finish:
    """How a race ended: ``used`` holds results in order of arrival, ``given_up`` the names not waited for."""

    used: Mapping[str, Any]
    given_up: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Within:
    """Something yielded from inside a scope; made by :func:`under`, understood by the engine."""

    scope: str
    what: Any


def under(scope: str, script: Script) -> Generator[Within, Any, Any]:
    """Enter ``script`` with ``scope`` added to the keys of its effects.

    Written as ``result = yield from under("first", vote(…))``.
    """
    sent = None
    while True:
        try:
            what = script.send(sent)
        except StopIteration as stop:
            return stop.value
        sent = yield Within(scope, what)


def once(effect: Effect) -> Script:
    """A script of a single effect, for :class:`Together` and :class:`Race`."""
    return (yield effect)


def who_of(effect: Effect) -> str:
    """Whom an effect concerns: the part of its key after the kind."""
    for name in ("agent", "sender", "check"):
        if (who := getattr(effect, name, None)) is not None:
            return str(who)
    return ""
