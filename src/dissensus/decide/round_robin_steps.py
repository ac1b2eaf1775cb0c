"""Mechanical verifiers in a round-robin: what happens when a step of the text is wrong.

A verifier looks at the evidence in the text and not at who speaks, so it is bound by no limit of voting. It sees only
what it can read without doubt (:mod:`dissensus.decide.verifiers`): that it objects to nothing does not make a text
right. No agent is told what it found.

* ``note``: the step is put on the record, with those who wrote it, and stays.
* ``rewrite``: the text is taken back to before the step, and whoever is next goes on from there. What was taken back
  counts as decoded. If one turn after the other is taken back, for a whole round, the next wrong step is let stand, so
  that agents who cannot do better still come to an end.
"""

from __future__ import annotations

from dissensus.answers.normal import without_surrogates
from dissensus.decide.round_robin_page import Page
from dissensus.decide.round_robin_result import WrongStep
from dissensus.decide.round_robin_writers import Table
from dissensus.decide.verifiers.verify import verifier
from dissensus.decide.verifiers.wrong import Wrong


class Steps:
    """Judges one text after each turn. ``wrong`` holds what was found, in the order in which it was found."""

    def __init__(self, table: Table) -> None:
        names, asked = table.settings.verifiers, table.question.text
        self._rewrite = table.settings.on_wrong == "rewrite"
        self._most = len(table.seats)
        self._verify = {
            finished: {name: verifier([name], asked, finished=finished) for name in names} for finished in (False, True)
        }
        self._standing: list[tuple[int, int]] = []
        self._in_a_row = 0
        self.wrong: tuple[WrongStep, ...] = ()

    def judge(self, page: Page) -> tuple[WrongStep, ...]:
        """What is wrong in the text that was not before its last turn. May take text back from ``page``.

        A line or sentence that may still go on is judged when it is closed; where the writer ended the text, it is.
        """
        turn = page.turns[-1]
        if not self._verify[False] or turn.failure:
            return ()
        found: list[WrongStep] = []
        while (hit := self._first(page, finished=turn.finish == "eos")) is not None:
            name, wrong, start, stop = hit
            back = self._rewrite and self._in_a_row < self._most
            writers = page.writers(start, stop)
            tokens = page.take_back(start) if back else 0
            found.append(
                WrongStep(
                    turn=turn.turn,
                    verifier=name,
                    start=wrong.start,
                    written=without_surrogates(wrong.written),
                    why=without_surrogates(wrong.why),
                    writers=writers,
                    action="taken-back" if back else "let-stand" if self._rewrite else "noted",
                    tokens=tokens,
                )
            )
            if back:
                length = len(_characters(page.raw))
                self._standing = [(first, last) for first, last in self._standing if last <= length]
                break
            self._standing.append((wrong.start, wrong.stop))
        if any(one.action == "taken-back" for one in found):
            self._in_a_row += 1
        elif turn.kept:
            self._in_a_row = 0
        self.wrong += tuple(found)
        return tuple(found)

    def _first(self, page: Page, *, finished: bool) -> tuple[str, Wrong, int, int] | None:
        """The first wrong step that is not known yet, by whom, and its place in bytes."""
        text = _characters(page.raw)
        looked_at = text
        for start, stop in self._standing:
            looked_at = f"{looked_at[:start]}{' ' * (stop - start)}{looked_at[stop:]}"
        hits = [(name, wrong) for name, look in self._verify[finished].items() if (wrong := look(looked_at))]
        if not hits:
            return None
        name, wrong = min(hits, key=lambda hit: (hit[1].start, hit[0]))
        return name, wrong, _bytes(text[: wrong.start]), _bytes(text[: wrong.stop])


def _characters(raw: bytes) -> str:
    """``raw`` as characters, one for each byte that belongs to none."""
    return raw.decode("utf-8", "surrogateescape")


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogateescape"))
