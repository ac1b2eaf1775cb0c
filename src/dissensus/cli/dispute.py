"""``dissensus dispute``, ``why`` and ``reopen``: settle a case by its evidence, say how, and look at it again."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dissensus.cli.json_document import show_json
from dissensus.errors import StorageError, UsageError

if TYPE_CHECKING:
    from dissensus.agents.budget import Budget
    from dissensus.decide.dispute.account import Account
    from dissensus.decide.dispute.case import Case
    from dissensus.interop.case_file import CaseFile

FOUND, UNFINISHED = 1, 3
RECORDS = "runs"
_RECORD = click.option(
    "--record", type=click.Path(path_type=Path), default=RECORDS, show_default=True, metavar="PATH",
    help="A folder for records, or one new .db file.",
)  # fmt: skip
_RUNS = click.option(
    "--runs", type=click.Path(path_type=Path), default=RECORDS, show_default=True, metavar="DIR",
    help="Where the record of a case file lies.",
)  # fmt: skip
_JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")


@click.command()
@click.argument("case", type=click.Path(path_type=Path))
@_RECORD
@click.option("--store", type=click.Path(path_type=Path, file_okay=False), metavar="DIR",
              help="Folder of the pinned copies.  [default: evidence/ beside CASE]")  # fmt: skip
@click.option("--require-cell", type=click.Choice(["strong", "medium"]), help="Run nothing below this level of cell.")
@click.option("--no-ask", is_flag=True, help="Leave a dispute as it is, without a question to a person.")
@click.option("--no-standing-rules", is_flag=True, help="Do not use answers in PATH that were made rules.")
@click.option("--repin", is_flag=True, help="Take files as they are now, although a record of CASE has other bytes.")
@click.option("--seed", type=int, default=0, show_default=True, help="All randomness derives from it.")
@_JSON
def dispute(*, case: Path, as_json: bool, **flags: Any) -> None:
    """Settle the claims in CASE by their evidence, or put what stands against each other before a person.

    CASE is a YAML file: claims about the same thing, each with evidence that points into captured files. Claims whose
    evidence does not stand there, says something else or is refuted by a program fall. What is left is settled, named
    with its rule and its lines, or goes to a person: `dissensus inbox`. Claims without evidence go back and decide
    nothing. Nothing is decided by number, tone, order, length or confidence.

    Several groups of claims that contradict each other are several cases, each with a record of its own.

    Exit codes: 0 settled or consistent; 1 a claim was returned, or a dispute is left; 2 usage; 3 it waits for a person,
    or the budget is over.

    \b
    dissensus dispute case.yaml
    dissensus why case.yaml
    dissensus reopen case.yaml
    """  # noqa: D301 - click reads the control character
    from dissensus.agents.budget import Budget
    from dissensus.decide.dispute.case_data import cases_in
    from dissensus.interop.case_file import read_case

    file = read_case(case, flags["store"])
    runs = flags["record"] if flags["record"].suffix != ".db" else flags["record"].parent
    if not flags["repin"]:
        _refuse_other_bytes(file, runs)
    cases = [_adjusted(one, flags, runs) for one in cases_in(file.case)]
    if len(cases) > 1 and flags["record"].suffix == ".db":
        raise UsageError(f"These are {len(cases)} cases.", next_step="Name a folder with --record.")
    together = Budget(file.budget, name="case file") if len(cases) > 1 else None
    found = [_settled(one, file, flags, together) for one in cases]
    if as_json:
        documents = [account.document() for account in found]
        show_json(documents if len(documents) > 1 else documents[0])
    else:
        from dissensus.cli.dispute_text import show_account

        for account in found:
            show_account(account)
    if code := max(_exit_code(account.state) for account in found):
        sys.exit(code)


def _refuse_other_bytes(file: CaseFile, runs: Path) -> None:
    """Refuse files that have changed since a record of this case pinned them: a quote may be true of the earlier bytes.

    Raises :class:`~dissensus.errors.UsageError`.
    """
    now = {item.live_ref: item.digest for claim in file.case.claims for item in claim.evidence if item.live_ref}
    for path, account in _records_in(runs):
        if str(account.case.get("id")).rpartition("-")[0] != file.case.id and account.case.get("id") != file.case.id:
            continue
        for claim in account.case.get("claims", []):
            for item in claim.get("evidence", []):
                reference, before = item.get("live_ref"), item.get("digest")
                if reference in now and now[reference] != before:
                    raise UsageError(
                        f"{reference} has other bytes than when {path} pinned it.",
                        next_step=f"Add `sha256: {before}` to the source to keep those, or use --repin.",
                    )


def _adjusted(case: Case, flags: Mapping[str, Any], folder: Path) -> Case:
    """The case with the rules that stand in the folder, and what it was looked at in before if it is reopened."""
    from dataclasses import replace

    from dissensus.decide.dispute.precedence import standing_from, with_standing
    from dissensus.run.inbox_rules import standing_rules

    rules = standing_rules(folder) if folder.is_dir() and not flags["no_standing_rules"] else ()
    known = case.precedence.rules if case.precedence is not None else ()
    made = [rule for one in rules for rule in standing_from(one.data, one.version) if rule not in known]
    asking = replace(case.asking, ask=case.asking.ask and not flags["no_ask"])
    return replace(case, precedence=with_standing(case.precedence, made), asking=asking, after=_before(case, folder))


def _before(case: Case, folder: Path) -> str:
    """The latest record of this case, if there is a new claim or source since, or a source has changed."""
    from dissensus.decide.dispute.case_data import case_data

    earlier = [(account.events[0].time, path, account) for path, account in _records_in(folder)]
    same = [one for one in earlier if one[2].case.get("id") == case.id]
    if not same:
        return ""
    _, path, account = max(same, key=lambda one: one[:2])
    now, then = case_data(case), account.case
    changed = any(now[key] != then.get(key) for key in ("claims", "live")) or set(now["sources"]) != set(
        then["sources"]
    )
    return path.name if changed else ""


def _settled(case: Case, file: CaseFile, flags: Mapping[str, Any], together: Budget | None) -> Account:
    """Run one case; what came of it as its record tells. ``together`` is what all cases of a file may take."""
    import anyio

    from dissensus.cli.progress import Progress
    from dissensus.cli.questions import new_path
    from dissensus.decide.dispute.account import account_of
    from dissensus.record.opening import open_record
    from dissensus.run.disputing import dispute_async

    path = new_path(flags["record"], case.id)

    async def go() -> None:
        with Progress(case.title or case.id) as progress:
            await dispute_async(
                case, panel=file.panel, budget=file.budget, within=together, require_cell=flags["require_cell"],
                seed=flags["seed"], record=path, on_event=progress.on_event,
            )  # fmt: skip

    try:
        anyio.run(go)
    except (KeyboardInterrupt, StorageError):
        if path.exists():
            click.echo(f"The run can be finished with: dissensus resume {path}", err=True)
        raise
    with open_record(path) as store:
        account = account_of(store.read())
    account.record = str(path)
    for text in account.warnings():
        click.echo(text, err=True)
    if account.state == "waiting":
        click.echo(f"It waits for a person: dissensus inbox {path.parent}", err=True)
    return account


def _exit_code(state: str) -> int:
    if state in ("settled", "consistent"):
        return 0
    return FOUND if state in ("incomplete", "disputed", "reopened") else UNFINISHED


@click.command()
@click.argument("case", metavar="CASE|RECORD", type=click.Path(path_type=Path))
@_RUNS
@click.option("--html", type=click.Path(path_type=Path), metavar="FILE", help="Write one page that needs nothing else.")
@click.option("--statement", is_flag=True, help="Print an in-toto statement (v1, unsigned).")
@click.option("--jsonl", is_flag=True, help="Print the events of the case as JSON lines.")
@_JSON
def why(*, case: Path, runs: Path, html: Path | None, statement: bool, jsonl: bool, as_json: bool) -> None:
    """Say how a case came to where it is: reports, evidence, verifier, rules, question and answer, what fell and why.

    Of a case file, the latest record in DIR is told.
    """
    path, account = _told(case, runs)
    if statement:
        from dissensus.decide.dispute.exports import statement_of

        show_json(statement_of(account, _head(path)))
    elif jsonl:
        for event in account.events:
            _line({"seq": event.seq, "time": event.time, "kind": event.kind, "key": event.key, "body": event.body})
    elif as_json:
        from dissensus.decide.dispute.account import chapters

        parts = {part.title: [list(line) for line in part.lines] for part in chapters(account)}
        show_json({**account.document(), "record": str(path), "why": parts})
    elif html is None:
        from dissensus.cli.dispute_text import show_chapters

        show_chapters(account)
    if html is not None:
        from dissensus.cli.dispute_page import page_of

        try:
            html.write_text(page_of(account, str(path)), encoding="utf-8")
        except OSError as problem:
            raise StorageError(
                f"{html} cannot be written: {problem.strerror or problem}.", next_step="Name another file."
            ) from None
        click.echo(f"Written to {html}", err=True)


@click.command()
@click.argument("case", metavar="CASE|RECORD", type=click.Path(path_type=Path))
@_RUNS
@click.option("--again", is_flag=True, help="If anything is not as it was, open the case anew, after its record.")
@click.option("--repin", is_flag=True, help="With --again: cite the files as they are now, not as they were captured.")
@click.option("--no-ask", is_flag=True, help="With --again: leave a dispute as it is, without a question to a person.")
@_JSON
def reopen(*, case: Path, runs: Path, as_json: bool, again: bool, **flags: Any) -> None:
    """Reopen all evidence of a case today: the kept bytes, and the files that they were captured from.

    Exit code 1 if anything is not as it was when the case was opened. Nothing is written without --again. With it, a
    case that has ended is opened anew in a record of its own, which names the earlier one: by the bytes that were
    captured, which still decide, or with --repin by the files as they are now. Then the exit code is that of
    `dissensus dispute`.
    """
    from dissensus.interop.case_reopening import reopened_today

    path, account = _told(case, runs)
    found = reopened_today(account)
    changed = [one for one in found if one["changed"]]
    state = "reopened" if changed and account.state in ("settled", "consistent", "incomplete") else account.state
    anew = _anew(path, account, flags) if again and changed else None
    if as_json:
        told = {"case": account.case.get("id"), "status": state, "record": str(path), "evidence": found}
        show_json(told if anew is None else {**told, "again": {**anew.document(), "record": anew.record}})
    else:
        for one in found:
            then = f" (was {one['was']}, live {one['live_was']})" if one["changed"] else ""
            mark = "CHANGED" if one["changed"] else "same"
            click.echo(f"{mark:<8}{one['evidence']}  {one['reopened']}, live {one['live']}{then}")
        said = (
            f"{len(changed)} of {len(found)} items are not as they were" if changed else f"{len(found)} items as before"
        )
        click.echo(f"{account.case.get('id')}: {said}; {state}", err=True)
        if anew is not None:
            from dissensus.cli.dispute_text import show_account

            show_account(anew)
    if code := FOUND if changed and anew is None else 0 if anew is None else _exit_code(anew.state):
        sys.exit(code)


def _anew(path: Path, account: Account, flags: Mapping[str, Any]) -> Account:
    """Open a recorded case anew, and say what came of it.

    Raises :class:`~dissensus.errors.UsageError` for one that has not ended.
    """
    from dataclasses import replace

    from dissensus.agents.budget import Limits
    from dissensus.agents.panel import panel_from_data
    from dissensus.decide.dispute.case import State, may_follow
    from dissensus.interop.case_file import CaseFile
    from dissensus.interop.case_reopening import renewed

    if not may_follow(State(account.state), State.REOPENED):
        steps = {"waiting": f"dissensus inbox {path.parent}", "disputed": "dissensus dispute CASE"}
        raise UsageError(
            f"The case is {account.state}: there is nothing to open anew.",
            next_step=f"Go on with: {steps.get(account.state, f'dissensus resume {path}')}",
        )
    head = account.events[0].body
    panel = panel_from_data(head["panel"]) if head.get("panel") else None
    if panel is not None:
        panel = replace(panel, seats=tuple(seat for seat in panel.seats if seat.agent in panel.model_of))
    case = renewed(account, repin=flags["repin"])
    required = (account.case.get("cell") or {}).get("required")
    told = {"no_standing_rules": False, "require_cell": required, "seed": head["seed"], "record": path.parent, **flags}
    case = replace(_adjusted(case, told, path.parent), after=path.name)
    return _settled(case, CaseFile(path, case, panel, panel.budget if panel is not None else Limits()), told, None)


def _told(case: Path, runs: Path) -> tuple[Path, Account]:
    """The record that is meant, and what it tells."""
    from dissensus.decide.dispute.account import account_of
    from dissensus.record.opening import open_record
    from dissensus.run.runs import events_of

    path = case if case.suffix in (".db", ".jsonl") else _record_of(case, runs)
    with open_record(path) as store:
        account = account_of(events_of(store))
    account.record = str(path)
    return path, account


def _record_of(case: Path, runs: Path) -> Path:
    """The latest record of a case file, or of a case by its id."""
    from dissensus.specfile import read_spec

    name = str(read_spec(case, "case file").data.get("case")) if case.is_file() else str(case)
    found = [(account.events[0].time, path) for path, account in _records_in(runs) if account.case.get("id") == name]
    if not found:
        raise UsageError(
            f"There is no record of the case {name!r} in {runs}.", next_step=f"Run: dissensus dispute {case}"
        )
    return max(found)[1]


def _records_in(runs: Path) -> Iterator[tuple[Path, Account]]:
    """The first event of each record of a dispute in a folder."""
    from dissensus.decide.dispute.account import account_of
    from dissensus.errors import DissensusError
    from dissensus.record.opening import open_record

    for path in sorted([*runs.glob("*.db"), *runs.glob("*.jsonl")]):
        try:
            with open_record(path) as store:
                yield path, account_of(store.read(1, 2))
        except DissensusError:  # another procedure's record, or a damaged one
            continue


def _head(path: Path) -> str:
    from dissensus.record.opening import open_record

    with open_record(path) as store:
        return store.head().hash.hex()


def _line(data: dict[str, Any]) -> None:
    import msgspec

    click.echo(msgspec.json.encode(data).decode())
