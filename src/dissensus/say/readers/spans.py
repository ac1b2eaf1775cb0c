"""The readers of traces, in one place."""

from __future__ import annotations

from dissensus.say.readers.agents_sdk import AGENTS_SDK
from dissensus.say.readers.langsmith import LANGSMITH
from dissensus.say.readers.otel import OPENINFERENCE, OTEL

__all__ = ["AGENTS_SDK", "LANGSMITH", "OPENINFERENCE", "OTEL"]
