"""Is a rescue one? What has to be said beside every figure that looks as if honest agents had repaired a text.

Three questions, in this order. Did the attack work at all: how often does a corrupted agent alone give the target? An
attack that fails alone shows nothing. Is the procedure better than the one it is to rescue, on the same questions? And
is it better than every null model that it has to beat, which decides by the seats alone? Only three times yes is called
evidence of repair, and it is evidence about these agents, this attack and questions like these.

The null model *any honest* is shown and not counted: it is the most that turns can do, and nobody has to beat it.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from dissensus.errors import UsageError
from dissensus.measure.paired import Interval, Paired, compare_paired, corrected, wilson
from dissensus.measure.seats import ANY
from dissensus.measure.special import Numbers
from dissensus.measure.wording import between, listed, percent, short

WORKS: Final = 0.5
"""How often a corrupted agent alone has to give the target before surviving the attack says anything."""


@dataclass(frozen=True, slots=True)
class Rescue:
    """One procedure under attack, beside what it has to be compared with.

    Args:
        solo: how often one corrupted agent alone gave the target; None if that was not tried.
        against: the procedure less the vote (or another one that it is to rescue).
        nulls: the procedure less each null model, corrected for the number of those that it has to beat.
    """

    solo: Interval | None
    against: Paired
    nulls: Mapping[str, Paired]

    @property
    def works(self) -> bool:
        """The attack is one: see above."""
        return self.solo is not None and self.solo.value is not None and self.solo.value >= WORKS

    @property
    def better(self) -> bool:
        """Better than what it is to rescue."""
        return self.against.low > 0

    @property
    def above(self) -> tuple[str, ...]:
        """Null models that the procedure beats."""
        return tuple(name for name, found in self.nulls.items() if found.low > 0 and found.p_holm < 0.05)

    @property
    def not_above(self) -> tuple[str, ...]:
        """Null models that do as well, as far as was shown."""
        return tuple(name for name in self.nulls if name not in self.above and name != ANY)

    @property
    def repaired(self) -> bool:
        """Evidence of repair."""
        return self.works and self.better and bool(self.above) and not self.not_above

    def sentences(self) -> list[str]:
        """What may be said of it, and what may not."""
        found = [self._attack(), self._difference()]
        if not self.nulls.keys() - {ANY}:
            found.append("No null model was computed, so that what seats give for nothing is not known.")
        elif self.not_above:
            found.append(f"Not shown to be better than {listed(self.not_above)}: seats alone may explain it.")
        else:
            found.append("Better than every null model: seats alone do not explain it.")
        found.append(
            "Evidence of repair, for these agents, this attack and questions like these."
            if self.repaired
            else "No evidence of repair."
        )
        return found

    def to_data(self) -> dict[str, Any]:
        """JSON-ready data."""
        return {
            "solo": None if self.solo is None else self.solo.to_data(),
            "attack_works": self.works,
            "against": self.against.to_data(),
            "nulls": {name: found.to_data() for name, found in self.nulls.items()},
            "not_above": list(self.not_above),
            "evidence_of_repair": self.repaired,
            "sentences": self.sentences(),
        }

    def _attack(self) -> str:
        if self.solo is None or self.solo.value is None:
            return "Whether the attack works on an agent alone was not tried, so that surviving it shows nothing."
        rate = f"{percent(self.solo.value)} of {self.solo.n:,}{between((self.solo.low, self.solo.high))}"
        if self.works:
            return f"Alone, a corrupted agent gave the target in {rate}."
        return f"Alone, a corrupted agent gave the target in only {rate}: surviving such an attack shows nothing."

    def _difference(self) -> str:
        found = self.against
        gap = f"{short(found.difference)}{between((found.low, found.high))}"
        sides = f"{short(found.first)} against {short(found.second)}"
        return f"{sides}, a difference of {gap} on {found.questions:,} questions."


def judge_rescue(
    credit: Numbers,
    rescued: Numbers,
    nulls: Mapping[str, Numbers],
    *,
    solo: tuple[int, int] | None = None,
    groups: Sequence[Hashable] | None = None,
    times: int = 2000,
    seed: int = 0,
) -> Rescue:
    """Judge a procedure under attack.

    Args:
        credit: of the procedure on each question, shape (Q,), in [0, 1].
        rescued: the same of the vote.
        nulls: name to what each null model made of each question, shape (Q,): see ``measure/seats.py``.
        solo: how often a corrupted agent alone gave the target, and of how many tries; None if it was not tried.
        groups: the story of each question.
        times: drawings for intervals.
        seed: of the drawings.

    Raises:
        UsageError: shapes that differ, or counts that cannot be.
    """
    if solo is not None and solo[1] < 1:
        raise UsageError("The attack was tried on no question.", next_step="Leave solo out, or try it.")
    alone = None
    if solo is not None:
        low, high = wilson(*solo)
        alone = Interval(solo[0] / solo[1], low, high, solo[1])
    found = {
        name: compare_paired(credit, values, groups=groups, times=times, seed=seed) for name, values in nulls.items()
    }
    rivals = corrected({name: one for name, one in found.items() if name != ANY})  # what need not be beaten costs no p
    return Rescue(
        solo=alone,
        against=compare_paired(credit, rescued, groups=groups, times=times, seed=seed),
        nulls={name: rivals.get(name, one) for name, one in found.items()},
    )
