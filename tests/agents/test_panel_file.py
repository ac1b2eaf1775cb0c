from __future__ import annotations

import copy
import json
import os
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from dissensus.agents.budget import Limits
from dissensus.agents.panel import ModelSpec, Panel, load_panel, panel_from_data
from dissensus.agents.panel_file import panel_of
from dissensus.agents.prices import Prices
from dissensus.agents.toolbox import ToolSource
from dissensus.errors import SpecError
from dissensus.script.styles import STYLES
from dissensus.specfile import parse_spec

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
FULL = """\
models:
  local: {use: "scripted:yes"}
  big:
    use: "openai:Qwen/Qwen2.5-7B-Instruct"
    url: "http://localhost:8000/v1"
    api_key_env: MY_KEY
    limit: 16
    timeout: 2 min
    server: vllm
    prices: {in: 0.1, out: 0.3, currency: EUR}
agents:
  - {name: ada, model: local, temperature: 0.2, style: estimate, language: de, persona: "You sell pens.",
     weight: 2, deadline: 30s, tools: [calculator, shout], max_tokens: 64, max_steps: 3}
  - name: ben
    model: big
  - {count: 3, models: [local, big], styles: [exact, cases], temperatures: [0.5, 1], deadline: 2}
spares:
  - {name: zoe, model: "scripted:no"}
tools:
  shout: {command: [echo, "{text}!"], timeout: 500 ms, max_output: 100, env: [HOME], description: "Shouts."}
  files: {mcp: {command: [my-server, "--all"], env: [TOKEN_NAME]}}
budget: {tokens: 200000, calls: 100, seconds: 10 min}
"""


def read(text: str) -> Panel:
    return panel_of(parse_spec(text, "panel.yaml", "panel file"))


def test_everything_that_a_file_can_say() -> None:
    panel = read(FULL)
    assert [seat.agent for seat in panel.seats] == ["ada", "ben", "cleo", "dan", "eve", "zoe"]
    ada = panel.seat("ada")
    assert ada.system == f"You sell pens.\n{STYLES['estimate'].text}\nAnswer in German."
    assert (ada.model, ada.temperature, ada.weight, ada.deadline_s) == ("scripted:yes", 0.2, 2.0, 30.0)
    assert (ada.max_tokens, ada.max_steps, ada.style, ada.language) == (64, 3, "estimate", "de")
    assert [tool.name for tool in ada.tools] == ["calculator", "shout"]
    assert ada.tools[1].parameters["required"] == ["text"]
    assert (panel.seat("ben").system, panel.seat("ben").tools, panel.seat("ben").deadline_s) == ("", (), None)
    group = [panel.seat(name) for name in ("cleo", "dan", "eve")]
    assert [seat.style for seat in group] == ["exact", "cases", "exact"]
    assert [seat.temperature for seat in group] == [0.5, 1.0, 0.5]
    assert [panel.model_of[seat.agent] for seat in group] == ["local", "big", "local"]
    assert [seat.agent for seat in panel.seats if seat.spare] == ["zoe"]
    assert panel.model_of["zoe"] == "scripted:no"
    assert panel.models["big"] == ModelSpec(
        reference="openai:Qwen/Qwen2.5-7B-Instruct",
        options={
            "base_url": "http://localhost:8000/v1",
            "api_key_env": "MY_KEY",
            "concurrency": 16,
            "timeout_s": 120.0,
            "server": "vllm",
            "price_in": 0.1,
            "price_out": 0.3,
        },
        prices=Prices(tokens_in=0.1, tokens_out=0.3),
    )
    assert panel.currency == "EUR"
    assert panel.budget == Limits(tokens=200000, calls=100, seconds=600)
    assert panel.tools["shout"] == ToolSource(
        name="shout",
        kind="command",
        command=("echo", "{text}!"),
        description="Shouts.",
        timeout_s=0.5,
        most_text=100,
        env=("HOME",),
    )
    assert panel.tools["files"].command == ("my-server", "--all")
    assert set(panel.tools) == {"calculator", "shout", "files"}


def test_a_panel_is_data() -> None:
    panel = read(FULL)
    assert panel_from_data(json.loads(json.dumps(panel.to_data()))) == panel


def test_a_group_may_stand_in_place_of_the_list() -> None:
    panel = read("agents: {count: 2, model: 'scripted:x', names: [x1, x2]}")
    assert [seat.agent for seat in panel.seats] == ["x1", "x2"]
    assert {seat.style for seat in panel.seats} == {""}


