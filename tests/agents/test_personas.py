from __future__ import annotations

import pytest

from dissensus.agents.personas import NAMES, name_of, system_prompt
from dissensus.errors import SpecError
from dissensus.script.styles import STYLES


def test_a_system_prompt_has_persona_style_and_language() -> None:
    style = STYLES["exact"].text
    assert system_prompt(" You keep a shop. ", "exact", "de") == f"You keep a shop.\n{style}\nAnswer in German."
    assert system_prompt(language="Swiss German") == "Answer in Swiss German."
    assert system_prompt(style="exact") == style
    assert system_prompt() == ""


def test_an_unknown_style_is_refused_with_the_nearest_one() -> None:
    with pytest.raises(SpecError, match=r'no reasoning style "exakt"\. Did you mean "exact"\?'):
        system_prompt(style="exakt")
    with pytest.raises(SpecError, match="Known styles: plain, exact"):
        system_prompt(style="qqq")


def test_default_names_never_repeat() -> None:
    names = [name_of(index) for index in range(3 * len(NAMES))]
    assert len(set(names)) == len(names)
    assert names[:5] == ["ada", "ben", "cleo", "dan", "eve"]
    assert names[len(NAMES)] == "ada2"
