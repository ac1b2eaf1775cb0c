"""The honest readout: a decision as a person reads it, on a terminal or in a pipe, in 80 columns.

Nothing of what qualifies the answer is left out because it is inconvenient: every ballot, every failure, copies, what
was checked and what was not, and what the agreement is worth.
"""

from __future__ import annotations

import shutil
import sys
import textwrap
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import click

from dissensus.cli.json_document import show_json
from dissensus.decide.contract import Contract
from dissensus.decide.round_robin_result import RoundRobin
from dissensus.decide.self_check_result import SelfChecked
from dissensus.script.decisions import Ballot, Check, Decision, Status

FOUND, FAILED = 1, 3
LABEL = 10
WIDEST = 100
BAR = 24
NO_CHECKS = "none. A verifier that cannot check adds only a signature."

_OUTCOMES = {
    "abstained": "abstained",
    "refusal": "refused",
    "invalid": "unreadable",
    "transport": "call failed",
    "timeout": "silent past its deadline",
    "budget": "no budget left",
    "cancelled": "not awaited",
}
_STATUS = {
    Status.SPLIT: "split: no answer wins",
    Status.DISPUTED: "disputed: this needs a person",
    Status.WAITING: "waiting for a person",
    Status.ABSTAINED: "everybody abstained",
    Status.OPEN_BUDGET: "open: the budget ended before the vote was decided",
    Status.FAILED: "failed: no ballot came that could be counted",
    Status.CONSISTENT: "consistent: nothing contradicts; that verifies no claim",
    Status.INCOMPLETE: "incomplete: reports were returned to their authors",
    Status.REPORTED: "reported: that decides nothing",
}
_COLOURS = {Status.DECIDED: "green", Status.FAILED: "red", Status.OPEN_BUDGET: "red"}
_PLAIN = str.maketrans({"█": "#", "·": ".", "–": "-", "—": "-", "…": "...", "“": '"', "”": '"', "’": "'", "×": "x"})


def exit_code(decision: Decision) -> int:
    """0 decided; 1 ran and something was found (no answer, or a check rejects it); 3 failed or not finished."""
    if isinstance(decision, SelfChecked):
        return decision.exit_code
    if decision.status in (Status.FAILED, Status.OPEN_BUDGET, Status.WAITING):
        return FAILED
    if decision.status in (Status.CONSISTENT, Status.REPORTED):
        return 0
    rejected = any(check.verdict == "rejected" and check.answer == decision.answer for check in decision.checks)
    return FOUND if decision.status is not Status.DECIDED or rejected else 0


def show(decision: Decision, *, as_json: bool = False) -> None:
    """Print ``decision`` on stdout: the readout, or its JSON document."""
    if as_json:
        show_json(decision.to_data())
        return
    width = max(min(shutil.get_terminal_size().columns if sys.stdout.isatty() else 80, WIDEST), 40)
    lines = readout(decision, width=width)
    if isinstance(decision, Contract):
        from dissensus.cli.contract_text import contract_lines

        lines = contract_lines(decision, width=width)
    elif isinstance(decision, RoundRobin):
        from dissensus.cli.round_robin_text import round_robin_lines

        lines = round_robin_lines(decision, width=width)
    elif isinstance(decision, SelfChecked):
        from dissensus.cli.selfcheck_text import self_check_lines

        lines = self_check_lines(decision, width=width)
    else:
        from dissensus.decide.dispute.settlement import Settlement
        from dissensus.decide.swarm.reported import Reported

        if isinstance(decision, Settlement):
            from dissensus.cli.dispute_text import settlement_lines

            lines = settlement_lines(decision)
        elif isinstance(decision, Reported):
            from dissensus.cli.reported_text import reported_lines

            lines = reported_lines(decision, width=width)
    for line in lines:
        say(line)


def say(line: str, *, err: bool = False) -> None:
    """Print ``line``, in plainer characters where the stream knows no others."""
    encoding = getattr(sys.stderr if err else sys.stdout, "encoding", None) or "utf-8"
    try:
        line.encode(encoding)
    except UnicodeEncodeError:
        line = line.translate(_PLAIN).encode(encoding, "replace").decode(encoding)
    click.echo(line, err=err)


def clean(text: str) -> str:
    """``text`` on one line, without anything that could steer a terminal or turn the direction of writing."""
    visible = "".join(
        char if not unicodedata.category(char).startswith("C") or char == "\u200d" else " " for char in text
    )
    return " ".join(visible.split())


