"""The commands ``protocol list``, ``show`` and ``acts``."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from dissensus.cli import main as command_line
from dissensus.cli.protocol_page import page, table
from dissensus.say.acts import ACTS, KQML
from dissensus.say.protocol_data import message_schema, to_file
from dissensus.say.protocol_file import load, shipped, shipped_protocol
from dissensus.specfile import Spec


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(command_line.COMMANDS, "protocol", "dissensus.cli.protocol:protocol")
    monkeypatch.setitem(command_line.HELP, "protocol", "Show, check and draw protocols.")


def run(*arguments: str) -> Result:
    return CliRunner().invoke(command_line.main, ["protocol", *arguments])


def cells(text: str) -> list[list[str]]:
    """Rows of a Markdown table."""
    rows = [re.split(r"(?<!\\)\|", line.strip())[1:-1] for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in row] for row in rows if not set("".join(row)) <= set("- ")]


def test_list_names_every_protocol() -> None:
    done = run("list")
    assert done.exit_code == 0
    lines = done.stdout.splitlines()
    assert max(map(len, lines)) <= 120
    assert tuple(line.split()[0] for line in lines if not line.startswith(" ")) == shipped()
    told = " ".join(done.stdout.split())
    assert "those who bid. roles: initiator, participant, platform; profiles: fipa, jade, strict" in told
    data = json.loads(run("list", "--json").stdout)
    assert tuple(each["name"] for each in data) == shipped()
    net = shipped_protocol("fipa-contract-net")
    row = data[shipped().index("fipa-contract-net")]
    assert (row["states"], row["moves"]) == (len(net.states), len(net.moves))
    assert data[shipped().index("fipa-contract-net")]["roles"]["participant"] == "many"


def test_show_is_a_page_with_every_move_and_state() -> None:
    done = run("show", "fipa-contract-net", "--profile", "jade")
    assert done.exit_code == 0
    net = shipped_protocol("fipa-contract-net", "jade")
    moves, states = (cells(part) for part in done.stdout.split("## Moves")[1].split("## States"))
    shown = {(source, row[1], row[3]) for row in moves[1:] for source in row[0].split(", ")}
    assert {(m.source, m.act, m.next) for m in net.moves} == {(s, act.split(" [")[0], to) for s, act, to in shown}
    assert {row[0] for row in states[1:]} == set(net.states)
    bid = next(row for row in moves if row[1] == "propose")
    assert bid[2] == "participant > initiator"
    assert bid[4] == (
        "participant owes initiator: offer; initiator owes participant: decision; meets: answer; by its reply_by;"
        " discarded if late"
    )
    assert "Silence past the deadline counts as reject-proposal." in done.stdout


@pytest.mark.parametrize("name", shipped())
@pytest.mark.parametrize("profile", ["fipa", "jade", "strict"])
def test_what_show_prints_as_json_is_the_same_protocol(name: str, profile: str, tmp_path: Path) -> None:
    done = run("show", name, "--profile", profile, "--json")
    assert done.exit_code == 0
    data = json.loads(done.stdout)
    assert data == json.loads(json.dumps(to_file(shipped_protocol(name, profile))))
    assert to_file(load(Spec("x", data), "x")) == to_file(shipped_protocol(name, profile))
    path = tmp_path / "resolved.yaml"
    path.write_text(done.stdout, encoding="utf-8")
    assert run("show", str(path), "--json").stdout == done.stdout
    moves = run("show", name, "--profile", profile).stdout.split("## Moves")[1]
    assert run("show", str(path)).stdout.split("## Moves")[1] == moves


def holds(schema: dict[str, Any], message: dict[str, Any]) -> bool:
    """Whether ``message`` fits what of JSON Schema :func:`message_schema` uses."""
    types: dict[str, Callable[[Any], bool]] = {
        "string": lambda value: isinstance(value, str),
        "number": lambda value: isinstance(value, int | float),
        "array": lambda value: isinstance(value, list) and bool(value),
    }

    def fits(value: Any, rule: Any) -> bool:
        if rule is True:
            return True
        kinds = rule.get("type", [])
        wanted = [kinds] if isinstance(kinds, str) else kinds
        return (
            (not wanted or any(types[kind](value) for kind in wanted))
            and ("const" not in rule or value == rule["const"])
            and ("enum" not in rule or value in rule["enum"])
            and ("not" not in rule or not fits(value, rule["not"]))
        )

    def all_fit(properties: dict[str, Any]) -> bool:
        return all(fits(value, properties[key]) for key, value in message.items() if key in properties)

    required = all(key in message for key in schema["required"])
    choices = sum(all_fit(choice["properties"]) for choice in schema["oneOf"])
    return required and all_fit(schema["properties"]) and choices == 1


@pytest.mark.parametrize("name", shipped())
def test_the_schema_takes_every_move_and_nothing_else(name: str) -> None:
    schema = json.loads(run("show", name, "--schema").stdout)
    protocol = shipped_protocol(name)
    assert schema == json.loads(json.dumps(message_schema(protocol)))
    told_apart = {kind for move in protocol.moves for kind in move.kinds}
    message = {"id": "m1", "sender": "a", "receivers": ["b"], "thread": "t", "protocol": name, "content": {"x": 1}}
    acts = {move.act for move in protocol.moves}
    for act in acts | set(ACTS):
        assert holds(schema, message | {"act": act}) is (act in acts)
        assert holds(schema, message | {"act": act, "content_type": "text/plain"}) is (act in acts)
        for kind in told_apart:
            legal = any(move.act == act and (not move.kinds or kind in move.kinds) for move in protocol.moves)
            assert holds(schema, message | {"act": act, "content_type": kind}) is legal, (act, kind)
    move = protocol.moves[0]
    for missing in ("id", "act", "sender", "receivers", "thread"):
        assert not holds(schema, {key: value for key, value in (message | {"act": move.act}).items() if key != missing})
    assert not holds(schema, message | {"act": move.act, "receivers": []})
    assert not holds(schema, message | {"act": move.act, "protocol": "other"})


def test_acts_are_twenty_two_with_their_names_in_kqml() -> None:
    rows = cells(run("acts").stdout)
    assert [row[0] for row in rows[1:]] == list(ACTS)
    assert len(rows) == 23
    data = json.loads(run("acts", "--json").stdout)
    assert {theirs: act["act"] for act in data["acts"] for theirs in act["kqml"]} == KQML
    assert next(act for act in data["acts"] if act["act"] == "cfp")["opens"] == ["answer"]
    assert "standby" in data["kqml_without_act"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["fipa-reqest"], "Did you mean 'fipa-request'?"),
        (["fipa-request", "--profile", "jad"], "Did you mean 'jade'?"),
        (["gone.yaml"], "cannot be read"),
        (["fipa-request", "--json", "--schema"], "Give one of them."),
    ],
)
def test_wrong_arguments_are_usage(arguments: list[str], says: str) -> None:
    done = run("show", *arguments)
    assert done.exit_code == 2
    assert says in done.stderr
    assert done.stdout == ""


def test_a_file_of_ones_own_that_is_wrong_names_the_line(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    data = shipped_protocol("four-state")
    text = json.dumps(to_file(data), indent=1).replace('"closes"', '"close"', 1)
    path.write_text(text, encoding="utf-8")
    done = run("show", str(path))
    line = text[: text.index('"close"')].count("\n") + 1
    assert done.exit_code == 2
    assert f"{path}:{line}: A move has no key 'close'." in done.stderr
    assert "Did you mean 'closes'?" in done.stderr


def test_cells_of_a_table_cannot_break_it() -> None:
    assert cells(table([("a", "b"), ("x|y", "two\nlines")]))[1] == ["x\\|y", "two lines"]
    assert "x|y" not in table([("a",), ("x|y",)])


def test_a_page_tells_all_that_a_move_may_carry() -> None:
    text = """
protocol: all
roles: {a: one, b: one}
start: {state: s, role: a}
final: [end]
states: {s: {may_lapse: [answer]}}
moves:
  - {in: s, act: request, from: a, to: b, next: t, opens: answer, by: 90, when: "price > 3", max: 2, repeat: true}
  - {in: t, act: inform, from: b, to: a, next: end, closes: answer, delegates: offer, assigns: decision,
     sub: fipa-query, forwards: once}
"""
    shown = page(load(text, "all.yaml"))
    for phrase in (
        "b owes a: answer; within 90 s; if price > 3; again and again; at most 2 times",
        "delegates: offer; assigns: decision; third parties: fipa-query; passes on what a third party answered, once",
        "May stay open: answer.",
    ):
        assert phrase in shown
