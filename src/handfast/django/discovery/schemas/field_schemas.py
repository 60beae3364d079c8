"""Serializer fields as JSON Schema: what a call may send for one, and what the API sends of it."""

import inspect
from typing import Any, Protocol

from rest_framework import fields, relations
from rest_framework.serializers import BaseSerializer, ListSerializer

from handfast.django.discovery.drf_types import AnyField, AnySerializer, Json
from handfast.django.discovery.schemas.constraints import with_constraints
from handfast.django.discovery.schemas.json_schemas import admits_null, described, nullable, plain_default, types_in
from handfast.django.discovery.schemas.model_values import UNKNOWN, Model, Reached, column_schema, follow
from handfast.django.discovery.schemas.relation_fields import relation_input, relation_output
from handfast.django.discovery.schemas.return_types import returned_schema
from handfast.django.discovery.schemas.scalar_fields import INPUT, OUTPUT, listed
from handfast.django.discovery.views.overridden import hands_over, is_own_way


class FieldScope(Protocol):
    """The context of a field: the model of its serializer, and the way to describe nested serializers."""

    @property
    def model(self) -> Model | None: ...
    @property
    def is_partial(self) -> bool: ...

    def nested(self, serializer: AnySerializer) -> Json:
        """The schema of a serializer, or a reference to it."""

    def note_open(self, why: str, hint: str) -> None:
        """Reports that nothing can be said about the current field."""


# --- what a call may send --------------------------------------------------------------------------------------------


def input_of(field: AnyField, scope: FieldScope) -> Json:
    """The schema of a writable field, with its author's description."""
    schema = _or_blank(_taken(field, scope), field)
    if field.allow_null:
        schema = nullable(schema)
    if not scope.is_partial:
        schema = {**schema, **_default(field)}
    return described(schema, _words(field))


def _taken(field: AnyField, scope: FieldScope) -> Json:
    if isinstance(field, ListSerializer):
        return {"type": "array", "items": scope.nested(field.child), **_sizes(field)}  # type: ignore[arg-type]  # a serializer
    if isinstance(field, BaseSerializer):
        return scope.nested(field)
    if not _hands_over(field):
        return _custom(field, "to_internal_value", scope)
    return _wider(_handed_over(field, scope), field)


def _hands_over(field: AnyField) -> bool:
    """Whether the framework reads the value in the end; a project's file field may take any form, such as a link."""
    is_file = isinstance(field, fields.FileField)
    return (is_own_way if is_file else hands_over)(type(field), "to_internal_value")


def _wider(schema: Json, field: AnyField) -> Json:
    """The schema of a field's annotation where it has more types than the framework's schema, else the latter."""
    function = getattr(type(field), "to_internal_value")  # noqa: B009 - the stubs know it on instances only
    said = (
        None if is_own_way(type(field), "to_internal_value") else returned_schema(function, _second_parameter(function))
    )
    return schema if not said or types_in(said) <= types_in(schema) else said


def _handed_over(field: AnyField, scope: FieldScope) -> Json:
    if isinstance(field, relations.ManyRelatedField):
        if field.child_relation.read_only:
            return {"type": "array", "maxItems": 0, "description": "Is only ever read, and still asked for: send []."}
        return {"type": "array", "items": _taken(field.child_relation, scope), **_sizes(field)}
    if isinstance(field, relations.RelatedField):
        return relation_input(field, scope.model)
    if isinstance(field, fields.ListField):
        schema = {"type": "array", "items": input_of(field.child, scope), **_sizes(field)}
    elif isinstance(field, fields.DictField):
        schema = {"type": "object", "additionalProperties": input_of(field.child, scope)}
        schema |= {} if field.allow_empty else {"minProperties": 1}
    else:
        schema = listed(INPUT, field)
    return with_constraints(schema, field.validators)


def _sizes(field: Any) -> Json:  # Any: three classes with the same options and no common base
    least = getattr(field, "min_length", None) or (0 if field.allow_empty else 1)
    most = getattr(field, "max_length", None)
    return ({"minItems": least} if least else {}) | ({} if most is None else {"maxItems": most})


def _or_blank(schema: Json, field: AnyField) -> Json:
    """Adds the empty text where the field accepts it although the rest of its schema would not."""
    is_bound = any(keyword in schema for keyword in ("minLength", "pattern", "format"))
    if not getattr(field, "allow_blank", False) or not is_bound:
        return schema
    return {"anyOf": [schema, {"const": ""}]}


