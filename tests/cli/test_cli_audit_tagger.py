"""``dissensus audit --tagger`` and ``--patterns`` through the real command: what is counted, said and refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from dissensus.cli.main import main

TALK = ("Could you draw the figures?", "By noon.", "Lovely weather.")
TAGS = [
    {"n": 1, "act": "request", "confidence": 0.9},
    {"n": 2, "act": "agree", "confidence": 0.6},
    {"n": 3, "act": "none", "confidence": 1},
]
MODEL = f"scripted:{json.dumps(TAGS)}"


@pytest.fixture
def talk(tmp_path: Path) -> str:
    return write(tmp_path, *({"content": text} for text in TALK))


def write(folder: Path, *lines: dict[str, Any]) -> str:
    path = folder / "log.jsonl"
    pairs = (("ada", "ben"), ("ben", "ada"))
    rows = [
        {"id": str(at + 1), "sender": pairs[at % 2][0], "receivers": [pairs[at % 2][1]], **line}
        for at, line in enumerate(lines)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["audit", *arguments])


def test_the_report_says_which_model_tagged_how_many(talk: str) -> None:
    done = run(talk, "--tagger", MODEL)
    assert done.exit_code == 0, done.output
    assert done.stderr == ""
    assert done.stdout == (
        "said:1  OPEN        ben owes ada    agreed at #2, nothing since (no deadline)\n"
        "1 open commitment, 0 violations, 0 unanswered requests, 3 messages, 1 thread\n"
        "tagged 2 of 3: 2 by model\n"
        "model scripted: tagged 2 of 3 shown (1 no act), 1 call\n"
        "What this log cannot tell:\n"
        "- 1 of 3 messages carry no act: what they ask, promise or answer is not seen.\n"
        "- 2 acts are guesses of the model scripted: what such an act opens may not be owed, and what it closes may "
        "still be open.\n"
    )


def test_the_document_says_it_too(talk: str) -> None:
    told = json.loads(run(talk, "--tagger", MODEL, "--tagger-threshold", "0.7", "--json").stdout)
    assert told["tagged_by"] == {"model": 1}
    assert told["counts"]["tagged"] == 1
    tagger = told["tagger"]
    assert (tagger["model"], tagger["threshold"], tagger["shown"]) == ("scripted", 0.7, 3)
    assert (tagger["tagged"], tagger["unsure"], tagger["none"], tagger["failed_calls"]) == (1, 1, 1, 0)
    assert json.loads(run(talk, "--json").stdout)["tagger"] is None


def test_failed_calls_are_said_and_are_no_violation(talk: str) -> None:
    done = run(talk, "--tagger", "scripted:I would rather talk about the weather.")
    assert done.exit_code == 0
    assert "model scripted: tagged 0 of 0 shown, 1 call, 1 failed (1 unreadable), 3 not judged\n" in done.stdout
    assert "- 3 messages without an act could not be judged by the model scripted, because calls" in done.stdout


def test_violations_of_what_is_declared_still_decide_the_status(tmp_path: Path) -> None:
    path = write(tmp_path, {"content": TALK[0]}, {"act": "agree", "thread": "t"}, {"content": "Hm."})
    done = run(path, "--tagger", MODEL)
    assert done.exit_code == 1
    assert "violation #2" in done.stdout


def test_patterns_and_a_model_together(tmp_path: Path) -> None:
    path = write(tmp_path, {"content": "Please draw it."}, {"content": "By noon."}, {"content": "Thanks."})
    reply = '[{"n": 1, "act": "agree", "confidence": 0.9}, {"n": 2, "act": "none"}]'
    told = json.loads(run(path, "--patterns", "default", "--tagger", f"scripted:{reply}", "--json").stdout)
    assert told["tagged_by"] == {"model": 1, "pattern": 1}
    assert [(one["thread"], one["kind"], one["status"]) for one in told["obligations"]] == [
        ("said:1", "answer", "answered"), ("said:1", "performance", "pending"),
    ]  # fmt: skip


def test_patterns_see_what_the_log_declares(tmp_path: Path) -> None:
    path = write(tmp_path, {"act": "request", "thread": "f1"}, {"content": "I'll handle it, later."})
    done = run(path, "--patterns", "default")
    assert done.stdout.startswith("f1  OPEN        ben owes ada    agreed at #2")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--tagger", "no-such-model"], "no-such-model"),
        (["--tagger", "openai:big"], "names no server"),
        (["--tagger", "panel.yaml#judge"], "panel.yaml"),
        (["--tagger-threshold", "0.5"], "--tagger"),
        (["--tagger", "scripted:x", "--tagger-threshold", "1.5"], "1.5"),
        (["--patterns", "no-such-file.yaml"], "no-such-file.yaml"),
    ],
)
def test_what_cannot_be_is_an_error(talk: str, arguments: list[str], words: str) -> None:
    done = run(talk, *arguments)
    assert done.exit_code == 2, done.output
    assert done.stdout == ""
    assert words in done.stderr


def test_a_long_status_does_not_run_into_the_next_column(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        {"act": "request", "thread": "a"},
        {"act": "not-understood", "thread": "a"},
        {"act": "request", "thread": "b"},
        {"act": "refuse", "thread": "b"},
    )
    lines = run(path).stdout.splitlines()
    assert lines[:2] == ["a  not-understood  ben → ada", "b  refused         ben → ada"]
