"""Readers of the logs of AutoGen, AgentChat, ChatDev, CrewAI and MetaGPT, on small logs of our own."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dissensus.errors import LogError
from dissensus.say.message import Message
from dissensus.say.monitor import Monitor
from dissensus.say.readers import agentchat, autogen, chatdev, crewai, metagpt
from dissensus.say.readers.base import Aside, Options, Reader, Skipped, Source
from dissensus.say.verdicts import Obligation

DATA = Path(__file__).parent / "data"
AUTOGEN, AGENTCHAT = autogen.READER, agentchat.READER


def source(text: str | bytes) -> Source:
    raw = text if isinstance(text, bytes) else text.encode()
    return Source("log", lambda: io.BytesIO(raw))


def written(name: str) -> str:
    return (DATA / name).read_text(encoding="utf-8")


def lines(objects: Iterable[Any]) -> str:
    return "".join(json.dumps(one) + "\n" for one in objects)


def read(reader: Reader, text: str | bytes, **options: Any) -> list[Message]:
    items = list(reader.read(source(text), Options(**options)))
    assert all(isinstance(item, Message) for item in items), items
    return [item for item in items if isinstance(item, Message)]


def brief(found: Iterable[Message]) -> list[tuple[str, str, str, str | None]]:
    return [(m.act or "-", m.sender, ",".join(m.receivers), m.thread) for m in found]


def audited(found: Iterable[Message]) -> tuple[list[str], dict[str, str]]:
    """The rules that were broken, and per thread what became of the last obligation in it."""
    closed: list[Obligation] = []
    findings: list[str] = []
    monitor = Monitor(on_closed=closed.append, on_finding=lambda one: findings.append(f"{one.rule} {one.id}"))
    for m in found:
        monitor.see(m)
    monitor.finish()
    return findings, {f"{owed.thread}:{owed.kind}": owed.status for owed in closed}


def test_autogen_events() -> None:
    asides: list[Aside] = []
    found = read(AUTOGEN, written("autogen.log"), aside=asides.append)
    assert brief(found) == [
        ("request", "user", "writer/default", "direct:2"),
        ("request", "writer/default", "researcher/default", "direct:4"),
        ("request", "researcher/default", "search", "call:search@6"),
        ("inform", "search", "researcher/default", "call:search@6"),
        ("request", "researcher/default", "gpt-4o", "call:gpt-4o@7"),
        ("inform", "gpt-4o", "researcher/default", "call:gpt-4o@7"),
        ("inform", "researcher/default", "writer/default", "direct:4"),
        ("request", "writer/default", "checker/default", "direct:10"),
        ("failure", "checker/default", "writer/default", "direct:10"),
        ("request", "writer/default", "printer/default", "direct:13"),
        ("failure", "ams", "writer/default", "direct:13"),
        ("-", "writer/default", "news/default", None),
        ("request", "writer/default", "archive/default", "direct:17"),
        ("-", "ams", "writer/default", None),
    ]
    assert found[0].outside
    assert found[0].at == pytest.approx(1_771_638_913.101)
    assert (found[-1].content_type, found[-1].about, found[-1].line) == ("lost", "archive/default", 17)
    assert found[10].about == "printer/default"
    assert len(found) - 3 + len(asides) == 17  # a call is two messages of one line; "lost" is none
    findings, owed = audited(found)
    assert findings == []
    assert owed == {
        "direct:2:answer": "unknown",
        "direct:4:answer": "fulfilled",
        "call:search@6:answer": "fulfilled",
        "call:gpt-4o@7:answer": "fulfilled",
        "direct:10:answer": "declared:failed",
        "direct:13:answer": "declared:failed",
        "direct:17:answer": "pending",
    }


def direct(sender: str | None, receiver: str | None, kind: str, stage: str, payload: str = "{}") -> dict[str, Any]:
    return {
        "payload": payload,
        "sender": sender,
        "receiver": receiver,
        "kind": f"MessageKind.{kind}",
        "delivery_stage": f"DeliveryStage.{stage}",
        "type": "Message",
    }


def test_autogen_without_logged_deliveries_answers_when_sent_and_nothing_is_lost() -> None:
    found = read(AUTOGEN, lines([direct("a", "b", "DIRECT", "SEND"), direct("b", "a", "RESPOND", "SEND")]))
    assert [m.act for m in found] == ["request", "inform"]


def test_autogen_an_answer_that_was_sent_and_never_arrived_leaves_the_request_open() -> None:
    log = [
        direct("a", "b", "DIRECT", "SEND"),
        direct("a", "b", "DIRECT", "DELIVER"),
        direct("b", "a", "RESPOND", "SEND"),
    ]
    other = [direct("c", "d", "DIRECT", "SEND"), direct("c", "d", "DIRECT", "DELIVER"),
             direct("d", "c", "RESPOND", "SEND"), direct("d", "c", "RESPOND", "DELIVER")]  # fmt: skip
    found = read(AUTOGEN, lines([*log, *other]))
    assert [(m.act, m.line) for m in found] == [("request", 1), ("request", 4), ("inform", 7), (None, 3)]
    assert found[-1].content == "RESPOND to a, sent in line 3: no delivery in this log"


def test_autogen_pairing_of_several_requests_between_the_same_two_is_inferred() -> None:
    log = [direct("a", "b", "DIRECT", "SEND", "1"), direct("a", "b", "DIRECT", "SEND", "2"),
           direct("b", "a", "RESPOND", "SEND"), direct("b", "a", "RESPOND", "SEND")]  # fmt: skip
    found = read(AUTOGEN, lines(log))
    assert [(m.thread, m.tag_source) for m in found[2:]] == [("direct:1", "inferred"), ("direct:2", "structure")]


def test_autogen_inside_json_records_and_a_broken_event() -> None:
    event = direct("a", "b", "DIRECT", "SEND")
    record = {"timestamp": "2026-03-02T10:00:00Z", "level": "INFO", "message": json.dumps(event)}
    assert AUTOGEN.recognise(source(lines([record]))) > 0.9
    found = read(AUTOGEN, lines([record]))
    assert [(m.act, m.at) for m in found] == [("request", 1_772_445_600.0)]
    cut = lines([event]) + json.dumps(event)[:-20] + "\n"
    with pytest.raises(LogError) as caught:
        list(AUTOGEN.read(source(cut), Options()))
    assert caught.value.line == 2
    assert [type(item) for item in AUTOGEN.read(source(cut), Options(lenient=True))] == [Message, Skipped]


def test_agentchat_messages() -> None:
    asides: list[Aside] = []
    found = read(AGENTCHAT, written("agentchat.jsonl"), aside=asides.append)
    assert brief(found) == [
        ("-", "user", "", None),
        ("request", "travel_agent", "transfer_to_refunder", "call:call_1"),
        ("inform", "transfer_to_refunder", "travel_agent", "call:call_1"),
        ("request", "travel_agent", "refunder", "hand-off:h1"),
        ("agree", "refunder", "travel_agent", "hand-off:h1"),
        ("request", "refunder", "refund", "call:call_2"),
        ("request", "refunder", "lookup", "call:call_3"),
        ("failure", "refund", "refunder", "call:call_2"),
        ("inform", "refunder", "travel_agent", "hand-off:h1"),
        ("query-ref", "user_proxy", "user", "input:r-9"),
        ("inform", "user", "user_proxy", "input:r-9"),
        ("request", "refunder", "closer", "hand-off:h2"),
    ]
    inferred = {m.id for m in found if m.act and m.tag_source == "inferred"}
    assert inferred == {"t1.taken", "s1.done", "i2"}
    assert [aside.kind for aside in asides] == ["ThoughtEvent"]
    findings, owed = audited(found)
    assert findings == []
    assert owed == {
        "call:call_1:answer": "fulfilled",
        "hand-off:h1:answer": "answered",
        "hand-off:h1:performance": "answered",
        "call:call_2:answer": "declared:failed",
        "call:call_3:answer": "pending",
        "input:r-9:answer": "answered",
        "hand-off:h2:answer": "pending",
    }


def test_agentchat_list_response_studio_and_the_result_after_its_stream() -> None:
    messages = [json.loads(line) for line in written("agentchat.jsonl").splitlines()]
    expected = brief(read(AGENTCHAT, lines(messages)))
    assert brief(read(AGENTCHAT, json.dumps(messages, indent=2))) == expected
    result = {"messages": messages, "stop_reason": "done"}
    assert brief(read(AGENTCHAT, json.dumps(result))) == expected
    assert brief(read(AGENTCHAT, json.dumps({"result": {"task_result": result}}))) == expected
    assert brief(read(AGENTCHAT, json.dumps({"messages": [{"config": one} for one in messages]}))) == expected
    assert (
        brief(read(AGENTCHAT, json.dumps({"chat_message": messages[-1], "inner_messages": messages[:-1]}))) == expected
    )
    asides: list[Aside] = []
    assert brief(read(AGENTCHAT, lines([*messages, result]), aside=asides.append)) == expected
    assert len(asides) == 1 + len(messages)


def test_agentchat_saved_states() -> None:
    found = read(AGENTCHAT, written("agentchat_state.json"))
    assert [(m.act, m.sender) for m in found] == [(None, "user"), ("request", "writer"), ("inform", "dictionary")]
    assert found[1].where == "agent_states.RoundRobinGroupChatManager.message_thread[1]"
    context = {
        "type": "AssistantAgentState",
        "llm_context": {
            "messages": [
                {"content": "hello", "source": "user", "type": "UserMessage"},
                {"content": [{"id": "c", "name": "t", "arguments": "{}"}], "source": "ada", "type": "AssistantMessage"},
                {
                    "content": [{"call_id": "c", "name": "t", "content": "Error: no"}],
                    "type": "FunctionExecutionResultMessage",
                },
            ]
        },
    }
    found = read(AGENTCHAT, json.dumps({"agent_states": {"ada/x": context}, "type": "TeamState"}))
    assert brief(found) == [
        ("-", "user", "", None),
        ("request", "ada", "t", "call:c"),
        ("failure", "t", "ada", "call:c"),
    ]


def test_chatdev_phases_and_a_reflection_inside_one() -> None:
    asides: list[Aside] = []
    found = read(chatdev.READER, written("chatdev.log"), aside=asides.append)
    ceo, cpo, cto = "Chief Executive Officer", "Chief Product Officer", "Chief Technology Officer"
    assert brief(found) == [
        ("request", ceo, cpo, "DemandAnalysis"),
        ("-", cpo, ceo, None),
        ("request", "Counselor", ceo, "Reflection"),
        ("-", ceo, "Counselor", None),
        ("inform", ceo, "Counselor", "Reflection"),
        ("inform", cpo, ceo, "DemandAnalysis"),
        ("request", cto, "Programmer", "Coding"),
        ("-", "Programmer", cto, None),
        ("request", "Code Reviewer", "Programmer", "CodeReviewComment"),
    ]
    assert found[0].at == 1_792_663_203.0  # 22 October 2026: the second number is the day
    assert found[0].content == "[You are Chief Product Officer.]\nWhich form should it have?"
    assert found[5].content == "<INFO> Application"
    assert found[-1].supersedes == found[6].id
    assert [aside.kind for aside in asides] == ["Preprocessing", "note", "chatting", "chatting",
                                               "OpenAI_Usage_Info Receive", "chatting"]  # fmt: skip
    findings, owed = audited(found)
    assert findings == []
    assert owed == {
        "DemandAnalysis:answer": "fulfilled",
        "Reflection:answer": "fulfilled",
        "Coding:answer": "pending",
        "CodeReviewComment:answer": "pending",
    }


def test_chatdev_a_phase_that_comes_again_is_another_thread_and_a_stamp_in_the_usual_order_is_read() -> None:
    again = written("chatdev.log") + written("chatdev.log")
    threads = [m.thread for m in read(chatdev.READER, again) if m.act == "request"]
    assert threads[4:] == ["DemandAnalysis#2", "Reflection#2", "Coding#2", "CodeReviewComment#2"]
    usual = written("chatdev.log").replace("2026-22-10", "2026-10-22")
    assert read(chatdev.READER, usual)[0].at == 1_792_663_203.0


@pytest.mark.parametrize("text", ["hello\n[2026-22-10 10:00:00 INFO] x\n", b"[2026-22-10 10:00:00 INFO] \xff\n"])
def test_chatdev_what_cannot_be_read_is_an_error_with_its_line(text: str | bytes) -> None:
    with pytest.raises(LogError) as caught:
        list(chatdev.READER.read(source(text), Options()))
    assert caught.value.line == 1
    assert any(isinstance(item, Skipped) for item in chatdev.READER.read(source(text), Options(lenient=True)))


def test_crewai_events() -> None:
    asides: list[Aside] = []
    found = read(crewai.READER, written("crewai_events.jsonl"), aside=asides.append)
    assert brief(found) == [
        ("request", "user", "newsroom", "crew:newsroom"),
        ("request", "newsroom", "Researcher", "task:t1"),
        ("agree", "Researcher", "newsroom", "task:t1"),
        ("request", "Researcher", "gpt-4o", "call:e4"),
        ("inform", "gpt-4o", "Researcher", "call:e4"),
        ("request", "Researcher", "search", "call:e6"),
        ("failure", "search", "Researcher", "call:e6"),
        ("query-ref", "Researcher", "Physicist", "call:e8"),
        ("inform", "Physicist", "Researcher", "call:e8"),
        ("inform", "Researcher", "newsroom", "task:t1"),
        ("request", "newsroom", "Writer", "task:t2"),
        ("failure", "Writer", "newsroom", "task:t2"),
        ("failure", "newsroom", "user", "crew:newsroom"),
    ]
    assert [aside.kind for aside in asides] == ["agent_execution_completed"]
    findings, owed = audited(found)
    assert findings == []
    assert owed == {
        "crew:newsroom:answer": "declared:failed",
        "task:t1:answer": "fulfilled",
        "task:t1:performance": "fulfilled",
        "call:e4:answer": "fulfilled",
        "call:e6:answer": "declared:failed",
        "call:e8:answer": "fulfilled",
        "task:t2:answer": "declared:failed",
    }


def test_crewai_events_in_the_wrapper_of_a_trace_and_without_ids_of_starts() -> None:
    events = [json.loads(line) for line in written("crewai_events.jsonl").splitlines()]
    expected = brief(read(crewai.READER, lines(events)))
    wrapped = [
        {"event_id": one["event_id"], "timestamp": one["timestamp"], "type": one["type"],
         "event_data": {key: value for key, value in one.items() if key not in {"event_id", "timestamp", "type"}}}
        for one in events
    ]  # fmt: skip
    assert brief(read(crewai.READER, json.dumps(wrapped))) == expected
    older = [{key: value for key, value in one.items() if key != "started_event_id"} for one in events]
    assert brief(read(crewai.READER, lines(older))) == expected
    twice = [events[5], {**events[5], "event_id": "e6b"}, {**older[6], "event_id": "e7b"}, older[6]]
    assert [m.tag_source for m in read(crewai.READER, lines(twice))] == [
        "structure",
        "structure",
        "inferred",
        "structure",
    ]


@pytest.mark.parametrize("name", ["crewai_tasks.json", "crewai_tasks.txt"])
def test_crewai_task_logs(name: str) -> None:
    found = read(crewai.READER, written(name))
    assert brief(found) == [
        ("request", "crew", "Researcher", "task:research"),
        ("inform", "Researcher", "crew", "task:research"),
        ("request", "crew", "Writer", "task:write"),
    ]
    assert found[0].at == 1_780_308_001.0
    if name.endswith(".txt"):
        assert (found[0].content, found[1].content) == ('Find out\nabout "tides", and say why.', "the moon,\nmostly")


def test_metagpt_team_and_log() -> None:
    found = read(metagpt.READER, written("metagpt.json"))
    assert brief(found) == [
        ("request", "user", "team", "requirement:m1"),
        ("-", "ProductManager", "", None),
        ("request", "Mike", "Alex", "to:Alex:m3"),
        ("inform", "Alex", "Mike", "to:Alex:m3"),
        ("request", "Alex", "Edward", "to:Edward:m4"),
    ]
    assert [m.tag_source for m in found if m.act] == ["structure", "inferred", "inferred", "inferred"]
    assert (found[0].outside, found[1].name, found[1].at) == (True, "WritePRD", 1_772_445_610.0)
    findings, owed = audited(found)
    assert findings == []
    assert owed == {
        "requirement:m1:answer": "unknown",
        "to:Alex:m3:answer": "answered",
        "to:Edward:m4:answer": "pending",
    }
    logged = read(metagpt.READER, written("metagpt.log"))
    assert brief(logged) == [
        ("request", "user", "team", "requirement:m1"),
        ("request", "RoleA", "RoleB", "to:RoleB:m2"),
    ]
    assert logged[0].at == 1_772_445_601.5


def test_metagpt_what_roles_remember_is_read_once() -> None:
    storage = json.loads(written("metagpt.json"))["env"]["history"]["storage"]
    roles = {"A": {"rc": {"memory": {"storage": storage[:3]}}}, "B": {"rc": {"memory": {"storage": storage[1:]}}}}
    found = read(metagpt.READER, json.dumps({"env": {"roles": roles, "history": ""}}))
    assert [m.id for m in found] == ["m1", "m2", "m3", "m4", "m4.next"]
    assert brief(read(metagpt.READER, lines(storage))) == brief(read(metagpt.READER, written("metagpt.json")))


FRAMEWORKS = [AUTOGEN, AGENTCHAT, chatdev.READER, crewai.READER, metagpt.READER]


def json_values() -> st.SearchStrategy[Any]:
    numbers = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    leaves = st.none() | st.booleans() | numbers | st.text(max_size=8)

    def deeper(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        return st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)

    return st.recursive(leaves, deeper, max_leaves=8)


KEYS = [
    "payload", "sender", "receiver", "kind", "delivery_stage", "type", "source", "content", "id", "target",
    "handling_agent", "exception", "tool_name", "arguments", "result", "response", "messages", "message_thread",
    "chat_message", "config", "timestamp", "event_id", "task_id", "task_name", "agent", "task", "status", "output",
    "tool_args", "started_event_id", "event_data", "crew_name", "cause_by", "sent_from", "send_to", "env",
    "history", "storage", "roles", "created_at",
]  # fmt: skip
TYPES = [
    "Message", "MessageDropped", "MessageHandlerException", "ToolCall", "LLMCall", "TextMessage", "HandoffMessage",
    "ToolCallRequestEvent", "ToolCallExecutionEvent", "UserInputRequestedEvent", "crew_kickoff_started", "task_started",
    "task_completed", "tool_usage_started", "tool_usage_finished", "llm_call_failed", "agent_execution_started",
    "MessageKind.DIRECT", "MessageKind.RESPOND", "DeliveryStage.SEND", "DeliveryStage.DELIVER", "started", "completed",
]  # fmt: skip


@given(st.data())
def test_anything_in_the_right_envelope_is_read_or_refused_with_a_log_error(data: st.DataObject) -> None:
    value = json_values() | st.sampled_from(TYPES)
    body = st.dictionaries(
        st.sampled_from(KEYS), value | st.dictionaries(st.sampled_from(KEYS), value, max_size=4), max_size=8
    )
    typed = st.builds(lambda a, b: {**a, "type": b}, body, st.sampled_from(TYPES))
    text = lines(data.draw(st.lists(body | typed, max_size=5)))
    for reader in FRAMEWORKS:
        assert 0.0 <= reader.recognise(source(text)) <= 1.0
        for lenient in (False, True):
            try:
                for item in reader.read(source(text), Options(lenient=lenient)):
                    assert isinstance(item, Message | Skipped)
                    if isinstance(item, Message) and item.act is not None:
                        assert item.thread is not None
                        assert item.receivers
            except LogError:
                assert not lenient


@given(st.lists(st.sampled_from(written("chatdev.log").splitlines()) | st.text(max_size=20), max_size=20))
def test_chatdev_any_order_of_lines(found: list[str]) -> None:
    text = "[2026-22-10 10:00:00 INFO] begin\n" + "\n".join(re.sub(r"[\r\n]", "", line) for line in found)
    asides: list[Aside] = []
    messages = [
        m
        for m in chatdev.READER.read(source(text), Options(lenient=True, aside=asides.append))
        if isinstance(m, Message)
    ]
    stamps = sum(
        re.match(r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d [A-Z]+\] ?", line) is not None for line in text.split("\n")
    )
    assert len(messages) + len(asides) == stamps
    findings, _ = audited(messages)
    assert findings == []
