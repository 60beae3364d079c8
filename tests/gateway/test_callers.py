import json
from dataclasses import dataclass

import pytest

from handfast.gateway.callers import caller_of
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
