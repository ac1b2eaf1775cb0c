"""Where Python packages come from on this machine, and where one wheel lies there.

Reads the settings of pip and uv, so that a mirror that works for them works here, and speaks the simple repository
interface in both forms: JSON (PEP 691) and HTML (PEP 503).
"""

from __future__ import annotations

import configparser
import os
import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urldefrag, urljoin, urlsplit, urlunsplit

import msgspec

from dissensus.errors import DownloadError

if TYPE_CHECKING:
    import httpx2

ACCEPT = "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.1"


@dataclass(frozen=True, slots=True)
class WheelFile:
    """A wheel on an index. ``sha256`` is what the index says of it ("" if it says nothing)."""

    filename: str
    url: str
    sha256: str = ""


def index_urls() -> tuple[str, ...]:
    """Indexes to ask, in order: those set for uv and pip by environment, pip's files, the public one if none is set.

    Addresses may hold credentials: show them with :func:`without_secrets` only.
    """
    chosen: list[str] = []
    for variable in ("UV_DEFAULT_INDEX", "UV_INDEX_URL", "PIP_INDEX_URL"):
        chosen += os.environ.get(variable, "").split()
    files = [_read_settings(path) for path in _settings_files()]
    if not chosen:
        # pip lets the later of its files win: here they come most important first
        chosen += next((file["index-url"].split() for file in files if "index-url" in file), _public_index())
    for variable in ("UV_INDEX", "UV_EXTRA_INDEX_URL", "PIP_EXTRA_INDEX_URL"):
        # uv allows a name before the address: name=https://…
        chosen += [re.sub(r"^[\w.-]+=(?=\w+:)", "", item) for item in os.environ.get(variable, "").split()]
    for file in files:
        chosen += file.get("extra-index-url", "").split()
    return tuple(dict.fromkeys(url.rstrip("/") for url in chosen if urlsplit(url).scheme in {"http", "https"}))


def _public_index() -> list[str]:
    """The index that pip asks when nobody tells it otherwise; empty where there is no pip."""
    try:
        from pip._internal.models.index import PyPI
    except ImportError:
        return []
    return [str(PyPI.simple_url)]


def extra_certificates() -> tuple[str, ...]:
    """Files with certificate authorities that pip was told to trust."""
    named = [os.environ.get(variable, "") for variable in ("PIP_CERT", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")]
    named += [file.get("cert", "") for file in (_read_settings(path) for path in _settings_files())]
    return tuple(dict.fromkeys(name for name in named if name and Path(name).is_file()))


def without_secrets(url: str) -> str:
    """``url`` as it may be shown: no user, no password, no query."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    return urlunsplit((parts.scheme, f"{host}:{parts.port}" if parts.port else host, parts.path, "", ""))


def find_wheel(client: httpx2.Client, index: str, package: str, version: str) -> WheelFile | None:
    """The wheel of exactly this version on ``index``, or None if the index does not have it.

    Raises :class:`~dissensus.errors.DownloadError` if what the index answers cannot be read, and
    :class:`httpx2.HTTPError` if it cannot be reached.
    """
    page = client.get(f"{index}/{normalised(package)}/", headers={"accept": ACCEPT}, follow_redirects=True)
    if page.status_code in {401, 403, 404, 410}:
        return None
    page.raise_for_status()
    kind = page.headers.get("content-type", "").partition(";")[0].strip().lower()
    try:
        files = read_json(page.content, str(page.url)) if kind.endswith("json") else read_html(page.text, str(page.url))
    except (msgspec.MsgspecError, ValueError) as error:
        raise DownloadError(
            f"The package index {without_secrets(index)} answered with a page that cannot be read ({error}).",
            next_step="Check the index that pip or uv is set to use.",
        ) from error
    return choose(files, package, version)


def choose(files: Iterable[WheelFile], package: str, version: str) -> WheelFile | None:
    """The first wheel whose name says this package and this version."""
    for file in files:
        name, _, rest = file.filename.partition("-")
        if (
            file.filename.endswith(".whl")
            and normalised(name) == normalised(package)
            and rest.startswith(f"{version}-")
        ):
            return file
    return None


def normalised(package: str) -> str:
    """A package's name as PEP 503 compares names."""
    return re.sub(r"[-_.]+", "-", package).lower()


class _File(msgspec.Struct):
    filename: str
    url: str
    hashes: dict[str, str] = {}


class _Project(msgspec.Struct):
    files: list[_File]


def read_json(page: bytes, base: str) -> list[WheelFile]:
    """The files that a JSON page of an index lists (PEP 691). ``base`` is the page's address."""
    project = msgspec.json.decode(page, type=_Project)
    return [WheelFile(file.filename, urljoin(base, file.url), file.hashes.get("sha256", "")) for file in project.files]


def read_html(page: str, base: str) -> list[WheelFile]:
    """The files that an HTML page of an index lists (PEP 503). ``base`` is the page's address."""
    links = _Links(base)
    links.feed(page)
    links.close()
    return links.files


class _Links(HTMLParser):
    """Collects the links of a page, with the text between their tags as the file's name."""

    def __init__(self, base: str) -> None:
        super().__init__()
        self.base = base
        self.files: list[WheelFile] = []
        self._href: str | None = None
        self._text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if tag == "base" and values.get("href"):
            self.base = urljoin(self.base, str(values["href"]))
        elif tag == "a":
            self._href, self._text = values.get("href"), ""

    def handle_data(self, data: str) -> None:
        self._text += data

    def handle_endtag(self, tag: str) -> None:
        if tag == "a" and self._href:
            url, fragment = urldefrag(urljoin(self.base, self._href))
            sha256 = fragment.removeprefix("sha256=") if fragment.startswith("sha256=") else ""
            self.files.append(WheelFile(self._text.strip(), url, sha256))
            self._href = None


def _settings_files() -> list[Path]:
    """Where pip looks for its settings, most important first: named, this environment's, the user's, the machine's."""
    named = os.environ.get("PIP_CONFIG_FILE", "")
    if named == os.devnull:
        return []
    home = Path.home()
    if sys.platform == "win32":  # pragma: no cover - no Windows machine runs the tests
        name, places = "pip.ini", [Path(os.environ.get("APPDATA", home)) / "pip", home / "pip"]
        machine = [Path(os.environ.get("PROGRAMDATA", "C:/ProgramData")) / "pip"]
    else:
        name = "pip.conf"
        config = Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config")
        places = [config / "pip", home / ".pip"]
        machine = [Path("/etc/xdg/pip"), Path("/etc")]
    if sys.platform == "darwin":
        places.insert(0, home / "Library/Application Support/pip")
        machine.insert(0, Path("/Library/Application Support/pip"))
    found = [Path(named)] if named else []
    return found + [place / name for place in (Path(sys.prefix), *places, *machine)]


def _read_settings(path: Path) -> dict[str, str]:
    """The settings in one of pip's files that count when downloading; empty if it is not there or cannot be read."""
    reader = configparser.RawConfigParser()
    try:
        reader.read_string(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, configparser.Error):
        return {}
    found: dict[str, str] = {}
    for section in ("global", "install", "download"):
        if reader.has_section(section):
            found |= {name.replace("_", "-"): value for name, value in reader.items(section)}
    return found
