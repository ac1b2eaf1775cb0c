"""``dissensus answer``: answer a question, and let its run go on."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dissensus.cli.json_document import show_json
from dissensus.errors import DissensusError, StorageError, UsageError

if TYPE_CHECKING:
    from dissensus.run.inbox import Question
    from dissensus.run.inbox_answers import Given
    from dissensus.run.inbox_desk import Look, Taken
    from dissensus.script.decisions import Decision

    WentOn = tuple[list[tuple[Question, Decision]], list[tuple[Question, DissensusError]]]

REFUSED, INCOMPLETE = 1, 3


@click.command()
@click.argument("question")
@click.argument("choice")
@click.option("--reason", default="", metavar="TEXT", help="Why; it stands on the record with the answer.")
@click.option("--as", "name", metavar="NAME", help="Who answers.  [default: your account]")
@click.option(
    "--scope", "scopes", multiple=True, metavar="PART=TEXT", help="Where a part holds, of an answer such as `both`."
)
@click.option("--rule", is_flag=True, help="The separate yes: make this answer a standing rule for later disputes.")
@click.option("--shown", metavar="SHA256", default="", help="What you were shown: `inbox show` prints it.")
@click.option("--version", type=click.IntRange(1), help="The version that you answer.  [default: the latest]")
@click.option("--idempotency-key", metavar="KEY", help="Names this attempt; the same again gets the same result.")
@click.option(
    "--runs", multiple=True, metavar="DIR", default=("runs",), show_default=True, type=click.Path(path_type=Path),
    help="Where records lie; may be given several times.",
)  # fmt: skip
@click.option(
    "--sources", multiple=True, metavar="DIR", type=click.Path(path_type=Path), help="Folder of pinned files."
)
@click.option("--wait", "wait_s", type=click.FloatRange(0), default=5.0, show_default=True, metavar="SECONDS",
              help="How long to wait for a record that another process writes.")  # fmt: skip
@click.option("--no-resume", is_flag=True, help="Only answer; `dissensus resume` lets the run go on.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def answer(*, question: str, choice: str, **flags: Any) -> None:
    """Answer QUESTION with CHOICE. The first answer that is accepted counts, and its run goes on.

    Late and second answers, answers to an earlier version, by somebody who may not answer, or to something that has
    changed since it was shown are put on the record and refused. Without --shown, the question is shown now, on
    stderr, and has to be as it was when it was asked.

    Exit codes: 0 accepted, and the run went on; 1 refused; 2 usage; 3 accepted or kept, and the run could not go on
    yet; 4 the record is damaged.

    \b
    dissensus answer 3f2a A --reason "the note is signed"
    dissensus answer runs/x.db both --scope A="until noon" --scope B="after" --as ben
    """  # noqa: D301 - click reads the control character
    from dissensus.cli.inbox_look import looker
    from dissensus.cli.inbox_text import question_lines
    from dissensus.cli.readout import say
    from dissensus.run.inbox_answers import ill_formed
    from dissensus.run.inbox_desk import hand_in
    from dissensus.run.inbox_folder import find, short

    asked, around = find(question, flags["runs"])
    look = looker(flags["sources"])
    given = _given(asked, choice, flags)
    if (problem := ill_formed(asked, given)) is not None and not asked.accepted:
        raise UsageError(problem.says, next_step=f"Look at it: dissensus inbox show {short(asked, around.questions)}")
    if not flags["shown"] and asked.exhibits and not asked.accepted:
        name = short(asked, around.questions)
        for line in question_lines(
            asked, look(asked), name=name, now=time.time(), width=100, marks=not sys.stderr.isatty(), whole=True
        ):
            say(line, err=True)
    taken = hand_in(asked, given, look=look, inbox=around, wait_s=flags["wait_s"])
    accepted = taken.answer is not None and taken.answer.accepted
    decisions, problems = ([], []) if flags["no_resume"] or not accepted else _go_on(taken, look, flags["wait_s"])
    _tell(taken, decisions, problems, as_json=flags["as_json"])
    raise SystemExit(_code(taken, decisions, problems))


def _given(asked: Question, choice: str, flags: dict[str, Any]) -> Given:
    from dissensus.cli.inbox_look import known_as
    from dissensus.run.inbox_answers import Given, idempotency_key

    principal, how = known_as(flags["name"])
    scopes = dict(_scope(one) for one in flags["scopes"])
    by_case = {one.id.casefold(): one.id for one in asked.options}
    choice = choice if any(one.id == choice for one in asked.options) else by_case.get(choice.casefold(), choice)
    for value in (choice, principal, flags["reason"], flags["shown"], *scopes, *scopes.values()):
        if any("\ud800" <= char <= "\udfff" for char in value):
            raise UsageError("The answer is not valid UTF-8 text.", next_step="Type it as UTF-8.")
    said = {
        "version": flags["version"] or asked.version,
        "principal": principal,
        "choice": choice,
        "reason": flags["reason"],
        "scopes": scopes,
        "shown": flags["shown"].removeprefix("sha256:"),
        "rule": flags["rule"],
    }
    return Given(
        question=asked.id,
        authenticated_by=how,
        at=time.time(),
        idempotency_key=flags["idempotency_key"] or idempotency_key(asked, said),
        **said,
    )


def _scope(text: str) -> tuple[str, str]:
    part, sign, scope = text.partition("=")
    if not sign or not part.strip() or not scope.strip():
        raise UsageError(f"--scope {text!r} says not of what.", next_step='Write it like --scope A="until noon".')
    return part.strip(), scope.strip()


def _resumed(record: str, wait_s: float) -> Decision:
    """Resume a run; whoever hands in another answer may hold its record for a moment."""
    import anyio

    from dissensus.cli.progress import tell_notice
    from dissensus.run.casting import resume_from

    until = time.monotonic() + wait_s
    while True:
        try:
            return anyio.run(lambda: resume_from(record, on_event=tell_notice))
        except StorageError:
            if time.monotonic() >= until:
                raise
            time.sleep(0.05)


def _go_on(taken: Taken, look: Look, wait_s: float) -> WentOn:
    """Resume the runs that were answered, then take in what came meanwhile."""
    import anyio

    from dissensus.cli.inbox_notice import tell_of
    from dissensus.record.opening import open_record
    from dissensus.run.inbox_desk import take_in
    from dissensus.run.inbox_letters import waiting
    from dissensus.script.decisions import Status

    decisions: list[tuple[Question, Decision]] = []
    problems: list[tuple[Question, DissensusError]] = []
    answered = [one.question for one in (taken, *taken.copies) if one.question.accepted]
    for one in answered:
        try:
            decision = _resumed(one.record, wait_s)
            decisions.append((one, decision))
            if decision.status is Status.WAITING:
                anyio.run(tell_of, one.record)
            if waiting(one.record):
                with open_record(one.record, "a") as store:
                    take_in(store, look=look)
        except DissensusError as problem:
            problems.append((one, problem))
    return decisions, problems


def _tell(
    taken: Taken,
    decisions: Sequence[tuple[Question, Decision]],
    problems: Sequence[tuple[Question, DissensusError]],
    *,
    as_json: bool,
) -> None:
    from dissensus.cli.readout import clean, say, show

    if as_json:
        show_json(_document(taken, decisions, problems))
    else:
        say(_sentence(taken))
        for copy in taken.copies:
            said = copy.answer
            fate = "kept" if said is None else "accepted" if said.accepted else f"refused: {clean(said.says)}"
            say(f"{copy.question.id}, which asks the same: {fate}")
        for _, decision in decisions:
            say("")
            show(decision)
    for one, problem in problems:
        say(f"error: The answer is on the record, but the run in {one.record} could not go on. {problem}", err=True)


def _sentence(taken: Taken) -> str:
    from dissensus.cli.readout import clean

    said = taken.answer
    if said is None:
        first = taken.question.accepted
        known = f" It will be refused: {clean(first.principal)} was first." if first is not None else ""
        return f"kept beside the record until that can be written ({taken.kept}){known}"
    if not said.accepted:
        return f"refused ({said.refused}): {clean(said.says)}"
    rule = f", and made the standing rule {clean(said.rule)}" if said.rule else ""
    return f"accepted: {clean(said.choice)} by {clean(said.principal)}{rule}"


def _document(
    taken: Taken,
    decisions: Sequence[tuple[Question, Decision]],
    problems: Sequence[tuple[Question, DissensusError]],
) -> dict[str, Any]:
    import msgspec

    said, now = taken.answer, taken.question
    by_question = {one.id: decision.to_data() for one, decision in decisions}
    return {
        "question": now.id,
        "record": now.record,
        "accepted": said is not None and said.accepted,
        "refused": (said.refused or None) if said is not None else None,
        "says": said.says if said is not None else taken.kept,
        "kept": said is None,
        "version": now.version,
        "state": now.state.value,
        "answer": None if said is None else msgspec.to_builtins(said),
        "copies": [
            {
                "question": one.question.id,
                "record": one.question.record,
                "accepted": one.answer is not None and one.answer.accepted,
                "refused": one.answer.refused or None if one.answer is not None else None,
                "decision": by_question.get(one.question.id),
            }
            for one in taken.copies
        ],
        "decision": by_question.get(now.id),
        "problems": [{"record": one.record, "problem": str(problem)} for one, problem in problems],
    }


def _code(
    taken: Taken,
    decisions: Sequence[tuple[Question, Decision]],
    problems: Sequence[tuple[Question, DissensusError]],
) -> int:
    from dissensus.script.decisions import Status

    if taken.answer is None:
        return REFUSED if taken.question.accepted is not None else INCOMPLETE
    if not taken.answer.accepted:
        return REFUSED
    if problems:
        return max(problem.exit_code if problem.exit_code == 4 else INCOMPLETE for _, problem in problems)
    ended_badly = any(decision.status in (Status.FAILED, Status.OPEN_BUDGET) for _, decision in decisions)
    return INCOMPLETE if ended_badly or any(one.answer is None for one in taken.copies) else 0
