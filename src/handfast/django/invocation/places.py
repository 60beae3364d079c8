"""The places in a tool's arguments whose values need conversion for its view: rows by name, files as text."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, Literal, TypeAlias

from handfast.django.discovery.drf_types import Json

Kind: TypeAlias = Literal["relation", "file"]
Path: TypeAlias = tuple[str | int, ...]
# Converts the value at such a place. Any: JSON, and what a file becomes.
Change: TypeAlias = Callable[[Kind, Any, Path], Any]

# The schema that discovery gives a row that is named by its fields.
_ROW: Final = {"type": "object", "minProperties": 1}
# The properties that it gives a file.
_FILE: Final = {"filename", "content", "content_type"}
_ROOT: Final = "#/$defs/"


class ArgumentPlaces:
    """The places in the arguments of one tool, by its input schema."""

    def __init__(self, schema: Json) -> None:
        self._definitions: Json = schema.get("$defs", {})
        properties: Json = schema.get("properties", {})
        self.arguments: Mapping[str, Json] = {
            name: inner for name, inner in properties.items() if self._holds(inner, frozenset())
        }

    def rewritten(self, name: str, value: Any, change: Change) -> Any:  # Any: JSON
        """An argument with the values at all of these places changed."""
        return self._walk(value, self.arguments[name], (name,), change)

    def _holds(self, schema: Any, seen: frozenset[str]) -> bool:  # Any: JSON Schema
        if not isinstance(schema, dict):
            return False
        reference = schema.get("$ref", "")
        if reference in seen:
            return False
        if _kind(schema) is not None:
            return True
        return any(self._holds(inner, seen | {reference} - {""}) for inner in self._inside(schema))

    def _inside(self, schema: Json) -> Iterator[Any]:  # Any: JSON Schema
        yield self._definitions.get(str(schema.get("$ref", "")).removeprefix(_ROOT))
        yield from schema.get("properties", {}).values()
        yield from (schema.get("items"), schema.get("additionalProperties"))
        yield from _alternatives(schema)

    def _walk(self, value: Any, schema: Any, path: Path, change: Change) -> Any:  # Any: JSON, JSON Schema
        if not isinstance(schema, dict):
            return value
        if (kind := _kind(schema)) is not None:
            return change(kind, value, path) if _is_meant(kind, schema, value) else value
        if "$ref" in schema:
            return self._walk(value, self._definitions.get(schema["$ref"].removeprefix(_ROOT)), path, change)
        for inner in _alternatives(schema):
            value = self._walk(value, inner, path, change)
        if isinstance(value, list):
            return [self._walk(item, schema.get("items"), (*path, index), change) for index, item in enumerate(value)]
        if isinstance(value, dict):
            named, rest = schema.get("properties", {}), schema.get("additionalProperties")
            return {key: self._walk(item, named.get(key, rest), (*path, key), change) for key, item in value.items()}
        return value


def _alternatives(schema: Json) -> Iterator[Any]:  # Any: JSON Schema
    for keyword in ("anyOf", "oneOf", "allOf"):
        yield from schema.get(keyword, ())


def _kind(schema: Json) -> Kind | None:
    if _ROW in schema.get("oneOf", ()):
        return "relation"
    properties: Json = schema.get("properties", {})
    return "file" if properties.keys() == _FILE and properties["content"].get("contentEncoding") == "base64" else None


def _is_meant(kind: Kind, schema: Json, value: object) -> bool:
    """Whether a value needs conversion: an object, or a text that may be more than the field's own reference."""
    if isinstance(value, dict):
        return True
    return kind == "relation" and isinstance(value, str) and value != "" and "format" not in schema["oneOf"][0]


def shown_path(path: Path) -> str:
    """`address.city`, `items[2].sku`: a place in the arguments, as an agent would write it."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text