def test_a_group_takes_no_name_that_another_agent_has() -> None:
    panel = read("agents:\n - {count: 2, model: 'sc:x'}\n - {name: ada, model: 'sc:x'}\n - {count: 1, model: 'sc:x'}\n")
    assert [seat.agent for seat in panel.seats] == ["ben", "cleo", "ada", "dan"]


@pytest.mark.parametrize("name", ["panel.yaml", "agents_with_tools.yaml"])
def test_the_examples_are_panels(name: str) -> None:
    panel = load_panel(EXAMPLES / name)
    assert len(panel.seats) >= 3
    assert panel_from_data(panel.to_data()) == panel


def test_a_money_budget_is_allowed_when_all_prices_are_known() -> None:
    panel = read(
        "models: {m: {use: 'scripted:x', prices: {in: 0, out: 0}}}\nagents: {count: 1, model: m}\nbudget: {money: 2.5}"
    )
    assert panel.budget.money == 2.5


def test_prices_may_be_given_as_the_back_ends_own_options() -> None:
    panel = read(
        "models: {m: {use: 'scripted:x', price_in: 1, price_out: 2}}\nagents: {count: 1, model: m}\nbudget: {money: 1}"
    )
    assert panel.spec_of("ada").prices == Prices(tokens_in=1, tokens_out=2)


