"""What one turn adds to a text: tokens, their bytes, and where it may end.

Positions are counted in bytes. Where a back end says where its tokens end, a turn is cut between two of them; elsewhere
between two characters, and its tokens are spread evenly over its bytes to tell how far a position is from K. A turn is
never cut to nothing: better a word in two than a text that does not grow.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from dissensus.decide.round_robin_settings import Boundary, RoundRobinSettings
from dissensus.script.outcomes import Extended, Reply

_PIECE = re.compile(r" ?[^\W\d_]{1,4}|[^\W\d_]{1,4}| ?\d{1,3}|\s+|.", re.DOTALL)
_CLOSERS = "\"'”’)]}*_`"
LEAST_OVERLAP = 8
"""Characters from which on an overlap of a quoted text and what was written after it is taken for a repetition."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """Something written.

    Args:
        raw: its bytes; the first and the last character may be incomplete.
        ids: its token ids; None if it is not known which they are.
        ends: where each token ends in ``raw``; None if that is not known.
        tokens: how many tokens it has; without ids, as the back end counts them, or estimated.
        counted: whether ``tokens`` is more than an estimate.
    """

    raw: bytes = b""
    ids: tuple[int, ...] | None = None
    ends: tuple[int, ...] | None = None
    tokens: int = 0
    counted: bool = True

    def upto(self, place: int) -> Chunk:
        """The part before byte ``place``, which is the end of a token where ends are known."""
        if place >= len(self.raw):
            return self
        if self.ends is not None:
            return self.first(bisect_right(self.ends, place))
        part = round(self.tokens * place / len(self.raw)) if place else 0
        return Chunk(raw=self.raw[:place], tokens=max(part, 1) if place else 0, counted=False)

    def first(self, number: int) -> Chunk:
        """The first ``number`` tokens. Without known ends the bytes cannot be told apart and nothing is cut."""
        if number >= self.tokens or self.ends is None:
            return self
        place = self.ends[number - 1] if number else 0
        ids = self.ids[:number] if self.ids is not None else None
        return Chunk(raw=self.raw[:place], ids=ids, ends=self.ends[:number], tokens=number)


def chunk_of(outcome: Extended | Reply, *, asked: int, with_ids: bool) -> Chunk:
    """What an outcome holds. Text from a back end that counts nothing is taken to have a token for every 4 bytes."""
    if isinstance(outcome, Reply):
        raw = outcome.text.encode("utf-8", "replace")
        told = outcome.usage.tokens_out
        return Chunk(raw=raw, tokens=_tokens(raw, told, outcome.finish, asked), counted=told is not None)
    raw = outcome.text.encode("utf-8", "replace") if outcome.raw is None else outcome.raw
    if with_ids and outcome.tokens is not None:
        ends = outcome.ends
        if ends is not None and not (
            len(ends) == len(outcome.tokens)
            and list(ends) == sorted(ends)
            and (ends[-1] == len(raw) if ends else not raw)
        ):
            ends = None
        return Chunk(raw=raw, ids=outcome.tokens, ends=ends, tokens=len(outcome.tokens))
    whole = outcome.text.encode("utf-8", "replace")
    told = len(outcome.tokens) if outcome.tokens is not None and whole == raw else None
    if told is None and outcome.sampled is not None:
        told = outcome.sampled - (outcome.finish == "stop")
    elif told is None:
        told = outcome.usage.tokens_out
    return Chunk(raw=whole, tokens=_tokens(whole, told, outcome.finish, asked), counted=told is not None)


def _tokens(raw: bytes, told: int | None, finish: str, asked: int) -> int:
    if not raw:
        return 0
    if told is not None:
        return max(min(told, asked), 1)
    return asked if finish == "length" else max(min(-(-len(raw) // 4), asked), 1)


def without_ids(chunk: Chunk, banned: Sequence[int]) -> tuple[Chunk, int]:
    """``chunk`` without control tokens, and how many there were."""
    if not banned or chunk.ids is None or not set(banned).intersection(chunk.ids):
        return chunk, 0
    kept = [place for place, token in enumerate(chunk.ids) if token not in banned]
    ids = tuple(chunk.ids[place] for place in kept)
    left_out = len(chunk.ids) - len(ids)
    if chunk.ends is None:
        return Chunk(raw=chunk.raw, ids=ids, tokens=len(ids)), left_out
    parts = [chunk.raw[(chunk.ends[place - 1] if place else 0) : chunk.ends[place]] for place in kept]
    ends: list[int] = []
    for part in parts:
        ends.append((ends[-1] if ends else 0) + len(part))
    return Chunk(raw=b"".join(parts), ids=ids, ends=tuple(ends), tokens=len(ids)), left_out


def without_marks(chunk: Chunk, before: bytes, marks: Sequence[str]) -> tuple[Chunk, int]:
    """``chunk`` without control marks, those that it completes included, and how many there were. Text only.

    Taking one out can make another whole, so it is done until there is none.
    """
    longest = max(map(len, marks), default=0) * 4
    head = before[-longest:] if longest else b""
    raw, found = chunk.raw, 0
    wanted = [mark.encode() for mark in marks]
    while hit := min(
        ((place, mark) for mark in wanted if (place := _ending_after(head + raw, mark, len(head))) >= 0),
        default=None,
    ):
        place, mark = hit
        start = max(place - len(head), 0)
        raw = raw[:start] + raw[place + len(mark) - len(head) :]
        found += 1
    if not found:
        return chunk, 0
    tokens = max(round(chunk.tokens * len(raw) / len(chunk.raw)), 1) if raw else 0
    return Chunk(raw=raw, tokens=tokens, counted=False), found


def _ending_after(text: bytes, mark: bytes, after: int) -> int:
    """Where ``mark`` first stands so that it ends behind ``after``; -1 if nowhere."""
    return text.find(mark, max(after - len(mark) + 1, 0))


def marks_in(chunk: Chunk, before: bytes, marks: Sequence[str]) -> int:
    """How many control marks ``chunk`` holds or completes, as text."""
    longest = max((len(mark.encode()) for mark in marks), default=0)
    whole = before[-longest:] + chunk.raw if longest else b""
    after = len(whole) - len(chunk.raw)
    return sum(whole.count(mark.encode(), max(after - len(mark.encode()) + 1, 0)) for mark in marks)


def without_overlap(chunk: Chunk, before: bytes) -> Chunk:
    """``chunk`` without a beginning that repeats the end of the text before it, as models do that quote."""
    text = chunk.raw.decode("utf-8", "replace")
    tail = before.decode("utf-8", "ignore")[-len(text) :] if text else ""
    # the longest prefix of `text` that is a suffix of `tail`, by the prefix function of both: linear
    joined = text + "\0" + tail
    border = [0] * len(joined)
    for place in range(1, len(joined)):
        length = border[place - 1]
        while length and joined[place] != joined[length]:
            length = border[length - 1]
        border[place] = length + (joined[place] == joined[length])
    overlap = border[-1] if tail else 0
    if overlap < min(LEAST_OVERLAP, len(before.decode("utf-8", "ignore"))):
        return chunk
    raw = text[overlap:].encode()
    tokens = max(round(chunk.tokens * len(raw) / len(chunk.raw)), 1) if raw else 0
    return Chunk(raw=raw, tokens=tokens, counted=False)


def pieces(text: str) -> int:
    """Length of a text on the ruler: up to four letters, up to three digits, white space, or a character alone.

    It is nobody's tokenizer. It gives agents with different tokenizers turns of about the same length.
    """
    return sum(1 for _ in _PIECE.finditer(text))


def ask_for(settings: RoundRobinSettings, left: int) -> int:
    """How many tokens to ask a writer for, when ``left`` of the text's length are left."""
    most = settings.k + (settings.delta if settings.boundary in ("sentence", "line") else 0)
    most = min(most, left)
    return most if settings.unit == "writer" else 2 * most + 8  # it may need more tokens than the ruler has pieces


