"""Writing in turns on the embedded engine: what the hand-over costs, beside its floors and beside reading all anew.

    python benchmarks/bench_round_robin.py [--rounds 5] [--model smollm2-135m] [--quick]

Five agents write five texts of 150 tokens in turns of 15, each agent with a prompt of 300 tokens of its own. Arms,
interleaved in one run, one engine thread:

* ``hand-over``: the product's way: a process that keeps what each agent has read of each text, prompts read once;
* ``lockstep``: the same, every token read by all five agents of its text as it is written;
* ``anew``: the same process, engine and batches, but at every turn prompt and text are cut into tokens and read from
  the first one on, as a chat server without a cache does;
* ``floor: prompts``, ``floor: ingest``, ``floor: decode``: bare calls of the engine, with nobody who samples, schedules
  or speaks to another process: the same tokens in the same number of sequences at the same depths.

CPU seconds are those of this process and of the engine's. The prompts count in every arm.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import anyio
from common import Took, at_least, at_most, finish

from dissensus.agents.catalogue import locate
from dissensus.agents.llama_continue import StreamEngine
from dissensus.agents.llama_engine import StreamSettings
from dissensus.agents.llama_native import Weights
from dissensus.agents.llama_sequences import MOST_TOKENS_EXACT, Reading, Sequences
from dissensus.decide.ledger import lockstep, plan
from dissensus.script.calls import Extend

N, M, K, L, P = 5, 5, 15, 150, 300
GREEDY = {"temperature": 0.0, "top_k": 0, "top_p": 1.0, "min_p": 0.0, "seed": 0}
CLOCK = os.sysconf("SC_CLK_TCK")
STORY = (
    "The village lay at the end of a long valley, where the river left the hills and began to wander. Every spring "
    "the water rose and took a piece of somebody's field, and every summer the children found what it had brought: a "
    "bottle, a boot, once a wooden horse without a head. Nobody knew who lived farther up. The road ended at the "
    "mill, and behind the mill there was only a path that the goats had made. The miller said that he had followed it"
    " as a boy, for two days, and had seen smoke above the trees and turned back. He told it each winter, and each "
    "winter the smoke was nearer. One year a girl who had heard it too often packed bread and a lamp and went to see "
    "for herself. She walked along the water in the morning and under the cliffs at noon, and in the evening she sat "
    "down on a stone and listened. There was a sound that was neither wind nor river, like somebody counting under "
    "their breath. She lit the lamp, and the counting stopped. After a while a voice asked, quite close, what she had"
    " brought to read. "
)


class Bench:
    """The prompts, the process with the streams, and bare sequences over the same file in this process."""

    def __init__(self, model: str, length: int) -> None:
        path = str(locate(model).path.resolve())
        self.length = length
        self.weights = Weights(path)
        story = self.weights.cut(STORY * 3)
        self.prompts = [tuple(story[7 * agent : 7 * agent + P]) for agent in range(N)]
        threads = {"threads": 1, "context": 1024}
        self.handover = self._engine(path, "handover", **threads)
        self.lockstep = self._engine(path, "lockstep", **threads)
        self.sequences = Sequences(self.weights, threads=1, places=N * M, length=P + L, context=1024)
        self.counts: dict[str, dict[str, int]] = {}
        self.runs = 0

    def _engine(self, path: str, ingest: str, **more: Any) -> StreamEngine:
        settings = StreamSettings(path=path, ingest=ingest, **more)
        return StreamEngine(settings, lambda _line: None, name="bench", tokenizer="")

    async def write(self, engine: StreamEngine, arm: str, *, anew: bool = False) -> list[tuple[int, ...]]:
        """All texts, side by side, each in turns. Returns their tokens."""
        self.runs += 1
        run = f"run-{self.runs}"
        counts = self.counts[arm] = {"decoded": 0, "computed": 0, "read": 0}
        texts: list[tuple[int, ...]] = [()] * M

        async def one(number: int) -> None:
            turn = 0
            while len(texts[number]) < self.length:
                agent = (number + turn) % N
                ids = texts[number]
                name = f"{run}/text-{number}/agent-{agent}"
                if anew:
                    ids = tuple(self.weights.cut(b"".join(map(self.weights.piece, ids)).decode("utf-8", "ignore")))
                    name = f"{run}-{number}-{turn}/text/agent"  # nobody has a prompt to copy
                call = Extend(turns=(), max_tokens=min(K, self.length - len(texts[number])), stream=name)
                came = await engine.extend(call, self.prompts[agent], ids, GREEDY)
                if came.tokens is None or came.finish != "length":
                    raise SystemExit(f"the model ended a text ({came.finish}): the arms would not do the same work")
                texts[number] += came.tokens
                counts["decoded"] += came.sampled or 0
                counts["computed"] += (came.usage.tokens_in or 0) - (came.usage.tokens_cached or 0)
                counts["read"] += came.read
                if anew:
                    await engine.forget(f"{run}-{number}-{turn}/")
                turn += 1

        if engine is self.lockstep:
            await self._announce(engine, run, counts)
        async with anyio.create_task_group() as group:
            for number in range(M):
                group.start_soon(one, number)
        await engine.forget(f"{run}/")
        return texts

    async def _announce(self, engine: StreamEngine, run: str, counts: dict[str, int]) -> None:
        """Have everybody read their prompt before the first word, or nobody could read along from there."""

        async def one(number: int, agent: int) -> None:
            call = Extend(turns=(), max_tokens=0, stream=f"{run}/text-{number}/agent-{agent}")
            came = await engine.extend(call, self.prompts[agent], (), GREEDY)
            counts["computed"] += (came.usage.tokens_in or 0) - (came.usage.tokens_cached or 0)

        for number in range(M):
            async with anyio.create_task_group() as group:
                for agent in range(N):
                    group.start_soon(one, number, agent)

    # the floors: what the engine alone takes for the same tokens

    def prompts_floor(self) -> list[int]:
        """Read N prompts side by side. The sequences stay open for the next floor."""
        handles = [self.sequences.open() for _ in range(N)]
        for begin in range(0, P, MOST_TOKENS_EXACT):
            self.sequences.step(
                [
                    Reading(handle, prompt[begin : begin + MOST_TOKENS_EXACT], 0)
                    for handle, prompt in zip(handles, self.prompts, strict=True)
                ]
            )
        return handles

    def turns_floor(self, handles: Sequence[int], spent: Callable[[str, Callable[[], object]], object]) -> None:
        """For each turn: read into M sequences what is read there, then decode; each at the depth that it has there."""
        filler = self.weights.cut(STORY * 3)
        turns = -(-self.length // K)
        for turn in range(turns):
            held = P + ((turn - N + 1) * K - 1 if turn >= N else 0)
            for handle in handles:
                self.sequences.rollback(handle, held)
                if self.sequences.length(handle) < held:
                    # bring it to the depth at which this turn begins; that is no part of the floor
                    self.sequences.step([Reading(handle, filler[: held - self.sequences.length(handle)], 0)])
            new = P + turn * K - held
            if new:
                spent("ingest", partial(self._read, handles, filler[:new]))
            # the first token of a turn is sampled from what reading gave
            for _ in range(min(K, self.length - turn * K) - 1):
                spent("decode", partial(self._read, handles, filler[:1]))

    def _read(self, handles: Sequence[int], ids: Sequence[int]) -> None:
        for begin in range(0, len(ids), MOST_TOKENS_EXACT):
            part = ids[begin : begin + MOST_TOKENS_EXACT]
            last = begin + len(part) == len(ids)
            self.sequences.step([Reading(handle, part, int(last)) for handle in handles])


def floors(bench: Bench) -> dict[str, Took]:
    """One round of the floors."""
    took: dict[str, list[float]] = {}

    def spent(what: str, work: Callable[[], object]) -> object:
        cpu, wall = time.process_time(), time.perf_counter()
        result = work()
        sums = took.setdefault(what, [0.0, 0.0])
        sums[0] += time.process_time() - cpu
        sums[1] += time.perf_counter() - wall
        return result

    handles: Any = spent("prompts", bench.prompts_floor)
    bench.turns_floor(handles, spent)
    for handle in handles:
        bench.sequences.close(handle)
    return {f"floor: {what}": Took(*sums) for what, sums in took.items()}


async def measured(engine: StreamEngine, work: Callable[[], Awaitable[object]]) -> tuple[Took, object]:
    """CPU seconds of this process and of the engine's, and wall-clock seconds."""
    started = await engine.start()

    def cpu() -> float:
        fields = Path(f"/proc/{started.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        return time.process_time() + (int(fields[11]) + int(fields[12])) / CLOCK

    before, wall = cpu(), time.perf_counter()
    result = await work()
    return Took(cpu() - before, time.perf_counter() - wall), result


async def run(bench: Bench, rounds: int) -> tuple[dict[str, list[Took]], dict[str, Any]]:
    """All arms, ``rounds`` times, each round beginning with another one."""
    arms: dict[str, Callable[[], Awaitable[tuple[Took, Any]]]] = {
        "hand-over": lambda: measured(bench.handover, lambda: bench.write(bench.handover, "hand-over")),
        "lockstep": lambda: measured(bench.lockstep, lambda: bench.write(bench.lockstep, "lockstep")),
        "anew": lambda: measured(bench.handover, lambda: bench.write(bench.handover, "anew", anew=True)),
    }
    took: dict[str, list[Took]] = {}
    texts: dict[str, Any] = {}
    names = [*arms, "floors"]
    for number in range(rounds):
        for place in range(len(names)):
            name = names[(number + place) % len(names)]
            if name == "floors":
                for floor, one in floors(bench).items():
                    took.setdefault(floor, []).append(one)
                continue
            one, texts[name] = await arms[name]()
            took.setdefault(name, []).append(one)
            print(f"round {number + 1}, {name}: {one.cpu_s:.1f} CPU s, {one.wall_s:.1f} s", file=sys.stderr)
    facts = {
        "exactness of the engine": bench.handover.told["exactness"],
        "same texts": {name: texts[name] == texts["hand-over"] for name in texts},
    }
    await bench.handover.close()
    await bench.lockstep.close()
    return took, facts


def on_a_gpu() -> dict[str, Any]:
    """Where decoding is bound by memory, so many tokens more in a pass take no time: arithmetic, nothing measured.

    A pass reads all weights once (2 bytes each in 16 bits) and computes 2 operations per weight and token. So up to
    ``operations per second / bytes per second`` tokens the reading takes longer than the computing.
    """
    table = {}
    chips = {"A100 80 GB": (312e12, 2.04e12), "H100": (989e12, 3.35e12), "H200": (989e12, 4.8e12)}
    for name, (operations, bandwidth) in chips.items():
        free = operations / bandwidth
        # hand-over: a turn of K passes of M tokens, and one pass that reads (N - 1) K + 1 tokens for each of M texts
        ingest = max(M * ((N - 1) * K + 1) / free, 1.0)
        table[name] = {
            "tokens in a pass that cost nothing": round(free),
            "hand-over: passes a turn, ingest included": round(K - 1 + ingest, 2),
            "hand-over: share that ingest takes": round((ingest - 1) / (K - 1 + ingest), 3),
            "lockstep: tokens in a pass (N M)": N * M,
            "lockstep: passes a turn": K * max(N * M / free, 1.0),
        }
    return table


def spoke_earlier(length: int) -> int:
    """Texts begun by who speaks in an earlier one: the ledger's z, for texts one after the other.

    Here all begin at once, so nobody's prompt is there yet, and none of them has a token to read anew for it.
    """
    turns = range(min(-(-length // K), N))
    seats = [{(text + turn) % N for turn in turns} for text in range(M)]
    return sum(any(text % N in earlier for earlier in seats[:text]) for text in range(M))


def main() -> int:
    """Measure, print, keep the result."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--model", default="smollm2-135m")
    options.add_argument("--quick", action="store_true", help="one round of short texts; nothing is promised of it")
    chosen = options.parse_args()
    length = 60 if chosen.quick else L
    bench = Bench(chosen.model, length)
    took, facts = anyio.run(run, bench, 1 if chosen.quick else chosen.rounds)

    def median(over: Callable[[int], float], under: Callable[[int], float]) -> float:
        return statistics.median(over(number) / under(number) for number in range(len(took["hand-over"])))

    def sum_of_floors(number: int) -> float:
        return sum(rounds[number].cpu_s for name, rounds in took.items() if name.startswith("floor"))

    above = median(lambda number: took["hand-over"][number].cpu_s, sum_of_floors)
    faster = median(lambda number: took["anew"][number].cpu_s, lambda number: took["hand-over"][number].cpu_s)
    ledger = plan(N, K, length, P, starts=range(M), shared=True)
    promises = [
        at_most("hand-over, beside the sum of its floors", above, 1.25),
        at_least("reading all anew, beside hand-over", faster, 2.0),
    ]
    facts |= {
        "counted": bench.counts,
        "ledger, hand-over": {"decoded": ledger.decoded, "computed": ledger.computed - spoke_earlier(length)},
        "ledger, lockstep": lockstep(N, length, P, texts=M, shared=True).to_data(),
        "written tokens per CPU s": {
            name: round(M * length / statistics.median(one.cpu_s for one in took[name]), 1)
            for name in ("hand-over", "lockstep", "anew")
        },
        "on a GPU": on_a_gpu(),
        "model": chosen.model,
        "sizes": {"N": N, "M": M, "K": K, "L": length, "P": P},
    }
    if chosen.quick:
        print(above, faster, facts)
        return 0
    return finish("round_robin", took, promises, facts=facts)


if __name__ == "__main__":
    sys.exit(main())
