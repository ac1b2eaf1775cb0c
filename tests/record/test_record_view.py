from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dissensus.errors import RecordError
from dissensus.record.event import OPERATOR, PUBLIC, Draft, Event, Visibility
from dissensus.record.memory import MemoryStore
from dissensus.record.view import Seen, Views, view_of

AGENTS = ("ada", "ben", "cleo")
NAMES = (*AGENTS, "public", "operator")  # agents may have any name


def recorded(*drafts: Draft) -> list[Event]:
    return list(MemoryStore().append(drafts))


def post(sender: str, text: str, visibility: Visibility = PUBLIC, thread: str = "main") -> Draft:
    return Draft(kind="post", body={"sender": sender, "text": text, "to": []}, visibility=visibility, thread=thread)


def ask(agent: str, prompt: str, key: str = "k", visibility: Visibility | None = None, **body: Any) -> Draft:
    who = (agent,) if visibility is None else visibility
    return Draft(kind=body.pop("kind", "ask"), key=key, visibility=who, body={"agent": agent, "prompt": prompt, **body})


def reply(agent: str, text: str, key: str = "k", kind: str = "reply", visibility: Visibility | None = None) -> Draft:
    who = (agent,) if visibility is None else visibility
    return Draft(kind="outcome", key=key, visibility=who, body={"outcome": {"kind": kind, "text": text}})


def both(events: list[Event], agent: str, thread: str | None = None) -> list[tuple[str, str]]:
    whole = view_of(events, agent, thread)
    assert Views(events).of(agent, thread) == whole
    return [(seen.role, seen.text) for seen in whole]


# --- the rules, one by one


def test_a_post_is_heard_by_others_and_said_by_its_sender() -> None:
    events = recorded(post("ada", "I say 8."))
    assert both(events, "ben") == [("user", "ada: I say 8.")]
    assert both(events, "ada") == [("assistant", "I say 8.")]


def test_a_post_to_some_is_heard_by_them_alone() -> None:
    events = recorded(post("ada", "only you", ("ben", "ada")), post("ada", "nobody", ()), post("ada", "me", ("ada",)))
    assert both(events, "ben") == [("user", "ada: only you")]
    assert both(events, "ada") == [("assistant", "only you"), ("assistant", "me")]
    assert both(events, "cleo") == []


def test_an_exchange_enters_when_its_outcome_comes() -> None:
    asked = [ask("ada", "2+2?", examples=[{"role": "user", "text": "1+1?"}, {"role": "assistant", "text": "2"}])]
    assert both(recorded(*asked), "ada") == []
    events = recorded(*asked, post("ben", "meanwhile"), reply("ada", "4"), post("ben", "later"))
    assert both(events, "ada") == [
        ("user", "ben: meanwhile"),
        ("user", "1+1?"),
        ("assistant", "2"),
        ("user", "2+2?"),
        ("assistant", "4"),
        ("user", "ben: later"),
    ]
    assert both(events, "ben") == [("assistant", "meanwhile"), ("assistant", "later")]
    assert [seen.seq for seen in view_of(events, "ada")] == [2, 1, 1, 1, 3, 4]


def test_a_continuation_is_the_text_so_far_and_what_came() -> None:
    events = recorded(
        ask("ada", "Write.", kind="continue", text="Once upon", tokens=None), reply("ada", " a time", kind="extended")
    )
    assert both(events, "ada") == [("user", "Write."), ("assistant", "Once upon a time")]


@pytest.mark.parametrize("kind", ["refusal", "invalid", "transport", "timeout", "budget", "cancelled", "scores", ""])
def test_a_failed_call_is_never_speech(kind: str) -> None:
    events = recorded(ask("ada", "2+2?"), reply("ada", "no", kind=kind), reply("ada", "4"))
    assert both(events, "ada") == []


@pytest.mark.parametrize("kind", ["score", "tool", "check", "note", "ballot", "decision", "late", "person", "run"])
def test_other_events_are_never_seen(kind: str) -> None:
    body = {"agent": "ada", "prompt": "p", "sender": "ben", "text": "t", "outcome": {"kind": "reply", "text": "r"}}
    events = recorded(Draft(kind=kind, key="k", body=body, visibility=PUBLIC), reply("ada", "4"))
    assert both(events, "ada") == both(events, "ben") == []


