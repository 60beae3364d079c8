"""Messages that handfast writes itself, byte for byte."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handfast.wire.message import read_message
from handfast.wire.replies import error_reply, error_result, notification, request, tool_error


def test_an_error_names_the_request_or_nobody() -> None:
    assert error_reply("a", -32600, "No.") == b'{"jsonrpc":"2.0","id":"a","error":{"code":-32600,"message":"No."}}'
    assert error_reply(None, -32700, "No.") == b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"No."}}'


def test_a_refused_call_is_a_result_that_a_model_reads() -> None:
    legacy = b'{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"No."}],"isError":true}}'
    assert tool_error(1, "No.", is_modern=False) == legacy
    assert tool_error(1, "No.", is_modern=True) == legacy.replace(b'{"content"', b'{"resultType":"complete","content"')


def test_the_result_of_a_task_says_whose_it_is() -> None:
    whose = b',"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"t"}}}'
    alone = b'{"content":[{"type":"text","text":"No."}],"isError":true}'
    assert error_result("No.", is_modern=False) == alone
    assert error_result("No.", is_modern=False, task_id="t") == alone[:-1] + whose
    assert tool_error(1, "No.", is_modern=False, task_id="t") == b'{"jsonrpc":"2.0","id":1,"result":%s}' % (
        alone[:-1] + whose
    )


@pytest.mark.requirement("F1")
@pytest.mark.parametrize("spelling", ["7", "-7", "12345678901234567890123", '"7"', "7e0", "1E+2", "-0", "1.50"])
def test_an_id_is_named_by_its_value_and_as_any_client_spells_it(spelling: str) -> None:
    asked = read_message(b'{"jsonrpc":"2.0","id":%b,"method":"x"}' % spelling.encode())
    reply = error_reply(asked.id, 1, "No.")
    assert json.loads(reply)["id"] == json.loads(spelling)
    if spelling == json.dumps(json.loads(spelling)):
        assert b'"id":%b,' % spelling.encode() in reply


def test_an_error_may_carry_data() -> None:
    assert error_reply(1, -32022, "No.", data={"supported": []}) == (
        b'{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"No.","data":{"supported":[]}}}'
    )


def test_requests_and_notifications_have_params_only_where_there_are_any() -> None:
    assert request(1, "tools/list") == b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}'
    assert request("x", "m", {"a": 1}) == b'{"jsonrpc":"2.0","id":"x","method":"m","params":{"a":1}}'
    assert notification("n") == b'{"jsonrpc":"2.0","method":"n"}'
    assert notification("n", {"a": None}) == b'{"jsonrpc":"2.0","method":"n","params":{"a":null}}'


@given(st.one_of(st.text(), st.integers(-(2**63), 2**63 - 1)), st.text())
def test_whatever_they_say_is_one_line_and_reads_back(request_id: str | int, text: str) -> None:
    for reply in (error_reply(request_id, 1, text), tool_error(request_id, text, is_modern=True)):
        assert b"\n" not in reply
        assert b"\r" not in reply
        assert read_message(reply).id == request_id
        assert json.dumps(text)[1:-1] in json.dumps(json.loads(reply))
