"""Which models count as weak: embedded ones with a small file, and no others."""

from __future__ import annotations

from pathlib import Path

import pytest

from dissensus.agents import weak
from dissensus.agents.panel import default_panel


def test_embedded_models_are_judged_by_the_size_of_their_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "tiny.gguf"
    file.write_bytes(b"GGUF" * 10)
    small = f"llama:{file}"
    assert weak.weak_models(default_panel(small, 3)) == (small,)
    monkeypatch.setattr(weak, "WEAK_BELOW", 40)
    assert weak.weak_models(default_panel(small, 3)) == ()


@pytest.mark.parametrize(
    ("reference", "is_weak"),
    [
        ("llama:qwen2.5-coder-0.5b", True),
        ("smollm2-135m", True),
        ("llama:absent-model", False),
        ("scripted:yes", False),
        ("openai:tiny@http://localhost:1/v1", False),
        ("llama:", False),
    ],
)
def test_the_catalogue_is_known_and_of_servers_nothing_is(reference: str, is_weak: bool) -> None:
    assert weak.weak_models(default_panel(reference, 2)) == ((reference,) if is_weak else ())