AGENT = "{name: ada, model: 'sc:x'}"
EUROS = "{use: 'sc:x', prices: {in: 1, out: 1, currency: EUR}}"
DOLLARS = "{use: 'sc:x', prices: {in: 1, out: 1, currency: USD}}"
WRONG = [
    # whole files
    ("", 0, "The panel file is empty."),
    ("# nothing\n", 0, "The panel file is empty."),
    ("null", 0, "The panel file is empty."),
    ("- a\n- b\n", 1, "A panel file has to be a mapping"),
    ("just text", 1, "A panel file has to be a mapping"),
    ("agents: [\n", 2, "This is no YAML:"),
    ("agents: []\n---\nagents: []\n", 2, "This is no YAML: but found another document"),
    ("a: 1\nb: \x01", 2, "a character that no YAML may hold"),
    ("agents: *nobody", 1, "This is no YAML: found undefined alias"),
    ("agents: []\nagents: []\n", 2, 'The key "agents" stands here for the second time. See line 1.'),
    ("agents: &a [*a]", 1, "A part of the file contains itself."),
    ("agents: !!python/object:os.system {}", 1, "The tag !!python/object:os.system is not allowed."),
    ("agents: !x 3", 1, "The tag !x is not allowed."),
    ("agents: []\n1: x\n", 2, "A key has to be a text. Put it into quotes."),
    ("agents: []\n? [x]\n: y\n", 2, "A key has to be a text."),
    ("agents: []\nx: &m {a: 1}\ny:\n  <<: *m\n", 4, "Merge keys (<<) are not supported."),
    ("agents: " + "[" * 60 + "]" * 60, 1, "nested more than 40 deep"),
    ("models: {}\n", 1, '"agents" is missing in a panel file.'),
    ("agents: []\nmodles: {}\n", 2, 'There is no key "modles" in a panel file. Did you mean "models"?'),
    ("agents: []", 1, "The panel has no agents."),
    ("agents: 5", 1, '"agents" has to be a list.'),
    ("agents: [ada]", 1, "An agent has to be a mapping"),
    ("agents: []\nmodels: []\n", 2, '"models" has to be a mapping'),
    # agents
    ("agents:\n- model: 'sc:x'\n", 2, '"name" is missing in an agent.'),
    ("agents:\n- name: ada\n", 2, '"model" is missing in an agent.'),
    (f"agents:\n- {AGENT}\n- name: ben\n  model: 'sc:x'\n  temprature: 1\n", 5, 'Did you mean "temperature"?'),
    ("agents:\n- {name: ada, model: 'sc:x', flavour: 1}\n", 2, "Known are: weight, deadline"),
    (f"agents:\n- {AGENT}\n- name: ada\n  model: 'sc:x'\n", 3, 'two agents called "ada". See line 2'),
    (f"agents: [{AGENT}]\nspares:\n- {AGENT}\n", 3, 'two agents called "ada". See line 1'),
    ("agents:\n- {name: Operator, model: 'sc:x'}", 2, 'No agent can be called "Operator".'),
    ("agents:\n- {name: a/b, model: 'sc:x'}", 2, '"name" may only hold letters, digits'),
    ("agents:\n- {name: 7, model: 'sc:x'}", 2, '"name" has to be a text. Put it into quotes.'),
    (
        "agents:\n- {name: ada, model: locl}\nmodels: {local: 'sc:x'}",
        2,
        'There is no model "locl". Did you mean "local"?',
    ),
    ("agents:\n- {name: ada, model: local}\n", 2, 'There is no model "local". Define it under models.'),
    ("agents:\n- {name: ada, model: 'sc:x',\n   tools: [calculator,\n   calculater]}", 4, 'Did you mean "calculator"?'),
    ("agents:\n- {name: ada, model: 'sc:x', tools: calculator}", 2, '"tools" has to be a list.'),
    ("agents:\n- {name: ada, model: 'sc:x', tools: [1]}", 2, 'Item 1 of "tools" has to be a text.'),
    ("agents:\n- {name: ada, model: 'sc:x', weight: 0}", 2, '"weight" has to be above 0.'),
    ("agents:\n- {name: ada, model: 'sc:x', weight: -1}", 2, '"weight" has to be above 0.'),
    ("agents:\n- {name: ada, model: 'sc:x', weight: .nan}", 2, '"weight" has to be a number.'),
    ("agents:\n- {name: ada, model: 'sc:x', weight: true}", 2, '"weight" has to be a number.'),
    ("agents:\n- {name: ada, model: 'sc:x', weight: '1'}", 2, '"weight" has to be a number.'),
    ("agents:\n- {name: ada, model: 'sc:x', weight: 0x}", 2, '"weight" has to be a number.'),
    ("agents:\n- {name: ada, model: 'sc:x', temperature: 2.1}", 2, '"temperature" has to be at most 2.'),
    ("agents:\n- {name: ada, model: 'sc:x', max_tokens: 0}", 2, '"max_tokens" has to be at least 1.'),
    ("agents:\n- {name: ada, model: 'sc:x', max_tokens: 1.5}", 2, '"max_tokens" has to be a whole number.'),
    ("agents:\n- {name: ada, model: 'sc:x', max_tokens: " + "9" * 5000 + "}", 2, "This is no number that can be used."),
    ("agents:\n- {name: ada, model: 'sc:x', deadline: soon}", 2, '"deadline" has to be a span of time like 30s'),
    ("agents:\n- {name: ada, model: 'sc:x', deadline: 0}", 2, '"deadline" has to be a span of time above zero'),
    ("agents:\n- {name: ada, model: 'sc:x', deadline: 1:30}", 2, '"deadline" has to be a span of time like 30s'),
    ("agents:\n- {name: ada, model: 'sc:x', style: exakt}", 2, 'no reasoning style "exakt". Did you mean "exact"?'),
    ('agents:\n- {name: ada, model: "sc:x", language: "a\\nb"}', 2, '"language" has to be on one line.'),
    ("agents:\n- {name: ada, model: 'sc:x', persona: {a: 1}}", 2, '"persona" has to be a text.'),
    ("agents:\n- {name: ada, weight: x, nme: y}", 2, "(2 more problems in an agent.)"),
    (
        "agents:\n- {name: ada, model: 'sc:x', language: " + "x" * 201 + "}",
        2,
        '"language" has more than 200 characters.',
    ),
    # groups
    ("agents: {count: 0, model: 'sc:x'}", 1, '"count" has to be at least 1.'),
    ("agents: {count: 5000, model: 'sc:x'}", 1, '"count" has to be at most 1000.'),
    ("agents:\n- {count: 600, model: 'sc:x'}\n- {count: 600, model: 'sc:x'}", 3, "at most 1000 agents"),
    ("agents:\n  count: 2\n", 1, 'either "model" or "models"'),
    ("agents: {count: 2, model: 'sc:x', models: ['sc:x']}", 1, 'either "model" or "models"'),
    ("agents: {count: 2, model: 'sc:x', models: []}", 1, '"models" is empty.'),
    ("agents: {count: 2, model: 'sc:x',\n names: [a]}", 2, 'A group of 2 agents has 1 "names".'),
    ("agents: {count: 2, model: 'sc:x',\n names: [a, a]}", 2, 'two agents called "a"'),
    ("agents: {count: 2, model: 'sc:x', style: exact}", 1, 'Did you mean "styles"?'),
    ("agents: {count: 2, model: 'sc:x',\n styles: [exact, no]}", 2, 'no reasoning style "no"'),
    # models
    ("models:\n  m: {}\nagents: []", 2, '"use" is missing in a model.'),
    ("models:\n  m: 7\nagents: []", 2, "A model has to be a mapping"),
    ("models:\n  m: {use: 'openai:x'}\nagents: []", 2, "No server is named for this model."),
    ("models:\n  m: {use: 'openai:x@http://h/v1',\n url: 'http://h'}\nagents: []", 3, "stands in the reference too"),
    ("models:\n  m: {use: 'openai:'}\nagents: []", 2, "names no model"),
    ("models:\n  m:\n    use: 'scripted:x'\n    dleay_s: 1\nagents: []", 4, 'Did you mean "delay_s"?'),
    (
        "models:\n  m:\n    use: 'scripted:x'\n    limit: 1\nagents: []",
        4,
        'no key "limit" in a model of the back end scripted',
    ),
    ("models:\n  m:\n    use: 'scripted:x'\n    seed: x\nagents: []", 4, '"seed" has to be int, not str.'),
    ("models:\n  m:\n    use: 'scripted:x'\n    tokenizer: x\nagents: []", 2, "There is no tokenizer 'x'."),
    ("models:\n  m:\n    use: 'llama:x'\n    threads: many\nagents: []", 4, '"threads" has to be int, not str.'),
    ("models:\n  m:\n    use: 'http://h/a'\n    limit: 0\nagents: []", 4, '"limit" has to be at least 1.'),
    ("models:\n  m:\n    use: 'http://h/a'\n    url: 'http://b'\nagents: []", 4, 'There is no key "url"'),
    ("models:\n  m:\n    use: 'http://h/a'\n    limit: 1\n    concurrency: 2\nagents: []", 5, "say the same thing"),
    ("models:\n  m:\n    use: 'sc:x'\n    prices: {in: 1}\nagents: []", 4, '"out" is missing in prices.'),
    ("models:\n  m:\n    use: 'sc:x'\n    prices: {in: -1, out: 1}\nagents: []", 4, '"in" has to be at least 0.'),
    ("models:\n  m:\n    use: 'sc:x'\n    prices:\n      ouut: 1\nagents: []", 5, 'Did you mean "out"?'),
    (f"models:\n  a: {EUROS}\n  b: {DOLLARS}\nagents: []", 3, "in USD here and in EUR for the model a."),
    (
        "models:\n  m:\n    use: 'scripted:x'\n    price_in: 1\n    prices: {in: 1, out: 1}\nagents: []",
        4,
        "say the same thing",
    ),
    (
        "models:\n  m:\n    use: 'openai:x@http://h/v1'\n    server: vlm\nagents: []",
        4,
        "\"server\" cannot be 'vlm'. Known are: openai, vllm",
    ),
    # tools
    ("tools:\n  t: {}\nagents: []", 2, "A tool has exactly one of python, command, mcp, builtin; this has none."),
    ("tools:\n  t: {command: [a], python: 'a:b'}\nagents: []", 2, "this has python and command."),
    ("tools:\n  t: {command: a b}\nagents: []", 2, '"command" has to be a list.'),
    ("tools:\n  t: {command: []}\nagents: []", 2, '"command" is empty.'),
    ("tools:\n  t: {command: ['{x}']}\nagents: []", 2, "does not begin with a program"),
    (
        "tools:\n  t:\n    python: math:sqroot\nagents: []",
        2,
        "The function math:sqroot cannot be loaded: AttributeError",
    ),
    ("tools:\n  t:\n    python: math.sqrt\nagents: []", 2, "does not name a function"),
    ("tools:\n  t:\n    python: math:pi\nagents: []", 2, "math:pi is no function."),
    ("tools:\n  t:\n    python: no_such.py:f\nagents: []", 2, "cannot be loaded: FileNotFoundError"),
    ("tools:\n  t:\n    builtin: calculater\nagents: []", 3, 'Did you mean "calculator"?'),
    ("tools:\n  t:\n    mcp: {comand: [x]}\nagents: []", 3, 'Did you mean "command"?'),
    ("tools:\n  t:\n    mcp: {command: [x]}\n    parameters: {}\nagents: []", 4, "does not fit a tool of the kind mcp"),
    ("tools:\n  a.b: {command: [x]}\nagents: []", 2, "This cannot be the name of a tool."),
    # budget
    ("agents: {count: 2,\n models: ['sc:x',\n  locl]}", 3, 'There is no model "locl"'),
    (f"agents: [{AGENT}]\nbudget:\n  tokens: -1\n", 3, '"tokens" has to be at least 0.'),
    (f"agents: [{AGENT}]\nbudget:\n  tokns: 1\n", 3, 'Did you mean "tokens"?'),
    (f"agents: [{AGENT}]\nbudget:\n  money: 2\n", 3, 'nobody knows what the model "sc:x" costs'),
    (f"agents: [{AGENT}]\nbudget: 5\n", 2, '"budget" has to be a mapping'),
    ("agents:\n- name: ada\n  model: 'sc:x'\n  budget:\n    calls: -1\n", 5, '"calls" has to be at least 0.'),
    ("agents:\n- name: ada\n  model: 'sc:x'\n  budget:\n    seconds: 5\n", 5, 'no key "seconds" in the budget of an'),
    ("agents:\n- name: ada\n  model: 'sc:x'\n  budget:\n    money: 5\n", 5, 'nobody knows what the model "sc:x" costs'),
]


