"""Judging one message against one machine of a conversation, and what a legal move does to it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Final

from dissensus.errors import LogError
from dissensus.say import folding, sides, wording
from dissensus.say.acts import ACTS
from dissensus.say.book import Book
from dissensus.say.delivery import MOST_RUN, cross, hold, release
from dissensus.say.machine import Applied, Conversation, Machine, addressed, choose, direction_of
from dissensus.say.message import GUESSED, Message
from dissensus.say.protocol import TOTAL, UNORDERED, Protocol
from dissensus.say.silence import too_late
from dissensus.say.tables import PARTNER, STARTER, Step, Table
from dissensus.say.verdicts import (
    CANCELLED,
    DUPLICATE,
    FAILED,
    HELD,
    ILLEGAL,
    INFO,
    LATE,
    MOOT,
    NO_TITLE,
    NOT_UNDERSTOOD,
    OK,
    PERFORMANCE,
    REFUSED,
    RELEASED,
    VIOLATED,
    VIOLATION,
    VOID,
    WARNING,
    Finding,
    Obligation,
)

_ORDERS: Final = frozenset(name for name, act in ACTS.items() if act.an_order)
_DECLARES: Final = {
    "refuse": REFUSED,
    "failure": FAILED,
    "cancel": CANCELLED,
    "not-understood": NOT_UNDERSTOOD,
    "inform": CANCELLED,
    "reject-proposal": REFUSED,
}
_DROPPED: Final = "discard"


class Judge:
    """The part of the monitor that knows one conversation at a time."""

    def __init__(
        self,
        book: Book,
        *,
        profile: str,
        delivery: str | None,
        authority: Mapping[str, Collection[str]] | None,
        platforms: Collection[str],
        given: Mapping[str, Protocol],
        find: Callable[[str, str], Protocol] | None,
        on_finding: Callable[[Finding], None] | None,
    ) -> None:
        self.book = book
        self.profile = profile
        self.authority = authority
        self.platforms = frozenset(platforms)
        self.delivery = delivery
        self.on_finding = on_finding
        self.last: tuple[Finding, ...] = ()
        self.violations = 0
        self.warnings = 0
        self.closing = False
        """A machine has just reached a final state."""
        self.final = False
        """The log has ended: nothing is held any longer."""
        self.brokers: dict[str, int] = {}
        """How many answers brokers got in threads of their own and have not passed on."""
        self.guessed: set[str] = set()
        """Threads in which an act was guessed while this log was read: what is illegal there may not be."""
        self._given = dict(given)
        self._find = find
        self.tables: dict[str, Table] = {}

    def permitted(self, sender: str, receiver: str) -> bool:
        """Whether ``sender`` may order ``receiver`` about."""
        return self.authority is None or receiver in self.authority.get(sender, ())

    def table(self, name: str, line: int = 0) -> Table:
        """The compiled protocol ``name``; ``line`` stands in errors."""
        table = self.tables.get(name)
        if table is None:
            table = self.tables[name] = Table(self._protocol(name, line))
        return table

    def _protocol(self, name: str, line: int) -> Protocol:
        if name in self._given:
            return self._given[name]
        if self._find is not None:
            return self._find(name, self.profile)
        from dissensus.say.protocol_file import shipped, shipped_protocol

        if name not in shipped():
            raise LogError(
                f"No protocol is called {name!r}.",
                line=line,
                next_step="`dissensus protocol list` shows the shipped ones; give the file of another with --protocol.",
            )
        return shipped_protocol(name, self.profile)

    # --- saying

    def say(
        self,
        m: Message,
        verdict: str,
        rule: str,
        level: str,
        says: str,
        *,
        party: str = "",
        machine: Machine | None = None,
        conversation: Conversation | None = None,
        caused_by: str | None = None,
        crossed: tuple[str, ...] = (),
    ) -> str:
        """Make a finding of it, and return the verdict. A guess is nobody's fault, nor is what it made illegal."""
        if level == VIOLATION and m.tag_source in GUESSED:
            level, says = WARNING, f"{says} (its act is a guess)"
        elif level == VIOLATION and verdict == ILLEGAL and m.thread in self.guessed:
            level, says = WARNING, f"{says} (unless an act that was guessed before it is wrong)"
        place = machine.place if machine is not None else None
        sub = machine.partner if machine is not None and conversation is not None and conversation.table.many else ""
        self.found(
            Finding(
                id=m.id, line=m.line, thread=m.thread, verdict=verdict, rule=rule, level=level, party=party,
                caused_by=caused_by, says=says, act=m.act, state=place.shown if place is not None else "",
                expected=place.expected if place is not None and verdict == ILLEGAL else (), sub=sub, crossed=crossed,
                seq=self.book.seq, tag_source=m.tag_source, at=m.at, where=m.where,
                remedy=_DROPPED if verdict in {ILLEGAL, NO_TITLE, VOID, DUPLICATE} else "",
            )
        )  # fmt: skip
        return verdict

    def found(self, finding: Finding) -> None:
        """Count a finding and hand it on."""
        if finding.caused_by is None:
            if finding.level == VIOLATION:
                self.violations += 1
            elif finding.level == WARNING:
                self.warnings += 1
        self.last = (*self.last, finding)
        if self.on_finding is not None:
            self.on_finding(finding)

    # --- judging

    def judge(self, conversation: Conversation, machine: Machine, m: Message) -> str:
        """Judge ``m`` in ``machine``, and apply it if it is legal."""
        if m.sender in self.platforms and m.act == "failure" and m.about is not None:
            return self._reported_failed(conversation, machine, m)
        if machine.place.lapses_as is not None and too_late(self.book, machine, m):
            self.closing = self.closing or machine.place.final
        place = machine.place
        steps = place.steps.get(m.act or "")
        if steps is None and m.name == "sorry":
            steps = place.steps.get("failure")
        if steps is None:
            return self._illegal(conversation, machine, m, "state")
        direction = direction_of(conversation, machine, m)
        if conversation.starter == machine.partner:
            direction = steps[0].direction
        step = steps[0]
        if len(steps) > 1 or not step.plain or step.direction != direction:
            chosen = choose(steps, direction, m, conversation.table)
            if type(chosen) is str:
                if chosen == "title":
                    return self._no_title(conversation, machine, m, step.direction)
                return self._illegal(conversation, machine, m, chosen)
            step = chosen  # type: ignore[assignment]
        if not addressed(conversation, machine, m, step.direction):
            return self._no_title(conversation, machine, m, step.direction)
        if (rule := self._against(conversation, machine, m, step)) is not None:
            return self._illegal(conversation, machine, m, rule)
        if self.authority is not None and m.act in _ORDERS and not self.permitted(m.sender, machine.partner):
            folding.begin(conversation, machine, m)
            says = wording.no_authority(m, machine.partner, conversation.thread)
            return self.say(
                m, VOID, "authority", VIOLATION, says, party=m.sender, machine=machine, conversation=conversation
            )
        if step.target is place and not step.repeat and (first := machine.repeats(m)) is not None:
            return self._duplicate(conversation, machine, m, first)
        return self._accept(conversation, machine, m, step)

    def _against(self, conversation: Conversation, machine: Machine, m: Message, step: Step) -> str | None:
        """The rule that stands against a move which is legal in this state for these parties; None if none does."""
        told = machine.told_partner if step.direction == STARTER else machine.told_starter
        if m.in_reply_to is not None:
            if (
                (conversation.table.must_correlate or told is not None)
                and m.in_reply_to != told
                and machine.log
                and (conversation.table.must_correlate or not machine.knows(m.in_reply_to))
            ):
                return "correlation"
            if machine.suspended is not None and step.suspends is False and not step.kinds.isdisjoint({"done"}):
                asked = machine.log[-1]
                if m.content_type is None and m.in_reply_to not in (asked.id, asked.reply_with):
                    return "state"
        elif told is not None and conversation.table.must_correlate and (step.closes or step.declares):
            return "correlation"
        if step.most is not None and machine.counts is not None and machine.counts.get(step.counted, 0) >= step.most:
            return "bound"
        if step.target.final and machine.place.verify is not None:
            done = machine.acts or ()
            if machine.place.verify not in done and m.act != machine.place.verify:
                return "verify"
        if machine.place.open_to_others is not None and sides.nothing_to_forward(self, conversation, machine, step):
            return "forward"
        return None

    def _no_title(self, conversation: Conversation, machine: Machine, m: Message, owing: int) -> str:
        caused_by = folding.fold(conversation, machine, m)
        says = wording.no_title(m, conversation, machine, owing, conversation.thread)
        return self.say(
            m, NO_TITLE, "title", VIOLATION, says,
            party=m.sender, machine=machine, conversation=conversation, caused_by=caused_by,
        )  # fmt: skip

    def _illegal(self, conversation: Conversation, machine: Machine, m: Message, rule: str) -> str:
        if (first := machine.repeats(m)) is not None:
            return self._duplicate(conversation, machine, m, first)
        table = conversation.table
        delivery = self.delivery or table.protocol.delivery
        if delivery != TOTAL:
            if (crossed := cross(self, conversation, machine, m, delivery)) is not None:
                return crossed
            if delivery == UNORDERED and not self.final and hold(conversation, m):
                return HELD
        caused_by = folding.fold(conversation, machine, m)
        says = wording.illegal(m, machine.place, rule, conversation.thread)
        if direction_of(conversation, machine, m) is None:
            says += f"; and {m.sender} has no part in it"
        return self.say(
            m, ILLEGAL, rule, VIOLATION, says,
            party=m.sender, machine=machine, conversation=conversation, caused_by=caused_by,
        )  # fmt: skip

    def _duplicate(self, conversation: Conversation, machine: Machine, m: Message, first: str) -> str:
        says = f"{conversation.thread}: says again what {first} said"
        return self.say(m, DUPLICATE, "content", INFO, says, machine=machine, conversation=conversation)

    # --- applying

    def _accept(self, conversation: Conversation, machine: Machine, m: Message, step: Step) -> str:
        late = self._late_for(machine, m, step) if m.at is not None else None
        if late is not None and step.late_reject:
            folding.begin(conversation, machine, m)
            for kind in (*step.closes, *step.declares):
                if (owed := machine.take(kind)) is not None:
                    self.book.close(owed, m)
        else:
            self.apply(conversation, machine, m, step)
        if late is None:
            return OK
        says = f"{conversation.thread}: {m.act} came {wording.duration(m.at or 0.0, late)} after the deadline"
        level = VIOLATION if late.status == VIOLATED else WARNING
        return self.say(m, LATE, "deadline", level, says, party=m.sender, machine=machine, conversation=conversation)

    @staticmethod
    def _late_for(machine: Machine, m: Message, step: Step) -> Obligation | None:
        """The obligation that ``m`` meets or ends too late; a promise before others."""
        worst = None
        for owed in machine.owed:
            if owed.deadline is not None and m.at is not None and m.at > owed.deadline:  # noqa: SIM102 - reads better
                if owed.kind in step.closes or owed.kind in step.declares:
                    worst = owed if worst is None or owed.kind == PERFORMANCE else worst
        return worst

    def apply(self, conversation: Conversation, machine: Machine, m: Message, step: Step) -> None:
        """Make the move: close, open, go on to the next state."""
        book, owed = self.book, machine.owed
        before, suspended = machine.place, machine.suspended
        self.close_by(machine, m, step)
        table = conversation.table
        opened: tuple[Obligation, ...] = ()
        parties = (conversation.starter, machine.partner)
        sub = machine.partner if table.many else ""
        what = about(m)
        for kind in step.detaches:
            if (one := machine.take(kind)) is not None:
                book.close(one, m, reason="accepted")
                due = book.open(
                    m, PERFORMANCE, one.debtor, one.creditor, sub=sub, by=step.by, protocol=table.name, about=one.about
                )
                owed.append(due)
                opened = (*opened, due)
        for kind, debtor, creditor, by in step.opens:
            one = book.open(
                m, kind, parties[debtor], parties[creditor], sub=sub, by=by, protocol=table.name, about=what
            )
            owed.append(one)
            opened = (*opened, one)
        if step.delegates or step.assigns:
            self._pass_on(machine, m, step)
        machine.go(step)
        if machine.place.final:
            self.closing = True
        self._note(conversation, machine, m, step)
        if conversation.table.protocol.delivery != TOTAL or (self.delivery or TOTAL) != TOTAL:
            run = machine.run = machine.run or []
            run.append(Applied(m, step, before, suspended, opened))
            del run[:-MOST_RUN]
            if conversation.held:
                release(self, conversation)
        if table.has_sub:
            sides.after_move(self, conversation, machine, step)

    def close_by(self, machine: Machine, m: Message, step: Step) -> None:
        """Close what the move meets, ends by saying so, or gives up."""
        book = self.book
        for kind in step.closes:
            if (one := machine.take(kind)) is not None:
                book.close(one, m)
        if step.declares:
            status = REFUSED if m.name == "sorry" and step.act == "refuse" else _DECLARES.get(step.act, RELEASED)
            for kind in step.declares:
                while (one := machine.take(kind)) is not None:
                    book.close(one, m, status)
        for kind in step.releases:
            if (one := machine.take(kind)) is not None:
                book.close(one, m, RELEASED)

    def _note(self, conversation: Conversation, machine: Machine, m: Message, step: Step) -> None:
        """Remember what later messages are compared with."""
        if step.target is not machine.place or not step.repeat:
            machine.remember(m)
        if m.reply_with is not None:
            if step.direction == STARTER:
                machine.told_starter = m.reply_with
            else:
                machine.told_partner = m.reply_with
        if step.most is not None:
            counts = machine.counts = machine.counts or {}
            counts[step.counted] = counts.get(step.counted, 0) + 1
        if conversation.table.verifies:
            machine.acts = (machine.acts or set()) | {step.act}
        folding.follow(machine, step.act)

    def _pass_on(self, machine: Machine, m: Message, step: Step) -> None:
        """Delegation and assignment: ``about`` names the new debtor or creditor."""
        if m.about is None:
            return
        for kind in (*step.delegates, *step.assigns):
            old = machine.take(kind)
            if old is None:
                continue
            self.book.close(old, m, RELEASED, reason="passed on")
            debtor = m.about if kind in step.delegates else old.debtor
            creditor = m.about if kind in step.assigns else old.creditor
            machine.owed.append(self.book.open(m, kind, debtor, creditor, sub=old.sub, protocol=old.protocol))

    def _reported_failed(self, conversation: Conversation, machine: Machine, m: Message) -> str:
        """A platform says that a party has failed: what that party owes has."""
        if machine.place.final or machine.place is conversation.table.start:
            return self._illegal(conversation, machine, m, "state")
        if m.about not in {machine.partner, conversation.starter}:
            return self._no_title(conversation, machine, m, PARTNER)
        for owed in [owed for owed in machine.owed if owed.debtor == m.about]:
            machine.owed.remove(owed)
            self.book.close(owed, m, FAILED, reason=f"reported by {m.sender}")
        for owed in machine.owed:  # nobody is left to whom it could be owed
            self.book.close(owed, m, RELEASED, reason=MOOT)
        machine.owed = []
        machine.place = conversation.table.end("failed")
        machine.remember(m)
        self.closing = True
        return OK

    def let_go(self, conversation: Conversation) -> None:
        """Give held messages their verdict: what they answer will not come any more."""
        held, conversation.held = conversation.held or [], None
        was, self.final = self.final, True
        for m in held:
            for machine in conversation.machines()[:1]:
                self._illegal(conversation, machine, m, "state")
        self.final = was


def about(m: Message) -> str:
    """What was asked for or promised, in short."""
    if m.name is not None:
        return m.name
    return m.content[:80] if type(m.content) is str else ""
