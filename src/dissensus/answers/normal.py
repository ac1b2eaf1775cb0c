"""Plain text before anything is read from it: thinking removed, one normal form for words, ways to abstain.

Everything here takes time linear in its input: replies come from models and may be long or hostile.
"""

from __future__ import annotations

import re
import unicodedata

VERSION = "answers/1"
"""Version of the canonicaliser. Two records are comparable answer by answer only if they name the same one."""

MAX_ANSWER = 1000
"""Most characters of an answer, its reasons not included. What is longer is a text and no answer."""

_TAG = re.compile(r"<(/?)(?:think|thinking|thought|reasoning)>", re.IGNORECASE)
_ARTICLES = re.compile(r"(?:(?:the|an?)\s+)+(?=\S)")
_EDGE = " \t\n.,;:!?*_`~|\"'“”‘’„«»‹›"
_PAIRS = {"(": ")", "[": "]", "{": "}", "<": ">"}
_WORD = re.compile(r"(?:(?<![\w)])[-−+])?[0-9]++(?:[.,][0-9]++)*+(?:[%°]|[^\W_]++)?|[^\W_]++|[%#$€£°+]")
_INVISIBLE = str.maketrans({"’": "'", "\u200b": None, "\u200c": None, "\u200d": None, "\u2060": None, "\ufeff": None})


def without_surrogates(text: str) -> str:
    """``text`` with each lone surrogate, which no record may hold, replaced by U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def without_thinking(text: str) -> tuple[str, bool]:
    """``text`` without ``<think>…</think>`` blocks, and whether the last one never ended.

    Some chat templates open the block in the prompt, so an end tag without a beginning drops all before it.
    """
    kept: list[str] = []
    start, inside = 0, False
    for tag in _TAG.finditer(text):
        if tag[1]:
            kept = kept if inside else []
            inside, start = False, tag.end()
        elif not inside:
            kept.append(text[start : tag.start()])
            inside = True
    if not inside:
        kept.append(text[start:])
    return "\n".join(part for part in map(str.strip, kept) if part), inside


def normal(text: str) -> str:
    """Normal form of a short text: NFKC, case folded, single spaces, no marks or brackets around, no article in front.

    Idempotent. A text of which nothing would be left keeps its marks, so that two such texts are not confused.
    """
    folded = folded_form(text)
    while (again := folded_form(_bare(folded) or folded)) != folded:
        folded = again
    return folded


def folded_form(text: str) -> str:
    """``text`` in NFKC, case folded, with single spaces, plain apostrophes and no invisible characters."""
    for _ in range(2):  # case folding can undo NFKC; the second round settles it
        text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return " ".join(text.translate(_INVISIBLE).split())


def _bare(text: str) -> str:
    text = text.strip(_EDGE)
    inner, closing = text[1:-1], _PAIRS.get(text[:1])
    if len(text) > 2 and closing == text[-1] and text[0] not in inner and closing not in inner:
        text = inner.strip()
    return _ARTICLES.sub("", text, count=1) if _ARTICLES.match(text) else text


def words_of(text: str) -> str:
    """The words and numbers of ``text``, folded, one space between and around them: to find one text in another."""
    return f" {' '.join(_WORD.findall(folded_form(text)))} "


# What stands for "no answer" when it is all that is said …
_ABSTENTIONS = frozenset(
    """
    unsure,not sure,unknown,undetermined,indeterminate,undeterminable,not determinable,unclear,uncertain,undecided,idk
    abstain,abstained,abstains,abstention,i abstain,i pass,no idea,i have no idea,no answer,no opinion,n/a
    not applicable,cannot say,can't say,cannot tell,can't tell,hard to say,don't know,i am unsure,i'm unsure
    """.strip().replace("\n    ", ",").split(",")
)  # fmt: skip
# … and what says so inside a sentence.
_SAID = r"""\b(?:
      i\ (?:do\ not|don't|really\ don't)\ know
    | i(?:'m|\ am)\ (?:not\ sure|unsure|uncertain)
    | (?:can\ ?not|can't|could\ not|couldn't)\ (?:be\ )?(?:determine|answer|solve|decide|calculate|compute)d?(?:ed)?
    | (?:i|we)\ (?:can\ ?not|can't)\ (?:tell|say|know)
    | (?:not\ |im)possible\ to\ (?:determine|tell|say|know|answer|calculate)
    | (?:not\ enough|insufficient|lack\ of|lacks)\ (?:information|data|details|context)
    | unable\ to\ (?:determine|answer|tell|say|calculate|solve)
    | needs?\ more\ information | more\ information\ is\ (?:needed|required)
    | (?:no\ one|nobody)\ knows | unknown\ without
    )\b"""
_MENTIONED = re.compile(_SAID, re.VERBOSE)
_STATED = re.compile(rf"(?:(?:sorry|it|this|that|we|i|there|the\ \w{{1,20}}|answer)\b.{{0,40}}?)?{_SAID}", re.VERBOSE)


def is_abstention(text: str) -> bool:
    """Whether ``text``, as a whole, declines to answer."""
    said = normal(text[: 2 * MAX_ANSWER])
    return said in _ABSTENTIONS or bool(_STATED.match(said))


def mentions_abstention(text: str) -> bool:
    """Whether ``text`` says somewhere that no answer can be given."""
    return bool(_MENTIONED.search(folded_form(text)))
