"""Pattern files: what prose does, where it belongs, what is wrong with a file."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dissensus.errors import SpecError
from dissensus.say.acts import ACTS
from dissensus.say.message import PATTERN, Message
from dissensus.say.monitor import Monitor
from dissensus.say.protocol_checks import check
from dissensus.say.protocol_file import shipped_protocol
from dissensus.say.readers.patterns import Patterns, default_patterns, parse_patterns, read_patterns, seen_of
from dissensus.say.readers.placing import PROTOCOLS
from dissensus.say.readers.regex_cost import MOST_STEPS, steps
from dissensus.say.readers.tagging import score
from dissensus.say.verdicts import Finding, Obligation

ROOT = Path(__file__).resolve().parents[2]
DIALOGUES = ROOT / "examples" / "labelled-dialogues.jsonl"

RULES = r"""
patterns:
  - {act: refuse, when: '(?i)\bI can''t\b'}
  - {act: agree, when: "(?i)\\bI'?ll (handle|do|take)\\b", not: '\bif\b', confidence: 0.8}
  - {act: inform-done, when: '(?i)\bdone\b'}
  - {act: failure, when: '(?i)\bfailed\b'}
  - {act: cancel, when: '(?i)\bnever mind\b'}
  - {act: query-if, when: '\?$'}
  - {act: request, when: '(?i)^please|, please', from: [ada, ben], to: [ben, eve]}
