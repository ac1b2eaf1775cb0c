from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from logs import Heard, audited, listen, source_of

from dissensus.errors import LogError, UsageError
from dissensus.say.message import Message
from dissensus.say.monitor import Monitor
from dissensus.say.readers.base import Options, Source
from dissensus.say.readers.own import READER
from dissensus.say.verdicts import OK, UNTAGGED, Finding, Obligation

ACL = "messages-and-protocols/own/acl"


# --- the labelled logs


def labelled(shared: Path, name: str) -> tuple[dict[str, Any], Path]:
    folder = shared / "data" / ACL
    return json.loads((folder / f"{name}.expected.json").read_text()), folder / f"{name}.jsonl"


def check_messages(expected: dict[str, Any], heard: Heard) -> None:
    others = expected.get("messages", {}).get("others")
    for id_, verdict in heard.verdicts.items():
        want = expected.get("messages", {}).get(id_, others)
        if want is not None:
            assert verdict == want, id_


def check_obligations(expected: list[dict[str, Any]], heard: Heard) -> None:
    for label in expected:
        names = {"opened": "opened_by", "closed": "closed_by"}
        wanted = {names.get(key, key): value for key, value in label.items()}
        fits = [owed for owed in heard.obligations if all(getattr(owed, key) == value for key, value in wanted.items())]
        assert len(fits) == 1, label


@pytest.mark.parametrize("name", ["seed", "wrong-decider-cascade"])
def test_a_labelled_log_gets_its_labels(shared: Path, name: str) -> None:
    expected, path = labelled(shared, name)
    heard = audited(path.read_bytes())
    check_messages(expected, heard)
    check_obligations(expected["obligations"], heard)
    if "folded" in expected:
        assert {f.id: f.caused_by for f in heard.findings if f.caused_by} == expected["folded"]
        assert heard.monitor.violations == expected["roots"]


def test_the_seed_has_no_other_obligations(shared: Path) -> None:
    _, path = labelled(shared, "seed")
    heard = audited(path.read_bytes())
    kinds = sorted((owed.thread, owed.kind) for owed in heard.obligations)
    assert kinds == [("f1", "answer"), ("f1", "performance"), ("f2", "answer"), ("f2", "performance"), ("f3", "answer")]


@pytest.mark.parametrize("delivery", ["total", "fifo", "unordered"])
def test_cancel_crosses_delivery(shared: Path, delivery: str) -> None:
    expected, path = labelled(shared, "cancel-crosses-inform")
    heard = audited(path.read_bytes(), delivery=delivery)
    label = expected["delivery"]["total" if delivery == "total" else "fifo"]
    check_messages(label, heard)
    check_obligations(label["obligations"], heard)
    crossed = {id_ for finding in heard.findings for id_ in (*finding.crossed, finding.id) if finding.crossed}
    assert sorted(crossed) == label.get("crossed", [])


@pytest.mark.parametrize("profile", ["fipa", "jade", "strict"])
def test_profiles_differ_about_delivery_without_a_promise(shared: Path, profile: str) -> None:
    expected, path = labelled(shared, "request-without-agree")
    heard = audited(path.read_bytes(), profile=profile)
    label = expected["profiles"][profile]
    check_messages(label, heard)
    check_obligations(label.get("obligations", []), heard)


def test_an_order_without_authority_is_void(shared: Path) -> None:
    expected, path = labelled(shared, "void-order")
    heard = audited(path.read_bytes(), authority=expected["authority"])
    check_messages(expected, heard)
    check_obligations(expected["obligations"], heard)
    assert {f.id: f.caused_by for f in heard.findings if f.caused_by} == expected["folded"]
    assert all(owed.thread == "v2" for owed in heard.obligations)


def test_a_late_bid_opens_no_offer(shared: Path) -> None:
    expected, path = labelled(shared, "contract-net-late-bid")
    heard = audited(path.read_bytes(), as_of=1772449200.0)
    check_messages(expected, heard)
    check_obligations(expected["obligations"], heard)
    assert not [owed for owed in heard.obligations if owed.sub == "p3" and owed.kind in {"offer", "decision"}]
    [finding] = heard.findings
    assert (finding.verdict, finding.level) == ("late", "warning")  # nobody promised to bid


