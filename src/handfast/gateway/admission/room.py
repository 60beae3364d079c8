"""Room that callers share: no address holds more than half of it, and an idle one makes way when it is full. Pure."""

from collections import Counter
from typing import Final, Generic, Protocol, TypeVar

_FULL: Final = "Too many sessions are open with this server. Try again later."
MADE_WAY: Final = "An idle session was closed to make room for another."


class Held(Protocol):
    """What takes room: its address, and how it was used."""

    @property
    def address(self) -> str: ...
    @property
    def opened(self) -> float: ...
    @property
    def last_used(self) -> float: ...
    @property
    def has_called(self) -> bool: ...
    @property
    def is_idle(self) -> bool: ...


H = TypeVar("H", bound=Held)


class NoRoom(Exception):
    """Everything that could make way is in use."""


class Room(Generic[H]):
    def __init__(self) -> None:
        self._held: dict[H, None] = {}  # in the order in which they came
        self._count: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self._held)

    def add(self, held: H) -> None:
        self._held[held] = None
        self._count[held.address] += 1

    def remove(self, held: H) -> None:
        """Removes it. Does nothing if it is not in here."""
        if held in self._held:
            del self._held[held]
            self._count[held.address] -= 1
            if not self._count[held.address]:
                del self._count[held.address]

    def find_leaver(self, address: str, most: int) -> H | None:
        """Returns which one makes way for another of this address; None if there is room. Raises: NoRoom.

        An idle one of the same address goes first, else one of the address that holds the most.
        """
        share, own = share_of(most), self._count[address]
        if own < share and len(self._held) < most:
            return None
        leavers = [held for held in self._held if held.is_idle]
        mine = [held for held in leavers if held.address == address]
        if mine:
            return min(mine, key=_order)
        if own >= share:
            raise NoRoom(
                f"{own} sessions of this caller are open with the server, which is its share. End one of them."
            )
        if not leavers:
            raise NoRoom(_FULL)
        return min(leavers, key=lambda held: (-self._count[held.address], *_order(held)))


def share_of(most: int) -> int:
    """Returns what one address may hold: half, so that there is room for another."""
    return max(1, most // 2)


def _order(held: Held) -> tuple[bool, float]:
    """Orders those that never made a call first, the newest of them; then those that were not used for longest."""
    return held.has_called, held.last_used if held.has_called else -held.opened
