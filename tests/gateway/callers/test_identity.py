import json
from dataclasses import dataclass

import pytest

from handfast.gateway.callers.identity import address_of, address_of_opener, caller_of
from handfast.wire.message import Message, read_message

pytestmark = pytest.mark.requirement("F2")


@dataclass(frozen=True)
class From:
    peer: str = "192.0.2.1"
    actor: str = ""


def asked(client: object) -> Message:
    meta = {"io.modelcontextprotocol/clientInfo": client}
    return read_message(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "m", "params": {"_meta": meta}}).encode())


def test_an_actor_is_the_caller_as_it_is() -> None:
    assert caller_of(From(actor="ada"), asked("x")) == caller_of(From("192.0.2.2", "ada"), asked("y")) == "ada"


def test_without_an_actor_the_address_and_the_clients_name_make_the_caller() -> None:
    found = {caller_of(From(peer), asked(name)) for peer in ("192.0.2.1", "192.0.2.2") for name in ("x", "y")}
    assert len(found) == 4
    assert caller_of(From(), asked("x")) in found


def test_a_caller_is_short_whatever_the_client_calls_itself() -> None:
    assert len(caller_of(From(), asked("x" * 100_000))) == 64


@pytest.mark.requirement("F7")
@pytest.mark.parametrize("peer", ["127.0.0.1", "127.8.9.10", "::1", "::ffff:127.0.0.1", "", "no address"])
def test_on_this_machine_room_is_counted_by_caller(peer: str) -> None:
    assert address_of(peer, "ada") != address_of(peer, "bob")


@pytest.mark.requirement("F7")
@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ("192.0.2.1", "192.0.2.1", True),
        ("192.0.2.1", "192.0.2.2", False),
        ("::ffff:192.0.2.1", "192.0.2.1", True),
        ("2001:db8::1", "2001:db8::ffff:2", True),
        ("2001:db8::1", "2001:db8:0:1::1", False),
        ("fe80::1%eth0", "fe80::2%eth1", True),
    ],
)
def test_elsewhere_room_is_counted_by_address_whatever_the_name(one: str, other: str, is_same: bool) -> None:
    assert (address_of(one, "ada") == address_of(other, "bob")) is is_same


@pytest.mark.requirement("F7")
def test_a_session_counts_towards_the_room_of_who_opened_it() -> None:
    def opening(client: str) -> Message:
        raw = f'{{"jsonrpc":"2.0","id":1,"method":"initialize","params":{{"clientInfo":{client}}}}}'
        return read_message(raw.encode())

    local, named = From("127.0.0.1"), From("127.0.0.1", "ada")
    assert address_of_opener(local, opening('"x"')) != address_of_opener(local, opening('"y"'))
    assert address_of_opener(named, opening('"x"')) == address_of_opener(named, opening('"y"')) == "ada"
    assert address_of_opener(local, opening('1,"clientInfo":2')) == address_of_opener(
        local, opening('"","clientinfo":2')
    )