# --- rules, one by one


def say(act: str | None, sender: str, *to: str, thread: str = "t", **more: Any) -> dict[str, Any]:
    return {"act": act, "sender": sender, "receivers": to, "thread": thread, **more}


def test_only_a_promise_is_violated() -> None:
    heard = listen(
        say("request", "a", "b", thread="asked", at=0.0, reply_by=10.0),
        say("request", "a", "b", thread="promised", at=0.0),
        say("agree", "b", "a", thread="promised", at=1.0, reply_by=10.0),
        as_of=11.0,
    )
    assert {(o.thread, o.kind): o.status for o in heard.obligations} == {
        ("asked", "answer"): "expired",
        ("promised", "answer"): "fulfilled",
        ("promised", "performance"): "violated",
    }


def test_a_deadline_has_passed_when_it_is_strictly_later() -> None:
    told = [say("request", "a", "b", at=0.0, reply_by=10.0)]
    assert [o.status for o in listen(*told, as_of=10.0).obligations] == ["pending"]
    assert [o.status for o in listen(*told, as_of=10.0001).obligations] == ["expired"]


def test_what_only_a_policy_demands_expires() -> None:
    heard = listen(say("request", "a", "b", at=0.0), say("agree", "b", "a", at=1.0), ttl=5.0, as_of=100.0)
    assert [o.status for o in heard.obligations] == ["fulfilled", "expired"]


def test_a_conversation_that_is_over_leaves_promises_violated() -> None:
    heard = listen(
        say("request", "a", "b", thread="x"),
        say("request", "a", "b", thread="y"),
        say("agree", "b", "a", thread="y"),
        closed=True,
    )
    assert {o.thread: o.status for o in heard.obligations if not o.closed_by} == {"x": "expired", "y": "violated"}


def test_a_late_delivery_is_both_late_and_violated() -> None:
    heard = listen(
        say("request", "a", "b", at=0.0), say("agree", "b", "a", at=1.0, reply_by=5.0), say("inform", "b", "a", at=65.0)
    )
    assert heard.verdicts["m3"] == "late"
    promise = heard.obligations[-1]
    assert (promise.status, promise.closed_by, promise.late_by_s) == ("violated", "m3", 60.0)
    assert [f.level for f in heard.findings] == ["violation"]


def test_what_an_untagged_message_may_have_closed_is_unknown() -> None:
    heard = listen(say("request", "a", "b"), say("agree", "b", "a"), say(None, "b", "a"))
    assert heard.verdicts["m3"] == UNTAGGED
    assert [o.status for o in heard.obligations] == ["fulfilled", "unknown"]
    assert not heard.findings


def test_what_was_only_inferred_is_answered_and_never_fulfilled() -> None:
    heard = listen(say("request", "a", "b"), say("inform", "b", "a", tag_source="inferred"))
    assert [o.status for o in heard.obligations] == ["answered"]


def test_the_same_id_is_a_duplicate_and_so_is_the_same_message() -> None:
    heard = listen(
        say("request", "a", "b", content="x"),
        say("request", "a", "b", content="x"),
        {**say("agree", "b", "a"), "id": "m1"},
        say("request", "a", "b", content="y"),
    )
    assert list(heard.verdicts.values()) == ["duplicate", "duplicate", "illegal"]  # m1 was judged twice
    assert heard.monitor.violations == 1
    assert len(heard.obligations) == 1


def test_a_duplicate_to_a_closed_thread_is_no_violation() -> None:
    heard = listen(
        say("request", "a", "b", content="x"), say("inform", "b", "a", content="z"),
        say("inform", "b", "a", content="z"),
        say("request", "a", "b", content="x"), say("inform", "b", "a", content="other"),
    )  # fmt: skip
    assert [heard.verdicts[f"m{n}"] for n in (3, 4, 5)] == ["duplicate", "duplicate", "illegal"]


