"""Serializers as schemas: nested, recursive, described once, and open where nobody can know."""

from collections import Counter
from typing import Any, TypedDict

import jsonschema_rs
import pytest
from rest_framework import serializers

from handfast.django.discovery.drf_types import Json
from handfast.django.discovery.problems import DiscoveryProblem, DiscoveryProblems, ProblemId
from handfast.django.discovery.schemas.serializers import Shape, Shapes
from tests.django.project.serializers import RegionSerializer

COUNT: Json = {"type": ["integer", "null"]}


class Inner(serializers.Serializer[Any]):
    count = serializers.IntegerField()


class Outer(serializers.Serializer[Any]):
    count = serializers.IntegerField()
    one = Inner()
    some = Inner(many=True, min_length=1, help_text="All of them")  # type: ignore[call-arg]  # the stubs miss it
    maybe = Inner(allow_null=True, required=False)
    hidden = Inner(write_only=True)


def test_nested_serializers_stand_in_place() -> None:
    shapes = Shapes(DiscoveryProblems())
    inner = {"type": "object", "properties": {"count": {"type": "integer"}}, "required": ["count"]}
    assert shapes.of(Outer(), "input") == Shape(
        {
            "type": "object",
            "properties": {
                "count": {"type": "integer"},
                "one": inner,
                "some": {"type": "array", "items": inner, "minItems": 1, "description": "All of them."},
                "maybe": {**inner, "type": ["object", "null"]},
                "hidden": inner,
            },
            "required": ["count", "one", "some", "hidden"],
        }
    )
    sent = {"type": "object", "properties": {"count": COUNT}, "required": ["count"]}
    assert shapes.of(Outer(), "output").schema["properties"] == {
        "count": COUNT,
        "one": {**sent, "type": ["object", "null"]},
        "some": {"type": ["array", "null"], "items": sent, "description": "All of them."},
        "maybe": {**sent, "type": ["object", "null"]},
    }


def test_the_fields_of_each_class_are_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made: Counter[str] = Counter()
    make = serializers.Serializer.get_fields

    def counted(self: serializers.Serializer[Any]) -> Any:
        made[type(self).__name__] += 1
        return make(self)

    monkeypatch.setattr(serializers.Serializer, "get_fields", counted)
    shapes = Shapes(DiscoveryProblems())
    for _ in range(50):
        shapes.of(Outer(), "output")
        shapes.of(Outer(many=True), "output")
        shapes.of(Inner(), "output")
        shapes.of(Outer(), "input")
    assert made == {"Outer": 1, "Inner": 1}


# --- serializers inside themselves -----------------------------------------------------------------------------------


def test_a_serializer_inside_itself_is_a_definition() -> None:
    shape = Shapes(DiscoveryProblems()).of(RegionSerializer(), "output")
    region = {
        "type": "object",
        "properties": {
            "id": {"type": "integer"},
            "name": {"type": "string"},
            "parts": {"type": "array", "items": {"$ref": "#/$defs/Region"}},
        },
        "required": ["id", "name", "parts"],
    }
    assert shape == Shape({"$ref": "#/$defs/Region"}, {"Region": region})
    assert (shape.body, shape.whole["$defs"]) == (region, {"Region": region})
    leaf = {"id": 2, "name": "b", "parts": []}
    assert jsonschema_rs.is_valid(shape.whole, {"id": 1, "name": "a", "parts": [leaf]})
    assert not jsonschema_rs.is_valid(shape.whole, {"id": 1, "name": "a", "parts": [{**leaf, "id": "2"}]})


class Husband(serializers.Serializer[Any]):
    def get_fields(self) -> Any:
        return {"wife": Wife(required=False)}


class Wife(serializers.Serializer[Any]):
    def get_fields(self) -> Any:
        return {"husband": Husband(required=False)}


def test_two_inside_each_other_are_whole_from_either_side() -> None:
    shapes = Shapes(DiscoveryProblems())
    for serializer, key in ((Husband(), "wife"), (Wife(), "husband")):
        shape = shapes.of(serializer, "input")
        assert not shape.pending
        other = "husband" if key == "wife" else "wife"
        assert jsonschema_rs.is_valid(shape.whole, {key: {other: {key: {}}}})
        assert not jsonschema_rs.is_valid(shape.whole, {key: {other: {key: 3}}})


