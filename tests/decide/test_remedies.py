"""Remedies: who is reminded how often, who is handed the task, and what stands on the record about it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dissensus.decide.remedies import Handled, ask_and_remind, ask_or_hand_on
from dissensus.script.effects import Ask, Note
from dissensus.script.outcomes import Outcome, Refusal, Reply, TimedOut, TransportFailure
from dissensus.script.rehearsal import rehearse
from dissensus.script.seats import Seat

SILENT, DEAD, NO = TimedOut(after_s=2.0), TransportFailure(problem="no route"), Refusal()
SEATS = [Seat(agent=name, model="m") for name in ("ada", "ben", "cleo")]


class Room:
    """Answers by turns, and keeps what was asked and noted."""

    def __init__(self, **said: list[Any]) -> None:
        self.said = {name: iter(turns) for name, turns in said.items()}
        self.asked: list[tuple[str, Ask]] = []
        self.notes: list[dict[str, Any]] = []

    def answer(self, key: str, effect: Any) -> Outcome:
        self.asked.append((key, effect))
        turn: Outcome | str = next(self.said[effect.agent])
        return Reply(text=turn) if isinstance(turn, str) else turn

    def play(self, script: Any) -> Any:
        def watched() -> Any:
            sent = None
            while True:
                try:
                    what = script.send(sent)
                except StopIteration as stop:
                    return stop.value
                if isinstance(inner := getattr(what, "what", what), Note):
                    self.notes.append(dict(inner.data))
                sent = yield what

        return rehearse(watched(), self.answer)


def test_a_silent_agent_is_reminded_and_no_other_failure_is() -> None:
    room = Room(ada=[SILENT, SILENT, "here"])
    answered = room.play(ask_and_remind(SEATS[0], "Where is it?", deadline_s=2, remind=3, key="ask"))
    assert answered.outcome.text == "here"
    assert answered.key == "ask/remind/2"
    assert [key for key, _ in room.asked] == ["ask", "ask/remind/1", "ask/remind/2"]
    assert [effect.deadline_s for _, effect in room.asked] == [2, 2, 2]
    assert room.asked[1][1].prompt.endswith("Where is it?")
    assert room.asked[1][1].prompt != "Where is it?"
    assert [note["because"] for note in room.notes] == ["timeout", "timeout"]
    room = Room(ada=[DEAD])
    assert room.play(ask_and_remind(SEATS[0], "?", deadline_s=2, remind=3)).outcome == DEAD


def test_the_task_goes_from_hand_to_hand_until_somebody_answers() -> None:
    room = Room(ada=[SILENT, SILENT], ben=[NO], cleo=["done"])
    handled = room.play(ask_or_hand_on("Do it.", SEATS, deadline_s=2, remind=1, thread="job"))
    assert handled == Handled(Reply(text="done"), "cleo", (("ada", "timeout"), ("ben", "refusal"), ("cleo", "reply")))
    assert [key for key, _ in room.asked] == ["ada/ask", "ada/ask/remind/1", "ben/ask", "cleo/ask"]
    assert {effect.thread for _, effect in room.asked} == {"job/ada", "job/ben", "job/cleo"}
    assert [(note["remedy"], note["agent"], note.get("to")) for note in room.notes] == [
        ("remind", "ada", None), ("hand-on", "ada", "ben"), ("hand-on", "ben", "cleo"),
    ]  # fmt: skip


def test_when_nobody_is_left_it_is_given_up() -> None:
    room = Room(ada=[DEAD], ben=[SILENT])
    handled = room.play(ask_or_hand_on("Do it.", SEATS[:2], deadline_s=2, remind=0))
    assert (handled.by, handled.outcome) == ("", SILENT)
    assert room.notes[-1]["remedy"] == "give-up"
    nobody = Room().play(ask_or_hand_on("Do it.", [], deadline_s=2))
    assert (nobody.by, nobody.tried) == ("", ())


@pytest.mark.parametrize("remind", [0, 1, 3])
@given(turns=st.lists(st.sampled_from([SILENT, DEAD, NO, "done"]), min_size=12, max_size=12))
def test_nobody_is_asked_more_often_than_allowed_and_nobody_after_a_reply(remind: int, turns: list[Any]) -> None:
    room = Room(**{seat.agent: turns[4 * place : 4 * place + 4] for place, seat in enumerate(SEATS)})
    handled = room.play(ask_or_hand_on("Do it.", SEATS, deadline_s=2, remind=remind))
    asked = [effect.agent for _, effect in room.asked]
    assert all(asked.count(seat.agent) <= 1 + remind for seat in SEATS)
    assert asked == sorted(asked)
    first = next((name for name, kind in handled.tried if kind == "reply"), "")
    assert handled.by == first == (asked[-1] if first else "")
    assert len(handled.tried) == (len(SEATS) if not first else [seat.agent for seat in SEATS].index(first) + 1)
