from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import step

ROOT = Path(__file__).resolve().parents[2]


def run_step(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "tools" / "step.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def test_time_and_growth_are_printed(tmp_path: Path) -> None:
    grow = f"open({str(tmp_path / 'file')!r}, 'wb').write(bytes(range(256)) * 20_000)"
    done = run_step("growing", "--grows", str(tmp_path), "--", sys.executable, "-c", grow)
    assert done.returncode == 0
    assert re.fullmatch(r"growing \.\.\.\ngrowing: \d+\.\d s, 5 MB\n", done.stdout)


def test_the_status_of_the_command_passes_through() -> None:
    done = run_step("failing", "--", sys.executable, "-c", "raise SystemExit(3)")
    assert done.returncode == 3
    assert done.stdout.endswith("(failed, exit status 3)\n")


def test_a_file_with_two_names_counts_once(tmp_path: Path) -> None:
    (tmp_path / "one").write_bytes(b"x" * 100_000)
    once = step.size_of(tmp_path)
    (tmp_path / "two").hardlink_to(tmp_path / "one")
    assert once >= 100_000
    assert step.size_of(tmp_path) == once
    assert step.size_of(tmp_path / "nowhere") == 0
