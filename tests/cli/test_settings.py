from __future__ import annotations

import json
import sys
import types
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from dissensus.cli import main as cli
from dissensus.cli.settings import _line_of, find_file, settings_for
from dissensus.errors import SpecError


@click.command()
@click.argument("question")
@click.option("-n", "--agents", "number", type=click.IntRange(1, 9), default=3)
@click.option("--panel", type=click.Path(path_type=Path))
@click.option("--option", "options", multiple=True)
@click.option("--json", "as_json", is_flag=True)
@click.option("--dry-run/--no-dry-run", default=True)
@click.option("--way", type=click.Choice(["fast", "slow"]))
def decide(**given_: Any) -> None:
    """Decide."""
    click.echo(json.dumps(given_, default=str))


@click.group()
def record() -> None:
    """Records."""


@record.command()
@click.option("--deep", is_flag=True)
@click.option("--limit", type=float, default=1.5)
def verify(**given_: Any) -> None:
    """Verify."""
    click.echo(json.dumps(given_))


DEFAULTS = {
    "question": "Q",
    "number": 3,
    "panel": None,
    "options": [],
    "as_json": False,
    "dry_run": True,
    "way": None,
}


@pytest.fixture(autouse=True)
def _commands(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    module: Any = types.ModuleType("commands_for_test")
    module.decide, module.record = decide, record
    monkeypatch.setitem(sys.modules, "commands_for_test", module)
    commands = {"decide": "commands_for_test:decide", "record": "commands_for_test:record"}
    monkeypatch.setattr(cli, "COMMANDS", commands)
    monkeypatch.chdir(tmp_path)


def write(text: str, folder: Path | None = None) -> Path:
    path = (folder or Path.cwd()) / "dissensus.toml"
    path.write_text(text)
    return path


def run(*arguments: str, env: dict[str, str] | None = None) -> dict[str, Any]:
    result = CliRunner(env=env or {}).invoke(cli.main, arguments)
    assert result.exit_code == 0, result.output
    printed: dict[str, Any] = json.loads(result.output)
    return printed


def test_without_a_file_nothing_is_set() -> None:
    assert settings_for("decide", environ={}) == {}
    assert run("decide", "Q") == DEFAULTS


def test_values_of_every_kind_reach_the_command() -> None:
    path = write(
        '[decide]\nagents = 5\npanel = "sub/panel.yaml"\noption = ["yes", "no"]\njson = true\n'
        'dry-run = false\nway = "slow"\n'
        "[record.verify]\ndeep = true\nlimit = 2\n"
    )
    assert run("decide", "Q") == {
        "question": "Q",
        "number": 5,
        "panel": str(path.parent / "sub/panel.yaml"),
        "options": ["yes", "no"],
        "as_json": True,
        "dry_run": False,
        "way": "slow",
    }
    assert run("record", "verify") == {"deep": True, "limit": 2.0}


def test_a_flag_beats_the_environment_and_that_beats_the_file() -> None:
    write("[decide]\nagents = 5\njson = false\n[record.verify]\nlimit = 5\n")
    general, special = {"DISSENSUS_AGENTS": "6", "DISSENSUS_JSON": "1"}, {"DISSENSUS_DECIDE_AGENTS": "7"}
    assert run("decide", "Q")["number"] == 5
    assert run("decide", "Q", env=general) == DEFAULTS | {"number": 6, "as_json": True}
    assert run("decide", "Q", env=general | special)["number"] == 7
    assert run("decide", "Q", "--agents", "8", env=general | special)["number"] == 8
    assert run("record", "verify", env={"DISSENSUS_RECORD_VERIFY_LIMIT": "6"})["limit"] == 6
    assert run("record", "verify", env={"DISSENSUS_LIMIT": ""})["limit"] == 5
    assert run("decide", "Q", env={"DISSENSUS_OPTION": "a b"})["options"] == ["a", "b"]


def test_underscores_are_as_good_as_hyphens() -> None:
    write("[decide]\ndry_run = false\n")
    assert settings_for("decide", environ={}) == {"dry_run": False}


def test_the_nearest_file_counts_and_paths_are_relative_to_it(tmp_path: Path) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    write('[decide]\nagents = 4\npanel = "p.yaml"\n', tmp_path)
    assert settings_for("decide", folder=inner, environ={}) == {"number": 4, "panel": str(tmp_path / "p.yaml")}
    near = write("[decide]\nagents = 5\n", tmp_path / "a")
    assert find_file(inner) == near
    assert settings_for("decide", folder=inner, environ={}) == {"number": 5}


@pytest.mark.parametrize(
    ("text", "line", "told"),
    [
        ("[decide]\nagent = 5\n", 2, 'There is no setting "agent" for decide. Did you mean "agents"?'),
        ("[decide]\nagents = 5\n\n[decid]\n", 4, 'There is no command "decid". Did you mean "decide"?'),
        ("agents = 5\n", 1, 'There is no command "agents".'),
        ("[record]\ncheck = 1\n", 2, 'There is no command "record check". Known are: verify.'),
        ("[record.verify]\nlimit = 1\ndeeep = true\n", 3, 'Did you mean "deep"?'),
        ("record.verify.deeep = true\n", 1, 'Did you mean "deep"?'),
        ("[record]\nverify = 1\n", 2, '"verify" has to be a table: a line [record.verify]'),
        ("decide = 1\n", 1, '"decide" has to be a table'),
        ("[decide]\nagents = 10\n", 2, '"agents" is wrong: 10 is not in the range 1<=x<=9.'),
        ("[decide]\nagents = 'many'\n", 2, "\"agents\" is wrong: 'many' is not a valid integer"),
        ("[decide]\nagents = true\n", 2, '"agents" has to be a text or a number.'),
        ("[decide]\nagents = [5]\n", 2, '"agents" has to be a single value.'),
        ("[decide]\noption = [['a']]\n", 2, '"option" has to be a text or a number.'),
        ("[decide]\njson = 1\n", 2, '"json" has to be true or false.'),
        ("[decide]\nway = 'fst'\n", 2, "\"way\" is wrong: 'fst' is not one of 'fast', 'slow'."),
        ("[decide.panel]\nx = 1\n", 1, '"panel" has to be a text or a number.'),
        ("[decide]\nquestion = 'Q'\n", 2, 'There is no setting "question" for decide.'),
        ("[decide]\npanel = '''\nagents = 1\n[record]\n'''\nagent = 1\n", 6, 'Did you mean "agents"?'),
        ("[decide]\nagents = \n", 2, "This is no TOML: "),
        ("[decide]\nagents = 1\nagents = 2\n", 3, "This is no TOML: Cannot overwrite a value"),
        ("[decide\n", 1, "This is no TOML: "),
        ("a = " + "[" * 100_000, 1, "This is no TOML: "),
    ],
)
def test_what_is_wrong_is_told_with_its_line(text: str, line: int, told: str) -> None:
    path = write(text)
    with pytest.raises(SpecError) as caught:
        settings_for("record" if "record" in text and "decide" not in text else "decide", environ={})
    assert told in str(caught.value)
    assert caught.value.line == line
    assert caught.value.path == str(path)


@pytest.mark.parametrize("setting", ['way = "sk-canary0123456789abcdef"', 'panel = "Bearer canary-0123456789"'])
def test_a_key_to_a_service_is_refused_and_not_shown(setting: str) -> None:
    write(f"[decide]\n{setting}\n")
    with pytest.raises(SpecError, match="api_key_env: NAME") as caught:
        settings_for("decide", environ={})
    assert "canary" not in str(caught.value)
    assert caught.value.line == 2


@pytest.mark.parametrize(("content", "told"), [(b"# \xff\n", "not UTF-8"), (b"#" * 1_000_001, "not larger than 1 MB")])
def test_files_that_are_no_settings(content: bytes, told: str) -> None:
    Path("dissensus.toml").write_bytes(content)
    with pytest.raises(SpecError, match=told):
        settings_for("decide", environ={})


def test_a_wrong_file_ends_the_command_with_one_sentence() -> None:
    path = write("[decide]\nagent = 5\n")
    result = CliRunner().invoke(cli.main, ["decide", "Q"])
    assert result.exit_code == 2
    assert f'error: {path}:2: There is no setting "agent" for decide.\nDid you mean "agents"?\n' in result.output


WORDS = st.sampled_from(["decide", "record", "verify", "agents", "limit", "x-y"])


@given(
    st.lists(st.tuples(WORDS, st.lists(WORDS, unique=True, max_size=3)), unique_by=lambda pair: pair[0], max_size=4),
    st.data(),
)
def test_lines_of_keys(tables: list[tuple[str, list[str]]], data: st.DataObject) -> None:
    lines: list[str] = []
    where: dict[tuple[str, ...], int] = {}
    for table, keys in tables:
        lines += data.draw(st.lists(st.sampled_from(["", "# [decide]", "# agents = 1"]), max_size=2))
        lines.append(f"[{table}]  # x = 1")
        where[(table,)] = len(lines)
        for key in keys:
            lines.append(
                data.draw(st.sampled_from([f"{key} = 1", f'  "{key}"=[1]', f"{key} = '''\n[decide]\nagents = 1\n'''"]))
            )
            lines = "\n".join(lines).split("\n")
            where[table, key] = len(lines) - 3 * ("'''" in lines[-1])
    text = "\n".join(lines)
    for place, line in where.items():
        assert _line_of(text, place) == line
