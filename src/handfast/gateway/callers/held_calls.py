"""Calls held for the client's answer: a legacy server asked something mid-call, and the client's retry resumes it."""

import asyncio
import contextlib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from hashlib import sha256
from secrets import token_urlsafe
from typing import Final, Protocol

import msgspec

from handfast.gateway.admission.room import share_of
from handfast.wire.message import Message

GIVEN_UP: Final = "A call that waited for its client to answer was given up to make room for another."
_NOT_OF_THE_CALL = ("_meta", "inputResponses", "requestState")
_HELD = 1000  # calls of one server; more would come from clients that never answer
_BYTES = (
    32 * 1024**2
)  # questions of one server: a question is a form of a few kilobytes, so this is a thousand large ones


class Resumable(Protocol):
    """A call that can be held and resumed."""

    @property
    def size(self) -> int:
        """The bytes that the call keeps."""

    def abandon(self) -> None:
        """Ends the call: its client did not return in time, or it was given up for another one."""


class _LostCall:
    """Stands for a call whose server is gone, so that its client is told that and nothing else."""

    size = 0

    def abandon(self) -> None: ...


LOST: Final = _LostCall()


class TooMuchToHold(Exception):
    """One question alone is larger than what one address may have held."""


@dataclass(frozen=True, slots=True)
class _Held:
    call: Resumable
    caller: str
    address: str
    meaning: bytes
    size: int
    timer: asyncio.TimerHandle


class HeldCalls:
    """Held calls, by a state that cannot be guessed, expires, and is good for one retry of that call by its caller.

    Bounded per address and in total: an address without room loses its oldest call, or else the fullest address does.
    """

    def __init__(
        self,
        seconds: Callable[[], float],
        *,
        on_evict: Callable[[], None] = lambda: None,
        most: int = _HELD,
        most_bytes: int = _BYTES,
    ) -> None:
        self._seconds = seconds
        self._on_evict = on_evict
        self._most = most
        self._most_bytes = most_bytes
        self._held: dict[str, _Held] = {}
        self._count: Counter[str] = Counter()
        self._bytes: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self._held)

    def hold(self, call: Resumable, message: Message, caller: str, address: str) -> str:
        """Holds a call; returns the requestState for its retry. Raises: TooMuchToHold, AmbiguousKeys, NotJson."""
        meaning, size = _meaning(message), call.size
        if size > share_of(self._most_bytes):
            raise TooMuchToHold("What the server asks is too large to be held for an answer. Ask it for less.")
        while (crowded := self._crowded(address, size)) is not None:
            self._on_evict()
            self._expire(next(state for state, held in self._held.items() if held.address == crowded))
        state = token_urlsafe(24)
        timer = asyncio.get_running_loop().call_later(self._seconds(), self._expire, state)
        self._held[state] = _Held(call, caller, address, meaning, size, timer)
        self._count[address] += 1
        self._bytes[address] += size
        return state

    def claim(self, state: str, message: Message, caller: str) -> Resumable | None:
        """Returns the call that this retry resumes; None if there is none, or it is another caller's or another call.

        Raises: AmbiguousKeys, NotJson.
        """
        held = self._held.get(state)
        if held is None or held.caller != caller or held.meaning != _meaning(message):
            return None
        return self._take(state).call

    def lose(self, call: Resumable) -> None:
        """Puts LOST in the place of a call that can no longer be resumed."""
        for state in [state for state, held in self._held.items() if held.call is call]:
            held = self._held[state]
            self._held[state] = replace(held, call=LOST, size=0)
            self._bytes[held.address] -= held.size

    def close(self) -> None:
        for state in list(self._held):
            self._expire(state)

    def _crowded(self, address: str, size: int) -> str | None:
        """Returns the address that must lose a call before this one can hold `size` bytes more; None if it can."""
        if self._count[address] >= share_of(self._most):
            return address
        if self._bytes[address] + size > share_of(self._most_bytes):
            return address
        if len(self._held) >= self._most:
            return address if self._count[address] else max(self._count, key=self._count.__getitem__)
        if self._bytes.total() + size > self._most_bytes:
            return address if self._bytes[address] else max(self._bytes, key=self._bytes.__getitem__)
        return None

    def _take(self, state: str) -> _Held:
        held = self._held.pop(state)
        held.timer.cancel()
        self._count[held.address] -= 1
        self._bytes[held.address] -= held.size
        if not self._count[held.address]:
            del self._count[held.address], self._bytes[held.address]
        return held

    def _expire(self, state: str) -> None:
        self._take(state).call.abandon()


def _meaning(message: Message) -> bytes:
    """Returns a digest of the request that does not depend on its spelling: clients encode a retry again."""
    params = {key: value for key, value in message.params().items() if key not in _NOT_OF_THE_CALL}
    raw = msgspec.json.encode([message.method, params])
    with contextlib.suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raw = msgspec.json.encode(msgspec.json.decode(raw), order="sorted")  # unreadable params compare byte by byte
    return sha256(raw).digest()
