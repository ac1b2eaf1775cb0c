"""``dissensus calibrate``: measure what a panel's agreement is worth on labelled questions, and keep its profile."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dissensus.cli.json_document import show_json
from dissensus.cli.panel_options import how_asked, who_is_asked
from dissensus.errors import UsageError

if TYPE_CHECKING:
    from dissensus.agents.panel import Panel
    from dissensus.measure.audit import Audit
    from dissensus.run.casting import Cast
    from dissensus.script.questions import Question
    from dissensus.study.asking import Asked, Study
    from dissensus.study.profile import Profile

INCOMPLETE = 3
DEFAULT_OUTPUT = "dissensus.profile.json"


@click.command()
@click.option(
    "--file",
    "file",
    type=click.Path(allow_dash=True),
    metavar="FILE",
    required=True,
    help="Questions with their right answers, one JSON object a line; - is standard input.",
)
@who_is_asked
@click.option(
    "--sizes",
    default="",
    metavar="N,N,…",
    help="Give the accuracy of so many agents, such as 3,5,9,21. More than the panel has: each is asked several"
    " times.  [default: up to the panel's own size]",
)
@click.option("--levers", metavar="LIST", help="As for decide; the profile holds for these.")
@how_asked
@click.option(
    "--output",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help=f"The profile.  [PANEL.profile.json beside the panel file, or {DEFAULT_OUTPUT}]",
)
@click.option(
    "--record", type=click.Path(), metavar="DIR", help="A folder for records.  [the profile's name, .calibration]"
)
@click.option("--dry-run", is_flag=True, help="Only say what it would take.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document: the profile.")
def calibrate(*, file: str, as_json: bool, dry_run: bool, **flags: Any) -> None:
    """Measure on your own labelled questions what a panel's agreement is worth, and store it as the panel's profile.

    From then on `dissensus decide` with this panel says how often such agreement was right. What it will take is said
    first. A run that is cut goes on where it stopped: give the same command again. No agent is shown a right answer.

    \b
    dissensus calibrate --panel panel.yaml --file questions.jsonl --dry-run
    dissensus calibrate --panel panel.yaml --file questions.jsonl --sizes 3,5,9,21

    Exit codes: 0 measured; 2 usage; 3 incomplete: some calls did not come about, give the command again.
    """  # noqa: D301 - click reads the control character
    import anyio

    from dissensus.cli.questions import read_questions

    plan = _Plan(read_questions(file), file, flags)
    done = anyio.run(plan.carry_out, dry_run)
    if done is None:
        if as_json:
            show_json(plan.estimate)
        return
    profile, found = done
    if as_json:
        show_json(profile.to_data() | {"profile": str(plan.output)})
    else:
        for line in readout(profile, found, str(plan.output)):
            click.echo(line)
    if plan.lost:
        click.echo(f"{plan.lost} questions lost calls; the same command asks them again.", err=True)
        raise SystemExit(INCOMPLETE)


class _Plan:
    """One call of the command: who is asked what, and where it is kept. Refuses what cannot be before it begins."""

    def __init__(self, questions: Sequence[Question], file: str, flags: Mapping[str, Any]) -> None:
        from dissensus.cli.panel_flags import asked_panel
        from dissensus.study.calibrate import checked_sizes, enlarged, labelled
        from dissensus.study.panel_digest import description_of

        self.file = file
        self.flags = flags
        self.questions = labelled(questions)
        self.left_out = len(questions) - len(self.questions)
        own, self.settings = asked_panel(flags)
        self.description = description_of(own, self.settings)
        _refuse_weights(self.description)
        agents = sum(not entry["spare"] for entry in self.description["agents"])
        sizes = _sizes(flags["sizes"])
        self.sizes = checked_sizes(sizes, agents)
        self.panel: Panel = enlarged(own, self.settings, max([agents, *sizes]))
        self.output = Path(flags["output"] or _beside(flags["panel"]))
        self.folder = Path(flags["record"] or _records_of(self.output))
        self.estimate: dict[str, Any] = {}
        self.lost = 0

    async def carry_out(self, dry_run: bool) -> tuple[Profile, Audit] | None:
        """Say what it takes; unless that was all, ask, measure and write the profile."""
        from dissensus.run.casting import Cast
        from dissensus.study.asking import Study
        from dissensus.study.panel_digest import description_of, digest_of

        digest = digest_of(description_of(self.panel, self.settings))
        study = Study(settings=self.settings, folder=self.folder, panel=digest, seed=self.flags["seed"])
        async with Cast(self.panel) as cast:
            self._say_cost(study, cast)
            if dry_run:
                return None
            asked = await self._ask(study, cast)
        return self._measure(asked)

    def _say_cost(self, study: Study, cast: Cast) -> None:
        from dataclasses import asdict

        from dissensus.study.estimate import estimate

        open_ones = [question for question in self.questions if study.found(question) is None]
        found = estimate(cast.panel, open_ones, self.settings, study.seed)
        done = len(self.questions) - len(open_ones)
        self.estimate = asdict(found) | {"done": done}
        before = f"{done:,} of {len(self.questions):,} questions are done and are not asked again. " if done else ""
        click.echo(before + found.text(), err=True)
        if self.left_out:
            click.echo(_left_out(self.left_out), err=True)

    async def _ask(self, study: Study, cast: Cast) -> list[Asked]:
        from dissensus.cli.progress import Bar
        from dissensus.study.asking import ask_all

        with Bar("questions", total=len(self.questions), done=self.estimate["done"]) as bar:
            on_done: Callable[[Asked], None] = lambda asked: bar.add(int(asked.new))  # noqa: E731
            try:
                asked = await ask_all(study, cast, self.questions, on_done=on_done)
            except BaseException:
                bar.stop()
                click.echo(
                    f"{bar.done:,} of {len(self.questions):,} questions are done; the same command goes on from there.",
                    err=True,
                )
                raise
        self.lost = sum(bool(one.lost) for one in asked)
        return asked

    def _measure(self, asked: Sequence[Asked]) -> tuple[Profile, Audit]:
        import time

        from dissensus.study.calibrate import profile_of
        from dissensus.study.profile import write_profile

        notes = [_left_out(self.left_out)] if self.left_out else []
        made = {
            "date": time.strftime("%Y-%m-%d", time.gmtime()),
            "seed": self.flags["seed"],
            "file": Path(self.file).name,
        }
        profile, found = profile_of(
            asked, self.description, self.sizes, made=made, source=self.output.name, notes=notes
        )
        write_profile(self.output, profile)
        return profile, found


def _sizes(text: str) -> tuple[int, ...]:
    try:
        sizes = tuple(int(part) for part in text.split(",") if part.strip())
    except ValueError:
        sizes = (0,)
    if any(size < 1 for size in sizes):
        raise UsageError(f"The sizes {text!r} cannot be read.", next_step="Write them as --sizes 3,5,9.")
    return sizes


def _left_out(number: int) -> str:
    if number == 1:
        return "1 question without a right answer is left out."
    return f"{number:,} questions without a right answer are left out."


def _refuse_weights(description: Mapping[str, Any]) -> None:
    if len({entry["weight"] for entry in description["agents"] if not entry["spare"]}) > 1:
        raise UsageError(
            "The agents have different weights, and a profile counts how many agents agree.",
            next_step="Give all agents of the panel the same weight.",
        )


def _beside(panel: str | None) -> Path:
    from dissensus.study.profile import profile_path

    return profile_path(panel) if panel else Path(DEFAULT_OUTPUT)


def _records_of(output: Path) -> Path:
    from dissensus.study.profile import ENDING

    return output.with_name(f"{output.name.removesuffix(ENDING)}.calibration")


def readout(profile: Profile, found: Audit, path: str) -> Iterator[str]:
    """The result as text; ``found`` is the audit of the panel's answers."""
    from dissensus.measure.wording import between, hundredths, percent, short

    measured = profile.measured
    kinds = ", ".join(f"{tried.count} {kind}" for kind, tried in measured.kinds.items())
    yield f"{measured.voters} agents on {measured.labels:,} labelled questions ({kinds})"
    yield from found.lines()
    if measured.levels:
        yield "when so many agree on one answer, and on no other as many, it was right:"
    for level in reversed(measured.levels):
        where = f"  {level.agreeing} of {measured.voters}"
        if not level.count:
            yield f"{where}   never happened"
            continue
        interval = f"[{hundredths(level.low)}, {hundredths(level.high)}]"
        yield f"{where}   {level.correct:,} of {level.count:,}   {percent(level.correct / level.count)} {interval}"
    if measured.levels and profile.ties:
        yield f"  no answer led alone: {profile.ties:,}"
    if len(measured.kinds) > 1:
        told = ", ".join(f"{kind} {tried.correct} of {tried.count}" for kind, tried in measured.kinds.items())
        yield f"right by kind: {told}"
    if profile.sizes:
        yield "agents   plurality   (if independent)"
        for point in profile.sizes:
            rate = f"{short(point['plurality'])}{between(point['band'])}"
            yield f"  {point['n']:<6} {rate}   ({short(point['independent'])})"
    for warning in profile.warnings:
        yield f"note: {warning}"
    yield f"profile  {path}"
