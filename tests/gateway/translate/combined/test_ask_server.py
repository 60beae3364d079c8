"""Asking one server on a client's behalf: as that client, under an id of our own, and told plainly what failed."""

import asyncio
import json

import pytest

from handfast.core.call.caller import Caller
from handfast.gateway.translate.backend import Requester, ignore
from handfast.gateway.translate.combined.ask_server import (
    Unavailable,
    ask_server,
    error_text,
    own_request,
    whole_number,
)
from handfast.wire.members import level_of
from handfast.wire.message import Message, read_message


class Says:
    """A server that says always the same."""

    def __init__(self, said: bytes | Exception) -> None:
        self.said = said
        self.origin: Requester | None = None

    async def request(self, message: Message, origin: Requester) -> Message:
        self.origin = origin
        if isinstance(self.said, Exception):
            raise self.said
        return read_message(self.said)


ASKED = read_message(b'{"jsonrpc":"2.0","id":7,"method":"x","params":{"a":1,"_meta":{"k": 1.0,"progressToken":1}}}')


def test_a_request_of_our_own_has_the_clients_meta_and_its_own_id_each_time() -> None:
    first, second = (own_request(ASKED, "tools/list", {"cursor": ""}) for _ in range(2))
    assert b'"params":{"cursor":"","_meta":{"k": 1.0}}' in first.raw
    assert first.id != second.id != 7


def test_a_client_without_meta_is_asked_for_in_our_own_name() -> None:
    bare = own_request(read_message(b'{"jsonrpc":"2.0","id":7,"method":"x"}'), "server/discover")
    assert json.loads(bare.raw)["params"]["_meta"]["io.modelcontextprotocol/clientInfo"]["name"] == "handfast"


def test_headers_of_the_clients_request_do_not_go_along() -> None:
    server = Says(b'{"jsonrpc":"2.0","id":7,"result":{"a":1}}')
    caller = Caller(actor="ada")
    origin = Requester(caller, ignore, [(b"mcp-param-x", b"1")])
    assert list(asyncio.run(ask_server(server, ASKED, origin))) == ["a"]
    assert server.origin == Requester(caller, ignore, None)


@pytest.mark.parametrize(
    ("said", "reason", "code"),
    [
        (b'{"jsonrpc":"2.0","id":7,"error":{"code":-31001,"message":"m"}}', "It answered with an error: m", -31001),
        (b'{"jsonrpc":"2.0","id":7,"result":[]}', "It sent an answer without a result.", -32603),
        (b'{"jsonrpc":"2.0","id":7,"result":{"a":1,"a":2}}', "It sent an answer that cannot be read.", -32603),
        (ConnectionResetError(), "It cannot be reached.", -32603),
        (TimeoutError(), "It cannot be reached.", -32603),
    ],
)
def test_whatever_fails_is_said_in_one_line(said: bytes | Exception, reason: str, code: int) -> None:
    with pytest.raises(Unavailable) as failed:
        asyncio.run(ask_server(Says(said), ASKED, Requester(Caller(actor="ada"), ignore)))
    assert (failed.value.reason, failed.value.code) == (reason, code)


def test_an_error_says_what_it_can_and_not_for_ever() -> None:
    def text(error: str) -> str:
        return error_text(read_message(b'{"jsonrpc":"2.0","id":7,"error":%s}' % error.encode()))

    assert text('{"code":1,"message":5}') == text("[]") == text('"no"') == "It gave no reason."
    assert len(text(json.dumps({"code": 1, "message": "x" * 5000}))) == 300


@pytest.mark.parametrize(("raw", "number"), [(b"5", 5), (b"-5", 0), (b'"5"', 0), (b"1.5", 0), (b"null", 0)])
def test_a_number_that_is_none_is_zero(raw: bytes, number: int) -> None:
    assert whole_number(level_of(b'{"ttlMs":%s}' % raw), "ttlMs") == number
    assert whole_number({}, "ttlMs") == 0
