"""What counts as the same answer: reading replies, canonical forms, equivalence. Pure; see README.md."""

from dissensus.answers.asking import instruction_for, repair_prompt, schema_for
from dissensus.answers.choices import displayed
from dissensus.answers.kinds import KINDS, infer_kind
from dissensus.answers.normal import VERSION
from dissensus.answers.reading import Read, canonical, read, read_answer
from dissensus.answers.sameness import (
    EXACT,
    Group,
    Partition,
    Tolerance,
    classes,
    group,
    matches_gold,
    partition,
    same,
)

__all__ = [
    "EXACT",
    "KINDS",
    "VERSION",
    "Group",
    "Partition",
    "Read",
    "Tolerance",
    "canonical",
    "classes",
    "displayed",
    "group",
    "infer_kind",
    "instruction_for",
    "matches_gold",
    "partition",
    "read",
    "read_answer",
    "repair_prompt",
    "same",
    "schema_for",
]
