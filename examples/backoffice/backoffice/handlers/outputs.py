"""The output schemas of explicit tools, from the records that their handlers answer with."""

from typing import Any

from pydantic import TypeAdapter

from handfast.toolkit.writing.schemas import Json, output_schema_of


def schema_of(kind: Any) -> Json:  # Any: a record, or another type that JSON can say
    return output_schema_of(TypeAdapter(kind), getattr(kind, "__name__", "The result"))


def list_schema(kind: Any) -> Json:  # Any: as above
    return schema_of(list[kind])
