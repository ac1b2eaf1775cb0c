"""A child process that does what is left of some work, and is killed while it does."""

from __future__ import annotations

import os
import signal
import time
import traceback
from collections.abc import Callable


def attempt(work: Callable[[], None], kill_after_s: float | None) -> bool:
    """One child that does ``work``, killed after a while unless it ends first. Returns whether it was killed.

    It forks, so the caller has to be a process of its own with a single thread.
    """
    pid = os.fork()
    if pid == 0:
        try:
            work()
            os._exit(0)
        except BaseException:  # noqa: BLE001 - whatever it was, show it; the parent sees the exit status
            traceback.print_exc()
        finally:
            os._exit(1)
    if kill_after_s is not None:
        time.sleep(kill_after_s)
        os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    if not os.WIFSIGNALED(status) and os.waitstatus_to_exitcode(status) != 0:
        raise SystemExit("a child failed")
    return os.WIFSIGNALED(status)
