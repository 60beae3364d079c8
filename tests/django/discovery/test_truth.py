"""The schemas tell the truth: what serializers and views really send meets them, and what they admit is taken."""

import copy
import datetime
import json
import uuid
from decimal import Decimal
from typing import Any

import jsonschema_rs
import pytest
from django.db import transaction
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from rest_framework import serializers
from rest_framework.renderers import JSONRenderer

from handfast.core.schema.compiled import CompiledSchema, compile_schema
from handfast.django.discovery.drf_types import AnyField, Json
from handfast.django.discovery.problems import DiscoveryProblems
from handfast.django.discovery.schemas.serializers import Shapes
from handfast.toolkit.testing.generate.values import values
from tests.django.discovery.calling import TOOLS, call
from tests.django.project.models import Contact, Device, Profile, Rack, Site, Tag

# Text that a database and a serializer take: no NUL, no lone surrogates, and short enough for every column.
TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=10)
MOMENTS = st.datetimes(timezones=st.just(datetime.UTC))
DURATIONS = st.timedeltas(min_value=datetime.timedelta(-999), max_value=datetime.timedelta(999))
MONEY = st.decimals(min_value=-999, max_value=999, places=2)


def judge(schema: Json, value: object) -> None:
    """As strictly as any client could: formats are held, too."""
    jsonschema_rs.Draft202012Validator(schema, validate_formats=True, offline=True).validate(value)


# --- fields ----------------------------------------------------------------------------------------------------------

# A field, and the values an instance may hold for it. None is among them for every field: nothing keeps it out.
SENT: dict[str, tuple[AnyField, st.SearchStrategy[Any]]] = {
    "boolean": (serializers.BooleanField(), st.booleans()),
    "text": (serializers.CharField(max_length=3), TEXT | st.integers()),
    "email": (serializers.EmailField(), TEXT),
    "slug": (serializers.SlugField(), TEXT),
    "url": (serializers.URLField(allow_blank=True), TEXT),
    "ip": (serializers.IPAddressField(), st.ip_addresses().map(str) | TEXT),
    "uuid": (serializers.UUIDField(), st.uuids()),
    "uuid_int": (serializers.UUIDField(format="int"), st.uuids()),
    "uuid_urn": (serializers.UUIDField(format="urn"), st.uuids()),
    "integer": (serializers.IntegerField(max_value=5), st.integers()),
    "big": (serializers.BigIntegerField(coerce_to_string=True), st.integers()),
    "float": (serializers.FloatField(min_value=0), st.floats(allow_nan=False, allow_infinity=False)),
    "decimal": (serializers.DecimalField(max_digits=5, decimal_places=2), MONEY),
    "number": (serializers.DecimalField(max_digits=5, decimal_places=2, coerce_to_string=False), MONEY),
    "moment": (serializers.DateTimeField(), MOMENTS),
    "moment_raw": (serializers.DateTimeField(format=None), MOMENTS),
    "day": (serializers.DateField(), st.dates()),
    "day_short": (serializers.DateField(format="%d/%m/%y"), st.dates()),
    "time": (serializers.TimeField(), st.times()),
    "duration": (serializers.DurationField(), DURATIONS),
    "duration_iso": (serializers.DurationField(format="iso-8601"), DURATIONS),
    "duration_raw": (serializers.DurationField(format=None), DURATIONS),
    "choice": (serializers.ChoiceField(["a", "b"]), TEXT | st.just("a")),
    "choices": (serializers.MultipleChoiceField(choices=["a", "b"]), st.lists(TEXT | st.just("a"))),
    "number_choice": (serializers.ChoiceField([1, 2]), st.integers() | st.just("")),
    "json": (serializers.JSONField(), st.recursive(st.none() | st.booleans() | TEXT, st.lists)),
    "list": (serializers.ListField(child=serializers.IntegerField()), st.lists(st.none() | st.integers())),
    "dict": (serializers.DictField(child=serializers.CharField()), st.dictionaries(TEXT, st.none() | TEXT)),
    "hstore": (serializers.HStoreField(), st.dictionaries(TEXT, st.none() | TEXT)),
}


@pytest.mark.parametrize("name", SENT)
@given(data=st.data(), is_read_only=st.booleans(), is_nullable=st.booleans(), is_there=st.booleans())
@settings(max_examples=40)
def test_what_a_serializer_sends_meets_its_output_schema(
    name: str, data: st.DataObject, is_read_only: bool, is_nullable: bool, is_there: bool
) -> None:
    field, values = SENT[name]
    options = {**copy.deepcopy(field._kwargs), "allow_null": is_nullable}  # type: ignore[attr-defined]  # what it was made with
    options |= {"read_only": True} if is_read_only else {"required": False}
    made = type(field)(*field._args, **options)  # type: ignore[attr-defined]  # as above
    serializer = type("OneSerializer", (serializers.Serializer,), {"one": made})
    instance = {"one": data.draw(st.none() | values)} if is_there else {}
    rendered = json.loads(JSONRenderer().render(serializer(instance).data))
    judge(Shapes(DiscoveryProblems()).of(serializer(), "output").whole, rendered)


