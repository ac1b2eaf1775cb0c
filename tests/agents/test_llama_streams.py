"""Streams against the ledger, token for token, and against the model read plainly; who reads what, who makes room."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dissensus.agents.llama_jobs import Job, Score, Write, told
from dissensus.agents.llama_native import NativeError, Weights
from dissensus.agents.llama_sampling import Sampling
from dissensus.agents.llama_sequences import Reading, Sequences
from dissensus.agents.llama_streams import Streams
from dissensus.decide.ledger import lockstep, plan

pytestmark = pytest.mark.model
PROSE = (
    "The ferry crosses twice a day. In the morning it carries milk and schoolchildren, in the evening whoever missed "
    "the bus. The captain knows all of them by name and counts them twice, since once, years ago, somebody was left."
)
GREEDY = Sampling()
Open = Callable[..., Streams]


@pytest.fixture(scope="module")
def weights(smollm2_path: Path) -> Iterator[Weights]:
    pytest.importorskip("xllamacpp")
    loaded = Weights(str(smollm2_path))
    yield loaded
    loaded.close()


@pytest.fixture
def opened(weights: Weights) -> Iterator[Open]:
    made: list[Streams] = []

    def make(**more: Any) -> Streams:
        made.append(Streams(Sequences(weights, **more)))
        return made[-1]

    yield make
    for streams in made:
        streams.sequences.release()


@pytest.fixture(scope="module")
def prose(weights: Weights) -> tuple[int, ...]:
    return tuple(weights.cut(PROSE))


def done(streams: Streams, *jobs: Job) -> list[dict[str, Any]]:
    """The results of jobs that are worked on side by side, in their order."""
    for job in jobs:
        streams.submit(job)
    while not streams.idle:
        streams.work()
    return [job.result for job in jobs]


def write(name: str, prompt: Sequence[int], text: Sequence[int] = (), most: int = 4, **more: Any) -> Write:
    more = {"sampling": GREEDY} | more
    return Write(name=name, prompt=tuple(prompt), text=tuple(text), most=most, **more)


def in_turns(
    streams: Streams,
    prompts: Sequence[Sequence[int]],
    *,
    k: int,
    length: int,
    texts: int,
    run: str = "run-1",
    announce: bool = False,
    **more: Any,
) -> tuple[list[tuple[int, ...]], dict[str, int]]:
    """Texts in turns, side by side, text m begun by agent m; with their sums of tokens."""
    agents = len(prompts)
    sums = {"decoded": 0, "computed": 0, "read": 0}
    written: list[tuple[int, ...]] = [()] * texts

    def add(result: dict[str, Any]) -> None:
        sums["decoded"] += result["sampled"]
        sums["computed"] += result["computed"]
        sums["read"] += result["read"]

    for text in range(texts if announce else 0):
        jobs = [write(f"{run}/text-{text}/{agent}", prompt, most=0) for agent, prompt in enumerate(prompts)]
        for result in done(streams, *jobs):
            add(result)
    turn = 0
    while len(written[0]) < length:
        jobs = []
        for text in range(texts):
            agent = (text + turn) % agents
            most = min(k, length - len(written[text]))
            jobs.append(write(f"{run}/text-{text}/{agent}", prompts[agent], written[text], most, **more))
        for text, result in enumerate(done(streams, *jobs)):
            assert result["finish"] == "length", result
            written[text] += tuple(result["tokens"])
            add(result)
        turn += 1
    return written, sums


# --- the ledger


@pytest.mark.parametrize("size", [(3, 4, 18, 12), (2, 5, 13, 9), (3, 1, 5, 10), (1, 4, 7, 8)])
def test_what_is_computed_is_the_closed_form_one_text_after_the_other(
    opened: Open, prose: tuple[int, ...], size: tuple[int, int, int, int]
) -> None:
    """Prompts shared between texts, copied and never read twice: M E - P (M S - D) + z."""
    n, k, length, prompt = size
    streams = opened()
    sums = {"decoded": 0, "computed": 0}
    for text in range(2):
        written: tuple[int, ...] = ()
        turn = 0
        while len(written) < length:
            agent = (text + turn) % n
            most = min(k, length - len(written))
            job = write(f"r/text-{text}/{agent}", prose[agent : agent + prompt], written, most)
            [result] = done(streams, job)
            written += tuple(result["tokens"])
            sums["decoded"] += result["sampled"]
            sums["computed"] += result["computed"]
            turn += 1
    ledger = plan(n, k, length, prompt, starts=(0, 1 % n), shared=True)
    assert sums == {"decoded": ledger.decoded, "computed": ledger.computed}


def test_side_by_side_it_is_the_same_but_that_nobody_has_spoken_earlier(opened: Open, prose: tuple[int, ...]) -> None:
    n, k, length, prompt = 3, 4, 18, 12
    prompts = [prose[agent : agent + prompt] for agent in range(n)]
    _, sums = in_turns(opened(), prompts, k=k, length=length, texts=n)
    ledger = plan(n, k, length, prompt, starts=range(n), shared=True)
    z = n - 1  # whoever begins text 2 or 3 would have spoken in text 1, had that been written before
    assert sums == {"decoded": ledger.decoded, "computed": ledger.computed - z, "read": 0}


@pytest.mark.parametrize("k", [1, 5])
def test_in_lockstep_everybody_reads_everything_but_the_last_token_once(
    opened: Open, prose: tuple[int, ...], k: int
) -> None:
    n, length, prompt = 3, 9, 12
    prompts = [prose[agent : agent + prompt] for agent in range(n)]
    texts, sums = in_turns(opened(), prompts, k=k, length=length, texts=2, announce=True, lockstep=True)
    ledger = lockstep(n, length, prompt, texts=2, shared=True)
    assert sums["decoded"] == ledger.decoded
    assert sums["computed"] == n * prompt
    assert sums["computed"] + sums["read"] == ledger.computed
    plainly, _ = in_turns(opened(), prompts, k=k, length=length, texts=2)
    assert texts == plainly


def test_in_turns_of_any_length_the_text_is_the_one_that_an_agent_writes_alone(
    opened: Open, prose: tuple[int, ...]
) -> None:
    """Exact, because this engine is (test_llama_sequences) and no piece is above its limit.

    ``benchmarks/bench_text_equality.py`` does the same with 20 prompts of 100 tokens.
    """
    streams = opened()
    prompt, length = prose[:24], 26
    [alone] = done(streams, write("alone/text/ada", prompt, most=length))
    for k in (1, 7, 25):
        [text], _ = in_turns(streams, [prompt] * 3, k=k, length=length, texts=1, run=f"k-{k}")
        assert text == tuple(alone["tokens"]), k


# --- what a reader makes of it


def test_what_is_heard_are_the_log_probabilities_of_what_was_read_anew(
    opened: Open, weights: Weights, prose: tuple[int, ...]
) -> None:
    streams, plain = opened(), Sequences(weights)
    prompt, other = prose[:15], prose[1:17]

    def log_probability(before: Sequence[int], text: Sequence[int]) -> list[float]:
        whole = [*before, *text]
        rows = plain.step([Reading(plain.open(), whole, len(whole))])[0]
        return told(rows[len(before) - 1 : -1], text)

    [first] = done(streams, write("r/t/ada", prompt, most=5, hear=True))
    assert first["heard"] == []
    assert first["logprobs"] == log_probability(prompt, first["tokens"])
    [second] = done(streams, write("r/t/ben", other, first["tokens"], most=5, hear=True))
    assert second["heard"] == log_probability(other, first["tokens"])
    text = first["tokens"] + second["tokens"]
    [third] = done(streams, write("r/t/ada", prompt, text, most=1, hear=True))
    # from her own last token on, which nobody had read
    assert third["heard"][-5:] == log_probability(prompt, text)[-5:]
    # and where the prompt was copied, what follows it is heard too
    [copied] = done(streams, write("r/t-2/ben", other, first["tokens"], most=1, hear=True))
    assert copied["heard"] == log_probability(other, first["tokens"])
    plain.release()


def test_in_lockstep_the_others_tell_their_probability_of_every_token(opened: Open, prose: tuple[int, ...]) -> None:
    streams = opened()
    prompts = {"ada": prose[:15], "ben": prose[1:17], "cleo": prose[2:12]}
    done(streams, *(write(f"r/t/{name}", prompt, most=0) for name, prompt in prompts.items()))
    [result] = done(streams, write("r/t/ada", prompts["ada"], most=6, lockstep=True))
    assert set(result["others"]) == {"r/t/ben", "r/t/cleo"}
    for name, numbers in result["others"].items():
        agent = name.rpartition("/")[2]
        asked = Score(name=f"s/t/{agent}", prompt=prompts[agent], continuations=(tuple(result["tokens"]),))
        assert sum(numbers) == pytest.approx(done(streams, asked)[0]["sums"][0], abs=1e-9)
        assert len(numbers) == 6
    # another text of the same agents is not disturbed
    assert done(streams, write("r/t-2/ada", prompts["ada"], most=6))[0]["tokens"] == result["tokens"]


def test_continuations_are_scored_from_where_the_text_ends(
    opened: Open, weights: Weights, prose: tuple[int, ...]
) -> None:
    streams, plain = opened(), Sequences(weights)
    prompt, text = prose[:20], prose[20:26]
    ends = (prose[26:30], prose[5:6], (), prose[40:52])
    [before] = done(streams, write("r/t/ada", prompt, text, most=4))
    [result] = done(streams, Score(name="r/t/ada", prompt=prompt, text=text, continuations=ends))
    for end, total in zip(ends, result["sums"], strict=True):
        whole = [*prompt, *text, *end]
        rows = plain.step([Reading(plain.open(), whole, len(whole))])[0]
        assert total == pytest.approx(sum(told(rows[25:-1], end)), abs=1e-9)
    assert done(streams, write("r/t/ada", prompt, text, most=4))[0]["tokens"] == before["tokens"]
    plain.release()


# --- how a turn ends


def test_a_turn_ends_at_a_stop_text_and_keeps_whole_tokens_before_it(
    opened: Open, weights: Weights, prose: tuple[int, ...]
) -> None:
    streams = opened()
    [whole] = done(streams, write("r/t/ada", prose, most=30))
    stop = whole["raw"][whole["ends"][9] + 1 : whole["ends"][10]]  # begins inside token 10
    first = whole["raw"].find(stop)
    [result] = done(streams, write("r/t/ada", prose, most=30, stop=(b"", b"zzz", stop)))
    assert result["finish"] == "stop"
    assert result["raw"] == b"".join(map(weights.piece, result["tokens"]))
    kept = len(result["tokens"])
    assert result["tokens"] == whole["tokens"][:kept]
    assert result["ends"] == whole["ends"][:kept]
    assert whole["ends"][kept] > first >= len(result["raw"])
    assert result["sampled"] > kept
    assert len(result["logprobs"]) == kept


def test_the_end_of_a_turn_and_control_tokens_are_no_part_of_the_text(
    opened: Open, weights: Weights, monkeypatch: pytest.MonkeyPatch, prose: tuple[int, ...]
) -> None:
    streams = opened()
    end, begin = weights.cut("<|im_end|><|im_start|>", special=True)
    for token, dropped in ((end, 0), (begin, 1)):
        came = iter([prose[0], token])
        monkeypatch.setattr("dissensus.agents.llama_jobs.choose", lambda *_, came=came: next(came))
        [result] = done(streams, write("r/t/ada", prose[:9], most=8))
        assert (result["tokens"], result["finish"], result["sampled"]) == ([prose[0]], "stop", 2)
        assert result["dropped"] == dropped
        assert len(result["logprobs"]) == 1


def test_draws_depend_on_seed_and_place_and_on_nothing_beside(opened: Open, prose: tuple[int, ...]) -> None:
    streams = opened()
    warm = Sampling(temperature=1.0, top_p=1.0, top_k=0, min_p=0.0, seed=5)
    [alone] = done(streams, write("a/t/ada", prose[:20], most=9, sampling=warm))
    beside = [write(f"b/t-{number}/ada", prose[:20], most=9, sampling=warm) for number in range(3)]
    others = [write(f"c/t-{number}/ada", prose[number : 30 + number], most=3 * number) for number in range(4)]
    results = done(streams, *beside, *others)
    assert all(result["tokens"] == alone["tokens"] for result in results[:3])
    [other] = done(streams, write("d/t/ada", prose[:20], most=9, sampling=Sampling(temperature=1.0, seed=6)))
    assert other["tokens"] != alone["tokens"]


# --- who reads what, who makes room


def test_a_prompt_is_copied_within_an_agent_and_a_run_alone(opened: Open, prose: tuple[int, ...]) -> None:
    streams = opened()
    prompt = prose[:20]
    jobs = [write(f"r/t-{number}/ada", prompt, most=3) for number in range(3)]
    assert [result["computed"] for result in done(streams, *jobs)] == [20, 1, 1]
    for name in ("r/t-0/ben", "s/t-0/ada"):
        assert done(streams, write(name, prompt, most=3))[0]["computed"] == 20
    # nothing of the text comes along with a prompt
    [result] = done(streams, write("r/t-9/ada", prompt, prose[30:35], most=1))
    assert result["computed"] == 5


def test_calls_of_one_stream_wait_for_each_other(opened: Open, prose: tuple[int, ...]) -> None:
    streams = opened()
    jobs = [write("r/t/ada", prose[:20], most=4), write("r/t/ada", prose[:20], prose[20:24], most=2)]
    first, second = done(streams, *jobs)
    assert (first["computed"], second["computed"]) == (20, 4)


def test_whoever_was_used_longest_ago_makes_room(opened: Open, prose: tuple[int, ...]) -> None:
    streams = opened(most=2)
    for name in ("r/t/ada", "r/t/ben", "r/t/ada", "r/t/cleo"):
        done(streams, write(name, prose[: 10 + len(name)], most=1))
    assert streams.names == ["r/t/ada", "r/t/cleo"]
    crowd = [write(f"r/t/agent-{number}", prose[number : number + 8], most=2) for number in range(5)]
    assert all(result["finish"] == "length" for result in done(streams, *crowd))
    assert len(streams.sequences) == 2


def test_streams_are_forgotten_by_run(opened: Open, prose: tuple[int, ...]) -> None:
    streams = opened()
    done(streams, *(write(name, prose[:9], most=1) for name in ("run-1/t/ada", "run-1/t/ben", "run-10/t/ada")))
    streams.forget("run-1/")
    assert streams.names == ["run-10/t/ada"]
    assert len(streams.sequences) == 1


def test_a_job_that_is_given_up_leaves_its_stream_as_it_stands(opened: Open, prose: tuple[int, ...]) -> None:
    streams = opened()
    [expected] = done(streams, write("a/t/ada", prose[:20], most=6))
    given_up, waiting = write("r/t/ada", prose[:20], most=50), write("r/t/ada", prose[:20], most=1)
    streams.submit(given_up)
    streams.submit(waiting)
    for _ in range(4):
        streams.work()
    streams.cancel(waiting)
    streams.cancel(given_up)
    assert streams.idle
    [result] = done(streams, write("r/t/ada", prose[:20], most=6))
    assert result["tokens"] == expected["tokens"]
    assert result["computed"] == 1


def test_what_does_not_fit_is_refused_before_anything_is_read(opened: Open, prose: tuple[int, ...]) -> None:
    streams = opened(context=256)
    [long] = done(streams, write("r/t/ada", prose[:20], most=240))
    assert (long["cause"], "256" in long["problem"]) == ("context-length", True)
    [bare] = done(streams, write("r/t/ada", (), most=2))
    assert bare["cause"] == "other"
    assert streams.names == []


def test_an_engine_that_fails_fails_those_at_work_and_the_next_begin_anew(
    opened: Open, prose: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    streams = opened()
    [expected] = done(streams, write("r/t/ada", prose[:20], most=4))

    def broken(_readings: Sequence[Reading]) -> list[np.ndarray]:
        raise NativeError("the batch could not be worked on")

    with monkeypatch.context() as patched:
        patched.setattr(streams.sequences, "step", broken)
        results = done(streams, write("r/t/ada", prose[:20], most=4), write("r/t/ben", prose[:12], most=4))
    assert [result["cause"] for result in results] == ["crashed", "crashed"]
    [again] = done(streams, write("r/t/ada", prose[:20], most=4))
    assert again["tokens"] == expected["tokens"]
    assert again["computed"] == 20
