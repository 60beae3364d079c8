"""What the rules see of results: the same in the wire's form and as objects."""

import json

from hypothesis import given
from hypothesis import strategies as st
from mcp.types import CallToolResult, ContentBlock, EmbeddedResource, ImageContent, TextContent, TextResourceContents

from handfast.core.call.result import ResultView
from handfast.core.call.strict_json import Ambiguous, decode_judged
from handfast.toolkit.adapters.result_views import read_result, size_of, text_of

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)
BLOCKS: list[ContentBlock] = [
    TextContent(type="text", text="four"),
    ImageContent(type="image", data="aGk=", mime_type="image/png"),
    EmbeddedResource(type="resource", resource=TextResourceContents(uri="a://b", text="12")),
]


@given(JSON)
def test_every_json_value_is_judged_as_it_is(value: object) -> None:
    assert decode_judged(text_of(value)) == json.loads(json.dumps(value)) == value


def test_what_json_cannot_hold_is_let_through_by_nothing() -> None:
    loop: list[object] = []
    loop.append(loop)
    for value in (object(), "\ud800", float("nan"), [float("inf")], loop, {1: 1, "1": 2}):
        try:
            decode_judged(text_of(value))
        except Ambiguous:
            continue
        raise AssertionError(repr(type(value)))


def test_a_result_reads_the_same_as_an_object_and_as_the_wire_has_it() -> None:
    result = CallToolResult(content=BLOCKS, structured_content={"a": None})
    seen = read_result(result)
    assert seen == read_result(result.model_dump(by_alias=True, mode="json", exclude_none=True))
    assert seen == ResultView(b'{"a":null}', is_error=False, is_final=True, size=10 + 4 + 4 + 2)
    assert size_of(None, BLOCKS) == 10


def test_presence_is_by_key_and_other_kinds_of_results_are_not_final() -> None:
    assert read_result({"structuredContent": None, "content": []}) == ResultView(b"null", size=4)
    assert read_result({"content": None}) == read_result(None) == ResultView(None)
    assert read_result({"resultType": "input_required"}) == ResultView(None, is_final=False)
    assert read_result({"resultType": "task"}) == ResultView(None, is_final=False)
    assert read_result({"resultType": "own", "isError": 1}) == ResultView(None)
