"""The listener's side of a client connection: a clock, how long each step may take, and the bounds over all of them."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from handfast.gateway.edge.body_places import BodyPlaces
from handfast.gateway.edge.held_bytes import HeldBytes
from handfast.gateway.edge.paced_line import PacedLine
from handfast.gateway.http.exchange import HttpExchange, HttpProblem
from handfast.turns import Turns

if TYPE_CHECKING:
    from handfast.gateway.edge.client_connection import ClientConnection


# Bytes read from a connection at once. Most requests are one such piece; a large body is read no further until it has a
# place, and then in larger pieces.
PIECE_BYTES: Final = 8 * 1024
LARGE_PIECE_BYTES: Final = 256 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How many seconds a client has for each of its steps."""

    first_byte: float = 10.0  # of a new connection
    head: float = 10.0  # from its first byte; a head is one packet or two
    body: float = 30.0  # since its last byte; also what a body has in all, before its size is counted
    body_rate: float = 16 * 1024  # bytes that add one second to that: 4 MiB over a line of 128 kbit/s take 256 s
    idle: float = 75.0  # between two requests; longer than the minute after which many clients drop theirs
    unread: float = 60.0  # without taking a byte of an answer; as long as the official clients wait for anything
    farewell: float = 2.0  # to read why the connection closes
    keep_alive: float = 15.0  # until a silent stream of events gets a comment; a quarter of what proxies allow


class ListenerSide(Protocol):
    """The listener, as far as one connection needs it."""

    now: float
    """A coarse clock: each tick compares the deadlines with it, so that they need no timers."""
    patience: Patience
    turns: Turns
    is_closing: bool
    arriving: HeldBytes
    """Requests that are not whole yet, and those sent ahead."""
    ignored: PacedLine
    """Data that clients send after their last answer: read slowly, so that they can still read that answer."""
    refused: PacedLine
    """Clients whose requests were refused in a row, until their next one is read."""
    places: BodyPlaces
    piece: memoryview
    """The buffer that receives what a client sends."""
    large_piece: memoryview
    """The same for a client that has a place for a large body."""
    heads: HeldBytes
    """The heads of requests under way that are longer than most."""
    unread: HeldBytes
    """Answers that their clients have yet to take."""
    end_of_head: bytes
    """The last lines of the head of an answer, with the empty one."""
    end_of_last_head: bytes
    """The same where the connection closes after the answer."""

    def admit(self, connection: "ClientConnection") -> HttpProblem | None:
        """Counts the connection; returns a problem if there is no room for it."""

    def forget(self, connection: "ClientConnection") -> None:
        """Stops counting a connection that is gone."""

    async def handle(self, http: HttpExchange) -> None:
        """Answers a request."""

    def note(self, problem: HttpProblem) -> None:
        """Puts on record a refusal from before there was a request."""
