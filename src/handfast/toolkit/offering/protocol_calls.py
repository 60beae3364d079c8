"""Calls with arguments of the protocol among the tool's: help, the next piece, or a part of the result."""

import json
from collections.abc import Mapping
from typing import Any

from handfast.core.answers.errors import ErrorCode
from handfast.core.answers.outcome import Failed, make_failure
from handfast.core.call import rules
from handfast.core.call.policy import Violation
from handfast.core.call.protocol_arguments import ProtocolArguments, means_nothing, read_protocol, take_out
from handfast.core.schema.compiled import CompiledSchema
from handfast.core.schema.declared import Declared
from handfast.toolkit.offering.published import published
from handfast.toolkit.running.dispatch import Answer, Dispatcher, RegisteredTool, ToolCaller, Wanted
from handfast.toolkit.running.unrun import answer_with_help


async def call_with_wishes(
    dispatcher: Dispatcher, tool: RegisteredTool, arguments: dict[str, Any], caller: ToolCaller, *, called_as: str = ""
) -> Answer:
    """Raises: RecordingFailed."""
    declared = declared_by(tool)
    rest, taken = take_out(arguments, declared)
    wishes = read_protocol(taken)
    if isinstance(wishes, ProtocolArguments):
        if wishes.help:
            told = _explained(dispatcher, tool)
            details = {"called_as": called_as} if called_as else {}
            return await answer_with_help(
                dispatcher, tool, arguments, caller, told=told, rule=rules.TOOL_HELP, details=details
            )
        if wishes.continuation_token is not None and tool.pieces is not None:
            # The tool itself does not run, so nothing of it is asked again: neither guards nor required fields.
            return await dispatcher.dispatch(tool.pieces.continuing, arguments, caller, called_as=called_as)
        wishes = _objection(tool, wishes, declared) or wishes
    return await dispatcher.dispatch(tool, rest, caller, wanted=Wanted(wishes, arguments), called_as=called_as)


def declared_by(tool: RegisteredTool) -> Declared:
    schema = tool.contract.input
    assert isinstance(schema, CompiledSchema)  # the registry serves no other
    return schema.declared


def _objection(tool: RegisteredTool, wishes: ProtocolArguments, declared: Declared) -> Violation | None:
    if tool.pieces is not None:
        return tool.pieces.objection(wishes, declared)
    if wishes.about_result:
        return means_nothing(wishes.about_result, "this tool does not answer in pieces", declared)
    return None


def _explained(dispatcher: Dispatcher, tool: RegisteredTool) -> Failed:
    """Sent as an error, because the tool's published output schema holds for its results and cannot hold this.

    A client that keeps to the schema would never show it.
    """
    text = (
        f"Nothing was run: this explains '{tool.spec.name}'. Call it again without help.\n"
        f"{json.dumps(about(tool), ensure_ascii=False)}"
    )
    return make_failure(ErrorCode.INVALID_INPUT, text, dispatcher.codes, kind="help")


def about(tool: RegisteredTool) -> Mapping[str, Any]:  # Any: JSON
    """What an agent needs to call it."""
    entry = published(tool)
    return {key: entry[key] for key in ("description", "inputSchema", "outputSchema", "annotations")}
