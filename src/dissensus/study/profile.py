"""A panel's profile: what its agreement has been worth on labelled questions, in a JSON file beside the panel file.

The file holds the digest of the panel as it was asked; a panel that is asked in another way does not get its figures.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec

from dissensus.decide.measured import Measured
from dissensus.errors import SpecError, StorageError
from dissensus.study.panel_digest import digest_of, first_difference, wording_digest

FORMAT = "dissensus profile"
VERSION = 1
MOST_BYTES = 50_000_000
ENDING = ".profile.json"
OTHER_WORDS = "Caution: since it was measured, this program puts questions in other words; measure the panel again."


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """What ``dissensus calibrate`` found.

    Args:
        panel: the panel as it was asked (:func:`~dissensus.study.panel_digest.description_of`).
        questions: digest, file name, number and kinds of the labelled questions.
        measured: the numbers that a vote needs.
        sizes: accuracy of the plurality by number of agents: ``{"n", "plurality", "band", "independent"}``.
        ties: questions on which no answer led alone.
        audit: everything that ``dissensus measure`` says of the same answers.
        warnings: what to know before using a figure, one sentence each.
        made: software, definitions_version, date, seed, digest of the wording, how often each agent was asked.
    """

    panel: Mapping[str, Any]
    questions: Mapping[str, Any]
    measured: Measured
    sizes: tuple[Mapping[str, Any], ...] = ()
    ties: int = 0
    audit: Mapping[str, Any] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    made: Mapping[str, Any] = field(default_factory=dict)

    def to_data(self) -> dict[str, Any]:
        """JSON-ready data, as it stands in the file."""
        data: dict[str, Any] = {"format": FORMAT, "version": VERSION, "panel_digest": digest_of(self.panel)}
        data.update(msgspec.to_builtins(self, str_keys=True))
        return data

    def of(self, description: Mapping[str, Any], path: str) -> Measured:
        """The numbers, for a panel with this description; with a caution if questions are put in other words by now.

        Raises SpecError, which says where they differ, if the profile is of another panel.
        """
        if digest_of(description) == digest_of(self.panel) == self.measured.panel:
            if self.made.get("wording") == wording_digest():
                return self.measured
            return replace(self.measured, caution=OTHER_WORDS)
        where = first_difference(description, self.panel) or "its own digest does not fit"
        raise SpecError(
            f"The profile was measured on another panel: {where}.",
            path=path,
            next_step="Measure this panel with `dissensus calibrate`, or ask it in the same way.",
        )


def profile_path(panel: str) -> Path:
    """Where the profile of a panel file lies: ``panel.yaml`` has ``panel.profile.json`` beside it."""
    path = Path(panel)
    return path.with_name(f"{path.stem}{ENDING}")


def read_profile(path: str | Path) -> Profile:
    """The profile in the file at ``path``. Raises SpecError if there is none that can be read."""
    name = str(path)
    hint = "Make one with: dissensus calibrate --panel PANEL --file QUESTIONS"
    try:
        with Path(path).open("rb") as file:
            raw = file.read(MOST_BYTES + 1)
    except OSError as problem:
        raise SpecError(
            f"The profile cannot be read: {problem.strerror or problem}.", path=name, next_step=hint
        ) from None
    if len(raw) > MOST_BYTES:
        raise SpecError(f"The file is larger than {MOST_BYTES:,} bytes and no profile.", path=name, next_step=hint)
    try:
        data = msgspec.json.decode(raw)
    except (msgspec.DecodeError, RecursionError) as problem:
        raise SpecError(f"The profile is not JSON: {problem}.", path=name, next_step=hint) from None
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise SpecError("This is no profile of a panel.", path=name, next_step=hint)
    if data.get("version") != VERSION:
        version = data.get("version")
        raise SpecError(
            f"The profile has version {version!r}; this program reads version {VERSION}.", path=name, next_step=hint
        )
    try:
        return msgspec.convert(data, Profile)
    except (msgspec.ValidationError, SpecError) as problem:
        said = problem.message if isinstance(problem, SpecError) else f"{problem}."
        raise SpecError(f"The profile is damaged: {said}", path=name, next_step=hint) from None


def write_profile(path: Path, profile: Profile) -> None:
    """Write the file in one step, so that nobody reads half of it. Raises StorageError if that cannot be."""
    text = msgspec.json.format(msgspec.json.encode(profile.to_data())) + b"\n"
    beside = path.with_name(f".{path.name}.new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        beside.write_bytes(text)
        beside.replace(path)
    except OSError as problem:
        with contextlib.suppress(OSError):
            beside.unlink(missing_ok=True)
        raise StorageError(
            f"The profile {path} cannot be written: {problem.strerror or problem}.",
            next_step="Name another place with --output; no question will be asked again.",
        ) from None
