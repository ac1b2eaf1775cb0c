"""What all tests share: the back end of async tests, hypothesis profiles, the data folder, and a guard on sockets."""

from __future__ import annotations

import errno
import ipaddress
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from dissensus.agents.catalogue import State, find, path_of, state_of

ROOT = Path(__file__).resolve().parent.parent

# The same examples in every run: a failure is never luck, and another machine sees it too. HYPOTHESIS_PROFILE=search
# looks for new ones. No deadline: a busy machine is no bug.
settings.register_profile("ci", derandomize=True, deadline=None, print_blob=True)
settings.register_profile(
    "search", deadline=None, max_examples=2000, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


# a developer's own settings decide nothing here; where the models lie is no setting of a run
for _name in [name for name in os.environ if name.startswith("DISSENSUS_") and name != "DISSENSUS_CACHE"]:
    del os.environ[_name]


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """Async tests run on asyncio."""
    return "asyncio"


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of reference data that lies beside a checkout; tests that need it are skipped elsewhere."""
    folder = ROOT.parent / "shared"
    if not folder.is_dir():
        pytest.skip("the reference data are not beside this checkout (../shared)")
    return folder


@pytest.fixture(scope="session")
def smollm2_path() -> Path:
    """The file of SmolLM2 135M in the cache. ``make test`` installs it; without it, the test is skipped."""
    entry = find("smollm2-135m")
    if state_of(entry) is not State.INSTALLED:
        pytest.skip("the test model is not installed: run dissensus model install smollm2-135m")
    return path_of(entry)


_attempts: list[str] = []


def _stay_on_this_machine(event: str, arguments: tuple[object, ...]) -> None:
    """Audit hook: refuse to connect, send or look up a name anywhere but on this machine."""
    if not event.startswith("socket."):
        return
    if event == "socket.getaddrinfo":
        host = arguments[0]
    elif event in {"socket.connect", "socket.sendto"} and isinstance(arguments[1], tuple):
        host = arguments[1][0]
    else:
        return
    if not _is_here(host):
        _attempts.append(f"{event} {host!r}")
        raise OSError(errno.ENETUNREACH, f"tests stay on this machine: {host!r}")


def _is_here(host: object) -> bool:
    name = host.decode() if isinstance(host, bytes) else host
    if not isinstance(name, str) or name in {"", "localhost"}:
        return True  # no host, or an address of another family
    try:
        address = ipaddress.ip_address(name.partition("%")[0])
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified


# a hook sees what libraries do below the socket module too; it cannot be removed, so it is added once a process
sys.addaudithook(_stay_on_this_machine)


@pytest.fixture
def attempts_to_leave() -> list[str]:
    """What was refused so far in this test; a test that empties it has meant it."""
    return _attempts


@pytest.fixture(autouse=True)
def _no_network() -> Iterator[None]:
    """Fail a test that tried to leave the machine, even if the code under test swallowed the refusal."""
    _attempts.clear()
    yield
    assert not _attempts, f"tried to leave this machine: {_attempts}"
