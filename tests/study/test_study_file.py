"""The study file: what it says, what is swept, and a line for whatever is wrong with it."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_studies import TOY, study, written

from dissensus.decide.round_robin_settings import RoundRobinSettings
from dissensus.errors import SpecError
from dissensus.study.arms import KINDS
from dissensus.study.study_file import read_study

ROOT = Path(__file__).resolve().parents[2]


def test_a_file_says_all_axes(tmp_path: Path) -> None:
    whole = study(tmp_path)
    assert whole.name == "small"
    assert [len(one.tasks) for one in whole.tasks.values()] == [4]
    assert whole.lineups["toys"].agents == ("ada", "ben", "cleo", "dan", "eve")
    assert whole.lineups["toys"].scripted
    assert whole.threats["told"].corrupted == (3,)
    assert (whole.corrupted, whole.seeds, whole.placement) == ((0, 3), (0,), "dealt")
    assert [(arm.name, arm.procedure, arm.trajectories(5)) for arm in whole.arms.values()] == [
        ("vote", "maj", 1),
        ("in turns", "round-robin", 3),
    ]


def test_a_list_is_swept_and_a_setting_that_is_a_list_is_not(tmp_path: Path) -> None:
    more = "  sweep: {procedure: round-robin, k: [50, 100], trajectories: [1, 5], control_ids: [7, 8]}\n"
    arms = study(tmp_path, TOY + more).arms
    swept = [arm for arm in arms.values() if arm.family == "sweep"]
    assert [arm.name for arm in swept] == [
        "sweep, k 50, trajectories 1",
        "sweep, k 50, trajectories 5",
        "sweep, k 100, trajectories 1",
        "sweep, k 100, trajectories 5",
    ]
    for arm in swept:
        assert isinstance(arm.settings, RoundRobinSettings)
        assert arm.settings.control_ids == (7, 8)
    assert [arm.swept["k"] for arm in swept] == [50, 50, 100, 100]


def test_equal_decoded_tokens_give_each_procedure_a_length_of_its_own(tmp_path: Path) -> None:
    more = """\
  debate: {procedure: answer-debate, rounds: 2}
  refine: {procedure: self-refine}
  row: {procedure: last-revises}
  alone: {procedure: single}
  oracle: {procedure: honest-only}
  own: {procedure: maj, length: 7}
