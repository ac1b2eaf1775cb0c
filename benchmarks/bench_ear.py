"""Does it help to weigh texts by what their readers made of them? And what does listening cost?

    nice -n 19 .venv/bin/python benchmarks/bench_ear.py            # the toy, and two small models: an hour on two cores
    .venv/bin/python benchmarks/bench_ear.py --toy                 # the toy alone: a minute

The same texts are voted on three times: each weighs the same, by surprise, by drift. So what is compared is the weight
and nothing else. Beside the accuracy of the votes stands how well a weight tells right texts from wrong ones of one
question (the share of pairs in which the right one weighs more, a half for none at all): with few questions that sees
more than a vote does. Nothing is promised: the figures are what they are.

The toy's readers are rules like its writers (examples/round_robin_toy.py), so its figures show that the weights do what
they are meant to where readers know better, and nothing about models. The real runs are small: 135 million and half a
billion weights, sums of two numbers, one or two of three agents told a false fact.
"""

from __future__ import annotations

import argparse
import math
import runpy
import sys
from collections import defaultdict
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

import anyio
from common import finish

from dissensus.agents.llama import load
from dissensus.decide.procedures import settings_of_round_robin
from dissensus.decide.round_robin import round_robin
from dissensus.decide.round_robin_opinions import Ear, sides, weights_of
from dissensus.decide.round_robin_result import RoundRobin
from dissensus.decide.round_robin_settings import RoundRobinSettings
from dissensus.faults.attacks.corruption import corrupted_seats, line_up
from dissensus.faults.attacks.loading import shipped_attack
from dissensus.measure.drift_fit import FEWEST, fit_steps
from dissensus.measure.paired import mcnemar
from dissensus.measure.study_points import Step
from dissensus.record.memory import MemoryStore
from dissensus.run.performers import Live
from dissensus.run.runs import start
from dissensus.script.calls import Capability
from dissensus.script.effects import Continue, Effect, ScoreTexts
from dissensus.script.keys import seed_of
from dissensus.script.outcomes import Extended, Outcome, Scores
from dissensus.script.questions import Question
from dissensus.script.rehearsal import rehearse
from dissensus.script.seats import Seat

WEIGHTS = ("none", "surprise", "drift")
TOY = Path(__file__).resolve().parents[1] / "examples" / "round_robin_toy.py"
CAN = frozenset({Capability.CHAT, Capability.CONTINUE, Capability.TOKENS, Capability.LOGPROBS})


class Tally:
    """Votes and pairs of texts, weighed in three ways."""

    def __init__(self) -> None:
        self.runs = 0
        self.unweighed = dict.fromkeys(WEIGHTS[1:], 0)
        self.right: dict[str, list[float]] = {weight: [] for weight in WEIGHTS}
        self.pairs: dict[str, list[float]] = {weight: [] for weight in WEIGHTS[1:]}
        self.texts_right = self.texts = 0

    def add(self, found: RoundRobin, gold: str) -> None:
        """One run whose readers were heard."""
        ear = found.ear
        if ear is None:
            raise TypeError(found)
        self.runs += 1
        answers = [found.texts[text.number].answer for text in ear.texts]
        good = [answer == gold for answer in answers]
        self.texts += len(good)
        self.texts_right += sum(good)
        for weight in WEIGHTS:
            weights: Sequence[float] = [1.0] * len(good)
            if weight != "none":
                told = weights_of(ear, "surprise" if weight == "surprise" else "drift")
                self.unweighed[weight] += not told
                weights = told or weights
                if told:
                    self._pair(weight, answers, good, weights)
            self.right[weight].append(share_right(answers, weights, gold))

    def _pair(self, weight: str, answers: Sequence[str | None], good: Sequence[bool], weights: Sequence[float]) -> None:
        for one, other in combinations(range(len(good)), 2):
            if good[one] != good[other] and None not in (answers[one], answers[other]):
                better, worse = (one, other) if good[one] else (other, one)
                gap = weights[better] - weights[worse]
                self.pairs[weight].append(0.5 if gap == 0 else float(gap > 0))

    def facts(self) -> dict[str, Any]:
        """What came of it."""
        found: dict[str, Any] = {
            "runs": self.runs,
            "texts": self.texts,
            "texts right": _round(self.texts_right / self.texts if self.texts else None),
        }
        for weight in WEIGHTS:
            own = self.right[weight]
            found[f"vote right, weight {weight}"] = _round(sum(own) / len(own) if own else None)
        for weight in WEIGHTS[1:]:
            plain = self.right["none"]
            won = sum(a > b for a, b in zip(self.right[weight], plain, strict=True))
            lost = sum(a < b for a, b in zip(self.right[weight], plain, strict=True))
            pairs = self.pairs[weight]
            found[weight] = {
                "votes won": won,
                "votes lost": lost,
                "mcnemar": _round(mcnemar(won, lost)),
                "pairs of a right and a wrong text": len(pairs),
                "right one weighs more": _round(sum(pairs) / len(pairs) if pairs else None),
                "runs without weights": self.unweighed[weight],
            }
        return found


