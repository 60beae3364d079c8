"""The dispatcher as a client sees it: a name, a bounded description, a closed schema, honest annotations."""

import json
import re

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from handfast.core.call.contract import ToolContract
from handfast.gateway.translate.compact.offer import dispatcher_name, render_description, render_tool

READS, WRITES = b'{"readOnlyHint": true}', b'{"readOnlyHint": false, "destructiveHint": false}'


def tools(*names: str, words: str = "", annotations: bytes | None = None) -> dict[str, ToolContract]:
    return {name: ToolContract(name, b"{}", None, annotations, words) for name in names}


@given(st.text(max_size=200))
def test_a_name_is_valid_everywhere_and_does_not_change_where_it_is(server: str) -> None:
    name = dispatcher_name(server)
    assert re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name)
    assert dispatcher_name(name) == name


@given(
    st.dictionaries(st.text(min_size=1, max_size=128), st.text(max_size=300), max_size=400),
    st.integers(1, 30),
)
def test_a_description_is_bounded_whatever_the_server_says(said: dict[str, str], times: int) -> None:
    known = {name: ToolContract(name, None, None, None, words * times) for name, words in said.items()}
    assert len(render_description("s", known)) < 4500


def test_many_actions_have_fewer_words_then_none_then_not_even_names() -> None:
    few = render_description("s", tools("create", "delete", words="Does it. And more."))
    assert few.endswith("Actions:\n- create: Does it\n- delete: Does it")
    more = render_description("s", tools(*(f"action_{n}" for n in range(60)), words="Makes something of it " * 9))
    assert more.count("\n- action_") == 60
    assert max(map(len, more.splitlines()[2:])) < 80
    names = render_description("s", tools(*(f"action_{n}" for n in range(200)), words="Makes something"))
    assert names.endswith("action_198, action_199.")
    cut = render_description("s", tools(*(f"action_{n}" for n in range(2000))))
    assert re.search(r"action_\d+, and \d+ more, which help lists\.$", cut)


@pytest.mark.requirement("000-12")
def test_the_schema_takes_an_action_with_arguments_and_nothing_beside() -> None:
    schema = jsonschema_rs.validator_for(json.dumps(render_tool("s", tools("a"))["inputSchema"]))
    for right in ({"action": "a"}, {"action": "a", "arguments": {"any": {}}}, {"action": "a", "help": True}):
        assert schema.is_valid(right)
    for wrong in ({}, {"action": "a", "data": {}}, {"action": "a", "arguments": []}, {"action": "a", "resource": "r"}):
        assert not schema.is_valid(wrong)


def test_a_resource_is_offered_where_names_have_that_form() -> None:
    schema = jsonschema_rs.validator_for(json.dumps(render_tool("s", tools("contacts__create"))["inputSchema"]))
    assert schema.is_valid({"action": "create", "resource": "contacts"})


@pytest.mark.parametrize(
    ("inner", "annotations"),
    [
        ([READS, READS], {"readOnlyHint": True, "destructiveHint": False}),
        ([READS, WRITES], {"readOnlyHint": False, "destructiveHint": True}),
        ([READS, None], {"readOnlyHint": False, "destructiveHint": True}),
        ([READS, b"[]"], {"readOnlyHint": False, "destructiveHint": True}),
        (
            [b'{"openWorldHint": false}', b'{"openWorldHint": false}'],
            {"readOnlyHint": False, "destructiveHint": True, "openWorldHint": False},
        ),
        ([b'{"openWorldHint": false}', READS], {"readOnlyHint": False, "destructiveHint": True}),
    ],
)
def test_the_dispatcher_is_as_dangerous_as_what_it_may_call(
    inner: list[bytes | None], annotations: dict[str, bool]
) -> None:
    known = {str(n): ToolContract(str(n), None, None, said) for n, said in enumerate(inner)}
    tool = render_tool("s", known)
    assert tool["annotations"] == annotations
    assert set(tool) == {"name", "description", "inputSchema", "annotations"}
