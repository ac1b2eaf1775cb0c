"""From a model's reference, as it stands in a panel file or on the command line, to the model.

=========================  ==================================================================
``scripted:TEXT``          says TEXT, or what its ``rules`` say
``openai:MODEL@URL``       a model on an OpenAI-compatible server
``http://…``, ``https://…``  an agent that is a program behind that URL (``http:URL`` is the same)
``llama:NAME_OR_PATH``     the embedded engine with a model of the catalogue or a GGUF file
``NAME_OR_PATH``           the same
``SCHEME:…``               a back end of another package, under entry point ``dissensus.models``
=========================  ==================================================================

Back ends are imported when they are named. A back end of another package is a function ``load(rest, **options)`` that
returns a :class:`~dissensus.agents.model.Model`, ``rest`` being the reference after its first colon.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import fields
from importlib.metadata import EntryPoint, entry_points
from typing import Any, TypeVar

import msgspec

from dissensus.agents.limited import HostLimits, Limited
from dissensus.agents.model import Model
from dissensus.agents.retried import Patience, Retried
from dissensus.agents.secrets import refuse_secrets
from dissensus.errors import ModelNotFound, SpecError

GROUP = "dissensus.models"
BUILT_IN = ("http", "llama", "openai", "scripted")

_T = TypeVar("_T")
_LIMITS = HostLimits()


def open_model(reference: str, options: Mapping[str, object] | None = None) -> Model:
    """The model that ``reference`` names, wrapped so that calls to servers are limited per host and tried again.

    Args:
        reference: see the table above.
        options: fields of the back end's options, as they stand in a panel file.

    Raises:
        ModelNotFound: no back end has this scheme, or it has no such model.
        MissingExtra: the back end needs a package that is not installed.
        SpecError: an option is unknown, of a wrong type or holds a key; a key's environment variable is not set.
    """
    given = dict(options or {})
    refuse_secrets(given)
    scheme, rest = split_reference(reference)
    match scheme:
        case "scripted":
            from dissensus.agents.scripted_options import ScriptedOptions

            return read_options(ScriptedOptions, given).build(rest)
        case "openai":
            return _openai(rest, given)
        case "http":
            return _http(rest, given)
        case "llama":
            return _llama(rest, given)
        case _:
            return _foreign(scheme, rest, given)


def split_reference(reference: str) -> tuple[str, str]:
    """Scheme and rest of a reference. Raises :class:`~dissensus.errors.ModelNotFound` for one without a model."""
    reference = reference.strip()
    if reference.startswith(("http://", "https://")):
        return "http", reference
    scheme, colon, rest = reference.partition(":")
    if not colon or "/" in scheme or "\\" in scheme or len(scheme) == 1:
        # a name of the catalogue or a path (one letter before a colon is a drive)
        scheme, rest = "llama", reference
    if not rest and scheme != "scripted":
        raise ModelNotFound(
            f"The reference {reference!r} names no model.",
            next_step="Write it like llama:NAME, openai:MODEL@URL, http:URL or scripted:TEXT.",
        )
    return scheme, rest


def schemes() -> tuple[str, ...]:
    """All schemes that a reference may have: those built in, and those of installed packages."""
    return tuple(sorted({*BUILT_IN, *(entry.name for entry in entry_points(group=GROUP))}))


def read_options(kind: type[_T], given: Mapping[str, object], **fixed: object) -> _T:
    """``given`` as options of class ``kind``. Raises :class:`~dissensus.errors.SpecError` for what does not fit."""
    known = {field.name for field in fields(kind)}  # type: ignore[arg-type] # every kind is a dataclass
    for name in given:
        if name not in known:
            near = difflib.get_close_matches(str(name), known, n=1)
            hint = f"Did you mean {near[0]!r}?" if near else f"Known are: {', '.join(sorted(known))}."
            raise SpecError(f"A model has no option {name!r}.", next_step=hint)
        if name in fixed:
            raise SpecError(f"The option {name!r} stands in the model's reference too.", next_step="Remove the option.")
    try:
        return msgspec.convert({**given, **fixed}, kind)
    except msgspec.ValidationError as error:
        raise SpecError(f"An option of a model is wrong: {error}.", next_step="Correct the model's options.") from None


def _openai(rest: str, given: dict[str, object]) -> Model:
    from dissensus.agents.openai.model import OpenAI
    from dissensus.agents.openai.options import OpenAIOptions

    model, at, url = rest.rpartition("@http")
    fixed: dict[str, object] = {"model": model, "base_url": f"http{url}"} if at else {"model": rest}
    if not at and "base_url" not in given:
        raise SpecError(
            f"The reference openai:{rest} names no server.",
            next_step=f"Write openai:{rest}@http://127.0.0.1:8080/v1 or give the option base_url.",
        )
    options = read_options(OpenAIOptions, given, **fixed)
    server = OpenAI(options)
    return _wrapped(server, server.host, tries=options.tries, places=options.concurrency)


def _http(rest: str, given: dict[str, object]) -> Model:
    from dissensus.agents.http import HttpAgent, HttpOptions

    options = read_options(HttpOptions, given, url=rest)
    agent = HttpAgent(options)
    return _wrapped(agent, agent.host, tries=options.tries, places=options.concurrency)


def _wrapped(model: Model, host: str, *, tries: int, places: int) -> Model:
    # each try takes a place for itself: a call that waits for its next try holds up nobody
    limited = Limited(model, _LIMITS.limiter(host, places))
    return Retried(limited, Patience(tries=tries)) if tries > 1 else limited


def _llama(rest: str, given: dict[str, object]) -> Model:
    from dissensus.agents.llama import load

    options: dict[str, Any] = given
    return load(rest, **options)


def _foreign(scheme: str, rest: str, given: dict[str, object]) -> Model:
    found: EntryPoint | None = next(iter(entry_points(group=GROUP, name=scheme)), None)
    if found is None:
        known = schemes()
        near = difflib.get_close_matches(scheme, known, n=1)
        hint = f"Did you mean {near[0]}:{rest}?" if near else f"Known are: {', '.join(known)}."
        raise ModelNotFound(f"No back end is called {scheme!r}.", next_step=hint)
    try:
        load: Any = found.load()
    except ModuleNotFoundError as error:
        raise ModelNotFound(
            f"The back end {scheme!r} needs the package {error.name!r}, which is not installed.",
            next_step=f"Install it with: pip install {error.name}",
        ) from None
    model: Model = load(rest, **given)
    return model
