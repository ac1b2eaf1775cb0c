"""Opening cells, what is in them, running programs and tools in them."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dissensus.agents.cells import Limits, Manifest, folders, inside, open_cell
from dissensus.agents.cells.bubblewrap import SCRATCH
from dissensus.agents.cells.cgroups import counting_group
from dissensus.agents.cells.guards import LEVELS, Level, table
from dissensus.agents.cells.interpreter import code_paths, program_of, real_interpreter
from dissensus.agents.cells.ladder import best_at
from dissensus.agents.cells.manifest import lay_out
from dissensus.agents.cells.watch import empty, used_in
from dissensus.agents.cells.ways import Way
from dissensus.agents.command_tools import CommandTool
from dissensus.errors import CellError, UsageError

ROOT = Path(__file__).resolve().parent.parent.parent
NOTE = b"pallets: 12\n"
DIGEST = hashlib.sha256(NOTE).hexdigest()
HELD: dict[str, bytes | Path] = {DIGEST: NOTE}


@pytest.fixture(params=LEVELS)
def level(request: pytest.FixtureRequest) -> Level:
    """Each level that this machine reaches."""
    found: Level = request.param
    trial, why = best_at(found)
    if trial is None:
        pytest.skip(f"this machine does not reach {found}: {why}")
    return found


# --- running


@pytest.mark.anyio
async def test_a_program_reads_what_the_manifest_lists(level: Level) -> None:
    async with open_cell({DIGEST: "delivery/note.txt"}, HELD, highest=level) as cell:
        ran = await cell.run(
            "import os, sys\nprint(open('delivery/note.txt').read(), sorted(os.listdir('.')), sys.argv[1:], input())",
            stdin=b"told\n",
            arguments=["a b", "ü"],
        )
        assert ran.stdout.decode() == f"{NOTE.decode()} ['delivery', 'tmp'] ['a b', 'ü'] told\n"
        assert (ran.exit, ran.stderr, ran.truncated, ran.ended_for, ran.level) == (0, b"", False, "", level)
        assert not ran.timed_out
        assert cell.on_record()["level"] == level
        assert cell.on_record()["files"] == {DIGEST: "delivery/note.txt"}
        assert cell.on_record()["limits"]["wall_s"] == Limits().wall_s
        json.dumps(cell.on_record())
        assert cell.on_record()["not_enforced"] == list(ran.not_enforced)


@pytest.mark.anyio
async def test_a_program_that_fails_tells_where(level: Level) -> None:
    async with open_cell({}, highest=level) as cell:
        ran = await cell.run("print('so far')\n1 / 0  # here")
        assert (ran.exit, ran.stdout) == (1, b"so far\n")
        assert b"line 2" in ran.stderr
        assert b"# here" in ran.stderr
        assert (await cell.run("import sys; sys.exit(7)")).exit == 7
        assert (await cell.run("import os; os.kill(0, 9)")).exit == 128 + signal.SIGKILL
        assert (await cell.run("import os; os.abort()")).exit in {128 + signal.SIGABRT, 128 + signal.SIGSEGV}


@pytest.mark.anyio
async def test_each_run_begins_with_an_empty_scratch_folder(level: Level) -> None:
    async with open_cell({}, highest=level) as cell:
        text = "import os, tempfile; print(os.listdir('tmp')); print(tempfile.mkstemp()[1], file=open('tmp/x', 'w'))"
        for _ in range(2):
            assert (await cell.run(text)).stdout == b"[]\n"


@pytest.mark.anyio
async def test_nothing_of_our_environment_gets_in(level: Level, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "canary-991")
    async with open_cell({}, highest=level) as cell:
        text = "import os; print(sorted(os.environ)); print(os.environ.get('GIVEN'))"
        ran = await cell.run(text, env={"GIVEN": "this"})
        assert b"SOME_API_KEY" not in ran.stdout
        assert b"canary" not in ran.stdout + ran.stderr
        assert ran.stdout.endswith(b"this\n")


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "count.sh"
    path.write_text('#!/bin/sh\nread line < "$1"\necho "got: $line"\n', encoding="utf-8")
    path.chmod(0o755)
    return path


@pytest.mark.anyio
async def test_other_programs_run_too(level: Level, script: Path) -> None:
    async with open_cell({DIGEST: "note.txt"}, HELD, highest=level) as cell:
        ran = await cell.run(["sh", "-c", "read line < note.txt; echo $line; exit 3"])
        assert (ran.exit, ran.stdout) == (3, NOTE)
        ran = await cell.run([sys.executable, "-c", "import sys; print(sys.argv[1:])", "x"])
        assert ran.stdout == b"['x']\n"
        if level == "strong":  # below it, a new user may not get through the folders of the tests
            assert (await cell.run([str(script), "note.txt"])).stdout == b"got: " + NOTE
        with pytest.raises(CellError, match="no program 'no-such-program'"):
            await cell.run(["no-such-program"])
        with pytest.raises(UsageError):
            await cell.run([])


@pytest.fixture
def package() -> Iterator[Path]:
    """A folder of code that every user can get to."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        (Path(name) / "rates.py").write_text("RATE = 3\n", encoding="utf-8")
        yield Path(name)


