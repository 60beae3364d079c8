"""Every field class of REST framework: what a call may send for it, and what the API sends of it."""

import datetime
import enum
import re
import uuid
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.core.validators import MaxLengthValidator, MinLengthValidator, RegexValidator
from rest_framework import fields, serializers

from handfast.django.discovery.drf_types import AnyField, Json
from handfast.django.discovery.problems import DiscoveryProblem, DiscoveryProblems, ProblemId
from handfast.django.discovery.schemas.scalar_fields import INPUT, OUTPUT
from handfast.django.discovery.schemas.serializers import Shapes
from tests.django.project.models import Contact, Device

STRING: Json = {"type": "string"}
OR_NULL: Json = {"type": ["string", "null"]}


EMAIL: Any = Contact._meta.get_field("email")


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


def serializer_with(field: AnyField) -> serializers.Serializer[Any]:
    made: serializers.Serializer[Any] = type("OneSerializer", (serializers.Serializer,), {"one": field})()
    return made


def taken(field: AnyField) -> Json:
    schema: Json = Shapes(DiscoveryProblems()).of(serializer_with(field), "input").schema["properties"]["one"]
    return schema


def sent(field: AnyField) -> Json:
    schema: Json = Shapes(DiscoveryProblems()).of(serializer_with(field), "output").schema["properties"]["one"]
    return schema


