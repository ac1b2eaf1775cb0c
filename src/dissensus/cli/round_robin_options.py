"""The options of ``decide`` for texts written in turns, and the settings that they come to.

They stand apart from what is made of them, so that ``--help`` loads nothing heavy.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from dissensus.errors import UsageError

if TYPE_CHECKING:
    from dissensus.decide.round_robin_settings import RoundRobinSettings

_Command = TypeVar("_Command", bound=Callable[..., object])

VOTE_ONLY: Final = {
    "weights": "--weights",
    "rule": "--rule",
    "levers": "--levers",
    "read_by": "--read-by",
    "group_by_model": "--group-by-model",
    "max_tokens": "--max-tokens",
    "stop": "--stop",
    "checks": "--check",
    "check_rule": "--check-rule",
    "on_disagreement": "--on-disagreement",
    "on_unanimity": "--on-unanimity",
    "profile": "--profile",
    "hollow_below": "--hollow-below",
    "stronger": "--stronger",
    "stronger_decides": "--stronger-decides",
}
"""Options of ``decide`` that only a vote has."""

_SETTINGS: Final = {
    "trajectories": "trajectories",
    "k": "k",
    "length": "length",
    "start": "start",
    "q_eos": "q_eos",
    "boundary": "boundary",
    "delta": "delta",
    "adaptive": "adaptive",
    "at_once": "at_once",
    "answer_rule": "answer",
    "ties": "ties",
    "prompt_style": "prompt",
    "fidelity": "fidelity",
    "cut_answer": "cut_answer",
    "verify": "verifiers",
    "on_wrong": "on_wrong",
    "ear": "ear",
    "candidates": "ear_candidates",
    "weigh_by": "weight",
}
"""Name of an option to the setting that it gives."""

_OPTIONS = (
    click.option(
        "--procedure",
        type=click.Choice(["vote", "round-robin"]),
        default="vote",
        show_default=True,
        help="Each answers alone and they vote; or they write texts in turns, and the texts vote. The options down to"
        " --with belong to the latter.",
    ),
    click.option("--trajectories", type=click.IntRange(1), metavar="M", help="Texts.  [as many as there are agents]"),
    click.option("--k", type=click.IntRange(1), metavar="K", help="Most tokens of one turn.  [100]"),
    click.option("--length", type=click.IntRange(1), metavar="L", help="Most tokens of a text.  [1024]"),
    click.option(
        "--start",
        type=click.Choice(["rotate", "fixed", "random"]),
        help="Who begins each text.  [rotate: the next seat]",
    ),
    click.option(
        "--q-eos", type=click.IntRange(0), help="Further agents who have to agree that a text is at its end.  [0]"
    ),
    click.option(
        "--boundary",
        type=click.Choice(["none", "utf8", "word-number", "sentence", "line"]),
        help="Where a turn may end.  [utf8: not inside a character]",
    ),
    click.option("--delta", type=click.IntRange(0), help="How far from K it may end there, in tokens.  [8]"),
    click.option("--adaptive", is_flag=True, default=None, help="Give up texts that can no longer change the answer."),
    click.option("--at-once", type=click.IntRange(0), help="Texts written side by side.  [all]"),
    click.option(
        "--answer-rule",
        type=click.Choice(["last", "first", "last-before-end"]),
        help="Which answer of a text counts.  [last]",
    ),
    click.option(
        "--cut-answer",
        type=click.Choice(["invalid", "earlier"]),
        help="What a text answers that was cut off inside its last answer: nothing, or the answer before.  [invalid]",
    ),
    click.option(
        "--ties", type=click.Choice(["seeded", "abstain"]), help="Draw among tied answers, or decide nothing.  [seeded]"
    ),
    click.option(
        "--prompt-style",
        type=click.Choice(["solve", "correct"]),
        help="Put the question alone, or also ask to correct what stands so far.  [solve]",
    ),
    click.option(
        "--fidelity",
        type=click.Choice(["token_exact", "text_prefill", "approximate"]),
        help="The least exact hand-over that is accepted.  [text_prefill]",
    ),
    click.option(
        "--quoted",
        is_flag=True,
        default=None,
        help="Show the text in quotes to models that cannot continue one: APPROXIMATE, and marked so.",
    ),
    click.option(
        "--verify",
        multiple=True,
        type=click.Choice(["arithmetic", "deduction", "navigate", "tracking"]),
        help="Have the steps of a text checked mechanically; may be repeated.",
    ),
    click.option(
        "--on-wrong",
        type=click.Choice(["note", "rewrite"]),
        help="Note a wrong step, or take the text back to before it.  [note]",
    ),
    click.option(
        "--ear",
        type=click.Choice(["off", "surprise", "drift", "both"]),
        help="Tell what the agents make of what their peers wrote.  [off]",
    ),
    click.option(
        "--candidate",
        "candidates",
        multiple=True,
        metavar="ANSWER",
        help="An answer whose odds --ear drift tells; no agent sees it.  [the options, or what the texts answer]",
    ),
    click.option(
        "--weigh-by",
        type=click.Choice(["none", "surprise", "drift"]),
        help="Weigh the texts by what was heard of them.  [none]",
    ),
    click.option("--with", "others", multiple=True, metavar="NAME=VALUE", help="Any other setting of the turns."),
)


def procedure_options(command: _Command) -> _Command:
    """Add ``--procedure``, and the options of writing in turns."""
    for option in reversed(_OPTIONS):  # click lists first what is applied last
        command = option(command)
    return command


def settings_from(flags: Mapping[str, Any]) -> RoundRobinSettings:
    """The settings that the flags come to. Raises SpecError for a name or a value that does not exist."""
    from dissensus.decide.round_robin_settings import RoundRobinSettings

    given = {setting: flags[name] for name, setting in _SETTINGS.items() if flags[name] not in (None, ())}
    if flags["quoted"]:
        if given.get("fidelity") not in (None, "approximate"):
            raise UsageError(
                f"--quoted is approximate, and --fidelity asks for {given['fidelity']}.",
                next_step="Leave out one of them.",
            )
        given["fidelity"] = "approximate"
    if flags["temperature"] is not None:
        given["temperature"] = flags["temperature"]
    for one in flags["others"]:
        name, equals, value = one.partition("=")
        if not equals:
            raise UsageError(f"--with takes NAME=VALUE, not {one!r}.", next_step="For example --with max_turns=40.")
        given[name.strip()] = _value(value.strip())
    return RoundRobinSettings.from_data(given)


def refuse_mixed(flags: Mapping[str, Any], context: click.Context) -> None:
    """Raise UsageError for an option that was typed and that the chosen procedure does not have."""
    from click.core import ParameterSource

    def first_typed(names: Mapping[str, str]) -> str:
        typed = (names[name] for name in names if context.get_parameter_source(name) is ParameterSource.COMMANDLINE)
        return next(typed, "")

    if flags["procedure"] == "vote":
        ours = {name: f"--{name.replace('_', '-')}" for name in (*_SETTINGS, "quoted")}
        ours |= {"others": "--with", "candidates": "--candidate"}
        if option := first_typed(ours):
            raise UsageError(
                f"{option} belongs to texts written in turns, and this is a vote.",
                next_step="Add --procedure round-robin, or leave it out.",
            )
    elif option := first_typed(VOTE_ONLY):
        raise UsageError(f"{option} belongs to a vote, and this is a round-robin.", next_step="Leave it out.")


def _value(text: str) -> Any:
    """A value as JSON writes it; what is no JSON is a text."""
    try:
        return json.loads(text)
    except ValueError:
        return text
