"""Rules for dispatchers, called directly: what is refused beside an action, and the exact words."""

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handfast.core.call.arguments import check_unknown
from handfast.core.call.policy import InputPolicy, Violation
from handfast.core.call.wrappers import nested_wrapper_message
from handfast.core.dispatcher.checks import (
    action_missing,
    action_unknown,
    check_beside,
    not_an_object,
    tool_name,
)
from handfast.core.schema.declared import read_declared

CONTACT = read_declared({"properties": {"email": {}, "first_name": {}}})
NAMES = st.text(st.characters(codec="utf-8"), max_size=12)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.requirement("000-12")
@given(st.dictionaries(NAMES, JSON, min_size=1, max_size=5), st.sets(NAMES, max_size=4), st.booleans())
def test_whatever_stands_beside_an_action_is_refused(beside: dict[str, object], names: set[str], is_open: bool) -> None:
    schema = {"properties": {name: {} for name in names}, "additionalProperties": is_open}
    assert check_beside(beside, "create", read_declared(schema)) is not None
    assert check_beside(beside, "create", None) is not None


@pytest.mark.requirement("000-12")
@given(st.dictionaries(NAMES, JSON, min_size=1, max_size=5), st.sets(NAMES, max_size=4))
def test_an_undeclared_object_gets_the_very_text_that_the_tool_itself_would_give(
    beside: dict[str, object], names: set[str]
) -> None:
    declared = read_declared({"properties": {name: {} for name in names}})
    refused = check_beside(beside, "create", declared)
    assert refused is not None
    own = check_unknown(beside, declared, InputPolicy())
    assert (refused.rule == "arguments.nested_wrapper") == (nested_wrapper_message(beside, declared) is not None)
    if own is not None and own.rule == "arguments.nested_wrapper":
        assert refused.message.splitlines()[0] == own.message.splitlines()[0]
        assert 'send fields inside "arguments"' in refused.message


@pytest.mark.requirement("000-12")
@pytest.mark.requirement("000-14")
def test_the_text_lists_the_fields_of_the_action() -> None:
    wrapped = {"data": {"email": "a@b.example"}}
    assert check_beside(wrapped, "create", CONTACT) == Violation(
        "arguments.nested_wrapper",
        "Argument 'data' is not a declared field and its value is a nested object.\n"
        'Likely cause: REST-style wrapper — send fields inside "arguments".\n'
        'Unwrap \'data\': send "email" inside "arguments", not inside "data".\n'
        'Declared fields: ["email", "first_name"].',
    )


@pytest.mark.parametrize(
    "schema", [{}, {"properties": {}, "additionalProperties": True}, {"patternProperties": {"": {}}}]
)
def test_an_action_that_takes_anything_does_not_open_the_dispatcher(schema: dict[str, object]) -> None:
    refused = check_beside({"data": {}}, "create", read_declared(schema))
    assert refused is not None
    assert refused.rule == "arguments.nested_wrapper"


def test_fields_of_the_action_are_sent_inside_its_arguments() -> None:
    assert check_beside({"email": "a", "first_name": {}}, "create", CONTACT) == Violation(
        "dispatch.flat",
        'The fields of an action go inside "arguments".'
        ' Send {"action": "create", "arguments": {"email": …, "first_name": …}} and call again.',
    )


@pytest.mark.parametrize("value", [1, "x", None, True, [{}]])
def test_a_scalar_or_a_list_is_refused_in_one_line(value: object) -> None:
    assert check_beside({"email": "a", "bogus": value}, "create", CONTACT) == Violation(
        "dispatch.unknown_key",
        "Argument 'bogus' is not allowed beside \"action\". Remove what is not needed, put the fields of the action"
        ' inside "arguments", and call again. Declared fields: ["email", "first_name"].',
    )


@given(st.dictionaries(NAMES, st.integers(10**9), min_size=1, max_size=40), st.sets(NAMES, max_size=4))
def test_a_refusal_is_one_line_and_never_shows_a_value(beside: dict[str, object], names: set[str]) -> None:
    refused = check_beside(beside, "create", read_declared({"properties": {name: {} for name in names}}))
    assert refused is not None
    assert len(refused.message.splitlines()) == 1 or any(not key.isprintable() for key in {*beside, *names})
    assert not any(str(value) in refused.message for value in beside.values())


