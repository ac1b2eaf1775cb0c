"""One writer per record, held to it by the operating system.

Many Pythons ship a SQLite (3.7.0 to 3.51.2) in which several writers can damage a database in WAL mode. So a writer
holds a lock on a file beside the record for as long as it has it open. The lock dies with the process; the file that a
killed process leaves behind means nothing and is taken over by the next writer.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from pathlib import Path

from dissensus.errors import StorageError

if sys.platform != "win32":
    import fcntl


class WriterLock:
    """Holds ``PATH-lock``. Two of them on one record exclude each other, within one process too.

    Where the system has no ``flock`` (Windows) nothing is held, and SQLite's own locks are all there is.

    Raises :class:`~dissensus.errors.StorageError` if another writer holds it or the folder cannot be written.
    """

    def __init__(self, path: str) -> None:
        self._file = f"{os.path.realpath(path)}-lock"
        self._fd = -1
        if sys.platform == "win32":
            return
        while self._fd < 0:
            try:
                fd = os.open(self._file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            except OSError as error:
                raise StorageError(
                    f"The folder of {path} cannot be written ({os.strerror(error.errno or 0)}).",
                    next_step="Free space or change its permissions, or keep the record in another folder.",
                ) from error
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                who = os.read(fd, 20).decode("ascii", "replace").strip()
                os.close(fd)
                raise _refused(path, error, who) from None
            if self._is_current(fd):
                self._fd = fd
            else:  # whoever held it has just taken the file away
                os.close(fd)
        with contextlib.suppress(OSError):  # only so that others can be told who it is; a full disk may forbid it
            os.ftruncate(self._fd, 0)
            os.write(self._fd, f"{os.getpid()}\n".encode())

    def release(self) -> None:
        """Let go and take the file away. May be called twice."""
        if self._fd >= 0:
            with contextlib.suppress(OSError):
                Path(self._file).unlink()
            os.close(self._fd)
            self._fd = -1

    def _is_current(self, fd: int) -> bool:
        try:
            return os.path.samestat(os.fstat(fd), Path(self._file).stat())
        except FileNotFoundError:
            return False


def _refused(path: str, error: OSError, who: str) -> StorageError:
    if error.errno in {errno.EAGAIN, errno.EACCES, errno.EWOULDBLOCK}:
        return StorageError(
            f"{path} is open for writing in another process{f' (number {who})' if who else ''}.",
            next_step="Wait until that has ended, or end it.",
        )
    return StorageError(
        f"{path} lies on a file system without locks ({os.strerror(error.errno or 0)}).",
        next_step="Keep the record on a local disk.",
    )
