"""Answers one tools/call of a client with the result that the SDK sends, a protocol error, or a tool's question."""

import json
import logging
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp.types import INTERNAL_ERROR, INVALID_PARAMS
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from handfast.core.call.exchange import RecordingFailed
from handfast.crashes import where_it_happened
from handfast.toolkit.registry import ToolRegistry, UnknownTool
from handfast.toolkit.running.call_result import no_such_tool, result_of
from handfast.toolkit.running.dispatch import Answer, ToolCaller
from handfast.toolkit.running.questions import CallQuestions, QuestionPending, UserQuestion
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


class ClientQuestions(CallQuestions):
    """The questions of one request, and what its client says to them."""

    def __init__(self, context: Context) -> None:
        super().__init__()
        self._context = context
        self._is_modern = context.protocol_version in MODERN_PROTOCOL_VERSIONS
        params: Mapping[str, Any] = context.params or {}
        state = params.get("requestState")
        if self._is_modern and isinstance(state, str):
            # It was made here: `SealedStates` lets nothing else through.
            known = json.loads(state)
            self.answers = known["answers"]
            reply = (params.get("inputResponses") or {}).get(known["asked"])
            if isinstance(reply, dict):
                self.answers[known["asked"]] = reply

    def can_ask(self) -> bool:
        session = self._context.session
        declared = session.client_capabilities
        if declared is None or declared.elicitation is None:
            return False
        shows_forms = declared.elicitation.form is not None or declared.elicitation.url is None
        return shows_forms and (self._is_modern or session.can_send_request)

    async def put(self, question: UserQuestion) -> None:
        if self._is_modern:
            raise QuestionPending(question)
        try:
            answer = await self._context.session.elicit_form(
                question.message, question.schema, related_request_id=self._context.request_id
            )
        except (MCPError, ValidationError):
            self.has_failed = True  # which the tool learns where it asks
        else:
            self.answers[question.key] = answer.model_dump(mode="json")

    def wire_form(self, question: UserQuestion) -> dict[str, Any]:  # Any: JSON
        asked = {"mode": "form", "message": question.message, "requestedSchema": question.schema}
        return {
            "resultType": "input_required",
            "inputRequests": {question.key: {"method": "elicitation/create", "params": asked}},
            "requestState": json.dumps({"asked": question.key, "answers": self.answers}),
        }


async def answer_call(toolbox: ServedToolbox, name: str, arguments: object, context: Context) -> dict[str, Any]:
    """The result of a call. Raises: MCPError."""
    caller = ToolCaller(
        actor=actor_of(toolbox, context),
        report=context.session.report_progress,
        context=context,
        questions=ClientQuestions(context),
    )
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
        _log.error("The actor of a call is not known: %s at %s", type(error).__name__, where_it_happened(error))
        raise MCPError(INTERNAL_ERROR, "The server cannot tell who calls at the moment, so no call is made.") from None
