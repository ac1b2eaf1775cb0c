"""Deadlines remind and escalate and decide nothing; people are told by a webhook or a command, or it is tried again."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import anyio
import pytest
from asking import Asked, ask, question_in, resume

from dissensus.errors import SpecError, UsageError
from dissensus.record.opening import open_record
from dissensus.record.verify import verify
from dissensus.run import runs
from dissensus.run.inbox import Question, State
from dissensus.run.inbox_answers import Given
from dissensus.run.inbox_attend import LONGEST_S, Did, Notice, Notify, Sent, attend, due, passed
from dissensus.run.inbox_desk import hand_in
from dissensus.run.inbox_notify import both, command, webhook

BEGAN = 1_800_000_000.0
HOUR = 3600.0


class Bell:
    """Keeps what it was told; fails as often as it is told to."""

    def __init__(self, failures: int = 0) -> None:
        self.told: list[tuple[str, int, tuple[str, ...]]] = []
        self.failures = failures

    async def __call__(self, notice: Notice, _now: float) -> Sent:
        self.told.append((notice.what, notice.number, notice.to))
        self.failures -= 1
        return Sent(channel="test", to="here", problem="down" if self.failures >= 0 else "")


def put(path: Path, **asked: Any) -> Question:
    return ask(path, Asked(**asked), clock=lambda: BEGAN)


def round_at(path: Path, hours: float, notify: Notify | None = None) -> list[Did]:
    """One round over the question in ``path``, at a time of the test's own."""
    now = BEGAN + hours * HOUR

    async def go() -> list[Did]:
        return await attend([question_in(path)], now=now, notify=notify, clock=lambda: now)

    return anyio.run(go)


def answer(question: Question, who: str) -> str:
    """What an answer by ``who`` is refused for."""
    taken = hand_in(
        question,
        Given(question=question.id, principal=who, authenticated_by="", choice="A", at=BEGAN, idempotency_key=who),
    )
    assert taken.answer is not None
    return taken.answer.refused


# --- deadlines


def test_a_deadline_that_passed_leaves_the_question_open_and_decides_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    put(path, deadline_s=HOUR)
    assert round_at(path, 0.999) == []
    assert [did.kind for did in round_at(path, 1)] == ["question-no-answer"]
    assert round_at(path, 1000) == []
    question = question_in(path)
    assert question.state is State.OPEN
    assert (question.overdue(BEGAN + HOUR), question.overdue(BEGAN + HOUR - 1)) == (True, False)
    assert resume(path).status == "waiting"  # nobody has answered, so nothing goes on
    assert answer(question, "kim") == ""  # late is in time: a deadline decides nothing
    assert resume(path).answer == "A by kim"
    assert runs.replay(path).identical
    assert verify(path).complete


