"""``kill -9`` while texts are written in turns: nothing lost or done twice, no half turn, the same answer."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path


def test_twenty_kills(tmp_path: Path) -> None:
    """With verifiers that take steps back, an ear that listens and weights that decide."""
    here = Path(__file__).parent
    done = subprocess.run(
        [sys.executable, str(here / "killer.py"), str(tmp_path), "20", "1", "round-robin"],
        capture_output=True, text=True, timeout=240, check=False, cwd=here,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["kills"] >= 20
    assert [found.get(name, 0) for name in ("lost", "repeated", "broken chains", "other decisions")] == [0, 0, 0, 0]
    assert found["answers"] == 1
    answer, texts = json.loads(found["came"])
    assert answer in {"0", "1", "2"}
    assert all(text.endswith(f"Answer: {text[-2]}.") and turns > 5 for text, turns in texts)
