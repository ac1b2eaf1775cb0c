"""Tables for tests: the small oracle of the definitions, random ones, and the sets of the reference data."""

from __future__ import annotations

import csv
import json
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st

from dissensus.measure.table import VoteTable, table_of

ORACLE_ROWS = ("AAA", "BAA", "CC-", "DBB", "ABC", "AAA", "---", "DDD")
ORACLE_GOLD = "ABCDABCD"

GSM_NINE = (
    "claude-3-5-sonnet-20240620", "gpt-4o-2024-08-06", "Llama-3.1-405B-Instruct-Turbo", "Mistral-Large-2",
    "gemini-1.5-pro", "deepseek-v2.5-0908", "Qwen2-72B-Instruct", "yi-large", "reka-core-20240501",
)  # fmt: skip
HOSTS = (
    "Llama-3.1-405B-Inst@sambanova",
    "Llama-3.1-405B-Instruct-Turbo",
    "Meta-Llama-3.1-405B-Instruct@hyperbolic",
)
_NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?")


def oracle() -> VoteTable:
    """Eight questions, three voters, four options; ``-`` is a blank."""
    return spelled(ORACLE_ROWS, ORACLE_GOLD, voters=("x", "y", "z"), options=[4] * 8)


def spelled(rows: Any, gold: Any, **more: Any) -> VoteTable:
    """A table from strings of one-letter answers."""
    answers = [[None if cell == "-" else cell for cell in row] for row in rows]
    return table_of(answers, [None if key == "-" else key for key in gold], **more)


def random_table(
    rng: np.random.Generator,
    questions: int,
    voters: int,
    *,
    options: int = 4,
    accuracy: float = 0.6,
    blank: float = 0.05,
) -> VoteTable:
    """Voters that share what they find hard; option 0 is right, others are wrong."""
    hard = rng.normal(size=(questions, 1))
    skill = np.quantile(rng.normal(size=10_000), accuracy)
    right = 0.7 * hard + 0.7 * rng.normal(size=(questions, voters)) < skill
    lure = rng.integers(1, options, size=(questions, 1))
    wrong = np.where(rng.random((questions, voters)) < 0.4, lure, rng.integers(1, options, size=(questions, voters)))
    codes = np.where(right, 0, wrong).astype(np.int32)
    codes[rng.random(codes.shape) < blank] = -1
    return VoteTable(
        codes=codes,
        gold=np.zeros(questions, dtype=np.int32),
        voters=tuple(f"v{place}" for place in range(voters)),
        questions=[f"q{place}" for place in range(questions)],
        texts=[chr(65 + code) for code in range(options)],
        options=np.full(questions, options),
    )


@st.composite
def tables(draw: st.DrawFn, *, most_questions: int = 12, most_voters: int = 6) -> VoteTable:
    """Any small table: few answers, blanks, questions without a right answer."""
    questions = draw(st.integers(1, most_questions))
    voters = draw(st.integers(1, most_voters))
    cell = st.sampled_from(["A", "B", "C", None])
    answers = draw(st.lists(st.lists(cell, min_size=voters, max_size=voters), min_size=questions, max_size=questions))
    gold = draw(st.lists(st.sampled_from(["A", "B", "D", None]), min_size=questions, max_size=questions))
    return table_of(answers, gold, options=[4] * questions)


# --- the reference data: each as its README says


def mmlu_pro(shared: Path) -> VoteTable:
    text = (shared / "data/voting/mmlu-pro/answers.csv").read_text(encoding="utf-8")
    rows = list(csv.DictReader(text.splitlines()))
    voters = list(rows[0])[4:]

    def cell(row: dict[str, str], voter: str) -> str | None:
        letter = row[voter]
        return letter if letter and ord(letter) - 65 < int(row["n_options"]) else None

    return table_of(
        [[cell(row, voter) for voter in voters] for row in rows],
        [row["gold"] for row in rows],
        voters=voters,
        questions=[row["question_id"] for row in rows],
        options=[int(row["n_options"]) for row in rows],
        strata=[row["subject"] for row in rows],
    )


def rule_l(text: Any) -> str | None:
    """Rule L of the data's README: the last number, commas and dollars deleted, as an exact decimal."""
    if not isinstance(text, str):
        return None
    found = _NUMBER.findall(text.replace("$", ""))
    return str(Decimal(found[-1].replace(",", "")).normalize()) if found else None


def gsm(shared: Path, voters: tuple[str, ...] = ()) -> VoteTable:
    lines = (shared / "data/voting/zeroeval-gsm/raw_answers.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    voters = voters or tuple(sorted({name for row in rows for name in row["answers"]}))
    return table_of(
        [[rule_l(row["answers"].get(voter)) for voter in voters] for row in rows],
        [rule_l(row["gold"]) for row in rows],
        voters=voters,
        questions=[str(row["id"]) for row in rows],
    )


def ranked(shared: Path) -> VoteTable:
    lines = (shared / "data/voting/rankedvotingsc/votes.dedup.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    return table_of(
        [[None if ballot[0] == "invalid" else ballot[0] for ballot in row["resps"][:8]] for row in rows],
        [row["target"] for row in rows],
        options=[5] * len(rows),
    )


def judges(shared: Path) -> VoteTable:
    folder = shared / "data/voting/trajectory-judge"
    votes = [json.loads(line) for line in (folder / "verdicts.jsonl").read_text(encoding="utf-8").splitlines()]
    labels = [json.loads(line) for line in (folder / "labels.jsonl").read_text(encoding="utf-8").splitlines()]
    voters = sorted({vote["judge_id"] for vote in votes})
    said = {(vote["trajectory_id"], vote["judge_id"]): str(vote["faulty"]) for vote in votes}
    return table_of(
        [[said.get((label["trajectory_id"], voter)) for voter in voters] for label in labels],
        [str(label["faulty"]) for label in labels],
        voters=voters,
        options=[2] * len(labels),
    )


def game24(shared: Path, prompt: str) -> VoteTable:
    """Flags: each sample is right or wrong."""
    path = shared / f"data/voting/game24/gpt-4_0.7_naive_{prompt}_sample_100.jsonl"
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    flags = [
        [str(int(one["r"])) for one in row["infos"]] if "infos" in row else list(map(str, map(int, row["accs"])))
        for row in rows
    ]
    return table_of(flags, ["1"] * len(rows), options=[2] * len(rows))
