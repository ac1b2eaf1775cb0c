"""Where the profiles differ about a log: the same messages, judged by each reading of the specifications."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dissensus.interop.message_logs import AuditSettings, audit_file
from dissensus.say.protocol import FIPA, JADE, STRICT
from dissensus.say.verdicts import OK

PROFILES = (FIPA, JADE, STRICT)


@dataclass(frozen=True, slots=True)
class Difference:
    """One message about which the profiles differ: its place, and its verdict under each."""

    id: str
    line: int
    seq: int
    thread: str | None
    verdicts: Mapping[str, str]

    def to_data(self) -> dict[str, Any]:
        """As JSON data."""
        return {
            "id": self.id,
            "line": self.line or None,
            "seq": self.seq,
            "thread": self.thread,
            "verdicts": dict(self.verdicts),
        }

    def says(self) -> str:
        """In words: ``x1: ok under fipa and jade, illegal under strict``."""
        by_verdict: dict[str, list[str]] = {}
        for profile, verdict in self.verdicts.items():
            by_verdict.setdefault(verdict, []).append(profile)
        said = ", ".join(f"{verdict} under {' and '.join(profiles)}" for verdict, profiles in by_verdict.items())
        return f"{self.thread}: {said}"


def profile_differences(path: str | Path, settings: AuditSettings) -> list[Difference]:
    """Audit the log once under each profile, and list the messages whose verdicts differ.

    Raises:
        LogError, SpecError: as :func:`~dissensus.interop.message_logs.audit_file` does.
    """
    verdicts: dict[int, dict[str, str]] = {}
    places: dict[int, tuple[str, int, str | None]] = {}
    for profile in PROFILES:
        report = audit_file(path, replace(settings, profile=profile))
        for finding in report.findings:
            if finding.verdict != OK:
                verdicts.setdefault(finding.seq, {}).setdefault(profile, finding.verdict)
                places[finding.seq] = (finding.id, finding.line, finding.thread)
    found = []
    for seq, by_profile in sorted(verdicts.items()):
        whole = {profile: by_profile.get(profile, OK) for profile in PROFILES}
        if len(set(whole.values())) > 1:
            id_, line, thread = places[seq]
            found.append(Difference(id_, line, seq, thread, whole))
    return found
