"""Places for clients that send large bodies: a few at a time in each class of size, and none kept for a slow client."""

import asyncio
from collections.abc import Hashable
from itertools import islice
from typing import Final, Protocol

from handfast.core.call.caller import Caller
from handfast.gateway.admission.fair_queue import FairQueue

# The largest body of each class but the last. A class has its own line: the largest bodies keep no shorter one waiting.
_SIZES: Final = (256 * 1024, 1024 * 1024)
_PLACES: Final = 2  # in each class: together less than four of the largest bodies
_WAITING: Final = 512  # in each class; each has sent its first piece
_LOOKED_AT: Final = 64  # waiting connections that are examined at each look
_LOOK_SECONDS: Final = 0.02
_LEAST_BYTES: Final = 24 * 1024  # from one look to the next: 10 Mbit/s. A slower client needs no place.


class Sender(Hashable, Protocol):
    """A connection whose client sends a large body."""

    @property
    def caller(self) -> Caller:
        """The caller whose body it is: addresses take turns."""

    @property
    def body_received(self) -> int: ...

    @property
    def is_waited_for(self) -> bool:
        """Whether the connection would be read if its client sent something."""

    @property
    def is_ready(self) -> bool:
        """Whether the rest of its body, or much of it, has already arrived."""

    def send_on(self) -> None:
        """The connection has a place."""

    def step_aside(self) -> None:
        """The connection neither has a place any longer nor waits for one, and is read as slowly as it sends."""

    def turn_away(self) -> None:
        """There is no room to wait for a place."""


_Line = FairQueue[Sender]


class BodyPlaces:
    def __init__(self) -> None:
        self._lines = tuple(_Line() for _ in range(len(_SIZES) + 1))
        self._waiting: dict[Sender, _Line] = {}
        self._sending: dict[Sender, _Line] = {}
        self._received: dict[Sender, int] = {}  # at the last look
        self._timer: asyncio.TimerHandle | None = None

    @property
    def senders(self) -> int:
        """The number of connections that have a place or wait for one."""
        return len(self._sending) + len(self._waiting)

    def ask(self, sender: Sender, size: int) -> None:
        """Asks for a place. The answer is one call of `send_on`, `step_aside` or `turn_away`, now or later."""
        line = self._lines[sum(size > bound for bound in _SIZES)]
        if line.take(sender.caller.address, _PLACES):
            self._sending[sender] = line
            sender.send_on()
            return
        turned_away = line.join(sender.caller.address, sender, most=_WAITING)
        self._waiting[sender] = line
        for other in turned_away:
            del self._waiting[other]
            other.turn_away()
        self._look_later()

    def leave(self, sender: Sender) -> None:
        """Gives back a place, or leaves the line. Does nothing for a sender that has neither."""
        line = self._waiting.pop(sender, None)
        if line is not None:
            line.leave(sender.caller.address, sender)
            return
        line = self._sending.pop(sender, None)
        if line is not None:
            self._received.pop(sender, None)
            line.give_back(sender.caller.address)
            self._call_next(line)

    def _call_next(self, line: _Line) -> None:
        while (sender := line.call_next(_PLACES)) is not None:
            del self._waiting[sender]
            if line.waiting and not sender.is_ready:
                line.give_back(sender.caller.address)
                sender.step_aside()
                continue
            self._sending[sender] = line
            sender.send_on()

    def _look_later(self) -> None:
        if self._timer is None and self._waiting:
            self._timer = asyncio.get_running_loop().call_later(_LOOK_SECONDS, self._look)

    def _look(self) -> None:
        """Takes places that others wait for from slow senders, and senders with little to read out of the lines."""
        self._timer = None
        for sender in [*islice(self._waiting, _LOOKED_AT)]:
            self._waiting[sender] = self._waiting.pop(sender)  # moved to the end
            if not sender.is_ready:
                self.leave(sender)
                sender.step_aside()
        for sender, line in [*self._sending.items()]:
            if sender not in self._sending:
                continue  # removed by an earlier step of this loop
            received = sender.body_received
            before = self._received.get(sender, -_LEAST_BYTES)  # a new sender has until the next look
            self._received[sender] = received
            if line.waiting and sender.is_waited_for and received - before < _LEAST_BYTES:
                sender.step_aside()
                self.leave(sender)
        self._look_later()
