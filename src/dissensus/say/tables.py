"""A protocol, compiled for the monitor: states that know their moves by act."""

from __future__ import annotations

from collections.abc import Iterable

from dissensus.say.book import NEVER
from dissensus.say.protocol import ONE, RESUME, TOTAL, Guard, Move, Opening, Protocol

AS_INFORM = frozenset({"confirm", "disconfirm", "inform-if", "inform-ref"})
"""Acts that count as ``inform`` where a protocol does not name them."""

STARTER, PARTNER = 0, 1
"""Who speaks: the party that began the thread, or the one that it spoke to."""


class Step:
    """One move of a machine. ``opens`` holds ``(kind, debtor, creditor, by)``, the parties as STARTER or PARTNER."""

    __slots__ = (
        "act", "assigns", "by", "close_kind", "closes", "counted", "declares", "delegates", "detaches",
        "direction", "forwards", "guard", "kinds", "late_reject", "most", "open_one", "opens", "plain",
        "releases", "repeat", "resumes", "sub", "suspends", "swift", "target",
    )  # fmt: skip

    def __init__(self, move: Move, direction: int, target: Place, opens: Iterable[tuple[str, int, int]]) -> None:
        self.act = move.act
        self.counted = f"{move.source}/{move.act}/{direction}"
        self.direction = direction
        self.target = target
        self.kinds = move.kinds
        self.guard: Guard | None = move.when
        self.by = NEVER if move.deadline == "none" else move.by
        self.opens = tuple((kind, debtor, creditor, self.by) for kind, debtor, creditor in opens)
        self.closes = move.closes
        self.declares = move.declares
        self.detaches = move.detaches
        self.releases = move.releases
        self.delegates = move.delegates
        self.assigns = move.assigns
        self.late_reject = move.late == "reject"
        self.repeat = move.repeat
        self.most = move.most
        self.sub = move.sub
        self.forwards = move.forwards
        self.suspends = move.act == "cancel" and move.next == "cancelling"
        self.resumes = move.next == RESUME
        self.plain = not (self.kinds or self.guard or self.most is not None)
        """Legal whatever the content is, any number of times."""
        self.close_kind = move.closes[0] if move.closes else None
        self.open_one = self.opens[0] if self.opens else None
        special = (
            move.when, move.declares, move.detaches, move.releases, move.delegates, move.assigns, move.sub,
            move.forwards, self.most is not None, self.late_reject, self.suspends, self.resumes, move.act == "cancel",
            len(self.closes) > 1, len(self.opens) > 1, move.source == move.next,
        )  # fmt: skip
        self.swift = not any(special)
        """All that it does is to close at most one obligation and to open at most one."""


class Place:
    """One state of a machine."""

    __slots__ = (
        "expected",
        "final",
        "lapses_as",
        "may_lapse",
        "name",
        "open_to_others",
        "shown",
        "steps",
        "swift",
        "verify",
    )

    def __init__(self, name: str, shown: str, *, final: bool, verify: str | None) -> None:
        self.name = name
        self.shown = shown
        self.final = final
        self.verify = verify
        self.steps: dict[str, tuple[Step, ...]] = {}
        self.expected: tuple[str, ...] = ()
        self.lapses_as: str | None = None
        self.may_lapse: tuple[str, ...] = ()
        self.swift: dict[str, Step] = {}
        """The moves of this state that need no more than a glance, by act."""
        self.open_to_others: str | None = None
        """In it the partner may talk with third parties in the same thread, by these protocols."""


class Table:
    """A compiled protocol.

    Attributes:
        start: place where a machine begins.
        many: one thread may have several partners, with a machine each.
        kinds: every content type that the protocol tells apart.
        starters: acts that begin a thread.
        designated: answers of third parties go to whoever the first message designates, not back to the partner.
    """

    __slots__ = (
        "designated", "has_sub", "kinds", "many", "must_correlate", "name", "partner", "places", "profile",
        "protocol", "start", "starter", "starters", "used", "verifies", "where_to",
    )  # fmt: skip

    def __init__(self, protocol: Protocol) -> None:
        self.protocol = protocol
        self.used = False
        """Whether a thread has followed it."""
        self.name = protocol.name
        self.profile = protocol.profile
        self.starter, self.partner = protocol.starter, protocol.partner
        self.must_correlate = protocol.must_correlate
        partner = protocol.roles.get(self.partner)
        self.many = partner is not None and partner.count != ONE
        self.places = {
            state.name: Place(state.name, state.shown, final=state.final, verify=state.verify)
            for state in protocol.states.values()
        }
        for state in protocol.states.values():
            self.places[state.name].lapses_as = state.lapses_as
            self.places[state.name].may_lapse = state.may_lapse
        self.start = self.places[protocol.start]
        resume = Place(RESUME, RESUME, final=False, verify=None)
        found: dict[str, dict[str, list[Step]]] = {name: {} for name in self.places}
        for move in protocol.moves:
            for direction in self._directions(move):
                target = resume if move.next == RESUME else self.places[move.next]
                step = Step(move, direction, target, self._opens(move.opens))
                found[move.source].setdefault(move.act, []).append(step)
                if move.sub is not None:
                    target.open_to_others = move.sub
        for name, steps in found.items():
            self.places[name].steps = {act: tuple(some) for act, some in steps.items()}
            self.places[name].expected = tuple(steps)
            for act in AS_INFORM - steps.keys():
                if "inform" in steps:
                    self.places[name].steps[act] = self.places[name].steps["inform"]
        self.starters = frozenset(self.start.steps)
        self.kinds = frozenset().union(*(move.kinds for move in protocol.moves))
        self.has_sub = any(move.sub for move in protocol.moves)
        self.designated = "designated" in protocol.roles
        self.verifies = any(state.verify for state in protocol.states.values())
        self.where_to = self._unique()
        if not (self.has_sub or self.verifies or self.must_correlate or protocol.delivery != TOTAL):
            for place in self.places.values():
                place.swift = {
                    act: steps[0] for act, steps in place.steps.items() if len(steps) == 1 and steps[0].swift
                }

    def _directions(self, move: Move) -> list[int]:
        """The directions in which the two parties of a machine may make ``move``; none if it is for others."""
        there = [STARTER] if self.starter in move.senders and move.receiver == self.partner else []
        back = [PARTNER] if self.partner in move.senders and move.receiver == self.starter else []
        return there + back

    def _opens(self, opens: Iterable[Opening]) -> list[tuple[str, int, int]]:
        side = {self.starter: STARTER, self.partner: PARTNER}
        return [
            (opening.kind, side[opening.debtor], side[opening.creditor])
            for opening in opens
            if opening.debtor in side and opening.creditor in side
        ]

    def _unique(self) -> dict[tuple[str, int], Place]:
        """For an act in a direction, the place that it leads to, where all such moves lead to one."""
        targets: dict[tuple[str, int], set[Place]] = {}
        for place in self.places.values():
            for act, steps in place.steps.items():
                for step in steps:
                    targets.setdefault((act, step.direction), set()).add(step.target)
        single = {key: next(iter(some)) for key, some in targets.items() if len(some) == 1}
        return {key: place for key, place in single.items() if place.name != RESUME}

    def end(self, outcome: str) -> Place:
        """The final place ``end.OUTCOME``, or any final place."""
        wanted = self.places.get(f"end.{outcome}")
        return wanted or next((place for place in self.places.values() if place.final), self.start)