def bounded(chunk: Chunk, before: bytes, settings: RoundRobinSettings, *, ended: bool, left: int) -> Chunk:
    """``chunk`` up to where the settings let a turn end. Where its writer ended it, only its length counts.

    ``left`` is what is left of the text's length; ``before`` what the text holds so far.
    """
    measure = _measure(chunk, settings)
    limit = min(settings.k, left)
    if chunk.ids is not None and settings.unit == "writer" and chunk.tokens > ask_for(settings, left):
        chunk = chunk.first(ask_for(settings, left))  # more than it was asked for
    places = list(_places(chunk))
    if ended:
        if settings.unit == "ruler":
            places = [place for place in places if measure(place) <= limit] or places[:1]
            return chunk.upto(places[-1]) if places else chunk
        return chunk
    if settings.boundary == "none" and settings.unit == "writer":
        return chunk
    best = _best(chunk, before, places, settings.boundary, measure, limit=limit, delta=settings.delta, left=left)
    return chunk if not best else chunk.upto(best)


def _measure(chunk: Chunk, settings: RoundRobinSettings) -> Callable[[int], int]:
    """How long the part before a byte is, in the unit of K."""
    if settings.unit == "ruler":
        text = chunk.raw.decode("utf-8", "ignore")
        marks = list(accumulate(len(piece[0].encode()) for piece in _PIECE.finditer(text)))
        return lambda place: bisect_left(marks, place) + 1 if place else 0
    if chunk.ends is not None:
        ends = chunk.ends
        return lambda place: bisect_right(ends, place)
    return lambda place: round(chunk.tokens * place / len(chunk.raw)) if chunk.raw else 0