def test_a_promise_of_what_another_is_to_do_is_void() -> None:
    heard = listen(say("request", "a", "b"), say("agree", "b", "a", about="c"), say("agree", "b", "a", about="b"))
    assert [heard.verdicts[f"m{n}"] for n in (2, 3)] == ["void", "ok"]


def test_a_message_to_nobody_is_void() -> None:
    assert listen(say("request", "a")).verdicts == {"m1": "void"}


def test_a_platform_may_report_a_failure() -> None:
    heard = listen(
        say("request", "a", "b"),
        say("failure", "ams", "a", about="b"),
        say("inform", "b", "a"),
    )
    assert [heard.verdicts[f"m{n}"] for n in (2, 3)] == ["ok", "illegal"]
    assert [(o.status, o.closed_by) for o in heard.obligations] == [("declared:failed", "m2")]


def test_reply_to_moves_the_addressee_and_not_the_title() -> None:
    heard = listen(
        say("request", "a", "b", reply_to="c"),
        say("inform", "c", "a"),
        say("inform", "b", "c"),
    )
    assert [heard.verdicts[f"m{n}"] for n in (2, 3)] == ["no-title", "ok"]


def test_an_answer_to_another_question_is_illegal() -> None:
    heard = listen(
        say("request", "a", "b", reply_with="q1"),
        say("agree", "b", "a", in_reply_to="q7"),
        say("agree", "b", "a", in_reply_to="q1"),
    )
    assert [heard.verdicts[f"m{n}"] for n in (2, 3)] == ["illegal", "ok"]
    assert heard.findings[0].rule == "correlation"


@pytest.mark.parametrize(("profile", "verdict"), [("fipa", "ok"), ("jade", "illegal"), ("strict", "illegal")])
def test_some_profiles_want_the_tag_back(profile: str, verdict: str) -> None:
    heard = listen(say("request", "a", "b", reply_with="q1"), say("agree", "b", "a"), profile=profile)
    assert heard.verdicts["m2"] == verdict


def test_a_refused_cancel_leaves_everything_owed() -> None:
    heard = listen(
        say("request", "a", "b"), say("agree", "b", "a"), say("cancel", "a", "b"), say("failure", "b", "a"),
        say("inform", "b", "a"),
    )  # fmt: skip
    assert set(heard.verdicts.values()) == {OK}
    assert [(o.kind, o.status) for o in heard.obligations] == [
        ("answer", "fulfilled"), ("cancel", "declared:failed"), ("performance", "fulfilled"),
    ]  # fmt: skip


def test_a_confirmed_cancel_ends_it() -> None:
    heard = listen(
        say("request", "a", "b"), say("agree", "b", "a"), say("cancel", "a", "b"),
        say("inform", "b", "a", content_type="done"), say("inform", "b", "a"),
    )  # fmt: skip
    assert heard.verdicts["m5"] == "illegal"
    assert {o.kind: o.status for o in heard.obligations} == {
        "answer": "fulfilled", "cancel": "fulfilled", "performance": "declared:cancelled",
    }  # fmt: skip


def test_one_call_to_many_is_a_machine_each() -> None:
    heard = listen(
        say("cfp", "boss", "p", "q", "r"), say("propose", "p", "boss"), say("refuse", "q", "boss"),
        say("accept-proposal", "boss", "p"), say("reject-proposal", "boss", "r"),
        say("inform", "p", "boss", content_type="done"),
        protocol="fipa-contract-net",
    )  # fmt: skip
    assert heard.verdicts["m5"] == "illegal"
    assert {(o.sub, o.kind): o.status for o in heard.obligations} == {
        ("p", "answer"): "fulfilled", ("p", "offer"): "fulfilled", ("p", "decision"): "fulfilled",
        ("p", "performance"): "fulfilled", ("q", "answer"): "declared:refused", ("r", "answer"): "pending",
    }  # fmt: skip


def test_calls_one_by_one_in_one_thread_are_a_machine_each() -> None:
    heard = listen(
        say("cfp", "boss", "p"), say("refuse", "p", "boss"), say("cfp", "boss", "q"), say("propose", "q", "boss"),
        protocol="fipa-contract-net",
    )  # fmt: skip
    assert set(heard.verdicts.values()) == {OK}


