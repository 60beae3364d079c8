"""One server behind the modern form, whatever it speaks itself; its era is probed once and remembered."""

import asyncio
from collections.abc import Awaitable, Callable

from handfast.catalog.store import ServerMemory
from handfast.core.call.caller import Caller
from handfast.gateway.admission.server_era import EraRefused, find_modern
from handfast.gateway.admission.server_health import Era
from handfast.gateway.http.response import UpstreamFailed
from handfast.gateway.translate.backend import Requester, ask
from handfast.gateway.translate.servers.legacy_server import LegacyServer
from handfast.gateway.translate.servers.line import HttpRefused, ServerExited
from handfast.gateway.translate.servers.modern_server import ModernServer
from handfast.wire.eras import LEGACY_REVISION
from handfast.wire.message import Message

ERA = "era"  # what is remembered of it: MODERN, or the mark of a legacy server
MODERN = b"modern"
_MISFITS = frozenset((-32600, -32000, -32022))  # errors of servers that do not understand a request's era


class NativeServer:
    def __init__(
        self,
        modern: ModernServer,
        legacy: LegacyServer,
        *,
        memory: ServerMemory,
        leave_modern: Callable[[], Awaitable[None]],
        leave_legacy: Callable[[], Awaitable[None]] | None = None,
        is_busy: Callable[[], bool] = lambda: False,
    ) -> None:
        """`leave_modern` closes what was opened for the probe of a server that proved not to be modern.

        `leave_legacy` is the reverse, and says that a handshake is tried first: servers on SDKs of 2024 and 2025 fall
        silent at a `server/discover` on their stdin, and exit at the next message. `is_busy`: the server has requests
        to answer; some servers do one thing at a time.
        """
        self._memory = memory
        self._leave_legacy = leave_legacy
        self.on_known: Callable[[], None] = lambda: None
        self.asked_since: float | None = None
        """When its era began to be asked for, in the loop's time, while it is not known."""
        self._modern = modern
        self._legacy = legacy
        self._leave_modern = leave_modern
        self._is_busy = is_busy
        self._was_modern = False
        self._is_modern: bool | None = None
        self._takes_handshake: bool | None = None
        self._probe: asyncio.Task[bool] | None = None

    async def request(self, message: Message, origin: Requester) -> Message:
        """Raises: UpstreamFailed, AmbiguousKeys, NotJson."""
        if await self.is_modern():
            answer = await self._modern.request(message, origin)
            if answer.has_error and answer.error_code() in _MISFITS:
                self.forget()
            return answer
        try:
            return await self._legacy.request(message, origin)
        except EraRefused as problem:
            self.forget()
            if await self.is_modern():
                return await self._modern.request(message, origin)
            raise UpstreamFailed(f"The server refused the handshake: {problem}") from None

    async def is_modern(self) -> bool:
        """Whether it answers requests of the modern revision. Raises: UpstreamFailed."""
        if self._is_modern is not None:
            return self._is_modern
        if self._probe is None:
            self.asked_since = asyncio.get_running_loop().time()
            self._probe = asyncio.create_task(self._ask())
            self._probe.add_done_callback(self._probed)
        probe = self._probe
        await asyncio.wait((probe,))
        if probe.cancelled():
            raise UpstreamFailed("The server was closed before it was known how to ask it. Call again later.")
        return probe.result()

    def _probed(self, probe: "asyncio.Task[bool]") -> None:
        """Forgets the probe, so that a failed one is repeated; retrieves its exception, or asyncio reports it."""
        self._probe = self.asked_since = None
        if not probe.cancelled() and probe.exception() is None:
            self.on_known()

    async def is_only_modern(self) -> bool:
        """Whether it accepts no handshake; its list of versions does not show that, as some name only the newest."""
        if not await self.is_modern():
            return False
        if self._takes_handshake is None:
            self._takes_handshake = await self._legacy.accepts_handshake()
        return not self._takes_handshake

    def knows(self, *, is_modern: bool) -> None:
        """Takes the era that `wrap` has found out."""
        self._is_modern = self._was_modern = is_modern

    def note_refused_handshake(self) -> None:
        """Takes the outcome of a handshake that a relay tried."""
        self._takes_handshake = False

    @property
    def is_known_only_modern(self) -> bool:
        return self._is_modern is True and self._takes_handshake is False

    @property
    def era(self) -> Era | None:
        """The era that the server is asked in; None while that is not known."""
        if self._is_modern is None:
            return None
        return Era.MODERN if self._is_modern else Era.LEGACY

    def forget(self) -> None:
        """Drops the known era, which no longer fits: the next request probes again."""
        self._is_modern = self._takes_handshake = None

    def leave(self, caller: Caller) -> None:
        self._modern.leave(caller)
        self._legacy.leave(caller)

    async def close(self) -> None:
        if self._probe is not None:
            self._probe.cancel()
            await asyncio.wait((self._probe,))
        await self._legacy.close()

    async def _ask(self) -> bool:
        remembered = self._memory.get(ERA) or b""
        is_new = remembered != MODERN and not self._was_modern and self._takes_handshake is not False
        is_greeted_first = self._leave_legacy is not None and is_new
        mark, exited = await self._greet() if is_greeted_first else (b"", None)
        is_modern = False
        # A server of both eras knows the revision before the modern one. One that was found to be legacy is not
        # started a second time to be asked, as long as it says the same of itself.
        if not mark or (mark >= LEGACY_REVISION.encode() and mark != remembered):
            is_modern = await self._discover(mark, exited)
        if is_modern or remembered == MODERN:
            self._memory.keep(ERA, MODERN if is_modern else b"")
        self._is_modern = self._was_modern = is_modern
        return is_modern

    async def _greet(self) -> tuple[bytes, ServerExited | None]:
        """Its revision and what it calls itself, empty where it will have no handshake. Raises: UpstreamFailed."""
        try:
            return (await self._legacy.greet()).mark, None
        except EraRefused:
            self._takes_handshake = False
            return b"", None
        except ServerExited as problem:
            return b"", problem  # a modern one may not know what a handshake is

    async def _discover(self, mark: bytes, exited: ServerExited | None) -> bool:
        """Whether it answers `server/discover`; remembered only if it answered. Raises: UpstreamFailed."""
        is_modern = False
        was_busy = self._is_busy()
        try:
            is_modern = await find_modern(ask(self._modern, "server/discover"))
            self._memory.keep(ERA, MODERN if is_modern else mark)
        except (TimeoutError, ServerExited) as problem:
            if exited is not None:
                await self._leave_modern()
                raise exited from None  # it exits whatever it is asked
            # Some legacy servers stay silent or exit at a message that they do not know. A modern server that is at
            # work on calls answers later, and its process must not be stopped under those calls.
            is_modern = self._was_modern and was_busy and isinstance(problem, TimeoutError)
        except HttpRefused as problem:
            if problem.status >= 500:
                raise  # a server in trouble says nothing about its era
        if not is_modern:
            await self._leave_modern()
        elif self._leave_legacy is not None:
            await self._leave_legacy()
        return is_modern