@pytest.mark.parametrize(("text", "line", "told"), WRONG)
def test_what_is_wrong_is_told_with_its_line(text: str, line: int, told: str) -> None:
    with pytest.raises(SpecError) as caught:
        read(text)
    assert told in str(caught.value)
    assert caught.value.line == line
    assert str(caught.value).startswith(f"panel.yaml:{line}: " if line else "panel.yaml: ")
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 600


KEY = "sk-canary0123456789abcdef"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (f"models:\n  m:\n    use: 'sc:x'\n    api_key: {KEY}\nagents: []", 4),
        ("models:\n  m:\n    use: 'sc:x'\n    token: 12345678\nagents: []", 4),
        (f"models:\n  m:\n    use: 'sc:x'\n    api_key_env: {KEY}\nagents: []", 4),
        ("models:\n  m:\n    use: 'sc:x'\n    api_key_env: not-a-name!\nagents: []", 4),
        (f"models:\n  m:\n    use: 'sc:x'\n    extra:\n      Authorization: Bearer {KEY}\nagents: []", 5),
        ("models:\n  m:\n    use: 'openai:x'\n    url: 'https://me:canary@host/v1'\nagents: []", 4),
        ("models:\n  m:\n    use: 'openai:x@https://me:canary@host/v1'\nagents: []", 3),
        (f"agents:\n- name: ada\n  model: 'sc:x'\n  persona: {KEY}\n", 4),
        (f"agents:\n- name: {KEY}\n  nmae: x\n", 2),
        (f"tools:\n  t:\n    command:\n    - curl\n    - {KEY}\nagents: []", 5),
    ],
)
def test_a_key_in_a_panel_file_is_refused_and_not_shown(text: str, line: int) -> None:
    with pytest.raises(SpecError) as caught:
        read(text)
    assert caught.value.line == line
    assert "api_key_env: NAME" in caught.value.next_step
    assert "canary" not in str(caught.value)
    assert "not-a-name" not in str(caught.value)


