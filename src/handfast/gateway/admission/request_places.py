"""Places for requests other than calls at one HTTP server: bounded, and at most half of them for one address."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from handfast.core.call import rules
from handfast.gateway.admission.room import share_of
from handfast.gateway.http.response import UpstreamFailed


class PlacesRefused(UpstreamFailed):
    """There is no place for another request. The server was not asked."""


class RefusalTexts(NamedTuple):
    rule: str
    noun: str
    of_one_caller: str
    of_all: str


LISTENING = RefusalTexts(
    rules.LISTENING_NO_ROOM,
    "stream",
    "{own} streams of this caller only listen to the server, which is its share. End one of them.",
    "Too many streams only listen to this server. Try again later.",
)
REQUESTS = RefusalTexts(
    rules.REQUESTS_NO_ROOM,
    "request",
    "{own} requests of this caller wait for the server, which is its share. Wait for their answers.",
    "Too many requests wait for this server. Try again later.",
)


class RequestPlaces:
    def __init__(
        self, most: Callable[[], int], texts: RefusalTexts, *, on_refusal: Callable[[str, str], object]
    ) -> None:
        """`on_refusal` receives a rule and a reason, and records them."""
        self._most = most
        self._texts = texts
        self._on_refusal = on_refusal
        self._held: Counter[str] = Counter()
        self._total = 0

    @contextmanager
    def hold(self, address: str) -> Iterator[None]:
        """Holds a place for a request of this address. Raises: PlacesRefused."""
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
            text = self._texts.of_one_caller.format(own=own)
        elif self._total >= most:
            text = self._texts.of_all
        else:
            return
        self._on_refusal(self._texts.rule, f"A {self._texts.noun} was refused: {text}")
        raise PlacesRefused(text)