def _places(chunk: Chunk) -> Iterator[int]:
    """Where it can be cut, its end included and its beginning not."""
    if chunk.ends is not None:
        yield from (end for end in dict.fromkeys(chunk.ends) if end)
    elif chunk.ids is None:
        yield from (place for place in range(1, len(chunk.raw) + 1) if _is_start(chunk.raw, place))
    elif chunk.raw:
        yield len(chunk.raw)


def _is_start(raw: bytes, place: int) -> bool:
    return place >= len(raw) or raw[place] & 0xC0 != 0x80


def _best(
    chunk: Chunk,
    before: bytes,
    places: Sequence[int],
    boundary: Boundary,
    measure: Callable[[int], int],
    *,
    limit: int,
    delta: int,
    left: int,
) -> int:
    """The best of ``places``; 0 if none will do and the whole chunk has to be taken."""
    if not places:
        return 0
    lengths = {place: measure(place) for place in places}
    if boundary in ("sentence", "line"):
        good = [
            place
            for place in places
            if limit - delta <= lengths[place] <= min(limit + delta, left) and _ends(chunk.raw, place, boundary)
        ]
        if good:
            return min(good, key=lambda place: (abs(lengths[place] - limit), -place))
    within = [place for place in places if lengths[place] <= limit] or places[:1]
    if boundary in ("word-number", "sentence", "line"):
        for place in reversed(within):
            if lengths[place] < limit - delta:
                break
            if not _splits(chunk.raw, place):
                return place
    whole = [place for place in within if boundary == "none" or _is_whole(before[-3:] + chunk.raw[:place])]
    return whole[-1] if whole else within[-1]


def _is_whole(raw: bytes) -> bool:
    """Whether the bytes do not end inside a character."""
    for back in range(1, min(len(raw), 4) + 1):
        byte = raw[-back]
        if byte & 0xC0 == 0x80:
            continue
        need = 1 + (byte >= 0xC0) + (byte >= 0xE0) + (byte >= 0xF0)
        return back >= need
    return True


def _splits(raw: bytes, place: int) -> bool:
    """Whether a cut there may be inside a word or a number: what comes after the end of ``raw`` nobody knows.

    A point or comma between digits is part of their number.
    """
    if not _is_start(raw, place):
        return True
    before = raw[max(place - 8, 0) : place].decode("utf-8", "ignore")
    after = raw[place : place + 8].decode("utf-8", "ignore")
    left = before[-1:]
    inner = left in (".", ",") and before[-2:-1].isdigit()
    if not after:
        return left.isalnum() or inner
    right = after[0]
    if left.isdigit():
        return right.isdigit() or (right in ".," and (after[1:2].isdigit() or not after[1:]))
    return (left.isalpha() and right.isalpha()) or (inner and right.isdigit())


def _ends(raw: bytes, place: int, boundary: Boundary) -> bool:
    """Whether a line, or a sentence, ends there."""
    if not _is_start(raw, place):
        return False
    left = raw[:place].decode("utf-8", "ignore")
    if left.endswith("\n"):
        return True
    bare = left.rstrip(_CLOSERS)
    if boundary == "line" or bare[-1:] not in (".", "!", "?"):
        return False
    after = raw[place : place + 4].decode("utf-8", "ignore")[:1]
    return after.isspace() if after else not bare[:-1][-1:].isdigit()  # "3." may become 3.5
