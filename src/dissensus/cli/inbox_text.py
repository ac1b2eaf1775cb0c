"""A question on a terminal: what is asked, both items side by side, what may be answered, and how."""

from __future__ import annotations

import shlex
import unicodedata
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from dissensus.cli.readout import clean, cut, wrapped

if TYPE_CHECKING:
    from dissensus.run.inbox import Answer, Question
    from dissensus.script.persons import Cited, Exhibit

_GAP = "  │  "
_NARROW = 28
Piece = tuple[str, bool]
"""A character or cluster, and whether it belongs to the passage that is cited."""


def question_lines(
    question: Question, exhibits: Sequence[Exhibit], *, name: str, now: float, width: int, marks: bool, whole: bool
) -> Iterator[str]:
    """A question, line by line.

    Args:
        question: what is asked.
        exhibits: its exhibits as they are now.
        name: how it is called on the command line.
        now: the time.
        width: columns.
        marks: set off passages by « and », for where there are no colours.
        whole: with what stands around each passage, and all answers that came.
    """
    yield f"{click.style(name, bold=True)}  {state_line(question, now)}"
    yield from wrapped(clean(question.text), width, most=0 if whole else 4)
    if exhibits:
        yield ""
        yield from side_by_side(exhibits, width=width, marks=marks, whole=whole)
    yield ""
    for option in question.options:
        lines = list(wrapped(clean(option.text), max(width - 16, 20))) if option.text else [""]
        head = cut(clean(option.id), 12)
        for line in lines:
            yield f"  {click.style(head, bold=True)}{'':{14 - _cells(head)}}{line}".rstrip()
            head = ""
    if not question.options:
        yield "  any text is an answer"
    yield from answer_lines(question.answers)


def state_line(question: Question, now: float) -> str:
    """How old a question is, by when an answer is wanted, and for whom it is."""
    from dissensus.run.inbox_answers import when

    parts = [clean(question.topic)] if question.topic else []
    if question.state.value != "open":
        parts.append(question.state.value)
    else:
        parts.append(f"open for {span(now - question.asked_at)}")
        if question.overdue(now) and question.deadline_at is not None:
            parts.append(click.style(f"no answer: overdue by {span(now - question.deadline_at)}", fg="red"))
        elif question.deadline_at is not None:
            parts.append(f"due in {span(question.deadline_at - now)} ({when(question.deadline_at)})")
    if question.version > 1:
        parts.append(f"asked again, version {question.version}")
    if allowed := question.may_answer():
        parts.append(f"for {', '.join(map(clean, allowed))}")
    return ", ".join(parts)


def answer_lines(answers: Sequence[Answer]) -> Iterator[str]:
    """What was answered so far, refused answers too."""
    from dissensus.run.inbox_answers import when

    for one in answers:
        fate = "accepted" if one.accepted else f"refused ({one.refused})"
        reason = f": {clean(one.reason)}" if one.reason else ""
        yield f"  {when(one.answered_at)}  {clean(one.principal)} said {clean(one.choice)}, {fate}{reason}"


def how_to_answer(question: Question, shown: str) -> str:
    """The command line that answers this question as it was shown."""
    seq = question.id.rpartition(":")[2]
    version = f" --version {question.version}" if question.version > 1 else ""
    return (
        f"dissensus answer {shlex.quote(f'{question.record}:{seq}')} CHOICE{version} --shown {shown[:16]} "
        "--as NAME --reason TEXT"
    )


def span(seconds: float) -> str:
    """A time as people say it: ``3 d 4 h``, ``25 min``."""
    left = max(int(seconds), 0)
    units = (("d", 86400), ("h", 3600), ("min", 60), ("s", 1))
    for place, (name, size) in enumerate(units):
        if left >= size or size == 1:
            more = left % size // units[place + 1][1] if place < 2 else 0
            return f"{left // size} {name}" + (f" {more} {units[place + 1][0]}" if more else "")
    return "0 s"


def side_by_side(exhibits: Sequence[Exhibit], *, width: int, marks: bool, whole: bool) -> Iterator[str]:
    """The exhibits in columns; one below the other where there is no room for that."""
    room = (width - len(_GAP) * (len(exhibits) - 1)) // max(len(exhibits), 1)
    if len(exhibits) < 2 or room < _NARROW:
        for side in exhibits:
            yield from (styled for _, styled in _column(side, width, marks=marks, whole=whole))
            yield ""
        return
    columns = [list(_column(side, room, marks=marks, whole=whole)) for side in exhibits]
    for number in range(max(map(len, columns))):
        cells = []
        for column in columns:
            plain, styled = column[number] if number < len(column) else ("", "")
            cells.append(styled + " " * max(room - _cells(plain), 0))
        yield _GAP.join(cells).rstrip()


