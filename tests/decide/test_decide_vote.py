"""The vote, played without an engine: who is asked what, what counts, and what is said about it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from dissensus.decide.procedures import PROCEDURES, settings_of_vote
from dissensus.decide.settings import LEVERS, VoteSettings
from dissensus.decide.vote import vote
from dissensus.errors import SpecError
from dissensus.script.calls import Capability
from dissensus.script.decisions import Ballot, Decision, Status
from dissensus.script.effects import Ask, Effect, RunCheck, ScoreTexts
from dissensus.script.outcomes import (
    BudgetExhausted,
    CheckResult,
    Invalid,
    Outcome,
    Refusal,
    Reply,
    Scores,
    TimedOut,
    TransportFailure,
    Usage,
)
from dissensus.script.questions import Question
from dissensus.script.rehearsal import rehearse
from dissensus.script.seats import Seat

PENS = Question(text="A shop sells pens at 3 for 2 euros. What do 12 pens cost?", gold="8 euros", kind="number")
COLOUR = Question(text="Which colour?", options=("red", "green", "blue"))
NAMES = ("ada", "ben", "cleo", "dan", "eve")


def panel(size: int = 5, model: str = "m", **more: Any) -> list[Seat]:
    return [Seat(agent=name, model=model, **more) for name in NAMES[:size]]


Said = str | Outcome


class Room:
    """Answers effects from a table by agent, and keeps what was asked."""

    def __init__(self, says: Mapping[str, Said | list[Said]], checks: Callable[[str, str], str] | None = None) -> None:
        self.says = {name: list(said) if isinstance(said, list) else [said] for name, said in says.items()}
        self.checks = checks
        self.asked: dict[str, list[Ask | ScoreTexts]] = {}
        self.tried: list[tuple[str, str]] = []
        self.keys: list[str] = []

    def __call__(self, key: str, effect: Effect) -> Outcome:
        self.keys.append(key)
        if isinstance(effect, RunCheck):
            self.tried.append((effect.check, effect.answer))
            assert self.checks is not None
            return CheckResult(verdict=self.checks(effect.check, effect.answer))
        assert isinstance(effect, Ask | ScoreTexts)
        self.asked.setdefault(effect.agent, []).append(effect)
        said = self.says[effect.agent].pop(0)
        usage = Usage(tokens_in=10, tokens_out=2, seconds=0.5)
        return Reply(text=said, usage=usage) if isinstance(said, str) else said


def hold(
    room: Room, question: Question = PENS, seats: list[Seat] | None = None, seed: int = 0, **what: Any
) -> Decision:
    seats = panel(len(room.says)) if seats is None else seats
    decision: Decision = rehearse(vote(question, seats, VoteSettings(**what), seed), room)
    return decision


def answers(*said: Said | list[Said], **checks: Any) -> Room:
    return Room(dict(zip(NAMES, said, strict=False)), **checks)


def of(decision: Decision, agent: str) -> Ballot:
    return next(ballot for ballot in decision.ballots if ballot.agent == agent)


def warned(decision: Decision, words: str) -> bool:
    return any(words in sentence for sentence in decision.warnings)


def test_most_votes_win_and_the_decision_says_everything() -> None:
    room = answers("12/3=4, 4*2=8\nAnswer: 8 euros", "Answer: 8 €", "so 24\nAnswer: 24 euros")
    decision = hold(room)
    assert (decision.status, decision.question) == (Status.DECIDED, PENS.text)
    assert decision.answer == "8 EUR"
    assert decision.votes == {"8 EUR": 2.0, "24 EUR": 1.0}
    assert [ballot.agent for ballot in decision.ballots] == ["ada", "ben", "cleo"]
    assert decision.dissent == ({"agent": "cleo", "answer": "24 EUR", "reason": "so 24"},)
    assert decision.failures == {}
    assert (decision.cost.calls, decision.cost.tokens_in, decision.cost.tokens_out) == (3, 30, 6)
    assert decision.cost.seconds == 1.5
    assert decision.cost.money is None
    assert "3 configured voters" in decision.rule
    assert Decision.from_data(decision.to_data()) == decision


def test_gold_is_never_shown_and_nobody_sees_another_s_reply() -> None:
    room = answers("Answer: 8 euros", "Answer: 8 euros", "Answer: 8 euros")
    hold(room, replace(PENS, gold="SECRET-GOLD", data={"note": "SECRET-GOLD"}))
    threads = set()
    for effects in room.asked.values():
        for effect in effects:
            assert "SECRET-GOLD" not in repr(effect)
            threads.add(effect.thread)
    assert len(threads) == 3


@pytest.mark.parametrize(
    ("said", "rule", "answer", "status"),
    [
        (["Answer: 8 euros", "Answer: 24 euros"], "plurality", None, Status.SPLIT),
        (["Answer: 8 euros", "Answer: 8 euros", TimedOut(after_s=1), Refusal()], "majority", None, Status.SPLIT),
        (["Answer: unsure", "I do not know."], "plurality", None, Status.ABSTAINED),
        ([TransportFailure(problem="x"), TimedOut(after_s=1)], "plurality", None, Status.FAILED),
        ([BudgetExhausted(what="tokens"), "Answer: unsure"], "plurality", None, Status.OPEN_BUDGET),
        (["Answer: 8 euros", BudgetExhausted(what="tokens")], "plurality", None, Status.OPEN_BUDGET),
        (["Answer: 8 euros", "Answer: 8 euros", BudgetExhausted(what="tokens")], "plurality", "8 EUR", Status.DECIDED),
    ],
)
def test_statuses(said: list[Said], rule: str, answer: str | None, status: Status) -> None:
    decision = hold(answers(*said), rule=rule)
    assert (decision.answer, decision.status) == (answer, status)


def test_two_of_five_dead_says_so_and_counts_three() -> None:
    dead = TransportFailure(problem="no connection", cause="connect")
    decision = hold(
        answers("Answer: 8 €", dead, "Answer: 8 €", Invalid(problem="html", text="Answer: 24 €"), "Answer: 24 €")
    )
    assert decision.answer == "8 EUR"
    assert decision.failures == {"invalid": 1, "transport": 1}
    assert warned(decision, "3 of 5 voters count")
    assert decision.votes == {"8 EUR": 2.0, "24 EUR": 1.0}
    assert (of(decision, "dan").answer, of(decision, "dan").reply) == (None, None)
    assert decision.cost.calls == 4  # the dead one was never reached


def test_one_repair_turn_in_the_same_thread_and_no_more() -> None:
    room = answers(
        ["It is either 8 or 24 euros, hard to choose between them.", "Answer: 8 euros"],
        ["8 or maybe 24 euros?", "12 or 13"],
        ["7 or 8 euros?", TimedOut(after_s=3)],
    )
    decision = hold(room)
    assert decision.votes == {"8 EUR": 1.0}
    assert of(decision, "ada").read_by == "repair"
    assert of(decision, "ada").key == "ada/repair/ada"
    assert "ada/repair/ada" in room.keys
    assert of(decision, "ben").outcome == "invalid"
    assert decision.failures == {"invalid": 1, "timeout": 1}
    for effects in room.asked.values():
        assert len(effects) == 2
        assert effects[0].thread == effects[1].thread


def test_a_reply_that_was_cut_at_its_answer_is_not_believed() -> None:
    cut = Reply(text="So it is\nAnswer: 1", finish="length")
    rambling = Reply(text="Answer: 12\n\nQuestion: And what do", finish="length")
    room = answers([cut, "Answer: 12"], rambling, [cut, cut])
    decision = hold(room)
    assert decision.votes == {"12": 2.0}
    assert decision.failures == {"invalid": 1}
    assert len(room.asked["ben"]) == 1


def test_yes_and_no_are_not_listed_but_named() -> None:
    asked = Question(text="Is 7 prime?", options=("yes", "no"))
    room = answers("Answer: yes", "Answer: yes")
    assert hold(room, asked).answer == "yes"
    assert "A)" not in room.asked["ada"][0].prompt
    seats = panel(1, capabilities=frozenset({Capability.CHAT, Capability.SCHEMA}))
    room = answers('{"reason": "it is", "answer": "yes"}')
    hold(room, asked, seats=seats)
    assert "yes or no" in room.asked["ada"][0].prompt
    room = answers('{"reason": "it is", "answer": "8"}')
    hold(room, replace(PENS, unit="euro"), seats=seats)
    assert "number in euro" in room.asked["ada"][0].prompt


def test_a_spare_steps_in_for_the_silent_and_both_are_recorded() -> None:
    seats = [*panel(3), Seat(agent="max", model="m", spare=True, weight=9), Seat(agent="nia", model="m", spare=True)]
    room = Room(
        {"ada": "Answer: 8 €", "ben": TimedOut(after_s=5), "cleo": "Answer: 24 €", "max": "Answer: 8 €", "nia": ""}
    )
    decision = hold(room, seats=seats)
    assert decision.votes == {"8 EUR": 2.0, "24 EUR": 1.0}
    assert [ballot.agent for ballot in decision.ballots] == ["ada", "ben", "max", "cleo"]
    assert (of(decision, "max").stands_in_for, of(decision, "max").weight) == ("ben", 1.0)
    assert decision.failures == {"timeout": 1}
    assert "nia" not in room.asked
    assert warned(decision, "max for ben")


def test_a_silent_spare_is_followed_by_the_next_and_a_dead_agent_by_none() -> None:
    seats = [*panel(2), Seat(agent="max", model="m", spare=True), Seat(agent="nia", model="m", spare=True)]
    silent = TimedOut(after_s=5)
    room = Room({"ada": silent, "ben": TransportFailure(problem="x"), "max": silent, "nia": "Answer: 8 €"})
    decision = hold(room, seats=seats)
    assert decision.votes == {"8 EUR": 1.0}
    assert [ballot.agent for ballot in decision.ballots] == ["ada", "max", "nia", "ben"]


def test_levers_are_on_for_one_model_off_for_several_and_as_named() -> None:
    def prompts(seats: list[Seat], **what: Any) -> list[str]:
        room = answers(*["Answer: red"] * len(seats))
        hold(room, COLOUR, seats=seats, **what)
        return [room.asked[seat.agent][0].prompt for seat in seats]

    assert len(set(prompts(panel(5)))) == 5
    assert len(set(prompts(panel(5), levers=()))) == 1
    mixed = [replace(seat, model=f"m{place}") for place, seat in enumerate(panel(5))]
    assert len(set(prompts(mixed))) == 1
    assert len(set(prompts(mixed, levers=("rephrase",)))) == 5
    room = answers("Answer: red", "Answer: red")
    hold(room, COLOUR, seats=panel(2, temperature=0.0), levers=("temperature",))
    asks = [effect for effects in room.asked.values() for effect in effects if isinstance(effect, Ask)]
    assert [ask.temperature for ask in asks] == [0.7, 0.7]
    assert set(LEVERS) == {"temperature", "styles", "rephrase", "shuffle"}


def test_shuffled_options_are_counted_by_their_text() -> None:
    room = Room(dict.fromkeys(NAMES, ""))
    seen: set[tuple[str, ...]] = set()

    def letter_of_green(_key: str, effect: Effect) -> Outcome:
        assert isinstance(effect, Ask)
        lines = [line for line in effect.prompt.splitlines() if line[1:3] == ") "]
        seen.add(tuple(line[3:] for line in lines))
        (letter,) = [line[0] for line in lines if line.endswith("green")]
        return Reply(text=f"Answer: {letter}")

    decision = rehearse(vote(COLOUR, panel(5), VoteSettings(levers=("shuffle",)), 3), letter_of_green)
    assert len(seen) > 1
    assert decision.votes == {"green": 5.0}
    assert room.asked == {}


def test_weights_tie_exactly() -> None:
    seats = [replace(seat, weight=weight) for seat, weight in zip(panel(3), (0.1, 0.2, 0.3), strict=True)]
    decision = hold(answers("Answer: 8 €", "Answer: 8 €", "Answer: 24 €"), seats=seats)
    assert decision.status is Status.SPLIT
    assert decision.votes == {"8 EUR": 0.3, "24 EUR": 0.3}
    seats[0] = replace(seats[0], weight=-1)
    with pytest.raises(SpecError, match="weight"):
        hold(answers("", "", ""), seats=seats)


def test_identical_replies_of_one_model_are_one_opinion_photocopied() -> None:
    same = "3 pens cost 2 euros, so 12 pens cost 8 euros.\nAnswer: 8 euros"
    decision = hold(answers(same, same, "Answer: 24 euros", same))
    assert [ballot.same_as for ballot in decision.ballots] == ["", "ada", "", "ada"]
    assert warned(decision, "2 of 4 ballots are copies")
    assert warned(decision, "Counted once, it is 1 to 1")
    assert decision.answer == "8 EUR"  # flagged, never recounted
    several = [replace(seat, model=f"m{place}") for place, seat in enumerate(panel(4))]
    assert not warned(hold(answers(same, same, "Answer: 24 euros", same), seats=several), "copies")


def test_identical_greedy_requests_are_copies_whatever_the_replies() -> None:
    room = answers("I say\nAnswer: 8 euros", "You say\nAnswer: 8 euros", "Answer: 8 euros")
    decision = hold(room, seats=panel(3, temperature=0.0), levers=())
    assert [ballot.same_as for ballot in decision.ballots] == ["", "ada", "ada"]
    own = [replace(seat, system=f"You are {seat.agent}.") for seat in panel(3, temperature=0.0)]
    room = answers("I say\nAnswer: 8 euros", "You say\nAnswer: 8 euros", "Answer: 8 euros")
    assert not warned(hold(room, seats=own, levers=()), "copies")


def test_short_replies_may_coincide_and_the_warning_says_so() -> None:
    decision = hold(answers("Answer: 8 €", "Answer: 8 €", "Answer: 8 €"))
    assert warned(decision, "coincide by chance")
    assert warned(decision, "it is 1 to 0")


@pytest.mark.parametrize(
    ("said", "accepts", "rule", "answer", "status"),
    [
        (["8", "8", "24"], {"8": "rejected", "24": "accepted"}, "beside", "8", Status.DECIDED),
        (["8", "8", "24"], {"8": "rejected", "24": "accepted"}, "overrule", "24", Status.DECIDED),
        (["8", "8", "24"], {"8": "accepted", "24": "accepted"}, "overrule", "8", Status.DECIDED),
        (["8", "8", "24"], {"8": "error", "24": "accepted"}, "overrule", "8", Status.DECIDED),
        (["8", "8", "24"], {"8": "rejected", "24": "rejected"}, "overrule", None, Status.DISPUTED),
        (
            ["8", "8", "24", "12"],
            {"8": "rejected", "24": "accepted", "12": "accepted"},
            "overrule",
            None,
            Status.DISPUTED,
        ),
        (["8", "24"], {"8": "rejected", "24": "accepted"}, "overrule", "24", Status.DECIDED),
        (["8", "24"], {"8": "rejected", "24": "rejected"}, "overrule", None, Status.DISPUTED),
        (["8", "24"], {"8": "accepted", "24": "accepted"}, "overrule", None, Status.SPLIT),
        (["8", "24"], {"8": "rejected", "24": "accepted"}, "beside", None, Status.SPLIT),
    ],
)
def test_checks_stand_beside_the_vote_or_overrule_it(
    said: list[str], accepts: dict[str, str], rule: str, answer: str | None, status: Status
) -> None:
    room = answers(*(f"Answer: {one}" for one in said), checks=lambda _check, one: accepts[one])
    decision = hold(room, checks=("c",), check_rule=rule)
    assert (decision.answer, decision.status) == (answer, status)
    assert {(check.answer, check.verdict) for check in decision.checks} == set(accepts.items())
    assert sorted(room.tried) == sorted(("c", one) for one in accepts)
    if answer == "8" and accepts["8"] == "rejected":
        assert warned(decision, "rejects 8")
    if answer == "24":
        assert [ballot["answer"] for ballot in decision.dissent] == ["8"] * said.count("8")


def test_an_answer_is_accepted_only_if_every_check_accepts_it() -> None:
    table = {("c", "8"): "accepted", ("d", "8"): "error", ("c", "24"): "accepted", ("d", "24"): "accepted"}
    room = answers("Answer: 8", "Answer: 8", "Answer: 24", checks=lambda check, one: table[check, one])
    decision = hold(room, checks=("c", "d"), check_rule="overrule")
    assert decision.answer == "8"
    assert len(decision.checks) == 4


def test_no_votes_no_checks() -> None:
    room = answers(TimedOut(after_s=1), checks=lambda _check, _one: "accepted")
    assert hold(room, checks=("c",)).checks == ()


def test_what_fires_is_recorded_and_only_what_fires() -> None:
    assert hold(answers("Answer: 8", "Answer: 9")).routed == ({"trigger": "disagreement", "action": "report"},)
    assert hold(answers("Answer: 8", "Answer: 8")).routed == ({"trigger": "hollow-unanimity", "action": "report"},)
    mixed = [replace(seat, model=seat.agent) for seat in panel(2)]
    assert hold(answers("Answer: 8", "Answer: 8"), seats=mixed).routed == ()
    assert hold(answers("Answer: 8")).routed == ()
    checked = answers("Answer: 8", "Answer: 8", checks=lambda _check, _one: "accepted")
    assert hold(checked, checks=("c",)).routed == ()


def test_the_route_check_lets_verdicts_decide_in_that_case_only() -> None:
    def hold_with(said: list[str], verdict: str, **what: Any) -> Decision:
        room = answers(*said, checks=lambda _check, one: "accepted" if one == "24" else verdict)
        return hold(room, checks=("c",), **what)

    split = hold_with(["Answer: 8", "Answer: 24"], "rejected", on_disagreement="check")
    assert (split.answer, split.status) == ("24", Status.DECIDED)
    assert split.routed == ({"trigger": "disagreement", "action": "check", "decided": True},)
    hollow = hold_with(["Answer: 8", "Answer: 8"], "rejected", on_unanimity="check")
    assert (hollow.answer, hollow.status) == (None, Status.DISPUTED)
    kept = hold_with(["Answer: 8", "Answer: 8"], "rejected", on_disagreement="check")
    assert kept.answer == "8"


def test_a_stronger_model_is_asked_the_question_alone_and_stands_beside_the_vote() -> None:
    seats = [*panel(3), Seat(agent="max", model="big")]
    says = {"ada": "Answer: 8 €", "ben": "Answer: 8 €", "cleo": "Answer: 24 €", "max": "Answer: 24"}
    room = Room(says)
    decision = hold(room, seats=seats, stronger="max", on_disagreement="stronger")
    assert decision.answer == "8 EUR"
    (route,) = decision.routed
    assert (route["agent"], route["model"], route["answer"], route["agrees"]) == ("max", "big", "24", False)
    assert not route["decided"]
    assert warned(decision, "asked alone, answers 24")
    assert [ballot.agent for ballot in decision.ballots] == ["ada", "ben", "cleo"]
    (asked,) = room.asked["max"]
    assert "8" not in asked.prompt
    assert asked.prompt.startswith(PENS.text)
    assert decision.cost.calls == 4
    decided = hold(Room(says), seats=seats, stronger="max", on_disagreement="stronger", stronger_decides=True)
    assert (decided.answer, decided.status) == ("24", Status.DECIDED)
    assert warned(decided, "not of the vote")
    agreeing = hold(Room({**says, "max": "Answer: 8"}), seats=seats, stronger="max", on_disagreement="stronger")
    assert agreeing.routed[0]["agrees"]
    silent = hold(Room({**says, "max": TimedOut(after_s=1)}), seats=seats, stronger="max", on_disagreement="stronger")
    assert (silent.answer, warned(silent, "gave no answer: timeout")) == ("8 EUR", True)


def test_a_stronger_answer_is_checked_as_well() -> None:
    seats = [*panel(2), Seat(agent="max", model="big")]
    room = Room({"ada": "Answer: 8", "ben": "Answer: 9", "max": "Answer: 7"}, lambda _check, _one: "rejected")
    decision = hold(
        room, seats=seats, stronger="max", on_disagreement="stronger", stronger_decides=True, checks=("c",),
        check_rule="overrule",
    )  # fmt: skip
    assert {check.answer for check in decision.checks} == {"7", "8", "9"}
    assert (decision.answer, decision.status) == (None, Status.DISPUTED)


def test_adaptive_stopping_waits_for_no_ballot_that_can_change_nothing() -> None:
    room = answers(*["Answer: green"] * 5)
    decision = hold(room, COLOUR, stop="when-decided")
    assert list(room.asked) == ["ada", "ben", "cleo"]
    assert decision.answer == "green"
    assert [ballot.outcome for ballot in decision.ballots] == ["reply"] * 3 + ["cancelled"] * 2
    assert decision.failures == {}
    assert warned(decision, "Not awaited")
    assert warned(decision, "dan, eve")
    assert "5 configured voters" in decision.rule
    assert list(answers_asked(["green", "red", "green", "red", "green"])) == list(NAMES)


def answers_asked(said: list[str]) -> list[str]:
    room = answers(*(f"Answer: {one}" for one in said))
    hold(room, COLOUR, stop="when-decided")
    return list(room.asked)


def test_numbers_without_a_declared_unit_may_merge_so_stopping_waits_longer() -> None:
    said = ["Answer: 300 min", "Answer: 300 min", "Answer: 300", "Answer: 300", "Answer: 300"]
    assert len(stopped_after(PENS, said)) == 5
    assert len(stopped_after(replace(PENS, unit="min"), said)) == 3


def stopped_after(question: Question, said: list[str]) -> list[str]:
    room = answers(*said)
    decision = hold(room, question, stop="when-decided")
    assert decision.status is Status.DECIDED
    return list(room.asked)


SCORES = frozenset({Capability.CHAT, Capability.LOGPROBS})


def test_options_are_scored_where_the_model_is_too_weak_to_name_a_letter() -> None:
    def score(_key: str, effect: Effect) -> Outcome:
        assert isinstance(effect, ScoreTexts)
        sums = {"red": -9.0, "green": -4.0, "blue": -5.0}
        lengths = {"red": 3, "green": 4, "blue": 1}
        texts = effect.continuations
        return Scores(logprobs=tuple(sums[text] for text in texts), lengths=tuple(lengths[text] for text in texts))

    seats = panel(3, capabilities=SCORES)
    decision = rehearse(vote(COLOUR, seats, VoteSettings(weak_models=("m",)), 0), score)
    assert decision.votes == {"green": 3.0}
    assert {ballot.read_by for ballot in decision.ballots} == {"log-probability"}
    assert all("green -1.00" in ballot.reason for ballot in decision.ballots)
    same = rehearse(vote(COLOUR, seats, VoteSettings(weak_models=("m",), levers=()), 0), score)
    assert [ballot.same_as for ballot in same.ballots] == ["", "ada", "ada"]


def test_scores_that_tie_or_fail_are_blank() -> None:
    def ties(_key: str, effect: Effect) -> Outcome:
        assert isinstance(effect, ScoreTexts)
        if effect.agent == "ada":
            return Scores(logprobs=(-1.0, -1.0, -2.0), lengths=(1, 1, 1))
        if effect.agent == "ben":
            return Scores(logprobs=(-1.0, float("nan"), -2.0), lengths=(1, 1, 1))
        return TransportFailure(problem="cannot", cause="capability")

    seats = panel(3, capabilities=SCORES)
    decision = rehearse(vote(COLOUR, seats, VoteSettings(read_by="log-probability"), 0), ties)
    assert decision.status is Status.FAILED
    assert decision.failures == {"invalid": 2, "transport": 1}


def test_log_probability_needs_options_and_a_model_that_scores() -> None:
    with pytest.raises(SpecError, match="log-probability"):
        hold(answers(""), COLOUR, read_by="log-probability")
    with pytest.raises(SpecError, match="log-probability"):
        hold(answers(""), seats=panel(1, capabilities=SCORES), read_by="log-probability")


def test_a_schema_is_used_where_the_back_end_can_and_the_setting_allows() -> None:
    seats = panel(1, capabilities=frozenset({Capability.CHAT, Capability.SCHEMA}))
    room = answers('{"reason": "because", "answer": "8 euros"}')
    decision = hold(room, seats=seats)
    (ask,) = room.asked["ada"]
    assert isinstance(ask, Ask)
    assert ask.schema is not None
    assert (decision.answer, of(decision, "ada").read_by, of(decision, "ada").reason) == ("8 EUR", "schema", "because")
    room = answers("Answer: 8 euros")
    assert of(hold(room, seats=seats, read_by="parser"), "ada").read_by == "parser"
    (ask,) = room.asked["ada"]
    assert isinstance(ask, Ask)
    assert ask.schema is None


def test_a_weak_model_is_shown_worked_examples_each_voter_in_another_order() -> None:
    room = answers("3 for 2.\nAnswer: 8", "Answer: 8", "Answer: 8")
    hold(room, weak := PENS, weak_models=("m",))
    asks = [room.asked[name][0] for name in NAMES[:3]]
    assert all(isinstance(ask, Ask) and len(ask.examples) == 10 for ask in asks)
    assert len({repr(ask.examples) for ask in asks if isinstance(ask, Ask)}) == 3
    assert len({ask.prompt for ask in asks}) == 1
    assert weak.text in asks[0].prompt


def test_each_kind_has_its_wording_for_a_weak_model() -> None:
    said = {"yes-no": "yes", "date": "1945-05-08", "text": "Rome", "auto": "Rome"}
    for kind, reply in said.items():
        room = answers(reply, reply)
        decision = hold(room, Question(text="Tell me.", kind=kind), weak_models=("m",))
        assert decision.status is Status.DECIDED, kind
        assert isinstance(ask := room.asked["ada"][0], Ask)
        assert bool(ask.examples) is (kind == "yes-no")
    room = answers("false", "false")
    decision = hold(room, Question(text="Fish fly.", options=("false", "true")), weak_models=("m",), levers=("styles",))
    assert decision.answer == "false"
    assert isinstance(ask := room.asked["ada"][0], Ask)
    assert {turn.text for turn in ask.examples if turn.role == "assistant"} == {"true", "false"}
    assert "step by step" in ask.prompt  # a style was asked for by name


def test_free_text_is_grouped_by_form_and_by_a_model_only_where_asked_for() -> None:
    who = Question(text="Who wrote Hamlet?", kind="text")
    said = ["Answer: Shakespeare", "Answer: William Shakespeare.", "Answer: the  shakespeare", "Answer: Marlowe"]
    plain = hold(answers(*said), who)
    assert plain.votes == {"shakespeare": 2.0, "marlowe": 1.0, "william shakespeare": 1.0}
    seats = [*panel(4), Seat(agent="judy", model="j", spare=True)]
    room = Room({**dict(zip(NAMES, said, strict=False)), "judy": "1\n2, 3"})
    judged = hold(room, who, seats=seats, group_by="model", grouper="judy")
    assert judged.votes == {"shakespeare": 3.0, "marlowe": 1.0}
    assert of(judged, "ben").read_by == "model"
    assert of(judged, "ada").read_by == "parser"
    assert warned(judged, "judgement of judy")
    assert "ada" not in room.asked["judy"][0].prompt
    for nonsense in ("1, 2", "all the same", "1\n2\n3\n3", TimedOut(after_s=1)):
        room = Room({**dict(zip(NAMES, said, strict=False)), "judy": nonsense})
        unjudged = hold(room, who, seats=seats, group_by="model", grouper="judy")
        assert unjudged.votes == plain.votes
        assert warned(unjudged, "could not")


def test_a_bare_number_joins_the_unit_of_the_others_and_the_decision_says_so() -> None:
    decision = hold(answers("Answer: 8", "Answer: 8 euros", "Answer: 24"))
    assert decision.votes == {"8 EUR": 2.0, "24 EUR": 1.0}
    assert warned(decision, "counted as EUR")


@pytest.mark.parametrize(
    ("question", "what", "says"),
    [
        (Question(text="  "), {}, "empty"),
        (Question(text="x" * 10_000_000), {}, "10,000,000 characters"),
        (Question(text="caf\udce9?"), {}, "UTF-8"),
        (Question(text="a?", options=("red",)), {}, "only one option"),
        (Question(text="a?", options=("red", "red")), {}, "same"),
        (Question(text="a?", kind="choice"), {}, "options"),
        (Question(text="a?", kind="colour"), {}, "colour"),
        (Question(text="a?", kind="number", options=("1", "2")), {}, "cannot be of the kind"),
        (PENS, {"stronger": "nobody"}, "no agent 'nobody'"),
        (PENS, {"on_disagreement": "stronger"}, "none is named"),
        (PENS, {"on_unanimity": "check"}, "there is none"),
        (PENS, {"group_by": "model"}, "no agent is named"),
        (PENS, {"group_by": "model", "grouper": "ada", "stop": "when-decided"}, "cannot stop early"),
        (PENS, {"checks": ("c", "c")}, "twice"),
    ],
)
def test_what_cannot_be_is_refused_before_anybody_is_asked(question: Question, what: dict[str, Any], says: str) -> None:
    room = answers("", "")
    with pytest.raises(Exception, match=says) as caught:
        hold(room, question, **what)
    assert getattr(caught.value, "exit_code", None) == 2
    assert room.asked == {}


def test_a_panel_needs_a_voter_and_names_of_its_own() -> None:
    with pytest.raises(SpecError, match="Nobody votes"):
        hold(answers(""), seats=[Seat(agent="ada", model="m", spare=True)])
    with pytest.raises(SpecError, match="same name"):
        hold(answers(""), seats=[Seat(agent="ada", model="m"), Seat(agent="ada", model="n")])


def test_a_record_s_settings_build_the_same_vote() -> None:
    settings = VoteSettings(levers=("shuffle",), checks=("c",), rule="majority", temperature=0.5)
    assert VoteSettings.from_data(settings.to_data()) == settings
    data = settings_of_vote(PENS, replace(settings, checks=()))
    script = PROCEDURES["vote"].build(data, panel(2), 0)
    assert rehearse(script, answers("Answer: 8 €", "Answer: 8 €")).answer == "8 EUR"
    with pytest.raises(SpecError, match="no setting 'rul'"):
        VoteSettings.from_data({"rul": "majority"})
    with pytest.raises(SpecError, match="wrong"):
        VoteSettings.from_data({"rule": "dictator"})
    with pytest.raises(SpecError, match="no question"):
        PROCEDURES["vote"].build({"vote": {}}, panel(2), 0)