def test_what_only_the_operator_sees_is_in_no_view() -> None:
    events = recorded(
        post("ada", "hidden", OPERATOR),
        ask("ada", "a probe", "p1", OPERATOR),
        reply("ada", "a confession", "p1"),
        ask("ada", "asked", "p2"),
        reply("ada", "kept back", "p2", visibility=OPERATOR),
        ask("ada", "a public question", "p3", PUBLIC),
        reply("ada", "a public answer", "p3", visibility=PUBLIC),
    )
    assert both(events, "ada") == [("user", "a public question"), ("assistant", "a public answer")]
    assert both(events, "ben") == both(events, "operator") == both(events, "public") == []


def test_an_exchange_belongs_to_the_agent_that_was_asked() -> None:
    events = recorded(ask("ada", "2+2?", visibility=("ada", "ben")), reply("ada", "4", visibility=("ada", "ben")))
    assert both(events, "ben") == []
    events = recorded(ask("ada", "2+2?", visibility=("ben",)), reply("ada", "4", visibility=("ben",)))
    assert both(events, "ada") == both(events, "ben") == []


def test_threads_are_kept_apart() -> None:
    events = recorded(
        post("ben", "here"),
        post("ben", "there", thread="side"),
        ask("ada", "q"),
        reply("ada", "r"),
        post("ben", "again"),
    )
    assert both(events, "ada", "side") == [("user", "ben: there")]
    assert both(events, "ada", "main") == [
        ("user", "ben: here"),
        ("user", "q"),
        ("assistant", "r"),
        ("user", "ben: again"),
    ]
    assert len(both(events, "ada")) == 5
    assert both(events, "ada", "other") == []


def test_side_by_side_calls_of_one_agent_enter_in_the_order_of_their_outcomes() -> None:
    events = recorded(
        ask("ada", "first", "k1"), ask("ada", "second", "k2"), reply("ada", "2", "k2"), reply("ada", "1", "k1")
    )
    assert both(events, "ada") == [("user", "second"), ("assistant", "2"), ("user", "first"), ("assistant", "1")]


@pytest.mark.parametrize(
    ("draft", "name"),
    [
        (Draft(kind="post", visibility=PUBLIC, body={"text": "t"}), "sender"),
        (Draft(kind="post", visibility=PUBLIC, body={"sender": "ben"}), "text"),
        (Draft(kind="post", visibility=("ada",), body={"sender": "ben", "text": 5}), "text"),
        (Draft(kind="ask", key="k", visibility=("ada",), body={"prompt": "p"}), "agent"),
        (Draft(kind="ask", key="k", visibility=("ada",), body={"agent": "ada"}), "prompt"),
        (ask("ada", "p", examples=["x"]), "role"),
        (ask("ada", "p", examples=[{"role": "user"}]), "text"),
        (ask("ada", "p", kind="continue"), "text"),
    ],
)
def test_events_that_lack_what_they_promise_are_named(draft: Draft, name: str) -> None:
    kind = "extended" if draft.kind == "continue" else "reply"
    events = recorded(Draft(kind="run"), draft, reply("ada", "4", kind=kind))
    for build in (lambda: view_of(events, "ada"), lambda: Views(events)):
        with pytest.raises(RecordError, match=f"Event 2 .*'{name}'"):
            build()


# --- any record


def visibilities(*, names: tuple[str, ...] = NAMES) -> st.SearchStrategy[Visibility]:
    return st.sampled_from([PUBLIC, OPERATOR]) | st.lists(st.sampled_from(names), max_size=3).map(tuple)


names = st.sampled_from(NAMES)
keys = st.sampled_from(["k1", "k2", "k3"])
threads = st.sampled_from(["main", "side"])
marks = st.integers(0, 999).map(str)
examples = st.lists(
    st.builds(lambda role, text: {"role": role, "text": text}, st.sampled_from(["user", "assistant"]), marks),
    max_size=2,
)
kinds_of_outcome = st.sampled_from(["reply", "extended", "refusal", "timeout"])

