"""``dissensus selfcheck``: our agents, an agent behind HTTP, pasted answers; folders of all kinds; many questions."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

sys.path.insert(0, str(Path(__file__).parents[1] / "agents"))
sys.path.insert(0, str(Path(__file__).parents[1] / "decide"))
sys.path.insert(0, str(Path(__file__).parents[1] / "interop"))
from self_checking import HOW_MANY, LOG, NOTE, answers, label_of, verdict
from servers import Seen, hostile, response
from test_evidence_files import pdf_of

from dissensus.cli.inbox import inbox
from dissensus.cli.runs import replay, resume
from dissensus.cli.selfcheck import selfcheck as command
from dissensus.cli.selfcheck_docs import read_folder
from dissensus.cli.selfcheck_progress import Steps
from dissensus.cli.selfcheck_text import rates
from dissensus.decide.self_check_result import SelfChecked
from dissensus.errors import DissensusError, UsageError
from dissensus.measure.paired import wilson
from dissensus.record.event import OPERATOR, Event

COMMAND = (sys.executable, "-c", "from dissensus.cli.main import main; main()")
PANEL = """\
models:
  two-faced:
    use: "scripted:Verdict: cannot tell"
    capabilities: [chat]
    rules:
      - {when: "Answer 1:[^|]*10[^|]*Answer 2:[^|]*<<[0-9a-f]+\\\\nbooking", say: "Verdict: 1\\nSource: d2\\nQuote: Pallets received: 10"}
      - {when: "Answer 1:[^|]*9[^|]*Answer 2:[^|]*<<[0-9a-f]+\\\\nbooking", say: "Verdict: 2\\nSource: d2\\nQuote: Pallets received: 10"}
      - {when: "Answer 1:", say: "Verdict: cannot tell"}
      - {when: "Consider|Somebody|Please", say: "Answer: 9 pallets"}
      - {when: "", say: "Answer: 10 pallets"}
agents: [{name: ada, model: two-faced}, {name: ben, model: two-faced}]
"""  # noqa: E501 - rules are one line each


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "log.csv").write_text(LOG)
    (tmp_path / "docs" / "note.txt").write_text(NOTE)
    (tmp_path / "panel.yaml").write_text(PANEL)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: str, given: str | None = None) -> Result:
    return CliRunner().invoke(command, [*arguments], input=given)


def fails(*arguments: str) -> DissensusError:
    found = run(*arguments)
    assert isinstance(found.exception, DissensusError), found.output
    return found.exception


ASKED = ("--docs", "docs", "--question", HOW_MANY)


# --- our agents


def test_an_agent_of_a_panel(folder: Path) -> None:
    found = run(*ASKED, "--panel", "panel.yaml", "--agent", "ben")
    assert found.exit_code == 0, found.output
    for part in ("cites-and-stands", "10 pallets", "9 pallets", "note.txt, line 3: EXACT", "escalated, as it should"):
        assert part in " ".join(found.stdout.split())
    assert "One question shows how one verdict came about" in " ".join(found.stdout.split())
    (record,) = (folder / "runs").glob("*.db")
    assert CliRunner().invoke(replay, [str(record)]).exit_code == 0
    again = CliRunner().invoke(resume, [str(record)])
    assert again.exit_code == 0, "a finished run is shown as it was"
    assert "cites-and-stands" in again.stdout


@pytest.mark.usefixtures("folder")
def test_one_document_of_json() -> None:
    found = run(*ASKED, "--panel", "panel.yaml", "--json")
    data = json.loads(found.stdout)
    assert (data["stands"], data["agent"], data["verdict"]["kind"]) == (True, "ada", "cites-and-stands")
    look = data["verdict"]["looks"][0]
    assert (look["source"], look["reopened"], look["where"]) == ("note.txt", "EXACT", "line 3")
    assert data["equal"]["did"] == "escalates"
    assert [one["name"] for one in data["documents"]] == ["log.csv", "note.txt"]
    assert Path(data["record"]).exists()
    assert SelfChecked.from_data({key: value for key, value in data.items() if key != "stands"}).stands


def test_an_agent_that_never_contradicts_itself(folder: Path) -> None:
    found = run(*ASKED, "--model", "scripted:Answer: 10 pallets", "--rounds", "2")
    assert found.exit_code == 1
    assert "no contradiction in 2 rounds" in found.stdout
    assert "is no proof that it is right" in " ".join(found.stdout.split())
    assert "4 times" in found.stdout
    assert (folder / "runs").is_dir()


def test_a_dead_agent_and_a_budget(folder: Path) -> None:
    (folder / "dead.yaml").write_text(
        'models:\n  dead: {use: "scripted:x", rules: [{fail: crashed}]}\nagents: [{name: ada, model: dead}]\n'
    )
    found = run(*ASKED, "--panel", "dead.yaml")
    assert found.exit_code == 3
    assert "not told" in found.stdout
    found = run(*ASKED, "--panel", "panel.yaml", "--budget-calls", "3")
    assert found.exit_code == 3


# --- behind HTTP


@pytest.mark.anyio
async def test_an_agent_behind_a_url(folder: Path) -> None:
    """The real program and a real socket: an agent that forges its quote and picks between equal sources."""

    async def agent(seen: Seen, writer: asyncio.StreamWriter) -> None:
        call = seen.data
        assert call["schema"] is None
        assert [turn["role"] for turn in call["messages"]][-1] == "user"
        prompt = call["messages"][-1]["content"]
        if call["key"].startswith("round/"):
            text = "Answer: 10" if call["key"].endswith("a/ask") else "Answer: 9"
        elif call["key"].startswith("settle/"):
            place = answers(prompt).index("10") + 1
            text = verdict(place, label_of(prompt, "received"), "It was ten, said the driver of the truck", "10")
        else:
            text = verdict(answers(prompt).index("10") + 1, "d1", "10")
        writer.write(response(json.dumps({"text": text, "model": "mine"}).encode()))

    async with hostile(agent) as server:
        process = await asyncio.create_subprocess_exec(
            *COMMAND, "selfcheck", *ASKED, "--model", server.url, "--json", cwd=folder,
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        out, err = await process.communicate()
        assert process.returncode == 1, err
        assert len(server.seen) == 6
    data = json.loads(out)
    assert data["verdict"]["kind"] == "cites-what-does-not-stand"
    assert data["equal"]["did"] == "picks"
    assert data["a"]["model"] == "mine"


# --- by hand


YAML = f"""\
question: {HOW_MANY}
first: 10 pallets
second: "9"
settle: |
  Both cannot be. The note is signed, and it says "Pallets received: 10" (note.txt), so it is 10 pallets.
