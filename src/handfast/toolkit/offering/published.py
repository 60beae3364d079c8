"""A tool as `tools/list` has it."""

import json
from typing import Any

from handfast.toolkit.offering import list_form
from handfast.toolkit.running.dispatch import RegisteredTool
from handfast.toolkit.running.piece_form import published_description, published_input


def published(tool: RegisteredTool) -> dict[str, Any]:  # Any: JSON
    if tool.listed is not None:
        return {**_published(tool), **_of_lists(tool, tool.listed)}
    return _published(tool)


def _of_lists(tool: RegisteredTool, listed: RegisteredTool) -> dict[str, Any]:  # Any: as above
    one, several = (json.loads(each.contract.contract.output_schema or b"{}") for each in (tool, listed))
    return {
        "inputSchema": list_form.published_input(tool.spec.input_schema),
        "outputSchema": list_form.published_output(one, several),
    }


def _published(tool: RegisteredTool) -> dict[str, Any]:  # Any: as above
    spec, form = tool.spec, tool.pieces
    return {
        "name": spec.name,
        **({"title": spec.title} if spec.title else {}),
        "description": spec.description if form is None else published_description(spec.description, form),
        "inputSchema": dict(spec.input_schema)
        if form is None
        else published_input(spec.input_schema, has_filters=form.has_filters),
        "outputSchema": json.loads(tool.answering.contract.output_schema or b"{}"),
        "annotations": spec.annotations,
    }