FIELDS: list[tuple[str, Callable[[], AnyField], Json, Json]] = [
    ("boolean", lambda: serializers.BooleanField(), {"type": "boolean"}, {"type": ["boolean", "null"]}),
    ("text", lambda: serializers.CharField(), {"type": "string", "minLength": 1}, OR_NULL),
    (
        "bounded text",
        lambda: serializers.CharField(min_length=2, max_length=5, help_text="Short"),
        {"type": "string", "minLength": 2, "maxLength": 5, "description": "Short."},
        {**OR_NULL, "description": "Short."},
    ),
    ("blank text", lambda: serializers.CharField(allow_blank=True, max_length=5), {**STRING, "maxLength": 5}, OR_NULL),
    (
        "blank or long enough",
        lambda: serializers.CharField(allow_blank=True, min_length=3),
        {"anyOf": [{**STRING, "minLength": 3}, {"const": ""}]},
        OR_NULL,
    ),
    ("nullable text", lambda: serializers.CharField(allow_null=True), {**OR_NULL, "minLength": 1}, OR_NULL),
    ("email", lambda: serializers.EmailField(), {**STRING, "minLength": 1, "format": "email"}, OR_NULL),
    ("url", lambda: serializers.URLField(), {**STRING, "minLength": 1, "format": "uri"}, OR_NULL),
    (
        "slug",
        lambda: serializers.SlugField(),
        {**STRING, "minLength": 1, "pattern": "^[-a-zA-Z0-9_]+$"},
        OR_NULL,
    ),
    ("slug of any letters", lambda: serializers.SlugField(allow_unicode=True), {**STRING, "minLength": 1}, OR_NULL),
    (
        "regex",
        lambda: serializers.RegexField(r"^[a-z]+\Z"),
        {**STRING, "minLength": 1, "pattern": "^[a-z]+$"},
        OR_NULL,
    ),
    (
        "regex that no schema can say",
        lambda: serializers.RegexField(re.compile(r"^(?!x)[a-z]+$", re.IGNORECASE)),
        {**STRING, "minLength": 1},
        OR_NULL,
    ),
    (
        "regex turned round",
        lambda: serializers.CharField(validators=[RegexValidator("x", inverse_match=True)]),
        {**STRING, "minLength": 1},
        OR_NULL,
    ),
    (
        "ipv4",
        lambda: serializers.IPAddressField(protocol="ipv4"),
        {**STRING, "minLength": 1, "format": "ipv4"},
        OR_NULL,
    ),
    (
        "ip",
        lambda: serializers.IPAddressField(),
        {**STRING, "minLength": 1, "anyOf": [{"format": "ipv4"}, {"format": "ipv6"}]},
        OR_NULL,
    ),
    ("uuid", lambda: serializers.UUIDField(), {**STRING, "format": "uuid"}, {**OR_NULL, "format": "uuid"}),
    (
        "uuid as number",
        lambda: serializers.UUIDField(format="int"),
        {**STRING, "format": "uuid"},
        {"type": ["integer", "null"]},
    ),
    ("uuid as hex", lambda: serializers.UUIDField(format="hex"), {**STRING, "format": "uuid"}, OR_NULL),
    (
        "integer",
        lambda: serializers.IntegerField(min_value=1, max_value=9),
        {"type": "integer", "minimum": 1, "maximum": 9},
        {"type": ["integer", "null"]},
    ),
    (
        "integer of a wide column",
        lambda: serializers.IntegerField(min_value=-(2**63), max_value=2**63 - 1),
        {"type": "integer"},
        {"type": ["integer", "null"]},
    ),
    ("big integer", lambda: serializers.BigIntegerField(), {"type": "integer"}, {"type": ["integer", "null"]}),
    ("big integer as text", lambda: serializers.BigIntegerField(coerce_to_string=True), {"type": "integer"}, OR_NULL),
    (
        "float",
        lambda: serializers.FloatField(min_value=0.5),
        {"type": "number", "minimum": 0.5},
        {"type": ["number", "null"]},
    ),
    (
        "decimal",
        lambda: serializers.DecimalField(max_digits=5, decimal_places=2, min_value=Decimal("0.5")),
        {
            "type": ["string", "number"],
            "pattern": r"^-?\d{1,3}(?:\.\d{1,2})?$",
            "exclusiveMinimum": -1000,
            "exclusiveMaximum": 1000,
            "minimum": 0.5,
        },
        OR_NULL,
    ),
    (
        "decimal as number",
        lambda: serializers.DecimalField(max_digits=None, decimal_places=0, coerce_to_string=False),
        {"type": ["string", "number"], "pattern": r"^-?\d+$"},
        {"type": ["number", "null"]},
    ),
    (
        "decimal in the words of a country",
        lambda: serializers.DecimalField(max_digits=None, decimal_places=None, localize=True),
        {"type": ["string", "number"]},
        OR_NULL,
    ),
    (
        "moment",
        lambda: serializers.DateTimeField(),
        {**STRING, "format": "date-time"},
        {**OR_NULL, "format": "date-time"},
    ),
    (
        "moment in a format",
        lambda: serializers.DateTimeField(format="%d.%m.%Y %H:%M", input_formats=["%d.%m.%Y %H:%M"]),
        {**STRING, "examples": ["01.03.2026 14:30"], "description": "Written as DD.MM.YYYY hh:mm."},
        {**OR_NULL, "examples": ["01.03.2026 14:30"]},
    ),
    ("date", lambda: serializers.DateField(), {**STRING, "format": "date"}, {**OR_NULL, "format": "date"}),
    (
        "date as it is",
        lambda: serializers.DateField(format=None),
        {**STRING, "format": "date"},
        {**OR_NULL, "format": "date"},
    ),
    (
        "date in a format",
        lambda: serializers.DateField(format="%d/%m/%y", input_formats=["%d/%m/%y", "%Y"]),
        {**STRING, "examples": ["01/03/26", "2026"], "description": "Written as DD/MM/YY, YYYY."},
        {**OR_NULL, "examples": ["01/03/26"]},
    ),
    (
        "date in two formats",
        lambda: serializers.DateField(input_formats=["%d/%m/%y", "iso-8601"]),
        {**STRING, "format": "date"},
        {**OR_NULL, "format": "date"},
    ),
    (
        "time",
        lambda: serializers.TimeField(),
        {**STRING, "examples": ["14:30:00"], "description": "A time of day as HH:MM or HH:MM:SS."},
        OR_NULL,
    ),
    (
        "time in a format",
        lambda: serializers.TimeField(format="%H.%M", input_formats=["%H.%M"]),
        {**STRING, "examples": ["14.30"], "description": "Written as hh.mm."},
        {**OR_NULL, "examples": ["14.30"]},
    ),
    (
        "duration",
        lambda: serializers.DurationField(max_value=datetime.timedelta(days=2)),
        {
            **STRING,
            "description": "A duration: days, hours, minutes and seconds, such as 1 02:30:00, or ISO 8601, such as "
            "P1DT2H30M; at most 2 days, 0:00:00.",
        },
        OR_NULL,
    ),
    (
        "choice",
        lambda: serializers.ChoiceField(["a", "b"]),
        {**STRING, "enum": ["a", "b"]},
        {**OR_NULL, "examples": ["a", "b"]},
    ),
    (
        "choice with labels, in groups, blank and null",
        lambda: serializers.ChoiceField(
            [("G", [("a", "Alpha"), ("b", "B")]), ("c", "c")], allow_blank=True, allow_null=True
        ),
        {"type": ["string", "null"], "enum": ["a", "b", "c", "", None], "description": "a = Alpha."},
        {**OR_NULL, "examples": ["a", "b", "c"]},
    ),
    (
        "choice of numbers",
        lambda: serializers.ChoiceField([1, 2]),
        {"type": "integer", "enum": [1, 2]},
        {"type": ["integer", "string", "null"], "examples": [1, 2]},
    ),
    (
        "choice of an enum",
        lambda: serializers.ChoiceField([(Color.RED, "red"), (Color.BLUE, "blue")]),
        {**STRING, "enum": ["red", "blue"]},
        {**OR_NULL, "examples": ["red", "blue"]},
    ),
    (
        "choice of what JSON has not",
        lambda: serializers.ChoiceField([Decimal("1.50"), uuid.UUID(int=1)]),
        {**STRING, "enum": ["1.50", "00000000-0000-0000-0000-000000000001"]},
        {**OR_NULL, "examples": ["1.50", "00000000-0000-0000-0000-000000000001"]},
    ),
    (
        "more choices than can be listed",
        lambda: serializers.ChoiceField(range(1, 100)),
        {"type": "integer", "minimum": 1, "maximum": 99},
        {"type": ["integer", "string", "null"], "examples": list(range(1, 21))},
    ),
    (
        "several choices",
        lambda: serializers.MultipleChoiceField(choices=["a", "b"], allow_empty=False),
        {"type": "array", "items": {**STRING, "enum": ["a", "b"]}, "minItems": 1},
        {"type": ["array", "null"], "items": STRING},
    ),
    ("json", lambda: serializers.JSONField(), {"type": ["object", "array", "string", "number", "boolean"]}, {}),
    (
        "json or null",
        lambda: serializers.JSONField(allow_null=True),
        {"type": ["object", "array", "string", "number", "boolean", "null"]},
        {},
    ),
    (
        "json in bytes",
        lambda: serializers.JSONField(binary=True),
        {**STRING, "contentMediaType": "application/json"},
        OR_NULL,
    ),
    (
        "list",
        lambda: serializers.ListField(child=serializers.IntegerField(min_value=0), min_length=1, max_length=3),
        {"type": "array", "items": {"type": "integer", "minimum": 0}, "minItems": 1, "maxItems": 3},
        {"type": ["array", "null"], "items": {"type": ["integer", "null"]}},
    ),
    (
        "list of anything",
        lambda: serializers.ListField(allow_empty=False, validators=[MaxLengthValidator(4)]),
        {"type": "array", "items": {}, "minItems": 1, "maxItems": 4},
        {"type": ["array", "null"], "items": {}},
    ),
    (
        "dict",
        lambda: serializers.DictField(child=serializers.FloatField(), allow_empty=False),
        {"type": "object", "additionalProperties": {"type": "number"}, "minProperties": 1},
        {"type": ["object", "null"], "additionalProperties": {"type": ["number", "null"]}},
    ),
    (
        "dict with a bound",
        lambda: serializers.DictField(validators=[MinLengthValidator(2)]),
        {"type": "object", "additionalProperties": {}, "minProperties": 2},
        {"type": ["object", "null"], "additionalProperties": {}},
    ),
    (
        "hstore",
        lambda: serializers.HStoreField(),
        {"type": "object", "additionalProperties": OR_NULL},
        {"type": ["object", "null"], "additionalProperties": OR_NULL},
    ),
    (
        "path of a file",
        lambda: serializers.FilePathField(
            path=str(Path(__file__).parent), match=r"test_field_schemas\.py", required=True
        ),
        {**STRING, "enum": [__file__], "description": f"{__file__} = test_field_schemas.py."},
        {**OR_NULL, "examples": [__file__]},
    ),
    ("something else", lambda: serializers.ModelField(model_field=EMAIL), {}, OR_NULL),
]
IDS = [name for name, *_ in FIELDS]


