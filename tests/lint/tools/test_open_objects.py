"""Objects that do not say whether they take undeclared keys."""

import json

import pytest

from handfast.lint.tools.open_objects import find_open_objects

CLOSED = {"type": "object", "additionalProperties": False}
OPEN = {"type": "object"}


def told(schema: object) -> list[str]:
    read = json.loads(json.dumps(schema))  # as it comes from a list: no two places hold the same object
    return [path or "root" for _, path, _ in find_open_objects(read)]


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        (CLOSED, []),
        (OPEN, ["root"]),
        ({"properties": {}}, ["root"]),
        ({"type": "string", "properties": {}}, []),
        ({"type": ["null", "object"]}, ["root"]),
        (True, []),
        (CLOSED | {"patternProperties": {"^x": OPEN}}, ["patternProperties/^x"]),
        (CLOSED | {"properties": {"a": {"items": [OPEN, CLOSED]}}}, ["properties/a/items/0"]),
        (
            CLOSED | {"properties": {"a": {"prefixItems": [OPEN], "items": OPEN}}},
            ["properties/a/items", "properties/a/prefixItems/0"],
        ),
        (CLOSED | {"properties": {"a": {"oneOf": [OPEN, CLOSED]}}}, ["properties/a/oneOf/0"]),
        (OPEN | {"anyOf": [OPEN, {"required": ["a"]}]}, ["root"]),
        ({"allOf": [OPEN, {"properties": {"a": OPEN}}]}, ["root", "allOf/1/properties/a"]),
        ({"$ref": "#/$defs/A", "$defs": {"A": OPEN}}, ["root"]),
        (CLOSED | {"properties": {"a": {"$ref": "#"}}}, []),
        (OPEN | {"properties": {"a": {"$ref": "#"}}}, ["root"]),
        (CLOSED | {"properties": {"a": {"$ref": "#/gone"}}}, []),
        (CLOSED | {"$defs": {"unused": OPEN}}, []),
        (CLOSED | {"not": OPEN, "if": OPEN}, []),
    ],
)
def test_open_objects_are_told_where_they_are_written(schema: object, expected: list[str]) -> None:
    assert told(schema) == expected


def test_the_root_is_told_apart_from_what_is_inside() -> None:
    assert [rule_id for rule_id, _, _ in find_open_objects(OPEN | {"properties": {"a": OPEN}})] == [
        "tool-open-root",
        "tool-open-object",
    ]
