"""`/mcp/<server>` for clients and servers of either era: untouched where they fit, bridged where they do not."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.contracts.rig import MODERN_META, Json
from tests.gateway.running import TEXT, Serving, request, running, send
from tests.gateway.translate.servers.asking import LEGACY, MODERN, PIPED, WAYS, Way, entry_for
from tests.stubs.run import Stub, answer, tool, write_stub

ASKED: Json = {"elicitation": {}}


@contextmanager
def gateway_for(
    folder: Path, way: Way, versions: list[str], *faults: str, **block: Json
) -> Iterator[tuple[Serving, Stub]]:
    stub = write_stub(folder, tools=[tool("add")], answers={"add": answer(TEXT, *faults)}, versions=versions)
    with entry_for(stub, way) as entry, running({"up": {**entry, "handfast": block}}, folder) as gateway:
        yield gateway, stub


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest) -> Way:
    return request.param  # type: ignore[no-any-return]  # one of WAYS


@pytest.mark.parametrize(("is_modern", "versions"), [(False, LEGACY), (True, MODERN), (False, [*LEGACY, *MODERN])])
def test_where_eras_fit_the_server_gets_the_client_s_own_words(
    tmp_path: Path, way: Way, is_modern: bool, versions: list[str]
) -> None:
    with gateway_for(tmp_path, way, versions) as (gateway, stub):
        client = gateway.client(is_modern=is_modern, capabilities=ASKED)
        assert client.call("add", b'{"n": 1.0}').text == "fine"
    (sent,) = stub.journal.calls("add")
    assert b'"arguments":{"n": 1.0}' in sent.bytes
    assert sent.message["params"].get("_meta") == (MODERN_META if is_modern else None)


@pytest.mark.parametrize(("is_modern", "versions"), [(True, LEGACY), (False, MODERN)])
def test_where_they_do_not_each_side_is_spoken_to_in_its_own_way(
    tmp_path: Path, way: Way, is_modern: bool, versions: list[str]
) -> None:
    with gateway_for(tmp_path, way, versions) as (gateway, stub):
        client = gateway.client(is_modern=is_modern, capabilities=ASKED)
        reply = client.call("add", b'{"n": 1.0}')
        assert (reply.text, reply.result.get("resultType")) == ("fine", "complete" if is_modern else None)
        assert [tool["name"] for tool in client.list_tools()] == ["add"]
        unknown = client.request("no/such", {})
        assert unknown.message["error"]["code"] == -32601
        assert unknown.status == (404 if is_modern else 200)
    (sent,) = stub.journal.calls("add")
    assert b'"arguments":{"n": 1.0}' in sent.bytes
    said = sent.message["params"].get("_meta", {})
    assert ("io.modelcontextprotocol/protocolVersion" in said) is not is_modern


@pytest.mark.requirement("E4")
@pytest.mark.parametrize("way", ["stdio", "http-json"])
def test_with_the_bridge_off_a_server_refuses_in_its_own_words(tmp_path: Path, way: Way) -> None:
    with gateway_for(tmp_path, way, LEGACY, bridge="off") as (gateway, stub):
        refused = gateway.client(is_modern=True).request("server/discover")
        assert refused.message["error"]["code"] in (-32601, -32600, -32602, -32000)
        assert refused.message["id"] == 1
        assert stub.journal.methods() == ["server/discover"]
    (tmp_path / "other").mkdir()
    with gateway_for(tmp_path / "other", way, MODERN, bridge="off") as (gateway, stub):
        assert "error" in gateway.client(opens=False).request("initialize", _opening()).message
        assert "server/discover" not in stub.journal.methods()


def _opening() -> Json:
    return {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}


@pytest.mark.requirement("E4")
def test_the_era_is_found_out_once_for_all_clients(tmp_path: Path, way: Way) -> None:
    with gateway_for(tmp_path, way, LEGACY) as (gateway, stub):
        for _ in range(3):
            assert gateway.client(is_modern=True).call("add").text == "fine"
    assert stub.journal.methods().count("server/discover") == 1


def test_a_bridged_session_that_has_ended_is_not_known_any_more(tmp_path: Path, way: Way) -> None:
    with gateway_for(tmp_path, way, MODERN) as (gateway, _):
        client = gateway.client()
        assert client.call("add").text == "fine"
        ended = gateway.client()
        assert _status(gateway, "DELETE", ended.session) in (200, 204)
        assert ended.post(request(9, "tools/list")).status == 404
        assert client.call("add").text == "fine"


def _status(gateway: Serving, method: str, session: str | None) -> int:
    return send(gateway.base, method, "/mcp/up", b"", {"Mcp-Session-Id": session or ""}).status


def test_a_request_that_is_wrong_in_itself_starts_no_process(tmp_path: Path) -> None:
    with gateway_for(tmp_path, "stdio", LEGACY) as (gateway, stub):
        client = gateway.client(is_modern=True)
        body = request(1, "tools/list", _meta=MODERN_META)
        assert client.post(body, {**client.headers(body), "Mcp-Method": "other"}).status == 400
        assert stub.journal.events("started") == []


@pytest.mark.parametrize("capabilities", [{}, ASKED], ids=["sharing", "own"])
def test_a_server_that_refused_the_handshake_is_not_asked_again(tmp_path: Path, way: Way, capabilities: Json) -> None:
    with gateway_for(tmp_path, way, MODERN) as (gateway, stub):
        for _ in range(3):
            assert gateway.client(capabilities=capabilities).call("add").text == "fine"
    assert stub.journal.methods().count("initialize") == 1


LEVEL = "io.modelcontextprotocol/logLevel"


def test_a_legacy_client_gets_log_messages_unasked_where_it_is_known_whose_they_are(tmp_path: Path, way: Way) -> None:
    with gateway_for(tmp_path, way, MODERN) as (gateway, stub):
        client = gateway.client()
        client.call("add")
        client.list_tools()
        client.request("logging/setLevel", {"level": "error"})
        client.call("add")
    levels = [sent.message["params"]["_meta"].get(LEVEL) for sent in stub.journal.calls("add")]
    assert levels == [None if way in PIPED else "info", "error"]
    lists = [entry.message for entry in stub.journal.messages() if entry.message.get("method") == "tools/list"]
    assert {sent["params"]["_meta"].get(LEVEL) for sent in lists} == {None}
