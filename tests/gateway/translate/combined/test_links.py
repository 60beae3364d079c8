"""Which URIs an answer links, and that nothing odd in it matters."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from handfast.gateway.translate.combined.links import linked_uris, tool_uri
from handfast.wire.members import level_of

pytestmark = pytest.mark.requirement("E5")


def _found(result: Any) -> list[str]:  # Any: JSON
    return linked_uris(level_of(msgspec.json.encode(result)))


LINK = {"type": "resource_link", "uri": "x:1", "name": "one"}
EMBEDDED = {"type": "resource", "resource": {"uri": "x:2", "text": ""}}


def test_links_and_embedded_resources_of_a_tool_are_found() -> None:
    assert _found({"content": [LINK, {"type": "text", "text": "x:9", "uri": "x:8"}, EMBEDDED]}) == ["x:1", "x:2"]


def test_links_of_a_prompt_a_reading_and_a_task_are_found() -> None:
    assert _found({"messages": [{"role": "user", "content": EMBEDDED}]}) == ["x:2"]
    assert _found({"contents": [{"uri": "x:3", "text": ""}]}) == ["x:3"]
    assert _found({"taskId": "t", "status": "completed", "result": {"content": [LINK]}}) == ["x:1"]


def test_the_page_that_a_tool_links_in_its_description_is_found() -> None:
    tool = {"name": "t", "_meta": {"ui": {"resourceUri": "ui://t/page"}}}
    assert tool_uri(level_of(msgspec.json.encode(tool))) == "ui://t/page"
    assert tool_uri(level_of(b'{"name":"t","_meta":{"ui":[]}}')) is None


def test_a_result_full_of_links_is_read_only_so_far() -> None:
    assert len(_found({"content": [LINK] * 5000})) == 1000


_JSON = st.recursive(
    st.none() | st.integers() | st.sampled_from(["resource_link", "resource", "x:1"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["content", "messages", "contents", "type", "uri", "resource", "result"]), inner
        )
    ),
    max_leaves=12,
)


@given(_JSON)
def test_what_is_odd_links_nothing_and_breaks_nothing(result: Any) -> None:  # Any: JSON
    assert all(isinstance(uri, str) for uri in _found(result))
