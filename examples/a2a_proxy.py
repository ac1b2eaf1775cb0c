"""A proxy in front of an A2A server: a message to a finished task is answered by the proxy; the server never sees it.

From the command line: dissensus proxy a2a --to http://127.0.0.1:9000 --block --log traffic.jsonl. Needs the extra
`proxy`: pip install 'dissensus[proxy]'.
"""

from __future__ import annotations

import asyncio
import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx2

import dissensus

try:
    from dissensus.interop.a2a_proxy import A2AProxy
    from dissensus.interop.a2a_watch import A2AMonitor, A2AWatch
    from dissensus.interop.loopback import serving
except ModuleNotFoundError:
    print("Skipped: the server of the proxy is not installed (pip install 'dissensus[proxy]').")
    sys.exit()


class Agent(BaseHTTPRequestHandler):
    """An A2A server that finishes every task at once, and takes whatever it is sent afterwards."""

    def do_POST(self) -> None:
        """Answer with a completed task."""
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        part = {"artifactId": "a", "parts": [{"text": "done"}]}
        task = {"id": "task-1", "contextId": "c", "status": {"state": "TASK_STATE_COMPLETED"}, "artifacts": [part]}
        body = json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": {"task": task}}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


def message(number: int, **more: str) -> dict[str, Any]:
    """What a client sends."""
    said = {"messageId": f"m{number}", "role": "ROLE_USER", "parts": [{"text": "hello"}], **more}
    return {"jsonrpc": "2.0", "id": number, "method": "SendMessage", "params": {"message": said}}


async def main(server: str) -> None:
    """Send two messages through a proxy."""
    monitor = A2AMonitor(on_violation=lambda finding: print("violation:", finding.says))
    watch = A2AWatch(monitor, "traffic.jsonl")
    proxy = A2AProxy(server, watch, block=True)
    with monitor:
        async with serving(proxy) as address, httpx2.AsyncClient(base_url=address, trust_env=False) as client:
            first = (await client.post("/", json=message(1))).json()
            print("first answer:", first["result"]["task"]["status"]["state"])
            second = (await client.post("/", json=message(2, taskId="task-1"))).json()
            print("second answer: error", second["error"]["code"])
    await proxy.close()
    watch.close()


if __name__ == "__main__":
    with ThreadingHTTPServer(("127.0.0.1", 0), Agent) as agent:
        threading.Thread(target=agent.serve_forever, args=(0.02,), daemon=True).start()
        asyncio.run(main(f"http://127.0.0.1:{agent.server_address[1]}"))
        agent.shutdown()
    tally = dissensus.audit("traffic.jsonl").tally
    print(f"the log: {tally.messages} messages, {tally.violations} violation")
