"""The proxy between real programs: what is legal passes unchanged, what is not is told, logged and stopped."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("uvicorn", reason="the extra `proxy` is not installed")
pytest.importorskip("starlette", reason="the extra `proxy` is not installed")

from a2a_server import HUGE, Server, request, running, update, whole
from anyio.from_thread import start_blocking_portal

from dissensus.errors import LogError, UsageError
from dissensus.interop import a2a_proxy, loopback
from dissensus.interop.a2a_cards import card_through
from dissensus.interop.a2a_proxy import A2AProxy
from dissensus.interop.a2a_watch import A2AMonitor, A2AWatch
from dissensus.interop.loopback import is_loopback, serving
from dissensus.interop.message_logs import audit_file
from dissensus.interop.server_events import EventSplitter, data_of, event_of

JSON = {"content-type": "application/json"}
EVENTS = {**JSON, "accept": "text/event-stream"}
WIRES = pytest.mark.parametrize("old", [True, False], ids=["0.3", "1.0"])


@pytest.fixture
def server() -> Iterator[Server]:
    with running() as server:
        yield server


class Proxied:
    """A proxy that runs, a client for it, and what it has noted."""

    def __init__(self, url: str, monitor: A2AMonitor, watch: A2AWatch) -> None:
        self.url = url
        self.monitor = monitor
        self.watch = watch
        self.client = httpx2.Client(base_url=url, trust_env=False, timeout=60)

    def post(self, body: bytes, headers: dict[str, str] = JSON) -> httpx2.Response:
        return self.client.post("/rpc", content=body, headers=headers)

    def rules(self) -> list[str]:
        return [each["rule"] for each in self.monitor.report()["messages"]]


@contextlib.contextmanager
def proxied(
    to: str, *, block: bool = False, log: Path | None = None, host: str = "127.0.0.1", **options: Any
) -> Iterator[Proxied]:
    monitor = A2AMonitor(
        **{name: options.pop(name) for name in ("ttl", "wire", "on_overdue", "on_violation") if name in options}
    )
    watch = A2AWatch(monitor, log)
    with monitor, contextlib.closing(watch), start_blocking_portal() as portal:
        proxy = A2AProxy(to, watch, block=block, **options)
        with portal.wrap_async_context_manager(serving(proxy, host)) as url:
            one = Proxied(url, monitor, watch)
            try:
                with one.client:
                    yield one
            finally:
                portal.call(proxy.close)


# --- what is legal


@WIRES
@pytest.mark.parametrize("block", [False, True])
def test_what_is_legal_passes_byte_for_byte(server: Server, tmp_path: Path, old: bool, block: bool) -> None:
    log = tmp_path / "log.jsonl"
    with proxied(server.url, block=block, log=log) as proxy:
        for number, body in enumerate((request("work", old=old), request("done", ident="two", old=old))):
            answer = proxy.post(body, {**JSON, "x-mine": "1", "authorization": "Bearer t"})
            assert server.received[-1] == ("POST", "/rpc", body)
            assert answer.content == server.sent[-1]
            assert (answer.status_code, answer.headers["x-theirs"]) == (200, "1")
            assert server.headers[number].items() >= {"x-mine": "1", "authorization": "Bearer t"}.items()
        server.sent.clear()
        answer = proxy.post(request("done", ident=3, old=old, stream=True), EVENTS)
        assert answer.headers["content-type"] == "text/event-stream; charset=utf-8"
        assert answer.content == b"".join(server.sent)
        assert answer.content.startswith(b": a comment\r\n\r\ndata: {\n")
        refused = proxy.post(request("refuse", ident=4, old=old))
        assert (refused.status_code, refused.content) == (400, server.sent[-1])
        assert proxy.rules() == []
    report = proxy.monitor.report()
    assert [each["status"] for each in report["obligations"]] == [
        "fulfilled", "fulfilled", "fulfilled", "fulfilled", "declared:not-understood", "pending",
    ]  # fmt: skip
    assert report["messages"] == audit_file(log).to_data()["messages"]


def test_addresses_in_cards_lead_here(server: Server) -> None:
    with proxied(server.url) as proxy:
        card = proxy.client.get("/.well-known/agent-card.json").json()
        assert card == {
            "name": "a", "url": f"{proxy.url}/rpc", "preferredTransport": "JSONRPC",
            "additionalInterfaces": [{"url": "http://localhost:1/rest", "transport": "HTTP+JSON"}],
            "supportedInterfaces": [{"url": f"{proxy.url}/rpc?x=1", "protocolBinding": "JSONRPC"}],
        }  # fmt: skip
        for method in ("GetExtendedAgentCard", "agent/getAuthenticatedExtendedCard"):
            asked = json.dumps({"jsonrpc": "2.0", "id": method, "method": method, "params": {}}).encode()
            assert proxy.post(asked).json()["result"]["url"] == f"{proxy.url}/rpc"


def test_cards_of_any_shape() -> None:
    bad = {"supportedInterfaces": [3]}
    cards: list[Any] = [None, 3, [], {}, {"url": 7}, {"url": "grpc://x"}, {"url": "http://["}, bad]
    for card in cards:
        assert card_through(card, "http://127.0.0.1:1") == card
    other = {"url": "http://x/", "preferredTransport": "GRPC", "signatures": [1]}
    assert card_through(other, "http://127.0.0.1:1") == other


def test_all_else_passes_unread(server: Server) -> None:
    with proxied(f"{server.url}/base/", block=True) as proxy:
        assert proxy.client.get("/a/b%20c?q=1&r=%2F").text == "/base/a/b%20c?q=1&r=%2F"
        assert proxy.client.get("/").text == "/base"
        head = proxy.client.head("/x")
        assert (head.content, head.headers["content-length"]) == (b"", "7")
        assert proxy.post(b'{"message": {}}').json() == {"rest": True}
        assert proxy.post(b"[]").json() == {"rest": True}
        assert proxy.post(b"no json").json()["error"]["code"] == -32700
        assert proxy.monitor.counts["messages"] == 0
    assert proxy.watch.counts["unread"] == 3


def test_an_answer_of_http_alone(server: Server, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    with proxied(server.url, log=log) as proxy:
        answer = proxy.post(request("html"))
        assert (answer.status_code, answer.text) == (500, "<p>no</p>")
        assert proxy.monitor.counts["unanswered"] == 1
    assert json.loads(log.read_bytes().splitlines()[1])["http"] == 500
    assert audit_file(log).to_data()["counts"]["unanswered"] == 1


def test_what_is_no_json_passes_unread(server: Server) -> None:
    with proxied(server.url, block=True) as proxy:
        assert proxy.post(request("bad json")).content == server.sent[-1]
        server.sent.clear()
        got = proxy.post(request("no json", ident=2, stream=True), EVENTS).content
        assert got == b"".join(server.sent)
        assert b"data: hello" in got
    assert proxy.watch.counts == {"unread": 2}


@pytest.mark.parametrize("block", [False, True])
def test_what_the_log_does_not_tell_the_monitor_is_not_told(server: Server, tmp_path: Path, block: bool) -> None:
    """An object that is no JSON-RPC is none live either, so that an audit of the log says the same."""
    log = tmp_path / "log.jsonl"
    with proxied(server.url, block=block, log=log) as proxy:
        proxy.post(request("done"))
        answer = proxy.post(b"[" + request("done", ident=2) + b"]")  # which this server answers by no JSON-RPC
        assert answer.json()["error"]["code"] == -32006 if block else answer.content == b'{"rest": true}'
        assert proxy.post(b'{"method": "SendMessage", "params": {"message": {}}}').status_code == 200
        report = proxy.monitor.report()
    assert proxy.watch.counts == {"unread": 1, "withheld": 1} if block else {"unread": 2}
    assert (report["counts"]["messages"], report["counts"]["unanswered"]) == (3, 1)
    assert audit_file(log).to_data()["messages"] == report["messages"]


@pytest.mark.parametrize("method", [[], {}, ["a"], {"a": []}, 5, None])
def test_a_method_that_is_no_text_breaks_nothing(server: Server, method: Any) -> None:
    with proxied(server.url) as proxy:
        answer = proxy.post(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": {}}).encode())
        assert answer.status_code == 502, "the server of these tests breaks off"
        assert answer.json()["error"]["code"] == -32603


# --- what is not legal


@WIRES
def test_a_message_to_a_finished_task_is_answered_in_the_servers_place(
    server: Server, tmp_path: Path, old: bool
) -> None:
    log = tmp_path / "log.jsonl"
    with proxied(server.url, block=True, log=log) as proxy:
        proxy.post(request("done", old=old))
        seen = len(server.received)
        answer = proxy.post(request("more", ident="again", old=old, task="t1"))
        assert answer.status_code == 200
        error = answer.json()["error"]
        assert (answer.json()["id"], error["code"]) == ("again", -32004)
        detail = error["data"] if old else error["data"][0]["metadata"]
        assert detail["rule"] == "a2a.message-to-terminal"
        stream = proxy.post(request("more", ident=7, old=old, stream=True, task="t1"), EVENTS)
        assert stream.headers["content-type"].startswith("text/event-stream")
        assert json.loads(data_of(stream.content) or b"")["error"]["code"] == -32004
        assert len(server.received) == seen, "the server never saw them"
        assert proxy.post(request("done", ident=8, old=old)).json()["result"]
    assert proxy.watch.counts == {"blocked": 2}
    assert proxy.rules() == ["a2a.message-to-terminal"] * 2
    assert proxy.monitor.report()["obligations"] == audit_file(log).to_data()["obligations"]


def test_without_block_it_is_told_and_passed_on(server: Server) -> None:
    with proxied(server.url) as proxy:
        proxy.post(request("done"))
        assert "result" in proxy.post(request("more", ident=2, task="t1")).json()
        assert "a2a.message-to-terminal" in proxy.rules()
        assert len(server.received) == 2
    assert proxy.watch.counts == {}


@WIRES
@pytest.mark.parametrize("block", [False, True])
def test_a_task_that_rises_again_in_its_stream(server: Server, tmp_path: Path, old: bool, block: bool) -> None:
    log = tmp_path / "log.jsonl"
    with proxied(server.url, block=block, log=log) as proxy:
        got = proxy.post(request("rise", old=old, stream=True), EVENTS).content
        rise = json.dumps(update("t1", "working", old=old), indent=1)
        sent = [part for part in server.sent if json.loads(data_of(part) or b"{}").get("result") != json.loads(rise)]
        assert got == b"".join(sent if block else server.sent)
        assert proxy.rules()[0] == "a2a.terminal-immutable"
    assert proxy.watch.counts["withheld"] == (1 if block else 0)
    assert proxy.monitor.report()["messages"] == audit_file(log).to_data()["messages"]
    assert audit_file(log).tally.violations == 1


def test_an_answer_that_must_not_be_is_replaced(server: Server) -> None:
    with proxied(server.url, block=True) as proxy:
        answer = proxy.post(request("other id"))
        assert (answer.json()["id"], answer.json()["error"]["code"]) == (1, -32006)
        assert proxy.rules() == ["rpc.orphan-response"]
        get = {"jsonrpc": "2.0", "id": 5, "method": "GetTask", "params": {"id": "t9"}}
        assert proxy.post(json.dumps(get).encode()).json()["result"]["status"]["state"] == "TASK_STATE_COMPLETED"
    assert proxy.watch.counts == {"withheld": 1}


def test_batches(server: Server) -> None:
    with proxied(server.url, block=True) as proxy:
        proxy.post(request("done"))
        first, second = json.loads(request("x", ident=2)), json.loads(request("y", ident=3, task="t1"))
        told = {"jsonrpc": "2.0", "method": "note"}
        codes = {
            each["id"]: each["error"]["code"] for each in proxy.post(json.dumps([first, second, told]).encode()).json()
        }
        assert codes == {2: -32600, 3: -32004}
        assert proxy.post(json.dumps([first]).encode()).json()["error"]["code"] == -32006, "no answer of JSON-RPC"


def test_a_task_that_nobody_made(server: Server) -> None:
    with proxied(server.url, block=True, wire={"complete": True}) as proxy:
        assert proxy.post(request("x", task="never")).json()["error"]["code"] == -32001
        assert server.received == []


# --- servers and clients that misbehave


def test_a_server_that_dies_within_a_stream(server: Server, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    with proxied(server.url, log=log) as proxy:
        got = bytearray()

        def read() -> None:
            with proxy.client.stream("POST", "/rpc", content=request("die", stream=True), headers=EVENTS) as answer:
                for chunk in answer.iter_raw():
                    got.extend(chunk)

        with pytest.raises(httpx2.RemoteProtocolError):
            read()
        assert got == b"".join(server.sent), "what came before passed"
        assert [each.debtor for each in proxy.monitor.open()] == ["server"]
        assert proxy.post(request("done", ident=2)).status_code == 200
    assert proxy.watch.counts == {"failed": 1}
    assert "broke off" in json.loads(log.read_bytes().splitlines()[2])["why"]
    assert audit_file(log).tally.pending == 1


def test_a_server_that_breaks_off_its_answer(server: Server) -> None:
    with proxied(server.url) as proxy:
        answer = proxy.post(request("short"))
        assert (answer.status_code, answer.json()["error"]["code"]) == (502, -32603)
        assert proxy.monitor.open() == []
    assert proxy.watch.counts == {"failed": 1}


def test_a_log_whose_disk_is_full_holds_up_nothing(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with proxied(server.url, log=tmp_path / "log.jsonl") as proxy:
        proxy.post(request("done"))
        assert proxy.watch._file is not None
        full = Path("/dev/full").open("ab", buffering=0)  # noqa: SIM115 - the log closes it
        proxy.watch._file._file.close()
        monkeypatch.setattr(proxy.watch._file, "_file", full)
        assert proxy.post(request("done", ident=2)).status_code == 200
        assert proxy.monitor.counts["messages"] == 4
    assert proxy.watch.counts == {"log failures": 1}


def test_a_server_that_is_not_there() -> None:
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    with proxied(f"http://127.0.0.1:{port}") as proxy:
        answer = proxy.post(request("x", ident="a"))
        assert (answer.status_code, answer.json()["id"], answer.json()["error"]["code"]) == (502, "a", -32603)
        assert proxy.client.get("/x").status_code == 502
        assert proxy.post(b'{"jsonrpc": "2.0", "method": "note"}').status_code == 502
    assert [each["status"] for each in proxy.monitor.report()["obligations"]] == ["declared:failed"]


def test_a_server_that_says_nothing(server: Server) -> None:
    with proxied(server.url, timeout=0.2) as proxy:
        assert proxy.post(request("wait")).status_code == 504
        server.go_on.set()


@pytest.mark.parametrize("stream", [False, True])
def test_what_is_huge_is_not_passed_on(server: Server, stream: bool) -> None:
    with proxied(server.url, most_bytes=HUGE // 3) as proxy:
        assert proxy.post(b" " * HUGE).status_code == 413
        assert server.received == []
        if stream:
            with pytest.raises(httpx2.RemoteProtocolError):
                proxy.post(request("long", stream=True), EVENTS)
        else:
            answer = proxy.post(request("huge"))
            assert (answer.status_code, answer.json()["error"]["code"]) == (502, -32603)
        assert proxy.post(request("done", ident=2)).status_code == 200
    with proxied(server.url) as proxy:
        assert len(proxy.post(request("huge")).content) > HUGE


def test_a_client_that_sends_slowly_is_turned_away(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(a2a_proxy, "SLOWEST_S", 0.05)
    with proxied(server.url) as proxy:
        host, port = proxy.url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=60) as slow:
            slow.sendall(b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{")
            assert slow.recv(1000).startswith(b"HTTP/1.1 408")
        assert proxy.post(request("done")).status_code == 200
    assert proxy.watch.counts["turned away"] == 1


def test_a_client_that_does_not_read_holds_up_nobody(server: Server) -> None:
    with proxied(server.url) as proxy:
        with proxy.client.stream("POST", "/rpc", content=request("wait in the stream", stream=True), headers=EVENTS):
            assert server.waiting.acquire(timeout=60)
            assert proxy.post(request("done", ident=2)).status_code == 200
        server.go_on.set()  # the first client has gone
        assert proxy.post(request("done", ident=1)).status_code == 200
        names = {each["creditor"] for each in proxy.monitor.report()["obligations"]}
        assert "client" in names


def test_two_clients_under_one_id_are_two(server: Server, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    with proxied(server.url, log=log) as proxy, start_blocking_portal() as portal:

        async def both() -> list[Any]:
            import asyncio

            async with httpx2.AsyncClient(base_url=proxy.url, trust_env=False, timeout=60) as client:
                posts = [client.post("/rpc", content=request("wait", old=old), headers=JSON) for old in (True, False)]
                tasks = [asyncio.ensure_future(post) for post in posts]
                for _ in tasks:
                    assert await asyncio.to_thread(server.waiting.acquire, timeout=60)
                server.go_on.set()
                return [one.json() for one in await asyncio.gather(*tasks)]

        old, new = portal.call(both)
        assert old["result"]["kind"] == "task"
        assert "task" in new["result"]
        assert proxy.rules() == []
    report = audit_file(log).to_data()
    assert sorted(each["creditor"] for each in report["obligations"]) == ["client", "client-2"]
    assert [each["status"] for each in report["obligations"]] == ["fulfilled"] * 2
    assert report["messages"] == []


def test_the_log_is_gone_on_with(server: Server, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    with proxied(server.url, log=log) as proxy:
        proxy.post(request("done"))
    log.write_bytes(log.read_bytes() + b'{"at": "2026-')  # killed while it wrote
    told: list[str] = []
    for number in (2, 3):
        with proxied(server.url, block=True, log=log, on_violation=lambda found: told.append(found.id)) as proxy:
            assert proxy.post(request("more", ident=number, task="t1")).json()["error"]["code"] == -32004
    assert told == ["3", "5"], "what the log held is not told again"
    assert proxy.monitor.report()["messages"] == audit_file(log).to_data()["messages"]
    assert proxy.monitor.report()["obligations"] == audit_file(log).to_data()["obligations"]
    other = tmp_path / "other"
    other.write_text("dear diary", encoding="utf-8")
    with pytest.raises(LogError):
        A2AWatch(A2AMonitor(), other)


def test_what_is_owed_too_long_is_overdue(server: Server) -> None:
    late: list[str] = []
    with proxied(server.url, ttl=3600, on_overdue=lambda owed: late.append(owed.kind)) as proxy:
        proxy.post(request("work"))
        (owed,) = proxy.monitor.open()
        proxy.monitor.check((owed.opened_at or 0) + 3601)
    assert late == ["performance"]


@pytest.mark.parametrize("block", [False, True])
def test_what_is_nested_deep_breaks_nothing(server: Server, tmp_path: Path, block: bool) -> None:
    log = tmp_path / "log.jsonl"
    with proxied(server.url, block=block, log=log) as proxy:
        for depth in (*range(100, 1_100, 50), 100_000):
            body = request("done", ident=depth)[:-1] + b', "x": ' + b"[" * depth + b"]" * depth + b"}"
            assert proxy.post(body).status_code < 500
        assert proxy.post(request("done")).status_code == 200
    assert audit_file(log).tally.violations == proxy.monitor.counts["violations"]


# --- this machine only


def test_it_listens_to_this_machine_only(server: Server) -> None:
    assert all(map(is_loopback, ("127.0.0.1", "127.9.9.9", "::1", "[::1]", "localhost", "LOCALHOST")))
    assert not any(map(is_loopback, ("0.0.0.0", "::", "192.0.2.1", "example.org", "", "localhost.example.org")))  # noqa: S104
    with pytest.raises(UsageError, match="other machines"), proxied(server.url, host="0.0.0.0"):  # noqa: S104
        pass
    with proxied(server.url) as proxy:
        assert proxy.client.get("/x", headers={"host": "example.org"}).status_code == 403
        assert proxy.client.get("/x", headers={"host": "localhost:1"}).status_code == 200
        with pytest.raises(UsageError, match="cannot be listened to"):
            loopback._listener("127.0.0.1", int(proxy.url.rpartition(":")[2]))
    for wrong in ("127.0.0.1:9000", "ftp://x", "http://", "http://x/?q", ""):
        with pytest.raises(UsageError, match="no address"):
            A2AProxy(wrong, proxy.watch)


# --- events


EVENT_BYTES = st.lists(
    st.sampled_from([b"\n", b"\r", b"\r\n", b"data: x", b"data:y", b"data", b": c", b"id: 1", b"\xff"]), max_size=14
)


@given(EVENT_BYTES, st.lists(st.integers(0, 60), max_size=8))
def test_a_stream_is_cut_the_same_however_it_comes(parts: list[bytes], cuts: list[int]) -> None:
    whole_stream = b"".join(parts)
    one, many = EventSplitter(10_000), EventSplitter(10_000)
    at_once = one.feed(whole_stream)
    places = sorted({0, *(cut for cut in cuts if cut < len(whole_stream)), len(whole_stream)})
    pieces = [whole_stream[a:b] for a, b in itertools.pairwise(places)]
    events = [event for piece in pieces for event in many.feed(piece)]
    assert b"".join(at_once) + one.rest() == whole_stream
    assert events == at_once
    data = [found for event in at_once if (found := data_of(event)) is not None]
    lines = whole_stream.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
    blocks: list[list[bytes]] = [[]]
    for line in lines[:-1]:
        if line:
            blocks[-1].append(line)
        else:
            blocks.append([])
    expected = [
        b"\n".join(line[5:].removeprefix(b" ") if line != b"data" else b"" for line in block
                   if line == b"data" or line.startswith(b"data:"))
        for block in blocks[:-1] if any(line == b"data" or line.startswith(b"data:") for line in block)
    ]  # fmt: skip
    assert data == expected[: len(data)]
    assert len(expected) - len(data) in {0, 1}, "an end that may go on waits for what comes"


def test_events_have_an_end() -> None:
    with pytest.raises(ValueError, match="longer"):
        EventSplitter(10).feed(b"data: 12345678")
    assert data_of(event_of(b"{}")) == b"{}"


# --- the command


CODE = """
import sys
from dissensus.cli import main
main.COMMANDS.setdefault("proxy", "dissensus.cli.proxy:proxy")
main.HELP.setdefault("proxy", "")
main.main()
"""


@contextlib.contextmanager
def command(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    script = [sys.executable, "-c", CODE, "proxy", "a2a", *arguments]
    with subprocess.Popen(script, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize(("sign", "bad"), [(signal.SIGINT, True), (signal.SIGTERM, False)])
def test_the_command_ends_with_a_report(server: Server, tmp_path: Path, sign: signal.Signals, bad: bool) -> None:
    log = tmp_path / "log.jsonl"
    options = ["--to", server.url, "--block", "--log", str(log), "--deadline", "1 h", "--json"]
    with command(*options) as process:
        assert process.stderr is not None
        address = process.stderr.readline().split()[2].rstrip(",")
        with httpx2.Client(base_url=address, trust_env=False, timeout=60) as client:
            client.post("/rpc", content=request("done"), headers=JSON)
            if bad:
                client.post("/rpc", content=request("more", ident=2, task="t1"), headers=JSON)
            with client.stream("POST", "/rpc", content=request("wait in the stream", ident=3, stream=True),
                               headers=EVENTS):  # fmt: skip
                process.send_signal(sign)
                out, err = process.communicate(timeout=60)
    report = json.loads(out)
    assert process.returncode == (1 if bad else 0), err
    assert report["counts"]["violations"] == bad
    assert report["format"] == "a2a"
    assert report["proxy"].get("blocked", 0) == bad
    assert ("illegal #3 t1: The task is completed" in err) == bad
    assert report["messages"] == audit_file(log).to_data()["messages"]
    assert not (tmp_path / "log.jsonl-lock").exists()


def test_the_command_in_words(server: Server) -> None:
    with command("--to", server.url) as process:
        assert process.stderr is not None
        address = process.stderr.readline().split()[2].rstrip(",")
        httpx2.post(f"{address}/rpc", content=request("work"), headers=JSON, trust_env=False)
        os.kill(process.pid, signal.SIGINT)
        out, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert out.splitlines()[0].startswith("t1")
    assert "1 open commitment" in out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--to", "nowhere"], "no address of a server"),
        (["--to", "http://127.0.0.1:9", "--host", "0.0.0.0"], "reached from other machines"),  # noqa: S104
        (["--to", "http://127.0.0.1:9", "--deadline", "soon"], "--deadline 'soon'"),
        (["--to", "http://127.0.0.1:9", "--wire-version", "9"], "'9' is not one of"),
        (["--to", "http://127.0.0.1:9", "--log", "no/such/folder"], "cannot be written"),
    ],
)
def test_the_command_used_wrongly(arguments: list[str], says: str) -> None:
    with command(*arguments) as process:
        _, err = process.communicate(timeout=60)
    assert process.returncode in {2, 3}
    assert says in err
    assert "Traceback" not in err


def test_a_task_as_the_server_tells_it() -> None:
    assert whole("t", "working", old=True)["kind"] == "task"  # the test's own server keeps to both wires
