"""The body of one POST: a message, or a batch of a client whose revision has them."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handfast.toolkit.protocol.bodies import answer_body
from handfast.toolkit.protocol.replies import HEARD
from tests.django.endpoint.offered import MODERN, Reports, body, offer

PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
NOTE = {"jsonrpc": "2.0", "method": "notifications/initialized"}
PONG = {"jsonrpc": "2.0", "id": 1, "result": {}}


def batch(*messages: object) -> bytes:
    return json.dumps(messages).encode()


def codes(found: Any) -> list[object]:  # Any: JSON
    return [each.get("error", {}).get("code") for each in found]


def test_one_message_has_one_answer() -> None:
    reply = answer_body(body("ping"), [], offer())
    assert (reply.status, json.loads(reply.body)) == (200, PONG)


@pytest.mark.parametrize("headers", [[], [(b"mcp-protocol-version", b"2025-03-26")]])
def test_a_batch_is_answered_message_by_message_and_notifications_by_nothing(headers: Any) -> None:
    called = {"name": "add", "arguments": {"a": 1}}
    messages = [{**PING, "id": "a"}, NOTE, {**PING, "id": "b", "method": "tools/call", "params": called}]
    reply = answer_body(b" \r\n" + batch(*messages), headers, offer())
    first, second = json.loads(reply.body)
    assert (reply.status, first, second["id"]) == (200, {**PONG, "id": "a"}, "b")
    assert second["result"]["structuredContent"] == {"sum": 1}


def test_a_batch_that_wants_no_answer_gets_none() -> None:
    assert answer_body(batch(NOTE, NOTE), [], offer()) == HEARD


def test_one_bad_message_costs_the_others_nothing() -> None:
    crash = {**PING, "method": "tools/call", "params": {"name": "crash"}}
    reply = answer_body(batch(1, {"id": 1}, crash, {**PING, "method": "x"}, PING), [], offer())
    found = json.loads(reply.body)
    assert (reply.status, codes(found), found[-1]) == (200, [-32700, -32600, -32603, -32601, None], PONG)


def test_a_handshake_is_no_part_of_a_batch() -> None:
    found = json.loads(answer_body(batch({**PING, "method": "initialize"}), [], offer()).body)
    assert codes(found) == [-32600]


@pytest.mark.parametrize(
    ("raw", "code"),
    [(b"[]", -32600), (batch(*[PING] * 101), -32600), (b"[{}", -32700), (b"[1,]", -32700), (b"[\xff]", -32700)],
)
def test_a_batch_that_is_none_is_refused(raw: bytes, code: int) -> None:
    reply = answer_body(raw, [], offer())
    assert (reply.status, json.loads(reply.body)["error"]["code"]) == (400, code)


@pytest.mark.parametrize("version", [b"2025-06-18", b"2025-11-25", b"2026-07-28", b"1999-01-01"])
def test_revisions_without_batches_refuse_them(version: bytes) -> None:
    reply = answer_body(batch(PING), [(b"mcp-protocol-version", version)], offer())
    assert (reply.status, json.loads(reply.body)["error"]["code"]) == (400, -32600)


# --- whatever comes --------------------------------------------------------------------------------------------------

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
METHODS = st.sampled_from(
    ["initialize", "ping", "server/discover", "tools/list", "tools/call", "notifications/x", "resources/read"]
)
PARAMS = JSON | st.fixed_dictionaries(
    {},
    optional={
        "name": st.sampled_from(["add", "fail", "show", "marked", "nope"]) | JSON,
        "arguments": st.fixed_dictionaries({}, optional={"a": JSON, "b": JSON, "data": JSON}) | JSON,
        "_meta": st.just(MODERN) | JSON,
        "cursor": JSON,
        "protocolVersion": JSON,
    },
)
MESSAGES = JSON | st.fixed_dictionaries(
    {},
    optional={"jsonrpc": st.just("2.0") | JSON, "id": st.integers() | JSON, "method": METHODS | JSON, "params": PARAMS},
)
VALUES = st.sampled_from([b"2026-07-28", b"2025-11-25", b"2025-03-26", b"tools/call", b"tools/list", b"add"])
HEADERS = st.dictionaries(
    st.sampled_from([b"mcp-protocol-version", b"mcp-method", b"mcp-name", b"mcp-param-region"]),
    VALUES | st.binary(max_size=5),
).map(lambda headers: list(headers.items()))


@given(
    raw=MESSAGES.map(lambda message: json.dumps(message).encode())
    | st.lists(MESSAGES, max_size=3).map(lambda messages: json.dumps(messages).encode())
    | st.binary(max_size=20),
    headers=HEADERS,
)
def test_whatever_comes_has_one_answer_and_nothing_that_nobody_foresaw(raw: bytes, headers: Any) -> None:
    reports = Reports()
    reply = answer_body(raw, headers, offer(report=reports))
    assert reports.errors == []
    if reply.status == 202:
        assert reply.body == b""
        return
    assert reply.status in (200, 400, 404)
    found = json.loads(reply.body)
    for message in found if isinstance(found, list) else [found]:
        assert message["jsonrpc"] == "2.0"
        assert ("result" in message) != ("error" in message)
