"""The shipped protocols are those of the FIPA specifications, move by move."""

from __future__ import annotations

import pytest

from dissensus.say.protocol import RESUME, Move, Protocol
from dissensus.say.protocol_file import shipped, shipped_protocol

OURS = ("four-state", "hand-off", "tool-call")
FIPA = tuple(name for name in shipped() if name.startswith("fipa-"))
PROFILES = ("fipa", "jade", "strict")

EXPECTED = {
    "fipa-request": """
        start: request I>P -> requested | owes answer
        requested: refuse P>I -> end.refused | declares answer
        requested: agree P>I -> agreed | closes answer, owes performance
        requested: inform[done,result] P>I -> end.done | closes answer
        requested: failure P>I -> end.failed | declares answer
        agreed: inform[done,result] P>I -> end.done | closes performance
        agreed: failure P>I -> end.failed | declares performance
        """,
    "fipa-query": """
        start: query-if I>P -> asked.if | owes answer
        start: query-ref I>P -> asked.ref | owes answer
        asked.if: refuse P>I -> end.refused | declares answer
        asked.ref: refuse P>I -> end.refused | declares answer
        asked.if: agree P>I -> agreed.if | closes answer, owes performance
        asked.ref: agree P>I -> agreed.ref | closes answer, owes performance
        asked.if: inform[false,result,true] P>I -> end.done | closes answer
        asked.ref: inform[false,result,true] P>I -> end.done | closes answer
        asked.if: failure P>I -> end.failed | declares answer
        asked.ref: failure P>I -> end.failed | declares answer
        agreed.if: inform[false,result,true] P>I -> end.done | closes performance
        agreed.ref: inform[false,result,true] P>I -> end.done | closes performance
        agreed.if: failure P>I -> end.failed | declares performance
        agreed.ref: failure P>I -> end.failed | declares performance
        """,
    "fipa-request-when": """
        start: request-when I>P -> requested | owes answer
        requested: refuse P>I -> end.refused | declares answer
        requested: agree P>I -> waiting | closes answer, owes performance
        waiting: inform[done,result] P>I -> end.done | closes performance
        waiting: failure P>I -> end.failed | declares performance
        start: request-whenever I>P -> requested.standing | owes answer
        requested.standing: refuse P>I -> end.refused | declares answer
        requested.standing: agree P>I -> standing | closes answer, owes performance
        standing: inform[done,result] P>I -> standing |
        standing: failure P>I -> end.failed | declares performance
        """,
    "fipa-contract-net": """
        start: cfp I>P* -> called | owes answer
        called: refuse P>I -> end.refused | declares answer
        called: propose P>I -> bid | closes answer, owes offer, owes decision
        bid: reject-proposal I>P -> end.rejected | closes decision, releases offer
        bid: accept-proposal I>P -> contracted | closes decision, detaches offer
        contracted: inform[done,result] P>I -> end.done | closes performance
        contracted: failure P>I -> end.failed | declares performance
        """,
    "fipa-auction-english": """
        start: inform[start] I>P* -> announced |
        announced: cfp I>P* -> round |
        round: propose P>I -> bid | owes offer, owes decision
        round: cfp I>P* -> round |
        round: inform[end] I>P* -> end.lost |
        bid: accept-proposal I>P -> leading | closes decision
        bid: reject-proposal I>P -> round | closes decision, releases offer
        leading: propose P>I -> bid | owes offer, owes decision
        leading: cfp I>P* -> leading |
        leading: inform[end] I>P* -> closing |
        closing: request I>P -> end.sold | detaches offer
        """,
    "fipa-auction-dutch": """
        start: inform[start] I>P* -> announced |
        announced: cfp I>P* -> round |
        round: cfp I>P* -> round |
        round: propose P>I -> bid | owes offer, owes decision
        round: inform[end] I>P* -> end.over |
        bid: accept-proposal I>P -> sold | closes decision, detaches offer
        bid: reject-proposal I>P -> round | closes decision, releases offer
        sold: cfp I>P* -> round |
        sold: inform[end] I>P* -> end.over |
        """,
    "fipa-brokering": """
        start: proxy I>P -> asked | owes answer
        asked: refuse P>I -> end.refused | declares answer
        asked: agree P>I -> accepted | closes answer, owes performance
        accepted: failure[no-match,proxy] P>I -> end.failed | declares performance
        accepted: inform[done-proxy] P>I -> forwarded |
        forwarded: agree P>I -> forwarded |
        forwarded: inform P>I -> replied | closes performance
        forwarded: refuse P>I -> replied | closes performance
        forwarded: propose P>I -> replied | closes performance
        forwarded: failure[reply] P>I -> replied | closes performance
        forwarded: failure[brokering] P>I -> end.failed | declares performance
        replied: agree P>I -> replied |
        replied: inform P>I -> replied |
        replied: refuse P>I -> replied |
        replied: propose P>I -> replied |
        replied: failure[reply] P>I -> replied |
        replied: failure[brokering] P>I -> end.failed | declares performance
        start: propagate I>P -> asked.propagate | owes answer
        asked.propagate: refuse P>I -> end.refused | declares answer
        asked.propagate: agree P>I -> accepted.propagate | closes answer, owes performance
        accepted.propagate: failure[no-match,proxy] P>I -> end.failed | declares performance
        accepted.propagate: inform[done-proxy] P>I -> end.done | closes performance
        """,
    "fipa-recruiting": """
        start: proxy I>P -> asked | owes answer
        asked: refuse P>I -> end.refused | declares answer
        asked: agree P>I -> accepted | closes answer, owes performance
        accepted: failure[no-match,proxy] P>I -> end.failed | declares performance
        accepted: inform[done-proxy] P>I -> forwarded | closes performance
        forwarded: failure[recruiting] P>I -> end.failed |
        start: propagate I>P -> asked.propagate | owes answer
        asked.propagate: refuse P>I -> end.refused | declares answer
        asked.propagate: agree P>I -> accepted.propagate | closes answer, owes performance
        accepted.propagate: failure[no-match,proxy] P>I -> end.failed | declares performance
        accepted.propagate: inform[done-proxy] P>I -> end.done | closes performance
        """,
    "fipa-subscribe": """
        start: subscribe I>P -> asked | owes answer
        asked: refuse P>I -> end.refused | declares answer
        asked: agree P>I -> active | closes answer, owes performance
        asked: inform[result] P>I -> active | closes answer, owes performance
        asked: failure P>I -> end.failed | declares answer
        active: inform[result] P>I -> active |
        active: failure P>I -> end.failed | declares performance
        """,
    "fipa-propose": """
        start: propose I>P -> proposed | owes offer, owes decision
        proposed: accept-proposal P>I -> end.accepted | closes decision, detaches offer
        proposed: reject-proposal P>I -> end.rejected | closes decision, releases offer
        """,
    "four-state": """
        start: request I>P -> requested | owes answer
        requested: agree P>I -> agreed | closes answer, owes performance
        requested: refuse P>I -> closed | declares answer
        agreed: inform P>I -> closed | closes performance
        agreed: failure P>I -> closed | declares performance
        """,
    "hand-off": """
        start: request I>P -> offered | owes answer
        offered: agree P>I -> taken | closes answer, owes performance
        offered: refuse P>I -> end.refused | declares answer
        taken: inform P>I -> end.done | closes performance
        taken: failure P>I -> end.failed | declares performance
        """,
    "tool-call": """
        start: request I>P -> called | owes answer
        called: inform P>I -> end.done | closes answer
        called: failure P>I -> end.failed | declares answer
        called: refuse P>I -> end.refused | declares answer
        """,
}
"""I begins, P is whom it speaks to. What is owed is owed by whom its kind says: see below."""
EXPECTED["fipa-iterated-contract-net"] = (
    EXPECTED["fipa-contract-net"] + "bid: cfp I>P* -> called | closes decision, releases offer, owes answer\n"
)


