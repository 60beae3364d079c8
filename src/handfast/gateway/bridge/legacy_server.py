"""A legacy server asked in the modern form: one session per caller and for what that caller can do."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import msgspec

from handfast.gateway.backend import Origin
from handfast.gateway.bridge.legacy_session import LegacySession
from handfast.gateway.bridge.line import SessionLost
from handfast.gateway.http_response import UpstreamFailed
from handfast.gateway.settings.blocks import Limits
from handfast.wire.eras import META_CAPABILITIES, META_LOG_LEVEL
from handfast.wire.message import Members, Message, read_level
from handfast.wire.scan import NotJson

# What a legacy server may ask of its client. The rest of the capabilities means nothing to it.
_ASKED_OF_CLIENTS = ("elicitation", "roots", "sampling")


@dataclass(frozen=True, slots=True)
class Opening:
    """What a session is opened with. Sessions that are opened alike by the same caller are one."""

    caller: str
    capabilities: bytes
    log_level: str
    is_subscriber: bool

    @property
    def is_shared(self) -> bool:
        """Nothing in it is one caller's alone, so that everybody may use the same session."""
        return self.capabilities == b"{}" and not self.log_level and not self.is_subscriber


class Sessions(Protocol):
    """Opens sessions with one server."""

    async def open(self, opening: Opening) -> LegacySession:
        """Raises: UpstreamFailed, EraRefused."""


class EraRefused(Exception):
    """The server will not have the handshake of the legacy revisions."""


class LegacyServer:
    def __init__(self, sessions: Sessions, *, limits: Callable[[], Limits], now: Callable[[], float]) -> None:
        self._opener = sessions
        self._limits = limits
        self._now = now
        self._sessions: dict[Opening, asyncio.Task[LegacySession]] = {}
        self._sweeper: asyncio.Task[None] | None = None

    async def request(self, message: Message, origin: Origin) -> bytes:
        """Raises: UpstreamFailed, EraRefused, AmbiguousKeys, NotJson."""
        opening = _opening(message, origin)
        session = await self._session(opening)
        try:
            return await session.request(message, origin)
        except SessionLost:
            # It did nothing with the request, so it may have it again, in a new session.
            self._sessions.pop(opening, None)
            await session.close()
            session = await self._session(opening)
            return await session.request(message, origin)
        finally:
            session.last_used = self._now()

    async def close(self) -> None:
        if self._sweeper is not None:
            self._sweeper.cancel()
        opened = [task for task in self._sessions.values() if task.done() and not task.cancelled()]
        for task in self._sessions.values():
            task.cancel()
        self._sessions.clear()
        await asyncio.gather(*(task.result().close() for task in opened if task.exception() is None))

    async def _session(self, opening: Opening) -> LegacySession:
        """Opened once, however many ask at the same moment."""
        task = self._sessions.get(opening)
        if task is None or not _is_usable(task):
            if not opening.is_shared:
                await self._make_room()
            task = self._sessions[opening] = asyncio.create_task(self._opener.open(opening))
            if self._sweeper is None:
                self._sweeper = asyncio.create_task(self._sweep())
        session = await asyncio.shield(task)
        session.last_used = self._now()
        return session

    async def _make_room(self) -> None:
        """Sessions of one caller are bounded; the one idle for longest makes way. Raises: UpstreamFailed."""
        own = {opening: task for opening, task in self._sessions.items() if not opening.is_shared}
        if len(own) < self._limits().sessions:
            return
        idle = {opening: task for opening, task in own.items() if not _is_usable(task) or _is_idle(task)}
        if not idle:
            raise UpstreamFailed("Too many sessions are open with this server. Try again later.")
        await self._end(min(idle, key=lambda opening: _last_used(idle[opening])))

    async def _end(self, opening: Opening) -> None:
        task = self._sessions.pop(opening, None)
        if task is not None and task.done() and not task.cancelled() and task.exception() is None:
            await task.result().close()

    async def _sweep(self) -> None:
        while True:
            seconds = self._limits().session_idle_s
            await asyncio.sleep(min(30.0, seconds / 2))
            for opening, task in list(self._sessions.items()):
                is_old = _is_idle(task) and self._now() - _last_used(task) > seconds
                if task.done() and (not _is_usable(task) or is_old):
                    await self._end(opening)


def _is_usable(task: "asyncio.Task[LegacySession]") -> bool:
    return not task.done() or (not task.cancelled() and task.exception() is None and task.result().is_alive)


def _is_idle(task: "asyncio.Task[LegacySession]") -> bool:
    return task.done() and not task.cancelled() and task.exception() is None and task.result().is_idle


def _last_used(task: "asyncio.Task[LegacySession]") -> float:
    return task.result().last_used if _is_usable(task) and task.done() else 0.0


def _opening(message: Message, origin: Origin) -> Opening:
    meta = message.meta()
    capabilities = _asked_capabilities(meta)
    level = meta.get(META_LOG_LEVEL)
    is_subscriber = message.method == "subscriptions/listen" and message.may_mention("resourceSubscriptions")
    opening = Opening(
        caller=origin.caller,
        capabilities=capabilities,
        log_level="" if level is None else bytes(level).decode(errors="replace").strip('"'),
        is_subscriber=is_subscriber,
    )
    return Opening("", b"{}", "", is_subscriber=False) if opening.is_shared else opening


def _asked_capabilities(meta: Members) -> bytes:
    """In one spelling, so that the same capabilities are the same session."""
    found = meta.get(META_CAPABILITIES)
    try:
        declared = {} if found is None else read_level(bytes(found))
        asked = {name: msgspec.json.decode(declared[name]) for name in _ASKED_OF_CLIENTS if name in declared}
    except (NotJson, msgspec.DecodeError, UnicodeDecodeError):
        return b"{}"
    return msgspec.json.encode(asked, order="sorted")
