"""``dissensus inbox`` and ``answer``: questions that wait for a person, and the answers."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dissensus.cli.inbox_group import InboxGroup
from dissensus.cli.json_document import show_json
from dissensus.errors import UsageError

if TYPE_CHECKING:
    from dissensus.run.inbox_folder import Inbox

DEFAULT = "runs"
_SOURCES = click.option(
    "--sources", multiple=True, metavar="DIR", type=click.Path(path_type=Path),
    help="Folder of pinned files.  [default: what the question names, and evidence/ beside the record or here]",
)  # fmt: skip
_RUNS = click.option(
    "--runs", multiple=True, metavar="DIR", default=(DEFAULT,), show_default=True, type=click.Path(path_type=Path),
    help="Where records lie; may be given several times.",
)  # fmt: skip
_JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")


@click.group(cls=InboxGroup)
def inbox() -> None:
    """Show the questions that wait for a person: `dissensus inbox [DIR]`.

    \b
    dissensus inbox runs/                        what is open, both items side by side
    dissensus inbox show 3f2a --html case.html   one question, whole, as a page
    dissensus answer 3f2a A --reason "…"         answer it; the run goes on
    dissensus inbox attend                       remind and notify; for a timer
    dissensus inbox rules                        answers that were made standing rules
    """  # noqa: D301 - click reads the control character


@inbox.command("list")
@click.argument("folders", nargs=-1, metavar="[DIR]...", type=click.Path(path_type=Path))
@click.option("--all", "everything", is_flag=True, help="Also those that are answered or withdrawn.")
@_SOURCES
@_JSON
def list_(*, folders: tuple[Path, ...], everything: bool, sources: tuple[Path, ...], as_json: bool) -> None:
    """List open questions in records of DIR, the oldest first. `dissensus inbox DIR` is the same.

    Of questions that one answer serves, the first is shown, with how many there are. Exit code 4 if a record is
    damaged; the others are listed.
    """
    from dissensus.cli.inbox_data import question_data
    from dissensus.cli.inbox_look import looker
    from dissensus.cli.inbox_text import question_lines
    from dissensus.cli.readout import say
    from dissensus.run.inbox_folder import read_inbox, short

    found = read_inbox(folders or _default())
    now = time.time()
    look = looker(sources)
    groups = found.groups()
    if everything:
        groups += [[one] for one in found.questions if one.state.value != "open"]
    elif as_json:
        groups += [[one] for one in found.unfinished()]
    if as_json:
        show_json([question_data(group[0], look(group[0]), now=now, like=group[1:]) for group in groups])
    else:
        width, marks = _page()
        for group in groups:
            name = short(group[0], found.questions)
            for line in question_lines(
                group[0], look(group[0]), name=name, now=now, width=width, marks=marks, whole=False
            ):
                say(line)
            if len(group) > 1:
                others = ", ".join(short(one, found.questions) for one in group[1:])
                say(f"  the same is asked {len(group) - 1} more times, and answered with it: {others}")
            say("")
        for one in found.unfinished():
            say(f"{short(one, found.questions)}  answered, and its run has not ended: dissensus resume {one.record}")
        say(_summary(found), err=True)
    _tell_problems(found)


@inbox.command()
@click.argument("question")
@click.option("--html", "page", metavar="FILE", type=click.Path(path_type=Path), help="Write one HTML page.")
@_RUNS
@_SOURCES
@_JSON
def show(*, question: str, page: Path | None, runs: tuple[Path, ...], sources: tuple[Path, ...], as_json: bool) -> None:
    """Show one question whole: both items reopened now, the options, what was answered, and how to answer.

    QUESTION is its name in the list, as much of it as tells it from the others, or a record with one question.
    """
    from dissensus.cli.inbox_data import question_data
    from dissensus.cli.inbox_look import looker
    from dissensus.cli.inbox_page import page as page_of
    from dissensus.cli.inbox_text import how_to_answer, question_lines
    from dissensus.cli.readout import clean, say
    from dissensus.run.inbox_folder import find, short
    from dissensus.script.persons import shown_digest

    asked, around = find(question, runs)
    now = time.time()
    exhibits = looker(sources)(asked)
    shown = shown_digest(asked.text, asked.options, exhibits)
    if page is not None:
        try:
            page.write_text(page_of(asked, exhibits, shown=shown, now=now), encoding="utf-8")
        except OSError as error:
            raise UsageError(f"{page} cannot be written: {error.strerror}.", next_step="Name another file.") from None
    if as_json:
        show_json(question_data(asked, exhibits, now=now) | ({"html": str(page)} if page else {}))
    elif page is not None:
        say(f"{page}")
    else:
        width, marks = _page()
        name = short(asked, around.questions)
        for line in question_lines(asked, exhibits, name=name, now=now, width=width, marks=marks, whole=True):
            say(line)
        if asked.state.value == "open":
            say("")
            say(clean(how_to_answer(asked, shown)))


@inbox.command()
@click.argument("folders", nargs=-1, metavar="[DIR]...", type=click.Path(path_type=Path))
@click.option("--webhook", metavar="URL", help="POST each notice there.")
@click.option("--webhook-key-env", metavar="NAME", default="", help="Environment variable with its bearer token.")
@click.option("--command", "line", metavar="COMMAND", help="Run this for each notice; it gets JSON on standard input.")
@_SOURCES
@_JSON
def attend(*, folders: tuple[Path, ...], as_json: bool, sources: tuple[Path, ...], **ways: str | None) -> None:
    """Look after open questions once: notify, remind, note deadlines that passed, escalate. For a timer.

    Nothing is ever decided by a deadline. What others began and did not end is ended: answers that were left beside a
    record are taken in, and answers that serve several questions are handed on. Where to send is best written into
    dissensus.toml:

    \b
    [inbox.attend]
    webhook = "https://chat.example/hooks/disputes"
    webhook-key-env = "HOOK_TOKEN"

    Exit code 1 if somebody could not be told; it is tried again later.
    """  # noqa: D301 - click reads the control character
    import anyio

    from dissensus.cli.inbox_look import looker
    from dissensus.cli.inbox_notice import notify_by
    from dissensus.cli.readout import say
    from dissensus.run.inbox_attend import attend as look_after
    from dissensus.run.inbox_desk import finish, refreshed
    from dissensus.run.inbox_folder import read_inbox

    found = read_inbox(folders or _default())
    notify = notify_by(ways["webhook"], ways["webhook_key_env"], ways["line"])
    finished = finish(found, look=looker(sources))
    now = time.time()

    async def once() -> list[Any]:
        return await look_after(refreshed(found.questions), now=now, notify=notify)

    done = anyio.run(once)
    if as_json:
        handed = [{"question": one.question.id, "accepted": bool(one.question.accepted)} for one in finished]
        did = [{"event": d.kind, "question": d.question, "what": d.what, "problem": d.problem or None} for d in done]
        show_json({"done": did, "handed_on": handed})
    else:
        for one in done:
            told = f": {one.problem}" if one.problem else ""
            say(f"{one.question}  {one.kind}{f' ({one.what})' if one.what else ''}{told}")
        for copied in finished:
            say(f"{copied.question.id}  answered with another: dissensus resume {copied.question.record}")
        say(_summary(found), err=True)
    _tell_problems(found)
    if any(one.problem for one in done):
        sys.exit(1)


@inbox.command()
@click.argument("folders", nargs=-1, metavar="[DIR]...", type=click.Path(path_type=Path))
@click.option("--withdraw", metavar="RULE", help="Take this rule back. Decisions that it made stay.")
@click.option("--as", "name", metavar="NAME", help="Who takes it back.  [default: your account]")
@click.option("--reason", default="", help="Why.")
@_JSON
def rules(*, folders: tuple[Path, ...], withdraw: str | None, name: str | None, reason: str, as_json: bool) -> None:
    """List the answers that were made standing rules, by their versions.

    A rule was made by the separate yes of `dissensus answer --rule`. Exit code 1 if two rules of one version say
    different things: neither is used until a person has made a later version.
    """
    import msgspec

    from dissensus.cli.inbox_look import known_as
    from dissensus.cli.readout import clean, say
    from dissensus.run.inbox_answers import when
    from dissensus.run.inbox_rules import Rules, withdraw_rule

    places = folders or _default()
    found = Rules.read(places)
    if withdraw is not None:
        principal, how = known_as(name)
        withdraw_rule(found, withdraw, principal=principal, authenticated_by=how, at=time.time(), reason=reason)
        found = Rules.read(places)
    standing, conflicts = found.standing(), found.conflicts()
    if as_json:
        data = [{**msgspec.to_builtins(one), "stands": one in standing} for one in found.all]
        show_json({"rules": data, "conflicts": list(conflicts)})
    else:
        for one in found.all:
            state = "stands" if one in standing else "withdrawn" if one.withdrawn else "no longer"
            state = "CONFLICT" if one.id in conflicts else state
            say(f"{clean(one.name)}  {state}  {clean(one.says)}  ({clean(one.principal)}, {when(one.at)})")
        if not found.all:
            say("no standing rules", err=True)
    for path, problem in found.problems:
        say(f"note: {path}: {problem}", err=True)
    if conflicts:
        sys.exit(1)


def _default() -> tuple[Path, ...]:
    folder = Path(DEFAULT)
    if not folder.is_dir():
        raise UsageError(f"There is no folder {DEFAULT}/ here.", next_step="Name the folder: dissensus inbox DIR")
    return (folder,)


def _page() -> tuple[int, bool]:
    """Columns, and whether passages need marks because there are no colours."""
    import shutil

    if not sys.stdout.isatty():
        return 100, True
    return max(min(shutil.get_terminal_size().columns, 160), 40), False


def _summary(found: Inbox) -> str:
    open_ones, groups = len(found.open()), len(found.groups())
    same = f" ({groups} different)" if groups != open_ones else ""
    return f"{open_ones} open question{'' if open_ones == 1 else 's'}{same}"


def _tell_problems(found: Inbox) -> None:
    from dissensus.cli.readout import say

    for path, problem in found.problems:
        where = "" if str(path) in str(problem) else f"{path}: "
        say(f"error: {where}{problem}", err=True)
    if codes := [problem.exit_code for _, problem in found.problems]:
        sys.exit(max(codes))