@pytest.mark.parametrize(("field", "expected"), [(make, schema) for _, make, schema, _ in FIELDS], ids=IDS)
def test_what_a_call_may_send(field: Callable[[], AnyField], expected: Json) -> None:
    assert taken(field()) == expected


@pytest.mark.parametrize(("field", "expected"), [(make, schema) for _, make, _, schema in FIELDS], ids=IDS)
def test_what_the_api_sends(field: Callable[[], AnyField], expected: Json) -> None:
    assert sent(field()) == expected


def test_the_table_has_every_field_class_of_the_framework() -> None:
    shown = {cls for _, make, *_ in FIELDS for cls in type(make()).__mro__}
    elsewhere = {
        serializers.FileField,
        serializers.ImageField,
        serializers.HiddenField,
        serializers.ReadOnlyField,
        serializers.SerializerMethodField,
    }
    inside = {fields._UnvalidatedField}  # what a list or a dict of anything has in it
    assert set(INPUT) | set(OUTPUT) <= shown | elsewhere | inside
    known = {
        cls
        for cls in vars(serializers).values()
        if isinstance(cls, type) and issubclass(cls, serializers.Field) and cls.__module__ == "rest_framework.fields"
    }
    assert known - shown == elsewhere


@pytest.mark.parametrize("cls", [serializers.FileField, serializers.ImageField])
def test_a_file_is_sent_as_base64_and_comes_back_as_a_link(cls: Any) -> None:
    schema = taken(cls())
    assert (schema["type"], list(schema["properties"]), schema["required"]) == (
        "object",
        ["filename", "content", "content_type"],
        ["filename", "content"],
    )
    assert sent(cls()) == OR_NULL


