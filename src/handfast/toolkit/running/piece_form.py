"""The form of a tool's results in pieces: how they are cut, the published schemas, and the allowed filters."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from handfast.core.answers.envelopes import is_object_schema
from handfast.core.call.policy import Violation
from handfast.core.call.protocol_arguments import (
    CONTINUATION_TOKEN,
    PROTOCOL_ARGUMENTS,
    ProtocolArguments,
    means_nothing,
    no_such_key,
)
from handfast.core.schema.declared import Declared, read_declared
from handfast.toolkit.writing.schemas import ContractError, Json
from handfast.toolkit.writing.spec import ToolSpec

if TYPE_CHECKING:
    from handfast.toolkit.running.dispatch import RegisteredTool

PIECE_BYTES: Final = 65_536  # some sixteen thousand tokens; clients truncate results that are not much longer
FEWEST_BYTES: Final = 256  # a smaller piece would be mostly envelope

_ABOUT: Final = (
    "A large result comes in pieces: while `piece.continuation_token` is not null, call again with that"
    f" {CONTINUATION_TOKEN} alone for the next one."
)
_NARROWING: Final = " `filters`, `filter_keys`, `page` and `page_size` narrow it."
_SCALARS: Final = ["string", "number", "boolean", "null", "array"]
_FILTERS: Final = {
    "type": "object",
    "additionalProperties": {"type": _SCALARS},
    "description": "Only items with these values under these keys.",
}
_COUNT: Final = {"type": "integer", "minimum": 1}
# A filtered item lacks keys, so its schema keeps only keywords that apply to keys that are present.
_OF_SOME_KEYS: Final = ("type", "description", "properties", "patternProperties", "additionalProperties")


@dataclass(frozen=True, slots=True)
class PieceForm:
    """The prepared form of a tool whose results come in pieces."""

    most: int  # bytes of JSON in one piece
    is_list: bool  # cut between items; otherwise the JSON is cut as text
    is_object: bool  # the whole is an object, with the items under `items_key`
    keys: Declared | None  # of the items, if they are objects
    items_key: str  # the member of an object that holds the items
    continuing: "RegisteredTool"  # runs instead of the tool when a token is sent; has the published output schema

    @property
    def has_filters(self) -> bool:
        """Whether items can be filtered by their keys."""
        return self.is_list and self.keys is not None

    def objection(self, wishes: ProtocolArguments, declared: Declared) -> Violation | None:
        """The violation if the caller's wishes do not fit this tool's results."""
        if wishes.narrowing and not self.is_list:
            return means_nothing(wishes.narrowing, "the result of this tool is not a list", declared)
        wanted = [*(wishes.filter_keys or ()), *(wishes.filters or ())]
        if wanted and self.keys is None:
            names = tuple(name for name in wishes.narrowing if name.startswith("filter"))
            return means_nothing(names, "the items of the result are not objects", declared)
        unknown = [key for key in wanted if self.keys and key not in self.keys.names and not self.keys.is_open(key)]
        return no_such_key(unknown, self.keys) if unknown and self.keys else None


def published_description(description: str, form: PieceForm) -> str:
    return f"{description}\n\n{_ABOUT}{_NARROWING if form.is_list else ''}"


def require_pieces(spec: ToolSpec, most: int) -> None:
    """Checks that a tool's results can come in pieces of this many bytes. Raises: ContractError."""
    if most < FEWEST_BYTES:
        raise ContractError(f"The pieces of '{spec.name}' are too small; give them {FEWEST_BYTES} bytes or more.")
    if CONTINUATION_TOKEN in read_declared(spec.input_schema).names:
        raise ContractError(
            f"'{spec.name}' declares {CONTINUATION_TOKEN} itself; rename the field, or take in_pieces off."
        )


def published_input(schema: Mapping[str, Any], *, has_filters: bool) -> Json:  # Any: JSON Schema
    """The input schema with the token, because some clients send only declared arguments.

    It also has `filters` if items can be filtered, because a gateway would take an undeclared object for a wrapped
    payload.
    """
    token = {"type": "string", "description": "From the last answer, for the next piece of it."}
    filters = {"filters": dict(_FILTERS)} if has_filters else {}
    return {**schema, "properties": {**filters, **schema.get("properties", {}), CONTINUATION_TOKEN: token}}


