"""A study that is run: exact figures with scripted models, what agents are shown, what is done again."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import anyio
import pytest
from small_studies import TOY, done, study, units, written

from dissensus.errors import RunError, SpecError
from dissensus.measure.seats import ANY, FIRST, LAST, RIVALS
from dissensus.measure.study_points import read_points
from dissensus.record.opening import open_record
from dissensus.run.runs import replay
from dissensus.study.executor import Local
from dissensus.study.gather import rows_of
from dissensus.study.grid import units_of
from dissensus.study.study_file import read_study
from dissensus.study.unit_runs import found, path_of


def test_collapse_and_rescue_in_small(tmp_path: Path) -> None:
    """Corrupted writers give way to one correction: the vote loses all four questions, the text in turns none."""
    rows, report = done(study(tmp_path), tmp_path / "out")
    cells = {(cell.procedure, cell.corrupted): cell for cell in report.cells}
    assert {key: cell.right.value for key, cell in cells.items()} == {
        ("honest agent alone", 0): 1,
        ("attacked agent alone", 1): 0,
        ("vote", 0): 1,
        ("vote", 3): 0,
        ("in turns", 0): 1,
        ("in turns", 3): 1,
    }
    assert cells["vote", 3].target.value == 1
    assert len(rows) == report.done == report.units == 24
    [rescue] = report.rescues
    assert rescue.rescue.works
    assert (rescue.nulls[FIRST], rescue.nulls[LAST], rescue.nulls[ANY]) == (0.5, 1, 1)
    assert not rescue.rescue.repaired  # whoever is last is honest here, which would have done as well; four are too few
    [attacked] = [turns for turns in report.turns if turns.corrupted == 3]
    assert attacked.repaired.value == 1
    assert attacked.repaired.n > 0
    assert report.warnings[0].startswith("SCRIPTED")


def test_what_decoded_and_read_is_what_the_records_say(tmp_path: Path) -> None:
    rows, _ = done(study(tmp_path), tmp_path / "out")
    for row in rows:
        with open_record(tmp_path / "out" / row.record) as store:
            outcomes = [event.body["outcome"] for event in store.read() if event.kind == "outcome"]
        assert row.usage.calls == len(outcomes)
        sampled = [one.get("sampled", one["usage"]["tokens_out"]) for one in outcomes]
        assert row.usage.decoded == sum(sampled)
        assert row.usage.read == sum(one["usage"]["tokens_in"] for one in outcomes)


SENTINEL = """\
study: secret
tasks:
  words: {file: words.jsonl}
lineups:
  three:
    models: {says: {use: "scripted:The answer is heron."}}
    agents: [{count: 3, model: says}]
attacks:
  told: {attack: told.yaml, strength: strong}
corrupted: [0, 2]
length: 50
procedures:
  vote: {procedure: maj}
  classic: {procedure: vote, levers: [], read_by: parser}
  in turns: {procedure: round-robin, k: 5}
  confidence: {procedure: confidence}
  receivers: {procedure: receivers}
  debate: {procedure: answer-debate}
  refine: {procedure: self-refine}
  row: {procedure: last-revises}
  alone: {procedure: single}
  oracle: {procedure: honest-only}
