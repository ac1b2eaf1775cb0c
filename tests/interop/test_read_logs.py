from __future__ import annotations

import json
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dissensus.errors import MissingExtra, SpecError, UsageError
from dissensus.interop.columns import Named
from dissensus.interop.reading import TableRead, read_table
from dissensus.interop.scored import verdict_of
from dissensus.record.event import Draft
from dissensus.record.opening import open_record

DATA = Path(__file__).resolve().parent / "data"


def cells(read: TableRead) -> dict[tuple[str, str], str | None]:
    table = read.table
    return {
        (question, voter): table.texts[table.codes[i, j]] if table.codes[i, j] >= 0 else None
        for i, question in enumerate(table.questions)
        for j, voter in enumerate(table.voters)
    }


def right(read: TableRead) -> dict[tuple[str, str], bool]:
    table = read.table
    return {
        (question, voter): bool(table.right[i, j])
        for i, question in enumerate(table.questions)
        for j, voter in enumerate(table.voters)
    }


# --- inspect_ai: three logs that inspect_ai 0.3.285 wrote, and logs made here


def test_epochs_of_a_real_log_are_voters_and_the_scorer_has_the_word() -> None:
    pytest.importorskip("pyarrow")
    read = read_table([DATA / "arith_three_epochs.eval"])
    assert right(read) == {
        ("a", "mockllm/model#1"): True,  # "The answer is 4" was scored right
        ("a", "mockllm/model#2"): False,
        ("a", "mockllm/model#3"): True,
        ("2", "mockllm/model#1"): False,
        ("2", "mockllm/model#2"): True,
        ("2", "mockllm/model#3"): False,
    }
    assert cells(read)["a", "mockllm/model#2"] == "nine"
    assert read.report["format"] == "inspect_ai log, scorer match"
    assert read.report["rows"]["read"] == 6


def test_logs_of_two_models_make_one_table() -> None:
    pytest.importorskip("pyarrow")
    read = read_table([DATA / "choice_ada.eval", DATA / "choice_bob.eval"])
    assert cells(read) == {
        ("1", "mockllm/ada"): "B",
        ("1", "mockllm/bob"): "B",
        ("2", "mockllm/ada"): "C",
        ("2", "mockllm/bob"): None,
    }
    assert read.table.options is not None
    assert read.table.options.tolist() == [2, 3]
    assert read.table.blanks() == {"no answer": 1}


def test_a_folder_of_logs_with_two_tasks() -> None:
    pytest.importorskip("pyarrow")
    read = read_table([DATA])
    assert set(read.table.questions) == {"arith/a", "arith/2", "mc/1", "mc/2"}
    assert read.table.n_voters == 5


def test_without_a_package_for_it_the_compression_names_an_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    if sys.version_info >= (3, 14):
        pytest.skip("this Python can undo Zstandard itself")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with pytest.raises(MissingExtra, match="compressed logs of inspect_ai"):
        read_table([DATA / "choice_ada.eval"])


def sample(number: int, score: Any, *, epoch: int = 1, error: Any = None, target: Any = "4") -> dict[str, Any]:
    scores = {} if score is None else score if isinstance(score, dict) and "match" in score else {"match": score}
    return {"id": number, "epoch": epoch, "target": target, "scores": scores, "error": error}


def log(
    samples: list[dict[str, Any]], *, model: str = "m", created: str = "2026-01-01", status: str = "success"
) -> dict[str, Any]:
    return {
        "version": 2,
        "status": status,
        "eval": {"task": "t", "model": model, "created": created},
        "samples": samples,
    }


@pytest.fixture
def logs(tmp_path: Path) -> Callable[..., list[Path]]:
    def to_files(*found: dict[str, Any]) -> list[Path]:
        paths = []
        for number, one in enumerate(found):
            paths.append(tmp_path / f"log{number}.json")
            paths[-1].write_text(json.dumps(one), encoding="utf-8")
        return paths

    return to_files


def test_what_is_no_answer_is_blank_with_its_reason(logs: Callable[..., list[Path]]) -> None:
    read = read_table(
        logs(
            log(
                [
                    sample(1, {"value": "C", "answer": "4"}),
                    sample(2, {"value": "N", "answer": None}),
                    sample(3, {"value": "I", "answer": ""}),
                    sample(4, None, error={"message": "timeout"}),
                    sample(5, None),
                    sample(6, {"value": "P", "answer": "3"}),
                    sample(7, {"value": 0.5, "answer": "2"}),
                    sample(8, {"value": "I", "answer": "4"}),
                ]
            )
        )
    )
    assert read.table.blanks() == {"no answer": 2, "error": 1, "not scored": 1}
    assert read.table.right.sum() == 1
    text = " ".join(read.report["notes"])
    assert "2 answers have part of the score" in text
    assert "1 answer is written like the key but scored wrong" in text


def test_only_flags_are_told_apart_from_answers(logs: Callable[..., list[Path]]) -> None:
    read = read_table(logs(log([sample(1, {"value": 1.0}), sample(2, {"value": 0})])))
    assert [read.table.texts[code] for code in read.table.codes[:, 0]] == ["right", "wrong"]
    assert "lower bound" in " ".join(read.report["notes"])


