"""Parts of a case file that name neither sources nor claims: who is asked, what may be spent, how a table is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from dissensus.agents.budget import Limits
from dissensus.agents.durations import seconds_of
from dissensus.agents.panel import Panel, load_panel
from dissensus.decide.dispute.case import Asking, ToolCall
from dissensus.decide.dispute.checkers import Table
from dissensus.decide.dispute.precedence import Precedence, precedence_from
from dissensus.specfile import Place, Spec, read_spec

_TABLE_KEYS: Final = ("value", "subject", "key", "time", "unit", "attribute")
_PERSON_KEYS: Final = ("ask", "to", "deadline", "remind", "escalate_to")
_BUDGET_KEYS: Final = ("calls", "tokens", "seconds", "money")


@dataclass(slots=True)
class Fields:
    """A case file, field by field; what is wrong is named with its line.

    Args:
        spec: the file.
        folder: from which other files are looked for.
        store: folder of the copies.
    """

    spec: Spec
    folder: Path
    store: Path

    def precedence(self) -> Precedence | None:
        """The rules of precedence, from the file or from one that it names."""
        given = self.spec.data.get("precedence")
        if given is None:
            return None
        if isinstance(given, str):
            rules = read_spec(self.folder / given, "file of rules")
            return precedence_from(rules.data, rules)
        return precedence_from(given, self.spec, ("precedence",))

    def panel(self) -> tuple[Panel | None, Limits]:
        """Who takes part, and the most that may be spent."""
        given = self.spec.data.get("budget")
        limits: dict[str, Any] = {}
        if given is not None:
            place: Place = ("budget",)
            if not isinstance(given, Mapping):
                raise self.spec.wrong(place, "A budget has to be a mapping.", next_step="Write calls, tokens, seconds.")
            self.known(given, place, _BUDGET_KEYS, "a budget")
            limits = {key: self.limit(key, value) for key, value in given.items()}
        name = self.text("panel")
        panel = load_panel(self.folder / name) if name else None
        base = panel.budget if panel is not None else Limits()
        try:
            return panel, replace(base, **limits)
        except (ValueError, TypeError) as error:
            raise self.spec.wrong(("budget",), str(error), next_step="Write numbers that are not negative.") from None

    def limit(self, key: str, value: Any) -> int | float:
        """One limit of the budget."""
        place: Place = ("budget", key)
        if key == "seconds" and isinstance(value, str):
            try:
                return seconds_of(value)
            except ValueError as error:
                raise self.spec.wrong(place, f"`{key}` {error}.", next_step="Write it like 5 min.") from None
        whole = key in ("calls", "tokens")
        if isinstance(value, bool) or not isinstance(value, int if whole else int | float):
            raise self.spec.wrong(place, f"`{key}` has to be a number.", next_step="Write it like 100.")
        return value

    def call(self, given: Any, number: int, panel: Panel | None) -> ToolCall:
        """A call that may be made again."""
        place: Place = ("calls", number)
        known = ("tool", "arguments", "repeatable")
        if not isinstance(given, Mapping):
            raise self.spec.wrong(place, "A call has to be a mapping.", next_step="Write tool and arguments.")
        self.known(given, place, known, "a call")
        tool, arguments, again = given.get("tool"), given.get("arguments", {}), given.get("repeatable", False)
        if panel is None or tool not in panel.tools:
            raise self.spec.wrong(
                (*place, "tool"), f"The panel has no tool {tool!r}.", next_step="Name one of its tools."
            )
        if not isinstance(arguments, Mapping) or not isinstance(again, bool):
            raise self.spec.wrong(
                place, "`arguments` is a mapping, `repeatable` true or false.", next_step="Correct it."
            )
        return ToolCall(tool=str(tool), arguments=dict(arguments), repeatable=again)

    def asking(self) -> Asking:
        """How a person is asked."""
        given = self.spec.data.get("person")
        sources, base = (str(self.store.resolve()),), str(self.folder.resolve())
        if given is None:
            return Asking(sources=sources, base=base)
        place: Place = ("person",)
        if not isinstance(given, Mapping):
            raise self.spec.wrong(place, "`person` has to be a mapping.", next_step=f"Its keys are {_PERSON_KEYS}.")
        self.known(given, place, _PERSON_KEYS, "`person`")
        spans: dict[str, float | None] = {}
        for key in ("deadline", "remind"):
            try:
                spans[f"{key}_s"] = None if given.get(key) is None else seconds_of(given[key])
            except ValueError as error:
                raise self.spec.wrong((*place, key), f"`{key}` {error}.", next_step="Write it like 2 days.") from None
        names: dict[str, tuple[str, ...]] = {}
        for key in ("to", "escalate_to"):
            some = given.get(key) or []
            if not isinstance(some, list) or not all(isinstance(one, str) for one in some):
                raise self.spec.wrong((*place, key), f"`{key}` has to be a list of names.", next_step="Use brackets.")
            names[key] = tuple(some)
        ask = given.get("ask", True)
        if not isinstance(ask, bool):
            raise self.spec.wrong((*place, "ask"), "`ask` is true or false.", next_step="Write true or false.")
        return Asking(ask=ask, sources=sources, base=base, **names, **spans)  # type: ignore[arg-type]

    def table(self, given: Any, place: Place) -> Table | None:
        """How a table is to be read."""
        if given is None:
            return None
        where = (*place, "table")
        if not isinstance(given, Mapping) or not given.get("value"):
            raise self.spec.wrong(where, "A table names at least its `value` column.", next_step="Add `value`.")
        self.known(given, where, _TABLE_KEYS, "a table")
        for key, text in given.items():
            if not isinstance(text, str):
                raise self.spec.wrong((*where, key), f"`{key}` has to be a text.", next_step="Put it into quotes.")
        return Table(**{key: str(text) for key, text in given.items()})

    def known(self, given: Mapping[str, Any], place: Place, keys: tuple[str, ...], what: str) -> None:
        """Refuse a key that there is not."""
        for key in given:
            if key not in keys:
                raise self.spec.wrong(
                    (*place, key), f"{key!r} is no key of {what}.", next_step=f"Known are {', '.join(keys)}."
                )

    def mapping(self, key: str) -> Mapping[str, Any]:
        """A mapping at the top; empty if there is none."""
        given = self.spec.data.get(key)
        if given is None:
            return {}
        if not isinstance(given, Mapping):
            raise self.spec.wrong((key,), f"`{key}` has to be a mapping.", next_step="Write name: file.")
        return given

    def many(self, key: str) -> list[Any]:
        """A list at the top; empty if there is none."""
        given = self.spec.data.get(key)
        if given is None:
            return []
        if not isinstance(given, list):
            raise self.spec.wrong((key,), f"`{key}` has to be a list.", next_step="Use brackets.")
        return given

    def text(self, key: str) -> str:
        """A text at the top; empty if there is none."""
        given = self.spec.data.get(key)
        if given is None:
            return ""
        if not isinstance(given, str):
            raise self.spec.wrong((key,), f"`{key}` has to be a text.", next_step="Put it into quotes.")
        return given

    def whole(self, key: str, default: int) -> int:
        """A whole number from 0 to 100 at the top."""
        given = self.spec.data.get(key, default)
        if not isinstance(given, int) or isinstance(given, bool) or not 0 <= given <= 100:
            raise self.spec.wrong((key,), f"`{key}` has to be a number from 0 to 100.", next_step="Write it like 3.")
        return given
