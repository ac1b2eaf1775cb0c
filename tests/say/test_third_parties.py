"""Brokering and recruiting: more than two parties in one thread."""

from __future__ import annotations

from typing import Any

import pytest
from logs import Heard, listen


def said(act: str, sender: str, receiver: str, **more: Any) -> dict[str, Any]:
    return {"act": act, "sender": sender, "receivers": (receiver,), "thread": "b", **more}


BEGIN = (
    said("proxy", "i", "br"),
    said("agree", "br", "i"),
    said("inform", "br", "i", content_type="done-proxy"),
    said("request", "br", "t1"),
    said("request", "br", "t2"),
)


def statuses(heard: Heard) -> dict[tuple[str, str, str], str]:
    return {(o.debtor, o.creditor, o.kind): o.status for o in heard.obligations}


def test_answers_of_third_parties_are_brought_back() -> None:
    heard = listen(
        *BEGIN, said("inform", "t1", "br", content=1), said("inform", "br", "i", content=1), said("refuse", "t2", "br"),
        said("refuse", "br", "i"), protocol="fipa-brokering",
    )  # fmt: skip
    assert set(heard.verdicts.values()) == {"ok"}
    assert statuses(heard) == {
        ("br", "i", "answer"): "fulfilled",
        ("br", "i", "performance"): "fulfilled",
        ("t1", "br", "answer"): "fulfilled",
        ("t2", "br", "answer"): "declared:refused",
    }
    assert "b" in heard.monitor.closed


def test_what_nobody_answered_cannot_be_passed_on() -> None:
    heard = listen(*BEGIN, said("inform", "br", "i", content="made up"), protocol="fipa-brokering")
    assert heard.verdicts["m6"] == "illegal"
    assert heard.findings[0].rule == "forward"
    assert statuses(heard)["br", "i", "performance"] == "pending"


def test_a_stranger_has_no_title_in_a_brokered_talk() -> None:
    heard = listen(*BEGIN, said("inform", "t9", "br"), protocol="fipa-brokering")
    assert heard.verdicts["m6"] in {"illegal", "no-title"}
    assert statuses(heard)["t1", "br", "answer"] == "pending"


def test_the_thread_goes_on_while_a_third_party_owes() -> None:
    heard = listen(
        *BEGIN, said("inform", "t1", "br", content=1), said("inform", "br", "i", content=1), protocol="fipa-brokering"
    )
    assert "b" in heard.monitor.running
    assert statuses(heard)["t2", "br", "answer"] == "pending"


@pytest.mark.parametrize(("profile", "verdict"), [("fipa", "ok"), ("strict", "illegal")])
def test_strict_brings_back_one_answer_of_each(profile: str, verdict: str) -> None:
    heard = listen(
        *BEGIN, said("agree", "t1", "br", content=0), said("inform", "t1", "br", content=1),
        said("inform", "br", "i", content=1), said("inform", "br", "i", content=2),
        protocol="fipa-brokering", profile=profile,
    )  # fmt: skip
    assert heard.verdicts["m9"] == verdict


def test_recruited_agents_answer_whom_they_were_recruited_for() -> None:
    start = (
        said("proxy", "i", "br"),
        said("agree", "br", "i"),
        said("inform", "br", "i", content_type="done-proxy"),
        said("request", "br", "t1"),
    )
    heard = listen(*start, said("inform", "t1", "i", content=1), protocol="fipa-recruiting")
    assert set(heard.verdicts.values()) == {"ok"}
    assert statuses(heard)["t1", "br", "answer"] == "fulfilled"
    wrong = listen(*start, said("inform", "t7", "i", content=1), protocol="fipa-recruiting")
    assert wrong.verdicts["m5"] != "ok"


def test_acts_that_assert_count_as_inform() -> None:
    heard = listen(
        {"act": "request", "sender": "a", "receivers": ("b",), "thread": "t"},
        {"act": "confirm", "sender": "b", "receivers": ("a",), "thread": "t"},
    )
    assert [o.status for o in heard.obligations] == ["fulfilled"]