any_drafts = st.lists(
    st.builds(
        lambda sender, text, who, thread: Draft(
            kind="post", body={"sender": sender, "text": text}, visibility=who, thread=thread, actor=sender
        ),
        names, marks, visibilities(), threads,
    )
    | st.builds(
        lambda kind, agent, text, who, thread, key, shown: Draft(
            kind=kind, key=key, visibility=who, thread=thread,
            body={"agent": agent, "prompt": text, "text": "so far ", "examples": shown},
        ),
        st.sampled_from(["ask", "continue"]), names, marks, visibilities(), threads, keys, examples,
    )
    | st.builds(
        lambda kind, text, who, key: Draft(
            kind="outcome", key=key, visibility=who, body={"outcome": {"kind": kind, "text": text}}
        ),
        kinds_of_outcome, marks, visibilities(), keys,
    )
    | st.builds(
        lambda kind, who, key: Draft(kind=kind, key=key, visibility=who),
        st.sampled_from(["score", "note"]), visibilities(), keys,
    ),
    max_size=25,
)  # fmt: skip


@given(drafts=any_drafts, asked=st.lists(st.tuples(st.integers(0, 25), names, st.none() | threads), max_size=10))
def test_the_views_kept_are_the_views_computed(drafts: list[Draft], asked: list[tuple[int, str, str | None]]) -> None:
    events = recorded(*drafts) if drafts else []
    views = Views()
    for number in range(len(events) + 1):
        for at, agent, thread in asked:
            if at == number:
                assert views.of(agent, thread) == view_of(events[:number], agent, thread)
        if number < len(events):
            views.add(events[number])
    for agent in NAMES:
        for thread in (None, "main", "side"):
            assert views.of(agent, thread) == view_of(events, agent, thread)


@given(drafts=any_drafts)
def test_agents_see_only_what_is_visible_to_them(drafts: list[Draft]) -> None:
    events = recorded(*drafts) if drafts else []
    by_seq = {event.seq: event for event in events}
    for agent in NAMES:
        for seen in view_of(events, agent):
            source = by_seq[seen.seq]
            assert source.visibility == PUBLIC or (source.visibility != OPERATOR and agent in source.visibility)
            assert source.kind in {"post", "ask", "continue", "outcome"}
            if source.kind == "outcome":
                assert source.body["outcome"]["kind"] in {"reply", "extended"}


@given(drafts=any_drafts)
def test_what_an_agent_may_not_see_makes_no_difference_to_it(drafts: list[Draft]) -> None:
    """Take away, or change, every post that is not visible to an agent, and nothing changes for it."""
    events = recorded(*drafts) if drafts else []
    for agent in NAMES:

        def hidden(event: Event, agent: str = agent) -> bool:
            return event.visibility == OPERATOR or (event.visibility != PUBLIC and agent not in event.visibility)

        without = [event for event in events if not (hidden(event) and event.kind == "post")]
        assert view_of(without, agent) == view_of(events, agent)


def brute_force(events: list[Event], agent: str) -> list[Seen]:
    """The rules once more, looking back from each outcome for its call."""

    def sees(event: Event) -> bool:
        return event.visibility == PUBLIC or (not isinstance(event.visibility, str) and agent in event.visibility)

    view: list[Seen] = []
    for place, event in enumerate(events):
        if event.kind == "post" and sees(event):
            own = event.body["sender"] == agent
            text = event.body["text"] if own else f"{event.body['sender']}: {event.body['text']}"
            view.append(Seen("assistant" if own else "user", text, event.thread, event.seq))
        if event.kind != "outcome":
            continue
        earlier = [one for one in events[:place] if one.key == event.key and one.kind in {"ask", "continue", "outcome"}]
        call = earlier[-1] if earlier and earlier[-1].kind != "outcome" else None
        outcome = event.body["outcome"]
        if call is None or call.body["agent"] != agent or outcome["kind"] not in {"reply", "extended"}:
            continue
        if not (sees(call) and sees(event)):
            continue
        view += [Seen(turn["role"], turn["text"], call.thread, call.seq) for turn in call.body["examples"]]
        view.append(Seen("user", call.body["prompt"], call.thread, call.seq))
        before = call.body["text"] if outcome["kind"] == "extended" else ""
        view.append(Seen("assistant", before + outcome["text"], call.thread, event.seq))
    return view


@given(drafts=any_drafts)
def test_the_view_is_what_the_rules_say(drafts: list[Draft]) -> None:
    events = recorded(*drafts) if drafts else []
    for agent in NAMES:
        assert list(view_of(events, agent)) == brute_force(events, agent)
