r"""The answer that a finished text gives, by a fixed order of rules, with the rule that found it.

For texts that several agents wrote together, and for scoring against a right answer: every text is read the same way,
whoever wrote which part. The order: a ``####`` value; else a ``\boxed{…}`` with balanced braces; else “answer is” or
“answer:”; else the fallback: the last number, the last ``(X)`` among the options, the last whole-word yes or no. What
the fallback found counts only in lenient scoring. :func:`~dissensus.answers.reading.read` is for ballots instead:
there a blank costs a repair turn, and a last number is never taken for being last.

An option is compared by its text, so that two options with equal text are one answer. Time is linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from dissensus.answers.kinds import resolved
from dissensus.answers.normal import normal, without_surrogates, words_of
from dissensus.answers.rationals import numbers_in, plain_text, whole_number, without_tex
from dissensus.answers.reading import canonical

Rule = Literal["hashes", "boxed", "phrase", "fallback", "none"]
Which = Literal["last", "first"]
CutAnswer = Literal["invalid", "earlier"]

_LONGEST = 400
"""Most characters behind a mark that are read."""
_MOST = 200
"""Marks of one kind that are tried before that kind is given up."""

_HASHES = re.compile(r"(?<!#)####(?!#)")
_BOX = re.compile(r"\\(?:boxed|fbox)\s?\{")
_PHRASE = re.compile(
    r"\banswers?(?:[^.!?:=\n]{0,60}?\b(?:is|are|was|be)\b|[*_`\"']{0,3}\s{0,2}[:：=])[*_`\"']{0,3}\s{0,2}[:：,]?",
    re.IGNORECASE,
)
_DENIED = re.compile(r"[\s*_`\"']{0,6}(?:not|never|n't|wrong|incorrect|unknown|unclear)\b", re.IGNORECASE)
_SENTENCE_END = re.compile(r"[.!?](?=\s|$)|\n")
_LEAD = re.compile(r"(?:so\s)?(?:the\s)?(?:(?:final|correct)\s)?answer(?:\sis|:)\s?", re.IGNORECASE)
_DECORATION = " \t\n*_`\"'“”‘’$:"
_LABEL = re.compile(
    r"(?:option\s|choice\s)?(?P<open>[(\[]?)(?P<letter>[A-Z])(?P<close>[)\]]?)(?![A-Za-z0-9])", re.IGNORECASE
)
_NO_ARTICLE = re.compile(r"[*_`\"']{0,3}(?:[.,:;!?)]|\s{0,3}$|\s(?:because|since|is|as|or|and)\b|\s?[-–—]\s|\n)")
_LETTER_IN_BRACKETS = re.compile(r"\(([A-Z])\)")
_YES_NO = re.compile(r"\b(yes|no)\b", re.IGNORECASE)
_POLAR = re.compile(r"\b(yes|no|true|false)\b", re.IGNORECASE)
_TEX = re.compile(r"\\(?:left|right|displaystyle|,|;|!|:| )|\\(?:text|textbf|mathrm|mbox)\b|[${}\s]|\^\\circ")
_MATHS = re.compile(r"[\\^_{}$=+*/()\[\]]")


@dataclass(frozen=True, slots=True)
class Extraction:
    """What a text gives as its answer.

    Args:
        answer: the answer in the one form in which it is compared (an option by its text); None if there is none.
        rule: what found it: ``hashes``, ``boxed``, ``phrase`` (all strict), ``fallback``, or ``none``.
        written: the answer as it stands in the text.
        start: its place in the text, in characters; -1 if there is none.
        cut: the answer that would have counted may be unfinished, since the text was cut off where it ends; it is not
            taken, and ``written`` and ``start`` tell which it is.
    """

    answer: str | None
    rule: Rule = "none"
    written: str = ""
    start: int = -1
    cut: bool = False

    @property
    def strict(self) -> str | None:
        """The answer if a mark gives it; None if only the fallback found one."""
        return None if self.rule == "fallback" else self.answer


def extract(
    text: str,
    kind: str,
    *,
    options: Sequence[str] = (),
    which: Which = "last",
    end_mark: str = "",
    cut: bool = False,
    cut_answer: CutAnswer = "invalid",
) -> Extraction:
    """Find the answer in ``text``.

    Args:
        text: the finished text, of which nobody is trusted.
        kind: one of :data:`~dissensus.answers.kinds.KINDS`; ``auto`` is a choice with options and a text without.
        options: the texts of the options, in the order of their letters; two of them may be equal.
        which: ``last`` (the default), or ``first``, against an attack that replaces the answer at the end.
        end_mark: nothing behind its first occurrence is read; empty for none.
        cut: the text ended at a limit, so an answer that touches its end may be unfinished: 4 may be the beginning
            of 42. Such an answer is never taken.
        cut_answer: what a text then gives whose answer is unfinished: no answer (``invalid``), since the last one
            counts and it cannot be read; or the one before it (``earlier``), which its writer may just have withdrawn.

    Raises :class:`~dissensus.errors.UsageError` for a kind that does not exist; nothing for any text.
    """
    asked = _Asked.of(kind, options)
    text = without_surrogates(text)
    if end_mark and end_mark in text:
        text, cut = text.partition(end_mark)[0], False
    end = len(text.rstrip()) if cut else len(text) + 1
    rules: tuple[tuple[Rule, Iterator[tuple[int, str]]], ...] = (
        ("hashes", _after_hashes(text, which)),
        ("boxed", _in_boxes(text, which)),
        ("phrase", _after_phrases(text, which)),
    )
    for rule, contents in rules:
        if rule == "boxed" and cut and (cut_answer, which) == ("invalid", "last") and (box := _open_box(text)) >= 0:
            return Extraction(None, written=text[box:].strip(), start=box, cut=True)
        for start, content in contents:
            touches = rule != "boxed" and start + len(content.rstrip()) >= end
            if touches and cut_answer == "earlier":
                continue
            answer = asked.marked(content, whole=rule != "phrase", tight=rule == "hashes")
            if touches and (answer is not None or not content.strip(_DECORATION)):
                return Extraction(None, written=content.strip(), start=start, cut=True)
            if answer is not None:
                return Extraction(answer, rule, content.strip(), start)
    return asked.fallback(text, which, end, cut_answer)


def canonical_answer(answer: str, kind: str, *, options: Sequence[str] = ()) -> str | None:
    """The form in which ``answer``, an answer and nothing else, is compared: for golds, targets and ballots.

    Raises as :func:`extract` does.
    """
    return _Asked.of(kind, options).bare(without_surrogates(answer))


def same_answer(one: str, other: str, kind: str, *, options: Sequence[str] = ()) -> bool:
    """Whether two answers are the same: exact rationals for numbers, texts for options. Raises as :func:`extract`."""
    left = canonical_answer(one, kind, options=options)
    return left is not None and left == canonical_answer(other, kind, options=options)


@dataclass(frozen=True, slots=True)
class _Asked:
    kind: str
    options: tuple[str, ...] = ()

    @staticmethod
    def of(kind: str, options: Sequence[str]) -> _Asked:
        return _Asked(resolved(kind, options if kind == "auto" else (), ""), tuple(options))

    def marked(self, content: str, *, whole: bool, tight: bool) -> str | None:
        """The answer in what stands behind a mark: all of it (``whole``), or somewhere in a sentence.

        ``tight``: a number has to open it, since ``#### Step 2`` is a heading.
        """
        content = content.strip(_DECORATION)
        lead = _LEAD.match(content)
        content = content[lead.end() :].strip(_DECORATION) if lead else content
        if not content:
            return None
        if self.kind == "number":
            return _number(content, tight=tight)
        if self.kind == "choice":
            return self._option(content)
        if self.kind == "yes-no":
            words = _POLAR.findall(content)
            return self._polar(words[0]) if words else None
        return self._text(content if whole else content.rstrip(".,;"))

    def bare(self, answer: str) -> str | None:
        if self.kind == "choice":
            place = self._by_text(answer)
            return self._option(answer.strip(_DECORATION)) if place is None else self.options[place]
        if self.kind == "number":
            value = whole_number(answer)
            return None if value is None else plain_text(value)
        return self.marked(answer, whole=True, tight=False)

    def fallback(self, text: str, which: Which, end: int, cut_answer: CutAnswer) -> Extraction:
        found: list[tuple[str, str, int]] = []
        for answer, start, stop in self._unmarked(text):
            if stop >= end and self.kind != "choice":  # a letter in brackets is whole
                if cut_answer == "invalid" and (which == "last" or not found):
                    return Extraction(None, written=text[start:stop], start=start, cut=True)
                break
            found = [*found[:1], (answer, text[start:stop], start)]
        if not found:
            return Extraction(None)
        answer, written, start = found[-1 if which == "last" else 0]
        return Extraction(answer, "fallback", written, start)

    def _unmarked(self, text: str) -> Iterator[tuple[str, int, int]]:
        """What could be an answer without a mark, with its place."""
        if self.kind == "choice":
            for match in _LETTER_IN_BRACKETS.finditer(text):
                place = ord(match[1]) - 65
                if place < len(self.options):
                    yield self._first_equal(place), match.start(), match.end()
        elif self.kind == "yes-no":
            for match in _YES_NO.finditer(text):
                yield self._polar(match[0]), match.start(), match.end()
        elif self.kind != "date":
            for number in numbers_in(text):
                yield plain_text(number.value), number.start, number.end

    def _polar(self, word: str) -> str:
        return "yes" if word.casefold() in {"yes", "true"} else "no"

    def _text(self, content: str) -> str | None:
        if self.kind == "date":
            return canonical("date", content)
        value = whole_number(content)
        if value is not None:
            return plain_text(value)
        if _MATHS.search(content):
            return _TEX.sub("", re.sub(r"\\[dt]frac", r"\\frac", content)).strip(".,").casefold() or None
        return normal(content) or None

    def _option(self, content: str) -> str | None:
        place = self._by_text(content)
        if place is None:
            place = self._by_label(content)
        if place is None:
            place = self._by_value(content)
        if place is None:
            place = self._by_mention(content)
        return None if place is None else self._first_equal(place)

    def _first_equal(self, place: int) -> str:
        """The text of the option at ``place``, as the first option with that text has it."""
        return next(option for option in self.options if normal(option) == normal(self.options[place]))

    def _by_text(self, content: str) -> int | None:
        form = normal(content)
        return next((place for place, option in enumerate(self.options) if normal(option) == form), None)

    def _by_label(self, content: str) -> int | None:
        match = _LABEL.match(content.removeprefix("\\text{"))
        if match is None:
            return None
        letter, enclosed = match["letter"], bool(match["close"])
        rest = content.removeprefix("\\text{")[match.end() :]
        # the article: “A car”; small letters and a bare I are words too
        sure = enclosed or (letter.isupper() and (_NO_ARTICLE.match(rest) or rest.startswith("}")))
        if not sure and (letter in "AI" or letter.islower() or not rest[:1].isspace()):
            return None
        place = ord(letter.upper()) - 65
        return place if place < len(self.options) else None

    def _by_value(self, content: str) -> int | None:
        values = [whole_number(option) for option in self.options]
        found = next(numbers_in(without_tex(content)), None)
        if found is None or None in values:
            return None
        return next((place for place, value in enumerate(values) if value == found.value), None)

    def _by_mention(self, content: str) -> int | None:
        said = words_of(content)
        named = {place for place, option in enumerate(self.options) if words_of(option) in said and option.strip()}
        longest = {
            place
            for place in named
            if not any(words_of(self.options[place]) in words_of(self.options[other]) for other in named - {place})
        }
        texts = {normal(self.options[place]) for place in longest or named}
        return min(longest or named) if len(texts) == 1 else None


def _number(content: str, *, tight: bool) -> str | None:
    content = without_tex(content)
    if "=" in content:
        content = content.rpartition("=")[2]
    found = next(numbers_in(content), None)
    if found is None or (tight and content[: found.start].strip(" ~≈(*_`\"'")):
        return None
    return plain_text(found.value)


def _marks(pattern: re.Pattern[str], text: str, which: Which) -> Iterator[re.Match[str]]:
    """The marks in the order in which they are tried: a few from the end, or from the beginning."""
    if which == "first":
        for count, match in enumerate(pattern.finditer(text)):
            if count < _MOST:
                yield match
        return
    found: list[re.Match[str]] = []
    for match in pattern.finditer(text):
        found.append(match)
        if len(found) > 2 * _MOST:
            del found[:_MOST]
    yield from reversed(found[-_MOST:])


def _after_hashes(text: str, which: Which) -> Iterator[tuple[int, str]]:
    for match in _marks(_HASHES, text, which):
        end = text.find("\n", match.end())
        end = len(text) if end < 0 else end
        yield match.end(), text[match.end() : min(end, match.end() + _LONGEST)]


def _in_boxes(text: str, which: Which) -> Iterator[tuple[int, str]]:
    for match in _marks(_BOX, text, which):
        depth = 1
        for place in range(match.end(), min(len(text), match.end() + _LONGEST)):
            depth += (text[place] == "{") - (text[place] == "}")
            if depth == 0:
                yield match.end(), text[match.end() : place]
                break


def _open_box(text: str) -> int:
    """Where the last box begins if it is not closed before the text ends; -1 otherwise."""
    last = next(iter(_marks(_BOX, text, "last")), None)
    if last is None or len(text) - last.end() > _LONGEST:
        return -1
    depth = 1
    for char in text[last.end() :]:
        depth += (char == "{") - (char == "}")
        if depth == 0:
            return -1
    return last.start()


def _after_phrases(text: str, which: Which) -> Iterator[tuple[int, str]]:
    for match in _marks(_PHRASE, text, which):
        start = match.end()
        if _DENIED.match(text, start):
            continue
        while start < min(len(text), match.end() + 20) and text[start] in _DECORATION:  # perhaps on the next line
            start += 1
        end = _SENTENCE_END.search(text, start, start + _LONGEST)
        yield start, text[start : end.start() if end else start + _LONGEST]
