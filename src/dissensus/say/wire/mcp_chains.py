"""Multi round-trip requests of MCP 2026-07-28: a request that is answered by questions and repeated with answers.

The repetition is a new request under a new id. It belongs to the one before it if it is the same method on the same
tool, prompt or resource and carries answers or a state. One chain is one thread, named after the first id.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec

from dissensus.say.verdicts import CANCELLED, FULFILLED, ILLEGAL, REFUSED, Obligation
from dissensus.say.wire.jsonrpc import Call, Fault, reference

METHODS: Final = frozenset({"tools/call", "prompts/get", "resources/read"})
"""The requests that may be answered so."""
_BY_ACTION: Final = {"decline": REFUSED, "cancel": CANCELLED}


class Chain(msgspec.Struct, gc=False, kw_only=True):
    """A request that waits to be repeated.

    Args:
        thread: ``chain:FIRSTID``.
        what: method and target.
        ids: ids used so far.
        state: the ``requestState`` to be echoed; None if there was none.
        keys: keys of the questions.
        owed: the input that the client owes; None if nothing was asked.
    """

    thread: str
    what: str
    ids: list[Any]
    state: Any = None
    keys: list[str] = msgspec.field(default_factory=list)
    owed: Obligation | None = None


class Chains:
    """The chains of one connection that wait for the client."""

    __slots__ = ("_waiting",)

    def __init__(self) -> None:
        self._waiting: dict[str, list[Chain]] = {}

    def wait(self, call: Call, result: dict[str, Any], thread: str, what: str, ids: list[Any]) -> Chain:
        """``call`` was answered by "input required"; its chain waits now."""
        requests = result.get("inputRequests")
        keys = sorted(requests) if type(requests) is dict else []
        chain = Chain(thread=thread, what=what, ids=[*ids, call.id], state=result.get("requestState"), keys=keys)
        self._waiting.setdefault(what, []).append(chain)
        return chain

    def match(self, what: str, params: dict[str, Any]) -> Chain | None:
        """The waiting chain that a request repeats: by its state, else by the keys it answers, else the oldest."""
        waiting = self._waiting.get(what)
        if not waiting or not ("inputResponses" in params or "requestState" in params):
            return None
        answers = answers_in(params)
        by_state = [one for one in waiting if one.state == params.get("requestState")]
        for chain in by_state if len(by_state) == 1 and by_state[0].state is not None else ():
            return chain
        for chain in (*by_state, *waiting):
            if answers.keys() & set(chain.keys):
                return chain
        return (by_state or waiting)[0]

    def take(self, chain: Chain) -> None:
        """``chain`` was repeated: it waits no longer."""
        waiting = [one for one in self._waiting.get(chain.what, ()) if one is not chain]
        if waiting:
            self._waiting[chain.what] = waiting
        else:
            self._waiting.pop(chain.what, None)

    def find(self, thread: str, what: str) -> Chain | None:
        """The waiting chain of a thread."""
        return next((one for one in self._waiting.get(what, ()) if one.thread == thread), None)

    def state(self) -> list[dict[str, Any]]:
        """All of it as JSON data."""
        fields = ("thread", "what", "ids", "state", "keys")
        return [
            {**{name: getattr(chain, name) for name in fields}, "owed": reference(chain.owed)}
            for waiting in self._waiting.values()
            for chain in waiting
        ]

    @classmethod
    def restore(cls, state: list[dict[str, Any]], find: Callable[[Any], Obligation | None]) -> Chains:
        """What :meth:`state` was taken of."""
        chains = cls()
        for fields in state:
            chain = Chain(**{**fields, "ids": list(fields["ids"]), "owed": find(fields["owed"])})
            chains._waiting.setdefault(chain.what, []).append(chain)
        return chains


def target(method: str, params: dict[str, Any]) -> str:
    """Method and what it is applied to: ``tools/call weather``."""
    name = params.get("uri" if method.startswith("resources/") else "name")
    return f"{method} {name}" if type(name) is str else method


def answers_in(params: dict[str, Any]) -> dict[str, Any]:
    """The client's answers in a repeated request or a ``tasks/update``."""
    answers = params.get("inputResponses")
    return answers if type(answers) is dict else {}


def same_id(chain: Chain, ident: Any) -> Fault | None:
    """The fault of a repetition under an id that the chain has used."""
    if not any(type(one) is type(ident) and one == ident for one in chain.ids):
        return None
    return Fault("mcp.mrtr-same-id", ILLEGAL, "A repeated request needs an id of its own.")


def not_echoed(chain: Chain, params: dict[str, Any]) -> Fault | None:
    """The fault of a repetition that does not carry the state as it was given."""
    if chain.state == params.get("requestState"):
        return None
    if chain.state is None:
        says = "It carries a state although none was given."
    elif params.get("requestState") is not None:
        says = "The state that it carries is not the one that was given."
    else:
        says = "It lacks the state that was given."
    return Fault("mcp.mrtr-state-not-echoed", ILLEGAL, says)


def status_of(answers: dict[str, Any]) -> str:
    """What answers to questions come to: fulfilled if any was given, else refused or cancelled."""
    statuses = {status_of_answer(answer) for answer in answers.values()}
    if not statuses or FULFILLED in statuses:
        return FULFILLED
    return REFUSED if REFUSED in statuses else CANCELLED


def status_of_answer(answer: Any) -> str:
    """What one answer of the client comes to: an elicitation can be accepted, declined or cancelled."""
    action = answer.get("action") if type(answer) is dict else None
    if type(action) is not str:
        return FULFILLED
    return _BY_ACTION.get(action, FULFILLED)
