"""Protocol files: what is read, and that what does not fit is refused where it stands."""

from __future__ import annotations

import copy
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dissensus.errors import SpecError
from dissensus.say.protocol import RESUME, Opening, Protocol
from dissensus.say.protocol_data import to_file
from dissensus.say.protocol_file import find_protocol, load, read_protocol, shipped, shipped_protocol
from dissensus.specfile import Spec, parse_spec

TEXT = """\
protocol: errand
version: 2
roles:
  boss: one
  clerk: {count: many}
  watch: any
start: {state: start, role: boss}
final: [end.done, end.refused]
states:
  asked: {label: waiting, may_lapse: answer, after: The clerk owes an answer.}
moves:
  - {in: start, act: request, from: boss, to: clerk*, next: asked, opens: answer, by: 60}
  - in: asked
    act: [inform, inform-done]
    from: [clerk, watch]
    to: boss
    next: end.done
    closes: answer
  - {in: asked, act: refuse, from: clerk, to: boss, next: end.refused, declares: answer, when: "price > 3"}
profiles:
  strict:
    must_correlate: true
    delivery: fifo
    remove: [{in: asked, act: refuse}]
    states: {asked: {label: pressed}}
"""


def changed(old: str, new: str) -> str:
    assert TEXT.count(old) == 1, old
    return TEXT.replace(old, new)


def bare(protocol: Protocol) -> Protocol:
    """``protocol`` without what depends on the place where it was written."""
    moves = tuple(replace(move, line=0) for move in protocol.moves)
    states = {name: replace(state, line=0) for name, state in protocol.states.items()}
    return replace(protocol, path="", profiles=(), moves=moves, states=states)


def test_everything_that_a_file_says_is_there() -> None:
    protocol = load(TEXT, "errand.yaml")
    assert (protocol.name, protocol.version, protocol.path) == ("errand", 2, "errand.yaml")
    assert (protocol.start, protocol.starter, protocol.partner) == ("start", "boss", "clerk")
    assert {role.name: (role.count, role.platform) for role in protocol.roles.values()} == {
        "boss": ("one", False),
        "clerk": ("many", False),
        "watch": ("any", True),
    }
    assert [state.name for state in protocol.states.values()] == ["start", "asked", "end.done", "end.refused"]
    assert [state.name for state in protocol.states.values() if state.final] == ["end.done", "end.refused"]
    assert protocol.states["asked"].shown == "waiting"
    assert protocol.states["asked"].may_lapse == ("answer",)
    first, plain, done, refuse = protocol.moves
    assert (first.to_all, first.receiver, first.by, first.deadline) == (True, "clerk", 60.0, "protocol")
    assert first.opens == (Opening("answer", "clerk", "boss"),)
    assert [(m.act, sorted(m.kinds)) for m in (plain, done)] == [("inform", []), ("inform", ["done"])]
    assert plain.senders == ("clerk", "watch")
    assert [move.line for move in protocol.moves] == [12, 13, 13, 19]
    assert refuse.when is not None
    assert refuse.when.holds({"price": 4})
    assert not refuse.when.holds({"price": 3})
    assert (protocol.delivery, protocol.must_correlate, protocol.profiles) == ("total", False, ("fipa", "strict"))


def test_a_profile_takes_away_adds_and_relabels() -> None:
    strict = load(TEXT, "errand.yaml", profile="strict")
    assert {move.act for move in strict.moves} == {"request", "inform"}
    assert (strict.profile, strict.delivery, strict.must_correlate) == ("strict", "fifo", True)
    assert strict.states["asked"].shown == "pressed"
    assert "end.refused" not in strict.states, "no move leads there any more"
    assert bare(load(TEXT, "errand.yaml", profile="jade")) == replace(bare(load(TEXT, "errand.yaml")), profile="jade")


def test_who_owes_follows_from_the_kind_unless_it_is_said() -> None:
    opens = "opens: [offer, decision, {kind: performance, debtor: clerk, creditor: boss}]"
    first = load(changed("opens: answer, by: 60", opens + ", by: none"), "x").moves[0]
    assert first.opens == (
        Opening("offer", "boss", "clerk"),
        Opening("decision", "clerk", "boss"),
        Opening("performance", "clerk", "boss"),
    )
    assert (first.by, first.deadline) == (None, "none")