"""


def says(number: int, sender: str, text: Any, *receivers: str) -> Message:
    return Message(id=f"m{number}", sender=sender, receivers=receivers, thread="chat", content=text)


def told(patterns: Patterns, *lines: tuple[str, str, str]) -> list[Message]:
    """Lines of sender, receivers and text."""
    return [patterns.tag(says(at, who, text, *whom.split())) for at, (who, whom, text) in enumerate(lines)]


def judged(messages: list[Message]) -> tuple[list[Obligation], list[Finding]]:
    obligations: list[Obligation] = []
    findings: list[Finding] = []
    monitor = Monitor(on_closed=obligations.append, on_finding=findings.append)
    for message in messages:
        monitor.see(message)
    monitor.finish()
    return obligations, findings


def owed(messages: list[Message]) -> list[tuple[str, str, str]]:
    obligations, findings = judged(messages)
    assert not [f for f in findings if f.level != "info"]
    return sorted((o.kind, o.debtor, o.status) for o in obligations)


# --- tags


def test_the_first_rule_that_fits_decides() -> None:
    patterns = parse_patterns(RULES)
    rule = patterns.rule_for(says(1, "ada", "I can't, but I’ll handle the rest", "ben"))
    assert rule is not None
    assert (rule.act, rule.confidence) == ("refuse", 0.5)
    rule = patterns.rule_for(says(1, "ada", "OK,\n  I’ll\thandle it", "ben"))
    assert rule is not None
    assert (rule.act, rule.confidence, rule.line) == ("agree", 0.8, 4)
    assert patterns.rule_for(says(1, "ada", "I'll do it if you pay", "ben")) is None
    assert patterns.rule_for(says(1, "eve", "please go", "ben")) is None
    assert patterns.rule_for(says(1, "ada", "please go", "zoe")) is None


def test_what_has_an_act_is_left_alone() -> None:
    message = Message(id="1", sender="ada", receivers=("ben",), act="inform", thread="t", content="I can't")
    assert parse_patterns(RULES).tag(message) is message


def test_of_a_long_text_the_ends_are_seen() -> None:
    assert seen_of("a" * 50_000 + " done").endswith(" done")
    assert seen_of("done " + "a" * 50_000).startswith("done ")
    assert len(seen_of("a b " * 5_000)) == 2_000
    assert seen_of([{"type": "text", "text": "a\n\nb’s"}, {"type": "image"}]) == "a b's"
    assert seen_of(7) == ""


# --- places


def test_a_promise_that_was_asked_for_is_kept_in_the_thread_of_the_request() -> None:
    messages = told(
        parse_patterns(RULES),
        ("ada", "ben", "please look"),
        ("ben", "ada", "I'll do it, later"),
        ("ben", "ada", "Done."),
    )
    assert [(m.act, m.thread, m.protocol) for m in messages] == [
        (act, "said:m0", "fipa-request") for act in ("request", "agree", "inform")
    ]
    assert {(m.tag_source, m.content_type) for m in messages} == {(PATTERN, None), (PATTERN, "done")}
    assert owed(messages) == [("answer", "ben", "answered"), ("performance", "ben", "answered")]
    assert owed(messages[:2]) == [("answer", "ben", "answered"), ("performance", "ben", "pending")]


def test_a_promise_that_nobody_asked_for_is_one_too() -> None:
    messages = told(parse_patterns(RULES), ("ben", "ada", "I'll handle it, later"))
    assert [(m.act, m.protocol) for m in messages] == [("agree", "promise")]
    assert owed(messages) == [("performance", "ben", "pending")]
    messages = told(parse_patterns(RULES), ("ben", "ada", "I'll handle it"), ("ben", "ada", "that failed"))
    assert owed(messages) == [("performance", "ben", "declared:failed")]
    messages = told(parse_patterns(RULES), ("ben", "ada", "I'll handle it"), ("ben", "ada", "never mind"))
    assert owed(messages) == [("performance", "ben", "declared:cancelled")]


def test_an_answer_to_nothing_stays_untagged() -> None:
    lines = [("ada", "ben", text) for text in ("Done.", "I can't", "that failed", "never mind")]
    assert [m.act for m in told(parse_patterns(RULES), *lines)] == [None] * 4


def test_saying_yes_twice_is_one_promise_and_no_after_yes_is_a_failure() -> None:
    messages = told(
        parse_patterns(RULES), ("ada", "ben", "please look"), ("ben", "ada", "I'll do it"),
        ("ben", "ada", "I'll take it"), ("ben", "ada", "sorry, I can't"),
    )  # fmt: skip
    assert [m.act for m in messages] == ["request", "agree", None, "failure"]
    assert owed(messages) == [("answer", "ben", "answered"), ("performance", "ben", "declared:failed")]


def test_the_youngest_question_between_the_two_is_answered() -> None:
    messages = told(
        parse_patterns(RULES), ("ada", "ben", "please go"), ("ada", "eve", "please stay"), ("ada", "ben", "is it far?"),
        ("ben", "ada", "I can't say"), ("eve", "ada", "Done"), ("ben", "ada", "Done"),
    )  # fmt: skip
    assert [m.thread for m in messages] == ["said:m0", "said:m1", "said:m2", "said:m2", "said:m1", "said:m0"]
    assert {m.protocol for m in messages} == {"fipa-request", "fipa-query"}
    assert owed(messages) == [
        ("answer", "ben", "answered"), ("answer", "ben", "declared:refused"), ("answer", "eve", "answered")
    ]  # fmt: skip


def test_a_request_that_the_log_declares_is_answered_in_prose() -> None:
    patterns = parse_patterns(RULES)
    declared = Message(id="q", sender="ada", receivers=("ben",), act="request", thread="t1", protocol="four-state")
    answer = patterns.tag(says(2, "ben", "I'll do it", "ada")) if patterns.tag(declared) is declared else declared
    assert (answer.act, answer.thread, answer.protocol) == ("agree", "t1", "four-state")
    assert owed([declared, answer]) == [("answer", "ben", "answered"), ("performance", "ben", "pending")]


def test_whoever_is_spoken_to_by_name_is_addressed_else_who_spoke_before() -> None:
    patterns = parse_patterns(RULES.replace("from: [ada, ben], to: [ben, eve]", "confidence: 1"))
    lines = [
        ("ada", "", "hello"),
        ("ben", "", "Ada, are you there?"),
        ("ada", "", "Done"),
        ("eve", "ada", "@ben, please go"),
    ]
    messages = told(patterns, *lines)
    assert [m.receivers for m in messages] == [(), ("ada",), ("ben",), ("ben",)]
    assert messages[2].thread == messages[1].thread
    assert told(patterns, ("zoe", "", "Yes, please go"))[0].receivers == ("eve",)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["ada", "ben", "eve"]),
            st.sampled_from(["ada", "ben", "eve", ""]),
            st.sampled_from(["please go", "I'll do it", "Done", "it failed", "I can't", "never mind", "really?", "hm"]),
        ),
        max_size=25,
    )
)
def test_no_tag_makes_a_violation(lines: list[tuple[str, str, str]]) -> None:
    rules = RULES.replace("from: [ada, ben], to: [ben, eve]", "confidence: 1")
    messages = told(parse_patterns(rules), *((who, "" if who == whom else whom, text) for who, whom, text in lines))
    _, findings = judged(messages)
    assert [f.says for f in findings if f.level != "info"] == []
    assert [m.id for m in messages] == [f"m{at}" for at in range(len(lines))]


def test_the_protocol_of_promises_passes_its_checks() -> None:
    assert check(shipped_protocol("promise")) == ()
    assert set(PROTOCOLS) <= set(ACTS)


# --- files


@pytest.mark.parametrize(
    ("text", "line", "why"),
    [
        ("patterns:\n  - act: agree\n    wehn: x", 3, 'no key "wehn".*Did you mean "when"'),
        ("patterns:\n  - act: agreee\n    when: x", 2, "'agreee' is no communicative act.*'agree'"),
        ("patterns:\n  - act: ready\n    when: x", 2, "no act among the 22"),
        ("patterns:\n  - act: agree\n    when: '(x'", 3, "no regular expression: missing \\)"),
        ("patterns:\n  - act: agree\n    not: x", 2, "expression: when"),
        ("patterns:\n  - act: agree\n    when: '(a+)+b'", 3, "very long"),
        ("patterns:\n  - act: agree\n    when: x\n    confidence: 2", 4, "confidence"),
        ("patterns:\n  - act: agree\n    when: x\n    from: [1]", 4, "list of names"),
        ("patterns:\n  - when: x", 2, "name the act"),
        ("patterns:\n  - x", 2, "mapping"),
        ("patterns: []", 1, "list: patterns"),
        ("patters:\n  - x", 1, 'no key "patters"'),
        ("- x", 1, "mapping"),
    ],
)
def test_a_wrong_file_is_an_error_with_its_line(text: str, line: int, why: str) -> None:
    with pytest.raises(SpecError) as caught:
        parse_patterns(text, "p.yaml")
    assert caught.value.line == line
    assert re.search(why, str(caught.value), re.DOTALL), str(caught.value)


def test_a_file_is_read_and_a_missing_one_is_named(tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text(RULES)
    assert [rule.act for rule in read_patterns(tmp_path / "p.yaml").rules][:2] == ["refuse", "agree"]
    assert read_patterns("default").rules == default_patterns().rules
    with pytest.raises(SpecError, match=r"nowhere.yaml: The pattern file cannot be read"):
        read_patterns(tmp_path / "nowhere.yaml")


# --- expressions that take for ever


@pytest.mark.parametrize(
    ("expression", "slow"),
    [
        ("(a+)+b", "a" * 40), ("(a|aa)*c", "a" * 60), ("(a|a){0,60}c", "a" * 60), ("(?:(?:a*)*)*b", "a" * 40),
        ("(a?){40}a{40}b", "a" * 40), (r"(.*)(.*)(.*)(.*)x", "a" * 2_000), (r"(\w+\s?)*[.]", "a" * 60),
        ("([a-z]+)*[0-9]", "a" * 40), ("(?=(a+)+b)", "a" * 40), ("(x+x+)+y", "x" * 40),
    ],
)  # fmt: skip
def test_what_can_take_for_ever_is_refused_before_it_is_tried(expression: str, slow: str) -> None:
    assert re.compile(expression) is not None
    assert slow
    assert steps(expression, 2_000) > MOST_STEPS


@pytest.mark.parametrize(
    "expression",
    [
        r"(?i)\bI'?ll (handle|do|take)\b", ".*x", r"\bdone[.!]*$", r"(\w{1,20} ){0,3}end", "[]a]+b", "[^]]*", r"\(+\)",
        "a{3}", "a{x}", "(?P<n>a)(?P=n)", "(?#note)a+", "(?:a|b|c){0,4}", r"[\]\\]+", "a++b", "(?i:a)(?<=a)b", "x{,3}",
        "{", "a{2,}",
    ],
)  # fmt: skip
def test_plain_expressions_are_not(expression: str) -> None:
    re.compile(expression)
    assert steps(expression, 2_000) <= MOST_STEPS


PIECES = st.recursive(
    st.sampled_from(["a", "b", ".", "[ab]", r"\w", "aa"]),
    lambda inner: st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map(lambda two: f"(?:{two[0]}|{two[1]})"),
        st.tuples(inner, st.sampled_from(["*", "+", "?", "{0,3}", "{2}", "*?"])).map(
            lambda two: f"(?:{two[0]}){two[1]}"
        ),
    ),
    max_leaves=7,
)


@given(expression=PIECES)
def test_what_is_let_through_ends_on_the_worst_of_texts(expression: str) -> None:
    """An expression that is let through and never ends would hang here, until the run's own limit stops it."""
    if steps(expression + "!", 2_000) <= MOST_STEPS:
        assert re.search(expression + "!", "a" * 2_000) is None


