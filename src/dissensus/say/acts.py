"""What a message does: the 22 communicative acts of FIPA (SC00037J), and the names that others give them.

Force and content are separate axes. ``inform-done`` is no act: it is ``inform`` with the content type ``done``, and
:func:`normalise` says so. KQML performatives (Finin and others 1994) are mapped where they have a FIPA act; the others
stay untagged, with their name kept.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import Final

from dissensus.errors import UnknownAct

ASSERTIVE, DIRECTIVE, COMMISSIVE, DECLARATION = "assertive", "directive", "commissive", "declaration"
"""The classes of Searle (1975) that occur among the acts."""


@dataclass(frozen=True, slots=True)
class Act:
    """One communicative act.

    Args:
        name: its FIPA name.
        classes: classes of Searle; ``accept-proposal`` is an order and a promise at once.
        opens: kinds of obligation that it brings about where no protocol says otherwise.
        closes: what it does to an obligation that is open, in words.
        an_order: whether it asks for a deed, so that the sender needs authority over the receiver where an authority
            map is given. Asking for words (query, cfp) needs none.
    """

    name: str
    classes: tuple[str, ...]
    opens: tuple[str, ...] = ()
    closes: str = ""
    an_order: bool = False


_A, _D, _C, _X = (ASSERTIVE,), (DIRECTIVE,), (COMMISSIVE,), (DECLARATION,)

ACTS: Final[dict[str, Act]] = {
    act.name: act
    for act in (
        Act(
            "accept-proposal", (DIRECTIVE, COMMISSIVE), ("performance",), "the decision owed on a bid; its offer is due"
        ),
        Act("agree", _C, ("performance",), "the answer owed"),
        Act("cancel", _X, ("cancel",), "on confirmation, the performance"),
        Act("cfp", _D, ("answer",)),
        Act("confirm", _A, (), "as inform"),
        Act("disconfirm", _A, (), "as inform"),
        Act("failure", _A, (), "the answer or the performance, as failed"),
        Act("inform", _A, (), "the answer or the performance"),
        Act("inform-if", _A, (), "as inform"),
        Act("inform-ref", _A, (), "as inform"),
        Act("not-understood", _X, (), "the whole exchange"),
        Act("propagate", _D, ("answer",), an_order=True),
        Act("propose", _C, ("offer", "decision"), "the answer owed to a call"),
        Act("proxy", _D, ("answer",), an_order=True),
        Act("query-if", _D, ("answer",)),
        Act("query-ref", _D, ("answer",)),
        Act("refuse", _X, (), "the answer owed, as refused"),
        Act("reject-proposal", _X, (), "the decision owed on a bid; its offer is released"),
        Act("request", _D, ("answer",), an_order=True),
        Act("request-when", _D, ("answer",), an_order=True),
        Act("request-whenever", _D, ("answer",), an_order=True),
        Act("subscribe", _D, ("answer",)),
    )
}
"""The 22 acts by name."""

KQML: Final[dict[str, str]] = {
    "achieve": "request",
    "advertise": "propose",
    "ask-all": "query-ref",
    "ask-if": "query-if",
    "ask-one": "query-ref",
    "broadcast": "propagate",
    "broker-all": "proxy",
    "broker-one": "proxy",
    "deny": "disconfirm",
    "discard": "cancel",
    "eos": "inform",
    "error": "not-understood",
    "forward": "propagate",
    "insert": "inform",
    "monitor": "subscribe",
    "recommend-all": "query-ref",
    "recommend-one": "query-ref",
    "recruit-all": "proxy",
    "recruit-one": "proxy",
    "sorry": "refuse",
    "stream-all": "subscribe",
    "tell": "inform",
    "unachieve": "cancel",
    "untell": "disconfirm",
}
"""KQML performatives and the act that each is. ``sorry`` after an agree is a ``failure``: the monitor reads it so."""

KQML_UNMAPPED: Final = frozenset(
    {
        "delete-all",
        "delete-one",
        "generator",
        "next",
        "ready",
        "register",
        "rest",
        "standby",
        "stream-about",
        "transport-address",
        "unadvertise",
        "undelete",
        "uninsert",
        "unregister",
    }
)
"""Reserved KQML names without a FIPA act: a message that carries one is untagged, and the name is kept."""

_VARIANTS: Final[dict[str, tuple[str, str]]] = {
    "call-for-proposal": ("cfp", ""),
    "refuse-proposal": ("reject-proposal", ""),
    "inform-done": ("inform", "done"),
    "inform-result": ("inform", "result"),
    "inform-t/f": ("inform", "true"),
    "inform-start-of-auction": ("inform", "start"),
    "inform-end-of-auction": ("inform", "end"),
    "inform-done-proxy": ("inform", "done-proxy"),
    "failure-no-match": ("failure", "no-match"),
    "failure-proxy": ("failure", "proxy"),
    "failure-brokering": ("failure", "brokering"),
    "failure-recruiting": ("failure", "recruiting"),
    "failure-done-proxy": ("failure", "proxy"),
    "richiedi": ("request", ""),
    "accetta": ("agree", ""),
    "rifiuta": ("refuse", ""),
    "informa": ("inform", ""),
    "fallisci": ("failure", ""),
}


def normalise(name: str, content_type: str | None = None) -> tuple[str | None, str | None]:
    """Act and content type of a message whose sender wrote ``name``; the act is None for a KQML name without one.

    Upper case, underscores and blanks are forgiven: ``ACCEPT_PROPOSAL`` is ``accept-proposal``.

    Raises:
        UnknownAct: no such act; the error names the nearest.
    """
    if name in ACTS:
        return name, content_type
    plain = name.strip().lower().replace("_", "-").replace(" ", "-")
    if plain in ACTS:
        return plain, content_type
    if plain in _VARIANTS:
        act, implied = _VARIANTS[plain]
        return act, content_type or implied or None
    if plain in KQML:
        return KQML[plain], content_type or ("end" if plain == "eos" else None)
    if plain in KQML_UNMAPPED:
        return None, content_type
    raise UnknownAct(name, near=nearest(name))


def nearest(name: str) -> str | None:
    """The act, variant or KQML name that looks most like ``name``; None if none does."""
    plain = name.strip().lower().replace("_", "-").replace(" ", "-")
    found = difflib.get_close_matches(plain, [*ACTS, *_VARIANTS, *KQML], n=1, cutoff=0.6)
    return found[0] if found else None
