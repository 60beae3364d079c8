"""The judge around calls that another framework answers; results pass exactly as the framework made them."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import Any, TypeVar
from weakref import WeakKeyDictionary, WeakValueDictionary

import anyio
from mcp.shared.exceptions import MCPError
from mcp.types import INTERNAL_ERROR, INVALID_PARAMS

from handfast.activity.recorder import ThreadRecorder
from handfast.activity.store import StoreError
from handfast.clock import Clock
from handfast.core.call import rules
from handfast.core.call.caller import Caller
from handfast.core.call.contract import CompiledContract
from handfast.core.call.exchange import RAN_UNRECORDED, Exchange, Record, Recorder, RecordingFailed, RecordType, Status
from handfast.core.call.policy import Blocked, Mode, ToolPolicy
from handfast.core.call.result import ResultView, blocked_text
from handfast.core.call.unjudged import Direction, unused_schema
from handfast.core.schema.compiled import UncompilableSchema
from handfast.core.words.redaction import scrub_name
from handfast.slow_lane.client import SlowLane
from handfast.tool_call import CallPath
from handfast.toolkit.adapters.listed_tools import MOST_VIEWS, ListedTools
from handfast.toolkit.running.call_result import no_such_tool
from handfast.toolkit.running.recording import Unrecorded, open_recorder
from handfast.toolkit.running.unrun import record_unlisted

_log = logging.getLogger("handfast.toolkit")
_UNLISTED = "Calls that cannot be judged are forwarded and recorded as such."

# A call waits this long for the list that it is judged by, as at the gateway.
LIST_SECONDS = 5.0
RETRY_SECONDS = 30.0  # if the list did not come in time, later calls do not wait for it again until then

T = TypeVar("T")
Lifespan = Callable[[Any], AbstractAsyncContextManager[Any]]  # Any: the server, and whatever its author shares


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameworkCall:
    """One call as the framework received it."""

    tool: str
    arguments: bytes | None  # JSON; None if absent
    contract: str = ""  # the key of the tool's contract, if that is not the tool's name
    view: str = ""  # the kind of caller, which decides its list
    actor: str = ""


@dataclass(frozen=True, slots=True)
class RefusalText:
    """The text that the agent reads instead of a result."""

    text: str


@dataclass(slots=True)
class _Here:
    """State shared by the calls of one event loop."""

    path: CallPath
    lane: SlowLane
    listing: WeakValueDictionary[str, asyncio.Lock] = field(default_factory=WeakValueDictionary)  # one list at a time


class Judge:
    """Judges and records the calls of one server."""

    def __init__(
        self, server: str, policy: ToolPolicy, *, recorder: Recorder | None = None, state: Path | str | None = None
    ) -> None:
        self.tools = ListedTools()
        self._server = server
        self._policy = policy
        self._given = recorder
        self._state = state
        self._opened: ThreadRecorder | None = None
        self._loops: WeakKeyDictionary[asyncio.AbstractEventLoop, _Here] = WeakKeyDictionary()
        self._serving: WeakKeyDictionary[asyncio.AbstractEventLoop, int] = WeakKeyDictionary()
        self._told: set[tuple[str, str]] = set()
        self._ask_after: dict[str, float] = {}

    async def run(
        self,
        asked: FrameworkCall,
        *,
        learn: Callable[[], Awaitable[None]],
        forward: Callable[[], Awaitable[T]],
        read: Callable[[T], ResultView],
    ) -> T | RefusalText:
        """Runs a call; `learn` lists the caller's tools, `forward` runs one. Raises: MCPError, and what they raise."""
        here = self._here()
        contract = await self._contract(here, asked, learn) if self._policy.judges else None
        call = here.path.open(
            server=self._server,
            tool=scrub_name(asked.tool),
            policy=self._policy,
            contract=contract,
            caller=Caller(actor=asked.actor),
        )
        try:
            result = await here.path.carry_out(call, asked.arguments, forward, view=read)
        except RecordingFailed as problem:
            raise MCPError(INTERNAL_ERROR, RAN_UNRECORDED if call.has_run else str(problem)) from None
        if isinstance(result, Blocked):
            return RefusalText(blocked_text(call.tool, result.reason) if call.has_run else result.reason)
        return result

    # --- what the tool promised ------------------------------------------------------------------------------------

    async def _contract(
        self, here: _Here, asked: FrameworkCall, learn: Callable[[], Awaitable[None]]
    ) -> CompiledContract | None:
        """The contract; None if the server did not list its tools. Raises: MCPError, for a tool that is not listed."""
        name = asked.contract or asked.tool
        found = self.tools.find(asked.view, name)
        if found is not None:
            return found
        async with here.listing.setdefault(asked.view, asyncio.Lock()):
            if self.tools.find(asked.view, name) is None and monotonic() >= self._ask_after.get(asked.view, 0.0):
                await self._learn(asked.view, learn)
        found = self.tools.find(asked.view, name)
        if found is None and self.tools.is_known(asked.view) and self._policy.input.judges:
            raise await self._unlisted(here, asked)
        return found

    async def _unlisted(self, here: _Here, asked: FrameworkCall) -> MCPError:
        """The error for a call of a tool that is not listed, once the call is on record."""
        text = no_such_tool(asked.tool)
        caller = Caller(actor=asked.actor)
        try:
            await record_unlisted(
                here.path,
                server=self._server,
                tool=asked.tool,
                arguments=asked.arguments,
                caller=caller,
                policy=self._policy,
                text=text,
            )
        except RecordingFailed as problem:
            return MCPError(INTERNAL_ERROR, str(problem))
        return MCPError(INVALID_PARAMS, text)

    async def _learn(self, view: str, learn: Callable[[], Awaitable[None]]) -> None:
        try:
            async with asyncio.timeout(LIST_SECONDS):
                await learn()
        except TimeoutError:
            if len(self._ask_after) >= MOST_VIEWS:
                self._ask_after.clear()
            self._ask_after[view] = monotonic() + RETRY_SECONDS
            self._warn_once(
                "", "slow list", f"{self._server} did not list its tools in {LIST_SECONDS:g} s. {_UNLISTED}"
            )
        except Exception as problem:  # noqa: BLE001 - the edge to the framework's code: the call is forwarded unjudged
            self._warn_once(
                "", "no list", f"{self._server} would not list its tools ({type(problem).__name__}). {_UNLISTED}"
            )

    def _diagnose(self, call: Exchange, schema: UncompilableSchema, direction: Direction) -> None:
        reason = unused_schema(schema, direction)
        side = self._policy.input if direction == "arguments" else self._policy.output
        blocks = side.objects_to_unjudged and side.mode is Mode.STRICT
        ends = "refused; uncompilable_schema='allow' lets it pass" if blocks else "passed on, and marked in its record"
        if not self._warn_once(call.tool, schema.digest, f"{call.tool}: {reason} What it cannot judge is {ends}."):
            return
        clock = Clock()
        self._recorder().record(
            Record(
                id=clock.new_id(),
                time=clock.now(),
                type=RecordType.DIAGNOSTIC,
                status=Status.WARNING,
                server=self._server,
                tool=call.tool,
                rule=rules.SCHEMA_UNCOMPILABLE,
                reason=reason,
                details={"schema": schema.digest},
            )
        )

    def _warn_once(self, tool: str, what: str, text: str) -> bool:
        if (tool, what) in self._told:
            return False
        self._told.add((tool, what))
        _log.warning("%s", text)
        return True

    # --- from the first call to the end ----------------------------------------------------------------------------

    def _here(self) -> _Here:
        """The state of this event loop. Raises: MCPError, if calls cannot be recorded."""
        loop = asyncio.get_running_loop()
        here = self._loops.get(loop)
        if here is None:
            lane = SlowLane()
            path = CallPath(recorder=self._recorder(), lane=lane, clock=Clock(), on_uncompilable=self._diagnose)
            here = self._loops[loop] = _Here(path, lane)
        return here

    def _recorder(self) -> Recorder:
        """The recorder, opened by the first call, so that importing a module has no effect on disk."""
        if self._given is not None:
            return self._given
        if self._opened is None:
            try:
                self._opened = open_recorder(self._state)
            except StoreError as problem:
                _log.error("%s: calls are refused because they cannot be recorded. %s", self._server, problem)
                text = "Calls are refused because activity records cannot be written. Report this to the operator."
                raise MCPError(INTERNAL_ERROR, text) from None
        return self._opened or Unrecorded()

    def during(self, lifespan: Lifespan) -> Lifespan:
        """Wraps the server's lifespan; the end of the last one closes everything that calls have started."""

        @asynccontextmanager
        async def with_end(app: Any) -> AsyncIterator[Any]:  # Any: as in Lifespan
            loop = asyncio.get_running_loop()
            self._serving[loop] = self._serving.get(loop, 0) + 1
            try:
                async with lifespan(app) as given:
                    yield given
            finally:
                self._serving[loop] -= 1
                if not self._serving[loop]:
                    await self._close(loop)

        return with_end

    async def _close(self, loop: asyncio.AbstractEventLoop) -> None:
        here = self._loops.pop(loop, None)
        if self._opened is not None and not self._loops:
            self._opened.close()
            self._opened = None
        if here is not None:
            with anyio.CancelScope(shield=True):  # a server often ends by cancellation
                await here.lane.close()
