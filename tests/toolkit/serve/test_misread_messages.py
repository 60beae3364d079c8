"""Messages that are found before the SDK reads them: what counts as odd, and what is said."""

import asyncio
import gzip
import http.client
import json
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp.server.auth.provider import AccessToken
from mcp.server.auth.settings import AuthSettings
from pydantic import AnyHttpUrl

from handfast.activity.recorder import ThreadRecorder
from handfast.activity.store import open_store
from handfast.toolkit import Toolbox
from handfast.toolkit.serve.misread_messages import answer_odd, is_plain
from tests.toolkit.contacts import make_toolbox
from tests.toolkit.records import Kept
from tests.toolkit.serve.test_serving import records, serving

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(st.text(), VALUES, max_size=4)


def call(**params: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()


@given(arguments=OBJECTS)
def test_a_call_with_any_object_is_plain(arguments: dict[str, Any]) -> None:
    assert is_plain(call(name="x", arguments=arguments))
    assert is_plain(call(name="x"))
    assert is_plain(call(name="x", arguments=None))


@given(message=OBJECTS)
def test_any_other_object_is_left_to_the_sdk(message: Any) -> None:
    assert is_plain(json.dumps(message).encode())


CALL = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":%s}}}'
BATCH = "A batch is not supported. Send one message at a time."
UNREADABLE = [
    ("[" + CALL % '"a"' + "]", "request.refused", BATCH),
    (CALL % "NaN", "request.refused", "The message holds NaN or Infinity, which JSON does not have."),
    (CALL.replace('"name"', '"name":"x","name"') % '"a"', "message.ambiguous", "The request is ambiguous: a key"),
    ((CALL % '"a"').encode("utf-16"), "request.refused", "The message is not valid UTF-8."),
    (gzip.compress((CALL % '"a"').encode()), "request.refused", "The message is not valid UTF-8."),
]


@pytest.mark.parametrize(("text", "rule", "told"), UNREADABLE, ids=range(len(UNREADABLE)))
def test_a_call_that_is_refused_before_it_is_read_is_on_record(text: str | bytes, rule: str, told: str) -> None:
    kept = Kept()
    body = text.encode() if isinstance(text, str) else text
    assert not is_plain(body)
    answer = asyncio.run(answer_odd(body, make_toolbox(recorder=kept)))
    assert answer is not None
    assert json.loads(answer.message)["error"]["message"].startswith(told)
    assert kept.told() == [("diagnostic", "blocked", "", rule)]
    assert kept.records[0].reason.startswith(f"A request was refused: {told}")


def test_a_recorder_that_counts_refusals_counts_these(tmp_path: Path) -> None:
    recorder = ThreadRecorder(open_store(tmp_path), whole_refusals=3)
    tools = make_toolbox(recorder=recorder)
    for _ in range(9):
        asyncio.run(answer_odd((CALL % "NaN").encode(), tools))
    recorder.close()
    assert [rule for *_, rule, _actor in records(tmp_path)] == ["request.refused"] * 4


MODERN = '"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}'


@pytest.mark.requirement("D20")
@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('"arguments":{"a":1,"a":1}', {"isError": True}),
        (f'{MODERN},"arguments":{{"a":{{"b":1,"b":1}}}}', {"isError": True, "resultType": "complete"}),
    ],
)
def test_a_refused_call_is_a_result_of_the_callers_era(text: str, told: dict[str, object]) -> None:
    message = f'{{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{{"name":"echo",{text}}}}}'.encode()
    assert not is_plain(message)
    answer = asyncio.run(answer_odd(message, make_toolbox()))
    assert answer is not None
    result = json.loads(answer.message)["result"]
    assert {key: result.get(key) for key in ("isError", "resultType") if key in result} == told
    assert result["content"][0]["text"].startswith("The arguments are ambiguous: an object has the same key twice.")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ('"name":"nobody","arguments":[]', -32602),
        ('"name":7,"arguments":[]', -32600),
        ('"name":"\\ud800","arguments":[]', -32600),
        ('"name":"echo","arguments":{},"_meta":{"x":{"a":1,"a":2}}', -32600),
    ],
)
def test_what_is_wrong_outside_the_arguments_is_an_error_of_the_protocol(text: str, code: int) -> None:
    message = f'{{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{{{text}}}}}'.encode()
    answer = asyncio.run(answer_odd(message, make_toolbox()))
    assert answer is not None
    told = json.loads(answer.message)
    assert (answer.is_error, told["id"], told["error"]["code"]) == (True, 5, code)


def test_nothing_is_said_to_what_wants_no_answer() -> None:
    for text in (
        b'{"jsonrpc":"2.0","method":"notifications/x","params":{"a":1,"a":2}}',
        b'{"jsonrpc":"2.0","id":1,"result":{}}',
    ):
        assert asyncio.run(answer_odd(text, make_toolbox())) is None


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