def told(protocol: Protocol, move: Move) -> str:
    """``move`` in the notation of the table."""
    letters = {protocol.starter: "I", protocol.partner: "P"}
    kinds = f"[{','.join(sorted(move.kinds))}]" if move.kinds else ""
    way = f"{letters[move.senders[0]]}>{letters[move.receiver]}{'*' if move.to_all else ''}"
    does = [f"{verb} {kind}" for verb in ("closes", "declares", "detaches", "releases") for kind in getattr(move, verb)]
    does.sort(key=lambda phrase: ["closes", "declares", "releases", "detaches"].index(phrase.split()[0]))
    does += [f"owes {opening.kind}" for opening in move.opens]
    return f"{move.source}: {move.act}{kinds} {way} -> {move.next} | {', '.join(does)}".rstrip()


def moves_of(protocol: Protocol) -> set[str]:
    return {told(protocol, move) for move in protocol.moves if not move.origin}


def expected(name: str) -> set[str]:
    return {line.strip() for line in EXPECTED[name].splitlines() if line.strip()}


def test_the_eleven_and_ours_are_shipped() -> None:
    assert len(FIPA) == 11
    assert set(FIPA) | set(OURS) <= set(shipped())
    assert set(EXPECTED) == set(FIPA) | set(OURS)


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_the_moves_are_those_of_the_specification(name: str) -> None:
    assert moves_of(shipped_protocol(name)) == expected(name)


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_who_owes_whom(name: str) -> None:
    for profile in PROFILES:
        for move in (protocol := shipped_protocol(name, profile)).moves:
            for opening in move.opens:
                parties = (move.senders[0], move.receiver)
                promised = opening.kind in ("offer", "performance")
                assert (opening.debtor, opening.creditor) == (parties if promised else parties[::-1]), move
                assert {opening.debtor, opening.creditor} == {protocol.starter, protocol.partner}


