"""The official clients sign in by OAuth, at an authorization server that nobody here wrote."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.gateway.running import Serving, read_records, running
from tests.gateway.signed import token
from tests.gateway.test_sign_in import stub_of
from tests.gateway.translate.servers.asking import LEGACY, MODERN
from tests.parts import Json, Parts, free_port

SCOPES = "old:read old:admin new:read new:admin"
MODES = ["auto", "legacy", "2026-07-28"]
CLIENTS = pytest.mark.parametrize("client", ["py", "ts"])


@pytest.fixture(scope="module")
def provider(parts: Parts) -> Iterator[str]:
    with parts.authorization_server(SCOPES) as url:
        yield url


@pytest.fixture(scope="module")
def gateway(provider: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    folder, port = tmp_path_factory.mktemp("signing"), free_port()
    stubs = {name: stub_of(folder, name, versions) for name, versions in (("old", LEGACY), ("new", MODERN))}
    servers = {name: {"command": stub.command[0], "args": stub.command[1:]} for name, stub in stubs.items()}
    issuers = [{"name": "corp", "issuer": provider}]
    auth = {
        "mode": "oauth",
        "public_url": f"http://127.0.0.1:{port}",
        "issuers": issuers,
        "scopes": ["old:read", "new:read"],
    }
    with running(servers, folder, port=port, start="eager", auth=auth) as serving:
        yield serving


def tools(path: str) -> list[str]:
    return ["look", "wipe", "look"] if path != "/mcp" else ["old__look", "new__wipe", "new__look"]


@CLIENTS
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("path", ["/mcp/old", "/mcp/new", "/mcp"])
def test_a_person_signs_in_and_steps_up_for_the_call_that_needs_more(
    gateway: Serving, parts: Parts, client: str, mode: str, path: str
) -> None:
    *called, last = parts.oauth_client(
        client, f"{gateway.base}{path}", f"{client}-{mode}", tools(path), mode=mode, known_as="agent"
    )
    assert called == [{"text": "fine", "is_error": False}] * 3
    first, second = (set(asked.split()) - {"offline_access"} for asked in last["asked"])
    assert first == {"old:read", "new:read"}
    assert second - first == {("new" if path != "/mcp/old" else "old") + ":admin"}
    assert {record.actor for record in read_records(gateway.state, tool="wipe")} >= {f"corp:{client}-{mode}"}


@CLIENTS
def test_a_client_that_nobody_knows_registers_itself(gateway: Serving, parts: Parts, client: str) -> None:
    called = parts.oauth_client(client, f"{gateway.base}/mcp/old", "stranger", ["look"])
    assert called[0] == {"text": "fine", "is_error": False}


@CLIENTS
@pytest.mark.parametrize("mode", MODES)
def test_a_client_with_a_token_needs_no_sign_in(gateway: Serving, parts: Parts, client: str, mode: str) -> None:
    text = token(gateway.state, "old:read")
    *called, last = parts.oauth_client(client, f"{gateway.base}/mcp/old", "", ["look"], mode=mode, bearer=text)
    assert (called, last) == ([{"text": "fine", "is_error": False}], {"asked": []})


def test_a_program_signs_in_as_itself(gateway: Serving, provider: str, tmp_path: Path) -> None:
    """The grant for programs, with curl as a person would try it."""
    form = f"grant_type=client_credentials&scope=old:read&resource={gateway.base}/mcp/old"
    asked = ["curl", "-s", "-u", "robot:secret", "-d", form, f"{provider}/token"]
    text = json.loads(subprocess.run(asked, capture_output=True, check=True).stdout)["access_token"]
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": META}})
    headers = [f"Authorization: Bearer {text}", "Content-Type: application/json", "MCP-Protocol-Version: 2026-07-28"]
    headers += ["Accept: application/json, text/event-stream", "Mcp-Method: tools/list"]
    flags = [part for header in headers for part in ("-H", header)]
    done = subprocess.run(
        ["curl", "-s", *flags, "-d", body, f"{gateway.base}/mcp/old"], capture_output=True, check=True
    )
    found: Json = json.loads(done.stdout)
    assert [tool["name"] for tool in found["result"]["tools"]] == ["look"]


META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "curl", "version": "1"},
}
