"""``dissensus attacks``: the texts that corrupt agents of one's own panel, to measure what it stands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from dissensus.cli.json_document import show_json

if TYPE_CHECKING:
    from dissensus.faults.attacks.template import Attack


@click.group()
def attacks() -> None:
    """Show the attacks that a study can make on agents of your own panel."""


@attacks.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def list_attacks(*, as_json: bool) -> None:
    """List the attacks that are shipped."""
    from dissensus.faults.attacks.loading import shipped, shipped_attack

    found = [shipped_attack(name) for name in shipped()]
    if as_json:
        show_json([_data(each) for each in found])
        return
    from dissensus.cli.protocol_page import table

    lines: list[tuple[str, ...]] = [("attack", "version", "strengths", "wordings", "aims at", "what it is")]
    for each in found:
        wordings = "+".join(str(len(each.of(strength))) for strength in each.strengths)
        lines.append((each.name, str(each.version), ", ".join(each.strengths), wordings, each.aim, each.title))
    click.echo(table(lines))


@attacks.command()
@click.argument("name", metavar="NAME|FILE")
@click.option("--strength", help="Only this strength: mild, moderate or strong.")
@click.option("--target", default="{target}", help="Fill in this wrong answer.")
@click.option("--question", default="{question}", help="Fill in this question.")
@click.option("--name", "agent", default="{name}", help="Fill in this agent's name.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def show(name: str, *, strength: str | None, target: str, question: str, agent: str, as_json: bool) -> None:
    """Show the texts of an attack: a shipped one, or one in a file of your own, which is checked by this."""
    from dissensus.faults.attacks.loading import find_attack

    found = find_attack(name)
    strengths = (strength,) if strength else found.strengths
    texts = {
        one: [
            [
                wording.filled(target=target, question=question, name=agent, part=part)
                for part in range(len(wording.parts))
            ]
            for wording in found.of(one)
        ]
        for one in strengths
    }
    if as_json:
        show_json({**_data(found), "texts": texts})
        return
    click.echo(f"# {found.title}: {found.name}, version {found.version}, aims at {_aim(found)}\n\n{found.about}")
    for one, wordings in texts.items():
        click.echo(f"\n## {one}")
        for number, parts in enumerate(wordings):
            for part, text in enumerate(parts):
                of = f", part {part}" if len(parts) > 1 else ""
                click.echo(f"\n### wording {number}{of}\n\n{text}")


def _aim(attack: Attack) -> str:
    return "a wrong answer" if attack.aim == "target" else "having no answer"


def _data(attack: Attack) -> dict[str, Any]:
    return {
        "attack": attack.name,
        "version": attack.version,
        "title": attack.title,
        "about": attack.about,
        "aim": attack.aim,
        "strengths": {strength: len(attack.of(strength)) for strength in attack.strengths},
        "digest": attack.digest,
    }
