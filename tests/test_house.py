"""The rules of the house that no linter knows."""

from __future__ import annotations

import importlib
import json
import pkgutil
import re
import socket
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import dissensus
from dissensus import errors

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "dissensus"
FOLDERS = ("benchmarks", "changelog.d", "docs", "examples", "requirements", "src", "tests", "tools")
HEAVY = ("anyio", "asyncio", "httpx2", "multiprocessing", "numpy", "pydantic", "rich", "scipy", "xllamacpp", "yaml")
LONG_FOR_A_REASON: dict[str, str] = {}
"""Source file over 400 lines, from src/dissensus on, to why it stays whole."""


def packages() -> list[Path]:
    return sorted(init.parent for init in SOURCE.rglob("__init__.py"))


def own_files() -> Iterator[Path]:
    for path in sorted([*ROOT.glob("*"), ROOT / ".ci" / "run", *(p for f in FOLDERS for p in (ROOT / f).rglob("*"))]):
        left_behind = {"__pycache__", ".hypothesis"} & set(path.parts)
        if path.is_file() and not left_behind and path.suffix not in {".db", ".pyc"}:
            yield path


# --- what is public


def test_public_names_are_exactly_the_documented_ones() -> None:
    documented = re.findall(r"^- `(\w+)`", (ROOT / "docs" / "api.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert documented, "docs/api.md names nothing"
    assert sorted(documented) == sorted(dissensus.__all__)
    for name in documented:
        assert hasattr(dissensus, name), name


def test_every_documented_name_says_what_it_is() -> None:
    silent = [name for name in dissensus.__all__ if callable(thing := getattr(dissensus, name)) and not thing.__doc__]
    assert not silent


# --- how it is laid out


@pytest.mark.parametrize("package", packages(), ids=lambda path: path.name)
def test_every_package_has_a_readme(package: Path) -> None:
    if package == SOURCE:
        return  # its README is the repository's
    readme = package / "README.md"
    assert readme.is_file()
    named = set(re.findall(r"`(\w+\.py)`", readme.read_text(encoding="utf-8")))
    missing = {name for name in named if not list(SOURCE.rglob(name))}
    assert not missing, f"{readme.relative_to(ROOT)} names files that do not exist"


def test_a_source_file_is_one_idea() -> None:
    long = {
        str(path.relative_to(SOURCE)): lines
        for path in SOURCE.rglob("*.py")
        if (lines := path.read_text(encoding="utf-8").count("\n")) > 400
    }
    assert long.keys() == LONG_FOR_A_REASON.keys()


@pytest.mark.parametrize(
    ("what", "pattern"),
    [
        ("a path of one machine", r"(?<![\w.~$}*-])/" + r"(?:work|root|home|tmp)/"),
        ("work that was left undone", r"\b(?:TO" + r"DO|FIX" + r"ME|XX" + r"X)\b"),
        ("a stub", "NotImplemented" + "Error"),
        ("the address of a package index", r"py" + r"pi\.org|python" + r"hosted\."),
    ],
)
def test_no_file_holds(what: str, pattern: str) -> None:
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()[:100]}"
        for path in own_files()
        if path.name != "LICENSE"
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1)
        if re.search(pattern, line)
    ]
    assert not found, what


# --- errors


def all_errors() -> list[type[errors.DissensusError]]:
    for module in pkgutil.walk_packages(dissensus.__path__, "dissensus."):
        importlib.import_module(module.name)
    found: list[type[errors.DissensusError]] = [errors.DissensusError]
    for cls in found:
        found.extend(cls.__subclasses__())
    return found


def test_every_error_has_a_code_of_its_own() -> None:
    codes = Counter(cls.code for cls in all_errors())
    assert [code for code, times in codes.items() if times > 1] == []


def test_the_drawing_of_errors_is_the_hierarchy() -> None:
    drawn: dict[str, str] = {}
    line_of_parents: list[str] = []
    for line in (errors.__doc__ or "").splitlines():
        match = re.match(r"^    ([│ ├└─]*)([A-Z]\w+)\b", line)
        if not match:
            continue
        depth, name = len(match[1]) // 4, match[2]
        line_of_parents[depth:] = [name]
        drawn[name] = line_of_parents[depth - 1] if depth else ""
    real = {cls.__name__: cls.__base__.__name__ if cls.__base__ else "" for cls in all_errors()}
    real["DissensusError"] = ""
    assert drawn == real