TAKEN: dict[str, AnyField] = {
    "boolean": serializers.BooleanField(),
    "text": serializers.CharField(min_length=2, max_length=9),
    "blank": serializers.CharField(min_length=4, allow_blank=True, allow_null=True),
    "slug": serializers.SlugField(),
    "regex": serializers.RegexField(r"^[a-z]{2}-[0-9]+\Z"),
    "email": serializers.EmailField(),
    "ipv4": serializers.IPAddressField(protocol="ipv4"),
    "uuid": serializers.UUIDField(),
    "integer": serializers.IntegerField(min_value=-3, max_value=3),
    "float": serializers.FloatField(max_value=1e9),
    "date": serializers.DateField(),
    "moment": serializers.DateTimeField(),
    "choice": serializers.ChoiceField([("a", "A"), ("G", [("b", "B")])], allow_blank=True, allow_null=True),
    "number_choice": serializers.ChoiceField([1, 2, 3]),
    "choices": serializers.MultipleChoiceField(choices=["a", "b"]),
    "list": serializers.ListField(child=serializers.BooleanField(), min_length=1, max_length=2),
}


@pytest.mark.parametrize("name", TAKEN)
@given(data=st.data())
@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
def test_what_the_input_schema_admits_the_serializer_takes(name: str, data: st.DataObject) -> None:
    serializer = type("OneSerializer", (serializers.Serializer,), {"one": TAKEN[name]})
    schema = Shapes(DiscoveryProblems()).of(serializer(), "input").whole
    strategy = values(schema["properties"]["one"])
    assert strategy is not None
    sent = data.draw(strategy)
    # What no schema can say: NUL, text that is only space, an address that only looks like one, the year 0.
    assume(not _is_beyond_schemas(sent))
    checked = serializer(data={"one": sent})
    if name in ("email", "moment"):
        assume(checked.is_valid())
    assert checked.is_valid(), checked.errors


@given(st.dictionaries(TEXT, st.none() | st.integers(), max_size=3))
def test_a_dict_is_taken_when_its_schema_admits_it(sent: dict[str, int | None]) -> None:
    field = serializers.DictField(child=serializers.IntegerField(min_value=0), allow_empty=False)
    serializer = type("OneSerializer", (serializers.Serializer,), {"one": field})
    schema = Shapes(DiscoveryProblems()).of(serializer(), "input").whole
    assert jsonschema_rs.is_valid(schema, {"one": sent}) == serializer(data={"one": sent}).is_valid()


@given(st.recursive(st.none() | st.booleans() | TEXT, lambda inner: st.lists(inner) | st.dictionaries(TEXT, inner)))
def test_json_is_taken_when_its_schema_admits_it(sent: object) -> None:
    serializer = type("OneSerializer", (serializers.Serializer,), {"one": serializers.JSONField()})
    schema = Shapes(DiscoveryProblems()).of(serializer(), "input").whole
    assert jsonschema_rs.is_valid(schema, {"one": sent}) == serializer(data={"one": sent}).is_valid()


def _is_beyond_schemas(value: object) -> bool:
    if isinstance(value, str):
        return "\0" in value or value != value.strip() or any("\ud800" <= char <= "\udfff" for char in value)
    return isinstance(value, list | dict) and any(map(_is_beyond_schemas, value))


@given(
    st.integers(min_value=1, max_value=9), st.integers(min_value=0, max_value=4), st.decimals(places=4, allow_nan=False)
)
def test_a_decimal_is_taken_as_text_when_its_pattern_is(whole: int, places: int, number: Decimal) -> None:
    field = serializers.DecimalField(max_digits=whole + places, decimal_places=places)
    serializer = type("OneSerializer", (serializers.Serializer,), {"one": field})
    schema = Shapes(DiscoveryProblems()).of(serializer(), "input").whole["properties"]["one"]
    for written in (f"{number:f}", f"{number.quantize(Decimal(1)):f}" if abs(number) < 10**20 else "0", "0.5", "-7"):
        is_admitted = jsonschema_rs.is_valid(schema, written)
        assert not is_admitted or serializer(data={"one": written}).is_valid(), written


# --- whole views -----------------------------------------------------------------------------------------------------

NAMES = st.text("abcdef0123-", min_size=2, max_size=8)


