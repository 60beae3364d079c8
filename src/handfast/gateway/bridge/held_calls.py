"""Calls that wait for the client: a legacy server asked something in mid-call, and the client's retry carries it on."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from secrets import token_urlsafe
from typing import Protocol

import msgspec

from handfast.wire.message import Message

_NOT_OF_THE_CALL = ("_meta", "inputResponses", "requestState")
_HELD = 1000  # of one server; more are a client that asks and never comes back


class Resumable(Protocol):
    """What is held."""

    def abandon(self) -> None:
        """Nobody came back for it."""


@dataclass(frozen=True, slots=True)
class _Held:
    call: Resumable
    caller: str
    meaning: bytes
    timer: asyncio.TimerHandle


class HeldCalls:
    """By a state that cannot be guessed, is good for one retry of the same call by the same caller, and expires."""

    def __init__(self, seconds: Callable[[], float]) -> None:
        self._seconds = seconds
        self._held: dict[str, _Held] = {}

    def __len__(self) -> int:
        return len(self._held)

    def hold(self, call: Resumable, message: Message, caller: str) -> str:
        """The requestState that the client must repeat. Raises: AmbiguousKeys, NotJson."""
        if len(self._held) >= _HELD:
            self._expire(next(iter(self._held)))
        state = token_urlsafe(24)
        timer = asyncio.get_running_loop().call_later(self._seconds(), self._expire, state)
        self._held[state] = _Held(call, caller, _meaning(message), timer)
        return state

    def claim(self, state: str, message: Message, caller: str) -> Resumable | None:
        """The call that this retry carries on; None where there is none, or it is not the caller's, or not this call.

        Raises: AmbiguousKeys, NotJson.
        """
        held = self._held.get(state)
        if held is None or held.caller != caller or held.meaning != _meaning(message):
            return None
        del self._held[state]
        held.timer.cancel()
        return held.call

    def discard(self, call: Resumable) -> None:
        """It can be carried on no more."""
        for state, held in list(self._held.items()):
            if held.call is call:
                del self._held[state]
                held.timer.cancel()

    def close(self) -> None:
        for state in list(self._held):
            self._expire(state)

    def _expire(self, state: str) -> None:
        held = self._held.pop(state)
        held.timer.cancel()
        held.call.abandon()


def _meaning(message: Message) -> bytes:
    """What is asked, however it is spelt: clients encode a retry anew."""
    params = {key: value for key, value in message.params().items() if key not in _NOT_OF_THE_CALL}
    raw = msgspec.json.encode([message.method, params])
    try:
        return msgspec.json.encode(msgspec.json.decode(raw), order="sorted")
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return raw