def readout(decision: Decision, *, width: int = 80) -> Iterator[str]:
    """The readout, line by line."""
    yield from wrapped(clean(decision.question), width, most=6)
    yield ""
    yield _headline(decision)
    yield ""
    yield from section("votes", bars(decision), width)
    yield from section("ballots", _ballots(decision.ballots, width - LABEL), width)
    yield from section("dissent", _dissent(decision), width)
    yield from section("failures", [failures_line(decision)], width)
    yield from section("checks", _checks(decision.checks), width)
    yield from section("worth", _worth(decision.worth), width)
    yield from section("routed", [_route(entry) for entry in decision.routed], width)
    yield from section("note", [clean(warning) for warning in decision.warnings], width)
    yield from section("rule", [decision.rule] if decision.rule else [], width)
    yield from section("cost", [cost_line(decision)], width)
    yield from section("record", record_lines(decision.record), width, wrap=False)


def _headline(decision: Decision) -> str:
    total = sum(ballot.weight for ballot in decision.ballots if not ballot.stands_in_for)
    if decision.answer is None:
        return headline(decision.status, None, _STATUS.get(decision.status, decision.status.value))
    votes = decision.votes.get(decision.answer, 0)
    how = f"decided: {votes:g} of {total:g} votes" if votes else "decided, but not by the vote"
    return headline(decision.status, decision.answer, how)


def headline(status: Status, answer: str | None, how: str) -> str:
    """The answer and how it came about; or, without one, how it ended."""
    colour = _COLOURS.get(status, "yellow")
    if answer is None:
        return click.style(how, fg=colour, bold=True)
    return f"{click.style(clean(answer), fg=colour, bold=True)}   {how}"


def bars(decision: Decision) -> list[str]:
    """A bar for each answer, and one for the blanks."""
    from rich.cells import cell_len, set_cell_size

    total = sum(ballot.weight for ballot in decision.ballots if not ballot.stands_in_for) or 1
    names = {answer: cut(clean(answer), 30) for answer in decision.votes}
    blank = total - sum(decision.votes.values())
    left = max(map(cell_len, [*names.values(), *(["(blank)"] if blank > 1e-9 else [])]), default=0)
    lines = []
    for answer, votes in decision.votes.items():
        bar = "█" * max(1, round(BAR * votes / total))
        colour = "green" if answer == decision.answer else None
        lines.append(f"{set_cell_size(names[answer], left)}  {click.style(bar, fg=colour)} {votes:g}")
    if blank > 1e-9:
        lines.append(f"{set_cell_size('(blank)', left)}  {'·' * max(1, round(BAR * blank / total))} {blank:g}")
    return lines


def _ballots(ballots: Sequence[Ballot], width: int) -> list[str]:
    from rich.cells import cell_len, set_cell_size

    rows = [(clean(one.agent), cut(clean(one.answer), 30) if one.answer is not None else "–", one) for one in ballots]
    first = max((cell_len(agent) for agent, _, _ in rows), default=0)
    second = max((cell_len(answer) for _, answer, _ in rows), default=0)
    lines = []
    for agent, answer, ballot in rows:
        start = f"{set_cell_size(agent, first)}  {set_cell_size(answer, second)}  "
        room = max(12, width - cell_len(start))
        told = cut(", ".join(_about(ballot)), room)
        lines.append(f"{start}{click.style(told, dim=True)}" if told else start.rstrip())
    return lines


def _about(ballot: Ballot) -> Iterator[str]:
    """What is to be said of a ballot beside its answer, the most important first."""
    if ballot.answer is None:
        yield _OUTCOMES.get(ballot.outcome, ballot.outcome)
    if ballot.same_as:
        yield f"copy of {clean(ballot.same_as)}"
    if ballot.stands_in_for:
        yield f"in place of {clean(ballot.stands_in_for)}"
    if ballot.weight != 1:
        yield f"weight {ballot.weight:g}"
    if ballot.read_by == "repair":
        yield "read after a repair turn"
    elif ballot.read_by == "log-probability":
        yield "options scored"
    elif ballot.read_by == "model":
        yield "grouped by a model"
    if ballot.style:
        yield clean(ballot.style)
    if ballot.answer is None and ballot.reason:
        yield clean(ballot.reason)


def _dissent(decision: Decision) -> list[str]:
    lines = []
    for one in decision.dissent if decision.answer is not None else ():
        reason = clean(str(one.get("reason", "")))
        because = f": {cut(reason, 220)}" if reason else " (no reason given)"
        lines.append(f"{clean(str(one['agent']))} says {cut(clean(str(one['answer'])), 60)}{because}")
    if lines:
        return lines
    return ["none"] if decision.answer is not None else ["no answer won, so nobody dissents from one"]


def failures_line(decision: Decision) -> str:
    """How many failed in which way."""
    if not decision.failures:
        return "none"
    return ", ".join(f"{number} {_OUTCOMES.get(kind, kind)}" for kind, number in decision.failures.items())


