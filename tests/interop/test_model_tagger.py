"""Tags of a model: what it is asked, what is made of its replies, and what becomes of a log when it fails."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dissensus
from dissensus.agents.scripted import Scripted
from dissensus.errors import ModelNotFound, SpecError, UsageError
from dissensus.interop.message_logs import AuditReport
from dissensus.interop.model_tagger import CONTEXT, MOST_IN_A_ROW, MOST_WAITING, WINDOW, ModelTagger, open_tagger
from dissensus.say.audit import run
from dissensus.say.message import MODEL, PATTERN, Message
from dissensus.say.monitor import Monitor
from dissensus.say.readers.base import Item, Reader, Skipped, Source
from dissensus.say.readers.patterns import parse_patterns
from dissensus.say.readers.tagging import CHOICES
from dissensus.say.verdicts import Finding
from dissensus.script.calls import Call, Capability, Generate
from dissensus.script.outcomes import Outcome, Refusal, Reply, TransportFailure

NUMBERED = re.compile(r'^\d+\. \S+ to .*?: (".*")$', re.MULTILINE)
DIALOGUE = {
    "Could you draw the figures?": "request",
    "By noon.": "agree",
    "Lovely weather.": "none",
    "They are in the folder.": "inform",
}


def says(number: int, text: str, act: str | None = None, *, sender: str = "", **more: Any) -> Message:
    """Message ``number`` of a talk in which ada and ben take turns."""
    ada = number % 2 == 0
    fields: dict[str, Any] = {"sender": sender or ("ada" if ada else "ben"), "receivers": ("ben" if ada else "ada",)}
    return Message(id=f"m{number}", act=act, content=text, line=number + 1, **{**fields, **more})


def log(folder: Path, *texts: str | dict[str, Any]) -> Path:
    """A log of our own format, in which ada and ben take turns. A mapping gives further fields."""
    path = folder / "log.jsonl"
    lines = []
    for number, text in enumerate(texts):
        more = text if isinstance(text, dict) else {"content": text}
        sender, receiver = ("ada", "ben") if number % 2 == 0 else ("ben", "ada")
        lines.append(json.dumps({"id": f"m{number}", "sender": sender, "receivers": [receiver], **more}))
    path.write_text("\n".join(lines) + "\n")
    return path


def asked(call: Call) -> list[str]:
    """The texts that a call asks to tag."""
    return [json.loads(text) for text in NUMBERED.findall(call.turns[-1].text)]


def knowing(tags: dict[str, str], sure: float = 0.9, **options: Any) -> Scripted:
    """A model that knows the act of each text."""

    def answer(call: Call) -> str:
        found = [{"n": at, "act": tags[text], "confidence": sure} for at, text in enumerate(asked(call), 1)]
        return json.dumps(found)

    return Scripted(answer, keep_calls=True, **options)


def owed(report: AuditReport) -> list[tuple[str, str, str, str]]:
    return sorted((one.thread, one.kind, one.debtor, one.status) for one in report.obligations)


def alone(model: Callable[[Generate], Outcome], **how: Any) -> ModelTagger:
    """A tagger of a model that is a function."""
    return ModelTagger("mine", model, **how)


def adds_up(done: Any) -> bool:
    return bool(done.shown == done.tagged + done.none + done.unsure + done.unclear + done.no_place)


# --- a model that is right


def test_what_it_tags_is_owed_and_marked_as_its_guess(tmp_path: Path) -> None:
    model = knowing(DIALOGUE)
    report = dissensus.audit(log(tmp_path, *DIALOGUE), tagger=model)
    assert owed(report) == [("said:m0", "answer", "ben", "answered"), ("said:m0", "performance", "ben", "answered")]
    data = report.to_data()
    assert data["tagged_by"] == {"model": 3}
    assert data["counts"]["tagged"] == 3
    assert data["tagger"] == {
        "model": "scripted", "threshold": 0.5, "shown": 4, "tagged": 3, "none": 1, "unsure": 0, "unclear": 0,
        "no_place": 0, "not_shown": 0, "calls": 1, "failed_calls": 0, "failures": {}, "gave_up": False,
    }  # fmt: skip
    assert any("3 acts are guesses of the model scripted" in sentence for sentence in data["cannot_tell"])
    assert model.asked is not None
    (call,) = model.asked
    assert isinstance(call, Generate)
    assert (call.temperature, call.seed, call.schema) == (0.0, 0, None)


def test_a_model_that_can_keep_to_a_schema_is_given_one(tmp_path: Path) -> None:
    model = knowing(DIALOGUE, capabilities=frozenset({Capability.CHAT, Capability.SCHEMA}))
    dissensus.audit(log(tmp_path, *DIALOGUE), tagger=model)
    assert model.asked is not None
    (call,) = model.asked
    assert isinstance(call, Generate)
    schema: Any = call.schema
    tags = schema["properties"]["tags"]
    assert (tags["minItems"], tags["maxItems"]) == (4, 4)
    assert tags["items"]["properties"]["act"]["enum"] == list(CHOICES)


def test_it_is_asked_about_some_at_a_time_with_what_came_before(tmp_path: Path) -> None:
    texts = [f"Word {number}." for number in range(2 * WINDOW + 1)]
    model = knowing(dict.fromkeys(texts, "none"))
    report = dissensus.audit(log(tmp_path, *texts), tagger=model)
    assert model.asked is not None
    assert [len(asked(call)) for call in model.asked] == [WINDOW, WINDOW, 1]
    assert [text for call in model.asked for text in asked(call)] == texts
    before = [line for line in model.asked[1].turns[-1].text.splitlines() if re.match(r"- (ada|ben) to ", line)]
    assert [json.loads(line.partition(": ")[2]) for line in before] == texts[WINDOW - CONTEXT : WINDOW]
    assert report.tally.tagged == 0


def test_what_the_log_declares_is_shown_never_asked_and_never_changed(tmp_path: Path) -> None:
    model = knowing({"On it.": "agree", "Done.": "inform", "Hm.": "none"})
    declared = {"act": "request", "thread": "f1", "content": "Draw it."}
    report = dissensus.audit(log(tmp_path, declared, "On it.", "Hm.", "Done."), tagger=model)
    assert model.asked is not None
    prompt = model.asked[0].turns[-1].text
    assert '- ada to ben (request): "Draw it."' in prompt
    assert asked(model.asked[0]) == ["On it.", "Hm.", "Done."]
    assert owed(report) == [("f1", "answer", "ben", "answered"), ("f1", "performance", "ben", "answered")]
    assert report.to_data()["tagged_by"] == {"field": 1, "model": 2}


def test_a_message_without_a_text_is_not_asked_about(tmp_path: Path) -> None:
    model = Scripted("[]", keep_calls=True)
    report = dissensus.audit(log(tmp_path, "", {"content": None}, {"content": {"n": 3}}), tagger=model)
    assert model.calls == 0
    assert report.tally.messages == 3
    assert report.tagger is not None
    assert (report.tagger.shown, report.tagger.not_shown) == (0, 0)


def test_tags_that_are_not_sure_enough_are_not_applied(tmp_path: Path) -> None:
    path = log(tmp_path, *DIALOGUE)
    for threshold, tagged in ((0.4, 3), (0.41, 0)):
        report = dissensus.audit(path, tagger=knowing(DIALOGUE, 0.4), tagger_threshold=threshold)
        assert report.tagger is not None
        assert (report.tagger.tagged, report.tagger.unsure, report.tagger.none) == (tagged, 3 - tagged, 1)
        assert report.tally.sources[MODEL] == tagged


# --- together with patterns

PATTERNS = "patterns:\n  - {act: agree, when: '(?i)^on it'}\n"


def test_patterns_go_first_and_their_tags_find_the_models_threads(tmp_path: Path) -> None:
    rules = tmp_path / "rules.yaml"
    rules.write_text(PATTERNS)
    model = knowing({"Could you draw it?": "request", "There you are.": "inform", "Sure?": "none"})
    path = log(tmp_path, "Could you draw it?", "On it.", "Sure?", "There you are.")
    report = dissensus.audit(path, tagger=model, patterns=rules)
    assert model.asked is not None
    assert "On it." not in asked(model.asked[0])
    assert '- ben to ada: "On it."' in model.asked[0].turns[-1].text  # a guess is not shown as if it were declared
    assert owed(report) == [("said:m0", "answer", "ben", "answered"), ("said:m0", "performance", "ben", "answered")]
    assert report.to_data()["tagged_by"] == {"model": 2, "pattern": 1}


def test_patterns_alone_find_the_threads_that_the_log_declares(tmp_path: Path) -> None:
    rules = tmp_path / "rules.yaml"
    rules.write_text(PATTERNS)
    path = log(tmp_path, {"act": "request", "thread": "f1", "content": "Draw it."}, "On it.")
    first, second = (dissensus.audit(path, patterns=str(rules)) for _ in range(2))
    assert owed(first) == [("f1", "answer", "ben", "answered"), ("f1", "performance", "ben", "pending")]
    assert owed(first) == owed(second)  # what the first log taught is not known in the second
    assert first.tagger is None
    assert first.to_data()["tagger"] is None


# --- models that fail


def test_garbage_tags_nothing_and_is_counted(tmp_path: Path) -> None:
    report = dissensus.audit(log(tmp_path, *DIALOGUE), tagger=Scripted("Let me think about it."))
    assert report.tagger is not None
    assert report.tagger.failures == {"unreadable": 1}
    assert (report.tagger.shown, report.tagger.not_shown) == (0, 4)
    assert report.tally.tagged == 0
    assert any("4 messages without an act could not be judged" in told for told in report.tally.cannot_tell())


def test_acts_that_are_none_and_places_that_are_none(tmp_path: Path) -> None:
    reply = (
        '[{"n": 1, "act": "dance", "confidence": 1}, {"n": 2, "act": "agree", "confidence": 1}, '
        '{"n": 3, "act": "inform", "confidence": 1}, {"n": 9, "act": "inform", "confidence": 1}]'
    )
    report = dissensus.audit(log(tmp_path, "a", "b", "c", "d"), tagger=Scripted(reply))
    done = report.tagger
    assert done is not None
    # dance is no act; agree opens a promise; inform answers nothing of ada's; of the fourth it said nothing
    assert (done.unclear, done.tagged, done.no_place, done.shown) == (2, 1, 1, 4)
    assert not [finding for finding in report.findings if finding.level == "violation"]


@pytest.mark.parametrize("said", [1, 3])
def test_too_few_tags_leave_the_rest_untagged(tmp_path: Path, said: int) -> None:
    tags = [{"n": at + 1, "act": act, "confidence": 1} for at, act in enumerate(DIALOGUE.values())]
    report = dissensus.audit(log(tmp_path, *DIALOGUE), tagger=Scripted(json.dumps(tags[:said])))
    assert report.tagger is not None
    assert (report.tagger.shown, report.tagger.unclear) == (4, 4 - said)
    assert report.tally.sources[MODEL] == min(said, 2)


def test_a_model_that_refuses(tmp_path: Path) -> None:
    report = dissensus.audit(log(tmp_path, *["No."] * 100), tagger=Scripted(Refusal(text="I would rather not.")))
    done = report.tagger
    assert done is not None
    calls = -(-100 // WINDOW)
    assert (done.calls, done.failures, done.not_shown, done.gave_up) == (calls, {"refusal": calls}, 100, False)


def test_a_model_that_dies_leaves_what_it_tagged(tmp_path: Path) -> None:
    texts = ["Could you draw it?", "By noon.", *["Hm."] * (WINDOW - 2), *["Never."] * 200]
    tags = {"Could you draw it?": "request", "By noon.": "agree", "Hm.": "none"}
    model = knowing(tags, dies_after=1)
    report = dissensus.audit(log(tmp_path, *texts), tagger=model)
    done = report.tagger
    assert done is not None
    assert (done.shown, done.tagged, done.not_shown, done.gave_up) == (WINDOW, 2, 200, True)
    assert done.failures == {"connect": MOST_IN_A_ROW}
    assert model.calls == done.calls == 1 + MOST_IN_A_ROW
    assert owed(report) == [("said:m0", "answer", "ben", "answered"), ("said:m0", "performance", "ben", "pending")]
    assert any("asked no more" in told for told in report.tally.cannot_tell())


def test_a_model_that_fails_now_and_then_is_asked_on() -> None:
    broken: list[Outcome] = [TransportFailure(problem="gone", cause="connect")] * (MOST_IN_A_ROW - 1)
    outcomes = [*broken, Reply(text='["none"]'), *broken, Reply(text='["none"]')]
    answers = iter(outcomes)
    tagger = alone(lambda _call: next(answers), window=1)
    kept = list(tagger.through(iter([says(number, "Hm.") for number in range(len(outcomes))])))
    assert len(kept) == len(outcomes)
    done = tagger.done
    assert (done.shown, done.not_shown, done.gave_up) == (2, 2 * len(broken), False)


def test_a_call_without_an_end_is_given_up() -> None:
    model = Scripted("later", delay_s=3600.0)
    with open_tagger(model, deadline_s=0.05) as tagger:
        assert [item.line for item in tagger.through(iter([says(0, "Hm.")]))] == [1]
    assert tagger.done.failures == {"timeout": 1}


def test_a_back_end_that_raises_is_a_failed_call() -> None:
    def broken(_call: Call) -> str:
        raise ZeroDivisionError("in somebody's back end")

    with open_tagger(Scripted(broken)) as tagger:
        assert len(list(tagger.through(iter([says(0, "Hm.")])))) == 1
    assert tagger.done.failures == {"crashed": 1}


def test_a_prompt_that_is_too_long_is_asked_in_parts() -> None:
    def small(call: Generate) -> Outcome:
        texts = asked(call)
        if len(texts) > 2:
            return TransportFailure(problem="too long", cause="context-length")
        return Reply(text=json.dumps([{"act": text} for text in texts]))

    acts = ["request", "agree", "none", "inform", "request", "refuse", "none"]
    tagger = alone(small, window=len(acts))
    found = tagger.tags_for([says(number, act) for number, act in enumerate(acts)])
    assert [tag and (tag[0] or "none") for tag in found] == acts
    assert tagger.done.failures == {}
    assert tagger.done.calls == 4


def test_a_message_that_is_too_long_alone_is_a_failed_call() -> None:
    tagger = alone(lambda _call: TransportFailure(problem="too long", cause="context-length"), window=2)
    assert tagger.tags_for([says(0, "x"), says(1, "y")]) == [None, None]
    assert tagger.done.failures == {"context-length": 2}


# --- order, memory, and what never changes

ACTS = st.sampled_from(list(CHOICES))


@given(
    items=st.lists(
        st.sampled_from(["said", "empty", "declared", "wire", "skipped", "I'll take it.", "Please go."]),
        max_size=40,
    ),
    tags=st.lists(st.tuples(ACTS, st.sampled_from([0.2, 0.9])), min_size=1, max_size=7),
    window=st.integers(1, 5),
    reliable=st.booleans(),
    with_patterns=st.booleans(),
)
def test_all_come_out_in_order_and_only_what_has_no_act_is_tagged(
    items: list[str], tags: list[tuple[str, float]], window: int, reliable: bool, with_patterns: bool
) -> None:
    def model(call: Generate) -> Outcome:
        if not reliable and len(call.turns[0].text) % 3 == 0:
            return Refusal()
        found = [tags[at % len(tags)] for at in range(len(asked(call)))]
        return Reply(text=json.dumps([{"act": act, "confidence": sure} for act, sure in found]))

    given_: list[Item] = []
    for number, what in enumerate(items):
        match what:
            case "skipped":
                given_.append(Skipped(number + 1, "broken"))
            case "declared":
                given_.append(says(number, "Draw it.", "request", thread=f"f{number}"))
            case "wire":
                given_.append(says(number, "{}", protocol="mcp", wire={"method": "ping"}))
            case _:
                given_.append(says(number, "" if what == "empty" else what))
    rules = parse_patterns('patterns:\n  - {act: agree, when: "I\'ll"}\n  - {act: request, when: Please}\n')
    tagger = alone(model, window=window, patterns=rules if with_patterns else None)
    got = list(tagger.through(iter(given_)))
    assert [item.line for item in got] == [item.line for item in given_]
    for before, after in zip(given_, got, strict=True):
        if isinstance(before, Skipped) or before.act is not None or before.wire is not None or not before.content:
            assert after is before
        else:
            assert isinstance(after, Message)
            assert (after.id, after.sender, after.content) == (before.id, before.sender, before.content)
            assert after is before or after.tag_source in {MODEL, PATTERN}
            assert after.act is None or after.thread is not None
    done = tagger.done
    said = [item for item in got if isinstance(item, Message)]
    assert done.tagged == sum(item.tag_source == MODEL for item in said)
    assert adds_up(done)
    texts = [item for item in given_ if isinstance(item, Message) and item.act is None and item.wire is None]
    by_rule = [item for item in texts if with_patterns and rules.rule_for(item) is not None]
    assert done.shown + done.not_shown == sum(bool(item.content) for item in texts) - len(by_rule)


@given(tags=st.lists(ACTS, min_size=1, max_size=30), speakers=st.lists(st.integers(0, 2), min_size=30, max_size=30))
def test_no_tags_whatever_make_a_violation(tags: list[str], speakers: list[int]) -> None:
    answers = iter(tags)

    def model(call: Generate) -> Outcome:
        return Reply(text=json.dumps([{"act": next(answers), "confidence": 1} for _ in asked(call)]))

    names = ("ada", "ben", "cleo")
    talk = [
        says(at, "Hm.", sender=names[who], receivers=(names[(who + 1 + at % 2) % 3],))
        for at, who in enumerate(speakers[: len(tags)])
    ]
    findings: list[Finding] = []
    monitor = Monitor(on_finding=findings.append)
    for item in alone(model).through(iter(talk)):
        assert isinstance(item, Message)
        monitor.see(item)
    monitor.finish()
    assert [finding.says for finding in findings if finding.level != "info"] == []


def audited(messages: list[Message], tagger: ModelTagger | None) -> list[Finding]:
    """What the audit's own loop finds in messages of ada, ben and cleo."""
    findings: list[Finding] = []
    reader = Reader(
        name="t", title="", recognise=lambda _: 1, read=lambda _source, _options: iter(messages), looks_for=""
    )
    through = None if tagger is None else tagger.through
    run(Source("t", io.BytesIO), reader, Monitor(on_finding=findings.append), through=through)
    return findings