def _default(field: AnyField) -> Json:
    default: object = field.default
    if default is fields.empty or callable(default):
        return {}
    try:
        return {"default": plain_default(default)}
    except ValueError:
        return {}


def _words(field: Any) -> object:  # Any: the keywords it was made with are in no stub
    """The help text of a field, or a label that says more than its name."""
    label = field._kwargs.get("label")
    says_more = label is not None and str(label).casefold() != str(field.field_name).replace("_", " ").casefold()
    return field.help_text or (label if says_more else None)


# --- what the API sends ----------------------------------------------------------------------------------------------


def output_of(field: AnyField, scope: FieldScope) -> tuple[Json, bool]:
    """The schema of a readable field, and whether its key is always there."""
    reached = _reached(field, scope)
    schema = _sent(field, scope, reached)
    if reached.may_be_null or (reached.schema and admits_null(reached.schema)):
        schema = nullable(schema)
    is_there = field.required or field.allow_null or not reached.may_be_missing
    return described(schema, _words(field)), is_there


_ITSELF = Reached({}, may_be_null=False, may_be_missing=False)


def _reached(field: AnyField, scope: FieldScope) -> Reached:
    if not is_own_way(type(field), "get_attribute"):
        return UNKNOWN
    return _ITSELF if field.source == "*" else follow(scope.model, field.source_attrs)


def _sent(field: AnyField, scope: FieldScope, reached: Reached) -> Json:
    if isinstance(field, fields.SerializerMethodField):
        return _from_method(field, scope)
    if not is_own_way(type(field), "to_representation") and not isinstance(field, BaseSerializer):
        return _custom(field, "to_representation", scope)
    if isinstance(field, ListSerializer):
        return list_of(type(field), scope.nested(field.child))  # type: ignore[arg-type]  # a serializer
    if isinstance(field, BaseSerializer):
        return scope.nested(field)
    if isinstance(field, relations.ManyRelatedField):
        return {"type": "array", "items": _sent(field.child_relation, scope, reached)}
    if isinstance(field, relations.RelatedField):
        return relation_output(field, scope.model)
    return _value_sent(field, scope, reached)


def _value_sent(field: AnyField, scope: FieldScope, reached: Reached) -> Json:
    if isinstance(field, fields.ListField):
        return {"type": "array", "items": nullable(_sent(field.child, scope, reached))}
    if isinstance(field, fields.DictField):
        return {"type": "object", "additionalProperties": nullable(_sent(field.child, scope, reached))}
    if isinstance(field, fields.ReadOnlyField | fields.ModelField):
        schema = column_schema(field.model_field) if isinstance(field, fields.ModelField) else reached.schema
        if not schema and reached.column is None:
            scope.note_open("nothing says what it holds", "Annotate the property it reads, or use a typed field.")
        return schema
    return listed(OUTPUT, field)


def list_of(cls: type, items: Json) -> Json:
    """The schema of a list of items; {} where the list serializer has its own way to send them."""
    if not is_own_way(cls, "to_representation") or not is_own_way(cls, "data"):
        return {}
    return {"type": "array", "items": items}


def _from_method(field: fields.SerializerMethodField, scope: FieldScope) -> Json:
    name = field.method_name or ""
    method = getattr(type(field.parent), name, None)
    schema = None if method is None else returned_schema(method)
    if schema is None:
        scope.note_open(f"{name}() has no return annotation", f"Say what {name}() returns, such as `-> str`.")
    return schema or {}


def _custom(field: AnyField, method: str, scope: FieldScope) -> Json:
    """The schema of a field with its own way to read or write, of which only an annotation gives the type."""
    function = getattr(type(field), method)
    is_input = method == "to_internal_value"
    parameter = _second_parameter(function) if is_input else "return"
    schema = returned_schema(function, parameter)
    if schema is None:
        asked = f"its argument, such as `{parameter}: str`" if is_input else "what it returns, such as `-> str`"
        scope.note_open(f"{type(field).__name__}.{method}() is the project's own", f"Annotate {asked}.")
    return schema or {}


def _second_parameter(function: Any) -> str:  # Any: a method
    names = list(inspect.signature(function).parameters)
    return names[1] if len(names) > 1 else ""
