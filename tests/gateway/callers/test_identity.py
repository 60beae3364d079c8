"""Who calls, from the connection and the request."""

import json
from dataclasses import dataclass

import pytest

from handfast.core.call.caller import Caller
from handfast.gateway.callers.identity import caller_of, opener_of
from handfast.wire.message import Message, read_message

pytestmark = pytest.mark.requirement("F2")


@dataclass(frozen=True)
class From:
    caller: Caller


LOCAL = From(Caller(peer="127.0.0.1"))
ADA = From(Caller(peer="127.0.0.1", actor="ada"))


def asked(client: object) -> Message:
    meta = {"io.modelcontextprotocol/clientInfo": client}
    return read_message(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "m", "params": {"_meta": meta}}).encode())


def opening(client: str) -> Message:
    raw = f'{{"jsonrpc":"2.0","id":1,"method":"initialize","params":{{"clientInfo":{client}}}}}'
    return read_message(raw.encode())


def test_requests_without_a_session_are_told_apart_by_what_the_client_calls_itself() -> None:
    assert caller_of(LOCAL, asked("x")).name == caller_of(LOCAL, asked("x")).name != caller_of(LOCAL, asked("y")).name
    assert caller_of(ADA, asked("x")) is ADA.caller


@pytest.mark.requirement("F7")
def test_a_session_counts_towards_the_room_of_who_opened_it() -> None:
    assert opener_of(LOCAL, opening('"x"')).address != opener_of(LOCAL, opening('"y"')).address
    assert opener_of(ADA, opening('"x"')).address == opener_of(ADA, opening('"y"')).address == "ada"
    odd = [opener_of(LOCAL, opening(text)).address for text in ('1,"clientInfo":2', '"","clientinfo":2')]
    assert odd[0] == odd[1] == LOCAL.caller.address
