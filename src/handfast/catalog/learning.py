"""Asks a server for its tools when a call needs them or when its list changed, one request at a time per view."""

import asyncio
from collections.abc import Callable, Hashable
from typing import NamedTuple

from handfast.catalog.contracts import ServerContracts
from handfast.catalog.listing import ListingSessionLost, ListPage, ask_for_all
from handfast.core.call.contract import CompiledContract

_RETRY_SECONDS = 30.0  # a server that did not list its tools is not asked again for every call
_MOST_REFUSED = 1000  # callers that this is kept for; a caller that is dropped may ask once more
FIRST_REST = 1.0  # between two requests for the list caused by the server's list_changed notifications
_SERVER = 0  # the asker of lists that no call waits for
LONGEST_REST = 60.0  # the rest doubles while such notifications go on


class _Question(NamedTuple):
    """A request for the list in progress, in the session of one caller."""

    task: asyncio.Task[bool]
    asker: int


class Learner:
    """Finds contracts. Asks for the list once for all callers of a view, or for each caller if that brings no list.

    The request uses the session of the first caller that needs the list. The server may not know that session, or be
    busy with it; other callers then ask in their own.
    """

    def __init__(self, contracts: ServerContracts, *, timeout: float, monotonic: Callable[[], float]) -> None:
        self.contracts = contracts
        self.timeout = timeout
        self._monotonic = monotonic
        self._asking: dict[bytes | int, _Question] = {}  # by view, or by asker if that brought no list
        self._not_before: dict[int, float] = {}  # by asker, the oldest first
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
        """The tool's contract. If it is not known, asks the server and waits up to the timeout.

        `view` stands for the client's capabilities, as some servers list more tools to some clients.
        `must_be_listed`: a contract from an earlier start only counts once the server has listed its tools again.
        `asker` is the caller whose session `list_page` uses.
        """
        if self.knows(tool, view, must_be_listed=must_be_listed):
            return self.contracts.find(tool)
        whose = hash((view, asker))  # salted, and small however long a client's capabilities are
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
        """Whether `find` needs no request, also because the tool is known not to exist."""
        if self.contracts.is_complete(view):
            return True
        return not must_be_listed and self.contracts.find(tool) is not None

    def discover(self, list_page: ListPage, view: bytes = b"", *, asker: Hashable = None) -> None:
        """Asks once per start of the server, so that contracts from an earlier start do not go stale."""
        if not self.has_discovered:
            self.has_discovered = True
            self._not_before.clear()
            self._ask(list_page, view, view, hash((view, asker)))

    def restart(self) -> None:
        """Notes that the server was restarted, as its tools may differ from before."""
        self.has_discovered = False
        self.contracts.start_anew()

    def refresh(self, list_page: ListPage, view: bytes = b"") -> None:
        """Asks again in the background, because the server sent that its list changed.

        The first change is learnt at once. A server that repeats the notification is asked less and less often, and
        always once more after the last one; until then calls are judged by the last list.
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
            # Longer than any caller waits, so that a late answer is still learnt.
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
