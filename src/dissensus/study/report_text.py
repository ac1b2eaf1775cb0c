"""A study's report as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dissensus.measure.paired import Interval
from dissensus.measure.wording import between, counted, p_value, percent, short
from dissensus.study.report import Report
from dissensus.study.report_cells import Figures, Where
from dissensus.study.report_parts import Judged, place_of
from dissensus.study.report_turns import Part, Turns


def markdown(report: Report) -> str:
    """The whole report."""
    return "\n".join(_lines(report)) + "\n"


def _lines(report: Report) -> Iterator[str]:
    study = report.study
    yield f"# Study {study.name}"
    if study.about:
        yield from ("", study.about)
    yield ""
    yield f"{report.done:,} of {report.units:,} runs are finished."
    if report.warnings:
        yield from ("", "## Before you use a figure", "")
        yield from (f"- {warning}" for warning in report.warnings)
    yield from ("", "## What came out", "")
    yield "*right*, *target*, *none* and *other* add up to one. A tie is shared. Intervals hold at 95 %, by question."
    for where in dict.fromkeys(place_of(one) for one in report.cells if not one.check):
        yield from _place(report, where)
    yield from _checks([one for one in report.cells if one.check])
    yield from _rescues(report.rescues)
    yield from _curves(report)
    yield from _equal(report)
    for turns in report.turns:
        yield from _turns(turns)
    yield from _how(report)


def title(where: Where) -> str:
    """A place of the grid as a heading."""
    tasks, lineup, attack, corrupted = where
    return f"{tasks}, {lineup}: " + (f"{corrupted} corrupted, {attack}" if corrupted else "nobody corrupted")


def _place(report: Report, where: Where) -> Iterator[str]:
    own = [one for one in report.cells if place_of(one) == where and not one.check]
    yield from ("", f"### {title(where)}", "")
    yield from _table(
        ("procedure", "right", "target", "none", "other", "written", "read anew", "seconds", "in a row", "runs"),
        [
            (
                f"{one.procedure}{' (ORACLE: no defence)' if one.oracle else ''}",
                share(one.right),
                share(one.target),
                short(one.none),
                short(one.other),
                number(one.decoded),
                number(one.computed),
                f"{one.seconds:.2f}",
                str(one.in_sequence),
                str(one.runs),
            )
            for one in own
        ],
    )
    compared = [one for one in report.compared if one.where == where]
    if compared:
        yield from ("", f"Less **{compared[0].reference}**, on the same questions:", "")
        yield from _table(
            ("procedure", "difference", "only it", "only the other", "p", "p (Holm)", "test"),
            [
                (
                    one.procedure,
                    f"{short(one.paired.difference)}{between((one.paired.low, one.paired.high))}",
                    str(one.paired.only_first),
                    str(one.paired.only_second),
                    _p(one.paired.p),
                    _p(one.paired.p_holm),
                    one.paired.test,
                )
                for one in compared
            ],
        )


def _checks(cells: Sequence[Figures]) -> Iterator[str]:
    if not cells:
        return
    yield from ("", "## One agent alone", "")
    yield "Whether the attack works at all: below 50 % on target it is no evidence of robustness to survive it."
    yield ""
    yield from _table(
        ("tasks", "line-up", "agent", "attack", "right", "target", "none", "other"),
        [
            (one.tasks, one.lineup, one.procedure, one.attack, share(one.right), share(one.target), short(one.none),
             short(one.other))
            for one in cells
        ],
    )  # fmt: skip


def _rescues(rescues: Sequence[Judged]) -> Iterator[str]:
    if not rescues:
        return
    yield from ("", "## Rescued?", "")
    yield (
        "Null models decide each text by who wrote in it, without a look at what. A writer who decides is right as "
        "often as it is alone. Only accuracy above the first three can be repair."
    )
    for one in rescues:
        yield from ("", f"### {one.procedure}, {title(one.where)}", "")
        rates = "honest ones are taken to be always right, corrupted ones never"
        if one.honest_alone is not None and one.attacked_alone is not None:
            rates = f"alone an honest agent is right on {percent(one.honest_alone)}, an attacked one on "
            rates += percent(one.attacked_alone)
        rows = [(one.procedure, short(one.rescue.against.first), "", "")]
        rows.append((one.reference, short(one.rescue.against.second), *_gap(one.rescue.against)))
        for name, accuracy in one.nulls.items():
            rows.append((f"null model: {name}", short(accuracy), *_gap(one.rescue.nulls[name])))
        yield from _table(("", "right", "less this", "p (Holm)"), rows)
        yield from ("", f"({rates})", "")
        if one.disruption:
            yield "This attack aims at no usable answer: having none is its success."
        yield from one.rescue.sentences()


def _gap(paired: Any) -> tuple[str, str]:
    return f"{short(paired.difference)}{between((paired.low, paired.high))}", _p(paired.p_holm)


def _curves(report: Report) -> Iterator[str]:
    if not report.curves:
        return
    yield from ("", "## More texts", "")
    yield "Share right of the vote over the first m texts of a run, each text being first equally often."
    yield ""
    most = max(len(one.right) for one in report.curves)
    shown = sorted({many for many in (1, 2, 3, 5, 7, 10, 15, 20, 30, 40, most) if many <= most})
    rows = []
    for one in report.curves:
        worse = "" if not one.worse else "WORSE" if one.change is not None and one.change.high < 0 else "rather worse"
        cells = [short(one.right[many - 1]) if many <= len(one.right) else "" for many in shown]
        rows.append((one.procedure, title(one.where), *cells, worse))
    yield from _table(("procedure", "where", *(f"m = {many}" for many in shown), ""), rows)


def _equal(report: Report) -> Iterator[str]:
    if not report.matches:
        return
    yield from ("", "## At equal cost", "")
    yield (
        "Of each procedure, the setting whose cost is nearest to that of the one in the second column. Where it is not "
        "within a quarter, the two are not equal, and that is said."
    )
    for cost, what in (("decoded", "tokens written"), ("seconds", "seconds")):
        yield from ("", f"### Equal {what}", "")
        rows = [
            (title(one.where), one.anchor, one.procedure, short(one.right),
             "unknown" if one.ratio is None else f"{one.ratio:.2f}", "yes" if one.equal else "NOT EQUAL")
            for one in report.matches
            if one.cost == cost
        ]  # fmt: skip
        yield from _table(("where", "beside", "procedure", "right", f"its {what}", "equal"), rows)


def _turns(turns: Turns) -> Iterator[str]:
    where = title((turns.tasks, turns.lineup, turns.attack, turns.corrupted))
    yield from ("", f"## Texts of {turns.procedure}, {where}", "")
    groups: tuple[tuple[str, Mapping[str, Part]], ...] = (
        ("first writer", turns.first),
        ("last writer", turns.last),
        ("first seat", turns.seat),
        ("honest turns", turns.honest_turns),
        ("end", turns.end),
    )
    rows = [("all", "", str(turns.texts.texts), short(turns.texts.right), short(turns.texts.target))]
    rows += [
        (name, key, str(part.texts), short(part.right), short(part.target))
        for name, parts in groups
        for key, part in parts.items()
    ]
    yield from _table(("by", "", "texts", "right", "target"), rows)
    yield ""
    if turns.repaired.n:
        yield (
            f"Repaired: of {counted(turns.repaired.n, 'text')} in which a corrupted turn announced the target, "
            f"{share(turns.repaired)} ended right."
        )
    if turns.captured.n:
        yield (
            f"Captured: of {counted(turns.captured.n, 'text')} in which an honest turn announced the right answer, "
            f"{share(turns.captured)} ended on the target."
        )


def _how(report: Report) -> Iterator[str]:
    study = report.study
    yield from ("", "## How it was run", "")
    limit = f"length {study.length:,}" if study.length else f"decoded {study.decoded:,}"
    yield f"- {limit}; placement {study.placement}; seeds {', '.join(map(str, study.seeds))}; jobs {study.jobs}"
    for name, one in study.tasks.items():
        out = f"; {one.left_out:,} left out" if one.left_out else ""
        yield f"- tasks {name}: {counted(len(one.tasks), 'question')}{out}"
    for name, lineup in study.lineups.items():
        models = ", ".join(dict.fromkeys(lineup.panel.spec_of(agent).reference for agent in lineup.agents))
        yield f"- line-up {name}: {counted(len(lineup.agents), 'agent')} ({models})"
    for name, threat in study.threats.items():
        attack = threat.attack
        wording = "one drawn for each question" if threat.wording is None else f"number {threat.wording}"
        yield (
            f"- attack {name}: {attack.name} version {attack.version}, {threat.strength}, in the {threat.slot}, "
            f"wording {wording}, target {'shared' if threat.shared else 'of its own'}, digest {attack.digest[:12]}"
        )
    for name, arm in study.arms.items():
        yield f"- procedure {name}: {arm.procedure} {_settings(arm.settings)}"


def _settings(settings: Any) -> str:
    default = type(settings)()
    names = [name for name in settings.__dataclass_fields__ if getattr(settings, name) != getattr(default, name)]
    return ", ".join(f"{name} {getattr(settings, name)}" for name in names) or "with its defaults"


def share(value: Interval) -> str:
    """A share with its interval."""
    return "—" if value.value is None else f"{short(value.value)}{between((value.low, value.high))}"


def number(value: float | None) -> str:
    """A mean number of tokens."""
    return "unknown" if value is None else f"{value:,.0f}"


def _p(value: float) -> str:
    return p_value(value).removeprefix("p = ")


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"| {' | '.join('---' for _ in head)} |"
    for row in rows:
        yield f"| {' | '.join(cell.replace('|', '/') for cell in row)} |"
