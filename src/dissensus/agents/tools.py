"""What a tool is, and tools that are Python functions.

A tool never raises: whatever goes wrong is a :class:`~dissensus.script.outcomes.ToolResult` that is not ``ok``, whose
text says how, for the agent to read. Commands are in :mod:`.command_tools`, MCP servers in :mod:`.mcp_tools`;
:mod:`.toolbox` opens what a panel file names.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import threading
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any, Final, Protocol, runtime_checkable

import anyio

from dissensus.agents.calculator import CalculationError, calculate
from dissensus.errors import SpecError
from dissensus.script.outcomes import ToolResult
from dissensus.script.schemas import closed, problem_with
from dissensus.script.seats import ToolSpec

TIMEOUT_S: Final = 30.0
MOST_TEXT: Final = 20_000
"""Most characters of a result; what is longer is cut, and says so."""
MOST_PROBLEM: Final = 500
"""Most characters of an exception's message."""


@runtime_checkable
class Tool(Protocol):
    """Something that an agent may use."""

    @property
    def spec(self) -> ToolSpec:
        """What the agent reads about it."""
        ...

    async def call(self, arguments: Mapping[str, Any], deadline_s: float | None = None) -> ToolResult:
        """Use it. ``deadline_s`` may shorten its own time limit. Nothing is raised but cancellation."""
        ...


class FunctionTool:
    """A Python function, plain or async. Its signature is the schema; pydantic checks the arguments.

    A plain function runs in a thread of its own. When its time is over the agent is told so and nobody waits any
    longer, but Python cannot stop a thread: the function runs on until it returns by itself.

    Args:
        function: what to call. It returns a text, anything that is JSON, or a ToolResult.
        name: how agents call it; the function's name if empty.
        description: what agents read; the first paragraph of the docstring if empty.
        timeout_s: most seconds for one call.

    Raises:
        SpecError: the function has ``*args`` or ``**kwargs``, or a parameter whose type has no schema.
    """

    def __init__(
        self, function: Callable[..., Any], *, name: str = "", description: str = "", timeout_s: float = TIMEOUT_S
    ) -> None:
        self.function = function
        self.timeout_s = timeout_s
        name = name or getattr(function, "__name__", type(function).__name__)
        self._arguments, schema = _arguments_of(function, name)
        about = description or (inspect.getdoc(function) or "").split("\n\n")[0].replace("\n", " ")
        self._spec = ToolSpec(name=name, description=about, parameters=schema)

    @property
    def spec(self) -> ToolSpec:
        """What the agent reads about it."""
        return self._spec

    async def call(self, arguments: Mapping[str, Any], deadline_s: float | None = None) -> ToolResult:
        """Check the arguments and call the function."""
        from pydantic import ValidationError

        limit_s = self.timeout_s if deadline_s is None else min(self.timeout_s, deadline_s)
        began = time.monotonic()
        late = ToolResult(text=f"It took longer than {limit_s:g} seconds and was given up.", ok=False)
        try:
            result: Any = late
            checked = self._arguments.model_validate(dict(arguments))
            named = {field.alias or name: getattr(checked, name) for name, field in type(checked).model_fields.items()}
            with anyio.move_on_after(limit_s):
                result = await _called(self.function, named)
            told = result if isinstance(result, ToolResult) else ToolResult(text=as_text(result))
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            where = ".".join(map(str, first["loc"]))
            told = ToolResult(text=f"Wrong arguments: {where}: {first['msg']}.", ok=False)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a tool by others may raise anything; the agent is told
            told = ToolResult(text=f"{type(error).__name__}: {error}"[:MOST_PROBLEM], ok=False)
        return replace(told, text=clean(told.text), seconds=time.monotonic() - began)


def calculator() -> FunctionTool:
    """The built-in calculator."""
    about = "Works out arithmetic exactly, e.g. (3 + 4) * 2 / 7, 15% * 80, 2^10, sqrt(2), round(2.345, 2), mod(7, 3)."

    async def work_out(expression: str) -> ToolResult:
        try:
            return ToolResult(text=calculate(expression))
        except CalculationError as problem:
            return ToolResult(text=f"{problem}.", ok=False)

    return FunctionTool(work_out, name="calculator", description=about)


BUILT_IN: Final[Mapping[str, Callable[[], Tool]]] = {"calculator": calculator}
"""Tools that are there without being declared, by name."""


