from __future__ import annotations

from dataclasses import dataclass, replace

from dissensus.agents.panel import default_panel
from dissensus.decide.settings import VoteSettings
from dissensus.record.view import Seen
from dissensus.run.render import render
from dissensus.script.calls import Extend, Generate, Score, Turn
from dissensus.script.effects import Ask, Continue, ScoreTexts
from dissensus.script.seats import Seat, data_with_seats
from dissensus.study.panel_digest import description_of

PLAIN = Seat(agent="ada", model="m", system="You are Ada.")
TOLD = replace(PLAIN, context="Your notes: rain.")
SEEN = [Seen("user", "hello", "main", 1), Seen("assistant", "hi", "main", 2)]


def test_an_agent_reads_its_context_before_each_prompt_in_the_same_turn() -> None:
    for effect in (
        Ask("ada", "Will it rain?"),
        Continue("ada", "Will it rain?", "It"),
        ScoreTexts("ada", "Will it rain?", ("yes",)),
    ):
        call = render(effect, "k", TOLD, SEEN, 1).call
        assert isinstance(call, Generate | Extend | Score)
        assert [turn.text for turn in call.turns] == [
            "You are Ada.",
            "hello",
            "hi",
            "Your notes: rain.\n\nWill it rain?",
        ]
        assert call.turns[-1].role == "user"


def test_without_a_context_nothing_changes() -> None:
    job = render(Ask("ada", "Will it rain?"), "k", PLAIN, (), 1)
    assert isinstance(job.call, Generate)
    assert job.call.turns == (Turn("system", "You are Ada."), Turn("user", "Will it rain?"))
    assert job.request != render(Ask("ada", "Will it rain?"), "k", TOLD, (), 1).request


def test_an_empty_context_is_not_written() -> None:
    @dataclass(frozen=True)
    class Table:
        seats: tuple[Seat, ...]

    first, second = data_with_seats(Table((PLAIN, TOLD)))["seats"]
    assert "context" not in first
    assert second["context"] == "Your notes: rain."


def test_a_panel_with_a_context_is_another_panel() -> None:
    panel = default_panel("scripted:yes", agents=1)
    told = replace(panel, seats=tuple(replace(seat, context="rain") for seat in panel.seats))
    before, after = (description_of(one, VoteSettings())["agents"][0] for one in (panel, told))
    assert "context" not in before
    assert after == {**before, "context": "rain"}
