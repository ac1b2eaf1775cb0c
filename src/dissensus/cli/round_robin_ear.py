"""``dissensus round-robin ear``: what the agents made of what their peers wrote, from the records of runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dissensus.cli.json_document import show_json
from dissensus.errors import UsageError

if TYPE_CHECKING:
    from dissensus.decide.round_robin_opinions import Ear, Sides
    from dissensus.decide.round_robin_result import RoundRobin
    from dissensus.measure.drift_fit import Fit
    from dissensus.script.questions import Question


@click.command()
@click.argument("records", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("--corrupted", metavar="NAME,NAME,…", help="Who was corrupted, if you know it.")
@click.option("--right", metavar="ANSWER", help="The right answer.  [the question's gold, if the record has it]")
@click.option("--target", metavar="ANSWER", help="The answer that the attack aims at.  [all others together]")
@click.option(
    "--plots", type=click.Path(path_type=Path, file_okay=False), metavar="DIR", help="Write a picture of each there."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def ear(
    *,
    records: tuple[Path, ...],
    corrupted: str | None,
    right: str | None,
    target: str | None,
    plots: Path | None,
    as_json: bool,
) -> None:
    """Show how each part of a text surprised its readers and moved the odds of its answers.

    RECORDS are of runs with --ear. Where you say who was corrupted, what honest and corrupted writers did is told
    apart, and each part becomes a step that dissensus round-robin drift --measured can be fitted to. A surprise says
    how likely something is to a model, and not how right it is.

    \b
    dissensus decide QUESTION --procedure round-robin --ear both --record run.db
    dissensus round-robin ear run.db --plots pictures/
    dissensus round-robin ear run.db --corrupted eve,dan --right 18 --target 20 --json > steps.json
    """  # noqa: D301 - click reads the control character
    from dissensus.cli.readout import say
    from dissensus.cli.round_robin_ear_text import side_lines, table
    from dissensus.decide.round_robin_opinions import sides

    bad = None if corrupted is None else tuple(name.strip() for name in corrupted.split(",") if name.strip())
    runs = [(path, *_read(path)) for path in records]
    found: list[tuple[Path, RoundRobin, Ear, Sides | None]] = []
    for path, decision, heard, question in runs:
        if bad is None:
            found.append((path, decision, heard, None))
            continue
        if strangers := sorted(set(bad) - set(decision.seats)):
            raise UsageError(
                f"Nobody in {path} is called {strangers[0]}.", next_step=f"The writers are {', '.join(decision.seats)}."
            )
        told = sides(
            heard,
            bad,
            right=_answer(right or question.gold, heard, question),
            target=_answer(target, heard, question),
            name=path.stem if len(runs) > 1 else "",
        )
        found.append((path, decision, heard, told))
    fit = _fit([step for *_, one in found if one is not None for step in one.steps])
    written: list[Path] = []
    if plots is not None:
        from dissensus.cli.pictures import round_robin_ear as picture

        for path, decision, heard, _ in found:
            name = "ear" if len(found) == 1 else f"ear-{path.stem}"
            written += picture.draw(decision, heard, plots, corrupted=bad or (), name=name)
    if as_json:
        show_json(_document(found, fit, written))
        return
    for path, decision, heard, one in found:
        if len(found) > 1:
            say(f"{path}")
        for text in heard.texts:
            for line in table(heard, text, decision.texts[text.number]):
                say(line)
        for line in side_lines(one) if one is not None else ():
            say(line)
    for line in fit.lines() if fit is not None else ():
        say(line)
    for path in written:
        say(f"wrote {path}")


def _read(path: Path) -> tuple[RoundRobin, Ear, Question]:
    from dissensus.decide.procedures import question_from
    from dissensus.decide.round_robin_result import RoundRobin
    from dissensus.record.opening import open_record
    from dissensus.run import runs

    with open_record(path) as store:
        events = runs.events_of(store)
    decision = runs.finished(events)
    if not isinstance(decision, RoundRobin) or decision.ear is None:
        raise UsageError(
            f"{path} is not the record of a finished run in which anybody listened.",
            next_step="Run decide --procedure round-robin --ear both --record FILE.",
        )
    return decision, decision.ear, question_from(runs.head_of(events).settings)


def _answer(given: str | None, heard: Ear, question: Question) -> str:
    """``given`` as it stands among the candidates; as it is, if it stands nowhere."""
    from dissensus.answers.extraction import same_answer

    if not given:
        return ""
    if given in heard.candidates:
        return given
    same = [one for one in heard.candidates if same_answer(one, given, question.kind, options=question.options)]
    return same[0] if same else given


def _fit(steps: list[Any]) -> Fit | None:
    from dissensus.measure.drift_fit import FEWEST, fit_steps

    if min(sum(step.corrupted is kind for step in steps) for kind in (False, True)) < FEWEST:
        return None
    return fit_steps(steps)


def _document(found: list[tuple[Path, RoundRobin, Ear, Sides | None]], fit: Fit | None, written: list[Path]) -> Any:
    import msgspec

    return {
        "runs": [
            {
                "record": str(path),
                "ear": msgspec.to_builtins(heard),
                "cost": decision.ledger.get("ear"),
                "sides": None if one is None else one.to_data(),
            }
            for path, decision, heard, one in found
        ],
        "steps": [msgspec.to_builtins(step) for *_, one in found if one is not None for step in one.steps],
        "fit": None if fit is None else fit.to_data(),
        "pictures": [str(path) for path in written],
    }
