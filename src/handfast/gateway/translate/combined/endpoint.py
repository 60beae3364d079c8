"""What all of the combined endpoint shares: the current servers, their time limit, what each caller was shown."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, TypeVar

from handfast.core.access.permissions import may_enter
from handfast.core.call.caller import Caller
from handfast.crashes import describe_crash
from handfast.gateway.callers.opaque import Seal
from handfast.gateway.translate.backend import Backend, Requester
from handfast.gateway.translate.combined.known import CallerKnowledge, Knowledge
from handfast.wire.message import Message

_log: Final = logging.getLogger("handfast.gateway")

Key = TypeVar("Key")
# For a server that is starting, where something stands in for its answer: most are up by then.
_STAND_IN_SECONDS: Final = 0.5
Servers = Mapping[str, Backend]
Diagnose = Callable[[str, str, str], None]  # server, rule, reason
RecordRefused = Callable[[Message, Requester, str, str], Awaitable[None]]  # the request, whose, rule, reason
RecordTemplated = Callable[[Message, Caller, str, str], None]  # the request, whose, the server, the URI


class RequestRefused(Exception):
    """A request that is answered with this error and goes no further."""

    def __init__(self, code: int, text: str, *, rule: str = "", data: Mapping[str, object] | None = None) -> None:
        """`rule` is for what must be on record as blocked, whatever the method."""
        super().__init__(text)
        self.code = code
        self.text = text
        self.rule = rule
        self.data = data


async def record_nothing(_message: Message, _origin: Requester, _rule: str, _reason: str) -> None:
    """For an endpoint without records."""


class Starts(Protocol):
    """What is known of servers that may not be up yet."""

    def starting_for(self, server: str) -> float | None:
        """How long its process has been starting; None where it is up, down or not asked for yet."""

    def remembered(self, server: str, what: str) -> bytes | None:
        """What it listed to everybody when it was last started."""

    def remember(self, server: str, what: str, found: bytes) -> None: ...


class _AllUp:
    """Nothing is starting, and nothing is remembered."""

    def starting_for(self, server: str) -> float | None:  # noqa: ARG002 - the same for all
        return None

    def remembered(self, server: str, what: str) -> bytes | None:  # noqa: ARG002 - as above
        return None

    def remember(self, server: str, what: str, found: bytes) -> None: ...


class ServersWatcher(Protocol):
    def servers_changed(self) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class CombinedEndpoint:
    every_server: Callable[[], Servers]
    """The current servers. Another Backend of the same name is another server."""
    seconds: Callable[[], float]
    """How long a server may take for its part of a joined answer; after that the answer goes without it."""
    now: Callable[[], float]
    diagnose: Diagnose
    seal: Seal
    record_refused: RecordRefused = record_nothing
    """Records a request that reaches no server, so that no server records it."""
    record_left: Callable[[Message, Caller], None] = lambda _message, _caller: None
    """Records a request whose client left before its server was known."""
    record_templated: RecordTemplated = lambda _message, _caller, _server, _uri: None
    """Records a URI that went to a server only because one of its templates fits."""
    first_wait: float = 1.0
    """Seconds before a server that ended a subscription is asked again; doubled each time."""
    starts: Starts = field(default_factory=_AllUp)
    only: frozenset[str] | None = None
    knowledge: Knowledge = field(default_factory=Knowledge)
    listeners: set[ServersWatcher] = field(default_factory=set)
    awaited: set[str] = field(default_factory=set)
    """Servers that a list did not wait for any longer: clients are told when they are up."""
    leaving: set[asyncio.Task[None]] = field(default_factory=set)  # tasks that may outlive their request

    def servers(self, caller: Caller) -> Servers:
        """The servers of which the caller may use something, by name: the order of everything that is joined."""
        every = self.every_server()
        shown = (name for name in sorted(every) if self.only is None or name in self.only)
        return {name: every[name] for name in shown if may_enter(caller.identity, name)}

    def has_stand_in(self, server: str, method: str) -> bool:
        """Whether the server is starting, and its answer to this method is known from its last start."""
        return self.starts.starting_for(server) is not None and self.starts.remembered(server, method) is not None

    def known(self, origin: Requester) -> CallerKnowledge:
        return self.knowledge.of(origin.caller.name, origin.caller.address)

    async def all_within(self, works: Iterable[Coroutine[Any, Any, None]]) -> None:  # Any: asyncio's own type
        """Runs them side by side until all are done or the time is up; those that are not done then are cancelled."""
        await self.each_within(dict(enumerate(works)), lambda _: 0.0)

    async def each_within(
        self,
        works: Mapping[Key, Coroutine[Any, Any, None]],  # Any: as above
        seconds_left: Callable[[Key], float],
        *,
        has_stand_in: Callable[[Key], bool] = lambda _: False,
    ) -> None:
        """The same; once the time is up, those that have some left of their own are waited for that long.

        Those that something stands in for are hardly waited for.
        """
        tasks = {key: self.start(work) for key, work in works.items()}
        if not tasks:
            return
        seconds = self.seconds()
        asked = [task for key, task in tasks.items() if not has_stand_in(key)]
        try:
            if len(asked) < len(tasks):
                short = min(_STAND_IN_SECONDS, seconds)
                await asyncio.wait(tasks.values(), timeout=short)
                asked, seconds = [task for task in asked if not task.done()], seconds - short
            if asked:
                await asyncio.wait(asked, timeout=seconds)
            left = {task: seconds_left(key) for key, task in tasks.items() if not task.done()}
            late = {task: seconds for task, seconds in left.items() if seconds > 0}
            if late:
                await asyncio.wait(late, timeout=max(late.values()))
        finally:
            for task in tasks.values():
                task.cancel()

    def start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:  # Any: asyncio's own type
        task = asyncio.create_task(work)
        self.leaving.add(task)  # the loop itself does not hold it
        task.add_done_callback(self._took_leave)
        return task

    def _took_leave(self, task: asyncio.Task[None]) -> None:
        self.leaving.discard(task)
        if not task.cancelled() and (problem := task.exception()) is not None:
            # One server's part failed inside the gateway: the others must not suffer, the operator must know.
            _log.error("A part of a combined answer failed inside the gateway:\n%s", describe_crash(problem))
