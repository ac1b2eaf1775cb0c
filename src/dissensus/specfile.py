"""YAML files as data that knows its lines, from files that may be anything.

Whatever is wrong with a file ends in one :class:`~dissensus.errors.SpecError` that names file and line. The subset of
YAML is the part that people expect: ``true`` and ``false`` are the only booleans (``no`` is Norwegian), dates and
``1:30`` stay texts, every key is a text and stands once. Aliases may be used, within bounds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import yaml

from dissensus.errors import SpecError

MOST_BYTES: Final = 4_000_000
DEEPEST: Final = 40
MOST_NODES: Final = 50_000
"""Most values of a file, those that aliases repeat included."""

Place = tuple[str | int, ...]
"""Where a value stands: keys and list places from the top, as in ``("agents", 0, "name")``."""

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_PREFIX: Final = "tag:yaml.org,2002:"
_OCTAL: Final = re.compile(r"[-+]?0[0-9_]+")


@dataclass(frozen=True, slots=True)
class Spec:
    """A file's data, and the line at which each part of it stands."""

    path: str
    data: dict[str, Any]
    lines: Mapping[Place, int] = field(default_factory=dict)
    columns: Mapping[Place, int] = field(default_factory=dict)
    """Column of each part, from 1; of a key's value, the column of the key."""

    def line(self, place: Place) -> int:
        """Line of ``place``, or of what is nearest around it; parts of it that the file lacks are passed over."""
        here: Place = ()
        for part in place:
            if (*here, part) in self.lines:
                here = (*here, part)
        return self.lines.get(here, 0)

    def wrong(self, place: Place, message: str, *, next_step: str = "") -> SpecError:
        """The error to raise for what stands at ``place``."""
        return SpecError(message, path=self.path, line=self.line(place), next_step=next_step)


def read_spec(path: str | Path, what: str) -> Spec:
    """The mapping in a YAML file. ``what`` names the kind of file in messages: ``panel file``.

    Raises:
        SpecError: the file cannot be read, or is not what the module's head says.
    """
    name = str(path)
    try:
        if Path(path).is_fifo() and not name.startswith("/dev/"):  # whose other end nobody may ever open
            raise SpecError(f"This is a pipe, and no {what}.", path=name, next_step="Write it into a file.")
        with Path(path).open("rb") as file:
            raw = file.read(MOST_BYTES + 1)
    except OSError as error:
        why = error.strerror or error
        raise SpecError(f"The {what} cannot be read: {why}.", path=name, next_step="Check the path.") from None
    if len(raw) > MOST_BYTES:
        raise SpecError(
            f"The file is larger than {MOST_BYTES // 1_000_000} MB, so it is hardly a {what}.",
            path=name,
            next_step=f"Give the path of a {what}.",
        )
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise SpecError("The file is not UTF-8.", path=name, line=line, next_step="Save it as UTF-8.") from None
    return parse_spec(text, name, what)


