"""Play a script without an engine: for tests of procedures, and to see what one would ask.

Everything is done at once and in order; nothing is recorded, no view is built, no race is cut short by time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dissensus.script.effects import Effect, Finish, Note, Post, Race, Script, Together, Within, who_of
from dissensus.script.keys import Keys
from dissensus.script.outcomes import Done, Outcome

Answer = Callable[[str, Effect], Outcome]


def rehearse(script: Script, answer: Answer) -> Any:
    """Run ``script`` to its end; ``answer(key, effect)`` gives each outcome. Returns the script's result.

    Posts and notes are done without asking.
    """
    return _play(script, "", Keys(), answer)


def _play(script: Script, scope: str, keys: Keys, answer: Answer) -> Any:
    sent: Any = None
    while True:
        try:
            what = script.send(sent)
        except StopIteration as stop:
            return stop.value
        sent = _carry_out(what, scope, keys, answer)


def _carry_out(what: Any, scope: str, keys: Keys, answer: Answer) -> Any:
    match what:
        case Within(inner, nested):
            return _carry_out(nested, f"{scope}/{inner}" if scope else inner, keys, answer)
        case Together(scripts):
            return {
                name: _play(sub, f"{scope}/{name}" if scope else name, keys, answer) for name, sub in scripts.items()
            }
        case Race(scripts, enough):
            used: dict[str, Any] = {}
            for name, sub in scripts.items():
                if used and enough(used):
                    break
                used[name] = _play(sub, f"{scope}/{name}" if scope else name, keys, answer)
            return Finish(used, tuple(name for name in scripts if name not in used))
        case list() | tuple():
            return [_carry_out(effect, scope, keys, answer) for effect in what]
        case _:
            kind = what.kind_of_note if isinstance(what, Note) else what.kind
            key = keys.give(scope, kind, who_of(what), what.key)
            return Done() if isinstance(what, Post | Note) else answer(key, what)
