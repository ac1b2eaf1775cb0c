from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from dissensus.agents import llama_cores
from dissensus.agents.llama_cores import busy_cores, idle_cores, physical_cores


def system(folder: Path, siblings: dict[int, str], quota: str = "") -> Path:
    for cpu, text in siblings.items():
        topology = folder / f"devices/system/cpu/cpu{cpu}/topology"
        topology.mkdir(parents=True)
        (topology / "thread_siblings_list").write_text(text + "\n")
    if quota:
        (folder / "fs/cgroup").mkdir(parents=True)
        (folder / "fs/cgroup/cpu.max").write_text(quota + "\n")
    return folder


@pytest.mark.parametrize(
    ("mine", "siblings", "quota", "cores"),  # CPUs of this process, hyper-threads of a core, limit of the container
    [
        ({0, 1, 2, 3}, {0: "0,2", 1: "1,3", 2: "0,2", 3: "1,3"}, "", 2),
        ({0, 2}, {0: "0,2", 1: "1,3", 2: "0,2", 3: "1,3"}, "", 1),
        ({0, 1, 2, 3}, {}, "", 4),
        ({0, 1, 2, 3}, {}, "250000 100000", 2),
        ({0, 1, 2, 3}, {}, "50000 100000", 1),
        ({0, 1, 2, 3}, {}, "max 100000", 4),
        ({0, 1, 2, 3}, {}, "nonsense", 4),
    ],
)
def test_cores_that_are_there(tmp_path: Path, mine: set[int], siblings: dict[int, str], quota: str, cores: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "sched_getaffinity", lambda _pid: mine, raising=False)
        assert physical_cores(system(tmp_path, siblings, quota)) == cores


def test_cores_that_are_busy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stat = tmp_path / "stat"
    stat.write_text("cpu  100 0 50 800 50 0 0 0 0 0\ncpu0 1 1 1 1\n")
    # 200 ticks later, of which 150 were idle or waited for a disk
    monkeypatch.setattr(time, "sleep", lambda _s: stat.write_text("cpu  130 0 70 900 100 0 0 0 0 0\ncpu0 1 1 1 1\n"))
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    assert busy_cores(stat) == pytest.approx(8 * 0.25)


@pytest.mark.parametrize("content", [None, "", "cpu", "cpu a b c d", "cpu  1 1 1 1 1 1 1 1 1 1"])
def test_a_system_that_does_not_tell_is_idle(tmp_path: Path, content: str | None) -> None:
    stat = tmp_path / "stat"
    if content is not None:
        stat.write_text(content)
    assert busy_cores(stat, over_s=0) == 0


def test_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(llama_cores, "physical_cores", lambda: 4)
    monkeypatch.setattr(llama_cores, "busy_cores", lambda: 1.4)
    assert idle_cores() == 3
    monkeypatch.setattr(llama_cores, "busy_cores", lambda: 9.0)
    assert idle_cores() == 1
    monkeypatch.setenv("DISSENSUS_LLAMA_THREADS", "7")
    assert idle_cores() == 7
    for wrong in ("0", "-2", "many", ""):
        monkeypatch.setenv("DISSENSUS_LLAMA_THREADS", wrong)
        assert idle_cores() == 1
