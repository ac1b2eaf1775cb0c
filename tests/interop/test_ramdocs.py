"""RAMDocs questions as claims with evidence: each number that the reference states of them, and lines that are none."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from dissensus.cli.evidence import evidence
from dissensus.decide.dispute.comparing import contradictions
from dissensus.decide.dispute.origins import origins
from dissensus.decide.dispute.reopening import reopen
from dissensus.errors import LogError
from dissensus.interop.evidence_items import read_items
from dissensus.interop.ramdocs import Question, looks_like_question, question_from

FILE = Path("data") / "disputes-and-debate" / "ramdocs" / "RAMDocs_test.even.jsonl"
LINE: dict[str, Any] = {
    "question": "How many came?",
    "documents": [
        {"text": "In all, TEN came. Ten of them stayed.", "type": "correct", "answer": "ten"},
        {"text": "Nobody can tell.", "type": "noise", "answer": "unknown"},
        {"text": "It was a dozen.", "type": "misinfo", "answer": "eleven"},
    ],
    "gold_answers": ["ten"],
    "wrong_answers": ["eleven"],
}


@pytest.fixture(scope="module")
def questions(shared: Path) -> list[Question]:
    lines = (shared / FILE).read_text(encoding="utf-8").splitlines()
    return [question_from(json.loads(line), "ramdocs", number) for number, line in enumerate(lines, 1)]


def test_documents_and_answers(questions: list[Question]) -> None:
    kinds = Counter(document.kind for question in questions for document in question.documents)
    assert (len(questions), kinds.total()) == (250, 1401)
    assert kinds == {"correct": 961, "noise": 284, "misinfo": 156}
    assert sum(any(one.kind == "misinfo" for one in question.documents) for question in questions) == 120
    assert sum(len(question.gold) > 1 for question in questions) == 200
    assert sum(not question.heads("correct") for question in questions) == 1


def test_a_head_count_of_documents(questions: list[Question]) -> None:
    """The best wrong answer beats the best right one in 3 questions and ties in 32; in 92 the top is tied."""
    ahead = ties = tied_top = several = 0
    for question in questions:
        heads, right = question.heads(), question.heads("correct")
        wrong = max((heads[answer] for answer in heads if answer not in right), default=0)
        best = max(right.values(), default=0)
        ahead += best > 0 and wrong > best
        ties += wrong == best > 0
        tied_top += len(heads) > 1 and heads.most_common(2)[0][1] == heads.most_common(2)[1][1]
        several += len(heads) > 1
    assert (ahead, ties, tied_top, several) == (3, 32, 92, 217)


def test_evidence_reopens_where_the_answer_stands(questions: list[Question]) -> None:
    results: Counter[str] = Counter()
    for question in questions:
        sources = {document.source.digest: document.source for document in question.documents}
        for claim in question.claims():
            (item,) = claim.evidence
            results[reopen(item, sources).result] += 1
    assert results == {"EXACT": 1106, "NOT_FOUND": 11}


def test_counting_sources_loses(questions: list[Question]) -> None:
    (one,) = [each for each in questions if each.question == "What sport is Vestri associated with?"]
    assert one.heads() == {"Basketball": 2, "Football": 1}
    assert one.gold == ("Football",)
    sources = {document.source.digest: document.source for document in one.documents}
    by_answer: dict[str, list[Any]] = {}
    for claim in one.claims():
        by_answer.setdefault(claim.value.written if claim.value else "", []).extend(claim.evidence)
    assert {answer: len(origins(items, sources)) for answer, items in by_answer.items()} == {
        "Basketball": 2, "Football": 1,
    }  # fmt: skip


def test_different_things_of_one_name_are_no_contradiction(questions: list[Question]) -> None:
    """Nobody says when an answer holds, so programs set none against another; they are shown as not compared."""
    several = next(question for question in questions if len(question.gold) > 1)
    graph = contradictions(several.claims())
    assert graph.contradictions == ()
    assert graph.incomparable


def test_the_command_reads_them(shared: Path) -> None:
    found = CliRunner().invoke(evidence, ["check", str(shared / FILE)])
    assert found.exit_code == 1
    assert "1117 items of evidence: 1106 EXACT, 11 NOT_FOUND" in found.output


# --- one line


def test_a_line_gives_a_claim_for_each_document_that_supports_an_answer(tmp_path: Path) -> None:
    question = question_from(LINE, "q", 3)
    claims = question.claims()
    assert [(claim.id, claim.subject, claim.value and claim.value.written) for claim in claims] == [
        ("q:3/1", "How many came?", "ten"), ("q:3/3", "How many came?", "eleven"),
    ]  # fmt: skip
    sources = {document.source.digest: document.source for document in question.documents}
    first, second = (reopen(claim.evidence[0], sources) for claim in claims)
    assert (first.result, first.text) == ("EXACT", "TEN")
    assert second.result == "NOT_FOUND"
    assert not [claim for claim in claims if "correct" in repr(claim) or "misinfo" in repr(claim)]
    path = tmp_path / "two.jsonl"
    for lines in ([LINE], [LINE, LINE]):  # one line is a JSON document as well
        path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
        assert len(read_items(path).items) == 2 * len(lines)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"documents": 5}, "no question with"),
        ({"documents": [{"text": "a", "type": "rumour", "answer": "b"}]}, "A document has no text, type"),
        ({"documents": [{"text": 1, "type": "noise", "answer": "b"}]}, "A document has no text, type"),
        ({"documents": ["text"]}, "A document has no text, type"),
        ({"gold_answers": "ten"}, "no lists of texts"),
    ],
)
def test_what_is_no_question(change: dict[str, Any], says: str) -> None:
    with pytest.raises(LogError, match=says) as error:
        question_from({**LINE, **change}, "f.jsonl", 7)
    assert (error.value.line, bool(error.value.next_step)) == (7, True)
    assert not looks_like_question({"question": "?"})
