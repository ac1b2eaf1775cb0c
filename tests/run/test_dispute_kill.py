"""``kill -9`` of a real dispute, fifty times: no step is done twice, no question lost, one answer taken, one verdict.

What ``dispute_lives.py`` looks for in each case is in its ``check``; it fails on the first that it does not find.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path


def test_fifty_kills(tmp_path: Path) -> None:
    here = Path(__file__).parent
    done = subprocess.run(
        [sys.executable, str(here / "dispute_lives.py"), str(tmp_path), "50", "1"],
        capture_output=True, text=True, timeout=240, check=False, cwd=here,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["kills"] >= 50
    assert found["cases"] >= 10
    assert found["places"] >= 10, "deaths with so many different numbers of events on the record"
    assert found["requests"] >= 5 * found["cases"], "an author once, a verifier four times"