def _column(side: Exhibit, room: int, *, marks: bool, whole: bool) -> Iterator[tuple[str, str]]:
    """One exhibit as lines of at most ``room`` columns: each as it is wide, and as it is printed."""
    head = cut(" ".join(part for part in (clean(side.id), clean(side.title)) if part), room)
    yield head, click.style(head, bold=True)
    for label, value in side.facts:
        for line in _fit(f"{clean(label)}: {clean(value)}", room):
            yield line, line
    if side.text and whole:
        for line in _fit(f"“{clean(side.text)}”", room):
            yield line, click.style(line, dim=True)
    for cited in side.cited:
        yield "", ""
        for line in _fit(_about(cited), room):
            yield line, click.style(line, fg="red") if cited.text is None else line
        yield from _passage(cited, room, marks=marks, whole=whole)
        if cited.hint and (whole or cited.text is None):
            for line in _fit(clean(cited.hint), room):
                yield line, click.style(line, dim=True)
    if not side.cited:
        yield "no evidence", "no evidence"


def _about(cited: Cited) -> str:
    item = cited.item
    name = clean(str(item.get("title") or item.get("live_ref") or item.get("id") or "")) or "source"
    parts = [f"{cited.result or 'not reopened'}: {name}"]
    if cited.where:
        parts.append(clean(cited.where))
    parts.append(f"sha256 {str(item.get('digest', ''))[:12]}")
    if cited.live in ("CHANGED", "GONE"):
        parts.append(f"the live source is {cited.live}")
    return ", ".join(parts)


def _passage(cited: Cited, room: int, *, marks: bool, whole: bool) -> Iterator[tuple[str, str]]:
    if cited.text is None:
        quote = clean(str(cited.item.get("quote", "")))
        for line in _fit(f"said to stand there: “{quote}”", room):
            yield line, line
        return
    pieces = [*_pieces(cited.before if whole else "", cited=False)]
    pieces += [("«", False)] if marks else []
    pieces += [*_pieces(cited.text, cited=True)]
    pieces += [("»", False)] if marks else []
    pieces += [*_pieces(cited.after if whole else "", cited=False)]
    for row in _lines(pieces, room - 2):
        yield "  " + "".join(char for char, _ in row), "  " + _styled(row)


def _pieces(text: str, *, cited: bool) -> Iterator[Piece]:
    """The characters of ``text``, without any that could steer a terminal or turn the direction of writing."""
    for char in text.replace("\r\n", "\n").replace("\t", "  "):
        if char == "\n":
            yield char, cited
        elif unicodedata.category(char).startswith("C") and char != "\u200d":
            yield "·", cited
        else:
            yield char, cited


def _fit(text: str, room: int) -> Iterator[str]:
    """``text`` in lines of at most ``room`` columns; wide characters take two."""
    for row in _lines([(char, False) for char in text], room):
        yield "".join(char for char, _ in row).rstrip()


def _lines(pieces: Sequence[Piece], room: int) -> Iterator[list[Piece]]:
    """``pieces`` in lines of at most ``room`` columns, broken at blanks where there are any."""
    line: list[Piece] = []
    for piece in pieces:
        if piece[0] == "\n":
            yield line
            line = []
            continue
        line.append(piece)
        if _cells("".join(char for char, _ in line)) > room:
            blanks = [place for place, (char, _) in enumerate(line[:-1]) if char == " " and place > room // 3]
            at = blanks[-1] + 1 if blanks else len(line) - 1
            yield line[:at]
            line = line[at:]
    if line:
        yield line


def _styled(line: Sequence[Piece]) -> str:
    """A line with its cited part set off."""
    parts: list[str] = []
    start = 0
    for place in range(1, len(line) + 1):
        if place == len(line) or line[place][1] != line[start][1]:
            text = "".join(char for char, _ in line[start:place])
            parts.append(click.style(text, bg="yellow", fg="black") if line[start][1] else text)
            start = place
    return "".join(parts)


def _cells(text: str) -> int:
    from rich.cells import cell_len

    return cell_len(text)