def test_two_logs_of_one_model_are_two_voters(logs: Callable[..., list[Path]]) -> None:
    one = log([sample(1, {"value": "C", "answer": "4"})])
    two = log([sample(1, {"value": "I", "answer": "5"})], created="2026-02-01", status="cancelled")
    read = read_table(logs(two, one))
    assert read.table.voters == ("m (log 1)", "m (log 2)")
    assert cells(read) == {("1", "m (log 1)"): "4", ("1", "m (log 2)"): "5"}
    text = " ".join(read.report["notes"])
    assert "status 'cancelled'" in text
    assert "Several logs of m" in text


def test_several_scorers_need_a_name(logs: Callable[..., list[Path]]) -> None:
    both = {"match": {"value": "C", "answer": "4"}, "judge": {"value": "I", "answer": "4"}}
    paths = logs(log([sample(1, both)]))
    with pytest.raises(SpecError, match=r"several scores: judge, match.*--filter"):
        read_table(paths)
    assert not read_table(paths, filter_name="judge").table.right.any()


def test_whole_texts_as_answers_are_warned_of(logs: Callable[..., list[Path]]) -> None:
    read = read_table(logs(log([sample(n, {"value": "I", "answer": f"{n}" + " long" * 80}) for n in range(3)])))
    assert "Answers are whole texts" in " ".join(read.report["notes"])


def test_an_uncompressed_eval_file_is_read_like_its_json(tmp_path: Path) -> None:
    path = tmp_path / "log.eval"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", json.dumps({k: v for k, v in log([]).items() if k != "samples"}))
        for number in (1, 2):
            archive.writestr(
                f"samples/{number}_epoch_1.json", json.dumps(sample(number, {"value": "C", "answer": "4"}))
            )
    assert read_table([path]).table.right.tolist() == [[True], [True]]


@pytest.mark.parametrize(
    ("score", "words"),
    [({"value": "maybe", "answer": "x"}, "neither right nor wrong"), ({"value": [1, 0]}, "neither right nor wrong")],
)
def test_scores_that_say_neither_are_refused(logs: Callable[..., list[Path]], score: Any, words: str) -> None:
    with pytest.raises(SpecError, match=words):
        read_table(logs(log([sample(1, score)])))


def test_logs_that_are_none_are_refused(tmp_path: Path, logs: Callable[..., list[Path]]) -> None:
    with pytest.raises(SpecError, match="holds no sample"):
        read_table(logs(log([])))
    path = tmp_path / "other.eval"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("readme.txt", "nothing")
    with pytest.raises(SpecError, match="no log of inspect_ai"):
        read_table([path])
    cut = tmp_path / "cut.json"
    cut.write_text('{"version": 2, "status": "success", "eval": {"task": "t"}, "samples": [', encoding="utf-8")
    with pytest.raises(SpecError, match="damaged"):
        read_table([cut])


@pytest.mark.parametrize(
    ("value", "verdict"),
    [
        ("C", True),
        ("I", False),
        ("P", False),
        (True, True),
        (1, True),
        (0.99, False),
        (float("nan"), None),
        ("x", None),
        (None, None),
    ],
)
def test_verdicts(value: Any, verdict: bool | None) -> None:
    assert verdict_of(value) is verdict


# --- lm-eval


def doc(number: int, answer: Any, target: str, *, filter_: str = "strict-match", **more: Any) -> dict[str, Any]:
    return {
        "doc_id": number, "doc": {}, "target": target, "arguments": [], "resps": [[answer]], "filtered_resps": [answer],
        "filter": filter_, "metrics": ["exact_match"], "doc_hash": f"h{number}", "prompt_hash": "", "target_hash": "",
        **more,
    }  # fmt: skip


@pytest.fixture
def samples(tmp_path: Path) -> Callable[..., Path]:
    def to_file(model: str, *rows: dict[str, Any], task: str = "gsm8k") -> Path:
        path = tmp_path / model / f"samples_{task}_2026-01-01T00-00-00.000000.jsonl"
        path.parent.mkdir(exist_ok=True)
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        return path

    return to_file


def test_samples_of_two_models_are_joined_by_the_hash_of_the_document(samples: Callable[..., Path]) -> None:
    one = samples("ada", doc(0, "18", "18", exact_match=1.0), doc(1, "5", "6", exact_match=0.0))
    two = samples("ben", doc(7, "6.0", "6", exact_match=1.0, doc_hash="h1"), doc(0, "[invalid]", "18", exact_match=0.0))
    read = read_table([one, two])
    assert right(read) == {("h0", "ada"): True, ("h1", "ada"): False, ("h0", "ben"): False, ("h1", "ben"): True}
    assert read.table.blanks() == {"invalid": 1}
    assert read_table([one.parent.parent]).table.voters == ("ada", "ben")