def test_a_resource_stands_before_its_action() -> None:
    assert tool_name("create", None) == "create"
    assert tool_name("create", "contacts") == "contacts__create"


def test_a_wrong_name_is_answered_with_the_nearest_ones() -> None:
    names = ["create_issue", "delete_issue", "list_pull_requests"]
    assert action_unknown("creat_isue", names) == Violation(
        "dispatch.unknown_action",
        'There is no action of this name. Nearest: create_issue. Send {"action": "help"} for the list.',
    )
    assert "Nearest: list_pull_requests." in action_unknown("PULL", names).message
    assert "Actions: create_issue, delete_issue, list_pull_requests." in action_unknown("zzz", names).message


@given(st.text(max_size=200), st.lists(NAMES, max_size=30))
def test_a_wrong_name_is_never_shown(wanted: str, names: list[str]) -> None:
    secret = f"ghp_{wanted}_0123456789"
    assert secret not in action_unknown(secret, names).message


@pytest.mark.parametrize("name", ["list_repositories_of_organization_", "abcdefgh" * 16])
def test_finding_the_nearest_name_among_many_takes_no_time(name: str) -> None:
    names = [f"{name[:-7]}{number:07}" for number in range(100_000)]
    began = time.process_time()
    action_unknown(f"{name[:-1]}x", names)
    assert time.process_time() - began < 0.5


def test_a_missing_action_is_answered_with_the_names_and_the_way_to_help() -> None:
    assert action_missing(["b", "a"]) == Violation(
        "dispatch.action",
        '"action" must be the name of an action. Actions: b, a. Send {"action": "help"} for the list.',
    )
    assert json.dumps([f"a{n}" for n in range(20)])[2:-2].replace('", "', ", ") + ", ..." in (
        action_missing(f"a{n}" for n in range(30)).message
    )


def test_arguments_that_are_no_object_say_what_to_send() -> None:
    assert not_an_object() == Violation(
        "dispatch.arguments",
        '"arguments" must be a JSON object with the fields of the action. Send one, not a text of it, and call again.',
    )


def test_what_is_inside_the_arguments_stays_there() -> None:
    refused = check_beside({"first_name": 1, "email": 2}, "create", CONTACT, within=["email"])
    assert refused is not None
    assert refused.message.endswith(
        'Send {"action": "create", "arguments": {"email": …, "first_name": …}} and call again.'
    )
    wrapped = check_beside({"data": {"email": 1}}, "create", CONTACT, within=["email"])
    assert wrapped is not None
    assert "Remove 'data': \"email\" was sent already." in wrapped.message


def test_a_wrong_resource_beside_a_right_action_is_what_is_told() -> None:
    names = ["contacts__create", "invoices__create", "contacts__delete", "ping"]
    assert action_unknown("contact__create", names, resource="contact") == Violation(
        "dispatch.unknown_action",
        'There is no such "resource" for this action. Nearest: contacts. Send {"action": "help"} for the list.',
    )
    assert "Resources: contacts, invoices." in action_unknown("zzz__create", names, resource="zzz").message
    assert action_unknown("contacts__ping", names, resource="contacts") == Violation(
        "dispatch.unknown_action",
        'There is no such "resource" for this action. Leave "resource" out and call again.',
    )
    # Here the action is the fault.
    assert action_unknown("contacts__crate", names, resource="contacts") == action_unknown("contacts__crate", names)


def test_a_call_in_a_wrapper_is_to_be_unwrapped() -> None:
    whole = {"data": {"action": "create", "arguments": {}}}
    assert action_missing(["create"], whole) == Violation(
        "dispatch.action",
        '"action" must be the name of an action. '
        'Unwrap \'data\': send "action", "arguments" directly, not inside "data".',
    )
    assert action_missing(["create"], {"data": {}, "x": 1}) == action_missing(["create"])


@pytest.mark.parametrize("actual", ["an array", "a number", "a boolean"])
def test_what_was_sent_in_place_of_an_object_is_named(actual: str) -> None:
    assert not_an_object(actual).message == (
        f'"arguments" must be a JSON object with the fields of the action, not {actual}. Send one and call again.'
    )
