"""Taking connections: a few in each turn of the loop, on every loop, also where the system has no descriptor left."""

import asyncio
import errno
import socket
from collections.abc import Callable
from contextlib import ExitStack

import pytest

from handfast.gateway.edge.acceptor import Acceptor
from tests.gateway.http_servers import LOOPS

pytestmark = pytest.mark.requirement("F5")


class Counted(asyncio.Protocol):
    """A connection that stays, counted in the turn of the loop in which it is made."""

    def __init__(self, made: list[int], turn: Callable[[], int]) -> None:
        self._made, self._turn = made, turn

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._made.append(self._turn())
        transport.close()


@pytest.mark.parametrize("loop", LOOPS)
def test_of_many_connections_that_wait_a_few_are_taken_in_each_turn_of_the_loop(loop: str) -> None:
    made: list[int] = []
    turns = 0

    async def take_all(listener: socket.socket, count: int) -> None:
        nonlocal turns
        acceptor = Acceptor(listener, lambda: Counted(made, lambda: turns))
        await acceptor.start()
        while len(made) < count:
            await asyncio.sleep(0)
            turns += 1
        await acceptor.close()
        await acceptor.close()  # does nothing
        assert listener.fileno() == -1

    with socket.create_server(("127.0.0.1", 0), backlog=1024) as listener, ExitStack() as stack:
        for _ in range(200):
            stack.enter_context(socket.create_connection(listener.getsockname()))
        with asyncio.Runner(loop_factory=LOOPS[loop]) as runner:
            runner.run(asyncio.wait_for(take_all(listener, 200), 20))
    assert max(made.count(turn) for turn in made) <= 8  # those of one turn are made in the next, perhaps with others


class Exhausted(socket.socket):
    """A listening socket whose system has no descriptor left, for so many attempts."""

    failures = 3

    def accept(self) -> tuple[socket.socket, object]:
        if self.failures:
            self.failures -= 1
            raise OSError(errno.EMFILE, "Too many open files")
        return super().accept()


def tell(event: asyncio.Event) -> int:
    event.set()
    return 0


@pytest.mark.parametrize("loop", LOOPS)
def test_without_a_free_descriptor_it_is_tried_again_a_little_later(loop: str) -> None:
    made: list[int] = []
    asked: list[str] = []

    async def take_one(listener: socket.socket) -> None:
        is_made = asyncio.Event()
        acceptor = Acceptor(listener, lambda: Counted(made, lambda: tell(is_made)), lambda: asked.append("room"))
        await acceptor.start()
        await is_made.wait()
        await acceptor.close()

    with Exhausted() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        with socket.create_connection(listener.getsockname()), asyncio.Runner(loop_factory=LOOPS[loop]) as runner:
            runner.run(asyncio.wait_for(take_one(listener), 20))
    assert (made, listener.failures, asked) == ([0], 0, ["room"] * 3)
