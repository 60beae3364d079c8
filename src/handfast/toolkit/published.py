"""A tool as `tools/list` has it."""

import json
from typing import Any

from handfast.toolkit.dispatch import RegisteredTool
from handfast.toolkit.piece_form import published_description, published_input


def published(tool: RegisteredTool) -> dict[str, Any]:  # Any: JSON
    spec, form = tool.spec, tool.pieces
    return {
        "name": spec.name,
        **({"title": spec.title} if spec.title else {}),
        "description": spec.description if form is None else published_description(spec.description, form),
        "inputSchema": dict(spec.input_schema) if form is None else published_input(spec.input_schema),
        "outputSchema": json.loads(tool.answering.contract.output_schema or b"{}"),
        "annotations": spec.annotations,
    }
