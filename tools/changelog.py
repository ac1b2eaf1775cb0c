"""Gathers the notes in changelog.d/ into CHANGELOG.md when a version is released.

python tools/changelog.py            prints what the next release would say
python tools/changelog.py --release  writes it under the version in pyproject.toml and removes the notes
"""

from __future__ import annotations

import datetime as dt
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
KINDS = {"added": "Added", "changed": "Changed", "fixed": "Fixed", "removed": "Removed"}
"""Kind of change, as in ``name.kind.md``, to its heading, in the order of the page."""
MARK = "<!-- releases follow, newest first -->\n"


def notes(folder: Path) -> dict[str, list[Path]]:
    """The notes in ``folder`` by kind, in order of name. Raises :class:`ValueError` for a name that says no kind."""
    found: dict[str, list[Path]] = {kind: [] for kind in KINDS}
    for path in sorted(folder.glob("*.md")):
        if path.name == "README.md":
            continue
        kind = path.suffixes[-2].removeprefix(".") if len(path.suffixes) > 1 else ""
        if kind not in KINDS:
            raise ValueError(f"{path.name}: name it WHAT.KIND.md, KIND one of {', '.join(KINDS)}")
        found[kind].append(path)
    return found


def section(title: str, found: dict[str, list[Path]]) -> str:
    """One release as it stands in the page."""
    parts = [f"## {title}\n"]
    for kind, paths in found.items():
        if paths:
            items = "".join(f"- {' '.join(path.read_text(encoding='utf-8').split())}\n" for path in paths)
            parts.append(f"### {KINDS[kind]}\n\n{items}")
    return "\n".join(parts)


def release(page: str, text: str) -> str:
    """``page`` with the release ``text`` on top of the others."""
    before, mark, after = page.partition(MARK)
    if not mark:
        raise ValueError("CHANGELOG.md has lost the line that releases follow")
    return f"{before}{mark}\n{text}{after}"


def main() -> int:
    """Print or release."""
    found = notes(ROOT / "changelog.d")
    if "--release" not in sys.argv[1:]:
        print(section("Next release", found), end="")
        return 0
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    page = ROOT / "CHANGELOG.md"
    today = dt.datetime.now(dt.UTC).date()
    page.write_text(release(page.read_text(encoding="utf-8"), section(f"{version} ({today})", found)), encoding="utf-8")
    for paths in found.values():
        for path in paths:
            path.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())
