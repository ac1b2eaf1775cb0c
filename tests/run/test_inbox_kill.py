"""Whatever dies when: no question is lost or doubled, no answer is taken twice, and one of two at once is refused."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from asking import Asked, ask, command, delivery, question_in
from inbox_lives import Deaths, Killed, check, live, played

from dissensus.record.verify import verify
from dissensus.run import runs
from dissensus.run.inbox_letters import folder_of

HERE = Path(__file__).parent


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory where there is one: what is killed here is a process, and never the disk."""
    if not os.access("/dev/shm", os.W_OK):  # noqa: S108 - a folder of its own is made in it
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        yield Path(folder)


def lived(folder: Path, deaths: list[int]) -> int:
    """Live in ``folder``, die at these boundaries of the first lives, then live on; how many deaths there were."""
    folder.mkdir()
    died = 0
    for at in [*deaths, 0]:
        life = Deaths(at, played)
        try:
            with life.watching():
                live(folder)
        except Killed:
            died += 1
            continue
        break
    check(folder)
    return died


def test_a_death_at_every_boundary_loses_and_doubles_nothing(memory: Path) -> None:
    at, died = 0, 1
    while died:
        at += 1
        died = lived(memory / str(at), [at])
    assert at > 60  # before and after each append and commit of two runs, two answers, and what is handed on


def test_nor_do_several_deaths_in_a_row(memory: Path) -> None:
    luck = random.Random(5)  # noqa: S311 - the same in each run
    died = [lived(memory / str(number), [luck.randint(1, 60) for _ in range(4)]) for number in range(15)]
    assert sum(died) > 30


def test_nor_do_twenty_real_kills(memory: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(HERE / "inbox_lives.py"), str(memory), "20"],
        capture_output=True, text=True, timeout=240, check=False, cwd=HERE,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) >= 20, done.stdout


@pytest.mark.parametrize("number", range(3))
def test_of_two_answers_at_once_one_is_taken_and_both_are_on_the_record(tmp_path: Path, number: int) -> None:
    record = tmp_path / "a.db"
    ask(record, Asked(exhibits=delivery(tmp_path)))
    gate = tmp_path / "gate"
    both = []
    for who, choice in (("kim", "A"), ("lee", "B")):
        words = command("answer", record, choice, "--as", who, "--json", "--reason", str(number))
        wait = f"import os, time\nwhile not os.path.exists({str(gate)!r}): time.sleep(0.001)\n"
        words[2] = words[2].replace("; main()", f"\n{wait}main()")
        both.append(subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
    time.sleep(0.5)  # both at the gate; if one is late, they come one after the other, and the same has to hold
    gate.touch()
    told = [one.communicate(timeout=60) for one in both]
    assert sorted(one.returncode for one in both) == [0, 1], told
    documents = [json.loads(out) for out, _ in told]
    assert sorted(one["accepted"] for one in documents) == [False, True]
    assert {one["refused"] for one in documents} == {None, "answered"}
    question = question_in(record)
    assert sorted(one.accepted for one in question.answers) == [False, True]
    assert question.taken_up
    assert not folder_of(record).exists()
    assert verify(record).complete
    assert runs.replay(record).identical
