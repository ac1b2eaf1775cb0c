"""Shares through the engine: a panel with tools, a program run for real; cut at every event, replayed, audited."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest
from auditing import audited
from click.testing import CliRunner

sys.path.insert(0, str(Path(__file__).parents[1] / "decide"))
from shares import LOG, PALLETS, digest, pin, reopened, share

from dissensus.agents.panel import Panel
from dissensus.agents.panel_file import read_panel
from dissensus.cli.main import main
from dissensus.decide.procedures import settings_of_report
from dissensus.decide.swarm.reported import Reported
from dissensus.decide.swarm.work import READER, Share
from dissensus.record.event import Event
from dissensus.record.memory import MemoryStore
from dissensus.record.sqlite import open_record
from dissensus.record.store import Store
from dissensus.record.view import view_of
from dissensus.run import runs
from dissensus.run.casting import Cast, resume_from, run_procedure
from dissensus.script.seats import Seat, ToolSpec

PANEL = r"""
models:
  clerk:
    use: "scripted:{\"none\": \"no rule fits\"}"
    rules:
      - when: Result of calculator
        say: '{"claims": [{"attribute": "pallets received", "value": 10, "confidence": 0.9, "thoughts": "PAD-4711",
          "evidence": [{"source": "log.csv", "quote": "6"},
                       {"source": "log.csv", "quote": "B2,4711,4,2026-03-02T10:00"}]}]}'
      - {when: "could not be read", say: '{"claims": [{"attribute": "pallets received", "value": "6 pallets",
          "evidence": [{"source": "log.csv", "quote": "B3,4712,6,2026-03-02T11:00"}]}]}'}
      - {when: "Report of 4711:", say: '{"tool": "calculator", "arguments": {"expression": "6 + 4"}}'}
      - {when: "Report of 4712:", say: "PAD-4712 I would say six."}
      - {when: "Report of 4714:", fail: timeout}
agents:
  - {name: ada, model: clerk, tools: [calculator], temperature: 0}
tools:
  look: {command: [PYTHON, "look.py", "{item}"], timeout: 20s}
"""
LOOK = """
import csv, json, sys
item = sys.argv[1]
if item == "4713":
    sys.exit("the log is locked")
if item == "4714":
    print("nothing that is JSON")
for number, row in enumerate(csv.DictReader(open("log.csv")), 2):
    if row["order"] == item:
        evidence = [{"source": "log.csv", "row": number, "col": "pallets"}]
        print(json.dumps({"attribute": "pallets received", "value": int(row["pallets"]), "evidence": evidence}))
