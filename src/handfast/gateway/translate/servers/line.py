"""A connection of handfast's own to a server: what differs between transports, and nothing about eras."""

from collections.abc import Awaitable, Callable
from typing import Protocol

from handfast.gateway.calls.flow import HoldBack
from handfast.gateway.http.response import Headers, UpstreamFailed, describe_status
from handfast.wire.message import Message

Deliver = Callable[[Message], None]
Room = Callable[[], Awaitable[None]]


class Line(Protocol):
    async def exchange(
        self, message: Message, deliver: Deliver, headers: Headers | None = None, room: Room | None = None
    ) -> Message:
        """Sends a request; gives its answer, under the id it was sent with.

        `deliver` takes what comes before the answer: progress, and whatever else the request's stream carries.
        `headers` are for transports that have any. Where each request has a stream of its own, that is read on only
        when there is `room`. Cancelling cancels the request at the server. Raises: UpstreamFailed.
        """

    async def send(self, raw: bytes) -> None:
        """Sends what has no answer: a notification, or an answer to the server. Raises: UpstreamFailed."""

    @property
    def is_alive(self) -> bool: ...

    @property
    def has_given_up(self) -> bool:
        """Whether the server may still be at work on a request that was given up, and ask something about it."""

    @property
    def is_shared(self) -> bool:
        """Whether it serves several callers, which the server cannot tell apart."""

    @property
    def incarnation(self) -> tuple[str, ...]:
        """The process that gives out task ids and states; empty where a server keeps them over its restarts."""

    @property
    def hold_back(self) -> HoldBack | None:
        """Pauses the server; None where other callers would wait with it."""

    async def close(self) -> None: ...


class HttpRefused(UpstreamFailed):
    """The server answered with an HTTP status and nothing that is a message."""

    def __init__(self, status: int) -> None:
        super().__init__(describe_status(status))
        self.status = status


class ServerExited(UpstreamFailed):
    """The server's process ended with the request unanswered."""


class ServerSessionLost(UpstreamFailed):
    """The session is gone and the request did nothing, or may be done twice: it may be sent again, elsewhere."""
