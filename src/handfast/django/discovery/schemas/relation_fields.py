"""Relations of serializers: an id, a slug or a link, or in a call an object of fields that identify a row."""

from typing import Final

from rest_framework import relations

from handfast.django.discovery.drf_types import AnyField, AnyRelation, Json
from handfast.django.discovery.schemas.json_schemas import described, nullable
from handfast.django.discovery.schemas.model_values import (
    Model,
    Reached,
    column_schema,
    follow,
    identifying_names,
    key_schema,
)
from handfast.django.discovery.schemas.scalar_fields import INPUT, OUTPUT, listed

_LINK: Final[Json] = {"type": "string", "format": "uri-reference"}
_OBJECT: Final[Json] = {"type": "object", "minProperties": 1}
_ANY_KEY: Final[Json] = {"type": ["integer", "string"]}


def relation_input(field: AnyRelation, model: Model | None) -> Json:
    """The schema of a relation in a call: `oneOf` a reference and an object by which the call finds the row."""
    related = related_model(field, model)
    reference = _reference(field, related)
    return described({"oneOf": [reference, dict(_OBJECT)]}, _how_to_name(field, related))


def _reference(field: AnyRelation, related: Model | None) -> Json:
    """The schema of what the API itself takes, and of text where a row has a name of its own."""
    if isinstance(field, relations.HyperlinkedRelatedField):
        return {"type": "string"} if _names(field, related) else dict(_LINK)
    if isinstance(field, relations.SlugRelatedField):
        schema = follow(related, field.slug_field.split("__")).schema
    elif getattr(field, "pk_field", None) is not None:
        schema = listed(INPUT, field.pk_field)  # type: ignore[attr-defined]  # asked for right before
    else:
        schema = key_schema(related)
    if not isinstance(schema.get("type"), str) or schema["type"] == "object":
        return dict(_ANY_KEY)
    if not _names(field, related):
        return schema
    return {"type": "string"} if schema["type"] == "string" else {"type": [schema["type"], "string"]}


def _names(field: AnyRelation, related: Model | None) -> list[str]:
    """The fields by which a row may be named, besides the one that the API itself goes by."""
    names = [] if related is None else identifying_names(related)
    return [name for name in names if name != getattr(field, "slug_field", None)]


def _how_to_name(field: AnyRelation, related: Model | None) -> str:
    if related is None:
        return "Its id, or an object of fields that identify it"
    own = getattr(field, "slug_field", "link" if isinstance(field, relations.HyperlinkedRelatedField) else "id")
    names = _names(field, related)
    example = f', such as {{"{names[0]}": …}}' if names else ""
    shown = " or ".join([own, *names[:1]])
    return f"The {shown} of the {related._meta.verbose_name}, or an object of fields that identify it{example}"


def relation_output(field: AnyRelation, model: Model | None) -> Json:
    """What the API sends for a related object."""
    if isinstance(field, relations.HyperlinkedRelatedField):
        return dict(_LINK)
    if isinstance(field, relations.StringRelatedField):
        return {"type": "string"}
    related = related_model(field, model)
    if isinstance(field, relations.SlugRelatedField):
        return _slug(follow(related, field.slug_field.split("__")))
    if isinstance(field, relations.PrimaryKeyRelatedField):
        if field.pk_field is not None:
            return listed(OUTPUT, field.pk_field)
        return {} if related is None else column_schema(related._meta.pk)
    return {}


def _slug(reached: Reached) -> Json:
    if not reached.schema:
        return {}
    return nullable(reached.schema) if reached.may_be_null else reached.schema


def related_model(field: AnyRelation, model: Model | None) -> Model | None:
    """The model that a relation leads to: by its queryset, or from the model of its serializer."""
    model_of_rows = getattr(getattr(field, "queryset", None), "model", None)
    if isinstance(model_of_rows, type):
        return model_of_rows
    holder: AnyField = field.parent if isinstance(field.parent, relations.ManyRelatedField) else field
    return follow(model, holder.source_attrs).related
