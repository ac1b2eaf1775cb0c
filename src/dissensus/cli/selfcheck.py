"""``dissensus selfcheck``: what an agent does when it contradicts itself, and what its verdict then rests on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dissensus.cli.json_document import show_json
from dissensus.errors import StorageError, UsageError

if TYPE_CHECKING:
    from dissensus.agents.panel import Panel
    from dissensus.cli.selfcheck_runs import Job
    from dissensus.decide.self_check_result import SelfChecked
    from dissensus.decide.self_check_settings import Given
    from dissensus.script.questions import Question

MOST_CHARACTERS = 8000


@click.command()
@click.option(
    "--docs",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="The documents to answer from: a folder, or one file.",
)
@click.option("--question", metavar="TEXT", help="A question of fact.")
@click.option(
    "--questions", "file", type=click.Path(allow_dash=True), metavar="FILE",
    help="Many questions, one JSON object a line; gives rates. Goes on where it was cut.",
)  # fmt: skip
@click.option("--model", metavar="REF", help="Who is checked: a model, or http://… for an agent behind a URL.")
@click.option("--panel", metavar="FILE", type=click.Path(), help="Or an agent of this panel file …")
@click.option("--agent", default="", metavar="NAME", help="… by its name.  [the first]")
@click.option(
    "--answers", type=click.Path(path_type=Path), metavar="FILE",
    help="Look at answers and a verdict that were got elsewhere (YAML, or JSON lines); nobody is asked.",
)  # fmt: skip
@click.option("--paste", is_flag=True, help="Show each prompt to be copied, and read the pasted reply from stdin.")
@click.option(
    "--kind", type=click.Choice(["auto", "number", "choice", "yes-no", "date", "text"]), default="auto",
    show_default=True, help="What counts as an answer.",
)  # fmt: skip
@click.option("--options", metavar="A,B,…", help="The answers allowed, separated by commas.")
@click.option("--unit", default="", help="The unit that numbers are compared in, such as euro or min.")
@click.option(
    "--rounds", type=click.IntRange(1, 100), default=5, show_default=True,
    help="Ask for two more answers at most so often, until two differ.",
)  # fmt: skip
@click.option("--no-equal", is_flag=True, help="Do not ask what it does between two equal sources.")
@click.option(
    "--most-chars", type=click.IntRange(200), default=MOST_CHARACTERS, show_default=True,
    help="Most characters of documents in one prompt; more are chosen by the words of the question.",
)  # fmt: skip
@click.option("--temperature", type=click.FloatRange(0, 2), help="Sampling temperature of the answers.  [the agent's]")
@click.option("--max-tokens", type=click.IntRange(1), help="Most tokens in one reply.")
@click.option("--deadline", type=click.FloatRange(0, min_open=True), help="Seconds after which the agent is silent.")
@click.option("--budget-tokens", type=click.IntRange(0), help="Most tokens for each question.")
@click.option("--budget-calls", type=click.IntRange(0), help="Most model calls for each question.")
@click.option("--budget-seconds", type=click.FloatRange(0), help="Most seconds for each question.")
@click.option("--seed", type=int, default=0, show_default=True, help="All randomness derives from it.")
@click.option(
    "--record", type=click.Path(path_type=Path), default="runs", show_default=True, metavar="PATH",
    help="A folder for records, or one new .db file.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def selfcheck(*, as_json: bool, **flags: Any) -> None:
    """Ask an agent one question again and again until it contradicts itself; then see what its verdict rests on.

    Each answer is asked for in a context of its own, reworded, with the documents in another order. Once two differ, a
    third context settles, in both orders of the two answers. The words that it quotes are reopened, and held to what it
    chose: a verdict that cites nothing is a vote. Then it is asked the same with two sources that are equal but for the
    answer: to escalate is right, to pick is not.

    Exit codes: 0 its verdict cites what stands there and holds the answer, and it escalated equal sources; 1 anything
    else, also no contradiction: then no verdict was seen; 2 usage; 3 calls failed, or the budget was over.

    \b
    dissensus selfcheck --docs papers/ --question "How many pallets of order 4711 were received?"
    dissensus selfcheck --docs papers/ --question "Who signed it?" --model http://127.0.0.1:8000/ask
    dissensus selfcheck --docs papers/ --question "Who signed it?" --paste
    dissensus selfcheck --docs papers/ --answers answers.yaml
    dissensus selfcheck --docs papers/ --questions questions.jsonl --record checks/
    """  # noqa: D301 - click reads the control character
    import anyio

    _refuse(flags)
    pasted = flags["paste"] and flags["record"].suffix == ".db" and flags["record"].exists()
    jobs = [] if pasted else _jobs(flags)
    if flags["file"] is not None or len(jobs) > 1:
        raise SystemExit(anyio.run(_many, jobs, flags, as_json))
    found = _single(jobs[0] if jobs else None, flags)
    if as_json:
        show_json({**found.to_data(), "stands": found.stands})
    else:
        _show(found)
    raise SystemExit(found.exit_code)


def _refuse(flags: Mapping[str, Any]) -> None:
    """Raise UsageError for flags that do not go together."""
    who = [name for name in ("model", "panel", "answers", "paste") if flags[name]]
    if len(who) > 1:
        raise UsageError(
            f"--{who[0]} and --{who[1]} both say where answers come from.", next_step="Leave out one of them."
        )
    if flags["agent"] and not flags["panel"]:
        raise UsageError("--agent names an agent of a panel file.", next_step="Name the file with --panel.")
    if flags["question"] is not None and flags["file"] is not None:
        raise UsageError("--question and --questions were both given.", next_step="Leave out one of them.")
    if flags["file"] is not None and (flags["paste"] or flags["answers"]):
        raise UsageError(
            "--questions asks an agent.",
            next_step="Put several sets of answers into one file of JSON lines: --answers.",
        )
    if flags["file"] is not None and (flags["options"] or flags["unit"] or flags["kind"] != "auto"):
        raise UsageError(
            "--options, --kind and --unit belong to one question.", next_step="Put them into the lines of the file."
        )
    if flags["file"] is not None and flags["record"].suffix == ".db":
        raise UsageError("--record names one file.", next_step="Name a folder for the records.")


def _jobs(flags: Mapping[str, Any]) -> list[Job]:
    """What is to be checked. Reads files; asks nobody."""
    from dissensus.cli.selfcheck_docs import Documents
    from dissensus.cli.selfcheck_runs import Job
    from dissensus.decide.self_check import prepare
    from dissensus.decide.self_check_settings import SelfCheckSettings
    from dissensus.decide.wording import checked

    documents = Documents(flags["docs"])
    found = []
    for question, given in _questions(flags):
        checked(question)
        shown, left_out = documents.of(question).shown_for(question.text, flags["most_chars"])
        settings = SelfCheckSettings(
            documents=shown,
            left_out=left_out,
            agent=flags["agent"],
            rounds=flags["rounds"],
            equal=not flags["no_equal"],
            given=given,
        )
        if given is not None:
            prepare(question, (), settings, flags["seed"])
        found.append(Job(question=question, settings=settings))
    return found


def _questions(flags: Mapping[str, Any]) -> Sequence[tuple[Question, Given | None]]:
    from dissensus.cli.questions import read_questions
    from dissensus.cli.selfcheck_paste import read_answers
    from dissensus.script.questions import Question

    if flags["file"] is not None:
        return [(question, None) for question in read_questions(flags["file"])]
    options = tuple(part.strip() for part in flags["options"].split(",")) if flags["options"] else ()
    question = None
    if flags["question"] is not None:
        question = Question(text=flags["question"], options=options, kind=flags["kind"], unit=flags["unit"])
    if flags["answers"] is not None:
        return read_answers(flags["answers"], question)
    if question is None:
        raise UsageError(
            "There is no question.",
            next_step='For example: dissensus selfcheck --docs papers/ --question "Who signed?"',
        )
    return [(question, None)]


def _panel(flags: Mapping[str, Any]) -> Panel | None:
    """Who is asked; None if replies were given."""
    from dataclasses import replace

    from dissensus.agents.panel import default_panel, load_panel
    from dissensus.cli.panel_flags import adjusted
    from dissensus.run.api import DEFAULT_MODEL

    if flags["answers"] is not None:
        return None
    panel = (
        load_panel(flags["panel"]) if flags["panel"] else default_panel(flags["model"] or DEFAULT_MODEL, 1, vary=False)
    )
    budget = {name: flags[f"budget_{name}"] for name in ("tokens", "calls", "seconds")}
    panel = adjusted(panel, max_tokens=flags["max_tokens"], deadline_s=flags["deadline"], budget=budget)
    if flags["temperature"] is not None:
        panel = replace(panel, seats=tuple(replace(seat, temperature=flags["temperature"]) for seat in panel.seats))
    return panel


def _single(job: Job | None, flags: Mapping[str, Any]) -> SelfChecked:
    """Check one question in a record of its own; without a job, go on with the one that was begun."""
    import anyio

    from dissensus.cli.questions import new_path
    from dissensus.cli.selfcheck_progress import Steps
    from dissensus.cli.selfcheck_runs import run_one, run_pasted
    from dissensus.decide.self_check import prepare
    from dissensus.errors import RunError
    from dissensus.run.casting import Cast

    panel = None if flags["paste"] else _panel(flags)
    if job is not None and panel is not None:
        prepare(job.question, panel.seats, job.settings, flags["seed"])
    path = new_path(flags["record"], job.question.text) if job is not None else flags["record"]

    async def go() -> SelfChecked:
        if job is None or flags["paste"]:
            return await run_pasted(job, path, seed=flags["seed"])
        if panel is None:
            return await run_one(job, path, cast=None, seed=flags["seed"])
        async with Cast(panel) as cast:
            with Steps(job.question.text) as progress:
                return await run_one(job, path, cast=cast, seed=flags["seed"], on_event=progress.on_event)

    try:
        return anyio.run(go)
    except (KeyboardInterrupt, StorageError, RunError):
        if path.exists():
            again = f"dissensus selfcheck --paste --record {path}" if flags["paste"] else f"dissensus resume {path}"
            click.echo(f"The run can be finished with: {again}", err=True)
        raise


async def _many(jobs: Sequence[Job], flags: Mapping[str, Any], as_json: bool) -> int:
    """Check many questions; show each as it is done, and the rates. The exit status."""
    from contextlib import AsyncExitStack

    from dissensus.cli.progress import Bar
    from dissensus.cli.readout import say
    from dissensus.cli.selfcheck_runs import Many
    from dissensus.cli.selfcheck_text import rate_lines, short_line
    from dissensus.decide.self_check import prepare
    from dissensus.run.casting import Cast

    panel = _panel(flags)
    done: list[SelfChecked] = []
    async with AsyncExitStack() as stack:
        if panel is not None:
            for job in jobs:
                prepare(job.question, panel.seats, job.settings, flags["seed"])
        cast = None if panel is None else await stack.enter_async_context(Cast(panel))
        many = Many(flags["record"], cast, flags["seed"])
        before = sum(many.found(job) is not None for job in jobs)
        if before:
            say(
                f"{before:,} of {len(jobs):,} questions are done in {flags['record']}/ and are not asked again.",
                err=True,
            )
        with Bar("questions", total=len(jobs)) as bar:

            def on_done(found: SelfChecked) -> None:
                done.append(found)
                bar.add()
                if not as_json:
                    say(short_line(found))

            try:
                await many.run(jobs, on_done)
            except BaseException:
                bar.stop()
                say(
                    f"{len(done):,} of {len(jobs):,} questions are done; the same command goes on from there.", err=True
                )
                raise
    if as_json:
        from dissensus.cli.selfcheck_text import rates

        show_json({"questions": [{**one.to_data(), "stands": one.stands} for one in done], "rates": rates(done)})
    else:
        say("")
        for line in rate_lines(done):
            say(line)
    return exit_code_of(done)


def exit_code_of(done: Sequence[SelfChecked]) -> int:
    """3 if a question could not be asked to its end; 0 if some were settled, and all of them stand; else 1."""
    if any(one.exit_code == 3 for one in done):
        return 3
    settled = [one for one in done if one.verdict is not None]
    return 0 if settled and all(one.stands for one in settled) else 1


def _show(found: SelfChecked) -> None:
    from dissensus.cli.readout import show

    show(found)