def test_whom_it_is_escalated_to_may_answer_from_then_on_and_not_before(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    question = put(path, deadline_s=HOUR, asked_to=("kim",), escalate_to=("lee",))
    assert answer(question, "lee") == "unauthorised"
    assert [did.kind for did in round_at(path, 2)] == ["question-no-answer", "question-escalated"]
    assert question_in(path).may_answer() == ("kim", "lee")
    taken = hand_in(
        question,
        Given(question=question.id, principal="lee", authenticated_by="", choice="A", at=BEGAN, idempotency_key="2"),
    )
    assert taken.answer is not None
    assert taken.answer.accepted


def test_who_is_told_what_and_when(tmp_path: Path) -> None:
    path, bell = tmp_path / "a.db", Bell()
    put(path, deadline_s=5 * HOUR, remind_s=2 * HOUR, asked_to=("kim",), escalate_to=("lee",))
    told = []
    for hours in (0, 1, 2, 2.5, 4.1, 5, 5.5, 9, 9.5):
        before = len(bell.told)
        round_at(path, hours, bell)
        told.append((hours, bell.told[before:]))
    assert told == [
        (0, [("asked", 1, ("kim",))]),
        (1, []),
        (2, [("reminder", 1, ("kim",))]),
        (2.5, []),
        (4.1, [("reminder", 2, ("kim",))]),
        (5, [("no-answer", 1, ("lee",))]),
        (5.5, []),
        (9, [("reminder", 4, ("kim", "lee"))]),  # of those that were missed, the last
        (9.5, []),
    ]
    kinds = [event.kind for event in question_in(path).events]
    assert kinds.count("question-reminded") == 3
    assert kinds.count("question-notified") == 2


def test_an_answered_question_bothers_nobody(tmp_path: Path) -> None:
    path, bell = tmp_path / "a.db", Bell()
    question = put(path, deadline_s=HOUR, remind_s=60.0)
    answer(question, "kim")
    assert round_at(path, 100, bell) == []
    assert bell.told == []
    assert due(question_in(path), BEGAN + 100 * HOUR) == []
    assert passed(question_in(path), BEGAN + 100 * HOUR) == []


def test_what_could_not_be_sent_is_tried_again_less_and_less_often(tmp_path: Path) -> None:
    path, bell = tmp_path / "a.db", Bell(failures=3)
    put(path)
    tries = []
    for minutes in range(12):
        before = len(bell.told)
        done = round_at(path, minutes / 60, bell)
        if len(bell.told) > before:
            tries.append(minutes)
            assert [did.problem for did in done] == (["down"] if len(tries) <= 3 else [""])
    assert tries == [0, 1, 3, 7]
    assert LONGEST_S == 6 * HOUR


def test_of_questions_that_one_answer_serves_people_are_told_once(tmp_path: Path) -> None:
    bell = Bell()
    questions = [put(tmp_path / f"{name}.db", dedupe_key="k") for name in "abc"]

    async def go() -> list[Did]:
        return await attend(questions, now=BEGAN, notify=bell, clock=lambda: BEGAN)

    assert len(anyio.run(go)) == 1
    assert len(bell.told) == 1


def test_a_record_that_somebody_writes_is_left_for_the_next_round(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    put(path, deadline_s=1.0)
    with open_record(path, "a"):
        (did,) = round_at(path, 1)
        assert did.kind == "not-recorded"
        assert "another process" in did.problem
    assert [did.kind for did in round_at(path, 1)] == ["question-no-answer"]


# --- how people are told


class Hook(BaseHTTPRequestHandler):
    """Takes notices; what it answers is set by a test."""

    status: ClassVar[int] = 204
    got: ClassVar[list[tuple[dict[str, Any], str | None]]] = []

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.got.append((json.loads(body), self.headers.get("Authorization")))
        self.send_response(self.status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def hook() -> Iterator[str]:
    Hook.got, Hook.status = [], 204
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hook)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}/hooks/7"
    server.shutdown()
    server.server_close()
    thread.join()


def test_a_webhook_gets_what_it_takes_to_find_the_question_and_no_evidence(
    tmp_path: Path, hook: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOOK_TOKEN", "a-token-of-the-test")
    path = tmp_path / "a.db"
    question = put(path, deadline_s=HOUR)
    (did,) = round_at(path, 0.5, webhook(hook, key_env="HOOK_TOKEN"))
    assert did.problem == ""
    ((body, key),) = Hook.got
    assert key == "Bearer a-token-of-the-test"
    assert body["idempotency_key"] == f"{question.id}/asked/1"
    assert (body["question"], body["what"], body["text"]) == (question.id, "asked", question.text)
    assert (body["age_s"], body["deadline_at"], body["overdue"]) == (HOUR / 2, BEGAN + HOUR, False)
    assert "exhibits" not in body
    (event,) = question_in(path).events
    assert event.body["where"] == hook.removesuffix("/hooks/7")
    assert "token" not in json.dumps(event.body)


def test_a_webhook_that_fails_or_is_down_harms_nothing_and_is_tried_again(tmp_path: Path, hook: str) -> None:
    path = tmp_path / "a.db"
    put(path)
    Hook.status = 500
    (did,) = round_at(path, 0, webhook(hook))
    assert "500" in did.problem
    down = "http://127.0.0.1:9/"  # the port of the discard service, which nobody runs
    (did,) = round_at(path, 1, webhook(down))
    assert "No answer" in did.problem
    Hook.status = 204
    (did,) = round_at(path, 2, webhook(hook))
    assert did.problem == ""
    assert round_at(path, 3, webhook(hook)) == []
    assert question_in(path).state is State.OPEN
    assert answer(question_in(path), "kim") == ""
    assert resume(path).answer == "A by kim"


def test_a_command_gets_the_notice_on_standard_input(tmp_path: Path) -> None:
    path, out = tmp_path / "a.db", tmp_path / "out.json"
    question = put(path)
    program = f"import sys; open({str(out)!r}, 'w').write(sys.stdin.read())"
    (did,) = round_at(path, 0, command(f'"{sys.executable}" -c "{program}"'))
    assert did.problem == ""
    assert json.loads(out.read_text())["question"] == question.id


@pytest.mark.parametrize(
    ("program", "problem"),
    [
        ("import sys; sys.exit('no mail today')", "It ended with 1: no mail today"),
        ("import time; time.sleep(60)", "It did not end within 0.3 s"),
        (None, "It cannot be started"),
    ],
)
def test_a_command_that_fails_is_named(tmp_path: Path, program: str | None, problem: str) -> None:
    path = tmp_path / "a.db"
    put(path)
    line = "no-such-program-anywhere" if program is None else f'"{sys.executable}" -c "{program}"'
    (did,) = round_at(path, 0, command(line, timeout_s=0.3 if program and "sleep" in program else 20))
    assert did.problem.startswith(problem)


def test_what_cannot_be_used_is_said_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOOK_TOKEN", raising=False)
    with pytest.raises(SpecError):
        webhook("ftp://x")
    with pytest.raises(SpecError, match="password or a key"):
        webhook("https://chat.example/hook?token=abcdefgh")
    with pytest.raises(SpecError, match="HOOK_TOKEN"):
        webhook("https://chat.example/hook", key_env="HOOK_TOKEN")
    for line in ("", "'open"):
        with pytest.raises(UsageError):
            command(line)


def test_one_way_that_works_is_enough(tmp_path: Path) -> None:
    down, up = Bell(failures=9), Bell()
    for name, second, problem in (("a.db", up, ""), ("b.db", down, "down")):
        put(tmp_path / name)
        (did,) = round_at(tmp_path / name, 0, both(down, second))
        assert did.problem == problem