def parse_spec(text: str, path: str, what: str) -> Spec:
    """The mapping in the YAML document ``text``. ``path`` stands in messages. Raises as :func:`read_spec` does."""
    try:
        _check_size(text, path, what)
        root = yaml.compose(text, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = error.problem or error.context or "it cannot be read"
        line = mark.line + 1 if mark else 0
        raise SpecError(f"This is no YAML: {problem}.", path=path, line=line, next_step="Correct that line.") from None
    except yaml.YAMLError as error:  # a character that no YAML may hold
        position = getattr(error, "position", 0)
        line = text.count("\n", 0, position) + 1 if isinstance(position, int) else 0
        raise SpecError(
            "The file holds a character that no YAML may hold.", path=path, line=line, next_step="Remove it."
        ) from None
    spec = Spec(path, {}, {})
    if root is None or (isinstance(root, yaml.ScalarNode) and root.tag == _PREFIX + "null"):
        raise spec.wrong((), f"The {what} is empty.", next_step="See the examples in the documentation.")
    if not isinstance(root, yaml.MappingNode):
        line = root.start_mark.line + 1 if root.start_mark else 0
        raise SpecError(f"A {what} has to be a mapping: lines like `key: value`.", path=path, line=line)
    reader = _Reader(path)
    data = reader.value(root, (), ())
    return Spec(path, data, reader.lines, reader.columns)


def _check_size(text: str, path: str, what: str) -> None:
    """Refuse nesting that would exhaust the stack of what reads the file next."""
    depth = 0
    for event in yaml.parse(text, Loader=_Loader):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > DEEPEST:
            line = event.start_mark.line + 1 if event.start_mark else 0
            raise SpecError(
                f"The file is nested more than {DEEPEST} deep, so it is hardly a {what}.",
                path=path,
                line=line,
                next_step="Close the brackets that are open.",
            )


class _Reader:
    """Turns nodes into data, and notes their lines."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.lines: dict[Place, int] = {}
        self.columns: dict[Place, int] = {}
        self.nodes = 0
        self.plain = yaml.constructor.SafeConstructor()

    def value(self, node: yaml.Node, place: Place, around: tuple[yaml.Node, ...]) -> Any:
        self.nodes += 1
        if self.nodes > MOST_NODES:
            raise self.wrong(node, f"The file holds more than {MOST_NODES} values.", "Use fewer aliases.")
        if any(node is outer for outer in around):
            raise self.wrong(node, "A part of the file contains itself.", "Remove the alias.")
        self.lines.setdefault(place, node.start_mark.line + 1)
        self.columns.setdefault(place, node.start_mark.column + 1)
        if isinstance(node, yaml.MappingNode) and node.tag == _PREFIX + "map":
            return {key: self.value(inner, (*place, key), (*around, node)) for key, inner in self.pairs(node, place)}
        if isinstance(node, yaml.SequenceNode) and node.tag == _PREFIX + "seq":
            return [self.value(inner, (*place, at), (*around, node)) for at, inner in enumerate(node.value)]
        if isinstance(node, yaml.ScalarNode):
            return self.scalar(node)
        raise self.wrong(node, f"The tag {_short(node.tag)} is not allowed.", "Remove it.")

    def pairs(self, node: yaml.MappingNode, place: Place) -> Iterator[tuple[str, yaml.Node]]:
        seen: dict[str, int] = {}
        for key_node, inner in node.value:
            line = key_node.start_mark.line + 1
            if key_node.tag == _PREFIX + "merge":
                raise self.wrong(key_node, "Merge keys (<<) are not supported.", "Write the fields out.")
            key = self.scalar(key_node) if isinstance(key_node, yaml.ScalarNode) else None
            if not isinstance(key, str):
                raise self.wrong(key_node, "A key has to be a text.", "Put it into quotes.")
            if key in seen:
                raise self.wrong(
                    key_node, f'The key "{key}" stands here for the second time.', f"See line {seen[key]}."
                )
            seen[key] = self.lines[*place, key] = line
            self.columns[*place, key] = key_node.start_mark.column + 1
            yield key, inner

    def scalar(self, node: yaml.ScalarNode) -> Any:
        kind = node.tag.removeprefix(_PREFIX)
        text: str = node.value
        if kind in ("str", "timestamp"):
            return text
        if kind == "null":
            return None
        if kind == "bool":
            return text.lower() == "true" if text.lower() in ("true", "false") else text
        if kind in ("int", "float"):
            if ":" in text:  # YAML 1.1 counts in sixties
                return text
            if _OCTAL.fullmatch(text):  # 010 is eight in YAML 1.1, and ten in YAML 1.2
                raise self.wrong(
                    node,
                    "A number with a zero before it can be read in two ways.",
                    "Take the zero away, or put it into quotes if it is a text.",
                )
            try:
                return self.plain.construct_object(node)
            except ValueError:
                raise self.wrong(
                    node, "This is no number that can be used.", "Put it into quotes if it is a text."
                ) from None
        raise self.wrong(node, f"The tag {_short(node.tag)} is not allowed.", "Remove it.")

    def wrong(self, node: yaml.Node, message: str, next_step: str) -> SpecError:
        return SpecError(message, path=self.path, line=node.start_mark.line + 1, next_step=next_step)


def _short(tag: str) -> str:
    return tag.replace(_PREFIX, "!!")[:60]
