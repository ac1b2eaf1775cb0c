"""Reading which of the given options an answer names, and yes or no.

Options come in the order in which they were displayed, which may have been shuffled: a letter or a number means the
place there, and what is returned is the option's place. An option's own text goes before letters.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from dissensus.answers.amounts import quantity_in
from dissensus.answers.kinds import NO, YES
from dissensus.answers.normal import MAX_ANSWER, folded_form, normal, words_of
from dissensus.answers.quantity import Quantity
from dissensus.errors import UsageError

_LABEL = re.compile(
    r"(?P<named>(?:option|choice|answer|letter)\s{1,3})?(?P<open>[(\[]?)(?P<label>[A-Za-z]|[0-9]{1,2})(?P<close>[)\]]?)"
    r"(?P<sign>[.:]?|\s?[-–](?=\s))(?:\s{1,4}|$|(?=,))",
    re.IGNORECASE,
)
_LETTER_INSIDE = re.compile(r"\b(?:[Oo]ption|[Cc]hoice|[Ll]etter)\s{1,2}\(?([A-Z])\b|\(([A-Z])\)")
_BECAUSE = re.compile(r"[\s,.;:(–—-]*(?:because|since|as|is)\b|[,.;](?!\s*[A-Za-z](?![A-Za-z]))", re.IGNORECASE)
_OTHER_LABEL = re.compile(
    r"(?:or|and|/|,|&)\s{0,2}\(?([A-Za-z])\b|.{0,200}?(?:\(([A-Z])\)|(?<![A-Za-z])([A-Z])[).](?!\w))", re.DOTALL
)
_NEGATED = re.compile(
    r"\b(?:not|never|neither|nor|except|cannot|rather than|instead of|wrong|incorrect|unlike)\b|n't\b"
)
_BOTH = re.compile(r"\b(?:yes|true|correct)\b\W{0,3}(?:and|or|/|but)?\W{0,3}\b(?:no|false|incorrect)\b")
_BOTH_TURNED = re.compile(r"\b(?:no|false|incorrect)\b\W{0,3}(?:and|or|/|but)?\W{0,3}\b(?:yes|true|correct)\b")
_AFTER_NO = re.compile(
    r"\W*$|[^\w\s]|\s+(?:it|this|that|the|these|those|there|he|she|they|we|i|you|because|since|as|not|[0-9]+)\b"
)
_STATED = re.compile(r"\b(?:statement|claim|it|this|that|answer) (?:is|was) (true|false)\b")
_POLAR_WORD = re.compile(r"[a-z']+")


@dataclass(frozen=True, slots=True)
class Options:
    """Options as displayed, with the forms in which an answer may name them.

    Args:
        texts: the options.
        forms: for each usable normal form, strictest first: its index and the form of each option to its place.
        words: each option as words, or () where two options have the same words.
        numbers: each option as a number, or () where one is none or two are the same.
    """

    texts: tuple[str, ...]
    forms: tuple[tuple[int, dict[str, int]], ...]
    words: tuple[str, ...]
    numbers: tuple[Quantity, ...]

    @property
    def lettered(self) -> bool:
        """Whether letters can stand for options: no option is a letter itself."""
        return len(self.texts) <= 26 and not any(re.fullmatch("[a-z]", folded_form(text)) for text in self.texts)


_FORMS = (folded_form, normal, words_of)


def options_of(texts: Sequence[str]) -> Options:
    """The options ``texts``. Raises :class:`UsageError` if two are the same, or one is empty, or there are none."""
    return _options_of(tuple(texts))


@lru_cache(maxsize=256)
def _options_of(texts: tuple[str, ...]) -> Options:
    forms: list[tuple[int, dict[str, int]]] = []
    for level, form in enumerate(_FORMS):
        places = {form(text): place for place, text in enumerate(texts)}
        if len(places) == len(texts) and not any(not name.strip() for name in places):
            forms.append((level, places))
        elif level == 0:
            raise UsageError(
                "Two options are the same, or one is empty.",
                next_step="Give options that differ in more than capitals.",
            )
    if not texts:
        raise UsageError("A choice needs options.", next_step="Give the options, or another kind of answer.")
    words = tuple(map(words_of, texts)) if forms[-1][0] == 2 else ()
    numbers = [quantity_in(text, None) for text in texts]
    exact = tuple(number for number in numbers if isinstance(number, Quantity))
    distinct = len(exact) == len(texts) == len({number.number for number in exact})
    return Options(texts, tuple(forms), words, exact if distinct else ())


def displayed(texts: Sequence[str]) -> str:
    """The options as lines to show to an agent: with letters, unless an option is a letter itself."""
    options = options_of(texts)
    if not options.lettered:
        return "\n".join(f"- {text}" for text in texts)
    return "\n".join(f"{chr(65 + place)}) {text}" for place, text in enumerate(texts))


def choice_in(answer: str, options: Options) -> int | str:
    """The place of the option that ``answer`` names, or why none can be told: a problem, in words."""
    found: int | str | None = _by_text(answer, options)
    if found is None:
        found = _by_label(answer.strip(" \t*_`"), options)
    if found is None and options.numbers:
        found = _by_number(answer, options)
    return _by_mention(answer, options) if found is None else found


def _by_text(answer: str, options: Options) -> int | None:
    for level, places in options.forms:
        place = places.get(_FORMS[level](answer))
        if place is not None:
            return place
    return None


def _by_number(answer: str, options: Options) -> int | None:
    given = quantity_in(answer, None)
    if not isinstance(given, Quantity):
        return None
    same = [
        place
        for place, number in enumerate(options.numbers)
        if given.canonical() == number.canonical()
        or (given.number == number.number and (given.unit is None or number.unit is None))
    ]
    return same[0] if len(same) == 1 else None


def _by_label(answer: str, options: Options) -> int | str | None:
    match = _LABEL.match(answer)
    if match is None:
        return None
    label, rest = match["label"], answer[match.end() :].strip()
    named, enclosed = bool(match["named"]), bool(match["open"] or match["close"] or match["sign"])
    if label.isdigit():
        if not named:
            return None
        place = int(label) - 1
        by_text = _by_text(label, options)
        if by_text is not None and by_text != place:
            return f"ambiguous: “{label}” is an option and the number of another"
    elif options.lettered or (enclosed and rest):
        place = ord(label.upper()) - 65
    else:
        return None
    sure = named or enclosed or not rest
    follows = label.isupper() and label != "I" and _BECAUSE.match(rest)
    if not sure and not follows and _by_text(rest, options) is None:  # "A man", but "B because …" and "B Rome"
        return None
    if not 0 <= place < len(options.texts):
        return f"not an option: there is no option “{label}”"
    other = _OTHER_LABEL.match(rest)
    if other and options.lettered and ord(next(filter(None, other.groups())).upper()) - 65 != place:
        return "ambiguous: more than one option was named"
    others = _mentioned(rest, options) - {place}
    starts = options.words and words_of(rest).startswith(options.words[place])
    return f"contradictory: “{label}” is another option than the one named" if others and not starts else place


def _mentioned(text: str, options: Options) -> set[int]:
    """Places of the options that stand in ``text`` as whole words; one that is part of a longer one does not count."""
    if not options.words:
        return set()
    said, found = words_of(text), set()
    for place in sorted(range(len(options.texts)), key=lambda place: -len(options.words[place])):
        name = options.words[place]
        if name.strip() and name in said:
            found.add(place)
            said = said.replace(name, " | ")
    return found


def _by_mention(answer: str, options: Options) -> int | str:
    mentioned = _mentioned(answer, options)
    if options.lettered:
        letters = {first or second for first, second in _LETTER_INSIDE.findall(answer)}
        mentioned |= {ord(letter) - 65 for letter in letters if ord(letter) - 65 < len(options.texts)}
    if len(mentioned) == 1:
        (only,) = mentioned
        if not _NEGATED.search(folded_form(answer).replace(folded_form(options.texts[only]), " ")):
            return only
    if options.words:
        said = words_of(answer)
        for place in mentioned:  # "Paris because Rome is no capital of France"
            rest = said.removeprefix(options.words[place])
            if rest != said and re.match(r"(?:because|since|as)\b", rest):
                return place
    if not mentioned:
        return "not an option: none of the options was named"
    return "ambiguous: more than one option was named, or one with a “not”"


def choice_of_reply(reply: str, options: Options) -> int | str:
    """The option that a reply without a mark names: as a whole, in its one line that is an option, in passing."""
    text = reply.strip()
    if len(text) <= MAX_ANSWER and "\n" not in text:
        return choice_in(text, options)
    places = set()
    for line in text.splitlines()[:200]:
        bare = line.strip(" \t*_`->")
        if not bare or len(bare) > MAX_ANSWER:
            continue
        place = _by_text(bare, options)
        labelled = _by_label(bare, options) if place is None else place
        if isinstance(labelled, int):
            places.add(labelled)
    if len(places) == 1:
        return places.pop()
    if places or len(text) > MAX_ANSWER:
        return "ambiguous: more than one option was named, and none is marked as the answer"
    return _by_mention(text, options)


def yes_or_no(answer: str) -> bool | str:
    """What ``answer`` says, or why that cannot be told: a problem, in words."""
    said = folded_form(answer[: 2 * MAX_ANSWER])
    if _BOTH.search(said) or _BOTH_TURNED.search(said):
        return "contradictory: both yes and no"
    words = list(_POLAR_WORD.finditer(said))
    ends = [word for word in words[:1] + words[-1:] if word[0] in YES | NO]
    found = {word[0] in YES for word in ends if not _NEGATED.search(said, 0, word.start())}
    if not ends:
        found = {word[1] == "true" for word in _STATED.finditer(said) if not _NEGATED.search(said)}
    if len(found) == 1 and not said.endswith("?"):
        return found.pop()
    return "contradictory: both yes and no" if len(found) == 2 else "no answer: neither yes nor no was said"


def opening(reply: str) -> bool | None:
    """The yes or no that a reply opens with; None if it does not. “No number divides it” opens with neither."""
    said = folded_form(reply[:200]).lstrip("*_`\"'“ ")
    word = _POLAR_WORD.match(said)
    if word is None or word[0] in {"y", "n"}:
        return None
    if word[0] in YES and not _BOTH.match(said):
        return True
    if word[0] in NO and _AFTER_NO.match(said, word.end()) and not _BOTH_TURNED.match(said):
        return False
    return None


def yes_no_of_reply(reply: str) -> bool | str:
    """What a reply without a mark says: by how it opens, by a line that is nothing but yes or no, or as a whole."""
    found = {opening(reply)}
    for line in reply.splitlines()[:200]:
        word = normal(line[:60])
        if word in YES | NO:
            found.add(word in YES)
    said = {value for value in found if value is not None}
    if len(said) == 1:
        return said.pop()
    text = reply.strip()
    if not said and "\n" not in text and len(text) <= 300 and not normal(text).startswith(("no ", "no-")):
        return yes_or_no(text)
    return "contradictory: both yes and no" if said else "no answer: neither yes nor no was said"
