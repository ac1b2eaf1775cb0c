"""The small local model of the tests, if it is installed."""

from __future__ import annotations

from pathlib import Path

import pytest

from dissensus.agents.catalogue import State, find, path_of, state_of


@pytest.fixture(scope="session")
def smollm2_path() -> Path:
    """The file of SmolLM2 135M in the cache. ``make test`` installs it; without it, the test is skipped."""
    entry = find("smollm2-135m")
    if state_of(entry) is not State.INSTALLED:
        pytest.skip("the test model is not installed: run dissensus model install smollm2-135m")
    return path_of(entry)
