"""From cells as written to answers that can be compared: which texts are the same, and which are no answers.

What counts as the same is :mod:`dissensus.answers`; here it is applied to a table, question by question, and what was
done is said. Texts are compared exactly, after trimming, unless a kind is named or the right answers show one beyond
doubt.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from dissensus.answers import EXACT, KINDS, VERSION, Tolerance, read_answer
from dissensus.answers.kinds import NO, YES
from dissensus.errors import UsageError
from dissensus.interop.numbers import Numbers, unread
from dissensus.interop.sheet import INVALID, Numbered, Sheet, some
from dissensus.interop.sniffing import AS_WRITTEN, LETTER, kind_shown, letters
from dissensus.measure.table import Codes, Flags, VoteTable, Whole
from dissensus.measure.wording import counted

GIVEN, SNIFFED, DEFAULT, FORMAT = "given", "sniffed", "default", "format"
_MANY_QUESTIONS = 20
_FEW_ANSWERS, _FEW_KEYS = 10, 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Sameness:
    """What the caller says of answers.

    Args:
        kind: ``exact``, a kind of :data:`dissensus.answers.KINDS`, or "" to find out.
        unit: the unit that numbers are compared in.
        tolerance: how far numbers may differ.
        canonical: a function from text to its one form, or None for no answer; instead of a kind. Its name is recorded.
    """

    kind: str = ""
    unit: str = ""
    tolerance: Tolerance = EXACT
    canonical: Callable[[str], str | None] | None = None


def tolerance_of(text: str) -> Tolerance:
    """``0.01``: numbers may differ by so much; ``1%``: by so much of the larger.

    Raises:
        UsageError: it is neither.
    """
    if not text.strip():
        return EXACT
    try:
        if text.strip().endswith("%"):
            return Tolerance(relative=Fraction(text.strip().rstrip("%").strip()) / 100)
        return Tolerance(absolute=Fraction(text.strip()))
    except (ValueError, ZeroDivisionError):
        raise UsageError(
            f"{text!r} is no tolerance.", next_step="Write 0.01 for a difference, or 1% for a share of the number."
        ) from None


def settle(sheet: Sheet, said: Sameness) -> tuple[VoteTable, dict[str, Any], list[str]]:
    """The table, how answers were compared, and sentences about what was found.

    Raises:
        UsageError: there is no such kind, a tolerance is asked of what is no number, or it chains too far.
    """
    if said.kind and said.kind != AS_WRITTEN and said.kind not in KINDS:
        raise UsageError(
            f"There is no kind of answer called {said.kind!r}.",
            next_step=f"Use {AS_WRITTEN} or one of {', '.join(KINDS)}.",
        )
    wants_number = said.tolerance != EXACT or bool(said.unit)
    if wants_number and said.kind not in {"", "number", "auto"}:
        raise UsageError("A tolerance or a unit is for numbers.", next_step="Use --kind number.")
    kind, source = _kind(sheet, said, wants_number=wants_number)
    return _Settling(sheet, said, kind, source).done()


def _kind(sheet: Sheet, said: Sameness, *, wants_number: bool) -> tuple[str, str]:
    if said.canonical is not None:
        return "custom", GIVEN
    if said.kind or wants_number:
        return said.kind or "number", GIVEN
    if sheet.kind:
        return sheet.kind, FORMAT
    shown = kind_shown(sheet)
    return shown, DEFAULT if shown == AS_WRITTEN else SNIFFED


class _Settling:
    """One table on its way from texts to classes."""

    def __init__(self, sheet: Sheet, said: Sameness, kind: str, source: str) -> None:
        self.sheet, self.said, self.kind, self.source = sheet, said, kind, source
        self.forms = Numbered()  # canonical form to its code
        self.reasons = list(sheet.reasons)
        self.by_reason = {reason: -1 - place for place, reason in enumerate(self.reasons)}
        self.notes: list[str] = []
        self.numbers: Numbers | None = None
        if kind in {"number", "auto"}:
            self.numbers = Numbers(
                sheet, kind=kind, unit=said.unit, tolerance=said.tolerance, forms=self.forms, blank=self._blank
            )

    def done(self) -> tuple[VoteTable, dict[str, Any], list[str]]:
        sheet = self.sheet
        if self.kind == AS_WRITTEN:
            cells, gold = sheet.cells, sheet.gold
            texts: list[str] = sheet.texts
        elif self.kind == "choice" and sheet.allowed is not None:
            cells, gold = self._by_options(sheet.allowed)
            texts = list(self.forms)
        else:
            form = np.array([self._form(text) for text in sheet.texts] or [0], dtype=np.int32)
            cells = np.where(sheet.cells >= 0, form[np.maximum(sheet.cells, 0)], sheet.cells).astype(np.int32)
            gold = np.where(sheet.gold >= 0, form[np.maximum(sheet.gold, 0)], np.int32(-1)).astype(np.int32)
            if self.numbers is not None:
                cells, gold = self.numbers.settle(cells, gold)
            texts = list(self.forms)
        illegible = (gold < 0) & (sheet.gold >= 0)
        self._strange_keys(cells, gold, texts)
        if self.source == DEFAULT:
            self._nearly_right(cells, gold, texts)
        cells, gold, options, origin = self._within(cells, gold, texts)
        self._say(illegible, (gold < 0) & (sheet.gold >= 0) & ~illegible)
        table = VoteTable(
            codes=cells,
            gold=np.maximum(gold, -1).astype(np.int32),
            voters=tuple(sheet.voters),
            questions=sheet.questions,
            texts=texts,
            reasons=tuple(self.reasons) or ("blank",),
            options=options,
            groups=sheet.groups,
            strata=sheet.strata,
            stratum_names=sheet.stratum_names,
            costs=sheet.costs,
            factors=sheet.factors,
        )
        return table, self._report(texts, origin), self.notes

    def _blank(self, reason: str) -> int:
        if reason not in self.by_reason:
            self.reasons.append(reason)
            self.by_reason[reason] = -len(self.reasons)
        return self.by_reason[reason]

    def _form(self, text: str, options: Sequence[str] = ()) -> int:
        """Code of the canonical form of ``text``, or of the blank that it is."""
        if self.said.canonical is not None:
            form = self.said.canonical(text)
            return self._blank("no answer by the given function") if form is None else self.forms[form]
        if self.numbers is not None:
            return self.numbers.code(text)
        if self.kind == "choice" and not options:
            options = letters(self.sheet)
        read = read_answer(self.kind, text, options=options, unit=self.said.unit)
        if read.canonical is None:
            return self._blank(unread(read))
        return self.forms[read.canonical]

    def _by_options(self, allowed: Sequence[tuple[str, ...]]) -> tuple[Codes, Codes]:
        """Answers read as one of the options of their own question."""
        sheet = self.sheet
        known: dict[tuple[int, tuple[str, ...]], int] = {}

        def of(code: int, options: tuple[str, ...]) -> int:
            if code < 0 or not options:
                return min(code, -1) if code < 0 else self._blank(INVALID)
            if (code, options) not in known:
                known[code, options] = self._form(sheet.texts[code], options)
            return known[code, options]

        cells = np.array(
            [[of(int(code), options) for code in row] for row, options in zip(sheet.cells, allowed, strict=True)],
            dtype=np.int32,
        ).reshape(sheet.cells.shape)
        gold = [of(int(code), options) for code, options in zip(sheet.gold, allowed, strict=True)]
        return cells, np.array(gold, dtype=np.int32)

    def _within(self, cells: Codes, gold: Codes, texts: list[str]) -> tuple[Codes, Codes, Whole | None, str]:
        """Make answers outside the options blank; tell how many options there are."""
        sheet = self.sheet
        if sheet.options is None:
            return cells, gold, *_options_seen(cells, gold, texts)
        known = sheet.options > 0
        keys = {texts[code] for code in np.unique(gold[gold >= 0])}
        if all(map(LETTER.fullmatch, keys)):
            place = np.array([ord(text) - 65 if LETTER.fullmatch(text) else 99 for text in texts] or [0])
            outside = (cells >= 0) & known[:, None] & (place[np.maximum(cells, 0)] >= sheet.options[:, None])
            no_key = (gold >= 0) & known & (place[np.maximum(gold, 0)] >= sheet.options)
        elif sheet.allowed is not None and self.kind != "choice":
            outside, no_key = self._not_listed(cells, gold, texts)
        else:
            return cells, gold, sheet.options, "the file"
        cells, gold = cells.copy(), gold.copy()
        if outside.any():
            cells[outside] = self._blank(INVALID)
        gold[no_key] = -1
        return cells, gold, sheet.options, "the file"

    def _not_listed(self, cells: Codes, gold: Codes, texts: list[str]) -> tuple[Flags, Flags]:
        code_of = {text: code for code, text in enumerate(texts)}
        outside, no_key = np.zeros(cells.shape, dtype=bool), np.zeros(gold.shape, dtype=bool)
        for q, options in enumerate(self.sheet.allowed or ()):
            if options:
                listed = [code_of.get(self._plain_form(option), -1) for option in options]
                outside[q] = (cells[q] >= 0) & ~np.isin(cells[q], listed)
                no_key[q] = gold[q] >= 0 and gold[q] not in listed
        return outside, no_key

    def _plain_form(self, option: str) -> str:
        if self.kind == AS_WRITTEN:
            return option
        code = self._form(option)
        return list(self.forms)[code] if code >= 0 else option

    def _nearly_right(self, cells: Codes, gold: Codes, texts: list[str]) -> None:
        """Say how many answers are wrong for the way in which they are written only."""
        loose = Numbered()
        form = np.array([loose[" ".join(text.casefold().split()).strip(" .")] for text in texts] or [0], dtype=np.int32)
        key = np.maximum(gold, 0)[:, None]
        near = (cells >= 0) & (gold >= 0)[:, None] & (cells != key) & (form[np.maximum(cells, 0)] == form[key])
        if near.any():
            pairs = np.unique(np.column_stack([cells[near], np.broadcast_to(key, cells.shape)[near]]), axis=0)
            said, meant = min((texts[one], texts[other]) for one, other in pairs.tolist())
            self.notes.append(
                f"{counted(int(near.sum()), 'answer')} counted as wrong for capitals, spaces or a full stop only "
                f"({said!r} for {meant!r}): --kind text takes them as equal."
            )

    def _strange_keys(self, cells: Codes, gold: Codes, texts: list[str]) -> None:
        """Say which keys no voter ever gave, where few keys are shared by many questions."""
        keys, times = np.unique(gold[gold >= 0], return_counts=True)
        if len(gold) < _MANY_QUESTIONS or not 0 < len(keys) <= _FEW_KEYS:
            return
        strange = ~np.isin(keys, np.unique(cells))
        if strange.any():
            names = some(texts[code] for code in keys[strange])
            self.notes.append(
                f"The key of {counted(int(times[strange].sum()), 'question')} is an answer that no voter ever gave "
                f"({names}): is it among the options?"
            )

    def _say(self, illegible: Flags, no_option: Flags) -> None:
        names = self.sheet.questions
        if illegible.any():
            which = some(names[q] for q in np.flatnonzero(illegible))
            keys = counted(int(illegible.sum()), "right answer")
            self.notes.append(f"{keys} cannot be read as {self.kind}: left out as not known (question {which}).")
        if no_option.any():
            which = some(names[q] for q in np.flatnonzero(no_option))
            keys = counted(int(no_option.sum()), "key is", "keys are")
            self.notes.append(
                f"{keys} not among the options of the question, which then has no right answer and is left out of "
                f"what needs one (question {which}): correct the key."
            )
        if self.numbers is not None and self.numbers.unitless:
            times = counted(self.numbers.unitless, "time")
            self.notes.append(
                f"{times} an answer differs from the key only in a unit that one of the two leaves out, or by the "
                "tolerance, and counts as right; --unit names the unit."
            )
        if self.source == SNIFFED:
            self.notes.append(
                f"Answers are compared as {self.kind}, because the right answers are such; --kind exact compares them "
                "as they are written."
            )

    def _report(self, texts: list[str], origin: str) -> dict[str, Any]:
        tolerance = self.said.tolerance
        custom = self.said.canonical
        return {
            "kind": self.kind if custom is None else f"function {getattr(custom, '__qualname__', repr(custom))}",
            "from": self.source,
            "version": VERSION,
            "unit": self.said.unit,
            "tolerance": {"relative": str(tolerance.relative), "absolute": str(tolerance.absolute)},
            "texts": len(self.sheet.texts),
            "classes": len(texts),
            "joined_within_questions": 0 if self.numbers is None else self.numbers.joined,
            "options_from": origin,
        }


def _options_seen(cells: Codes, gold: Codes, texts: list[str]) -> tuple[Whole | None, str]:
    """How many options there are, where right answers are letters or yes and no on many questions; else not known."""
    keys = np.unique(gold[gold >= 0])
    few = 2 <= len(keys) <= _FEW_ANSWERS and len(gold) >= _MANY_QUESTIONS
    named = [texts[code] for code in keys] if few else []
    polar = bool(named) and all(text.casefold() in YES | NO for text in named)
    if not (polar or (named and all(map(LETTER.fullmatch, named)))):
        return None, ""
    given = np.unique(cells[cells >= 0])
    seen = {texts[code] for code in given[:1000]} | set(named)
    options = {text for text in seen if polar or LETTER.fullmatch(text)}
    many = 2 if polar else max(ord(text) - 64 for text in options)
    return np.full(len(gold), many, dtype=np.int64), "the answers seen"
