"""What a client's connection is given by its listener: a clock, how long each step may take, and the bounds of all."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from handfast.gateway.edge.body_places import BodyPlaces
from handfast.gateway.edge.held_bytes import HeldBytes
from handfast.gateway.edge.paced_line import PacedLine
from handfast.gateway.http.exchange import HttpExchange, HttpProblem
from handfast.turns import Turns

if TYPE_CHECKING:
    from handfast.gateway.edge.client_connection import ClientConnection


# What is read from a connection at once. Most requests are one such piece; of a large body no more is read until it
# has a place, and then larger ones.
PIECE_BYTES: Final = 8 * 1024
LARGE_PIECE_BYTES: Final = 256 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How many seconds a client has for each of its steps."""

    first_byte: float = 10.0  # of a new connection
    head: float = 10.0  # from its first byte; a head is one packet or two
    body: float = 30.0  # without a byte of it, and in all
    body_rate: float = 16 * 1024  # a second more for so many bytes: 4 MiB over a line of 128 kbit/s take 256 s
    idle: float = 75.0  # between two requests; longer than the minute after which many clients drop theirs
    unread: float = 60.0  # without taking a byte of an answer; as long as the official clients wait for anything
    farewell: float = 2.0  # to read why the connection closes
    keep_alive: float = 15.0  # until a silent stream of events gets a comment; a quarter of what proxies allow


class ListenerSide(Protocol):
    """The listener, as far as one connection needs it."""

    now: float
    """A coarse clock: a deadline is compared with it now and then, and costs no timer."""
    patience: Patience
    turns: Turns
    is_closing: bool
    arriving: HeldBytes
    """Requests that are not whole yet, and those sent ahead."""
    ignored: PacedLine
    """What clients go on sending after their last answer: read slowly, so that they get to read that answer."""
    refused: PacedLine
    """Clients whose requests are refused one after the other, until their next one is read."""
    places: BodyPlaces
    piece: memoryview
    """Where what a client sends is put first."""
    large_piece: memoryview
    """The same where it has a place for a large body."""
    heads: HeldBytes
    """The heads of requests under way that are longer than most."""
    unread: HeldBytes
    """Answers that their clients have yet to take."""
    end_of_head: bytes
    """The last lines of the head of an answer, and the empty one."""
    end_of_last_head: bytes
    """The same where the connection closes after the answer."""

    def admit(self, connection: "ClientConnection") -> HttpProblem | None:
        """Count the connection; a problem if there is no room for it."""

    def forget(self, connection: "ClientConnection") -> None:
        """It is gone."""

    async def handle(self, http: HttpExchange) -> None:
        """Answer a request."""

    def note(self, problem: HttpProblem) -> None:
        """Put on record what was refused before it was a request."""