@pytest.mark.parametrize("name", shipped())
@pytest.mark.parametrize("profile", PROFILES)
def test_every_file_loads_under_every_profile(name: str, profile: str) -> None:
    protocol = shipped_protocol(name, profile)
    assert (protocol.name, protocol.profile) == (name, profile)
    assert protocol is shipped_protocol(name, profile)
    assert protocol.title.endswith(".")
    assert protocol.source
    if name in EXPECTED:
        assert all(state.after for state in protocol.states.values())
    if name in FIPA:
        assert protocol.profiles == PROFILES
        assert protocol.must_correlate is (profile != "fipa")
        assert protocol.roles["platform"].platform


@pytest.mark.parametrize("name", FIPA)
def test_fipa_sources_name_the_specification(name: str) -> None:
    number = {
        "request": "SC00026", "query": "SC00027", "request-when": "SC00028", "contract-net": "SC00029",
        "iterated-contract-net": "SC00030", "auction-english": "XC00031", "auction-dutch": "XC00032",
        "brokering": "SC00033", "recruiting": "SC00034", "subscribe": "SC00035", "propose": "SC00036",
    }[name.removeprefix("fipa-")]  # fmt: skip
    assert number in shipped_protocol(name).source


# --- cancel and not-understood


@pytest.mark.parametrize("name", [*FIPA, "hand-off"])
@pytest.mark.parametrize("profile", PROFILES)
def test_cancel_is_in_every_state_between_start_and_end(name: str, profile: str) -> None:
    protocol = shipped_protocol(name, profile)
    middle = {state.name for state in protocol.states.values() if not state.final} - {protocol.start, "cancelling"}
    cancels = [move for move in protocol.moves if move.act == "cancel"]
    assert {move.source for move in cancels} == middle
    for move in cancels:
        assert told(protocol, move) == f"{move.source}: cancel I>P -> cancelling | owes cancel"
    done, failed = [move for move in protocol.moves_from("cancelling") if move.act != "not-understood"]
    owed = {opening.kind for move in protocol.moves for opening in move.opens}
    owed |= {"performance" for move in protocol.moves if move.detaches}
    assert (done.act, *done.kinds, done.next, done.closes) == ("inform", "done", "end.cancelled", ("cancel",))
    assert set(done.declares) == owed - {"cancel"}
    assert (failed.act, failed.next, failed.declares) == ("failure", RESUME, ("cancel",))
    assert {done.senders, failed.senders} == {(protocol.partner,)}
    assert {done.receiver, failed.receiver} == {protocol.starter}


@pytest.mark.parametrize("name", [*FIPA, "hand-off", "tool-call"])
def test_not_understood_is_for_whoever_was_spoken_to_last(name: str) -> None:
    protocol = shipped_protocol(name)
    final = {state.name for state in protocol.states.values() if state.final}
    heard = {
        (move.next, move.receiver, move.senders[0])
        for move in protocol.moves
        if move.act != "not-understood" and move.next not in {*final, RESUME}
    }
    said = [move for move in protocol.moves if move.act == "not-understood"]
    assert {(move.source, move.senders[0], move.receiver) for move in said} == heard
    assert {move.next for move in said} == {"end.not-understood"}


