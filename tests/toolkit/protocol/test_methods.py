"""What each method is answered with, in both eras."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handfast.core.answers.envelopes import META_CODE, META_RECOVERABLE
from handfast.toolkit.protocol.methods import Offer, answer_body
from handfast.toolkit.protocol.requests import HEARD, PostReply
from tests.django.endpoint.offered import MODERN, Json, Reports, body, modern, offer

STAMP = {"io.modelcontextprotocol/serverInfo": {"name": "demo", "version": "1"}}
HANDSHAKE: Json = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}
WRAPPED = {"data": {"a": 1, "b": 2}}
REFUSAL = (
    "Argument 'data' is not a declared field and its value is a nested object.\n"
    "Likely cause: REST-style wrapper — send fields flat at the top level.\n"
    'Unwrap \'data\': send "a", "b" directly, not inside "data".\n'
    'Declared fields: ["a", "b"].'
)


def legacy(method: str, params: Json | None = None, behind: Offer | None = None) -> tuple[int, Json]:
    return read(answer_body(body(method, params), [], behind or offer()))


def in_modern(method: str, params: Json | None = None, behind: Offer | None = None) -> tuple[int, Json]:
    return read(answer_body(*modern(method, params), behind or offer()))


def read(reply: PostReply) -> tuple[int, Json]:
    message: Json = json.loads(reply.body)
    assert (message.pop("jsonrpc"), message.pop("id")) == ("2.0", 1)
    (found,) = message.values()
    return reply.status, found


# --- opening ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "agreed"),
    [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
        ("someday", "2025-11-25"),
    ],
)
def test_the_handshake_agrees_on_what_was_asked_for_or_on_the_newest_it_can(asked: str, agreed: str) -> None:
    assert legacy("initialize", {**HANDSHAKE, "protocolVersion": asked}) == (
        200,
        {"protocolVersion": agreed, "capabilities": {"tools": {}}, "serverInfo": {"name": "demo", "version": "1"}},
    )


@pytest.mark.parametrize("missing", ["protocolVersion", "capabilities", "clientInfo"])
@pytest.mark.parametrize("value", [None, 5])
def test_a_handshake_that_leaves_something_out_is_refused(missing: str, value: object) -> None:
    status, error = legacy("initialize", {**HANDSHAKE, missing: value})
    assert (status, error["code"]) == (200, -32602)


def test_instructions_are_told_in_both_eras_where_there_are_some() -> None:
    told = offer(instructions="Be kind.")
    assert legacy("initialize", HANDSHAKE, told)[1]["instructions"] == "Be kind."
    assert in_modern("server/discover", None, told)[1]["instructions"] == "Be kind."


def test_discovery_says_what_is_spoken_and_that_it_is_the_callers_own() -> None:
    assert in_modern("server/discover") == (
        200,
        {
            "resultType": "complete",
            "supportedVersions": ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"],
            "capabilities": {"tools": {}},
            "ttlMs": 60_000,
            "cacheScope": "private",
            "_meta": STAMP,
        },
    )


def test_ping_is_of_the_legacy_era() -> None:
    assert legacy("ping") == (200, {})
    assert in_modern("ping")[0] == 404


# --- what is not there -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "method",
    [
        "logging/setLevel",
        "completion/complete",
        "resources/list",
        "resources/read",
        "resources/templates/list",
        "resources/subscribe",
        "prompts/list",
        "prompts/get",
        "tasks/get",
        "subscriptions/listen",
        "tools",
        "",
    ],
)
def test_what_is_not_offered_is_not_found_with_the_status_of_each_era(method: str) -> None:
    params = {"name": "x", "uri": "x"}
    (old, old_error), (new, new_error) = legacy(method, params), in_modern(method, params)
    assert (old, old_error["code"], new, new_error["code"]) == (200, -32601, 404, -32601)


def test_each_era_has_its_own_way_to_open() -> None:
    assert legacy("server/discover")[1]["code"] == -32601
    assert in_modern("initialize", HANDSHAKE)[1]["code"] == -32601


# --- tools -----------------------------------------------------------------------------------------------------------


def test_the_list_comes_in_one_piece_and_says_in_the_modern_era_whose_it_is() -> None:
    status, result = legacy("tools/list")
    assert (status, list(result), [tool["name"] for tool in result["tools"]]) == (
        200,
        ["tools"],
        ["add", "fail", "marked", "show", "weigh"],
    )
    expected = {"resultType": "complete", **result, "ttlMs": 60_000, "cacheScope": "private", "_meta": STAMP}
    assert in_modern("tools/list") == (200, expected)


@pytest.mark.parametrize("cursor", ["", "next", 5])
def test_a_cursor_that_was_never_given_is_refused(cursor: object) -> None:
    status, error = legacy("tools/list", {"cursor": cursor})
    assert (status, error["code"]) == (200, -32602)
    assert legacy("tools/list", {"cursor": None})[0] == 200
    assert in_modern("tools/list", {"cursor": cursor})[0] == 400


def test_a_call_is_answered_with_its_data_twice() -> None:
    result = {"content": [{"type": "text", "text": '{"sum":3}'}], "isError": False, "structuredContent": {"sum": 3}}
    params = {"name": "add", "arguments": {"a": 1, "b": 2}}
    assert legacy("tools/call", params) == (200, result)
    assert in_modern("tools/call", params) == (200, {"resultType": "complete", **result, "_meta": STAMP})


def test_blocks_beside_the_data_come_after_it() -> None:
    _, result = legacy("tools/call", {"name": "show", "arguments": {"a": 1}})
    assert result["content"] == [{"type": "text", "text": '{"sum":3}'}, {"type": "text", "text": "Look at this."}]


def test_the_structured_content_is_the_very_text_that_was_judged() -> None:
    reply = answer_body(body("tools/call", {"name": "weigh"}), [], offer())
    text = json.loads(reply.body)["result"]["content"][0]["text"]
    assert b'"structuredContent":%b' % text.encode() in reply.body


def test_a_tools_own_failure_is_a_result_with_its_code() -> None:
    code = {META_CODE: "conflict", META_RECOVERABLE: True}
    result = {
        "content": [{"type": "text", "text": "It is taken. Choose another. [conflict]"}],
        "isError": True,
        "_meta": code,
    }
    params = {"name": "fail", "arguments": {"a": 1}}
    assert legacy("tools/call", params) == (200, result)
    told = {"resultType": "complete", **result, "_meta": {**code, **STAMP}}
    assert in_modern("tools/call", params) == (200, told)


@pytest.mark.parametrize(("era", "status"), [(legacy, 200), (in_modern, 400)])
def test_refused_arguments_are_an_error_of_the_protocol_with_the_whole_text(era: Any, status: int) -> None:
    params = {"name": "add", "arguments": WRAPPED}
    assert era("tools/call", params) == (status, {"code": -32602, "message": REFUSAL})


@pytest.mark.parametrize("era", [legacy, in_modern])
def test_refused_arguments_are_a_result_where_the_setting_says_so(era: Any) -> None:
    status, result = era("tools/call", {"name": "add", "arguments": WRAPPED}, offer(refuses_by_protocol=False))
    assert (status, result["isError"], result["content"]) == (
        200,
        True,
        [{"type": "text", "text": REFUSAL}],
    )
    assert "structuredContent" not in result


@pytest.mark.parametrize("arguments", [[], "x", 5, True])
def test_arguments_that_are_no_object_are_refused_on_the_one_path(arguments: object) -> None:
    status, error = legacy("tools/call", {"name": "add", "arguments": arguments})
    assert (status, error["code"], error["message"]) == (
        200,
        -32602,
        "The arguments must be a JSON object. Send one and call again.",
    )


@pytest.mark.parametrize("params", [{"name": "add", "arguments": None}, {"name": "add"}])
def test_no_arguments_are_an_empty_object(params: Json) -> None:
    status, error = legacy("tools/call", params)
    assert (status, error["code"]) == (200, -32602)
    assert "'a'" in error["message"]


def test_a_key_that_stands_twice_in_the_arguments_is_refused() -> None:
    raw = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","arguments":{"a":1,"a":2}}}'
    status, error = read(answer_body(raw, [], offer()))
    assert (status, error["code"]) == (200, -32602)
    assert "same key twice" in error["message"]


@pytest.mark.parametrize("name", [None, 5, ["add"]])
def test_a_call_without_a_name_is_refused(name: object) -> None:
    status, error = legacy("tools/call", {"name": name, "arguments": {}})
    assert (status, error) == (200, {"code": -32602, "message": "params.name must be the name of a tool."})


@pytest.mark.parametrize(("era", "status"), [(legacy, 200), (in_modern, 400)])
def test_an_unknown_tool_is_named_in_the_toolkits_own_words(era: Any, status: int) -> None:
    text = "There is no tool 'nope'. Call tools/list for the tools there are."
    assert era("tools/call", {"name": "nope"}) == (status, {"code": -32602, "message": text})


@pytest.mark.parametrize("era", [legacy, in_modern])
def test_calls_that_cannot_be_recorded_are_refused_under_a_number_of_their_own(era: Any) -> None:
    status, error = era("tools/call", {"name": "unrecorded"})
    assert (status, error["code"]) == (200, -31003)


@pytest.mark.parametrize("era", [legacy, in_modern])
def test_what_nobody_foresaw_is_reported_and_told_by_its_id_alone(era: Any) -> None:
    reports = Reports()
    status, error = era("tools/call", {"name": "crash"}, offer(report=reports))
    text = "The server failed. Report the request id in data to the operator."
    assert (status, error) == (200, {"code": -32603, "message": text, "data": {"request_id": "the-id"}})
    assert [str(error) for error in reports.errors] == ["a secret"]


# --- arguments that are repeated in headers --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "header", "status"),
    [
        ({"region": "eu"}, b"eu", 200),
        ({"region": "eu"}, b"us", 400),
        ({"region": "eu"}, None, 400),
        ({}, b"eu", 400),
        ({}, None, 200),
    ],
)
def test_what_a_tool_wants_in_a_header_must_be_there_and_agree(
    arguments: Json, header: bytes | None, status: int
) -> None:
    raw, headers = modern("tools/call", {"name": "marked", "arguments": arguments})
    sent = [*headers, (b"mcp-param-region", header)] if header is not None else headers
    found, message = read(answer_body(raw, sent, offer()))
    assert (found, message.get("code")) == (status, None if status == 200 else -32020)


def test_legacy_clients_know_of_no_such_header() -> None:
    assert legacy("tools/call", {"name": "marked", "arguments": {"region": "eu"}})[0] == 200


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
