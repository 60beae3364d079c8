"""Questions and answers between a legacy server and a modern client."""

import json

import msgspec
import pytest

from handfast.gateway.translate.servers.questions import (
    responses_in,
    to_answer,
    to_input_request,
    to_refusal,
    urls_required,
)
from handfast.wire.message import Message, read_message


def _read(value: object) -> Message:
    return read_message(json.dumps(value).encode())


def test_a_question_keeps_its_params_but_for_what_only_legacy_clients_know() -> None:
    params = {"mode": "url", "url": "u", "elicitationId": "e", "task": {"ttl": 1}, "message": "m"}
    question = _read({"jsonrpc": "2.0", "id": 9, "method": "elicitation/create", "params": params})
    assert json.loads(msgspec.json.encode(to_input_request(question))) == {
        "method": "elicitation/create",
        "params": {"mode": "url", "url": "u", "message": "m"},
    }


def test_a_question_without_params_has_none() -> None:
    assert to_input_request(_read({"jsonrpc": "2.0", "id": 9, "method": "roots/list"})) == {"method": "roots/list"}


def test_a_response_becomes_the_answer_in_its_own_bytes() -> None:
    assert to_answer("q", b'{"action": "accept", "content": {"n": 1.0}}') == (
        b'{"jsonrpc":"2.0","id":"q","result":{"action": "accept", "content": {"n": 1.0}}}'
    )


@pytest.mark.parametrize(
    ("method", "refusal"),
    [
        ("elicitation/create", {"result": {"action": "cancel"}}),
        ("roots/list", {"error": {"code": -32603, "message": "The client did not answer in time."}}),
    ],
)
def test_a_question_that_stays_open_is_dismissed_as_its_kind_allows(method: str, refusal: dict[str, object]) -> None:
    question = _read({"jsonrpc": "2.0", "id": 9, "method": method})
    assert json.loads(to_refusal(question)) == {"jsonrpc": "2.0", "id": 9, **refusal}


@pytest.mark.parametrize(
    ("given", "found"),
    [({"a": {"x": 1}, "b": 3, "c": None}, {"a": b'{"x": 1}'}), (None, {}), ("text", {}), ([], {})],
)
def test_only_objects_are_responses(given: object, found: dict[str, bytes]) -> None:
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"inputResponses": given}}
    assert responses_in(_read(message)) == found


@pytest.mark.parametrize(
    "error",
    [
        {"code": -32000, "message": "m", "data": {"elicitations": [{"url": "u"}]}},
        {"code": -32042, "message": "m"},
        {"code": -32042, "message": "m", "data": {"elicitations": 3}},
    ],
)
@pytest.mark.requirement("E3")
def test_an_error_that_names_nothing_to_visit_stays_an_error(error: dict[str, object]) -> None:
    assert urls_required(_read({"jsonrpc": "2.0", "id": 1, "error": error})) == {}
