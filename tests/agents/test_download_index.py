from __future__ import annotations

import html
import importlib
import os
import string
from pathlib import Path

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st
from index_server import Site, serve

from dissensus.agents import download_index
from dissensus.agents.download_index import (
    WheelFile,
    choose,
    extra_certificates,
    find_wheel,
    index_urls,
    normalised,
    read_html,
    read_json,
    without_secrets,
)
from dissensus.errors import DownloadError

PUBLIC = importlib.import_module("pip._internal.models.index").PyPI.simple_url
NAMES = ("UV_DEFAULT_INDEX", "UV_INDEX_URL", "PIP_INDEX_URL", "UV_INDEX", "UV_EXTRA_INDEX_URL", "PIP_EXTRA_INDEX_URL")


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No settings but those in the file that comes back, which is not there yet."""
    for name in (*NAMES, "PIP_CERT", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):
        monkeypatch.delenv(name, raising=False)
    path = tmp_path / "pip.conf"
    monkeypatch.setattr(download_index, "_settings_files", lambda: [path, tmp_path / "other.conf"])
    return path


@pytest.mark.usefixtures("settings")
def test_without_settings_it_is_the_public_index() -> None:
    assert index_urls() == (PUBLIC,)


def test_environment_comes_before_files(settings: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.write_text("[global]\nindex-url = https://file.example/simple/\n")
    assert index_urls() == ("https://file.example/simple",)
    monkeypatch.setenv("PIP_INDEX_URL", "https://pip.example/simple")
    assert index_urls() == ("https://pip.example/simple",)
    monkeypatch.setenv("UV_DEFAULT_INDEX", "https://uv.example/simple/")
    assert index_urls() == ("https://uv.example/simple", "https://pip.example/simple")


def test_extra_indexes_come_last_and_only_what_http_can_reach(settings: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.write_text(
        "[global]\nextra-index-url =\n  file:///a/folder\n  https://more.example/simple\n"
        "[install]\nindex_url = https://main.example/simple\n"
    )
    settings.with_name("other.conf").write_text("[global]\nindex-url = https://less.example/simple\n")
    monkeypatch.setenv("UV_INDEX", "named=https://uv.example/simple https://more.example/simple")
    assert index_urls() == (
        "https://main.example/simple",
        "https://uv.example/simple",
        "https://more.example/simple",
    )


@pytest.mark.parametrize("text", ["no section", "[global\n", "\xff\xfe"])
def test_a_broken_settings_file_is_no_settings_file(settings: Path, text: str) -> None:
    settings.write_bytes(text.encode("latin-1"))
    assert index_urls() == (PUBLIC,)


def test_certificates_that_pip_trusts(settings: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bundle = settings.with_name("ca.pem")
    bundle.write_text("")
    settings.write_text(f"[global]\ncert = {bundle}\n")
    monkeypatch.setenv("PIP_CERT", str(bundle.with_name("absent.pem")))
    assert extra_certificates() == (str(bundle),)


def test_where_pip_looks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("PIP_CONFIG_FILE", str(tmp_path / "named.conf"))
    found = download_index._settings_files()
    assert found[0] == tmp_path / "named.conf"
    assert tmp_path / "pip" / "pip.conf" in found
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    assert download_index._settings_files() == []


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://user:pass@host.example:8443/simple?token=x#y", "https://host.example:8443/simple"),
        ("https://token@host.example/simple", "https://host.example/simple"),
        ("https://host.example/simple", "https://host.example/simple"),
    ],
)
def test_secrets_are_not_shown(url: str, shown: str) -> None:
    assert without_secrets(url) == shown


names = st.text(string.ascii_letters + string.digits, min_size=1, max_size=8)
wheels = st.builds(
    lambda name, version: f"{name}-{version}-py3-none-any.whl", names, st.from_regex(r"\d\.\d{1,2}", fullmatch=True)
)


@given(st.lists(st.tuples(wheels, st.one_of(st.just(""), st.from_regex(r"[0-9a-f]{64}", fullmatch=True))), max_size=5))
def test_html_pages_are_read_back(files: list[tuple[str, str]]) -> None:
    rows = [
        f'<a data-x="1" href="../f/{html.escape(n)}?a=1&amp;b=2{"#sha256=" + s if s else ""}">\n {n} </a><br/>'
        for n, s in files
    ]
    page = f"<!DOCTYPE html><html><head><title>x-1</title></head><body><h1>Links</h1>{''.join(rows)}</body></html>"
    expected = [WheelFile(n, f"https://host.example/simple/f/{n}?a=1&b=2", s) for n, s in files]
    assert read_html(page, "https://host.example/simple/p/") == expected


@given(st.text(max_size=200))
def test_any_text_is_read_as_html_without_a_crash(text: str) -> None:
    for file in read_html(f"<a href='{text}'>{text}</a>", "https://host.example/"):
        assert isinstance(file, WheelFile)


def test_json_pages() -> None:
    page = b'{"files": [{"filename": "a-1-py3-none-any.whl", "url": "a.whl", "hashes": {"sha256": "ab"}, "size": 3}]}'
    assert read_json(page, "https://h.example/simple/a/") == [
        WheelFile("a-1-py3-none-any.whl", "https://h.example/simple/a/a.whl", "ab")
    ]


def test_exactly_this_version_of_exactly_this_package() -> None:
    files = [
        WheelFile(name, "u" + name)
        for name in (
            "my_pack-1.2.1-py3-none-any.whl",
            "my_pack_more-1.2-py3-none-any.whl",
            "my-pack-1.2.tar.gz",
            "My.Pack-1.2-py3-none-any.whl",
            "my_pack-1.2-py3-none-any.whl",
        )
    ]
    assert choose(files, "my-pack", "1.2") == files[3]
    assert choose(files, "my-pack", "1") is None
    assert choose(files, "my-pack", "1.2.1") == files[0]


def test_names_compare_as_the_index_compares_them() -> None:
    assert normalised("Friendly_Bard.-x") == "friendly-bard-x"


@pytest.mark.parametrize("as_html", [True, False])
def test_finding_a_wheel(*, as_html: bool) -> None:
    site = Site(html=as_html)
    wheel = site.add_wheel("my-pack", "1.2", {"a": b"a"})
    with serve(site), httpx2.Client() as client:
        found = find_wheel(client, f"{site.url}/simple", "My_Pack", "1.2")
        assert found is not None
        assert client.get(found.url).content == wheel
        assert found.sha256
        assert find_wheel(client, f"{site.url}/simple", "my-pack", "1.3") is None
        assert find_wheel(client, f"{site.url}/simple", "other", "1.2") is None


def test_a_page_that_is_no_page(monkeypatch: pytest.MonkeyPatch) -> None:
    site = Site()
    monkeypatch.setattr(Site, "page", lambda _self, _name: b"<html>a login page</html>")
    with serve(site), httpx2.Client() as client, pytest.raises(DownloadError, match="cannot be read"):
        find_wheel(client, f"{site.url}/simple", "my-pack", "1.2")