def nested_in_itself(name: str) -> Any:
    def get_fields(self: Any) -> Any:
        return {name: type(self)(required=False)}

    return type(f"{name}Serializer", (serializers.Serializer,), {"get_fields": get_fields})


def test_definitions_of_classes_with_like_names_are_kept_apart() -> None:
    shapes = Shapes(DiscoveryProblems())
    classes = [nested_in_itself(name) for name in ("Part", "Part", "Part2", "Part")]
    found = [shapes.of(cls(), "input").definitions.keys() for cls in classes]
    assert [set(names) for names in found] == [{"Part"}, {"Part2"}, {"Part22"}, {"Part3"}]


class Chosen(serializers.Serializer[Any]):
    """The usual way to choose fields by the way a serializer is made."""

    a = serializers.IntegerField()
    b = serializers.IntegerField()

    def __init__(self, *args: Any, only: tuple[str, ...] | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.only = only

    def get_fields(self) -> Any:
        fields = super().get_fields()
        if self.only is not None:
            return {name: fields[name] for name in self.only}
        return {**fields, "short": Chosen(only=("a",))}


def test_one_made_with_other_options_is_described_by_itself() -> None:
    number = {"type": "integer"}
    short = {"type": "object", "properties": {"a": number}, "required": ["a"]}
    shapes = Shapes(DiscoveryProblems())
    assert shapes.of(Chosen(), "input").schema["properties"] == {"a": number, "b": number, "short": short}
    assert shapes.of(Chosen(only=("b",)), "input").schema["properties"] == {"b": number}
    assert shapes.of(Chosen(), "input").schema["properties"] == {"a": number, "b": number, "short": short}


class ByAction(serializers.Serializer[Any]):
    def get_fields(self) -> Any:
        return {self.context["name"]: serializers.IntegerField()}


def test_fields_that_depend_on_who_asks_are_asked_for_every_time() -> None:
    shapes = Shapes(DiscoveryProblems())
    found = [list(shapes.of(ByAction(context={"name": name}), "input").schema["properties"]) for name in "ab"]
    assert found == [["a"], ["b"]]


def test_two_classes_of_one_name_have_two_definitions() -> None:
    def make(key: str) -> Any:
        class NodeSerializer(serializers.Serializer[Any]):
            def get_fields(self) -> Any:
                return {key: NodeSerializer(required=False)}

        return NodeSerializer

    first, second = make("a"), make("b")

    class Both(serializers.Serializer[Any]):
        one = first()
        two = second()

    shape = Shapes(DiscoveryProblems()).of(Both(), "input")
    assert {name: list(each["properties"]) for name, each in shape.definitions.items()} == {
        "Node": ["a"],
        "Node2": ["b"],
    }


# --- what nobody can know --------------------------------------------------------------------------------------------


class Line(TypedDict):
    text: str


class Rewritten(serializers.Serializer[Any]):
    count = serializers.IntegerField()

    def to_representation(self, instance):  # type: ignore[no-untyped-def]  # as many are written
        return {**super().to_representation(instance), "more": 1}


class Typed(Rewritten):
    def to_representation(self, instance: Any) -> Line:  # type: ignore[override]  # another type is the point
        return {"text": ""}


class Free(serializers.BaseSerializer[Any]):
    def to_representation(self, instance):  # type: ignore[no-untyped-def]  # as many are written
        return instance


def test_an_output_that_is_made_by_hand_is_what_it_says_or_anything() -> None:
    findings = DiscoveryProblems()
    shapes = Shapes(findings)
    line = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
    assert [shapes.of(made, "output").schema for made in (Rewritten(), Typed(), Free())] == [{}, line, {}]
    assert shapes.of(Rewritten(), "input").schema["properties"] == {"count": {"type": "integer"}}
    assert shapes.of(Free(), "input") == Shape({})
    assert [(problem.id, problem.where) for problem in findings] == [
        (ProblemId.OUTPUT_REWRITTEN, f"{__name__}.Rewritten"),
        (ProblemId.OUTPUT_REWRITTEN, f"{__name__}.Free"),
    ]
    assert next(iter(findings)) == DiscoveryProblem(
        ProblemId.OUTPUT_REWRITTEN,
        "Makes its output itself, so nothing is said about what comes out.",
        "Annotate to_representation(), with a TypedDict say, or name the result with @mcp_tool(output=…).",
        f"{__name__}.Rewritten",
    )
