"""``dissensus round-robin``: what writing one answer in turns would take, and where theory says that it breaks.

To have a panel write, see ``dissensus decide --procedure round-robin``.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

import click

from dissensus.cli.json_document import show_json

PARTS: dict[str, tuple[str, str]] = {
    "ear": ("dissensus.cli.round_robin_ear:ear", "What the agents made of what their peers wrote, from records."),
    "drift": ("dissensus.cli.drift:drift", "Where votes and turns break, in a model of drift."),
    "plan": ("dissensus.cli.round_robin:plan", "Tokens, turns and price, before anything is spent."),
}
"""Name of a part to ``module:attribute`` and its line of help, so that help imports none of them."""

_COLUMNS = ("decoded", "computed", "cached", "passes", "turns", "speakers")


class Parts(click.Group):
    """A group that imports a part only when it is named."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Names of all parts."""
        return sorted(PARTS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        """The part ``cmd_name``; None if there is none."""
        if cmd_name not in PARTS:
            return None
        module, attribute = PARTS[cmd_name][0].split(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of parts without importing any."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, PARTS[name][1]) for name in self.list_commands(ctx)])


@click.group("round-robin", cls=Parts)
def round_robin() -> None:
    """One answer that agents write in turns: what it takes, and where it is expected to break.

    To have a panel write: dissensus decide QUESTION --procedure round-robin
    """


@click.command()
@click.option("--agents", type=click.IntRange(1), default=5, show_default=True, metavar="N", help="Writers.")
@click.option("--k", type=click.IntRange(1), default=100, show_default=True, help="Tokens a turn.")
@click.option("--length", type=click.IntRange(1), default=600, show_default=True, metavar="L", help="Tokens of a text.")
@click.option(
    "--prompt", type=click.IntRange(1), default=250, show_default=True, metavar="P", help="Tokens of a writer's prompt."
)
@click.option("--trajectories", type=click.IntRange(1), metavar="M", help="Texts that are voted on.  [default: N]")
@click.option(
    "--start",
    type=click.Choice(["rotate", "fixed"]),
    default="rotate",
    show_default=True,
    help="Who begins: each text the next seat, or all the first.",
)
@click.option("--price-in", type=click.FloatRange(0), metavar="MONEY", help="Per million tokens read.")
@click.option("--price-out", type=click.FloatRange(0), metavar="MONEY", help="Per million tokens written.")
@click.option(
    "--price-cached", type=click.FloatRange(0), metavar="MONEY", help="Per million found in a cache.  [as read]"
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def plan(*, as_json: bool, **numbers: Any) -> None:
    """Say what writing in turns takes, in tokens and money, before anything is spent.

    Every text is taken to run to L tokens without a token thrown away: texts that end earlier take less, and end votes
    that are not confirmed, or tokens cut off at a boundary, take more.

    \b
    dissensus round-robin plan --agents 5 --k 100 --length 600 --prompt 250 --trajectories 5
    dissensus round-robin plan --k 20 --price-in 0.1 --price-out 0.3 --json
    """  # noqa: D301 - click reads the control character
    made = planned(**numbers)
    if as_json:
        show_json(made)
        return
    for line in _lines(made):
        click.echo(line)


def planned(
    *,
    agents: int,
    k: int,
    length: int,
    prompt: int,
    trajectories: int | None,
    start: str,
    price_in: float | None,
    price_out: float | None,
    price_cached: float | None,
) -> dict[str, Any]:
    """The plan as JSON-ready data. Prices are None where one is not known."""
    from dissensus.agents.prices import Prices
    from dissensus.decide import ledger

    prices = Prices(tokens_in=price_in, tokens_out=price_out, tokens_cached=price_cached)
    texts = trajectories or agents
    starts = [text % agents if start == "rotate" else 0 for text in range(texts)]

    def priced(one: ledger.Ledger) -> dict[str, Any]:
        money = prices.cost(one.computed + one.cached, one.decoded, one.cached)
        return {**one.to_data(), "price": money}

    by_cache = {
        name: priced(ledger.plan(agents, k, length, prompt, starts=starts, block=block))
        for name, block in ledger.CACHES.items()
    }
    shared = {
        name: priced(ledger.plan(agents, k, length, prompt, starts=starts, block=block, shared=True))
        for name, block in ledger.CACHES.items()
        if block
    }
    turns = ledger.turns_of(length, k)
    return {
        "agents": agents,
        "k": k,
        "length": length,
        "prompt": prompt,
        "trajectories": texts,
        "start": start,
        "starts": starts,
        "turns_per_text": turns,
        "ledger": by_cache,
        "shared_prompts": shared,
        "lockstep": {
            "own_prompts": priced(ledger.lockstep(agents, length, prompt, texts=texts)),
            "shared_prompts": priced(ledger.lockstep(agents, length, prompt, texts=texts, shared=True)),
        },
        "vote": priced(ledger.vote(agents, length, prompt)),
        "ear": (ear := ledger.listening(agents, k, length, prompt, texts=texts)),
        "notes": _notes(agents=agents, k=k, turns=turns, texts=texts, ear=ear),
    }


def _notes(*, agents: int, k: int, turns: int, texts: int, ear: Mapping[str, int]) -> list[str]:
    notes = ["Counted for texts that run to their full length; nothing is sampled and thrown away."]
    if turns <= agents:
        notes.append("Nobody writes twice in one text, so a cache saves nothing there.")
    else:
        notes.append(f"Whoever comes back reads {(agents - 1) * k + 1:,} tokens: what the others wrote, and one more.")
    if turns < agents:
        notes.append(f"{agents - turns} of {agents} agents never write in a given text.")
    if texts % agents:
        notes.append(f"{texts} texts cannot begin equally often on {agents} seats.")
    notes.append(
        f"Listening (--ear drift, two answers) would add {ear['calls']:,} calls: {ear['none']:,} tokens read without a "
        f"cache, {ear['exact']:,} with an exact one, and about {ear['scored']:,} scored."
    )
    notes.append("The vote is of as many finished answers as there are agents, for comparison.")
    return notes


def _lines(made: Mapping[str, Any]) -> list[str]:
    rows = {
        "no cache": made["ledger"]["none"],
        "blocks of 16": made["ledger"]["block16"],
        "exact cache": made["ledger"]["exact"],
        "blocks of 16, prompts shared": made["shared_prompts"]["block16"],
        "exact cache, prompts shared": made["shared_prompts"]["exact"],
        "all read along, prompts shared": made["lockstep"]["shared_prompts"],
        "a vote": made["vote"],
    }
    with_price = any(row["price"] is not None for row in rows.values())
    heads = [*_COLUMNS, *(["price"] if with_price else [])]
    table = [[name, *(f"{row[column]:,}" for column in _COLUMNS)] for name, row in rows.items()]
    if with_price:
        table = [[*cells, f"{row['price']:,.4f}"] for cells, row in zip(table, rows.values(), strict=True)]
    whole = [["", *heads], *table]
    widths = [max(len(row[place]) for row in whole) for place in range(len(heads) + 1)]
    title = (
        f"{made['agents']} agents, turns of {made['k']} tokens, {made['trajectories']} texts of {made['length']:,} "
        f"({made['turns_per_text']:,} turns each), prompts of {made['prompt']:,}"
    )
    lines = [title, ""]
    for row in whole:
        cells = [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        lines.append("  ".join([row[0].ljust(widths[0]), *cells]).rstrip())
    return [*lines, "", *made["notes"]]
