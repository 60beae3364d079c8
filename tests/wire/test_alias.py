"""A request under a number of ours: what is put in comes out again, and nothing else is touched."""

import json

import pytest

from handfast.wire.alias import Alias, read_number, token_of
from handfast.wire.message import read_message

ID_SPELLINGS = (b"7", b"-0", b"7.0", b'"a"', b'"\\u0041"', b'"x\\"id\\":1"')


def under(number: int, text: bytes) -> Alias:
    message = read_message(text)
    return Alias(number, message, token_of(message))


@pytest.mark.requirement("F1")
@pytest.mark.requirement("B3")
@pytest.mark.parametrize("spelled", ID_SPELLINGS)
@pytest.mark.parametrize(
    "request_text",
    [
        b'{"jsonrpc":"2.0","id":$ID,"method":"tools/call","params":{"id":7,"name":"a"}}',
        b'{"method":"tools/call","params":{"name":"a","arguments":{"id":7}},"jsonrpc":"2.0", "id" : $ID }',
        b'{"method":"tools/call", "\\u0069d":$ID,"params":{"name":"\\"id\\":7"},"jsonrpc":"2.0"}',
    ],
)
def test_a_number_stands_in_for_the_id_and_the_clients_own_bytes_come_back(request_text: bytes, spelled: bytes) -> None:
    asked = read_message(request_text.replace(b"$ID", spelled))
    assert asked.id is not None
    alias = Alias(41, asked)
    assert alias.take_raw() == request_text.replace(b"$ID", b"41")
    answer = read_message(b'{"result":{"content":[],"id":41},"jsonrpc":"2.0","id":41}')
    assert alias.is_answered_by(answer)
    alias.restore_answer(answer)
    assert answer.raw == b'{"result":{"content":[],"id":41},"jsonrpc":"2.0","id":%b}' % spelled
    assert answer.id == asked.id


@pytest.mark.requirement("F1")
@pytest.mark.requirement("B4")
def test_only_an_answer_with_the_number_answers() -> None:
    alias = Alias(41, read_message(b'{"id":1,"method":"ping"}'))
    for text, is_answer in (
        (b'{"id":41.0,"result":{}}', True),
        (b'{"id":"41","result":{}}', False),
        (b'{"id":1,"result":{}}', False),
        (b'{"id":null,"error":{"code":1,"message":""}}', False),
        (b'{"id":41,"method":"elicitation/create"}', False),
    ):
        assert alias.is_answered_by(read_message(text)) is is_answer, text


@pytest.mark.requirement("F1")
@pytest.mark.requirement("F5")
def test_progress_comes_back_under_the_token_that_the_client_chose() -> None:
    head = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","_meta":{"progressToken":'
    alias = under(41, head + b'"\\u0041"}}}')
    assert alias.take_raw() == head.replace(b'"id":1', b'"id":41') + b"41}}}"
    progress = read_message(b'{"method":"notifications/progress","params":{"progress":41,"progressToken":41}}')
    assert alias.restore_progress(progress)
    assert progress.raw == b'{"method":"notifications/progress","params":{"progress":41,"progressToken":"\\u0041"}}'
    without = under(42, b'{"id":2,"method":"tools/call","params":{"name":"a"}}')
    assert not without.restore_progress(progress)


def test_a_subscription_is_known_by_the_clients_id_of_it() -> None:
    name = b"io.modelcontextprotocol/subscriptionId"
    alias = under(41, b'{"id":"s","method":"subscriptions/listen","params":{}}')
    heard = read_message(b'{"method":"notifications/tools/list_changed","params":{"_meta":{"%b":41}}}' % name)
    alias.restore_subscription(heard)
    assert heard.raw == b'{"method":"notifications/tools/list_changed","params":{"_meta":{"%b":"s"}}}' % name
    answer = read_message(b'{"id":41,"result":{"_meta":{"%b":41}}}' % name)
    alias.restore_answer(answer)
    assert answer.raw == b'{"id":"s","result":{"_meta":{"%b":"s"}}}' % name
    for result in (b"{}", b'{"_meta":7}', b'{"_meta":{},"_META":{}}'):
        plain = read_message(b'{"id":41,"result":%b}' % result)
        alias.restore_answer(plain)
        assert plain.raw == b'{"id":"s","result":%b}' % result


def test_what_cannot_be_a_number_of_ours_is_none() -> None:
    found = [
        read_number(None),
        *(
            read_number(read_message(b'{"id":1,"method":"a","params":{"t":%b}}' % text).params()["t"])
            for text in (b"12", b'"12"', b"1.5", b"9" * 5000, b"-1")
        ),
    ]
    assert found == [None, 12, None, None, None, None]


@pytest.mark.requirement("B3")
@pytest.mark.parametrize(
    "params",
    [
        b'{"name":"a","arguments":{"_meta":{"progressToken":5}},"_meta":{"progressToken":5}}',
        b'{"name":"a","arguments":{"x":"\\"progressToken\\":5"},"_meta": {"progressToken" : 5 ,"b":"progressToken"}}',
        b'{"_meta":{"progress\\u0054oken":5},"name":"a","arguments":{"x":"progressToken"}}',
        b'{"_meta":{"x":{"progressToken":5},"progressToken":5},"name":"a"}',
        b'{"_meta":{"x":"\\"progressToken","progressToken":5},"name":"a"}',
    ],
)
def test_only_the_token_of_the_request_itself_is_replaced(params: bytes) -> None:
    sent = under(41, b'{"id":1,"method":"tools/call","params":%b}' % params).take_raw()
    before, after = json.loads(params), json.loads(sent)["params"]
    assert (before["_meta"].pop("progressToken"), after["_meta"].pop("progressToken")) == (5, 41)
    assert (json.loads(sent)["id"], before, after) == (41, before, before)
