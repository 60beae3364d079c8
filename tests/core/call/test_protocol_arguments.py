"""Arguments of the protocol: which are taken out, what they may be, and what is said of those that mean nothing."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handfast.core.call.policy import Violation
from handfast.core.call.protocol_arguments import (
    PROTOCOL_ARGUMENTS,
    ProtocolArguments,
    means_nothing,
    no_such_key,
    read_protocol,
    take_out,
)
from handfast.core.schema.declared import read_declared

NAMES = st.sampled_from(sorted(PROTOCOL_ARGUMENTS)) | st.text(max_size=5)


@pytest.mark.requirement("000-17")
def test_there_are_seven() -> None:
    assert sorted(PROTOCOL_ARGUMENTS) == [
        "continuation_token",
        "filter_keys",
        "filters",
        "help",
        "mode",
        "page",
        "page_size",
    ]


@pytest.mark.requirement("000-17")
@given(st.dictionaries(NAMES, st.integers(), max_size=10), st.sets(NAMES, max_size=6))
def test_what_is_declared_is_never_taken_out_and_nothing_is_lost(arguments: dict[str, Any], names: set[str]) -> None:
    rest, taken = take_out(arguments, read_declared({"properties": {name: {} for name in names}}))
    assert {**rest, **taken} == arguments
    assert not rest.keys() & taken.keys()
    assert set(taken) == {key for key in arguments if key in PROTOCOL_ARGUMENTS and key not in names}


@pytest.mark.parametrize(
    ("schema", "is_taken"),
    [
        ({"type": "object", "additionalProperties": False}, True),
        ({"properties": {}, "additionalProperties": False}, True),
        ({"additionalProperties": {"type": "string"}}, False),
        ({"patternProperties": {"^m": {}}, "properties": {}}, False),
        ({"allOf": [{"properties": {"mode": {}}}]}, False),
    ],
)
def test_a_tool_that_takes_other_keys_takes_these_too(schema: dict[str, Any], is_taken: bool) -> None:
    assert ("mode" in take_out({"mode": "x"}, read_declared(schema))[1]) is is_taken


@pytest.mark.parametrize(
    ("taken", "meant"),
    [
        ({}, ProtocolArguments()),
        ({"help": True}, ProtocolArguments(help=True)),
        ({"help": False, "mode": None, "page": None}, ProtocolArguments()),
        ({"mode": "full", "page": 2.0}, ProtocolArguments(mode="full", page=2)),
        ({"filter_keys": ["a"], "filters": {}}, ProtocolArguments(filter_keys=("a",), filters={})),
        ({"continuation_token": "x"}, ProtocolArguments(continuation_token="x")),
    ],
)
def test_they_are_understood(taken: dict[str, Any], meant: ProtocolArguments) -> None:
    assert read_protocol(taken) == meant


@pytest.mark.parametrize(
    ("taken", "must_be"),
    [
        ({"help": "yes"}, '"help" must be true or false'),
        ({"help": 1}, '"help" must be true or false'),
        ({"continuation_token": 5}, '"continuation_token" must be the text that the last answer gave'),
        ({"mode": "secret"}, '"mode" must be "pieces" or "full"'),
        ({"mode": ["full"]}, '"mode" must be "pieces" or "full"'),
        ({"page": 0}, '"page" must be a whole number from 1'),
        ({"page": True}, '"page" must be a whole number from 1'),
        ({"page": "2"}, '"page" must be a whole number from 1'),
        ({"page": 1.5}, '"page" must be a whole number from 1'),
        ({"page": float("inf")}, '"page" must be a whole number from 1'),
        ({"page": float("nan")}, '"page" must be a whole number from 1'),
        ({"page_size": 501}, '"page_size" must be a whole number from 1 to 500'),
        ({"filter_keys": []}, '"filter_keys" must be a list of the keys to keep'),
        ({"filter_keys": [1]}, '"filter_keys" must be a list of the keys to keep'),
        ({"filters": [{}]}, '"filters" must be an object of keys and the values they must have'),
    ],
)
def test_what_they_may_not_be_is_said_without_the_value(taken: dict[str, Any], must_be: str) -> None:
    assert read_protocol(taken) == Violation(
        "arguments.protocol", f"{must_be}. Send it so, or leave it out, and call again."
    )


@given(
    st.dictionaries(st.sampled_from(sorted(PROTOCOL_ARGUMENTS)), st.none() | st.integers() | st.floats() | st.text())
)
def test_whatever_is_sent_is_understood_or_refused(taken: dict[str, Any]) -> None:
    assert isinstance(read_protocol(taken), ProtocolArguments | Violation)


def test_what_means_nothing_is_named_with_what_the_tool_takes() -> None:
    declared = read_declared({"properties": {"email": {}}})
    assert means_nothing(("page",), "it answers at once", declared).message == (
        "Argument 'page' cannot be used here: it answers at once. Remove it and call again.\n"
        'Declared fields: ["email"].'
    )
    assert means_nothing(("page", "mode"), "it answers at once", declared).message.startswith(
        "Arguments 'page', 'mode' cannot be used here: it answers at once. Remove them and call again."
    )
    assert no_such_key(["emial"], declared).message == (
        "The items of the result have no 'emial'. Their keys: email. Choose among them."
    )
