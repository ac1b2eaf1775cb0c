"""One file over HTTP that may break off anywhere and is then taken up where it broke off."""

from __future__ import annotations

import errno
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dissensus.agents.catalogue import digest_of
from dissensus.agents.download_index import without_secrets
from dissensus.errors import DownloadError

if TYPE_CHECKING:
    import httpx2


Step = Callable[[int, int | None], None]
"""Told ``(bytes so far, bytes in all or None if the server does not say)``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Download:
    """One file that is to be brought here.

    Args:
        url: where it is.
        part: where it grows; what lies there already is continued.
        limit: most bytes that it may have.
        sha256: its digest ("" if it is not known).
        tries: tries in a row without a new byte after which it is given up.
        step: called with each block.
        sleep: waits between tries.
    """

    url: str
    part: Path
    limit: int
    sha256: str = ""
    tries: int = 6
    step: Step = lambda _done, _total: None
    sleep: Callable[[float], None] = time.sleep

    def fetch(self, client: httpx2.Client) -> None:
        """Bring all of the file.

        A connection that breaks is taken up again, with growing waits; a server that ignores ranges starts over. If
        the digest is wrong and an older piece was continued, the file is fetched once more from its start, because
        what lies at the address may have changed in between.

        Raises:
            DownloadError: no connection, an error status, too many bytes, a full disk, or the wrong digest (the file is
                then removed).
        """
        continued = self._have() > 0
        self._bring(client)
        if not self.sha256 or digest_of(self.part) == self.sha256:
            return
        self.part.unlink()
        if continued:
            self._bring(client)
            if digest_of(self.part) == self.sha256:
                return
            self.part.unlink()
        raise DownloadError(
            f"What came from {without_secrets(self.url)} is not the file that it should be: the digest is wrong.",
            next_step="Run the command again; if it says so again, the source or something on the way changes files.",
        )

    def _have(self) -> int:
        return self.part.stat().st_size if self.part.exists() else 0

    def _bring(self, client: httpx2.Client) -> None:
        import httpx2

        fruitless = 0
        while True:
            before = self._have()
            try:
                if self._read_once(client, before):
                    return
                problem = "the connection ended early"
            except httpx2.HTTPStatusError as error:
                status = error.response.status_code
                if status < 500 and status not in {408, 429}:
                    raise DownloadError(
                        f"{without_secrets(self.url)} answered with status {status}.",
                        next_step="Check the network and the package index that pip or uv is set to use.",
                    ) from error
                problem = f"status {status}"
            except httpx2.HTTPError as error:
                problem = f"{error}" or type(error).__name__
            except OSError as error:
                raise disk_error(error, self.part) from error
            fruitless = 0 if self._have() > before else fruitless + 1
            if fruitless >= self.tries:
                raise DownloadError(
                    f"The download of {without_secrets(self.url)} broke off ({problem}).",
                    next_step="Run the command again: it goes on where it stopped.",
                )
            self.sleep(min(0.25 * 2**fruitless, 8.0))

    def _read_once(self, client: httpx2.Client, have: int) -> bool:
        """One request. True if the file is complete afterwards, False if the body ended before its announced length."""
        headers = {"accept-encoding": "identity"}  # a range counts the bytes of the file, not of its compression
        if have:
            headers["range"] = f"bytes={have}-"
        with client.stream("GET", self.url, headers=headers, follow_redirects=True) as response:
            if response.status_code == 416:
                return self._nothing_after(response, have)
            response.raise_for_status()
            start, total = self._span(response, have)
            if total is not None and total > self.limit:
                raise self._too_long()
            done = start
            # no buffers on the way: what has come counts even if the connection or this process ends now
            with self.part.open("r+b" if self.part.exists() else "wb", buffering=0) as file:
                file.truncate(start)
                file.seek(start)
                for block in response.iter_raw():
                    done += len(block)
                    if done > self.limit:
                        raise self._too_long()
                    file.write(block)
                    self.step(done, total)
        return total is None or done == total

    def _span(self, response: httpx2.Response, have: int) -> tuple[int, int | None]:
        """Where the body starts in the file, and how long the file is in all, if the server says so."""
        if response.status_code == 206:
            unit, _, rest = response.headers.get("content-range", "").partition(" ")
            span, _, length = rest.partition("/")
            first = span.partition("-")[0]
            if unit != "bytes" or not first.isdigit() or int(first) > have:
                import httpx2

                self.part.unlink()
                raise httpx2.RemoteProtocolError("the server sent a range that was not asked for")
            return int(first), int(length) if length.isdigit() else None
        length = response.headers.get("content-length", "")
        return 0, int(length) if length.isdigit() else None

    def _nothing_after(self, response: httpx2.Response, have: int) -> bool:
        """Status 416: nothing lies after what we have. That is right if it is all of the file, else it is of no use."""
        length = response.headers.get("content-range", "").rpartition("/")[2]
        if length.isdigit() and int(length) == have:
            return True
        self.part.unlink()
        return False

    def _too_long(self) -> DownloadError:
        self.part.unlink(missing_ok=True)
        return DownloadError(
            f"{without_secrets(self.url)} is longer than the {self.limit:,} bytes that it may have.",
            next_step="Check the package index that pip or uv is set to use.",
        )


def disk_error(error: OSError, path: Path) -> DownloadError:
    """What the system said about writing ``path``, as an error with a next step."""
    if error.errno in {errno.ENOSPC, errno.EDQUOT}:
        return DownloadError(
            f"The disk is full: {str(path.parent)!r}.",
            next_step="Free some space, or name another place with DISSENSUS_CACHE; what came so far is kept.",
        )
    return DownloadError(
        f"{str(path)!r} cannot be written ({error.strerror or error}).",
        next_step="Name a place that can be written with DISSENSUS_CACHE.",
    )