def test_exit_statuses_are_those_of_the_manual() -> None:
    assert {cls.exit_code for cls in all_errors()} == {2, 3, 4}
    assert all(issubclass(cls, errors.UsageError) == (cls.exit_code == 2) for cls in all_errors())
    assert all(issubclass(cls, errors.RecordError) == (cls.exit_code == 4) for cls in all_errors())


# --- light commands stay light


def modules_after(code: str) -> set[str]:
    script = f"import contextlib, io, json, sys\nwith contextlib.redirect_stdout(io.StringIO()):\n    {code}\n"
    script += "print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    return set(json.loads(done.stdout))


@pytest.mark.parametrize(
    "code",
    ["import dissensus", "from dissensus.cli.main import main; main(['--help'], standalone_mode=False)"],
    ids=["import", "help"],
)
def test_nothing_heavy_is_imported_for(code: str) -> None:
    assert modules_after(code).isdisjoint(HEAVY)


# --- lock files


def locked(name: str) -> dict[str, list[str]]:
    """Package to its locked requirement lines; each is checked for hashes."""
    found: dict[str, list[str]] = {}
    text = (ROOT / "requirements" / f"{name}.txt").read_text(encoding="utf-8")
    assert "://" not in text
    assert "--index" not in text
    for entry in re.split(r"\n(?=\w)", re.sub(r"^#.*\n", "", text, flags=re.MULTILINE)):
        requirement, *hashes = entry.strip().split(" \\\n")
        assert hashes, requirement
        assert all(re.fullmatch(r"\s+--hash=sha256:[0-9a-f]{64}", line) for line in hashes), requirement
        assert re.match(r"[\w.-]+==", requirement), requirement
        found.setdefault(canonicalize_name(re.split(r"[=\[]", requirement)[0]), []).append(requirement)
    return found


@pytest.mark.parametrize(
    ("lock", "extras"), [("run", ["local"]), ("dev", ["local", "mcp", "dev"]), ("bench", ["bench"])]
)
def test_lock_files_hold_what_is_asked_for(lock: str, extras: list[str]) -> None:
    spec = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    asked = [*spec["project"]["dependencies"], *spec["build-system"]["requires"]]
    for extra in extras:
        asked += spec["project"]["optional-dependencies"][extra]
    have = locked(lock)
    for requirement in map(Requirement, asked):
        lines = have.get(canonicalize_name(requirement.name), [])
        assert lines, f"{requirement} is not in requirements/{lock}.txt: run make lock"
        for line in lines:
            version = str(Requirement(line).specifier).removeprefix("==")
            assert requirement.specifier.contains(version, prereleases=True), f"{line} against {requirement}"


def versions(lines: list[str]) -> list[str]:
    return [line.split(";")[0].strip() for line in lines]  # a marker may be wider in a larger set


def test_small_locks_are_part_of_the_large_ones() -> None:
    run, dev, bench = locked("run"), locked("dev"), locked("bench")
    for small, large in ((run, dev), (dev, bench)):
        for name, lines in small.items():
            assert versions(lines) == versions(large[name])


# --- the guard that tests run under


def test_tests_cannot_leave_this_machine(attempts_to_leave: list[str]) -> None:
    with pytest.raises(OSError, match="stay on this machine"):
        socket.create_connection(("192.0.2.1", 80), timeout=1)  # an address that is reserved for documentation
    with pytest.raises(OSError, match="stay on this machine"):
        socket.getaddrinfo("dissensus.invalid", 443)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams, pytest.raises(OSError, match="stay on this"):
        datagrams.sendto(b"x", ("192.0.2.1", 53))
    assert [attempt.split()[0] for attempt in attempts_to_leave] == [
        "socket.getaddrinfo",  # create_connection looks even a numeric address up first
        "socket.getaddrinfo",
        "socket.sendto",
    ]
    attempts_to_leave.clear()
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as client:
        assert client.getpeername() == server.getsockname()
