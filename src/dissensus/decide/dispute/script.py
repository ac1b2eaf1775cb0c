"""The dispute as a script: reports in, rules applied in their order, a verifier, a person. Start at :func:`dispute`.

Every step is an event: states, reopened evidence, each application of a rule, the verifier's input and finding, the
question and its answer. What the script does follows from the case and from outcomes, so a run that was killed at any
event goes on from there.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Iterable, Sequence
from dataclasses import replace
from hashlib import sha256
from typing import Any, Final

from dissensus.decide.cost import Bill, metered
from dissensus.decide.dispute import rules, verdict
from dissensus.decide.dispute.authors import PROTOCOL, ask_authors
from dissensus.decide.dispute.case import Case, State, may_follow
from dissensus.decide.dispute.case_data import checked
from dissensus.decide.dispute.checkers import RERUN
from dissensus.decide.dispute.claims import Claim
from dissensus.decide.dispute.docket import Docket, Weighed
from dissensus.decide.dispute.exhibits import facts_of
from dissensus.decide.dispute.jcs import digest_of
from dissensus.decide.dispute.looking import Finding, OutOfBudgetError, both_orders, faults_of
from dissensus.decide.dispute.manifest import VERIFIER, Manifest, manifest_of
from dissensus.decide.dispute.parsing import claim_data
from dissensus.decide.dispute.question import choice_in, question_of
from dissensus.decide.dispute.rules import Applied
from dissensus.decide.dispute.settlement import STATUS, Settlement
from dissensus.decide.dispute.statements import Heard, hear
from dissensus.decide.dispute.verdict import Verdict
from dissensus.say.readers.record import ENGINE, PROCEDURE
from dissensus.script.effects import Note, Post, Script, UseTool, under
from dissensus.script.outcomes import BudgetExhausted, PersonAnswer, ToolResult
from dissensus.script.seats import Seat

RUNS_TOOLS: Final = "verifier"
"""The seat on whose behalf tools are run again, if the case names no verifier."""
_SPOT_CHECK: Final = "It is one of those that are looked at although nothing contradicts: agreement is no approval."
_MOST_TEXT: Final = 20_000
_MOST_PAIRS: Final = 200
"""Most pairs that cannot be compared that are listed on the record."""


def dispute(case: Case, seats: Sequence[Seat], seed: int) -> Generator[Any, Any, Settlement]:
    """Settle ``case`` by its evidence, or say what is lacking, or have a person say.

    Args:
        case: the claims, the bytes that they cite, what the user declares.
        seats: the verifier, and authors who can be asked for evidence; nobody has to take part.
        seed: for the fences around evidence.

    Raises SpecError, before anybody is asked, for a case that cannot be.
    """
    checked(case)
    course = _Course(case, seats, seed)
    settlement: Settlement = yield from metered(course.run(), course.bill)
    return settlement


class _Course:
    """One run of a case."""

    def __init__(self, case: Case, seats: Sequence[Seat], seed: int) -> None:
        self.case = case
        self.seats = seats
        self.seed = seed
        self.bill = Bill()
        self.state = State.OPEN
        self.steps = 0
        self.input: str | None = None
        self.stopped = ""
        self.heard: dict[str, Heard] = {}

    def run(self) -> Generator[Any, Any, Settlement]:
        """From open to the end of the run."""
        if self.case.after:
            why = f"Sources, claims or rules are not as they were in {self.case.after}."
            yield self._note("state", {"from": "", "to": State.REOPENED.value, "why": why})
        yield self._note("state", {"from": self.case.after and State.REOPENED.value, "to": State.OPEN.value, "why": ""})
        yield from self._reports()
        seen: set[str] = set()
        number = 0
        while True:
            docket = Docket(self.case)
            number += 1
            try:
                found = yield from under(f"look/{number}", self._look(docket))
                if found.state is State.INCOMPLETE and self._can_ask(number):
                    yield from self._move(State.INCOMPLETE, found.why)
                    more = yield from self._more(docket, seen, number)
                    if more:
                        yield from self._move(State.OPEN, "Evidence was added.")
                        continue
            except OutOfBudgetError as out:
                self.stopped = f"budget: {out.what}"
                found = self._out_of_budget(docket)
            yield from self._conclude(found)
            if found.state is State.DISPUTED and self.case.asking.ask:
                found = yield from self._ask(docket, found)
            return (yield from self._end(found))

    # --- the steps

    def _reports(self) -> Script:
        """Put the reports on the record: what came with them is seen by no agent."""
        for claim in self.case.claims:
            data = claim_data(claim)
            text = claim.text or ", ".join(f"{label} {said}" for label, said in facts_of(claim)) or claim.id
            yield Post(
                claim.by or "reporter", text[:_MOST_TEXT], to=(PROCEDURE,), thread="reports", data={"claim": data},
                key=f"report/{claim.id}",
            )  # fmt: skip
        for report in self.case.reports:
            aside = {"claim": report.claim, "confidence": report.confidence, "scratchpad": report.scratchpad}
            yield Note("report-aside", aside, key=f"report-aside/{report.claim}")

    def _look(self, docket: Docket) -> Generator[Any, Any, Verdict]:
        """R0 to R6, and the verifier between R4 and R5."""
        for one in docket.claims:
            for item in one.items:
                yield Note("reopened", _reopened(one, item.name, item), key=f"reopened/{self._step()}")
        yield from self._apply(rules.r0(docket))
        if self.case.verifier and docket.unheard():
            yield from under("statements", hear(docket, self._verifier_seat(), self.seed, self.heard))
        opened = verdict.opening(docket)
        if pairs := verdict.not_compared(docket):
            yield Note("incomparable", {"pairs": pairs[:_MOST_PAIRS], "number": len(pairs)}, key="incomparable")
        manifest = manifest_of(docket)
        yield from self._input(manifest)
        if opened is not State.CONTESTED:
            yield from self._programs(docket)
            found = verdict.unopposed(docket, opened)
            if found.state is State.CONSISTENT and self.case.spot_check and self.case.verifier:
                yield self._note("spot-check", {"verifier": self.case.verifier, "why": _SPOT_CHECK})
                yield from self._verifier(docket, manifest)
                found = verdict.unopposed(docket, opened)
            if found.state is State.SETTLED:
                yield from self._move(State.CONSISTENT, "")
            return found
        yield from self._move(State.CONTESTED, " ".join(verdict.by_word_of(model) for model in docket.by_word()))
        yield from self._move(State.VERIFYING, "")
        yield from self._programs(docket)
        contested = verdict.contested(docket)
        if contested is None and self.case.verifier:
            yield from self._verifier(docket, manifest)
            contested = verdict.contested(docket)
        if contested is not None:
            return contested
        yield from self._apply(rules.r5(docket))
        ranked = yield from self._apply(verdict.r6(docket))
        return verdict.ranked(docket) if ranked else verdict.r7(docket)

    def _programs(self, docket: Docket) -> Script:
        """R1 to R4, as far as no agent is asked."""
        yield from self._apply(rules.r1(docket))
        yield from self._apply(rules.r2(docket))
        yield from self._tools(docket)
        yield from self._apply(rules.r3(docket))
        yield from self._apply(rules.r4(docket))

    def _tools(self, docket: Docket) -> Script:
        """Run read-only tools again whose output is cited, once for each call."""
        agent = self.case.verifier or RUNS_TOOLS
        for number, call in enumerate(self.case.calls, 1):
            digest = digest_of({"tool": call.tool, "arguments": _plain(call.arguments)})
            cited = sorted({
                item.evidence.digest
                for one in docket.claims if one.stand == "standing"
                for item in one.items
                if item.usable and item.evidence.obtained is not None and item.evidence.obtained.args_digest == digest
            })  # fmt: skip
            if not cited:
                continue
            outcome = yield UseTool(agent, call.tool, call.arguments, key=f"re-run/{number}")
            if isinstance(outcome, BudgetExhausted):
                raise OutOfBudgetError(outcome.what)
            ran = isinstance(outcome, ToolResult) and outcome.ok
            text = outcome.text if isinstance(outcome, ToolResult) else ""
            # a tool's last line break is not part of its result, and may be part of what was captured
            outputs = {sha256(f"{text}{end}".encode()).hexdigest() for end in ("", "\n", "\r\n")}
            for source in cited:
                same = ran and source in outputs
                result = "same" if same else "differs" if ran and call.repeatable else "UNREPEATABLE"
                docket.reruns[source] = result
                what = {"checker": RERUN, "tool": call.tool, "source_sha256": source, "result": result}
                yield Note("re-run", what, key=f"re-run-result/{number}/{source[:12]}")

    def _input(self, manifest: Manifest) -> Script:
        self.input = manifest.sha256
        text = manifest.bytes.decode()
        yield Note("verifier-input", {"sha256": self.input, "verifier": VERIFIER, "input": text}, key="verifier-input")

    def _verifier(self, docket: Docket, manifest: Manifest) -> Generator[Any, Any, None]:
        """Ask the verifier in both orders, and apply R4 to what it found."""
        seat = self._verifier_seat()
        talk: dict[str, Any] = {"protocol": PROTOCOL, "thread": f"verification/{self._step()}"}
        asked = f"Which source is wrong, and where? Input {manifest.sha256}."
        yield Post(PROCEDURE, asked, to=(seat.agent,), act="request", key="verify/request", **talk)
        looking = under("verify", both_orders(docket, manifest, seat, self.seed))
        try:
            found: Finding = yield from looking
        except OutOfBudgetError:
            said = f"{seat.agent} was not asked to the end: the budget is over."
            yield Post(
                ENGINE, said, to=(PROCEDURE, seat.agent), act="failure", about=seat.agent, key="verify/end", **talk
            )  # fmt: skip
            raise
        data = found.to_data()
        if found.failed:
            yield Post(
                ENGINE, found.problem, to=(PROCEDURE, seat.agent), act="failure", about=seat.agent, key="verify/end",
                **talk,
            )  # fmt: skip
        else:
            text = json.dumps({"outcome": found.outcome, "why": found.why}, ensure_ascii=False)
            yield Post(
                seat.agent, text, to=(PROCEDURE,), act="inform", content_type="result", data=data, key="verify/end",
                **talk,
            )  # fmt: skip
        yield Note("finding", {**data, "verifier": VERIFIER, "model": seat.model}, key="finding", durable=True)
        if found.outcome in ("SOURCE_WRONG", "BOTH_WRONG"):
            yield from self._apply(rules.r4(docket, faults_of(docket, found, seat)))

    def _verifier_seat(self) -> Seat:
        seat = next((seat for seat in self.seats if seat.agent == self.case.verifier), None)
        if seat is None:
            raise RuntimeError(f"The verifier {self.case.verifier!r} has no seat.")
        return seat

    def _can_ask(self, number: int) -> bool:
        """Whether a round is left, and somebody to ask."""
        names = {seat.agent for seat in self.seats}
        return number <= self.case.rounds and any(claim.by in names for claim in self.case.claims)

    def _more(self, docket: Docket, seen: set[str], number: int) -> Generator[Any, Any, bool]:
        """Ask authors for what is lacking; whether that brought anything new. Nothing new ends the rounds."""
        seen |= _known(self.case)
        self.case = yield from ask_authors(docket, self.seats, number)
        new = bool(_known(self.case) - seen)
        if not new:
            self.stopped = "no-progress"
            why = "A round brought no new evidence, claim or finding."
            yield self._note("stopped", {"why": self.stopped, "says": why})
        return new

    def _ask(self, docket: Docket, found: Verdict) -> Generator[Any, Any, Verdict]:
        """Have a person say. Whatever happens meanwhile, the question stays on the record."""
        times = 0
        while True:
            times += 1
            asked = question_of(docket, found, self.input or "", key=f"person/{times}")
            yield Note("question", asked.note(found), key=f"question/{times}", durable=True)
            if self.state is not State.WAITING:
                yield from self._move(State.WAITING, "A person is asked.")
            answer: PersonAnswer = yield asked.effect
            choice = choice_in(answer, found)
            if choice is not None:
                said = {"answer": choice, "who": answer.who, "reason": answer.reason, "scopes": dict(answer.scopes)}
                yield Note("person-said", said, key=f"person-said/{times}", durable=True)
                settled = verdict.by_person(docket, found, choice, answer.who, answer.reason)
                yield from self._move(settled.state, settled.why)
                return settled

    def _conclude(self, found: Verdict) -> Script:
        """Put the verdict on the record: by which rule, with which lines."""
        if found.state in (State.SETTLED, State.DISPUTED) and found.rule in rules.RULES:
            effect: rules.Effect = "settled" if found.state is State.SETTLED else "disputed"
            (rule,) = (rule for rule in rules.RULES if rule == found.rule)
            yield from self._apply([Applied(rule, effect, found.standing, found.why, found.cites)])
        if self.state is not found.state:
            yield from self._move(found.state, found.why)

    def _out_of_budget(self, docket: Docket) -> Verdict:
        """What was found so far. It decides nothing."""
        found = verdict.so_far(docket)
        return replace(found, state=State.OPEN_BUDGET, rule="", why="The budget was over before the case was settled.")

    def _end(self, found: Verdict) -> Generator[Any, Any, Settlement]:
        yield self._note("verdict", {**found.to_data(), "stopped": self.stopped}, durable=True)
        return Settlement(
            question=self.case.title or self.case.id,
            answer=_left(found, self.case.claims),
            status=STATUS[found.state],
            rule=found.rule,
            cost=self.bill.cost(),
            case=self.case.id,
            state=found.state.value,
            verdict=found.to_data(),
            verifier_input_sha256=self.input,
            stopped=self.stopped,
        )

    # --- what all steps use

    def _apply(self, applied: Iterable[Applied]) -> Generator[Any, Any, bool]:
        """Put each application of a rule on the record; whether there was any."""
        some = False
        for one in applied:
            some = True
            yield Note("rule", one.to_data(), key=f"rule/{self._step()}")
        return some

    def _move(self, to: State, why: str) -> Script:
        if not may_follow(self.state, to):
            raise RuntimeError(f"{to.value} cannot follow {self.state.value}.")
        yield self._note("state", {"from": self.state.value, "to": to.value, "why": why}, durable=True)
        self.state = to

    def _note(self, kind: str, data: dict[str, Any], *, durable: bool = False) -> Note:
        return Note(kind, data, key=f"{kind}/{self._step()}", durable=durable)

    def _step(self) -> int:
        self.steps += 1
        return self.steps


def _reopened(one: Weighed, name: str, item: Any) -> dict[str, Any]:
    found = item.reopened
    return {
        "claims": list(one.ids),
        "evidence": name,
        "source_sha256": item.evidence.digest,
        "result": found.result,
        "live": found.live,
        "text": found.text,
        "quote": item.evidence.quote,
        "hint": found.hint,
    }


def _known(case: Case) -> set[str]:
    """Digests and claims: what has to grow for a round to have brought anything."""
    cited = {f"{claim.id} {item.digest} {item.quote}" for claim in case.claims for item in claim.evidence}
    return cited | {claim.id for claim in case.claims}


def _left(found: Verdict, claims: Sequence[Claim]) -> str | None:
    """What is left standing in a settled case, in words; None if nothing is, or more than one thing."""
    if found.state is not State.SETTLED:
        return None
    said = [
        f"{claim.value.written} {claim.unit}" if claim.unit else claim.value.written
        for claim in claims
        if claim.id in found.standing and claim.value is not None
    ]
    return " / ".join(dict.fromkeys(said)) or None


def _plain(value: Any) -> Any:
    """Arguments as canonical JSON may hold them: fractions as texts."""
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return repr(value) if isinstance(value, float) else value