@pytest.mark.parametrize(
    ("default", "expected"),
    [
        (3, {"default": 3}),
        (None, {"default": None}),
        (Decimal("1.50"), {"default": "1.50"}),
        (datetime.date(2026, 3, 1), {"default": "2026-03-01"}),
        (Color.RED, {"default": "red"}),
        ([1, {"a": (2,)}], {"default": [1, {"a": [2]}]}),
        (dict, {}),
        (float("nan"), {}),
        (object(), {}),
    ],
    ids=lambda value: type(value).__name__,
)
def test_only_a_default_that_json_has_is_told(default: object, expected: Json) -> None:
    field = serializers.JSONField(default=default)  # type: ignore[arg-type]  # of any kind on purpose
    assert {key: value for key, value in taken(field).items() if key != "type"} == expected


def test_a_partial_update_requires_nothing_and_has_no_defaults() -> None:
    class Inner(serializers.Serializer[Any]):
        size = serializers.IntegerField(default=1)
        name = serializers.CharField()

    class Outer(serializers.Serializer[Any]):
        inner = Inner()

    shapes = Shapes(DiscoveryProblems())
    size, name = {"type": "integer"}, {"type": "string", "minLength": 1}
    assert shapes.of(Outer(), "partial").schema == {
        "type": "object",
        "properties": {"inner": {"type": "object", "properties": {"size": size, "name": name}}},
    }
    assert shapes.of(Outer(), "input").schema == {
        "type": "object",
        "properties": {
            "inner": {
                "type": "object",
                "properties": {"size": {**size, "default": 1}, "name": name},
                "required": ["name"],
            }
        },
        "required": ["inner"],
    }


# --- who may send it, and who sees it --------------------------------------------------------------------------------


class Secretive(serializers.Serializer[Any]):
    seen = serializers.CharField(read_only=True)
    told = serializers.CharField(write_only=True)
    neither = serializers.HiddenField(default=1)
    both = serializers.CharField(label="What it is called", required=False)


def test_read_only_is_not_taken_and_write_only_is_not_sent() -> None:
    shapes = Shapes(DiscoveryProblems())
    both = {"description": "What it is called."}
    assert shapes.of(Secretive(), "input").schema == {
        "type": "object",
        "properties": {"told": {**STRING, "minLength": 1}, "both": {**STRING, "minLength": 1, **both}},
        "required": ["told"],
    }
    assert shapes.of(Secretive(), "output").schema == {
        "type": "object",
        "properties": {"seen": OR_NULL, "both": {**OR_NULL, **both}},
    }


def test_null_and_presence_are_promised_only_where_the_model_holds_them() -> None:
    class Some(serializers.ModelSerializer[Device]):
        site_name = serializers.CharField(source="site.name", read_only=True)
        rack_label = serializers.CharField(source="rack.label", read_only=True)
        rack_or_null = serializers.CharField(source="rack.label", read_only=True, allow_null=True)
        guessed = serializers.CharField(source="no_such_thing", read_only=True)
        weight_name = serializers.CharField(source="get_weight_display", read_only=True)

        class Meta:
            model = Device
            fields = ("id", "name", "bought", "site_name", "rack_label", "rack_or_null", "guessed", "weight_name")

    assert Shapes(DiscoveryProblems()).of(Some(), "output").schema == {
        "type": "object",
        "properties": {
            "id": {"type": "integer"},
            "name": STRING,
            "bought": {**OR_NULL, "format": "date"},
            "site_name": STRING,
            "rack_label": OR_NULL,
            "rack_or_null": OR_NULL,
            "guessed": OR_NULL,
            "weight_name": STRING,
        },
        "required": ["id", "name", "bought", "site_name", "rack_or_null", "weight_name"],
    }


# --- what nobody can know --------------------------------------------------------------------------------------------


