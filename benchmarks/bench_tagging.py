"""How well do the shipped patterns and the embedded demo model tag prose?

    python benchmarks/bench_tagging.py [--model qwen2.5-coder-0.5b] [--threshold 0]

Both tag ``examples/labelled-dialogues.jsonl``, one dialogue after the other, and are scored against its labels: share
of utterances with the right tag ("no act" is a tag too), macro-F1, and which act was taken for which. Beside them
stands whoever says the most frequent label of everything. The model is also asked about what no pattern fits only, as
``--patterns default --tagger MODEL`` does, and about one utterance at a time. A call that fails tags nothing, as in an
audit. Where a tag belongs (thread, addressee) is not scored.

Nothing is promised of these figures; what is checked is that every call was answered. The model takes some minutes.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import anyio
from common import at_most, finish

from dissensus.agents.model import Model
from dissensus.agents.registry import open_model
from dissensus.errors import ModelNotFound
from dissensus.interop.model_tagger import CONTEXT, WINDOW, open_tagger
from dissensus.say.message import Message
from dissensus.say.readers.patterns import default_patterns
from dissensus.say.readers.tagging import score, tagged

DIALOGUES = Path(__file__).resolve().parent.parent / "examples" / "labelled-dialogues.jsonl"
NONE = "none"

Dialogues = list[list[Message]]


def read() -> tuple[Dialogues, list[str | None]]:
    """The utterances by dialogue, without their labels; and the labels, in the same order."""
    dialogues: dict[str, list[Message]] = {}
    labels: dict[str, list[str | None]] = {}
    for line in DIALOGUES.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        said = Message(id=row["id"], sender=row["sender"], receivers=tuple(row["receivers"]), content=row["content"])
        dialogues.setdefault(row["dialogue"], []).append(said)
        labels.setdefault(row["dialogue"], []).append(None if row["label"] == NONE else row["label"])
    return list(dialogues.values()), [label for each in labels.values() for label in each]


def with_patterns(dialogues: Dialogues) -> Dialogues:
    """The utterances with the acts that the shipped patterns see."""
    patterns = default_patterns()
    return [[patterns.marked(message) for message in dialogue] for dialogue in dialogues]


def by_model(
    dialogues: Dialogues, model: Model, window: int, threshold: float
) -> tuple[list[str | None], dict[str, Any]]:
    """The acts that a model sees where none is known, and what it took."""
    found: list[str | None] = []
    calls, failures = 0, Counter[str]()
    began = time.perf_counter()
    for dialogue in dialogues:
        with open_tagger(model, window=window) as tagger:
            for at in range(0, len(dialogue), window):
                some = dialogue[at : at + window]
                tags = tagger.tags_for(some)
                found += [
                    message.act if tag is None else tagged(message, tag, at_least=threshold).act
                    for message, tag in zip(some, tags, strict=True)
                ]
            calls += tagger.done.calls
            failures += tagger.done.failures
        print(f"{len(found)} tagged, {window} at a time", file=sys.stderr, flush=True)
    facts = {
        "model": model.name,
        "window": window,
        "context": CONTEXT,
        "threshold": threshold,
        "calls": calls,
        "failed_calls": failures.total(),
        "failures": dict(failures),
        "seconds_per_utterance": round((time.perf_counter() - began) / len(found), 2),
    }
    return found, facts


def scored(found: list[str | None], labels: list[str | None]) -> dict[str, Any]:
    """The figures of one tagger."""
    result = score(found, labels)
    acts = sorted({*found, *labels} - {None}, key=str)
    return {
        "n": result.n,
        "accuracy": round(result.accuracy, 4),
        "macro_f1": round(result.macro_f1, 4),
        "tagged": sum(act is not None for act in found),
        "rightly": sum(act is not None and act == label for act, label in zip(found, labels, strict=True)),
        "acts": {
            act or NONE: {
                "labelled": labels.count(act),
                "predicted": found.count(act),
                "precision": _round(result.precision(act)),
                "recall": _round(result.recall(act)),
            }
            for act in [*acts, None]
        },
        "confusion": {
            f"{label or NONE} as {act or NONE}": count
            for (label, act), count in sorted(result.confusion.items(), key=lambda item: (-item[1], str(item[0])))
        },
    }


def _round(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


def main() -> int:
    """Score all."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", default="qwen2.5-coder-0.5b", help="a reference, as in decide --model")
    parser.add_argument("--threshold", type=float, default=0.0, help="confidence from which a tag counts")
    asked = parser.parse_args()
    dialogues, labels = read()
    most = Counter(labels).most_common(1)[0][0]
    facts: dict[str, Any] = {
        f"always {most or NONE}": scored([most] * len(labels), labels),
        "patterns": scored([said.act for dialogue in with_patterns(dialogues) for said in dialogue], labels),
    }
    promises = []
    try:
        model = open_model(asked.model)
    except ModelNotFound as missing:
        print(f"{missing}\nThe model is not scored, and the kept result stays as it is.")
        return 0
    for how, given, window in (
        (f"{WINDOW} at a time", dialogues, WINDOW),
        (f"after the patterns, {WINDOW} at a time", with_patterns(dialogues), WINDOW),
        ("1 at a time", dialogues, 1),
    ):
        found, took = by_model(given, model, window, asked.threshold)
        facts[f"{asked.model}, {how}"] = took | scored(found, labels)
        promises.append(at_most(f"failed calls, {how}", took["failed_calls"], 0))
    anyio.run(model.close)
    for who, figures in facts.items():
        print(f"{who:<56} accuracy {figures['accuracy']:.2f}  macro-F1 {figures['macro_f1']:.2f}")
    return finish("tagging", {}, promises, facts=facts)


if __name__ == "__main__":
    sys.exit(main())
