"""Answers one tools/call of a client with the result that the SDK sends, or a protocol error."""

import logging
from collections.abc import Callable
from typing import Any, Protocol

from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp.types import INTERNAL_ERROR, INVALID_PARAMS

from handfast.core.call.exchange import RecordingFailed
from handfast.crashes import where_it_happened
from handfast.toolkit.registry import ToolRegistry, UnknownTool
from handfast.toolkit.running.call_result import no_such_tool, result_of
from handfast.toolkit.running.dispatch import Answer, ToolCaller
from handfast.toolkit.running.recording import SharedRecorder

Context = ServerRequestContext[Any, Any]  # Any: whatever the SDK's lifespan and transport give

_log = logging.getLogger("handfast.toolkit")


class ServedToolbox(Protocol):
    """The part of a toolbox that serving its tools needs."""

    name: str
    version: str
    instructions: str | None
    registry: ToolRegistry
    recording: SharedRecorder

    @property
    def actor(self) -> Callable[[Any], Any]:  # Any: the SDK's context, or one with the request; an actor
        """The author's function that gives the actor of a request."""


async def answer_call(toolbox: ServedToolbox, name: str, arguments: object, context: Context) -> dict[str, Any]:
    """The result of a call. Raises: MCPError."""
    caller = ToolCaller(actor=actor_of(toolbox, context), report=context.session.report_progress, context=context)
    return result_of(await dispatch_call(toolbox, name, arguments, caller))


async def dispatch_call(toolbox: ServedToolbox, name: str, arguments: object, caller: ToolCaller) -> Answer:
    """Dispatches a call; arguments as bytes are JSON text as it came. Raises: MCPError."""
    try:
        return await toolbox.registry.dispatch(name, arguments, caller=caller)
    except UnknownTool:
        raise MCPError(INVALID_PARAMS, no_such_tool(name)) from None
    except RecordingFailed:
        raise MCPError(INTERNAL_ERROR, "Calls cannot be recorded at the moment, so none is made.") from None
    except Exception as error:  # noqa: BLE001 - the outermost edge: the SDK would tell a client what the error says
        _log.error("A call ended with %s at %s", type(error).__name__, where_it_happened(error))
        raise MCPError(INTERNAL_ERROR, "The server failed. Report this to the operator.") from None


def actor_of(toolbox: ServedToolbox, context: Any) -> Any:  # Any: the SDK's context, or one with the request; an actor
    """The actor of a request. Raises: MCPError."""
    try:
        return toolbox.actor(context)
    except Exception as error:  # noqa: BLE001 - the server's own code: what it says of itself may quote credentials
        _log.error("The actor of a call could not be told: %s at %s", type(error).__name__, where_it_happened(error))
        raise MCPError(INTERNAL_ERROR, "The server cannot tell who calls at the moment, so no call is made.") from None