"""
ITEMS = ("4711", "4712", "4713", "4714")
BY_AGENT = share(items=ITEMS)
BY_TOOL = share([pin(LOG, "log.csv", "text/csv")], items=ITEMS, by="tool", tool="look", agent=READER)


@pytest.fixture
def panel(tmp_path: Path) -> Panel:
    (tmp_path / "look.py").write_text(LOOK)
    (tmp_path / "log.csv").write_text(LOG)
    (tmp_path / "panel.yaml").write_text(PANEL.replace("PYTHON", sys.executable))
    found = read_panel(tmp_path / "panel.yaml")
    reader = Seat(agent=READER, model="none", tools=(ToolSpec(name="look", description=""),))
    return replace(found, seats=(*found.seats, reader))


def begin(of: Share, panel: Panel, store: Store | None = None, **more: Any) -> tuple[Reported, Store]:
    record = store if store is not None else MemoryStore()

    async def go() -> Any:
        return await run_procedure(
            procedure="report", settings=settings_of_report(of), panel=panel, record=record, seed=3, **more
        )

    found = anyio.run(go)
    assert isinstance(found, Reported)
    return found, record


def cut(store: MemoryStore, events: int) -> MemoryStore:
    """What the file holds if the process dies when so many events are in it."""
    copy = MemoryStore(run_id=store.run_id)
    copy.adopt(list(store.rows(1, events + 1)), dict(store.blobs()))
    return copy


def told(events: Sequence[Event]) -> list[tuple[str, str, Any]]:
    """The events without what depends on when the process died and how long a program took."""
    found = []
    for event in events:
        body = json.loads(json.dumps(event.body))
        if event.kind == "outcome":
            body["outcome"].pop("seconds", None)
        if event.kind not in {"resumed", "interrupted"}:
            found.append((event.kind, event.key, body))
    return found


def test_an_agent_with_tools_reads_a_share(panel: Panel) -> None:
    found, store = begin(BY_AGENT, panel)
    assert list(found.claims) == ["4711", "4712"]
    assert [one["value"] for one in (*found.claims["4711"], *found.claims["4712"])] == [10, 6]
    assert [one["selectors"][0] for one in found.claims["4711"][0]["evidence"]] == [
        {"type": "csv", "row": 2, "col": "pallets"},
        {"type": "csv", "row": 3},
    ]
    assert reopened(BY_AGENT, found.claims["4711"][0]) == ["EXACT", "EXACT"]
    assert found.silent["4713"] == "Nothing is reported: no rule fits"
    assert "timeout" in found.silent["4714"]
    assert found.failures == {"timeout": 1}
    events = list(store.read())
    notes = {event.body["item"]: event.body for event in events if event.kind == "reported"}
    assert list(notes) == list(ITEMS), "every item's outcome stands on the record"
    assert notes["4711"]["claims"] == json.loads(json.dumps(found.claims["4711"]))
    assert notes["4714"]["failed"] == "timeout"
    acts = [(event.thread, event.body["act"], event.body["sender"]) for event in events if event.kind == "post"]
    assert acts[1::2] == [
        ("item/4711", "inform", "ada"), ("item/4712", "inform", "ada"), ("item/4713", "refuse", "ada"),
        ("item/4714", "failure", "engine"),
    ]  # fmt: skip
    assert [event.body["tool"] for event in events if event.kind == "tool"] == ["calculator"]


def test_a_program_reads_a_share(panel: Panel) -> None:
    found, store = begin(BY_TOOL, panel)
    assert [one["value"] for one in found.claims["4711"]] == [6, 4]
    assert [reopened(BY_TOOL, one) for one in found.claims["4711"]] == [["EXACT"], ["EXACT"]]
    assert [one["id"] for one in found.claims["4711"]] == ["office/reader/1", "office/reader/2"]
    assert "the log is locked" in found.silent["4713"]
    assert found.failures == {"invalid": 1, "tool": 1}
    assert [event.actor for event in store.read() if event.kind == "outcome"] == [READER] * 4


@pytest.mark.parametrize("of", [BY_AGENT, BY_TOOL], ids=["agent", "tool"])
def test_cut_at_every_event_it_goes_on_to_the_same_end(of: Share, panel: Panel) -> None:
    store = MemoryStore()
    whole, _ = begin(of, panel, store)
    events = list(store.read())
    asked = Counter(event.key for event in events if event.kind == "outcome")

    async def go() -> None:
        async with Cast(panel) as cast:
            for number in range(1, len(events) + 1):
                copy = cut(store, number)
                found = await runs.resume(copy, cast.performer(past=list(copy.read())))
                assert found.to_data() == whole.to_data()
                after = list(copy.read())
                assert told(after) == told(events), f"cut after event {number}"
                assert Counter(event.key for event in after if event.kind == "outcome") == asked, "nothing done twice"

    anyio.run(go)


@pytest.mark.parametrize("of", [BY_AGENT, BY_TOOL], ids=["agent", "tool"])
def test_a_record_replays_resumes_and_is_audited_clean(of: Share, panel: Panel, tmp_path: Path) -> None:
    path = tmp_path / "share.db"
    with open_record(path, "x") as store:
        whole, _ = begin(of, panel, store)
        events = list(store.read())
    replayed = runs.replay(path)
    assert replayed.identical
    assert isinstance(replayed.decision, Reported)
    assert replayed.decision.claims == whole.claims
    assert anyio.run(resume_from, path).to_data() == whole.to_data()
    heard = audited(events)
    assert heard.findings == []
    owed = Counter(heard.statuses().values())
    of_agent = {
        "fulfilled": 2 + 5 + 1,
        "declared:refused": 1,
        "declared:failed": 1,
        "expired": 1,
    }  # reports, calls, tool
    assert owed == (of_agent if of is BY_AGENT else {"fulfilled": 3, "declared:failed": 1})
    done = CliRunner().invoke(main, ["audit", str(path)])
    assert done.exit_code == 0, done.output
    assert not [event for event in events if event.kind == "blocked"]


def test_no_other_partys_source_and_no_scratchpad_is_in_any_context(panel: Panel) -> None:
    """Everything that an agent of this share reads, byte for byte: its own sources of the item, and nothing besides."""
    mine = pin(f"{LOG}CANARY-MINE\n", "log.csv", "text/csv")
    later = pin("CANARY-LATER\n", "later.txt")
    digests = [digest(one.text or "") for one in (mine, later)]
    theirs = {
        **dict(zip(digests, (mine, later), strict=True)),
        digest("CANARY-THEIRS"): pin("CANARY-THEIRS", "theirs.txt"),
    }
    of = Share(
        party="office", agent="ada", items=ITEMS, wanted=(PALLETS,), sources=theirs,
        of={"4711": (digests[0],), "4712": (digests[0],), "4713": tuple(digests), "4714": (digests[0],)},
    )  # fmt: skip
    found, store = begin(of, panel)
    assert "PAD-4711" in json.dumps(found.asides["4711"]), "it is kept"
    events = list(store.read())
    asks = [event for event in events if event.kind == "ask"]
    assert len(asks) == 6
    for event in asks:
        seen = view_of([one for one in events if one.seq < event.seq], "ada", event.thread)
        reads = "\n".join([event.body["prompt"], *(one.text for one in seen if one.role == "user")])
        assert "CANARY-THEIRS" not in reads
        assert "PAD-" not in reads
        assert ("CANARY-LATER" in reads) == (event.thread == "item/4713")
        written = [one.text for one in seen if one.role == "assistant"]
        own = event.thread.split("/")[1]
        assert not [text for text in written if "PAD-" in text and f"PAD-{own}" not in text], "its own words, if any"
    assert "CANARY-MINE" in asks[0].body["prompt"]


def test_a_budget_that_is_used_up_stops_the_share(panel: Panel) -> None:
    from dissensus.agents.budget import Limits

    found, store = begin(BY_AGENT, replace(panel, budget=Limits(calls=3)))
    assert found.status.value == "open_budget"
    assert found.stopped == "budget: calls"
    assert list(found.claims) == ["4711"]
    assert found.silent == dict.fromkeys(["4712", "4713", "4714"], "budget: calls")
    assert audited(store.read()).findings == []
    assert len([event for event in store.read() if event.kind == "reported"]) == 4