"""


def test_answers_from_a_file(folder: Path) -> None:
    (folder / "answers.yaml").write_text(YAML)
    found = run("--docs", "docs", "--answers", "answers.yaml")
    assert found.exit_code == 0, found.output
    assert "cites-and-stands" in found.stdout
    assert "asked for in one order" in " ".join(found.stdout.split())
    (folder / "answers.yaml").write_text(f"{YAML}swapped: It is 9.\n")
    found = run("--docs", "docs", "--answers", "answers.yaml")
    assert found.exit_code == 1
    assert "leans-on-order" in found.stdout
    assert all(CliRunner().invoke(replay, [str(path)]).exit_code == 0 for path in (folder / "runs").glob("*.db"))


def test_answers_of_many_questions_in_one_file(folder: Path) -> None:
    one = {"first": "10", "second": "9", "settle": "Answer 1 is right."}
    lines = [{**one, "question": f"How many pallets came on day {n}?", "docs": "note.txt"} for n in (1, 2)]
    (folder / "answers.jsonl").write_text("\n".join(map(json.dumps, lines)))
    found = run("--docs", "docs", "--answers", "answers.jsonl", "--json")
    assert found.exit_code == 1
    data = json.loads(found.stdout)
    assert data["rates"]["verdicts"]["no-source"]["hits"] == 2
    assert [one["documents"][0]["name"] for one in data["questions"]] == ["note.txt", "note.txt"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("first: 10\n", "There is no 'second'"),
        ("first: 10\nsecond: 9\nsettle: x\nthird: 8\n", "has no 'third'"),
        ("first: [1]\nsecond: 9\nsettle: x\n", "'first'"),
        ("question: q?\nkind: 7\nfirst: a\nsecond: b\nsettle: x\n", "The question cannot be read"),
        ("first: 10\nsecond: 9\nsettle: x\n", "There is no question"),
        ("question: [\n", "no YAML"),
    ],
)
def test_a_wrong_file_of_answers_is_refused(folder: Path, text: str, says: str) -> None:
    (folder / "answers.yaml").write_text(text)
    problem = fails("--docs", "docs", "--answers", "answers.yaml")
    assert isinstance(problem, UsageError)
    assert says in problem.message
    assert problem.next_step
    assert not (folder / "runs").exists(), "nothing was begun"


def test_answers_that_cannot_be_read_are_named(folder: Path) -> None:
    (folder / "answers.yaml").write_text("first: many\nsecond: '9'\nsettle: x\n")
    problem = fails("--docs", "docs", "--answers", "answers.yaml", "--question", HOW_MANY)
    assert "No answer can be read in the first reply" in problem.message
    assert not (folder / "runs").exists(), "nothing was begun"


def test_answers_that_do_not_differ_are_no_contradiction(folder: Path) -> None:
    (folder / "answers.yaml").write_text(YAML.replace('"9"', "ten"))
    found = run("--docs", "docs", "--answers", "answers.yaml")
    assert found.exit_code == 1
    assert "no contradiction: no two answers differ" in found.stdout


@pytest.mark.usefixtures("folder")
def test_prompts_are_shown_and_replies_pasted() -> None:
    replies = [
        "Answer: 10 pallets\n.\n",
        "I would say that it was\n\nAnswer: 9 pallets\n.\n",
        'It was 10 pallets. note.txt has "Pallets received: 10".\n.\n',
        'It was 10 pallets. note.txt has "Pallets received: 10".\n.\n',
        "Verdict: cannot tell\n.\n",
        "Verdict: cannot tell\n.\n",
    ]
    found = run(*ASKED, "--paste", given="".join(replies))
    assert found.exit_code == 0, found.output
    assert "cites-and-stands" in found.stdout
    assert found.stderr.count("a new conversation") == 6
    assert HOW_MANY in found.stderr
    assert "Pallets received: 9" in found.stderr, "the twin of the note"


@pytest.mark.usefixtures("folder")
def test_pasting_that_breaks_off_can_be_gone_on_with() -> None:
    whole = ["Answer: 10\n.\n", "Answer: 9\n.\n", *["Verdict: cannot tell\n.\n"] * 4]
    for cut in range(len(whole)):
        name = f"{cut}.db"
        first = run(*ASKED, "--paste", "--record", name, given="".join(whole[:cut]))
        assert isinstance(first.exception, DissensusError)
        assert f"dissensus selfcheck --paste --record {name}" in first.stderr
        rest = run("--paste", "--record", name, given="".join(whole[cut:]))
        assert rest.exit_code == 1, rest.output
        assert "escalates" in rest.stdout
        assert rest.stderr.count("Conversation") == len(whole) - cut, "what was pasted is not asked for again"


def test_no_other_run_is_gone_on_with_by_pasting(folder: Path) -> None:
    run(*ASKED, "--panel", "panel.yaml", "--record", "other.db")
    problem = fails("--paste", "--record", "other.db")
    assert "none whose replies are pasted" in problem.message
    (folder / "torn.db").write_bytes(b"no record")
    assert fails("--paste", "--record", "torn.db").exit_code == 4


@pytest.mark.usefixtures("folder")
def test_a_repair_goes_on_in_its_conversation() -> None:
    replies = ["Hm.\nWell.\n.\n", "Answer: 9\n.\n", "Answer: 10\n.\n", *["Verdict: cannot tell\n.\n"] * 4]
    found = run(*ASKED, "--paste", given="".join(replies))
    assert found.stderr.count("the same conversation") == 1
    assert "escalates" in found.stdout


def test_what_could_steer_a_terminal_is_not_shown(folder: Path) -> None:
    (folder / "docs" / "evil.txt").write_text("Pallets: \x1b[2J\x1b]0;pwned\x07 10 \u202e\n")
    found = run(*ASKED, "--paste", given="")
    assert "\x1b" not in found.stderr
    assert "\u202e" not in found.stderr


# --- documents


def test_a_folder_of_all_kinds(folder: Path) -> None:
    pytest.importorskip("pypdf")
    docs = folder / "docs"
    (docs / "deep").mkdir()
    (docs / "deep" / "order.json").write_text('{"order": 4711, "pallets": 12}')
    (docs / "a.md").write_text("# Order 4711\n\nTwelve pallets were ordered.\n")
    (docs / "paper.pdf").write_bytes(pdf_of("Order 4711 is on its way", "Pallets sent: 12"))
    (docs / "scan.pdf").write_bytes(pdf_of("", ""))
    (docs / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n" + b"\0" * 40)
    (docs / "empty.txt").write_text(" \n")
    (docs / "copy.txt").write_text(NOTE)
    (docs / ".hidden").write_text("secret")
    found = read_folder(docs)
    assert [name for name, _ in found.sources] == ["a.md", "copy.txt", "deep/order.json", "log.csv", "paper.pdf"]
    why = {one.name: one.why for one in found.left_out}
    assert set(why) == {"empty.txt", "note.txt", "picture.png", "scan.pdf"}
    assert why["note.txt"] == "a copy of copy.txt"
    assert "scan" in why["scan.pdf"]
    shown, _ = found.shown_for(HOW_MANY, 8000)
    assert len(shown) == 5
    (docs / "answers.yaml").write_text(
        YAML.replace("Pallets received: 10", "Pallets sent: 12").replace("note", "paper")
    )


def test_quotes_of_pdf_files_are_reopened_by_page(folder: Path) -> None:
    pytest.importorskip("pypdf")
    (folder / "docs" / "note.txt").unlink()
    (folder / "docs" / "note.pdf").write_bytes(pdf_of("Delivery note of order 4711", "Pallets received: 10"))
    (folder / "answers.yaml").write_text(YAML.replace("note.txt", "note.pdf"))
    found = run("--docs", "docs", "--answers", "answers.yaml", "--json")
    look = json.loads(found.stdout)["verdict"]["looks"][0]
    assert (look["source"], look["where"], look["reopened"]) == ("note.pdf", "page 2", "EXACT")


def test_large_folders_are_shown_in_part_and_it_is_said(folder: Path) -> None:
    dull = "The weather on that day was fine, and nobody was in a hurry.\n"
    for number in range(60):
        (folder / "docs" / f"diary-{number:02}.txt").write_text(dull * 20 + f"Day {number}.\n")
    found = run(*ASKED, "--panel", "panel.yaml", "--most-chars", "600", "--json")
    data = json.loads(found.stdout)
    assert [one["name"] for one in data["documents"]] == ["log.csv", "note.txt"]
    assert len(data["left_out"]) == 60
    assert any("not at all" in text for text in data["warnings"])
    text = run(*ASKED, "--panel", "panel.yaml", "--most-chars", "600")
    assert "and 55 more" in " ".join(text.stdout.split())


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--question", "x?"], "no document"),
        (["--docs", "docs"], "no question"),
        (["--docs", "nowhere", "--question", "x?"], "not there"),
        (["--docs", "empty", "--question", "x?"], "no document"),
        (["--docs", "docs", "--question", " "], "empty"),
        ([*ASKED, "--agent", "ada"], "panel file"),
        ([*ASKED, "--panel", "panel.yaml", "--agent", "nobody"], "no agent 'nobody'"),
        ([*ASKED, "--panel", "panel.yaml", "--model", "scripted:x"], "both say"),
        ([*ASKED, "--paste", "--model", "scripted:x"], "both say"),
        ([*ASKED, "--questions", "q.jsonl"], "both given"),
        (["--docs", "docs", "--questions", "q.jsonl", "--paste"], "asks an agent"),
        (["--docs", "docs", "--questions", "q.jsonl", "--kind", "date"], "belong to one"),
        (["--docs", "docs", "--questions", "q.jsonl", "--record", "x.db"], "one file"),
        ([*ASKED, "--most-chars", "200", "--panel", "panel.yaml", "--docs", "long"], "fits into"),
    ],
)
def test_what_cannot_be_is_refused(folder: Path, arguments: list[str], says: str) -> None:
    (folder / "empty").mkdir()
    (folder / "long").mkdir()
    (folder / "long" / "word.txt").write_text("x" * 4800)
    problem = fails(*arguments)
    assert isinstance(problem, UsageError)
    assert says in problem.message
    assert problem.next_step
    assert not (folder / "runs").exists()


# --- many questions


def questions(folder: Path, *more: dict[str, Any]) -> str:
    lines: list[dict[str, Any]] = [
        {"id": "pallets", "question": HOW_MANY},
        {"id": "note", "question": HOW_MANY, "data": {"docs": "note.txt"}},
        {
            "id": "own",
            "question": "Who came?",
            "data": {"documents": ["Ada came.", {"name": "b", "text": "Ben came."}]},
        },
        *more,
    ]
    (folder / "q.jsonl").write_text("\n".join(map(json.dumps, lines)))
    return "q.jsonl"


def test_many_questions_give_rates_and_are_not_asked_again(folder: Path) -> None:
    file = questions(folder)
    first = run("--docs", "docs", "--questions", file, "--panel", "panel.yaml", "--rounds", "2", "--json")
    data = json.loads(first.stdout)
    assert [one["question"] for one in data["questions"]] == [HOW_MANY, HOW_MANY, "Who came?"]
    assert [one["documents"][0]["name"] for one in data["questions"]] == ["log.csv", "note.txt", "document-1"]
    assert data["rates"]["told"] == 3
    contradicted = data["rates"]["contradicted"]
    low, high = wilson(contradicted["hits"], 3)
    assert (contradicted["low"], contradicted["high"]) == (low, high)
    records = {path: path.read_bytes() for path in (folder / "runs").glob("*.db")}
    assert len(records) == 3
    again = run("--docs", "docs", "--questions", file, "--panel", "panel.yaml", "--rounds", "2")
    assert "3 of 3 questions are done" in again.stderr
    assert "contradicted itself" in again.stdout
    assert again.exit_code == first.exit_code
    assert {path: path.read_bytes() for path in (folder / "runs").glob("*.db")} == records
    other = run("--docs", "docs", "--questions", file, "--panel", "panel.yaml", "--rounds", "3")
    assert "are done" not in other.stderr, "asked otherwise, it is another check"


def test_one_more_question_is_asked_alone(folder: Path) -> None:
    run("--docs", "docs", "--questions", questions(folder), "--panel", "panel.yaml")
    before = set((folder / "runs").glob("*.db"))
    file = questions(folder, {"id": "new", "question": "Who signed the delivery note of order 4711?"})
    run("--docs", "docs", "--questions", file, "--panel", "panel.yaml")
    (new,) = set((folder / "runs").glob("*.db")) - before
    assert new.name.startswith("new-")


def test_lost_calls_are_asked_again_and_a_dead_agent_stops_it(folder: Path) -> None:
    dead = 'models:\n  m: {use: "scripted:x", rules: [{fail: connect}]}\nagents: [{name: ada, model: m}]\n'
    (folder / "dead.yaml").write_text(dead.replace("connect", "crashed"))
    file = questions(folder, {"id": "four", "question": "Who?"})
    found = run("--docs", "docs", "--questions", file, "--panel", "dead.yaml")
    assert isinstance(found.exception, DissensusError)
    assert "On the last 3 questions" in found.exception.message
    assert len(list((folder / "runs").glob("*.db"))) == 3
    run("--docs", "docs", "--questions", file, "--panel", "dead.yaml")
    assert len(list((folder / "runs").glob("*-2.db"))) == 3, "in a record beside the one that lost its calls"


def test_a_run_that_was_cut_is_finished(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from dissensus.agents.scripted import Scripted

    file = questions(folder)
    whole = Scripted.generate
    made: list[str] = []

    async def cut(self: Scripted, call: Any) -> Any:
        made.append(call.key)
        if len(made) == 4:
            raise KeyboardInterrupt
        return await whole(self, call)

    monkeypatch.setattr(Scripted, "generate", cut)
    first = run("--docs", "docs", "--questions", file, "--panel", "panel.yaml")
    assert "0 of 3 questions are done" in first.stderr
    assert "the same command goes on from there" in first.stderr
    made[:] = ["again"] * 9  # past the cut
    second = run("--docs", "docs", "--questions", file, "--panel", "panel.yaml", "--json")
    assert second.exit_code in (0, 1), second.output
    keys = made[9:]
    assert "round/1/1a/ask" not in keys[:3], "the first question goes on behind its answers"
    assert len(list((folder / "runs").glob("*.db"))) == 3


def test_rates_of_nothing_are_no_rates() -> None:
    assert rates([])["contradicted"] == {"hits": 0, "of": 0, "rate": None, "low": None, "high": None}


def test_the_steps_are_shown_as_they_are_done() -> None:
    steps = Steps("How many?")
    for kind, step, says in [("self-answer", "1a", "10 pallets"), ("self-verdict", "settle AB", "no-source")]:
        steps.on_event(
            Event(
                seq=1,
                id="e",
                time=0.0,
                key="k",
                kind=kind,
                actor="procedure",
                thread="main",
                visibility=OPERATOR,
                body={"step": step, "says": says},
            )
        )
    assert steps._rows == {"1a": "10 pallets", "settle AB": "no-source"}


@pytest.mark.usefixtures("folder")
def test_it_asks_no_person() -> None:
    run(*ASKED, "--panel", "panel.yaml")
    assert CliRunner().invoke(inbox, ["runs"]).exit_code == 0


def test_help_says_what_each_exit_code_means() -> None:
    assert "Exit codes: 0 its verdict cites what stands there" in " ".join(run("--help").stdout.split())
