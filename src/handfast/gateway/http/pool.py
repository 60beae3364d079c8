"""The connections to one upstream: reused while warm, bounded in number, lent in the order they were asked for."""

import asyncio
import socket
import ssl
from collections import deque
from math import inf

from handfast.gateway.http.connection import Connection
from handfast.gateway.http.response import (
    UpstreamFailed,
    UpstreamProtocolError,
    UpstreamRefused,
    UpstreamTimeout,
    UpstreamUnavailable,
)

# Event loops count in milliseconds, so a timer may fire that much early.
TIMER_SLACK = 0.001


class ConnectionPool:
    """A place is the right to be busy; idle connections hold none.

    Only a request that has a place and finds nothing idle opens a connection, so the bound on places bounds both.
    """

    def __init__(
        self,
        origin: str,
        host: str,
        port: int,
        *,
        tls: ssl.SSLContext | None,
        connect_timeout: float,
        idle_seconds: float,
        max_connections: int,
        waits_for_pairing: bool = False,
    ) -> None:
        self._origin = origin
        self._waits_for_pairing = waits_for_pairing
        self._host = host
        self._port = port
        self._tls = tls
        self._connect_timeout = connect_timeout
        self._idle_seconds = idle_seconds
        self._free_places = max_connections
        self._waiters: deque[asyncio.Future[None]] = deque()
        self._idle: list[Connection] = []  # the longest idle first
        self._open: set[Connection] = set()
        self._sweep: asyncio.TimerHandle | None = None
        self._alarm: asyncio.TimerHandle | None = None
        self._alarm_at = inf
        self._all_lost: asyncio.Future[None] | None = None
        self._is_closed = False

    @property
    def is_busy(self) -> bool:
        return len(self._open) > len(self._idle)

    def take_warm(self) -> Connection | None:
        """Returns an idle connection, without the cost of a coroutine; None if `acquire` is needed."""
        if not self._free_places or not self._idle:
            return None
        connection = self._take_idle()
        if connection is not None:
            self._free_places -= 1
        return connection

    async def acquire(self, deadline: float) -> Connection:
        """Returns a connection that is ready to send on, until the end of its exchange. `deadline` is in loop time.

        Raises: UpstreamUnavailable, UpstreamTimeout (none came free before the deadline).
        """
        if self._free_places:
            self._free_places -= 1
        else:
            await self._wait_for_place(deadline)
        if self._is_closed:
            self._pass_place_on()  # so that every waiter gets to know it
            raise self._closed()
        return self._take_idle() or await self._connect(deadline)

    def watch(self, deadline: float) -> None:
        """Makes sure that answers whose head is due by then expire.

        One timer serves all: a timer per request, made and cancelled, costs about a tenth of the whole call.
        """
        if deadline >= self._alarm_at:
            return
        if self._alarm is not None:
            self._alarm.cancel()
        self._alarm_at = deadline
        self._alarm = asyncio.get_running_loop().call_at(deadline, self._expire_due)

    def freed(self, connection: Connection, *, is_reusable: bool) -> None:
        if is_reusable and not self._is_closed:
            self._keep(connection)
        self._pass_place_on()

    def lost(self, connection: Connection) -> None:
        self._open.discard(connection)
        if connection in self._idle:
            self._idle.remove(connection)
        if self._all_lost is not None and not self._open and not self._all_lost.done():
            self._all_lost.set_result(None)

    def dismiss(self, text: str) -> None:
        """Fails requests under way with this text; idle connections stay."""
        for connection in self._open.difference(self._idle):
            connection.fail(UpstreamFailed(text))

    async def close(self) -> None:
        """Closes every connection, busy ones too, and returns when the last socket is gone."""
        self._is_closed = True
        self._idle.clear()
        for timer in (self._sweep, self._alarm):
            if timer is not None:
                timer.cancel()
        for connection in tuple(self._open):
            connection.fail(UpstreamProtocolError(f"{self._origin} was let go before its answer was whole."))
        if self._all_lost is None:
            self._all_lost = asyncio.get_running_loop().create_future()
        if self._open:
            await asyncio.shield(self._all_lost)

    def _expire_due(self) -> None:
        self._alarm_at = inf
        now = asyncio.get_running_loop().time() + TIMER_SLACK
        for connection in tuple(self._open):
            if connection.deadline <= now:
                connection.expire()
        self.watch(min((connection.deadline for connection in self._open), default=inf))

    # Places

    async def _wait_for_place(self, deadline: float) -> None:
        loop = asyncio.get_running_loop()
        waiter: asyncio.Future[None] = loop.create_future()
        timer = None if deadline == inf else loop.call_at(deadline, self._expire, waiter)
        self._waiters.append(waiter)
        try:
            await waiter
        except BaseException:
            if waiter in self._waiters:
                self._waiters.remove(waiter)
            elif not waiter.cancelled() and waiter.exception() is None:
                self._pass_place_on()  # it was given a place and cancelled before it could take it
            raise
        finally:
            if timer is not None:
                timer.cancel()

    def _pass_place_on(self) -> None:
        while self._waiters:
            waiter = self._waiters.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return
        self._free_places += 1

    def _expire(self, waiter: asyncio.Future[None]) -> None:
        if not waiter.done():
            waiter.set_exception(
                UpstreamTimeout(f"Every connection to {self._origin} was busy. Call less at once, or allow it longer.")
            )

    # Connections

    def _take_idle(self) -> Connection | None:
        # The newest first: the rest grow cold together and are swept.
        while self._idle:
            connection = self._idle.pop()
            if connection.is_quiet() and not self._is_cold(connection):
                return connection
            connection.close()
        return None

    def _keep(self, connection: Connection) -> None:
        loop = asyncio.get_running_loop()
        connection.idle_since = loop.time()
        self._idle.append(connection)
        if self._sweep is None:
            self._sweep = loop.call_at(connection.idle_since + self._idle_seconds, self._drop_cold)

    def _is_cold(self, connection: Connection) -> bool:
        return asyncio.get_running_loop().time() - connection.idle_since >= self._idle_seconds

    def _drop_cold(self) -> None:
        """Closes cold connections. One timer serves the pool: it runs when the longest idle connection is due."""
        self._sweep = None
        while self._idle and self._is_cold(self._idle[0]):
            self._idle.pop(0).close()
        if self._idle:
            due = self._idle[0].idle_since + self._idle_seconds
            self._sweep = asyncio.get_running_loop().call_at(due, self._drop_cold)

    async def _connect(self, deadline: float) -> Connection:
        loop = asyncio.get_running_loop()
        connection = Connection(self._origin, self, loop, waits_for_pairing=self._waits_for_pairing)
        seconds = min(self._connect_timeout, deadline - loop.time())
        try:
            async with asyncio.timeout(seconds):
                await loop.create_connection(lambda: connection, self._host, self._port, ssl=self._tls)
            if self._is_closed:
                raise self._closed()
            if connection.is_closing():  # connected and lost before we noticed: nothing was sent
                raise ConnectionResetError
        except BaseException as error:
            connection.drop()
            self._pass_place_on()
            if isinstance(error, OSError):
                raise self._unavailable(error) from error
            raise
        self._open.add(connection)
        return connection

    def _closed(self) -> UpstreamUnavailable:
        return UpstreamUnavailable(f"The connections to {self._origin} are being closed. Call again after the restart.")

    def _unavailable(self, error: OSError) -> UpstreamUnavailable:
        kind = UpstreamRefused if isinstance(error, ConnectionError) else UpstreamUnavailable
        return kind(f"{self._origin} {_explain(error)}.")


def _explain(error: OSError) -> str:
    """What happened, then what to check, for a connection that was not made."""
    match error:
        case ssl.SSLCertVerificationError():
            why = error.verify_message.rstrip(".")
            return f"shows a certificate that was not accepted ({why}). Check the host name and trust its authority"
        case ssl.SSLError():
            return "did not complete a TLS handshake. Check that this port speaks https"
        case socket.gaierror():
            return "has a host name that does not resolve. Check its spelling and the DNS"
        case TimeoutError():
            return "did not accept a connection in time. Check the address and the firewalls in between"
        case ConnectionRefusedError():
            return "refused the connection. Check that the server runs and listens on this port"
        case _:
            return "could not be reached. Check the address, the port, and that the server runs"
