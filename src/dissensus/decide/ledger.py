"""What writing one text in turns takes, in tokens: predicted, and counted from turns.

N agents write a text of L tokens, at most K at a time; each reads a prompt of P tokens of its own. In T = ceil(L / K)
turns S = min(T, N) agents speak. *computed* are tokens whose keys and values are newly worked out when a turn is taken
up, *cached* the rest of what the writer reads, *decoded* every token that is sampled, with the one that ends a text and
those that are left out again.

How much of what it reads an agent still holds from its last turn depends on the cache. Here a cache is a number
``block``: 0 holds nothing, b > 1 holds whole blocks of b tokens (16 in vLLM), 1 holds everything. After a turn an agent
holds ``P + min(len(y), before + sampled - 1)`` tokens, since the last sampled token has not been read by anybody yet;
at least one token of what it reads is always worked out anew, or there would be nothing to sample from.

These are counts for texts that run to their full length and are kept whole; :func:`count` takes turns as they were.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from dissensus.errors import SpecError

NONE: Final = 0
BLOCKS: Final = 16
EXACT: Final = 1
CACHES: Final[Mapping[str, int]] = {"none": NONE, "block16": BLOCKS, "exact": EXACT}
"""The caches that are reported, by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledger:
    """Sums over turns.

    Args:
        decoded: tokens sampled.
        computed: tokens read anew when turns were taken up.
        cached: tokens that did not have to be read again.
        passes: forward passes: one for each sampled token, the first of a turn with all that is computed.
        turns: how often somebody wrote.
        speakers: how many agents wrote at least once.
    """

    decoded: int = 0
    computed: int = 0
    cached: int = 0
    passes: int = 0
    turns: int = 0
    speakers: int = 0

    def to_data(self) -> dict[str, int]:
        """JSON-ready data."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


def turns_of(length: int, k: int) -> int:
    """How many turns of ``k`` tokens a text of ``length`` tokens takes."""
    return -(-length // k)


def read_in_turns(n: int, k: int, length: int, prompt: int, block: int = EXACT) -> int:
    """Tokens computed for one text by ``n`` agents in rotation.

    Closed forms where nothing is cached (``T P + K T (T - 1) / 2``) and where everything is (``S P + K times the sum
    of T - 1 - j over j < S, less (T - S)(K - 1)``); for blocks the sum over turns.
    """
    turns = turns_of(length, k)
    speakers = min(turns, n)
    if block == NONE:
        return turns * prompt + k * turns * (turns - 1) // 2
    if block == EXACT:
        ahead = speakers * (turns - 1) - speakers * (speakers - 1) // 2
        return speakers * prompt + k * ahead - (turns - speakers) * (k - 1)
    total = 0
    for turn in range(turns):
        context = prompt + turn * k
        held = prompt + (turn - n + 1) * k - 1 if turn >= n else 0
        total += context - reused(held, context, block)
    return total


def reused(held: int, context: int, block: int) -> int:
    """Tokens of ``context`` that need not be computed, if the beginning of length ``held`` is still there."""
    return min(held, context - 1) // block * block if block and context else 0


def plan(
    n: int,
    k: int,
    length: int,
    prompt: int,
    *,
    starts: Sequence[int] = (0,),
    block: int = EXACT,
    shared: bool = False,
) -> Ledger:
    """What M texts take, one for each of ``starts``: the seat, from 0 on, that begins it.

    Args:
        n: agents.
        k: tokens a turn.
        length: tokens of a text; every text is taken to run to it.
        prompt: tokens of each agent's own prompt.
        starts: who begins.
        block: the cache.
        shared: an agent's prompt is computed once and copied to its other texts: ``M E - P (M S - D) + z``, where D
            agents speak at all and z texts begin with an agent that spoke in an earlier one (one token each).

    Raises SpecError for numbers that cannot be.
    """
    _checked(n, k, length, prompt)
    turns = turns_of(length, k)
    speakers = min(turns, n)
    texts = len(starts)
    computed = texts * read_in_turns(n, k, length, prompt, block)
    seen: set[int] = set()
    for start in starts:
        seats = [(start + turn) % n for turn in range(speakers)]
        if shared and block:
            for turn, seat in enumerate(seats):
                if seat in seen:
                    computed -= reused(prompt, prompt + turn * k, block)
        seen.update(seats)
    read = texts * read_in_turns(n, k, length, prompt, NONE)
    return Ledger(
        decoded=texts * length,
        computed=computed,
        cached=read - computed,
        passes=texts * length,
        turns=texts * turns,
        speakers=len(seen),
    )


def spoken_in(n: int, k: int, length: int, prompt: int, starts: Sequence[int] = (0,)) -> list[Spoken]:
    """The turns that :func:`plan` takes into account, one by one. Raises SpecError for numbers that cannot be."""
    _checked(n, k, length, prompt)
    return [
        Spoken(
            text=text,
            seat=(start + turn) % n,
            prompt=prompt,
            before=turn * k,
            sampled=min(k, length - turn * k),
            kept=min(k, length - turn * k),
        )
        for text, start in enumerate(starts)
        for turn in range(turns_of(length, k))
    ]


def lockstep(n: int, length: int, prompt: int, *, texts: int = 1, shared: bool = False) -> Ledger:
    """What it takes when each sampled token goes to all agents at once, whatever K is.

    ``N P + (N - 1)(L - 1)`` for each text; with ``shared`` prompts each is computed once. Nothing is left to read when
    a turn changes hands, so a text counts as one turn. A pass is counted for each agent, though one batch serves all.
    """
    _checked(n, 1, length, prompt)
    if not length:
        return Ledger()
    prompts = n * prompt * (1 if shared else texts)
    return Ledger(
        decoded=texts * length,
        computed=prompts + texts * (n - 1) * (length - 1),
        passes=texts * n * length,
        turns=texts,
        speakers=n,
    )


FORCED: Final = 8
"""Tokens that a forced answer has, roughly, with the words before it."""


def listening(n: int, k: int, length: int, prompt: int, *, texts: int = 1, candidates: int = 2) -> dict[str, int]:
    """What the ear takes for the odds of ``candidates``, on top of the writing, if all agents listen to all texts.

    Every reader is asked before the first part of a text and after each: ``calls``. What it reads is its prompt and the
    text so far each time (``none``: without a cache), or each text once (``exact``: with the prompt still there).
    ``scored`` are the tokens of the forced answers. Surprise takes no call where it comes with the writing.
    """
    _checked(n, k, length, prompt)
    turns = turns_of(length, k)
    pairs = n * texts
    before = k * turns * (turns - 1) // 2 + length
    return {
        "calls": pairs * (turns + 1),
        "none": pairs * ((turns + 1) * prompt + before),
        "exact": pairs * length,
        "scored": pairs * (turns + 1) * candidates * FORCED,
    }


def vote(n: int, length: int, prompt: int) -> Ledger:
    """What ``n`` finished answers of ``length`` tokens take, for comparison."""
    return Ledger(decoded=n * length, computed=n * prompt, passes=n * length, turns=n, speakers=n)


def _checked(n: int, k: int, length: int, prompt: int) -> None:
    if n < 1 or k < 1 or length < 0 or prompt < 1:
        raise SpecError(
            f"There is no plan for {n} agents, {k} tokens a turn, {length} tokens of text, {prompt} of prompt.",
            next_step="Agents, tokens a turn and tokens of a prompt are at least 1, those of a text at least 0.",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Spoken:
    """One turn as it was, in tokens.

    Args:
        text: which of the texts, from 0 on.
        seat: who wrote, from 0 on.
        prompt: tokens of the writer's own prompt.
        before: tokens of the text before it.
        sampled: tokens sampled, with those that were not kept.
        kept: tokens added to the text.
        back: tokens before it that were taken back after the turn, so that nobody's cache of them serves any more.
    """

    text: int
    seat: int
    prompt: int
    before: int
    sampled: int
    kept: int
    back: int = 0


def count(turns: Iterable[Spoken], *, block: int = EXACT, shared: bool = False) -> dict[int, Ledger]:
    """What the turns took, by seat, with this cache. ``turns`` of a text stand in their order, texts in any.

    With ``shared``, an agent's prompt is there for every text after the first that it spoke in, in the order of their
    numbers.
    """
    ledgers: dict[int, Ledger] = {}
    held: dict[tuple[int, int], int] = {}
    prompts: dict[tuple[int, int], int] = {}
    first: dict[int, int] = {}
    for turn in sorted(turns, key=lambda one: one.text):  # a stable sort keeps each text's turns in order
        there = (turn.text, turn.seat)
        before = turn.prompt if shared and first.setdefault(turn.seat, turn.text) < turn.text else 0
        context = turn.prompt + turn.before
        hit = reused(held.get(there, before), context, block)
        held[there] = turn.prompt + min(turn.before + turn.kept, turn.before + max(turn.sampled - 1, 0))
        prompts[there] = turn.prompt
        if turn.back:
            for one, tokens in held.items():
                if one[0] == turn.text:
                    held[one] = min(tokens, prompts[one] + turn.before - turn.back)
        own = ledgers.get(turn.seat, Ledger(speakers=1))
        ledgers[turn.seat] = replace(
            own,
            decoded=own.decoded + turn.sampled,
            computed=own.computed + context - hit,
            cached=own.cached + hit,
            passes=own.passes + turn.sampled,
            turns=own.turns + 1,
        )
    return ledgers


def total(ledgers: Iterable[Ledger]) -> Ledger:
    """The sums of several agents' ledgers."""
    listed = list(ledgers)
    names = Ledger.__dataclass_fields__
    sums: dict[str, Any] = {name: sum(getattr(one, name) for one in listed) for name in names}
    return Ledger(**sums)


