"""A monitor beside agents of your own: it says at once who moved without title, and who owes what to whom.

Your agents may be anything that sends messages. Here a list stands for the wire between them.
"""

from __future__ import annotations

from typing import Any

import dissensus

# `at` counts seconds; without it, the monitor takes the time of the clock.
WIRE: list[dict[str, Any]] = [
    {"at": 0, "sender": "planner", "receivers": ["researcher"], "act": "request", "thread": "sources", "reply_by": 60},
    {"at": 1, "sender": "planner", "receivers": ["analyst"], "act": "request", "thread": "table", "reply_by": 30},
    {"at": 2, "sender": "researcher", "receivers": ["planner"], "act": "agree", "thread": "sources"},
    {"at": 5, "sender": "analyst", "receivers": ["planner"], "act": "inform", "thread": "sources", "content": "mine!"},
    {"at": 9, "sender": "researcher", "receivers": ["planner"], "act": "inform", "thread": "sources", "content": "3"},
    {"at": 40, "sender": "planner", "receivers": ["writer"], "act": "request", "thread": "text"},
]

if __name__ == "__main__":
    monitor = dissensus.Monitor(
        on_violation=lambda finding: print(f"  violation by {finding.party}: {finding.says}"),
        on_overdue=lambda owed: print(f"  overdue: {owed.debtor} owes {owed.creditor} {owed.kind} in {owed.thread}"),
        record="messages.jsonl",
    )
    with monitor:
        for message in WIRE:
            # `guard` is asked before delivery, where `see` is told after it: what is not legal is never delivered.
            delivered = monitor.guard(message)
            print(
                f"{message['sender']} → {message['receivers'][0]}: {message['act']}{'' if delivered else ', stopped'}"
            )
            if message["act"] == "agree":
                print(f"  {', '.join(monitor.holders(message['thread']))} holds the task")

    print()
    for owed in monitor.report()["obligations"]:
        print(f"{owed['thread']:<10}{owed['debtor']} owes {owed['creditor']} {owed['kind']}: {owed['status']}")

    # The record is a log like any other, and an audit of it says the same.
    same = dissensus.audit("messages.jsonl").to_data()["counts"] == monitor.report()["counts"]
    print("\nan audit of messages.jsonl says the same:", same)
