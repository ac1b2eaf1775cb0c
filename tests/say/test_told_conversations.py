"""Small conversations, one for each rule of the FIPA protocols: exactly these findings and obligations."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from logs import audited, listen

from dissensus.say.acts import ACTS
from dissensus.say.message import Message
from dissensus.say.protocol_file import shipped
from dissensus.say.readers import own
from dissensus.say.readers.a2a import message_of
from dissensus.say.readers.times import seconds
from dissensus.say.verdicts import Finding, Obligation

DAY = "2026-03-02T{}Z"
FIELDS = {
    "ct": "content_type", "c": "content", "rw": "reply_with", "irt": "in_reply_to", "by": "reply_by", "th": "thread",
    "p": "protocol",
}  # fmt: skip


def told() -> list[Any]:
    text = (Path(__file__).parent / "data" / "conversations.txt").read_text("utf-8")
    parts = text.split("\n## ")[1:]
    return [pytest.param(part.splitlines(), id=part.split(maxsplit=1)[0]) for part in parts]


def message(line: str, number: int) -> dict[str, Any]:
    act, parties, *rest = line.split()
    sender, receivers = parties.split(">")
    names = [name for name in receivers.split(",") if name]
    data: dict[str, Any] = {"id": f"m{number}", "sender": sender, "receivers": names, "thread": "t"}
    if act != "-":
        data["act"] = act
    for pair in rest:
        key, value = pair.split("=", 1)
        data[FIELDS.get(key, key)] = (
            value if key not in ("at", "by") else int(value) if value.isdigit() else DAY.format(value)
        )
    return data


def options(line: str) -> dict[str, Any]:
    words = line.split()[1:]
    how: dict[str, Any] = {}
    while words:
        word = words.pop(0)
        if word == "--closed":
            how["closed"] = True
        elif word == "--as-of":
            how["as_of"] = seconds(DAY.format(words.pop(0).removesuffix("Z")))
        elif word == "--ttl":
            how["ttl"] = float(words.pop(0).removesuffix("s"))
        elif word == "--authority":
            who, whom = words.pop(0).split(":")
            how["authority"] = {who: whom.split(",")}
        else:
            how[word.removeprefix("--")] = words.pop(0)
    return how


def owed(one: Obligation) -> str:
    place = f"{one.thread}/{one.sub}" if one.sub else one.thread
    return f"{place} {one.kind} {one.debtor}>{one.creditor} {one.opened_by} {one.status} {one.closed_by or '-'}"


def found(one: Finding) -> str:
    return f"{one.id} {one.verdict} {one.rule} {one.level} {one.party or '-'} {one.caused_by or '-'}"


def split(lines: list[str]) -> tuple[dict[str, Any], list[dict[str, Any]], list[str], list[str]]:
    rest = [line for line in lines[1:] if line]
    said = [line for line in rest if line[:2] not in ("->", "!!")]
    raw = [message(line, number) for number, line in enumerate(said, 1)]
    return (
        options(lines[0]),
        raw,
        sorted(line[3:] for line in rest if line[:2] == "->"),
        sorted(line[3:] for line in rest if line[:2] == "!!"),
    )


@pytest.mark.parametrize("lines", told())
def test_exactly_what_is_told(lines: list[str]) -> None:
    how, raw, obligations, findings = split(lines)
    heard = audited("".join(json.dumps(each) + "\n" for each in raw).encode(), **how)
    assert sorted(map(owed, heard.obligations)) == obligations
    assert sorted(map(found, heard.findings)) == findings
    not_ok = {line.split()[0] for line in findings if line.split()[1] != "ok"}
    assert {key for key, verdict in heard.verdicts.items() if verdict not in ("ok", "untagged", "held")} <= not_ok


@pytest.mark.parametrize("lines", told())
def test_taken_up_again_after_each_message_it_says_the_same(lines: list[str]) -> None:
    """The state goes through JSON between any two messages."""
    how, raw, obligations, findings = split(lines)
    said = [_as_message(each) for each in raw]
    ending = {key: how.pop(key) for key in ("as_of", "closed") if key in how}
    all_findings: list[Finding] = []
    all_obligations: list[Obligation] = []
    state: Any = None
    for each in said:
        heard = listen(each, finish=False, state=state, **how)
        all_findings += heard.findings
        all_obligations += heard.obligations
        state = json.loads(json.dumps(heard.monitor.state()))
    heard = listen(state=state, **how, **ending)
    assert sorted(map(owed, all_obligations + heard.obligations)) == obligations
    assert sorted(map(found, all_findings + heard.findings)) == findings


def _as_message(data: dict[str, Any]) -> Message:
    return own.message_of(data, int(data["id"][1:]))


def test_without_order_of_delivery_there_is_none_on_the_wire_either() -> None:
    def heard_in(delivery: str | None) -> list[str]:
        event = {"taskId": "t", "contextId": "c", "status": {"state": "TASK_STATE_WORKING"}}
        asked = {"method": "SendStreamingMessage", "params": {"message": {"messageId": "m", "role": "ROLE_USER"}}}
        units: list[dict[str, Any]] = [asked, {"result": {"statusUpdate": event}}]
        said = [message_of({"jsonrpc": "2.0", "id": 1, **unit}, number) for number, unit in enumerate(units, 1)]
        return [one.rule for one in listen(*said, delivery=delivery).findings]

    assert heard_in(None) == heard_in("fifo") == ["a2a.stream-first-event"]
    assert heard_in("unordered") == []


KINDS = [None, None, "done", "result", "true", "done-proxy", "start", "end", "no-match"]


@settings(max_examples=150)
@given(st.data())
def test_whatever_is_said_a_monitor_that_was_taken_up_again_says_the_same(data: st.DataObject) -> None:
    """Any acts between anybody, legal or not, in any protocol, profile and order of delivery."""
    draw = data.draw
    names = sorted(name for name in shipped() if not name.startswith(("a2a", "mcp")))
    how: dict[str, Any] = {
        "profile": draw(st.sampled_from(["fipa", "jade", "strict"])),
        "delivery": draw(st.sampled_from([None, "fifo", "unordered"])),
        "protocol": draw(st.sampled_from(names)),
    }
    acts = st.sampled_from(
        [*sorted(ACTS), "request", "agree", "inform", "cancel", "propose", "cfp", "proxy", "failure"]
    )
    maybe = st.none() | st.integers(0, 9).map("m{}".format)
    said = [
        Message(
            id=f"m{number}",
            sender=draw(st.sampled_from("aabbpz")),
            receivers=tuple(draw(st.lists(st.sampled_from("abpz"), min_size=1, max_size=2))),
            act=draw(acts),
            thread=draw(st.sampled_from("ttu")),
            content=draw(st.sampled_from([None, "x", str(number)])),
            content_type=draw(st.sampled_from(KINDS)),
            at=float(number),
            reply_by=draw(st.none() | st.integers(0, 20).map(float)),
            in_reply_to=draw(maybe),
        )
        for number in range(draw(st.integers(2, 10)))
    ]
    whole = listen(*said, **how)
    cut = draw(st.integers(0, len(said)))
    first = listen(*said[:cut], finish=False, **how)
    second = listen(*said[cut:], state=json.loads(json.dumps(first.monitor.state())), **how)
    assert first.findings + second.findings == whole.findings
    told = sorted(map(owed, first.obligations + second.obligations))
    assert told == sorted(map(owed, whole.obligations))
