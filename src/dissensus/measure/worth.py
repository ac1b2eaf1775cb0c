"""What may be said of an agreement of which nothing was measured: that it was not, and what could lie behind it.

No probability is given for the question at hand. Where all agents share one model and all agree, an *illustration*
shows how little unanimity can mean: a made-up model with its parameters named.
"""

from __future__ import annotations

from typing import Any

from dissensus.errors import UsageError
from dissensus.measure.jury import trap_unanimous

TRAP_SHARE = 0.2
"""Of the questions in the illustration, the share on which every agent falls into the same error."""
TRAP_ACCURACY = 0.875
"""In the illustration, the probability that an agent is right on any other question; .7 over all."""


def unmeasured(
    n_ballots: int,
    n_unanimous: int,
    same_model: bool,
    *,
    copies: int = 0,
    blanks: int = 0,
) -> dict[str, Any]:
    """The readout of an agreement whose worth was not measured.

    Args:
        n_ballots: ballots that hold an answer.
        n_unanimous: how many of them gave the leading answer; the panel is unanimous if that is all of them.
        same_model: whether one model stands behind all agents.
        copies: ballots that are copies of another, by an identical request or reply; they add nothing.
        blanks: agents of the panel without an answer: failed, abstained, unreadable.

    Returns:
        ``{"status": "unmeasured", "text": …}``; where two or more ballots of one model that are no copies are
        unanimous, also ``"illustration"``: the model, its parameters, n, the two figures and a sentence that says
        what is assumed. The figures are of the made-up model and never of this question.

    Raises:
        UsageError: counts that cannot be.
    """
    if not 0 <= n_unanimous <= n_ballots or not 0 <= copies <= max(0, n_ballots - 1) or blanks < 0:
        raise UsageError(
            "These counts of ballots cannot be.", next_step="Count the ballots with an answer, then the rest."
        )
    unanimous = 0 < n_ballots == n_unanimous
    sentences = [_agreement(n_ballots, n_unanimous, blanks), *_meaning(n_ballots, same_model=same_model, copies=copies)]
    worth: dict[str, Any] = {"status": "unmeasured", "text": " ".join(sentences)}
    distinct = n_ballots - copies
    if unanimous and same_model and distinct > 1:
        worth["illustration"] = _illustration(distinct)
    return worth


def _agreement(n_ballots: int, n_unanimous: int, blanks: int) -> str:
    without = f"; {blanks} of {n_ballots + blanks} agents gave none" if blanks else ""
    if n_ballots == 0:
        return "No ballot holds an answer."
    if n_ballots == 1:
        return f"One ballot holds an answer{without}."
    if n_ballots == n_unanimous:
        return f"All {n_ballots} ballots that hold an answer agree{without}."
    return f"{n_unanimous} of {n_ballots} ballots that hold an answer agree{without}."


def _meaning(n_ballots: int, *, same_model: bool, copies: int) -> list[str]:
    if n_ballots == 0:
        return ["There is no agreement to weigh."]
    if n_ballots == 1:
        return ["One opinion is no agreement."]
    sentences = ["How often this panel is right when it agrees has not been measured."]
    if copies:
        opinion = "is a copy" if copies == 1 else "are copies"
        sentences.append(f"{copies} of the ballots {opinion} of another: that is one opinion photocopied.")
    if same_model:
        sentences.append(
            "All agents share one model: its agreement with itself says little, for it repeats its errors too."
        )
    else:
        sentences.append(
            "Different models often share errors too, so their agreement alone does not show that it is right."
        )
    return sentences


def _illustration(n: int) -> dict[str, Any]:
    unanimous, wrong = trap_unanimous(n, TRAP_SHARE, TRAP_ACCURACY)
    return {
        "model": "trap",
        "assumed": {"trap_share": TRAP_SHARE, "accuracy_elsewhere": TRAP_ACCURACY},
        "n": n,
        "p_unanimous": unanimous,
        "p_wrong_given_unanimous": wrong,
        "text": (
            "An illustration with assumed numbers, not a measurement of this panel or this question: if "
            f"{TRAP_SHARE:.0%} of questions were traps on which all agents give the same wrong answer, and each were "
            f"independently right with probability {TRAP_ACCURACY} on the others, then {wrong:.1%} of the unanimous "
            f"answers of {n} agents would be wrong."
        ),
    }
