"""Self-checks through the engine: killed at every event, replayed, separate contexts, documents of each kind."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import anyio
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "decide"))
from self_checking import HOW_MANY, NOTE_AND_LOG, answers, label_of, verdict

from dissensus.agents.scripted import Scripted
from dissensus.decide.procedures import PROCEDURES, settings_of_self_check
from dissensus.decide.self_check_result import SelfChecked
from dissensus.decide.self_check_settings import Given, SelfCheckSettings
from dissensus.record.event import Event
from dissensus.record.memory import MemoryStore
from dissensus.record.sqlite import open_record
from dissensus.record.store import Store
from dissensus.record.view import view_of
from dissensus.run import runs
from dissensus.say.message import Message
from dissensus.say.monitor import Monitor
from dissensus.say.readers.record import PLATFORMS, messages
from dissensus.script.calls import Call, Capability, Generate
from dissensus.script.outcomes import TransportFailure
from dissensus.script.questions import Question
from dissensus.script.seats import Seat

ADA = Seat(agent="ada", model="scripted", system="You are Ada.", capabilities=frozenset({Capability.CHAT}))
QUESTION = Question(text=HOW_MANY)
SETTINGS = SelfCheckSettings(documents=NOTE_AND_LOG, rounds=2)


def two_faced(call: Call) -> str:
    """Ten and nine by turns; once it has to be asked again; settles by the note; picks the first of equals."""
    assert isinstance(call, Generate)
    prompt = call.turns[-1].text
    match call.key.split("/"):
        case ["round", "1", _, "ask"]:
            return "Answer: 10 pallets"
        case ["round", _, step, "ask"]:
            return "Answer: 10 pallets" if step.endswith("a") else "Well, who can say.\nPerhaps it was many."
        case ["round", _, _, "repair"]:
            return "Answer: 9 pallets"
        case ["settle", *_]:
            place = answers(prompt).index("10 pallets") + 1
            return verdict(place, label_of(prompt, "received"), "Pallets received: 10", "10 pallets")
        case _:
            return verdict(1, "d1", "received")


def agrees(_call: Call) -> str:
    return "Answer: 10 pallets"


def falls_silent(call: Call) -> Any:
    if call.key.startswith("settle/BA"):
        return TransportFailure(problem="gone", cause="connect")
    return two_faced(call)


def run(
    says: Callable[[Call], Any], store: Store, settings: SelfCheckSettings = SETTINGS, *, seats: Sequence[Seat] = (ADA,)
) -> tuple[SelfChecked, Scripted]:
    model = Scripted(says, keep_calls=True, capabilities=frozenset({Capability.CHAT}))

    async def go() -> Any:
        return await runs.start(
            procedure="self-check", settings=settings_of_self_check(QUESTION, settings), seats=seats,
            performer=runs.live(lambda _agent: model), record=store,
        )  # fmt: skip

    found = anyio.run(go)
    assert isinstance(found, SelfChecked)
    return found, model


def go_on(says: Callable[[Call], Any], store: Store) -> tuple[Any, list[str]]:
    model = Scripted(says, keep_calls=True, capabilities=frozenset({Capability.CHAT}))

    async def go() -> Any:
        return await runs.resume(store, runs.live(lambda _agent: model))

    return anyio.run(go), [call.key for call in model.asked or []]


def cut(store: MemoryStore, events: int) -> MemoryStore:
    """What the file holds if the process dies when so many events are in it."""
    copy = MemoryStore(run_id=store.run_id)
    copy.adopt(list(store.rows(1, events + 1)), dict(store.blobs()))
    return copy


def told(events: Sequence[Event]) -> Counter[str]:
    """What the events say that do not depend on when the process died, nor how long calls took."""
    luck = {"resumed", "interrupted", "decision", "ended"}
    return Counter(f"{event.kind} {event.key}" for event in events if event.kind not in luck)


@pytest.mark.parametrize("says", [two_faced, agrees, falls_silent])
def test_killed_at_every_event_it_goes_on_to_the_same_end(says: Callable[[Call], Any]) -> None:
    store = MemoryStore()
    whole, model = run(says, store)
    events = list(store.read())
    asked = Counter(call.key for call in model.asked or [])
    for number in range(1, len(events) + 1):
        copy = cut(store, number)
        done = {event.key for event in copy.read() if event.kind == "outcome"}
        found, keys = go_on(says, copy)
        assert found.to_data() == whole.to_data(), f"killed after event {number}"
        assert Counter(keys) == Counter({key: 1 for key in asked if key not in done}), "no call is made twice"
        assert told(list(copy.read())) == told(events)


def test_what_it_comes_to() -> None:
    found, model = run(two_faced, MemoryStore())
    assert found.verdict is not None
    assert (found.verdict.kind, found.equal.did, found.rounds) == ("cites-and-stands", "follows-order", 2)
    assert found.a is not None
    assert found.b is not None
    assert (found.a.key, found.b.key) == ("round/1/1a/ask", "round/2/2b/repair")
    assert found.cost.calls == model.calls == 9
    assert found.exit_code == 1


def test_the_record_replays_from_the_file_alone(tmp_path: Path) -> None:
    path = tmp_path / "check.db"
    with open_record(path, "x") as store:
        found, _ = run(two_faced, store)
    again = runs.replay(path)
    assert again.identical
    assert isinstance(again.decision, SelfChecked)
    assert again.decision.verdict == found.verdict
    assert again.decision.exit_code == found.exit_code


def test_another_reply_in_its_place_is_another_verdict(tmp_path: Path) -> None:
    """A fork with a forged quote: what the verdict is called follows from the recorded reply and nothing else."""
    path = tmp_path / "check.db"
    with open_record(path, "x") as store:
        run(two_faced, store)
    with open_record(path) as store:
        (event,) = [one for one in store.read() if one.kind == "outcome" and one.key == "settle/AB/ask"]
    model = Scripted(two_faced, capabilities=frozenset({Capability.CHAT}))

    async def go() -> Any:
        return await runs.fork(
            path, MemoryStore(), runs.live(lambda _agent: model), at=event.seq,
            text=verdict(1, "d2", "Ten pallets came, said the driver", "10 pallets"),
        )  # fmt: skip

    found = anyio.run(go)
    assert found.verdict.kind == "cites-what-does-not-stand"
    assert found.status.value == "disputed"


def test_each_request_is_a_context_of_its_own() -> None:
    store = MemoryStore()
    _, model = run(two_faced, store)
    for call in model.asked or []:
        assert isinstance(call, Generate)
        roles = [turn.role for turn in call.turns]
        if call.key.endswith("/repair"):
            assert roles == ["system", "user", "assistant", "user"]
        else:
            assert roles == ["system", "user"], "nothing of what was said elsewhere"
    threads = {seen.thread for seen in view_of(store.read(), "ada")}
    assert threads == {"ask/1a", "ask/1b", "ask/2a", "ask/2b", "settle/AB", "settle/BA", "equal/AB", "equal/BA"}


def test_settling_is_asked_for_without_chance() -> None:
    _, model = run(two_faced, MemoryStore())
    for call in model.asked or []:
        assert isinstance(call, Generate)
        assert call.temperature == (0.7 if call.key.startswith("round/") else 0.0)


def test_the_audit_of_the_record_finds_nothing() -> None:
    store = MemoryStore()
    run(two_faced, store)
    monitor = Monitor(platforms=PLATFORMS)
    found = [monitor.see(one) for one in messages(list(store.read())) if isinstance(one, Message)]
    assert not {"illegal", "void", "no-title"} & set(found)


def test_given_replies_are_looked_at_and_nobody_is_asked() -> None:
    replies = Given(first="10 pallets", second="Answer: 9", settle='It is 10: note.txt says "Pallets received: 10".')
    found, model = run(agrees, MemoryStore(), SelfCheckSettings(documents=NOTE_AND_LOG, given=replies), seats=())
    assert model.calls == 0
    assert found.verdict is not None
    assert (found.verdict.kind, found.equal.did, found.agent) == ("cites-and-stands", "not-asked", "pasted")
    assert any("one order" in text for text in found.warnings)


def test_it_is_a_procedure_of_its_own_version() -> None:
    assert PROCEDURES["self-check"].result is SelfChecked
