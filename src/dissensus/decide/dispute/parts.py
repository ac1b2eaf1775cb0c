"""What a claim is made of decides on it, unless evidence of its own does.

================  ==========================  =========================================  ==========
kind              falls                       goes back                                  stands
================  ==========================  =========================================  ==========
AND, CALC, SEQ    a part falls                no part falls, at least one goes back      otherwise
OR                all parts fall              none stands, at least one goes back        otherwise
================  ==========================  =========================================  ==========

That is Kleene's strong logic, with what goes back as the unknown: a claim stands or falls only if it would whatever
became of the parts that went back. A SEQ says in which of its steps it falls, the first in its order. Whether a CALC is
what its parts add up to is for a checker to say (R3).

An item of the claim's own that may decide carries it whatever becomes of its parts; where all such items are void, the
parts decide.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from dissensus.decide.dispute.docket import Docket, Weighed


def decided_by_parts(docket: Docket) -> Iterator[Weighed]:
    """Each claim on which its parts decide now, until nothing changes any more. The end depends on no order."""
    changed = True
    while changed:
        changed = False
        for one in docket.claims:
            if _decided(one):
                changed = True
                yield one


def _decided(one: Weighed) -> bool:
    """Whether its parts make something else of a claim than it was."""
    settled = one.stand == "fallen" or (one.stand == "incomplete" and not one.by_parts)
    if settled or not one.parts or any(item.usable for item in one.items):
        return False
    fallen = [part for part in one.parts if part.stand == "fallen"]
    back = [part for part in one.parts if part.stand == "incomplete"]
    enough = len(one.parts) if one.claim.kind == "OR" else 1
    if len(fallen) >= enough:
        one.fall(fallen[0].rule, f"{_name(one, fallen[0])} falls: {fallen[0].why}")
        one.decided = [replace(cite, claim=one.name) for part in fallen for cite in part.decided]
        return True
    if len(fallen) + len(back) >= enough and one.stand == "standing":
        one.give_back(f"{_name(one, back[0])} is returned: {back[0].why}")
        one.by_parts = True
        return True
    return False


def _name(one: Weighed, part: Weighed) -> str:
    step = f"step {one.parts.index(part) + 1}, " if one.claim.kind == "SEQ" else "part "
    return f"Its {step}{part.name}"
