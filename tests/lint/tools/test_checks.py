"""Checks over tool definitions: each finding from a definition that is fine but for one thing."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handfast.lint.findings import RULES, Finding, in_order
from handfast.lint.tools.checks import check_tools
from handfast.lint.tools.definitions import read_definitions

Json = dict[str, Any]  # Any: JSON


def fine(**changes: object) -> Json:
    """A tool with which nothing is wrong, but for the changes; None takes a member out."""
    tool: Json = {
        "name": "create_contact",
        "description": "Store a contact.",
        "inputSchema": inputs({"email": {"type": "string", "description": "Where mail goes."}}),
        "outputSchema": {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]},
        "annotations": {"readOnlyHint": False, "destructiveHint": False},
    }
    return {key: value for key, value in (tool | changes).items() if value is not None}


def inputs(properties: Json, **more: object) -> Json:
    return {"type": "object", "properties": properties, "additionalProperties": False, **more}


def judge(*tools: object) -> list[Finding]:
    return in_order(check_tools(read_definitions(json.dumps(list(tools)).encode(), file="tools.json")))


def told(*tools: object) -> list[tuple[str, str]]:
    return [(finding.id, finding.path) for finding in judge(*tools)]


def described(schema: Json) -> Json:
    return {"description": "It.", **schema}


def nested(schema: Json, **more: object) -> Json:
    """A tool with one parameter `a` of this schema."""
    return fine(inputSchema=inputs({"a": described(schema)}, **more))


def test_nothing_is_found_in_a_definition_that_is_fine() -> None:
    assert judge(fine()) == []


def test_a_finding_says_what_is_wrong_what_to_do_and_where() -> None:
    assert judge(fine(description="  ")) == [
        Finding(
            id="tool-description-missing",
            level=RULES["tool-description-missing"].level,
            message="The tool has no description.",
            hint="Say in a sentence what it does.",
            file="tools.json",
            tool="create_contact",
        )
    ]


ONE_FAULT = {
    "name with a space": (fine(name="create contact"), ("tool-name", "name")),
    "name too long": (fine(name="n" * 129), ("tool-name", "name")),
    "name beyond ASCII": (fine(name="größe"), ("tool-name", "name")),
    "no description": (fine(description=None), ("tool-description-missing", "")),
    "description of another kind": (fine(description=["x"]), ("tool-description-missing", "")),
    "no input schema": (fine(inputSchema=None), ("tool-input-root", "inputSchema")),
    "input root of another kind": (fine(inputSchema={"type": "array"}), ("tool-input-root", "inputSchema")),
    "input root without a type": (
        fine(inputSchema={"additionalProperties": False}),
        ("tool-input-root", "inputSchema"),
    ),
    "input schema that is true": (fine(inputSchema=True), ("tool-input-root", "inputSchema")),
    "open root": (fine(inputSchema={"type": "object"}), ("tool-open-root", "inputSchema")),
    "open nested object": (nested({"type": "object"}), ("tool-open-object", "inputSchema/properties/a")),
    "open object in a list": (
        nested({"type": "array", "items": {"type": "object", "properties": {}}}),
        ("tool-open-object", "inputSchema/properties/a/items"),
    ),
    "open object or nothing": (
        nested({"anyOf": [{"type": "null"}, {"type": ["object", "null"]}]}),
        ("tool-open-object", "inputSchema/properties/a/anyOf/1"),
    ),
    "open object by reference, told where it is written": (
        fine(
            inputSchema=inputs(
                {"a": described({"$ref": "#/$defs/A"}), "b": described({"allOf": [{"$ref": "#/$defs/A"}]})},
                **{"$defs": {"A": {"type": "object", "properties": {}}}},
            )
        ),
        ("tool-open-object", "inputSchema/$defs/A"),
    ),
    "open object without a type": (
        nested({"properties": {"x": {"type": "string"}}}),
        ("tool-open-object", "inputSchema/properties/a"),
    ),
    "open values of a map": (
        nested({"type": "object", "additionalProperties": {"type": "object"}}),
        ("tool-open-object", "inputSchema/properties/a/additionalProperties"),
    ),
    "parameters without descriptions": (
        fine(inputSchema=inputs({"a": {"type": "string"}, "b": {"type": "string", "description": " "}})),
        ("tool-parameter-description", "inputSchema/properties"),
    ),
    "wrong schema": (
        fine(outputSchema={"type": "object", "properties": 7}),
        ("tool-schema-uncompilable", "outputSchema"),
    ),
    "unknown draft": (
        fine(outputSchema={"type": "object", "$schema": "urn:mine"}),
        ("tool-schema-uncompilable", "outputSchema"),
    ),
    "deeper than the bound": (
        fine(outputSchema=json.loads('{"type":"object","not":' * 70 + "false" + "}" * 70)),
        ("tool-schema-uncompilable", "outputSchema"),
    ),
    "larger than the bound": (
        fine(outputSchema={"type": "object", "required": ["x" * 300_000]}),
        ("tool-schema-uncompilable", "outputSchema"),
    ),
    "with look-ahead in a pattern": (
        fine(outputSchema={"type": "object", "properties": {"a": {"type": "string", "pattern": "^(?!-)[a-z-]+$"}}}),
        ("tool-schema-heavy", "outputSchema"),
    ),
    "heavier than may run in place": (
        fine(outputSchema={"type": "object", "properties": {"a": {"enum": [[n] for n in range(200)]}}}),
        ("tool-schema-heavy", "outputSchema"),
    ),
    "reference to nowhere": (
        nested({"$ref": "#/$defs/Gone"}),
        ("tool-schema-reference", "inputSchema/properties/a/$ref"),
    ),
    "reference out of the schema": (
        nested({"$ref": "https://example.com/address.json"}),
        ("tool-schema-reference", "inputSchema/properties/a/$ref"),
    ),
    "output root of another kind": (
        fine(outputSchema={"type": "array", "items": {"type": "string"}}),
        ("tool-output-root", "outputSchema"),
    ),
    "output that can never be met": (
        fine(outputSchema={"type": "object", "required": ["id"], "additionalProperties": False}),
        ("tool-schema-impossible", "outputSchema"),
    ),
    "input that can never be met": (
        fine(inputSchema=inputs({}, required=["a"])),
        ("tool-schema-impossible", "inputSchema"),
    ),
    "secret in a header": (
        nested({"type": "string", "x-mcp-header": "Key"})
        | {"inputSchema": inputs({"api_key": described({"type": "string", "x-mcp-header": "Key"})})},
        ("tool-header-secret", "inputSchema/properties/api_key"),
    ),
    "number in a header": (
        nested({"type": "number", "x-mcp-header": "Size"}),
        ("tool-header", "inputSchema/properties/a/x-mcp-header"),
    ),
    "header that is no name": (
        nested({"type": "string", "x-mcp-header": "My Size"}),
        ("tool-header", "inputSchema/properties/a/x-mcp-header"),
    ),
    "header under an option": (
        nested({"anyOf": [{"type": "string", "x-mcp-header": "Size"}]}),
        ("tool-header", "inputSchema/properties/a/anyOf/0/x-mcp-header"),
    ),
    "header of two parameters": (
        fine(
            inputSchema=inputs(
                {n: described({"type": "string", "x-mcp-header": h}) for n, h in (("a", "Size"), ("b", "size"))}
            )
        ),
        ("tool-header", "inputSchema/properties/b/x-mcp-header"),
    ),
    "read-only and destructive": (
        fine(annotations={"readOnlyHint": True, "destructiveHint": True}),
        ("tool-read-only-contradiction", "annotations"),
    ),
    "read-only by its word, not by its name": (
        fine(name="delete_contact", annotations={"readOnlyHint": True}),
        ("tool-read-only-name", "annotations"),
    ),
    "read-only, in the last part of its name": (
        fine(name="contacts__removeAll", annotations={"readOnlyHint": True}),
        ("tool-read-only-name", "annotations"),
    ),
    "no annotations": (fine(annotations=None), ("tool-annotations-missing", "")),
    "annotations that say nothing": (fine(annotations={"title": "x"}), ("tool-annotations-missing", "annotations")),
    "annotations of another kind": (fine(annotations="yes"), ("tool-annotations-invalid", "annotations")),
    "a hint of another kind": (
        fine(annotations={"readOnlyHint": True, "openWorldHint": "no"}),
        ("tool-annotations-invalid", "annotations"),
    ),
}


@pytest.mark.parametrize("case", ONE_FAULT.values(), ids=ONE_FAULT)
def test_one_thing_is_found_in(case: tuple[Json, tuple[str, str]]) -> None:
    tool, expected = case
    assert told(tool) == [expected]


NO_FAULT = {
    "a name of every kind of sign": fine(name="A-z_0.9"),
    "an object that is open on purpose": nested({"type": "object", "additionalProperties": True}),
    "a map": nested({"type": "object", "additionalProperties": {"type": "integer"}}),
    "an object closed around its parts": nested(
        {"type": "object", "unevaluatedProperties": False, "allOf": [{"properties": {"x": {"type": "string"}}}]}
    ),
    "an object closed in one of its parts": nested(
        {"allOf": [{"type": "object"}, {"properties": {}, "additionalProperties": False}]}
    ),
    "options within a closed object": nested(
        {"type": "object", "additionalProperties": False, "properties": {"x": {}}, "anyOf": [{"type": "object"}]}
    ),
    "an open object in a result": fine(outputSchema={"type": "object", "properties": {"a": {"type": "object"}}}),
    "an example that looks like a schema": nested({"type": "string", "examples": [{"type": "object", "$ref": "#/x"}]}),
    "a parameter named like a keyword": nested(
        {"type": "object", "additionalProperties": False, "properties": {"$ref": {"type": "string"}}}
    ),
    "a schema that refers to itself": nested({"$ref": "#"}),
    "a description by reference": fine(
        inputSchema=inputs({"a": {"$ref": "#/$defs/A"}}, **{"$defs": {"A": described({"type": "string"})}})
    ),
    "a header as it should be": nested({"type": "string", "x-mcp-header": "Size"}),
    "a destructive tool": fine(name="delete_contact", annotations={"destructiveHint": True}),
    "a name with a removing word inside": fine(name="list_deleted", annotations={"readOnlyHint": True}),
    "no output schema": fine(outputSchema=None),
}


@pytest.mark.parametrize("tool", NO_FAULT.values(), ids=NO_FAULT)
def test_nothing_is_found_in(tool: Json) -> None:
    assert told(tool) == []


def test_names_are_compared_with_and_without_case() -> None:
    names = ("get_x", "Get_X", "get_y", "get_y", "get_y")
    found = judge(*(fine(name=name) for name in names))
    assert [(f.id, f.tool) for f in found] == [("tool-name-case", "Get_X"), ("tool-name-duplicate", "get_y")]


def test_several_faults_of_one_tool_are_all_told() -> None:
    tool = {"name": "x y", "inputSchema": {"properties": {"a": {"type": "object"}}}, "annotations": {}}
    assert told(tool) == [
        ("tool-description-missing", ""),
        ("tool-annotations-missing", "annotations"),
        ("tool-input-root", "inputSchema"),
        ("tool-open-root", "inputSchema"),
        ("tool-parameter-description", "inputSchema/properties"),
        ("tool-open-object", "inputSchema/properties/a"),
        ("tool-name", "name"),
    ]


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)
KEYWORDS = st.sampled_from(
    (
        "type",
        "properties",
        "items",
        "allOf",
        "anyOf",
        "$ref",
        "$id",
        "$defs",
        "required",
        "enum",
        "const",
        "not",
        "additionalProperties",
        "patternProperties",
        "description",
        "x-mcp-header",
        "minimum",
        "maximum",
        "$schema",
    )
)
WORDS = st.sampled_from(
    ("object", "string", "#", "#/$defs/a", "#/properties/a", "a", "http://[", "//x", "\ud800", "[", "")
)
SCHEMAS: st.SearchStrategy[object] = st.recursive(
    st.booleans() | WORDS | JSON_VALUES,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(KEYWORDS, inner, max_size=4)
        | st.dictionaries(st.sampled_from(("a", "b", "token")), inner, max_size=2)
    ),
    max_leaves=20,
)
TOOLS = st.fixed_dictionaries(
    {"name": st.text(min_size=1, max_size=5)},
    optional={
        "description": JSON_VALUES,
        "inputSchema": SCHEMAS,
        "outputSchema": SCHEMAS,
        "annotations": JSON_VALUES | st.dictionaries(st.sampled_from(("readOnlyHint", "destructiveHint")), JSON_VALUES),
    },
)


@given(st.lists(TOOLS | JSON_VALUES, max_size=3) | JSON_VALUES)
def test_any_json_is_judged_without_a_crash_and_to_the_same_findings(tools: object) -> None:
    text = json.dumps(tools).encode()
    first = in_order(check_tools(read_definitions(text, file="tools.json")))
    assert first == in_order(check_tools(read_definitions(text, file="tools.json")))
    assert {finding.id for finding in first} <= set(RULES)
    assert all(finding.message.isprintable() and finding.place.isprintable() for finding in first)


@given(st.binary(max_size=40) | st.sampled_from((b"[" * 100_000, b'{"tools":' * 1_000, b"\xef\xbb\xbf[]", b"[NaN]")))
def test_any_bytes_are_read_without_a_crash(text: bytes) -> None:
    check_tools(read_definitions(text, file="tools.json"))
