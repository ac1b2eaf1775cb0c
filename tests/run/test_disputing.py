"""Disputes through the engine: killed at every event, resumed, replayed, audited; a verifier, authors, a budget."""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import anyio
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "decide"))
from disputing import case, cell, claim, digest, line, pin

from dissensus.agents.panel import load_panel
from dissensus.decide.dispute.account import KEYS, account_of
from dissensus.decide.dispute.case import LAST, NEXT, Asking, Case, State, may_follow
from dissensus.decide.dispute.settlement import Settlement
from dissensus.decide.procedures import settings_of_dispute
from dissensus.record.event import Event
from dissensus.record.memory import MemoryStore
from dissensus.run import runs
from dissensus.run.disputing import dispute_async
from dissensus.run.performers import Aside, Finished, StillWaiting
from dissensus.run.render import Job
from dissensus.say.message import Message
from dissensus.say.monitor import Monitor
from dissensus.say.readers.record import PLATFORMS, messages
from dissensus.script.effects import Ask, AskPerson
from dissensus.script.outcomes import BudgetExhausted, Outcome, PersonAnswer, Reply, TransportFailure, Usage
from dissensus.script.seats import Seat

NOTE = "Delivery note DN-88\nOrder 4711\nTruck a brought 6 of them, truck b 3.\nPallets received: 10\nSigned: M. R.\n"
LOG = "booking,order,pallets,booked_at\nB1,4711,6,2026-03-02T09:00\nB2,4711,3,2026-03-02T10:00\n"
CELLS = [cell(LOG, 2, "pallets", "6"), cell(LOG, 3, "pallets", "3")]
PINNED = (pin(NOTE, kind="note", name="note"), pin(LOG, "text/csv", kind="log", name="log"))
VERA = Seat(agent="vera", model="m")
ADA, BEN = Seat(agent="agent-A", model="m"), Seat(agent="agent-B", model="m")
Answer = Callable[[Job], Outcome | None]