"""


def test_no_agent_is_shown_a_right_answer_and_the_honest_no_target(tmp_path: Path) -> None:
    path = written(tmp_path, SENTINEL)
    hidden = {"data": {"x": "EXTRA"}, "story": "STORY", "solution": "SOLUTION"}
    lines = [
        {"question": f"Which bird is number {number}?", "kind": "text", "gold": f"GOLD{number}", **hidden}
        for number in range(2)
    ]
    (tmp_path / "words.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    whole = read_study(path)
    _, report = done(whole, tmp_path / "out")
    assert report.done == report.units
    for unit in units_of(whole):
        one = found(tmp_path / "out", unit)
        assert one is not None
        first, *rest = one.events
        assert unit.task.gold in repr(first.body["settings"]["truth"])
        for secret in (unit.task.gold, "EXTRA", "STORY", "SOLUTION"):
            assert all(secret not in repr(event.body) for event in rest)
        for seat in first.body["seats"]:
            shown = repr(seat)
            assert unit.task.gold not in shown
            assert (unit.target in shown) == (seat["agent"] in unit.corrupted) if unit.target else True
        # the target is a word that nobody but the attack says, and it says it in the context of the corrupted alone
        assert not unit.target or all(unit.target not in repr(event.body) for event in rest)


def test_what_is_done_is_not_done_again_and_what_was_changed_is(tmp_path: Path) -> None:
    whole = study(tmp_path)
    out = tmp_path / "out"
    done(whole, out)
    before = {path: path.read_bytes() for path in out.rglob("*.db")}
    done(whole, out)
    assert {path: path.read_bytes() for path in out.rglob("*.db")} == before
    more = study(tmp_path, TOY.replace("k: 150", "k: [150, 200]"))
    left = [unit for unit in units_of(more) if found(out, unit) is None]
    assert len(left) == 8
    assert {unit.cell.arm.swept["k"] for unit in left} == {200}


def test_killed_at_random_moments_it_comes_out_the_same(tmp_path: Path) -> None:
    here = Path(__file__).parent
    ended = subprocess.run(
        [sys.executable, str(here / "study_killer.py"), str(tmp_path), "12", "1"],
        capture_output=True, text=True, timeout=240, check=False, cwd=here,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    told = json.loads(ended.stdout)
    assert told["kills"] >= 12
    assert told["same"]
    assert told["records"] == told["units"] == 12
    assert told["repeated"] == 0


def test_a_record_that_is_damaged_is_set_aside(tmp_path: Path) -> None:
    whole = study(tmp_path)
    out = tmp_path / "out"
    rows, _ = done(whole, out)
    victim = path_of(out, units(whole, "vote", 0)[0])
    victim.write_bytes(b"no record" * 100)
    again, _ = done(whole, out)
    assert len(again) == len(rows)
    assert victim.with_name(f"{victim.stem}-2.db").exists()


DEAD = (
    TOY.replace("tokenizer: character,", "tokenizer: character, dies_after: 40,")
    .replace("corrupted: [0, 3]", "corrupted: [0]")
    .replace("attacks:\n  told: {attack: told.yaml, strength: moderate}\n", "")
)


def test_a_server_that_is_gone_stops_the_study_and_its_runs_are_done_anew(tmp_path: Path) -> None:
    whole = study(tmp_path, DEAD)
    out = tmp_path / "out"
    todo = units_of(whole)
    with pytest.raises(RunError, match="no call came about"):
        anyio.run(Local().run, out, todo, lambda _unit, _found: None)
    rows = list(rows_of(out, todo))
    assert 0 < sum(row.lost > 0 for row in rows) < len(todo)
    clean = [row for row in rows if not row.lost]
    assert clean
    left = [unit for unit in todo if (one := found(out, unit)) is None or one.lost]
    assert len(left) == len(todo) - len(clean)
    anyio.run(Local().run, out, left, lambda _unit, _found: None)  # the model anew: forty calls again
    assert sum(not row.lost for row in rows_of(out, todo)) > len(clean)


def test_a_line_up_that_cannot_is_refused_before_any_record_is_made(tmp_path: Path) -> None:
    text = TOY.replace("tokenizer: character,", "tokenizer: character, capabilities: [chat],")
    whole = study(tmp_path, text)
    with pytest.raises(SpecError, match="“in turns” cannot be held with the line-up “toys”"):
        done(whole, tmp_path / "out")
    assert not list((tmp_path / "out").rglob("*.db"))


def test_runs_side_by_side_come_out_as_one_by_one(tmp_path: Path) -> None:
    whole = study(tmp_path)
    _, one = done(whole, tmp_path / "one")
    _, many = done(whole, tmp_path / "many", jobs=5)

    def plain(cells: object) -> object:
        return [{name: value for name, value in cell.to_data().items() if name != "seconds"} for cell in cells]  # type: ignore[attr-defined]

    assert plain(one.cells) == plain(many.cells)


MIXED = """\
study: mixed
tasks:
  chains: {generate: chains, count: 3, steps: 3}
lineups:
  mixed:
    models:
      words: {use: "scripted:", name: words, tokenizer: word, reasoner: {}}
      bytes: {use: "scripted:", name: bytes, tokenizer: byte, reasoner: {}}
      weak: {use: "scripted:", name: weak, tokenizer: word, reasoner: {notices: 0.2}}
    agents:
      - {name: ada, model: words}
      - {name: ben, model: bytes}
      - {name: cleo, model: weak}
    corrupt: [ada]
attacks:
  told: {attack: told.yaml, strength: moderate}
