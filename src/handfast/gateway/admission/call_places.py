"""Places for calls at each server: taken at once where one is free, waited for in a fair line, given back once."""

import asyncio
from collections.abc import Callable, Hashable
from typing import NamedTuple, Protocol

from handfast.core.call import rules
from handfast.gateway.admission.fair_queue import FairQueue, share_of_caller
from handfast.turns import LARGE_BYTES

STOPPING = "The gateway is stopping, so the call never reached the server. Call again once it is back."

CLOSED = "The server was closed while the call waited, so it never reached the server. Call again."


class NoPlace(Exception):
    """The call cannot go on, and never reached its server; the message is for the caller."""

    def __init__(self, rule: str, text: str) -> None:
        super().__init__(rule, text)
        self.rule = rule

    def __str__(self) -> str:
        text: str = self.args[1]
        return text


class Place(Protocol):
    """One call's place: in the gateway while it is judged, then perhaps in a line, then at its server."""

    @property
    def is_granted(self) -> bool: ...

    def ask(self, size: int) -> None:
        """Asks for a place at the server, for a call of this size. Raises: NoPlace when the line is full."""

    async def granted(self) -> None:
        """Returns once the place is granted, or was released elsewhere. Raises: NoPlace."""

    def dismiss(self, text: str) -> None:
        """Ends the call's wait with this text, if it is still in line."""

    def release(self) -> None:
        """Gives the place back, or leaves the line. Does nothing the second time."""


class Places(Protocol):
    """Hands out places by server and caller. In memory here; processes that share a server could share these."""

    def open(self, server: str, caller: Hashable) -> Place:
        """A place for a call that begins. Raises: NoPlace when the gateway, or the caller, has too many."""

    def waiting(self, server: str) -> int: ...

    def dismiss(self, server: str, text: str) -> None:
        """Ends the wait of every call in line for a server, with this text."""

    def close(self) -> None:
        """Ends every wait, and accepts none from now on: the gateway stops."""


class Bounds(NamedTuple):
    """The bounds of one server at the moment."""

    places: int
    queued: int
    seconds: float


