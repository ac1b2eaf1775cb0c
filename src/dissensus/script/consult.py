"""An agent's own loop, as a script: perceive, decide, act, observe, until it answers or a limit stops it.

Any procedure asks through :func:`consult` and need not know whether a plain model or an agent with tools has the
seat. Perceiving is the engine's part: each turn is an :class:`~dissensus.script.effects.Ask` in the same thread, so
the agent sees what it wrote before and what it was told.

A tool's result reaches the agent as the prompt of its next turn, so it stands in the agent's view once.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from dissensus.script.actions import (
    Answer,
    Broken,
    Use,
    action_schema,
    answer_form,
    arguments_for,
    instructions,
    read_action,
)
from dissensus.script.calls import Capability, Turn
from dissensus.script.effects import Ask, Script, UseTool
from dissensus.script.outcomes import Invalid, Outcome, Reply, TimedOut, ToolResult
from dissensus.script.schemas import closed, problem_with
from dissensus.script.seats import Seat, ToolSpec

MOST_SEEN: Final = 4000
"""Most characters of a tool's result that the agent is shown; the record holds all of it."""


def consult(
    seat: Seat,
    prompt: str,
    *,
    thread: str = "main",
    examples: Sequence[Turn] = (),
    schema: Mapping[str, object] | None = None,
    temperature: float | None = None,
    max_tokens: int | None = None,
    stop: Sequence[str] = (),
    deadline_s: float | None = None,
    key: str | None = None,
) -> Script:
    """Ask the agent in ``seat`` and return its outcome: a Reply whose text is the answer, or a failure.

    Without tools this is exactly one Ask with these parameters. With tools it is at most ``seat.max_steps`` turns, each
    an Ask, with at most one UseTool between two of them. An unknown tool or wrong arguments are told to the agent and
    cost a turn. A failed turn ends the loop with that failure. If no turn brings an answer, the outcome is Invalid.

    Args:
        seat: who is asked.
        prompt: what is asked.
        thread: the conversation in which the agent is asked, and that it sees.
        examples: chat turns shown before the prompt, in the first turn only.
        schema: JSON schema of the answer; then the Reply's text is JSON unless the agent answered in plain words.
        temperature: in place of the seat's.
        max_tokens: most tokens of each turn, in place of the seat's.
        stop: texts that end each turn.
        deadline_s: seconds for each turn, in place of the seat's. A tool has a limit of its own.
        key: key of the first turn; later ones get ``key/2``, ``key/3`` …, tools ``key/tool``, ``key/tool/2`` ….
    """
    ask = Ask(
        seat.agent,
        prompt,
        thread=thread,
        examples=tuple(examples),
        schema=schema,
        temperature=temperature,
        max_tokens=max_tokens,
        stop=tuple(stop),
        deadline_s=deadline_s,
        key=key,
    )
    if not seat.tools:
        return (yield ask)
    return (yield from _act_until_answered(seat, ask))


def _act_until_answered(seat: Seat, ask: Ask) -> Generator[Any, Any, Outcome]:
    tools = {tool.name: tool for tool in seat.tools}
    text, examples, used = f"{ask.prompt}\n\n{instructions(seat.tools, ask.schema)}", ask.examples, 0
    problem, reply = "no turn was allowed", Reply(text="")
    for step in range(1, seat.max_steps + 1):
        last = step == seat.max_steps
        if last:
            text = f"{text}\n\nThis is your last turn. Write only {answer_form(ask.schema)}"
        schema = None
        if Capability.SCHEMA in seat.capabilities:
            schema = action_schema(() if last else seat.tools, ask.schema)
        turn = replace(ask, prompt=text, examples=examples, schema=schema, key=_numbered(ask.key, step))
        outcome: Outcome = yield turn
        if not isinstance(outcome, Reply):
            return outcome
        examples, reply = (), outcome

        match _decide(read_action(reply.text), tools, ask.schema):
            case Answer() as answer:
                return replace(reply, text=answer.text(as_json=ask.schema is not None))
            case Broken() as broken:
                problem = broken.problem
                text = f"{problem}\nWrite one JSON object: a tool with its arguments, or {answer_form(ask.schema)}"
            case Use() as use if not last:
                used += 1
                tool_key = None if ask.key is None else _numbered(f"{ask.key}/tool", used)
                result: Outcome = yield UseTool(seat.agent, use.tool, use.arguments, key=tool_key)
                if not isinstance(result, ToolResult | TimedOut):
                    return result
                text = _observation(use.tool, result, ask.schema)
            case Use():
                problem = "it asked for a tool in its last turn"
    return Invalid(problem=f"No answer in {seat.max_steps} turns: {problem}", text=reply.text, usage=reply.usage)


def _decide(
    action: Use | Answer | Broken, tools: Mapping[str, ToolSpec], schema: Mapping[str, object] | None
) -> Use | Answer | Broken:
    """The action as it may be carried out, or why it may not."""
    match action:
        case Use(name) if name not in tools:
            return Broken(f'There is no tool "{name[:80]}". Your tools: {", ".join(tools)}.')
        case Use(name, given):
            arguments = arguments_for(tools[name], given)
            if problem := problem_with(closed(tools[name].parameters), arguments, "arguments"):
                return Broken(f"Wrong arguments for {name}: {problem}.")
            return Use(name, arguments)
        case Answer(value, plain) if not plain:
            if schema is not None and (problem := problem_with(schema, value, '"answer"')):
                return Broken(f"Wrong answer: {problem}.")
            if value is None or value == "":
                return Broken('"answer" is empty.')
    return action


def _observation(tool: str, result: ToolResult | TimedOut, schema: Mapping[str, object] | None) -> str:
    if isinstance(result, TimedOut):
        seen = f"{tool} gave no result within {result.after_s:g} seconds."
    else:
        text = result.text if len(result.text) <= MOST_SEEN else f"{result.text[:MOST_SEEN]} … (cut)"
        seen = f"Result of {tool}:\n{text}" if result.ok else f"{tool} failed:\n{text}"
    return f"{seen}\n\nUse another tool, or write {answer_form(schema)}"


def _numbered(key: str | None, number: int) -> str | None:
    return key if key is None or number == 1 else f"{key}/{number}"
