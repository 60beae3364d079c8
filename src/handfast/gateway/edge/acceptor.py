"""Accepts connections from a listening socket, a few in each turn of the loop, so that a storm does not block it."""

import asyncio
import contextlib
import errno
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import ssl

# Each takes a tenth of a millisecond, and as much again for its first bytes and for closing the one it displaces.
# asyncio's own server accepts all that wait: hundreds, while more come.
_AT_ONCE: Final = 4
_REST_SECONDS: Final = 0.002  # between rounds: two thousand connections a second, in a third of the loop's time
# Connections that the system keeps until they are accepted.
BACKLOG: Final = 1024
_NO_ROOM: Final = frozenset((errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM))
_HANDSHAKE_SECONDS: Final = 10.0  # of TLS; as long as a client has for the first byte
_ROOM_SECONDS: Final = 0.1  # until the next attempt, after the system had no descriptor left


class Acceptor:
    def __init__(
        self,
        listener: socket.socket,
        make_protocol: Callable[[], asyncio.BaseProtocol],
        make_room: Callable[[], object] = lambda: None,
    ) -> None:
        """`make_room` closes idle connections when the system has no descriptor left."""
        self._listener = listener
        self._make_room = make_room
        self._make_protocol = make_protocol
        self._loop = asyncio.get_running_loop()
        self._tls: ssl.SSLContext | None = None
        self._connecting: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None  # where the loop cannot watch a socket
        self._timer: asyncio.TimerHandle | None = None

    async def start(self, tls: "ssl.SSLContext | None" = None) -> None:
        self._tls = tls
        self._listener.setblocking(False)
        self._listener.listen(BACKLOG)
        try:
            self._loop.add_reader(self._listener, self._accept)
        except NotImplementedError:  # on Windows, whose loop watches no sockets
            self._server = await self._loop.create_server(
                self._make_protocol, sock=self._listener, ssl=tls, backlog=BACKLOG
            )

    async def close(self) -> None:
        """Stops accepting, and waits until every accepted connection has its protocol, whose owner closes it."""
        if self._server is not None:
            self._server.close()
            return
        if self._timer is not None:
            self._timer.cancel()
        if self._listener.fileno() < 0:
            return  # already closed
        self._loop.remove_reader(self._listener)
        self._listener.close()
        if self._connecting:
            await asyncio.wait(self._connecting)

    def _accept(self) -> None:
        for _ in range(_AT_ONCE):
            try:
                client, _ = self._listener.accept()
            except BlockingIOError:
                return
            except OSError as problem:
                if problem.errno in _NO_ROOM:
                    self._make_room()
                    self._pause(_ROOM_SECONDS)
                    return
                continue  # the client left before it was accepted
            task = self._loop.create_task(self._connect(client))
            self._connecting.add(task)
            task.add_done_callback(self._connecting.discard)
        self._pause(_REST_SECONDS)

    def _pause(self, seconds: float) -> None:
        self._loop.remove_reader(self._listener)
        self._timer = self._loop.call_later(seconds, self._loop.add_reader, self._listener, self._accept)

    async def _connect(self, client: socket.socket) -> None:
        client.setblocking(False)
        seconds = None if self._tls is None else _HANDSHAKE_SECONDS
        with contextlib.suppress(OSError):  # the client has left, or its TLS handshake failed
            await self._loop.connect_accepted_socket(
                self._make_protocol, client, ssl=self._tls, ssl_handshake_timeout=seconds
            )