DECLARED = ["request", "agree", "inform", "refuse", "failure", "cancel", "cfp", "propose", "query-ref"]
FOLLOWS = {"cfp": "fipa-contract-net", "query-ref": "fipa-query", "propose": "fipa-propose"}


@given(
    talk=st.lists(
        st.tuples(
            st.sampled_from(["", "", "", *DECLARED[:4], *DECLARED]),
            st.sampled_from([("ben", "ada"), ("ben", "ada"), ("ada", "ben"), ("cleo", "ada")]),
            st.sampled_from(["agree", "inform"]) | ACTS,
        ),
        min_size=1,
        max_size=20,
    )
)
def test_a_guess_makes_nobody_guilty(talk: list[tuple[str, tuple[str, str], str]]) -> None:
    """Whatever the model says, what is a violation with its tags was one without them."""
    talk = [("request", ("ada", "ben"), ""), *talk]
    messages = []
    for at, (act, (sender, receiver), _) in enumerate(talk):
        where = {"thread": FOLLOWS.get(act, "t"), "protocol": FOLLOWS.get(act)} if act else {}
        messages.append(says(at, f"{at}", act or None, sender=sender, receivers=(receiver,), **where))

    def model(call: Generate) -> Outcome:
        return Reply(text=json.dumps([{"act": talk[int(text)][2], "confidence": 1} for text in asked(call)]))

    guilty = {finding.id for finding in audited(messages, None) if finding.level == "violation"}
    with_tags = audited(messages, alone(model))
    assert {finding.id for finding in with_tags if finding.level == "violation"} <= guilty


