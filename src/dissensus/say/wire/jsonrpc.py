"""JSON-RPC 2.0 as A2A and MCP use it: what an object is, and which answer belongs to which request.

:class:`Calls` pairs requests and answers; a tracker of a wire protocol owns one and decides what the pair means::

    calls = Calls(unique=True)                       # MCP: an id serves once in a session
    kind = kind_of(rpc)                              # request, notification, response or malformed
    call, fault = calls.ask(m, rpc, asker="client")  # a request; `call` is registered even if there is a fault
    call.owed = book.open(…)                         # the answer that is owed for it, unless it was discarded
    call.data["token"] = "p1"                        # what else the tracker wants to know of it: JSON data only
    call, fault = calls.answer(rpc, asker="client")  # a response to the client; `call` is None if there is a fault
    calls.done(call)                                 # only for a streaming call: nothing more belongs to it
    calls.drop(call)                                 # a request that will get no answer any more (it was cancelled)

Each asker is a name space of ids: the client's request 1 and the server's request 1 are two. ``1`` and ``"1"`` are two
ids, as in the specification; both are written ``rpc:1`` in threads.

A :class:`Fault` is what to say about the message: rule, verdict, level and sentence; :func:`finding` makes a
:class:`~dissensus.say.verdicts.Finding` of it. The rules here:

- ``rpc.orphan-response`` (no-title): answers an id that nobody used. Where a log holds no request at all, only answers
  were captured, and the rule is off. At its beginning nobody knows, so :class:`Held` keeps what comes before the first
  request.
- ``rpc.answered-twice`` (illegal): answers a request that takes one answer and has got it.
- ``rpc.id-reused`` (illegal): a request under an id that its asker used before. With ``unique=False`` (A2A, where many
  clients share a log) only while the older request is open, and as a warning.
- ``rpc.notification-answered`` (illegal): a result without an id after a notification, which wants none.
- ``rpc.malformed`` (void): neither request nor response.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from sys import intern
from typing import Any, Final, NamedTuple

import msgspec

from dissensus.say.book import Book
from dissensus.say.message import Message
from dissensus.say.verdicts import (
    ILLEGAL,
    NO_TITLE,
    OK,
    VIOLATION,
    VOID,
    WARNING,
    Finding,
    Obligation,
)
from dissensus.say.wire.memory import Memory
from dissensus.say.wire.rpc_units import (
    MALFORMED,
    NOTIFICATION,
    REQUEST,
    RESPONSE,
    declared_by_error,
    error_of,
    id_text,
    kind_of,
    units,
)

__all__ = [
    "ANSWERED_ONCE", "CLIENT", "MALFORMED", "NOTIFICATION", "REQUEST", "RESPONSE", "SERVER", "STREAM_OVER", "Call",
    "Calls", "Fault", "Held", "declared_by_error", "error_of", "finder", "finding", "id_text", "kind_of", "reference",
    "units",
]  # fmt: skip

CLIENT, SERVER = "client", "server"

ANSWERED_ONCE, STREAM_OVER = 1, 2
"""What is remembered of an id whose call is over. A tracker may note other numbers from 3 on (:meth:`Calls.done`)."""

_MOST_HELD: Final = 1_000


class Fault(NamedTuple):
    """What is wrong with a message on the JSON-RPC layer."""

    rule: str
    verdict: str
    says: str
    level: str = VIOLATION


class Call(msgspec.Struct, gc=False, kw_only=True):
    """A request whose answer, or whose last answer, has not come.

    Args:
        id: as it stands in the request.
        method: of the request.
        asker: who asked.
        message, line, at: the message of the request. ``seq``, its place among the messages, is for the tracker to set.
        stream: whether many answers may come.
        answers: how many have come.
        owed: the obligation to answer; None if the request was discarded or asks for nothing.
        to, task: who is asked, and the task that it is about, if the tracker notes that.
        notes: what else the tracker noted, JSON data only; see :attr:`data`.
    """

    id: Any
    method: str
    asker: str
    message: str
    line: int = 0
    seq: int = 0
    at: float | None = None
    stream: bool = False
    answers: int = 0
    owed: Obligation | None = None
    to: str = ""
    task: str | None = None
    notes: dict[str, Any] | None = None

    @property
    def data(self) -> dict[str, Any]:
        """The notes, to be written to; a call without any takes less."""
        if self.notes is None:
            self.notes = {}
        return self.notes

    def noted(self, name: str) -> Any:
        """One of the notes; None if there is none of this name."""
        return None if self.notes is None else self.notes.get(name)


def finding(
    m: Message,
    fault: Fault,
    *,
    party: str | None = None,
    thread: str | None = None,
    caused_by: str | None = None,
    state: str = "",
    seq: int = 0,
) -> Finding:
    """``fault`` said about ``m``; at fault is its sender unless ``party`` says otherwise. ``seq``: place of ``m``."""
    return Finding(
        id=m.id,
        verdict=fault.verdict,
        rule=fault.rule,
        level=fault.level,
        line=m.line,
        thread=thread if thread is not None else m.thread,
        party=m.sender if party is None else party,
        caused_by=caused_by,
        says=fault.says,
        act=m.act,
        state=state,
        seq=seq,
        at=m.at,
        where=m.where,
        tag_source=m.tag_source,
        remedy="discard" if fault.verdict in (ILLEGAL, NO_TITLE, VOID) else "",
    )


class Calls:
    """Open requests, and a memory of the ids that are over.

    Args:
        unique: an id may be used once only (MCP). Otherwise it may be used again when its request is over.

    Attributes:
        asked: whether any request has been seen.
        notified: whether any notification has been seen.
    """

    __slots__ = ("_memory", "_open", "asked", "notified", "unique")

    def __init__(self, *, unique: bool) -> None:
        self.unique = unique
        self.asked = False
        self.notified = False
        self._open: dict[str, dict[Any, Call | list[Call]]] = {}
        self._memory = Memory()

    def notify(self) -> None:
        """A notification was sent."""
        self.notified = True

    def ask(self, m: Message, rpc: dict[str, Any], *, asker: str, stream: bool = False) -> tuple[Call, Fault | None]:
        """Register the request ``rpc``. With a fault the call exists too, so that its answer is no orphan."""
        self.asked = True
        call = Call(
            id=rpc.get("id"), method=intern(rpc["method"]), asker=asker, message=m.id, line=m.line, at=m.at,
            stream=stream,
        )  # fmt: skip
        fault = None
        same = self._find(asker, call.id)
        if same is not None:
            last = same[-1] if isinstance(same, list) else same
            says = f"Request id {id_text(call.id)} is still in use: line {last.line} asked with it."
            verdict, level = (ILLEGAL, VIOLATION) if self.unique else (OK, WARNING)
            fault = Fault("rpc.id-reused", verdict, says, level)
        elif self.unique and _key(asker, call.id) in self._memory:
            fault = Fault("rpc.id-reused", ILLEGAL, f"Request id {id_text(call.id)} was used before.")
        self._register(call)
        return call, fault

    def answer(self, rpc: dict[str, Any], *, asker: str) -> tuple[Call | None, Fault | None]:
        """The call that the response ``rpc`` to ``asker`` belongs to, or the fault.

        A call that takes one answer is over with it. Where several are open under one id, the oldest without an answer
        gets it. Both are None for what belongs to no call without being a fault: a part of a stream that is over (see
        :meth:`over`), an error without an id, since the request could not be read.
        """
        ident = rpc.get("id")
        found = self._find(asker, ident)
        if found is not None:
            call = found if not isinstance(found, list) else next((one for one in found if not one.answers), found[-1])
            call.answers += 1
            if not call.stream:
                self._end(call, ANSWERED_ONCE)
            return call, None
        key = _key(asker, ident)
        over = self._memory[key]
        if over == ANSWERED_ONCE:
            return None, Fault("rpc.answered-twice", ILLEGAL, f"Request {id_text(ident)} was answered before.")
        if over:
            return None, None
        if ident is None:
            if "error" in rpc:
                return None, None
            if self.notified:
                return None, Fault("rpc.notification-answered", ILLEGAL, "A notification wants no answer.")
        return None, Fault("rpc.orphan-response", NO_TITLE, f"Nobody asked with the id {self._named(asker, ident)}.")

    def over(self, asker: str, ident: Any) -> int:
        """What was noted of an id whose call is over; 0: nothing, it was never used or is open."""
        return 0 if self._find(asker, ident) is not None else self._memory[_key(asker, ident)]

    def done(self, call: Call, note: int = STREAM_OVER) -> None:
        """A streaming call is over; ``note`` is remembered of its id."""
        found = self._find(call.asker, call.id)
        if found is call or (isinstance(found, list) and any(one is call for one in found)):
            self._end(call, note)

    def drop(self, call: Call) -> None:
        """A call gets no answer any more; one that comes nevertheless is answered twice."""
        self.done(call, ANSWERED_ONCE)

    def find(self, asker: str, ident: Any) -> Call | None:
        """The newest open call of ``asker`` under an id."""
        found = self._find(asker, ident)
        return found[-1] if isinstance(found, list) else found

    def open_calls(self) -> list[Call]:
        """All open calls, oldest first for each id."""
        return list(self._each_open())

    def the_only(self, asker: str) -> Call | None:
        """The open call of ``asker``, if there is exactly one that has no answer yet."""
        waiting = (call for call in self._each_open() if call.asker == asker and not call.answers)
        first = next(waiting, None)
        return first if next(waiting, None) is None else None

    def state(self) -> dict[str, Any]:
        """All of it as JSON data; obligations as references into the book."""
        fields = ("id", "method", "asker", "message", "line", "seq", "at", "stream", "answers", "to", "task", "notes")
        return {
            "unique": self.unique,
            "asked": self.asked,
            "notified": self.notified,
            "open": [
                {**{name: getattr(call, name) for name in fields}, "owed": reference(call.owed)}
                for call in self.open_calls()
            ],
            "memory": self._memory.state(),
        }

    @classmethod
    def restore(cls, state: dict[str, Any], find: Callable[[Any], Obligation | None]) -> Calls:
        """The calls that :meth:`state` was taken of; ``find`` is :func:`finder` of the restored book."""
        calls = cls(unique=state["unique"])
        calls.asked, calls.notified = state["asked"], state["notified"]
        calls._memory = Memory.restore(state["memory"])
        for fields in state["open"]:
            calls._register(Call(**{**fields, "owed": find(fields["owed"])}))
        return calls

    def _each_open(self) -> Iterator[Call]:
        for mine in self._open.values():
            for found in mine.values():
                yield from found if isinstance(found, list) else (found,)

    def _find(self, asker: str, ident: Any) -> Call | list[Call] | None:
        """What is open under an id: nothing, a call, or a list of calls."""
        mine = self._open.get(asker)
        return None if mine is None else mine.get(_place(ident))

    def _register(self, call: Call) -> None:
        mine = self._open.setdefault(call.asker, {})
        place = _place(call.id)
        same = mine.get(place)
        if same is None:
            mine[place] = call
        elif isinstance(same, list):
            same.append(call)
        else:
            mine[place] = [same, call]

    def _end(self, call: Call, note: int) -> None:
        mine = self._open[call.asker]
        place = _place(call.id)
        found = mine[place]
        if not isinstance(found, list):
            del mine[place]
        else:
            at = next(at for at, one in enumerate(found) if one is call)
            del found[at]
            if len(found) == 1:
                mine[place] = found[0]
        self._memory.note(_key(call.asker, call.id), note)

    def _named(self, asker: str, ident: Any) -> str:
        """An id that is nobody's, with a hint if it is somebody's in the other type."""
        other = str(ident) if type(ident) is int else int(ident) if _is_whole(ident) else None
        if other is not None and (self._find(asker, other) is not None or _key(asker, other) in self._memory):
            kinds = "as text" if type(ident) is int else "as a number"
            return f"{id_text(ident)}; one is in use {kinds}"
        return id_text(ident)


class Held:
    """Answers that came before any request: orphans if a request comes later, else a capture of answers alone.

    At most 1,000 are kept; a log that begins with more answers than that is a capture of answers until the first
    request.
    """

    __slots__ = ("messages", "off")

    def __init__(self) -> None:
        self.messages: list[tuple[int, Message]] = []
        self.off = False

    def keep(self, m: Message, seq: int) -> bool:
        """Whether ``m`` was kept; if not, the caller has to take :meth:`release` and then ``m`` as a capture."""
        if self.off or len(self.messages) >= _MOST_HELD:
            self.off = True
            return False
        self.messages.append((seq, m))
        return True

    def release(self) -> list[tuple[int, Message]]:
        """What was kept, in order, each with its place among the messages; it is forgotten here."""
        messages, self.messages = self.messages, []
        return messages

    def state(self) -> dict[str, Any]:
        """As JSON data."""
        return {"off": self.off, "messages": msgspec.to_builtins(self.messages)}

    @classmethod
    def restore(cls, state: dict[str, Any]) -> Held:
        """What :meth:`state` was taken of."""
        held = cls()
        held.off = state["off"]
        held.messages = msgspec.convert(state["messages"], list[tuple[int, Message]])
        return held


def reference(owed: Obligation | None) -> list[str] | None:
    """JSON data that names an open obligation: the message that opened it, its kind and its thread."""
    return None if owed is None else [owed.opened_by, owed.kind, owed.thread]


def finder(book: Book | Iterable[Obligation]) -> Callable[[Any], Obligation | None]:
    """What turns references back into the open obligations of a restored book; an unknown one is None."""
    owed = book.open_ones() if isinstance(book, Book) else book
    table = {(one.opened_by, one.kind, one.thread): one for one in owed}
    return lambda ref: None if ref is None else table.get(tuple(ref))


def _place(ident: Any) -> Any:
    """An id as a key: numbers are equal to themselves, texts too, and whatever else there is has its text."""
    kind = type(ident)
    if kind is str or kind is int:
        return ident
    return int(ident) if kind is float and ident.is_integer() else (id_text(ident),)


def _key(asker: str, ident: Any) -> str:
    if type(ident) is str:
        return f"{asker} s {ident}"
    return f"{asker} n {id_text(ident)}"


def _is_whole(ident: Any) -> bool:
    return type(ident) is str and len(ident) < 20 and ident.isascii() and ident.isdigit()