corrupted: [0, 1]
length: 300
procedures:
  in turns: {procedure: round-robin, k: 60, q_eos: 2, fidelity: text_prefill}
"""


def test_panels_that_mix_tokenizers_hand_over_text(tmp_path: Path) -> None:
    rows, report = done(study(tmp_path, MIXED), tmp_path / "out")
    assert report.done == report.units
    turned = [row for row in rows if row.texts]
    assert all("handed over as text" in " ".join(row.warnings) for row in turned)
    assert any("In the line-up mixed texts were handed over as text" in one for one in report.warnings)
    assert {cell.fidelity for cell in report.cells if cell.in_turns} == {"text_prefill"}
    with pytest.raises(SpecError, match="different tokenizers"):
        done(study(tmp_path, MIXED.replace("text_prefill", "token_exact")), tmp_path / "exact")


def test_receivers_tell_what_each_turn_did_to_the_odds(tmp_path: Path) -> None:
    text = TOY.replace("trajectories: 3", "trajectories: 2, ear: drift").replace("count: 4", "count: 2")
    whole = study(tmp_path, text)
    rows, report = done(whole, tmp_path / "out")
    attacked = [row for row in rows if row.texts and row.unit.corrupted]
    for row in attacked:
        wrote = sum(turn.kept > 0 for text in row.texts for turn in text.turns)
        assert len(row.steps) == wrote
        honest = [turn.honest for text in row.texts for turn in text.turns if turn.kept]
        assert [step.corrupted for step in row.steps] == [not one for one in honest]
    points, steps = read_points(json.dumps(report.to_data()).encode())
    assert points
    assert len(steps) == sum(len(row.steps) for row in rows) > 0


def test_verifiers_of_each_question_judge_its_texts(tmp_path: Path) -> None:
    more = (
        "  checked: {procedure: round-robin, k: 150, q_eos: 4, trajectories: 1, verifiers: task, on_wrong: rewrite}\n"
    )
    whole = study(tmp_path, TOY + more)
    [settings] = {unit.settings.verifiers for unit in units(whole, "checked", 3)}  # type: ignore[union-attr]
    assert settings == ("arithmetic",)
    _, report = done(whole, tmp_path / "out")
    assert any(cell.procedure == "checked" for cell in report.cells)


def test_every_record_of_a_study_replays_to_the_same_decision(tmp_path: Path) -> None:
    whole = study(tmp_path, TOY.replace("count: 4", "count: 1"))
    done(whole, tmp_path / "out")
    records = sorted((tmp_path / "out").rglob("*.db"))
    assert len(records) == 6
    assert all(replay(record).identical for record in records)


def test_the_shipped_toy_collapses_and_is_rescued(tmp_path: Path) -> None:
    """examples/studies/collapse.yaml with a third of its questions, half of its texts, and two of its procedures."""
    folder = Path(__file__).resolve().parents[2] / "examples" / "studies"
    text = (folder / "collapse.yaml").read_text(encoding="utf-8")
    changes = {
        "count: 30": "count: 10",
        "trajectories: 10": "trajectories: 5",
        "toy-told.yaml": "told.yaml",
        "corrupted: [0]": "corrupted: [1]",
        "reference: vote\n": "",
    }
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    kept = [line for line in text.splitlines() if not line.startswith("  ") or "maj}" in line or "in turns:" in line
            or line.startswith("    ") or (":" in line and "procedure:" not in line)]  # fmt: skip
    path = written(tmp_path, "\n".join(kept))
    (tmp_path / "told.yaml").write_text((folder / "toy-told.yaml").read_text(encoding="utf-8"), encoding="utf-8")
    whole = read_study(path)
    assert set(whole.arms) == {"vote", "in turns"}
    _, report = done(whole, tmp_path / "out")
    cells = {(cell.procedure, cell.corrupted): cell.right.value for cell in report.cells if not cell.check}
    assert cells["vote", 3] == cells["vote", 4] == 0
    assert (cells["in turns", 3] or 0) > 0.8
    judged = {one.where[3]: one for one in report.rescues}
    assert judged[3].rescue.better
    assert max(judged[3].nulls[name] for name in RIVALS) < 0.6  # ten questions are too few to be sure of the rest
    assert not judged[4].rescue.repaired
    assert any("4 corrupted (strong)" in warning for warning in report.warnings)
