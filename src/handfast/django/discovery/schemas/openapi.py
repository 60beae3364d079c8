"""Schemas of the OpenAPI 3.0 dialect, which pagination classes and filters write, as JSON Schema."""

from collections.abc import Iterable
from typing import Any, Final

from handfast.django.discovery.drf_types import Json
from handfast.django.discovery.schemas.json_schemas import described, nullable
from handfast.django.discovery.tool import ListStyle, QueryParameter

# Known to OpenAPI alone; a reference leads into a document that is not here.
_FOREIGN: Final = frozenset(
    ("nullable", "example", "externalDocs", "xml", "discriminator", "readOnly", "writeOnly", "deprecated")
)
_OURS: Final = "#/$defs/"  # what was handed to a pagination class, and comes back inside its page
_MAPS: Final = ("properties", "patternProperties")
_LISTS: Final = ("allOf", "anyOf", "oneOf", "prefixItems")
_ONE: Final = ("items", "not", "additionalProperties")


def from_openapi(schema: object) -> Json:
    """The same in JSON Schema; never closed, and open where it refers to elsewhere."""
    if not isinstance(schema, dict):
        return {}
    if "$ref" in schema:
        return schema if str(schema["$ref"]).startswith(_OURS) else {}
    kept = {key: _translated(key, value) for key, value in schema.items() if key not in _FOREIGN}
    if kept.get("additionalProperties") is False:
        del kept["additionalProperties"]
    for limit in ("Minimum", "Maximum"):
        exclusive, plain = f"exclusive{limit}", limit.lower()
        if isinstance(kept.get(exclusive), bool):
            is_exclusive = kept.pop(exclusive)
            if is_exclusive and plain in kept:
                kept[exclusive] = kept.pop(plain)
    return nullable(kept) if schema.get("nullable") is True else kept


def _translated(key: str, value: Any) -> Any:  # Any: JSON
    if key in _MAPS and isinstance(value, dict):
        return {name: from_openapi(inner) for name, inner in value.items()}
    if key in _LISTS and isinstance(value, list):
        return [from_openapi(inner) for inner in value]
    if key in _ONE and isinstance(value, dict):
        return from_openapi(value)
    return value


def query_parameters(written: Iterable[Any]) -> list[QueryParameter]:  # Any: whatever foreign code returns
    """Parameters as `get_schema_operation_parameters` gives them, those of the query alone."""
    found = []
    for one in written:
        if isinstance(one, dict) and isinstance(one.get("name"), str) and one.get("in", "query") == "query":
            schema = described(from_openapi(one.get("schema", {})), one.get("description"))
            style: ListStyle = "comma" if one.get("explode") is False else "repeat"
            found.append(QueryParameter(one["name"], schema, style, bool(one.get("required"))))
    return found