def simulate(
    n: int,
    k: int,
    length: int,
    prompt: int,
    *,
    starts: Sequence[int] = (0,),
    block: int = EXACT,
    shared: bool = False,
) -> Ledger:
    """The same as :func:`plan`, by doing it: token by token, with real caches.

    Slow on purpose: it holds what each agent has read as a list of tokens and knows no formula. The formulas are tested
    against it.
    """
    sums = Counter[str]()
    prompts: dict[int, list[object]] = {}
    for text, start in enumerate(starts):
        caches: dict[int, list[object]] = {}
        written: list[object] = []
        while len(written) < length:
            agent = (start + sums[f"turns of {text}"]) % n
            context = [*_prompt(agent, prompt), *written]
            cache = caches.setdefault(agent, list(prompts.get(agent, ())) if shared else [])
            same = 0
            while same < min(len(cache), len(context) - 1) and cache[same] == context[same]:
                same += 1
            hit = same - same % block if block else 0
            del cache[hit:]
            for token in context[hit:]:
                cache.append(token)
                sums["computed"] += 1
            sums["cached"] += hit
            for place in range(min(k, length - len(written))):
                if place:
                    cache.append(written[-1])  # to sample another token, the last one is read
                written.append(("token", text, len(written)))
                sums["decoded"] += 1
                sums["passes"] += 1
            sums[f"turns of {text}"] += 1
            sums["turns"] += 1
        for agent in caches:
            prompts[agent] = _prompt(agent, prompt)
    return _ledger(sums, len(prompts))


def simulate_lockstep(n: int, length: int, prompt: int, *, texts: int = 1, shared: bool = False) -> Ledger:
    """The same as :func:`lockstep`, token by token: every agent reads every token but the last."""
    sums = Counter[str]()
    for text in range(texts if length else 0):
        for agent in range(n):
            if not (shared and text):
                sums["computed"] += len(_prompt(agent, prompt))
            sums["passes"] += 1
        for place in range(length):
            sums["decoded"] += 1
            if place + 1 < length:
                sums["passes"] += n
                sums["computed"] += n - 1  # the writer has to read it in any case, to write on
        sums["turns"] += 1
    return _ledger(sums, n if sums else 0)


def _prompt(agent: int, length: int) -> list[object]:
    return [("prompt", agent, place) for place in range(length)]


def _ledger(sums: Mapping[str, int], speakers: int) -> Ledger:
    counts = {name: sums.get(name, 0) for name in ("decoded", "computed", "cached", "passes", "turns")}
    return Ledger(**counts, speakers=speakers)