def _checks(checks: Sequence[Check]) -> list[str]:
    if not checks:
        return [NO_CHECKS]
    lines = []
    for check in checks:
        verdict = "could not judge" if check.verdict == "error" else check.verdict
        detail = f": {cut(clean(check.detail), 160)}" if check.detail else ""
        lines.append(f"{cut(clean(check.answer), 40)} {verdict} by {cut(clean(check.check), 60)}{detail}")
    return lines


def _worth(worth: Mapping[str, Any]) -> list[str]:
    lines = [f"{worth.get('status', 'unmeasured')}. {clean(str(worth.get('text', '')))}".rstrip()]
    illustration = worth.get("illustration")
    return [*lines, clean(str(illustration["text"]))] if illustration else lines


def _route(entry: Mapping[str, Any]) -> str:
    trigger = {"disagreement": "disagreement", "hollow-unanimity": "unanimity of one model, unchecked"}.get(
        str(entry["trigger"]), str(entry["trigger"])
    )
    if entry.get("measured"):
        trigger = f"unanimity, measured right {entry['measured'][0]} of {entry['measured'][1]}"
    if entry["action"] == "stronger":
        answer = clean(str(entry["answer"])) if entry.get("answer") is not None else "no answer"
        did = "and that is the answer" if entry.get("decided") else "shown beside the vote"
        return f"{trigger} → {clean(str(entry['agent']))} ({clean(str(entry['model']))}) asked: {answer}, {did}"
    if entry["action"] == "check":
        return f"{trigger} → the checks {'decided' if entry.get('decided') else 'changed nothing'}"
    return f"{trigger} → reported, nothing else was done"


def cost_line(decision: Decision) -> str:
    """What it took; unknown stays unknown."""
    cost = decision.cost
    tokens_in = "unknown" if cost.tokens_in is None else f"{cost.tokens_in:,}"
    tokens_out = "unknown" if cost.tokens_out is None else f"{cost.tokens_out:,}"
    seconds = "time unknown" if cost.seconds is None else f"{cost.seconds:,.1f} s of calls, added up"
    money = "money unknown" if cost.money is None else f"money {cost.money:g}"
    calls = f"{cost.calls} call{'' if cost.calls == 1 else 's'}"
    stopped = f"; stopped by {decision.stopped}" if decision.stopped else ""
    return f"{calls}, tokens: {tokens_in} in, {tokens_out} out, {seconds}, {money}{stopped}"


def record_lines(path: str) -> list[str]:
    """Where the record lies, and what can be done with it."""
    if not path:
        return ["kept in memory only"]
    quoted = path if path.replace("/", "").replace("-", "").replace(".", "").replace("_", "").isalnum() else repr(path)
    return [path, f"dissensus record show {quoted}", f"dissensus replay {quoted}"]


def summary(decisions: Sequence[Decision], golds: Sequence[bool | None], *, width: int = 80) -> Iterator[str]:
    """What came of a file of questions; ``golds``: whether each answer is the file's; None where it has none."""
    by_status: dict[str, int] = {}
    for decision in decisions:
        by_status[decision.status.value] = by_status.get(decision.status.value, 0) + 1
    counts = ", ".join(f"{number} {status}" for status, number in by_status.items())
    yield from section("questions", [f"{len(decisions)}: {counts}"], width)
    known = [gold for gold in golds if gold is not None]
    if known:
        told = f"{sum(known)} of {len(known)} answers equal the file's gold (an outside check: no agent saw it)"
        yield from section("gold", [told], width)


def gold_line(gold: str, *, equal: bool) -> str:
    """The file's own answer beside the vote's."""
    return f"{'gold':<{LABEL}}{clean(gold)}: {'equal' if equal else 'NOT equal'} (from the file; no agent saw it)"


def section(label: str, lines: Iterable[str], width: int, *, wrap: bool = True) -> Iterator[str]:
    """``lines`` beside ``label``, in so many columns."""
    title = click.style(f"{label:<{LABEL}}", bold=True)
    for text in lines:
        styled = "\x1b" in text
        parts = [text] if styled or not wrap else list(wrapped(text, width - LABEL))
        for part in parts:
            yield title + part
            title = " " * LABEL


def wrapped(text: str, width: int, *, most: int = 0) -> Iterator[str]:
    """``text`` in lines of so many characters, and no more lines than ``most``, if that is not 0."""
    lines = textwrap.wrap(text[: 2 * width * most] if most else text, width) or [""]
    if most and len(lines) > most:
        lines = [*lines[: most - 1], cut(lines[most - 1] + " …", width)]
    yield from lines


def cut(text: str, cells: int) -> str:
    """``text``, shortened to so many columns."""
    from rich.cells import cell_len

    if cell_len(text) <= cells:
        return text
    text = text[:cells]
    while text and cell_len(text) > cells - 1:
        text = text[:-1]
    return f"{text}…"
