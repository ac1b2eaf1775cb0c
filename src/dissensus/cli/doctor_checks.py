"""What ``dissensus doctor`` looks at. Each check is a function that yields findings and raises nothing."""

from __future__ import annotations

import os
import platform
import re
import shutil
import sqlite3
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Final

from dissensus.errors import DissensusError

if TYPE_CHECKING:
    from dissensus.agents.catalogue import Entry

OK: Final = "ok"
MISSING: Final = "missing"
"""Not there, and not needed for everything."""
PROBLEM: Final = "problem"

_OLDEST_PYTHON = (3, 11)
_ROOM_BYTES = 1_500_000_000
"""What the demo's model takes while it is installed, and some records."""
_FOR_DEVELOPERS = {"dev", "bench"}
_WAL_BUG = ((3, 7, 0), (3, 51, 2))
"""First and last SQLite in which several writers can damage a database in WAL mode."""
_TELLING = re.compile(
    r"DISSENSUS_\w+|\w+_API_KEY|(?:https?|all|no)_proxy|SSL_CERT_(?:FILE|DIR)|REQUESTS_CA_BUNDLE|CURL_CA_BUNDLE"
    r"|PIP_(?:INDEX_URL|EXTRA_INDEX_URL|CONFIG_FILE|CERT)|UV_(?:INDEX_URL|DEFAULT_INDEX|INDEX)|XDG_CACHE_HOME|NO_COLOR",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the report: ``status`` is ``ok``, ``missing`` or ``problem``."""

    check: str
    status: str
    detail: str
    next_step: str = ""


def examine(*, deep: bool = False) -> list[Finding]:
    """Look at everything. ``deep`` also reads all of each model file and loads the smallest model."""
    return [
        *_python(),
        *_packages(),
        *_processor(),
        *_sqlite(),
        *_cache(),
        *_models(deep=deep),
        *_engine(deep=deep),
        *_cells(),
        *_environment(),
        *_terminal(),
    ]


def _python() -> Iterator[Finding]:
    version = platform.python_version()
    where = f"{platform.python_implementation()} {version} on {platform.system()} {platform.machine()}"
    if sys.version_info < _OLDEST_PYTHON:
        yield Finding("python", PROBLEM, where, "Install Python 3.11 or newer.")
    else:
        yield Finding("python", OK, where)


def _packages() -> Iterator[Finding]:
    """The product's version, the packages it needs, and those that its extras need."""
    try:
        own = metadata.distribution("dissensus")
    except metadata.PackageNotFoundError:
        yield Finding(
            "packages", PROBLEM, "dissensus itself is not installed", "Install it with: pip install dissensus"
        )
        return
    groups: dict[str, list[str]] = {}
    for requirement in own.requires or []:
        named = re.search(r"extra\s*==\s*['\"]([\w-]+)['\"]", requirement)
        groups.setdefault(named[1] if named else "", []).append(requirement.partition(";")[0].strip())
    for extra, requirements in groups.items():
        if extra in _FOR_DEVELOPERS:
            continue
        said = [_version(requirement) for requirement in requirements]
        wrong = [text for text, fits in said if fits is False]
        lacking = [text for text, fits in said if fits is None]
        command = f"pip install 'dissensus[{extra}]'" if extra else "pip install --upgrade dissensus"
        check = f"extra {extra}" if extra else "packages"
        detail = ", ".join(text for text, _ in said)
        if wrong or (lacking and not extra):
            yield Finding(check, PROBLEM, ", ".join(wrong + lacking), f"Run: {command}")
        elif lacking:
            yield Finding(check, MISSING, detail, f"If you want it, run: {command}")
        else:
            yield Finding(check, OK, detail if extra else f"dissensus {own.version}, {detail}")


def _version(requirement: str) -> tuple[str, bool | None]:
    """``("name version", it fits)`` for a requirement such as ``name>=1.2`` or ``name==1.2``; None if not installed."""
    name, operator, wanted = re.fullmatch(r"([\w.-]+)(?:\[.*\])?\s*(?:(>=|==)\s*([\w.]+))?.*", requirement).groups()  # type: ignore[union-attr]
    try:
        have = metadata.version(name)
    except metadata.PackageNotFoundError:
        return f"{name} not installed", None
    fits = True
    if operator == "==":
        fits = have == wanted
    elif operator == ">=":
        fits = _numbers(have) >= _numbers(wanted)
    return f"{name} {have}" + ("" if fits else f" ({operator}{wanted} is needed)"), fits


def _numbers(version: str) -> tuple[int, ...]:
    """``"1.26.4rc1"`` as ``(1, 26, 4)``."""
    leading = re.match(r"\d+(?:\.\d+)*", version)
    return tuple(int(part) for part in leading[0].split(".")) if leading else ()


def _processor() -> Iterator[Finding]:
    from dissensus.agents.llama_cores import busy_cores, physical_cores

    cores, busy = physical_cores(), busy_cores()
    detail = f"{cores} physical cores for this process, {busy:.1f} busy now"
    yield Finding("processor", OK, detail)


def _sqlite() -> Iterator[Finding]:
    """Whether a database in WAL mode can be written and read."""
    version = sqlite3.sqlite_version
    try:
        with tempfile.TemporaryDirectory(prefix="dissensus-") as folder:
            path = Path(folder) / "doctor.db"
            with closing(sqlite3.connect(path)) as writer, closing(sqlite3.connect(path)) as reader:
                (mode,) = writer.execute("PRAGMA journal_mode = WAL").fetchone()
                writer.execute("CREATE TABLE t (x)")
                writer.execute("INSERT INTO t VALUES (1)")
                writer.commit()
                (count,) = reader.execute("SELECT count(*) FROM t").fetchone()
    except (OSError, sqlite3.Error) as error:
        yield Finding(
            "sqlite",
            PROBLEM,
            f"{version}: a record cannot be written ({error})",
            "Check the disk of the temporary folder.",
        )
        return
    if mode != "wal" or count != 1:
        yield Finding("sqlite", PROBLEM, f"{version}: WAL mode does not work", "Keep temporary files on a local disk.")
        return
    detail = f"{version}, WAL works"
    if _WAL_BUG[0] <= sqlite3.sqlite_version_info <= _WAL_BUG[1]:
        detail += "; with several writers this version can damage a database, so each record has one writer"
    yield Finding("sqlite", OK, detail)


def _cache() -> Iterator[Finding]:
    from dissensus.agents.catalogue import cache_dir

    folder = cache_dir()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
        free = shutil.disk_usage(folder).free
    except OSError as error:
        why = error.strerror or str(error)
        yield Finding(
            "cache", PROBLEM, f"{folder} cannot be written: {why}", "Name another place with DISSENSUS_CACHE."
        )
        return
    detail = f"{folder} can be written, {free / 1e9:,.1f} GB free"
    if free < _ROOM_BYTES:
        yield Finding("cache", PROBLEM, detail, "Free some space, or name another place with DISSENSUS_CACHE.")
    else:
        yield Finding("cache", OK, detail)


def _models(*, deep: bool) -> Iterator[Finding]:
    from dissensus.agents.catalogue import State, entries, path_of, state_of

    for entry in entries():
        check = "model"
        size = f"{entry.size / 1e6:,.0f} MB"
        match state_of(entry, deep=deep):
            case State.INSTALLED:
                looked = "SHA-256 is right" if deep else "size is right; --deep reads it all"
                yield Finding(check, OK, f"{entry.name}, {size}, {looked}")
            case State.ABSENT:
                yield Finding(check, MISSING, f"{entry.name}, {size}", f"Run: dissensus model install {entry.name}")
            case State.DAMAGED:
                detail = f"{entry.name}: {path_of(entry)} is not the file that was pinned"
                yield Finding(check, PROBLEM, detail, f"Run: dissensus model install {entry.name}")


def _engine(*, deep: bool) -> Iterator[Finding]:
    """Whether the embedded engine loads a model and keeps its promises; only if ``deep``, it takes seconds."""
    from dissensus.agents.catalogue import State, entries, state_of

    if not deep:
        yield Finding("engine", OK, "not tried; --deep loads the smallest model")
        return
    installed = [entry for entry in entries() if state_of(entry) is State.INSTALLED]
    if not installed:
        yield Finding("engine", MISSING, "no model to try it with", "Run: dissensus model install smollm2-135m")
        return
    smallest = min(installed, key=lambda entry: entry.size)
    try:
        yield _try_engine(smallest)
    except DissensusError as error:
        yield Finding("engine", MISSING, error.message, error.next_step)


def _try_engine(entry: Entry) -> Finding:
    import anyio

    from dissensus.agents.llama import load
    from dissensus.script.calls import Generate, Score, Turn
    from dissensus.script.outcomes import FAILURES, Reply, Scores

    model = load(entry.name, slots=1, context=256)
    turns = (Turn("user", "Say yes."),)

    async def try_it() -> tuple[object, object]:
        try:
            return (
                await model.generate(Generate(turns=turns, max_tokens=4, temperature=0)),
                await model.score(Score(turns=turns, continuations=("Yes, of course.",))),
            )
        finally:
            await model.close()

    reply, scores = anyio.run(try_it)
    for outcome in (reply, scores):
        if isinstance(outcome, FAILURES):
            problem = getattr(outcome, "problem", outcome.kind)
            return Finding("engine", PROBLEM, problem, "Run: pip install --force-reinstall 'dissensus[local]'")
    if isinstance(reply, Reply) and isinstance(scores, Scores) and scores.logprobs[0] < 0:
        return Finding("engine", OK, f"loads {entry.name}, answers and scores")
    return Finding(
        "engine",
        PROBLEM,
        f"{entry.name} gives no usable answer",
        "Run: pip install --force-reinstall 'dissensus[local]'",
    )


def _cells() -> Iterator[Finding]:
    """The level of cells that this machine reaches, tried and not guessed, and why not a higher one."""
    from dissensus.agents.cells.ladder import HELP, reach

    try:
        reached = reach()
    except DissensusError as error:
        yield Finding("cells", PROBLEM, error.message, error.next_step)
        return
    detail = f"{reached.level}: {reached.way.described()}"
    if reached.level == "unconfined":
        detail += "; programs of agents may do all that you may do"
    elif reached.not_enforced:
        detail += f"; not enforced: {', '.join(reached.not_enforced)}"
    if not reached.not_higher:
        yield Finding("cells", OK, detail)
        return
    why = "; ".join(f"not {level}, because {reason}" for level, reason in reached.not_higher)
    yield Finding("cells", MISSING, f"{detail}; {why}", HELP[reached.not_higher[-1][0]])


def _environment() -> Iterator[Finding]:
    """Which variables that matter are set. Their values are nobody's business."""
    names = sorted(name for name in os.environ if _TELLING.fullmatch(name))
    yield Finding("environment", OK, f"set: {', '.join(names)}" if names else "nothing that matters is set")


def _terminal() -> Iterator[Finding]:
    encoding = sys.stdout.encoding or "unknown"
    parts = [
        "stdout is a terminal" if sys.stdout.isatty() else "stdout is no terminal",
        "stderr is a terminal" if sys.stderr.isatty() else "stderr is no terminal (no progress bars)",
        f"{shutil.get_terminal_size().columns} columns",
        encoding,
    ]
    if encoding.lower().replace("-", "") != "utf8":
        yield Finding("terminal", PROBLEM, ", ".join(parts), "Set PYTHONUTF8=1, or a locale with UTF-8.")
    else:
        yield Finding("terminal", OK, ", ".join(parts))
