"""What a record tells of a case: the document that ``--json`` prints, and the whole course in order.

Pure: events in, data out. Nothing is known of a case but what its record says.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from dissensus.decide.dispute.case import State
from dissensus.errors import RunError
from dissensus.record.event import Event

KEYS: Final = (
    "case", "status", "rule", "cites", "losers", "question", "answer", "verifier_input_sha256", "cell", "budget",
)  # fmt: skip
"""The keys of the document, in order."""
_SPENT: Final = ("tokens_in", "tokens_out", "seconds", "cost")
_CALLS: Final = frozenset({"ask", "continue", "score"})


@dataclass(slots=True)
class Account:
    """A case as its record tells it.

    Args:
        case: the case's data, as it was opened.
        state: where it is.
        verdict: the last verdict, or what a person was asked about; empty before there is one.
        question: what a person was asked last, or None.
        answer: what a person settled, or None.
        verifier_input_sha256: hash of the last verifier's input.
        budget: limits, what was spent, and why no more was.
        error: why the run failed; "" if it did not.
        record: where the record lies; "" if that is not known.
        events: all events, in order.
    """

    case: Mapping[str, Any]
    state: str = State.OPEN.value
    verdict: Mapping[str, Any] = field(default_factory=dict)
    question: Mapping[str, Any] | None = None
    answer: Mapping[str, Any] | None = None
    verifier_input_sha256: str | None = None
    budget: dict[str, Any] = field(default_factory=dict)
    error: str = ""
    record: str = ""
    events: Sequence[Event] = ()

    def warnings(self) -> list[str]:
        """Sentences about live sources that are no longer what was captured."""
        found = []
        for event in self.events:
            if event.kind == "reopened" and event.body.get("live") in ("CHANGED", "GONE"):
                was = "has other bytes now" if event.body["live"] == "CHANGED" else "is gone"
                found.append(
                    f"The live source of {event.body['evidence']} {was}; the verdict is by the captured bytes. "
                    "Look at it again."
                )
        return list(dict.fromkeys(found))

    def document(self) -> dict[str, Any]:
        """The case as ``dissensus dispute --json`` prints it."""
        return {
            "case": self.case.get("id"),
            "status": self.state,
            "rule": self.verdict.get("rule") or None,
            "cites": self.verdict.get("cites", []),
            "losers": self.verdict.get("losers", []),
            "question": self.question,
            "answer": self.answer,
            "verifier_input_sha256": self.verifier_input_sha256,
            "cell": self.case.get("cell"),
            "budget": self.budget,
        }


def account_of(events: Iterable[Event]) -> Account:
    """What a record of a dispute tells.

    Raises :class:`~dissensus.errors.RunError` for a record of something else.
    """
    events = list(events)
    head = events[0].body if events else {}
    if head.get("procedure") != "dispute" or not isinstance(head.get("settings", {}).get("case"), Mapping):
        raise RunError(
            "This is no record of a dispute.",
            next_step="Name a record that `dissensus dispute` wrote, or its case file.",
        )
    found = Account(head["settings"]["case"], events=events)
    stopped = ""
    for event in events:
        body = event.body
        match event.kind:
            case "state":
                found.state = str(body.get("to"))
            case "verdict":
                found.verdict = body
                stopped = str(body.get("stopped", ""))
            case "question":
                found.verdict = body
            case "person":
                options = [one if isinstance(one, str) else one.get("id") for one in body.get("options", [])]
                found.question = {"id": event.key, "text": body.get("question"), "options": options}
            case "person-said":
                found.answer = dict(body)
            case "verifier-input":
                found.verifier_input_sha256 = body.get("sha256")
            case "failed":
                found.state, found.error = State.ERROR.value, str(body.get("error"))
            case _:
                pass
    limits = head.get("panel", {}).get("budget", {})
    found.budget = {
        "limits": {name: value for name, value in dict(limits).items() if value is not None},
        "spent": spent(events),
        "stopped": stopped or None,
    }
    return found


def spent(events: Iterable[Event]) -> dict[str, Any]:
    """Calls that reached a model, and what they took. A sum is None if no call said; 0 calls took nothing."""
    asked: set[str] = set()
    calls, sums = 0, dict.fromkeys(_SPENT)
    for event in events:
        if event.kind in _CALLS:
            asked.add(event.key)
        elif event.kind == "outcome" and event.key in asked:
            outcome = event.body.get("outcome", {})
            if outcome.get("kind") == "budget" and not outcome.get("begun"):
                continue
            calls += 1
            usage = outcome.get("usage", {})
            for name in _SPENT:
                if usage.get(name) is not None:
                    sums[name] = (sums[name] or 0) + usage[name]
    taken = dict.fromkeys(_SPENT, 0) if not calls else sums
    return {"calls": calls, **{("money" if name == "cost" else name): value for name, value in taken.items()}}


@dataclass(frozen=True, slots=True)
class Chapter:
    """A part of the course of a case: a heading, and lines of label and text."""

    title: str
    lines: tuple[tuple[str, str], ...]


def chapters(account: Account) -> list[Chapter]:
    """The course of a case in order: reports, evidence, rules, verifier, question, answer, verdict, losers."""
    parts = (
        ("Reports", _reports(account)),
        ("Evidence, reopened", _evidence(account)),
        ("What could not be compared", _incomparable(account)),
        ("Verifier", _verifier(account)),
        ("Rules, in the order in which they were applied", _rules(account)),
        ("A person", _person(account)),
        ("Verdict", _verdict(account)),
        ("What fell, and why", _losers(account)),
    )
    return [Chapter(title, tuple(lines)) for title, some in parts if (lines := list(some))]


def _reports(account: Account) -> Iterator[tuple[str, str]]:
    for claim in account.case.get("claims", []):
        value = f"{claim.get('value')} {claim.get('unit', '')}".strip()
        said = " ".join(str(part) for part in (claim.get("subject", ""), claim.get("attribute", "")) if part)
        when = f" as of {claim['as_of']}" if claim.get("as_of") else ""
        by = f" (reported by {claim['by']})" if claim.get("by") else ""
        words = f' "{claim["text"]}"' if claim.get("text") else ""
        yield str(claim.get("id")), f"{said}: {value}{when}{by}{words}"


def _evidence(account: Account) -> Iterator[tuple[str, str]]:
    names = {digest: source.get("name") or digest[:12] for digest, source in account.case.get("sources", {}).items()}
    for event in account.events:
        if event.kind != "reopened":
            continue
        body = event.body
        source = names.get(str(body.get("source_sha256")), str(body.get("source_sha256"))[:12])
        text = body.get("text") if body.get("text") is not None else body.get("quote")
        live = f" [live source: {body['live']}]" if body.get("live") in ("CHANGED", "GONE") else ""
        hint = f" {body['hint']}" if body.get("hint") else ""
        yield str(body.get("evidence")), f'{body.get("result")} in {source}: "{text}"{live}{hint}'


def _incomparable(account: Account) -> Iterator[tuple[str, str]]:
    seen = next((event.body for event in reversed(account.events) if event.kind == "incomparable"), {})
    for pair in seen.get("pairs", []):
        yield ", ".join(pair["claims"]), str(pair["why"])


def _verifier(account: Account) -> Iterator[tuple[str, str]]:
    for event in account.events:
        body = event.body
        if event.kind == "verifier-input":
            yield "task", "Which of these sources is wrong, and where?"
            yield "input", f"SHA-256 {body.get('sha256')}, for {body.get('verifier')}"
        elif event.kind == "statements":
            problem = f" {body['problem']}" if body.get("problem") else ""
            names = " and ".join(", ".join(ids) for ids in body.get("claims", []))
            yield "statements", f"{names}: {body.get('outcome')}. {body.get('why')}{problem} ({body.get('label')})"
        elif event.kind == "spot-check":
            yield "spot check", f"{body.get('verifier')} is asked. {body.get('why')}"
        elif event.kind == "re-run":
            yield "re-run", f"{body.get('tool')}: {body.get('result')}"
        elif event.kind == "looked":
            yield "looked", f"{body.get('tool')} {body.get('arguments')}"
        elif event.kind == "finding":
            problem = f" {body['problem']}" if body.get("problem") else ""
            yield "finding", f"{body.get('outcome')}: {body.get('why')}{problem} (model-says {body.get('model')})"


def _rules(account: Account) -> Iterator[tuple[str, str]]:
    for event in account.events:
        if event.kind == "rule":
            body = event.body
            names = ", ".join(body.get("claims", []))
            items = f" [{', '.join(body['items'])}]" if body.get("items") else ""
            checker = f" ({body['checker']})" if body.get("checker") else ""
            yield str(body.get("rule")), f"{body.get('effect')}: {names}{items}. {body.get('why')}{checker}"


def _person(account: Account) -> Iterator[tuple[str, str]]:
    if account.question is not None:
        yield "question", str(account.question["text"])
        yield "options", ", ".join(map(str, account.question["options"]))
    for event in account.events:
        if event.kind == "person-said":
            body = event.body
            said = f"{body.get('answer')}" + (f": {body['reason']}" if body.get("reason") else "")
            yield "answer", f"{said} (by {body.get('who') or 'somebody unnamed'})"


def _verdict(account: Account) -> Iterator[tuple[str, str]]:
    verdict = account.verdict
    rule = f" by {verdict['rule']}" if verdict.get("rule") else ""
    yield "status", f"{account.state}{rule}"
    if account.error:
        yield "error", account.error
    if verdict.get("why"):
        yield "because", str(verdict["why"])
    for cite in verdict.get("cites", []):
        where = str(cite.get("source_sha256"))[:12]
        yield (
            "cites",
            f'{cite.get("claim")} {cite.get("evidence")}: "{cite.get("quote")}" ({where}, {cite.get("reopened")})',
        )
    if verdict.get("standing"):
        yield "standing", ", ".join(verdict["standing"])
    for one in verdict.get("returned", []):
        yield "returned", f"{one['claim']}: {one['reason']}"
    if (stopped := account.budget.get("stopped")) is not None:
        yield "stopped", str(stopped)


def _losers(account: Account) -> Iterator[tuple[str, str]]:
    for one in account.verdict.get("losers", []):
        yield str(one["claim"]), str(one["reason"])
