"""A toy in which three of five writers are corrupted, the vote collapses and one text written in turns is rescued.

It is a toy. Its writers are three rules each, made so that honest ones check every line and corrupted ones give way to
corrections; that real models do either has to be measured (``dissensus study``). It shows that the procedure *can* do
what is said of it, what seats give for nothing beside it, and where it makes matters worse. Deterministic.

The rules. A text is a chain of sums, a line for each. An *honest* writer that sees a false answer says no and gives the
right line, goes on with the chain, states the answer when the chain is done, and ends a text that ends on it. A
*corrupted* writer states the target and ends the text. Each correction that stands in the text makes it more likely to
give way and write as an honest one: after r of them it insists with probability ``insists ** r``. Alone it is never
corrected, so alone it always says the target.

All five have to agree that a text is at its end (q_eos = 4), so the corrupted can end none alone; and since they need
not agree either, its length bounds it.

The numbers were chosen because the wanted pattern appears there. Corrupted writers insist with 0.85 (moderate) and 0.9
(strong), and texts have at most L = 400 characters. With 0.85 and L = 300, or where three insist with 0.9, a vote over
five texts falls below its null models: these settings are shown too. Which way a text ends depends much on where L
happens to cut the writers' cycle, since whoever wrote last before the cut has the last word. No setting here is more
typical than another, for there is nothing that it would be typical of.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import combinations

from dissensus.decide.round_robin import round_robin
from dissensus.decide.round_robin_result import RoundRobin, Text
from dissensus.decide.round_robin_settings import RoundRobinSettings
from dissensus.measure.seats import NULLS, Turn, null_votes
from dissensus.script.calls import Capability
from dissensus.script.effects import Continue, Effect
from dissensus.script.keys import seed_of
from dissensus.script.outcomes import Extended, Outcome
from dissensus.script.questions import Question
from dissensus.script.rehearsal import rehearse
from dissensus.script.seats import Seat

WRITERS = 5
ITEMS = 40
MODERATE, STRONG = 0.85, 0.9
"""Chosen, with ``LENGTH``, so that the wanted pattern appears."""
LENGTH = 400
SHOWN = ((3, MODERATE, LENGTH, "moderate attack"), (4, STRONG, LENGTH, "strong attack"))
NEIGHBOURS = ((3, MODERATE, 300, "moderate attack, shorter texts"), (3, STRONG, LENGTH, "strong attack"))
"""Settings beside the chosen ones, where the pattern is gone."""
TEXTS = 15
"""Texts of each item; a vote over M of them takes the first M."""
_CAN = frozenset({Capability.CONTINUE, Capability.TOKENS})
_STATED = re.compile(r"Answer: (\d+)\.")


class Item:
    """A chain of four sums, its right answer, and the one that all corrupted writers are after."""

    def __init__(self, number: int) -> None:
        parts = [seed_of(number, f"part/{place}") % 8 + 2 for place in range(5)]
        self.lines, total = [], parts[0]
        for part in parts[1:]:
            self.lines.append(f"{total} + {part} = {total + part}.")
            total += part
        self.gold, self.target = total, total + 1 + seed_of(number, "target") % 5
        self.question = Question(text=f"What is {' + '.join(map(str, parts))}?", kind="number")


def honest(item: Item, text: str) -> tuple[str, bool]:
    """What an honest writer adds, and whether it ends the text."""
    stated = _STATED.findall(text)
    if stated and int(stated[-1]) == item.gold:
        return "", True
    done = sum(line in text for line in item.lines)
    if stated and done == len(item.lines):
        return f"No, {item.lines[-1]} So Answer: {item.gold}. ", False
    if done == len(item.lines):
        return f"So Answer: {item.gold}. ", False
    return f"{'No, ' if stated else ''}{item.lines[done]} ", False


def corrupted(item: Item, text: str, *, insists: float, luck: float) -> tuple[str, bool]:
    """What a corrupted writer adds, and whether it ends the text."""
    if luck >= insists ** text.count("No, "):
        return honest(item, text)
    stated = _STATED.findall(text)
    return ("" if stated and int(stated[-1]) == item.target else f"It is known that Answer: {item.target}. "), True


def write(item: Item, bad: Sequence[int], insists: float, texts: int, length: int = LENGTH) -> RoundRobin:
    """Texts by writers of whom those in ``bad`` are corrupted. One token is one character here."""
    seats = [Seat(agent=f"seat{seat}", model="toy", capabilities=_CAN) for seat in range(WRITERS)]

    def answer(key: str, effect: Effect) -> Outcome:
        if not isinstance(effect, Continue):
            raise TypeError(effect)
        text = "".join(map(chr, effect.tokens or ()))
        luck = seed_of(0, f"{item.question.text}/{key}") / 2**31
        if int(effect.agent.removeprefix("seat")) in bad:
            added, ended = corrupted(item, text, insists=insists, luck=luck)
        else:
            added, ended = honest(item, text)
        added = added[: effect.max_tokens]
        ids = tuple(map(ord, added))
        return Extended(
            text=added, tokens=ids, ends=tuple(range(1, len(ids) + 1)), finish="stop" if ended else "length"
        )

    settings = RoundRobinSettings(k=40, length=length, trajectories=texts, q_eos=WRITERS - 1)
    found: RoundRobin = rehearse(round_robin(item.question, seats, settings, seed=0), answer)
    return found


def alone(item: Item, *, bad: bool) -> int:
    """What one writer says that nobody corrects."""
    text = ""
    for _ in range(10):
        text += (corrupted(item, text, insists=1.0, luck=0.0) if bad else honest(item, text))[0]
    return int(_STATED.findall(text)[-1])


def right(answers: Sequence[str | None], gold: int) -> float:
    """Share right of a plurality: a tie counts as the chance to draw the right one."""
    votes = Counter(answer for answer in answers if answer is not None)
    most = [answer for answer in votes if votes[answer] == max(votes.values())]
    return (str(gold) in most) / len(most) if most else 0.0


def seats_of(texts: Sequence[Text], bad: Sequence[int]) -> list[list[Turn]]:
    """Who wrote, without a look at what."""
    return [[Turn(turn.seat, turn.seat not in bad, turn.kept) for turn in text.turns] for text in texts]


def study(corrupt: int, insists: float, length: int = LENGTH) -> dict[str, float]:
    """Shares right over all items, each with another placement of the corrupted seats."""
    placements = list(combinations(range(WRITERS), corrupt))
    sums: defaultdict[str, float] = defaultdict(float)
    for number in range(ITEMS):
        item, bad = Item(number), placements[number % len(placements)]
        ballots = [str(alone(item, bad=seat in bad)) for seat in range(WRITERS)]
        sums["vote"] += right(ballots, item.gold)
        texts = write(item, bad, insists, TEXTS, length).texts
        for many in (1, 5, TEXTS):
            sums[f"round-robin, M = {many}"] += right([text.answer for text in texts[:many]], item.gold)
        nulls = null_votes(seats_of(texts[:5], bad)) or dict.fromkeys(NULLS, 0.0)
        for name in NULLS:
            sums[f"null model: {name}"] += nulls[name]  # a vote over the same five texts
    return {name: total / ITEMS for name, total in sums.items()}


def shown(corrupt: int, insists: float, length: int, title: str) -> None:
    """Print one table, and what stands out in it."""
    found = study(corrupt, insists, length)
    print(f"{corrupt} of {WRITERS} corrupted, {title}: they insist with {insists}, L = {length} ({ITEMS} items)")
    for name, share in found.items():
        print(f"  {share:6.1%}  {name}")
    if found[f"round-robin, M = {TEXTS}"] < found["round-robin, M = 1"]:
        print("  More texts make it WORSE: most of them are wrong, and a vote amplifies whichever side leads.")
    above = [name for name in NULLS[1:3] if found[f"null model: {name}"] > found["round-robin, M = 5"]]
    if above:
        print(
            f"  M = 5 is BELOW what its seats alone would give ({' and '.join(above)}): no repair is to be seen here."
        )
    print()


def main() -> None:
    """Print the tables, and what they are worth."""
    print("Settings that were CHOSEN because the wanted pattern appears there:\n")
    for setting in SHOWN:
        shown(*setting)
    print("Settings right beside them, where it is gone:\n")
    for setting in NEIGHBOURS:
        shown(*setting)
    print("This is a toy: its writers are rules, they were made so that corrections work, and how strongly corrupted")
    print("writers insist and how long texts are was chosen to show the pattern. It is no evidence about models. The")
    print("null models look at seats alone; only what lies above them can be repair.")


if __name__ == "__main__":
    main()
