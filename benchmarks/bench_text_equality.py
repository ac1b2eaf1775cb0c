"""Does a text written in turns come out as one agent writes it alone? Greedy, one prompt for all, turns of any length.

    python benchmarks/bench_text_equality.py [--models smollm2-135m,qwen2.5-coder-0.5b] [--quick]

Three agents with the same prompt write a text in turns of K tokens, for many K; next to it one agent writes it alone.
On an engine that computes the same numbers whatever shares a pass, the two are equal, token for token. On another one
they may part at a token where the two best are nearly equal. How near counts as equal is measured: each text is read
once in one piece and once token by token, and the largest change of a gap between the best tokens is the engine's
noise. Where texts part at a gap above that, something is wrong.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from common import at_most, finish

from dissensus.agents.catalogue import locate
from dissensus.agents.llama_exactness import gap_change, measure
from dissensus.agents.llama_jobs import Job, Write
from dissensus.agents.llama_native import Weights
from dissensus.agents.llama_sampling import Sampling
from dissensus.agents.llama_sequences import MOST_TOKENS_EXACT, Reading, Sequences
from dissensus.agents.llama_streams import Streams

AGENTS = 3
TURNS_OF = (1, 2, 3, 5, 7, 10, 15, 16, 31, 33, 50, 64, 99, 100, 300)
PROMPTS = tuple(
    f"{who} {what}, and this is how it went. In the morning"
    for who, what in zip(
        (
            "The baker", "Our neighbour", "A retired pilot", "The youngest sister", "Two students", "The watchman",
            "A travelling choir", "The mayor", "An old fisherman", "The new teacher", "My uncle", "A shy violinist",
            "The gardener", "Three cousins", "The librarian", "A tired doctor", "The carpenter", "An inventor",
            "The goalkeeper", "A lost tourist",
        ),
        (
            "wanted to weigh a cloud", "sold his last boat", "found a map in a coat", "climbed the water tower",
            "missed the only train", "heard music in the cellar", "slept in a barn", "promised to plant a forest",
            "mended a net for the king", "forgot her own name", "bought a lighthouse", "played for the cows",
            "counted all the leaves", "built a raft", "lent out a forbidden book", "followed a white dog",
            "made a door without a house", "taught a crow to whistle", "stopped the town clock", "asked for the sea",
        ),
        strict=True,
    )
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Parting:
    """Where a text in turns leaves the one written alone, and how near the two best tokens are there, in logits."""

    prompt: int
    k: int
    place: int
    gap: float


def done(streams: Streams, jobs: Sequence[Job]) -> list[dict[str, Any]]:
    """The results of jobs that are worked on side by side."""
    for job in jobs:
        streams.submit(job)
    while not streams.idle:
        streams.work()
    return [job.result for job in jobs]


def in_turns(streams: Streams, prompts: Sequence[tuple[int, ...]], k: int, length: int) -> list[tuple[int, ...]]:
    """One text for each prompt, written by three agents in turns of ``k``, all texts side by side."""
    texts: list[tuple[int, ...]] = [() for _ in prompts]
    ended = [False] * len(prompts)
    turn = 0
    while not all(ended):
        going = [number for number in range(len(prompts)) if not ended[number]]
        jobs = [
            Write(
                name=f"k-{k}/text-{number}/agent-{turn % AGENTS}",
                prompt=prompts[number],
                text=texts[number],
                most=min(k, length - len(texts[number])),
                sampling=Sampling(),
            )
            for number in going
        ]
        for number, result in zip(going, done(streams, jobs), strict=True):
            texts[number] += tuple(result["tokens"])
            ended[number] = result["finish"] == "stop" or len(texts[number]) >= length
        turn += 1
    streams.forget(f"k-{k}/")
    return texts


def noise_of(weights: Weights, prompts: Sequence[tuple[int, ...]], texts: Sequence[tuple[int, ...]]) -> float:
    """Largest change of a gap between reading a text in long pieces and token by token."""
    sequences = Sequences(weights)
    most = 0.0
    for prompt, text in zip(prompts, texts, strict=True):
        handle = sequences.open(prompt)
        for begin in range(0, len(text), MOST_TOKENS_EXACT):
            part = text[begin : begin + MOST_TOKENS_EXACT]
            held = sequences.length(handle)
            whole = sequences.step([Reading(handle, part, len(part))])[0]
            sequences.rollback(handle, held)
            for row, token in zip(whole, part, strict=True):
                single = sequences.step([Reading(handle, [token], 1)])[0]
                most = max(most, gap_change(row[None], single))
        sequences.close(handle)
    sequences.release()
    return most


def compared(model: str, *, quick: bool) -> dict[str, Any]:
    """All about one model."""
    weights = Weights(str(locate(model).path.resolve()))
    probed = Sequences(weights)
    exactness = measure(probed)
    probed.release()
    small = quick or not exactness.exact
    prompts = [tuple(weights.cut(prompt)) for prompt in PROMPTS[: 4 if small else None]]
    length = 40 if small else 100
    turns_of = tuple(k for k in TURNS_OF if k <= length or k == max(TURNS_OF))[:: 3 if small else 1]
    streams = Streams(Sequences(weights, most=128, context=512))
    jobs = [
        Write(name=f"alone/text-{number}/agent", prompt=prompt, most=length, sampling=Sampling())
        for number, prompt in enumerate(prompts)
    ]
    alone = [tuple(result["tokens"]) for result in done(streams, jobs)]
    partings: list[Parting] = []
    for k in turns_of:
        for number, text in enumerate(in_turns(streams, prompts, k, length)):
            if text != alone[number]:
                place = next(
                    (at for at, pair in enumerate(zip(alone[number], text, strict=False)) if pair[0] != pair[1]),
                    min(len(alone[number]), len(text)),  # one of them ended there
                )
                gap = gap_after(weights, [*prompts[number], *text[:place]])
                partings.append(Parting(prompt=number, k=k, place=place, gap=gap))
        print(f"{model}: turns of {k}, {len(partings)} partings so far", file=sys.stderr)
    streams.sequences.release()
    noise = 0.0 if exactness.exact and not partings else noise_of(weights, prompts, alone)
    weights.close()
    return {
        "exact by the check at the start": exactness.exact,
        "prompts": len(prompts),
        "tokens": length,
        "turns of": list(turns_of),
        "texts compared": len(prompts) * len(turns_of),
        "texts that part": len(partings),
        "noise": round(noise, 4),
        "largest gap where they part": round(max((one.gap for one in partings), default=0.0), 4),
        "partings": [
            {"prompt": one.prompt, "k": one.k, "token": one.place, "gap": round(one.gap, 4)} for one in partings
        ],
    }


def gap_after(weights: Weights, ids: Sequence[int]) -> float:
    """The gap between the two best tokens that may follow, in logits."""
    sequences = Sequences(weights)
    [row] = sequences.step([Reading(sequences.open(), ids, 1)])[0]
    sequences.release()
    second, first = np.partition(row, -2)[-2:]
    return float(first - second)


def main() -> int:
    """Compare, print, keep the result."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--models", default="smollm2-135m,qwen2.5-coder-0.5b")
    options.add_argument("--quick", action="store_true", help="few prompts and short texts; the result is not kept")
    chosen = options.parse_args()
    facts = {model: compared(model, quick=chosen.quick) for model in chosen.models.split(",")}
    promises = []
    for model, found in facts.items():
        if found["exact by the check at the start"]:
            promises.append(at_most(f"{model}, exact: texts that part", found["texts that part"], 0))
        else:
            gap = found["largest gap where they part"]
            promises.append(at_most(f"{model}, not exact: gap where texts part", gap, found["noise"]))
    if chosen.quick:
        print(facts)
        return 0 if all(promise.kept for promise in promises) else 1
    return finish("text_equality", {}, promises, facts=facts)


if __name__ == "__main__":
    sys.exit(main())
