"""How many questions it takes to tell two panels, or two panel sizes, apart.

Both answer the same questions, so what counts is the share of *discordant* questions, where one is right and the other
wrong: with accuracies p1, p2 and correlation phi of their right answers it is

    d = p1 q2 + p2 q1 - 2 phi sqrt(p1 q1 p2 q2),

and the difference of two accuracies has variance (d - (p1 - p2)^2) / Q. The number of questions is that of McNemar's
test (Connor 1987): Q = (z_a sqrt(d) + z_b sqrt(d - (p1 - p2)^2))^2 / (p1 - p2)^2. It rests on d, which nobody knows
before; so a plan names the correlation that it assumes, and what others would cost. The more alike the sides are, the
cheaper it is to tell them apart: two sizes of one panel share voters and most answers; phi = 0 is the dear end.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from dissensus.errors import UsageError
from dissensus.measure.inputs import probability
from dissensus.measure.special import normal_cdf, normal_quantile, root

CORRELATION = 0.5
"""What a plan assumes if it is told nothing: between strangers (0) and two sizes of one panel (near 1)."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A comparison of two accuracies on the same questions.

    Args:
        difference: to be told from none.
        accuracy: of the weaker side; the other has ``accuracy + difference``.
        power: the chance to see the difference if it is there.
        level: the chance to see one that is not there, two-sided.
        correlation: assumed between the two sides' right answers, question by question.
        discordant: the share of questions where only one side is right, which follows from that.
        questions: needed.
        if_independent: needed if the two sides had nothing in common.
        at_best: needed if the better side were right wherever the weaker is: no plan can do with fewer.
        unpaired: needed *on each side* if each answered questions of its own.
    """

    difference: float
    accuracy: float
    power: float
    level: float
    correlation: float
    discordant: float
    questions: int
    if_independent: int
    at_best: int
    unpaired: int

    def to_data(self) -> dict[str, Any]:
        """The same as JSON."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__} | {"assumption": self.assumption}

    @property
    def assumption(self) -> str:
        """What the number rests on, in words."""
        return (
            f"assumes that the two sides' right answers correlate by {self.correlation:g}, so that on "
            f"{100 * self.discordant:.1f} % of the questions only one of them is right; measure this on your own data"
        )

    def lines(self) -> list[str]:
        """The same as text."""
        better = self.accuracy + self.difference
        how = f"power {self.power:g}, level {self.level:g}, two-sided"
        return [
            f"{self.questions:,} questions, answered by both sides, tell {better:g} from {self.accuracy:g} ({how})",
            f"this {self.assumption}",
            f"{self.if_independent:,} if the two sides had nothing in common",
            f"{self.at_best:,} if the better side were right wherever the other is: no plan can do with fewer",
            f"{self.unpaired:,} for each side if each answered questions of its own",
        ]


def plan(
    difference: float, accuracy: float, *, power: float = 0.8, level: float = 0.05, correlation: float | None = None
) -> Plan:
    """How many questions tell ``accuracy`` from ``accuracy + difference``, both sides answering all of them.

    A negative difference asks for a loss. The same number tells two sizes of one panel apart, since its votes are on
    the same questions. Without ``correlation`` it assumes ``CORRELATION``, or the most that the two accuracies allow.

    Raises:
        UsageError: a number is out of range, or no two sides of these accuracies can correlate so highly.
    """
    first = float(probability(accuracy, "The accuracy"))
    second = first + float(difference)
    if not difference or not 0 <= second <= 1 or math.isnan(second):
        raise UsageError(
            f"An accuracy of {first:g} cannot differ by {difference:g}.",
            next_step="Give a difference other than 0 that stays between 0 and 1.",
        )
    for value, what in ((power, "The power"), (level, "The level")):
        if not 0 < value < 1:
            raise UsageError(f"{what} cannot be {value:g}: it lies between 0 and 1.", next_step="Try 0.8 and 0.05.")
    if correlation is None:
        correlation = min(CORRELATION, _possible(first, second)[1])
    discordant = discordance(first, second, correlation)
    gap = abs(second - first)
    spread = first * (1 - first) + second * (1 - second)
    z = float(normal_quantile(1 - level / 2)) + float(normal_quantile(power))
    return Plan(
        difference=float(difference),
        accuracy=first,
        power=power,
        level=level,
        correlation=correlation,
        discordant=discordant,
        questions=_questions(gap, discordant, power, level),
        if_independent=_questions(gap, discordance(first, second, 0.0), power, level),
        at_best=_questions(gap, gap, power, level),
        unpaired=math.ceil(z**2 * spread / gap**2 - 1e-9),
    )


