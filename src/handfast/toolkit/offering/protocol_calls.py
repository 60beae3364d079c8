"""Calls with protocol arguments beside the tool's own: help, the next piece, or a part of the result."""

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
    """Runs, explains or continues a call by its protocol arguments. Raises: RecordingFailed."""
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
            # The tool itself does not run, so neither its guardrails nor its required fields apply.
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
    """The explanation of a tool, as an error: it does not meet the published output schema, which results must.

    A client that checks the schema would not show it as a result.
    """
    text = (
        f"Nothing was run: this explains '{tool.spec.name}'. Call it again without help.\n"
        f"{json.dumps(about(tool), ensure_ascii=False)}"
    )
    return make_failure(ErrorCode.INVALID_INPUT, text, dispatcher.codes, kind="help")


def about(tool: RegisteredTool) -> Mapping[str, Any]:  # Any: JSON
    """The parts of the definition that an agent needs to call the tool."""
    entry = published(tool)
    return {key: entry[key] for key in ("description", "inputSchema", "outputSchema", "annotations")}
