"""A held call is found again by one retry of the same call by the same caller, in time, and by nothing else."""

import asyncio
import gc
import json
import tracemalloc

import pytest

from handfast.gateway.callers.held_calls import LOST, HeldCalls, TooMuchToHold
from handfast.wire.message import Message, read_message

pytestmark = pytest.mark.requirement("E2")


class _Call:
    def __init__(self, size: int = 0) -> None:
        self.abandoned = asyncio.Event()
        self.size = size

    def abandon(self) -> None:
        self.abandoned.set()


def _message(arguments: str = '{"a":1,"b":[2]}', **more: object) -> Message:
    params = {"name": "t", **more}
    text = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
    return read_message(text.replace('"name": "t"', f'"name": "t", "arguments": {arguments}').encode())


def test_a_retry_is_the_same_call_however_it_is_spelt() -> None:
    async def run() -> None:
        held, call = HeldCalls(lambda: 60), _Call()
        state = held.hold(call, _message(_meta={"x": 1}), "me", "here")
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
        state = held.hold(call, _message(), "me", "here")
        assert held.claim(state, _message(arguments), caller) is None
        assert held.claim(state, _message(), "me") is call, "the attempt cost its owner nothing"

    asyncio.run(run())


def test_a_call_whose_server_is_gone_is_known_as_lost_to_its_caller_alone() -> None:
    async def run() -> None:
        held, call = HeldCalls(lambda: 60, most_bytes=1000), _Call(size=400)
        state = held.hold(call, _message(), "me", "here")
        held.lose(call)
        assert held.claim(state, _message(), "you") is None
        again = held.hold(_Call(size=400), _message(), "me", "here")
        assert (held.claim(state, _message(), "me"), again != state) == (LOST, True), (
            "and takes no room for its question"
        )

    asyncio.run(run())


def test_what_nobody_comes_back_for_is_given_up() -> None:
    async def run() -> None:
        held, call = HeldCalls(lambda: 0.0), _Call()
        state = held.hold(call, _message(), "me", "here")
        await call.abandoned.wait()
        assert held.claim(state, _message(), "me") is None

    asyncio.run(run())


def test_states_differ_and_an_address_has_at_most_half_of_the_room() -> None:
    async def run() -> None:
        held, first = HeldCalls(lambda: 60), _Call()
        states = {held.hold(first, _message(), "me", "here")}
        states |= {held.hold(_Call(), _message(), "me", "here") for _ in range(500)}
        assert (len(states), len(held), first.abandoned.is_set()) == (501, 500, True)
        held.close()
        assert len(held) == 0

    asyncio.run(run())


@pytest.mark.requirement("F7")
def test_the_address_that_holds_the_most_makes_way_and_one_alone_never_does() -> None:
    async def run() -> None:
        told: list[str] = []
        held, victim = HeldCalls(lambda: 60, on_evict=lambda: told.append("")), _Call()
        state = held.hold(victim, _message(), "me", "here")
        calls = [_Call() for _ in range(1200)]
        for number, call in enumerate(calls):
            held.hold(call, _message(), "you", f"there-{number % 3}")
        assert held.claim(state, _message(), "me") is victim
        assert (len(held), len(told), calls[0].abandoned.is_set()) == (999, 201, True)
        held.close()

    asyncio.run(run())


@pytest.mark.requirement("F7")
def test_what_is_held_is_bounded_in_bytes_of_all_and_of_one_address() -> None:
    async def run() -> None:
        held = HeldCalls(lambda: 60, most_bytes=100)
        calls = [_Call(25) for _ in range(5)]
        for call, address in zip(calls, "aaabb", strict=True):
            held.hold(call, _message(), "me", address)
        assert [call.abandoned.is_set() for call in calls] == [True, False, False, False, False]
        held.hold(_Call(25), _message(), "me", "c")
        assert (len(held), calls[1].abandoned.is_set()) == (4, True)
        with pytest.raises(TooMuchToHold):
            held.hold(_Call(51), _message(), "me", "d")
        assert len(held) == 4
        held.close()

    asyncio.run(run())


@pytest.mark.requirement("F7")
def test_of_the_arguments_a_digest_is_kept() -> None:
    async def run() -> None:
        held = HeldCalls(lambda: 60)
        message = _message(json.dumps({"a": "x" * 1_000_000}))
        gc.collect()
        tracemalloc.start()
        for _ in range(20):
            held.hold(_Call(), message, "me", "here")
        gc.collect()
        kept, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        held.close()
        assert kept < 200_000

    asyncio.run(run())
