from __future__ import annotations

import threading
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import anyio
import anyio.lowlevel
import pytest

from dissensus.agents.tools import BUILT_IN, MOST_TEXT, FunctionTool, Tool
from dissensus.errors import SpecError
from dissensus.script.outcomes import ToolResult
from dissensus.script.schemas import problem_with

pytestmark = pytest.mark.anyio


@dataclass
class Point:
    x: int
    y: int = 0


def weigh(
    things: list[str], unit: Literal["kg", "g"] = "kg", at: Point | None = None, copy: bool = False
) -> dict[str, Any]:
    """Weigh things,
    one by one.

    Not shown.
    """
    return {"things": things, "unit": unit, "x": at.x if at else None, "copy": copy}


async def call(tool: Tool, **arguments: Any) -> ToolResult:
    result = await tool.call(arguments)
    assert result.seconds is not None
    return ToolResult(text=result.text, ok=result.ok)


async def test_a_signature_becomes_a_schema() -> None:
    spec = FunctionTool(weigh).spec
    assert spec.name == "weigh"
    assert spec.description == "Weigh things, one by one."
    assert list(spec.parameters["properties"]) == ["things", "unit", "at", "copy"]
    assert spec.parameters["required"] == ["things"]
    assert "title" not in spec.parameters["properties"]["things"]
    assert not problem_with(spec.parameters, {"things": ["a"], "unit": "g", "at": {"x": 1}})
    wrong: list[dict[str, Any]] = [
        {},
        {"things": "a"},
        {"things": [], "unit": "lb"},
        {"things": [], "more": 1},
        {"things": [], "at": {}},
    ]
    for bad in wrong:
        assert problem_with(spec.parameters, bad)


async def test_arguments_reach_the_function_as_its_types() -> None:
    text = '{"things": ["é"], "unit": "g", "x": 2, "copy": true}'
    assert await call(FunctionTool(weigh), things=["é"], unit="g", at={"x": 2}, copy=True) == ToolResult(text=text)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({}, "things: Field required"),
        ({"things": ["a"], "unit": "lb"}, "unit: Input should be 'kg' or 'g'"),
        ({"things": ["a"], "more": 1}, "more: Extra inputs are not permitted"),
        ({"things": ["a"], "at": {"x": "one"}}, "at.x: Input should be a valid integer"),
    ],
)
async def test_wrong_arguments_are_told(arguments: dict[str, Any], told: str) -> None:
    result = await FunctionTool(weigh).call(arguments)
    assert not result.ok
    assert result.text.startswith(f"Wrong arguments: {told}")


async def test_async_functions_and_callable_objects() -> None:
    async def double(n: int, /, times: int = 2) -> int:
        await anyio.lowlevel.checkpoint()
        return n * times

    class Tripler:
        """Triples."""

        async def __call__(self, n: int) -> int:
            return 3 * n

    assert await call(FunctionTool(double), n=4) == ToolResult(text="8")
    assert await call(FunctionTool(partial(double, 5)), times=3) == ToolResult(text="15")
    assert await call(FunctionTool(Tripler()), n=4) == ToolResult(text="12")
    assert FunctionTool(Tripler()).spec.name == "Tripler"


async def test_a_plain_function_does_not_block_the_loop() -> None:
    gate = threading.Event()

    def wait() -> bool:
        return gate.wait(20)

    results: list[ToolResult] = []

    async def use() -> None:
        results.append(await FunctionTool(wait).call({}))

    async with anyio.create_task_group() as group:
        group.start_soon(use)
        await anyio.sleep(0.01)
        gate.set()
    assert [result.text for result in results] == ["true"]


async def test_a_call_that_takes_too_long_is_given_up() -> None:
    gate = threading.Event()

    async def sleep() -> None:
        await anyio.sleep(60)

    try:
        for tool in (FunctionTool(lambda: gate.wait(60), timeout_s=0.05), FunctionTool(sleep, timeout_s=0.05)):
            assert await call(tool) == ToolResult(text="It took longer than 0.05 seconds and was given up.", ok=False)
        late = await FunctionTool(sleep).call({}, deadline_s=0.02)
        assert late.text == "It took longer than 0.02 seconds and was given up."
    finally:
        gate.set()


@pytest.mark.parametrize(
    "error",
    [ValueError("no\ud800"), StopIteration(3), SystemExit(2), TimeoutError("mine"), KeyError("k"), RecursionError()],
)
async def test_whatever_a_function_raises_is_a_result(error: BaseException) -> None:
    def plain() -> None:
        raise error

    async def later() -> None:
        raise error

    for function in (plain, later):
        result = await call(FunctionTool(function))
        assert not result.ok
        assert type(error).__name__ in result.text
        assert result.text.encode()


@pytest.mark.parametrize(
    ("returned", "expected"),
    [
        (None, ToolResult(text="")),
        ("text", ToolResult(text="text")),
        (0.5, ToolResult(text="0.5")),
        ("\ud800", ToolResult(text="?")),
        (ToolResult(text="\udfff", ok=False), ToolResult(text="?", ok=False)),
        ("x" * (MOST_TEXT + 1), ToolResult(text=f"{'x' * MOST_TEXT} … (cut after {MOST_TEXT} characters)")),
        (object, ToolResult(text="\"<class 'object'>\"")),
    ],
)
async def test_results_are_texts_that_a_record_can_hold(returned: object, expected: ToolResult) -> None:
    assert await call(FunctionTool(lambda: returned)) == expected


async def test_a_result_that_contains_itself_is_a_failure() -> None:
    loop: list[Any] = []
    loop.append(loop)
    assert not (await call(FunctionTool(lambda: loop))).ok


async def test_functions_that_agents_cannot_be_told_about_are_refused() -> None:
    def many(*numbers: int) -> int:
        return sum(numbers)

    def odd(lock: threading.Event) -> None:
        lock.set()

    with pytest.raises(SpecError, match=r"takes any number of arguments \(\*numbers\)"):
        FunctionTool(many)
    with pytest.raises(SpecError, match="a parameter whose type agents cannot be told"):
        FunctionTool(odd)
    with pytest.raises(SpecError, match="signature of the tool int cannot be read"):
        FunctionTool(int)


async def test_the_calculator_is_built_in() -> None:
    tool = BUILT_IN["calculator"]()
    assert isinstance(tool, Tool)
    assert await call(tool, expression="12 / 3 * 2") == ToolResult(text="8")
    assert await call(tool, expression="1/0") == ToolResult(text="division by zero.", ok=False)
    assert list(tool.spec.parameters["properties"]) == ["expression"]
