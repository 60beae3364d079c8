"""Rules for arguments, called directly: what is refused, and the exact words."""

import pytest
from hypothesis import strategies as st

from handfast.core.call.arguments import (
    almost_declared_message,
    check_unknown,
    is_list_body,
    schema_violation,
    unknown_message,
)
from handfast.core.call.policy import InputPolicy, Mode, UnknownArguments, Violation
from handfast.core.schema.declared import read_declared
from handfast.core.words.wording import Fact

CONTACT = read_declared({"properties": {"email": {}, "first_name": {}}})
NOTHING: frozenset[str] = frozenset()
NAMES = st.text(st.characters(codec="utf-8"), max_size=12)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.requirement("F4")
def test_at_most_ten_offenders_are_worded_whatever_they_are() -> None:
    names = [f"n{number}" for number in range(12)]
    listed = ", ".join(f"'{name}'" for name in names[:10])
    assert unknown_message(names, CONTACT).startswith(f"Arguments {listed} and 2 more are not declared fields.")
    assert unknown_message(names[:2], CONTACT).startswith("Arguments 'n0', 'n1' are not declared fields.")
    almost = almost_declared_message({**dict.fromkeys(names, 1), **{name.upper(): 1 for name in names}}, CONTACT) or ""
    assert almost.splitlines()[9:11] == ["Arguments 'n9' and 'N9' differ only in case or blanks.", "So are 2 more."]


@pytest.mark.requirement("000-11")
@pytest.mark.parametrize("key", ["objects", "data", "items", "_items", "body"])
def test_a_list_body_is_one_list_under_one_of_five_keys(key: str) -> None:
    assert is_list_body({key: [{"a": 1}]})
    assert is_list_body({key: []})
    assert not is_list_body({key: {"a": 1}})
    assert not is_list_body({key: [], "other": 1})


def test_other_bodies_are_no_list_bodies() -> None:
    assert not is_list_body({})
    assert not is_list_body({"rows": [1]})


@pytest.mark.requirement("D4")
@pytest.mark.parametrize(
    ("rule", "arguments", "broken"),
    [
        (UnknownArguments.SCHEMA, {"data": {}, "x": 1}, None),
        (UnknownArguments.REJECT_OBJECTS, {"x": 1, "l": [1]}, None),
        (UnknownArguments.REJECT_OBJECTS, {"data": {}}, "arguments.nested_wrapper"),
        (UnknownArguments.REJECT_ALL, {"email": "a"}, None),
        (UnknownArguments.REJECT_ALL, {"x": 1}, "arguments.unknown"),
        (UnknownArguments.REJECT_ALL, {"x": 1, "data": {}}, "arguments.nested_wrapper"),
    ],
)
def test_unknown_arguments_are_refused_as_the_policy_says(
    rule: UnknownArguments, arguments: dict[str, object], broken: str | None
) -> None:
    violation = check_unknown(arguments, CONTACT, InputPolicy(unknown_arguments=rule))
    assert (violation.rule if violation else None) == broken


@pytest.mark.requirement("D4")
def test_ignored_names_are_never_unknown() -> None:
    policy = InputPolicy(unknown_arguments=UnknownArguments.REJECT_ALL, ignore=frozenset({"x", "data"}))
    assert check_unknown({"x": 1, "data": {"a": 1}}, CONTACT, policy) is None


def test_a_misspelt_name_gets_the_nearest_declared_one_beside_what_is_missing() -> None:
    declared = read_declared(
        {"properties": {"email": {}, "first_name": {}, "notes": {}}, "required": ["email", "notes"]}
    )
    fields = 'Declared fields: ["email", "first_name", "notes"].'
    assert unknown_message(["emial"], declared, ["emial", "notes"]) == (
        f"Argument 'emial' is not a declared field. Did you mean 'email'? Rename it and call again.\n{fields}"
    )
    assert unknown_message(["firstName", "bogus"], declared, ["firstName", "bogus", "email"]) == (
        "Arguments 'firstName', 'bogus' are not declared fields. Did you mean 'first_name' for 'firstName'? "
        f'Rename or remove them and call again. Also required: "notes".\n{fields}'
    )
    # What was sent already was not misspelt.
    assert "Did you mean" not in unknown_message(["emial"], declared, ["emial", "email"])


def test_a_refusal_of_names_has_facts_for_programs() -> None:
    everything = InputPolicy(unknown_arguments=UnknownArguments.REJECT_ALL)
    unknown = check_unknown({"emial": 1, "a/b": 2}, CONTACT, everything)
    assert unknown is not None
    assert unknown.facts == (Fact("/emial", "unknown", nearest="email"), Fact("/a~1b", "unknown"))
    wrapped = check_unknown({"data": {"email": "s3cret"}}, CONTACT, everything)
    assert wrapped is not None
    assert wrapped.facts == (Fact("/data", "wrapper"),)


def test_unknown_names_are_listed_and_cut() -> None:
    assert unknown_message(["a"], CONTACT) == (
        'Argument \'a\' is not a declared field. Remove it and call again.\nDeclared fields: ["email", "first_name"].'
    )
    many = unknown_message([f"n{number}" for number in range(25)], CONTACT).splitlines()[0]
    assert many.startswith("Arguments 'n0', 'n1', ")
    assert many.endswith("'n9' and 15 more are not declared fields. Remove them and call again.")


@pytest.mark.requirement("D2")
def test_a_schema_violation_says_what_is_wrong_and_in_strict_what_is_declared() -> None:
    text = (
        "The arguments do not fit what the tool declares: a: must be an integer; b: is required. "
        "Correct them and call again."
    )
    words = ("a: must be an integer", "b: is required")
    assert schema_violation(words, declared=CONTACT, mode=Mode.WARN) == Violation("arguments.schema", text)
    strict = schema_violation((), declared=CONTACT, mode=Mode.STRICT).message
    assert strict == (
        "The arguments do not fit what the tool declares: they do not meet the tool's input schema. "
        'Correct them and call again.\nDeclared fields: ["email", "first_name"].'
    )


def test_many_fields_are_not_listed_twice() -> None:
    many = read_declared({"properties": {f"f{number}": {} for number in range(80)}})
    listing = ("has 1 property that is not allowed: 'zzz', allowed: 'f0', 'f1', ...",)
    assert "Declared fields" not in schema_violation(listing, declared=many, mode=Mode.STRICT).message
    assert "Declared fields" in schema_violation(("f0: must be a string",), declared=many, mode=Mode.STRICT).message
    assert "Declared fields" in schema_violation(listing, declared=CONTACT, mode=Mode.STRICT).message


def test_names_that_differ_only_in_case_or_blanks_are_facts_too() -> None:
    refused = check_unknown({"Email": 1, "x": 1, "X ": 2}, CONTACT, InputPolicy())
    assert refused is not None
    assert refused.facts == (Fact("/Email", "unknown", nearest="email"), Fact("/X ", "unknown", nearest="x"))
