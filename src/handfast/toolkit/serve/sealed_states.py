"""SealedStates: what a client keeps between a question and its answer, bound to caller, tool and arguments."""

import os
from typing import Final

from mcp.server.context import CallNext, HandlerResult
from mcp.server.request_state import AESGCMRequestStateCodec, RequestStateBoundary, RequestStateSecurity
from mcp.shared.exceptions import MCPError

from handfast.core.call import rules
from handfast.toolkit.registry import UnknownTool
from handfast.toolkit.running.dispatch import ToolCaller
from handfast.toolkit.serve.answering import Context, ServedToolbox, actor_of
from handfast.toolkit.writing.actor import label_of

STATE_TTL_S: Final = 3_600.0  # users take their time, and a state is of use to its own caller alone


class StateKey:
    """The SDK's codec under a key of the activity store, so that any process on it takes the answer; else under one of
    this process."""

    def __init__(self, toolbox: ServedToolbox) -> None:
        self._toolbox = toolbox
        self._own = os.urandom(32)

    def _codec(self) -> AESGCMRequestStateCodec:
        return AESGCMRequestStateCodec([self._toolbox.recording.derive_key("questions") or self._own])

    def seal(self, payload: bytes) -> str:
        return self._codec().seal(payload)

    def unseal(self, token: str) -> bytes:
        return self._codec().unseal(token)


class SealedStates(RequestStateBoundary):
    """What a client hands back is what it was given, for the same caller, tool and arguments; else it is on record."""

    def __init__(self, toolbox: ServedToolbox) -> None:
        def caller(context: Context) -> str | None:
            return label_of(actor_of(toolbox, context)) or None

        security = RequestStateSecurity(codec=StateKey(toolbox), ttl=STATE_TTL_S, bind_principal=caller)
        super().__init__(security, default_audience=toolbox.name)
        self._toolbox = toolbox

    async def __call__(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        try:
            return await super().__call__(ctx, call_next)
        except MCPError as problem:
            if problem.error.data == {"reason": "invalid_request_state"} and ctx.method == "tools/call":
                await self._record(ctx)
            raise

    async def _record(self, context: Context) -> None:
        params = context.params or {}
        caller = ToolCaller(actor=actor_of(self._toolbox, context))
        text = "The state of a question came back changed, late, or with another call. Call again without it."
        try:
            await self._toolbox.registry.refuse(
                str(params.get("name")), params.get("arguments"), caller, rule=rules.ARGUMENTS_FORGED_STATE, text=text
            )
        except UnknownTool:
            return  # it would have been refused as such
