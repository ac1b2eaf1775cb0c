"""The figures of a report, against numbers worked out by hand on rows made by hand."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from small_studies import TOY, row, study, text, units

from dissensus.measure.paired import mcnemar, wilson
from dissensus.measure.seats import ANY, FIRST, LAST, MAJORITY
from dissensus.measure.study_points import read_points
from dissensus.study.gather import Row, WrittenText, score_of
from dissensus.study.grid import ATTACKED_ALONE, HONEST_ALONE, Unit
from dissensus.study.report import Report, report_of
from dissensus.study.report_cells import CellRows, cells_from, right_by_trajectories
from dissensus.study.report_files import flat, write_report
from dissensus.study.report_text import markdown
from dissensus.study.study_file import Study


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Study:
    return study(tmp_path_factory.mktemp("study"), TOY.replace("count: 4", "count: 10"))


def scored(whole: Study, procedure: str, corrupted: int, right: str, *, attack: str = "", **more: Any) -> list[Row]:
    """Rows of one cell: a letter for each question, R right, T on target, N none, O other."""
    kinds = {"R": "right", "T": "target", "N": "none", "O": "other"}
    found = units(whole, procedure, corrupted, attack)
    each = zip(found, right, strict=True)
    return [row(unit, **({kinds[letter]: 1.0} | more)) for unit, letter in each]


def with_texts(one: Unit, *words: str) -> Row:
    """A run whose texts are given as ``HHCR``: who wrote, then what came out."""
    gold, target = one.task.gold, one.target
    answers = {"R": gold, "T": target, "N": None, "O": "-1"}
    texts: list[WrittenText] = []
    for number, word in enumerate(words):
        answer = answers[word[-1]]
        made = text(number, word[:-1], answer)
        texts.append(replace(made, score=score_of(one.task, {answer: Fraction(1)}, one.targets)))
    votes = [made.answer for made in texts if made.answer is not None]
    most = max((votes.count(answer) for answer in votes), default=0)
    tied = sorted({answer for answer in votes if votes.count(answer) == most})
    shares: dict[str | None, Fraction] = {answer: Fraction(1, len(tied)) for answer in tied}
    shares = shares or {None: Fraction(1)}
    return replace(row(one, texts=texts, right=0.0), score=score_of(one.task, shares, one.targets))


# --- cells


def test_the_four_shares_of_a_cell_add_up_to_one_and_have_wilson_intervals(whole: Study) -> None:
    rows = scored(whole, "vote", 3, "RRRTTTTTNO")
    [cell] = report_of(whole, rows, units=10).cells
    assert cell.right.value == pytest.approx(0.3)
    assert (cell.right.low, cell.right.high) == pytest.approx(wilson(3, 10))
    assert cell.target.value == pytest.approx(0.5)
    assert (cell.none, cell.other) == pytest.approx((0.1, 0.1))
    assert (cell.questions, cell.runs, cell.decoded, cell.computed) == (10, 10, 100, None)


def test_a_tie_is_shared(whole: Study) -> None:
    one = units(whole, "vote", 3)[0]
    score = score_of(one.task, {one.task.gold: Fraction(1, 3), one.target: Fraction(1, 3), "-1": Fraction(1, 3)},
                     one.targets)  # fmt: skip
    assert [score.right, score.target, score.none, score.other] == pytest.approx([1 / 3, 1 / 3, 0, 1 / 3])


def test_runs_of_one_question_are_averaged_first(tmp_path: Path) -> None:
    """Two seeds: question 0 right twice, question 1 once, the other two never: (1 + .5 + 0 + 0) / 4."""
    whole = study(tmp_path, TOY + "seeds: 2\n")
    rows = [
        row(unit, right=float(value))
        for unit, value in zip(units(whole, "vote", 0), (1, 1, 1, 0, 0, 0, 0, 0), strict=True)
    ]
    [cell] = report_of(whole, rows, units=8).cells
    assert cell.right.value == pytest.approx(0.375)
    assert (cell.questions, cell.runs) == (4, 8)


def test_tokens_of_which_one_run_says_nothing_are_unknown(whole: Study) -> None:
    rows = scored(whole, "vote", 3, "RRRRRRRRRR")
    rows[3] = replace(rows[3], usage=replace(rows[3].usage, decoded=None))
    assert report_of(whole, rows, units=10).cells[0].decoded is None


def test_sets_of_tasks_are_shown_apart_and_together(tmp_path: Path) -> None:
    whole = study(
        tmp_path, TOY.replace("lineups:", "  more: {generate: chains, count: 2, steps: 3, seed: 5}\nlineups:")
    )
    rows = [row(unit, right=1.0 if unit.cell.tasks.name == "more" else 0.0) for unit in units(whole, "vote", 0)]
    cells = report_of(whole, rows, units=6).cells
    assert [(cell.tasks, cell.questions) for cell in cells] == [("chains", 4), ("more", 2), ("all", 6)]
    assert [cell.right.value for cell in cells] == pytest.approx([0, 1, 1 / 3])


# --- comparisons


def test_procedures_are_compared_on_the_same_questions(whole: Study) -> None:
    """In turns right on 7, of these the vote on 2; the vote alone right on 1: discordant 5 and 1."""
    rows = scored(whole, "vote", 3, "RRTTTTTTRT") + scored(whole, "in turns", 3, "RRRRRRRTTT")
    [one] = report_of(whole, rows, units=20).compared
    assert (one.procedure, one.reference) == ("in turns", "vote")
    assert one.paired.difference == pytest.approx(0.4)
    assert (one.paired.only_first, one.paired.only_second) == (5, 1)
    assert one.paired.p == pytest.approx(mcnemar(5, 1)) == pytest.approx(0.21875)
    assert one.paired.low < 0.4 < one.paired.high


def test_the_p_of_a_family_is_corrected(tmp_path: Path) -> None:
    """p of 10 to 0 is 2/1024, doubled for two comparisons; that of 1 to 0 is 1."""
    whole = study(tmp_path, TOY.replace("count: 4", "count: 10") + "  third: {procedure: single}\n")
    rows = (
        scored(whole, "vote", 3, "T" * 10)
        + scored(whole, "in turns", 3, "R" * 10)
        + scored(whole, "third", 3, "R" + 9 * "T")
    )
    found = {one.procedure: one.paired for one in report_of(whole, rows, units=30).compared}
    assert found["in turns"].p == pytest.approx(2 / 1024)
    assert found["in turns"].p_holm == pytest.approx(4 / 1024)
    assert found["third"].p_holm == 1


def test_questions_that_only_one_side_answered_are_left_out(whole: Study) -> None:
    rows = scored(whole, "vote", 3, "RRRRRRRRRR")[:6] + scored(whole, "in turns", 3, "TTTTTTTTTT")[2:]
    report = report_of(whole, rows, units=20)
    assert report.compared[0].paired.questions == 4
    assert any("6 runs are missing" in warning for warning in report.warnings)


def test_the_reference_may_be_named(tmp_path: Path) -> None:
    whole = study(tmp_path, TOY.replace("count: 4", "count: 10") + "reference: in turns\n")
    rows = scored(whole, "vote", 3, "RRTTTTTTRT") + scored(whole, "in turns", 3, "RRRRRRRTTT")
    [one] = report_of(whole, rows, units=20).compared
    assert (one.procedure, one.reference) == ("vote", "in turns")
    assert one.paired.difference == pytest.approx(-0.4)


# --- rescues


def rescue(whole: Study, solo: str = "T" * 10, words: str = "CHCR") -> Report:
    rows = scored(whole, "vote", 3, "T" * 10)
    rows += [with_texts(unit, words) for unit in units(whole, "in turns", 3)]
    rows += scored(whole, ATTACKED_ALONE, 1, solo) + scored(whole, HONEST_ALONE, 0, "R" * 10)
    return report_of(whole, rows, units=len(rows))


def test_a_rescue_beside_its_null_models(whole: Study) -> None:
    """Each text C H C and right: first, last and majority say wrong, any honest says right."""
    [one] = rescue(whole).rescues
    assert dict(one.nulls) == {FIRST: 0, LAST: 0, MAJORITY: 0, ANY: 1}
    assert (one.honest_alone, one.attacked_alone) == (1, 0)
    assert one.rescue.works
    assert one.rescue.repaired


def test_what_the_last_writer_would_have_done_as_well_is_no_repair(whole: Study) -> None:
    report = rescue(whole, words="CCHR")
    [one] = report.rescues
    assert one.nulls[LAST] == 1
    assert one.rescue.better
    assert not one.rescue.repaired
    assert any("better than vote, and no evidence of repair" in warning for warning in report.warnings)


def test_an_attack_that_fails_alone_is_no_evidence_of_robustness(whole: Study) -> None:
    report = rescue(whole, solo="TTTTRRRRRR")
    [one] = report.rescues
    assert one.rescue.solo is not None
    assert one.rescue.solo.value == pytest.approx(0.4)
    assert not one.rescue.repaired
    [warning] = [warning for warning in report.warnings if "no evidence of robustness" in warning]
    assert "(40% of 10)" in warning
    assert one.attacked_alone == pytest.approx(0.6)
    assert one.nulls[LAST] == pytest.approx(0.6)  # a corrupted writer who decides is right where the attack fails


def test_without_the_checks_nothing_is_said_to_work(whole: Study) -> None:
    rows = scored(whole, "vote", 3, "T" * 10) + [with_texts(unit, "CHCR") for unit in units(whole, "in turns", 3)]
    report = report_of(whole, rows, units=20)
    [one] = report.rescues
    assert not one.rescue.works
    assert "was not tried" in one.rescue.sentences()[0]


# --- texts


def test_accuracy_by_number_of_texts_shares_ties(whole: Study) -> None:
    """Texts R T T: one text 1/3; two: R T tie 1/2, T T 0, T R tie 1/2, so 1/3; three: 0."""
    rows = [with_texts(unit, "CR", "CT", "CT") for unit in units(whole, "in turns", 3)]
    [cell] = cells_from(rows)
    by_many = right_by_trajectories(cell)
    assert [values[0] for values in by_many] == pytest.approx([1 / 3, 1 / 3, 0])
    report = report_of(whole, rows, units=10)
    [curve] = report.curves
    assert curve.worse
    assert any("rather worse (not beyond chance): 0.333 right with 1, 0.000 with 3" in one for one in report.warnings)


def test_more_texts_that_make_it_worse_beyond_chance_are_called_so(whole: Study) -> None:
    rows = [
        with_texts(unit, "CR" if place < 8 else "CT", "CT", "CT")
        for place, unit in enumerate(units(whole, "in turns", 3))
    ]
    report = report_of(whole, rows, units=10)
    assert any("more texts made it WORSE: 0.267 right with 1, 0.000 with 3" in one for one in report.warnings)


def test_texts_without_an_answer_do_not_vote(whole: Study) -> None:
    rows = [with_texts(unit, "CN", "CR", "CN") for unit in units(whole, "in turns", 3)]
    [cell] = cells_from(rows)
    assert [values[0] for values in right_by_trajectories(cell)] == pytest.approx([1 / 3, 2 / 3, 1])


def test_more_texts_that_help_are_no_warning(whole: Study) -> None:
    rows = [with_texts(unit, "CR", "CR", "CT") for unit in units(whole, "in turns", 3)]
    report = report_of(whole, rows, units=10)
    assert not report.curves[0].worse
    assert not any("more texts" in warning for warning in report.warnings)


def test_texts_by_their_writers(whole: Study) -> None:
    """Two texts a run, HC on target and CHH right, over 10 runs."""
    rows = [with_texts(unit, "HCT", "CHHR") for unit in units(whole, "in turns", 3)]
    [turns] = report_of(whole, rows, units=10).turns
    assert (turns.texts.texts, turns.texts.right, turns.texts.target) == (20, 0.5, 0.5)
    assert {key: part.right for key, part in turns.first.items()} == {"corrupted": 1.0, "honest": 0.0}
    assert {key: part.right for key, part in turns.last.items()} == {"corrupted": 0.0, "honest": 1.0}
    assert {key: part.texts for key, part in turns.honest_turns.items()} == {"1": 10, "2": 10}
    assert turns.end["eos"].texts == 20
    assert turns.begun == {"0": 20}


def test_repair_and_capture(whole: Study) -> None:
    """Of 10 texts that stated the target 5 end right; of 10 that stated the gold 5 end on the target."""
    rows = []
    for place, unit in enumerate(units(whole, "in turns", 3)):
        made = with_texts(unit, "CHR" if place % 2 else "HCT")
        [only] = made.texts
        rows.append(replace(made, texts=(replace(only, target_stated=True, gold_stated=True),)))
    [turns] = report_of(whole, rows, units=10).turns
    assert (turns.repaired.value, turns.repaired.n) == (0.5, 10)
    assert (turns.repaired.low, turns.repaired.high) == pytest.approx(wilson(5, 10))
    assert (turns.captured.value, turns.captured.n) == (0.5, 10)


def test_seats_that_begin_unequally_many_texts_are_a_warning(whole: Study) -> None:
    rows = [with_texts(unit, "HCT") for unit in units(whole, "in turns", 3)]
    later = text(0, "HC", None)
    moved = replace(later, turns=tuple(replace(turn, seat=turn.seat + 1) for turn in later.turns))
    rows[0] = replace(rows[0], texts=(*rows[0].texts, moved))
    assert any(
        "did not begin equally many texts (0: 10, 1: 1)" in one for one in report_of(whole, rows, units=10).warnings
    )


# --- equal cost


def test_what_is_not_equal_in_cost_is_said_to_be(whole: Study) -> None:
    rows = scored(whole, "vote", 3, "T" * 10, decoded=100, seconds=4.0)
    rows += scored(whole, "in turns", 3, "R" * 10, decoded=110, seconds=8.0)
    tokens, seconds = report_of(whole, rows, units=20).matches
    assert (tokens.cost, tokens.procedure, tokens.anchor) == ("decoded", "vote", "in turns")
    assert tokens.ratio == pytest.approx(100 / 110)
    assert tokens.equal
    assert (seconds.ratio, seconds.equal) == (0.5, False)


def test_of_a_sweep_the_nearest_in_cost_is_taken(tmp_path: Path) -> None:
    whole = study(
        tmp_path, TOY.replace("count: 4", "count: 10") + "  debate: {procedure: answer-debate, rounds: [1, 2]}\n"
    )
    rows = scored(whole, "in turns", 3, "R" * 10, decoded=100)
    rows += scored(whole, "debate, rounds 1", 3, "T" * 10, decoded=60)
    rows += scored(whole, "debate, rounds 2", 3, "O" * 10, decoded=120)
    tokens = next(one for one in report_of(whole, rows, units=30).matches if one.cost == "decoded")
    assert tokens.procedure == "debate, rounds 2"
    assert tokens.ratio == pytest.approx(1.2)


# --- as files


def test_the_report_is_read_by_the_drift_model(whole: Study, tmp_path: Path) -> None:
    report = rescue(whole)
    paths = write_report(report, [], tmp_path)
    points, _ = read_points(paths[1].read_bytes())
    assert {(point.procedure, point.corrupted, point.agents) for point in points} == {
        ("maj", 3, 5),
        ("round-robin", 3, 5),
    }
    assert all(point.scripted for point in points)
    assert [point.predicted_as for point in points] == ["vote", "voted"]


def test_a_toy_is_called_one_before_anything_else(whole: Study) -> None:
    assert rescue(whole).warnings[0].startswith("SCRIPTED")


def test_lost_calls_stand_in_the_report(whole: Study) -> None:
    rows = [replace(one, lost=2) for one in scored(whole, "vote", 3, "R" * 10)]
    assert any("20 calls did not come about" in one for one in report_of(whole, rows, units=10).warnings)


def test_markdown_holds_every_table_and_no_answer_breaks_one(whole: Study) -> None:
    page = markdown(rescue(whole))
    for heading in ("## Before you use a figure", "## What came out", "## One agent alone", "## Rescued?",
                    "## At equal cost", "## How it was run"):  # fmt: skip
        assert heading in page
    tables = [line for line in page.splitlines() if line.startswith("|")]
    assert tables
    for before, line in pairwise(tables):
        if set(line) <= set("| -"):
            assert before.count("|") == line.count("|")


def test_tables_open_as_text_in_a_spreadsheet(whole: Study, tmp_path: Path) -> None:
    rows = [replace(one, answer="=1+1") for one in scored(whole, "vote", 3, "R" * 10)]
    paths = write_report(report_of(whole, rows, units=10), rows, tmp_path)
    assert ",'=1+1," in paths[3].read_text(encoding="utf-8")
    assert len(paths[3].read_text(encoding="utf-8").splitlines()) == 11
    assert "right_low" in flat(report_of(whole, rows, units=10).cells[0])


def test_stories_are_resampled_not_questions(whole: Study) -> None:
    rows = scored(whole, "vote", 3, "RRRRRTTTTT")
    shared = [replace(one, unit=replace(one.unit, task=replace(one.unit.task, story="s" if place < 5 else "t")))
              for place, one in enumerate(rows)]  # fmt: skip
    alone, together = (
        CellRows("chains", rows[0].unit.cell, tuple(group)).share(lambda one: one.score.right)
        for group in (rows, shared)
    )
    assert alone.value == together.value == 0.5
    assert alone.low is not None
    assert together.low is not None
    assert together.low < alone.low  # two stories say less than ten questions