@pytest.mark.anyio
async def test_more_code_can_be_made_readable(level: Level, package: Path) -> None:
    text = f"import sys; sys.path.append({str(package)!r}); import rates; print(rates.RATE)"
    async with open_cell({}, highest=level, code=[package]) as cell:
        assert (await cell.run(text)).stdout == b"3\n"
        writing = await cell.run(f"open({str(package / 'new')!r}, 'w')")
        assert writing.exit == 1 or level == "unconfined"
    if level != "unconfined":
        async with open_cell({}, highest=level) as cell:
            assert (await cell.run(text)).exit == 1


@pytest.mark.anyio
async def test_runs_of_one_cell_take_turns_and_cells_run_side_by_side(level: Level) -> None:
    text = "import os, time; print(os.listdir('tmp')); open('tmp/x', 'w'); time.sleep(0.05)"
    said: list[bytes] = []

    async def run(cell: Any) -> None:
        said.append((await cell.run(text)).stdout)

    async with (
        open_cell({}, highest=level) as one,
        open_cell({}, highest=level) as other,
        anyio.create_task_group() as tasks,
    ):
        for cell in (one, one, other, other):
            tasks.start_soon(run, cell)
    assert said == [b"[]\n"] * 4


@pytest.mark.anyio
async def test_a_run_that_is_cancelled_leaves_nothing(level: Level) -> None:
    async with open_cell({}, highest=level) as cell:
        mark = f"import time\nprint('begun')\ntime.sleep(60)  # {time.monotonic_ns()}"
        with anyio.move_on_after(0.3):
            await cell.run(mark)
            pytest.fail("it was not cancelled")
        assert gone(hashlib.sha256(mark.encode()).hexdigest()[:16])
        assert (await cell.run("print('still here')")).stdout == b"still here\n"


def gone(mark: str) -> bool:
    for _ in range(200):
        if not processes_with(mark):
            return True
        time.sleep(0.02)
    return False


def processes_with(mark: str) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and mark.encode() in (entry / "cmdline").read_bytes():
                found.append(int(entry.name))
    return found


