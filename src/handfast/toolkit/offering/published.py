"""A tool's entry in `tools/list`, also for tools that accept a list: `{"objects": [{…}, {…}]}`."""

import json
from collections.abc import Mapping
from typing import Any, Final

from handfast.core.call.arguments import LIST_BODY_KEYS, is_list_body
from handfast.toolkit.running.dispatch import RegisteredTool
from handfast.toolkit.running.piece_form import published_description, published_input
from handfast.toolkit.writing.schemas import Json

OBJECTS: Final = "objects"  # the published key; the other keys of the convention are accepted too
MOST_OBJECTS: Final = 1_000

_ABOUT: Final = "Several at once, each with the fields of one; all of them, or none."
_ONE: Final = "OneOfList"


def list_keys(schema: Mapping[str, Any]) -> frozenset[str]:  # Any: JSON Schema
    """The keys under which a list is a bulk call, except those that the tool declares itself."""
    return LIST_BODY_KEYS.difference(schema.get("properties", ()))


def is_list_of(arguments: object, schema: Mapping[str, Any]) -> bool:  # Any: as above
    """Whether these arguments are a bulk call of a tool with this input schema."""
    return isinstance(arguments, dict) and is_list_body(arguments) and not arguments.keys() - list_keys(schema)


def list_input(schema: Mapping[str, Any]) -> Json:
    """The schema that judges a bulk call: each item as the arguments of one call."""
    definitions = {key: schema[key] for key in ("$defs", "definitions") if key in schema}
    one = {key: part for key, part in schema.items() if key not in definitions}
    several = {"type": "array", "items": one, "minItems": 1, "maxItems": MOST_OBJECTS}
    return {"type": "object", "properties": dict.fromkeys(sorted(list_keys(schema)), several), **definitions}


def input_with_list(schema: Mapping[str, Any]) -> Json:
    """The published input schema with the list, as a client that checks it must accept both forms."""
    if OBJECTS not in list_keys(schema):
        return dict(schema)
    one = {"type": "object", "description": "The same fields as for one."}
    several = {"type": "array", "items": one, "minItems": 1, "maxItems": MOST_OBJECTS, "description": _ABOUT}
    published = {**schema, "properties": {**schema.get("properties", {}), OBJECTS: several}}
    required = published.pop("required", [])
    if required:
        published["anyOf"] = [{"required": required}, {"required": [OBJECTS]}]
    return published


def list_output(schema: Mapping[str, Any] | None) -> Json | None:
    if not schema:
        return None
    definitions = {key: schema[key] for key in ("$defs", "definitions") if key in schema}
    one = {key: part for key, part in schema.items() if key not in definitions}
    return {"type": "array", "items": one, **definitions}


def output_with_list(one: Json, several: Json) -> Json:
    """The published output schema for both answers; a single result's schema is written once if both contain it."""
    definitions = {**several.get("$defs", {}), **one.get("$defs", {})}
    single, listed = ({key: part for key, part in each.items() if key != "$defs"} for each in (one, several))
    array = listed.get("properties", {}).get("result", {})
    if array.get("items") == single:
        definitions[_ONE] = single
        single = {"$ref": f"#/$defs/{_ONE}"}
        listed = {**listed, "properties": {"result": {**array, "items": single}}}
    return {"type": "object", "anyOf": [single, listed], **({"$defs": definitions} if definitions else {})}


def published(tool: RegisteredTool) -> dict[str, Any]:  # Any: JSON
    spec, form = tool.spec, tool.pieces
    entry = {
        "name": spec.name,
        **({"title": spec.title} if spec.title else {}),
        "description": spec.description if form is None else published_description(spec.description, form),
        "inputSchema": dict(spec.input_schema)
        if form is None
        else published_input(spec.input_schema, has_filters=form.has_filters),
        "outputSchema": json.loads(tool.answering.contract.output_schema or b"{}"),
        "annotations": spec.annotations,
    }
    if tool.listed is not None:
        one, several = (json.loads(each.contract.contract.output_schema or b"{}") for each in (tool, tool.listed))
        entry["inputSchema"] = input_with_list(spec.input_schema)
        entry["outputSchema"] = output_with_list(one, several)
    return entry
