"""A package index and a file server on the loopback interface, real sockets, that can behave badly on purpose."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import re
import threading
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Site:
    """What the server has and how it behaves.

    ``files`` go by path. ``cuts`` are numbers of bytes after which a body breaks off, one for each request, then none.
    """

    files: dict[str, bytes] = field(default_factory=dict)
    ranges: bool = True
    cuts: list[int] = field(default_factory=list)
    statuses: list[int] = field(default_factory=list)
    html: bool = False
    hashes: bool = True
    lengths: bool = True
    stall_after: int | None = None
    stalled: threading.Event = field(default_factory=threading.Event)
    go_on: threading.Event = field(default_factory=threading.Event)
    asked: list[tuple[str, str]] = field(default_factory=list)
    sent: dict[str, int] = field(default_factory=dict)
    url: str = ""

    def add_wheel(self, package: str, version: str, members: dict[str, bytes]) -> bytes:
        wheel = zip_of(members)
        self.files[f"/files/{package.replace('-', '_')}-{version}-py3-none-any.whl"] = wheel
        return wheel

    def page(self, package: str) -> bytes | None:
        found = []
        for path, data in self.files.items():
            name = path.rpartition("/")[2]
            if name.endswith(".whl") and name.partition("-")[0].replace("_", "-") == package:
                found.append((name, ".." + "/.." + path, hashlib.sha256(data).hexdigest() if self.hashes else ""))
        if not found:
            return None
        if self.html:
            rows = (f'<a href="{url}{"#sha256=" + sha if sha else ""}">{name}</a>' for name, url, sha in found)
            return f"<!DOCTYPE html><html><body>{'<br>'.join(rows)}</body></html>".encode()
        files = [{"filename": n, "url": u, "hashes": {"sha256": s} if s else {}} for n, u, s in found]
        return json.dumps({"meta": {"api-version": "1.1"}, "name": package, "files": files}).encode()

    def requests_for(self, end: str) -> list[str]:
        """The Range headers ("" if none) of the requests whose path ends so."""
        return [ranged for path, ranged in self.asked if path.endswith(end)]


def zip_of(members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    site: Site

    def do_GET(self) -> None:
        site = self.site
        site.asked.append((self.path, self.headers.get("range", "")))
        if match := re.fullmatch(r"/simple/([^/]+)/", self.path):
            page = site.page(match[1])
            kind = "text/html" if site.html else "application/vnd.pypi.simple.v1+json"
            self._send(200 if page is not None else 404, page or b"no such package", {"content-type": kind})
            return
        data = site.files.get(self.path)
        if site.statuses and (status := site.statuses.pop(0)):
            self._send(status, b"trouble", {})
        elif data is None:
            self._send(404, b"no such file", {})
        else:
            self._send_file(data)

    def _send_file(self, data: bytes) -> None:
        match = re.fullmatch(r"bytes=(\d+)-", self.headers.get("range", "")) if self.site.ranges else None
        if match is None:
            self._send(200, data, {}, cut=True)
        elif int(match[1]) >= len(data):
            self._send(416, b"", {"content-range": f"bytes */{len(data)}"})
        else:
            start = int(match[1])
            span = f"bytes {start}-{len(data) - 1}/{len(data)}"
            self._send(206, data[start:], {"content-range": span}, cut=True)

    def _send(self, status: int, body: bytes, headers: dict[str, str], *, cut: bool = False) -> None:
        site = self.site
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if site.lengths:
            self.send_header("content-length", str(len(body)))
        else:
            self.send_header("connection", "close")
            self.close_connection = True
        self.end_headers()
        if cut and site.cuts:
            body = body[: site.cuts.pop(0)]
            self.close_connection = True
        if cut and site.stall_after is not None and not site.go_on.is_set():
            self._write(body[: site.stall_after])
            site.stalled.set()
            site.go_on.wait(30)
            self.close_connection = True
            return
        self._write(body)

    def _write(self, body: bytes) -> None:
        with contextlib.suppress(ConnectionError):
            self.wfile.write(body)
            self.wfile.flush()
        self.site.sent[self.path] = self.site.sent.get(self.path, 0) + len(body)

    def log_message(self, *_: object) -> None:
        pass


@contextlib.contextmanager
def serve(site: Site) -> Iterator[Site]:
    handler = type("Handler", (_Handler,), {"site": site})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        site.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield site
        finally:
            site.go_on.set()
            server.shutdown()
            thread.join()
