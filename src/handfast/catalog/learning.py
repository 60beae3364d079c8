"""Asking a server for its tools when a call comes first, or when its list has changed: one question at a time."""

import asyncio
from collections.abc import Callable, Hashable
from typing import NamedTuple

from handfast.catalog.contracts import ServerContracts
from handfast.catalog.listing import ListingSessionLost, ListPage, ask_for_all
from handfast.core.call.contract import CompiledContract

_RETRY_SECONDS = 30.0  # a server that would not list its tools is not asked again for every call of a caller
_MOST_REFUSED = 1000  # callers that are remembered for it; one that is forgotten may ask once more
FIRST_REST = 1.0  # between two lists that the server itself asked for by saying that its list has changed
_SERVER = 0  # whose lists those are that no call waits for
LONGEST_REST = 60.0  # the rest doubles while it goes on saying so


class _Question(NamedTuple):
    """A list that is being asked for, in the session of one caller."""

    task: asyncio.Task[bool]
    asker: int


class Learner:
    """Finds contracts, asking for them once for all callers of a kind; each for itself where that brings no list.

    A list is asked for in the session of the caller that needs it first. That session may be one that the server does
    not know, or is busy with: then only this caller waits for it.
    """

    def __init__(self, contracts: ServerContracts, *, timeout: float, monotonic: Callable[[], float]) -> None:
        self.contracts = contracts
        self.timeout = timeout
        self._monotonic = monotonic
        self._asking: dict[bytes | int, _Question] = {}  # by view, or where that brought no list by asker
        self._not_before: dict[int, float] = {}  # by asker, the longest ago first
        self.has_discovered = self._is_closed = False
        self._rest = FIRST_REST
        self._rests_until = 0.0
        self._due: dict[bytes, asyncio.TimerHandle] = {}  # lists that changed while the server rested

    async def find(
        self,
        tool: str,
        list_page: ListPage,
        view: bytes = b"",
        *,
        must_be_listed: bool = False,
        asker: Hashable = None,
    ) -> CompiledContract | None:
        """The tool's contract. When none is known the server is asked, and the caller waits up to the timeout.

        `view` says what the client can do that the list is asked for: some servers list more to some.
        `must_be_listed`: a contract from an earlier start counts only once the server has listed its tools since then.
        `asker` is the caller whose session `list_page` uses.
        """
        if self.knows(tool, view, must_be_listed=must_be_listed):
            return self.contracts.find(tool)
        whose = hash((view, asker))  # keyed, and small however much a client says of itself
        key: bytes | int = view
        seconds = self.timeout
        shared = self._asking.get(view)
        if shared is not None and shared.asker != whose:
            key, seconds = whose, self.timeout / 2
            await asyncio.wait({shared.task}, timeout=seconds)
            if self.knows(tool, view, must_be_listed=must_be_listed):
                return self.contracts.find(tool)
        if key not in self._asking and (self._is_closed or self._monotonic() < self._not_before.get(whose, 0.0)):
            return None
        await asyncio.wait({self._ask(list_page, view, key, whose)}, timeout=seconds)
        return self.contracts.find(tool) if self.contracts.is_complete(view) or not must_be_listed else None

    def knows(self, tool: str, view: bytes = b"", *, must_be_listed: bool = False) -> bool:
        """Whether `find` has nothing to wait for: also where it is known that there is no such tool."""
        if self.contracts.is_complete(view):
            return True
        return not must_be_listed and self.contracts.find(tool) is not None

    def discover(self, list_page: ListPage, view: bytes = b"", *, asker: Hashable = None) -> None:
        """Ask once per start of the server, so that contracts kept from an earlier start do not go stale."""
        if not self.has_discovered:
            self.has_discovered = True
            self._not_before.clear()
            self._ask(list_page, view, view, hash((view, asker)))

    def restart(self) -> None:
        """The server was restarted: what it offers may differ from what it offered before."""
        self.has_discovered = False
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
        self._not_before.clear()
        self._ask(list_page, view, view, _SERVER)

    def _refresh_due(self, list_page: ListPage, view: bytes) -> None:
        self._due.pop(view, None)
        self.refresh(list_page, view)

    def _ask(self, list_page: ListPage, view: bytes, key: bytes | int, whose: int) -> asyncio.Task[bool]:
        if key not in self._asking:
            self._asking[key] = _Question(asyncio.create_task(self._run(list_page, view, key, whose)), whose)
        return self._asking[key].task

    async def _run(self, list_page: ListPage, view: bytes, key: bytes | int, whose: int) -> bool:
        was_answered = may_ask_again = False
        try:
            # Longer than any caller waits: a late answer is still learnt.
            async with asyncio.timeout(self.timeout * 6):
                was_answered = await ask_for_all(self.contracts, list_page, view)
        except ListingSessionLost:
            may_ask_again = True  # in the next caller's session
        except (TimeoutError, ConnectionError):
            pass
        finally:
            del self._asking[key]
            if not was_answered and not may_ask_again:
                self._note_refused(whose)
        return was_answered

    def _note_refused(self, whose: int) -> None:
        self._not_before.pop(whose, None)
        self._not_before[whose] = self._monotonic() + _RETRY_SECONDS
        if len(self._not_before) > _MOST_REFUSED:
            del self._not_before[next(iter(self._not_before))]

    def close(self) -> None:
        self._is_closed = True
        for question in self._asking.values():
            question.task.cancel()
        for due in self._due.values():
            due.cancel()
        self._due.clear()
