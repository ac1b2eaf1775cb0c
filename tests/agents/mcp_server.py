"""A small MCP server on standard streams, for tests: correct by default, and broken in the way its argument names."""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

TOOLS = [
    {
        "name": "add",
        "description": "Adds two\nnumbers.",
        "inputSchema": {
            "type": "object",
            "properties": {"a": {"type": "number"}, "b": {"type": "number"}},
            "required": ["a", "b"],
        },
    },
    {"name": "fail", "inputSchema": {"type": "object"}},
    {"name": "die", "inputSchema": {"type": "object"}},
    {"name": "sleep", "inputSchema": {"type": "object"}},
    {"name": "parts", "inputSchema": {"type": "object"}},
    {"name": "data", "inputSchema": {"type": "object"}},
    {"name": "env", "inputSchema": {"type": "object"}},
]
PARTS = [
    {"type": "text", "text": "one"},
    {"type": "image", "data": "AA==", "mimeType": "image/png"},
    {"type": "resource", "resource": {"uri": "file:///x", "text": "two"}},
]


def text(said: str, *, error: bool = False) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": said}], "isError": error}


def call(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    match name:
        case "add":
            return text(str(arguments["a"] + arguments["b"]))
        case "fail":
            return text("it broke", error=True)
        case "die":
            sys.exit(3)
        case "sleep":
            time.sleep(60)
        case "parts":
            return {"content": PARTS}
        case "data":
            return {"content": [], "structuredContent": {"n": 1}}
        case "env":
            return text(" ".join(sorted(os.environ)))
    return text("no such tool", error=True)


def answer(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    match method:
        case "initialize":
            about = {"name": "small", "version": "1"}
            version = params["protocolVersion"]
            return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": about}
        case "tools/list":
            at = int(params.get("cursor") or 0)
            page: dict[str, Any] = {"tools": TOOLS[at : at + 3]}
            return page | ({"nextCursor": str(at + 3)} if at + 3 < len(TOOLS) else {})
        case "tools/call":
            return call(params["name"], params.get("arguments") or {})
        case "ping":
            return {}
    return None


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main(way: str) -> None:
    if way == "crash":
        sys.exit("the database is locked")
    if way == "hang":
        time.sleep(60)
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message:
            continue
        if way == "garbage":
            say("this is no JSON")
            sys.exit(1)
        result = answer(message["method"], message.get("params") or {})
        body = {"result": result} if result is not None else {"error": {"code": -32601, "message": "unknown"}}
        say(json.dumps({"jsonrpc": "2.0", "id": message["id"], **body}))


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "")
