"""Many sequences of tokens over one set of weights, worked on in common batches.

Five calls: :meth:`Sequences.open` reads a prompt into a new sequence, :meth:`~Sequences.copy` makes another with the
same contents without reading anything, :meth:`~Sequences.rollback` forgets what stands behind a place,
:meth:`~Sequences.step` reads tokens into any number of sequences at once and gives logits, :meth:`~Sequences.close`
frees one. Up to 256 sequences. Each has memory of its own (``kv_unified`` off): then a sequence's numbers do not depend
on its neighbours, and looking back costs as much as the sequence is long, not as much as all are together.

Two things are less obvious:

* The engine works on sequences side by side only where their numbers inside it are consecutive and ascending. With
  gaps, five sequences of one token each take as long as five calls. So a sequence here has a *handle* that never
  changes and a *place* in the engine that does: :meth:`Sequences.step` moves sequences together, which costs a copy in
  memory.
* Memory is taken as it is needed: places and tokens per place are doubled, and what is held moves along.

Not safe for threads: one thread has it, in a process of its own (:mod:`dissensus.agents.llama_streams_host`).
"""

from __future__ import annotations

import ctypes as c
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from dissensus.agents.llama_native import ContextParams, NativeError, Weights, library

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Rows = NDArray[np.float32]

MOST_SEQUENCES: Final = 256
MOST_TOKENS_EXACT: Final = 63
"""Most tokens of one sequence in one pass. From 64 on the engine takes other kernels, whose numbers differ."""
_PASS = 512
_MOST_ROWS = 256
_HEAD = 8
_UNIT = 256
"""The engine rounds the tokens of a sequence up to a multiple of this."""


class OutOfSpaceError(Exception):
    """More sequences, or a longer one, than the settings allow. ``what`` is ``sequences`` or ``context``."""

    def __init__(self, what: str, wanted: int, most: int) -> None:
        super().__init__(f"{wanted} {what} are wanted and there is room for {most}")
        self.what = what
        self.wanted = wanted
        self.most = most


class Reading(NamedTuple):
    """Tokens for one sequence in a step; ``rows`` of them, the last ones, give logits."""

    handle: int
    tokens: Sequence[int]
    rows: int = 0


@dataclass(slots=True)
class _Held:
    place: int
    length: int = 0


@dataclass(slots=True)
class Work:
    """What was done so far: calls of the engine, passes by sequence, tokens read, copies, and moves of places."""

    calls: int = 0
    tokens: int = 0
    copies: int = 0
    moves: int = 0
    grown: int = 0
    rows: int = field(default=0)