def continuing_input(schema: Mapping[str, Any]) -> Json:  # Any: JSON Schema
    """The schema of a call for the next piece: the token, alone or with the arguments of the first call."""
    parts = {key: schema[key] for key in ("$defs", "patternProperties") if key in schema}
    properties = {**{key: {} for key in sorted(PROTOCOL_ARGUMENTS)}, **schema.get("properties", {})}
    return {
        **parts,
        "type": "object",
        "properties": {**properties, CONTINUATION_TOKEN: {"type": "string"}},
        "required": [CONTINUATION_TOKEN],
        "additionalProperties": schema.get("additionalProperties", False),
    }


def published_data(
    schema: Mapping[str, Any] | None, tool: str, items_key: str = "items"
) -> tuple[Json | None, bool, Declared | None]:
    """The schema for whole or piece, whether to cut between items, and the items' keys. Raises: ContractError.

    The whole is judged by its own schema before it is cut.
    """
    if not schema:
        return None, False, None  # any data is allowed, so a piece is too
    hoisted = {key: schema[key] for key in ("$defs", "definitions") if key in schema}
    whole = {key: part for key, part in schema.items() if key not in hoisted}
    definitions = schema.get("$defs", {})
    root = _resolved(schema, definitions)
    items = _items(root, definitions, items_key)
    form = _text_form() if items is None else _list_form(root, items, definitions, tool, items_key)
    published: Json = {"anyOf": [whole, form], **hoisted}
    if is_object_schema(schema):
        published["type"] = "object"
    return published, items is not None, None if items is None else _keys(items, definitions)


def _resolved(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> Mapping[str, Any]:
    reference = schema.get("$ref", "")
    found = definitions.get(reference.removeprefix("#/$defs/")) if isinstance(reference, str) else None
    return found if isinstance(found, dict) else schema


def _items(root: Mapping[str, Any], definitions: Mapping[str, Any], key: str) -> Mapping[str, Any] | None:
    """The schema of the items of a list, or of an object that holds a list under `key`, as a Page does."""
    if root.get("type") == "object" and isinstance(inner := root.get("properties", {}).get(key), dict):
        root = _resolved(inner, definitions)
    if root.get("type") != "array" or "prefixItems" in root:
        return None
    items = root.get("items", {})
    return items if isinstance(items, dict) else None


def _keys(items: Mapping[str, Any], definitions: Mapping[str, Any]) -> Declared | None:
    whole = {**items, "$defs": definitions}
    return read_declared(whole) if is_object_schema(whole) else None


def _list_form(
    root: Mapping[str, Any], items: Mapping[str, Any], definitions: Mapping[str, Any], tool: str, key: str
) -> Json:
    beside = {name: part for name, part in root.get("properties", {}).items() if name != key}
    if "piece" in beside:
        raise ContractError(f"The result of '{tool}' has a field 'piece' of its own; rename it, or take in_pieces off.")
    required = [name for name in root.get("required", ()) if name in beside]
    array = {"type": "array", "items": _loosened(items, definitions)}
    piece = _piece({"total_items": {"type": "integer", "minimum": 0}})
    form = _closed({**beside, key: array, "piece": piece}, [*required, key, "piece"])
    if root.get("type") == "object" and root.get("additionalProperties", True) is not False:
        form["additionalProperties"] = root.get("additionalProperties", True)  # the members beside the items are kept
    return form


def _loosened(items: Mapping[str, Any], definitions: Mapping[str, Any]) -> Json:
    if not is_object_schema({**items, "$defs": definitions}):
        return dict(items)
    found = _resolved(items, definitions)
    return {key: found[key] for key in _OF_SOME_KEYS if key in found}


def _text_form() -> Json:
    text = {"type": "string", "description": "The next part of the result's JSON."}
    return _closed({"text": text, "piece": _piece({})}, ["text", "piece"])


def _piece(more: Json) -> Json:
    token = {"type": ["string", "null"], "description": "For the next piece; null: this is the last."}
    properties = {"number": _COUNT, "of": _COUNT, **more, CONTINUATION_TOKEN: token}
    return _closed(properties, list(properties))


def _closed(properties: Json, required: list[str]) -> Json:
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