def test_what_only_a_guess_made_illegal_is_a_warning(tmp_path: Path) -> None:
    path = log(
        tmp_path,
        {"act": "request", "thread": "f1", "content": "Draw it."},
        "Done.",
        {"act": "request", "thread": "f2"},
        {"act": "inform", "thread": "f1"},
        {"act": "agree", "thread": "f3"},
    )
    report = dissensus.audit(path, tagger=knowing({"Done.": "inform"}))
    found = {finding.id: (finding.level, finding.says) for finding in report.findings}
    assert found["m3"][0] == "warning"
    assert "unless an act that was guessed before it is wrong" in found["m3"][1]
    assert found["m4"][0] == "violation"  # no guess has a part in that
    assert (report.tally.violations, report.tally.warnings) == (1, 1)


def test_little_is_held_back() -> None:
    taken = 0

    def endless() -> Iterator[Item]:
        nonlocal taken
        while True:
            taken += 1
            yield says(taken, "Hm.", None if taken > 1000 else "inform", thread="t")

    tagger = alone(lambda _call: Refusal())
    passing = tagger.through(endless())
    for given_back in range(2_000):
        next(passing)
        assert taken - given_back <= (MOST_WAITING if given_back < 1_000 else MOST_WAITING + WINDOW)
    assert 0 < tagger.done.calls <= 1_000 / WINDOW + 2


