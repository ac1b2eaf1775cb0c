"""Counts of how items ended, and the tables of ``docs/disputes-measured.md``. A test holds these to the results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from invoice_arms import End, as_required
from invoice_cases import NAMES, Item

from dissensus.measure.paired import wilson

RULES: Final = "rules of a dispute"
BEGIN, END = "<!-- measured: {} -->", "<!-- end -->"


def share(hits: int, of: int) -> dict[str, Any]:
    """A share with its Wilson 95 % interval."""
    low, high = wilson(hits, of) if of else (None, None)
    value = None if not of else round(hits / of, 4)
    bounds = [None if one is None else round(one, 4) for one in (low, high)]
    return {"hits": hits, "of": of, "share": value, "low": bounds[0], "high": bounds[1]}


def unjustified(item: Item, end: End) -> bool:
    """Whether an item was settled where a person is due, or a report is due back."""
    return end.ended == "settled" and item.required.state in ("disputed", "incomplete")


def tally(ended: Sequence[tuple[Item, End]]) -> dict[str, Any]:
    """How an arm has left all items."""
    count = Counter(end.ended for _, end in ended)
    answered = [end for _, end in ended if end.ended in ("settled", "consistent")]
    n = len(ended)
    return {
        "items": n,
        "consistent": count["consistent"],
        "settled": count["settled"],
        "wrong": share(sum(end.wrong for end in answered), n),
        "unjustified": share(sum(unjustified(*one) for one in ended), n),
        "person": share(count["disputed"], n),
        "returned": share(count["incomplete"], n),
        "no answer": count["nothing"],
        "coverage": share(len(answered), n),
        "calls": round(sum(end.calls for _, end in ended) / n, 2),
        "tokens": round(sum(end.tokens for _, end in ended) / n, 1),
        "cpu_ms": round(sum(end.cpu_ms for _, end in ended) / n, 2),
    }


def by_kind(arms: Mapping[str, Sequence[tuple[Item, End]]]) -> dict[str, Any]:
    """For each kind, what the rules made of it, and the wrong and unjustified settlements of each other arm."""
    found: dict[str, Any] = {}
    for kind, name in NAMES.items():
        own = [one for one in arms[RULES] if one[0].kind == kind]
        if not own:
            continue
        ends = Counter(f"{end.ended} {end.rule}".strip() for _, end in own)
        row: dict[str, Any] = {
            "name": name, "items": len(own), "as required": sum(as_required(*one) for one in own),
            "ends": dict(sorted(ends.items())), "others": {},
        }  # fmt: skip
        for arm, ended in arms.items():
            some = [one for one in ended if one[0].kind == kind]
            if arm != RULES:
                row["others"][arm] = {
                    "wrong": sum(end.wrong for _, end in some),
                    "unjustified": sum(unjustified(*one) for one in some),
                }
        found[str(kind)] = row
    return found


# --- Markdown


def tables(facts: Mapping[str, Any]) -> dict[str, str]:
    """Each table of the page, by its name."""
    found = {
        "arms": _table(_arm_rows(facts["arms"])),
        "kinds": _table(_kind_rows(facts["kinds"])),
        "misreporting": _table(_misreport_rows(facts["misreporting"])),
    }
    model = facts.get("model") or {}
    for part, data in model.items():
        found[part] = _table(_pairs(data["counts"]))
        if "arms" in data:
            found[f"{part}-arms"] = _table(_arm_rows(data["arms"], tokens=True))
    return found


def filled(page: str, facts: Mapping[str, Any]) -> str:
    """The page with its tables as the results have them."""
    for name, table in tables(facts).items():
        begin = BEGIN.format(name)
        if begin not in page:
            continue
        head, _, rest = page.partition(begin)
        page = f"{head}{begin}\n{table}\n{END}{rest.partition(END)[2]}"
    return page


def _table(rows: Iterable[Sequence[object]]) -> str:
    head, *body = [[str(cell) for cell in row] for row in rows]
    lines = [head, ["---"] * len(head), *body]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _interval(data: Mapping[str, Any]) -> str:
    if data["share"] is None:
        return "0 of 0"
    return f"{data['hits']} ({100 * data['low']:.1f}–{100 * data['high']:.1f} %)"


def _arm_rows(arms: Mapping[str, Any], *, tokens: bool = False) -> Iterable[Sequence[object]]:
    yield ("", "consistent", "settled", "wrong", "unjustified", "to a person", "returned", "no answer", "coverage",
           "calls", "tokens" if tokens else "CPU ms")  # fmt: skip
    for name, row in arms.items():
        yield (
            name, row["consistent"], row["settled"], _interval(row["wrong"]), _interval(row["unjustified"]),
            row["person"]["hits"], row["returned"]["hits"], row["no answer"], f"{100 * row['coverage']['share']:.1f} %",
            f"{row['calls']:g}", f"{row['tokens']:,.0f}" if tokens else f"{row['cpu_ms']:.1f}",
        )  # fmt: skip


def _kind_rows(kinds: Mapping[str, Any]) -> Iterable[Sequence[object]]:
    arms = list(next(iter(kinds.values()))["others"])
    yield "kind", "items", "rules of a dispute", *arms
    for kind, row in kinds.items():
        ends = ", ".join(f"{count} {end}" for end, count in row["ends"].items())
        others = [f"{row['others'][arm]['wrong']} / {row['others'][arm]['unjustified']}" for arm in arms]
        yield f"{kind} {row['name']}", row["items"], ends, *others


def _misreport_rows(ways: Mapping[str, Any]) -> Iterable[Sequence[object]]:
    yield ("way", "group", "items", "consistent", "settled", "to a person", "returned", "true reports that fell",
           "untrue and left standing alone")  # fmt: skip
    for way, groups in ways.items():
        for group, row in groups.items():
            yield (
                way, group, row["items"], row["consistent"], row["settled"], row["disputed"], row["incomplete"],
                row["true reports that fell"], row["settled on an untrue one"],
            )  # fmt: skip


def _pairs(counts: Mapping[str, Any]) -> Iterable[Sequence[object]]:
    yield "", "count", "share, 95 % interval"
    for name, data in counts.items():
        if isinstance(data, Mapping):
            bounds = "" if data["share"] is None else (
                f"{100 * data['share']:.0f} % ({100 * data['low']:.0f}–{100 * data['high']:.0f} %)"
            )  # fmt: skip
            yield name, f"{data['hits']} of {data['of']}", bounds
        else:
            yield name, data, ""
