"""Bodies over HTTP: what is odd is answered before the SDK reads it, and never to somebody who was not let in."""

import asyncio
import http.client
import json
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from mcp.server.auth.provider import AccessToken
from mcp.server.auth.settings import AuthSettings
from pydantic import AnyHttpUrl

from handfast.toolkit import Toolbox
from tests.toolkit.contacts import make_toolbox
from tests.toolkit.records import Kept
from tests.toolkit.serve.test_serving import serving

TWICE = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"a","text":"b"}}}'
JSON = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}


class OneToken:
    async def verify_token(self, token: str) -> AccessToken | None:
        return AccessToken(token=token, client_id="grace", scopes=[]) if token == "right" else None


def post(url: str, body: bytes, headers: dict[str, str]) -> tuple[int, Any]:
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=15)
    try:
        connection.request("POST", parts.path, body, JSON | headers)
        response = connection.getresponse()
        text = response.read()
        return response.status, json.loads(text) if text.startswith(b"{") else text
    finally:
        connection.close()


def ask(tools: Toolbox, state: Path, *bodies: bytes, headers: dict[str, str] | None = None, **more: Any) -> list[Any]:
    async def session() -> list[Any]:
        async with serving(tools.asgi(state=str(state), **more)) as url:
            return [await asyncio.to_thread(post, url, body, headers or {}) for body in bodies]

    return asyncio.run(session())


@pytest.mark.requirement("D20")
def test_an_odd_body_is_answered_with_the_status_that_its_answer_has(tmp_path: Path) -> None:
    notification = b'{"jsonrpc":"2.0","method":"notifications/x","params":{"a":1,"a":2}}'
    refused, nonsense, said = ask(make_toolbox(), tmp_path, TWICE, b"nonsense", notification)
    assert refused[0] == 200
    assert refused[1]["result"]["content"][0]["text"] == (
        "The arguments are ambiguous: an object has the same key twice. Send plain JSON and call again."
    )
    assert (nonsense[0], nonsense[1]["error"]["code"]) == (400, -32700)
    assert said == (202, b"")


@pytest.mark.requirement("D18")
def test_who_was_not_let_in_learns_nothing_and_who_was_is_on_record(tmp_path: Path) -> None:
    local = AnyHttpUrl("http://127.0.0.1")
    auth = {"auth": AuthSettings(issuer_url=local, resource_server_url=None), "token_verifier": OneToken()}
    kept = Kept()
    tools = make_toolbox(recorder=kept)
    (stranger,) = ask(tools, tmp_path, TWICE, headers={"Authorization": "Bearer wrong"}, **auth)
    assert stranger[0] == 401
    assert kept.records == []
    (known,) = ask(make_toolbox(recorder=kept), tmp_path, TWICE, headers={"Authorization": "Bearer right"}, **auth)
    assert known[0] == 200
    assert {record.actor for record in kept.records} == {"grace"}


def test_a_body_beyond_the_limit_is_still_refused_by_the_sdk(tmp_path: Path) -> None:
    ((status, _),) = ask(make_toolbox(), tmp_path, b'{"a":1,"a":"%s"}' % (b"x" * 2000), max_request_body_size=1000)
    assert status == 413