# --- which model


def test_a_model_of_a_panel_file(tmp_path: Path) -> None:
    panel = tmp_path / "panel.yaml"
    panel.write_text(
        "models:\n"
        "  judge: {use: 'scripted:', name: the-judge, rules: [{when: Hm, say: '[{\"act\": \"none\"}]'}]}\n"
        "  other: {use: 'scripted:nothing'}\n"
        "agents:\n  - {name: ada, model: judge}\n  - {name: ben, model: other}\n"
    )
    path = log(tmp_path, "Hm.")
    for name in ("judge", "ada"):
        report = dissensus.audit(path, tagger=f"{panel}#{name}")
        assert report.tagger is not None
        assert (report.tagger.model, report.tagger.none) == ("the-judge", 1)
    with pytest.raises(UsageError, match="several models"):
        dissensus.audit(path, tagger=str(panel))
    with pytest.raises(UsageError, match="no model or agent 'zoe'"):
        dissensus.audit(path, tagger=f"{panel}#zoe")
    panel.write_text(
        'models:\n  judge: {use: \'scripted:[{"act": "none"}]\'}\nagents:\n  - {name: ada, model: judge}\n'
    )
    report = dissensus.audit(path, tagger=str(panel))
    assert report.tagger is not None
    assert report.tagger.none == 1


