"""What a dispatcher is asked, read from decoded arguments: its own keys understood, everything else noticed."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handfast.core.dispatcher.asked import DispatcherCall, DispatcherRefused, Wishes, read_asked, read_wishes

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


def wishes(arguments: Any) -> Wishes:
    return read_wishes(read_asked(arguments), lambda given_: given_)


@pytest.mark.requirement("000-12")
@given(st.text(min_size=1), JSON, st.booleans(), st.dictionaries(st.text(max_size=8).map("x{}".format), JSON))
def test_every_key_is_understood_or_noticed(name: str, inner: Any, wants_help: bool, beside: dict[str, Any]) -> None:
    asked = read_asked({"action": name, "resource": name, "arguments": inner, "help": wants_help, **beside})
    assert asked == DispatcherCall(name, name, inner, wants_help, beside)
    assert asked.tool == f"{name}__{name}"


@pytest.mark.parametrize("arguments", [None, {}, {"action": None, "arguments": None, "help": None}])
def test_nothing_asked_is_nothing(arguments: Any) -> None:
    assert read_asked(arguments) == DispatcherCall()


@pytest.mark.requirement("000-12")
@pytest.mark.parametrize(
    ("arguments", "rule"),
    [
        ([], "arguments.schema"),
        ("create", "arguments.schema"),
        ({"action": 1}, "dispatch.malformed"),
        ({"action": ""}, "dispatch.malformed"),
        ({"action": "a", "resource": {}}, "dispatch.malformed"),
        ({"action": "a", "help": "yes"}, "dispatch.malformed"),
        ({"action": "a", "help": 1}, "dispatch.malformed"),
        ({"action": "help", "arguments": ["a"]}, "dispatch.arguments"),
        ({"action": "help", "arguments": {"action": 1}}, "dispatch.arguments"),
        ({"action": "help", "arguments": {"find": ["x"]}}, "dispatch.arguments"),
    ],
)
def test_what_cannot_be_understood_is_refused(arguments: Any, rule: str) -> None:
    with pytest.raises(DispatcherRefused) as found:
        wishes(arguments)
    assert found.value.violation.rule == rule


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"action": "help"}, Wishes()),
        ({"help": True}, Wishes()),
        ({"action": "help", "arguments": {"action": "create"}}, Wishes("create")),
        ({"action": "create", "resource": "contacts", "help": True}, Wishes("contacts__create")),
        ({"action": "help", "arguments": {"find": "issue"}}, Wishes(None, "issue")),
        ({"action": "create", "help": True, "arguments": {}, "data": {}}, Wishes("create", "", ("data", "arguments"))),
    ],
)
def test_help_is_asked_for_in_a_few_ways_and_tells_what_it_ignores(arguments: Any, expected: Wishes) -> None:
    assert wishes(arguments) == expected
