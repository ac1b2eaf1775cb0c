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
    try:
        runpy.run_path(str(example), run_name="__main__")
    except SystemExit as end:
        assert end.code in {None, 0}, example.name
    assert capsys.readouterr().out.strip(), "an example shows something"