def test_four_states_are_four() -> None:
    protocol = shipped_protocol("four-state")
    assert [state.shown for state in protocol.states.values()] == ["open", "waiting", "committed", "closed"]
    assert not any(move.origin for move in protocol.moves)


# --- profiles


def changes(name: str, profile: str) -> tuple[set[str], set[str]]:
    """What a profile takes away, and what it adds."""
    base, other = moves_of(shipped_protocol(name)), moves_of(shipped_protocol(name, profile))
    return base - other, other - base


@pytest.mark.parametrize("name", FIPA)
def test_jade_lets_a_call_be_answered_by_a_failure(name: str) -> None:
    more = {"called: failure P>I -> end.failed | declares answer"} if "contract-net" in name else set()
    assert changes(name, "jade") == (set(), more)
    decided = {"contract-net": "bid", "iterated-contract-net": "bid", "propose": "proposed"}
    state = decided.get(name.removeprefix("fipa-"))
    lapsing = {each.name: each.lapses_as for each in shipped_protocol(name, "jade").states.values() if each.lapses_as}
    assert lapsing == ({state: "reject-proposal"} if state else {})


@pytest.mark.parametrize("name", FIPA)
def test_strict_lets_nobody_deliver_what_he_has_not_agreed_to(name: str) -> None:
    protocol = shipped_protocol(name, "strict")
    asked = {move.next for move in protocol.moves if any(opening.kind == "answer" for opening in move.opens)}
    if name not in ("fipa-contract-net", "fipa-iterated-contract-net"):
        assert not {move.act for state in asked for move in protocol.moves_from(state)} & {"inform", "failure"}
    gone, more = changes(name, "strict")
    if name == "fipa-query":
        assert more == {
            "agreed.if: inform[false,true] P>I -> end.done | closes performance",
            "agreed.ref: inform[result] P>I -> end.done | closes performance",
        }
    elif name == "fipa-brokering":
        assert (gone, more) == ({"forwarded: agree P>I -> forwarded |", "replied: agree P>I -> replied |"}, set())
        assert {move.forwards for move in protocol.moves} == {"", "once"}
    else:
        assert not more
        assert all(line.split(":")[0] in asked for line in gone)


# --- time, silence, repetition


def test_a_late_bid_is_discarded() -> None:
    for name in FIPA:
        for move in shipped_protocol(name).moves:
            bids = move.act == "propose" and name != "fipa-propose" and not move.forwards
            assert (move.late == "reject") is bids, (name, move)


def test_silence_in_an_auction_owes_nothing() -> None:
    for name in ("fipa-auction-english", "fipa-auction-dutch"):
        calls = [move for move in shipped_protocol(name).moves if move.act == "cfp"]
        assert calls
        assert all(move.quiet and not move.opens for move in calls)


def test_what_may_be_said_again_and_again() -> None:
    again = {(name, move.source, move.act) for name in EXPECTED for move in shipped_protocol(name).moves if move.repeat}
    assert again == {
        ("fipa-request-when", "standing", "inform"),
        ("fipa-subscribe", "active", "inform"),
        ("fipa-auction-english", "round", "cfp"),
        ("fipa-auction-english", "leading", "cfp"),
        ("fipa-auction-dutch", "round", "cfp"),
        ("fipa-auction-dutch", "sold", "cfp"),
        ("fipa-brokering", "forwarded", "agree"),
        *(("fipa-brokering", "replied", act) for act in ("agree", "inform", "refuse", "propose", "failure")),
    }


def test_every_question_says_where_its_deadline_comes_from() -> None:
    for name in EXPECTED:
        for move in shipped_protocol(name).moves:
            if move.detaches or any(opening.kind in ("answer", "performance") for opening in move.opens):
                assert move.deadline, (name, move)
    standing = shipped_protocol("fipa-request-when").moves_from("requested")
    assert [move.deadline for move in standing if move.act == "agree"] == ["none"]


def test_promises_that_outlive_the_conversation() -> None:
    keeps = {
        (name, state.name): state.may_lapse
        for name in EXPECTED
        for state in shipped_protocol(name).states.values()
        if state.final and state.may_lapse
    }
    assert keeps == {
        ("fipa-propose", "end.accepted"): ("performance",),
        ("fipa-auction-english", "end.sold"): ("performance", "offer"),
        ("fipa-auction-english", "end.lost"): ("offer",),
        ("fipa-auction-dutch", "end.over"): ("performance",),
    }
