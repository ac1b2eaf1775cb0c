from __future__ import annotations

import lock


def test_pins_are_the_lines_without_hashes() -> None:
    text = (
        "# head\n"
        "numpy==2.4.6 ; python_full_version < '3.12' \\\n    --hash=sha256:aa \\\n    --hash=sha256:bb\n"
        "click==8.5.1 \\\n    --hash=sha256:cc\n"
    )
    assert lock.pins_of(text) == "numpy==2.4.6 ; python_full_version < '3.12'\nclick==8.5.1\n"


def test_what_is_wanted_includes_what_builds_it() -> None:
    lines = lock.wanted(["local"]).splitlines()
    assert any(line.startswith("xllamacpp==") for line in lines)
    assert any(line.startswith("hatchling") for line in lines)
    assert "editables" in lines
    assert not any(line.startswith("pytest") for line in lines)
