"""Asking a server for its tools when a call comes first, or when its list has changed: one question at a time."""

import asyncio
from collections.abc import Callable

from handfast.catalog.contracts import ServerContracts
from handfast.catalog.listing import ListPage, SessionLost, ask_for_all
from handfast.core.contract import CompiledContract

_RETRY_SECONDS = 30.0  # a server that would not list its tools is not asked again for every call
FIRST_REST = 1.0  # between two lists that the server itself asked for by saying that its list has changed
LONGEST_REST = 60.0  # the rest doubles while it goes on saying so


class Learner:
    """Finds contracts, asking for them at most once at a time whoever waits."""

    def __init__(self, contracts: ServerContracts, *, timeout: float, monotonic: Callable[[], float]) -> None:
        self.contracts = contracts
        self.timeout = timeout
        self._monotonic = monotonic
        self._asking: dict[bytes, asyncio.Task[bool]] = {}
        self._not_before = 0.0
        self._has_discovered = False
        self._rest = FIRST_REST
        self._rests_until = 0.0
        self._due: dict[bytes, asyncio.TimerHandle] = {}  # lists that changed while the server rested

    async def find(
        self, tool: str, list_page: ListPage, view: bytes = b"", *, must_be_listed: bool = False
    ) -> CompiledContract | None:
        """The tool's contract. When none is known the server is asked, and the caller waits up to the timeout.

        `view` says what the client can do that the list is asked for: some servers list more to some.
        `must_be_listed`: a contract from an earlier start counts only once the server has listed its tools since then.
        """
        if self.knows(tool, view, must_be_listed=must_be_listed):
            return self.contracts.find(tool)
        if view not in self._asking and self._monotonic() < self._not_before:
            return None
        await asyncio.wait({self._ask(list_page, view)}, timeout=self.timeout)
        return self.contracts.find(tool) if self.contracts.is_complete(view) or not must_be_listed else None

    def knows(self, tool: str, view: bytes = b"", *, must_be_listed: bool = False) -> bool:
        """Whether `find` has nothing to wait for: also where it is known that there is no such tool."""
        if self.contracts.is_complete(view):
            return True
        return not must_be_listed and self.contracts.find(tool) is not None

    def discover(self, list_page: ListPage, view: bytes = b"") -> None:
        """Ask once per start of the server, so that contracts kept from an earlier start do not go stale."""
        if not self._has_discovered:
            self._has_discovered = True
            self._not_before = 0.0
            self._ask(list_page, view)

    def restart(self) -> None:
        """The server started anew: what it offers may differ from what it offered before."""
        self._has_discovered = False
        self.contracts.start_anew()

    def refresh(self, list_page: ListPage, view: bytes = b"") -> None:
        """Ask again, in the background: the server says that its list has changed.

        The first change is learnt at once. One that says so again and again is asked less and less often, and always
        once more after the last time; until then calls are judged by the list that was learnt last.
        """
        if (due := self._due.pop(view, None)) is not None:
            due.cancel()
        now = self._monotonic()
        if now < self._rests_until or view in self._asking:
            wait = max(self._rests_until - now, FIRST_REST / 10)
            self._due[view] = asyncio.get_running_loop().call_later(wait, self._refresh_due, list_page, view)
            return
        was_quiet = now > self._rests_until + self._rest
        self._rest = FIRST_REST if was_quiet else min(self._rest * 2, LONGEST_REST)
        self._rests_until = now + self._rest
        self._not_before = 0.0
        self._ask(list_page, view)

    def _refresh_due(self, list_page: ListPage, view: bytes) -> None:
        self._due.pop(view, None)
        self.refresh(list_page, view)

    def _ask(self, list_page: ListPage, view: bytes) -> asyncio.Task[bool]:
        if view not in self._asking:
            self._asking[view] = asyncio.create_task(self._run(list_page, view))
        return self._asking[view]

    async def _run(self, list_page: ListPage, view: bytes) -> bool:
        was_answered = may_ask_again = False
        try:
            # Longer than any caller waits: a late answer is still learnt.
            was_answered = await asyncio.wait_for(ask_for_all(self.contracts, list_page, view), self.timeout * 6)
        except SessionLost:
            may_ask_again = True  # in the next caller's session
        except (TimeoutError, ConnectionError):
            pass
        finally:
            del self._asking[view]
            if not was_answered and not may_ask_again:
                self._not_before = self._monotonic() + _RETRY_SECONDS
        return was_answered

    def close(self) -> None:
        for asking in self._asking.values():
            asking.cancel()
        for due in self._due.values():
            due.cancel()
        self._due.clear()
