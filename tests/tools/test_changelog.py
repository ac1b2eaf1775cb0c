from __future__ import annotations

from pathlib import Path

import changelog
import pytest


def test_notes_become_a_release_on_top_of_the_others(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("not a note")
    (tmp_path / "b.added.md").write_text("One\nthing.\n")
    (tmp_path / "a.added.md").write_text("Another.")
    (tmp_path / "c.fixed.md").write_text("A fault.")
    text = changelog.section("2.0", changelog.notes(tmp_path))
    assert text == "## 2.0\n\n### Added\n\n- Another.\n- One thing.\n\n### Fixed\n\n- A fault.\n"
    page = changelog.release(f"# Changes\n\n{changelog.MARK}\n## 1.0\n", text)
    assert page.index("## 2.0") < page.index("## 1.0")
    assert page.count(changelog.MARK) == 1


@pytest.mark.parametrize("name", ["note.md", "note.invented.md"])
def test_a_note_without_a_kind_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("Something.")
    with pytest.raises(ValueError, match="name it WHAT"):
        changelog.notes(tmp_path)


def test_a_page_without_its_mark_is_refused() -> None:
    with pytest.raises(ValueError, match="has lost the line"):
        changelog.release("# Changes\n", "## 1.0\n")


def test_the_notes_of_this_repository_can_be_released() -> None:
    found = changelog.notes(changelog.ROOT / "changelog.d")
    page = (changelog.ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert "## next" in changelog.release(page, changelog.section("next", found))