def clean(text: str, most: int = MOST_TEXT) -> str:
    """``text`` as a record can hold it: no lone surrogates, and not too long."""
    text = text if text.isascii() else text.encode("utf-8", "replace").decode()
    return text if len(text) <= most else f"{text[:most]} … (cut after {most} characters)"


def wrong_arguments(spec: ToolSpec, arguments: Mapping[str, Any]) -> ToolResult | None:
    """What the agent is told if ``arguments`` do not fit the schema of ``spec``; None if they do."""
    problem = problem_with(closed(spec.parameters), arguments, "arguments")
    return ToolResult(text=f"Wrong arguments: {problem}.", ok=False, seconds=0.0) if problem else None


def as_text(result: Any) -> str:
    """A function's result as the agent reads it: a text as it is, nothing for None, JSON for the rest."""
    if result is None:
        return ""
    return result if isinstance(result, str) else json.dumps(result, ensure_ascii=False, default=str)


async def _called(function: Callable[..., Any], named: Mapping[str, Any]) -> Any:
    positional = [
        named[parameter.name]
        for parameter in inspect.signature(function).parameters.values()
        if parameter.kind is inspect.Parameter.POSITIONAL_ONLY
    ]
    rest = dict(list(named.items())[len(positional) :])
    if _is_async(function):
        return await function(*positional, **rest)
    result = await in_thread(lambda: function(*positional, **rest))
    return await result if isinstance(result, Awaitable) else result


def _is_async(function: Callable[..., Any]) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004


async def in_thread(work: Callable[[], Any]) -> Any:
    """The result of ``work``, done in a daemon thread that is not waited for once the caller is cancelled.

    A pool would be cheaper, but one stuck call would take a place for good, and would keep Python from exiting.
    What means the end of the program elsewhere (``SystemExit``, a ``KeyboardInterrupt`` that ``work`` raises itself)
    is a RuntimeError here: it ends this piece of work and nothing else.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()

    def deliver(result: Any, error: BaseException | None) -> None:
        if future.done():
            return
        if error is None:
            future.set_result(result)
        else:
            future.set_exception(error)

    def run() -> None:
        result: Any = None
        failure: BaseException | None = None
        try:
            result = work()
        except BaseException as error:  # noqa: BLE001 - handed to the caller, whatever it is
            carried = isinstance(error, Exception) and not isinstance(error, StopIteration)  # asyncio carries no other
            failure = error if carried else RuntimeError(f"{type(error).__name__}: {error}")
        try:
            loop.call_soon_threadsafe(deliver, result, failure)
        except RuntimeError:  # the loop is closed: nobody waits any more
            return

    threading.Thread(target=run, name="tool", daemon=True).start()
    return await future


def _arguments_of(function: Callable[..., Any], name: str) -> tuple[Any, dict[str, Any]]:
    """A pydantic model with one field for each parameter, and its schema.

    Fields have neutral names and the parameters' names as aliases, since models reserve names such as ``copy``.
    """
    import pydantic

    fields: dict[str, Any] = {}
    try:
        signature = inspect.signature(function, eval_str=True)
    except (TypeError, ValueError, NameError) as error:
        raise SpecError(f"The signature of the tool {name} cannot be read: {error}.") from None
    for place, parameter in enumerate(signature.parameters.values()):
        if parameter.kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD):
            raise SpecError(
                f"The tool {name} takes any number of arguments (*{parameter.name}), so agents cannot be told which.",
                next_step="Wrap it in a function that names its parameters.",
            )
        annotation = Any if parameter.annotation is parameter.empty else parameter.annotation
        default = ... if parameter.default is parameter.empty else parameter.default
        fields[f"argument_{place}"] = (annotation, pydantic.Field(default, alias=parameter.name))
    try:
        model = pydantic.create_model("Arguments", __config__=pydantic.ConfigDict(extra="forbid"), **fields)
        return model, _schema(model)
    except pydantic.errors.PydanticUserError as error:
        message = str(error).splitlines()[0]
        raise SpecError(
            f"The tool {name} has a parameter whose type agents cannot be told: {message}",
            next_step="Use plain types: str, int, float, bool, lists and dicts of them, Literal, dataclasses.",
        ) from None


def _schema(model: Any) -> dict[str, Any]:
    """Its JSON schema without the titles that pydantic makes up: every agent reads this in every call."""
    from pydantic.json_schema import GenerateJsonSchema

    class Untitled(GenerateJsonSchema):
        def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002 - the base class's signature
            return False

    schema: dict[str, Any] = model.model_json_schema(schema_generator=Untitled)
    return {keyword: value for keyword, value in schema.items() if keyword not in ("title", "description")}
