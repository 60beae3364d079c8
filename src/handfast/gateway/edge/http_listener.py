"""Where clients connect: a listening socket, the bounds on connections, and one clock for all of them."""

import asyncio
import contextlib
import socket
import time
from collections import Counter
from collections.abc import Callable, Coroutine
from itertools import islice
from typing import TYPE_CHECKING, Any

from handfast.core.call import rules
from handfast.core.call.caller import Caller, network_of
from handfast.gateway.edge.acceptor import Acceptor
from handfast.gateway.edge.body_places import BodyPlaces
from handfast.gateway.edge.client_connection import ClientConnection
from handfast.gateway.edge.connection_owner import LARGE_PIECE_BYTES, PIECE_BYTES, Patience
from handfast.gateway.edge.held_bytes import HeldBytes
from handfast.gateway.edge.paced_body import RETRY_AFTER
from handfast.gateway.edge.paced_line import PacedLine
from handfast.gateway.http.exchange import HttpExchange, HttpProblem
from handfast.gateway.http.response_head import render_date
from handfast.turns import Turns, turns_of_loop

if TYPE_CHECKING:
    import ssl

    from handfast.gateway.settings.blocks import Limits

Handle = Callable[[HttpExchange], Coroutine[Any, Any, None]]  # Any: a coroutine's send types
Note = Callable[[HttpProblem], None]

_TICK_SECONDS = 1.0  # deadlines are ten seconds and more
# Connections over the bound that are kept for a moment, so that their clients can read why. Further ones are dropped.
_REFUSED_AT_ONCE = 64
# How many of the oldest connections are searched for an idle one: a storm must not cost a long search.
_LOOKED_AT = 64
# How many connections are closed when the system has no descriptor left.
_ROOM_AT_ONCE = 8
# While more than one place in so many never had a request, the oldest of these makes way: a storm ends only its own.
_NEW_SHARE = 8
# Four of the largest bodies, more than have a place at once. Less than the gateway's own memory, which slow clients
# must not double.
_ARRIVING_BYTES = 16 * 1024 * 1024
# Twenty-five results at their bound of 5 MiB, on their way to clients far away.
_UNREAD_BYTES = 128 * 1024 * 1024
# Four thousand heads of four kilobytes, or two hundred and fifty of the longest.
_HEAD_BYTES = 16 * 1024 * 1024


