"""``kill -9`` at random moments: nothing acknowledged is lost, nothing that had an outcome is done again."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path


def test_two_hundred_kills(tmp_path: Path) -> None:
    here = Path(__file__).parent
    done = subprocess.run(
        [sys.executable, str(here / "killer.py"), str(tmp_path), "200", "1"],
        capture_output=True, text=True, timeout=240, check=False, cwd=here,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["kills"] >= 200
    assert found["runs"] >= 10
    assert [found.get(name, 0) for name in ("lost", "repeated", "broken chains", "other decisions")] == [0, 0, 0, 0]
    assert found["answers"] == 1
