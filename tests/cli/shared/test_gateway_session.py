"""The short sessions of `call` and `tools`, with servers of either era and gateways of any kind."""

import contextlib
import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.cli.conftest import DemoGateway, Ran
from tests.stubs.run import answer, serving, tool, write_stub

Run = Callable[..., Ran]
FINE = {"content": [{"type": "text", "text": "fine"}], "resultType": "complete"}


def write_settings(folder: Path, **servers: object) -> None:
    (folder / "handfast.json").write_text(json.dumps({"listen": "127.0.0.1:1", "mcpServers": servers}))


@pytest.mark.parametrize("transport", ["stdio", "http-json", "http-sse"])
@pytest.mark.parametrize("name", ["plain", "caf\u00e9", "two words", "=?base64?eA==?="])
def test_a_server_that_is_only_modern_is_called_without_a_handshake(
    handfast: Run, tmp_path: Path, transport: str, name: str
) -> None:
    stub = write_stub(tmp_path, tools=[tool(name)], answers={name: answer(FINE)}, versions=["2026-07-28"])
    if transport == "stdio":
        write_settings(tmp_path, up={"command": stub.command[0], "args": stub.command[1:]})
        ran = handfast("call", "up", name)
    else:
        with serving(stub, "http-json" if transport == "http-json" else "http-sse") as url:
            write_settings(tmp_path, up={"url": url})
            ran = handfast("call", "up", name)
    assert ran == Ran(0, "fine\n", "")
    assert len(stub.journal.calls(name)) == 1


def test_a_stream_with_news_before_the_answer_is_read_to_the_answer(handfast: Run, tmp_path: Path) -> None:
    stub = write_stub(tmp_path, tools=[tool("slow")], answers={"slow": answer(FINE, "progress:3:0.001")})
    with serving(stub, "http-sse") as url:
        write_settings(tmp_path, up={"url": url})
        assert handfast("call", "up", "slow") == Ran(0, "fine\n", "")


@pytest.mark.parametrize(
    ("status", "body", "advice"),
    [
        (501, b"<html>", "Check the server's url, or begin a new session."),
        (404, b'{"detail": "Not Found"}', "Check the server's url, or begin a new session."),
        (401, b"", "Check the credentials in the server's headers setting."),
        (503, b"", "Try again later."),
    ],
)
def test_an_address_that_is_no_mcp_server_is_named_as_the_cause(
    handfast: Run, tmp_path: Path, status: int, body: bytes, advice: str
) -> None:
    with one_answer(status, body) as url:
        write_settings(tmp_path, up={"url": url})
        ran = handfast("call", "up", "x")
    about = f"The server answered with HTTP status {status} and no MCP message. {advice}"
    assert ran == Ran(1, "", f"handfast: {about}\n")


@pytest.mark.parametrize(("status", "body"), [(501, b"<html>"), (404, b'{"detail": "Not Found"}'), (401, b"")])
def test_an_address_that_is_no_gateway_is_named_as_the_cause(handfast: Run, status: int, body: bytes) -> None:
    with one_answer(status, body) as url:
        ran = handfast("call", "up", "x", "--url", url)
    about = f"the answer has HTTP status {status} and is not an MCP message; check the address"
    assert ran == Ran(1, "", f"handfast: {about}\n")


@contextlib.contextmanager
def one_answer(status: int, body: bytes) -> Iterator[str]:
    """A web server that knows one answer."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_words: object) -> None:
            """Nobody looks."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/mcp"
        finally:
            server.shutdown()
            thread.join()


def test_the_session_is_ended_behind_it(handfast: Run, demo: DemoGateway) -> None:
    for _ in range(3):
        assert handfast("call", "contacts", "list_contacts", "--url", demo.url).code == 0


def test_something_else_at_the_address_is_no_gateway(handfast: Run, tmp_path: Path) -> None:
    """A server of another kind listens where the gateway would: the call runs through a gateway of its own."""
    stub = write_stub(tmp_path, tools=[tool("plain")], answers={"plain": answer(FINE)})
    with serving(stub, "http-json") as url:
        listen = url.removeprefix("http://").partition("/")[0]
        entry = {"command": stub.command[0], "args": stub.command[1:]}
        (tmp_path / "handfast.json").write_text(json.dumps({"listen": listen, "mcpServers": {"up": entry}}))
        assert handfast("call", "up", "plain") == Ran(0, "fine\n", "")
        assert handfast("servers").out.splitlines()[1].split()[:4] == ["up", "stdio", "no", "gateway"]