class LocalPlaces:
    """The places of this gateway. A place that is free is handed out without waiting for anything."""

    def __init__(self, bounds_of: Callable[[str], Bounds], most_calls: Callable[[], int]) -> None:
        """`most_calls` bounds the calls in progress at all servers together."""
        self._bounds_of = bounds_of
        self._most_calls = most_calls
        self._queues: dict[str, FairQueue[_LocalPlace]] = {}
        self._held_by: dict[Hashable, int] = {}  # at all servers
        self._judged_by: dict[Hashable, int] = {}  # calls that have yet to ask for a place at their server
        self._held = self._judged = 0
        self._has_lines = False  # saves the search for waiting calls while there are none
        self._is_closed = False

    def waiting(self, server: str) -> int:
        queue = self._queues.get(server)
        return queue.waiting if queue is not None else 0

    def open(self, server: str, caller: Hashable) -> "_LocalPlace":
        most = self._most_calls()
        if self._judged >= most or self._held >= most:
            text = f"The gateway has {most} calls in progress, which is its limit. Try again in a moment."
            raise NoPlace(rules.CALLS_FULL, text)
        own = self._judged_by.get(caller, 0)
        if own and own >= share_of_caller(most):
            # These calls wait for a list of tools. Once judged, as many of them would wait for places.
            text = f"{own} calls of this caller have yet to be judged, its share of the gateway. Try again in a moment."
            raise NoPlace(rules.CALLS_FULL, text)
        queue = self._queues.get(server)
        if queue is None:
            queue = self._queues[server] = FairQueue(self._has_share_of_all)
        self._judged_by[caller] = own + 1
        self._judged += 1
        return _LocalPlace(self, server, caller, queue)

    def ask(self, place: "_LocalPlace", queue: "FairQueue[_LocalPlace]", size: int) -> None:
        self.end_judging(place.caller)
        bounds = self._bounds_of(place.server)
        if queue.take(place.caller, bounds.places):
            self._grant(place)
        else:
            self._stand_in_line(queue, place, bounds, 1 + size // LARGE_BYTES)

    def end_judging(self, caller: Hashable) -> None:
        self._judged -= 1
        _lower(self._judged_by, caller)

    def _stand_in_line(
        self, queue: "FairQueue[_LocalPlace]", place: "_LocalPlace", bounds: Bounds, weight: int
    ) -> None:
        if self._is_closed:
            raise NoPlace(rules.GATEWAY_STOPPING, STOPPING)
        turned_away = queue.join(place.caller, place, most=bounds.queued, weight=weight)
        full = NoPlace(
            rules.QUEUE_FULL,
            f"{queue.waiting} calls wait for this server, so the call never reached it. Call again in a moment.",
        )
        if place in turned_away:
            raise NoPlace(*full.args)
        for other in turned_away:
            other.settle(full)
        busy = f"The server was busy with {bounds.places} other calls"
        if self._has_share_of_all(place.caller):
            busy = f"{self._held_by[place.caller]} calls of this caller, its share of the gateway, were in progress"
        elif queue.held < bounds.places:
            busy = f"{queue.held_by(place.caller)} calls of this caller, its share of the server, were in progress"
        late = NoPlace(
            rules.QUEUE_TIMEOUT,
            f"{busy} for {bounds.seconds:g} s, so the call never reached it."
            " Call again later, or send fewer calls at once.",
        )
        place.line_up(late, bounds.seconds)
        self._has_lines = True
        self.call_up(place.server, queue)  # there may be more places than when the line began

    def call_up(self, server: str, queue: "FairQueue[_LocalPlace]") -> None:
        places = self._bounds_of(server).places
        while (chosen := queue.call_next(places)) is not None:
            self._grant(chosen)
            chosen.settle(None)

    def _grant(self, place: "_LocalPlace") -> None:
        place.is_granted = True
        self._held += 1
        self._held_by[place.caller] = self._held_by.get(place.caller, 0) + 1

    def _has_share_of_all(self, caller: Hashable) -> bool:
        """Whether one caller's calls, at all servers, are as many as it may have, so that others find room."""
        held = self._held_by.get(caller, 0)
        return held > 0 and held >= share_of_caller(self._most_calls())

    def give_back(self, place: "_LocalPlace", queue: "FairQueue[_LocalPlace]") -> None:
        self._held -= 1
        _lower(self._held_by, place.caller)
        queue.give_back(place.caller)
        if self._has_lines:
            self.refill()  # other calls of a caller that had its share may wait at any server

    def refill(self) -> None:
        """Grants places to waiting calls, when places were given back or other settings are in force."""
        for server, queue in self._queues.items():
            if queue.waiting:
                self.call_up(server, queue)
        self._has_lines = any(queue.waiting for queue in self._queues.values())

    def dismiss(self, server: str, text: str) -> None:
        for place in list(self._queues.get(server, ())):
            place.dismiss(text)

    def close(self) -> None:
        self._is_closed = True
        for queue in self._queues.values():
            for place in list(queue):
                place.send_away(NoPlace(rules.GATEWAY_STOPPING, STOPPING))


class _LocalPlace:
    """A call's place: while the call is judged, then perhaps in line, then granted, then released."""

    __slots__ = ("_is_judged", "_owner", "_queue", "_timer", "_verdict", "caller", "is_granted", "is_in_line", "server")

    def __init__(self, owner: LocalPlaces, server: str, caller: Hashable, queue: "FairQueue[_LocalPlace]") -> None:
        self._owner = owner
        self._queue = queue
        self._is_judged = True
        self._verdict: asyncio.Future[NoPlace | None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self.server = server
        self.caller = caller
        self.is_granted = False
        self.is_in_line = False

    def ask(self, size: int) -> None:
        self._is_judged = False
        self._owner.ask(self, self._queue, size)

    def line_up(self, late: NoPlace, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        self.is_in_line = True
        self._verdict = loop.create_future()
        self._timer = loop.call_later(seconds, self.send_away, late)

    async def granted(self) -> None:
        problem = await self._verdict if self._verdict is not None else None
        if problem is not None:
            raise NoPlace(*problem.args)  # a stored exception would keep the frames it passes, and what they hold

    def settle(self, verdict: NoPlace | None) -> None:
        """Takes the place out of the line, granted (None) or refused, and wakes its waiter."""
        self.is_in_line = False
        if self._timer is not None:
            self._timer.cancel()
        if self._verdict is not None and not self._verdict.done():  # the waiter may have been cancelled
            self._verdict.set_result(verdict)

    def send_away(self, problem: NoPlace | None) -> None:
        if self.is_in_line:
            self._queue.leave(self.caller, self)
            self.settle(problem)

    def dismiss(self, text: str) -> None:
        self.send_away(NoPlace(rules.QUEUE_DISMISSED, text))

    def release(self) -> None:
        if self._is_judged:
            self._is_judged = False
            self._owner.end_judging(self.caller)
        elif self.is_granted:
            self.is_granted = False
            self._owner.give_back(self, self._queue)
        elif self.is_in_line:
            self.send_away(None)


def _lower(counts: dict[Hashable, int], caller: Hashable) -> None:
    left = counts[caller] - 1
    if left:
        counts[caller] = left
    else:
        del counts[caller]