def test_who_holds_the_task() -> None:
    heard = listen(
        say("cfp", "boss", "p", "q"), say("propose", "p", "boss"), say("propose", "q", "boss"),
        say("accept-proposal", "boss", "q"), protocol="fipa-contract-net", finish=False,
    )  # fmt: skip
    assert heard.monitor.holders("t") == ["q"]


def test_under_jade_silence_on_a_bid_rejects_it() -> None:
    bids = (say("cfp", "boss", "p", at=0.0), say("propose", "p", "boss", at=1.0, reply_by=5.0))
    for profile, status in (("fipa", "expired"), ("jade", "declared:released")):
        heard = listen(*bids, protocol="fipa-contract-net", profile=profile, as_of=6.0)
        assert {o.kind: o.status for o in heard.obligations}["offer"] == status


def test_without_order_an_answer_may_come_before_its_question() -> None:
    early = (say("agree", "b", "a"), say("request", "a", "b"), say("inform", "b", "a"))
    heard = listen(*early, delivery="unordered")
    assert heard.verdicts == {"m1": "held", "m2": "ok", "m3": "ok"}
    assert heard.monitor.violations == 0
    assert [(o.kind, o.status) for o in heard.obligations] == [("answer", "fulfilled"), ("performance", "fulfilled")]
    assert listen(*early, delivery="fifo").monitor.violations == 1


def test_what_is_held_and_never_fits_is_illegal_in_the_end() -> None:
    heard = listen(say("agree", "b", "a"), delivery="unordered")
    assert heard.verdicts == {"m1": "held"}
    assert [f.verdict for f in heard.findings] == ["illegal"]
    assert heard.monitor.violations == 1


def test_the_clock_may_run_backwards() -> None:
    heard = listen(say("request", "a", "b", at=10.0), say("agree", "b", "a", at=3.0))
    assert heard.monitor.backwards == 1
    assert heard.monitor.backwards_at == ["m2"]
    assert heard.monitor.now == 10.0


def test_a_dropped_request_is_one_root() -> None:
    heard = listen(say("agree", "b", "a"), say("inform", "b", "a"))
    assert [(f.id, f.caused_by) for f in heard.findings] == [("m1", None), ("m2", "m1")]
    assert heard.monitor.violations == 1


def test_two_protocols_in_one_thread_are_an_error_that_changes_nothing() -> None:
    heard = listen(say("request", "a", "b"), finish=False)
    with pytest.raises(LogError, match="fipa-query"):
        heard.monitor.see(Message(id="x", act="agree", sender="b", receivers=("a",), thread="t", protocol="fipa-query"))
    assert heard.monitor.messages == 1
    assert heard.monitor.see(Message(id="x", act="agree", sender="b", receivers=("a",), thread="t")) == OK


def test_a_typed_message_needs_a_thread() -> None:
    with pytest.raises(LogError, match="thread"):
        Monitor().see(Message(id="x", act="agree", sender="b", receivers=("a",)))


def test_a_state_of_another_version_is_refused() -> None:
    with pytest.raises(UsageError, match="version"):
        Monitor().restore({"version": 99})


# --- for all logs

acts = st.sampled_from(
    ["request", "agree", "refuse", "inform", "failure", "cancel", "not-understood", "cfp", "propose",
     "accept-proposal", "reject-proposal", "subscribe", None]
)  # fmt: skip
names = st.sampled_from(["a", "b", "c"])
lines = st.fixed_dictionaries(
    {
        "act": acts,
        "sender": names,
        "receivers": st.lists(names, min_size=0, max_size=2, unique=True),
        "thread": st.sampled_from(["s", "t"]),
    },
    optional={
        "at": st.integers(0, 30).map(float),
        "reply_by": st.integers(0, 30).map(lambda seconds: f"1970-01-01T00:00:{seconds:02}Z"),
        "content": st.sampled_from(["x", "y", {"deep": [1]}, "long " * 40]),
        "content_type": st.sampled_from(["done", "result", "text/plain"]),
        "reply_with": st.sampled_from(["q", "r"]),
        "in_reply_to": st.sampled_from(["q", "r", "m1"]),
        "about": names,
        "tag_source": st.sampled_from(["field", "inferred"]),
    },
)
logs = st.lists(lines, max_size=14)
settings = st.fixed_dictionaries(
    {
        "protocol": st.sampled_from(["fipa-request", "fipa-contract-net", "fipa-subscribe", "four-state"]),
        "delivery": st.sampled_from([None, "total", "fifo", "unordered"]),
        "authority": st.sampled_from([None, {"a": ["b"]}]),
        "ttl": st.sampled_from([None, 5.0]),
    }
)