def share_right(answers: Sequence[str | None], weights: Sequence[float], gold: str) -> float:
    """1 if the right answer has the greatest weight; of a tie, its share."""
    sums: defaultdict[str, Fraction] = defaultdict(Fraction)
    for answer, weight in zip(answers, weights, strict=True):
        if answer is not None:
            sums[answer] += Fraction(str(weight))
    most = [answer for answer, weight in sums.items() if weight == max(sums.values())]
    return (gold in most) / len(most) if most else 0.0


def _round(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


# --- the toy


class ToyReader:
    """What a toy makes of a text: probabilities from the rules by which it writes.

    A character that it would have written has the probability 0.98, another one 0.02 / 50. Forced to answer, an honest
    toy gives 0.6 to the right answer, and 0.9 once half of the sums stand in the text. A corrupted toy gives 0.95 to
    the target as often as it insists, and is honest otherwise.
    """

    def __init__(self, toy: dict[str, Any], item: Any, insists: float) -> None:
        self.toy, self.item, self.insists = toy, item, insists

    def score(self, text: str, continuation: str, *, bad: bool) -> float:
        """Natural-log probability of a continuation."""
        if continuation.startswith("\n\nAnswer: "):
            return math.log(self._forced(text, continuation.removeprefix("\n\nAnswer: ").strip(), bad=bad))
        honest = self._chain(self.toy["honest"](self.item, text)[0], continuation)
        if not bad:
            return honest
        told = self._chain(self.toy["corrupted"](self.item, text, insists=1.0, luck=0.0)[0], continuation)
        much = self._much(text)
        return _log_mean([(much, told), (1 - much, honest)])

    def _much(self, text: str) -> float:
        return float(self.insists ** text.count("No, "))

    def _chain(self, own: str, continuation: str) -> float:
        fits = [own[place : place + 1] == char for place, char in enumerate(continuation)]
        return sum(math.log(0.98 if one else 0.0004) for one in fits)

    def _forced(self, text: str, answer: str, *, bad: bool) -> float:
        done = sum(line in text for line in self.item.lines)
        sure = 0.6 if 2 * done < len(self.item.lines) else 0.9
        honest = sure if answer == str(self.item.gold) else (1 - sure) / 2
        told = 0.95 if answer == str(self.item.target) else 0.025
        much = self._much(text) if bad else 0.0
        return much * told + (1 - much) * honest


def _log_mean(parts: Sequence[tuple[float, float]]) -> float:
    most = max(value for share, value in parts if share > 0)
    return most + math.log(sum(share * math.exp(value - most) for share, value in parts if share > 0))


def toy_facts() -> dict[str, Any]:
    """All settings that the toy shows."""
    toy = runpy.run_path(str(TOY), run_name="toy")
    facts: dict[str, Any] = {}
    for corrupt, insists, length, title in (*toy["SHOWN"], *toy["NEIGHBOURS"]):
        tally = Tally()
        placements = list(combinations(range(toy["WRITERS"]), corrupt))
        for number in range(toy["ITEMS"]):
            item, bad = toy["Item"](number), placements[number % len(placements)]
            tally.add(toy_run(toy, item, bad, insists, length), str(item.gold))
        name = f"toy, {corrupt} of {toy['WRITERS']} corrupted, {title}, insists {insists}, L {length}"
        facts[name] = tally.facts()
        print(name, facts[name], flush=True)
    return facts


def toy_run(toy: dict[str, Any], item: Any, bad: Sequence[int], insists: float, length: int) -> RoundRobin:
    """One question of the toy, with ears."""
    seats = [Seat(agent=f"seat{seat}", model="toy", capabilities=CAN) for seat in range(toy["WRITERS"])]
    reader = ToyReader(toy, item, insists)

    def answer(key: str, effect: Effect) -> Outcome:
        if not isinstance(effect, Continue | ScoreTexts):
            raise TypeError(effect)
        text = "".join(map(chr, effect.tokens or ()))
        corrupted = int(effect.agent.removeprefix("seat")) in bad
        if isinstance(effect, ScoreTexts):
            sums = tuple(reader.score(text, one, bad=corrupted) for one in effect.continuations)
            return Scores(logprobs=sums, lengths=tuple(map(len, effect.continuations)))
        luck = seed_of(0, f"{item.question.text}/{key}") / 2**31
        if corrupted:
            added, ended = toy["corrupted"](item, text, insists=insists, luck=luck)
        else:
            added, ended = toy["honest"](item, text)
        added = added[: effect.max_tokens]
        ids = tuple(map(ord, added))
        return Extended(
            text=added, tokens=ids, ends=tuple(range(1, len(ids) + 1)), finish="stop" if ended else "length"
        )

    how = RoundRobinSettings(k=40, length=length, trajectories=5, q_eos=toy["WRITERS"] - 1, ear="both")
    found: RoundRobin = rehearse(round_robin(item.question, seats, how, seed=0), answer)
    return found


# --- real models

NAMES = ("ada", "ben", "cleo")
HOW = {"k": 12, "length": 72, "trajectories": 3, "ear": "both", "boundary": "word-number"}


def sums(count: int) -> list[Question]:
    """Sums of two numbers: models of this size get some right. Where no text is right, no weight helps."""
    found = []
    for number in range(count):
        one, other = (seed_of(number, part) % 40 + 5 for part in "ab")
        text = f"What is {one} + {other}? First write the sum out as an equation."
        found.append(Question(text=text, kind="number", gold=str(one + other), id=f"sum/{number}"))
    return found


async def real_facts(reference: str, questions: Sequence[Question], threads: int) -> dict[str, Any]:
    """One model: one and two of three agents corrupted."""
    model = load(reference, slots=2, context=1024, threads=threads, ingest="handover")
    seats = [
        Seat(agent=name, model=model.name, capabilities=frozenset(Capability), tokenizer=model.tokenizer)
        for name in NAMES
    ]
    attack = shipped_attack("misinformation")
    facts: dict[str, Any] = {"model": model.name}
    steps: list[Step] = []
    writing_s = listening_s = 0.0
    listening: defaultdict[str, int] = defaultdict(int)
    try:
        for corrupt in (1, 2):
            tally = Tally()
            heard: defaultdict[str, list[float]] = defaultdict(list)
            for number, question in enumerate(questions):
                placements = list(combinations(NAMES, corrupt))
                bad = placements[number % len(placements)]
                corruptions = line_up(seats, bad, attack, question, strength="strong", seed=1)
                target = corruptions[bad[0]].target
                gold = question.gold or ""
                how = RoundRobinSettings.from_data(HOW)
                found = await start(
                    procedure="round-robin",
                    settings=settings_of_round_robin(question, how),
                    seats=corrupted_seats(seats, corruptions),
                    performer=Live(lambda _agent: model),
                    record=MemoryStore(),
                    seed=number,
                )
                if not isinstance(found, RoundRobin) or found.ear is None:
                    raise TypeError(found)
                tally.add(found, gold)
                _hear(found.ear, bad, heard)
                if {gold, target} <= set(found.ear.candidates):
                    steps += sides(found.ear, bad, right=gold, target=target, name=f"{corrupt}/{number}").steps
                cost = found.ledger["ear"]
                listening_s += cost["seconds"] or 0.0
                writing_s += (found.cost.seconds or 0.0) - (cost["seconds"] or 0.0)
                for what in ("calls", "read", "cached", "scored", "in_pass"):
                    listening[what] += cost[what] or 0
                listening["written"] += found.ledger["measured"]["decoded"]
                print(model.name, corrupt, number, found.answer, gold, target, flush=True)
            facts[f"{corrupt} of {len(NAMES)} corrupted"] = {
                **tally.facts(),
                "surprise, writer to reader": {
                    name: _round(sum(own) / len(own)) for name, own in sorted(heard.items())
                },
            }
    finally:
        await model.close()
    if min(sum(step.corrupted is kind for step in steps) for kind in (False, True)) >= FEWEST:
        facts["steps of the drift model"] = fit_steps(steps).to_data()
    facts["listening"] = {
        **listening,
        "seconds of calls, against those of writing": _round(listening_s / writing_s if writing_s else None),
    }
    return facts


def _hear(ear: Ear, bad: Sequence[str], heard: defaultdict[str, list[float]]) -> None:
    for text in ear.texts:
        for opinion in text.opinions:
            for writer, value in zip(text.writers, opinion.surprise, strict=False):
                if value is not None:
                    names = ["corrupted" if one in bad else "honest" for one in (writer, opinion.reader)]
                    heard[" to ".join(names)].append(value)


def main() -> int:
    """Run everything."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--toy", action="store_true", help="the toy alone; nothing is written")
    parser.add_argument("--items", type=int, default=10)
    parser.add_argument("--threads", type=int, default=1)
    asked = parser.parse_args()
    facts: dict[str, Any] = toy_facts()
    if asked.toy:
        return 0
    facts["settings of the real runs"] = {**HOW, "items": asked.items, "attack": "misinformation, strong"}
    for reference in ("smollm2-135m", "qwen2.5-coder-0.5b"):
        facts[reference] = anyio.run(real_facts, reference, sums(asked.items), asked.threads)
        print(reference, facts[reference], flush=True)
    return finish("ear", {}, [], facts=facts)


if __name__ == "__main__":
    sys.exit(main())
