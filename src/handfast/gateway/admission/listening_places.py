"""Streams to one server that only listen: bounded, and no more than half of them for one address."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from handfast.gateway.admission.room import share_of
from handfast.gateway.http.response import UpstreamFailed

REFUSED = "listening.no_room"


class ListeningRefused(UpstreamFailed):
    """There is no place for another stream. The server was not asked."""


class ListeningPlaces:
    def __init__(self, most: Callable[[], int], *, on_refusal: Callable[[str], None]) -> None:
        """`on_refusal` puts it on record."""
        self._most = most
        self._on_refusal = on_refusal
        self._held: Counter[str] = Counter()
        self._total = 0

    @contextmanager
    def hold(self, address: str) -> Iterator[None]:
        """A place for one stream of this address. Raises: ListeningRefused."""
        self._check(address)
        self._held[address] += 1
        self._total += 1
        try:
            yield
        finally:
            self._total -= 1
            self._held[address] -= 1
            if not self._held[address]:
                del self._held[address]

    def _check(self, address: str) -> None:
        most, own = self._most(), self._held[address]
        if own >= share_of(most):
            text = f"{own} streams of this caller only listen to the server, which is its share. End one of them."
        elif self._total >= most:
            text = "Too many streams only listen to this server. Try again later."
        else:
            return
        self._on_refusal(f"A stream was refused: {text}")
        raise ListeningRefused(text)
