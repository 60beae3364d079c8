"""Connections of handfast's own to one server: opened once per key, bounded, and closed when idle for long."""

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, Protocol, TypeVar

from handfast.gateway.admission.room import NoRoom, Room
from handfast.gateway.http.response import UpstreamFailed
from handfast.gateway.sessions.session_table import Sweeper
from handfast.gateway.settings.blocks import Limits

_CLOSED = "The server was closed before the request reached it. Send it again later."


class Pooled(Protocol):
    last_used: float

    @property
    def has_called(self) -> bool: ...
    @property
    def is_alive(self) -> bool: ...
    @property
    def is_idle(self) -> bool: ...
    async def close(self) -> None: ...
    async def finished(self) -> None:
        """Returns once nothing is under way on it; what only listens ends now."""


Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value", bound=Pooled)


class Pool(Generic[Key, Value]):
    def __init__(
        self,
        *,
        limits: Callable[[], Limits],
        now: Callable[[], float],
        is_shared: Callable[[Key], bool],
        on_evict: Callable[[], None] = lambda: None,
    ) -> None:
        """A connection that `is_shared` serves all callers and does not count towards the bound."""
        self._on_evict = on_evict
        self._room: Room[_Place[Key, Value]] = Room()
        self._places: dict[Key, _Place[Key, Value]] = {}
        self._limits = limits
        self._now = now
        self._is_shared = is_shared
        self._opened: dict[Key, asyncio.Task[Value]] = {}
        self._closing: set[asyncio.Task[None]] = set()
        self._finishing: set[asyncio.Task[None]] = set()
        self._sweeper = Sweeper(self._end_idle, lambda: limits().session_idle_s)
        self._is_closed = False

    async def get(self, key: Key, open_it: Callable[[Key], Awaitable[Value]], *, address: str = "") -> Value:
        """The connection for this key, opened once for any number of requests at a time, in this address's room.

        Raises: what `open_it` raises, UpstreamFailed.
        """
        self._require_open()
        task = self._opened.get(key)
        if task is None or not _is_usable(task):
            task = self._opened[key] = asyncio.create_task(self._open(key, task, open_it, address))
            task.add_done_callback(lambda task: self._opened_or_failed(key, task))
            self._sweeper.start()
        await asyncio.wait((task,))
        if task.cancelled():
            self._require_open()
            raise UpstreamFailed("The session was closed while it was being opened.")
        value = task.result()
        value.last_used = self._now()
        return value

    def _require_open(self) -> None:
        """Raises: UpstreamFailed."""
        if self._is_closed:
            raise UpstreamFailed(_CLOSED)

    def _opened_or_failed(self, key: Key, task: "asyncio.Task[Value]") -> None:
        """Forgets one that failed; retrieves its exception, or asyncio may report it."""
        if not _has_opened(task) and self._opened.get(key) is task:
            self._forget(key)

    async def _open(
        self, key: Key, old: "asyncio.Task[Value] | None", open_it: Callable[[Key], Awaitable[Value]], address: str
    ) -> Value:
        if old is not None:
            self._give_up_place(key)
            self._let_finish(old)
        if not self._is_shared(key):
            await self._take_place(key, address)
        return await open_it(key)

    async def end(self, key: Key) -> None:
        """Closes the connection for this key; one that is no longer usable first finishes its calls."""
        task = self._forget(key)
        if _is_usable(task):
            await _close(task)
        else:
            self._let_finish(task)

    def retire(self, key: Key, value: Value) -> None:
        """Makes the next request open another connection; another request may have done so already."""
        task = self._opened.get(key)
        if task is not None and _has_opened(task) and task.result() is value:
            self._let_finish(self._forget(key))

    def _let_finish(self, task: "asyncio.Task[Value]") -> None:
        """Closes it once nothing is under way on it: a session that one caller lost may still answer others."""
        finishing = asyncio.create_task(_finish(task))
        self._finishing.add(finishing)
        finishing.add_done_callback(self._finishing.discard)

    def leave(self, is_left: Callable[[Key], bool]) -> None:
        """Closes these, whatever is under way on them."""
        for key in [key for key in self._opened if is_left(key)]:
            closing = asyncio.create_task(_close(self._forget(key)))
            self._closing.add(closing)
            closing.add_done_callback(self._closing.discard)

    async def close(self) -> None:
        self._is_closed = True
        await self._sweeper.finish()
        opened, self._opened = self._opened, {}
        for finishing in self._finishing:
            finishing.cancel()
        await asyncio.gather(*map(_close, opened.values()), *self._closing)
        await asyncio.gather(*self._finishing, return_exceptions=True)

    async def _take_place(self, key: Key, address: str) -> None:
        """Raises: UpstreamFailed."""
        try:
            leaver = self._room.find_leaver(address, self._limits().sessions)
        except NoRoom as problem:
            raise UpstreamFailed(str(problem)) from None
        place = self._places[key] = _Place(key, address, self._opened[key], self._now())
        self._room.add(place)
        if leaver is not None:
            self._on_evict()
            await self.end(leaver.key)

    def _give_up_place(self, key: Key) -> None:
        place = self._places.pop(key, None)
        if place is not None:
            self._room.remove(place)

    def _forget(self, key: Key) -> "asyncio.Task[Value]":
        self._give_up_place(key)
        return self._opened.pop(key)

    async def _end_idle(self, seconds: float) -> None:
        for key, task in list(self._opened.items()):
            is_old = _is_idle(task) and self._now() - _last_used(task) > seconds
            if self._opened.get(key) is task and (is_old or not _is_usable(task)):
                await self.end(key)


class _Place(Generic[Key, Value]):
    def __init__(self, key: Key, address: str, task: "asyncio.Task[Value]", now: float) -> None:
        self.key = key
        self.address = address
        self.opened = now
        self._task = task

    @property
    def is_idle(self) -> bool:
        return not _is_usable(self._task) or _is_idle(self._task)

    @property
    def last_used(self) -> float:
        return _last_used(self._task)

    @property
    def has_called(self) -> bool:
        return _has_opened(self._task) and self._task.result().has_called


async def _close(task: "asyncio.Task[Value]") -> None:
    """Closes the connection; one that is still being opened is cancelled, and cleans up after itself."""
    if not task.done():
        task.cancel()
        await asyncio.wait((task,))
    if _has_opened(task):
        await task.result().close()


async def _finish(task: "asyncio.Task[Value]") -> None:
    try:
        if _has_opened(task):
            await task.result().finished()
    finally:
        await _close(task)


def _has_opened(task: "asyncio.Task[Value]") -> bool:
    return task.done() and not task.cancelled() and task.exception() is None


def _is_usable(task: "asyncio.Task[Value]") -> bool:
    return not task.done() or (_has_opened(task) and task.result().is_alive)


def _is_idle(task: "asyncio.Task[Value]") -> bool:
    return _has_opened(task) and task.result().is_idle


def _last_used(task: "asyncio.Task[Value]") -> float:
    return task.result().last_used if _has_opened(task) else 0.0
