"""Random small protocols: the checks agree with a plain enumeration of every conversation up to a length."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from dissensus.say.exploring import explore
from dissensus.say.protocol import ONE, Move, Opening, Protocol, Role, State
from dissensus.say.protocol_checks import Fault, check

STATES = ("s0", "s1", "s2", "s3")
ACTS = ("inform", "agree", "refuse")
KINDS = ("answer", "performance")


@st.composite
def protocols(draw: st.DrawFn) -> Protocol:
    """Two roles, at most four states and seven moves, each of which opens or closes at most one thing."""
    finals = draw(st.sets(st.sampled_from(STATES[1:]), max_size=2))
    moves = []
    for line in range(1, draw(st.integers(1, 7)) + 1):
        sender, receiver = draw(st.sampled_from([("a", "b"), ("b", "a")]))
        kind = draw(st.sampled_from(KINDS))
        effect = draw(st.sampled_from(["", "", "opens", "closes", "declares"]))
        opening = Opening(kind, *draw(st.sampled_from([("a", "b"), ("b", "a")])))
        moves.append(
            Move(
                source=draw(st.sampled_from(STATES)),
                act=draw(st.sampled_from(ACTS)),
                senders=(sender,),
                receiver=receiver,
                next=draw(st.sampled_from(STATES)),
                kinds=draw(st.sampled_from([frozenset[str](), frozenset({"done"}), frozenset({"done", "result"})])),
                opens=(opening,) if effect == "opens" else (),
                closes=(kind,) if effect == "closes" else (),
                declares=(kind,) if effect == "declares" else (),
                most=draw(st.sampled_from([None, None, 1, 2])),
                line=line,
            )
        )
    lapse = draw(st.sampled_from([(), ("answer",)]))
    states = {name: State(name=name, final=name in finals, may_lapse=lapse) for name in STATES}
    roles = {name: Role(name, ONE) for name in ("a", "b")}
    return Protocol(name="random", roles=roles, start="s0", starter="a", states=states, moves=tuple(moves))


Owed = tuple[Opening, ...]
Run = tuple[tuple[Move, ...], str, Owed]


def conversations(protocol: Protocol, longest: int) -> Iterator[Run]:
    """Every conversation of at most ``longest`` moves, shortest first, one by one: moves made, state, what is owed.

    Ways of coming to the same point (state, what is owed, how often bounded moves were made) are followed once.
    """
    runs: list[Run] = [((), protocol.start, ())]
    seen: set[object] = set()
    for moves, state, owed in runs:
        yield moves, state, owed
        if protocol.states[state].final or len(moves) == longest:
            continue
        for move in protocol.moves:
            if move.source != state or (move.most is not None and moves.count(move) >= move.most):
                continue
            further = (*moves, move)
            after = apply(owed, move)
            point = (move.next, after, tuple(further.count(each) for each in protocol.moves if each.most is not None))
            if point not in seen:
                seen.add(point)
                runs.append((further, move.next, after))


def apply(owed: Owed, move: Move) -> Owed:
    left = list(owed)
    for kind in move.closes:
        held = [each for each in left if each.kind == kind]
        mine = [each for each in held if each.debtor == move.senders[0]]
        for each in (mine or held)[:1]:
            left.remove(each)
    left = [each for each in left if each.kind not in move.declares]
    left += [each for each in move.opens if left.count(each) < 2]
    return tuple(sorted(left, key=str))


def found(protocol: Protocol, code: str) -> list[Fault]:
    return [fault for fault in check(protocol) if fault.code == code]


LONG = 40
"""More than the places of any such protocol that a conversation can walk through without coming back to one: the
search of :func:`conversations` runs dry before."""


@given(protocols())
def test_states_are_reachable_exactly_if_some_conversation_reaches_them(protocol: Protocol) -> None:
    reached = {state for _, state, _ in conversations(protocol, LONG)}
    assert {place.state for place in explore(protocol).places} == reached
    unreachable = {fault.message.split("'")[1] for fault in found(protocol, "P04")}
    assert unreachable == set(STATES) - reached


@given(protocols())
def test_what_is_owed_in_a_final_state_is_what_some_conversation_leaves_open(protocol: Protocol) -> None:
    shortest: dict[tuple[str, str], int] = {}
    for moves, state, owed in conversations(protocol, LONG):
        for each in owed:
            if protocol.states[state].final and each.kind not in protocol.states[state].may_lapse:
                shortest.setdefault((each.kind, state), len(moves))
    told = {}
    for fault in found(protocol, "P09"):
        kind, state = fault.message.split(" ")[1], fault.message.rsplit("still open in '")[1].split("'")[0]
        told[kind, state] = fault
    assert told.keys() == shortest.keys()
    assert {key: len(fault.trace) for key, fault in told.items()} == shortest


@given(protocols())
def test_there_is_a_dead_end_or_a_trap_exactly_if_some_conversation_cannot_be_ended(protocol: Protocol) -> None:
    points = list(conversations(protocol, LONG))
    onward: dict[object, set[object]] = {}

    def key(moves: tuple[Move, ...], state: str) -> object:
        return state, tuple(moves.count(each) for each in protocol.moves if each.most is not None)

    for moves, state, _ in points:
        here = key(moves, state)
        onward.setdefault(here, set())
        if protocol.states[state].final:
            continue
        for move in protocol.moves:
            if move.source == state and (move.most is None or moves.count(move) < move.most):
                onward[here].add(key((*moves, move), move.next))
    ending = {here for here in onward if protocol.states[here[0]].final}  # type: ignore[index]
    while more := {here for here, there in onward.items() if here not in ending and there & ending}:
        ending |= more
    assert bool(found(protocol, "P05")) == (ending != set(onward))
    for fault in found(protocol, "P05"):
        stuck = fault.message.split("'")[1]
        assert any(here[0] == stuck for here in set(onward) - ending)  # type: ignore[index]
        if "nothing can be said" in fault.message:
            assert not any(move.source == stuck for move in protocol.moves)


@given(protocols())
def test_a_message_is_two_moves_exactly_if_a_conversation_reaches_two_that_fit_it(
    protocol: Protocol,
) -> None:
    reached = {state for _, state, _ in conversations(protocol, LONG) if not protocol.states[state].final}
    clashes = set()
    for at, one in enumerate(protocol.moves):
        for two in protocol.moves[at + 1 :]:
            same = (one.source, one.act, one.senders) == (two.source, two.act, two.senders) and one.source in reached
            outcome = (one.next, one.opens, one.closes, one.declares) != (two.next, two.opens, two.closes, two.declares)
            if same and outcome and (not one.kinds or not two.kinds or one.kinds & two.kinds):
                clashes.add((two.line, "warning" if bool(one.kinds) != bool(two.kinds) else "error"))
    assert {(fault.line, fault.level) for fault in found(protocol, "P06")} == clashes


@given(protocols())
def test_every_trace_is_a_conversation_from_the_start(protocol: Protocol) -> None:
    starts = tuple(f"{state}: " for state in STATES)
    for fault in check(protocol):
        walked = [line for line in fault.trace if line.startswith(starts)]
        if walked and fault.code != "P08":
            assert walked[0].startswith(f"{protocol.start}: ")
        for one, two in pairwise(walked):
            assert two.startswith(one.rsplit(" -> ")[1] + ": ")
