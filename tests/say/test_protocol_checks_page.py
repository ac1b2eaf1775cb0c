"""The page on checks is true: each example has the fault under whose heading it stands, and no other error."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dissensus.say.protocol_checks import CODES, check
from dissensus.say.protocol_file import load

PAGE = (Path(__file__).parents[2] / "docs" / "protocol-checks.md").read_text(encoding="utf-8")
EXAMPLES = dict(re.findall(r"^### (P\d\d).*?```yaml\n(.*?)```", PAGE, re.MULTILINE | re.DOTALL))
LEVELS = {"P10": "warning", "P15": "warning"}


@pytest.mark.parametrize("code", CODES)
def test_an_example_has_the_fault_that_it_is_for(code: str) -> None:
    roles = "{a: one, b: one, c: one}" if code in {"P03", "P08"} else "{a: one, b: one}"
    head = f"protocol: example\nroles: {roles}\nstart: {{state: start, role: a}}\nfinal: [end]\nmoves:\n"
    found = check(load(head + EXAMPLES[code], "example.yaml", strict=False))
    assert [fault.level for fault in found if fault.code == code] == [LEVELS.get(code, "error")]
    assert {fault.code for fault in found if fault.level == "error"} <= {code}


def test_examples_are_short_and_headings_say_when_a_code_is_a_warning() -> None:
    assert all(len(lines.splitlines()) <= 3 for lines in EXAMPLES.values())
    warnings = set(re.findall(r"^### (P\d\d).*\(warning\)$", PAGE, re.MULTILINE))
    assert warnings == set(LEVELS)


def test_the_output_at_the_top_is_what_is_printed() -> None:
    head = "protocol: ours\nroles: {a: one, b: one}\nstart: {state: start, role: a}\nfinal: [end]\nmoves:\n"
    (fault,) = check(load(head + EXAMPLES["P12"], "ours.yaml", strict=False))
    assert f"  ours.yaml:{fault.line}: {fault.code} {fault.level}: {fault.message}\n" in PAGE
    assert "\n".join(f"      {line}" for line in fault.trace) in PAGE
