"""One entry of a chat, in the shape of whichever interface wrote it, as calls, results and text.

Known shapes: OpenAI chat completions (``tool_calls``, and the older ``function_call``), OpenAI responses
(``function_call`` and its kin as items of their own), Anthropic messages (``tool_use`` blocks), Gemini (``parts``), and
the tool messages of tau-bench and tau2-bench.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

ROLES: Final = frozenset({"assistant", "developer", "function", "model", "system", "tool", "user"})
_SAYS: Final = ("content", "tool_calls", "function_call", "parts", "tool_call_id")
_RESULT_ROLES: Final = ("function", "tool")
_SERVER_SIDE: Final = (
    "code_interpreter_call", "file_search_call", "image_generation_call", "mcp_call", "web_search_call",
)  # fmt: skip
"""Items that hold call and result in one."""


@dataclass(frozen=True, slots=True)
class Call:
    """A tool is called. ``caller`` is set where the entry names it."""

    id: str | None
    tool: str
    arguments: Any
    caller: str = ""


@dataclass(frozen=True, slots=True)
class Result:
    """A tool answers."""

    id: str | None
    tool: str | None
    content: Any
    failed: bool


@dataclass(frozen=True, slots=True)
class Text:
    """Somebody says something: the ``role`` is ``user``, ``assistant``, ``system`` or ``developer``."""

    role: str
    speaker: str
    content: Any


@dataclass(frozen=True, slots=True)
class Nothing:
    """Read, and no message: reasoning, a list of tools."""

    kind: str


Part = Call | Result | Text | Nothing


def text_of(content: Any) -> str:
    """The text in a content: itself, or that of its blocks, one under the other."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(text for block in content if (text := text_of(block)))
    if isinstance(content, dict):
        inner = content.get("text", content.get("content"))
        return text_of(inner) if isinstance(inner, (str, list)) else ""
    return ""


def has_failed(entry: dict[str, Any], content: Any) -> bool:
    """Whether a result says that the call failed: by a status, or by text that begins with ``Error``."""
    if entry.get("status") == "error" or any(entry.get(key) is True for key in ("is_error", "isError", "error")):
        return True
    return text_of(content).startswith("Error")


def is_entry(value: Any) -> bool:
    """Whether ``value`` looks like an entry of a chat."""
    if not isinstance(value, dict) or "jsonrpc" in value or "messageId" in value or "act" in value:
        return False
    if _kind(value).endswith(("_call", "_call_output")):
        return "call_id" in value or "id" in value
    role = value.get("role")
    if isinstance(value.get("content"), dict):  # an MCP prompt, not a chat
        return False
    return isinstance(role, str) and role in ROLES and any(key in value for key in _SAYS)


def parts_of(entry: dict[str, Any]) -> list[Part]:
    """What an entry says, in order; at least one part.

    Raises:
        ValueError: it is no entry of a chat; the message says why.
    """
    kind = _kind(entry)
    role = entry.get("role")
    if role is None and kind:
        return _item(entry, kind)
    if role is None and not any(key in entry for key in _SAYS):
        return [Nothing("no entry")]
    if not isinstance(role, str):
        raise ValueError("An entry has to say whose it is: role.")  # noqa: TRY004 - a fault of the log
    if role in _RESULT_ROLES and not isinstance(entry.get("parts"), list):
        several = entry.get("tool_responses")  # AG2 answers several calls in one entry
        answers = [_tool_message(one) for one in several if isinstance(one, dict)] if isinstance(several, list) else []
        return [*answers] or [_tool_message(entry)]
    role = "assistant" if role == "model" else role
    speaker = _text(entry.get("name")) or role
    parts: list[Part] = list(calls_of(entry))
    blocks = entry.get("parts", entry.get("content"))
    said: list[Any] = []
    for block in blocks if isinstance(blocks, list) else ():
        found = _block(block)
        if found is None:
            said.append(block)
        else:
            parts.append(found)
    content = said if isinstance(blocks, list) else blocks
    if not content and isinstance(entry.get("refusal"), str):
        content = entry["refusal"]
    if content or not parts:
        answering = any(isinstance(part, Result) for part in parts)
        parts.insert(len(parts) if answering else 0, Text(role, speaker, content))
    return parts


