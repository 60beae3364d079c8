"""Checks of a tool without calling it: its schemas, its description, its annotations."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from handfast.core.schema.compiled import CompiledSchema, UncompilableSchema, compile_schema
from handfast.toolkit.offering.published import published
from handfast.toolkit.registry import ToolRegistry
from handfast.toolkit.running.dispatch import RegisteredTool
from handfast.toolkit.running.piece_form import published_input
from handfast.toolkit.testing.generate.values import values
from handfast.toolkit.testing.judging import is_valid
from handfast.toolkit.testing.problems import Problem
from handfast.toolkit.writing.schemas import ContractError, require_closed

Json = dict[str, Any]  # Any: JSON

_HINTS = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
_MAPS = ("properties", "$defs", "definitions", "patternProperties", "dependentSchemas")


def schema_problems(registry: ToolRegistry) -> list[Problem]:
    """The problems of every tool, listed or not."""
    first, again = _listed(registry), _listed(registry)
    found = []
    for spec in registry.list_registered():
        tool, listed = registry.registered(spec.name), first[spec.name]
        words = list(_of_tool(tool, listed))
        if listed != again[spec.name]:
            words.append("is listed in another way each time; agents keep what they have read")
        found += [Problem(spec.name, each) for each in words]
    return found


def _listed(registry: ToolRegistry) -> dict[str, Json]:
    """The current entries of all tools, hidden ones too, copied so that later changes do not affect them."""
    every = [published(registry.registered(spec.name)) for spec in registry.list_registered()]
    return {tool["name"]: tool for tool in json.loads(json.dumps([*every, *registry.published()]))}


def _of_tool(tool: RegisteredTool, listed: Json) -> Iterator[str]:
    yield from _of_listing(listed, tool)
    for side, schema in (("input", tool.contract.input), ("output", tool.contract.output)):
        if isinstance(schema, CompiledSchema):
            yield from (f"its {side} schema {words}" for words in _of_values(schema))
    data = tool.spec.output_schema
    if data is not None and values(data) is None:
        yield "no result can meet its output schema; look for bounds and types that contradict each other"


def _of_listing(listed: Json, tool: RegisteredTool) -> Iterator[str]:
    if not str(listed["description"]).strip():
        yield "has no description, and agents choose tools by it"
    enforced = json.loads(tool.contract.contract.input_schema or b"null")
    if tool.pieces is not None:
        enforced = published_input(enforced, has_filters=tool.pieces.has_filters)
    answered = json.loads(tool.answering.contract.output_schema or b"null")
    for key, schema in (("inputSchema", enforced), ("outputSchema", answered)):
        if listed[key] != schema:
            yield f"publishes another {key} than the one that is enforced; do not change it once it is registered"
    try:
        if not tool.spec.is_dispatcher:  # the schemas of its actions close their arguments
            require_closed(listed["inputSchema"], listed["name"])
    except ContractError as problem:
        yield f"its input is not closed: {problem}"
    if listed["outputSchema"].get("type") != "object":
        yield "its output schema does not say type: object at its root, and 2025 clients then cannot list any tool"
    hints = listed["annotations"]
    if any(not isinstance(hints.get(name), bool) for name in _HINTS):
        yield "does not say whether it reads only, destroys, may be repeated and reaches outside"
    elif hints["readOnlyHint"] and hints["destructiveHint"]:
        yield "says that it only reads and that it destroys"


# --- what an author gives as values --------------------------------------------------------------------------------


def _of_values(schema: CompiledSchema) -> Iterator[str]:
    """Problems with defaults and examples that their own schema refuses."""
    content = schema.content
    definitions = {
        key: content[key] for key in ("$defs", "definitions") if isinstance(content, dict) and key in content
    }
    for path, part in _parts(content, ""):
        for name, value in _given(part):
            if not _meets(part, definitions, value):
                yield f"refuses its own {name}{f' of {path!r}' if path else ''}"


def _given(part: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:  # Any: JSON
    if "default" in part:
        yield "default", part["default"]
    examples = part.get("examples")
    for place, example in enumerate(examples if isinstance(examples, list) else ()):
        yield f"example {place + 1}", example


def _meets(part: Mapping[str, Any], definitions: Json, value: object) -> bool:
    compiled = compile_schema(json.dumps({**part, **definitions}).encode())
    return isinstance(compiled, UncompilableSchema) or is_valid(compiled, value)  # foreign references are not judged


def _parts(schema: object, path: str) -> Iterator[tuple[str, Json]]:
    """Every subschema, with the path of names to it."""
    if isinstance(schema, list):
        for part in schema:
            yield from _parts(part, path)
    if not isinstance(schema, dict):
        return
    yield path, schema
    for key, inner in schema.items():
        if key in _MAPS and isinstance(inner, dict):
            for name, part in inner.items():
                yield from _parts(part, f"{path}.{name}".lstrip("."))
        elif key not in ("enum", "const", "default", "examples", "required"):
            yield from _parts(inner, path)
