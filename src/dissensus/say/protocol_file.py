"""Protocol files: YAML that says who may say what to whom, when, and what it makes them owe.

``docs/protocol-files.md`` describes the format for users. In short::

    protocol: name                    # required
    version: 1
    title: one line for people
    source: the specification that it follows
    roles:                            # required; count is one, many, or any (a platform: may be there or not)
      initiator: one                  # short for {count: one}
      participant: {count: many}
      platform: {count: any}          # any implies platform: true, which may also be written
    start: {state: start, role: initiator}                                                          # required
    final: [end.done, end.refused]                                                                  # required
    delivery: total                   # total (default), fifo or unordered
    must_correlate: false             # an answer must carry in_reply_to if its question carried reply_with
    acts: [poke]                      # acts of its own, beyond the 22
    hidden: [answer]                  # kinds of obligation nobody needs to read about once they were met
    states:                           # optional, for what the moves do not say
      called: {label: call open, may_lapse: [answer], verify: confirm, after: for people, lapses_as: refuse}
    moves:                            # required; in, act, from, to, next are needed
      - in: [start]                   # a state or several
        act: cfp                      # an act or several; KQML names and inform-done are understood
        from: initiator               # a role or several
        to: participant*              # one role; * means every holder of it
        next: called
        kind: [done, result]          # content types that it must have
        when: price > 3               # condition on the content (dissensus.say.guards)
        opens: [answer, {kind: performance, debtor: participant, creditor: initiator}]
        closes: answer                # met
        declares: answer              # ended by saying so: refused, failed, cancelled
        detaches: offer               # the offer is due: a performance of its debtor
        releases: offer               # given up by the creditor
        delegates: performance        # to another debtor
        assigns: performance          # to another creditor
        by: reply_by                  # the message's own reply_by; a number: seconds; none: on purpose none
        late: reject                  # what comes late is discarded (default: accept)
        repeat: true                  # the same again is another move, no duplicate
        quiet: true                   # silence is an answer: nothing is owed
        max: 3                        # how often
        sub: any                      # protocols that the sender may begin with third parties from there on
        forwards: any                 # passes on what third parties answered; once: one answer each
    include: [cancel, not-understood]
    profiles:                         # fipa is the file without any
      strict: {add: [move], remove: [{in: called, act: inform}], must_correlate: true, delivery: fifo, states: {…}}

``next: "@resume"`` returns to what a cancel suspended (``include: [cancel]`` writes such a move). ``profile:`` and
``origin:`` are written by :func:`~dissensus.say.protocol_data.to_file`, so that a resolved protocol is a file again.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Final

from dissensus.errors import SpecError
from dissensus.say.protocol import (
    ANY,
    FIFO,
    FIPA,
    JADE,
    MANY,
    ONE,
    RESUME,
    STRICT,
    TOTAL,
    UNORDERED,
    Move,
    Protocol,
    Role,
    State,
)
from dissensus.say.protocol_entries import Entry, listed, near
from dissensus.say.protocol_includes import AFTER, BRINGS, FINALS, INCLUDES, cancel_moves, not_understood_moves
from dissensus.say.protocol_moves import KEYS as MOVE_KEYS
from dissensus.say.protocol_moves import PATTERN_KEYS, Names, Pattern, moves_of

if TYPE_CHECKING:
    from dissensus.specfile import Spec

WHAT: Final = "protocol file"
KEYS: Final = (
    "protocol", "version", "title", "source", "roles", "start", "final", "delivery", "must_correlate", "acts", "hidden",
    "states", "moves", "include", "profiles", "profile",
)  # fmt: skip
STATE_KEYS: Final = ("label", "may_lapse", "verify", "after", "lapses_as")
PROFILE_KEYS: Final = ("add", "remove", "must_correlate", "delivery", "states")
ORDERS: Final = (TOTAL, FIFO, UNORDERED)
STANDARD: Final = (FIPA, JADE, STRICT)
"""Profiles that every protocol may be asked for; a file that does not know one is the same under it."""
MOST_MOVES: Final = 20_000


def read_protocol(path: str | Path, profile: str = FIPA, *, strict: bool = True) -> Protocol:
    """The protocol in the file at ``path``.

    Raises:
        SpecError: the file cannot be read or is no protocol; see :func:`load`.
    """
    from dissensus.specfile import read_spec

    return load(read_spec(path, WHAT), str(path), profile=profile, strict=strict)


def load(source: str | Spec, path: str, *, profile: str = FIPA, strict: bool = True) -> Protocol:
    """The protocol that ``source`` (YAML text, or data with lines) describes, under ``profile``.

    Args:
        source: the file.
        path: its name, for messages.
        profile: ``fipa``, ``jade``, ``strict``, or one that the file defines.
        strict: refuse unknown roles, acts, kinds and states. Without it they stay as they are, for the static checks to
            report; what has no shape of a protocol is refused all the same.

    Raises:
        SpecError: with file and line; for an unknown name, with what is nearest to it.
    """
    if isinstance(source, str):
        from dissensus.specfile import parse_spec

        source = parse_spec(source, path, WHAT)
    return _Builder(Entry(source, source.data, (), "a protocol file", KEYS), strict=strict).build(profile)


@lru_cache(maxsize=1)
def shipped() -> tuple[str, ...]:
    """Names of the protocols that come with the package, in alphabetical order."""
    folder = resources.files("dissensus.say") / "protocols"
    return tuple(sorted(file.name.removesuffix(".yaml") for file in folder.iterdir() if file.name.endswith(".yaml")))


def shipped_protocol(name: str, profile: str = FIPA) -> Protocol:
    """A protocol that comes with the package. Calling again gives the same object.

    Raises:
        SpecError: there is none of this name; the error names the nearest.
    """
    return _shipped(name, profile)


@lru_cache(maxsize=128)
def _shipped(name: str, profile: str) -> Protocol:
    if name not in shipped():
        guess = near(name, shipped()) or "`dissensus protocol list` shows them."
        raise SpecError(f"There is no protocol {name!r}.", next_step=guess)
    file = resources.files("dissensus.say") / "protocols" / f"{name}.yaml"
    return load(file.read_text(encoding="utf-8"), f"{name}.yaml", profile=profile)


def find_protocol(name_or_path: str, profile: str = FIPA, *, strict: bool = True) -> Protocol:
    """The shipped protocol of this name, else the protocol in the file at this path.

    Raises:
        SpecError: neither is there, or the file is wrong.
    """
    if name_or_path in shipped():
        return shipped_protocol(name_or_path, profile)
    if name_or_path.endswith((".yaml", ".yml", ".json")) or "/" in name_or_path or Path(name_or_path).is_file():
        return read_protocol(name_or_path, profile, strict=strict)
    return shipped_protocol(name_or_path, profile)


class _Builder:
    """Makes one protocol of a file."""

    def __init__(self, top: Entry, *, strict: bool) -> None:
        self.top = top
        self.strict = strict
        for key in ("protocol", "roles", "start", "final", "moves"):
            top.need(key)
        self.roles = self._roles()
        self.names = Names(tuple(self.roles), top.texts("acts"), strict=strict)
        start = top.mapping("start", "start", ("state", "role"))
        start.need("state")
        start.need("role")
        self.start = start.text("state")
        self.starter = self.names.check_role(start, "role", start.text("role"))
        self.final = list(top.texts("final"))
        self.includes = top.texts("include")
        for name in self.includes:
            if name not in INCLUDES:
                raise top.wrong(
                    "include",
                    f"{name!r} cannot be included.",
                    near(name, INCLUDES) or f"There are: {listed(INCLUDES)}.",
                )

    def build(self, profile: str) -> Protocol:
        top = self.top
        moves = self._moves(top, "moves")
        if not moves:
            raise top.wrong("moves", "A protocol needs a move.", "See docs/protocol-files.md.")
        states = self._states(top)
        order = top.choice("delivery", ORDERS, TOTAL)
        correlate = top.flag("must_correlate")
        base, written, said = top.text("profile", FIPA), list(moves), dict(states)
        profiles = top.mapping("profiles", "profiles")
        known = tuple(dict.fromkeys((base, *profiles.data)))
        if profile == FIPA and FIPA not in known:  # a file that was resolved under another profile
            profile = base
        if profile not in known and profile not in STANDARD:
            choice = f"It may be: {listed(sorted({*known, *STANDARD}))}."
            raise top.wrong(
                "profiles",
                f"There is no profile {profile!r} in {top.text('protocol')}.",
                near(profile, known) or choice,
            )
        for name in profiles.data:  # all of them, so that a mistake in one does not wait until it is asked for
            entry = profiles.mapping(name, "a profile", PROFILE_KEYS)
            more, kept = self._changed(entry, moves)
            written += more
            more_states = self._states(entry)
            said |= more_states
            wanted = entry.choice("delivery", ORDERS, order), entry.flag("must_correlate") or correlate
            if name == profile:
                moves, states, (order, correlate) = kept + more, states | more_states, wanted
        self._check_states(written, said)
        moves += self._included(moves, states)
        if len(moves) > MOST_MOVES:
            raise top.wrong(
                "moves", f"The file makes more than {MOST_MOVES} moves.", "Name fewer states and acts at once."
            )
        return Protocol(
            name=top.text("protocol"),
            version=self._version(),
            title=top.text("title"),
            source=top.text("source"),
            profile=profile,
            roles=self.roles,
            start=self.start,
            starter=self.starter,
            states=self._all_states(moves, states, _named(written) - _named(moves)),
            moves=tuple(moves),
            delivery=order,
            must_correlate=correlate,
            acts=frozenset(self.names.acts),
            profiles=known,
            hidden=self.names.kinds(top, "hidden"),
            path=top.spec.path,
        )

    def _version(self) -> int | str:
        version = self.top.data.get("version", 1)
        if isinstance(version, bool) or not isinstance(version, int | str):
            raise self.top.wrong("version", "'version' has to be a whole number or a text.", "Put it into quotes.")
        return version

    def _roles(self) -> dict[str, Role]:
        entries = self.top.mapping("roles", "roles")
        found: dict[str, Role] = {}
        for name, value in entries.data.items():
            if not name.strip() or name.endswith("*"):
                raise entries.wrong(name, f"{name!r} is no name for a role.", "The star belongs to a move's 'to'.")
            if isinstance(value, str) or value is None:
                count, platform = entries.choice(name, (ONE, MANY, ANY), ONE), False
            else:
                role = entries.mapping(name, "a role", ("count", "platform"))
                count, platform = role.choice("count", (ONE, MANY, ANY), ONE), role.flag("platform")
            found[name] = Role(name, count, platform or count == ANY)
        if not found:
            raise self.top.wrong("roles", "A protocol needs roles.", "See docs/protocol-files.md.")
        return found

    def _moves(self, entry: Entry, key: str) -> list[Move]:
        found: list[Move] = []
        for each in entry.entries(key, "a move", MOVE_KEYS):
            for move in moves_of(each, self.names):
                found.append(move)
                if len(found) > MOST_MOVES:
                    raise each.wrong(
                        "", f"The file makes more than {MOST_MOVES} moves.", "Name fewer states and acts at once."
                    )
        return found

    def _changed(self, entry: Entry, moves: list[Move]) -> tuple[list[Move], list[Move]]:
        """What a profile adds, and what it leaves of ``moves``."""
        kept = moves
        for each in entry.entries("remove", "what a profile takes away", PATTERN_KEYS):
            pattern = Pattern(each, self.names)
            left = [move for move in kept if not pattern.fits(move)]
            if len(left) == len(kept):
                raise pattern.nothing()
            kept = left
        return self._moves(entry, "add"), kept

    def _states(self, entry: Entry) -> dict[str, State]:
        entries = entry.mapping("states", "states")
        found: dict[str, State] = {}
        for name in entries.data:
            state = entries.mapping(name, "a state", STATE_KEYS)
            verify, lapses = state.text("verify"), state.text("lapses_as")
            found[name] = State(
                name=name,
                label=state.text("label"),
                may_lapse=self.names.kinds(state, "may_lapse"),
                verify=self.names.act_of(state, "verify", verify)[0] if verify else None,
                after=state.text("after"),
                lapses_as=self.names.act_of(state, "lapses_as", lapses)[0] if lapses else None,
                line=entry.spec.line((*entries.place, name)),
            )
        return found

    def _check_states(self, moves: list[Move], said: dict[str, State]) -> None:
        """Refuse states that a move names and nothing else knows: they are misspelt."""
        if not self.strict:
            return
        brought = {state for include in self.includes for state in BRINGS[include]} | {RESUME}
        led_to = {self.start, *(move.next for move in moves)}
        left = {self.start, *(move.source for move in moves)}
        used = led_to | left | set(self.final) | brought
        if self.start not in {move.source for move in moves}:
            raise self.top.wrong(
                ("start", "state"),
                f"No move is made in the state {self.start!r}.",
                near(self.start, left - {self.start}),
            )
        for name, state in said.items():
            if name not in used:
                raise self._at(state.line, f"No move knows the state {name!r}.", near(name, used))
        for move in moves:
            if move.source not in led_to | brought and move.source not in said:
                guess = near(move.source, led_to - set(self.final))
                raise self._at(move.line, f"No move leads to the state {move.source!r}.", guess)
            if move.next not in left | set(self.final) | brought and move.next not in said:
                guess = near(move.next, (left | set(self.final)) - {move.next})
                raise self._at(
                    move.line, f"The state {move.next!r} has no moves and is not final.", guess or "Add it to 'final:'."
                )

    def _at(self, line: int, message: str, next_step: str) -> SpecError:
        return SpecError(message, path=self.top.spec.path, line=line, next_step=next_step)

    def _included(self, moves: list[Move], states: dict[str, State]) -> list[Move]:
        """The moves that ``include:`` stands for, in every state after the start that is not final."""
        line = self.top.spec.line(("include",))
        names = dict.fromkeys([*(move.next for move in moves), *(move.source for move in moves), *states])
        own = [name for include in self.includes for name in BRINGS[include] if name in {*names, *self.final}]
        if own:
            raise self.top.wrong(
                "include", f"The state {own[0]!r} is brought by 'include:' and stands in the file too.", "Rename it."
            )
        found: list[Move] = []
        self.final += [FINALS[include] for include in self.includes]
        open_ones = [name for name in names if name not in (self.start, RESUME) and name not in self.final]
        if "cancel" in self.includes:
            first = next((move for move in moves if move.source == self.start and self.starter in move.senders), None)
            found += cancel_moves(moves, open_ones, self.starter, first.receiver if first else self.starter, line)
        if "not-understood" in self.includes:
            found += not_understood_moves([*moves, *found], [*open_ones, "cancelling"], line)
        return found

    def _all_states(self, moves: list[Move], said: dict[str, State], elsewhere: set[str]) -> dict[str, State]:
        """All states, final ones last; without those that only another profile has."""
        names = dict.fromkeys([self.start, *(name for move in moves for name in (move.source, move.next)), *said])
        names = {name: None for name in names if name not in elsewhere}
        self.final = [name for name in self.final if name not in elsewhere]
        ends = [name for name in names if name in self.final] + [name for name in self.final if name not in names]
        order = [name for name in names if name not in self.final and name != RESUME] + ends
        made = {name: said.get(name) or State(name=name, after=AFTER.get(name, "")) for name in order}
        return {name: replace(state, final=name in self.final) for name, state in made.items()}


def _named(moves: list[Move]) -> set[str]:
    """States that ``moves`` name."""
    return {name for move in moves for name in (move.source, move.next)}
