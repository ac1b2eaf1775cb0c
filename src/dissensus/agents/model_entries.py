"""``models`` of a panel file: short names for what every server has, and the options of the back end that is named."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, get_args, get_type_hints

from dissensus.agents.entries import ModelEntry, PricesEntry, read_entry, unknown_key
from dissensus.agents.panel import ModelSpec
from dissensus.agents.prices import UNKNOWN_PRICES, Prices
from dissensus.agents.registry import read_options, split_reference
from dissensus.errors import UsageError
from dissensus.specfile import Place, Spec

_SHORT: Mapping[str, Mapping[str, str]] = {
    "openai": {"url": "base_url", "limit": "concurrency", "timeout": "timeout_s"},
    "http": {"limit": "concurrency", "timeout": "timeout_s"},
    "llama": {"limit": "slots"},
}
"""For each back end, what the file's short names are called among its options."""

_ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def read_models(spec: Spec, data: Mapping[str, Any]) -> tuple[dict[str, ModelSpec], str]:
    """The models by name, and the currency of their prices. Raises :class:`~dissensus.errors.SpecError`."""
    models: dict[str, ModelSpec] = {}
    currency, said = "", ""
    for name, given in data.items():
        models[name], own = _read_model(spec, given, ("models", name))
        if own and currency and own != currency:
            raise spec.wrong(
                ("models", name, "prices", "currency"),
                f"Prices are in {own} here and in {currency} for the model {said}.",
                next_step="Write all prices in one currency.",
            )
        if own:
            currency, said = own, name
    return models, currency


def _read_model(spec: Spec, data: Any, place: Place) -> tuple[ModelSpec, str]:
    if isinstance(data, str):
        data = {"use": data}
    entry = read_entry(ModelEntry, spec, data, place, "a model")
    try:
        scheme, rest = split_reference(entry.use)
    except UsageError as error:
        raise spec.wrong((*place, "use"), error.message, next_step=error.next_step) from None
    kind = _options_class(scheme)
    short = _SHORT.get(scheme, {})
    known = ["use", "prices", *short, *_names(kind, scheme, rest)]
    options: dict[str, Any] = {}
    for key in data:
        if key in ("use", "prices"):
            continue
        option = short.get(key, key)
        if kind is not None and key not in known:
            message, hint = unknown_key(key, f"a model of the back end {scheme}", sorted(known))
            raise spec.wrong((*place, key), message, next_step=hint)
        if option in options:
            other = next(other for other in data if other != key and short.get(other, other) == option)
            raise spec.wrong((*place, key), f'"{key}" and "{other}" say the same thing.', next_step="Keep one of them.")
        options[option] = entry.timeout if key == "timeout" and key in short else data[key]
    _check_key_name(spec, place, options)
    prices, currency = _read_prices(spec, data, place, options, known)
    _check_options(spec, place, kind, (scheme, rest), options)
    return ModelSpec(reference=entry.use, options=options, prices=prices), currency


def _check_key_name(spec: Spec, place: Place, options: Mapping[str, Any]) -> None:
    given = options.get("api_key_env")
    if given is not None and not (isinstance(given, str) and _ENV_NAME.fullmatch(given)):
        raise spec.wrong(
            (*place, "api_key_env"),
            '"api_key_env" has to be the name of an environment variable, not a key.',
            next_step="Put the key into a variable and write its name: api_key_env: NAME.",
        )


def _read_prices(
    spec: Spec, data: Mapping[str, Any], place: Place, options: dict[str, Any], known: list[str]
) -> tuple[Prices, str]:
    """The prices. A back end that knows prices of its own is told them, so that it can use cached tokens' too."""
    if data.get("prices") is None:
        own = {name: options.get(f"price_{name}") for name in ("in", "out", "cached")}
        if all(isinstance(price, int | float | None) for price in own.values()) and any(
            p is not None for p in own.values()
        ):
            return Prices(tokens_in=own["in"], tokens_out=own["out"], tokens_cached=own["cached"]), ""
        return UNKNOWN_PRICES, ""
    entry = read_entry(PricesEntry, spec, data["prices"], (*place, "prices"), "prices")
    for name in ("price_in", "price_out", "price_cached"):
        if name in options:
            raise spec.wrong(
                (*place, name), f'"{name}" and "prices" say the same thing.', next_step="Keep one of them."
            )
        if name in known and getattr(entry, name) is not None:
            options[name] = getattr(entry, name)
    prices = Prices(tokens_in=entry.price_in, tokens_out=entry.price_out, tokens_cached=entry.price_cached)
    return prices, entry.currency


def _options_class(scheme: str) -> Any:
    """The class of a built-in back end's options; None for others, which check their options themselves."""
    match scheme:
        case "openai":
            from dissensus.agents.openai.options import OpenAIOptions

            return OpenAIOptions
        case "http":
            from dissensus.agents.http import HttpOptions

            return HttpOptions
        case "scripted":
            from dissensus.agents.scripted_options import ScriptedOptions

            return ScriptedOptions
        case "llama":
            from dissensus.agents.llama import Options

            return Options
        case _:
            return None


def _names(kind: Any, scheme: str, rest: str) -> list[str]:
    """Names of a back end's options, less those that the reference itself gives."""
    if kind is None:
        return []
    names = [field.name for field in fields(kind)]
    given = {"openai": {"model"}, "http": {"url"}}.get(scheme, set())
    if scheme == "openai" and "@http" in rest:
        given |= {"base_url"}
    return [name for name in names if name not in given]


def _check_options(spec: Spec, place: Place, kind: Any, reference: tuple[str, str], options: Mapping[str, Any]) -> None:
    """Have the back end's own class read the options, so that a wrong one is found here, with its line."""
    scheme, rest = reference
    fixed: dict[str, object] = {}
    if scheme == "openai":
        model, at, url = rest.rpartition("@http")
        fixed = {"model": model, "base_url": f"http{url}"} if at else {"model": rest}
        if not at and "base_url" not in options:
            raise spec.wrong(
                place, "No server is named for this model.", next_step='Add its address: url: "http://…/v1".'
            )
        if at and "base_url" in options:
            raise spec.wrong((*place, "url"), "The address stands in the reference too.", next_step="Remove this one.")
    elif scheme == "http":
        fixed = {"url": rest}
    if kind is None:
        return
    try:
        read_options(kind, options, **fixed)
    except UsageError as error:
        named = re.search(r"\$\.(\w+)", error.message)
        option = named[1] if named else ""
        key = next(
            (key for key, long in _SHORT.get(scheme, {}).items() if long == option and (*place, key) in spec.lines),
            option,
        )
        choices = [choice for choice in get_args(get_type_hints(kind).get(option)) if isinstance(choice, str)]
        hint = f"Known are: {', '.join(choices)}." if choices else error.next_step
        raise spec.wrong((*place, key), _plain(error.message, key), next_step=hint) from None


def _plain(message: str, key: str) -> str:
    """What msgspec says of an option, in words."""
    told = re.search(r"Expected `([^`]*)`(?:, got `([^`]*)`)?", message)
    if (other := re.search(r"Invalid enum value ('.*?') - at", message)) and key:
        return f'"{key}" cannot be {other[1]}.'
    if told is None or not key:
        return message
    got = f", not {told[2]}" if told[2] else ""
    return f'"{key}" has to be {told[1]}{got}.'
