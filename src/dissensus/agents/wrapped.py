"""A model around a model: what all wrappers have in common."""

from __future__ import annotations

from dissensus.agents.model import Model
from dissensus.script.calls import Capabilities


class Wrapped:
    """Has what ``model`` says of itself, and closes it. How calls are made is the wrapper's own."""

    __slots__ = ("model",)

    def __init__(self, model: Model) -> None:
        self.model = model

    @property
    def name(self) -> str:
        """The name of the model inside."""
        return self.model.name

    @property
    def capabilities(self) -> Capabilities:
        """What the model inside can do."""
        return self.model.capabilities

    @property
    def tokenizer(self) -> str:
        """Digest of the tokenizer of the model inside; "" if it does not say."""
        return str(getattr(self.model, "tokenizer", ""))

    async def forget(self, prefix: str) -> None:
        """Have the model inside free the streams whose names begin with ``prefix``, if it keeps any."""
        if (forget := getattr(self.model, "forget", None)) is not None:
            await forget(prefix)

    async def close(self) -> None:
        """Close the model inside."""
        await self.model.close()
