"""The contract net with bidders that bid, refuse, are silent or dead: one holder at a time, and each bid decided."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest
from auditing import audited
from click.testing import CliRunner
from hypothesis import given
from hypothesis import settings as limits
from hypothesis import strategies as st
from plays import Clerk

from dissensus.agents.scripted import Rule, Scripted
from dissensus.cli.main import main
from dissensus.decide.bidding import CRITERIA, Offer, Refused, Unreadable, best_of, read_bid
from dissensus.decide.contract import Bid, Contract, ContractSettings, NoBid, checked
from dissensus.decide.procedures import settings_of_contract
from dissensus.errors import SpecError
from dissensus.record.event import Draft, Event
from dissensus.record.memory import MemoryStore
from dissensus.record.opening import open_record
from dissensus.run import runs
from dissensus.run.contracting import contract
from dissensus.run.holding import holder_of, holdings
from dissensus.run.journal import Journal
from dissensus.run.performers import Live, Recorded
from dissensus.say.message import Message
from dissensus.say.monitor import Monitor
from dissensus.say.readers.record import PLATFORMS, messages
from dissensus.script.calls import Generate
from dissensus.script.decisions import Status
from dissensus.script.outcomes import (
    BudgetExhausted,
    Invalid,
    Outcome,
    Refusal,
    Reply,
    TimedOut,
    TransportFailure,
)
from dissensus.script.seats import Seat

NAMES = ("ada", "ben", "cleo", "dan")
FAULTS: dict[str, Outcome] = {
    "silent": TimedOut(after_s=0.0),
    "dead": TransportFailure(problem="no route", cause="connect"),
    "declines": Refusal(text="no"),
    "broken": Invalid(problem="half a message"),
    "broke": BudgetExhausted(what="tokens"),
}


class Bidder(Clerk):
    """Answers a call from its key alone: ``{"round/1/ada": …, "report/1": …}``; what is not named is a cheap bid."""

    def __init__(self, says: dict[str, Any]) -> None:
        super().__init__()
        self.says = says

    async def generate(self, call: Generate) -> Any:
        self.calls.append(call)
        said = self.says.get(
            call.key, '{"price": 1, "estimate": 1, "confidence": 1}' if "report" not in call.key else "ok"
        )
        return FAULTS.get(said) or Reply(text=said)


def seats(count: int, spares: int = 0) -> list[Seat]:
    return [Seat(agent=name, model="m", spare=place >= count) for place, name in enumerate(NAMES[: count + spares])]


def settle(
    says: dict[str, Any], chairs: list[Seat], settings: ContractSettings, seed: int = 0
) -> tuple[Contract, MemoryStore, Bidder]:
    store, bidder = MemoryStore(), Bidder(says)

    async def go() -> Any:
        return await runs.start(
            procedure="contract", settings=settings_of_contract("Paint the fence.", settings), seats=chairs,
            performer=Live(lambda _agent: bidder), record=store, seed=seed,
        )  # fmt: skip

    found = anyio.run(go)
    assert isinstance(found, Contract)
    return found, store, bidder


numbers = st.sampled_from([0, 1, 2, 2.5, 1000])
offers = st.builds(
    lambda price, estimate, sure: json.dumps({"price": price, "estimate": estimate, "confidence": sure}),
    numbers, numbers, st.sampled_from([0, 0.5, 1]),
)  # fmt: skip
asks = st.one_of(offers, offers, st.sampled_from(['{"refuse": "busy"}', "Maybe.", *FAULTS]))
reports = st.sampled_from(["Painted.", "Painted.", "FAILED: no paint", " ", *FAULTS])
worlds = st.fixed_dictionaries(
    {
        **{f"round/{number}/{name}/ask": asks for number in (1, 2, 3) for name in NAMES},
        **{f"round/{number}/{name}/repair": asks for number in (1, 2, 3) for name in NAMES},
        **{f"round/{number}/report{part}": reports for number in (1, 2, 3) for part in ("", "/remind/1")},
    }
)
ways = st.builds(
    ContractSettings,
    criterion=st.sampled_from(list(CRITERIA)),
    rounds=st.integers(1, 3),
    remind=st.integers(0, 1),
    bid_s=st.sampled_from([None, 50.0]),
    report_s=st.sampled_from([None, 50.0]),
)


@given(says=worlds, settings=ways, count=st.integers(1, 3), seed=st.integers(0, 3))
def test_one_holder_at_a_time_every_bid_decided_and_the_record_audits_clean(
    says: dict[str, Any], settings: ContractSettings, count: int, seed: int
) -> None:
    found, store, _ = settle(says, seats(count, spares=1), settings, seed)
    events = list(store.read())

    _one_at_a_time(events)
    assert not any(event.kind == "blocked" for event in events)
    report = audited(events)
    assert [one.says for one in report.findings] == []
    assert all(owed.status != "pending" for owed in report.obligations)
    decided = [owed for owed in report.obligations if owed.kind == "decision"]
    assert Counter(owed.sub for owed in decided) == Counter(bid.agent for bid in found.bids)
    assert {owed.status for owed in decided} <= {"fulfilled"}

    assert found.rounds <= settings.rounds
    assert len(found.held) == sum(bid.accepted for bid in found.bids) <= found.rounds
    came: list[Bid | NoBid] = [*found.bids, *found.refusals, *found.missing]
    called = Counter((one.agent, one.round) for one in came)
    assert set(called.values()) <= {1}
    for one in found.held[:-1]:
        assert one.ended != "delivered"
        assert not any(later.agent == one.agent and later.round > one.round for later in found.bids)
    for no in found.refusals:
        assert not any(later.agent == no.agent and later.round > no.round for later in came)
    for bid in found.bids:
        if bid.accepted:
            rivals = [other for other in found.bids if other.round == bid.round]
            assert _worth(bid, settings) == min(_worth(other, settings) for other in rivals)

    held = holdings(events, "contract")
    assert [(one.agent, one.thread) for one in held] == [(one.agent, f"contract/{one.round}") for one in found.held]
    assert all(one.closed_by is not None for one in held)
    statuses = {"delivered": {"fulfilled"}, "failed": {"declared:failed"}, "silent": {"violated", "declared:failed"}}
    assert all(one.status in statuses[mine.ended] for one, mine in zip(held, found.held, strict=True))
    assert (found.status is Status.DECIDED) == (found.holder is not None) == (found.report is not None)
    assert Contract.from_data(json.loads(json.dumps(found.to_data()))) == found


def _worth(bid: Bid, settings: ContractSettings) -> float:
    value: float = getattr(bid, settings.criterion)
    return -value if settings.criterion == "confidence" else value


def _one_at_a_time(events: list[Event]) -> None:
    monitor = Monitor(platforms=PLATFORMS)
    for item in messages(events):
        if isinstance(item, Message):
            monitor.see(item)
            open_now = [owed for owed in monitor.book.open_ones() if owed.kind == "performance"]
            assert len(open_now) <= 1


@limits(max_examples=60)
@given(says=worlds, settings=ways, data=st.data())
def test_a_contract_that_is_cut_short_anywhere_is_resumed_to_the_same_end(
    says: dict[str, Any], settings: ContractSettings, data: st.DataObject
) -> None:
    found, store, _ = settle(says, seats(3), settings)
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
    answered = {event.key for event in left.read() if event.kind == "outcome"}
    bidder = Bidder(says)
    again = anyio.run(runs.resume, left, Live(lambda _agent: bidder))
    assert replace(again, cost=found.cost) == found  # but for the seconds, which are those of other calls
    assert not answered & {call.key for call in bidder.calls}
    assert audited(left.read()).tally.violations == 0


@limits(max_examples=40)
@given(says=worlds)
def test_a_replay_is_identical(says: dict[str, Any]) -> None:
    found, store, _ = settle(says, seats(3), ContractSettings(rounds=2, remind=1))
    events = list(store.read())
    seen: list[Event] = []

    async def go() -> Any:
        head = runs.head_of(events)
        journal = Journal(None, events, seen.append)
        again = await runs._play(head, journal, Recorded(runs.past_of(events)), head.script())
        assert journal.unused() == []
        return again

    assert anyio.run(go) == found
    assert seen == events


def test_two_hundred_times_who_wins_among_equals_is_a_lot_and_the_same_lot_again() -> None:
    same = {name: Offer(price=1, estimate=1, confidence=1) for name in NAMES}
    won = Counter(best_of(same, "price", f"{seed}/1") for seed in range(200))
    assert set(won) == set(NAMES)
    assert max(won.values()) < 90
    backwards = dict(reversed(same.items()))
    assert all(best_of(same, "price", f"{seed}/1") == best_of(backwards, "price", f"{seed}/1") for seed in range(50))


def test_bidders_do_not_see_each_other_s_bids_and_the_holder_sees_its_own() -> None:
    says = {
        "round/1/ada/ask": '{"price": 71, "estimate": 1, "confidence": 1}',
        "round/1/ben/ask": '{"price": 68, "estimate": 1, "confidence": 1}',
    }
    _, _, bidder = settle(says, seats(2), ContractSettings())
    seen = {call.key: " ".join(turn.text for turn in call.turns) for call in bidder.calls}
    assert "71" not in seen["round/1/report"]
    assert "price 68" in seen["round/1/report"]
    assert "Paint the fence." in seen["round/1/ada/ask"]
    assert "The task is yours" in seen["round/1/report"]


def test_a_holder_that_is_silent_past_its_deadline_has_broken_its_promise_and_the_next_one_delivers() -> None:
    class Slow(Bidder):
        async def generate(self, call: Generate) -> Any:
            if call.key.startswith("round/1/report"):
                await anyio.sleep(9)
            return await super().generate(call)

    store = MemoryStore()
    model = Slow({"round/1/ada/ask": '{"price": 0, "estimate": 1, "confidence": 1}'})
    settings = ContractSettings(bid_s=5, report_s=0.05, remind=1)
    told: list[tuple[str, str | None]] = []

    def watch(event: Event) -> None:
        if event.kind == "post" and event.key.rsplit("/", 1)[-1] in ("cfp", "accept", "end"):
            told.append((event.key, holder_of(store, "contract")))

    async def go() -> Any:
        return await runs.start(
            procedure="contract", settings=settings_of_contract("Paint.", settings), seats=seats(2),
            performer=Live(lambda _agent: model), record=store, on_event=watch,
        )  # fmt: skip

    found = anyio.run(go)
    assert [(one.agent, one.ended) for one in found.held] == [("ada", "silent"), ("ben", "delivered")]
    assert told == [
        ("round/1/cfp", None), ("round/1/accept", "ada"), ("round/1/end", None),
        ("round/2/cfp", None), ("round/2/accept", "ben"), ("round/2/end", None),
    ]  # fmt: skip
    first, second = holdings(store, "contract")
    assert (first.status, second.status) == ("violated", "fulfilled")
    assert first.deadline is not None
    assert first.since is not None
    assert first.deadline - first.since == pytest.approx(0.1)  # reminder included
    remedies = [event.body["remedy"] for event in store.read() if event.kind == "remedy"]
    assert remedies == ["remind", "announce again"]
    assert audited(store.read()).tally.violations == 0
    assert holdings(store, "other") == ()
    assert [one.agent for one in holdings(store, "contract/2")] == ["ben"]


REST = '"estimate": 4, "confidence": 1}'
NO_TEXT = '"price" has to be a number, not '


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ('Sure. {"price": 3, "note": "x", ' + REST, Offer(price=3, estimate=4, confidence=1, note="x")),
        ('{"a": 1} {"price": 3.5, "extra": [], ' + REST, Offer(price=3.5, estimate=4, confidence=1)),
        ('{"refuse": "busy", "price": 3}', Refused("busy")),
        ("I would do it for 3 euros.", Unreadable("that holds no JSON object")),
        ('{"price": 3}', Unreadable('"estimate" is missing')),
        ('{"price": -1, ' + REST, Unreadable('"price" has to be at least 0')),
        ('{"price": "3", ' + REST, Unreadable(NO_TEXT + "text")),
        ('{"price": true, ' + REST, Unreadable(NO_TEXT + "true or false")),
        ('{"price": 1e999, ' + REST, Unreadable("that holds no JSON object")),
        ('{"price": 1' + "0" * 400 + ", " + REST, Unreadable('"price" has to be at most 1000000000000.0')),
    ],
    ids=range(10),
)
def test_bids_are_read_or_refused_with_a_reason(text: str, wanted: object) -> None:
    assert read_bid(text) == wanted


@given(st.text())
def test_no_text_makes_reading_a_bid_fail(text: str) -> None:
    assert isinstance(read_bid(text), Offer | Refused | Unreadable)


@pytest.mark.parametrize(
    ("task", "chairs", "settings", "told"),
    [
        (" ", seats(1), {}, "empty"),
        ("x" * 200_001, seats(1), {}, "limit"),
        ("a\ud800", seats(1), {}, "UTF-8"),
        ("x", seats(0, spares=1), {}, "Nobody can bid"),
        ("x", [*seats(1), *seats(1)], {}, "same name"),
        ("x", [Seat(agent="engine", model="m")], {}, "'engine'"),
        ("x", seats(1), {"rounds": 0}, "rounds"),
        ("x", seats(1), {"remind": -1}, "reminders"),
        ("x", seats(1), {"bid_s": 0.0}, "seconds"),
        ("x", seats(1), {"report_s": float("inf")}, "seconds"),
        ("x", seats(1), {"thread": " "}, "name"),
    ],
    ids=lambda value: value if isinstance(value, str) and len(value) < 20 and value.isprintable() else "",
)  # fmt: skip
def test_what_cannot_be_put_out_to_tender_is_refused_at_once(
    task: str, chairs: list[Seat], settings: dict[str, Any], told: str
) -> None:
    with pytest.raises(SpecError, match=told):
        checked(task, chairs, ContractSettings(**settings))


def test_settings_that_do_not_exist_are_refused() -> None:
    with pytest.raises(SpecError, match="no setting 'colour'"):
        ContractSettings.from_data({"colour": 1})
    with pytest.raises(SpecError, match="wrong"):
        ContractSettings.from_data({"criterion": "beauty"})


def test_who_has_refused_is_left_in_peace_and_when_all_have_it_ends() -> None:
    says = {f"round/1/{name}/ask": '{"refuse": "busy"}' for name in NAMES}
    found, _, bidder = settle(says, seats(3), ContractSettings(rounds=3))
    assert (found.status, found.rounds, len(bidder.calls)) == (Status.ABSTAINED, 1, 3)
    assert found.warnings == ("Nobody is left to be asked, and the task is not done.",)
    found, _, _ = settle(says, seats(2, spares=1), ContractSettings(rounds=3))
    assert (found.holder, found.rounds) == ("cleo", 2)


PANEL = """\
models:
  good: {use: "scripted:x", rules: [
    {when: "To offer", say: '{"price": 5, "estimate": 3, "confidence": 0.5}'}, {when: "", say: "Painted."}]}
  bad: {use: "scripted:x", rules: [
    {when: "To offer", say: '{"price": 4, "estimate": 3, "confidence": 0.5}'}, {when: "", say: "FAILED: no brush"}]}