def test_words_that_only_look_like_secrets_are_fine() -> None:
    panel = read(
        "tools:\n  look: {command: [look, '{key}', '{token}']}\n"
        "agents:\n- {name: token, model: 'sc:x', max_tokens: 5, tools: [look], persona: 'You keep the key at a@b.'}\n"
        "budget: {tokens: 5}"
    )
    assert panel.seat("token").tools[0].name == "look"


def test_yaml_11_surprises_are_texts() -> None:
    panel = read("agents: [{name: no, model: 'sc:x', language: no, persona: 2024-01-01}]")
    assert panel.seat("no").system == "2024-01-01\nAnswer in Norwegian."


@pytest.mark.parametrize("number", ["010", "-007", "00", "0_7"])
def test_a_number_that_two_versions_of_yaml_read_differently_is_refused(number: str) -> None:
    with pytest.raises(SpecError, match="read in two ways") as caught:
        parse_spec(f"a: 1\nb: {number}\n", "case.yaml", "case file")
    assert caught.value.line == 2
    plain = "{a: 0, b: 10, c: '010', d: 0.5, e: 0x0A}"
    assert parse_spec(plain, "case.yaml", "case file").data == {"a": 0, "b": 10, "c": "010", "d": 0.5, "e": 10}


@pytest.mark.parametrize(
    ("content", "line", "told"),
    [
        (b"agents: []\n# caf\xe9\n", 2, "The file is not UTF-8. Save it as UTF-8."),
        (b"\xff\xfe" + "agents: []".encode("utf-16-le"), 1, "The file is not UTF-8."),
        (b"a: 1\n" * 2_000_000, 0, "The file is larger than 4 MB"),
    ],
)
def test_files_that_are_no_texts(tmp_path: Path, content: bytes, line: int, told: str) -> None:
    path = tmp_path / "panel.yaml"
    path.write_bytes(content)
    with pytest.raises(SpecError, match=r"panel\.yaml") as caught:
        load_panel(path)
    assert told in str(caught.value)
    assert caught.value.line == line


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="cannot be read: No such file"):
        load_panel(tmp_path / "none.yaml")
    with pytest.raises(SpecError, match="cannot be read: Is a directory"):
        load_panel(tmp_path)
    os.mkfifo(tmp_path / "pipe.yaml")
    with pytest.raises(SpecError, match="a pipe"):
        load_panel(tmp_path / "pipe.yaml")


