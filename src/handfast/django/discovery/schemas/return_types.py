"""The annotations of functions, as the JSON Schema of what REST framework's encoder makes of such values."""

import datetime
import decimal
import inspect
import types
import typing
import uuid
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from typing import Any, Final, Literal, Union, get_args, get_origin

from django.utils.functional import Promise

from handfast.django.discovery.drf_types import Json
from handfast.django.discovery.schemas.json_schemas import nullable, object_schema, options, plain_scalar
from handfast.django.discovery.views.guarded_calls import Answered, call_guarded

_PLAIN: Final[Mapping[type, Json]] = {
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": "number"},
    str: {"type": "string"},
    type(None): {"type": "null"},
    decimal.Decimal: {"type": "number"},
    uuid.UUID: {"type": "string", "format": "uuid"},
    datetime.datetime: {"type": "string"},  # with an offset or without: the annotation does not say
    datetime.date: {"type": "string", "format": "date"},
    datetime.time: {"type": "string"},
    datetime.timedelta: {"type": "string"},
    bytes: {"type": "string"},
    Promise: {"type": "string"},
}
_NESTED_AT_MOST: Final = 8  # levels: the schema of a type that contains itself ends here


def returned_schema(function: Callable[..., Any], parameter: str = "return") -> Json | None:
    """The schema of a function's return annotation, or of that of the named parameter; None without an annotation."""
    hints = _hints(inspect.unwrap(function))
    return annotation_schema(hints[parameter]) if parameter in hints else None


def _hints(target: object) -> dict[str, Any]:  # Any: whatever an author annotates with
    """The resolved annotations; empty where one has names that exist only for a type checker."""
    hints = call_guarded(lambda: typing.get_type_hints(target))
    return hints.value if isinstance(hints, Answered) else {}


def annotation_schema(annotation: object, depth: int = 0) -> Json:
    """The schema of an annotation; {} where it says nothing, or nothing that JSON knows."""
    if depth > _NESTED_AT_MOST:
        return {}
    origin = get_origin(annotation)
    if origin is not None:
        return _generic(origin, get_args(annotation), depth + 1)
    if annotation is None:
        return {"type": "null"}
    if not isinstance(annotation, type):
        return {}
    if typing.is_typeddict(annotation):
        return _typed_dict(annotation, depth + 1)
    return _class(annotation)


def _class(annotation: type) -> Json:
    if issubclass(annotation, Enum):
        return options(plain_scalar(member) for member in annotation)
    if annotation in _PLAIN:
        return dict(_PLAIN[annotation])
    if issubclass(annotation, str):
        return {"type": "string"}
    if issubclass(annotation, Mapping):
        return {"type": "object"}
    if issubclass(annotation, list | tuple | set | frozenset):
        return {"type": "array"}
    return {}


def _generic(origin: Any, arguments: tuple[Any, ...], depth: int) -> Json:  # Any: whatever stands in brackets
    if origin is typing.Annotated:
        return annotation_schema(arguments[0], depth)
    if origin is Literal:
        return options(plain_scalar(value) for value in arguments)
    if origin in (Union, types.UnionType):
        return _union(arguments, depth)
    if not isinstance(origin, type):
        return {}
    if issubclass(origin, Mapping):
        inner = annotation_schema(arguments[1], depth)
        return {"type": "object", **({"additionalProperties": inner} if inner else {})}
    if issubclass(origin, tuple) and arguments[-1] is not Ellipsis:
        return {"type": "array", "minItems": len(arguments), "maxItems": len(arguments)}
    if issubclass(origin, Iterable):
        inner = annotation_schema(arguments[0], depth)
        return {"type": "array", **({"items": inner} if inner else {})}
    return {}


def _union(arguments: tuple[Any, ...], depth: int) -> Json:  # Any: as above
    parts = [annotation_schema(part, depth) for part in arguments if part is not type(None)]
    if not all(parts):
        return {}
    schema = parts[0] if len(parts) == 1 else {"anyOf": parts}
    return nullable(schema) if type(None) in arguments else schema


def _typed_dict(annotation: Any, depth: int) -> Json:  # Any: a TypedDict has no type that can be named
    hints = _hints(annotation)
    properties = {name: annotation_schema(_unwrapped(hint), depth) for name, hint in hints.items()}
    required = [name for name in hints if name in annotation.__required_keys__]
    return object_schema(properties, required)


def _unwrapped(hint: object) -> object:
    return get_args(hint)[0] if get_origin(hint) in (typing.Required, typing.NotRequired) else hint
