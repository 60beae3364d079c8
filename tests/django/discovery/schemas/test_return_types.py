"""What a function says it returns, as a schema of what is sent."""

import datetime
import decimal
import enum
import json
import uuid
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, NotRequired, Optional, TypedDict

import jsonschema_rs
import pytest
from django.utils.functional import SimpleLazyObject
from hypothesis import given
from hypothesis import strategies as st
from rest_framework.renderers import JSONRenderer

from handfast.django.discovery.drf_types import Json
from handfast.django.discovery.schemas.return_types import annotation_schema, returned_schema


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Line(TypedDict):
    name: str
    note: NotRequired[str | None]


class Tree(TypedDict):
    inner: "list[Tree]"


CASES: list[tuple[Any, Json]] = [
    (str, {"type": "string"}),
    (bool, {"type": "boolean"}),
    (int, {"type": "integer"}),
    (float, {"type": "number"}),
    (None, {"type": "null"}),
    (decimal.Decimal, {"type": "number"}),
    (uuid.UUID, {"type": "string", "format": "uuid"}),
    (datetime.datetime, {"type": "string"}),
    (datetime.date, {"type": "string", "format": "date"}),
    (datetime.timedelta, {"type": "string"}),
    (Level, {"type": "integer", "enum": [1, 2]}),
    (Literal["a", None], {"type": ["string", "null"], "enum": ["a", None]}),
    (int | None, {"type": ["integer", "null"]}),
    (Optional[str], {"type": ["string", "null"]}),  # noqa: UP045 - the older spelling is the case
    (int | str, {"anyOf": [{"type": "integer"}, {"type": "string"}]}),
    (int | str | None, {"anyOf": [{"type": "integer"}, {"type": "string"}, {"type": "null"}]}),
    (int | object, {}),
    (list[int], {"type": "array", "items": {"type": "integer"}}),
    (Sequence[str], {"type": "array", "items": {"type": "string"}}),
    (tuple[int, ...], {"type": "array", "items": {"type": "integer"}}),
    (tuple[int, str], {"type": "array", "minItems": 2, "maxItems": 2}),
    (list, {"type": "array"}),
    (dict[str, int], {"type": "object", "additionalProperties": {"type": "integer"}}),
    (Mapping[str, Any], {"type": "object"}),
    (dict, {"type": "object"}),
    (Annotated[int, "of something"], {"type": "integer"}),
    (
        Line,
        {
            "type": "object",
            "properties": {"name": {"type": "string"}, "note": {"type": ["string", "null"]}},
            "required": ["name"],
        },
    ),
    (Any, {}),
    (object, {}),
    (SimpleLazyObject, {}),
]


@pytest.mark.parametrize(("annotation", "schema"), CASES, ids=[str(case[0]) for case in CASES])
def test_an_annotation_says_what_is_sent(annotation: Any, schema: Json) -> None:
    assert annotation_schema(annotation) == schema


def test_a_type_that_contains_itself_ends_somewhere() -> None:
    schema, depth = annotation_schema(Tree), 0
    while schema:
        schema, depth = schema["properties"]["inner"].get("items", {}), depth + 1
    assert depth == 5


def test_without_an_annotation_or_with_one_for_checkers_only_nothing_is_said() -> None:
    def silent():  # type: ignore[no-untyped-def]  # the case
        return 1

    def checked() -> "OnlyForCheckers":  # type: ignore[name-defined]  # noqa: F821 - the case
        return 1

    def told(value: int) -> str:
        return ""

    assert returned_schema(silent) is None
    assert returned_schema(checked) is None
    assert (returned_schema(told), returned_schema(told, "value")) == ({"type": "string"}, {"type": "integer"})


@given(st.sampled_from([case for case in CASES if case[0] not in (object, SimpleLazyObject, Any)]), st.data())
def test_what_is_annotated_is_what_the_encoder_makes_of_it(case: tuple[Any, Json], data: st.DataObject) -> None:
    annotation, schema = case
    if annotation in (list, dict, int | object) or "Mapping" in str(annotation) or "TypedDict" in str(type(annotation)):
        return
    value = data.draw(st.from_type(type(annotation) if annotation is None else annotation))
    if isinstance(value, float) and value - value != 0:
        return
    if isinstance(value, decimal.Decimal) and not value.is_finite():
        return
    jsonschema_rs.validate(schema, json.loads(JSONRenderer().render(value) or b"null"))
