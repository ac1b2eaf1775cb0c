"""Static checks of protocols: each code on a smallest faulty protocol, and not on the repaired one."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from dissensus.errors import SpecError
from dissensus.say.protocol import Guard, Move, Opening, Protocol, Role, State
from dissensus.say.protocol_checks import CODES, Fault, check
from dissensus.say.protocol_file import load, shipped, shipped_protocol

HEAD = """\
protocol: small
roles: {a: one, b: one}
start: {state: start, role: a}
"""
"""Three lines; the fourth is `final:`."""


@dataclass
class Case:
    code: str
    level: str
    faulty: str
    line: int
    trace: tuple[str, ...]
    repaired: str
    says: str = ""


def text(*lines: str, head: str = HEAD) -> str:
    return head + "\n".join(lines) + "\n"


ASK = "  - {in: start, act: request, from: a, to: b, next: asked, opens: answer, by: 60}"
REFUSE = "  - {in: asked, act: refuse, from: b, to: a, next: end, declares: answer}"
ASKED = "start: request a>b -> asked"
THREE = HEAD.replace("b: one}", "b: one, c: one}")

CASES = {
    "unknown act": Case(
        "P01",
        "error",
        text("final: [end]", "moves:", ASK, REFUSE.replace("refuse", "refuze")),
        7,
        (ASKED, "asked: refuze b>a -> end"),
        text("final: [end]", "moves:", ASK, REFUSE.replace("refuse", "refuze"), "acts: [refuze]"),
        "Is 'refuse' meant?",
    ),
    "undeclared role": Case(
        "P02",
        "error",
        text("final: [end]", "moves:", ASK, REFUSE.replace("from: b", "from: c")),
        7,
        (ASKED, "asked: refuse c>a -> end"),
        text("final: [end]", "moves:", ASK, REFUSE),
        "'c' is not declared",
    ),
    "role that nobody binds": Case(
        "P03",
        "error",
        text("final: [end]", "moves:", ASK, REFUSE, head=THREE),
        0,
        (),
        text(
            "final: [end]",
            "moves:",
            ASK,
            REFUSE,
            "  - {in: asked, act: propagate, from: b, to: c, next: end, closes: answer}",
            head=THREE,
        ),
        "'c' is declared",
    ),
    "unreachable state": Case(
        "P04",
        "error",
        text(
            "final: [end]",
            "moves:",
            ASK,
            REFUSE,
            "  - {in: lost, act: inform, from: b, to: a, next: end}",
        ),
        8,
        (),
        text(
            "final: [end]",
            "moves:",
            ASK,
            REFUSE,
            "  - {in: asked, act: agree, from: b, to: a, next: lost, closes: answer}",
            "  - {in: lost, act: inform, from: b, to: a, next: end}",
        ),
        "no move leads to it",
    ),
    "dead end": Case(
        "P05",
        "error",
        text(
            "final: [end]",
            "moves:",
            ASK,
            REFUSE,
            "  - {in: asked, act: agree, from: b, to: a, next: stuck, closes: answer}",
        ),
        8,
        (ASKED, "asked: agree b>a -> stuck"),
        text(
            "final: [end]",
            "moves:",
            ASK,
            REFUSE,
            "  - {in: asked, act: agree, from: b, to: a, next: stuck, closes: answer}",
            "  - {in: stuck, act: inform, from: b, to: a, next: end}",
        ),
        "a dead end: nothing can be said in it",
    ),
    "trap": Case(
        "P05",
        "error",
        text(
            "final: [end]",
            "moves:",
            ASK,
            REFUSE,
            "  - {in: asked, act: agree, from: b, to: a, next: round, closes: answer}",
            "  - {in: round, act: inform, from: b, to: a, next: round, repeat: true}",
        ),
        9,
        (ASKED, "asked: agree b>a -> round"),
        text(
            "final: [end]",
            "moves:",
            ASK,
            REFUSE,
            "  - {in: asked, act: agree, from: b, to: a, next: round, closes: answer}",
            "  - {in: round, act: inform, from: b, to: a, next: round, repeat: true}",
            "  - {in: round, act: failure, from: b, to: a, next: end}",
        ),
        "a trap",
    ),
    "exhausted loop": Case(
        "P05",
        "error",
        text(
            "final: [end]",
            "moves:",
            "  - {in: start, act: inform, from: a, to: b, next: told}",
            "  - {in: told, act: inform, from: a, to: b, next: told, max: 2}",
            "  - {in: told, act: confirm, from: a, to: b, next: half, max: 1}",
            "  - {in: half, act: inform, from: a, to: b, next: half, max: 1}",
        ),
        9,
        ("start: inform a>b -> told", "told: confirm a>b -> half", "half: inform a>b -> half"),
        text(
            "final: [end]",
            "moves:",
            "  - {in: start, act: inform, from: a, to: b, next: told}",
            "  - {in: told, act: inform, from: a, to: b, next: told, max: 2}",
            "  - {in: told, act: confirm, from: a, to: b, next: half, max: 1}",
            "  - {in: half, act: inform, from: a, to: b, next: end}",
        ),
        "has been said as often as it may be",
    ),
    "one message, two moves": Case(
        "P06",
        "error",
        text("final: [end, off]", "moves:", ASK, REFUSE, REFUSE.replace("next: end", "next: off")),
        8,
        (ASKED, "either asked: refuse b>a -> end", "or asked: refuse b>a -> off"),
        text(
            "final: [end, off]",
            "moves:",
            ASK,
            REFUSE.replace("from", "kind: busy, from"),
            REFUSE.replace("next: end", "kind: never, next: off"),
        ),
    ),
    "overlapping guards": Case(
        "P06",
        "error",
        text(
            "final: [end, off]",
            "moves:",
            ASK,
            REFUSE.replace("from", "when: price > 10 and not fixed, from"),
            REFUSE.replace("from", "when: price > 5, from").replace("next: end", "next: off"),
        ),
        8,
        (
            ASKED,
            "either asked: refuse b>a when price > 10 and not fixed -> end",
            "or asked: refuse b>a when price > 5 -> off",
        ),
        text(
            "final: [end, off]",
            "moves:",
            ASK,
            REFUSE.replace("from", "when: price > 10 and not fixed, from"),
            REFUSE.replace("from", "when: price <= 10 or fixed, from").replace("next: end", "next: off"),
        ),
        "{'price': 11}",
    ),
    "race": Case(
        "P07",
        "error",
        text(
            "final: [end, off]",
            "moves:",
            ASK,
            REFUSE,
            "  - {in: asked, act: inform, from: a, to: b, next: off}",
            "states: {off: {may_lapse: answer}}",
        ),
        8,
        (
            ASKED,
            "if first asked: refuse b>a -> end, then inform a>b -> illegal",
            "if first asked: inform a>b -> off, then refuse b>a -> illegal",
        ),
        text(
            "final: [end, off]",
            "moves:",
            ASK,
            REFUSE,
            "  - {in: asked, act: agree, from: b, to: a, next: off, closes: answer}",
        ),
        "both 'b' (refuse) and 'a' (inform) may speak",
    ),
    "nobody tells": Case(
        "P08",
        "error",
        text(
            "final: [end]",
            "moves:",
            "  - {in: start, act: request, from: a, to: b, next: yes}",
            "  - {in: start, act: inform, from: a, to: b, next: no}",
            "  - {in: yes, act: inform, from: c, to: b, next: end}",
            "  - {in: no, act: inform, from: b, to: c, next: end}",
            head=THREE,
        ),
        7,
        ("either start: inform a>b -> no", "or start: request a>b -> yes"),
        text(
            "final: [end]",
            "moves:",
            "  - {in: start, act: request, from: a, to: b, next: yes}",
            "  - {in: start, act: inform, from: a, to: b, next: no}",
            "  - {in: yes, act: request, from: b, to: c, next: go}",
            "  - {in: go, act: inform, from: c, to: b, next: end}",
            "  - {in: no, act: inform, from: b, to: c, next: end}",
            head=THREE,
        ),
        "'c' cannot tell the states",
    ),
    "never closed": Case(
        "P09",
        "error",
        text("final: [end]", "moves:", ASK, REFUSE.replace(", declares: answer", "")),
        6,
        (ASKED, "asked: refuse b>a -> end"),
        text("final: [end]", "moves:", ASK, REFUSE),
        "The answer that 'b' owes 'a' is still open in 'end'",
    ),
    "waited for for ever": Case(
        "P10",
        "warning",
        text("final: [end]", "moves:", ASK.replace(", by: 60", ""), REFUSE),
        6,
        (ASKED,),
        text("final: [end]", "moves:", ASK.replace("by: 60", "by: reply_by"), REFUSE),
    ),
    "closing what is not open": Case(
        "P11",
        "error",
        text("final: [end]", "moves:", ASK, REFUSE.replace("declares: answer", "closes: [answer, performance]")),
        7,
        (ASKED, "asked: refuse b>a -> end"),
        text("final: [end]", "moves:", ASK, REFUSE.replace("declares", "closes")),
        "closes the performance",
    ),
    "released by the debtor": Case(
        "P12",
        "error",
        text("final: [end]", "moves:", ASK, REFUSE.replace("declares", "releases")),
        7,
        (ASKED, "asked: refuse b>a -> end"),
        text(
            "final: [end]",
            "moves:",
            ASK,
            "  - {in: asked, act: inform, from: a, to: b, next: end, releases: answer}",
        ),
        "only its creditor, 'a', has the title",
    ),
    "cancelled by the creditor": Case(
        "P12",
        "error",
        text(
            "final: [end]",
            "moves:",
            "  - {in: start, act: agree, from: b, to: a, next: asked, opens: performance, by: 60}",
            "  - {in: asked, act: cancel, from: a, to: b, next: end, declares: performance}",
            head=HEAD.replace("role: a", "role: b"),
        ),
        7,
        ("start: agree b>a -> asked", "asked: cancel a>b -> end"),
        text(
            "final: [end]",
            "moves:",
            "  - {in: start, act: agree, from: b, to: a, next: asked, opens: performance, by: 60}",
            "  - {in: asked, act: cancel, from: b, to: a, next: end, declares: performance}",
            head=HEAD.replace("role: a", "role: b"),
        ),
        "only its debtor, 'b', can",
    ),
    "out of a final state": Case(
        "P13",
        "error",
        text("final: [end]", "moves:", ASK, REFUSE, "  - {in: end, act: inform, from: b, to: a, next: end}"),
        8,
        (ASKED, "asked: refuse b>a -> end", "end: inform b>a -> end"),
        text("final: [end]", "moves:", ASK, REFUSE),
    ),
    "dead move": Case(
        "P14",
        "error",
        text("final: [end]", "moves:", ASK, REFUSE, REFUSE.replace("from", "when: price < 1 and price > 1, from")),
        8,
        (ASKED,),
        text(
            "final: [end]",
            "moves:",
            ASK,
            REFUSE.replace("from", "when: not (price < 3), from"),
            REFUSE.replace("from", "when: price < 3 and price > 1, from"),
        ),
        "no content fulfils its condition",
    ),
    "move that stands twice": Case(
        "P14",
        "error",
        text("final: [end]", "moves:", ASK, REFUSE, REFUSE),
        8,
        (ASKED, "asked: refuse b>a -> end"),
        text("final: [end]", "moves:", ASK, REFUSE),
        "line 7 says the same",
    ),
    "act that was never said": Case(
        "P14",
        "error",
        text(
            "final: [end]",
            "moves:",
            ASK,
            REFUSE,
            "  - {in: asked, act: agree, from: b, to: a, next: done, closes: answer}",
            "  - {in: done, act: inform, from: b, to: a, next: end}",
            "states: {done: {verify: confirm}}",
        ),
        9,
        (ASKED, "asked: agree b>a -> done"),
        text(
            "final: [end]",
            "moves:",
            ASK,
            REFUSE,
            "  - {in: asked, act: confirm, from: b, to: a, next: done, closes: answer}",
            "  - {in: done, act: inform, from: b, to: a, next: end}",
            "states: {done: {verify: confirm}}",
        ),
        "'confirm' has never been said",
    ),
    "loop without a bound": Case(
        "P15",
        "warning",
        text("final: [end]", "moves:", ASK, REFUSE, "  - {in: asked, act: inform, from: b, to: a, next: asked}"),
        8,
        (ASKED, "asked: inform b>a -> asked"),
        text(
            "final: [end]", "moves:", ASK, REFUSE, "  - {in: asked, act: inform, from: b, to: a, next: asked, max: 5}"
        ),
    ),
}


def faults(source: str, code: str | None = None) -> list[Fault]:
    found = check(load(source, "small.yaml", strict=False))
    return [fault for fault in found if code in {None, fault.code}]


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_a_fault_is_found_where_it_is_and_shown_by_a_shortest_path(case: Case) -> None:
    (fault,) = faults(case.faulty, case.code)
    assert (fault.level, fault.line, fault.trace) == (case.level, case.line, case.trace)
    assert case.says in fault.message


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_the_repaired_protocol_has_the_fault_no_more(case: Case) -> None:
    assert faults(case.repaired, case.code) == []
    assert [fault for fault in faults(case.repaired) if fault.level == "error"] == []


def test_every_code_has_a_case() -> None:
    assert {case.code for case in CASES.values()} == set(CODES)


@pytest.mark.parametrize("case", [case for case in CASES.values() if case.code not in {"P02", "P03", "P13"}])
def test_a_smallest_faulty_protocol_has_hardly_another_fault(case: Case) -> None:
    errors = {fault.code for fault in faults(case.faulty) if fault.level == "error"} - {case.code}
    # what can never be said leaves states without a way in or on
    assert errors <= {"P04", "P05"}


@pytest.mark.parametrize("name", shipped())
def test_every_shipped_protocol_passes_under_every_profile(name: str) -> None:
    for profile in dict.fromkeys((*shipped_protocol(name).profiles, "fipa", "jade", "strict")):
        found = check(shipped_protocol(name, profile))
        assert [fault for fault in found if fault.level == "error"] == []


def test_an_answer_without_a_deadline_that_the_file_declares_is_not_told_again() -> None:
    on_purpose = text("final: [end]", "moves:", ASK.replace("by: 60", "by: none"), REFUSE)
    assert faults(on_purpose) == []


def test_a_race_that_delivery_settles_is_a_warning() -> None:
    (fault,) = faults(CASES["race"].faulty + "delivery: fifo\n", "P07")
    assert fault.level == "warning"


def test_calling_off_what_may_be_on_its_way_is_a_warning() -> None:
    called_off = CASES["race"].faulty.replace("next: off}", "next: off, releases: answer}")
    assert [fault.level for fault in faults(called_off, "P07")] == ["warning"]
    both = called_off + "  - {in: asked, act: confirm, from: a, to: b, next: off}\n"
    both = both.replace("states: {off: {may_lapse: answer}}\n", "") + "states: {off: {may_lapse: answer}}\n"
    (fault,) = faults(both, "P07")
    assert (fault.level, fault.line) == ("error", 9)


def test_moves_that_commute_are_no_race() -> None:
    source = text(
        "final: [end]",
        "moves:",
        "  - {in: start, act: inform, from: a, to: b, next: both}",
        "  - {in: both, act: confirm, from: a, to: b, next: first}",
        "  - {in: both, act: agree, from: b, to: a, next: second}",
        "  - {in: first, act: agree, from: b, to: a, next: end}",
        "  - {in: second, act: confirm, from: a, to: b, next: end}",
    )
    assert faults(source) == []


def test_silence_that_is_an_answer_is_no_race() -> None:
    auction = text(
        "final: [end]",
        "moves:",
        "  - {in: start, act: cfp, from: a, to: b, next: round, quiet: true}",
        "  - {in: round, act: inform, kind: end, from: a, to: b, next: end}",
        "  - {in: round, act: propose, from: b, to: a, next: end}",
    )
    assert faults(auction) == []
    assert [fault.code for fault in faults(auction.replace(", quiet: true", ", by: 5"))] == ["P07"]


def test_a_general_move_beside_a_special_one_is_only_pointed_out() -> None:
    source = text("final: [end, off]", "moves:", ASK, REFUSE, REFUSE.replace("next: end", "kind: never, next: off"))
    (fault,) = faults(source)
    assert (fault.code, fault.level) == ("P06", "warning")


def test_a_cancel_that_is_not_confirmed_leads_back_with_everything_still_owed() -> None:
    source = text("final: [end]", "moves:", ASK, REFUSE, "include: [cancel, not-understood]")
    assert faults(source) == []
    (fault,) = faults(source.replace(", declares: answer", ""), "P09")
    assert fault.trace == (ASKED, "asked: refuse b>a -> end")


def test_delegated_and_assigned_obligations_may_be_ended_by_whom_a_message_named() -> None:
    source = text(
        "final: [end]",
        "moves:",
        ASK,
        "  - {in: asked, act: agree, from: b, to: a, next: taken, closes: answer, opens: performance, by: 60}",
        "  - {in: taken, act: inform, from: b, to: a, next: passed, delegates: performance}",
        "  - {in: passed, act: inform, from: b, to: a, next: end, closes: performance}",
    )
    assert faults(source) == []
    (fault,) = faults(source.replace("from: b, to: a, next: passed", "from: a, to: b, next: passed"), "P12")
    assert "delegates the performance" in fault.message


def test_three_roles_in_a_ring_know_what_to_do() -> None:
    source = text(
        "final: [end]",
        "moves:",
        "  - {in: start, act: request, from: a, to: b, next: one}",
        "  - {in: one, act: request, from: b, to: c, next: two}",
        "  - {in: two, act: inform, from: c, to: a, next: end}",
        head=THREE,
    )
    assert faults(source) == []


def test_a_choice_that_is_told_late_is_known_late() -> None:
    """c hears only after b has heard; before that it may do nothing in either branch."""
    source = text(
        "final: [end]",
        "moves:",
        "  - {in: start, act: request, from: a, to: b, next: yes}",
        "  - {in: start, act: inform, from: a, to: b, next: no}",
        "  - {in: yes, act: request, from: b, to: c, next: go}",
        "  - {in: no, act: request, from: b, to: c, next: stay}",
        "  - {in: go, act: agree, from: c, to: a, next: end}",
        "  - {in: stay, act: refuse, from: c, to: a, next: end}",
        head=THREE,
    )
    (fault,) = faults(source)
    assert (fault.code, fault.line) == ("P08", 6)
    assert "'c' cannot tell the states 'go' and 'stay' apart" in fault.message
    assert [line for line in fault.trace if line.startswith("either")] == [
        "either start: request a>b -> yes",
        "either yes: request b>c -> go",
    ]
    told = source.replace("next: stay}", "next: stay, kind: no}").replace("next: go}", "next: go, kind: yes}")
    assert faults(told) == []


def test_a_protocol_that_is_too_large_is_an_error_with_a_next_step() -> None:
    opens = tuple(Opening(f"k{number}", "b", "a") for number in range(20))
    moves = [
        Move(source="s", act="inform", senders=("a",), receiver="b", next="s", opens=(each,), repeat=True)
        for each in opens
    ]
    protocol = Protocol(
        name="large",
        roles={"a": Role("a"), "b": Role("b")},
        start="s",
        starter="a",
        states={"s": State(name="s")},
        moves=tuple(moves),
    )
    with pytest.raises(SpecError, match="too many to be checked") as caught:
        check(protocol)
    assert caught.value.next_step


def test_a_protocol_built_by_hand_is_checked_as_well() -> None:
    move = Move(
        source="start", act="inform", senders=("a",), receiver="a", next="end", when=Guard("x > 1", lambda _: False)
    )
    protocol = Protocol(
        name="p",
        roles={"a": Role("a")},
        start="start",
        starter="a",
        states={"start": State(name="start"), "end": State(name="end", final=True)},
        moves=(move,),
    )
    assert [fault.code for fault in check(protocol)] == ["P04", "P05", "P14"]