def as_log(log: list[dict[str, Any]]) -> bytes:
    return b"".join(json.dumps({"id": f"m{n}", **line}).encode() + b"\n" for n, line in enumerate(log, 1))


def told(heard: Heard) -> tuple[list[Finding], list[Obligation], dict[str, Any]]:
    return heard.findings, heard.obligations, {k: v for k, v in heard.monitor.state().items() if k != "ids"}


@given(logs, settings)
def test_online_and_offline_say_the_same(log: list[dict[str, Any]], how: dict[str, Any]) -> None:
    raw = as_log(log)
    online = listen(*READER.read(source_of(raw), Options()), **how)
    offline = audited(raw, **how)
    assert told(online) == told(offline)


@given(logs, settings, st.integers(0, 14))
def test_a_log_split_in_two_says_the_same(log: list[dict[str, Any]], how: dict[str, Any], where: int) -> None:
    messages = list(READER.read(source_of(as_log(log)), Options()))
    whole = listen(*messages, **how)
    first = listen(*messages[:where], **how, finish=False)
    state = json.loads(json.dumps(first.monitor.state()))
    second = listen(*messages[where:], **how, state=state)
    assert [*first.findings, *second.findings] == whole.findings
    assert [*first.obligations, *second.obligations] == whole.obligations
    assert told(second)[2] == told(whole)[2]


@given(logs, settings)
def test_at_a_glance_is_the_same_as_at_length(log: list[dict[str, Any]], how: dict[str, Any]) -> None:
    messages = list(READER.read(source_of(as_log(log)), Options()))
    assert told(listen(*messages, **how)) == told(listen(*messages, **how, swift=False))


# one message may be discarded for one partner and count for another: each goes to one here
directed = st.lists(lines.flatmap(lambda line: names.map(lambda one: {**line, "receivers": [one]})), max_size=14)


@given(directed, st.sampled_from(["fipa-request", "fipa-contract-net", "fipa-subscribe"]))
def test_without_the_discarded_messages_everybody_owes_the_same(log: list[dict[str, Any]], protocol: str) -> None:
    messages = [m for m in READER.read(source_of(as_log(log)), Options()) if isinstance(m, Message) and m.act]
    heard = listen(*messages, protocol=protocol)
    kept = [m for m in messages if heard.verdicts[m.id] in {"ok", "late"}]
    again = listen(*kept, protocol=protocol, as_of=heard.monitor.now if heard.monitor.now >= 0 else None)
    assert {again.verdicts[m.id] for m in kept} <= {"ok", "late"}

    def bare(obligations: list[Obligation]) -> list[tuple[Any, ...]]:
        return [
            (o.thread, o.sub, o.kind, o.debtor, o.creditor, o.status, o.opened_by, o.closed_by) for o in obligations
        ]

    assert bare(again.obligations) == bare(heard.obligations)


@given(logs, settings)
def test_every_message_gets_one_verdict_and_every_obligation_one_status(
    log: list[dict[str, Any]], how: dict[str, Any]
) -> None:
    heard = listen(*READER.read(source_of(as_log(log)), Options()), **how)
    assert heard.monitor.messages == len(log)
    assert len(heard.monitor.book) == 0
    assert sum(heard.monitor.book.counts.values()) == len(heard.obligations)
    roots = [f for f in heard.findings if f.level == "violation" and f.caused_by is None]
    assert heard.monitor.violations == len(roots)
    ids = {m["id"] for m in map(json.loads, as_log(log).splitlines())}
    assert {f.caused_by for f in heard.findings} - {None} <= ids
    for owed in heard.obligations:
        assert owed.status != "pending" or owed.closed_by is None