agents:
  - {name: ada, model: good}
  - {name: ben, model: bad}
"""


def cli(*arguments: str) -> tuple[int, str]:
    done = CliRunner().invoke(main, ["contract", *arguments])
    return done.exit_code, done.output


def test_the_command_awards_and_says_who_holds_it(tmp_path: Path) -> None:
    panel, record = tmp_path / "panel.yaml", tmp_path / "run.db"
    panel.write_text(PANEL)
    code, told = cli("Paint.", "--panel", str(panel), "--record", str(record), "--report-within", "5 min")
    assert code == 0
    assert "ada   delivered in round 2" in told
    assert "ben, round 1: failed (no brush)" in told
    code, told = cli("--who", str(record))
    assert (code, told.splitlines()[0].split(" at ")[0]) == (0, "nobody holds it now; ada delivered")
    document = json.loads(cli("--who", str(record), "--json")[1])
    assert document["holder"] is None
    assert [one["agent"] for one in document["held"]] == ["ben", "ada"]
    short = tmp_path / "short.db"
    with open_record(record) as whole, open_record(short, "x", run_id=whole.run_id) as part:
        until = next(event.seq for event in whole.read() if event.key == "round/2/accept")
        part.adopt(whole.rows(1, until + 1), dict(whole.blobs()))
    code, told = cli("--who", str(short))
    assert told.startswith("ada holds contract/2 since ")
    assert ", due " in told
    assert json.loads(cli("--who", str(short), "--json")[1])["holder"] == "ada"
    assert CliRunner().invoke(main, ["replay", str(record)]).output.startswith("identical")
    finished = CliRunner().invoke(main, ["resume", str(record), "--json"])
    assert json.loads(finished.output)["report"] == "Painted."
    assert CliRunner().invoke(main, ["audit", str(record)]).exit_code == 0


def test_the_command_ends_as_its_help_says(tmp_path: Path) -> None:
    panel = tmp_path / "panel.yaml"
    panel.write_text(PANEL.replace("{name: ada, model: good}", "{name: ada, model: bad}"))
    code, told = cli("Paint.", "--panel", str(panel), "--record", str(tmp_path), "--json")
    assert code == 3
    assert json.loads(told)["status"] == "failed"
    assert cli()[0] == 2
    assert cli("Paint.", "--who", "x.db")[0] == 2
    assert cli("Paint.", "--panel", str(panel), "--bid-within", "soon")[0] == 2
    assert cli("--who", str(tmp_path / "none.db"))[0] == 2


def test_from_python_a_task_is_one_call(tmp_path: Path) -> None:
    path = tmp_path / "panel.yaml"
    path.write_text(PANEL)
    found = contract("Paint.", panel=path)
    assert (found.holder, found.report, found.record) == ("ada", "Painted.", "")
    with pytest.raises(SpecError):
        contract("", panel=path, record=tmp_path / "never.db")
    assert not (tmp_path / "never.db").exists()


def test_a_budget_that_ends_first_is_told() -> None:
    models = {name: Scripted([Rule("", fail="budget")]) for name in NAMES}
    store = MemoryStore()

    async def go() -> Any:
        return await runs.start(
            procedure="contract", settings=settings_of_contract("Paint.", ContractSettings(rounds=1)), seats=seats(3),
            performer=Live(models.__getitem__), record=store,
        )  # fmt: skip

    found = anyio.run(go)
    assert (found.status, found.cost.calls) == (Status.OPEN_BUDGET, 0)
    assert found.failures == {"budget": 3}


def test_had_a_bid_been_lower_another_would_hold_the_task(tmp_path: Path) -> None:
    says = {"round/1/ada/ask": '{"price": 9, "estimate": 1, "confidence": 1}'}
    first, store, bidder = settle(says, seats(2), ContractSettings())
    assert first.holder == "ben"
    parent, child = tmp_path / "parent.db", MemoryStore()
    with open_record(parent, "x", run_id=store.run_id) as whole:
        whole.adopt(store.rows(), dict(store.blobs()))
    at = next(event.seq for event in store.read() if event.kind == "outcome" and event.actor == "ada")
    text = '{"price": 0, "estimate": 1, "confidence": 1}'
    forked = anyio.run(lambda: runs.fork(parent, child, Live(lambda _agent: bidder), at=at, text=text))
    assert forked.answer == "ada"
    assert audited(child.read()).statuses("performance") == {"contract/1/ada": "fulfilled"}
    assert audited(child.read()).findings == []


def test_kills_at_any_moment_change_nothing(tmp_path: Path) -> None:
    here = Path(__file__).parent
    done = subprocess.run(
        [sys.executable, str(here / "killer.py"), str(tmp_path), "20", "1", "contract"],
        capture_output=True, text=True, timeout=240, check=False, cwd=here,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["kills"] >= 20
    assert [found.get(name, 0) for name in ("lost", "repeated", "broken chains", "other decisions")] == [0, 0, 0, 0]
    assert found["answers"] == 1
