"""Attacks from YAML files: those that come with the package, and your own.

attack: imperative
version: 1
title: An order
about: Demands the target as the final answer.
aim: target                # or disruption
strengths:
  mild: [a text with {target}, another]
  strong:
    - [a text for the first corrupted agent, one for the second]
"""

from __future__ import annotations

import difflib
import hashlib
import json
from collections.abc import Iterable
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from dissensus.errors import SpecError
from dissensus.faults.attacks.template import SLOTS, STRENGTHS, Aim, Attack, Strength, Wording, unknown_slot

if TYPE_CHECKING:
    from dissensus.specfile import Place, Spec

WHAT: Final = "file of an attack"
_KEYS: Final = ("attack", "version", "title", "about", "aim", "strengths")
_AIMS: Final[tuple[Aim, ...]] = ("target", "disruption")
MOST_CHARACTERS: Final = 20_000
"""Most characters of one wording."""


@lru_cache(maxsize=1)
def shipped() -> tuple[str, ...]:
    """Names of the attacks that come with the package, in alphabetical order."""
    folder = resources.files("dissensus.faults.attacks") / "templates"
    return tuple(sorted(file.name.removesuffix(".yaml") for file in folder.iterdir() if file.name.endswith(".yaml")))


@lru_cache(maxsize=64)
def shipped_attack(name: str) -> Attack:
    """An attack that comes with the package. Raises :class:`~dissensus.errors.SpecError` if there is none."""
    if name not in shipped():
        raise SpecError(
            f"There is no attack {name!r}.", next_step=_near(name, shipped()) or "`dissensus attacks list` shows them."
        )
    file = resources.files("dissensus.faults.attacks") / "templates" / f"{name}.yaml"
    from dissensus.specfile import parse_spec

    return attack_from(parse_spec(file.read_text(encoding="utf-8"), f"{name}.yaml", WHAT))


def find_attack(name_or_path: str) -> Attack:
    """The shipped attack of this name, else the attack in the file at this path.

    Raises :class:`~dissensus.errors.SpecError` if neither is there, or the file is wrong.
    """
    is_path = name_or_path.endswith((".yaml", ".yml")) or "/" in name_or_path
    if name_or_path in shipped() or not (is_path or Path(name_or_path).is_file()):
        return shipped_attack(name_or_path)
    from dissensus.specfile import read_spec

    return attack_from(read_spec(name_or_path, WHAT))


def attack_from(spec: Spec) -> Attack:
    """The attack that ``spec`` describes. Raises :class:`~dissensus.errors.SpecError` with the line of a fault."""
    for key in spec.data:
        if key not in _KEYS:
            raise spec.wrong((key,), f"An attack has no key {key!r}.", next_step=_known(key, _KEYS))
    name, version = _text(spec, "attack"), spec.data.get("version")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise spec.wrong(("version",), "The version has to be a whole number from 1 on.", next_step="Write version: 1.")
    given = spec.data.get("aim", "target")
    aim = next((aim for aim in _AIMS if aim == given), None)
    if aim is None:
        raise spec.wrong(("aim",), f"An attack does not aim at {given!r}.", next_step="Write target or disruption.")
    by_strength = spec.data.get("strengths")
    if not isinstance(by_strength, dict) or not by_strength:
        raise spec.wrong(
            ("strengths",), "An attack needs strengths, each with wordings.", next_step="See docs/attacks.md."
        )
    wordings: dict[Strength, tuple[Wording, ...]] = {}
    for key, listed in by_strength.items():
        strength = next((strength for strength in STRENGTHS if strength == key), None)
        if strength is None:
            raise spec.wrong(("strengths", key), f"There is no strength {key!r}.", next_step=_known(key, STRENGTHS))
        wordings[strength] = _wordings(spec, ("strengths", key), listed, aim)
    content = [
        name,
        version,
        {key: [wording.parts for wording in wordings[key]] for key in STRENGTHS if key in wordings},
    ]
    digest = hashlib.sha256(json.dumps(content, ensure_ascii=False).encode()).hexdigest()
    return Attack(
        name=name,
        version=version,
        title=_text(spec, "title"),
        about=" ".join(_text(spec, "about").split()),
        aim=aim,
        wordings=wordings,
        digest=digest,
    )


def _text(spec: Spec, key: str) -> str:
    value = spec.data.get(key)
    if not isinstance(value, str) or not value.strip():
        raise spec.wrong((key,), f"An attack needs a text {key!r}.", next_step="See docs/attacks.md.")
    return value.strip()


def _wordings(spec: Spec, place: Place, listed: Any, aim: Aim) -> tuple[Wording, ...]:
    if not isinstance(listed, list) or not listed:
        raise spec.wrong(place, "The wordings have to be a list of texts.", next_step="Begin each of them with a dash.")
    found = []
    for number, one in enumerate(listed):
        parts = one if isinstance(one, list) else [one]
        if not parts:
            raise spec.wrong((*place, number), "A wording without a part says nothing.", next_step="Write a text.")
        for at, part in enumerate(parts):
            here = (*place, number, at) if isinstance(one, list) else (*place, number)
            _check(spec, here, part)
        if aim == "target" and not any("{target}" in part for part in parts):
            raise spec.wrong((*place, number), "The wording does not name the {target}.", next_step="Put it in.")
        found.append(Wording(tuple(part.strip() for part in parts)))
    return tuple(found)


def _check(spec: Spec, place: Place, part: Any) -> None:
    if not isinstance(part, str) or not part.strip():
        raise spec.wrong(place, "A wording has to be a text.", next_step="Put it into quotes, or behind a bar: |")
    if len(part) > MOST_CHARACTERS:
        raise spec.wrong(place, f"A wording has at most {MOST_CHARACTERS} characters.", next_step="Shorten it.")
    if slot := unknown_slot(part):
        known = ", ".join(f"{{{name}}}" for name in SLOTS)
        raise spec.wrong(place, f"There is no slot {{{slot}}}.", next_step=f"Slots are {known}.")


def _near(name: str, known: Iterable[str]) -> str:
    found = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f"Did you mean {found[0]!r}?" if found else ""


def _known(name: str, known: Iterable[str]) -> str:
    known = tuple(known)
    return _near(name, known) or f"Known are: {', '.join(known)}."