def test_cancel_and_not_understood_are_worked_in_as_moves() -> None:
    protocol = load(TEXT + "include: [cancel, not-understood]\n", "x")
    brought = {(m.source, m.act, m.senders, m.receiver, m.next, m.declares) for m in protocol.moves if m.origin}
    owed = ("answer",)
    assert brought == {
        ("asked", "cancel", ("boss",), "clerk", "cancelling", ()),
        ("cancelling", "inform", ("clerk",), "boss", "end.cancelled", owed),
        ("cancelling", "failure", ("clerk",), "boss", RESUME, ("cancel",)),
        ("asked", "not-understood", ("clerk",), "boss", "end.not-understood", (*owed, "cancel")),
        ("cancelling", "not-understood", ("clerk",), "boss", "end.not-understood", (*owed, "cancel")),
    }
    assert protocol.states["end.cancelled"].final
    assert protocol.states["end.not-understood"].final
    assert not protocol.states["cancelling"].final
    cancel = next(move for move in protocol.moves if move.act == "cancel")
    assert cancel.opens == (Opening("cancel", "clerk", "boss"),)


@pytest.mark.parametrize(
    ("old", "new", "line", "says", "next_step"),
    [
        ("version: 2", "verson: 2", 2, "no key 'verson'. (Column 1.)", "Did you mean 'version'?"),
        ("closes: answer", "close: answer", 18, "no key 'close'. (Column 5.)", "Did you mean 'closes'?"),
        ("by: 60}", "bye: 60}", 12, "no key 'bye'. (Column 83.)", "Did you mean 'by'?"),
        ("by: 60}", "zzz: 60}", 12, "no key 'zzz'", "It may have: act, assigns"),
        ("may_lapse: answer", "may_laps: answer", 10, "A state has no key 'may_laps'", "'may_lapse'"),
        ("delivery: fifo", "order: fifo", 23, "A profile has no key 'order'", "It may have"),
        ("{count: many}", "{cuont: many}", 5, "A role has no key 'cuont'", "'count'"),
        ("from: [clerk, watch]", "from: [clark, watch]", 15, "The role 'clark' is not declared", "'clerk'"),
        ("to: clerk*", "to: clerks*", 12, "The role 'clerks' is not declared", "'clerk'"),
        ("act: request, from: boss", "act: requst, from: boss", 12, "'requst' is no communicative act", "'request'"),
        ("act: request, from: boss", "act: ready, from: boss", 12, "'ready' is no communicative act", "Declare it"),
        ("opens: answer", "opens: anser", 12, "'anser' is no kind of obligation", "'answer'"),
        ("may_lapse: answer", "may_lapse: [promise]", 10, "'promise' is no kind of obligation", "There are: answer"),
        ("next: asked,", "next: asekd,", 12, "The state 'asekd' has no moves and is not final", "'asked'"),
        ("next: end.done", "next: end.dne", 13, "The state 'end.dne' has no moves and is not final", "'end.done'"),
        ("  - in: asked\n", "  - in: askd\n", 13, "No move leads to the state 'askd'", "'asked'"),
        ("  asked: {label: w", "  askd: {label: w", 10, "No move knows the state 'askd'", "'asked'"),
        ("state: start, role", "state: strat, role", 7, "No move is made in the state 'strat'", "'start'"),
        ("role: boss}", "role: bos}", 7, "The role 'bos' is not declared", "'boss'"),
        ("watch: any", "watch: anyy", 6, "'watch' cannot be 'anyy'", "'any'"),
        ("watch: any", "watch*: any", 6, "'watch*' is no name for a role", "star"),
        ("delivery: fifo", "delivery: filo", 23, "'delivery' cannot be 'filo'", "'fifo'"),
        ("must_correlate: true", "must_correlate: 1", 22, "has to be true or false, not 1", ""),
        ("version: 2", "version: [2]", 2, "'version' has to be", ""),
        ("version: 2", "version: true", 2, "'version' has to be", ""),
        ("by: 60}", "by: soon}", 12, "'by' cannot be 'soon'", "reply_by"),
        ("by: 60}", "by: -1}", 12, "'by' has to be reply_by, none, or a number of seconds, not -1", ""),
        ("by: 60}", "by: .inf}", 12, "'by' has to be", ""),
        ("by: 60}", "by: [60]}", 12, "not a list", ""),
        ("by: 60}", "by: 60, max: 0}", 12, "'max' has to be a whole number from 1, not 0", ""),
        ("by: 60}", "by: 60, max: 1.5}", 12, "'max' has to be a whole number from 1", ""),
        ("by: 60}", "by: 60, late: refuse}", 12, "'late' cannot be 'refuse'", "It may be accept, reject."),
        ("by: 60}", "by: 60, forwards: twice}", 12, "'forwards' cannot be 'twice'", ""),
        ("by: 60}", "by: 60, repeat: often}", 12, "'repeat' has to be true or false, not 'often'", ""),
        ("opens: answer", "opens: {kind: answer}", 12, "An obligation needs 'debtor'", ""),
        ("opens: answer", "opens: 3", 12, "An obligation has to be a mapping", ""),
        ('"price > 3"', '"price >"', 19, "This condition cannot be read: it ends too early", "price > 3"),
        ("    next: end.done\n", "", 13, "A move needs 'next'", "docs"),
        ("    next: end.done\n", "    next: 3\n", 17, "'next' has to be a text, not 3", "quotes"),
        ("from: [clerk, watch]", "from: [clerk, 3]", 15, "'from' has to be a text or a list of texts, not 3", ""),
        ("remove: [{in: asked, act: refuse}]", "remove: [{in: asked, act: agree}]", 24, "No move fits", ""),
        ("remove: [{in: asked, act: refuse}]", "remove: [{}]", 24, "This takes away nothing", ""),
        ("remove: [{in: asked, act: refuse}]", "remove: {in: asked}", 24, "'remove' has to be a list", ""),
        ("final: [end.done, end.refused]", "final: []", 13, "The state 'end.done' has no moves and is not final", ""),
        ("profiles:\n", "profiles: [a]\nhidden:\n", 20, "Profiles has to be a mapping", ""),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused_where_it_stands(old: str, new: str, line: int, says: str, next_step: str) -> None:
    with pytest.raises(SpecError) as caught:
        load(changed(old, new), "errand.yaml")
    assert caught.value.line == line
    assert str(caught.value).startswith(f"errand.yaml:{line}: ")
    assert says in caught.value.message
    assert next_step in caught.value.next_step


@pytest.mark.parametrize("key", ["protocol", "roles", "start", "final", "moves"])
def test_what_a_protocol_cannot_be_without(key: str) -> None:
    data = {name: value for name, value in parse_spec(TEXT, "x", "protocol file").data.items() if name != key}
    with pytest.raises(SpecError, match=f"needs '{key}'"):
        load(Spec("x", data), "x")


def test_includes_and_profiles_that_nobody_knows() -> None:
    with pytest.raises(SpecError, match="'cancle' cannot be included") as caught:
        load(TEXT + "include: [cancle]\n", "x")
    assert (caught.value.line, caught.value.next_step) == (26, "Did you mean 'cancel'?")
    with pytest.raises(SpecError, match="no profile 'stric' in errand") as caught:
        load(TEXT, "x", profile="stric")
    assert caught.value.next_step == "Did you mean 'strict'?"
    with pytest.raises(SpecError, match="brought by 'include:'"):
        load(TEXT.replace("asked", "cancelling") + "include: [cancel]\n", "x")


def test_a_profile_is_read_even_if_another_is_wanted() -> None:
    with pytest.raises(SpecError, match="no key 'addd'"):
        load(TEXT + "  loud: {addd: []}\n", "x")


def test_a_file_that_would_make_millions_of_moves_is_refused() -> None:
    states = ", ".join(f"s{number}" for number in range(3000))
    acts = ", ".join(f"a{number}" for number in range(3000))
    text = changed("  - in: asked\n    act: [inform, inform-done]", f"  - in: [{states}]\n    act: [{acts}]")
    with pytest.raises(SpecError, match="more than 20000 moves"):
        load(text, "x", strict=False)


def test_what_the_static_checks_look_for_comes_through_when_not_strict() -> None:
    text = changed("act: request, from: boss", "act: requst, from: bos").replace("next: end.done", "next: nowhere")
    with pytest.raises(SpecError):
        load(text, "x")
    protocol = load(text, "x", strict=False)
    assert protocol.moves[0].act == "requst"
    assert protocol.moves[0].senders == ("bos",)
    assert "bos" not in protocol.roles
    assert not protocol.states["nowhere"].final
    with pytest.raises(SpecError, match="no key"):
        load(changed("closes: answer", "close: answer"), "x", strict=False)


def test_finding_by_name_and_by_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "errand.yaml"
    path.write_text(TEXT, encoding="utf-8")
    assert read_protocol(path, "strict") == load(TEXT, str(path), profile="strict")
    assert find_protocol(str(path)) == read_protocol(path)
    assert find_protocol("fipa-request") is shipped_protocol("fipa-request")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "errand").write_text(TEXT, encoding="utf-8")
    assert find_protocol("errand").name == "errand"
    with pytest.raises(SpecError, match="no protocol 'fipa-reqest'") as caught:
        find_protocol("fipa-reqest")
    assert caught.value.next_step == "Did you mean 'fipa-request'?"
    with pytest.raises(SpecError, match="cannot be read"):
        find_protocol("gone.yaml")


# --- files that may be anything

FOLDER = resources.files("dissensus.say") / "protocols"
SOURCES = {name: (FOLDER / f"{name}.yaml").read_text(encoding="utf-8") for name in shipped()}
PIECES = st.sampled_from(
    [
        *("in", "act", "next", "from", "to", "opens", "when", "profiles", "{", "}", "[", "]", ": ", "- ", "\n", "  "),
        *(
            "answer",
            "cancel",
            "end.done",
            "@resume",
            "null",
            "true",
            "1",
            "-3",
            "1e400",
            "'",
            '"',
            "&a ",
            "*a",
            "!!set",
        ),
    ]
)


def attempt(source: str | Spec, profile: str = "fipa", *, strict: bool) -> Protocol | None:
    """The protocol; None if the file was refused as it should be."""
    try:
        return load(source, "edited.yaml", profile=profile, strict=strict)
    except SpecError as error:
        return None if error.path == "edited.yaml" else pytest.fail(f"{error!r} names another file")


@st.composite
def edited_texts(draw: st.DrawFn) -> str:
    text = draw(st.sampled_from([*SOURCES.values(), TEXT]))
    for _ in range(draw(st.integers(1, 6))):
        at = draw(st.integers(0, len(text)))
        end = min(len(text), at + draw(st.integers(0, 12)))
        text = text[:at] + draw(PIECES | st.text(max_size=3)) + text[end:]
    return text


@given(edited_texts(), st.booleans(), st.sampled_from(["fipa", "jade", "strict", "loud"]))
def test_edited_files_load_or_are_refused(text: str, strict: bool, profile: str) -> None:
    protocol = attempt(text, profile, strict=strict)
    if protocol is not None:
        assert bare(load(Spec("x", to_file(protocol)), "x", strict=strict)) == bare(protocol)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.floats() | st.sampled_from(["", "start", "answer", "no", "a*"]),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["in", "act", "kind"]), inner, max_size=2)
    ),
    max_leaves=4,
)


@st.composite
def changed_data(draw: st.DrawFn) -> dict[str, Any]:
    data = copy.deepcopy(parse_spec(draw(st.sampled_from([*SOURCES.values(), TEXT])), "x", "protocol file").data)
    for _ in range(draw(st.integers(1, 3))):
        here: Any = data
        while True:
            keys = list(here) if isinstance(here, dict) else list(range(len(here)))
            key = draw(st.sampled_from(keys))
            if isinstance(here[key], dict | list) and here[key] and draw(st.booleans()):
                here = here[key]
                continue
            here[key] = draw(VALUES)
            break
    return data


@given(changed_data(), st.booleans())
def test_files_with_other_values_load_or_are_refused(data: dict[str, Any], strict: bool) -> None:
    attempt(Spec("edited.yaml", data), strict=strict)
