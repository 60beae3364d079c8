"""Schemas of one tool: what cannot be compiled, where references lead, and what a handler may return."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp.shared.inbound import find_invalid_x_mcp_header

from handfast.lint.tools.definitions import ResultType
from handfast.lint.tools.schemas import (
    find_header_faults,
    find_open_objects,
    find_output_faults,
    find_result_faults,
    find_stray_references,
    join_path,
    schema_positions,
)


def test_every_place_of_a_schema_is_told_and_nothing_that_only_looks_like_one() -> None:
    schema = {
        "properties": {"a": {"properties": {"b": {}}}, "c/d~": {"items": [{}, True]}},
        "$defs": {"x": {"anyOf": [{"not": {}}]}},
        "additionalProperties": {"contains": {}},
        "patternProperties": {"^p": {}},
        "examples": [{"properties": {"no": {}}}],
        "const": {"items": {}},
        "default": {"not": {}},
        "allOf": 7,
        "if": True,
    }
    assert [(position.path, position.names) for position in schema_positions(schema)] == [
        ("", ()),
        ("properties/a", ("a",)),
        ("properties/a/properties/b", ("a", "b")),
        ("properties/c~1d~0", ("c/d~",)),
        ("properties/c~1d~0/items/0", None),
        ("$defs/x", None),
        ("$defs/x/anyOf/0", None),
        ("$defs/x/anyOf/0/not", None),
        ("additionalProperties", None),
        ("additionalProperties/contains", None),
        ("patternProperties/^p", None),
    ]


def test_what_is_no_object_has_no_places() -> None:
    odd: list[object] = [True, None, [], "x"]
    assert [list(schema_positions(schema)) for schema in odd] == [[], [], [], []]


def test_a_path_never_shows_what_could_harm_a_terminal() -> None:
    assert join_path("a", "\x1b[31m", "x" * 100) == f"a/?[31m/{'x' * 64}…"


MARKS = st.sampled_from(("Size", "size", "Token", "My Size", "", "größe", "a\n", 7, None, ["x"]))
TYPES = st.sampled_from(("string", "integer", "boolean", "number", "object", ["string"], None))
NAMES = st.sampled_from(("a", "b", "size", "x-mcp-header"))
SCHEMAS: st.SearchStrategy[Any] = st.recursive(  # Any: JSON Schemas
    st.fixed_dictionaries({}, optional={"type": TYPES, "x-mcp-header": MARKS}),
    lambda inner: st.fixed_dictionaries(
        {},
        optional={
            "type": TYPES,
            "x-mcp-header": MARKS,
            "properties": st.dictionaries(NAMES, inner, max_size=3),
            "items": inner,
            "anyOf": st.lists(inner, max_size=2),
            "$defs": st.dictionaries(NAMES, inner, max_size=2),
            "not": inner,
            "examples": st.lists(inner, max_size=1),
        },
    ),
    max_leaves=8,
)


@given(SCHEMAS)
def test_a_fault_is_found_exactly_where_the_sdk_finds_one(schema: Any) -> None:  # Any: a JSON Schema
    ours = [rule_id for rule_id, _, _ in find_header_faults(schema) if rule_id == "tool-header"]
    assert bool(ours) == (find_invalid_x_mcp_header(schema) is not None)


def test_each_fault_is_told_with_its_place() -> None:
    marked = {"type": "string", "x-mcp-header": "X"}
    schema = {
        "properties": {
            "password": marked,
            "deep": {"properties": {"accessToken": marked | {"x-mcp-header": "Y"}, "size": marked}},
            "tokens/used": {"items": marked},
        },
        "x-mcp-header": "Root",
    }
    outside = "Only a parameter under nothing but properties may be repeated in a header."
    secret = "The name of this parameter looks like that of a secret."
    assert list(find_header_faults(schema)) == [
        ("tool-header", "x-mcp-header", outside),
        ("tool-header-secret", "properties/password", secret),
        ("tool-header-secret", "properties/deep/properties/accessToken", secret),
        (
            "tool-header",
            "properties/deep/properties/size/x-mcp-header",
            "Another parameter is repeated in the same header.",
        ),
        ("tool-header", "properties/tokens~1used/items/x-mcp-header", outside),
    ]


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


OUT = "This reference leads out of the schema."
NOWHERE = "This reference leads nowhere."
INVALID = "The pattern is not a valid regular expression."


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"$ref": "#"}, []),
        ({"$ref": "#/$defs/a", "$defs": {"a": {}}}, []),
        ({"$ref": "#/$defs/a%20b", "$defs": {"a b": {}}}, []),
        ({"$ref": "#named", "$defs": {"a": {"$anchor": "named"}}}, []),
        ({"$ref": "#/$defs/b", "$defs": {"a": {}}}, [("$ref", NOWHERE)]),
        ({"$ref": "other.json#/a"}, [("$ref", OUT)]),
        ({"$ref": "//[", "items": {"$ref": "http://example.com/x"}}, [("$ref", OUT), ("items/$ref", OUT)]),
        ({"$id": "https://example.com/me", "$ref": "https://example.com/me#/$defs/a", "$defs": {"a": {}}}, []),
        ({"$id": "https://example.com/me", "$ref": "you", "$defs": {"a": {"$id": "you"}}}, []),
        ({"$id": "https://example.com/me", "$ref": "them", "$defs": {"a": {"$id": "you"}}}, [("$ref", OUT)]),
        ({"$ref": "https://json-schema.org/draft/2020-12/schema"}, []),
        ({"properties": {"$ref": {"type": "string"}}, "const": {"$ref": "#/x"}}, []),
        ({"$ref": 7}, []),
    ],
)
def test_references_that_lead_astray_are_told_with_their_place(schema: object, expected: list[tuple[str, str]]) -> None:
    assert [(path, message) for _, path, message in find_stray_references(schema)] == expected


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"{", "The schema is not valid JSON."),
        (b"[]", "The schema is neither an object nor a boolean."),
        (
            b'{"type": "object", "type": "object"}',
            "The schema has the same key twice in one object, so readers may disagree about it.",
        ),
        (b'{"maximum": NaN}', "The schema contains NaN or Infinity, which JSON does not have."),
        (b'{"type": "thing"}', "The schema is not valid at #/type."),
    ],
)
def test_why_a_schema_cannot_be_compiled_is_told_in_the_compilers_words(text: bytes, reason: str) -> None:
    found = [fault for fault in find_output_faults(text) if fault[0] != "tool-output-root"]
    assert found == [("tool-schema-uncompilable", "", reason)]


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"pattern": "(x"}, {"pattern": INVALID}),
        ({"pattern": "\ud800"}, {"pattern": INVALID}),
        ({"pattern": r"\p{Foo}"}, {"pattern": "The pattern uses something that no engine here can match."}),
        ({"patternProperties": {"[z-a]": {}, "^x": {}}}, {"patternProperties/[z-a]": INVALID}),
        ({"propertyNames": {"pattern": "*"}}, {"propertyNames/pattern": INVALID}),
        ({"items": {"pattern": "["}, "not": {"pattern": "("}}, {"items/pattern": INVALID, "not/pattern": INVALID}),
        ({"properties": {"pattern": {"const": {"pattern": "("}}}}, {}),
    ],
)
def test_every_pattern_that_no_engine_can_match_is_found_where_it_stands(schema: object, expected: object) -> None:
    found = [fault for fault in find_output_faults(json.dumps(schema).encode()) if fault[0] != "tool-output-root"]
    assert {path: message for _, path, message in found} == expected
    assert {rule_id for rule_id, _, _ in found} <= {"tool-schema-uncompilable"}


def test_a_reference_that_leads_nowhere_does_not_hide_an_invalid_pattern() -> None:
    found = find_output_faults(b'{"type": "object", "$ref": "#/$defs/a", "pattern": "("}')
    assert list(found) == [
        ("tool-schema-reference", "$ref", NOWHERE),
        ("tool-schema-uncompilable", "pattern", INVALID),
    ]


@pytest.mark.parametrize(
    ("promised", "returned", "is_fault"),
    [
        ({"type": "object", "required": ["id"]}, {"type": "integer"}, True),
        (
            {"type": "object", "required": ["id"], "properties": {"id": {"type": "string"}}},
            {"type": "object", "required": ["id"], "properties": {"id": {"type": "integer"}}},
            True,
        ),
        ({"type": "object", "additionalProperties": False}, {"type": "object", "required": ["id"]}, True),
        ({"type": "object", "required": ["id"]}, {"type": "object"}, False),
        ({"type": "object"}, {"anyOf": [{"type": "object"}, {"type": "null"}]}, False),
        ({"type": "object"}, True, False),
        (False, {"type": "object"}, False),  # another finding says so
        ({"type": "thing"}, {"type": "object"}, False),  # as above
    ],
)
def test_an_output_schema_must_be_able_to_hold_what_the_handler_returns(
    promised: object, returned: object, is_fault: bool
) -> None:
    found = list(find_result_faults(ResultType(json.dumps(promised).encode(), json.dumps(returned).encode())))
    expected = [("tool-result-type", "", "Nothing that the handler may return can meet this schema.")]
    assert found == (expected if is_fault else [])
