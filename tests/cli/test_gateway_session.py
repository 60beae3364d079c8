"""The short sessions of `call` and `tools`, with servers of either era and gateways of any kind."""

import json
from collections.abc import Callable
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
