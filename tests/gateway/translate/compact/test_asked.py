"""Reading a dispatcher's arguments: its own keys understood, the action's bytes untouched, everything else noticed."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handfast.core.dispatcher.asked import DispatcherCall, DispatcherRefused, Wishes
from handfast.gateway.translate.compact.asked import has_object, names_within, read_asked, read_wishes, type_sent

NAMES = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=12)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**40), 2**40) | st.text(st.characters(codec="utf-8"), max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=8,
)


def refused(text: bytes) -> str:
    with pytest.raises(DispatcherRefused) as found:
        read_wishes(read_asked(text))
    return found.value.violation.rule


@given(NAMES, JSON, st.dictionaries(NAMES.map(lambda name: f"x{name}"), JSON, max_size=3))
def test_every_key_is_either_understood_or_noticed(action: str, arguments: object, beside: dict[str, object]) -> None:
    folded = {key.casefold() for key in beside}
    given_ = {"action": action, "arguments": arguments, **(beside if len(folded) == len(beside) else {})}
    asked = read_asked(json.dumps(given_).encode())
    assert asked.action == action
    assert asked.arguments == (None if arguments is None else json.dumps(arguments).encode())
    assert {"action", "arguments", *asked.beside} == set(given_)


def test_the_arguments_of_the_action_are_the_bytes_that_came() -> None:
    asked = read_asked(b'{"arguments": {"n": 1.0, "big": 9007199254740993, "e": "\\u00e9",  "n": 2} , "action":"a"}')
    assert asked.arguments == b'{"n": 1.0, "big": 9007199254740993, "e": "\\u00e9",  "n": 2}'
    assert has_object(asked)


@pytest.mark.parametrize("text", [None, b"null", b"{}", b'{"action": null, "arguments": null, "help": null}'])
def test_nothing_asked_is_nothing(text: bytes | None) -> None:
    assert read_asked(text) == DispatcherCall()


def test_a_resource_and_an_action_name_one_tool() -> None:
    assert read_asked(b'{"action": "create", "resource": "contacts"}').tool == "contacts__create"


@pytest.mark.requirement("000-12")
@pytest.mark.parametrize(
    ("text", "rule"),
    [
        (b"[]", "arguments.schema"),
        (b'"create"', "arguments.schema"),
        (b'{"action": "a", "action": "b"}', "arguments.ambiguous"),
        (b'{"action": "a", "arguments": {}, "Arguments": {}}', "arguments.ambiguous"),
        (b'{"action": "a", "data": {"x": 1, "x": 2}}', "arguments.ambiguous"),
        (b'{"action": 1}', "dispatch.malformed"),
        (b'{"action": ""}', "dispatch.malformed"),
        (b'{"action": "\\ud800"}', "dispatch.malformed"),
        (b'{"action": "a", "resource": {}}', "dispatch.malformed"),
        (b'{"action": "a", "help": "yes"}', "dispatch.malformed"),
        (b'{"action": "help", "arguments": ["a"]}', "dispatch.arguments"),
        (b'{"action": "help", "arguments": {"action": 1}}', "dispatch.arguments"),
        (b'{"action": "help", "arguments": {"action": "a", "action": "b"}}', "arguments.ambiguous"),
    ],
)
def test_what_can_be_read_in_two_ways_or_none_is_refused(text: bytes, rule: str) -> None:
    assert refused(text) == rule


@pytest.mark.parametrize(
    ("text", "wishes"),
    [
        (b'{"action": "help"}', Wishes()),
        (b'{"help": true}', Wishes()),
        (b'{"action": "help", "arguments": {"action": "create"}}', Wishes("create")),
        (b'{"action": "create", "help": true}', Wishes("create")),
        (b'{"action": "create", "resource": "contacts", "help": true}', Wishes("contacts__create")),
        (b'{"action": "help", "arguments": {"find": "issue"}}', Wishes(None, "issue")),
        (
            b'{"action": "create", "help": true, "arguments": {}, "data": {}}',
            Wishes("create", "", ("data", "arguments")),
        ),
        (
            b'{"action": "help", "resource": "r", "x": 1, "arguments": {"y": 2}}',
            Wishes(None, "", ("x", "resource", "y")),
        ),
    ],
)
def test_help_is_asked_for_in_a_few_ways_and_tells_what_it_ignores(text: bytes, wishes: Wishes) -> None:
    assert read_wishes(read_asked(text)) == wishes


def test_what_stands_within_the_arguments_is_known_by_name_and_type() -> None:
    assert names_within(read_asked(b'{"action": "a", "arguments": {"x": [1], "y": {}}}')) == ["x", "y"]
    assert names_within(read_asked(b'{"action": "a"}')) == []
    assert names_within(read_asked(b'{"action": "a", "arguments": [1]}')) == []
    assert names_within(read_asked(b'{"action": "a", "arguments": {"x": 1, "x": 2}}')) == []
    for text, kind in ((b'"x"', "a string"), (b"[]", "an array"), (b"true", "a boolean"), (b"-1", "a number")):
        assert type_sent(read_asked(b'{"action": "a", "arguments": %s}' % text)) == kind
