"""What a client has sent and nobody has read yet is counted without reading it."""

import asyncio
import socket
from math import inf
from typing import cast

import pytest

from handfast.gateway.edge.paced_body import count_arrived, has_closed
from tests.gateway.http_servers import LOOPS
from tests.gateway.translate.combined.scripted import until


class Deaf(asyncio.Protocol):
    """Reads nothing."""

    def __init__(self, found: "list[asyncio.Transport]") -> None:
        self._found = found

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        stream = cast("asyncio.Transport", transport)  # uvloop's are not declared as such
        stream.pause_reading()
        self._found.append(stream)


@pytest.mark.requirement("F5")
@pytest.mark.parametrize("loop", LOOPS)
def test_what_waits_in_the_system_is_counted(loop: str) -> None:
    async def run() -> None:
        here, there = socket.socketpair()
        found: list[asyncio.Transport] = []
        await asyncio.get_running_loop().connect_accepted_socket(lambda: Deaf(found), here)
        (transport,) = found
        assert count_arrived(transport) == 0
        there.sendall(b"x" * 10_000)
        await until(lambda: count_arrived(transport) == 10_000)
        assert not has_closed(transport)
        there.close()
        await until(lambda: has_closed(transport))
        transport.abort()
        await until(lambda: count_arrived(transport) == inf)

    with asyncio.Runner(loop_factory=LOOPS[loop]) as runner:
        runner.run(run())
