"""Settings: a flag comes first, then the environment, then the nearest ``dissensus.toml``.

In the file, each command has a table, and its keys are the command's long options::

    [decide]
    agents = 5
    panel = "panel.yaml"      # relative to this file

    [record.verify]
    json = true

In the environment, ``--agents`` of ``decide`` is ``DISSENSUS_DECIDE_AGENTS``, or ``DISSENSUS_AGENTS`` for all commands
that have such an option. No key to a service can be set in the file.
"""

from __future__ import annotations

import difflib
import os
import re
import tomllib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import click

from dissensus.errors import SpecError

FILE: Final = "dissensus.toml"
PREFIX: Final = "DISSENSUS_"
MOST_BYTES: Final = 1_000_000


def settings_for(
    command: str, *, folder: Path | None = None, environ: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Defaults for ``command``, as click's ``default_map`` takes them: values by parameter, nested for groups.

    Args:
        command: name of a command of ``dissensus``.
        folder: where the search for the file begins; it goes on in the folders above. The current one if None.
        environ: the environment; the process's own if None.

    Raises:
        SpecError: the file cannot be read, holds an unknown key, a wrong value or a key to a service.
    """
    from dissensus.cli.main import COMMANDS

    path = find_file((folder or Path.cwd()).absolute())
    file = _read(path) if path is not None else _File("", "", {})
    for table in file.data:
        if table not in COMMANDS:
            raise file.wrong((table,), f'There is no command "{table}".', _nearest(table, COMMANDS))
    return _values(
        _command(COMMANDS[command]),
        file,
        (command,),
        file.data.get(command, {}),
        os.environ if environ is None else environ,
    )


def find_file(folder: Path) -> Path | None:
    """The nearest settings file in ``folder`` and those above it."""
    for place in (folder, *folder.parents):
        if (path := place / FILE).is_file():
            return path
    return None


@dataclass(frozen=True, slots=True)
class _File:
    path: str
    text: str
    data: Mapping[str, Any]

    def wrong(self, keys: tuple[str, ...], message: str, next_step: str = "") -> SpecError:
        return SpecError(message, path=self.path, line=_line_of(self.text, keys), next_step=next_step)


def _read(path: Path) -> _File:
    try:
        with path.open("rb") as file:
            raw = file.read(MOST_BYTES + 1)
    except OSError as error:
        why = error.strerror or error
        raise SpecError(f"The settings cannot be read: {why}.", path=str(path), next_step="Check the file.") from None
    if len(raw) > MOST_BYTES:
        raise SpecError("A settings file is not larger than 1 MB.", path=str(path), next_step="Make it shorter.")
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise SpecError("The file is not UTF-8.", path=str(path), line=line, next_step="Save it as UTF-8.") from None
    try:
        return _File(str(path), text, tomllib.loads(text))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        told = re.search(r"(.*?) \(at (?:line (\d+).*|end of document)\)", str(error))
        line = int(told[2]) if told and told[2] else text.count("\n") + 1
        why = told[1] if told else "it is nested too deeply"
        raise SpecError(f"This is no TOML: {why}.", path=str(path), line=line, next_step="Correct that line.") from None


def _command(where: str) -> click.Command:
    import importlib

    module, attribute = where.split(":")
    command: click.Command = getattr(importlib.import_module(module), attribute)
    return command


def _values(
    command: click.Command, file: _File, keys: tuple[str, ...], table: Any, environ: Mapping[str, str]
) -> dict[str, Any]:
    if not isinstance(table, Mapping):
        problem = f'"{keys[-1]}" has to be a table: a line [{".".join(keys)}] with its settings below.'
        raise file.wrong(keys, problem)
    if isinstance(command, click.Group):
        inner = command.commands
        for name in table:
            if name not in inner:
                raise file.wrong(
                    (*keys, name), f'There is no command "{" ".join((*keys, name))}".', _nearest(name, inner)
                )
        found = {name: _values(sub, file, (*keys, name), table.get(name, {}), environ) for name, sub in inner.items()}
        return {name: values for name, values in found.items() if values}
    options = {_long_name(option): option for option in _options(command)}
    values: dict[str, Any] = {}
    for key, value in table.items():
        option = options.get(key.replace("_", "-"))
        if option is None:
            raise file.wrong((*keys, key), f'There is no setting "{key}" for {" ".join(keys)}.', _nearest(key, options))
        values[str(option.name)] = _checked(option, value, file, (*keys, key))
    for name, option in options.items():
        for variable in _variables(name, keys):
            if text := environ.get(variable, ""):
                values[str(option.name)] = option.type.split_envvar_value(text) if option.multiple else text
                break
    return values


def _options(command: click.Command) -> Iterator[click.Option]:
    for parameter in command.params:
        if isinstance(parameter, click.Option) and parameter.expose_value:
            yield parameter


def _long_name(option: click.Option) -> str:
    """``agents`` for ``-n / --agents``."""
    return max(option.opts, key=len).lstrip("-").replace("_", "-")


def _variables(name: str, keys: tuple[str, ...]) -> tuple[str, str]:
    """The variables that set an option, the more special first."""
    return tuple(  # type: ignore[return-value]
        PREFIX + "_".join(parts).upper().replace("-", "_") for parts in ((*keys, name), (name,))
    )


def _checked(option: click.Option, value: Any, file: _File, keys: tuple[str, ...]) -> Any:
    """``value`` as the option takes it."""
    from dissensus.agents.secrets import looks_like_secret

    if looks_like_secret(keys[-1], value):
        raise file.wrong(
            keys,
            f'"{keys[-1]}" seems to hold a key itself, and settings files are shared.',
            "Put it into an environment variable, and name that one in the panel file: api_key_env: NAME.",
        )
    items = value if isinstance(value, list) else [value]
    if isinstance(value, list) and not option.multiple:
        raise file.wrong(keys, f'"{keys[-1]}" has to be a single value.')
    read = [_one(option, item, file, keys) for item in items]
    return read if option.multiple else read[0]


def _one(option: click.Option, value: Any, file: _File, keys: tuple[str, ...]) -> Any:
    wants_bool = option.is_flag and isinstance(option.type, click.types.BoolParamType)
    if wants_bool is not isinstance(value, bool) or isinstance(value, Mapping | list):
        kind = "true or false" if wants_bool else "a text or a number"
        raise file.wrong(keys, f'"{keys[-1]}" has to be {kind}.')
    if isinstance(option.type, click.Path) and isinstance(value, str):
        value = str(Path(file.path).parent / value)
    try:
        option.type.convert(value if isinstance(value, bool | int | float) else str(value), option, None)
    except click.BadParameter as error:
        raise file.wrong(keys, f'"{keys[-1]}" is wrong: {error.message}') from None
    return value if isinstance(value, bool | int | float) else str(value)


def _nearest(word: str, known: Collection[str]) -> str:
    near = difflib.get_close_matches(word, known, n=1)
    return f'Did you mean "{near[0]}"?' if near else f"Known are: {', '.join(sorted(known))}."


_HEADER: Final = re.compile(r"\s*\[\[?\s*([^\[\]]+?)\s*\]")
_KEY: Final = re.compile(r"\s*((?:[\w-]+|\"[^\"]*\"|'[^']*')(?:\s*\.\s*(?:[\w-]+|\"[^\"]*\"|'[^']*'))*)\s*=")
_LONG_TEXT: Final = re.compile(r'"""|\'\'\'')


def _line_of(text: str, keys: tuple[str, ...]) -> int:
    """Line of ``keys`` in a TOML text, or of the nearest table around them; 0 if none can be found.

    The standard library's parser tells no lines, so this looks for headers and keys, and passes over long texts.
    """
    best, length = 0, 0
    table: tuple[str, ...] = ()
    inside = ""
    for number, line in enumerate(text.splitlines(), 1):
        was_inside = inside
        for quote in _LONG_TEXT.findall(line):
            inside = "" if inside == quote else inside or quote
        if was_inside:
            continue
        here = table
        if header := _HEADER.match(line):
            here = table = _parts(header[1])
        elif key := _KEY.match(line):
            here = (*table, *_parts(key[1]))
        same = len(here) if keys[: len(here)] == here else 0
        if same > length:
            best, length = number, same
    return best


def _parts(dotted: str) -> tuple[str, ...]:
    return tuple(part.strip().strip("\"'") for part in dotted.split("."))
