"""Every example runs as it is, alone, in an empty folder, under the guard that keeps tests on this machine."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).resolve().parent.parent / "examples").glob("*.py"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_runs(
    example: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", [str(example)])
    status: object = 0
    try:
        runpy.run_path(str(example), run_name="__main__")
    except SystemExit as end:
        status = end.code or 0
    assert status == 0
    assert capsys.readouterr().out.strip(), "an example shows something"
