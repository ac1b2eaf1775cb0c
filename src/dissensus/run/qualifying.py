"""What the engine knows of a run and its script does not: put into the decision before that is recorded."""

from __future__ import annotations

from dataclasses import replace

from dissensus.run.engine import Engine
from dissensus.run.journal import Journal
from dissensus.script.decisions import Decision
from dissensus.script.outcomes import Blocked


def qualified(decision: Decision, engine: Engine, journal: Journal) -> Decision:
    """``decision`` with what was blocked, what came late, and which limit kept a call from being made."""
    warnings = list(decision.warnings)
    if unheard := engine.counts[Blocked.kind]:
        said = "1 message was no legal move" if unheard == 1 else f"{unheard} messages were no legal moves"
        warnings.append(f"{said} in a protocol, and seen by nobody: `dissensus record show --kind blocked` says why.")
    if late := journal.false_alarms:
        came = "1 reply came" if late == 1 else f"{late} replies came"
        warnings.append(
            f"{came} after the deadline: a false alarm of silence. Late replies are on the record, in no ballot."
        )
    stopped = decision.stopped or (engine.unpaid and f"budget: {engine.unpaid}")
    return replace(decision, warnings=tuple(warnings), stopped=stopped)
