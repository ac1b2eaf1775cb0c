"""The case file: YAML in, a case out, with the bytes that it cites pinned.

::

    case: delivery-4711
    title: How many pallets of order 4711 came?
    sources:
      note: {file: delivery_note.txt, kind: signed-note}
      log: {file: warehouse.csv, kind: log, table: {value: pallets, subject: order, key: booking, time: booked_at}}
    claims:                                # or the name of a file of JSON lines
      - id: A
        by: ada
        subject: order 4711
        attribute: pallets received
        value: 10
        unit: pallet
        as_of: 2026-03-02
        evidence:
          - {source: note, quote: "Pallets: 10", selectors: [{type: line, first: 4}]}
    units: [{unit: pallet, factor: 48, of: box, evidence: [{source: order, quote: "48 boxes on a pallet"}]}]
    precedence: rules.yaml                 # or the rules themselves
    panel: panel.yaml
    verifier: cleo
    calls: [{tool: stock, arguments: {order: 4711}, repeatable: true}]
    budget: {calls: 20, seconds: 5 min}
    person: {to: [account:ben], deadline: 2 days, remind: 1 day}

Everything but ``case`` and ``claims`` may be left out. Evidence may name a ``source`` or a ``digest``. A source may
have a ``sha256``: then the copy with that digest is meant, whatever has become of the file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from dissensus.agents.budget import Limits
from dissensus.agents.panel import Panel
from dissensus.decide.dispute.case import Case, Report
from dissensus.decide.dispute.case_data import checked
from dissensus.decide.dispute.claims import Claim
from dissensus.decide.dispute.evidence import Evidence
from dissensus.decide.dispute.parsing import Line, Wrong, claim_from, exact_json
from dissensus.decide.dispute.reopening import LiveCopy
from dissensus.errors import SpecError
from dissensus.interop.case_sources import Sources
from dissensus.interop.evidence_files import LiveFiles, read_bytes
from dissensus.specfile import Place, read_spec

WHAT: Final = "case file"
_KEYS: Final = (
    "case", "title", "sources", "claims", "units", "precedence", "panel", "verifier", "turns", "rounds", "calls",
    "budget", "person",
)  # fmt: skip
_ASIDES: Final = ("confidence", "scratchpad")


@dataclass(frozen=True, slots=True)
class CaseFile:
    """What a case file holds.

    Args:
        path: where it is.
        case: the case, with its sources pinned.
        panel: who takes part; None if nobody does.
        budget: the most that it may take.
    """

    path: Path
    case: Case
    panel: Panel | None
    budget: Limits


def read_case(path: Path, store: Path | None = None) -> CaseFile:
    """Read a case file and pin what it cites; nothing is asked of anybody.

    Args:
        path: the file.
        store: folder of copies; by default ``evidence`` beside the file.

    Raises:
        SpecError: the file, or one that it names, is wrong or missing; carries the line.
        StorageError: a copy cannot be written.
    """
    spec = read_spec(path, WHAT)
    return _Reading(spec, path.parent, store or path.parent / "evidence").read()


@dataclass(slots=True)
class _Reading(Sources):
    reports: list[Report] = field(default_factory=list)

    def read(self) -> CaseFile:
        data = self.spec.data
        self.known(data, (), _KEYS, "a case file")
        name = data.get("case")
        if not isinstance(name, str | int) or isinstance(name, bool) or not str(name).strip():
            raise self.spec.wrong(("case",), "The case has no name.", next_step="Add `case: some-name`.")
        for label, given in self.mapping("sources").items():
            self.source(label, given)
        claims = tuple(self.claims())
        sizes = tuple(self.pack_size(one, n) for n, one in enumerate(self.many("units")))
        panel, budget = self.panel()
        verifier = self.text("verifier")
        if verifier and (panel is None or all(seat.agent != verifier for seat in panel.seats)):
            raise self.spec.wrong(
                ("verifier",), f"The panel has no agent {verifier!r}.", next_step="Name one of `panel`."
            )
        items = [item for claim in claims for item in claim.evidence] + [e for size in sizes for e in size.evidence]
        case = Case(
            id=str(name),
            title=self.text("title"),
            claims=claims,
            sources=self.pinned(items),
            live=self.live(items),
            pack_sizes=sizes,
            precedence=self.precedence(),
            calls=tuple(self.call(one, n, panel) for n, one in enumerate(self.many("calls"))),
            verifier=verifier,
            turns=self.whole("turns", 6),
            rounds=self.whole("rounds", 1),
            reports=tuple(self.reports),
            asking=self.asking(),
        )
        try:
            return CaseFile(Path(self.spec.path), checked(case), panel, budget)
        except SpecError as error:
            raise self.spec.wrong(("claims",), error.message, next_step=error.next_step) from None

    def live(self, items: list[Evidence]) -> dict[str, str]:
        look = LiveFiles(self.folder)
        found: dict[str, str] = {}
        for item in items:
            if item.live_ref and item.live_ref not in found:
                copy = look(item)
                found[item.live_ref] = copy.digest if isinstance(copy, LiveCopy) else copy
        return found

    # --- claims and evidence

    def claims(self) -> Iterator[Claim]:
        given = self.spec.data.get("claims")
        if isinstance(given, str):
            yield from self.claim_lines(given, ("claims",))
            return
        if not isinstance(given, list) or not given:
            raise self.spec.wrong(("claims",), "The case holds no claim.", next_step="Add `claims`.")
        for number, one in enumerate(given):
            place: Place = ("claims", number)
            if isinstance(one, Mapping) and set(one) == {"file"} and isinstance(one["file"], str):
                yield from self.claim_lines(one["file"], place)
            else:
                yield self.claim(one, self.spec, place, f"claim-{number + 1}")

    def claim_lines(self, name: str, place: Place) -> Iterator[Claim]:
        path = self.folder / name
        try:
            text = read_bytes(path).decode("utf-8-sig")
        except SpecError as error:
            raise self.spec.wrong(place, error.message, next_step=error.next_step) from None
        except UnicodeDecodeError:
            raise self.spec.wrong(place, f"{name} is no text in UTF-8.", next_step="Save it as UTF-8.") from None
        for number, line in enumerate(text.split("\n"), 1):
            if line.strip():
                at = Line(str(path), number)
                try:
                    data = exact_json(line)
                except ValueError as error:
                    raise at.wrong((), f"This is no JSON: {error}.", next_step="Write one claim a line.") from None
                yield self.claim(data, at, (), f"claim-{number}")

    def claim(self, given: Any, at: Wrong, place: Place, name: str) -> Claim:
        if not isinstance(given, Mapping):
            raise at.wrong(place, "A claim has to be a mapping.", next_step="Write subject, attribute, value …")
        data = {key: value for key, value in given.items() if key not in _ASIDES}
        items = data.get("evidence")
        if isinstance(items, list):
            data["evidence"] = [self.evidence(one, at, (*place, "evidence", n)) for n, one in enumerate(items)]
        claim = claim_from(data, at, place, name=name)
        claim = replace(claim, evidence=tuple(self.folders.in_dialect(item) for item in claim.evidence))
        asides = {key: str(given[key]) for key in _ASIDES if given.get(key) not in (None, "")}
        if asides:
            self.reports.append(Report(claim=claim.id, **asides))
        return claim