def test_a_source_can_be_read_again() -> None:
    source = Source("log", source_of(as_log([say("request", "a", "b")])).opens)
    assert len(list(READER.read(source, Options()))) == len(list(READER.read(source, Options()))) == 1


def test_a_promise_does_not_lapse() -> None:
    heard = listen(
        say("inform", "seller", "p", "q", content_type="start"), say("cfp", "seller", "p", "q", content=50),
        say("propose", "q", "seller"), say("accept-proposal", "seller", "q"), protocol="fipa-auction-dutch",
    )  # fmt: skip
    assert set(heard.verdicts.values()) == {OK}
    assert {(o.sub, o.kind): o.status for o in heard.obligations} == {
        ("q", "decision"): "fulfilled", ("q", "offer"): "fulfilled", ("q", "performance"): "pending",
    }  # fmt: skip


def test_an_offer_that_was_outbid_may_lapse() -> None:
    heard = listen(
        say("inform", "seller", "p", "q", content_type="start"), say("cfp", "seller", "p", "q", content=10),
        say("propose", "p", "seller"), say("accept-proposal", "seller", "p"),
        say("cfp", "seller", "p", "q", content=20), say("propose", "q", "seller"),
        say("accept-proposal", "seller", "q"),
        say("inform", "seller", "p", "q", content_type="end"), say("request", "seller", "q"),
        protocol="fipa-auction-english",
    )  # fmt: skip
    assert set(heard.verdicts.values()) == {OK}
    offers = {o.sub: o.status for o in heard.obligations if o.kind == "offer"}
    assert offers["q"] == "fulfilled"
    assert offers["p"] != "pending"


def test_without_order_a_promise_may_come_after_its_delivery() -> None:
    heard = listen(say("request", "a", "b"), say("inform", "b", "a"), say("agree", "b", "a"), delivery="unordered")
    assert set(heard.verdicts.values()) == {OK}
    assert [(o.kind, o.status, o.closed_by) for o in heard.obligations] == [
        ("answer", "fulfilled", "m2"),
        ("performance", "fulfilled", "m2"),
    ]


def test_what_follows_from_a_late_bid_is_folded_under_it() -> None:
    heard = listen(
        say("cfp", "boss", "p", at=0.0, reply_by=5.0), say("propose", "p", "boss", at=6.0),
        say("reject-proposal", "boss", "p", at=7.0), protocol="fipa-contract-net",
    )  # fmt: skip
    assert [(f.id, f.verdict, f.caused_by) for f in heard.findings] == [("m2", "late", None), ("m3", "illegal", "m2")]
    assert heard.monitor.violations == 0


def test_a_platform_reports_on_the_right_one_of_many() -> None:
    heard = listen(
        say("cfp", "boss", "p", "q"), say("propose", "p", "boss"), say("propose", "q", "boss"),
        say("failure", "ams", "boss", about="q"), protocol="fipa-contract-net",
    )  # fmt: skip
    assert set(heard.verdicts.values()) == {OK}
    statuses = {(o.sub, o.kind): o.status for o in heard.obligations}
    assert statuses["q", "offer"] == "declared:failed"
    assert statuses["p", "offer"] == "pending"


def test_a_void_order_does_not_take_the_thread_from_who_may_give_it() -> None:
    heard = listen(
        say("request", "clerk", "intern"), say("request", "director", "intern"), say("agree", "intern", "director"),
        authority={"director": ["intern"]},
    )  # fmt: skip
    assert list(heard.verdicts.values()) == ["void", "ok", "ok"]
    assert {(o.kind, o.creditor) for o in heard.obligations} == {("answer", "director"), ("performance", "director")}


def test_a_discarded_message_binds_no_protocol() -> None:
    heard = listen(
        say("request", "a", "a", protocol="fipa-contract-net"), say("request", "a", "b"), say("inform", "b", "a")
    )
    assert list(heard.verdicts.values()) == ["illegal", "ok", "ok"]
    assert heard.monitor.threads == 1
    assert heard.monitor.followed() == ("fipa-request",)
