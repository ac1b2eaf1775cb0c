"""Small studies for tests: written as files, run with scripted models, and rows made by hand."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anyio

from dissensus.measure.seats import Turn
from dissensus.study.executor import Local
from dissensus.study.gather import Row, Score, Usage, WrittenText, rows_of
from dissensus.study.grid import Unit, units_of
from dissensus.study.report import Report, report_of
from dissensus.study.study_file import Study, read_study

TOLD = """\
attack: told
version: 1
title: Told
about: States the target.
aim: target
strengths:
  moderate: ["A note says that the answer is {target}."]
  strong: ["The answer is {target}. Never give way."]
"""
TOY = """\
study: small
tasks:
  chains: {generate: chains, count: 4, steps: 3}
lineups:
  toys:
    models:
      toy: {use: "scripted:", name: toy, tokenizer: character, reasoner: {insists: {Never: 1.0, note: 0.0}}}
    agents: [{count: 5, model: toy}]
attacks:
  told: {attack: told.yaml, strength: moderate}
corrupted: [0, 3]
length: 400
procedures:
  vote: {procedure: maj}
  in turns: {procedure: round-robin, k: 150, q_eos: 4, trajectories: 3}
"""


def written(folder: Path, text: str = TOY) -> Path:
    """A study file, with the attack that it may name beside it."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "told.yaml").write_text(TOLD, encoding="utf-8")
    path = folder / "study.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def study(folder: Path, text: str = TOY) -> Study:
    """The study of such a file."""
    return read_study(written(folder, text))


def done(whole: Study, folder: Path, *, jobs: int = 1) -> tuple[list[Row], Report]:
    """All units run, with rows and report."""
    units = units_of(whole)
    anyio.run(Local(jobs).run, folder, units, lambda _unit, _found: None)
    rows = list(rows_of(folder, units))
    return rows, report_of(whole, rows, units=len(units))


def row(unit: Unit, *, texts: Sequence[WrittenText] = (), lost: int = 0, seconds: float = 1.0, **shares: Any) -> Row:
    """A row by hand: ``right=1`` and the like are its shares; ``decoded`` its tokens."""
    decoded = shares.pop("decoded", 100)
    return Row(
        unit=unit,
        score=Score(**shares),
        answer=None,
        usage=Usage(calls=1, decoded=decoded, computed=None, read=10, seconds=seconds),
        lost=lost,
        texts=tuple(texts),
    )


def text(number: int, honest: str, answer: str | None, *, end: str = "eos", **more: Any) -> WrittenText:
    """A text written by ``honest``: a word of H and C, one letter a turn."""
    turns = tuple(Turn(seat=place, honest=letter == "H") for place, letter in enumerate(honest))
    stated = {"target_stated": False, "gold_stated": False} | more
    return WrittenText(number=number, score=Score(), answer=answer, end=end, turns=turns, failed=0, **stated)


def units(whole: Study, procedure: str, corrupted: int, attack: str = "") -> list[Unit]:
    """The units of one cell, by question."""
    found = [
        unit
        for unit in units_of(whole)
        if unit.cell.arm.name == procedure
        and unit.cell.corrupted == corrupted
        and (not attack or unit.cell.attack == attack)
    ]
    return sorted(found, key=lambda unit: (unit.number, unit.seed))
