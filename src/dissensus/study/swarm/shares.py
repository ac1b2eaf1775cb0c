"""Who reads what: adjacent shares of the items for the agents of each party, and what makes a reading the same again.

Everything that an agent can see of an item decides what it reports: what is wanted, the sources, its model and prompt.
A digest of that is its *terms*. A report counts as long as its terms are those of today.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import msgspec

from dissensus.agents.panel import Panel
from dissensus.decide.swarm.work import READER, Share, adjacent
from dissensus.script.seats import Seat
from dissensus.study.panel_digest import digest_of, model_data
from dissensus.study.swarm.batch import Party, Swarm

_FOUND_OUT: Final = ("capabilities", "tokenizer", "deadline_s", "tools", "weight", "spare")
"""Of a seat, what follows from its model or changes no report. Tools are looked at as the panel names them."""


def shares_of(swarm: Swarm) -> list[Share]:
    """The shares of the whole batch, in the order of parties and agents. An item without a source is in none."""
    found = []
    for party in swarm.parties:
        told = [item for item in swarm.items if party.of.get(item)]
        for agent, items in adjacent(told, party.agents).items():
            if items:
                found.append(share_of(swarm, party, agent, items))
    return found


def share_of(swarm: Swarm, party: Party, agent: str, items: Sequence[str]) -> Share:
    """The share of ``agent`` with these items, and the sources that tell of them."""
    of = {item: party.of.get(item, ()) for item in items}
    digests = sorted({digest for some in of.values() for digest in some})
    return Share(
        party=party.name,
        agent=agent,
        items=tuple(items),
        wanted=tuple(
            replace(one, units={item: one.units[item] for item in items if item in one.units}) for one in swarm.wanted
        ),
        sources={digest: party.sources[digest] for digest in digests},
        of=of,
        by=party.by,
        tool=party.tool,
        task=party.task,
        repairs=swarm.repairs,
    )


def panel_for(share: Share, panel: Panel | None) -> Panel:
    """Of the panel, whoever reads ``share``, with the tools for that."""
    if panel is None or share.by == "tables":
        return Panel(seats=(), models={}, model_of={})
    if share.by == "tool":
        source = panel.tools[share.tool]
        specs = tuple(tool for seat in panel.seats for tool in seat.tools if tool.name == share.tool)[:1]
        seat = Seat(agent=READER, model="none", tools=specs or _specs(panel, share.tool))
        return replace(panel, seats=(seat,), models={}, model_of={}, tools={share.tool: source})
    seat = panel.seat(share.agent)
    name = panel.model_of[share.agent]
    return replace(
        panel,
        seats=(seat,),
        models={name: panel.models[name]},
        model_of={share.agent: name},
        tools=_of_seat(seat, panel.tools),
    )


def _specs(panel: Panel, tool: str) -> tuple[Any, ...]:
    """What is known of a tool that no agent has."""
    from dissensus.agents.toolbox import open_tool

    source = panel.tools[tool]
    return () if source.kind == "mcp" else (open_tool(source, panel.folder).spec,)


def _of_seat(seat: Seat, tools: Mapping[str, Any]) -> dict[str, Any]:
    """The tools of a seat; those of a running server are called ``server.tool``."""
    wanted = {tool.name for tool in seat.tools}
    wanted |= {tool.name.partition(".")[0] for tool in seat.tools}
    return {name: source for name, source in tools.items() if name in wanted}


def terms_of(share: Share, panel: Panel, item: str) -> str:
    """Digest of what decides the report on ``item``. ``panel`` is that of :func:`panel_for`, or the record's."""
    seen = [
        [digest, pinned.name, pinned.kind, pinned.media, msgspec.to_builtins(pinned.table)]
        for digest in share.of.get(item, ())
        if (pinned := share.sources.get(digest)) is not None
    ]
    wanted = [msgspec.to_builtins(one.of(item)) for one in share.wanted]
    return digest_of(
        [share.party, share.by, share.tool, share.task, share.repairs, wanted, seen, _reader(share, panel)]
    )


def _reader(share: Share, panel: Panel) -> list[Any]:
    """Who reads, by what of it can change a report."""
    if share.by == "tables":
        return []
    tools = msgspec.to_builtins(dict(sorted(panel.tools.items())))
    if share.by == "tool":
        return [tools]
    seat = msgspec.to_builtins(panel.seat(share.agent))
    return [{key: value for key, value in seat.items() if key not in _FOUND_OUT}, model_data(panel, share.agent), tools]


def differs(then: Share, now: Share, items: Iterable[str]) -> str:
    """Where two shares of one agent differ for ``items``, as a part of a sentence."""
    for item in items:
        before = {then.sources[digest].name: digest for digest in then.of.get(item, ()) if digest in then.sources}
        today = {now.sources[digest].name: digest for digest in now.of.get(item, ())}
        for name in sorted(before.keys() | today.keys()):
            if name not in today:
                return f"{name} tells of {item} no more"
            if name not in before:
                return f"{name} tells of {item} too, now"
            if before[name] != today[name]:
                return f"{name} has other bytes"
    if any([one.of(item) for one in then.wanted] != [one.of(item) for one in now.wanted] for item in items):
        return "something else is wanted of each item"
    return f"{now.agent} of {now.party} reads under other terms (its model, prompt, tools, task, or kinds of sources)"