# --- how good the shipped ones are


def test_the_figures_in_the_documentation_are_those_measured() -> None:
    rows = [json.loads(line) for line in DIALOGUES.read_text().splitlines()]
    patterns = default_patterns()
    labelled = [None if row["label"] == "none" else row["label"] for row in rows]
    found = []
    for row in rows:
        message = Message(id=row["id"], sender=row["sender"], receivers=tuple(row["receivers"]), content=row["content"])
        rule = patterns.rule_for(message)
        found.append(rule.act if rule else None)
    result = score(found, labelled)
    tagged = sum(act is not None for act in found)
    right = sum(act is not None and act == label for act, label in zip(found, labelled, strict=True))
    page = (ROOT / "docs" / "patterns.md").read_text()
    line = (
        f"{result.n} utterances, {tagged} tagged, {right} of them rightly; "
        f"accuracy {result.accuracy:.2f}, macro-F1 {result.macro_f1:.2f}"
    )
    assert line in page
    for act in ("request", "agree", "inform", "failure", "refuse"):
        recall, precision = result.recall(act), result.precision(act)
        assert recall is not None
        assert precision is not None
        assert f"| {act} | {labelled.count(act)} | {precision:.2f} | {recall:.2f} |" in page


def test_the_labelled_dialogues_audit_without_a_violation() -> None:
    rows = [json.loads(line) for line in DIALOGUES.read_text().splitlines()]
    patterns = default_patterns()
    messages = [patterns.tag(says(at, row["sender"], row["content"], *row["receivers"])) for at, row in enumerate(rows)]
    obligations, findings = judged(messages)
    assert [f.says for f in findings if f.level != "info"] == []
    kinds = {(o.kind, o.debtor, o.status) for o in obligations}
    assert ("performance", "coder", "pending") in kinds or ("performance", "coder", "declared:failed") in kinds
    assert ("performance", "ops", "answered") in kinds
