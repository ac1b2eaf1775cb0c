"""From a panel file to a run: opens the models, tools and budget of a panel, and keeps them open between runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from types import TracebackType
from typing import Any, Self

from dissensus.agents.checks import check_from_spec
from dissensus.agents.panel import Panel, open_budget, open_model, open_tools, panel_from_data
from dissensus.agents.model import Model
from dissensus.record.event import Event
from dissensus.record.store import Store
from dissensus.run import runs
from dissensus.run.performers import Live
from dissensus.script.decisions import Decision
