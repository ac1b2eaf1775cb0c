"""Pattern files: a user's own rules for what prose does ("I'll handle it, later" is a promise).

A pattern file gives regular expressions, each with the act that it stands for. Only messages that carry no act are
looked at, and the first pattern that fits decides. What a pattern tags is inferred: a promise found so is reported as
one, and what only such a message closes is ``answered``, never ``fulfilled``.

A tag alone makes no obligation: the message also needs a thread, and somebody to be owed.
:mod:`dissensus.say.readers.placing` finds both, or leaves the message untagged.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec

from dissensus.errors import UnknownAct
from dissensus.say.acts import normalise
from dissensus.say.message import PATTERN, Message
from dissensus.say.readers.chat_items import text_of
from dissensus.say.readers.placing import Threads
from dissensus.say.readers.regex_cost import MOST_STEPS, steps
from dissensus.specfile import Place, Spec, parse_spec, read_spec

LONGEST_TEXT: Final = 2_000
"""Characters of a message that patterns see: its beginning and its end, half of each, for promises stand there. Runs of
blanks and line ends count as one blank, and curly apostrophes as straight ones."""
LONGEST_PATTERN: Final = 1_000
MOST_PATTERNS: Final = 500
DEFAULT: Final = Path(__file__).with_name("patterns_default.yaml")
_KEYS: Final = ("act", "when", "not", "from", "to", "content_type", "confidence")


@dataclass(frozen=True, slots=True)
class Pattern:
    """One rule: where ``when`` is found in a text and ``unless`` is not, the message does ``act``."""

    act: str
    when: re.Pattern[str]
    unless: re.Pattern[str] | None = None
    senders: frozenset[str] = frozenset()
    receivers: frozenset[str] = frozenset()
    content_type: str | None = None
    confidence: float = 0.5
    line: int = 0

    def fits(self, message: Message, text: str) -> bool:
        """Whether the message is of this kind."""
        if self.senders and message.sender not in self.senders:
            return False
        if self.receivers and self.receivers.isdisjoint(message.receivers):
            return False
        return self.when.search(text) is not None and (self.unless is None or self.unless.search(text) is None)


class Patterns:
    """The rules of one file, and what they made of one log so far.

    Use one for each log: where an answer belongs follows from what was said before.

    Args:
        rules: in the order of the file.
        path: the file, for messages.
    """

    def __init__(self, rules: tuple[Pattern, ...], path: str = "") -> None:
        self.rules = rules
        self.path = path
        self._threads = Threads()

    def rule_for(self, message: Message) -> Pattern | None:
        """The first rule that fits a message without an act; None if it has one, or none fits."""
        if message.act is not None:
            return None
        text = seen_of(message.content)
        return next((rule for rule in self.rules if rule.fits(message, text)), None)

    def marked(self, message: Message) -> Message:
        """The message with the act of the first rule that fits, and no place yet; itself if none does."""
        rule = self.rule_for(message)
        if rule is None:
            return message
        return msgspec.structs.replace(
            message,
            act=rule.act,
            content_type=message.content_type or rule.content_type,
            tag_source=PATTERN,
            tag_confidence=rule.confidence,
        )

    def tag(self, message: Message) -> Message:
        """The message with an act, a thread and an addressee; itself if it has an act, none fits, or it has no place.

        Give it all messages of a log, in order: those that carry an act tell it who was asked.
        """
        marked = self.marked(message)
        if marked is message:
            self._threads.note(message)
            return message
        return self._threads.placed(marked, seen_of(message.content)) or message


def seen_of(content: Any) -> str:
    """The part of a content that patterns see."""
    text = text_of(content)
    half = LONGEST_TEXT // 2
    if len(text) > 4 * LONGEST_TEXT:
        text = f"{text[:LONGEST_TEXT]} {text[-LONGEST_TEXT:]}"
    text = " ".join(text.split()).replace("\u2019", "'")
    return text if len(text) <= LONGEST_TEXT else f"{text[:half]} {text[1 - half :]}"


def read_patterns(path: str | Path) -> Patterns:
    """The rules of a pattern file; ``default`` is the English one that is shipped.

    Raises:
        SpecError: the file cannot be read, or is wrong at a line.
    """
    return _patterns(read_spec(DEFAULT if str(path) == "default" else path, "pattern file"))


def default_patterns() -> Patterns:
    """The rules for English prose that are shipped."""
    return read_patterns(DEFAULT)


def parse_patterns(text: str, path: str = "patterns.yaml") -> Patterns:
    """The rules in a text. Raises as :func:`read_patterns` does."""
    return _patterns(parse_spec(text, path, "pattern file"))


def _patterns(spec: Spec) -> Patterns:
    for key in spec.data:
        if key not in ("patterns", "title", "language"):
            raise spec.wrong((key,), f'A pattern file has no key "{key}".', next_step="It has: patterns.")
    listed = spec.data.get("patterns")
    if not isinstance(listed, list) or not listed:
        raise spec.wrong(("patterns",), "A pattern file has to have a list: patterns.")
    if len(listed) > MOST_PATTERNS:
        raise spec.wrong(("patterns",), f"There are more than {MOST_PATTERNS} patterns.")
    return Patterns(tuple(_rule(spec, at, rule) for at, rule in enumerate(listed)), spec.path)


def _rule(spec: Spec, at: int, rule: Any) -> Pattern:
    import difflib

    place: Place = ("patterns", at)
    if not isinstance(rule, dict):
        raise spec.wrong(place, "A pattern has to be a mapping with act and when.")
    for key in rule:
        if key not in _KEYS:
            near = difflib.get_close_matches(key, _KEYS, n=1)
            known = ", ".join(_KEYS)
            raise spec.wrong(
                (*place, key),
                f'A pattern has no key "{key}".',
                next_step=f'Did you mean "{near[0]}"?' if near else f"It has: {known}.",
            )
    act = rule.get("act")
    if not isinstance(act, str):
        raise spec.wrong((*place, "act"), "A pattern has to name the act that it stands for.")
    try:
        name, implied = normalise(act)
    except UnknownAct as error:
        raise spec.wrong((*place, "act"), error.message, next_step=error.next_step) from None
    if name is None:
        raise spec.wrong((*place, "act"), f"{act!r} has no act among the 22.")
    kind = rule.get("content_type", implied)
    confidence = rule.get("confidence", 0.5)
    if isinstance(confidence, bool) or not isinstance(confidence, (int, float)) or not 0 < confidence <= 1:
        raise spec.wrong((*place, "confidence"), "A confidence is a number above 0 and up to 1.")
    if kind is not None and not isinstance(kind, str):
        raise spec.wrong((*place, "content_type"), "A content_type is a text.")
    when = _expression(spec, (*place, "when"), rule.get("when"))
    if when is None:
        raise spec.wrong((*place, "when"), "A pattern has to have an expression: when.")
    return Pattern(
        act=name,
        when=when,
        unless=_expression(spec, (*place, "not"), rule.get("not")),
        senders=_names(spec, (*place, "from"), rule.get("from")),
        receivers=_names(spec, (*place, "to"), rule.get("to")),
        content_type=kind,
        confidence=float(confidence),
        line=spec.line(place),
    )


def _names(spec: Spec, place: Place, value: Any) -> frozenset[str]:
    listed = [value] if isinstance(value, str) else [] if value is None else value
    if not isinstance(listed, list) or not all(isinstance(name, str) for name in listed):
        raise spec.wrong(place, "This is a name, or a list of names.")
    return frozenset(listed)


def _expression(spec: Spec, place: Place, value: Any) -> re.Pattern[str] | None:
    if value is None:
        return None
    if not isinstance(value, str) or not value:
        raise spec.wrong(place, "An expression has to be a text.")
    if len(value) > LONGEST_PATTERN:
        raise spec.wrong(place, f"An expression has at most {LONGEST_PATTERN} characters.")
    try:
        compiled = re.compile(value)
    except (re.error, OverflowError, RecursionError) as error:
        raise spec.wrong(
            place, f"This is no regular expression: {error}.", next_step="Use single quotes, and see Python's re."
        ) from None
    if steps(value, LONGEST_TEXT) > MOST_STEPS:
        raise spec.wrong(
            place,
            "This expression can take very long on some texts.",
            next_step="Repeat one thing only, and bound what is repeated: (\\w{1,20} ){0,3}.",
        )
    return compiled