@st.composite
def rows(draw: st.DrawFn) -> None:
    """A few rows, with everything that may be empty sometimes empty."""
    contact = Contact.objects.create(email=draw(TEXT), first_name=draw(TEXT), last_name=draw(TEXT), status=draw(TEXT))
    if draw(st.booleans()):
        Profile.objects.create(contact=contact, motto=draw(st.none() | TEXT))
    region = Site.objects.create(name=draw(NAMES), slug="region")
    site = Site.objects.create(name=f"{region.name}!", slug="site", region=draw(st.sampled_from([None, region])))
    rack = Rack.objects.create(id=draw(st.uuids()), label=draw(TEXT))
    device = Device.objects.create(
        name=draw(TEXT),
        site=site,
        rack=draw(st.sampled_from([None, rack])),
        weight=draw(st.integers(min_value=-5, max_value=5)),
        price=draw(MONEY),
        bought=draw(st.none() | st.dates()),
        racked=draw(st.none() | st.datetimes(min_value=datetime.datetime(1900, 1, 1), timezones=st.just(datetime.UTC))),
        settings=draw(st.none() | st.dictionaries(TEXT, TEXT)) or {},
        picture=draw(st.sampled_from(["", "some picture.png"])),
    )
    device.tags.set([Tag.objects.create(name=name) for name in draw(st.sets(NAMES, max_size=2))])


def _ids() -> dict[str, Any]:
    """What the tools of the project are called with so that there is something at the end of each path."""
    device, site = Device.objects.get(), Site.objects.get(slug="site")
    keys = {"contacts": Contact.objects.get().pk, "racks": str(Rack.objects.get().pk), "devices": device.pk}
    return {**keys, "regions": site.pk, "site_pk": site.pk, "site_slug": "site"}


def _arguments(name: str) -> dict[str, Any]:
    known = _ids()
    own = next((known[part] for part in reversed(name.split("__")) if part in known), None)
    return {"id": own, "lookup_id": own, "site_pk": known["site_pk"], "site_slug": known["site_slug"]}


READERS = [name for name, tool in TOOLS.items() if tool.kind == "read"]


def test_there_are_readers_of_every_kind() -> None:
    assert {TOOLS[name].action for name in READERS} >= {"list", "retrieve", "recent", "get"}


@pytest.mark.parametrize("name", READERS)
@given(data=st.data())
@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_what_a_view_answers_meets_the_output_schema_of_its_tool(name: str, data: st.DataObject, tables: None) -> None:
    tool = TOOLS[name]
    with transaction.atomic():
        data.draw(rows())
        asked = {"limit": 1} if tool.is_list and data.draw(st.booleans()) else {}
        status, answer = call(tool, _arguments(name) | asked)
        transaction.set_rollback(True)
    assert status == 200
    judge(tool.output_schema, answer)


WRITERS: dict[str, dict[str, Any]] = {
    "contacts__create": {"email": "ada@example.com", "first_name": "Ada", "password": "secret"},
    "contacts__update": {"email": "ada@example.com", "first_name": "Ada"},
    "contacts__partial_update": {"notes": "Wrote the first program"},
    "contacts__destroy": {},
    "dcim__devices__create": {"name": "sw-1", "price": "12.50", "tags": [], "settings": {"vlan": 7}},
    "dcim__devices__partial_update": {"bought": "2026-03-01", "racked": "2026-03-01T10:00:00Z", "rack": None},
    "dcim__sites__devices__create": {"name": "sw-2", "weight": 2},
    "dcim__racks__update": {"label": "A1", "id": str(uuid.UUID(int=5))},
    "dcim__racks__destroy": {},
}


@pytest.mark.parametrize("name", WRITERS)
@given(data=st.data())
@settings(max_examples=5, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_what_a_view_answers_to_a_write_meets_the_output_schema(name: str, data: st.DataObject, tables: None) -> None:
    tool = TOOLS[name]
    arguments = dict(WRITERS[name])
    with transaction.atomic():
        data.draw(rows())
        arguments |= {each.name: _arguments(name)[each.name] for each in tool.path.parameters}
        if "site" in tool.input_schema.get("required", ()):
            arguments["site"] = _arguments(name)["site_pk"]
        judge(tool.input_schema, arguments)
        status, answer = call(tool, arguments)
        transaction.set_rollback(True)
    assert status in (200, 201, 204), answer
    judge(tool.output_schema, answer)


# --- every schema ----------------------------------------------------------------------------------------------------


@pytest.mark.requirement("000-19")
@pytest.mark.parametrize("name", TOOLS)
def test_every_schema_is_open_and_can_be_judged_in_place(name: str) -> None:
    tool = TOOLS[name]
    for schema in (tool.input_schema, tool.output_schema):
        text = json.dumps(schema).encode()
        assert b'"additionalProperties": false' not in text
        compiled = compile_schema(text)
        assert isinstance(compiled, CompiledSchema), compiled.reason
        assert compiled.validator is not None
