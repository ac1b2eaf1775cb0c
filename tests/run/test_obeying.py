"""The live monitor: what is no legal move is blocked before anybody sees it, alike in every way of running."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import anyio
import pytest
from auditing import audited
from hypothesis import given, settings
from hypothesis import strategies as st
from plays import SEATS, Clerk, decision, procedure

from dissensus.decide.procedures import PROCEDURES
from dissensus.record.event import Draft, Event
from dissensus.record.memory import MemoryStore
from dissensus.record.opening import open_record
from dissensus.record.store import Store
from dissensus.record.view import view_of
from dissensus.run import runs
from dissensus.run.journal import Journal
from dissensus.run.performers import Live, Recorded
from dissensus.say.acts import ACTS
from dissensus.script.effects import Ask, Note, Post, Script, Together, once, under
from dissensus.script.outcomes import Blocked, Done, Reply
from dissensus.script.rehearsal import rehearse

NAMES = ("ada", "ben", "cleo")


def typed(
    sender: str, act: str, *to: str, thread: str = "t", protocol: str | None = "fipa-request", **more: Any
) -> Post:
    return Post(sender, f"{act} by {sender}", to=to, act=act, thread=thread, protocol=protocol, **more)


def run(build: Any, monkeypatch: pytest.MonkeyPatch) -> tuple[Any, list[Event]]:
    """Run a procedure that the generator function ``build`` gives; its result and its record."""
    results: list[Any] = []

    def whole(*given: Any) -> Script:
        results.append((yield from build(*given)))
        return decision("done")

    monkeypatch.setitem(PROCEDURES, "test", procedure(whole))
    store = MemoryStore()

    async def go() -> Any:
        live = Live(lambda _agent: Clerk())
        return await runs.start(procedure="test", settings={}, seats=SEATS, performer=live, record=store)

    found = anyio.run(go)
    return (results[0], found), list(store.read())


def test_a_legal_conversation_is_delivered_and_an_illegal_move_in_it_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    def build(*_: Any) -> Script:
        asked = yield typed("ada", "request", "ben")
        twice = yield typed("ada", "request", "ben")
        again = yield typed("ada", "cfp", "ben")
        stolen = yield typed("cleo", "inform", "ada", content_type="done")
        agreed = yield typed("ben", "agree", "ada")
        told = yield [typed("ben", "inform", "ada", content_type="done"), typed("ben", "failure", "ada")]
        yield Ask("ada", "What have you heard?", thread="t")
        yield Ask("cleo", "And you?", thread="t")
        return [asked, twice, again, stolen, agreed, *told]

    (outcomes, found), events = run(build, monkeypatch)
    assert [type(one) for one in outcomes] == [Done, Done, Blocked, Blocked, Done, Done, Blocked]
    assert [(one.verdict, one.rule) for one in outcomes if isinstance(one, Blocked)] == [
        ("illegal", "state"), ("no-title", "title"), ("illegal", "state"),
    ]  # fmt: skip
    assert "closed" in outcomes[-1].says
    blocked = [event for event in events if event.kind == "blocked"]
    assert [event.visibility for event in blocked] == ["operator"] * 3
    assert blocked[1].body["sender"] == "cleo"
    assert blocked[1].body["says"] == "t: informed by cleo, who is not the party that owes"
    heard = [seen.text for seen in view_of(events, "ada", "t")]
    assert heard[:4] == ["request by ada", "request by ada", "ben: agree by ben", "ben: inform by ben"]
    assert view_of(events, "cleo", "t")[0].text == "And you?"
    assert events[-1].body["outcomes"]["blocked"] == 3
    assert found.warnings[0].startswith("3 messages were no legal moves in a protocol, and seen by nobody")
    report = audited(events)
    assert [(one.verdict, one.level) for one in report.findings] == [("duplicate", "info")]  # said twice does no harm
    assert report.statuses("performance") == {"t": "fulfilled"}
    assert report.tally.asides["blocked: illegal"] == 2


@pytest.mark.parametrize(
    ("post", "rule", "says"),
    [
        (Post("ada", "x", act="request", protocol="fipa-request"), "receiver", "to nobody"),
        (typed("ada", "requst", "ben"), "act", "'request'"),
        (typed("ada", "request", "ben", protocol="fipa-requst"), "protocol", "No protocol is called"),
        (typed("ada", "request", "ben", protocol="a2a"), "protocol", "on the wire"),
        (typed("ada", "agree", "ben", about="cleo"), "deed", "what only cleo can do"),
        (typed("ada", "inform", "ben"), "state", "not legal"),
        (typed("ada", "cfp", "ben", protocol="fipa-contract-net", thread="begun"), "protocol", "follows fipa-request"),
        (typed("procedure", "request", "ada", thread="ask/ada"), "thread", "the thread of a call"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_cannot_be_said_is_blocked_and_the_run_goes_on(
    post: Post, rule: str, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def build(*_: Any) -> Script:
        yield Ask("ada", "?")
        yield typed("ada", "request", "ben", thread="begun")
        return (yield post), (yield Ask("ben", "?"))

    ((outcome, after), _), events = run(build, monkeypatch)
    assert isinstance(outcome, Blocked)
    assert outcome.rule == rule
    assert says in outcome.says
    assert isinstance(after, Reply)
    assert audited(events).tally.violations == 0


def test_announcements_are_judged_by_no_protocol_until_their_thread_has_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def build(*_: Any) -> Script:
        first = yield [Post("ada", "hello"), Post("ben", "shouting", act="shout"), Post("cleo", "psst", to=("ada",))]
        yield typed("ada", "request", "ben", thread="main")
        return [*first, (yield Post("cleo", "me too")), (yield Post("ben", "no", to=("ada",), act="refuse"))]

    (outcomes, _), events = run(build, monkeypatch)
    assert [one.kind for one in outcomes] == ["done", "done", "done", "blocked", "done"]
    assert audited(events).statuses() == {"main": "declared:refused"}
    old = next(event for event in events if event.kind == "post")
    assert old.body == {"sender": "ada", "to": [], "act": "inform", "text": "hello", "data": {}}  # as it always was


def test_a_post_to_several_is_delivered_to_all_or_to_none(monkeypatch: pytest.MonkeyPatch) -> None:
    net = {"protocol": "fipa-contract-net"}

    def build(*_: Any) -> Script:
        yield typed("procedure", "cfp", *NAMES, **net)
        yield typed("ada", "propose", "procedure", **net)
        both = yield typed("procedure", "accept-proposal", "ada", "ben", **net)
        alone = yield typed("procedure", "accept-proposal", "ada", **net)
        return both, alone, (yield typed("ada", "inform", "procedure", content_type="done", **net))

    (outcomes, _), events = run(build, monkeypatch)
    assert [one.kind for one in outcomes] == ["blocked", "done", "done"]
    assert audited(events).statuses("performance") == {"t/ada": "fulfilled"}


def test_a_call_whose_key_is_the_name_of_a_conversation_has_another_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    def build(*_: Any) -> Script:
        yield typed("ada", "request", "ben", thread="same")
        yield Ask("ben", "?", key="same")
        return (yield typed("ben", "refuse", "ada", thread="same"))

    (outcome, _), events = run(build, monkeypatch)
    assert outcome == Done()
    assert audited(events).statuses() == {"same": "declared:refused", "same#call": "fulfilled"}


def test_a_rehearsal_blocks_as_the_engine_does() -> None:
    def script() -> Script:
        return [(yield typed("ada", "request", "ben")), (yield typed("cleo", "agree", "ada")), (yield Post("ada", "x"))]

    assert [one.kind for one in rehearse(script(), lambda *_: Reply(text=""))] == ["done", "blocked", "done"]


# --- anything at all, in every way of running

PROTOCOLS = (None, "fipa-request", "fipa-contract-net", "fipa-query", "no-such-protocol")
posts = st.fixed_dictionaries(
    {
        "sender": st.sampled_from([*NAMES, "procedure", "engine"]),
        "act": st.sampled_from([*sorted(ACTS), "hum"]),
        "to": st.lists(st.sampled_from([*NAMES, "procedure"]), max_size=3, unique=True),
        "thread": st.sampled_from(["main", "t", "u", "ask/ada"]),
        "protocol": st.sampled_from(PROTOCOLS),
        "about": st.sampled_from([None, None, "ada"]),
        "content_type": st.sampled_from([None, "done", "result"]),
    }
)
likely = st.sampled_from(
    [
        {"sender": "procedure", "act": "cfp", "to": list(NAMES), "thread": "t", "protocol": "fipa-contract-net"},
        {"sender": "ada", "act": "propose", "to": ["procedure"], "thread": "t", "protocol": "fipa-contract-net"},
        {"sender": "procedure", "act": "accept-proposal", "to": ["ada"], "thread": "t", "protocol": None},
        {"sender": "ada", "act": "request", "to": ["ben"], "thread": "u", "protocol": "fipa-request"},
        {"sender": "ben", "act": "agree", "to": ["ada"], "thread": "u", "protocol": None},
        {"sender": "ben", "act": "inform", "to": ["ada"], "thread": "u", "protocol": None},
    ]
)
steps = st.lists(st.one_of(posts, likely, st.sampled_from(["ask", "together", "note"])), max_size=14)


def _spoken(told: Mapping[str, Any], *_: Any) -> Script:
    kinds: list[str] = []
    for number, step in enumerate(told["steps"]):
        if step == "ask":
            yield Ask("ada", "?")
        elif step == "together":
            yield Together({name: once(Ask(name, "?")) for name in NAMES}) if number == 0 else Note("n", {})
        elif step == "note":
            yield from under(f"s{number}", once(Ask("ben", "?")))
        else:
            kinds.append((yield Post(text="x", **{**step, "to": tuple(step["to"])})).kind)
    return decision(kinds)


def _record(said: Sequence[Any]) -> tuple[Any, MemoryStore]:
    store = MemoryStore()

    async def go() -> Any:
        live = Live(lambda _agent: Clerk())
        return await runs.start(
            procedure="spoken", settings={"steps": said}, seats=SEATS, performer=live, record=store, seed=3
        )

    return anyio.run(go), store


@pytest.fixture(autouse=True)
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PROCEDURES, "spoken", procedure(_spoken))


@given(said=steps)
def test_whatever_is_posted_the_record_audits_clean_and_the_replay_is_identical(said: list[Any]) -> None:
    first, store = _record(said)
    events = list(store.read())
    report = audited(events)
    assert [one for one in report.findings if one.level != "info"] == []
    assert report.tally.skipped_count == 0
    kinds = [event.kind for event in events if event.kind in ("post", "blocked")]
    assert first.answer == repr(["done" if kind == "post" else kind for kind in kinds])
    again: list[Event] = []

    async def replayed() -> Any:
        head = runs.head_of(events)
        journal = Journal(None, events, again.append)
        found = await runs._play(head, journal, Recorded(runs.past_of(events)), head.script())
        assert journal.unused() == []
        return found

    assert anyio.run(replayed).answer == first.answer
    assert again == events


@given(said=steps, data=st.data())
def test_a_run_that_is_resumed_or_forked_is_judged_as_it_was(said: list[Any], data: st.DataObject) -> None:
    first, store = _record(said)
    events = list(store.read())
    left = MemoryStore()
    for event in events[: data.draw(st.integers(1, len(events)))]:
        left.append(
            [
                Draft(
                    kind=event.kind, key=event.key, actor=event.actor, thread=event.thread,
                    visibility=event.visibility, body=event.body,
                )
            ]
        )  # fmt: skip
    resumed = anyio.run(runs.resume, left, Live(lambda _agent: Clerk()))
    assert resumed.answer == first.answer
    assert resumed.warnings == first.warnings
    assert _judged(left) == _judged(store)


@settings(max_examples=20)
@given(said=steps, reuse=st.sampled_from(["unaffected", "prefix"]))
def test_a_fork_that_changes_nothing_is_judged_as_its_parent_was(said: list[Any], reuse: str) -> None:
    first, store = _record([*said, "ask"])
    events = list(store.read())
    reply = next(event for event in events if event.kind == "outcome")
    child = MemoryStore()

    async def fork() -> Any:
        live = Live(lambda _agent: Clerk())
        return await runs.fork(path, child, live, at=reply.seq, text=reply.body["outcome"]["text"], reuse=reuse)

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "parent.db"
        with open_record(path, "x", run_id=store.run_id) as parent:
            parent.adopt(store.rows(), dict(store.blobs()))
        forked = anyio.run(fork)
    assert forked.answer == first.answer
    assert _judged(child) == _judged(store)


def _judged(store: Store) -> list[tuple[str, str, Any]]:
    return [(event.kind, event.key, event.body) for event in store.read() if event.kind in ("post", "blocked")]
