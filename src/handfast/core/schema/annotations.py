"""A JSON Schema without its annotations: what is left is all that a value can be judged by."""

from typing import Any, Final

from handfast.core.schema.references import Node

# The drafts' meta-data vocabulary and `$comment`. `format` and `content…` stay: some drafts assert them, and they are
# short. An unknown keyword stays too: a reference may lead into it.
ANNOTATIONS: Final = frozenset(
    {"$comment", "title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly"}
)

# Where a schema holds schemas: under a keyword, in a list under one, or by name. The names are the author's own, so a
# property may be called `description`.
ONE_SCHEMA: Final = frozenset(
    {
        "items",
        "additionalItems",
        "contains",
        "unevaluatedItems",
        "additionalProperties",
        "unevaluatedProperties",
        "propertyNames",
        "not",
        "if",
        "then",
        "else",
        "contentSchema",
    }
)
SCHEMA_LISTS: Final = frozenset({"allOf", "anyOf", "oneOf", "prefixItems", "items"})
SCHEMA_MAPS: Final = frozenset(
    {"properties", "patternProperties", "dependentSchemas", "dependencies", "$defs", "definitions"}
)


def without_annotations(schema: Any) -> Any:  # Any: a schema of bounded depth, as its author wrote it
    """A copy that shares what it can. The values of `enum` and `const` are data, so nothing is taken out of them."""
    if not isinstance(schema, dict):
        return schema
    return {keyword: _part(keyword, value) for keyword, value in schema.items() if keyword not in ANNOTATIONS}


def _part(keyword: str, value: Any) -> Any:  # Any: what stands under a keyword
    if isinstance(value, dict):
        if keyword in SCHEMA_MAPS:
            return _each_of(value)
        return without_annotations(value) if keyword in ONE_SCHEMA else value
    if isinstance(value, list) and keyword in SCHEMA_LISTS:
        return [without_annotations(part) for part in value]
    return value


def _each_of(parts: Node) -> Node:
    return {name: without_annotations(part) for name, part in parts.items()}
