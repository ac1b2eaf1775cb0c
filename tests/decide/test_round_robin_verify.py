"""Verifiers in a round-robin: a wrong step is caught, noted or taken back; honest text passes; it replays."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from turntable import CAN, NAMES, played, ran, seats

from dissensus.agents.scripted import Scripted
from dissensus.agents.scripted_tokens import CHARACTERS, WORDS
from dissensus.decide.ledger import CACHES, Spoken, count, total
from dissensus.decide.round_robin_result import RoundRobin
from dissensus.decide.round_robin_settings import RoundRobinSettings
from dissensus.errors import SpecError
from dissensus.record.sqlite import open_record
from dissensus.run import runs
from dissensus.script.calls import Capability, Extend
from dissensus.script.effects import Continue, Effect
from dissensus.script.outcomes import Extended, Outcome
from dissensus.study.tasks.generated import arithmetic_chains, object_tracking
from dissensus.study.tasks.task import Task

TASKS = [*arithmetic_chains(12, steps=4, seed=3), *object_tracking(8, objects=4, seed=3)]
BAD = ("ada", "dan", "eve")


def rr(task: Task, **more: Any) -> RoundRobinSettings:
    given: dict[str, Any] = {"trajectories": 1, "length": 4000, "verifiers": task.verifiers} | more
    return RoundRobinSettings(**given)


def falsified(line: str) -> str:
    """A line of a solution with another result, or with two things changed over."""
    if " = " in line:
        return f"{line.rpartition('= ')[0]}= {int(line.rpartition('= ')[2].rstrip('.')) + 7}."
    head, _, rest = line.rpartition(" swap: ")
    parts = [part.split(": ") for part in rest.rstrip(".").split(", ")]
    parts[0][1], parts[1][1] = parts[1][1], parts[0][1]
    return f"{head} swap: {', '.join(': '.join(part) for part in parts)}."


def extended(text: str, most: int, *, ids: bool = True) -> Extended:
    """``text`` as far as there is room, a token for each character, and the end where all of it fits."""
    cut = text[:most]
    tokens = tuple(map(ord, cut)) if ids else None
    return Extended(
        text=cut, tokens=tokens, ends=tuple(range(1, len(cut) + 1)) if ids else None,
        finish="stop" if len(text) < most else "length", sampled=len(cut) + (len(text) < most),
    )  # fmt: skip


class Writers:
    """Honest ones go on with the solution. The others write one more right line, so to say, with a wrong result."""

    def __init__(self, task: Task, bad: tuple[str, ...] = BAD) -> None:
        self.solution, self.bad = task.solution, bad
        self.asked: list[Continue] = []

    def __call__(self, _key: str, effect: Effect) -> Outcome:
        assert isinstance(effect, Continue)
        self.asked.append(effect)
        text = effect.text if effect.tokens is None else "".join(map(chr, effect.tokens))
        if not self.solution.startswith(text):  # a wrong step stands: go on with what is missing
            done = len(text.splitlines())
            rest = "\n".join(self.solution.splitlines()[done:])
            return extended(
                rest if text.endswith("\n") else f"\n{rest}", effect.max_tokens, ids=effect.tokens is not None
            )
        rest = self.solution[len(text) :]
        line, _, after = rest.partition("\n")
        following = after.partition("\n")[0]
        if effect.agent in self.bad and ("=" in following or " swap: " in following):
            rest = f"{line}\n{falsified(following)}\n"
            return replace(extended(rest, len(rest)), finish="length")
        return extended(rest, effect.max_tokens, ids=effect.tokens is not None)


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.id)
@pytest.mark.parametrize("k", [1, 7, 40, 300])
def test_honest_text_passes_and_is_what_it_was_without_verifiers(task: Task, k: int) -> None:
    writers = Writers(task, bad=())
    checked = played(writers, seats(5), rr(task, k=k, on_wrong="rewrite"), question=task.question)
    plain = played(writers, seats(5), rr(task, k=k, verifiers=()), question=task.question)
    assert checked.texts[0].wrong == ()
    assert checked.texts == plain.texts
    assert checked.texts[0].text == task.solution
    assert checked.answer is not None
    assert task.right(checked.answer)


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.id)
def test_a_wrong_step_is_noted_with_its_writers_and_stays(task: Task) -> None:
    found = played(Writers(task), seats(5), rr(task, k=200), question=task.question)
    plain = played(Writers(task), seats(5), rr(task, k=200, verifiers=()), question=task.question)
    assert replace(found.texts[0], wrong=()) == plain.texts[0]
    (wrong,) = found.texts[0].wrong
    assert (wrong.action, wrong.tokens, wrong.verifier) == ("noted", 0, task.verifiers[0])
    assert wrong.writers == ("ada",)
    assert wrong.written in found.texts[0].text
    assert any("Wrong steps in the texts" in warning for warning in found.warnings)


@pytest.mark.parametrize("ids", [True, False])
@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.id)
def test_a_wrong_step_is_taken_back_and_the_next_agent_goes_on(task: Task, ids: bool) -> None:
    can = CAN if ids else frozenset({Capability.CHAT, Capability.CONTINUE})
    writers = Writers(task)
    found = played(writers, seats(5, can=can), rr(task, k=200, on_wrong="rewrite"), question=task.question)
    (text,) = found.texts
    assert text.text == task.solution == "".join(turn.added for turn in text.turns)
    assert found.answer is not None
    assert task.right(found.answer)
    assert {wrong.action for wrong in text.wrong} == {"taken-back"}
    assert {name for wrong in text.wrong for name in wrong.writers} <= set(BAD)
    back = sum(wrong.tokens for wrong in text.wrong)
    assert back == sum(turn.withdrawn for turn in text.turns) > 0
    if ids:
        assert text.ids == tuple(map(ord, task.solution))
        assert found.ledger["measured"]["decoded"] == text.kept + back + 1  # and the end
    # whoever came after a turn that was taken back was handed the text without it
    for wrong in text.wrong:
        following = writers.asked[wrong.turn + 1]
        given = following.text if following.tokens is None else "".join(map(chr, following.tokens))
        assert task.solution.startswith(given)


def test_whoever_is_always_wrong_is_let_stand_after_a_round_and_comes_to_an_end() -> None:
    task = TASKS[0]

    def writer(_key: str, _effect: Effect) -> Outcome:
        return replace(extended("2 + 2 = 5.\n", 11), finish="length")

    (text,) = played(writer, seats(3), rr(task, k=11, length=33, on_wrong="rewrite"), question=task.question).texts
    assert [wrong.action for wrong in text.wrong] == [*["taken-back"] * 3, "let-stand"] * 3
    assert (text.end, text.text, len(text.turns)) == ("length", "2 + 2 = 5.\n" * 3, 12)


def test_a_step_that_two_wrote_is_taken_back_into_the_turn_before() -> None:
    task = TASKS[0]
    parts = iter(["Step 1: 5 + 4 = ", "8.\nStep", "so #### 9"])

    def writer(_key: str, effect: Effect) -> Outcome:
        assert isinstance(effect, Continue)
        text = next(parts)
        return replace(extended(text, 99), finish="stop" if text.startswith("so") else "length")

    (text,) = played(writer, seats(2), rr(task, k=16, on_wrong="rewrite"), question=task.question).texts
    assert text.text == "Step 1: so #### 9"
    (wrong,) = text.wrong
    assert (wrong.turn, wrong.writers, wrong.tokens) == (1, ("ada", "ben"), len("5 + 4 = ") + len("8.\nStep"))
    assert [(turn.kept, turn.withdrawn) for turn in text.turns] == [(8, 8), (0, 7), (9, 0)]


def test_an_end_on_a_wrong_step_is_no_end() -> None:
    task = TASKS[0]

    def writer(_key: str, effect: Effect) -> Outcome:
        assert isinstance(effect, Continue)
        return extended("2 + 2 = 5" if effect.agent == "ada" else "2 + 2 = 4", 99)

    (text,) = played(writer, seats(2), rr(task, k=99, on_wrong="rewrite"), question=task.question).texts
    assert (text.text, text.end, len(text.turns)) == ("2 + 2 = 4", "eos", 2)


def test_tokens_are_taken_back_whole_and_what_cannot_be_cut_goes_as_a_turn() -> None:
    task = TASKS[0]
    bad = Scripted(continues=lambda _call: "so 2 + 2 = 5. Then", tokenizer=WORDS)
    good = Scripted("so 2 + 2 = 4. Answer: 4", tokenizer=WORDS)
    (text,) = played(
        {"ada": bad, "ben": good}, seats(2), rr(task, k=20, on_wrong="rewrite"), question=task.question
    ).texts  # fmt: skip
    assert text.text == "so 2 + 2 = 4. Answer: 4"
    assert text.ids == WORDS.ids(WORDS.split(text.text))
    assert (text.turns[0].added, text.turns[0].withdrawn) == ("so", 6)

    def blind(_key: str, effect: Effect) -> Outcome:
        assert isinstance(effect, Continue)
        told = "so 2 + 2 = 5. Then" if effect.agent == "ada" else "Answer: 4"
        return replace(extended(told, 99), ends=None, finish="length" if effect.agent == "ada" else "stop")

    (text,) = played(blind, seats(2), rr(task, k=99, on_wrong="rewrite"), question=task.question).texts
    assert (text.text, text.turns[0].withdrawn) == ("Answer: 4", 18)


@settings(max_examples=40)
@given(data=st.data(), boundary=st.sampled_from(["none", "utf8", "word-number", "line"]), k=st.integers(1, 60))
def test_whatever_is_written_the_text_is_its_parts(data: st.DataObject, boundary: Any, k: int) -> None:
    pieces = ["1 + 1 = 2. ", "1 + 1 = 3. ", "2 * 3 = ", "6", "7", ".\n", "€ ", "so ", "(1) ", "= 9 "]
    task = TASKS[0]

    def writer(_key: str, effect: Effect) -> Outcome:
        assert isinstance(effect, Continue)
        told = "".join(data.draw(st.lists(st.sampled_from(pieces), max_size=4)))
        out = extended(told, effect.max_tokens)
        raw = out.text.encode()
        ends = tuple(len(out.text[:place].encode()) for place in range(1, len(out.text) + 1))
        return replace(out, ends=ends, raw=None) if raw else out

    how = rr(task, k=k, length=120, boundary=boundary, on_wrong="rewrite", max_turns=40)
    (text,) = played(writer, seats(3), how, question=task.question).texts
    assert text.text == "".join(turn.added for turn in text.turns)
    assert text.ids == tuple(map(ord, text.text))
    assert text.kept == sum(turn.kept for turn in text.turns) == len(text.text)
    assert sum(turn.withdrawn for turn in text.turns) == sum(wrong.tokens for wrong in text.wrong)


@given(
    n=st.integers(1, 4), prompt=st.integers(1, 9),
    turns=st.lists(st.tuples(st.integers(1, 7), st.integers(0, 12)), min_size=1, max_size=14),
)  # fmt: skip
def test_the_ledger_of_texts_that_were_taken_back_is_what_caches_do(
    n: int, prompt: int, turns: list[tuple[int, int]]
) -> None:
    """Against caches that hold real tokens: what was taken back and written anew has to be read anew."""
    text: list[object] = []
    caches: dict[int, list[object]] = {}
    computed = 0
    spoken = []
    for turn, (sampled, back) in enumerate(turns):
        seat = turn % n
        context = [*(("prompt", seat, place) for place in range(prompt)), *text]
        cache = caches.setdefault(seat, [])
        same = 0
        while same < min(len(cache), len(context) - 1) and cache[same] == context[same]:
            same += 1
        computed += len(context) - same
        written: list[object] = [(turn, place) for place in range(sampled)]
        caches[seat] = [*context, *written[:-1]]
        before = len(text)
        text = [*text, *written]
        text = text[: max(len(text) - back, 0)]
        grown = len(text) - before
        spoken.append(
            Spoken(
                text=0, seat=seat, prompt=prompt, before=before, sampled=sampled, kept=max(grown, 0),
                back=max(-grown, 0),
            )
        )  # fmt: skip
    assert total(count(spoken, block=CACHES["exact"]).values()).computed == computed


def test_it_is_on_the_record_for_the_operator_and_replays(tmp_path: Path) -> None:
    task = TASKS[1]
    writers = Writers(task)
    models = {name: Scripted(continues=partial(_said, writers, name), tokenizer=CHARACTERS) for name in NAMES}
    path = tmp_path / "run.db"
    live = ran(models, seats(5), rr(task, k=200, on_wrong="rewrite"), question=task.question, path=path)[0]
    with open_record(path) as store:
        events = list(store.read())
    notes = [event for event in events if event.kind == "wrong-step"]
    assert len(notes) == len(live.texts[0].wrong) > 0
    assert {event.visibility for event in notes} == {"operator"}
    assert live.texts[0].text == task.solution
    recorded = next(event.body for event in events if event.kind == "decision")
    again = RoundRobin.from_data(recorded)
    assert isinstance(again, RoundRobin)
    assert again.texts == live.texts
    replayed = runs.replay(path)
    assert isinstance(replayed.decision, RoundRobin)
    assert (replayed.decision.texts, replayed.identical) == (live.texts, True)


def _said(writers: Writers, name: str, call: Extend) -> Outcome:
    return writers("", Continue(name, "", tokens=call.tokens, max_tokens=call.max_tokens))


def test_a_verifier_that_does_not_exist_is_refused_before_anybody_is_asked() -> None:
    with pytest.raises(SpecError, match="no verifier 'arithmetics'"):
        played({}, seats(2), rr(TASKS[0], verifiers=("arithmetics",)))
