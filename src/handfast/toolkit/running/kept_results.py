"""Stores for cut results, kept for a while so that callers can fetch the rest: the interface, and one in memory."""

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from handfast.core.call.policy import OutputPolicy

_MOST_BYTES = 64 * 1024 * 1024  # a dozen results of the largest size that may leave a tool
_MOST_RESULTS = 1_000
_SECONDS = 900.0  # after a quarter of an hour an agent no longer asks for the next piece


@dataclass(frozen=True, slots=True, kw_only=True)
class CutResult:
    """One result, cut into pieces. Only bytes and texts, so that a store may keep it outside this process."""

    owner: str  # the actor's label; empty for an unknown caller
    tool: str
    arguments: str  # a digest of the call's arguments
    pieces: tuple[bytes, ...]
    total_items: int | None  # of a list
    beside: bytes = b"{}"  # JSON: the members beside the items in every piece
    items_key: str = "items"  # the member that holds the items

    @property
    def size(self) -> int:
        return sum(map(len, self.pieces)) + len(self.beside)


class ResultStore(Protocol):
    """Keeps results under unguessable keys. It may drop any of them at any time; a caller then repeats its call.

    The code that reads a result checks its owner and its tool.
    """

    async def keep(self, key: str, kept: CutResult) -> None: ...

    async def find(self, key: str) -> CutResult | None: ...


class MemoryResults:
    """Keeps results in this process, bounded in number, bytes and time; the oldest are dropped first."""

    def __init__(
        self,
        *,
        most_bytes: int = _MOST_BYTES,
        most_results: int = _MOST_RESULTS,
        seconds: float = _SECONDS,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """Sets the bounds. Raises: ValueError, if not even one result would fit."""
        if most_bytes < OutputPolicy().max_bytes or most_results < 1:
            raise ValueError(f"Kept results need room for one: at least {OutputPolicy().max_bytes} bytes.")
        self._most_bytes = most_bytes
        self._most_results = most_results
        self._seconds = seconds
        self._now = now
        self._kept: OrderedDict[str, tuple[float, CutResult]] = OrderedDict()  # in the order in which they expire
        self.bytes = 0

    def __len__(self) -> int:
        return len(self._kept)

    async def keep(self, key: str, kept: CutResult) -> None:
        self._drop_expired()
        self._kept[key] = (self._now() + self._seconds, kept)
        self.bytes += kept.size
        while len(self._kept) > self._most_results or self.bytes > self._most_bytes:
            self._drop_oldest()

    async def find(self, key: str) -> CutResult | None:
        self._drop_expired()
        found = self._kept.get(key)
        return None if found is None else found[1]

    def _drop_expired(self) -> None:
        while self._kept and next(iter(self._kept.values()))[0] <= self._now():
            self._drop_oldest()

    def _drop_oldest(self) -> None:
        _, (_, kept) = self._kept.popitem(last=False)
        self.bytes -= kept.size