class Sequences:
    """Sequences over ``weights``.

    Args:
        weights: the model.
        threads: threads of the engine.
        flash_attention: None leaves it to the engine.
        most: most sequences.
        context: most tokens of one.
        places: sequences to begin with; memory grows when there are more.
        length: tokens of a sequence to begin with, likewise.
        most_each: most tokens of one sequence in one pass; 0 for no limit.

    Raises:
        NativeError: the engine has no memory for it, or a call failed.
    """

    def __init__(
        self,
        weights: Weights,
        *,
        threads: int = 1,
        flash_attention: bool | None = None,
        most: int = MOST_SEQUENCES,
        context: int = 4096,
        places: int = 4,
        length: int = _UNIT,
        most_each: int = MOST_TOKENS_EXACT,
    ) -> None:
        if not 1 <= most <= MOST_SEQUENCES:
            raise NativeError(f"The engine takes 1 to {MOST_SEQUENCES} sequences, and {most} are asked for.")
        self.weights = weights
        self.most = most
        self.context = context
        self.most_each = most_each or _PASS
        self.work = Work()
        self._lib = library()
        self._threads = threads
        self._flash = -1 if flash_attention is None else int(flash_attention)
        self._held: dict[int, _Held] = {}
        self._next = 0
        # one place more than there may be sequences: two that change places need a third
        self._places = min(max(places, 2), most, MOST_SEQUENCES - 1) + 1
        self._length = _rounded(min(length, context))
        self._copied = False
        self._batch: Any = self._lib.llama_batch_init(_PASS, 0, 1)
        self._handle: Any = self._create()

    def open(self, prompt: Sequence[int] = ()) -> int:
        """A new sequence that has read ``prompt``. Its handle. Raises :class:`OutOfSpaceError`."""
        handle = self._new()
        if prompt:
            try:
                self.step([Reading(handle, prompt)])
            except BaseException:
                self.close(handle)
                raise
        return handle

    def copy(self, handle: int) -> int:
        """A new sequence that holds what ``handle`` holds; nothing is read. Raises :class:`OutOfSpaceError`."""
        other = self._new()
        self._copy(self._held[handle].place, self._held[other].place)
        self._held[other].length = self._held[handle].length
        self.work.copies += 1
        return other

    def rollback(self, handle: int, length: int) -> None:
        """Forget all tokens of a sequence but the first ``length``."""
        held = self._held[handle]
        if length >= held.length:
            return
        if not self._lib.llama_memory_seq_rm(self._memory, held.place, length, -1):
            # some architectures hold a state that has no past: begin anew
            raise NativeError("This model cannot go back in a text: it holds one state instead of a list.")
        held.length = length

    def close(self, handle: int) -> None:
        """Free a sequence. No effect for one that is not open."""
        held = self._held.pop(handle, None)
        if held is not None:
            self._lib.llama_memory_seq_rm(self._memory, held.place, -1, -1)

    def length(self, handle: int) -> int:
        """How many tokens a sequence holds."""
        return self._held[handle].length

    def __len__(self) -> int:
        """How many sequences are open."""
        return len(self._held)

    def bytes_held(self) -> tuple[int, int]:
        """Places and tokens of each for which memory is taken now."""
        return self._places, self._length

    def step(self, readings: Sequence[Reading]) -> list[Rows]:
        """Read tokens into sequences, all in common passes. Each sequence is named once.

        Returns:
            For each reading its rows of logits, shape (rows, vocabulary), oldest first. They are copies.

        Raises:
            OutOfSpaceError: a sequence would be longer than the settings allow. Nothing was read.
            NativeError: the engine failed; what the sequences hold is not known any more.
        """
        for handle, tokens, _ in readings:
            self._room(self._held[handle].length + len(tokens))
        rows = [np.empty((min(want, len(tokens)), self.weights.size), np.float32) for _, tokens, want in readings]
        done = [0] * len(readings)
        while True:
            # an equal share for each: the engine works on pieces of equal length
            left = [len(tokens) - at for (_, tokens, _), at in zip(readings, done, strict=True)]
            going = [number for number, rest in enumerate(left) if rest]
            if not going:
                return rows
            share = min(max(_PASS // len(going), 1), self.most_each)
            parts, room, outputs = [], _PASS, _MOST_ROWS
            self._together([readings[number].handle for number in going])
            for number in sorted(going, key=lambda number: self._held[readings[number].handle].place):
                size = min(share, left[number], room)
                first_row = max(len(readings[number].tokens) - len(rows[number]), done[number])
                while size and max(done[number] + size - first_row, 0) > outputs:
                    size = first_row + outputs - done[number]
                if not size:
                    continue
                parts.append((number, done[number], size, first_row))
                room -= size
                outputs -= max(done[number] + size - first_row, 0)
            self._pass(readings, parts, rows)
            for number, _, size, _ in parts:
                done[number] += size

    def release(self) -> None:
        """Free the memory; nothing may be called afterwards."""
        if self._handle:
            self._lib.llama_batch_free(self._batch)
            self._lib.llama_free(self._handle)
            self._handle = None

    def _pass(self, readings: Sequence[Reading], parts: list[tuple[int, int, int, int]], rows: list[Rows]) -> None:
        batch, at = self._batch, 0
        outputs: list[tuple[int, int, int]] = []
        for number, begin, size, first_row in parts:
            handle, tokens, _ = readings[number]
            held = self._held[handle]
            for offset in range(size):
                batch.token[at] = tokens[begin + offset]
                batch.place[at] = held.length + offset
                batch.sequences[at] = 1
                batch.sequence[at][0] = held.place
                wanted = begin + offset >= first_row
                batch.logits[at] = wanted
                if wanted:
                    outputs.append((at, number, begin + offset - (len(tokens) - len(rows[number]))))
                at += 1
        batch.count = at
        status = self._lib.llama_decode(self._handle, batch)
        if status:
            raise NativeError(f"The engine could not work on a batch of {at} tokens (status {status}).")
        self._copied = False
        self.work.calls += 1
        self.work.tokens += at
        self.work.rows += len(outputs)
        for number, _, size, _ in parts:
            self._held[readings[number].handle].length += size
        for place, number, row in outputs:
            found = self._lib.llama_get_logits_ith(self._handle, place)
            if not found:
                raise NativeError("The engine gave no logits where some were asked for.")
            rows[number][row] = np.ctypeslib.as_array(found, (self.weights.size,))

    # places in the engine

    def _new(self) -> int:
        if len(self._held) >= self.most:
            raise OutOfSpaceError("sequences", len(self._held) + 1, self.most)
        most = min(self.most + 1, MOST_SEQUENCES)
        if len(self._held) + 1 >= self._places < most:
            self._grow(min(2 * self._places - 1, most), self._length)
        handle, self._next = self._next, self._next + 1
        self._held[handle] = _Held(self._free()[0])
        return handle

    def _free(self) -> list[int]:
        taken = {held.place for held in self._held.values()}
        return [place for place in range(self._places) if place not in taken]

    def _room(self, length: int) -> None:
        if length > self.context:
            raise OutOfSpaceError("context", length, self.context)
        if length > self._length:
            self._grow(self._places, _rounded(min(max(2 * self._length, length), self.context)))

    def _together(self, handles: Sequence[int]) -> None:
        """Give these sequences consecutive places, moving as few as possible."""
        places = {self._held[handle].place for handle in handles}
        if max(places) - min(places) + 1 == len(places):
            return
        if len(self._held) == self._places:
            return  # no room to move in: it is slower, and nothing else
        width = len(places)
        begin = max(range(self._places - width + 1), key=lambda at: len(places & set(range(at, at + width))))
        window = set(range(begin, begin + width))
        by_place = {held.place: held for held in self._held.values()}
        spare = [place for place in self._free() if place not in window][:1]
        for away, into in zip(sorted(places - window), sorted(window - places), strict=True):
            mover, other = by_place[away], by_place.get(into)
            if other is not None:
                through = spare[0] if spare else self._hole(window)
                self._move(other, through)
                self._move(mover, into)
                self._move(other, away)
            else:
                self._move(mover, into)
            self.work.moves += 1

    def _hole(self, window: set[int]) -> int:
        """A free place outside the window; there is one more place than sequences, so at worst it is inside."""
        return next((place for place in self._free() if place not in window), self._free()[0])

    def _move(self, held: _Held, place: int) -> None:
        self._copy(held.place, place)
        self._lib.llama_memory_seq_rm(self._memory, held.place, -1, -1)
        held.place = place

    def _copy(self, source: int, into: int) -> None:
        self._lib.llama_memory_seq_rm(self._memory, into, -1, -1)
        self._lib.llama_memory_seq_cp(self._memory, source, into, -1, -1)
        self._copied = True

    def _create(self) -> Any:
        params: ContextParams = self._lib.llama_context_default_params()
        params.tokens = self._places * self._length
        params.batch = params.ubatch = _PASS
        params.sequences = self._places
        params.outputs = _MOST_ROWS
        params.threads = params.threads_batch = self._threads
        params.flash = self._flash
        params.unified = False
        params.no_timings = True
        handle = self._lib.llama_init_from_model(self.weights.handle, params)
        if not handle:
            raise NativeError(f"The engine has no memory for {self._places} sequences of {self._length} tokens.")
        self._memory = self._lib.llama_get_memory(handle)
        if not self._memory:
            self._lib.llama_free(handle)
            raise NativeError("This model keeps nothing of what it has read: it cannot continue a text.")
        return handle

    def _grow(self, places: int, length: int) -> None:
        """Take more memory and move along what is held. What cannot be moved is forgotten: its length becomes 0."""
        if self._copied:
            # the engine copies at its next pass; until then the contents are elsewhere
            self._settle()
        states = {handle: self._state(held.place) for handle, held in self._held.items() if held.length}
        self._lib.llama_free(self._handle)
        self._handle = None
        self._places, self._length = places, length
        self._handle = self._create()
        for place, (handle, held) in enumerate(sorted(self._held.items(), key=lambda item: item[1].place)):
            held.place = place
            head, core = states.pop(handle, (b"", b""))
            data = head + places.to_bytes(4, sys.byteorder) + core + bytes(4 * (places - 1))
            if not core or not self._lib.llama_state_seq_set_data(self._handle, data, len(data), place):
                held.length = 0
        self.work.grown += 1

    def _state(self, place: int) -> tuple[bytes, bytes]:
        """What a place holds, in a form that an engine with any number of places takes; empty if that is not known.

        The engine writes 8 bytes of its own, how many places it has, then for each place how many tokens of the
        sequence it holds (numbers of 32 bits, 0 for all but one place), and these.
        """
        size = self._lib.llama_state_seq_get_size(self._handle, place)
        data = c.create_string_buffer(size)
        if self._lib.llama_state_seq_get_data(self._handle, data, size, place) != size:
            return b"", b""
        before, after = 4 * place, 4 * (self._places - 1 - place)
        head, count, front = data.raw[:_HEAD], data.raw[_HEAD : _HEAD + 4], data.raw[_HEAD + 4 : _HEAD + 4 + before]
        core, back = data.raw[_HEAD + 4 + before : size - after], data.raw[size - after :]
        if count != self._places.to_bytes(4, sys.byteorder) or any(front) or any(back):
            return b"", b""
        return head, core

    def _settle(self) -> None:
        """Have pending copies done, by a pass over one token in a free place, or behind the shortest sequence."""
        free = [_Held(place) for place in self._free()[:1]]
        where = min(free or self._held.values(), key=lambda held: held.length)
        batch = self._batch
        batch.count, batch.token[0], batch.place[0], batch.sequences[0] = 1, 0, where.length, 1
        batch.sequence[0][0] = where.place
        batch.logits[0] = False
        if self._lib.llama_decode(self._handle, batch):
            raise NativeError("The engine could not work on a batch of 1 token.")
        self._lib.llama_memory_seq_rm(self._memory, where.place, where.length, -1)
        self._copied = False


def _rounded(length: int) -> int:
    return -(-length // _UNIT) * _UNIT
