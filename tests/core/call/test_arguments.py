"""Rules for arguments, called directly: what is refused, and the exact words."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handfast.core.call.arguments import (
    almost_declared_message,
    check_unknown,
    find_nested_wrappers,
    is_list_body,
    nested_wrapper_message,
    schema_violation,
    unknown_message,
)
from handfast.core.call.policy import InputPolicy, Mode, UnknownArguments, Violation
from handfast.core.schema.declared import Declared, read_declared
from handfast.core.words.wording import Fact

CONTACT = read_declared({"properties": {"email": {}, "first_name": {}}})
NOTHING: frozenset[str] = frozenset()
NAMES = st.text(st.characters(codec="utf-8"), max_size=12)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.requirement("000-8")
@pytest.mark.requirement("000-13")
def test_the_message_has_four_lines_and_is_none_for_a_flat_call() -> None:
    assert nested_wrapper_message({"data": {"email": "a", "first_name": "b"}}, CONTACT) == (
        "Argument 'data' is not a declared field and its value is a nested object.\n"
        "Likely cause: REST-style wrapper — send fields flat at the top level.\n"
        'Unwrap \'data\': send "email", "first_name" directly, not inside "data".\n'
        'Declared fields: ["email", "first_name"].'
    )
    assert nested_wrapper_message({"email": "a", "first_name": "b"}, CONTACT) is None
    assert nested_wrapper_message({}, CONTACT) is None


@pytest.mark.requirement("000-4")
@given(st.dictionaries(NAMES, JSON, max_size=5), st.sets(NAMES, max_size=4), st.frozensets(NAMES, max_size=2))
def test_exactly_the_undeclared_objects_offend_in_call_order(
    arguments: dict[str, object], names: set[str], ignore: frozenset[str]
) -> None:
    declared = read_declared({"properties": {name: {} for name in names}})
    expected = [
        key for key, value in arguments.items() if isinstance(value, dict) and key not in names and key not in ignore
    ]
    assert find_nested_wrappers(arguments, declared, ignore) == expected
    message = nested_wrapper_message(arguments, declared, ignore)
    assert (message is None) == (expected == [])


@pytest.mark.requirement("D17")
@given(
    st.dictionaries(
        st.sampled_from(["data", "config"]), st.dictionaries(st.just("field"), st.integers(10**9)), min_size=1
    )
)
def test_the_message_never_holds_a_value(arguments: dict[str, dict[str, int]]) -> None:
    message = nested_wrapper_message(arguments, CONTACT) or ""
    assert not any(str(value) in message for inner in arguments.values() for value in inner.values())


@pytest.mark.requirement("000-14")
@given(st.integers(1, 40))
def test_field_lists_are_cut_after_twenty_names(count: int) -> None:
    inner = {"email": 0, **{f"f{number}": 1 for number in range(count)}}
    message = nested_wrapper_message({"data": inner}, CONTACT) or ""
    shown = [json.dumps(name) for name in list(inner)[:20]] + (["..."] if count > 19 else [])
    assert f"Unwrap 'data': send {', '.join(shown)} directly" in message


@pytest.mark.requirement("000-14")
@pytest.mark.parametrize(
    ("sent", "line"),
    [
        ({"conatct": {"x": 1}}, "Did you mean 'contact'? It is declared and takes an object; 'conatct' is not."),
        ({"payload": {"x": 1}}, "Did you mean 'site'? It is declared and takes an object; 'payload' is not."),
        ({"payload": {"x": 1, "email": 2}}, 'Unwrap \'payload\': send "x", "email" directly, not inside "payload".'),
        (
            {"site": 1, "contact": {}, "tags": {}, "payload": {"x": 1}},
            "Remove 'payload': none of its fields is declared.",
        ),
    ],
)
def test_an_object_of_undeclared_fields_may_be_meant_for_a_declared_object(sent: dict[str, object], line: str) -> None:
    site = {"oneOf": [{"type": "string"}, {"$ref": "#/$defs/Site"}]}
    properties = {"email": {"type": "string"}, "site": site, "contact": {"type": ["object", "null"]}}
    declared = read_declared({"properties": properties, "$defs": {"Site": {"properties": {"name": {}}}}})
    message = nested_wrapper_message(sent, declared) or ""
    assert message.splitlines()[-2] == line


@pytest.mark.requirement("000-14")
def test_wrappers_beyond_ten_are_counted() -> None:
    message = nested_wrapper_message({f"w{number}": {} for number in range(300)}, CONTACT) or ""
    lines = message.splitlines()
    assert lines[9:11] == [
        "Argument 'w9' is not a declared field and its value is a nested object.",
        "So are 290 more.",
    ]
    assert lines[-2:] == ["Remove 'w9': it is empty.", 'Declared fields: ["email", "first_name"].']
    assert len(lines) == 23


@pytest.mark.requirement("F4")
def test_at_most_ten_offenders_are_worded_whatever_they_are() -> None:
    names = [f"n{number}" for number in range(12)]
    listed = ", ".join(f"'{name}'" for name in names[:10])
    assert unknown_message(names, CONTACT).startswith(f"Arguments {listed} and 2 more are not declared fields.")
    assert unknown_message(names[:2], CONTACT).startswith("Arguments 'n0', 'n1' are not declared fields.")
    almost = almost_declared_message({**dict.fromkeys(names, 1), **{name.upper(): 1 for name in names}}, CONTACT) or ""
    assert almost.splitlines()[9:11] == ["Arguments 'n9' and 'N9' differ only in case or blanks.", "So are 2 more."]


@pytest.mark.requirement("F4")
def test_a_name_is_looked_up_once_however_many_are_declared_and_sent() -> None:
    """Comparisons are counted: a search through ten thousand names for each of ten thousand would be seconds."""

    class Name(str):
        compared = 0

        def __eq__(self, other: object) -> bool:
            Name.compared += 1
            return str.__eq__(self, other)

        __hash__ = str.__hash__

    declared = Declared(tuple(f"f{n}" for n in range(10_000)), declares_nothing_said=False, is_open_to_all=False)
    sent: dict[str, object] = {Name(f"w{number}"): {} for number in range(10_000)}
    Name.compared = 0
    assert len(find_nested_wrappers(sent, declared, frozenset())) == 10_000
    assert Name.compared < 10_000


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
