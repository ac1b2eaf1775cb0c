"""The sixteen kinds of a three-way match: what is planted in the papers and in the reports of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from bills import bill_of, order_of
from cited import Claim, at, cell, changed, line, rows, somewhere
from draws import Draws
from items import NAMES, SIDES, Desk, Item, Required, Style
from papers import Paper

PLAIN = Style()
BEYOND = 90_000
"""More lines than any file of a batch has."""


def item_of(seed: int, number: int, kinds: tuple[int, ...] = tuple(NAMES), style: Style = PLAIN) -> Item:
    """Item ``number`` (from 1) of a batch. Of as many items as there are kinds, each kind comes once, in a drawn order.

    Args:
        seed: of the batch.
        number: of the item.
        kinds: that the batch has.
        style: what the items share.
    """
    block, place = divmod(number - 1, len(kinds))
    kind = Draws(seed, f"block {block}").shuffled("kinds", kinds)[place]
    desk = Desk.of(Draws(seed, f"{number:04}"), number, kind, style)
    return with_totals(desk) if style.batch else KINDS[kind](desk)


def agreeing(desk: Desk) -> Item:
    """Kinds 1 and 2: both sides say what was received, which is what was ordered, or less."""
    note, mine = desk.by_note(desk.right)
    log, theirs = desk.by_log(desk.right)
    return desk.item((note, log), (mine, theirs), Required("consistent"))


def forged(desk: Desk) -> Item:
    """Kind 3: one side quotes a line that does not stand in its source."""
    if desk.side == "A":
        log, theirs = desk.by_log(desk.right)
        note, place = desk.note(desk.right)
        quote = desk.note(desk.wrong)[0].lines[place - 1]
        mine = desk.report("A", desk.wrong, line(note, place, quote))
    else:
        note, mine = desk.by_note(desk.right)
        log, own, _ = desk.log(desk.right)
        row = desk.draws.pick("forged row", own)
        if desk.draws.chance("forged cell", 40) and len(own) > 1:
            cited = cell(log, row + 2, desk.layout.name("quantity"), str(desk.wrong))
        else:
            cited = line(log, row + 2, _rewritten(desk, log, row, desk.wrong))
        theirs = desk.report("B", desk.wrong, cited)
    return desk.item((note, log), (mine, theirs), Required("settled", "R1", (desk.side,)))


def _rewritten(desk: Desk, log: Paper, row: int, quantity: int) -> str:
    cells = log.lines[row + 1].split(log.delimiter)
    cells[[role for role, _ in desk.layout.columns].index("quantity")] = str(quantity)
    return log.delimiter.join(cells)


def unsupported(desk: Desk) -> Item:
    """Kind 4: one side cites nothing. Which side is right is drawn apart from that."""
    silent = desk.draws.pick("silent", SIDES)
    found = honest(desk)
    claims = tuple(changed(claim, evidence=[]) if claim["id"] == silent else claim for claim in found.claims)
    return replace(found, claims=claims, required=Required("incomplete", "R0", returned=(silent,)))


def two_units(desk: Desk) -> Item:
    """Kind 5: one side counts pallets, the other boxes; how many go on a pallet stands in the order."""
    order, column, pack = order_of(desk.facts, desk.draws)
    boxes = desk.right * pack
    if desk.side == "A":
        note, place = desk.note(boxes, facts=replace(desk.facts, unit="box", units="boxes", ordered=boxes))
        mine = desk.report("A", boxes, somewhere(note, place, desk.draws, "A points"), unit="box")
        log, theirs = desk.by_log(desk.right)
    else:
        note, mine = desk.by_note(desk.right)
        log, own, quantities = desk.log(boxes, unit="box")
        theirs = desk.report("B", boxes, *rows(log, desk.layout, own, quantities, desk.draws), unit="box")
    size = {"unit": "pallet", "factor": pack, "of": "box", "evidence": [cell(order, 2, column, str(pack))]}
    return desk.item(
        (note, log, order), (mine, theirs), Required("consistent"), units=(size,), true=dict.fromkeys(SIDES, True)
    )  # fmt: skip


def late(desk: Desk) -> Item:
    """Kind 6: a booking came later, and the two sides speak of different times."""
    more = desk.draws.between("late", 1, 5)
    later = f"{desk.facts.day[:-2]}{int(desk.facts.day[-2:]) + 1}"
    note, mine = desk.by_note(desk.right)
    log, own, quantities = desk.log(desk.right, late=(more, later))
    if desk.draws.chance("so far", 50):
        mine = changed(mine, as_of=f"{desk.facts.day}T20:00:00Z")
        cited = rows(log, desk.layout, own, quantities, desk.draws)
        theirs = desk.report("B", desk.right + more, *cited, as_of=f"{later}T20:00:00Z")
    else:
        cited = rows(log, desk.layout, own[-1:], quantities[-1:], desk.draws)
        theirs = desk.report("B", more, *cited, as_of=later)
    true = dict.fromkeys(SIDES, True)
    return desk.item((note, log), (mine, theirs), Required("consistent"), true=true)


COPIES = ("log", "spaced", "remarked")


def copied(desk: Desk) -> Item:
    """Kind 7: the note errs, the log was exported from it, and one ticket is independent: one origin against one."""
    note, place = desk.note(desk.wrong)
    log, own, quantities = desk.log(desk.wrong)
    way = desk.draws.pick("copy", COPIES)
    cited = [somewhere(note, place, desk.draws, "A points")]
    papers = [note, log]
    if way != "log" or desk.style.batch:
        text = note.text.replace("\n", "  \n") if way == "spaced" else note.text
        copy = Paper("copy", "delivery_note_copy.txt", text if way == "spaced" else f"{text}\n", "log")
        declared = {"origin": note.digest} if note.pages or way == "log" else {}
        cited.append({**line(copy, place, copy.lines[place - 1]), **declared})
        papers.append(copy)
    else:
        cited += [{**one, "origin": note.digest} for one in rows(log, desk.layout, own, quantities, desk.draws)]
    ticket, said = _ticket(desk, desk.right)
    claims = (desk.report("A", desk.wrong, *cited), desk.report("B", desk.right, line(ticket, said)))
    return desk.item((*papers, ticket), claims, Required("disputed", "R7"))


TICKETS = (
    ("Weighbridge ticket T-{t}", "Order {o}", "{U} received: {v}"),
    ("Gate ticket {t}", "For order {o}", "Received {v} {u}"),
    ("Count sheet of the night shift", "Order no. {o}", "Counted and received: {v} {u}"),
)


def _ticket(desk: Desk, value: int) -> tuple[Paper, int]:
    facts = desk.facts
    words = {"t": facts.base * 7, "o": facts.order, "v": value, "u": facts.units, "U": facts.units.capitalize()}
    lines = [text.format(**words) for text in desk.draws.pick("ticket", TICKETS)]
    return Paper("ticket", "ticket.txt", "\n".join(lines) + "\n", "ticket"), len(lines)


def doubled(desk: Desk) -> Item:
    """Kind 8: one booking stands twice in the log, and B has counted it twice."""
    note, mine = desk.by_note(desk.right)
    log, own, quantities = desk.log(desk.right, twice=True)
    theirs = desk.report("B", sum(quantities), *rows(log, desk.layout, own, quantities, desk.draws))
    return desk.item((note, log), (mine, theirs), Required("settled", "R3", ("B",)))


def edited(desk: Desk) -> Item:
    """Kind 9: as kind 1, 3 or 14, and the file of a side that is right was edited after it had been captured."""
    found = desk.draws.pick("edited", (agreeing, forged, beyond))(desk)
    side = next(side for side in desk.draws.shuffled("edited side", SIDES) if side not in found.required.losers)
    label = str(found.claim(side)["evidence"][0]["source"])
    paper = found.paper(label)
    lines = paper.pages[-1] if paper.pages else tuple(paper.lines[:-1])
    edited_text = "\n".join([*paper.lines[:-1], _remark(desk, lines[-1])]) + "\n"
    pages = (*paper.pages[:-1], (*lines, _remark(desk, ""))) if paper.pages else ()
    later = replace(paper, text=edited_text, pages=pages).data
    papers = tuple(replace(one, later=later) if one.label == label else one for one in found.papers)
    return replace(found, papers=papers, required=replace(found.required, live="CHANGED"))


def _remark(desk: Desk, last: str) -> str:
    return f"{last} corrected to {desk.wrong}".strip()


def billed(desk: Desk) -> Item:
    """Kind 10: the total of the invoice is not what its lines come to."""
    note, _ = desk.note(desk.right)
    log, _, _ = desk.log(desk.right)
    papers, mine, theirs = _totals(desk, wrong=True)
    true = {"A": False, "B": True}
    return desk.item((note, log, *papers), (mine, theirs), Required("settled", "R3", ("A",)), true=true)


def _totals(desk: Desk, *, wrong: bool) -> tuple[list[Paper], Claim, Claim]:
    """The invoice, what shows its total besides, and the reports of both sides of that total."""
    bill = bill_of(desk.facts, desk.draws, wrong=wrong)
    unit = bill.currency if desk.draws.chance("currency named", 50) else None
    more: dict[str, Any] = {"attribute": "invoice total", "unit": unit, "value_type": "decimal"}
    mine = desk.report("A", bill.stated, at(bill.paper, bill.total, bill.stated), **more)
    papers = [bill.paper]
    if bill.amounts and desk.draws.chance("by lines", 40) and not desk.style.batch:
        cited = [at(bill.paper, pointer, text) for pointer, text in bill.amounts]
    else:
        slip = _slip(desk, f"{bill.right:.2f}", bill.currency)
        cited = [line(slip, len(slip.lines) - 1)]
        papers.append(slip)
    return papers, mine, desk.report("B", f"{bill.right:.2f}", *cited, **more)


def with_totals(desk: Desk) -> Item:
    """An item of a batch in common files: both sides report the total of the invoice, too, which errs in kind 10."""
    found = agreeing(desk) if desk.kind == 10 else KINDS[desk.kind](desk)
    papers, *claims = _totals(desk, wrong=desk.kind == 10)
    named = [changed(claim, id=f"{claim['id']}-total") for claim in claims]
    true = {**found.true, "A-total": desk.kind != 10, "B-total": True}
    kept = tuple(paper for paper in found.papers if paper.label not in {one.label for one in papers})
    required = Required("settled", "R3", ("A-total",)) if desk.kind == 10 else found.required
    return replace(
        found, papers=(*kept, *papers), claims=(*found.claims, *named), true=true, required=required
    )  # fmt: skip


SLIPS = (
    ("Valued goods receipt", "Order {o}", "Invoice total: {v}"),
    ("Clearing slip {t}", "Order no. {o}", "Invoice total by price list: {c} {v}"),
    ("Accounts, order {o}", "Total of the invoice, worked out: {v} {c}"),
)


def _slip(desk: Desk, value: str, currency: str) -> Paper:
    words = {"t": desk.facts.base * 7, "o": desk.facts.order, "v": value, "c": currency}
    lines = [text.format(**words) for text in desk.draws.pick("slip", SLIPS)]
    return Paper("slip", "slip.txt", "\n".join(lines) + "\n", "slip")


def honest(desk: Desk) -> Item:
    """Kind 11: two sources that are sound in themselves, and differ. Which of them is right is drawn."""
    said = (desk.right, desk.wrong) if desk.side == "A" else (desk.wrong, desk.right)
    note, mine = desk.by_note(said[0])
    log, theirs = desk.by_log(said[1])
    return desk.item((note, log), (mine, theirs), Required("disputed", "R7"))


def ranked(desk: Desk) -> Item:
    """Kind 12: as kind 11, and a rule of the user says which kind of source goes first. Here that source is right."""
    kinds = ("note", "log") if desk.side == "A" else ("log", "note")
    rule = {"id": f"{kinds[0]}-first", "prefer": kinds[0], "over": kinds[1]}
    rules = {"id": "receiving", "version": desk.draws.between("version", 1, 9), "rules": [rule]}
    return replace(honest(desk), precedence=rules, required=Required("settled", "R6", (desk.other,)))


ASIDES = (
    "Also on this truck, order {o}: {v} {u}",
    "Order {o}: {v} {u}, same driver",
    "{v} {u} for order {o} at dock 2",
)


def irrelevant(desk: Desk) -> Item:
    """Kind 13: one side quotes a line about another order."""
    if desk.side == "A":
        words = {"o": desk.facts.other(0), "v": desk.wrong, "u": desk.facts.units}
        aside = desk.draws.pick("aside", ASIDES).format(**words)
        note, place = desk.note(desk.right, extra=(aside,))
        mine = desk.report("A", desk.wrong, somewhere(note, place + 1, desk.draws, "A points"))
        log, theirs = desk.by_log(desk.right)
    else:
        note, mine = desk.by_note(desk.right)
        log, own, _ = desk.log(desk.right, decoy=desk.wrong)
        column = [role for role, _ in desk.layout.columns].index("quantity")
        table = [text.split(log.delimiter) for text in log.lines[1:-1]]
        others = [n for n in range(len(table)) if n not in own and table[n][column] == str(desk.wrong)]
        theirs = desk.report("B", desk.wrong, *rows(log, desk.layout, others[:1], [desk.wrong], desk.draws))
    return desk.item((note, log), (mine, theirs), Required("settled", "R2", (desk.side,)))


def beyond(desk: Desk) -> Item:
    """Kind 14: one side points at a place that its source does not have."""
    note, mine = desk.by_note(desk.right)
    log, theirs = desk.by_log(desk.right)
    paper, value = (note, desk.wrong) if desk.side == "A" else (log, desk.wrong)
    quote = f"{desk.facts.units.capitalize()} received: {value}"
    if paper.pages:
        cited = line(paper, BEYOND, quote)
    elif desk.side == "B" and desk.draws.chance("beyond by cell", 50):
        cited = cell(log, BEYOND, desk.layout.name("quantity"), str(value))
    else:
        selector = desk.draws.pick("beyond by", (
            {"type": "line", "first": BEYOND}, {"type": "text", "start": 10**6, "end": 10**6 + len(quote)},
        ))  # fmt: skip
        cited = {"source": paper.label, "quote": quote, "selectors": [selector]}
    claim = desk.report(desk.side, value, cited)
    claims = (claim, theirs) if desk.side == "A" else (mine, claim)
    return desk.item((note, log), claims, Required("settled", "R1", (desk.side,)))


LOADS = ("Truck {x}: {q} {u}", "Load {x}, {q} {u}", "Hall {x}: {q} {u}", "{q} {u} from bay {x}")
TOTALS = ("Total: {v} {u}", "Total received: {v} {u}", "{v} {u} in total", "Sum: {v} {u}")


def inconsistent(desk: Desk) -> Item:
    """Kind 15: the note states a total that its own lines do not add up to, and A rests on the total."""
    count = min(desk.draws.between("loads", 2, 4), desk.right)
    cuts = sorted({desk.draws.between(f"load {n}", 1, desk.right - 1) for n in range(count - 1)})
    parts = [end - begin for begin, end in zip([0, *cuts], [*cuts, desk.right], strict=True)]
    if len(parts) < 2:
        parts = [1, desk.right - 1]
    shown, units = desk.draws.pick("loads shown", LOADS), desk.facts.units
    total = desk.wrong
    if total in [sum(parts[n:]) for n in range(len(parts))]:
        total = 2 * desk.right - total  # else it is the sum of its last lines, and may be meant so
    loads = [shown.format(x="abcd"[n], q=part, u=units) for n, part in enumerate(parts)]
    note, mine = desk.by_note(total, said=(*loads, desk.draws.pick("total shown", TOTALS).format(v=total, u=units)))
    log, theirs = desk.by_log(desk.right)
    return desk.item((note, log), (mine, theirs), Required("settled", "R4", ("A",)))


def split(desk: Desk) -> Item:
    """Kind 16: the goods came with two notes, which add up to what is in the log."""
    first = desk.draws.between("first part", 1, desk.right - 1)
    one, at_one = desk.note(first)
    two, at_two = desk.note(desk.right - first, label="note2", file="delivery_note_2")
    cited = [somewhere(one, at_one, desk.draws, "A points"), somewhere(two, at_two, desk.draws, "A points again")]
    mine = desk.report("A", desk.right, *cited)
    log, theirs = desk.by_log(desk.right)
    return desk.item((one, two, log), (mine, theirs), Required("consistent"))


KINDS: Mapping[int, Callable[[Desk], Item]] = {
    1: agreeing, 2: agreeing, 3: forged, 4: unsupported, 5: two_units, 6: late, 7: copied, 8: doubled, 9: edited,
    10: billed, 11: honest, 12: ranked, 13: irrelevant, 14: beyond, 15: inconsistent, 16: split,
}  # fmt: skip