class HttpListener:
    """The listener, which counts everything that is bounded over all clients."""

    def __init__(
        self,
        handle: Handle,
        *,
        limits: "Callable[[], Limits]",
        note: Note = lambda _problem: None,
        patience: Patience | None = None,
        turns: Turns | None = None,
        tick: float = _TICK_SECONDS,
    ) -> None:
        self.handle = handle
        self.note = note
        self.patience = patience or Patience()
        self.turns = turns or turns_of_loop()
        self.arriving = HeldBytes(lambda: max(_ARRIVING_BYTES, 4 * limits().body_bytes))
        # A twentieth of the loop's time, and faster than most networks.
        self.ignored = PacedLine(at_once=4, seconds=0.005)
        # A tenth of the loop's time, and far more than any client needs for requests that are refused.
        self.refused = PacedLine(at_once=1, seconds=0.002)
        self.places = BodyPlaces()
        self.piece = memoryview(bytearray(PIECE_BYTES))
        self.large_piece = memoryview(bytearray(LARGE_PIECE_BYTES))
        self.heads = HeldBytes(lambda: _HEAD_BYTES)
        self.unread = HeldBytes(lambda: max(_UNREAD_BYTES, 2 * limits().message_bytes))
        self.is_closing = False
        self.now = 0.0
        self.end_of_head = self.end_of_last_head = b""
        self._limits = limits
        self._tick_seconds = tick
        self._timer: asyncio.TimerHandle | None = None
        self._acceptor: Acceptor | None = None
        self._connections: dict[ClientConnection, str] = {}  # each with the network that it is counted for
        self._unproven: dict[ClientConnection, None] = {}  # without a whole request when last examined
        self._by_origin: Counter[str] = Counter()
        self._refused: set[ClientConnection] = set()
        self._is_empty = asyncio.Event()

    async def start(self, listener: socket.socket, *, tls: "ssl.SSLContext | None" = None) -> None:
        """Accepts clients on a listening socket."""
        self._read_clock()
        self._acceptor = Acceptor(listener, lambda: ClientConnection(self), self._close_idle)
        await self._acceptor.start(tls)

    async def close(self, seconds: float) -> None:
        """Stops accepting, and gives the answers under way this many seconds to be sent."""
        self.is_closing = True
        if self._acceptor is not None:
            await self._acceptor.close()
        for connection in self._all():
            connection.close()
        tasks = [connection.task for connection in self._all() if connection.task is not None]
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=seconds)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)
        for connection in self._all():
            connection.close()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._emptied()
        for connection in self._all():
            connection.abort()
        await self._emptied()
        if self._timer is not None:
            self._timer.cancel()

    async def _emptied(self) -> None:
        while self._connections or self._refused:
            self._is_empty.clear()
            await self._is_empty.wait()

    def _all(self) -> list[ClientConnection]:
        return [*self._connections, *self._refused]

    def end_requests(self, is_over: Callable[[Caller], bool]) -> None:
        """Ends the requests of callers who may go on no longer, with their connections."""
        for connection in [*self._connections]:
            if connection.is_answering(is_over):
                connection.abort()

    # --- what a connection calls -------------------------------------------------------------------------------------

    def admit(self, connection: ClientConnection) -> HttpProblem | None:
        """Counts the connection, or returns why not. The clock runs while there are connections."""
        if self.is_closing:
            connection.abort()
            return None
        if self._timer is None:
            self._read_clock()
            self._timer = asyncio.get_running_loop().call_later(self._tick_seconds, self._tick)
        origin, most = network_of(connection.caller.peer), self._limits().connections
        problem = None
        if origin and self._by_origin[origin] >= max(most // 2, 1):
            problem = self._too_many("from your address")
        elif not self._has_room(most):
            problem = self._too_many("at once")
        if problem is None:
            self._connections[connection] = origin
            self._unproven[connection] = None
            self._by_origin[origin] += 1
        elif len(self._refused) < _REFUSED_AT_ONCE:
            self._refused.add(connection)
        else:
            self.note(problem)
            connection.abort()
            return None
        return problem

    def forget(self, connection: ClientConnection) -> None:
        origin = self._connections.pop(connection, None)
        self._unproven.pop(connection, None)
        if origin is not None:
            self._by_origin[origin] -= 1
            if not self._by_origin[origin]:
                del self._by_origin[origin]
        self._refused.discard(connection)
        if not self._connections and not self._refused:
            self._is_empty.set()

    def _too_many(self, which: str) -> HttpProblem:
        text = f"Too many connections are open {which}. Close some, or try again later."
        return HttpProblem(503, text, rule=rules.CONNECTION_REFUSED, headers=[RETRY_AFTER])

    def _has_room(self, most: int) -> bool:
        while len(self._connections) >= most:
            chosen = self._find_unproven(most) or self._find_idle()
            if chosen is None:
                return False
            chosen.abort()
            self.forget(chosen)
        return True

    def _close_idle(self) -> None:
        """Closes idle connections as if all places were taken, because the system has no descriptor left."""
        self._has_room(max(len(self._connections) - _ROOM_AT_ONCE, 1))

    def _find_unproven(self, most: int) -> ClientConnection | None:
        """Returns the oldest connection that never had a whole request, if there are many: a few have one to come."""
        for connection in [*islice(self._unproven, _LOOKED_AT)]:
            if connection.has_been_answered or not connection.may_make_way:
                del self._unproven[connection]
            elif len(self._unproven) > most // _NEW_SHARE:
                return connection
            else:
                return None
        return None

    def _find_idle(self) -> ClientConnection | None:
        """Returns the least recently used connection that may make way, of those that are examined."""
        looked_at = [*islice(self._connections, _LOOKED_AT)]
        for connection in looked_at:
            self._connections[connection] = self._connections.pop(connection)  # moved to the end
        idle = [connection for connection in looked_at if connection.may_make_way]
        return min(idle, key=lambda connection: connection.used_at, default=None)

    # --- the clock ---------------------------------------------------------------------------------------------------

    def _read_clock(self) -> None:
        date = render_date(time.time())
        self.end_of_head = date + b"\r\n"
        self.end_of_last_head = date + b"connection: close\r\n\r\n"

    def _tick(self) -> None:
        """Advances the clock by its own steps: after a stall, what has arrived is read before a deadline passes."""
        self.now += self._tick_seconds
        self._read_clock()
        later = asyncio.get_running_loop().call_later
        self._timer = later(self._tick_seconds, self._tick) if self._connections or self._refused else None
        now = self.now
        for connection in self._all():
            if connection.deadline <= now:
                connection.expire()
