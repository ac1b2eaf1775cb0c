"""Which files tell of which items: patterns with ``{item}`` in them.

In a pattern ``*`` and ``?`` stay within a folder, ``**/`` is any number of folders. An item has to stand alone: 4711 is
not found in ``47112.txt``. A file whose name holds two items, one of which is a part of the other (``4711-a``), tells
of the longer one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from dissensus.decide.swarm.work import ITEM

_TOKENS: Final = re.compile(r"\d+|[^\W\d_]+|.", re.DOTALL)
_MOST_TOKENS: Final = 80
_SEVERAL: Final = re.compile(r"\*{2,}(?!/)")
"""Stars beside each other that are no ``**/``: where an item stood beside one."""


def matching(folder: Path, pattern: str) -> list[Path]:
    """The files that ``pattern``, relative to ``folder``, names; in order, hidden ones not."""
    return sorted(
        path
        for path in folder.glob(pattern)
        if path.is_file() and not any(part.startswith(".") for part in path.relative_to(folder).parts if part != "..")
    )


def by_item(folder: Path, pattern: str, items: Sequence[str]) -> dict[str, list[Path]]:
    """The files of each item that has any. ``pattern`` holds ``{item}``."""
    known = {item for item in items if is_name(item)}
    tests: dict[str, re.Pattern[str]] = {}
    found: dict[str, list[Path]] = {}
    for path in matching(folder, _SEVERAL.sub("*", pattern.replace(ITEM, "*"))):
        name = path.relative_to(folder).as_posix()
        named = [item for item in known.intersection(_spans(name)) if _test(tests, pattern, item).fullmatch(name)]
        for item in named:
            if not any(item in other and item != other for other in named):
                found.setdefault(item, []).append(path)
    return found


def is_name(item: str) -> bool:
    """Whether an item may be a part of a file's name: none that leads into another folder is."""
    return not {"/", "\\", "\0"} & set(item) and item not in (".", "..")


def _test(tests: dict[str, re.Pattern[str]], pattern: str, item: str) -> re.Pattern[str]:
    if item not in tests:
        tests[item] = re.compile("".join(_translated(pattern, item)), re.DOTALL)
    return tests[item]


def _translated(pattern: str, item: str) -> Iterator[str]:
    """A regular expression for ``pattern``, in which ``item`` stands alone."""
    for piece in re.split(r"(\{item\}|\*\*/|\*|\?|\[!?[^\]]+\])", pattern):
        if piece == ITEM:
            yield f"{_edge(item[0], behind=True)}{re.escape(item)}{_edge(item[-1], behind=False)}"
        elif piece == "**/":
            yield "(?:.*/)?"
        elif piece == "*":
            yield "[^/]*"
        elif piece == "?":
            yield "[^/]"
        elif piece.startswith("[") and piece.endswith("]"):
            yield f"[^{re.escape(piece[2:-1])}]" if piece[1] == "!" else f"[{piece[1:-1]}]"
        else:
            yield re.escape(piece)


def _edge(sign: str, *, behind: bool) -> str:
    """Beside a digit stands no digit, beside a letter no letter."""
    kind = r"\d" if sign.isdecimal() else r"[^\W\d_]" if sign.isalpha() else ""
    if not kind:
        return ""
    return f"(?<!{kind})" if behind else f"(?!{kind})"


def _spans(name: str) -> Iterable[str]:
    """All parts of a name that begin and end with a whole number, word or sign."""
    tokens = _TOKENS.findall(name)[-_MOST_TOKENS:]
    ends = [0]
    for token in tokens:
        ends.append(ends[-1] + len(token))
    text = "".join(tokens)
    return {text[start:end] for at, start in enumerate(ends) for end in ends[at + 1 :]}
