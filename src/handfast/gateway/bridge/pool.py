"""Connections of handfast's own to one server: opened once per key, bounded, and closed when idle for long."""

import asyncio
from collections.abc import Callable, Hashable
from typing import Generic, Protocol, TypeVar

from handfast.gateway.http_response import UpstreamFailed
from handfast.gateway.settings.blocks import Limits


class Pooled(Protocol):
    last_used: float

    @property
    def is_alive(self) -> bool: ...
    @property
    def is_idle(self) -> bool: ...
    async def close(self) -> None: ...


Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value", bound=Pooled)


class Pool(Generic[Key, Value]):
    def __init__(
        self, *, limits: Callable[[], Limits], now: Callable[[], float], is_shared: Callable[[Key], bool]
    ) -> None:
        """What `is_shared` serves everybody and does not count towards the bound."""
        self._limits = limits
        self._now = now
        self._is_shared = is_shared
        self._opened: dict[Key, asyncio.Task[Value]] = {}
        self._sweeper: asyncio.Task[None] | None = None

    async def get(self, key: Key, open_it: Callable[[Key], "asyncio.Task[Value]"]) -> Value:
        """The one for this key, opened once however many ask at the same moment. Raises: what opening it does."""
        task = self._opened.get(key)
        if task is None or not _is_usable(task):
            if not self._is_shared(key):
                await self._make_room()
            task = self._opened[key] = open_it(key)
            if self._sweeper is None:
                self._sweeper = asyncio.create_task(self._sweep())
        value = await asyncio.shield(task)
        value.last_used = self._now()
        return value

    async def end(self, key: Key) -> None:
        task = self._opened.pop(key, None)
        if task is not None and _has_opened(task):
            await task.result().close()

    async def close(self) -> None:
        if self._sweeper is not None:
            self._sweeper.cancel()
        opened = [task.result() for task in self._opened.values() if _has_opened(task)]
        for task in self._opened.values():
            task.cancel()
        self._opened.clear()
        await asyncio.gather(*(value.close() for value in opened))

    async def _make_room(self) -> None:
        """The one that is idle for longest makes way. Raises: UpstreamFailed."""
        own = {key: task for key, task in self._opened.items() if not self._is_shared(key)}
        if len(own) < self._limits().sessions:
            return
        idle = {key: task for key, task in own.items() if not _is_usable(task) or _is_idle(task)}
        if not idle:
            raise UpstreamFailed("Too many sessions are open with this server. Try again later.")
        await self.end(min(idle, key=lambda key: _last_used(idle[key])))

    async def _sweep(self) -> None:
        while True:
            seconds = self._limits().session_idle_s
            await asyncio.sleep(min(30.0, seconds / 2))
            for key, task in list(self._opened.items()):
                is_old = _is_idle(task) and self._now() - _last_used(task) > seconds
                if is_old or not _is_usable(task):
                    await self.end(key)


def _has_opened(task: "asyncio.Task[Value]") -> bool:
    return task.done() and not task.cancelled() and task.exception() is None


def _is_usable(task: "asyncio.Task[Value]") -> bool:
    return not task.done() or (_has_opened(task) and task.result().is_alive)


def _is_idle(task: "asyncio.Task[Value]") -> bool:
    return _has_opened(task) and task.result().is_idle


def _last_used(task: "asyncio.Task[Value]") -> float:
    return task.result().last_used if _has_opened(task) else 0.0