def test_what_cannot_be_opened_is_an_error_before_anything_is_read(tmp_path: Path) -> None:
    path = log(tmp_path, "Hm.")
    with pytest.raises(ModelNotFound):
        dissensus.audit(path, tagger="no-such-model")
    with pytest.raises(SpecError):
        dissensus.audit(path, tagger=f"{tmp_path}/no-such-panel.yaml")
    with pytest.raises(UsageError, match="takes no chat"):
        dissensus.audit(path, tagger=Scripted("x", capabilities=frozenset({Capability.LOGPROBS})))
    with pytest.raises(UsageError, match="from 0 to 1"):
        dissensus.audit(path, tagger=Scripted("x"), tagger_threshold=2)


def test_a_model_is_closed_by_whoever_opened_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[str] = []

    async def close(self: Scripted) -> None:
        closed.append(self.name)

    monkeypatch.setattr(Scripted, "close", close)
    path = log(tmp_path, "Hm.")
    dissensus.audit(path, tagger=Scripted('["none"]', name="mine"))
    assert closed == []
    dissensus.audit(path, tagger='scripted:["none"]')
    assert closed == ["scripted"]
    path.write_text(path.read_text() + "broken\n")
    with pytest.raises(dissensus.DissensusError):
        dissensus.audit(path, tagger='scripted:["none"]')
    assert closed == ["scripted"] * 2


def test_a_real_model_answers_in_the_form(tmp_path: Path, smollm2_path: Path) -> None:
    """How well it tags is measured in benchmarks/bench_tagging.py; here, that a call goes through and is read."""
    report = dissensus.audit(log(tmp_path, "Could you draw it?", "By noon."), tagger=str(smollm2_path))
    done = report.tagger
    assert done is not None
    assert done.model.startswith("llama:smollm2")
    assert (done.calls, done.failures, done.shown, done.not_shown) == (1, {}, 2, 0)
    assert adds_up(done)


def test_the_figures_in_the_documentation_are_those_kept() -> None:
    root = Path(__file__).resolve().parents[2]
    page = (root / "docs" / "patterns.md").read_text()
    kept = json.loads((root / "benchmarks" / "results" / "tagging.json").read_text())["facts"]
    assert len(kept) == 5
    for who, figures in kept.items():
        row = f"{figures['accuracy']:.2f} | {figures['macro_f1']:.2f} | {figures['tagged']} | {figures['rightly']} |"
        assert f"| {who} | {row}" in page, (who, row)