def test_multiple_choice_is_read_from_its_likelihoods(samples: Callable[..., Path]) -> None:
    likely = [["-1.5", "False"], ["-0.5", "True"], ["-2.5", "False"]]
    tied = [["-1.5", "False"], ["-1.5", "False"]]
    rows = [doc(0, "", "1", filtered_resps=likely, acc=1.0), doc(1, "", "0", filtered_resps=tied, acc=0.0)]
    read = read_table([samples("ada", *rows, task="arc")])
    assert cells(read) == {("h0", "ada"): "1", ("h1", "ada"): None}
    assert read.table.options is not None
    assert read.table.options.tolist() == [3, 2]


def test_several_filters_need_a_name(samples: Callable[..., Path]) -> None:
    path = samples(
        "ada",
        doc(0, "18", "18", exact_match=1.0),
        doc(0, "x", "18", filter_="flexible-extract", exact_match=0.0),
    )
    with pytest.raises(UsageError, match="flexible-extract, strict-match"):
        read_table([path])
    read = read_table([path], filter_name="flexible-extract")
    assert cells(read) == {("h0", "ada"): "x"}
    assert read.report["rows"] == {"read": 2, "dropped": 1, "duplicate": 0, "unmatched": 0}


def test_samples_of_two_tasks_and_without_hashes(samples: Callable[..., Path]) -> None:
    plain = {"doc_id": 3, "target": 4, "resps": [["4"], ["5"]], "score": 1}
    one = samples("ada", plain, {"doc_id": 4, "target": None, "filtered_resps": [], "score": 0}, task="sums")
    two = samples("ada", doc(0, "x", "y", exact_match=0.0), task="words")
    read = read_table([one, two])
    assert right(read)["sums/3", "ada"]
    assert set(read.table.questions) == {"sums/3", "sums/4", "words/h0"}
    assert read.table.blanks() == {"no answer": 1}
    assert read.table.labelled.tolist() == [True, False, True]


def test_lines_that_are_no_samples_are_refused(samples: Callable[..., Path]) -> None:
    with pytest.raises(SpecError, match=":1: The sample has no doc_id"):
        read_table([samples("ada", {"target": "x", "filtered_resps": ["x"]})])
    with pytest.raises(SpecError, match="holds no sample"):
        read_table([samples("ada", doc(0, "x", "y"))], named=Named(voters=("ben",)))


def test_a_document_answered_twice_makes_a_blank(samples: Callable[..., Path]) -> None:
    read = read_table([samples("ada", doc(0, "1", "3", exact_match=0.0), doc(0, "2", "3", exact_match=0.0))])
    assert read.table.blanks() == {"voted twice, differently": 1}
    assert read.report["duplicates"] == 1


# --- records of our own runs


def record(path: Path, answers: dict[str, str | None], **question: Any) -> Path:
    """A record with the first event and the decision of a vote."""
    ballots = [
        {"agent": agent, "answer": answer, "reply": answer, "outcome": "reply" if answer else "timed out"}
        for agent, answer in answers.items()
    ]
    settings = {"question": {"text": "What is 2 + 2?", "kind": "number", **question}, "vote": {}}
    with open_record(path, "x") as store:
        store.append([Draft(kind="run", key="run", body={"procedure": "vote", "settings": settings})])
        if answers:
            store.append(
                [Draft(kind="decision", key="decision", body={"question": "What is 2 + 2?", "ballots": ballots})]
            )
        store.append([Draft(kind="ended", key="ended", body={"status": "decided"})])
        store.commit()
    return path


def test_records_of_runs(tmp_path: Path) -> None:
    record(tmp_path / "1.db", {"ada": "4", "ben": "5", "eva": None}, id="sum", gold="4.0")
    record(tmp_path / "2.db", {"ada": "yes", "ben": "yes"}, id="polar", gold="no", kind="yes-no", options=["yes", "no"])
    record(tmp_path / "3.db", {}, id="unfinished")
    read = read_table([tmp_path])
    assert read.table.voters == ("ada", "ben", "eva")
    assert right(read)["sum", "ada"]
    assert not right(read)["sum", "ben"]
    assert not right(read)["polar", "ada"]
    assert read.table.blanks() == {"timed out": 1, "absent": 1}
    assert read.table.options is not None
    assert read.table.options.tolist() == [0, 2]
    assert read.report["rows"] == {"read": 3, "dropped": 1, "duplicate": 0, "unmatched": 0}
    assert "3.db" in " ".join(read.report["notes"])


def test_a_question_in_two_records_is_one_asked_again(tmp_path: Path) -> None:
    one = record(tmp_path / "1.db", {"ada": "4", "ben": "4"}, gold="4")
    two = record(tmp_path / "2.db", {"ada": "5", "ben": "4"}, gold="4")
    read = read_table([one, two])
    assert list(read.table.questions) == ["What is 2 + 2?", "What is 2 + 2? (2)"]
    assert read.table.groups is not None
    assert read.table.groups.tolist() == [0, 0]
    assert read_table([one], named=Named(voters=("ben",))).table.voters == ("ben",)


def test_a_folder_without_records_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="no record with ballots"):
        read_table([tmp_path])
