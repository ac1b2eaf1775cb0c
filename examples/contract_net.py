"""A task goes to the best bidder; when that one fails, it is announced anew. Who holds it is one call, at any time."""

from __future__ import annotations

from pathlib import Path

import dissensus
from dissensus.record.event import Event
from dissensus.run.holding import holdings

PANEL = """\
models:
  careful: {use: "scripted:x", rules: [
    {when: "To offer", say: '{"price": 30, "estimate": 90, "confidence": 0.95, "note": "I take my time."}'},
    {when: "", say: "Checked twice: the bridge holds 12 tonnes."}]}
  cheap: {use: "scripted:x", rules: [
    {when: "To offer", say: 'Gladly! {"price": 10, "estimate": 20, "confidence": 0.6}'},
    {when: "", fail: connect}]}
  busy: {use: "scripted:x", rules: [{when: "", say: '{"refuse": "I have two other bridges."}'}]}
agents:
  - {name: ada, model: careful}
  - {name: ben, model: cheap}
  - {name: cleo, model: busy}
"""

if __name__ == "__main__":
    Path("panel.yaml").write_text(PANEL, encoding="utf-8")

    events: list[Event] = []

    def watch(event: Event) -> None:
        """While it runs: who holds the task after each message?"""
        events.append(event)
        if event.kind == "post" and event.body["act"] in {"accept-proposal", "inform", "failure"}:
            print(f"  {event.body['act']:<16} {dissensus.holder_of(events, 'contract') or 'nobody'} holds it")

    found = dissensus.contract(
        "How much does the old bridge hold?",
        panel="panel.yaml",
        settings=dissensus.ContractSettings(criterion="price", bid_s=20, report_s=60),
        record="bridge.db",
        on_event=watch,
    )
    print(f"{found.status}: {found.holder} reports: {found.report}")
    for one in found.held:
        print(f"  round {one.round}: {one.agent} {one.ended} {one.why}".rstrip())
    for one in holdings("bridge.db", "contract"):
        print(f"  {one.thread}: {one.agent}, {one.status}")

    report = dissensus.audit("bridge.db")
    counts = report.tally.counts()
    print(f"audit: {counts['violations']} violations, {counts['messages']} messages in {counts['threads']} threads")
