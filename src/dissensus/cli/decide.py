"""``dissensus decide``: put questions to a panel, vote, and say what the answers are worth."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dissensus.cli.json_document import show_json
from dissensus.cli.panel_options import how_asked, who_is_asked
from dissensus.cli.round_robin_options import procedure_options, refuse_mixed, settings_from
from dissensus.errors import DissensusError, StorageError, UsageError

if TYPE_CHECKING:
    from dissensus.agents.panel import Panel
    from dissensus.cli.session import Session
    from dissensus.cli.ways import Way
    from dissensus.run.casting import Cast
    from dissensus.script.decisions import Decision
    from dissensus.script.questions import Question

ROUTES = ("report", "check", "stronger")


@click.command()
@click.argument("question", required=False)
@click.option(
    "--file",
    "file",
    type=click.Path(allow_dash=True),
    metavar="FILE",
    help="A file of questions, one JSON object a line; - is standard input.",
)
@click.option("--options", metavar="A,B,…", help="The answers allowed, separated by commas.")
@click.option(
    "--kind",
    type=click.Choice(["auto", "number", "choice", "yes-no", "date", "text"]),
    default="auto",
    show_default=True,
    help="What counts as an answer.",
)
@click.option("--unit", default="", help="The unit that numbers are compared in, such as euro or min.")
@who_is_asked
@procedure_options
@click.option("--spares", type=click.IntRange(0, 1000), default=0, help="Without a panel: agents for silent ones.")
@click.option("--weights", default="", metavar="A=2,B=1", help="Weights of votes, by agent.")
@click.option(
    "--rule",
    type=click.Choice(["plurality", "majority"]),
    default="plurality",
    show_default=True,
    help="Most votes, or more than half of all voters. A tie is never broken.",
)
@click.option(
    "--levers",
    metavar="LIST",
    help="What makes agents err less alike: temperature,styles,rephrase,shuffle, or none."
    "  [default: all of them where the voters share one model]",
)
@how_asked
@click.option(
    "--stop",
    type=click.Choice(["all", "when-decided"]),
    default="all",
    show_default=True,
    help="Wait for all ballots, or until none can change the outcome.",
)
@click.option(
    "--check",
    "checks",
    multiple=True,
    metavar="CMD",
    help="Tries answers without asking an agent: a command (exit status 0 accepts, 1 rejects), pytest:FILE or"
    " python:MODULE:FUNCTION.",
)
@click.option(
    "--check-rule",
    type=click.Choice(["beside", "overrule"]),
    default="beside",
    show_default=True,
    help="Show verdicts beside the vote, or let them change the answer.",
)
@click.option(
    "--on-disagreement", type=click.Choice(ROUTES), default="report", show_default=True, help="When two ballots differ."
)
@click.option(
    "--on-unanimity",
    type=click.Choice(ROUTES),
    default="report",
    show_default=True,
    help="When agents of one model all agree and no check accepts it.",
)
@click.option(
    "--profile",
    metavar="FILE",
    type=click.Path(),
    help="What calibrate measured of this panel; none uses no profile.  [PANEL.profile.json, if it is of this panel]",
)
@click.option(
    "--hollow-below",
    type=click.FloatRange(0, 1),
    metavar="SHARE",
    help="With a profile: unanimity is hollow if the low end of its measured share right is below this.",
)
@click.option("--stronger", default="", metavar="REF", help="The model (or agent) that a route asks.")
@click.option("--stronger-decides", is_flag=True, help="Its answer becomes the answer.")
@click.option(
    "--record",
    type=click.Path(),
    default="runs",
    show_default=True,
    metavar="PATH",
    help="A folder for records, or one new .db file.",
)
@click.option(
    "--continue",
    "go_on",
    is_flag=True,
    help="Take from --record what was decided there under the same settings, finish what was begun, ask the rest.",
)
@click.option("--budget-tokens", type=click.IntRange(0), help="Most tokens for each question.")
@click.option("--budget-calls", type=click.IntRange(0), help="Most model calls for each question.")
@click.option("--budget-seconds", type=click.FloatRange(0), help="Most seconds for each question.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def decide(question: str | None, *, file: str | None, record: str, as_json: bool, **flags: Any) -> None:
    """Put QUESTION, or a file of questions, to a panel of agents; vote; say what the agreement is worth.

    With --procedure round-robin they write texts in turns, and the texts vote; `dissensus round-robin plan` says what
    that takes. Each question gets a record of its own. Exit codes: 0 decided; 1 no answer won, or a check rejects it;
    2 usage; 3 failed, or the budget ended first.
    """
    import anyio

    from dissensus.cli.readout import FAILED, exit_code, show
    from dissensus.cli.session import Session, command_again

    refuse_mixed(flags, click.get_current_context())
    questions = _questions(question, file, flags)
    if file is not None and len(questions) > 1 and record.endswith(".db"):
        raise UsageError(
            "--record names one file, and there are several questions.", next_step="Name a folder for the records."
        )
    again = command_again(click.get_current_context(), "--continue")
    session = Session(questions, Path(record), as_json=as_json, several=file is not None, again=again)
    try:
        anyio.run(_decide_all, session, flags)
    except BrokenPipeError:  # nobody reads any more
        if session.tell_rest():
            raise SystemExit(FAILED) from None
        raise
    except (KeyboardInterrupt, StorageError):
        session.tell_rest()
        if as_json and session.done:
            show_json([done.document() for done in session.done])
        raise
    documents = [done.document() for done in session.done]
    if as_json:
        show_json(documents if session.several else documents[0])
    elif session.several:
        session.summarize()
    else:
        show(session.done[0].decision)
    codes = [exit_code(done.decision) for done in session.done]
    if code := max(codes, default=0):
        raise SystemExit(code)


def _questions(text: str | None, file: str | None, flags: Mapping[str, Any]) -> list[Question]:
    from dissensus.cli.questions import read_questions
    from dissensus.decide.wording import checked
    from dissensus.script.questions import Question

    if (text is None) == (file is None):
        raise UsageError(
            "Give one question, or --file with questions." if text is None else "Give a question or --file, not both.",
            next_step='For example: dissensus decide "Is 2027 a prime number?" --options yes,no',
        )
    if file is not None:
        if flags["options"] or flags["unit"] or flags["kind"] != "auto":
            raise UsageError(
                "--options, --kind and --unit belong to one question.", next_step="Put them into the lines of the file."
            )
        return read_questions(file)
    options = tuple(part.strip() for part in flags["options"].split(",")) if flags["options"] else ()
    return [checked(Question(text=text or "", options=options, kind=flags["kind"], unit=flags["unit"]))]


async def _decide_all(session: Session, flags: Mapping[str, Any]) -> None:
    """Open the panel once and decide each question. A run that fails does not keep the others from theirs."""
    from dissensus.run.casting import Cast
    from dissensus.study.records import find

    panel, way = _panel_and_way(flags)
    seed = flags["seed"]
    async with Cast(panel) as cast:
        way.refuse_early(session.questions, cast.panel.seats, seed)
        if flags["go_on"]:
            session.look_back(find(session.record, session.questions, way.settings, cast.panel, seed))
        for place, question in enumerate(session.questions):
            decision = session.earlier.decided.get(place)
            if decision is None:
                decision = await _decide_one(session, place, cast, way, seed=seed)
            session.add(question, decision)


def _panel_and_way(flags: Mapping[str, Any]) -> tuple[Panel, Way]:
    """Who takes part, and how they decide."""
    from dissensus.agents.checks import check_from_spec
    from dissensus.agents.weak import weak_models
    from dissensus.cli.panel_flags import adjusted, levers_from, panel_from, profiled, weighted, with_helper
    from dissensus.cli.ways import Way
    from dissensus.decide.settings import VoteSettings
    from dissensus.run.api import DEFAULT_MODEL

    in_turns = flags["procedure"] == "round-robin"
    levers = () if in_turns else levers_from(flags["levers"])
    panel = panel_from(
        flags["panel"], flags["models"], flags["agents"], spares=flags["spares"], levers=levers, fallback=DEFAULT_MODEL
    )
    budget = {name: flags[f"budget_{name}"] for name in ("tokens", "calls", "seconds")}
    panel = adjusted(panel, max_tokens=flags["max_tokens"], deadline_s=flags["deadline"], budget=budget)
    if in_turns:
        return panel, Way(settings_from(flags), {})
    panel = weighted(panel, flags["weights"])
    panel, stronger = with_helper(panel, flags["stronger"], "stronger")
    panel, grouper = with_helper(panel, flags["group_by_model"], "grouper")
    settings = VoteSettings(
        rule=flags["rule"],
        levers=levers,
        temperature=flags["temperature"],
        read_by=flags["read_by"],
        weak_models=weak_models(panel),
        group_by="model" if grouper else "form",
        grouper=grouper,
        stop=flags["stop"],
        checks=tuple(flags["checks"]),
        check_rule=flags["check_rule"],
        on_disagreement=flags["on_disagreement"],
        on_unanimity=flags["on_unanimity"],
        stronger=stronger,
        stronger_decides=flags["stronger_decides"],
    )
    settings = profiled(panel, settings, flags, lambda line: click.echo(line, err=True))
    return panel, Way(settings, {text: check_from_spec(text) for text in flags["checks"]})


async def _decide_one(session: Session, place: int, cast: Cast, way: Way, *, seed: int) -> Decision:
    """Decide one question, or finish a run that was begun. Where there are several, a failure is a decision."""
    from dissensus.cli.progress import Progress
    from dissensus.cli.questions import new_path
    from dissensus.record.opening import open_record
    from dissensus.run.casting import run_procedure
    from dissensus.script.decisions import Decision, Status
    from dissensus.study.records import go_on

    question = session.questions[place]
    rows = way.rows(cast.panel.seats)
    try:
        if begun := session.earlier.begun.get(place):
            session.current = str(begun)
            with Progress(question.text, rows, session.where(place)) as progress:
                if decision := await go_on(begun, cast, checks=way.checks, on_event=progress.on_event):
                    return decision
            click.echo(f"note: {begun} cannot be gone on with; its question is asked anew.", err=True)
        path = new_path(session.record, question.text)
        with open_record(path, "x") as store:
            session.current = str(path)
            with Progress(question.text, rows, session.where(place)) as progress:
                return await run_procedure(
                    procedure=way.procedure,
                    settings=way.data_for(question),
                    panel=cast,
                    record=store,
                    seed=seed,
                    checks=way.checks,
                    on_event=progress.on_event,
                )
    except StorageError:
        raise
    except DissensusError as problem:
        if not session.several or not session.current:
            raise
        click.echo(f"error: {problem}", err=True)
        return Decision(
            question=question.text,
            answer=None,
            status=Status.FAILED,
            warnings=(f"The run failed: {problem.message}",),
            record=session.current,
        )