class Answering:
    """A performer that answers from a function, counts what was asked, and waits for a person that says nothing."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.asked: Counter[str] = Counter()
        self.jobs: list[Job] = []

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass

    def start(self, job: Job) -> None:
        self.jobs.append(job)

    def cancel(self, key: str) -> None:
        self.jobs = [job for job in self.jobs if job.key != key]

    async def next(self) -> Sequence[Finished | Aside]:
        for job in self.jobs:
            outcome = self.answer(job)
            if outcome is not None:
                self.jobs.remove(job)
                self.asked[job.key] += 1
                return [Finished(job.key, outcome)]
        raise StillWaiting([job.key for job in self.jobs])


def contested(**more: Any) -> Case:
    return case(claim("A", 10, line(NOTE, 4)), claim("B", 9, *CELLS), pinned=PINNED, **more)


def begin(of: Case, answer: Answer, seats: Sequence[Seat] = (), store: MemoryStore | None = None) -> tuple[Any, Any]:
    store = store or MemoryStore()
    performer = Answering(answer)

    async def go() -> Any:
        return await runs.start(
            procedure="dispute", settings=settings_of_dispute(of), seats=seats, performer=performer, record=store
        )

    return anyio.run(go), store


def go_on(store: MemoryStore, answer: Answer) -> tuple[Any, Answering]:
    performer = Answering(answer)

    async def go() -> Any:
        return await runs.resume(store, performer)

    return anyio.run(go), performer


def cut(store: MemoryStore, events: int) -> MemoryStore:
    """What the file holds if the process dies when so many events are in it."""
    copy = MemoryStore(run_id=store.run_id)
    copy.adopt(list(store.rows(1, events + 1)), dict(store.blobs()))
    return copy


def told(events: Sequence[Event]) -> list[tuple[str, str, Any]]:
    """The events that do not depend on when the process died."""
    luck = {"waiting", "resumed", "interrupted"}
    return [(event.kind, event.key, event.body) for event in events if event.kind not in luck]


def finding(outcome: str, source: str = "", quote: str = "", why: str = "because") -> str:
    cites = [{"evidence": source, "quote": quote}] if quote else []
    answer = {"outcome": outcome, "source": source, "cites": cites, "reason": why}
    return json.dumps({"answer": answer})


def verifier(answers: Callable[[str], str]) -> Answer:
    def answer(job: Job) -> Outcome | None:
        match job.effect:
            case Ask(agent="vera"):
                return Reply(text=answers(job.effect.prompt), model="m", usage=Usage(tokens_in=10, tokens_out=5))
            case AskPerson():
                return PersonAnswer(answer="A", who="ben", reason="signed")
            case _:
                raise AssertionError(job.effect)

    return answer


def shown(prompt: str) -> dict[str, str]:
    """Label of each item in a prompt to what it says."""
    return dict(re.findall(r"^(e\d+) \(source [^)]*\):\n<<\w+\n(.*)\n", prompt, re.MULTILINE))


def note_is_wrong(prompt: str) -> str:
    label = next(label for label, says in shown(prompt).items() if says == "pallets received: 10")
    return finding("SOURCE_WRONG", label, "Truck a brought 6 of them, truck b 3.", "6 and 3 are not 10")


# --- killed at every event


@pytest.mark.parametrize("way", ["person", "verifier", "authors", "spot-check", "statements"])
def test_killed_at_every_event_it_goes_on_to_the_same_end(way: str) -> None:
    of, seats, answer = WAYS[way]()
    whole, store = begin(of, answer, seats)
    events = list(store.read())
    assert isinstance(whole, Settlement)
    asked = Counter(event.key for event in events if event.kind == "outcome")
    for number in range(1, len(events) + 1):
        copy = cut(store, number)
        before = {event.key for event in copy.read() if event.kind == "outcome"}
        found, performer = go_on(copy, answer)
        after = list(copy.read())
        assert told(after) == told(events), f"killed after event {number}"
        assert found.to_data() == whole.to_data()
        assert performer.asked == Counter({key: 1 for key in asked if key not in before}), "no step done twice"
        assert Counter(event.key for event in after if event.kind == "outcome") == asked
        assert sum(event.kind == "person" for event in after) == sum(event.kind == "person" for event in events)


def test_killed_while_it_waits_no_question_is_lost_or_asked_twice() -> None:
    of = contested()
    waits, store = begin(of, lambda _job: None)
    assert waits.status.value == "waiting"
    events = len(store)
    for number in range(1, events + 1):
        copy = cut(store, number)
        again, performer = go_on(copy, lambda _job: None)
        assert again.status.value == "waiting"
        assert [event.key for event in copy.read() if event.kind == "person"] == ["person/1"]
        assert account_of(copy.read()).state == "waiting"
        found, _ = go_on(copy, lambda _job: PersonAnswer(answer="B", who="ben"))
        assert (found.state, found.rule) == ("settled", "person")
        assert performer.asked == Counter()


def _person() -> tuple[Case, Sequence[Seat], Answer]:
    return contested(), (), lambda _job: PersonAnswer(answer="A", who="ben", reason="signed")


def _verifier() -> tuple[Case, Sequence[Seat], Answer]:
    def looks(prompt: str) -> str:
        if "Reports contradict" in prompt:
            return '{"tool": "open", "arguments": {"evidence": "e1"}}'
        return finding("BOTH_CONSISTENT")

    return contested(verifier="vera"), (VERA,), verifier(looks)


def _authors() -> tuple[Case, Sequence[Seat], Answer]:
    of = case(claim("A", 10, line(NOTE, 4)), claim("B", 9), pinned=PINNED)

    def answer(job: Job) -> Outcome | None:
        if isinstance(job.effect, AskPerson):
            return PersonAnswer(answer="neither", who="ben")
        cite = [
            {"source": "log", "quote": "B2,4711,3,2026-03-02T10:00"},
            {"source": "log", "quote": LOG.split("\n")[1]},
        ]
        return Reply(text=json.dumps({"evidence": cite}), model="m")

    return of, (BEN,), answer


WRONG = NOTE.replace("truck b 3", "truck b 4")
SAME = [cell(LOG.replace("B2,4711,3", "B2,4711,4"), row, "pallets", says) for row, says in ((2, "6"), (3, "4"))]
AGREED = (pin(WRONG, kind="note", name="note"), pin(LOG.replace("B2,4711,3", "B2,4711,4"), "text/csv", name="log"))


def agreeing(**more: Any) -> Case:
    return case(claim("A", 10, line(WRONG, 4)), claim("B", 10, *SAME), pinned=AGREED, verifier="vera", **more)


def _spot_check() -> tuple[Case, Sequence[Seat], Answer]:
    def looks(prompt: str) -> str:
        if "Reports agree" in prompt:
            return '{"tool": "open", "arguments": {"evidence": "e1"}}'
        return finding("BOTH_CONSISTENT")

    return agreeing(spot_check=True), (VERA,), verifier(looks)


def _statements() -> tuple[Case, Sequence[Seat], Answer]:
    """Reports in words, which the verifier sets against each other."""
    free = {"subject": None, "attribute": None, "unit": None, "as_of": None}
    both = (
        claim("A", None, line(NOTE, 4), text="All ten came.", **free),
        claim("B", None, *CELLS, text="One was missing.", **free),
    )

    def says(prompt: str) -> str:
        if "Statement 1" in prompt:
            return json.dumps({"answer": {"outcome": "CONTRADICT", "reason": "ten are not nine"}})
        return finding("BOTH_CONSISTENT")

    return case(*both, pinned=PINNED, verifier="vera"), (VERA,), verifier(says)


WAYS = {
    "person": _person, "verifier": _verifier, "authors": _authors, "spot-check": _spot_check,
    "statements": _statements,
}  # fmt: skip


# --- replay, audit, states


@pytest.mark.parametrize("way", sorted(WAYS))
def test_a_record_replays_is_audited_clean_and_goes_through_known_states(way: str) -> None:
    of, seats, answer = WAYS[way]()
    whole, store = begin(of, answer, seats)
    events = list(store.read())
    path: list[State] = [State(str(event.body["to"])) for event in events if event.kind == "state"]
    assert path[0] is State.OPEN
    assert all(may_follow(one, other) for one, other in pairwise(path))
    assert path[-1] in LAST
    assert path[-1].value == whole.state == account_of(events).state
    monitor = Monitor(platforms=PLATFORMS)
    found = [monitor.see(one) for one in messages(events) if isinstance(one, Message)]
    assert not {"illegal", "void", "no-title"} & set(found)
    assert not any(event.kind == "blocked" for event in events)
    again, _ = go_on(cut(store, 1), answer)
    assert again.to_data() == whole.to_data()


def test_states_lead_to_an_end_from_everywhere() -> None:
    assert set(NEXT) == set(State)
    ends = {State.SETTLED, State.INCOMPLETE, State.CONSISTENT, State.OPEN_BUDGET, State.ERROR}
    for state in State:
        seen, waiting = {state}, [state]
        while waiting:
            for following in NEXT[waiting.pop()]:
                if following not in seen:
                    seen.add(following)
                    waiting.append(following)
        assert seen & ends
    assert not may_follow(State.SETTLED, State.OPEN_BUDGET), "what is settled does not run out of money"
    assert not may_follow(State.CONSISTENT, State.VERIFYING)
    assert not may_follow(State.WAITING, State.DISPUTED)


def test_the_document_has_exactly_its_keys() -> None:
    of = contested()
    _, store = begin(of, lambda _job: None)
    document = account_of(store.read()).document()
    assert tuple(document) == KEYS
    assert (document["status"], document["rule"]) == ("waiting", "R7")
    assert document["question"]["options"] == ["A", "B", "both", "neither", "need-more"]
    assert document["answer"] is None
    assert set(document["cites"][0]) == {"claim", "evidence", "source_sha256", "selector", "reopened", "quote"}
    _, store = begin(of, lambda _job: PersonAnswer(answer="A", who="ben"))
    document = account_of(store.read()).document()
    assert (document["status"], document["answer"]["answer"], document["answer"]["who"]) == ("settled", "A", "ben")
    assert [set(one) for one in document["losers"]] == [{"claim", "reason"}]


# --- the verifier


@pytest.mark.parametrize(
    ("answers", "outcome", "end"),
    [
        (note_is_wrong, "SOURCE_WRONG", ("settled", "R4")),
        (lambda _prompt: finding("BOTH_CONSISTENT"), "BOTH_CONSISTENT", ("settled", "person")),
        (lambda _prompt: finding("UNDETERMINED"), "UNDETERMINED", ("settled", "person")),
        (lambda _prompt: finding("SOURCE_WRONG", "e1", "this stands nowhere"), "UNDETERMINED", ("settled", "person")),
        (lambda _prompt: finding("SOURCE_WRONG", "e1"), "UNDETERMINED", ("settled", "person")),
        (lambda _prompt: "A is right, trust me.", "UNDETERMINED", ("settled", "person")),
        (lambda _prompt: finding("A_WINS"), "UNDETERMINED", ("settled", "person")),
    ],
)  # fmt: skip
def test_what_a_verifier_finds_counts_only_with_lines_that_stand_there(
    answers: Callable[[str], str], outcome: str, end: tuple[str, str]
) -> None:
    found, store = begin(contested(verifier="vera"), verifier(answers), (VERA,))
    (note,) = [event for event in store.read() if event.kind == "finding"]
    assert note.body["outcome"] == outcome
    assert (found.state, found.rule) == end
    if outcome == "SOURCE_WRONG":
        assert "Truck a brought 6 of them, truck b 3." in [one["quote"] for one in found.verdict["cites"]]
        assert "model-says m" in found.verdict["losers"][0]["reason"]


def test_two_orders_that_disagree_are_undetermined() -> None:
    """A verifier that always takes what is shown first."""

    def partial(prompt: str) -> str:
        says = shown(prompt)["e1"]
        return finding("SOURCE_WRONG", "e1", "Pallets received: 10" if "10" in says else "B1,4711,6")

    first = verifier(partial)
    found, store = begin(contested(verifier="vera"), first, (VERA,))
    (note,) = [event for event in store.read() if event.kind == "finding"]
    assert note.body["outcome"] == "UNDETERMINED"
    assert found.rule == "person"


def test_a_verifier_may_open_search_and_compute_and_nothing_else() -> None:
    asked = iter(
        [
            '{"tool": "open", "arguments": {"evidence": "e1"}}',
            '{"tool": "search", "arguments": {"evidence": "e2", "text": "TRUCK A"}}',
            '{"tool": "compute", "arguments": {"expression": "6 + 3"}}',
            '{"tool": "shell", "arguments": {"command": "cat /etc/passwd"}}',
            '{"tool": "open", "arguments": {"evidence": "e99"}}',
            *[finding("BOTH_CONSISTENT")] * 2,
        ]
    )
    _, store = begin(contested(verifier="vera"), verifier(lambda _prompt: next(asked)), (VERA,))
    seen = [event.body["seen"] for event in store.read() if event.kind == "looked"]
    assert len(seen) == 5
    assert any("Truck a brought 6" in one for one in seen[:2]) or "B1,4711" in seen[0]
    assert seen[2] == "6 + 3 = 9"
    assert seen[3].startswith("There is no tool")
    assert seen[4].startswith("There is no such evidence")


def test_the_verifier_is_shown_neither_names_nor_prose_nor_scratchpads() -> None:
    from dissensus.decide.dispute.case import Report

    mine = claim("A", 10, line(NOTE, 4), by="loud-lou", text="TRUST ME I AM SURE")
    of = case(
        mine, claim("B", 9, *CELLS, by="quiet-quinn"), pinned=PINNED, verifier="vera",
        reports=(Report(claim="A", confidence="0.999", scratchpad="CANARY-77"),),
    )  # fmt: skip
    prompts: list[str] = []

    def look(prompt: str) -> str:
        prompts.append(prompt)
        return finding("BOTH_CONSISTENT")

    begin(of, verifier(look), (VERA,))
    assert len(prompts) == 2
    for prompt in prompts:
        assert not [word for word in ("loud-lou", "quinn", "TRUST", "0.999", "CANARY") if word in prompt]
    assert prompts[0].index("10") < prompts[0].index('"9"') or prompts[1].index("10") < prompts[1].index('"9"')
    assert prompts[0] != prompts[1], "both orders"


def test_a_verifier_that_cannot_be_asked_settles_nothing() -> None:
    def dead(job: Job) -> Outcome | None:
        if isinstance(job.effect, AskPerson):
            return PersonAnswer(answer="neither", who="ben")
        return TransportFailure(problem="no connection", cause="connect")

    found, store = begin(contested(verifier="vera"), dead, (VERA,))
    assert (found.state, found.rule) == ("settled", "person")
    (note,) = [event for event in store.read() if event.kind == "finding"]
    assert (note.body["outcome"], note.body["failed"]) == ("UNDETERMINED", "transport")


# --- spot checks


def test_what_agrees_is_looked_at_only_if_it_is_a_spot_check_and_somebody_can_look() -> None:
    def nobody(job: Job) -> Outcome | None:
        raise AssertionError(job.effect)

    found, store = begin(agreeing(), nobody, (VERA,))
    assert (found.state, found.rule) == ("consistent", "")
    assert not [event for event in store.read() if event.kind in ("spot-check", "finding")]
    alone = case(claim("A", 10, line(WRONG, 4)), claim("B", 10, *SAME), pinned=AGREED, spot_check=True)
    assert begin(alone, nobody)[0].state == "consistent", "programs look in any case"


def test_a_spot_check_that_finds_nothing_leaves_it_consistent_and_in_two_orders() -> None:
    prompts: list[str] = []

    def look(prompt: str) -> str:
        prompts.append(prompt)
        return finding("BOTH_CONSISTENT", why="sound")

    found, store = begin(agreeing(spot_check=True), verifier(look), (VERA,))
    assert (found.state, found.rule, found.answer) == ("consistent", "", None)
    kinds = [event.kind for event in store.read()]
    assert kinds.index("spot-check") < kinds.index("finding")
    assert len(prompts) == 2
    assert prompts[0] != prompts[1]
    assert all(text.startswith("Reports agree") and "sound in itself." in text for text in prompts)


def test_what_a_spot_check_finds_wrong_falls_by_r4() -> None:
    def wrong(prompt: str) -> str:
        label = next(label for label, says in shown(prompt).items() if says == "pallets received: 10")
        return finding("SOURCE_WRONG", label, "Signed: M. R.", "nobody of that name works here")

    found, store = begin(agreeing(spot_check=True), verifier(wrong), (VERA,))
    assert found.state == "consistent", "what is left contradicts nothing"
    (loser,) = found.verdict["losers"]
    assert loser["claim"] == "A"
    assert loser["reason"].startswith("R4:")
    assert "model-says m" in loser["reason"]
    assert found.verdict["standing"] == ["B"]
    assert [event.body["rule"] for event in store.read() if event.kind == "rule" and event.body["rule"] == "R4"]

    def both(prompt: str) -> str:
        rows = {"6": "B1,4711,6,2026-03-02T09:00", "4": "B2,4711,4,2026-03-02T10:00"}
        cites = [{"evidence": label, "quote": rows.get(says, says)} for label, says in shown(prompt).items()]
        return json.dumps({"answer": {"outcome": "BOTH_WRONG", "source": "", "cites": cites, "reason": "a lie"}})

    found, _ = begin(agreeing(spot_check=True), verifier(both), (VERA,))
    assert (found.state, found.rule, found.answer) == ("settled", "R4", None), "nothing is put in their place"


def test_a_spot_check_without_money_is_no_verdict() -> None:
    found, _ = begin(agreeing(spot_check=True), lambda _job: BudgetExhausted(what="calls"), (VERA,))
    assert (found.state, found.stopped) == ("open_budget", "budget: calls")


# --- budget and rounds


@pytest.mark.parametrize("paid", [0, 1])
def test_out_of_budget_is_open_with_what_was_found_and_no_decision(paid: int) -> None:
    left = [paid]

    def poor(job: Job) -> Outcome | None:
        assert isinstance(job.effect, Ask), "no person is asked for want of money"
        left[0] -= 1
        return BudgetExhausted(what="calls") if left[0] < 0 else Reply(text=finding("BOTH_CONSISTENT"), model="m")

    forged = claim("C", 8, line(LOG, 3, "B2,4711,8,2026-03-02T10:00"))
    of = case(claim("A", 10, line(NOTE, 4)), claim("B", 9, *CELLS), forged, pinned=PINNED, verifier="vera")
    found, store = begin(of, poor, (VERA,))
    assert (found.state, found.rule, found.answer, found.stopped) == ("open_budget", "", None, "budget: calls")
    assert [one["claim"] for one in found.verdict["losers"]] == ["C"], "what was found so far"
    document = account_of(store.read()).document()
    assert (document["status"], document["rule"], document["budget"]["stopped"]) == (
        "open_budget",
        None,
        "budget: calls",
    )
    assert document["budget"]["spent"]["calls"] == paid


@pytest.mark.parametrize(
    "reply", ["I am sure.", '{"none": "it was said"}', '{"evidence": []}', '{"evidence": [{"source": "x"}]}']
)
def test_a_round_that_brings_nothing_new_is_the_last(reply: str) -> None:
    of = case(claim("A", 10, line(NOTE, 4)), claim("B", 9), pinned=PINNED, rounds=5)
    asked: list[str] = []

    def answer(job: Job) -> Outcome | None:
        asked.append(job.key)
        return Reply(text=reply, model="m")

    found, _ = begin(of, answer, (BEN, ADA))
    assert (found.state, found.stopped) == ("incomplete", "no-progress")
    assert len(asked) == 1


def test_an_author_brings_the_evidence_that_was_lacking() -> None:
    of = case(claim("A", 10, line(NOTE, 4)), claim("B", 9), pinned=PINNED, asking=Asking(ask=False))
    rows = LOG.split("\n")[1:3]

    def answer(_job: Job) -> Outcome | None:
        return Reply(text=json.dumps({"evidence": [{"source": "log", "quote": row} for row in rows]}), model="m")

    found, store = begin(of, answer, (BEN,))
    assert (found.state, found.rule) == ("disputed", "R7")
    path = [event.body["to"] for event in store.read() if event.kind == "state"]
    assert path == ["open", "incomplete", "open", "contested", "verifying", "disputed"]


def test_an_author_is_shown_and_can_cite_its_own_sources_alone() -> None:
    mine = {"agent-B": (digest(NOTE),)}
    of = case(claim("A", 10, line(NOTE, 4)), claim("B", 9), pinned=PINNED, sources_of=mine)
    asked: list[str] = []

    def answer(job: Job) -> Outcome | None:
        asked.append(getattr(job.effect, "prompt", ""))
        row = LOG.split("\n")[1]
        return Reply(text=json.dumps({"evidence": [{"source": "log", "quote": row}]}), model="m")

    found, _ = begin(of, answer, (BEN,))
    assert found.state == "incomplete", "it cited what it does not work from"
    assert len(asked) == 1
    assert "Pallets received: 10" in asked[0]
    assert "B1,4711,6" not in asked[0]


def test_a_program_of_an_author_runs_in_a_cell_of_the_case(tmp_path: Path) -> None:
    (tmp_path / "panel.yaml").write_text(
        "models:\n  one: {use: 'scripted:no', rules: [{when: Result of look, say: '{\"answer\": \"none\"}'}, "
        '{when: Source note, say: \'{"tool": "look", "arguments": {"file": "panel.yaml"}}\'}]}\n'
        "agents: [{name: agent-B, model: one, tools: [look]}]\n"
        'tools: {look: {command: [cat, "{file}"]}}\n'
    )
    of = case(claim("A", 10, line(NOTE, 4)), claim("B", 9), pinned=PINNED)
    store = MemoryStore()
    anyio.run(lambda: dispute_async(of, panel=load_panel(tmp_path / "panel.yaml"), record=store))
    events = list(store.read())
    (used,) = [event.body["outcome"] for event in events
               if event.kind == "outcome" and event.body["outcome"]["kind"] == "tool-result"]  # fmt: skip
    assert not used["ok"]
    assert "agents" not in used["text"], "the panel file is in no cell"
    assert events[0].body["settings"]["case"]["cell"]["level"]


def test_an_author_cannot_bring_bytes_of_its_own() -> None:
    of = case(claim("A", 10, line(NOTE, 4)), claim("B", 9), pinned=PINNED)
    forged = json.dumps({"evidence": [{"source": digest("mine"), "quote": "Pallets received: 9"}]})
    found, _ = begin(of, lambda _job: Reply(text=forged, model="m"), (BEN,))
    assert found.state == "incomplete"
