"""Play a script without an engine: for tests of procedures, and to see what one would ask.

Everything is done at once and in order; nothing is recorded, no view is built, no race is cut short by time. Posts are
judged as in a run: one that is no legal move is blocked.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dissensus.script.effects import Effect, Finish, Note, Post, Race, Script, Together, Within, who_of
from dissensus.script.keys import Keys
from dissensus.script.obeying import Obeying
from dissensus.script.outcomes import Done, Outcome
from dissensus.script.saying import said

Answer = Callable[[str, Effect], Outcome]


def rehearse(script: Script, answer: Answer) -> Any:
    """Run ``script`` to its end; ``answer(key, effect)`` gives each outcome. Returns the script's result.

    Posts and notes are done without asking.
    """
    return _Stage(answer).play(script, "")


class _Stage:
    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._keys = Keys()
        self._obeying = Obeying()

    def play(self, script: Script, scope: str) -> Any:
        sent: Any = None
        while True:
            try:
                what = script.send(sent)
            except StopIteration as stop:
                return stop.value
            sent = self._carry_out(what, scope)

    def _carry_out(self, what: Any, scope: str) -> Any:
        match what:
            case Within(inner, nested):
                return self._carry_out(nested, _join(scope, inner))
            case Together(scripts):
                return {name: self.play(sub, _join(scope, name)) for name, sub in scripts.items()}
            case Race(scripts, enough):
                used: dict[str, Any] = {}
                for name, sub in scripts.items():
                    if used and enough(used):
                        break
                    used[name] = self.play(sub, _join(scope, name))
                return Finish(used, tuple(name for name in scripts if name not in used))
            case list() | tuple():
                return [self._carry_out(effect, scope) for effect in what]
            case _:
                kind = what.kind_of_note if isinstance(what, Note) else what.kind
                key = self._keys.give(scope, kind, who_of(what), what.key)
                if isinstance(what, Post):
                    return self._obeying.against(said(what, key, scope)) or Done()
                return Done() if isinstance(what, Note) else self._answer(key, what)


def _join(scope: str, name: str) -> str:
    return f"{scope}/{name}" if scope else name
