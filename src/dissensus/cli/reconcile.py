"""``dissensus reconcile``: two folders held against each other, with no file to write first."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from dissensus.cli.swarm_options import FILE, how_settled
from dissensus.errors import StorageError, UsageError

if TYPE_CHECKING:
    from dissensus.agents.panel import Panel
    from dissensus.interop.reconciling import Plan
    from dissensus.study.swarm.batch import Swarm

_FOLDER = click.Path(path_type=Path)


@click.command()
@click.argument("folder_a", metavar="DIR_A", type=_FOLDER)
@click.argument("folder_b", metavar="DIR_B", type=_FOLDER)
@click.option("--key", metavar="NAME[=OTHER]", default="",
              help="What the items are called: a column, or the word before them; in DIR_B, OTHER.")  # fmt: skip
@click.option("--attribute", "attributes", metavar="NAME[=OTHER]", multiple=True,
              help="What to compare: a column or a label; in DIR_B, OTHER. May be given several times.")  # fmt: skip
@click.option("--unit", default="", metavar="UNIT", help="What is counted, where no unit stands there.")
@click.option("--as-of", default="", metavar="TIME", help="Count what happened in this time only: 2026-03-02, or A/B.")
@click.option("--items", "items_file", type=FILE, metavar="FILE", help="The items, one a line.  [all that are found]")
@click.option("--model", metavar="REF", help="Have agents on this model read, in place of the built-in reader.")
@click.option("--panel", type=FILE, metavar="FILE", help="Have agents of this panel read.")
@click.option("--agents-a", metavar="N|NAMES", help="Who reads DIR_A: of --model so many, of --panel these: ada,ben.")
@click.option("--agents-b", metavar="N|NAMES", help="Who reads DIR_B. Nobody named: the built-in reader.")
@click.option("--verifier", default="", metavar="NAME|REF",
              help="Who is asked which source is wrong: an agent of the panel, or a model.")  # fmt: skip
@click.option("--spot-checks", type=click.FloatRange(0, 1), default=0.1, show_default=True, metavar="SHARE",
              help="Share of the items that the verifier looks at if nothing contradicts.")  # fmt: skip
@click.option("--plants", default="", metavar="N|SHARE", help="Faults that are planted in copies: 5, or 0.05 of all.")
@click.option("--write", "write_file", type=FILE, metavar="TASKS.yaml",
              help="Write the tasks file that `dissensus swarm` would do the same with, and stop.")  # fmt: skip
@click.option("-o", "--output", type=click.Path(file_okay=False, path_type=Path), metavar="DIR",
              help="A folder for records and pinned copies.  [A-B.swarm where you are]")  # fmt: skip
@click.option("--seed", type=int, default=0, show_default=True, help="All randomness derives from it.")
@click.option("--jobs", type=click.IntRange(1, 100), default=2, show_default=True, help="Records side by side.")
@how_settled
@click.pass_context
def reconcile(ctx: click.Context, /, *, folder_a: Path, folder_b: Path, **flags: Any) -> None:
    """Find where the documents in DIR_A and in DIR_B do not say the same, and settle it by what stands there.

    Both folders are looked through: csv, tsv, txt, md, json, pdf. What both call by the same names are the items
    (orders, invoices), what both count under names that mean the same is compared. That is said before anything is
    done with it; if it is not clear, nothing is done, and the flag that says it is named.

    The built-in reader reads: tables, labels in texts with a number beside them, JSON. It adds up rows, and parts of a
    split delivery, and cites each. What it cannot read without doubt it does not report, and says why. With --model or
    --panel agents read instead. What both sides report of one item meets in a case, as in `dissensus dispute`; the
    rest is as in `dissensus swarm`.

    Exit codes: 0 all settled or consistent; 1 something was returned, is disputed, told by one side only, or by
    nobody; 2 usage, or it is not clear what to compare; 3 something waits for a person, or the budget is over.

    \b
    dissensus reconcile notes/ warehouse/
    dissensus reconcile notes/ warehouse/ --key order --attribute "pallets received=qty" --unit pallet
    dissensus reconcile notes/ warehouse/ --write tasks.yaml
    """  # noqa: D301 - click reads the control character
    from dissensus.cli.readout import say
    from dissensus.interop.reconciling import lines_of, plan_data

    readers = _readers(flags)
    plan = _planned(folder_a, folder_b, flags, agents=readers.panel is not None and bool(readers.names))
    for line in lines_of(plan):
        say(line, err=True)
    if flags["write_file"] is not None:
        _write_tasks(plan, readers, flags)
        return
    from dissensus.cli.swarm import carried_out, show_result

    folder = flags["output"] or Path(f"{plan.names[0]}-{plan.names[1]}.swarm")
    _outside(folder, (folder_a, folder_b))
    again = _again(ctx)
    whole = _swarm(plan, readers, folder, flags)
    found = carried_out(
        whole, folder, again=again, jobs=flags["jobs"], require_cell=flags["require_cell"],
        follow_standing=not flags["no_standing_rules"], repin=flags["repin"],
    )  # fmt: skip
    show_result(
        found, again=again, csv_file=flags["csv_file"], html_file=flags["html_file"], as_json=flags["as_json"],
        beside={"taken": plan_data(plan)},
    )  # fmt: skip


def _outside(folder: Path, sides: Sequence[Path]) -> None:
    """Refuse to write into what is read."""
    for side in sides:
        if folder.resolve().is_relative_to(side.resolve()):
            raise UsageError(f"The records would lie in {side}, which is read.", next_step="Name a folder with -o.")


@dataclass(frozen=True, slots=True)
class _Readers:
    """Who reads.

    Args:
        sides: for each folder, as a party of a tasks file says it.
        panel: who takes part; None if nobody is asked.
        data: the panel as a panel file; None if it is one already.
        verifier: the agent that is the verifier.
    """

    sides: tuple[Mapping[str, Any], Mapping[str, Any]]
    panel: Panel | None = None
    data: Mapping[str, Any] | None = None
    verifier: str = ""

    @property
    def names(self) -> list[str]:
        """The agents that read."""
        return [name for side in self.sides for name in side.get("agents", ())]


def _readers(flags: Mapping[str, Any]) -> _Readers:
    given = (flags["agents_a"], flags["agents_b"])
    if flags["panel"] is not None:
        if flags["model"]:
            raise UsageError("--panel and --model both say who reads.", next_step="Leave out one of them.")
        return _of_panel(flags["panel"], given, flags["verifier"])
    if not flags["model"] and any(given):
        raise UsageError("It is not said which agents read.", next_step="Add --panel FILE or --model REF.")
    return _of_model(flags["model"], given, flags["verifier"])


def _of_panel(path: Path, given: Sequence[str | None], verifier: str) -> _Readers:
    """Agents of a panel file."""
    from dissensus.agents.panel import load_panel

    panel = load_panel(path)
    known = [seat.agent for seat in panel.seats]
    named = [[name.strip() for name in (text or "").split(",") if name.strip()] for text in given]
    for name in (*named[0], *named[1], *([verifier] if verifier else [])):
        if name not in known:
            raise UsageError(f"The panel has no agent {name!r}.", next_step=f"There are: {', '.join(known)}.")
    if not any(named):
        raise UsageError(
            "It is not said which agents of the panel read.",
            next_step=f"Add --agents-a and --agents-b, of: {', '.join(known)}.",
        )
    sides = [{"agents": names} if names else {"reader": "tables"} for names in named]
    return _Readers((sides[0], sides[1]), panel, None, verifier)


def _of_model(model: str | None, given: Sequence[str | None], verifier: str) -> _Readers:
    """So many agents on one model, and a verifier on its own; or nobody."""
    from dissensus.agents.panel_file import panel_of
    from dissensus.agents.personas import name_of
    from dissensus.specfile import Spec

    counts = [_count(text, flag) for text, flag in zip(given, ("--agents-a", "--agents-b"), strict=True)]
    if model and counts == [0, 0]:
        raise UsageError("No agent reads either folder.", next_step="Leave out --model.")
    agents: list[dict[str, Any]] = []
    sides: list[dict[str, Any]] = []
    for count in counts if model else (0, 0):
        names = [name_of(len(agents) + n) for n in range(count)]
        agents += [{"name": name, "model": model, "temperature": 0.0} for name in names]
        sides.append({"agents": names} if names else {"reader": "tables"})
    if verifier:
        agents.append({"name": "verifier", "model": verifier, "temperature": 0.0})
    if not agents:
        return _Readers((sides[0], sides[1]))
    data = {"agents": agents}
    return _Readers((sides[0], sides[1]), panel_of(Spec("--model", data)), data, "verifier" if verifier else "")


def _count(text: str | None, flag: str) -> int:
    if text is None:
        return 1
    if not text.isdecimal() or int(text) > 100:
        raise UsageError(f"{flag} is no number of agents: {text!r}.", next_step="With --model, say how many: 2.")
    return int(text)


def _planned(first: Path, second: Path, flags: Mapping[str, Any], *, agents: bool) -> Plan:
    """What the folders are taken to be, found behind a bar of progress."""
    from dissensus.cli.progress import Bar
    from dissensus.decide.dispute.values import NotRead, as_of_from
    from dissensus.decide.swarm.pairing import Told
    from dissensus.interop.folders import number_of_files
    from dissensus.interop.reconciling import plan_of

    try:
        as_of_from(flags["as_of"] or None)
    except NotRead as problem:
        raise UsageError(
            f"--as-of {problem}.", next_step="Write it like 2026-03-02, or 2026-03-01/2026-04-01."
        ) from None
    told = Told(
        key=_pair(flags["key"]) if flags["key"] else ("", ""),
        attributes=tuple(_pair(text) for text in flags["attributes"]),
        unit=flags["unit"],
        items=_items(flags["items_file"]),
        as_of=flags["as_of"],
    )
    total = number_of_files(first) + number_of_files(second)
    with Bar("files", total=total) as bar:
        return plan_of(first, second, told, agents=agents, on_file=bar.add)


def _pair(text: str) -> tuple[str, str]:
    """``NAME=OTHER``, or one name for both sides."""
    name, _, other = (part.strip() for part in text.partition("="))
    if not name:
        raise UsageError(f"{text!r} holds no name.", next_step="Write NAME, or NAME=OTHER.")
    return name, other or name


def _items(path: Path | None) -> tuple[str, ...]:
    if path is None:
        return ()
    from dissensus.interop.evidence_files import read_bytes

    try:
        lines = read_bytes(path).decode("utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise UsageError(f"{path} is no text in UTF-8.", next_step="Save it so, one item a line.") from None
    found = tuple(dict.fromkeys(line.strip() for line in lines if line.strip()))
    if not found:
        raise UsageError(f"{path} names no item.", next_step="Write one item a line.")
    return found


def _more(flags: Mapping[str, Any], readers: _Readers) -> dict[str, Any]:
    """The other keys of the tasks file."""
    more: dict[str, Any] = {"spot_checks": flags["spot_checks"], "seed": flags["seed"], "jobs": flags["jobs"]}
    if readers.verifier:
        more["verifier"] = readers.verifier
    if flags["plants"]:
        more["plants"] = _plants(flags["plants"])
    if flags["no_ask"]:
        more["person"] = {"ask": False}
    return more


def _plants(text: str) -> int | dict[str, float]:
    try:
        return int(text) if text.isdecimal() else {"share": float(text)}
    except ValueError:
        raise UsageError(f"--plants is no number: {text!r}.", next_step="Write 5, or 0.05 for a share.") from None


def _swarm(plan: Plan, readers: _Readers, folder: Path, flags: Mapping[str, Any]) -> Swarm:
    from dissensus.interop.reconciling import base_of, tasks_data
    from dissensus.interop.tasks_file import tasks_of
    from dissensus.specfile import Spec

    base = base_of(plan)
    data = tasks_data(plan, base, readers.sides, _more(flags, readers))
    return replace(tasks_of(Spec("", data), base, folder / "evidence", readers.panel), jobs=flags["jobs"])


def _write_tasks(plan: Plan, readers: _Readers, flags: Mapping[str, Any]) -> None:
    """Write the tasks file, and the panel file if there is none."""
    import yaml

    from dissensus.interop.reconciling import tasks_data

    path: Path = flags["write_file"]
    more = _more(flags, readers)
    if readers.data is not None:
        panel = path.with_name(f"{path.stem}.panel.yaml")
        _write(panel, yaml.safe_dump(dict(readers.data), sort_keys=False, allow_unicode=True))
        more["panel"] = panel.name
    elif flags["panel"] is not None:
        more["panel"] = str(flags["panel"].resolve())
    data = tasks_data(plan, path.parent, readers.sides, more)
    _write(path, yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=120))


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as problem:
        raise StorageError(
            f"{path} cannot be written: {problem.strerror or problem}.", next_step="Name another file."
        ) from None
    click.echo(f"Written to {path}", err=True)


def _again(ctx: click.Context) -> str:
    """The command that goes on: as it was given."""
    words = ["dissensus", "reconcile"]
    for param in ctx.command.params:
        value = ctx.params.get(param.name or "")
        if isinstance(param, click.Argument):
            words.append(str(value))
        elif ctx.get_parameter_source(param.name or "") is ParameterSource.COMMANDLINE:
            option = max(param.opts, key=len)
            values = value if isinstance(value, tuple) else (value,)
            words += [option] if value is True else [word for one in values for word in (option, str(one))]
    return shlex.join(words)
