"""The same requests to the official SDK's server and to ours: one table, and every difference has its reason."""

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

import pytest
from django.test import Client

from tests.django.endpoint.official import Answered, HttpRequest, Json, ask_official

SOUND = {
    "host": "localhost:8000",
    "content-type": "application/json",
    "accept": "application/json, text/event-stream",
}
VERSION, CAPABILITIES = "io.modelcontextprotocol/protocolVersion", "io.modelcontextprotocol/clientCapabilities"
META: Json = {VERSION: "2026-07-28", CAPABILITIES: {}}
HANDSHAKE: Json = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}
CALL: Json = {"name": "echo", "arguments": {"text": "x"}}


def message(method: object, params: object = None, **more: Any) -> bytes:  # Any: members of the envelope
    whole = {"jsonrpc": "2.0", "id": 1, "method": method, **({} if params is None else {"params": params}), **more}
    return json.dumps({key: value for key, value in whole.items() if value is not ...}).encode()


def legacy(body: bytes, method: str = "POST", **headers: str | None) -> HttpRequest:
    return HttpRequest(body, _with(SOUND, headers), method)


def modern(
    method: str, params: Mapping[str, Any] | None = None, *, meta: object = META, **headers: str | None
) -> HttpRequest:
    own = {**SOUND, "mcp-protocol-version": "2026-07-28", "mcp-method": method}
    if params is not None and isinstance(params.get("name"), str):
        own["mcp-name"] = params["name"]
    return HttpRequest(message(method, {**(params or {}), "_meta": meta}), _with(own, headers))


def _with(headers: Mapping[str, str], changes: Mapping[str, str | None]) -> dict[str, str]:
    changed = {**headers, **{name.replace("_", "-"): value for name, value in changes.items()}}
    return {name: value for name, value in changed.items() if value is not None}