def _kind(entry: dict[str, Any]) -> str:
    kind = entry.get("type")
    return kind if isinstance(kind, str) else ""


def _text(value: Any) -> str | None:
    if isinstance(value, str):
        return value or None
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else None


def _tool_message(entry: dict[str, Any]) -> Result:
    call_id = _text(entry.get("tool_call_id")) or _text(entry.get("call_id")) or _text(entry.get("id"))
    content = entry.get("content")
    return Result(call_id, _text(entry.get("name")), content, has_failed(entry, content))


def calls_of(entry: dict[str, Any]) -> list[Call]:
    """The calls in ``tool_calls``, or in the older ``function_call``. Raises ValueError where one is none."""
    found = []
    listed = entry.get("tool_calls")
    for call in listed if isinstance(listed, list) else ():
        if not isinstance(call, dict):
            raise ValueError("A tool call has to be a mapping.")  # noqa: TRY004 - a fault of the log
        inner = call.get("function", call.get("custom"))
        inner = inner if isinstance(inner, dict) else call
        tool = _text(inner.get("name"))
        if tool is None:
            raise ValueError("A tool call has to name its tool.")
        arguments = inner.get("arguments", inner.get("input", inner.get("args")))
        found.append(Call(_text(call.get("id")), tool, arguments, _text(call.get("requestor")) or ""))
    older = entry.get("function_call")
    if isinstance(older, dict) and (tool := _text(older.get("name"))):
        found.append(Call(None, tool, older.get("arguments")))
    return found


def _block(block: Any) -> Part | None:
    """A block of a content list; None if it is plain content."""
    if not isinstance(block, dict):
        return None
    kind = _kind(block)
    if kind.endswith("tool_use"):  # also server_tool_use, mcp_tool_use
        tool = _text(block.get("name"))
        if tool is None:
            raise ValueError("A tool_use block has to name its tool.")
        return Call(_text(block.get("id")), tool, block.get("input"))
    if kind.endswith("tool_result"):  # also web_search_tool_result
        content = block.get("content")
        inner = _kind(content) if isinstance(content, dict) else ""
        return Result(_text(block.get("tool_use_id")), None, content, has_failed(block, content) or "error" in inner)
    if kind in ("thinking", "redacted_thinking", "reasoning"):
        return Nothing(kind)
    for key in ("functionCall", "function_call"):
        call = block.get(key)
        if isinstance(call, dict) and (tool := _text(call.get("name"))):
            return Call(_text(call.get("id")), tool, call.get("args"))
    for key in ("functionResponse", "function_response"):
        answer = block.get(key)
        if isinstance(answer, dict):
            content = answer.get("response")
            failed = isinstance(content, dict) and "error" in content
            return Result(_text(answer.get("id")), _text(answer.get("name")), content, failed)
    return None


def _item(entry: dict[str, Any], kind: str) -> list[Part]:
    """An item of the responses interface that carries no role."""
    if kind in _SERVER_SIDE:
        tool = _text(entry.get("name")) or kind.removesuffix("_call")
        call_id = _text(entry.get("id"))
        content = entry.get("output", entry.get("results", entry.get("action")))
        parts: list[Part] = [Call(call_id, tool, entry.get("arguments", entry.get("action", entry.get("queries"))))]
        if entry.get("status", "completed") in ("completed", "failed", "incomplete") or entry.get("error"):
            failed = entry.get("status") in ("failed", "incomplete") or bool(entry.get("error"))
            parts.append(Result(call_id, tool, entry.get("error") or content, failed))
        return parts
    call_id = _text(entry.get("call_id")) or _text(entry.get("id"))
    if kind.endswith("_call_output"):
        content = entry.get("output")
        return [Result(call_id, None, content, has_failed(entry, content))]
    if kind.endswith("_call"):
        tool = _text(entry.get("name")) or kind.removesuffix("_call")
        return [Call(call_id, tool, entry.get("arguments", entry.get("input", entry.get("action"))))]
    if kind == "message" and "content" in entry:
        return [Text("assistant", "assistant", entry["content"])]
    return [Nothing(kind[:40])]