class Untold(serializers.CharField):
    def to_representation(self, value: Any):  # type: ignore[no-untyped-def]  # as many are written
        return {"text": value}

    def to_internal_value(self, data):  # type: ignore[no-untyped-def]  # as above
        return data["text"]


class Told(serializers.CharField):
    def to_representation(self, value: Any) -> list[int]:  # type: ignore[override]  # another type is the point
        return [len(value)]

    def to_internal_value(self, data: int) -> str:  # type: ignore[override]  # as above
        return "x" * data


class Lowered(serializers.EmailField):
    def to_internal_value(self, data: Any) -> str:
        return super().to_internal_value(data).lower()


class Hexadecimal(serializers.IntegerField):
    def to_internal_value(self, data: str | int) -> int:  # type: ignore[override]  # as above
        return super().to_internal_value(int(data, 16) if isinstance(data, str) else data)


class Linked(serializers.ImageField):
    def to_internal_value(self, data):  # type: ignore[no-untyped-def]  # as above
        return super().to_internal_value(fetched(data))


class Encoded(serializers.FileField):
    def to_internal_value(self, data: str) -> Any:  # type: ignore[override]  # as above
        return super().to_internal_value(fetched(data))


def fetched(data: str) -> Any:
    return data


def test_a_field_that_takes_more_than_it_hands_over_says_so_itself() -> None:
    findings = DiscoveryProblems()
    made = {"code": Hexadecimal(max_value=255), "picture": Linked(), "file": Encoded(), "email": Lowered()}
    serializer = type("SomeSerializer", (serializers.Serializer,), made)
    assert Shapes(findings).of(serializer(), "input").schema["properties"] == {
        "code": {"anyOf": [STRING, {"type": "integer"}]},
        "picture": {},
        "file": STRING,
        "email": {**STRING, "minLength": 1, "format": "email"},
    }
    assert [(one.id, one.where.rpartition(".")[2]) for one in findings] == [(ProblemId.FIELD_OPEN, "picture")]


class Guessing(serializers.CharField):
    def get_attribute(self, instance: Any) -> Any:
        return getattr(instance, "nickname", None)


class Odd(serializers.ModelSerializer[Contact]):
    untold = Untold()
    told = Told()
    lowered = Lowered()
    count = serializers.SerializerMethodField()
    mystery = serializers.SerializerMethodField("find_mystery")
    initials = serializers.ReadOnlyField()
    full_name = serializers.ReadOnlyField()
    email = serializers.ReadOnlyField()
    first_name = Guessing(read_only=True)

    class Meta:
        model = Contact
        fields = ("untold", "told", "lowered", "count", "mystery", "initials", "full_name", "email", "first_name")

    def get_count(self, contact: Contact) -> int | None:
        return 1

    def find_mystery(self, contact):  # type: ignore[no-untyped-def]  # as many are written
        return 1


def test_what_says_nothing_is_open_and_a_problem() -> None:
    findings = DiscoveryProblems()
    shapes = Shapes(findings)
    assert shapes.of(Odd(), "input").schema["properties"] == {
        "untold": {},
        "told": {"type": "integer"},
        "lowered": {**STRING, "minLength": 1, "format": "email"},
    }
    assert shapes.of(Odd(), "output").schema["properties"] == {
        "untold": {},
        "told": {"type": ["array", "null"], "items": {"type": "integer"}},
        "lowered": OR_NULL,
        "count": {"type": ["integer", "null"]},
        "mystery": {},
        "initials": {},
        "full_name": STRING,
        "email": STRING,
        "first_name": OR_NULL,
    }
    where = f"{Odd.__module__}.Odd"
    assert list(findings) == [
        DiscoveryProblem(
            ProblemId.FIELD_OPEN,
            "An agent cannot know what to send for it: Untold.to_internal_value() is the project's own.",
            "Annotate its argument, such as `data: str`.",
            f"{where}.untold",
        ),
        DiscoveryProblem(
            ProblemId.FIELD_OPEN,
            "An agent cannot know what it holds: Untold.to_representation() is the project's own.",
            "Annotate what it returns, such as `-> str`.",
            f"{where}.untold",
        ),
        DiscoveryProblem(
            ProblemId.FIELD_OPEN,
            "An agent cannot know what it holds: find_mystery() has no return annotation.",
            "Say what find_mystery() returns, such as `-> str`.",
            f"{where}.mystery",
        ),
        DiscoveryProblem(
            ProblemId.FIELD_OPEN,
            "An agent cannot know what it holds: nothing says what it holds.",
            "Annotate the property it reads, or use a typed field.",
            f"{where}.initials",
        ),
    ]