@pytest.mark.skipif(sys.platform != "linux", reason="processes are found in /proc")
def test_a_cell_dies_with_whoever_opened_it(level: Level) -> None:
    mark = f"{level}-{time.monotonic_ns()}"
    code = (
        "import sys, anyio\nfrom dissensus.agents.cells import open_cell\n"
        "async def main():\n"
        f"    async with open_cell({{}}, highest={level!r}) as cell:\n"
        f"        await cell.run('import time; time.sleep(60)', arguments=[{mark!r}])\n"
        "anyio.run(main)\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.DEVNULL) as opener:
        try:
            for _ in range(500):
                inner = [pid for pid in processes_with(mark) if pid != opener.pid]
                if any("sleep" not in Path(f"/proc/{pid}/cmdline").read_text(errors="replace") for pid in inner):
                    break
                time.sleep(0.02)
            else:
                pytest.fail("the program did not begin")
        finally:
            opener.kill()
    assert gone(mark)


@pytest.mark.anyio
async def test_a_cell_that_cannot_be_entered_runs_nothing(level: Level) -> None:
    async with open_cell({}, highest=level) as cell:
        cell._place.evidence.rename(cell._place.evidence.with_name("moved"))
        try:
            with pytest.raises(CellError, match="could not be started"):
                await cell.run("print('ran')")
            cell._place.scratch.mkdir(parents=True)
            cell._place.program.rename(cell._place.program.with_name("lost"))
            if level != "unconfined":  # it is told where programs are
                with pytest.raises(CellError, match="could not be entered") as raised:
                    await cell.run([sys.executable, "-c", "print('ran')"])
                assert raised.value.next_step
        finally:
            cell._place.scratch.rmdir()
            cell._place.evidence.rmdir()
            cell._place.evidence.with_name("moved").rename(cell._place.evidence)


@pytest.mark.anyio
async def test_a_closed_cell_is_gone(level: Level) -> None:
    async with open_cell({DIGEST: "note.txt"}, HELD, highest=level) as cell:
        base = cell._place.evidence.parent
        assert base.is_dir()
    assert not base.exists()


# --- the manifest


names = st.lists(
    st.one_of(st.sampled_from(["..", ".", "a", "b", SCRATCH, "", "é", "x" * 250, "a\nb"]), st.text(max_size=5)),
    max_size=4,
).map("/".join)


@given(given_names=st.lists(names, max_size=4))
def test_a_manifest_that_is_accepted_stays_inside(given_names: list[str]) -> None:
    blobs = {hashlib.sha256(bytes([n])).hexdigest(): bytes([n]) for n in range(len(given_names))}
    try:
        manifest = Manifest(dict(zip(blobs, given_names, strict=True)))
    except UsageError:
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "in"
        folder.mkdir()
        lay_out(manifest, dict(blobs), folder)
        found = {path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        assert found == set(blobs.values())
        assert [path.name for path in Path(name).iterdir()] == ["in"]
        assert not (folder / SCRATCH).exists()


@pytest.mark.parametrize(
    "name", ["", ".", "..", "../x", "a/../../x", "/etc/passwd", SCRATCH, f"{SCRATCH}/x", "a\0b", "x" * 300, "a/" * 30]
)
def test_paths_that_are_none(name: str) -> None:
    with pytest.raises(UsageError, match="cannot be a path"):
        Manifest({DIGEST: name})


def test_paths_that_collide() -> None:
    other = "0" * 64
    for first, second in (("a", "a"), ("a/b", "a"), ("a", "a/b"), ("a/./b", "a/b")):
        with pytest.raises(UsageError, match="collide"):
            Manifest({DIGEST: first, other: second})
    for digest in ("", "0" * 63, DIGEST.upper(), f"sha256:{DIGEST}"):
        with pytest.raises(UsageError, match="no SHA-256"):
            Manifest({digest: "a"})


@pytest.mark.parametrize(
    ("blobs", "says"),
    [({DIGEST: b"other"}, "have the SHA-256"), ({}, "no bytes for"), (lambda _digest: None, "no bytes for")],
)
def test_bytes_that_are_missing_or_others(
    blobs: Any, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    async def open_it() -> None:
        async with open_cell({DIGEST: "note.txt"}, blobs, highest="unconfined"):
            pytest.fail("it was opened")

    with pytest.raises(CellError, match=says) as raised:
        anyio.run(open_it)
    assert raised.value.next_step
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("held", [lambda path: {DIGEST: path}, lambda _path: {DIGEST: NOTE}.get])
@pytest.mark.anyio
async def test_bytes_come_from_a_file_or_a_function(tmp_path: Path, held: Callable[[Path], Any]) -> None:
    (tmp_path / "stored").write_bytes(NOTE)
    async with open_cell({DIGEST: "note.txt"}, held(tmp_path / "stored")) as cell:
        assert (await cell.run("print(open('note.txt').read(), end='')")).stdout == NOTE


# --- limits, watching, cleaning


@pytest.mark.parametrize("name", [field.name for field in fields(Limits)])
def test_a_limit_is_above_nothing(name: str) -> None:
    for wrong in (0, -1, float("nan")):
        given: dict[str, Any] = {name: wrong}
        with pytest.raises(UsageError, match=name):
            Limits(**given)


def nested(folder: Path, depth: int) -> None:
    """Folders in folders, deeper than any path can name."""
    at = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    for _ in range(depth):
        os.mkdir("inner", dir_fd=at)
        below = os.open("inner", os.O_RDONLY | os.O_DIRECTORY, dir_fd=at)
        os.close(at)
        at = below
    os.close(os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=at))
    os.close(at)


def test_scratch_is_emptied_whatever_was_left_in_it(tmp_path: Path) -> None:
    kept, folder = tmp_path / "kept", tmp_path / "scratch"
    kept.mkdir()
    (kept / "file").write_bytes(b"x")
    folder.mkdir()
    (folder / "link").symlink_to(kept, target_is_directory=True)
    (folder / "dangling").symlink_to(tmp_path / "nothing")
    (folder / "sub").mkdir()
    (folder / "sub" / "link").symlink_to(kept, target_is_directory=True)
    (folder / "shut").mkdir(mode=0)
    os.mkfifo(folder / "pipe")
    nested(folder, 1000)
    assert used_in(folder, 10_000)[1] > 10_000  # too deep to be counted is too many
    empty(folder)
    assert list(folder.iterdir()) == []
    assert (kept / "file").read_bytes() == b"x"


@given(sizes=st.lists(st.integers(0, 20_000), max_size=8), most=st.integers(1, 12))
def test_what_lies_in_a_folder(sizes: list[int], most: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        for number, size in enumerate(sizes):
            below = Path(name) / str(number % 2)
            below.mkdir(exist_ok=True)
            (below / str(number)).write_bytes(b"x" * size)
        used, files = used_in(Path(name), most)
        there = len(sizes) + min(len(sizes), 2)
        assert files == min(there, most + 1)
        if there <= most:
            assert used >= sum(sizes)


def made(base: Path, *, old: bool = True) -> Path:
    (base / "evidence" / SCRATCH).mkdir(parents=True)
    (base / "evidence" / SCRATCH / "left").write_bytes(b"x")
    if old:
        os.utime(base, (1, 1))
    return base


def test_folders_of_openers_that_died_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    orphan, young = made(tmp_path / "dissensus-cell-a"), made(tmp_path / "dissensus-cell-b", old=False)
    other, held = made(tmp_path / "something-else"), made(tmp_path / "dissensus-cell-c")
    (tmp_path / "dissensus-cell-link").symlink_to(other)
    with folders._locked(held), folders.laid_out(Way(level="unconfined")) as place:
        os.utime(place.base, (1, 1))
        with folders.laid_out(Way(level="unconfined")):
            pass
        assert place.scratch.is_dir()
        assert held.is_dir()
    assert not orphan.exists()
    assert young.is_dir()
    assert (other / "evidence" / SCRATCH / "left").is_file()


@pytest.mark.anyio
async def test_each_run_of_a_root_is_a_user_of_its_own(level: Level) -> None:
    async with open_cell({}, highest=level) as cell:
        if cell.reached.way.user != "fresh":
            pytest.skip("here, programs run as the user who opens the cell")
        users = [(await cell.run("import os; print(os.getresuid(), os.getgroups())")).stdout for _ in range(2)]
        assert users[0] != users[1]
        assert not any(b"(0," in user for user in users)


def test_a_control_group_counts_and_goes() -> None:
    with counting_group(5) as group:
        if group is None:
            pytest.skip("no control group can be made here")
        assert (group.parent / "pids.max").read_text(encoding="ascii").strip() == "5"
    assert not group.parent.exists()


# --- the interpreter


def test_the_interpreter_is_the_real_one() -> None:
    found = real_interpreter()
    assert not found.is_symlink()
    assert found == found.resolve()
    if sys.platform == "linux":
        assert found.read_bytes()[:4] == b"\x7fELF"
    done = subprocess.run(
        [found, "-I", "-S", "-c", "import sys; print(sys.version_info[:2])"], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == str(tuple(sys.version_info[:2]))


def test_what_can_be_read_holds_no_personal_folder() -> None:
    for path in code_paths():
        assert path.exists()
        assert path != Path("/")
        assert path not in Path.home().resolve().parents
        assert path != Path.home()
        assert not Path("/etc/passwd").is_relative_to(path)


def test_a_script_brings_its_interpreter(tmp_path: Path) -> None:
    for first, wanted in (("#!/bin/sh", "/bin/sh"), ("#!/usr/bin/env sh", "/usr/bin/env")):
        script = tmp_path / "script"
        script.write_text(f"{first}\n", encoding="utf-8")
        script.chmod(0o755)
        path, needed = program_of(str(script))
        assert path == script
        assert Path(wanted) in [sought for _, sought in needed]
        assert all(source == sought.resolve() for source, sought in needed)


@pytest.mark.anyio
async def test_a_script_that_asks_for_any_python_gets_the_bare_interpreter(tmp_path: Path, level: Level) -> None:
    script = tmp_path / "count.py"
    script.write_text("#!/usr/bin/env python3\nimport sys\nprint(open(sys.argv[1]).read().split()[-1])\n")
    script.chmod(0o755)
    note = b"pallets 12\n"
    digest = hashlib.sha256(note).hexdigest()
    async with open_cell({digest: "note.txt"}, {digest: note}, highest=level) as cell:
        ran = await cell.run([str(script), "note.txt"])
    assert (ran.exit, ran.stdout) == (0, b"12\n"), ran.stderr


# --- tools


def counter(**options: Any) -> CommandTool:
    code = "import json, sys; print(open(json.load(sys.stdin)['file']).read().split()[-1])"
    return CommandTool([sys.executable, "-c", code], name="last", parameters=PARAMETERS, **options)


PARAMETERS = {"type": "object", "properties": {"file": {"type": "string"}}, "required": ["file"]}


@pytest.mark.anyio
async def test_a_tool_in_a_cell(level: Level) -> None:
    async with open_cell({DIGEST: "note.txt"}, HELD, highest=level) as cell:
        tool = inside(counter(), cell)
        assert tool.spec == counter().spec
        result = await tool.call({"file": "note.txt"})
        assert (result.ok, result.text) == (True, "12")
        assert not (await tool.call({})).ok
        missing = await tool.call({"file": "other.txt"})
        assert not missing.ok
        assert "FileNotFoundError" in missing.text
        if level != "unconfined":
            assert "Error" in (await tool.call({"file": "/etc/passwd"})).text


@pytest.mark.anyio
async def test_a_tool_in_a_cell_gets_only_the_variables_that_it_names(
    level: Level, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOOL_SETTING", "seven")
    monkeypatch.setenv("OTHER_SETTING", "eight")
    show = CommandTool(
        [sys.executable, "-c", "import os; print(sorted(name for name in os.environ if 'SETTING' in name))"],
        name="show",
        env=["TOOL_SETTING"],
    )
    async with open_cell({}, highest=level) as cell:
        assert (await inside(show, cell).call({})).text == "['TOOL_SETTING']"


@pytest.mark.anyio
async def test_a_tool_in_a_cell_that_takes_too_long_or_is_not_there(level: Level) -> None:
    slow = CommandTool([sys.executable, "-c", "import time; time.sleep(60)"], name="slow", timeout_s=0.3)
    absent = CommandTool(["no-such-program"], name="absent")
    async with open_cell({}, highest=level) as cell:
        late = await inside(slow, cell).call({})
        assert not late.ok
        assert "longer than 0.3 seconds" in late.text
        none = await inside(absent, cell).call({})
        assert not none.ok
        assert "could not be started" in none.text


@pytest.mark.anyio
async def test_a_tool_says_for_what_it_was_ended(level: Level) -> None:
    code = "import time\nfor n in range(100):\n    open('tmp/' + str(n), 'w')\ntime.sleep(20)"
    tool = CommandTool([sys.executable, "-c", code], name="files")
    async with open_cell({}, highest=level, limits=Limits(files=50)) as cell:
        told = await inside(tool, cell).call({})
        assert not told.ok
        assert "files" in told.text


# --- the manual


def test_the_table_of_the_manual_is_the_one_that_is_tested() -> None:
    page = (ROOT / "docs" / "cells.md").read_text(encoding="utf-8")
    begin, end = "<!-- table: begin -->\n", "<!-- table: end -->"
    assert page.partition(begin)[2].partition(end)[0].strip() == table().strip(), "write it anew from guards.table()"
