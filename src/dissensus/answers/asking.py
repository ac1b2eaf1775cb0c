"""What an agent is told about the form of its answer: a schema, an instruction, and what to say if it went wrong."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dissensus.answers.choices import options_of
from dissensus.answers.kinds import resolved
from dissensus.answers.normal import is_abstention

ABSTENTION = "unsure"
LONGEST_REASON = 300
"""Most characters of the reason in structured output: long enough for a small model to think, short enough to end."""


def schema_for(kind: str, options: Sequence[str] = (), unit: str = "") -> dict[str, Any]:
    """JSON schema of a reply: the reason first, so that it is written before the answer.

    Raises as :func:`~dissensus.answers.reading.read` does.
    """
    kind = resolved(kind, options, unit)
    answer: dict[str, Any] = {"type": "string"}
    if kind == "choice":
        answer["enum"] = _with_abstention(options_of(options).texts)
    elif kind == "yes-no":
        answer["enum"] = _with_abstention(options or ("yes", "no"))
    else:
        answer["description"] = f'{_wanted(kind, unit)}, or "{ABSTENTION}"'
        answer["maxLength"] = 100 if kind in {"number", "date"} else 200
    return {
        "type": "object",
        "properties": {
            "reason": {"type": "string", "description": "one or two short sentences", "maxLength": LONGEST_REASON},
            "answer": answer,
        },
        "required": ["reason", "answer"],
        "additionalProperties": False,
    }


def instruction_for(kind: str, options: Sequence[str] = (), unit: str = "") -> str:
    """How a reply has to end, for a model that is not held to a schema."""
    kind = resolved(kind, options, unit)
    return f"End with one line: {_line(kind, options, unit)}{_or_abstain(options)}"


def repair_prompt(kind: str, problem: str, options: Sequence[str] = (), unit: str = "") -> str:
    """What to tell an agent whose reply could not be read: why (from ``Read.problem``), and what to send instead."""
    kind = resolved(kind, options, unit)
    why = problem.partition(": ")[2] or problem or "no answer was found"
    listed = f" The options are: {'; '.join(options)}." if kind == "choice" else ""
    return (
        f"Your reply could not be counted: {why}.{listed} "
        f"Reply with this one line and nothing else: {_line(kind, options, unit)}{_or_abstain(options)}"
    )


def _line(kind: str, options: Sequence[str], unit: str) -> str:
    if kind == "yes-no":
        yes, no = options or ("yes", "no")
        return f"“Answer: {yes}” or “Answer: {no}”"
    return f"Answer: <{_wanted(kind, unit)}>"


def _wanted(kind: str, unit: str) -> str:
    unit = " ".join(unit.split())
    return {
        "number": f"number in {unit}" if unit else "number with unit",
        "choice": "one of the options, as written",
        "date": "date as YYYY-MM-DD",
        "text": "the answer alone, in a few words",
        "auto": "the answer alone, in a few words",
    }[kind]


def _or_abstain(options: Sequence[str]) -> str:
    return (
        "" if any(is_abstention(option) for option in options) else f"\nIf you cannot tell, write: Answer: {ABSTENTION}"
    )


def _with_abstention(options: Sequence[str]) -> list[str]:
    own = any(is_abstention(option) for option in options)
    return list(options) if own else [*options, ABSTENTION]