def discordance(first: float, second: float, correlation: float) -> float:
    """The share of questions where only one of two sides is right.

    Raises:
        UsageError: sides of these accuracies cannot correlate so: both are right on at most the smaller share.
    """
    low, high = _possible(first, second)
    if not low - 1e-9 <= correlation <= high + 1e-9:
        raise UsageError(
            f"Two sides with accuracies {first:g} and {second:g} cannot correlate by {correlation:g}.",
            next_step=f"Use a correlation between {low:.2f} and {high:.2f}.",
        )
    least, most = _margins(first, second)
    share = first * (1 - second) + second * (1 - first) - 2 * correlation * _scale(first, second)
    return min(max(share, least), most)


def detectable(questions: int, discordant: float, *, power: float = 0.8, level: float = 0.05) -> float:
    """The smallest difference that ``questions`` can tell when a share ``discordant`` of them tells the sides apart.

    Infinite if not even one side winning every discordant question would be seen.
    """
    share = float(probability(discordant, "The share of discordant questions"))
    if share == 0 or _power(share, share, questions, level) < power:
        return math.inf
    return root(lambda gap: _power(gap, share, questions, level) - power, 0.0, share)


def too_few(questions: int, discordant: float, difference: float, *, power: float = 0.8) -> str:
    """A sentence for a comparison on too few questions to see ``difference``; empty if they are enough."""
    least = detectable(questions, discordant, power=power)
    if least <= abs(difference):
        return ""
    if math.isinf(least):
        return f"{questions:,} questions, {discordant * questions:.0f} of them discordant, cannot show any difference."
    return _can_show(questions, least, power)


def detectable_mean(
    questions: int, spread: float, differing: float, *, power: float = 0.8, level: float = 0.05
) -> float:
    """The smallest difference shown where it may be any number on a question, as where a tie is shared.

    Args:
        questions: how many both sides answered.
        spread: standard deviation of the difference over questions.
        differing: share of questions on which the sides differ at all; infinite if they are too few for a sign test.
        power: chance to see it.
        level: chance to see one that is not there, two-sided.
    """
    if math.isinf(detectable(questions, differing, power=power, level=level)):
        return math.inf
    return (float(normal_quantile(1 - level / 2)) + float(normal_quantile(power))) * spread / math.sqrt(questions)


def too_few_for_mean(questions: int, spread: float, differing: float, difference: float, *, power: float = 0.8) -> str:
    """As :func:`too_few`, for such a difference."""
    least = detectable_mean(questions, spread, differing, power=power)
    if least <= abs(difference):
        return ""
    if math.isinf(least):
        return (
            f"{questions:,} questions, on {differing * questions:.0f} of which they differ, are unlikely to show any."
        )
    return _can_show(questions, least, power)


def _can_show(questions: int, least: float, power: float) -> str:
    return (
        f"{questions:,} questions can show a difference of {least:.3f} or more (power {power:g}); a smaller one may be "
        "there unseen."
    )


def _scale(first: float, second: float) -> float:
    return math.sqrt(first * (1 - first) * second * (1 - second))


def _margins(first: float, second: float) -> tuple[float, float]:
    """The least and the largest share of discordant questions that two accuracies allow."""
    return abs(first - second), min(first + second, 2 - first - second)


def _possible(first: float, second: float) -> tuple[float, float]:
    """The correlations that two accuracies allow. One who is always or never right correlates with nobody: 0."""
    scale = _scale(first, second)
    if scale == 0:
        return 0.0, 0.0
    independent = first * (1 - second) + second * (1 - first)
    least, most = _margins(first, second)
    return (independent - most) / (2 * scale), (independent - least) / (2 * scale)


def _questions(gap: float, discordant: float, power: float, level: float) -> int:
    z_a, z_b = float(normal_quantile(1 - level / 2)), float(normal_quantile(power))
    root_spread = math.sqrt(max(0.0, discordant - gap**2))
    return math.ceil(((z_a * math.sqrt(discordant) + z_b * root_spread) / gap) ** 2 - 1e-9)


def _power(gap: float, discordant: float, questions: int, level: float) -> float:
    z_a = float(normal_quantile(1 - level / 2))
    reach = gap * math.sqrt(questions) - z_a * math.sqrt(discordant)
    spread = math.sqrt(max(0.0, discordant - gap**2))
    return float(normal_cdf(reach / spread)) if spread > 0 else float(reach >= 0)