REQUESTS: dict[str, HttpRequest] = {
    # sound, legacy
    "initialize": legacy(message("initialize", HANDSHAKE)),
    "initialize, newest legacy": legacy(message("initialize", {**HANDSHAKE, "protocolVersion": "2025-11-25"})),
    "initialize, unknown revision": legacy(message("initialize", {**HANDSHAKE, "protocolVersion": "1999"})),
    "initialized": legacy(message("notifications/initialized", id=...)),
    "cancelled": legacy(message("notifications/cancelled", {"requestId": 1}, id=...)),
    "unknown notification": legacy(message("notifications/x", id=...)),
    "an answer": legacy(b'{"jsonrpc":"2.0","id":1,"result":{}}'),
    "ping": legacy(message("ping")),
    "ping, id a text": legacy(message("ping", id="a")),
    "ping, params null": legacy(b'{"jsonrpc":"2.0","id":1,"method":"ping","params":null}'),
    "list": legacy(message("tools/list"), mcp_protocol_version="2025-06-18"),
    "list, oldest": legacy(message("tools/list"), mcp_protocol_version="2024-11-05"),
    "list, cursor null": legacy(message("tools/list", {"cursor": None})),
    "call": legacy(message("tools/call", CALL), mcp_protocol_version="2025-11-25"),
    "call, with a session id": legacy(message("tools/call", CALL), mcp_session_id="x"),
    "call, with a progress token": legacy(message("tools/call", {**CALL, "_meta": {"progressToken": 1}})),
    # unsound, legacy
    "initialize without params": legacy(message("initialize")),
    "initialize without capabilities": legacy(message("initialize", {**HANDSHAKE, "capabilities": None})),
    "initialize without clientInfo": legacy(message("initialize", {**HANDSHAKE, "clientInfo": None})),
    "initialize, revision a number": legacy(message("initialize", {**HANDSHAKE, "protocolVersion": 5})),
    "list, cursor a number": legacy(message("tools/list", {"cursor": 5})),
    "list, _meta a number": legacy(message("tools/list", {"_meta": 5})),
    "call without params": legacy(message("tools/call")),
    "call without name": legacy(message("tools/call", {"arguments": {}})),
    "call, name a number": legacy(message("tools/call", {"name": 5})),
    "call, arguments a list": legacy(message("tools/call", {"name": "echo", "arguments": []})),
    "call, arguments a text": legacy(message("tools/call", {"name": "echo", "arguments": "x"})),
    "call of nothing": legacy(message("tools/call", {"name": "nope"})),
    "unknown method": legacy(message("x")),
    "resources": legacy(message("resources/list")),
    "prompts": legacy(message("prompts/get", {"name": "x"})),
    "level": legacy(message("logging/setLevel", {"level": "info"})),
    "completion": legacy(
        message(
            "completion/complete", {"ref": {"type": "ref/prompt", "name": "x"}, "argument": {"name": "a", "value": ""}}
        )
    ),
    "discover, without _meta": legacy(message("server/discover")),
    "no JSON": legacy(b"nonsense"),
    "an empty body": legacy(b""),
    "half a message": legacy(b'{"jsonrpc":"2.0","id":1,'),
    "not UTF-8": legacy(b'{"jsonrpc":"2.0","id":1,"method":"\xff"}'),
    "NaN": legacy(b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":NaN}}'),
    "a key twice": legacy(b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":1,"a":2}}'),
    "a scalar": legacy(b"5"),
    "a batch": legacy(b"[" + message("ping") + b"]"),
    "a batch, later revision": legacy(b"[" + message("ping") + b"]", mcp_protocol_version="2025-06-18"),
    "an empty batch": legacy(b"[]"),
    "no jsonrpc": legacy(message("ping", jsonrpc=...)),
    "jsonrpc 1.0": legacy(message("ping", jsonrpc="1.0")),
    "id null": legacy(message("ping", id=None)),
    "id true": legacy(message("ping", id=True)),
    "id 1.5": legacy(message("ping", id=1.5)),
    "id a list": legacy(message("ping", id=[1])),
    "method a number": legacy(message(5)),
    "params a list": legacy(message("ping", [1])),
    "no method": legacy(message(...)),
    # sound, modern
    "modern discover": modern("server/discover"),
    "modern list": modern("tools/list"),
    "modern call": modern("tools/call", CALL),
    "modern call, name in base64": modern("tools/call", CALL, mcp_name="=?base64?ZWNobw==?="),
    "modern notification": HttpRequest(
        message("notifications/cancelled", {"requestId": 1}, id=...), {**SOUND, "mcp-protocol-version": "2026-07-28"}
    ),
    # unsound, modern
    "modern, no _meta": HttpRequest(
        message("tools/list"), {**SOUND, "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/list"}
    ),
    "modern, _meta a number": modern("tools/list", meta=5),
    "modern, no capabilities": modern("tools/list", meta={VERSION: "2026-07-28"}),
    "modern, no version in the body": modern("tools/list", meta={CAPABILITIES: {}}),
    "modern, version a number": modern("tools/list", meta={**META, VERSION: 5}),
    "modern, no version header": modern("tools/list", mcp_protocol_version=None),
    "modern, header of another revision": modern("tools/list", mcp_protocol_version="2025-11-25"),
    "modern, no method header": modern("tools/list", mcp_method=None),
    "modern, other method header": modern("tools/list", mcp_method="tools/call"),
    "modern, no name header": modern("tools/call", CALL, mcp_name=None),
    "modern, other name header": modern("tools/call", CALL, mcp_name="other"),
    "modern, bad base64 in a header": modern("tools/call", CALL, mcp_name="=?base64?!?="),
    "modern, unknown revision": modern(
        "tools/list", meta={**META, VERSION: "2099-01-01"}, mcp_protocol_version="2099-01-01"
    ),
    "modern, a legacy revision": modern(
        "tools/list", meta={**META, VERSION: "2025-11-25"}, mcp_protocol_version="2025-11-25"
    ),
    "modern ping": modern("ping"),
    "modern initialize": modern("initialize", HANDSHAKE),
    "modern level": modern("logging/setLevel", {"level": "info"}),
    "modern unknown method": modern("x"),
    "modern resources": modern("resources/list"),
    "modern subscriptions": modern("subscriptions/listen", {"notifications": {}}),
    "modern call of nothing": modern("tools/call", {"name": "nope"}),
    "modern call without name": modern("tools/call", {}),
    "modern call, name a number": modern("tools/call", {"name": 5}, mcp_name="5"),
    "modern call, arguments a list": modern("tools/call", {"name": "echo", "arguments": []}),
    "modern, no JSON": HttpRequest(b"nonsense", {**SOUND, "mcp-protocol-version": "2026-07-28"}),
    "modern batch": HttpRequest(b"[" + message("ping") + b"]", {**SOUND, "mcp-protocol-version": "2026-07-28"}),
    "modern answer": HttpRequest(
        b'{"jsonrpc":"2.0","id":1,"result":{}}', {**SOUND, "mcp-protocol-version": "2026-07-28"}
    ),
    "modern, id null": HttpRequest(message("ping", id=None), {**SOUND, "mcp-protocol-version": "2026-07-28"}),
    "modern, id 1.5": HttpRequest(message("ping", id=1.5), {**SOUND, "mcp-protocol-version": "2026-07-28"}),
    "modern, no jsonrpc": HttpRequest(message("ping", jsonrpc=...), {**SOUND, "mcp-protocol-version": "2026-07-28"}),
    "modern, params a list": HttpRequest(message("ping", [1]), {**SOUND, "mcp-protocol-version": "2026-07-28"}),
    "unknown revision in the header alone": legacy(message("tools/list"), mcp_protocol_version="1999-01-01"),
    "unknown revision of a notification": legacy(
        message("notifications/initialized", id=...), mcp_protocol_version="1999-01-01"
    ),
    "initialize with a modern header": legacy(message("initialize", HANDSHAKE), mcp_protocol_version="2026-07-28"),
    # HTTP
    "accept JSON alone": legacy(message("ping"), accept="application/json"),
    "accept anything": legacy(message("ping"), accept="*/*"),
    "accept nothing that we have": legacy(message("ping"), accept="text/html"),
    "accept streams alone": legacy(message("ping"), accept="text/event-stream"),
    "no accept": legacy(message("ping"), accept=None),
    "content type with a charset": legacy(message("ping"), content_type="application/json; charset=utf-8"),
    "content type of a form": legacy(message("ping"), content_type="application/x-www-form-urlencoded"),
    "no content type": legacy(message("ping"), content_type=None),
    "DELETE": legacy(b"", "DELETE"),
    "PUT": legacy(message("ping"), "PUT"),
    "PATCH": legacy(message("ping"), "PATCH"),
    "modern GET": legacy(b"", "GET", mcp_protocol_version="2026-07-28"),
    "modern DELETE": legacy(b"", "DELETE", mcp_protocol_version="2026-07-28"),
    "another site's page": legacy(message("ping"), origin="https://evil.example"),
    "a body over the bound": legacy(message("ping", {"a": "x" * (4 * 1024 * 1024)})),
}

_JSON_RPC = "JSON-RPC has -32600 for what is no request, and so has the SDK in the modern era."
_NO_REQUEST = (Answered(400, -32600), _JSON_RPC)
_AMBIGUOUS = "Two readers could take it differently, so nobody is asked to: neither duplicate keys nor NaN are JSON."
_BY_THE_BODY = (
    "A request is modern by its own word, and must then say so in its headers; the SDK looks at the header alone."
)
_IN_WORDS = "The same status; the SDK sends no body with it, or a line of text, and we say in JSON-RPC what to do."
# The name of a request: what we answer in place of the SDK's answer, and why.
DIFFERENCES: dict[str, tuple[Answered, str]] = {
    "no jsonrpc": _NO_REQUEST,
    "jsonrpc 1.0": _NO_REQUEST,
    "id null": _NO_REQUEST,
    "id true": _NO_REQUEST,
    "id 1.5": _NO_REQUEST,
    "id a list": _NO_REQUEST,
    "method a number": _NO_REQUEST,
    "params a list": _NO_REQUEST,
    "no method": _NO_REQUEST,
    "an empty batch": _NO_REQUEST,
    "a batch, later revision": _NO_REQUEST,
    "a scalar": (Answered(400, -32700), "Nothing that is no object is read any further."),
    "a batch": (Answered(200), "2025-03-26 has batches, servers must take them, and its clients send no header."),
    "NaN": (Answered(400, -32700), _AMBIGUOUS),
    "a key twice": (Answered(400, -32600), _AMBIGUOUS),
    "modern, no version header": (Answered(400, -32020), _BY_THE_BODY),
    "modern, header of another revision": (Answered(400, -32020), _BY_THE_BODY),
    "modern, a legacy revision": (Answered(400, -32022), _BY_THE_BODY),
    "modern, version a number": (Answered(400, -32602), "No header could agree with it: the body is what is wrong."),
    "modern call, name a number": (Answered(400, -32602), "As above."),
    "unknown revision in the header alone": (
        Answered(400, -32022),
        "What is spoken here is told, as to everybody else.",
    ),
    "initialize with a modern header": (
        Answered(200, None, ("capabilities", "protocolVersion", "serverInfo")),
        "A client that falls back to the handshake may still send the header of its first attempt.",
    ),
    "no accept": (Answered(200), "HTTP: a client that does not say takes anything."),
    "content type of a form": (Answered(415, -32600), "HTTP has a status for it."),
    "no content type": (Answered(415, -32600), "As above."),
    "modern GET": (Answered(405, -32600), _IN_WORDS),
    "modern DELETE": (Answered(405, -32600), _IN_WORDS),
    "another site's page": (Answered(403, -32600), _IN_WORDS),
    "a body over the bound": (Answered(413, -31004), _IN_WORDS),
}


def ask_ours(request: HttpRequest) -> Answered:
    client = Client(raise_request_exception=False)
    headers = {"content-type": "", **request.headers}  # or Django's client makes one up
    response = client.generic(request.method, "/mcp/", request.body, headers=headers)
    return Answered.of(response.status_code, response.content)


@cache
def official() -> dict[str, Answered]:
    return dict(zip(REQUESTS, ask_official(list(REQUESTS.values())), strict=True))


@pytest.mark.parametrize("name", REQUESTS)
def test_every_request_is_answered_as_the_official_server_does_or_with_a_reason(name: str) -> None:
    ours, theirs = ask_ours(REQUESTS[name]), official()[name]
    expected, reason = DIFFERENCES.get(name, (theirs, ""))
    assert ours == expected, f"the SDK: {theirs}"
    assert (ours == theirs) == (reason == "")


def test_differences_are_of_requests_that_are_asked() -> None:
    assert DIFFERENCES.keys() <= REQUESTS.keys()
