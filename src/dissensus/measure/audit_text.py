"""The audit as a few lines of text."""

from __future__ import annotations

from collections.abc import Iterator

from dissensus.measure.audit import Audit, Errors, Panel
from dissensus.measure.wording import between, counted, hundredths, p_value, percent, short, tiny

_SIZES = (3, 5, 7, 9, 11, 15, 21, 31, 43, 51)
_FIRST = 34


def lines_of(found: Audit) -> list[str]:
    """Without the warnings, which the command prints below."""
    return list(_lines(found))


def _lines(found: Audit) -> Iterator[str]:
    blank = sum(found.blanks.values())
    blanks = f", {counted(blank, 'cell')} blank" if blank else ""
    questions = f"{counted(found.n_questions, 'question')}, {found.n_labelled:,} with a right answer"
    yield f"{counted(found.n_voters, 'voter')}, {questions}{blanks}"
    panel, errors = found.panel, found.errors
    if panel is None:
        yield from _unlabelled(found)
        return
    yield _alone(found, panel)
    if errors is not None:
        yield from _together(found, errors)
        yield _unanimous(found, panel)
        yield _curve(found, panel)
    if panel.extrapolation is not None:
        yield from panel.extrapolation.lines()


def _unlabelled(found: Audit) -> Iterator[str]:
    unanimous = found.split.get(found.n_voters, 0)
    share = percent(unanimous / found.n_questions)
    yield f"unanimous {unanimous:,} times ({share}); correctness unknown, correlation unmeasured"


def _alone(found: Audit, panel: Panel) -> str:
    rates = sorted(voter.accuracy.rate for voter in found.voters if voter.accuracy.rate is not None)
    alone = f"alone {short(rates[0], 2)}–{short(rates[-1], 2)}" if len(rates) > 1 else "alone"
    first = f"{alone} (best: {panel.best.voter} {short(panel.best.accuracy)})"
    if found.n_voters == 1:
        return f"{first}{between((found.voters[0].accuracy.low, found.voters[0].accuracy.high))}"
    best = panel.best
    if best.ci is None:
        verdict = "not comparable on one question"
    elif best.ci[0] > 0:
        verdict = f"better than the best voter alone by {short(best.minus)}"
    elif best.ci[1] < 0:
        verdict = "the best voter alone is better"
    else:
        verdict = "no better or worse than the best voter alone, as far as these questions show"
    rate, low, high = panel.plurality.rate, panel.plurality.low, panel.plurality.high
    return _beside(first, f"plurality {short(rate)}{between((low, high))}   (ties split; {verdict})")


def _beside(left: str, right: str) -> str:
    return f"{left:<{max(_FIRST, len(left) + 3)}}{right}"


def _together(found: Audit, errors: Errors) -> Iterator[str]:
    test = errors.permutation
    if test.p is None:
        verdict = "nothing to test"
    else:
        word = "rejected" if test.p < 0.05 else "not rejected"
        verdict = f"independence {word} ({p_value(test.p)})"
    yield f"errors together {short(errors.joint)}, if independent {short(errors.product)}   → {verdict}"
    if errors.within is not None and errors.within.p is not None:
        yield (
            f"within strata, if independent {short(errors.within.mean)} ({p_value(errors.within.p)}): what all find "
            f"hard explains {percent(_explained(errors), 0)} of the excess"
        )
    correlation = f"correlation {short(errors.phi_mean, 2)}{between(errors.phi_ci, 2)}"
    if errors.n_eff is None:
        yield _beside(correlation, "the effective number of voters is not defined")
    else:
        worth = f"about {errors.n_eff:.1f} independent ones (order of magnitude)"
        yield _beside(correlation, f"{found.n_voters} voters are worth {worth}")
    if errors.same_wrong_rate is not None and errors.same_wrong_chance != 1.0:
        chance = f", by chance {percent(errors.same_wrong_chance, 0)}" if errors.same_wrong_chance is not None else ""
        yield f"both wrong: the same answer in {percent(errors.same_wrong_rate, 0)}{chance}"


def _explained(errors: Errors) -> float:
    excess = errors.permutation.joint - errors.permutation.mean
    return (errors.within.mean - errors.permutation.mean) / excess if errors.within and excess > 0 else 0.0


def _unanimous(found: Audit, panel: Panel) -> str:
    unanimous = panel.unanimous
    if not unanimous.count:
        return f"unanimous never: no question on which all {found.n_voters} gave one answer"
    share = unanimous.share_wrong
    if not unanimous.wrong:
        text = (
            f"unanimous {counted(unanimous.count, 'time')}, never wrong: at most {percent(share.at_most or 0.0)} (95 %)"
        )
    else:
        interval = f"[{hundredths(share.low or 0.0)}, {hundredths(share.high or 0.0)}]"
        text = f"unanimous {counted(unanimous.count, 'time')}, wrong {percent(share.rate or 0.0)} {interval}"
    if unanimous.independent_claim is None:
        return text
    return f"{text}   (independent voters: {tiny(unanimous.independent_claim)})"


def _curve(found: Audit, panel: Panel) -> str:
    curve = panel.curve
    points = {point.n: point for point in curve.points}
    shown = [n for n in _SIZES if n < found.n_voters and n in points] + [found.n_voters]
    text = "   ".join(f"{n}: {short(points[n].plurality)}" for n in shown)
    if curve.falls:
        verdict = f"best at {curve.argmax}, and falls"
    elif curve.rises:
        verdict = f"still rising at {curve.argmax}"
    elif curve.enough is not None:
        verdict = f"from {curve.enough} on, no gain that these questions show"
    else:
        verdict = "one question shows no curve"
    return f"plurality of {text}   ({verdict})"
