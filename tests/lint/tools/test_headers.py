"""`x-mcp-header` as the official SDK judges it, by which clients drop tools."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from mcp.shared.inbound import find_invalid_x_mcp_header

from handfast.lint.tools.headers import find_header_faults

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
