"""The documentation is true: its code runs, its links lead somewhere, its generated pages are current."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from dissensus.cli.main import COMMANDS, HELP

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted(
    path
    for pattern in ("*.md", "docs/**/*.md", "src/**/README.md", "benchmarks/*.md", "examples/*.md", "changelog.d/*.md")
    for path in ROOT.glob(pattern)
)


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def code_of(page: Path) -> str:
    """All Python blocks of a page as one program, on the lines that they have in the page."""
    lines = page.read_text(encoding="utf-8").splitlines()
    inside = False
    for number, line in enumerate(lines):
        fence = line.strip()
        if fence.startswith("```"):
            inside = not inside and fence == "```python"
            lines[number] = ""
        elif not inside:
            lines[number] = ""
    return "\n".join(lines)


@pytest.mark.parametrize("page", [p for p in PAGES if "```python\n" in p.read_text(encoding="utf-8")], ids=name_of)
def test_code_on_a_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    exec(compile(code_of(page), str(page), "exec"), {"__name__": "__page__"})  # noqa: S102 - our own pages


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_of_a_page_lead_somewhere(page: Path) -> None:
    text = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    targets = [target.partition("#")[0] for target in re.findall(r"\]\(([^)\s]+)\)", text)]
    lost = [t for t in targets if t and ":" not in t and not (page.parent / t).exists()]
    assert not lost


def test_the_page_of_commands_is_current() -> None:
    script = [sys.executable, str(ROOT / "tools" / "cli_help.py")]
    done = subprocess.run(script, capture_output=True, text=True, check=True, timeout=60, cwd=ROOT)
    assert (ROOT / "docs" / "cli.md").read_text(encoding="utf-8") == done.stdout, "run make docs"


def test_the_page_of_log_formats_is_current() -> None:
    script = [sys.executable, str(ROOT / "tools" / "log_formats.py")]
    done = subprocess.run(script, capture_output=True, text=True, check=True, timeout=60, cwd=ROOT)
    assert (ROOT / "docs" / "log-formats.md").read_text(encoding="utf-8") == done.stdout, "run make docs"


def test_every_command_has_its_line_of_help() -> None:
    assert HELP.keys() == COMMANDS.keys()
