"""A held call is found again by one retry of the same call by the same caller, in time, and by nothing else."""

import asyncio
import json

import pytest

from handfast.gateway.bridge.held_calls import HeldCalls
from handfast.wire.message import Message, read_message

pytestmark = pytest.mark.requirement("E2")


class _Call:
    def __init__(self) -> None:
        self.abandoned = asyncio.Event()

    def abandon(self) -> None:
        self.abandoned.set()


def _message(arguments: str = '{"a":1,"b":[2]}', **more: object) -> Message:
    params = {"name": "t", **more}
    text = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
    return read_message(text.replace('"name": "t"', f'"name": "t", "arguments": {arguments}').encode())


def test_a_retry_is_the_same_call_however_it_is_spelt() -> None:
    async def run() -> None:
        held, call = HeldCalls(lambda: 60), _Call()
        state = held.hold(call, _message(_meta={"x": 1}), "me")
        retry = _message('{ "b": [2], "a": 1 }', _meta={"y": 2}, requestState=state, inputResponses={"q": {}})
        assert held.claim(state, retry, "me") is call
        assert held.claim(state, retry, "me") is None, "once"
        assert (len(held), call.abandoned.is_set()) == (0, False)

    asyncio.run(run())


@pytest.mark.parametrize(
    ("caller", "arguments"), [("you", '{"a":1,"b":[2]}'), ("me", '{"a":2,"b":[2]}'), ("me", '{"a":1,"b":[2],"c":0}')]
)
def test_nobody_else_and_no_other_call_gets_it(caller: str, arguments: str) -> None:
    async def run() -> None:
        held, call = HeldCalls(lambda: 60), _Call()
        state = held.hold(call, _message(), "me")
        assert held.claim(state, _message(arguments), caller) is None
        assert held.claim(state, _message(), "me") is call, "the attempt cost its owner nothing"

    asyncio.run(run())


def test_what_nobody_comes_back_for_is_given_up() -> None:
    async def run() -> None:
        held, call = HeldCalls(lambda: 0.0), _Call()
        state = held.hold(call, _message(), "me")
        await call.abandoned.wait()
        assert held.claim(state, _message(), "me") is None

    asyncio.run(run())


def test_states_differ_and_the_oldest_makes_way_for_the_thousand_and_first() -> None:
    async def run() -> None:
        held, first = HeldCalls(lambda: 60), _Call()
        states = {held.hold(first, _message(), "me")}
        states |= {held.hold(_Call(), _message(), "me") for _ in range(1000)}
        assert (len(states), len(held), first.abandoned.is_set()) == (1001, 1000, True)
        held.close()
        assert len(held) == 0

    asyncio.run(run())
