"""Groups of AI agents decide; this tells what their agreement is worth.

The public names, each imported when it is first used::

    import dissensus

    decision = dissensus.vote("Is 2027 a prime number?", options=("yes", "no"), panel="panel.yaml")
    print(decision.status, decision.answer, decision.votes, decision.warnings)
    dissensus.replay(decision.record)

The main loop is :class:`dissensus.run.engine.Engine`.
"""

from __future__ import annotations

import importlib
from typing import Any

_HOME = {
    "Ballot": "dissensus.script.decisions",
    "Contract": "dissensus.decide.contract",
    "ContractSettings": "dissensus.decide.contract",
    "Decision": "dissensus.script.decisions",
    "DissensusError": "dissensus.errors",
    "Monitor": "dissensus.interop.live_monitor",
    "Panel": "dissensus.agents.panel",
    "Question": "dissensus.script.questions",
    "Seat": "dissensus.script.seats",
    "Status": "dissensus.script.decisions",
    "VoteSettings": "dissensus.decide.vote",
    "audit": "dissensus.interop.message_logs",
    "contract": "dissensus.run.contracting",
    "contract_async": "dissensus.run.contracting",
    "default_panel": "dissensus.agents.panel",
    "holder_of": "dissensus.run.holding",
    "load_panel": "dissensus.agents.panel",
    "open_record": "dissensus.record.sqlite",
    "replay": "dissensus.run.runs",
    "verify": "dissensus.record.verify",
    "vote": "dissensus.run.api",
    "vote_async": "dissensus.run.api",
}
"""Where each public name lives."""

__all__ = [
    "Ballot",
    "Contract",
    "ContractSettings",
    "Decision",
    "DissensusError",
    "Monitor",
    "Panel",
    "Question",
    "Seat",
    "Status",
    "VoteSettings",
    "__version__",
    "audit",
    "contract",
    "contract_async",
    "default_panel",
    "holder_of",
    "load_panel",
    "open_record",
    "replay",
    "verify",
    "vote",
    "vote_async",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("dissensus")
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return list(__all__)
