"""Readers of agent communication languages: FIPA and KQML as text, SPADE."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dissensus.errors import LogError
from dissensus.say.acts import ACTS, KQML
from dissensus.say.message import Message
from dissensus.say.monitor import Monitor
from dissensus.say.readers import fipa_text, spade
from dissensus.say.readers.base import Aside, Options, Reader, Skipped, Source
from dissensus.say.readers.expressions import Broken, Scanner, elements, names, plain
from dissensus.say.readers.registry import recognise
from dissensus.say.verdicts import Obligation

DATA = Path(__file__).parent / "data"


def source(text: str | bytes) -> Source:
    raw = text if isinstance(text, bytes) else text.encode()
    return Source("log", lambda: io.BytesIO(raw))


def written(name: str) -> str:
    return (DATA / name).read_text(encoding="utf-8")


def read(reader: Reader, text: str | bytes, **options: Any) -> list[Message]:
    items = list(reader.read(source(text), Options(**options)))
    assert all(isinstance(item, Message) for item in items), items
    return [item for item in items if isinstance(item, Message)]


def brief(found: Iterable[Message]) -> list[tuple[str, str, str, str | None]]:
    return [(m.act or "-", m.sender, ",".join(m.receivers), m.thread) for m in found]


def audited(found: Iterable[Message]) -> tuple[list[str], dict[str, str]]:
    closed: list[Obligation] = []
    findings: list[str] = []
    monitor = Monitor(
        on_closed=closed.append, on_finding=lambda one: findings.append(f"{one.verdict} {one.rule} {one.id}")
    )
    for m in found:
        monitor.see(m)
    monitor.finish()
    return findings, {f"{owed.thread}:{owed.sub}:{owed.kind}": owed.status for owed in closed}


def test_fipa_messages_over_lines_with_times_and_counted_strings() -> None:
    asides: list[Aside] = []
    found = read(fipa_text.READER, written("fipa.acl"), aside=asides.append)
    assert brief(found) == [
        ("cfp", "boss@plant", "p1@plant,p2@plant", "n1"),
        ("propose", "p1@plant", "boss@plant", "n1"),
        ("refuse", "p2@plant", "boss@plant", "n1"),
        ("request", "a", "b", "c2"),
        ("inform", "b", "a", "c2"),
    ]
    call, bid, _, request, done = found
    assert call.content == '((action (agent-identifier :name p1) (paint "the (old) door")))'
    assert (call.protocol, call.language, call.ontology) == ("fipa-contract-net", "fipa-sl", "painting")
    assert (call.reply_with, bid.in_reply_to, call.reply_by) == ("cfp1", "cfp1", 1_772_446_200.0)
    assert (call.at, call.line, bid.line) == (1_772_445_600.0, 2, 8)
    assert (request.content, request.line, request.protocol) == ('count (to" 3', 9, "fipa-request")
    assert request.reply_by is None  # it counts from the message's time, and none stands before this one
    assert (done.content_type, done.name) == ("done", "inform-done")
    assert [(aside.kind, aside.line) for aside in asides] == [
        ("text between messages", 1),
        ("text between messages", 10),
    ]
    findings, owed = audited(found)
    assert findings == []
    assert owed["c2::answer"] == "fulfilled"
    assert (owed["n1:p1@plant:answer"], owed["n1:p2@plant:answer"]) == ("fulfilled", "declared:refused")
    assert owed["n1:p1@plant:decision"] == "pending"


def test_a_deadline_with_a_sign_counts_from_the_time_before_the_message() -> None:
    text = (
        "10:00 2026-03-02T10:00:00Z (request :sender a :receiver b :reply-by +00000000T000500500 :conversation-id c)\n"
    )
    assert [m.reply_by for m in read(fipa_text.READER, text)] == [1_772_445_600.0 + 300.5]


def test_kqml_messages_and_the_rule_when_an_answer_is_owed() -> None:
    found = read(fipa_text.READER, written("kqml.txt"))
    assert brief(found) == [
        ("query-ref", "a", "b", "q1"),
        ("inform", "b", "a", "q1"),
        ("request", "a", "b", "m3"),
        ("refuse", "b", "a", "m3"),
        ("-", "a", "b", None),
        ("-", "b", "a", None),
        ("-", "a", "facilitator", None),
        ("proxy", "a", "facilitator", "q2"),
    ]
    assert [m.name for m in found] == [
        "ask-one",
        "tell",
        "achieve",
        "sorry",
        "achieve",
        "tell",
        "register",
        "recruit-one",
    ]
    assert [m.protocol for m in found if m.act] == [
        "fipa-query",
        "fipa-query",
        "fipa-request",
        "fipa-request",
        "fipa-recruiting",
    ]
    assert [m.tag_source for m in found if m.act] == ["field", "field", "field", "inferred", "field"]
    findings, owed = audited(found)
    assert findings == []
    assert owed["q1::answer"] == "fulfilled"
    assert owed["m3::answer"] == "declared:refused"


def test_a_protocol_that_was_chosen_holds_and_the_default_gives_way_to_the_first_act() -> None:
    text = "(query-if :sender a :receiver b :conversation-id c)\n"
    chosen = [read(fipa_text.READER, text, protocol=name)[0].protocol for name in (None, "fipa-request", "mine")]
    assert chosen == ["fipa-query", "fipa-query", "mine"]


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("(inform :sender a :receiver b :content (x)\n", 1, "not closed"),
        ('\n(inform :sender a :receiver b :content "x)\n', 2, "not closed"),
        ("\n(infrom :sender a :receiver b)\n", 2, "inform"),
        ("(inform :sender a :receiver b :content)\n", 1, "no parameter"),
        ("(inform :sender (agent-identifier :addresses (sequence x)) :receiver b)\n", 1, "no :name"),
        ("(request :sender a :receiver b :reply-by soon)\n", 1, "reply-by"),
        ("(request :sender a :receiver b :reply-by 20261399T100000000Z)\n", 1, "reply-by"),
        (b"(request :sender \xff :receiver b)\n", 1, "UTF-8"),
    ],
)
def test_what_cannot_be_read_is_an_error_with_its_line(text: str | bytes, line: int, says: str) -> None:
    with pytest.raises(LogError) as caught:
        list(fipa_text.READER.read(source(text), Options()))
    assert caught.value.line == line
    assert says in str(caught.value)
    items = list(fipa_text.READER.read(source(text), Options(lenient=True)))
    assert [item.line for item in items if isinstance(item, Skipped)] == [line]


def test_a_hundred_open_brackets_and_a_deep_content_are_read() -> None:
    deep = "(" * 5000 + "x" + ")" * 5000
    found = read(fipa_text.READER, f"(inform :sender a :receiver b :conversation-id c :content {deep})\n")
    assert found[0].content == deep


WORDS = st.from_regex(r"[a-z][a-z0-9@.-]{0,7}", fullmatch=True)
TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), max_size=12)


def quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


PARTIES = st.lists(WORDS, min_size=2, max_size=4, unique=True)


@given(st.sampled_from([*ACTS, *map(str.upper, ACTS)]), PARTIES, TEXTS, WORDS)
def test_what_is_written_is_read(act: str, parties: list[str], content: str, thread: str) -> None:
    sender, *receivers = parties
    to = " ".join(f"( agent-identifier :name {quoted(name)} )" for name in receivers)
    text = (
        f"({act}\n :sender (agent-identifier :name {sender} :addresses (sequence x://y))\n"
        f" :receiver (set {to} )\n :content {quoted(content)} :conversation-id {thread})"
    )
    (found,) = read(fipa_text.READER, text)
    assert (found.act, found.sender, list(found.receivers)) == (act.lower(), sender, receivers)
    assert (found.content, found.thread) == (content, thread)
    assert fipa_text.READER.recognise(source(text)) > 0


@given(TEXTS, st.integers(0, 40))
def test_a_scanner_finds_the_same_end_whatever_pieces_it_is_fed(content: str, cut: int) -> None:
    text = f'(a {quoted(content)} #3"()" (b) c)'
    whole = f"{text} (next)"
    assert Scanner().feed(whole) == len(text)
    scanner, at = Scanner(), min(cut, len(text) - 1)
    assert scanner.feed(whole[:at]) == 0
    assert scanner.feed(whole[at:]) == len(text) - at
    assert [plain(part) for part in elements(text)] == ["a", content, '()"'[:3], "(b)", "c"]


def test_names_of_agents_in_all_their_forms() -> None:
    assert names("a") == ["a"]
    assert names('"a b"') == ["a b"]
    assert names("(set (agent-identifier :name a) (AGENT-IDENTIFIER :addresses (sequence z) :name b))") == ["a", "b"]
    assert names("(sequence a b)") == names("(a b)") == ["a", "b"]
    assert names("()") == names("(set)") == names("") == []
    with pytest.raises(Broken):
        names("(" * 20 + "a" + ")" * 20)


@given(
    st.text(st.sampled_from(list('()":#\\ \n0123abt;')), max_size=60),
    st.sampled_from(["", "(request ", "(inform :sender a "]),
)
def test_any_text_is_read_or_refused_with_a_log_error(text: str, before: str) -> None:
    whole = before + text
    assert 0.0 <= fipa_text.READER.recognise(source(whole)) <= 1.0
    for lenient in (False, True):
        try:
            for item in fipa_text.READER.read(source(whole), Options(lenient=lenient)):
                assert isinstance(item, Message | Skipped)
        except LogError:
            assert not lenient


@given(
    st.lists(
        st.tuples(
            st.sampled_from([*ACTS, *KQML]),
            st.sampled_from("ab"),
            st.sampled_from(["", "r1", "r2"]),
            st.sampled_from(["", "r1", "r2"]),
        ),
        max_size=12,
    )
)
def test_messages_without_a_conversation_never_break_the_monitor(moves: list[tuple[str, str, str, str]]) -> None:
    """Two protocols in one thread would: guessing where a message belongs must not bring that about."""
    text = ""
    for act, sender, with_, to in moves:
        text += f"({act} :sender {sender} :receiver {'b' if sender == 'a' else 'a'}"
        text += (f" :reply-with {with_}" if with_ else "") + (f" :in-reply-to {to}" if to else "") + ")\n"
    found = read(fipa_text.READER, text)
    assert len(found) == len(moves)
    audited(found)


def test_spade_messages() -> None:
    found = read(spade.READER, written("spade.jsonl"))
    assert brief(found) == [
        ("request", "buyer@localhost", "shop@localhost", "k1"),
        ("agree", "shop@localhost", "buyer@localhost", "k1"),
        ("inform", "shop@localhost", "buyer@localhost", "k1"),
        ("-", "buyer@localhost", "shop@localhost", None),
        ("query-if", "buyer@localhost", "shop@localhost", "m5"),
        ("inform", "shop@localhost", "buyer@localhost", "m5"),
        ("-", "shop@localhost", "buyer@localhost", None),
    ]
    assert [m.tag_source for m in found if m.act] == ["field", "field", "field", "field", "inferred"]
    assert (found[3].name, found[0].ontology, found[0].content) == ("store-buy", "fruit", "apples")
    findings, owed = audited(found)
    assert findings == []
    assert owed == {"k1::answer": "fulfilled", "k1::performance": "fulfilled", "m5::answer": "answered"}
    messages = [json.loads(line) for line in written("spade.jsonl").splitlines()]
    assert brief(read(spade.READER, json.dumps({"messages": messages}))) == brief(found)


def test_spade_messages_as_they_are_printed() -> None:
    asides: list[Aside] = []
    found = read(spade.READER, written("spade.txt"), aside=asides.append)
    assert brief(found) == [
        ("request", "buyer@localhost", "shop@localhost", "k1"),
        ("refuse", "shop@localhost", "buyer@localhost", "k1"),
    ]
    assert (found[0].content, found[0].at, found[1].line) == ("apples\nand pears", 1_772_445_600.0, 6)
    assert [aside.line for aside in asides] == [5]
    cut = written("spade.txt").replace("</message>", "")
    with pytest.raises(LogError):
        list(spade.READER.read(source(cut), Options()))
    assert any(isinstance(item, Skipped) for item in spade.READER.read(source(cut), Options(lenient=True)))


def test_spade_bdi_performatives_and_a_message_without_metadata() -> None:
    told = {
        "to": "b@x",
        "sender": "a@x",
        "body": "car(red)",
        "thread": "t",
        "metadata": {"performative": "BDI", "ilf_type": "achieve"},
    }
    assert brief(read(spade.READER, json.dumps(told))) == [("request", "a@x", "b@x", "t")]
    with pytest.raises(LogError, match="metadata"):
        list(spade.READER.read(source('{"to": "b"}'), Options()))


@given(st.dictionaries(
    st.sampled_from(["to", "sender", "body", "thread", "metadata", "messages", "performative", "at", "id"]),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.sampled_from(["request", "inform"]),
        lambda inner: st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(["performative", "reply-with", "protocol", "reply-by"]), inner, max_size=3),
    ),
))  # fmt: skip
def test_spade_anything_in_the_right_envelope_is_read_or_refused_with_a_log_error(value: dict[str, Any]) -> None:
    text = json.dumps(value) + "\n"
    for lenient in (False, True):
        try:
            for item in spade.READER.read(source(text), Options(lenient=lenient)):
                assert isinstance(item, Message | Skipped)
        except LogError:
            assert not lenient


def test_a_misspelt_first_act_is_named_and_not_the_format() -> None:
    log = source("(requst :sender a :receiver b :conversation-id c)\n")
    assert recognise(log).name == "fipa-text"
    with pytest.raises(LogError) as caught:
        list(fipa_text.READER.read(log, Options()))
    assert caught.value.line == 1
    assert "request" in caught.value.next_step
