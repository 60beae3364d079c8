"""Where rows may be named, and where files may be sent."""

from typing import Any

import pytest

from handfast.django.invocation.places import ArgumentPlaces, Kind, Path, shown_path
from tests.django.invocation.calling import tools


def found(name: str, arguments: dict[str, Any]) -> list[tuple[Kind, str]]:
    places, seen = ArgumentPlaces(tools()[name].input_schema), list[tuple[Kind, str]]()

    def note(kind: Kind, value: Any, path: Path) -> Any:
        seen.append((kind, shown_path(path)))
        return value

    for key in arguments.keys() & places.arguments.keys():
        assert places.rewritten(key, arguments[key], note) == arguments[key]
    return sorted(seen, key=str)


def test_only_arguments_that_may_hold_one_are_looked_at() -> None:
    assert set(ArgumentPlaces(tools()["crates__create"].input_schema).arguments) == {"depot", "shelf", "tags", "photo"}
    assert set(ArgumentPlaces(tools()["orders__create"].input_schema).arguments) == {"lines"}
    assert set(ArgumentPlaces(tools()["depots__create"].input_schema).arguments) == set()


@pytest.mark.parametrize(
    ("name", "arguments", "places"),
    [
        ("crates__create", {"depot": 5, "tags": [1, 2], "shelf": None, "photo": None}, []),
        ("crates__create", {"depot": "North", "tags": [1, {"name": "a"}]}, ["relation depot", "relation tags[1]"]),
        ("crates__create", {"photo": {"filename": "a", "content": ""}, "depot": ""}, ["file photo"]),
        ("orders__create", {"lines": [{"crate": 1}, {"crate": {"code": "c"}}]}, ["relation lines[1].crate"]),
        (
            "deep__create",
            {"crates": ["c"], "by_place": {"top left": {"id": 1}}},
            ["relation by_place.top left", "relation crates[0]"],
        ),
    ],
)
def test_what_needs_more_than_writing_down_is_found_wherever_it_stands(
    name: str, arguments: dict[str, Any], places: list[str]
) -> None:
    assert [f"{kind} {path}" for kind, path in found(name, arguments)] == places


ROW: dict[str, Any] = {"oneOf": [{"type": "integer"}, {"type": "object", "minProperties": 1}, {"type": "null"}]}


def test_schemas_inside_themselves_are_followed_as_deep_as_the_value_goes() -> None:
    node = {"type": "object", "properties": {"row": ROW, "next": {"anyOf": [{"$ref": "#/$defs/N"}, {"type": "null"}]}}}
    places = ArgumentPlaces(
        {"properties": {"first": {"$ref": "#/$defs/N"}, "plain": {"$ref": "#/$defs/M"}}, "$defs": {"N": node}}
    )
    assert set(places.arguments) == {"first"}
    value = {"row": 1, "next": {"row": {"a": 1}, "next": {"row": {"b": 2}, "next": None}}}
    changed = places.rewritten("first", value, lambda kind, value, path: shown_path(path))
    assert changed == {
        "row": 1,
        "next": {"row": "first.next.row", "next": {"row": "first.next.next.row", "next": None}},
    }


def test_an_object_of_the_authors_own_with_a_text_in_base64_is_no_file() -> None:
    text = {"type": "string", "contentEncoding": "base64"}
    own = {"type": "object", "properties": {"content": text, "title": {"type": "string"}}}
    assert ArgumentPlaces({"properties": {"note": own}}).arguments == {}


def test_text_that_can_only_be_the_id_is_none_of_our_business() -> None:
    by_uuid = {"oneOf": [{"type": "string", "format": "uuid"}, {"type": "object", "minProperties": 1}]}
    places = ArgumentPlaces({"properties": {"row": by_uuid}})
    assert places.rewritten("row", "anything", lambda *_: "changed") == "anything"
    assert places.rewritten("row", {"a": 1}, lambda *_: "changed") == "changed"


@pytest.mark.parametrize(
    ("path", "text"), [((), ""), (("a",), "a"), (("items", 2, "sku"), "items[2].sku"), ((1, "a"), "[1].a")]
)
def test_a_place_is_written_as_an_agent_would(path: Path, text: str) -> None:
    assert shown_path(path) == text