def test_a_byte_order_mark_is_no_problem(tmp_path: Path) -> None:
    path = tmp_path / "panel.yaml"
    path.write_bytes(b"\xef\xbb\xbfagents: {count: 1, model: 'sc:x'}\r\n")
    assert len(load_panel(path).seats) == 1


def test_a_bomb_of_aliases_is_refused() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    with pytest.raises(SpecError, match="holds more than 50000 values"):
        read("\n".join(lines))


def test_ordinary_aliases_are_allowed() -> None:
    panel = read("agents:\n- {name: a, model: &m 'sc:x', persona: &p Hi}\n- {name: b, model: *m, persona: *p}\n")
    assert panel.seat("b").system == "Hi"


def test_relative_tools_are_looked_for_beside_the_file(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("def double(n: int) -> int:\n    'Doubles.'\n    return 2 * n\n")
    (tmp_path / "p.yaml").write_text(
        "tools: {double: {python: 'mine.py:double'}}\nagents: [{name: a, model: 'sc:x', tools: [double]}]"
    )
    panel = load_panel(tmp_path / "p.yaml")
    assert panel.seat("a").tools[0].description == "Doubles."
    assert panel.folder == tmp_path


SCALARS = st.none() | st.booleans() | st.integers(-3, 10**6) | st.floats() | st.text(max_size=8) | st.just("calculator")
DATA = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=5,
)


def places(data: Any, here: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    parts = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    return [place for key, inner in parts for place in [(*here, key), *places(inner, (*here, key))]]


BASE: Any = yaml.safe_load(FULL)
PLACES = places(BASE)


@given(st.lists(st.tuples(st.sampled_from(PLACES), DATA, st.booleans()), min_size=1, max_size=3))
def test_any_damage_to_a_file_gives_a_panel_or_one_clear_error(damage: list[tuple[tuple[Any, ...], Any, bool]]) -> None:
    data = copy.deepcopy(BASE)
    for place, value, remove in damage:
        *above, last = place
        try:
            inner = data
            for key in above:
                inner = inner[key]
            if remove:
                del inner[last]
            else:
                inner[last] = value
        except (KeyError, IndexError, TypeError):
            continue
    read_or_refuse(yaml.safe_dump(data, allow_unicode=True))


@given(st.text() | st.text(alphabet="agents: []{}&*!|>-'\"\n?#%@`", max_size=60))
def test_any_text_gives_a_panel_or_one_clear_error(text: str) -> None:
    read_or_refuse(text)


def read_or_refuse(text: str) -> None:
    try:
        outcome: Panel | SpecError = read(text)
    except SpecError as error:
        outcome = error
    if isinstance(outcome, SpecError):
        assert outcome.path == "panel.yaml"
        assert "\n" not in str(outcome)
    else:
        assert panel_from_data(json.loads(json.dumps(outcome.to_data(), allow_nan=False))) == outcome
