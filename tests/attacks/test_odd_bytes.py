"""Messages that are odd on purpose: too deep, not quite Unicode, on two lines, with numbers nobody can hold."""

import http.client
import json
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from tests.contracts.rig import MODERN_META
from tests.gateway.running import Serving, running, send, stdio
from tests.gateway.translate.servers.asking import LEGACY, MODERN, Json
from tests.stubs.run import Stub, answer, tool, write_stub

DEEP = "[" * 1100 + "]" * 1100
TEXT = '{"content":[{"type":"text","text":"fine"}]}'
SMUGGLED = b'{"jsonrpc":"2.0","id":99,"method":"tools/call","params":{"name":"hidden","arguments":{}}}'
Stage = tuple[Serving, dict[str, Stub]]
PATHS = ["/mcp/old", "/mcp/new", "/mcp"]


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    folder = tmp_path_factory.mktemp("odd")
    stubs = {
        name: write_stub(
            folder,
            name=name,
            tools=[tool("add"), tool("hidden")],
            answers={"add": answer(TEXT), "hidden": answer(TEXT)},
            versions=versions,
        )
        for name, versions in (("old", LEGACY), ("new", MODERN))
    }
    with running({name: stdio(stub) for name, stub in stubs.items()}, folder) as gateway:
        yield gateway, stubs
        gateway.process.terminate()
        gateway.process.wait(20)
        assert b"Traceback" not in b"".join(gateway.errors)


def tool_at(path: str) -> str:
    return "old__add" if path == "/mcp" else "add"


def post(gateway: Serving, path: str, body: str | bytes, *, is_modern: bool, session: str = "", **headers: str) -> Json:
    given = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    if is_modern:
        given |= {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": tool_at(path)}
    if session:
        given["Mcp-Session-Id"] = session
    return send(gateway.base, "POST", path, body if isinstance(body, bytes) else body.encode(), given | headers)


def open_session(gateway: Serving, path: str, capabilities: str = "{}") -> Json:
    params = (
        f'{{"protocolVersion":"2025-11-25","capabilities":{capabilities},"clientInfo":{{"name":"x","version":"1"}}}}'
    )
    return post(gateway, path, f'{{"jsonrpc":"2.0","id":0,"method":"initialize","params":{params}}}', is_modern=False)


def call(path: str, *, request_id: str = "1", more: str = "", meta: str = "", is_modern: bool) -> str:
    known = json.dumps(MODERN_META)[1:-1] if is_modern else ""
    inner = ",".join(part for part in (known, meta) if part)
    return (
        f'{{"jsonrpc":"2.0","id":{request_id},"method":"tools/call","params":'
        f'{{"name":"{tool_at(path)}","arguments":{{}},"_meta":{{{inner}}}{more}}}}}'
    )


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("is_modern", [True, False])
@pytest.mark.parametrize(
    "odd",
    [
        {"request_id": "1" + "0" * 30},
        {"request_id": "9" * 5000},
        {"request_id": "-0.0"},
        {"request_id": "1e300"},
        {"request_id": '"\\u0000"'},
        {"more": f',"inputResponses":{DEEP}'},
        {"more": f',"requestState":{DEEP}'},
        {"more": ',"requestState":"\\ud800"'},
        {"more": ',"inputResponses":{"a":{},"a":{}},"requestState":"x"'},
        {"meta": f'"progressToken":{DEEP}'},
        {"meta": '"progressToken":"\\ud800"'},
        {"meta": '"io.modelcontextprotocol/logLevel":"\\ud800"'},
        {"meta": f'"io.modelcontextprotocol/logLevel":{DEEP}'},
        {"meta": '"io.modelcontextprotocol/logLevel":"de\\"bug"'},
        {"meta": f'"x":{DEEP}'},
    ],
    ids=lambda odd: next(iter(odd.items()))[0] + next(iter(odd.values()))[:45],
)
def test_an_odd_call_gets_an_answer_that_is_no_failure_of_ours(
    stage: Stage, path: str, is_modern: bool, odd: dict[str, str]
) -> None:
    gateway, _ = stage
    session = "" if is_modern else open_session(gateway, path).headers["mcp-session-id"]
    found = post(gateway, path, call(path, is_modern=is_modern, **odd), is_modern=is_modern, session=session)
    assert found.status in (200, 400), (found.status, found.body[:300])
    assert b"The gateway failed" not in found.body


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("capabilities", [f'{{"roots":{DEEP}}}', DEEP, '{"sampling":{"a":"\\ud800"}}', "[]", "7"])
def test_odd_capabilities_are_no_failure_of_ours(stage: Stage, path: str, capabilities: str) -> None:
    gateway, _ = stage
    found = open_session(gateway, path, capabilities)
    assert found.status in (200, 400), (found.status, found.body[:300])
    raw = call(path, is_modern=True).replace(
        '"io.modelcontextprotocol/clientCapabilities": {}',
        f'"io.modelcontextprotocol/clientCapabilities": {capabilities}',
    )
    assert capabilities in raw
    found = post(gateway, path, raw, is_modern=True)
    assert found.status in (200, 400), (found.status, found.body[:300])


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "wanted", [DEEP, f'{{"resourceSubscriptions":{DEEP}}}', f'{{"x":{DEEP}}}', '{"resourceSubscriptions":["\\ud800"]}']
)
def test_an_odd_subscription_is_no_failure_of_ours(stage: Stage, path: str, wanted: str) -> None:
    gateway, _ = stage
    meta = json.dumps(MODERN_META)
    params = f'{{"notifications":{wanted},"_meta":{meta}}}'
    raw = f'{{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{params}}}'
    address = urlsplit(gateway.base)
    connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=20)
    headers = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
    modern = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "subscriptions/listen"}
    connection.request("POST", path, raw.encode(), headers | modern)
    assert connection.getresponse().status in (200, 400)
    connection.close()  # an accepted one never ends by itself


@pytest.mark.requirement("B1")
@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("is_modern", [True, False])
@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"])
def test_nothing_is_smuggled_to_a_child_on_a_line_of_its_own(
    stage: Stage, path: str, is_modern: bool, end: bytes
) -> None:
    gateway, stubs = stage
    session = "" if is_modern else open_session(gateway, path).headers["mcp-session-id"]
    inner = end + SMUGGLED + end
    for odd in (b',"inputResponses":{"a":' + inner + b"}", b',"task":' + inner, b',"x":' + inner):
        raw = (
            call(path, is_modern=is_modern)
            .encode()
            .replace(b'"arguments":{}', b'"arguments":{"x":' + inner + b"}" + odd)
        )
        post(gateway, path, raw, is_modern=is_modern, session=session)
    assert not any(stub.journal.calls("hidden") for stub in stubs.values())


def test_an_address_with_too_much_in_it_is_refused(stage: Stage) -> None:
    gateway, _ = stage
    for query in (
        "&".join(f"servers=a{n}" for n in range(40)),
        "servers=old&x=1",
        "servers=%00",
        "servers=" + "a" * 5000,
    ):
        found = send(gateway.base, "POST", f"/mcp?{query}", b"{}", {"Content-Type": "application/json"})
        assert found.status in (400, 404), found.body