"""
    whole = study(tmp_path, TOY.replace("length: 400", "decoded: 3000") + more)
    lengths = {name: arm.length(5, 2, length=whole.length, decoded=whole.decoded) for name, arm in whole.arms.items()}
    assert lengths == {
        "vote": 600,
        "in turns": 1000,
        "debate": 300,
        "refine": 1000,
        "row": 600,
        "alone": 3000,
        "oracle": 1500,
        "own": 7,
    }
    for name, arm in whole.arms.items():
        if name != "own":
            assert arm.most_calls(5, 2) * lengths[name] == 3000


@pytest.mark.parametrize("name", sorted(KINDS))
def test_every_procedure_can_be_studied(name: str, tmp_path: Path) -> None:
    assert study(tmp_path, TOY + f"  more: {{procedure: {name}}}\n").arms["more"].procedure == name


SEATS = "agents: [{count: 5, model: toy}]"


def replaced(old: str, new: str) -> str:
    assert old in TOY
    return str(TOY.replace(old, new))


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        (replaced("corrupted: [0, 3]", "corrupted: [0, 6]"), 11, "6 agents of the line-up toys cannot be corrupted"),
        (replaced("procedure: maj", "procedure: major"), 14, "There is no procedure 'major'"),
        (replaced("k: 150", "kk: 150"), 15, "no setting 'kk'"),
        (replaced("k: 150", "k: []"), 15, "empty list"),
        (replaced("k: 150", "k: lots"), 15, "setting of the round-robin is wrong"),
        (replaced("k: 150", "order: [ada]"), 15, "no setting 'order'"),
        (replaced("count: 4", "count: none"), 3, "whole number"),
        (replaced("steps: 3", "objects: 3"), 3, '"objects" says nothing about such tasks'),
        (replaced("generate: chains", "file: nowhere.jsonl"), 3, '"count" says nothing'),
        (replaced("generate: chains, count: 4, steps: 3", "file: nowhere.jsonl"), 3, "There is no file"),
        (replaced("generate: chains, count: 4, steps: 3", "take: 3"), 3, 'either a "file" or "generate"'),
        (replaced("count: 5, model: toy", "count: 5, model: tay"), 8, 'no model "tay"'),
        (replaced("attack: told.yaml", "attack: tolled"), 10, "no attack"),
        (replaced("strength: moderate", "strength: mild"), 10, "mild"),
        (replaced("strength: moderate", "strength: moderate, wording: 3"), 10, "1 wordings"),
        (replaced("strength: moderate", "slot: footnote"), 10, "slot"),
        (replaced("length: 400", "length: 0"), 12, "at least 1"),
        (replaced("length: 400\n", ""), 1, "length"),
        (replaced("length: 400", "length: 400\ndecoded: 100"), 13, "decoded"),
        (replaced("length: 400", "length: 400\nplacement: HHCC"), 13, "cannot be placed"),
        (replaced("length: 400", "length: 400\nplacement: HHHCC"), 13, "cannot be placed"),
        (replaced("length: 400", "length: 400\nreference: voted"), 13, "No procedure is called"),
        (replaced("length: 400", "length: 400\nseeds: [1, 1]"), 13, "one twice"),
        (replaced("length: 400", "length: 400\nlenght: 3"), 13, 'no key "lenght"'),
        (replaced("study: small", "study: a/b"), 1, "cannot be used"),
        (replaced("  vote: {", "  vo/te: {"), 14, "cannot be used"),
        (replaced(SEATS, f"{SEATS}\n    corrupt: [zoe]"), 9, "agents of"),
        (replaced(SEATS, f"{SEATS}\n    panel: p.yaml"), 6, "not both"),
        (TOY[: TOY.index("attacks:")] + TOY[TOY.index("corrupted:") :], 9, "there is no attack"),
        ("study: x\ntasks: {}\nlineups: {a: {}}\nprocedures: {a: {}}\nlength: 3\n", 2, "is empty"),
    ],
)  # fmt: skip
def test_whatever_is_wrong_is_told_with_its_line(text: str, line: int, words: str, tmp_path: Path) -> None:
    path = written(tmp_path, text)
    with pytest.raises(SpecError) as error:
        read_study(path)
    assert words in str(error.value)
    assert error.value.line == line
    assert str(path) in str(error.value)


def test_the_line_of_a_line_up_written_out_is_that_of_the_study_file(tmp_path: Path) -> None:
    text = TOY.replace("agents: [{count: 5, model: toy}]", "agents:\n      - {name: ada, model: toy, temperatur: 1}")
    with pytest.raises(SpecError, match="temperatur") as error:
        study(tmp_path, text)
    assert error.value.line == 9


def test_options_that_read_alike_leave_a_question_out(tmp_path: Path) -> None:
    (tmp_path / "q.jsonl").write_text(
        '{"question": "Which?", "options": ["a", "A "], "gold": "a", "kind": "choice"}\n'
        '{"question": "Which?", "options": ["a", "b"], "gold": "a", "kind": "choice"}\n',
        encoding="utf-8",
    )
    whole = study(tmp_path, TOY.replace("{generate: chains, count: 4, steps: 3}", "{file: q.jsonl}"))
    assert (len(whole.tasks["chains"].tasks), whole.tasks["chains"].left_out) == (1, 1)


def test_questions_of_one_kind_are_taken_from_a_file_of_several(tmp_path: Path) -> None:
    file = ROOT / "examples" / "labelled-60.jsonl"
    text = TOY.replace("{generate: chains, count: 4, steps: 3}", f"{{file: {file}, kind: number, take: 5}}")
    tasks = study(tmp_path, text).tasks["chains"].tasks
    assert [task.question.kind for task in tasks] == ["number"] * 5


def test_shuffled_tasks_are_the_same_each_time_and_a_part_is_taken(tmp_path: Path) -> None:
    text = TOY.replace("count: 4,", "count: 20, order: shuffled, skip: 2, take: 5,")
    first, again = study(tmp_path, text).tasks["chains"].tasks, study(tmp_path, text).tasks["chains"].tasks
    assert [task.id for task in first] == [task.id for task in again]
    assert len(first) == 5
    assert [task.id for task in first] != sorted(task.id for task in first)


@pytest.mark.parametrize("path", sorted((ROOT / "examples" / "studies").glob("*.yaml")), ids=lambda path: path.stem)
def test_the_shipped_studies_can_be_read(path: Path) -> None:
    if "strengths:" in path.read_text(encoding="utf-8"):
        return  # an attack
    try:
        whole = read_study(path)
    except SpecError as error:
        if "There is no file" in str(error) and "shared" in str(error):
            pytest.skip("the reference data are not beside this checkout (../shared)")
        raise
    assert whole.arms
