"""The moves of a protocol file."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any, Final

from dissensus.errors import SpecError, UnknownAct
from dissensus.say.acts import nearest, normalise
from dissensus.say.guards import GuardError, compile_guard
from dissensus.say.protocol import OWED_BY_SENDER, Move, Opening
from dissensus.say.protocol_entries import Entry, listed, near, seconds
from dissensus.say.verdicts import KINDS

KEYS: Final = (
    "in", "act", "from", "to", "next", "kind", "opens", "closes", "declares", "detaches", "releases", "by", "late",
    "when", "repeat", "quiet", "max", "sub", "delegates", "assigns", "forwards", "origin",
)  # fmt: skip
"""What a move may have."""
NEEDED: Final = ("in", "act", "from", "to", "next")
PATTERN_KEYS: Final = ("in", "act", "from", "to", "next", "kind")
"""What ``remove:`` of a profile may name a move by."""
REPLY_BY, NO_DEADLINE = "reply_by", "none"


class Names:
    """The names that moves may use.

    Args:
        roles: declared roles.
        acts: acts of the protocol's own.
        strict: refuse what is unknown; else let it through, for the static checks to report.
    """

    def __init__(self, roles: Collection[str], acts: Collection[str], *, strict: bool) -> None:
        self.roles = roles
        self.acts = acts
        self.strict = strict

    def check_role(self, entry: Entry, key: str, role: str) -> str:
        """``role``, which has to be declared.

        Raises:
            SpecError: it is not.
        """
        if self.strict and role not in self.roles:
            known = f"Declared are: {listed(self.roles)}."
            raise entry.wrong(key, f"The role {role!r} is not declared.", near(role, self.roles) or known)
        return role

    def act_of(self, entry: Entry, key: str, name: str) -> tuple[str, str | None]:
        """The act that ``name`` stands for, and the content type that it implies.

        Raises:
            SpecError: there is none.
        """
        if name in self.acts:
            return name, None
        try:
            act, kind = normalise(name)
        except UnknownAct:
            act, kind = None, None
        if act is not None:
            return act, kind
        if not self.strict:
            return name, None
        found = nearest(name) or ""
        own = near(name, self.acts)
        guess = f"Did you mean {found!r}?" if found and found != name else own
        raise entry.wrong(
            key, f"{name!r} is no communicative act.", guess or "Declare it under 'acts:' if it is yours."
        )

    def check_kind(self, entry: Entry, key: str, kind: str) -> str:
        """``kind``, which has to be a kind of obligation.

        Raises:
            SpecError: it is not.
        """
        if self.strict and kind not in KINDS:
            known = f"There are: {listed(KINDS)}."
            raise entry.wrong(key, f"{kind!r} is no kind of obligation.", near(kind, KINDS) or known)
        return kind

    def kinds(self, entry: Entry, key: str) -> tuple[str, ...]:
        """Kinds of obligation under ``key``."""
        return tuple(self.check_kind(entry, key, kind) for kind in entry.texts(key))


def moves_of(entry: Entry, names: Names) -> Iterator[Move]:
    """The moves that one entry writes: one for each state and act that it names.

    Raises:
        SpecError: something in it does not fit.
    """
    for key in NEEDED:
        entry.need(key)
    senders = tuple(names.check_role(entry, "from", role) for role in entry.texts("from"))
    to = entry.text("to")
    receiver = names.check_role(entry, "to", to.removesuffix("*"))
    by, deadline = _deadline(entry)
    fields: dict[str, Any] = {
        "senders": senders,
        "receiver": receiver,
        "to_all": to.endswith("*"),
        "next": entry.text("next"),
        "opens": tuple(_openings(entry, names, senders[0], receiver)),
        "by": by,
        "deadline": deadline,
        "late": entry.choice("late", ("accept", "reject"), "accept"),
        "when": _guard(entry),
        "repeat": entry.flag("repeat"),
        "quiet": entry.flag("quiet"),
        "most": entry.whole("max"),
        "sub": entry.text("sub") or None,
        "forwards": entry.choice("forwards", ("any", "once"), "any") if entry.has("forwards") else "",
        "origin": entry.text("origin"),
        "line": entry.spec.line(entry.place),
    }
    for key in ("closes", "declares", "detaches", "releases", "delegates", "assigns"):
        fields[key] = names.kinds(entry, key)
    kinds = frozenset(entry.texts("kind", words=True))
    for name in entry.texts("act"):
        act, implied = names.act_of(entry, "act", name)
        for source in entry.texts("in"):
            yield Move(source=source, act=act, kinds=kinds or frozenset([implied] if implied else ()), **fields)


def _deadline(entry: Entry) -> tuple[float | None, str]:
    """Seconds of the protocol's own, and where the deadline comes from."""
    by = entry.data.get("by")
    if by is None:
        return None, ""
    if by == REPLY_BY:
        return None, "message"
    if by == NO_DEADLINE:
        return None, NO_DEADLINE
    if isinstance(by, str):
        known = "It may be reply_by, none, or a number of seconds."
        raise entry.wrong("by", f"'by' cannot be {by[:40]!r}.", near(by, (REPLY_BY, NO_DEADLINE)) or known)
    return seconds(entry, "by"), "protocol"


