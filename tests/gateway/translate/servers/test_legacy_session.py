"""A session with a legacy server at the moments between two turns of the event loop."""

import asyncio
from contextlib import suppress

import pytest

from handfast.core.call.caller import Caller
from handfast.gateway.callers.held_calls import HeldCalls
from handfast.gateway.calls.flow import HoldBack
from handfast.gateway.http.response import Headers
from handfast.gateway.translate.backend import Requester
from handfast.gateway.translate.servers.legacy_session import LegacyServerSession, SeenAsking
from handfast.gateway.translate.servers.line import Deliver, Line, Room
from handfast.turns import turns_of_loop
from handfast.wire.message import Message, read_message

LARGE = b"x" * 100_000
QUESTION = b'{"jsonrpc":"2.0","id":9,"method":"elicitation/create","params":{"message":"Sure?"}}'


class Silent(Line):
    """A server that never answers."""

    is_alive = True
    has_given_up = False
    is_shared = False
    incarnation: tuple[str, ...] = ()
    hold_back: HoldBack | None = None

    def __init__(self, *, asks: bool = True) -> None:
        self.asks = asks
        self.asked: list[Message] = []
        self.told: list[bytes] = []

    async def exchange(
        self, message: Message, deliver: Deliver, headers: Headers | None = None, room: Room | None = None
    ) -> Message:
        self.asked.append(message)
        if self.asks:
            deliver(read_message(QUESTION))
        never: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        return await never

    async def send(self, raw: bytes) -> None:
        self.told.append(raw)

    async def close(self) -> None:
        pass


def a_call(more: bytes = b"") -> Message:
    return read_message(
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{"t":"%b"}%b}}' % (LARGE, more)
    )


def a_session(line: Line) -> LegacyServerSession:
    return LegacyServerSession(
        line,
        {},
        held=HeldCalls(lambda: 60.0),
        refused=lambda _question: None,
        seconds=lambda: 5.0,
        asking=SeenAsking(),
    )


async def occupy_turns() -> None:
    """From here on large work waits."""
    await turns_of_loop().take()
    turns_of_loop().ask(lambda: None)


ORIGIN = Requester(Caller(session="caller"), lambda _raw: None)
SEVERAL = Requester(Caller(peer="10.0.0.1"), lambda _raw: None)  # clients that are one caller


@pytest.mark.requirement("F4")
def test_a_session_is_not_idle_while_a_request_waits_to_be_sent() -> None:
    async def run() -> None:
        line = Silent()
        session = a_session(line)
        assert session.is_idle
        await occupy_turns()
        waiting = asyncio.create_task(session.request(a_call(), ORIGIN))
        await asyncio.sleep(0)
        assert (line.asked, session.is_idle) == ([], False)
        waiting.cancel()
        with suppress(asyncio.CancelledError):
            await waiting
        assert (line.asked, session.is_idle) == ([], True)

    asyncio.run(run())


@pytest.mark.requirement("F4")
def test_a_client_that_leaves_with_its_answer_unsent_leaves_no_question_open() -> None:
    async def run() -> None:
        line = Silent()
        session = a_session(line)
        asked = await session.request(a_call(), ORIGIN)
        state = bytes((asked.result() or {})["requestState"])
        await occupy_turns()
        retry = a_call(b',"requestState":%b,"inputResponses":{}' % state)
        waiting = asyncio.create_task(session.request(retry, ORIGIN))
        await asyncio.sleep(0)
        waiting.cancel()
        with suppress(asyncio.CancelledError):
            await waiting
        await asyncio.sleep(0)
        (refusal,) = line.told
        assert (read_message(refusal).id, session.is_idle) == (9, True)

    asyncio.run(run())


@pytest.mark.requirement("F3")
def test_a_question_that_comes_together_with_the_cancellation_of_a_call_goes_to_no_other() -> None:
    async def run() -> None:
        line = Silent(asks=False)
        session = a_session(line)
        request = read_message(b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}}')
        calls = [asyncio.create_task(session.request(request, SEVERAL)) for _ in range(2)]
        for _ in range(2):  # a request is begun, and then sent
            await asyncio.sleep(0)
        assert len(line.asked) == 2
        calls[0].cancel()
        await asyncio.sleep(0)  # the call is being cancelled, and the server has not been told yet
        session.stray(read_message(QUESTION))
        await asyncio.sleep(0)
        (refusal,) = line.told
        assert read_message(refusal).has_error
        calls[1].cancel()
        await asyncio.wait(calls)

    asyncio.run(run())
