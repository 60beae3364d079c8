"""JSON Schemas of authors' models: made short, and refused if they are not closed at every level."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel, PydanticUserError, TypeAdapter
from pydantic.errors import PydanticInvalidForJsonSchema
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import CoreConfig, SchemaError, SchemaSerializer

Json = dict[str, Any]  # Any: JSON Schema

_ONE = ("items", "additionalProperties", "unevaluatedProperties", "contains", "unevaluatedItems", "contentSchema")
_MAPS = ("properties", "$defs", "definitions", "patternProperties")
# Keywords about the keys of an object, which imply an object if there is no type.
_ABOUT_KEYS = frozenset(
    ("properties", "patternProperties", "required", "minProperties", "maxProperties", "propertyNames")
)
_FIELD = re.compile(r'Field "([^"]+)"')
_COME_ALONG = ("#/$defs/", "#/definitions/")
# The engine of pydantic reads no look-around; patterns of the explicit form are judged by another one.
_BY_VALIDATOR = "Check it in a validator of the model, or define the tool in the explicit form."
OLD_TYPED_DICT = "typed-dict-version"  # pydantic's code for a typing.TypedDict before Python 3.12
FOR_TYPED_DICT = "take typing_extensions.TypedDict in place of typing.TypedDict, or a model."
_NOTES = frozenset(("title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly", "$comment"))


class ContractError(Exception):
    """A tool that cannot be registered; the message tells its author what is wrong, then what to do."""


class UnusableSchema(ContractError):
    """A tool whose schema cannot be compiled, such as one with an invalid pattern."""


class _Untitled(GenerateJsonSchema):
    """Leaves out titles, which only repeat names and would be read by every agent in every list."""

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002  # Any: a core schema
        return False


def input_schema_of(model: type[BaseModel], tool: str) -> Json:
    """The schema of a model for arguments. Raises: ContractError."""
    try:
        model.model_rebuild()  # Args are built here, where the tool is known that they are for
    except SchemaError as problem:
        field, why = ".".join(_FIELD.findall(str(problem))), str(problem).strip().rpartition("\n")[2]
        remedy = _BY_VALIDATOR if "not supported" in why else "Correct the field."
        message = f"The field '{field}' of '{tool}' cannot be checked: {why.removeprefix('error: ')}. {remedy}"
        raise UnusableSchema(message) from None
    except PydanticUserError as problem:
        if problem.code == OLD_TYPED_DICT:
            raise ContractError(
                f"The arguments of '{tool}' cannot be described by a schema; {FOR_TYPED_DICT}"
            ) from None
        raise
    return _described(TypeAdapter(model), "validation", model.__name__)


def output_schema_of(adapter: TypeAdapter[Any], name: str) -> Json:  # Any: whatever a tool returns
    """The schema of a type for results. Raises: ContractError."""
    return _described(adapter, "serialization", name)


def adapter_of(kind: Any) -> TypeAdapter[Any]:  # Any: a type, and whatever a tool returns
    """The adapter for a type's schema and values. Raises: PydanticUserError, PydanticSchemaGenerationError."""
    adapter: TypeAdapter[Any] = TypeAdapter(kind)
    if adapter.pydantic_complete:  # otherwise making its schema reports what is missing
        # Otherwise NaN in a field of type Any would silently become null; as NaN the result is refused.
        adapter.serializer = SchemaSerializer(adapter.core_schema, CoreConfig(ser_json_inf_nan="constants"))
    return adapter


def _described(adapter: TypeAdapter[Any], mode: Any, name: str) -> Json:  # Any: as above; a literal of pydantic's
    try:
        schema = adapter.json_schema(mode=mode, schema_generator=_Untitled)
    except PydanticInvalidForJsonSchema as problem:
        message = f"{name} has a field that JSON Schema cannot describe ({problem.message}); give it another type."
        raise ContractError(message) from None
    except PydanticUserError:
        raise ContractError(f"{name} names a type that is not there yet; define or import it before.") from None
    schema = _with_its_root(schema)
    for part in (schema, *schema.get("$defs", {}).values()):
        part.pop("title", None)
    return schema


def _with_its_root(schema: Json) -> Json:
    """The schema with an object at its root, which clients require; of a recursive model it is only a reference."""
    definitions = schema.get("$defs", {})
    root = definitions.get(str(schema.get("$ref", "")).removeprefix("#/$defs/"))
    if root is None:
        return schema
    return {**root, **{key: value for key, value in schema.items() if key != "$ref"}}


def require_closed(schema: Mapping[str, Any], tool: str) -> None:
    """Checks that every object lists its keys, or gives its values a type. Raises: ContractError."""
    if schema.get("type") != "object":
        raise ContractError(f"The input schema of '{tool}' must be an object at its root; make it one.")
    for path, part in _described_values(schema, "", is_closed=False):
        if _is_open(part):
            where = f"'{path}' of '{tool}'" if path else f"'{tool}'"
            raise ContractError(
                f"The input schema of {where} takes any key. Say additionalProperties: false (in a model: derive it "
                "from Args, or set extra='forbid'), or give the values of a map a type, such as dict[str, str]."
            )


def _is_open(part: Mapping[str, Any]) -> bool:
    kinds = part.get("type", "object" if part.keys() & _ABOUT_KEYS else None)
    if kinds != "object" and not (isinstance(kinds, list) and "object" in kinds):
        return False
    rest = part.get("additionalProperties", part.get("unevaluatedProperties", True))
    return any(_says_nothing(values) for values in (rest, *part.get("patternProperties", {}).values()))


def _says_nothing(schema: object) -> bool:
    return schema is True or (isinstance(schema, dict) and schema.keys() <= _NOTES)


def _described_values(
    schema: Mapping[str, Any], path: str, *, is_closed: bool
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every subschema that describes a value, with its path.

    Parts that apply in place to a closed object (`oneOf`, `if`, …) cannot open it, so only their contents count.
    """
    if not is_closed:
        yield path, schema
    is_closed = is_closed or _is_closed(schema)
    for part in _in_place(schema):
        yield from _described_values(part, path, is_closed=is_closed)
    for inner in (*(schema.get(keyword) for keyword in _ONE), *schema.get("prefixItems", ())):
        if isinstance(inner, dict):
            yield from _described_values(inner, path, is_closed=False)
    for keyword in _MAPS:
        for name, inner in schema.get(keyword, {}).items():
            if isinstance(inner, dict):
                yield from _described_values(inner, f"{path}.{name}".lstrip("."), is_closed=False)


def _is_closed(schema: Mapping[str, Any]) -> bool:
    return schema.get("additionalProperties") is False or schema.get("unevaluatedProperties") is False


def _in_place(schema: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    parts = [part for keyword in ("allOf", "anyOf", "oneOf") for part in schema.get(keyword, ())]
    parts += [schema.get(keyword) for keyword in ("not", "if", "then", "else")]
    parts += schema.get("dependentSchemas", {}).values()
    yield from (part for part in parts if isinstance(part, dict))


def require_movable(schema: Mapping[str, Any], tool: str) -> None:
    """Checks that an output schema keeps its references inside an envelope's schema. Raises: ContractError."""
    pending: list[Any] = [schema]  # Any: JSON
    while pending:
        part = pending.pop()
        if isinstance(part, dict):
            reference = part.get("$ref")
            if isinstance(reference, str) and reference.startswith("#") and not reference.startswith(_COME_ALONG):
                raise ContractError(f"The output schema of '{tool}' refers to {reference}; put that under $defs.")
        pending.extend(part.values() if isinstance(part, dict) else part if isinstance(part, list) else ())