def _guard(entry: Entry) -> Any:
    text = entry.text("when")
    if not text:
        return None
    try:
        return compile_guard(text)
    except GuardError as error:
        example = "Write it like: price > 3 and not (state in ['sold', 'lost'])"
        raise entry.wrong("when", f"This condition cannot be read: {error}.", example) from None


def _openings(entry: Entry, names: Names, sender: str, receiver: str) -> Iterator[Opening]:
    """What the move opens. Who owes follows from the kind, unless the file says it."""
    value = entry.data.get("opens")
    values = value if isinstance(value, list) else [] if value is None else [value]
    for at, each in enumerate(values):
        place = (*entry.place, "opens", at) if isinstance(value, list) else (*entry.place, "opens")
        if isinstance(each, str):
            kind = names.check_kind(entry, "opens", each)
            owes, owed = (sender, receiver) if kind in OWED_BY_SENDER else (receiver, sender)
            yield Opening(kind, owes, owed)
            continue
        explicit = Entry(entry.spec, each, place, "an obligation", ("kind", "debtor", "creditor"))
        for key in ("kind", "debtor", "creditor"):
            explicit.need(key)
        yield Opening(
            names.check_kind(explicit, "kind", explicit.text("kind")),
            names.check_role(explicit, "debtor", explicit.text("debtor")),
            names.check_role(explicit, "creditor", explicit.text("creditor")),
        )


class Pattern:
    """Which moves a profile takes away: those that agree in everything that ``entry`` names.

    Raises:
        SpecError: it names nothing.
    """

    def __init__(self, entry: Entry, names: Names) -> None:
        self.entry = entry
        if not any(entry.has(key) for key in PATTERN_KEYS):
            raise entry.wrong(
                "", "This takes away nothing.", "Name the move by its 'in', 'act', 'from', 'to' or 'next'."
            )
        self.sources, self.targets = entry.texts("in"), entry.texts("next")
        self.acts = tuple(names.act_of(entry, "act", name)[0] for name in entry.texts("act"))
        self.senders, self.receivers = entry.texts("from"), tuple(to.removesuffix("*") for to in entry.texts("to"))
        self.kinds = frozenset(entry.texts("kind", words=True))

    def fits(self, move: Move) -> bool:
        """Whether ``move`` is meant."""
        return (
            (not self.sources or move.source in self.sources)
            and (not self.targets or move.next in self.targets)
            and (not self.acts or move.act in self.acts)
            and (not self.senders or bool(set(self.senders) & set(move.senders)))
            and (not self.receivers or move.receiver in self.receivers)
            and (not self.kinds or move.kinds == self.kinds)
        )

    def nothing(self) -> SpecError:
        """The error where no move fits."""
        return self.entry.wrong("", "No move fits what this takes away.", "Compare it with the moves of the file.")
