"""The arguments and rows of a described entity, as models."""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, create_model

from backoffice.domain.entities import Entity, Kind
from backoffice.domain.entities import Field as Described
from backoffice.handlers.fields import ByNumber, Moment, Name, Number, Text
from handfast.toolkit import Args

Definitions = dict[str, Any]  # Any: what create_model takes: a type, and a default or a Field


def create_arguments(entity: Entity) -> type[Args]:
    """Every field, with its default where it has one."""
    fields: Definitions = {field.name: (_sent(field), _given(field)) for field in entity.fields}
    return create_model(f"Create_{entity.table}", __base__=Args, name=(Name, _NAME), **fields)


def update_arguments(entity: Entity) -> type[ByNumber]:
    """Every field may be left out, and stays as it is then."""
    fields: Definitions = {
        field.name: (_type_of(field) | None, Field(None, description=field.description)) for field in entity.fields
    }
    return create_model(
        f"Update_{entity.table}",
        __base__=ByNumber,
        name=(Name | None, Field(None, description="A name that no other one has.")),
        revision=(
            Number | None,
            Field(None, description="The revision that was read; refused if it is another by now."),
        ),
        **fields,
    )


def row_model(entity: Entity) -> type[BaseModel]:
    """A row as the tools answer with it."""
    fields: Definitions = {field.name: (_sent(field), ...) for field in entity.fields}
    return create_model(
        f"Row_{entity.table}",
        __base__=Args,
        id=(int, ...),
        name=(str, ...),
        created_by=(str, ...),
        created_at=(datetime, ...),
        updated_at=(datetime, ...),
        archived_at=(datetime | None, ...),
        revision=(int, ...),
        **fields,
    )


_NAME: Any = Field(description="A name that no other one has.")  # Any: pydantic's own kind of default


def _type_of(field: Described) -> Any:  # Any: a type
    match field.kind:
        case Kind.TEXT:
            return Name if field.default is None else Text
        case Kind.CHOICE:
            return Literal[field.choices]
        case Kind.WHOLE:
            return Annotated[int, Field(ge=field.minimum, le=field.maximum)]
        case Kind.FLAG:
            return bool
        case Kind.MOMENT:
            return Moment
        case Kind.REFERENCE:
            return Number


def _sent(field: Described) -> Any:  # Any: as above
    return _type_of(field) | None if _may_be_null(field) else _type_of(field)


def _may_be_null(field: Described) -> bool:
    return field.kind in (Kind.MOMENT, Kind.REFERENCE)


def _given(field: Described) -> Any:  # Any: as above
    if _may_be_null(field):
        return Field(None, description=field.description)
    if field.default is None:
        return Field(description=field.description)
    return Field(field.default, description=field.description)
